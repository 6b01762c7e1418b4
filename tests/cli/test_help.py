#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that --help lists exactly the options of each command, and that listings can be printed as JSON."""
import json
import re
import unittest

from program import commands, sluice


class Help(unittest.TestCase):
    def test_all_commands_are_listed(self):
        self.assertLessEqual({"run", "replay", "check", "keywords", "settings"}, set(commands()))
        self.assertEqual(sluice("--help"), sluice("help"))
        self.assertEqual(sluice("--help"), sluice("-h"))

    def test_help_of_each_command(self):
        for name in commands():
            with self.subTest(name):
                code, out, err = sluice(name, "--help")
                self.assertEqual((code, err), (0, ""))
                self.assertTrue(out.startswith(f"Usage: sluice {name}"), out)
                self.assertEqual(sluice("help", name), (code, out, err))

    def test_help_lists_the_exit_codes(self):
        for name in commands():
            with self.subTest(name):
                listed = re.findall(r"^  (\d)  \S", sluice(name, "--help")[1].partition("\nExit codes:\n")[2], re.M)
                self.assertEqual(listed, list("0123") if name in ("check", "update", "nft") else list("012"))

    def test_every_option_of_the_help_is_known(self):
        for name in commands():
            options = re.findall(r"^ +(?:-\w, )?--([\w-]+)( [A-Z])?", sluice(name, "--help")[1], re.M)
            for option, argument in options:
                with self.subTest(command=name, option=option):
                    # An option with a value fails as the last word; behind one without a value --help ends the run.
                    code, _, err = sluice(name, "--" + option) if argument else sluice(name, "--" + option, "--help")
                    self.assertNotIn("unknown option", err)
                    self.assertEqual(code, 2 if argument else 0, err)

    def test_an_option_that_no_help_names_is_unknown(self):
        for name in commands():
            code, _, err = sluice(name, "--certainly-not-an-option")
            self.assertEqual(code, 2)
            self.assertEqual(len(err.splitlines()), 1, err)


class Listings(unittest.TestCase):
    def test_settings(self):
        rows = json.loads(sluice("settings", "--json")[1])
        names = [row["name"] for row in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(row["help"] for row in rows))
        plain, table = sluice("settings")[1], sluice("settings", "--markdown")[1]
        for name in names:
            self.assertIn(f"{name}: ", plain)
            self.assertIn(f"| `{name}` |", table)
        one = json.loads(sluice("settings", "queue.length", "--json")[1])
        self.assertEqual([row["default"] for row in one], ["4096"])
        self.assertGreater(len(json.loads(sluice("settings", "queue", "--json")[1])), 5)

    def test_markdown_has_four_columns(self):
        for line in sluice("settings", "--markdown")[1].splitlines():
            self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), 5, line)

    def test_keywords(self):
        rows = json.loads(sluice("keywords", "--json")[1])
        names = [row["name"] for row in rows]
        self.assertEqual(names, sorted(names))
        self.assertIn("content", names)
        plain = sluice("keywords")[1]
        for row in rows:
            self.assertTrue(row["help"], row["name"])
            self.assertRegex(plain, rf"(?m)^{re.escape(row['name'])}(:| |$)")
            for spelling in [row["name"], *row["aliases"]]:
                self.assertEqual(json.loads(sluice("keywords", spelling, "--json")[1]), [row])


if __name__ == "__main__":
    unittest.main()
