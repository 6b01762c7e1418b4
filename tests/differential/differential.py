#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares Sluice with real servers and clients (endpoints): rules must match every message that an endpoint
understands.

    differential.py --sluice PROGRAM [--protocol NAME] [--messages N] [--seed S] [--only ENDPOINT,...]
                    [--findings FILE] [--nightly]

1. The generator of the protocol makes N messages from the seed, in addition to those of earlier findings
   (cases/PROTOCOL.jsonl).
2. `sluice replay --ips` inspects a capture of all messages.
3. Messages with a forbidden word that were not dropped, benign messages that were dropped, and a sample of the others
   are sent to every endpoint, in a separate network namespace.
4. A finding is a message with a forbidden word that an endpoint understood and Sluice did not drop, or a benign message
   that an endpoint served and Sluice dropped.

Each finding is a JSON line in FILE, with seed, number and bytes; `--again FILE` runs only these messages. Exit code 1:
there are findings other than documented limits (Protocol.known). Exit code 77: no endpoint can run. Needs root.

dialogue.py runs the protocols in which the meaning of the client's bytes depends on the replies (smtp, ftp). There
every message goes to every endpoint."""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import core
import dialogue
import protocols

SAMPLE = 2000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sluice', required=True, type=os.path.abspath)
    parser.add_argument('--protocol', choices=protocols.PROTOCOLS, action='append', help='default: all')
    parser.add_argument('--messages', type=int, default=3000, help='number of messages per protocol')
    parser.add_argument('--sample', type=int, default=SAMPLE,
                        help='number of random messages that are sent to the endpoints for any verdict')
    parser.add_argument('--seed', default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument('--only', help='use only these endpoints')
    parser.add_argument('--nightly', action='store_true',
                        help='also use endpoints that take long to download or to start')
    parser.add_argument('--findings', default='findings.jsonl')
    parser.add_argument('--again', help='run only the messages of this file of findings')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', help='setting of sluice')
    return parser.parse_args()


def enter_namespace():
    """Runs this script again in new network, mount and PID namespaces, so that all ports are free and the servers are
    not reachable from outside."""
    if os.environ.get('SLUICE_DIFFERENTIAL') != str(os.getppid()):
        os.environ['SLUICE_DIFFERENTIAL'] = str(os.getpid())
        os.execvp('unshare',
                  ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', 'sh', '-c',
                              'ip link set lo up && SLUICE_DIFFERENTIAL=$$ && export SLUICE_DIFFERENTIAL && "$0" "$@"',
                              sys.executable, *sys.argv])


def prepare(protocol, arguments, folder):
    """Starts the endpoints; returns those that can run, and prints why others cannot."""
    endpoints = []
    for kind in protocol.endpoints(arguments.nightly):
        if arguments.only and kind.name not in arguments.only.split(','):
            continue
        try:
            endpoint = kind(folder)
            endpoint.start()
            endpoints.append(endpoint)
        except core.Unavailable as reason:
            print(f'skipped {kind.name}: {reason}', flush=True)
    return endpoints


def messages_of(name, protocol, arguments):
    if arguments.again:
        with open(arguments.again) as f:
            lines = [json.loads(line) for line in f]
        return [core.from_json(line['message']) for line in lines if line.get('protocol', name) == name]
    return core.cases(name) + [protocol.generate(number, arguments.seed) for number in range(arguments.messages)]


def is_candidate(m, verdict):
    return not verdict.stopped if m.place else verdict.reason is not None


def find(name, protocol, arguments, folder, out):
    """Runs one protocol. Returns the number of findings other than documented limits, or None if no endpoint can
    run."""
    if protocol.dialogue:
        return dialogue.find(name, protocol, arguments, folder, out, prepare, report)
    begin = time.monotonic()
    messages = messages_of(name, protocol, arguments)
    verdicts = core.replay(arguments.sluice, messages, protocol.rules, folder, [*protocol.settings, *arguments.set])
    replayed = time.monotonic() - begin
    candidates = [n for n, (m, v) in enumerate(zip(messages, verdicts)) if is_candidate(m, v)]
    sampled = set(random.Random(arguments.seed).sample(range(len(messages)), min(arguments.sample, len(messages))))
    chosen = sorted(sampled.union(candidates))
    print(f'{name}: seed {arguments.seed}, {len(messages)} messages, replayed in {replayed:.1f} s; '
          f'{sum(1 for m in messages if m.place)} have a forbidden word, '
          f'{sum(1 for m, v in zip(messages, verdicts) if m.place and v.stopped)} of these were stopped; {len(chosen)} '
          f'go to the endpoints', flush=True)
    findings = collections.OrderedDict()
    endpoints = prepare(protocol, arguments, folder)
    try:
        for endpoint in endpoints:
            begin = time.monotonic()
            read = endpoint.understand([messages[n] for n in chosen])
            served = sum(1 for n, yes in zip(chosen, read) if yes and n in sampled)
            wrong = [n for n, yes in zip(chosen, read) if yes and is_candidate(messages[n], verdicts[n])]
            for n in wrong:
                findings.setdefault(n, []).append(endpoint.name)
            print(f'  {endpoint.name}: understood {served} of the {len(sampled)} sampled messages, {len(wrong)} '
                  f'findings ({time.monotonic() - begin:.1f} s)', flush=True)
    finally:
        for endpoint in endpoints:
            endpoint.stop()
    if not endpoints:
        return None
    dropped = set()
    missed = [n for n in findings if messages[n].place and not protocol.known(messages[n], findings[n])]
    if protocol.drops_ambiguous and missed:
        strict = core.replay(arguments.sluice, [messages[n] for n in missed], protocol.rules, folder,
                             [*protocol.settings, *arguments.set, protocol.drops_ambiguous])
        dropped = {n for n, verdict in zip(missed, strict) if verdict.stopped}
    return report(name, protocol, messages, verdicts, findings, out, dropped=dropped)


def class_of(m, verdict):
    if m.place is None:
        return f'wrong drop ({verdict.reason})'
    return f'{m.place} dropped too late' if verdict.late else f'{m.place} not stopped'


def report(name, protocol, messages, verdicts, findings, out, to_json=core.to_json, dropped=()):
    """Prints and writes the findings; returns the number of those that are no documented limit. DROPPED are findings
    that Sluice drops with the setting protocol.drops_ambiguous."""
    classes, features, known = collections.Counter(), collections.defaultdict(
        collections.Counter), collections.Counter()
    for n, endpoints in findings.items():
        m = messages[n]
        limit = protocol.known(m, endpoints) or \
            (f'several oddities in one message; {protocol.drops_ambiguous} drops it' if n in dropped else None)
        line = {'protocol': name, 'class': class_of(m, verdicts[n]), 'endpoints': endpoints, 'limit': limit,
                'message': to_json(m)}
        out.write(json.dumps(line) + '\n')
        if limit:
            known[limit] += 1
            continue
        classes[line['class']] += 1
        features[line['class']][' + '.join(f for f in m.features if not f.startswith('segments')) + ' -> ' +
                                ','.join(endpoints)] += 1
    for limit, count in known.most_common():
        print(f'  documented limit: {count}: {limit}')
    for kind, count in classes.most_common():
        print(f'  FINDING {kind}: {count}')
        for text, times in sorted(features[kind].items(), key=lambda item: (len(item[0].split(' + ')), -item[1]))[:12]:
            print(f'    {times} x {text}')
    return sum(classes.values())


def main():
    arguments = parse_arguments()
    if os.geteuid() != 0:
        print('SKIP: needs root')
        return 77
    enter_namespace()
    total, ran = 0, False
    with tempfile.TemporaryDirectory() as folder, open(arguments.findings, 'w') as out:
        for name in arguments.protocol or protocols.PROTOCOLS:
            found = find(name, protocols.PROTOCOLS[name], arguments, folder, out)
            total, ran = total + (found or 0), ran or found is not None
    if not ran:
        print('SKIP: no endpoint can run')
        return 77
    print(f'{total} findings' + (f', in {arguments.findings}' if total else ''))
    return 1 if total else 0


if __name__ == '__main__':
    sys.exit(main())
