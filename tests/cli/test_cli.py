#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the command line: exit codes, and messages for every kind of wrong input."""
import json
import os
import pwd
import re
import struct
import subprocess
import tempfile
import unittest

SLUICE = os.environ["SLUICE"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULE = 'alert tcp any any -> any any (msg:"x"; content:"evil"; sid:1;)\n'
BAD_RULE = 'alert tcp any any -> any any (msg:"x"; nonsense:1; sid:2;)\n'


def sluice(*arguments):
    run = subprocess.run([SLUICE, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return run.returncode, run.stdout, run.stderr


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clean = self.file("sluice.yaml", "queue: {length: 100}\n")

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def check(self, *arguments):
        return sluice("check", "--config", self.clean, *arguments)

    def fails(self, code, message, *arguments):
        """Expects exit code CODE, the regular expression MESSAGE on stderr, and no output. Returns stderr."""
        got, out, err = sluice(*arguments)
        self.assertEqual(got, code, err)
        self.assertRegex(err, message)
        self.assertEqual(out, "")
        return err


class CommandLine(Files):
    def test_wrong_usage_is_2_and_one_line(self):
        cases = (
            ("unknown command 'rnu', did you mean 'run'", "rnu"),
            ("unknown command 'xyzzy'.*--help", "xyzzy"),
            ("unknown command 'chekc', did you mean 'check'", "help", "chekc"),
            ("unknown option '--queu', did you mean '--queue'", "run", "--queu", "5"),
            ("unknown option '--queu=5', did you mean '--queue'", "run", "--queu=5"),
            ("unknown option '--xyzzy'.*sluice run --help", "run", "--xyzzy"),
            ("unknown option '-x'", "check", "-x"),
            ("option '--rules' needs a value: FILE", "check", "--rules"),
            ("option '--config' needs a value", "replay", "-c"),
            ("option '--json' takes no value", "check", "--json=yes"),
            ("needs a number from 0 to", "check", "--max-diagnostics", "many"),
            ("option '--count' needs a number from 1 to 1000000000, got '0'", "top", "--count", "0"),
            ("option '--interval' needs a number from 1 to 3600, got '0.5'", "top", "--interval", "0.5"),
            ("unexpected argument 'queues'", "top", "queues"),
            ("unexpected argument 'web.rules'.*--rules", "run", "web.rules"),
            ("unexpected argument 'web.rules'.*--rules", "check", "web.rules"),
            ("no capture file", "replay", "--rules", "x"),
            ("'--queue'.*'queue.numbers'.*got '0-'", "run", "--queue", "0-"),
            ("'--attach'.*none, after, before.*got 'sideways'", "run", "--attach", "sideways"),
            ("'--verdict'.*accept, repeat or route", "run", "--verdict", "drop"),
            ("'--mark'.*MARK/MASK", "run", "--mark", "1"),
            ("'--route-to'.*0 to 65535", "run", "--route-to", "65536"),
            ("'--set'.*NAME=VALUE", "run", "--set", "queue.length"),
            ("'--set'.*did you mean 'queue.length'", "check", "--set", "queue.lenght=1"),
            ("unknown keyword 'contnet', did you mean 'content'", "keywords", "contnet"),
            ("unexpected argument 'b'", "keywords", "content", "b"),
            ("unknown setting 'queue.lenght', did you mean 'queue.length'", "settings", "queue.lenght"),
            ("unexpected argument 'b'", "settings", "queue", "b"),
            ("--for applies to add, not to list", "hostbit", "list", "10.0.0.1", "--for", "10m"),
            ("--for applies to add, not to remove", "hostbit", "remove", "10.0.0.1", "bit", "--for=10m"),
        )
        for message, *arguments in cases:
            with self.subTest(arguments):
                err = self.fails(2, message, *arguments)
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertTrue(err.startswith("sluice"), err)

    def test_no_command_prints_usage(self):
        code, out, err = sluice()
        self.assertEqual((code, out), (2, ""))
        self.assertIn("Usage: sluice COMMAND", err)

    def test_version(self):
        for option in ("--version", "-V"):
            code, out, _ = sluice(option)
            self.assertEqual(code, 0)
            self.assertRegex(out, r"^sluice \d+\.\d+\.\d+\n$")

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([SLUICE, "settings"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.returncode, 1)


class WrongFiles(Files):
    def test_missing_files(self):
        gone = os.path.join(self.folder.name, "gone")
        capture = self.file("x.pcap", "")
        for arguments in (("run", "--config", gone), ("replay", "--config", gone, capture),
                          ("replay", "--rules", gone, capture), ("replay", gone),
                          ("run", "--config", self.clean, "--rules", gone)):
            with self.subTest(arguments):
                self.fails(1, "No such file", *arguments)

    def test_check_reports_missing_files_and_goes_on(self):
        gone = os.path.join(self.folder.name, "gone.rules")
        code, out, err = self.check("--rules", gone, "--rules", self.file("good.rules", RULE))
        self.assertEqual(code, 1)
        self.assertRegex(err, "gone.rules.*No such file")
        self.assertIn("1 rule loaded", out)

    def test_replay_fails_when_events_are_lost(self):
        capture = os.path.join(self.folder.name, "empty.pcap")
        with open(capture, "wb") as file:
            file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
        self.fails(1, "cannot write all events to '/dev/full'", "replay", "--set", "eve.filename=/dev/full", capture)

    def replay_packet(self, config, rules):
        """Replays a capture with one UDP packet from 10.0.0.1."""
        packet = bytes.fromhex("4500001c00000000401100000a0000010a0000020001000200080000")
        capture = os.path.join(self.folder.name, "one.pcap")
        with open(capture, "wb") as file:
            file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000065000000"))
            file.write(struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet)
        return sluice("replay", "--no-console", "--log-dir", self.folder.name, "--config", self.file("d.yaml", config),
                      "--rules", self.file("d.rules", rules), capture)

    def replay_costs(self, form, rules):
        """Replays a capture with ten UDP packets with the same payload of 60 bytes; returns the output."""
        payload = b"a needle in a haystack".ljust(60, b".")
        packet = (bytes.fromhex("4500005800000000401100000a0000010a0000020001000200440000") + payload)
        capture = os.path.join(self.folder.name, "ten.pcap")
        with open(capture, "wb") as file:
            file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000065000000"))
            for i in range(10):
                file.write(struct.pack("<IIII", 1, i, len(packet), len(packet)) + packet)
        code, out, err = sluice("replay", "--no-console", "--costs", form, "--log-dir", self.folder.name,
                                "--rules", self.file("c.rules", rules), capture)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_costs_of_a_replay(self):
        rules = ('alert udp any any -> any any (content:"needle"; content:"hay"; sid:1;)\n'
                 'alert udp any any -> any 7 (content:"ne"; sid:2;)\n'
                 'alert udp any any -> any 2 (content:"haystack"; content:"wheat"; sid:3;)\n'
                 'alert udp any any -> any any (content:"not there"; sid:4;)\n')
        answer = json.loads(self.replay_costs("json", rules))
        total = answer["total"]
        self.assertEqual((total["packets"], total["bytes"], total["transactions"]), (10, 880, 0))
        self.assertEqual((total["scans"], total["bytes_scanned"]), (20, 1200))
        self.assertEqual((total["candidates"], total["evaluations"], total["matches"]), (20, 20, 10))
        rows = [(row["buffer"], row["protocol"], row["ports"], row["literals"], row["scans"], row["bytes"],
                 row["candidates"]) for row in answer["searches"]]
        self.assertEqual(sorted(rows), [("payload", "udp", "2", 1, 10, 600, 10),
                                        ("payload", "udp", "any", 2, 10, 600, 10)])
        self.assertEqual({row["signature_id"]: row["evaluations"] for row in answer["rules"]}, {1: 10, 3: 10})
        table = self.replay_costs("table", rules)
        self.assertRegex(table, r"inspected: 10 packets, 880 bytes, 0 transactions\n"
                                r"searched: 1.36 bytes per byte, 2.00 scans per packet\n"
                                r"candidates: 2.00 per packet, no transactions\n"
                                r"evaluations: 1.00 per candidate; matches: 0.50 per evaluation\n")
        self.assertRegex(table, r"payload +udp +both +2 +1 +10 +600 +10\n")

    def test_datasets_are_kept_from_run_to_run(self):
        config = f"data-dir: {self.folder.name}\ndatasets:\n  seen: {{type: ip, state: seen.lst}}\n"
        rules = ('alert udp any any -> any any (ip.src; dataset:set,seen; sid:1;)\n'
                 'alert udp any any -> any any (ip.dst; dataset:set,to,type ipv4,save to.lst; sid:2;)\n')
        for alerts in (2, 1):
            code, _, err = self.replay_packet(config, rules)
            self.assertEqual((code, err), (0, ""))
            with open(os.path.join(self.folder.name, "eve.json"), encoding="utf-8") as file:
                self.assertEqual(sum('"event_type":"alert"' in line for line in file), alerts)
            for name, value in (("seen.lst", "10.0.0.1\n"), ("to.lst", "10.0.0.2\n")):
                with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), value)

    def test_datasets_that_cannot_be_kept_are_a_failure(self):
        rules = 'alert udp any any -> any any (ip.src; dataset:set,seen,type ip,save seen.lst; sid:1;)\n'
        code, _, err = self.replay_packet(f"data-dir: {self.folder.name}/gone\n", rules)
        self.assertEqual(code, 1)
        self.assertRegex(err, "seen.lst: the dataset 'seen' could not be saved: No such file")
        self.assertRegex(err, "cannot save all datasets")

    def test_mistakes_in_lists_are_told(self):
        config = (f"data-dir: {self.folder.name}\ndatasets:\n  listed: {{type: md5, load: "
                  f"{self.file('md5.lst', 'abc' + chr(10))}}}\n"
                  f"reputation: {{files: {self.file('x.list', '10.0.0.1,99,1' + chr(10))}}}\n")
        code, _, err = sluice("check", "--config", self.file("l.yaml", config), "--rules",
                              self.file("good.rules", RULE))
        self.assertEqual(code, 1)
        self.assertRegex(err, "md5.lst:1:1: error: an MD5 sum has 32")
        self.assertRegex(err, "the dataset 'listed' could not be loaded")
        self.assertRegex(err, "x.list:1:10: error: the category number")

    def test_link_type_that_is_not_supported_is_named(self):
        capture = os.path.join(self.folder.name, "radio.pcap")
        with open(capture, "wb") as file:
            file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff00007f000000"))
            file.write(struct.pack("<IIII", 1, 0, 4, 4) + bytes(4))
        _, _, err = sluice("replay", "--no-console", "--log-dir", self.folder.name, "--config", self.clean, capture)
        self.assertRegex(err,
                         r"radio\.pcap: link type 127 \(IEEE802_11_RADIO.*\) is not supported: 1 packets not inspected")

    def test_log_folder_that_cannot_be_made_would_stop_the_start(self):
        config = self.file("run.yaml", f"run-as: {{user: {pwd.getpwuid(os.getuid()).pw_name}}}\n")
        check = ("run", "--check", "--config", config, "--log-dir")
        self.fails(1, "cannot use log folder /dev/null/x/y: Not a directory", *check, "/dev/null/x/y")
        self.fails(1, f"cannot use log folder {self.clean}: Not a directory", *check, self.clean)
        for good in (self.folder.name, os.path.join(self.folder.name, "new", "folder")):
            self.assertEqual(sluice(*check, good), (0, "", ""))

    def test_check_of_a_sensor(self):
        for settings, says in (("{interfaces: [eth1], bpf-filter: port}", "af-packet.bpf-filter \"port\" is wrong: "),
                               ("{workers: 2}", "no interface to capture from"),
                               ("{interfaces: [eth1], memcap: 16 MiB}", "the rings need 32 MiB, more than af-packet.memcap"),
                               ("{interfaces: [eth1], bpf-filter: port 80}", None)):
            path = self.file("sensor.yaml", f"capture.method: af-packet\naf-packet: {settings}\n")
            code, _, err = sluice("check", "--config", path)
            self.assertEqual(code, 1 if says else 0, err)
            self.assertIn(f"{path}:1:17: error: {says}" if says else "", err)
            self.assertEqual(sluice("run", "--check", "--log-dir", self.folder.name, "--config", path)[0], 1 if says else 0)

    def test_wrong_configuration_stops_run_and_replay(self):
        bad = self.file("bad.yaml", "queue: {length: abc}\nqueue.batch: 0\n")
        capture = self.file("x.pcap", "")
        for arguments in (("run", "--config", bad), ("replay", "--config", bad, capture)):
            with self.subTest(arguments):
                err = self.fails(1, "the configuration has mistakes", *arguments)
                self.assertIn("bad.yaml:1:17: error: 'queue.length' needs a number from 1 to", err)
                self.assertIn("bad.yaml:2:", err)

    def test_contradictions_stop_run(self):
        self.fails(1, "'repeat' needs a mark: set 'queue.mark'", "run", "--config", self.clean, "--verdict", "repeat")
        self.fails(1, "set 'queue.route-to'", "run", "--config", self.clean, "--attach", "route")
        self.fails(1, "which is in 'queue.numbers'", "run", "--config", self.clean, "--verdict", "route", "--route-to",
                   "0")


class Check(Files):
    def test_clean(self):
        code, out, err = self.check("--rules", self.file("good.rules", RULE))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out,
                         r"0 errors, 0 unsupported, 0 warnings\n1 rule loaded, 0 failed, 0 skipped, from 1 file in "
                         r".*\ncompiled in")

    def test_quiet(self):
        self.assertEqual(self.check("--quiet"), (0, "", ""))

    def test_no_compile(self):
        _, out, _ = self.check("--no-compile", "--rules", self.file("good.rules", RULE))
        self.assertNotIn("compiled", out)

    def test_mistakes_have_places_and_the_rest_loads(self):
        rules = self.file("bad.rules", RULE + BAD_RULE)
        code, out, err = self.check("--rules", rules)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"bad\.rules:2:40: error: .*nonsense")
        self.assertRegex(err, r"\n +\^~*\n")
        self.assertRegex(out, r"1 +nonsense")
        self.assertIn("1 rule loaded, 1 failed, 0 skipped", out)
        self.assertNotIn("compiled", out)
        self.assertIn("compiled", self.check("--compile", "--rules", rules)[1])

    def test_line_that_is_no_rule_is_one_mistake(self):
        code, out, err = self.check("--rules", self.file("text.rules", "these are notes, not a rule\n" + RULE))
        self.assertEqual(code, 1)
        self.assertEqual(len(re.findall("error:", err)), 1, err)
        self.assertIn("1 rule loaded, 1 failed, 0 skipped", out)

    def test_misspelled_action_does_not_hide_other_mistakes(self):
        _, _, err = self.check("--rules",
                               self.file("x.rules", 'alret tcp any any -> any any (msg:"x"; nonsense:1; sid:2;)\n'))
        self.assertEqual(len(re.findall("error:", err)), 2, err)

    def test_patterns_name_rule_files_in_their_order(self):
        folder = os.path.join(self.folder.name, "rules")
        os.mkdir(folder)
        for sid, name in enumerate(("b.rules", "a.rules", "c.txt", "[d].rules"), 1):
            self.file("rules/" + name, RULE.replace("sid:1", f"sid:{sid}"))

        def check(text, *arguments):
            return sluice("check", "--config", self.file("sluice.yaml", text), *arguments)
        for text, rules in (('rule-files: ["rules/*.rules"]', 3), ('rule-files: ["rules/[ab].rules"]', 2),
                            ('rule-files: ["rules/[d].rules"]', 1), ('rule-files: rules/?.txt', 1),
                            ('rule-files: [a.rules, "?.rules"]\ndefault-rule-path: rules', 2),
                            (f'include: {self.file("path.yaml", "default-rule-path: rules")}\nrule-files: a.rules', 1),
                            (f'default-rule-path: {folder}\nrule-files: [a.rules, {folder}/c.txt]', 2)):
            with self.subTest(text):
                code, out, err = check(text)
                self.assertEqual(code, 0, err)
                self.assertIn(f"\n{rules} rule", "\n" + out)
        code, out, err = check('rule-files: ["rules/*.none", rules/a.rules]')
        self.assertEqual(code, 0, err)
        self.assertIn(f"{folder}/*.none: warning: no rule file has such a name (rule-files)", err)
        self.assertIn("1 rule loaded", out)

        # The printed configuration has whole paths, so that it can be read from another folder.
        printed = check("default-rule-path: rules\nrule-files: [a.rules]", "--print-config")[1]
        self.assertIn(f"rule-files: [{folder}/a.rules]", printed)
        self.assertNotIn("default-rule-path", printed)

    def test_empty_rule_file_is_a_warning(self):
        empty = self.file("empty.rules", "# no rule yet\n")
        code, out, err = self.check("--rules", empty)
        self.assertEqual(code, 0)
        self.assertRegex(err, r"empty\.rules: warning: this file has no rules")
        self.assertIn("0 errors, 0 unsupported, 1 warning", out)
        self.assertNotIn("warning", self.check("--rules", self.file("good.rules", RULE))[2])

    def test_many_mistakes(self):
        rules = self.file("bad.rules", BAD_RULE * 150)
        _, out, err = self.check("--rules", rules)
        self.assertEqual(len(re.findall(r"error:", err)), 100)
        self.assertIn("... and 50 more", err)
        self.assertRegex(out, r"150 +nonsense")
        _, _, err = self.check("--max-diagnostics", "3", "--rules", rules)
        self.assertEqual(len(re.findall(r"error:", err)), 3)

    def test_strict(self):
        config = self.file("warn.yaml", "eve: {types: {ndpi: }}\n")
        self.assertEqual(sluice("check", "--config", config)[0], 0)
        self.assertEqual(sluice("check", "--strict", "--config", config)[0], 1)

    def test_exit_codes_tell_mistakes_from_unsupported_rules(self):
        good, bad = self.file("good.rules", RULE), self.file("bad.rules", BAD_RULE)
        unsupported = self.file("unsupported.rules",
                                "alert jabber any any -> any any (gtp_type:x; content:\"x\"; sid:2;)\n")
        gone = os.path.join(self.folder.name, "gone.rules")
        for files, code, strict in (([good], 0, 0), ([good, unsupported], 3, 1), ([unsupported], 3, 1),
                                    ([good, bad, unsupported], 1, 1),
                                    ([good, gone], 1, 1)):
            with self.subTest(files):
                arguments = [word for file in files for word in ("--rules", file)]
                self.assertEqual(self.check(*arguments)[0], code)
                self.assertEqual(self.check("--strict", *arguments)[0], strict)
        _, out, err = self.check("--rules", unsupported)
        self.assertRegex(err, r"unsupported\.rules:1:7: unsupported: protocol 'jabber' is not supported")
        self.assertRegex(err, r"unsupported\.rules:1:34: unsupported: keyword 'gtp_type' is not supported")
        self.assertRegex(out, r"unsupported features:\n +1  gtp_type\n +1  protocol jabber")
        self.assertIn("0 rules loaded, 0 failed, 1 skipped", out)

    def test_unknown_setting_is_an_error_here_and_a_warning_in_replay(self):
        config = self.file("later.yaml", "streams: {midstream: true}\nqueue: {lenght: 5}\n")
        code, _, err = sluice("check", "--config", config)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"later\.yaml:1:1: error: unknown setting 'streams'")
        self.assertRegex(err, r"later\.yaml:2:9: error: .*did you mean 'queue\.length'")
        _, _, err = sluice("replay", "--config", config, os.path.join(self.folder.name, "gone.pcap"))
        self.assertRegex(err, r"later\.yaml:1:1: warning: unknown setting 'streams'")
        self.assertNotIn("has mistakes", err)

    def test_print_config_is_configuration(self):
        code, out, err = self.check("--print-config")
        self.assertEqual(code, 0)
        self.assertIn("    length: 100\n", out)
        self.assertIn("0 errors", err)
        again = self.file("again.yaml", out)
        self.assertEqual(sluice("check", "--config", again, "--print-config")[1], out)

    def test_rule_policy_is_applied_and_counted(self):
        self.file("policy", "drop 1\nenable 3\nalert-only msg:^x$\nnonsense\ndrop 99\nmodify 4 evil evil;\n")
        self.file("disable.conf", "2 # noisy\n")
        rules = self.file("x.rules", RULE + RULE.replace("sid:1", "sid:2") + "# " + RULE.replace("sid:1", "sid:3") +
                          RULE.replace("sid:1", "sid:4").replace('"x"', '"y"'))
        config = self.file("policy.yaml", "rule-policy: {file: policy, disable-file: disable.conf}\n")
        code, out, err = sluice("check", "--config", config, "--rules", rules)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"policy:4:1: error: a line must begin with .*, got 'nonsense'\nnonsense\n\^~+\n")
        self.assertRegex(err, r"policy:5:1: warning: the line matches no rule")
        self.assertRegex(err, r"x\.rules:4:\d+: error: .*\n.*evil;")
        self.assertRegex(err, r"policy:6:1: note: the rule policy changed the rule here\nmodify 4 evil evil;")
        self.assertRegex(out, r"(?m)^2 rules loaded, 1 rejected|^2 rules loaded, 1 failed")
        self.assertRegex(out, r"(?m)^rule policy: 1 enabled, 1 disabled, 1 changed to drop, \d alert-only, 1 modified$")
        _, out, _ = sluice("check", "--json", "--config", config, "--rules", rules)
        policy = json.loads(out)["policy"]
        self.assertEqual((policy["enabled"], policy["disabled"], policy["drop"], policy["modified"]), (1, 1, 1, 1))
        self.file("policy", "drop 1\n")
        self.assertEqual(sluice("check", "--quiet", "--config", config, "--rules", rules), (0, "", ""))

    def test_rule_policy_of_the_guide_is_valid(self):
        guide = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guide", "change-rules.md")
        with open(guide, encoding="utf-8") as file:
            section = file.read()
        self.file("policy", re.search(r"<<'END'\n(disable .*?)^END$", section, re.S | re.M).group(1))
        config = self.file("policy.yaml", "rule-policy: {file: policy}\n")
        code, out, err = sluice("check", "--config", config, "--rules", self.file("good.rules", RULE))
        self.assertEqual(code, 0, err)
        self.assertIn("0 errors", out)

    def test_json(self):
        code, out, err = self.check("--json", "--print-config", "--rules", self.file("bad.rules", RULE + BAD_RULE))
        result = json.loads(out)
        self.assertEqual((code, err), (1, ""))
        self.assertEqual((result["errors"], result["rules_loaded"], result["rules_failed"], result["rules_skipped"]),
                         (1, 1, 1, 0))
        self.assertEqual(result["unknown_keywords"], [{"keyword": "nonsense", "count": 1}])
        entry = result["diagnostics"][0]
        self.assertEqual((entry["severity"], entry["line"], entry["column"]), ("error", 2, 40))
        self.assertIn("queue:", result["configuration"])

    def test_settings_of_the_command_line_win(self):
        _, out, _ = self.check("--print-config", "--set", "queue.length=7", "-s", "nft.hooks=[input, output]")
        self.assertIn("    length: 7\n", out)
        self.assertIn("hooks: [input, output]", out)


