#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that blocks.py finds the blocks of a document, and fails if a block is wrong."""
import os
import subprocess
import sys
import tempfile
import unittest

BLOCKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.py")


class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # Replacements of the programs that blocks run, so that the test needs no Sluice.
        self.program("sluice",
                     'case $1 in run) touch running; trap "rm running; exit ${CODE:-0}" INT; echo "sluice: ready"; '
                     'while :; do sleep 0.02; done ;;\n'
                               'check) grep -q good "${3#*=}" ;; esac')
        self.program("nft", 'cat "$3"; ! grep -q Error "$3"')

    def program(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text + "\n")
        os.chmod(path, 0o755)

    def run_document(self, text, **environment):
        with open(os.path.join(self.folder.name, "page.md"), "w", encoding="utf-8") as file:
            file.write(text)
        path = self.folder.name + ":" + os.environ["PATH"]
        return subprocess.run([sys.executable, BLOCKS, self.folder.name, "page.md"],
                              env={**os.environ, "PATH": path, **environment},
                              capture_output=True, text=True, check=False)

    def passes(self, text, *wanted):
        done = self.run_document(text)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in wanted:
            self.assertIn(line, done.stdout)

    def fails(self, text, wanted, **environment):
        done = self.run_document(text, **environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(wanted, done.stdout)

    def test_commands_run_in_order_in_one_folder(self):
        self.passes("```sh\nmkdir a\ncd a # into it\n```\n\ntext\n\n```sh\ntouch b\ntest -e ../a/b\n```\n",
                    "2 sh blocks run or checked, 0 not run")
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "a", "b")))

    def test_blocks_of_list_items_run(self):
        self.passes("1. First:\n\n   ```sh\n   test a = a\n   ```\n", "1 sh blocks run or checked, 0 not run")
        self.fails("1. First:\n\n   ```sh\n   false\n   ```\n", "FAILED page.md:3: exit code 1")
        self.passes("1. First:\n\n   <!-- not run: a reason -->\n   ```sh\n   false\n   ```\n", "sh: a reason")

    def test_each_command_must_succeed(self):
        self.fails("Text\n\n```sh\nfalse\ntrue\n```\n", "FAILED page.md:3: exit code 1")

    def test_pages_of_a_table_of_contents_follow_in_its_order(self):
        os.mkdir(os.path.join(self.folder.name, "page"))
        for name, text in (("a", "```sh\ntest -e made\n```\n"), ("b", "```sh\ntouch made\n```\n"),
                           ("c", "```sh\nfalse\n```\n")):
            with open(os.path.join(self.folder.name, "page", name + ".md"), "w", encoding="utf-8") as file:
                file.write(text)
        self.passes("[b](page/b.md) [a](page/a.md) [again](page/b.md)\n", "ok page/b.md:1", "ok page/a.md:1",
                    "2 sh blocks run or checked")
        self.fails("[c](page/c.md)\n", "FAILED page/c.md:1: exit code 1")

    def test_commands_after_ctrl_c(self):
        self.passes("<!-- runs until Ctrl-C -->\n```sh\nexec sluice run\n```\n\n```sh\ntest -e running\n```\n\n"
                    "<!-- after Ctrl-C -->\n```sh\ntest ! -e running\n```\n", "3 sh blocks run or checked, 0 not run")

    def test_marks(self):
        self.passes("<!-- not run: no such host -->\n```sh\nfalse\n```\n", "NOT RUN page.md:2: sh: no such host",
                    "1 not run")
        self.fails("<!-- not run -->\n```sh\nfalse\n```\n", "the mark has no reason")
        self.fails("<!-- not run: a -->\nA line between.\n```sh\nfalse\n```\n", "exit code 1")

    def test_daemon_runs_beside_other_blocks_and_ends_well(self):
        self.passes("<!-- runs until Ctrl-C -->\n```sh\nsluice run\n```\n\n```sh\ntest -e running\n```\n")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "running")))
        self.fails("<!-- runs until Ctrl-C -->\n```sh\nsluice run\n```\n", "exit code 3 on Ctrl-C", CODE="3")
        self.fails("<!-- runs until Ctrl-C -->\n```sh\nsluice status\n```\n", "did not become ready")

    def test_files_are_checked(self):
        for language in ("yaml", "suricata", "threshold"):
            self.passes(f"```{language}\ngood\n```\n", f"1 {language} blocks")
            self.fails(f"```{language}\nbad\n```\n", "FAILED page.md:1: sluice check")

    def test_nft_knows_what_the_kernel_lacks(self):
        self.passes("```nft\ntable\n```\n", "1 nft blocks")
        self.passes("```nft\nError: Could not process rule: No such file or directory\n```\n",
                    "NOT RUN page.md:1: nft: this kernel lacks")
        self.fails("```nft\nError: syntax error, unexpected newline\n```\n", "nft --check")

    def test_blocks_that_nobody_would_run(self):
        self.fails("```\ntrue\n```\n", "line 1: the block has no language")
        self.fails("Text\n\n    sluice run\n", "line 3: an indented block")
        self.fails("```sh\ntrue\n", "line 1: the block does not end")
        self.fails("```ruby\ntrue\n```\n", "unknown language 'ruby'")


if __name__ == "__main__":
    unittest.main()
