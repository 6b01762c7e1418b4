#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that everything the documents refer to exists: tests, findings of the doctor, pages, the configuration file."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def exists(*path):
    return os.path.exists(os.path.join(ROOT, *path))


def is_test(label, name):
    if label == "vm":
        return exists("tests", "vm", f"case_{name}.sh") or re.search(rf"(?m)IN ITEMS.*\b{name}\b",
                                                                     read("tests", "vm", "CMakeLists.txt"))
    if label == "unit":
        return exists("tests", "unit", f"test_{name}.c")
    return exists("tests", label, f"{name}.sh")


def anchors(text):
    """Returns the anchors that code hosts make from the headings of a page."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"(?m)^#+ (.+)$", text)}


class Guide(unittest.TestCase):
    pages = ["guide.md"] + sorted("guide/" + name for name in os.listdir(os.path.join(ROOT, "docs", "guide")))
    text = "".join(read("docs", page) for page in pages)

    def test_contents_name_every_chapter(self):
        linked = re.findall(r"\]\((guide/[\w-]+\.md)\)", read("docs", "guide.md"))
        self.assertEqual(sorted(linked), self.pages[1:])

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
        for page in [*self.pages, "modes.md", "output.md", "security.md", "compatibility.md", "../README.md"]:
            for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", read("docs", page)):
                target = os.path.normpath(os.path.join("docs", os.path.dirname(page), link) if link
                                          else os.path.join("docs", page))
                self.assertTrue(exists(target), f"{page}: {link}")
                if anchor and target.endswith(".md"):
                    self.assertIn(anchor, anchors(read(target)), f"{page}: {link}#{anchor}")


class Installed(unittest.TestCase):
    """The documentation that `cmake --install` installs."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run(["cmake", "--install", os.environ["BUILD"]], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": cls.folder.name})
        cls.pages = [os.path.join(root, name) for root, _, names in os.walk(cls.folder.name) for name in names]

    def test_links_lead_to_installed_files(self):
        pages = [page for page in self.pages if page.endswith(".md")]
        self.assertTrue({"README.md", "guide.md", "settings.md", "modes.md",
                         "scaling.md"} <= {os.path.basename(page) for page in pages})
        for page in pages:
            with open(page, encoding="utf-8") as file:
                for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read()):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), link)), f"{page}: {link}")

    def test_manual_names_the_configuration_file_of_the_program(self):
        text = subprocess.run([os.environ["SLUICE"], "run",
                               "--help"], check=True, capture_output=True, text=True).stdout
        path = re.search(r"\S+/sluice\.yaml", text).group()
        self.assertIn(self.folder.name + path, self.pages)
        manual = [page for page in self.pages if page.endswith("/sluice.8")]
        self.assertEqual(len(manual), 1)
        with open(manual[0], encoding="utf-8") as file:
            named = set(re.findall(r"\S+/sluice\.yaml", file.read().replace("\\-", "-")))
        self.assertEqual(named, {path})


if __name__ == "__main__":
    unittest.main()
