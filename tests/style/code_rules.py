#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks rules of the coding style that no compiler checks. Fails on:

- comments with //
- a source file without SPDX line
- lines, functions and files that are too long
- mutable globals in the objects of LIBRARY, except those in MUTABLE

    code_rules.py SOURCE_DIR [LIBRARY]
"""
import os
import re
import subprocess
import sys

FOLDERS = ('src', 'include', 'tests', 'scripts')
MAX_FUNCTION, MAX_FILE, MAX_PRIVATE_HEADER, MAX_COLUMNS = 110, 900, 250, 120
SPDX = 'SPDX-License-Identifier: GPL-2.0-or-later'

# Mutable globals that are allowed.
MUTABLE = {'highest_level'}  # the log level (log.c): stderr is process-wide, too


def source_files(root):
    """Yields source files, found by their ending, and scripts, found by their first line. Skips test data."""
    for folder in FOLDERS:
        for base, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(name for name in folders if name not in ('corpus', 'cases', '__pycache__'))
            for name in sorted(names):
                path = os.path.join(base, name)
                if name.endswith(('.c', '.h', '.py', '.sh')) or name == 'CMakeLists.txt':
                    yield path
                elif '.' not in name:
                    with open(path, 'rb') as f:
                        if f.read(2) == b'#!':
                            yield path


def without_strings(text):
    """Empties string and character constants, and removes block comments but not their line ends, so that // remains
    only where it begins a comment."""
    def blank(match):
        word = match[0]
        return '\n' * word.count('\n') if word.startswith('/*') else word[0] * 2
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def check_comments(name, text):
    for number, line in enumerate(without_strings(text).splitlines(), 1):
        if '//' in line:
            yield f'{name}:{number}: comments are /* */'


def check_functions(name, text):
    """Yields functions that are too long. The length includes the lines of the declaration. A body begins and ends with
    a brace alone in the first column."""
    lines = text.splitlines()
    start = head = None
    for number, line in enumerate(lines, 1):
        if start is None:
            if not line or line[0] in '}#/* ':
                head = head if line.startswith(' ') and head else None
            elif head is None:
                head = number
            if line == '{':
                start = head or number
        elif line == '}':
            if number - start + 1 > MAX_FUNCTION:
                yield f'{name}:{start}: a function of {number - start + 1} lines; {MAX_FUNCTION} are allowed'
            start = head = None


def check_file(name, text):
    if SPDX not in '\n'.join(text.splitlines()[:2]):
        yield f'{name}:1: no line "{SPDX}"'
    length = text.count('\n')
    limit = MAX_PRIVATE_HEADER if name.startswith('src/') and name.endswith('.h') else MAX_FILE
    if length > limit:
        yield f'{name}:{limit + 1}: {length} lines; {limit} are allowed in a ' \
            f'{"private header" if limit < MAX_FILE else "file"}'
    if name.endswith(('.c', '.h')):
        yield from (f'{name}:{number}: {len(line)} columns; {MAX_COLUMNS} are allowed'
                    for number, line in enumerate(text.splitlines(), 1) if len(line) > MAX_COLUMNS)
        yield from check_comments(name, text)
        yield from check_functions(name, text)


def mutable_variables(symbols):
    """Yields (object, name) of the variables in writable sections of nm's output. .data.rel.ro is read-only at run
    time."""
    for line in symbols.splitlines():
        fields = [field.strip() for field in line.split('|')]
        if len(fields) != 7 or fields[3] not in ('OBJECT', 'TLS', 'COMMON'):
            continue
        where, _, name = fields[0].rpartition(':')
        section = fields[6]
        if re.match(r'\.(data|bss|tdata|tbss)\b|\*COM\*', section) and not section.startswith('.data.rel.ro'):
            yield os.path.basename(where).rpartition(':')[2], re.sub(r'\.\d+$', '', name)


def main():
    root, problems = sys.argv[1], []
    for path in source_files(root):
        with open(path, encoding='utf-8') as f:
            problems += check_file(os.path.relpath(path, root), f.read())
    if len(sys.argv) > 2:
        symbols = subprocess.run(['nm', '-A', '--format=sysv',
                                  sys.argv[2]], check=True, capture_output=True, text=True).stdout
        problems += [f'{where}: {name} is a mutable global; move it into a struct with an owner'
                     for where, name in mutable_variables(symbols) if name not in MUTABLE]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
