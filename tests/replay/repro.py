#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays the captures of SHARED/repro, which once showed defects, and compares the alerts with the expected ones.

    repro.py SLUICE SHARED

Without the captures the exit code is 77.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

# Capture: {sid in repro.rules: number of alerts}, the same with and without --ips.
EXPECTED = {
    'body-before-hole.pcap': {1: 1, 2: 1, 3: 1, 4: 1},
    'body-before-hole-real.pcap': {1: 1, 2: 1, 3: 1},
    'request-unknown-method.pcap': {3: 2, 5: 1},
    'response-without-status-line.pcap': {6: 1},
    'rst-in-syn-sent.pcap': {3: 1, 7: 1, 8: 1},
    'port-reuse-after-idle.pcap': {5: 3},
    'synack-with-timestamp-syn-without.pcap': {},
}
# Captures for which further alerts are allowed: clients decode the body differently, but all parse the header.
AT_LEAST = {'response-header-lone-cr.pcap': {3: 1}}
NEVER_DROPPED = ('port-reuse-after-idle.pcap', 'synack-with-timestamp-syn-without.pcap')
TINY = ('app-layer.memcap=1MiB', 'stream.reassembly-memcap=2MiB', 'stream.memcap=200KiB', 'flow.memcap=300KiB',
        'defrag.memcap=80KiB')


def replay(sluice, rules, capture, *options):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sluice, 'replay', '--rules', rules, '--log-dir', folder, '--no-console', '--set',
                              'replay.checksum-checks=no',
                              '--set', 'stream.checksum-validation=no', *options, capture], capture_output=True,
                              text=True, timeout=100)
        if run.returncode:
            return run.returncode, []
        with open(folder + '/eve.json', encoding='utf-8', errors='replace') as f:
            return 0, [json.loads(line) for line in f]


def main():
    sluice, folder = os.path.abspath(sys.argv[1]), sys.argv[2] + '/repro'
    if not os.path.isdir(folder):
        print(f'SKIP: no captures in {folder} (set SLUICE_SHARED)')
        sys.exit(77)
    failed = 0
    for capture, wanted in {**EXPECTED, **AT_LEAST}.items():
        for options in (), ('--ips',):
            status, events = replay(sluice, folder + '/repro.rules', f'{folder}/{capture}', *options)
            got = dict(collections.Counter(e['alert']['signature_id'] for e in events if e['event_type'] == 'alert'))
            if capture in AT_LEAST:
                got = {sid: number for sid, number in got.items() if sid in wanted}
            drops = sum(e['event_type'] == 'drop' for e in events)
            if status or got != wanted or (capture in NEVER_DROPPED and drops):
                failed += 1
                print(f'{capture} {" ".join(options)}: exit code {status}, alerts {got} instead of {wanted}, {drops} '
                      f'drops')
    options = [o for setting in TINY for o in ('-s', setting)]
    status, _ = replay(sluice, folder + '/tls-certs.rules', folder + '/tls-certs.pcap', '--ips', *options)
    if status:
        failed += 1
        print(f'tls-certs.pcap with little memory: exit code {status}')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