def uncomment(text):
    """Removes the first # of each commented setting. Help texts have a space after the # and stay comments."""
    return re.sub(r"(?m)^#(?=[^ \n#])", "", text)


class Example(Files):
    """`sluice settings --yaml`, and the shipped sluice.yaml that is generated from it."""

    def effective(self, name, text):
        code, out, err = sluice("check", "--config", self.file(name, text), "--no-compile", "--print-config")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\A0 errors, .*0 warnings\n")
        return out

    def test_all_settings_uncommented_change_nothing(self):
        example = sluice("settings", "--yaml")[1]
        self.assertGreater(len(re.findall(r"(?m)^#[a-z]", example)), 250)
        self.assertEqual(self.effective("example.yaml", uncomment(example)), self.effective("empty.yaml", ""))

    def test_each_setting_with_effect_is_there(self):
        example = sluice("settings", "--yaml")[1]
        there = set(re.findall(r"(?m)^##?([a-z][^ :]*):", example))
        for row in json.loads(sluice("settings", "--json")[1]):
            if "*" not in row["name"] and "warning" not in row and row["name"] != "eve.types":
                self.assertIn(row["name"], there)

    def test_help_stands_above_each_setting(self):
        lines = sluice("settings", "--yaml")[1].splitlines()
        for before, line in zip(lines, lines[1:]):
            if re.match("##?[a-z]", line) and "vars." not in line and "eve.types" not in line:
                self.assertRegex(before, "^# .", line)

    def test_shipped_file_differs_from_the_defaults_at_its_top_only(self):
        with open(os.path.join(os.environ["BUILD"], "sluice.yaml"), encoding="utf-8") as file:
            text = re.sub(r"\S+/share/sluice/rules", os.path.join(ROOT, "rules"), file.read())
        shipped, default = self.effective("shipped.yaml", uncomment(text)), self.effective("empty.yaml", "")
        changed = {line.split(":")[0].strip() for line in set(shipped.splitlines()) - set(default.splitlines())}
        self.assertEqual(changed,
                         {"rule-files", "classification-file", "reference-config-file", "sgh-mpm-caching", "numbers",
                          "attach"})


if __name__ == "__main__":
    unittest.main()
