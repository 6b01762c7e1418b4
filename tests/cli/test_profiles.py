#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the profiles: files of settings that sluice.yaml includes; and of the list of rules that need
acknowledgments."""
import glob
import json
import os
import re
import tempfile
import unittest

from program import sluice

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROFILES = sorted(glob.glob(SOURCE + "/profiles/*.yaml"))
# The values of the profile gateway that docs/guide/gateway.md lists.
ROW = re.compile(r"^\| `([a-z0-9.-]+)` \| `(\w+)` \|", re.M)


def effective(text):
    """Returns the settings of a configuration as lines of the YAML that `sluice check` prints, and what it reports."""
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/sluice.yaml", "w", encoding="utf-8") as out:
            out.write(text)
        code, output, problems = sluice("check", "--strict", "--print-config", "--config", folder + "/sluice.yaml")
    return code, output, problems


def value(yaml, name):
    """Returns the value of a setting in nested YAML."""
    path = []
    for line in yaml.splitlines():
        found = re.match(r"( *)([\w*-]+):(?: (.*))?$", line)
        if not found:
            continue
        depth = len(found[1]) // 4
        path[depth:] = [found[2]]
        if ".".join(path) == name:
            return found[3]
    return None


class Profiles(unittest.TestCase):
    def test_each_profile_is_valid(self):
        self.assertTrue(PROFILES)
        for path in PROFILES:
            code, _, problems = effective(f"include: {path}\n")
            self.assertEqual(code, 0, problems)

    def test_the_guide_lists_the_values(self):
        with open(SOURCE + "/docs/guide/gateway.md", encoding="utf-8") as file:
            rows = ROW.findall(file.read())
        with open(SOURCE + "/profiles/gateway.yaml", encoding="utf-8") as file:
            settings = re.findall(r"^([a-z][a-z0-9.-]+): (\w+)$", file.read(), re.M)
        self.assertEqual(sorted(rows), sorted(settings))
        _, yaml, _ = effective(f"include: {SOURCE}/profiles/gateway.yaml\n")
        for name, wanted in rows:
            self.assertEqual(value(yaml, name), wanted, name)

    def test_later_settings_take_precedence(self):
        code, yaml, problems = effective(f"include: {SOURCE}/profiles/gateway.yaml\n"
                                         "nft.offload.acknowledgments: no\n"
                                         "app-layer.protocols.tls.encryption-handling: full\n")
        self.assertEqual(code, 0, problems)
        self.assertEqual(value(yaml, "nft.offload.acknowledgments"), "no")
        self.assertEqual(value(yaml, "app-layer.protocols.tls.encryption-handling"), "full")
        self.assertEqual(value(yaml, "nft.offload.flows"), "both")


class Acknowledgments(unittest.TestCase):
    def test_the_rules_of_the_installed_configuration_need_none(self):
        rules = [f"{SOURCE}/rules/{name}.rules" for name in ("sluice", "scan", "http-events")]
        code, output, problems = sluice("check", "--json", "--compile", *(f"--rules={path}" for path in rules),
                                        f"--set=classification-file={SOURCE}/rules/classification.config")
        self.assertEqual(code, 0, problems)
        self.assertGreater(json.loads(output)["rules_loaded"], 100)
        self.assertEqual(json.loads(output)["acknowledgment_rules"], [])

    def test_check_lists_the_rules(self):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
            rules.write('alert tcp any any -> any any (flags:A; gid:3; sid:1;)\n'
                        'alert tcp any any -> any any (content:"a"; sid:2;)\n'
                        'alert tcp any any -> any any (dsize:0; sid:4;)\n')
            rules.flush()
            code, output, problems = sluice("check", "--json", "--compile", "--rules", rules.name)
            self.assertEqual(code, 0, problems)
            self.assertEqual(json.loads(output)["acknowledgment_rules"], [{"gid": 3, "sid": 1}, {"gid": 1, "sid": 4}])
            for sid, needs in (("2", []), ("4", ["acknowledgments"])):
                code, output, problems = sluice("analyse", "--json", "--rules", rules.name, sid)
                self.assertEqual(code, 0, problems)
                self.assertEqual(json.loads(output)["analysis"]["needs"], needs)


if __name__ == "__main__":
    unittest.main()
