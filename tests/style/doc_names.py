#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Fails if a document names a file, function, type or constant that does not exist in the source tree.

    doc_names.py SOURCE_DIR DOCUMENT...

Only words in backquotes are checked: paths (src/flow/report.c, sluice/flow.h, tests/fuzz), names of files without their
folder (reading.c), functions with their parentheses (policy_flow()), `struct NAME` and constants (INSPECT_LOG_ONLY).
"""
import os
import re
import sys

FOLDERS = ('src', 'include', 'tests')


def read_tree(root):
    """Returns the names of all C files, and one string with all their text."""
    names, text = set(), []
    for folder in FOLDERS:
        for base, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name not in ('corpus', '__pycache__')]
            for name in files:
                if name.endswith(('.c', '.h')):
                    names.add(name)
                    with open(os.path.join(base, name), encoding='utf-8') as f:
                        text.append(f.read())
    return names, '\n'.join(text)


def check(word, root, names, words):
    """Returns why a word in backquotes is wrong, or None if it is correct."""
    if re.fullmatch(r'(src|tests|scripts|include|rules|nft|systemd)/[\w./-]+', word) and \
            not re.search(r'\b(NAME|FOLDER)\b', word):
        return None if os.path.exists(os.path.join(root, word)) else 'no such file'
    if re.fullmatch(r'sluice/\w+\.h', word):
        return None if os.path.exists(os.path.join(root, 'include', word)) else 'no such header'
    if re.fullmatch(r'\w+\.[ch]', word):
        return None if word in names else 'no file has this name'
    function = re.fullmatch(r'(\w+)\(\)', word)
    if function:
        return None if function[1] in words else 'no such function'
    struct = re.fullmatch(r'(?:const )?struct (\w+)(?: \w+)?', word)
    if struct:
        return None if struct[1] in words else 'no such type'
    if re.fullmatch(r'[A-Z][A-Z0-9]*_[A-Z0-9_]+', word):
        return None if word in words else 'no such constant'
    return None


def main():
    root, problems = sys.argv[1], []
    names, text = read_tree(root)
    words = set(re.findall(r'\w+', text))
    for path in sys.argv[2:]:
        with open(os.path.join(root, path), encoding='utf-8') as f:
            lines = f.read().splitlines()
        checked = 0
        for number, line in enumerate(lines, 1):
            for word in re.findall(r'`([^`]+)`', line):
                checked += 1
                reason = check(word, root, names, words)
                if reason:
                    problems.append(f'{path}:{number}: `{word}`: {reason}')
        if checked == 0:
            problems.append(f'{path}: nothing in backquotes was found')
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
