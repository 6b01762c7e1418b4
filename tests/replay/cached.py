#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that Hyperscan databases from the cache give the same events as compiled ones, also after damage to the cache.

    cached.py SLUICE SOURCE SHARED [--groups N] [--share N] [--largest BYTES] [--timeout S] [-j N] [PART OF A PATH...]

Captures are chosen as in determinism.py. The rules are the shipped ones, captures/keywords.rules, and ET Open if SHARED
has it. The captures are split into groups that are replayed at the same time: first without a cache, then with an empty
cache that all groups share, then after every second file of the cache was damaged.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

import captures
import replaying

RULESET = 'rules/et-open-2024-03/suricata.rules'


def runs(sluice, arguments, shared, groups, timeout, jobs):
    def one(paths):
        with tempfile.TemporaryDirectory() as folder:
            return replaying.Run(sluice, arguments, [os.path.join(shared, path) for path in paths], folder, timeout)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, groups))


def differences(groups, reference, other, may_warn):
    failed = 0
    for paths, a, b in zip(groups, reference, other):
        path = ' '.join(paths)
        if a.code != b.code or a.lines_without_stats() != b.lines_without_stats():
            print(f'{path}: {len(a.lines_without_stats())} events and {len(b.lines_without_stats())}, exit codes '
                  f'{a.code} and {b.code}: {b.said}')
            failed += 1
        elif not may_warn and a.said != b.said:
            print(f'{path}: {b.said}')
            failed += 1
    return failed


def databases(sluice, arguments):
    """Returns the number of databases, and how many of them came from the cache."""
    run = subprocess.run([sluice, 'check', '--json', '--compile', *arguments], capture_output=True,
                         env=replaying.environment())
    result = json.loads(run.stdout)
    return result['databases'], result['databases_cached']


def damage(files):
    for path in files[::2]:
        size = os.path.getsize(path)
        with open(path, 'r+b') as f:
            f.seek(size * 2 // 3)
            byte = f.read(1)
            f.seek(size * 2 // 3)
            f.write(bytes([byte[0] ^ 0x10]))


def main():
    parser = captures.argument_parser(__doc__, timeout=300)
    parser.add_argument('--groups', type=int, default=4)
    args = parser.parse_args()
    found = captures.chosen_captures(args, ['pcaps'])
    # A run replays many captures, because loading ET Open takes longer than the captures.
    groups = [group for group in (found[number::args.groups] for number in range(args.groups)) if group]
    sluice, source = os.path.abspath(args.sluice), os.path.abspath(args.source)
    plain = replaying.default_arguments(source)
    if os.path.exists(f'{args.shared}/{RULESET}'):
        plain += ['--rules', f'{args.shared}/{RULESET}']
    with tempfile.TemporaryDirectory() as folder:
        cached = plain + replaying.cache_settings(folder)
        rest = args.shared, groups, args.timeout, args.jobs
        reference = runs(sluice, plain, *rest)
        failed = differences(groups, reference, runs(sluice, cached, *rest), False)
        files = glob.glob(f'{folder}/sgh/*.database')
        count, hits = databases(sluice, cached)
        damage(files)
        failed += differences(groups, reference, runs(sluice, cached, *rest), True)
        count_again, hits_again = databases(sluice, cached)
    total = sum(len(run.lines_without_stats()) for run in reference)
    print(f'{len(found)} captures, {total} events, {len(files)} files, {hits} of {count} databases cached, {failed} '
          f'failed')
    if hits != count or hits_again != count or count != count_again or count == 0 or total == 0:
        failed += 1
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
