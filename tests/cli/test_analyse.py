#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`sluice analyse` on the rules of the configuration: states, patterns, groups, conditions, flow bits, warnings."""
import json
import os
import tempfile
import unittest

from program import sluice

RULES = r"""
alert http any any -> any any (msg:"uri"; flow:to_server,established; http.method; content:"GET"; http.uri; content:"/evil|0d|.php"; fast_pattern; nocase; pcre:"/id=\d+/R"; flowbits:isset,seen.it; sid:1; rev:3;)
alert tcp any any -> any 445 (msg:"short"; content:"ab"; depth:2; sid:2;)
alert tcp any any -> any [80,8080] (msg:"pcre"; pcre:"/foo.*bar/"; flowbits:set,seen.it; sid:3;)
drop ip [10.0.0.0/8,!10.1.0.0/16] any -> any any (msg:"negated"; sid:4;)
alert ip 10.0.0.1 any -> any any (msg:"addresses"; sid:5;)
alert http any any => any any (msg:"both"; http.uri; content:"login"; http.stat_code; content:"500"; sid:6;)
#alert tcp any any -> any any (msg:"off"; content:"x"; sid:8;)
alert tcp any any -> any any (msg:"bad"; nonsense:1; sid:9;)
alert pkthdr any any -> any any (msg:"event"; decode-event:ipv4.trunc_pkt; sid:10;)
alert tls any any -> any any (msg:"absent"; tls.sni; absent; flowbits:isset,nobody.sets; sid:11;)
alert udp any any -> any 53 (msg:"udp"; content:"|00 01 00|"; content:!"zz"; byte_test:1,>,3,0,relative; sid:12;)
alert tcp any any <> any 25 (msg:"two ways"; content:"a long rare pattern"; content:"b"; distance:1; within:3; gid:3; sid:13;)
alert tcp any any -> any 25 (msg:"rare"; content:"a long rare pattern"; sid:14;)
alert http any any -> any any (msg:"transform"; http.uri; to_lowercase; content:"abcdefgh"; sid:15;)
alert http any any -> any any (msg:"weak"; http.method; content:"GET"; fast_pattern; http.user_agent; content:"sqlmap tool"; sid:16;)
alert tcp any any -> any any (msg:"own bit"; content:"own"; flowbits:isset,own.bit; flowbits:set,own.bit; sid:17;)
alert tcp any any -> any any (msg:"clears"; content:"clears"; flowbits:isset,nobody.sets; flowbits:unset,seen.it; sid:18;)
"""


