#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that include_graph.py reports includes of a higher and of the same layer, rings, and unknown headers."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = '## Layers\n\n```\n2  rule     rule.h\n1  decode   decode.h\n1  flow     flow.h\n0  base     packet.h\n```\n'
CASES = [
    ('a good tree', {'src/decode/a.c': 'sluice/packet.h', 'src/rule/b.c': 'sluice/decode.h'}, None),
    ('up', {'src/decode/a.c': 'sluice/rule.h'}, 'may not point up'),
    ('neighbour', {'src/decode/a.c': 'sluice/flow.h'}, 'may not point to a neighbour'),
    ('ring', {'src/decode/a.c': 'sluice/flow.h', 'src/flow/a.c': 'sluice/decode.h'}, 'ring: '),
    ('unknown header', {'src/decode/a.c': 'sluice/nothing.h'}, 'not in the picture'),
    ('private header', {'src/rule/a.c': 'decode/decode_priv.h'}, 'private header'),
    ('unknown folder', {'src/thing/a.c': 'sluice/packet.h'}, 'not in the picture'),
]


def run(files):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(root + '/docs')
        os.makedirs(root + '/include/sluice')
        open(root + '/docs/architecture.md', 'w').write(PICTURE)
        for name, include in files.items():
            os.makedirs(os.path.dirname(f'{root}/{name}'), exist_ok=True)
            open(f'{root}/{name}', 'w').write(f'#include "{include}"\n')
        return subprocess.run([sys.executable, HERE + '/include_graph.py', root], capture_output=True, text=True)


failed = 0
for name, files, wanted in CASES:
    result = run(files)
    good = (result.returncode == 0) if wanted is None else (result.returncode == 1 and wanted in result.stderr)
    if not good:
        print(f'{name}: exit {result.returncode}, {result.stderr}')
        failed += 1
print(f'{len(CASES) - failed} passed, {failed} failed')
sys.exit(failed > 0)
