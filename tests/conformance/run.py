#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the conformance suite and compares with the list of the cases that passed before.

    run.py --sluice BIN --shared DIR --passing FILE [--update]

Fails when a case of the list fails, or an event of any case is not valid against EVE's JSON schema (schema.py). New
passes are printed; --update writes them into the list (never takes one out). Exit code 77 when the suite is not there.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import schema


def open_validator(suite):
    """The validator, or None where its module or the schema is not there."""
    path = os.path.join(suite, 'etc/eve-schema.json')
    if not os.path.exists(path):
        print(f'SKIP: no {path}')
        return None
    try:
        return schema.Validator(path)
    except ImportError as error:
        print(f'SKIP: {error}')
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sluice', required=True)
    parser.add_argument('--shared', required=True)
    parser.add_argument('--passing', required=True)
    parser.add_argument('--update', action='store_true')
    options = parser.parse_args()

    suite = os.path.join(options.shared, 'verify')
    if not os.path.exists(os.path.join(suite, 'verify.py')):
        print(f'SKIP: no conformance suite in {suite} (set SLUICE_SHARED)')
        return 77
    with open(options.passing) as f:
        before = {line.strip() for line in f if line.strip() and not line.startswith('#')}
    validator = open_validator(suite)
    # The suite judges Sluice by the checks for the newest version of Suricata. Rules with `requires` are compared with
    # the version that Sluice has, so their cases are judged by the checks for that version.
    version = re.search(r'version (\S+)', subprocess.run([options.sluice, 'suricata-compat', '-V'], check=True,
                                                         capture_output=True, text=True).stdout).group(1)
    status = {}
    with tempfile.TemporaryDirectory() as folder:
        for selection in ([], ['--as-version', version, '--filter', '^requires-']):
            out = os.path.join(folder, 'results.json')
            run = subprocess.run([sys.executable, os.path.join(suite, 'verify.py'), '--bin', options.sluice,
                                  '--list', os.path.join(suite, 'dev.list'), '-j', str(os.cpu_count() or 1), '--json',
                                  out, '--keep', folder + '/cases', *selection],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not os.path.exists(out):
                print(run.stdout[-4000:])
                print('the suite did not run')
                return 1
            with open(out) as f:
                results = json.load(f)
            os.remove(out)
            results = results['results'] if isinstance(results, dict) else results
            status.update({r['name']: r for r in results})
        if validator:
            validator.check_folder(folder + '/cases')
    tiers = {}
    with open(os.path.join(suite, 'tiers.tsv')) as f:
        for line in f:
            fields = line.rstrip('\n').split('\t')
            tiers[fields[0]] = fields[1]
    table = collections.defaultdict(collections.Counter)
    for name, result in status.items():
        table[tiers.get(name, '?')][result['status']] += 1
    for tier in sorted(table):
        print(f'{tier}: {table[tier]["passed"]} passed, {table[tier]["failed"]} not yet, {table[tier]["skipped"]} '
              f'skipped')

    passed = {name for name, result in status.items() if result['status'] == 'passed'}
    lost = sorted(before - passed)
    new = sorted(passed - before)
    for name in lost:
        print(f'LOST {name}: {status.get(name, {}).get("reason", "not run")}')
    if new:
        print(f'{len(new)} cases pass that are not in the list: ' + ' '.join(new[:20]))
    if options.update:
        with open(options.passing, 'w') as f:
            f.write('# Cases of the conformance suite that pass; made by run.py --update. A case never leaves the '
                    'list.\n')
            f.write(''.join(name + '\n' for name in sorted(before | passed)))
    print(f'{len(before) - len(lost)} of {len(before)} listed cases pass')
    valid = validator.report() if validator else True
    if lost or not valid:
        return 1
    return 0 if validator else 77


if __name__ == '__main__':
    sys.exit(main())
