#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guide refers to is there: tests by their names, findings of the doctor, other pages."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def exists(*path):
    return os.path.exists(os.path.join(ROOT, *path))


def is_test(label, name):
    if label == "vm":
        return exists("tests", "vm", f"case_{name}.sh") or re.search(rf"(?m)IN ITEMS.*\b{name}\b", read("tests", "vm", "CMakeLists.txt"))
    if label == "unit":
        return exists("tests", "unit", f"test_{name}.c")
    return exists("tests", label, f"{name}.sh")


class Guide(unittest.TestCase):
    text = read("docs", "guide.md")

    def test_names_tests_that_are_there(self):
        names = re.findall(r"\b(netns|vm|unit)\.([a-z_]+)\b", self.text)
        self.assertGreater(len(names), 20)
        for label, name in names:
            self.assertTrue(is_test(label, name), f"{label}.{name}")

    def test_names_findings_that_are_there(self):
        sources = "".join(read("src", "doctor", name) for name in os.listdir(os.path.join(ROOT, "src", "doctor")))
        findings = re.findall(r"`((?:queue|order|own|offload|family|mark)\.[a-z0-9-]+)`", self.text)
        self.assertGreater(len(findings), 20)
        settings = read("docs", "settings.md")
        for finding in findings:
            known = f'"{finding}"' in sources or f"`{finding}`" in settings
            self.assertTrue(known, finding)

    def test_links_lead_somewhere(self):
        for page in ("guide.md", "modes.md", "output.md"):
            for link in re.findall(r"\]\(([^)#:]+)\)", read("docs", page)):
                self.assertTrue(exists("docs", link), f"{page}: {link}")


if __name__ == "__main__":
    unittest.main()
