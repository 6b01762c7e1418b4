#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs conformance cases whose packets are built here, so that a clone without the conformance suite is tested, too.

    own.py SLUICE MODULE [CASE]       MODULE: a file below cases/

A module has `cases`, a dictionary: name -> (packets, rules) or (packets, rules, files). `rules` is a list of (COUNT,
RULE): so many alerts must come of this rule. Rules have no sid; it is the place in the list. A rule may refer to one of
`files` (name -> content) by its name. The expected counts follow from the protocol and from the documentation of
Suricata, not from what a program printed.
"""
import collections
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LINK_RAW = 101


def write_capture(packets, path):
    seconds = 1700000000.0
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, LINK_RAW))
        for packet in packets:
            if not isinstance(packet, bytes):
                seconds += packet
                continue
            seconds += 0.001
            out.write(struct.pack('<IIII', int(seconds), int(seconds % 1 * 1e6), len(packet), len(packet)) + packet)


def run_case(sluice, packets, rules, files):
    """The differences from the expected alerts, one a line."""
    with tempfile.TemporaryDirectory() as folder:
        write_capture(packets, folder + '/test.pcap')
        for name, content in files.items():
            with open(f'{folder}/{name}', 'w') as f:
                f.write(content)
        with open(folder + '/test.rules', 'w') as f:
            for sid, (_, rule) in enumerate(rules, 1):
                assert rule.endswith(')'), rule
                f.write(f'{rule[:-1]} msg:"{sid}"; sid:{sid};)\n')
        run = subprocess.run([sluice, 'replay', '--rules', folder + '/test.rules', '--log-dir', folder + '/log',
                              folder + '/test.pcap'],
                             capture_output=True, text=True, timeout=60)
        if run.returncode or run.stderr:
            return [f'exit code {run.returncode}: {run.stderr}']
        with open(folder + '/log/eve.json') as f:
            events = [json.loads(line) for line in f]
    alerts = collections.Counter(event['alert']['signature_id'] for event in events if event['event_type'] == 'alert')
    return [f'{alerts[sid]} alerts instead of {count}: {rule}' for sid, (count, rule) in enumerate(rules, 1)
            if alerts[sid] != count]


def main():
    sluice, module, only = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sys.path.insert(0, HERE)
    spec = importlib.util.spec_from_file_location(module, f'{HERE}/cases/{module}.py')
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    cases = {name: case for name, case in loaded.cases.items() if not only or name in only}
    failed = rules = 0
    for name, (packets, expected, *files) in cases.items():
        counts = {count > 0 for count, _ in expected}
        differences = run_case(sluice, packets, expected, files[0] if files else {})
        if counts != {True, False}:
            differences.append('the case needs a rule that alerts and one that does not')
        for line in differences:
            print(f'{name}: {line}')
        failed += bool(differences)
        rules += len(expected)
    print(f'{len(cases) - failed} of {len(cases)} cases passed, with {rules} rules')
    sys.exit(1 if failed or not cases else 0)


if __name__ == '__main__':
    main()
