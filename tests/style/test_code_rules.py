#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that code_rules.py reports each violation, and nothing in correct code."""
import sys

import code_rules

HEAD = '/* ' + code_rules.SPDX + ' */\n'
BODY = 'int f(int a,\n      int b)\n{\n' + '    a += b;\n' * 100 + '    return a;\n}\n'
SYMBOLS = '''
lib.a:log.c.o:level                 |0000|   d  |            OBJECT|0004|     |.data
lib.a:a.c.o:names                   |0000|   d  |            OBJECT|0004|     |.data.rel.ro.local
lib.a:a.c.o:scratch.3               |0000|   b  |            OBJECT|0004|     |.bss
lib.a:a.c.o:mine                    |0000|   d  |               TLS|0004|     |.tdata
lib.a:a.c.o:f                       |0000|   T  |              FUNC|0004|     |.text
'''
CASES = [
    ('good code', HEAD + 'char *a = "http://x"; /* http://y */\nchar b = \'"\';\n/* a\n// b\n*/\n' + BODY, []),
    ('a comment', HEAD + 'int a; // b\n', ['a.c:2']),
    ('a comment behind a string', HEAD + 'char *a = "x\\""; // b\n', ['a.c:2']),
    ('no licence', 'int a;\n', ['a.c:1']),
    ('the licence too late', '\n\n' + HEAD, ['a.c:1']),
    ('a long function', HEAD + 'int a;\n\n' + BODY.replace('return', '\n' * 6 + '    return'), ['a.c:4']),
    ('two short functions', HEAD + BODY + '\n' + BODY, []),
    ('a long table', HEAD + 'int a[] = {\n' + '    1,\n' * 200 + '};\n', []),
    ('a long file', HEAD + 'int a;\n' * 1000, ['a.c:901']),
    ('a long private header', HEAD + 'int a;\n' * 300, ['src/a.h:251'], 'src/a.h'),
    ('a long public header', HEAD + 'int a;\n' * 300, [], 'include/sluice/a.h'),
]

failed = 0
for name, text, places, *path in CASES:
    found = [problem.split(': ')[0] for problem in code_rules.check_file(path[0] if path else 'a.c', text)]
    if found != places:
        print(f'{name}: {found} and not {places}')
        failed += 1
variables = list(code_rules.mutable_variables(SYMBOLS))
if variables != [('log.c.o', 'level'), ('a.c.o', 'scratch'), ('a.c.o', 'mine')]:
    print(f'variables: {variables}')
    failed += 1
print(f'{len(CASES) + 1 - failed} passed, {failed} failed')
sys.exit(failed > 0)
