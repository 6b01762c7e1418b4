#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays captures of the world: nothing may crash, hang, lose a packet or give other events the second time.

    captures.py SLUICE SOURCE SHARED [--share N] [--largest BYTES] [--timeout S] [-j N] [PART OF A PATH...]

SHARED is the folder with pcaps/ and verify/cases/. With --share N one capture in N is taken, chosen by its name, and
none above --largest; a PART takes only the captures whose path has it. The captures go through every rule that is
shipped and through captures/keywords.rules, half of them with --ips; the second run takes the packets in other batches.
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
    """The same for a path on every machine, and evenly spread."""
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
    """What the scripts have in common that replay captures of the world."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice')
    parser.add_argument('source')
    parser.add_argument('shared')
    parser.add_argument('--share', type=int, default=1)
    parser.add_argument('--largest', type=int, default=1 << 40)
    parser.add_argument('--timeout', type=int, default=timeout)
    parser.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    parser.add_argument('part', nargs='*')
    return parser


def chosen_captures(args, folders=FOLDERS):
    """Those that the arguments name; ends the script where there are none."""
    found = find_captures(args.shared, args.share, args.largest, args.part, folders)
    if not found:
        print(f'no captures in {args.shared}')
        sys.exit(77)
    return found


def missing_keywords(sluice, rules):
    """Names of keywords that the rules of the test do not use."""
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


def check(sluice, arguments, shared, path, timeout):
    """What is wrong with this capture, or None; and whether its file was refused."""
    arguments = arguments + (['--ips'] if number_of(path) % 2 else [])
    with tempfile.TemporaryDirectory() as folder:
        runs = [replaying.Run(sluice, arguments + ['--set', f'queue.batch={batch}'], [os.path.join(shared, path)],
                              folder, timeout)
                for batch in (64, 7)]
    problem = runs[0].problem(may_fail=True)
    if not problem and (runs[0].code, runs[0].said, runs[0].lines) != (runs[1].code, runs[1].said, runs[1].lines):
        problem = 'the second run was different: ' + difference(*runs)
    return problem, runs[0].said if runs[0].code == 1 else None


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
        results = pool.map(lambda path: check(sluice, arguments, args.shared, path, args.timeout), captures)
        for path, (problem, said) in zip(captures, results):
            refused += said is not None
            if said and args.verbose:
                print(said, end='')
            if problem:
                failed += 1
                print(f'{path}: {problem}', flush=True)
    print(f'{len(captures)} captures, {refused} of them refused or cut, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
