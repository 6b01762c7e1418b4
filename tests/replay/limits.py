#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests detect.limit-policy with traffic that makes the evaluation of a rule reach a limit.

    limits.py SLUICE

Each case is a rule with a pcre or contents, and bytes that an attacker sends before the forbidden content to exhaust
the search. With the policy `match` the rule drops the packet; with `no-match` the packet passes. Both are counted, and
raise an event that a rule can match. Without such bytes the rule drops the forbidden content; harmless bytes pass.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

from identification import Case, Connection, write_capture

EVIL = b'EVIL-COMMAND'
# name, conditions behind `content:"start"`, bytes that exhaust the search
CASES = [
    ('nested repetition', 'pcre:"/(?:a+)+\\x01.*EVIL-COMMAND|EVIL-COMMAND$/s"', b'a' * 60 + b'\n'),
    ('alternatives', 'pcre:"/(?:a|aa)+EVIL-COMMAND|EVIL-COMMAND$/"', b'a' * 60 + b'\n'),
    ('interpreter', 'pcre:"/(*NO_JIT)(?:a|aa)+EVIL-COMMAND|EVIL-COMMAND$/"', b'a' * 60 + b'\n'),
    ('depth', 'pcre:"/(*NO_JIT)start(?:(?:a)|(b))*+EVIL-COMMAND|start(?s:.)*?EVIL-COMMAND$/"', b'ab' * 3000 + b'\n'),
    ('stack', 'pcre:"/start((?:(a|b)|(?:c|d)))*\\n*EVIL-COMMAND$/"', b'ab' * 25000 + b'\n'),
    ('negated', 'pcre:!"/(?:a|aa)+GOOD-COMMAND|GOOD-COMMAND$/"', b'a' * 60 + b'\n'),
    ('relative', 'pcre:"/(?:a|aa)+EVIL-COMMAND|EVIL-COMMAND$/R"; content:"COMMAND"; nocase', b'a' * 60 + b'\n'),
    ('steps of contents',
     'content:"a"; distance:0; content:"a"; distance:0; within:40; content:"a"; distance:0; within:40; '
     'content:"EVIL-COMMAND"; distance:0; '
     'within:13', b'a' * 1000 + b'\n' + b'-' * 30 + b'a' * 3),
]
# Decompressed, the body leaves less scratch memory than dotprefix needs; to_lowercase needs none. One rule needs a
# literal in the transformed buffer, another its absence.
BOMB, LARGE = gzip.compress(b'-' * (3 << 20) + EVIL), gzip.compress(b'-' * (3 << 20) + b'GOOD-COMMAND')
TRANSFORM = 'http.uri; content:"/limit"; http.request_body; gunzip:max-size 4mb; dotprefix;'
IN_PLACE = 'http.uri; content:"/large"; http.request_body; gunzip:max-size 4mb; to_lowercase;'
HARMLESS = b'start and nothing else GOOD-COMMAND'


def run(sluice, folder, policy, cases, rules):
    places = write_capture(folder + '/in.pcap', cases)
    for name, text in (('rules', rules),
                       ('yaml', f'detect: {{limit-policy: {policy}}}\neve: {{types: {{alert: {{}}, drop: {{flows: '
                                f'all}}, anomaly: {{}}, '
                                                  'stats: {}}}\n')):
        with open(f'{folder}/{name}', 'w') as out:
            out.write(text)
    log = f'{folder}/log-{policy}'
    os.makedirs(log)
    done = subprocess.run([sluice, 'replay', '--ips', '--no-console', '--rules', folder + '/rules', '--config',
                           folder + '/yaml', '--log-dir', log,
                           folder + '/in.pcap'], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'exit code {done.returncode}: {done.stderr}')
    with open(log + '/eve.json') as events:
        return places, [json.loads(line) for line in events]


