#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that doc_names.py reports each kind of unknown name, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'doc_names.py')
CODE = 'struct flow { int x; };\nenum { FLOW_MAX = 3 };\nint flow_get(void);\n'


class DocNames(unittest.TestCase):
    def run_on(self, document):
        with tempfile.TemporaryDirectory() as root:
            for folder in ('src/flow', 'include/sluice', 'tests'):
                os.makedirs(os.path.join(root, folder))
            for path in ('src/flow/flow.c', 'include/sluice/flow.h'):
                with open(os.path.join(root, path), 'w') as f:
                    f.write(CODE)
            with open(os.path.join(root, 'd.md'), 'w') as f:
                f.write(document)
            run = subprocess.run([sys.executable, PROGRAM, root, 'd.md'], capture_output=True, text=True)
            return run.returncode, run.stderr

    def test_existing_names(self):
        document = '`src/flow/flow.c` `src/flow` `sluice/flow.h` `flow.c` `flow_get()` `struct flow` `FLOW_MAX` ' \
            '`flow.memcap` `src/app/NAME/`\n'
        self.assertEqual(self.run_on(document), (0, ''))

    def test_missing_names(self):
        for word in ('src/flow/gone.c', 'src/gone', 'sluice/gone.h', 'gone.c', 'gone()', 'struct gone', 'FLOW_GONE'):
            code, error = self.run_on(f'text\n`{word}`\n')
            self.assertEqual(code, 1, word)
            self.assertIn(f'd.md:2: `{word}`', error)

    def test_document_without_names(self):
        self.assertEqual(self.run_on('nothing\n')[0], 1)


if __name__ == '__main__':
    unittest.main()
