#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs conformance cases whose packets are built here, so that a clone without the conformance suite is tested, too.

    own.py SLUICE MODULE [CASE]       MODULE: a file below cases/

A module has `cases`, a dictionary from names to cases (build.Case, or a tuple with its first fields):

    packets     IP packets, or Ethernet frames (`ethernet`); a number is the seconds that pass before the next packet
    rules       a list of (COUNT, RULE): the rule must alert COUNT times. Rules have no sid; it is the place in the list
    files       name -> content of files to which rules and options refer by name
    options     more arguments of `sluice replay`; {folder} is the folder of the files
    events      a list of "COUNT key=value key=value": so many events have these values; `key=` means that it is absent

The expected counts follow from the protocol and from the documentation of Suricata, not from what a program printed.
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
sys.path.insert(0, HERE)

from build import Case  # noqa: E402
from run import value  # noqa: E402  (tests/replay/run.py: build.py adds its folder to the path)

LINK_ETHERNET, LINK_RAW = 1, 101


def load_cases(module):
    """The cases of a module, by name."""
    spec = importlib.util.spec_from_file_location(module, f'{HERE}/cases/{module}.py')
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return {name: Case(*case) for name, case in loaded.cases.items()}


def write_capture(packets, path, link):
    seconds = 1700000000.0
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, link))
        for packet in packets:
            if not isinstance(packet, bytes):
                seconds += packet
                continue
            seconds += 0.001
            out.write(struct.pack('<IIII', int(seconds), int(seconds % 1 * 1e6), len(packet), len(packet)) + packet)


def complete_rule(sid, rule):
    """The rule with a message and its sid."""
    assert rule.endswith(')'), rule
    return f'{rule[:-1]} msg:"{sid}"; sid:{sid};)'


def replay(sluice, case, folder):
    """The events of the case, and the text of an error."""
    write_capture(case.packets, folder + '/test.pcap', LINK_ETHERNET if case.ethernet else LINK_RAW)
    for name, content in case.files.items():
        with open(f'{folder}/{name}', 'wb') as f:
            f.write(content if isinstance(content, bytes) else content.encode())
    with open(folder + '/test.rules', 'w') as f:
        for sid, (_, rule) in enumerate(case.rules, 1):
            f.write(complete_rule(sid, rule) + '\n')
    options = ['--set', 'packet-alert-max=255', *[option.format(folder=folder) for option in case.options]]
    run = subprocess.run([sluice, 'replay', '--rules', folder + '/test.rules', '--log-dir', folder + '/log', *options,
                          folder + '/test.pcap'], capture_output=True, text=True, timeout=60)
    if run.returncode or run.stderr:
        return [], f'exit code {run.returncode}: {run.stderr}'
    with open(folder + '/log/eve.json') as f:
        return [json.loads(line) for line in f], ''


def run_case(sluice, case):
    """The differences from the expected alerts and events, one a line."""
    with tempfile.TemporaryDirectory() as folder:
        events, error = replay(sluice, case, folder)
    if error:
        return [error]
    alerts = collections.Counter(event['alert']['signature_id'] for event in events if event['event_type'] == 'alert')
    differences = [f'{alerts[sid]} alerts instead of {count}: {rule}'
                   for sid, (count, rule) in enumerate(case.rules, 1) if alerts[sid] != count]
    for line in case.events:
        count, *pairs = line.split()
        pairs = [pair.split('=', 1) for pair in pairs]
        found = sum(all(value(event, key) == text for key, text in pairs) for event in events)
        if found != int(count):
            differences.append(f'{found} events instead of {line}')
    return differences


def main():
    sluice, module, only = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    cases = {name: case for name, case in load_cases(module).items() if not only or name in only}
    failed = rules = 0
    for name, case in cases.items():
        differences = run_case(sluice, case)
        if {count > 0 for count, _ in case.rules} != {True, False}:
            differences.append('the case needs a rule that alerts and one that does not')
        for line in differences:
            print(f'{name}: {line}')
        failed += bool(differences)
        rules += len(case.rules)
    print(f'{len(cases) - failed} of {len(cases)} cases passed, with {rules} rules')
    sys.exit(1 if failed or not cases else 0)


if __name__ == '__main__':
    main()
