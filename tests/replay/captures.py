#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays public captures. Nothing may crash or hang, every packet must be counted, and two runs must agree.

    captures.py SLUICE SOURCE SHARED [--share N] [--together N] [--largest BYTES] [--timeout S] [-j N] [PART OF A PATH...]

SHARED is the folder with pcaps/ and verify/cases/. --share N uses one in N captures, chosen by a hash of the path;
--largest skips larger files. With PARTs only captures whose path contains one of them are used, and --share is ignored.
With --together each run replays N captures, because starting the program takes longer than replaying a capture. If a
run has a problem, or cannot read a file to its end, each of its captures is replayed separately.
The rules are the shipped ones and captures/keywords.rules; half of the captures are replayed with --ips. The second run
uses another queue.batch.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import replaying

FOLDERS = ('pcaps/tcpdump', 'pcaps/zeek', 'pcaps/trex', 'verify/cases')
ENDINGS = ('.pcap', '.pcapng', '.cap', '.trace')


def number_of(path):
    """Returns a hash of the path that is the same on every machine."""
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:4], 'big')


def find_captures(shared, share, largest, parts, folders=FOLDERS):
    found = []
    for folder in folders:
        for base, _, names in os.walk(os.path.join(shared, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(base, name), shared)
                if name.endswith(ENDINGS) and os.path.getsize(os.path.join(shared, path)) <= largest:
                    found.append(path)
    found.sort()
    if parts:
        return [path for path in found if any(part in path for part in parts)]
    return [path for path in found if number_of(path) // 2 % share == 0]


def argument_parser(description=None, timeout=120):
    """Returns a parser for the arguments that all scripts on public captures have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice')
    parser.add_argument('source')
    parser.add_argument('shared')
    parser.add_argument('--share', type=int, default=1)
    parser.add_argument('--together', type=int, default=1)
    parser.add_argument('--largest', type=int, default=1 << 40)
    parser.add_argument('--timeout', type=int, default=timeout)
    parser.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    parser.add_argument('part', nargs='*')
    return parser


def chosen_captures(args, folders=FOLDERS):
    """Returns the captures that the arguments select. Exits with 77 if there are none."""
    found = find_captures(args.shared, args.share, args.largest, args.part, folders)
    if not found:
        print(f'SKIP: no captures in {args.shared} (set SLUICE_SHARED)')
        sys.exit(77)
    return found


def groups_of(paths, size):
    """Splits the captures into groups that are replayed together. All captures of a group have the same mode."""
    modes = [[path for path in paths if number_of(path) % 2 == mode] for mode in (0, 1)]
    return [mode[at:at + size] for mode in modes for at in range(0, len(mode), size)]


def mode_options(paths):
    return ['--ips'] if number_of(paths[0]) % 2 else []


def check_group(check, paths):
    """Calls check(PATHS), which returns (problem or None, the first run), for the group. Returns a list of (path or
    paths, problem or None, run). If the group has a problem, its captures are checked one by one."""
    problem, run = check(paths)
    if len(paths) == 1 or not problem and run.is_complete():
        return [(' '.join(paths), problem, run)]
    found = [(path, *check([path])) for path in paths]
    if not any(problem for _, problem, _ in found):
        complete = [path for path, _, run in found if run.is_complete()]
        problem, run = check(complete) if len(complete) > 1 else (None, None)
        if problem:
            found.append((' '.join(complete), problem, run))
    return found


def missing_keywords(sluice, rules):
    """Returns the keywords that no rule of the file uses."""
    keywords = json.loads(subprocess.check_output([sluice, 'keywords', '--json']))
    with open(rules) as f:
        text = f.read()
    used = [[keyword['name'], *keyword['aliases']] for keyword in keywords]
    return [names[0] for names in used if not any(re.search(f'[ (]{re.escape(name)}[:;]', text) for name in names)]


def difference(one, other):
    for a, b in zip(one.lines, other.lines):
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), None)
        if at is not None:
            return f'...{a[max(0, at - 60):at + 60].decode()}... and ...{b[max(0, at - 60):at + 60].decode()}...'
    return f'{len(one.lines)} events, exit code {one.code}, and {len(other.lines)}, exit code {other.code} {other.said}'


def check(sluice, arguments, shared, paths, timeout):
    """Returns (problem or None, the first run)."""
    arguments = arguments + mode_options(paths)
    with tempfile.TemporaryDirectory() as folder:
        runs = [replaying.Run(sluice, arguments + ['--set', f'queue.batch={batch}'],
                              [os.path.join(shared, path) for path in paths], folder, timeout * len(paths))
                for batch in (64, 7)]
    problem = runs[0].problem(may_fail=True)
    if not problem and (runs[0].code, runs[0].said, runs[0].lines) != (runs[1].code, runs[1].said, runs[1].lines):
        problem = 'the two runs differ: ' + difference(*runs)
    return problem, runs[0]


def main():
    parser = argument_parser(timeout=60)
    parser.add_argument('-v', dest='verbose', action='store_true')
    args = parser.parse_args()

    sluice = os.path.abspath(args.sluice)
    missing = missing_keywords(sluice, args.source + '/tests/replay/captures/keywords.rules')
    if missing:
        sys.exit('not in keywords.rules: ' + ', '.join(missing))
    captures = chosen_captures(args)
    failed = refused = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        arguments = replaying.default_arguments(os.path.abspath(args.source)) + replaying.cache_settings(folder)
        results = pool.map(lambda group: check_group(
            lambda paths: check(sluice, arguments, args.shared, paths, args.timeout), group),
            groups_of(captures, args.together))
        for path, problem, run in (one for found in results for one in found):
            refused += run.code == 1
            if run.code == 1 and args.verbose:
                print(run.said, end='')
            if problem:
                failed += 1
                print(f'{path}: {problem}', flush=True)
    print(f'{len(captures)} captures, {refused} of them refused or cut, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
