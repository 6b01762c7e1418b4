#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts static functions that are called from one place only.

    single_callers.py SOURCE_DIR [--limit PERCENT] [--list] [FOLDER...]

The script counts each function that a .c file under src/ defines as static in the first column. Its references are all
other occurrences of its name in that file, without prototypes. A single-caller function has exactly one reference, and
that is a call. A function whose address is taken (a callback, a row of a table) is none, because it cannot be inlined
by hand into its caller.
"""
import argparse
import collections
import os
import re
import sys

TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HEAD = re.compile(r'^static\b[^;={}()]*?\b([A-Za-z_]\w*)\(([^{};]*)\)\s*(\{|;)', re.M)


def blank(match):
    return re.sub(r'[^\n]', ' ', match[0])


def count(path):
    """Yields (name, line, number of references, whether the only one is a call) of each static function of a file."""
    with open(path) as f:
        code = TEXT.sub(blank, f.read())
    heads = collections.defaultdict(list)
    for match in HEAD.finditer(code):
        heads[match[1]].append(match)
    for name, found in heads.items():
        body = [m for m in found if m[3] == '{']
        if not body:
            continue
        own = {m.start(1) for m in found}
        uses = [m for m in re.finditer(rf'\b{name}\b(\s*\()?', code) if m.start() not in own]
        yield name, code.count('\n', 0, body[0].start()) + 1, len(uses), len(uses) == 1 and bool(uses[0][1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('root')
    parser.add_argument('folders', nargs='*', help='folders under src/ (default: all)')
    parser.add_argument('--limit', type=float, help='fail if the share of all folders exceeds PERCENT')
    parser.add_argument('--list', action='store_true', help='list the functions')
    args = parser.parse_args()

    totals = collections.defaultdict(lambda: [0, 0])
    for base, folders, names in os.walk(os.path.join(args.root, 'src')):
        folders.sort()
        folder = os.path.relpath(base, os.path.join(args.root, 'src'))
        if args.folders and not any(folder == f or folder.startswith(f + os.sep) for f in args.folders):
            continue
        for name in sorted(n for n in names if n.endswith('.c')):
            for function, line, _, single in count(os.path.join(base, name)):
                totals[folder][0] += 1
                totals[folder][1] += single
                if single and args.list:
                    print(f'src/{folder}/{name}:{line}: {function}')
    functions = sum(t[0] for t in totals.values())
    single = sum(t[1] for t in totals.values())
    if not functions:
        print('single_callers.py: no static function found', file=sys.stderr)
        return 1
    for folder, (n, one) in sorted(totals.items()):
        print(f'{one:5} of {n:5} ({100 * one / n:4.1f} %) {folder}')
    share = 100 * single / functions
    print(f'{single:5} of {functions:5} ({share:4.1f} %) static functions have a single caller')
    if args.limit is not None and share > args.limit:
        print(f'single_callers.py: more than {args.limit} %: fold helpers that name no idea of their own into their '
              f'callers', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