class Analyse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "t.rules")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(RULES)

    def run_on(self, *arguments):
        return sluice("analyse", "--config", "/dev/null", "--rules", self.path, *arguments)

    def analyse(self, rule):
        """Returns the JSON; checks that the text is printed, too."""
        code, out, err = self.run_on("--json", rule)
        self.assertEqual((code, err), (0, ""))
        answer = json.loads(out)
        for key, kind in (("source", str), ("gid", int), ("signature_id", int), ("loaded", bool), ("file", str),
                          ("line", int)):
            self.assertIsInstance(answer[key], kind)
        self.assertEqual(answer["source"], "configuration")
        code, out, err = self.run_on(rule)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith(f"rule {answer['gid']}:{answer['signature_id']}"), out)
        if not answer["loaded"]:
            self.assertNotIn("analysis", answer)
            return answer, {}
        analysis = answer["analysis"]
        for key, kind in (("type", str), ("evaluated", str), ("position", int), ("of", int), ("header", dict),
                          ("directions", list), ("needs", list), ("buffers", list), ("warnings", list)):
            self.assertIsInstance(analysis[key], kind)
        for warning in analysis["warnings"]:
            self.assertIn(f"  warning: {warning}\n", out)
        return answer, analysis

    def test_transaction(self):
        answer, analysis = self.analyse("1")
        self.assertEqual((answer["rev"], answer["line"]), (3, 2))
        self.assertEqual(analysis["type"], "app_tx")
        self.assertEqual(analysis["directions"], ["to_server"])
        self.assertEqual(analysis["applications"], ["http", "http2", "doh2"])
        self.assertEqual(analysis["prefilter"], {
            "pattern": "/evil|0d|.php", "length": 10, "buffer": "http.uri", "strength": 33, "reason": "fast_pattern",
            "nocase": True})
        plans = {plan["protocol"]: plan for plan in analysis["transactions"]}
        self.assertEqual(sorted(plans), ["doh2", "http", "http2"])
        plan = plans["http"]
        self.assertEqual((plan["direction"], plan["buffer"]), ("to_server", "http.uri"))
        self.assertGreater(plan["complete"], 0)
        self.assertEqual(analysis["packet_conditions"], ["flow", "flowbits"])
        self.assertEqual(analysis["buffers"][1], {"buffer": "http.uri", "conditions": [
            {"keyword": "content", "pattern": "/evil|0d|.php", "modifiers": "nocase; fast_pattern"},
            {"keyword": "pcre", "relative": True}]})
        self.assertEqual(analysis["flowbits"], [{"operation": "isset", "name": "seen.it", "set_by": ["1:3"],
                                                 "rules": 1}])
        self.assertEqual(analysis["warnings"], [])

    def test_payload(self):
        analysis = self.analyse("1:2")[1]
        self.assertEqual((analysis["type"], analysis["payload"]), ("pkt_stream", "both"))
        self.assertEqual(analysis["prefilter"]["at_offset"], 0)
        self.assertEqual(analysis["groups"], [{"traffic": "tcp", "ports": "445", "end": "destination"}])
        self.assertRegex(analysis["warnings"][0], "short")
        analysis = self.analyse("12")[1]
        self.assertEqual((analysis["payload"], analysis["groups"][0]["traffic"]), ("packet", "udp"))
        self.assertEqual(analysis["buffers"][0]["conditions"][1], {"keyword": "content", "negated": True,
                                                                   "pattern": "zz"})
        analysis = self.analyse("3:13")[1]
        self.assertEqual(analysis["groups"], [{"traffic": "tcp", "ports": "any",
                                               "reason": "the rule is bidirectional"}])
        self.assertEqual(analysis["buffers"][0]["conditions"][1]["modifiers"], "distance:1; within:3")
        self.assertEqual(self.analyse("14")[1]["groups"], [{"traffic": "tcp", "ports": "any",
                                                            "reason": "the pattern is rare"}])

    def test_costly(self):
        analysis = self.analyse("3")[1]
        self.assertEqual(analysis["no_prefilter"], "the rule has no content")
        self.assertEqual(analysis["flowbits"][0]["tested_by"], ["1:1"])
        self.assertRegex(analysis["warnings"][0], "^no pattern finds the rule .*for new data of a stream")
        self.assertRegex(analysis["warnings"][1], "^pcre in payload has no content before it")
        self.assertRegex(self.analyse("11")[1]["warnings"][1], "no loaded rule sets the flow bit nobody.sets")
        self.assertEqual(self.analyse("17")[1]["flowbits"][0]["set_by"], [])
        self.assertRegex(self.analyse("17")[1]["warnings"][-1], "no loaded rule sets the flow bit own.bit")

    def test_other_types(self):
        self.assertEqual(self.analyse("4")[1]["type"], "like_ip_only")
        analysis = self.analyse("5")[1]
        self.assertEqual((analysis["type"], analysis["prefilter_index"], analysis["warnings"]),
                         ("ip_only", "addresses", []))
        self.assertEqual(self.analyse("10")[1]["prefilter_event"], "ipv4.trunc_pkt")
        analysis = self.analyse("6")[1]
        self.assertEqual((analysis["header"]["arrow"], analysis["transactions"][0]["direction"]), ("=>", "to_client"))
        self.assertEqual(self.analyse("15")[1]["prefilter"]["transforms"], ["to_lowercase"])
        prefilter = self.analyse("16")[1]["prefilter"]
        self.assertEqual(prefilter["buffer"], "http.user_agent")
        self.assertRegex(prefilter["reason"], "the one marked fast_pattern is weak or common")

    def test_scripts(self):
        folder = os.path.dirname(self.path)
        rule = 'alert http any any -> any any (http.uri; luaxform:x.lua,1; content:"end"; lua:y.lua; sid:20;)\n'
        for name, text in (("t.rules", rule), ("c.yaml", "security.lua.allow-rules: yes\n"),
                           ("x.lua", "function transform(input) return input, #input end\n"),
                           ("y.lua", "function init() return {} end function match() return 1 end\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        arguments = ["analyse", "--config", os.path.join(folder, "c.yaml"), "--rules", self.path]
        code, out, err = sluice(*arguments, "--json", "20")
        self.assertEqual((code, err), (0, ""))
        if "this program was built without Lua" in out:
            self.skipTest("built without Lua")
        paths = [os.path.join(folder, name) for name in ("x.lua", "y.lua")]
        self.assertEqual(json.loads(out)["analysis"]["scripts"], paths)
        code, out, err = sluice(*arguments, "20")
        self.assertEqual((code, err), (0, ""))
        for path in paths:
            self.assertIn(path, out)
        code, out, err = self.run_on("20")
        self.assertIn("scripts in rules are not allowed (security.lua.allow-rules)", out + err)

    def test_not_loaded(self):
        answer = self.analyse("8")[0]
        self.assertEqual((answer["loaded"], answer["disabled_by"], answer["line"]), (False, "comment", 8))
        answer = self.analyse("9")[0]
        self.assertEqual((answer["left_out_for"], answer["reason"]), ("mistake", "unknown keyword 'nonsense'"))

    def test_wrong_input(self):
        for code, message, *arguments in (
                (2, "needs one rule, as SID or GID:SID",),
                (2, "needs one rule, as SID or GID:SID", "1", "2"),
                (2, "needs one rule, as SID or GID:SID", "x"),
                (2, "needs one rule, as SID or GID:SID", "1:2:3"),
                (2, "needs one rule, as SID or GID:SID", "4294967296"),
                (1, "no rule file has rule 1:99 \\(15 rules from 1 files; 0 files not readable\\)", "99"),
                (1, "cannot read '/nonexistent': No such file or directory", "--rules", "/nonexistent", "1")):
            got, out, err = self.run_on(*arguments)
            self.assertEqual((got, out), (code, ""), arguments)
            self.assertRegex(err, f"^sluice analyse: {message}\n$")
        # without daemon: the rules of the configuration
        got, out, err = sluice("analyse", "--config", "/dev/null", "--socket", "/nonexistent/s", "1")
        self.assertEqual((got, out), (1, ""))
        self.assertRegex(err, "no rule file has rule 1:1 ")


if __name__ == "__main__":
    unittest.main()