def make_rules():
    text = ''
    for number, (name, conditions, _) in enumerate(CASES):
        conditions = conditions.replace('start', f'start{number}-')
        for action, base in (('drop', 100), ('alert', 200)):
            text += f'{action} ip any any -> any any (msg:"{name}"; content:"start{number}-"; {conditions}; ' \
                f'sid:{base + number};)\n'
    number = len(CASES)
    for action, base in (('drop', 100), ('alert', 200)):
        text += f'{action} http any any -> any any (msg:"transform"; {TRANSFORM} ' \
            f'content:"EVIL-COMMAND"; sid:{base + number};)\n'
    text += f'alert http any any -> any any (msg:"absent"; {TRANSFORM} absent; sid:301;)\n'
    text += f'drop http any any -> any any (msg:"in place"; {IN_PLACE} content:"evil-command"; sid:302;)\n'
    return text + 'alert ip any any -> any any (app-layer-event:applayer_inspection_limit; sid:300;)\n'


def make_cases():
    for number, (name, _, before) in enumerate(CASES):
        head = f'start{number}-'.encode()
        attack = head + before + EVIL
        yield 'attack', number, Case(name, 0, 4, 40000, 9999).udp(attack)
        yield 'attack', number, Connection(name, 0, 9999).client_says(attack)
        yield 'harmless', number, Case(name, 0, 4, 40001, 9999).udp(HARMLESS.replace(b'start', head))
    for kind, number, path, body in (('attack', len(CASES), b'limit', BOMB),
                                     ('harmless', len(CASES), b'limit', gzip.compress(HARMLESS)),
                                     ('found', 202, b'large', BOMB), ('harmless', 202, b'large', LARGE)):
        yield kind, number, Connection('transform /' + path.decode(), 0, 80).client_says(
            b'POST /%s HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n' % (path, len(body)) + body)


def main():
    sluice, problems = sys.argv[1], []
    for policy in ('match', 'no-match'):
        cases = list(make_cases())
        with tempfile.TemporaryDirectory() as folder:
            places, events = run(sluice, folder, policy, [case for _, _, case in cases], make_rules())
        drops = {event['pcap_cnt'] for event in events if event['event_type'] == 'drop'}
        alerts = {(event['pcap_cnt'], event['alert']['signature_id']) for event in events
                  if event['event_type'] == 'alert'}
        anomalies = {event['pcap_cnt'] for event in events if event['event_type'] == 'anomaly'
                     and event['anomaly']['event'] == 'APPLAYER_INSPECTION_LIMIT'}
        reached = 0
        for (kind, number, case), place in zip(cases, places):
            last = place[-1]
            limited = last in anomalies
            wanted = kind == 'found' or kind == 'attack' and (policy == 'match' or not limited)
            reached += limited
            if (last in drops) != wanted:
                problems.append(f'{policy}: {case.name}, {kind}: ' + ('dropped' if last in drops else 'passed') +
                                (' at a limit' if limited else ''))
            if (kind == 'found' or kind == 'attack' and policy == 'match') and (last, 100 + number) not in alerts:
                problems.append(f'{policy}: {case.name}: no alert of the drop rule')
            if kind != 'attack' and limited:
                problems.append(f'{policy}: {case.name}, {kind}: reached a limit')
            if kind == 'attack' and not limited:
                problems.append(f'{policy}: {case.name}: the case reached no limit, so it tests nothing')
            if (last, 301) in alerts:
                problems.append(f'{policy}: {case.name}: the buffer that no transform could read counts as absent')
            if limited and (last, 300) not in alerts:
                problems.append(f'{policy}: {case.name}: the rule on the event did not match')
        detect = [event for event in events if event['event_type'] == 'stats'][-1]['sluice']['stats']['detect']
        if not detect['transform_limits']:
            problems.append(f'{policy}: detect.transform_limits is 0')
        if detect['pcre_limits'] + detect['step_limits'] + detect['transform_limits'] < reached or \
                (policy == 'match') != (detect['limit_matches'] > 0):
            problems.append(f'{policy}: statistics: {detect}')
    for problem in problems:
        print(problem)
    print(f'{2 * len(cases)} cases, {len(problems)} problems')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
