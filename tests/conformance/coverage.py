#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the cases in cases/ cover the rule language: every keyword, buffer and protocol that Sluice supports.

    coverage.py SLUICE [--list]       --list: also print the number of rules of each keyword

A keyword or protocol is covered when at least one rule with it must alert and at least one must not; an alias of a
keyword, when a rule with it must alert. An application protocol over both TCP and UDP needs a rule for each, such as
`alert udp ... (app-layer-protocol:krb5; ...)`, that alerts. Those of EXCEPTIONS need not be covered. The keywords are
those that `sluice keywords` lists, the application protocols those for which `sluice replay` has counters.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import own  # noqa: E402
from build import Case, udp_packet  # noqa: E402

QUEUE = 'only packets from a queue have it, not those of a capture'
EXCEPTIONS = {
    'ctmark': QUEUE, 'ctstate': QUEUE, 'iif': QUEUE, 'mark': QUEUE, 'oif': QUEUE,
    'fwsam': 'blocks a host in the kernel, which a replay does not do',
    'nfq_set_mark': 'marks a packet in the kernel, which a replay does not do',
    'noalert': 'a rule with it never alerts; the cases "flowbits" and "words" have such rules',
}
# Protocols of rules other than application protocols, and other names of application protocols.
PROTOCOLS = ['tcp', 'tcp-pkt', 'tcp-stream', 'udp', 'icmp', 'icmpv4', 'icmpv6', 'ip', 'ip4', 'ipv4', 'ip6', 'ipv6',
             'pkthdr', 'sctp', 'igmp', 'gre', 'esp', 'ah', 'arp', 'ether']
OTHER_NAMES = ['http1', 'ikev2', 'ssl']


def modules():
    return sorted(name[:-3] for name in os.listdir(HERE + '/cases') if name.endswith('.py'))


def option_names(rule):
    """The names of the rule's options; quoted and escaped semicolons do not end an option."""
    body = rule[rule.index('(') + 1:rule.rindex(')')]
    options = re.findall(r'(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+', body)
    return {option.split(':')[0].strip() for option in options} - {''}


def count_rules():
    """The number of rules that must alert and that must not, by option name and by protocol. Rules with
    app-layer-protocol are counted for PROTOCOL/APPLICATION, too."""
    alerting, silent = (collections.Counter(), collections.Counter()), (collections.Counter(), collections.Counter())
    for module in modules():
        for case in own.load_cases(module).values():
            for sid, (count, rule) in enumerate(case.rules, 1):
                options, protocols = alerting if count else silent
                options.update(option_names(own.complete_rule(sid, rule)))
                protocol = rule.split()[1]
                protocols[protocol] += 1
                protocols.update(f'{protocol}/{name}' for name in re.findall(r'app-layer-protocol:([\w-]+);', rule))
    return alerting, silent


def supported_keywords(sluice):
    run = subprocess.run([sluice, 'keywords', '--json'], capture_output=True, text=True, check=True)
    return {keyword['name']: keyword['aliases'] for keyword in json.loads(run.stdout)}


def supported_applications(sluice):
    """Names of application protocols, and TRANSPORT/NAME of those that have counters for TCP and UDP."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case([udp_packet(b'one')], [(0, 'alert udp any any -> any any (content:"two";)')])
        events, error = own.replay(sluice, case, folder)
    if error:
        sys.exit(error)
    stats = next(event for event in events if event['event_type'] == 'stats')
    flows = [*stats['stats']['app_layer']['flow'], *stats['sluice']['stats']['app_layer']['flow']]
    applications, transports = set(), set()
    for name in flows:
        name, transport = re.fullmatch('(.*?)(_tcp|_udp)?', name).groups()
        if name not in ('also', 'failed'):
            applications.add(name.replace('_', '-'))
            transports |= {f'{transport[1:]}/{name}'} if transport else set()
    return sorted(applications), sorted(transports)


def main():
    sluice, is_listing = os.path.abspath(sys.argv[1]), '--list' in sys.argv
    (options, protocols), (silent_options, silent_protocols) = count_rules()
    keywords, (applications, transports) = supported_keywords(sluice), supported_applications(sluice)
    problems = [f'EXCEPTIONS has {name}, which is not a keyword' for name in EXCEPTIONS if name not in keywords]
    covered = 0
    for name, aliases in keywords.items():
        alerts, silences = (sum(counter[word] for word in (name, *aliases)) for counter in (options, silent_options))
        if is_listing:
            print(f'{name}: {alerts} rules that alert, {silences} that do not')
        if alerts and silences:
            covered += 1
            if name in EXCEPTIONS:
                problems.append(f'EXCEPTIONS has {name}, which is covered')
        elif name not in EXCEPTIONS:
            problems.append(f'{name}: no rule that {"does not alert" if alerts else "alerts"}')
        if name not in EXCEPTIONS:
            problems += [f'{word}: no rule that alerts' for word in (name, *aliases) if not options[word] and alerts]
    for name in (*PROTOCOLS, *applications, *transports, *OTHER_NAMES):
        if not protocols[name] or not (silent_protocols[name] or name in transports or name in OTHER_NAMES):
            problems.append(f'protocol {name}: no rule that {"does not alert" if protocols[name] else "alerts"}')
    for problem in problems:
        print(problem)
    print(f'{covered} of {len(keywords)} keywords covered, {len(EXCEPTIONS)} exceptions; '
          f'{len(PROTOCOLS)} packet and {len(applications)} application protocols')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
