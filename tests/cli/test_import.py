#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of `sluice import`: configurations with the keys of IPFire and OPNsense, the report, and wrong input.

The keys of the input are found by another YAML reader, PyYAML: the report must have each exactly once.
"""
import collections
import json
import os
import re
import stat
import subprocess
import tempfile
import unittest

import yaml

from program import sluice

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = 'alert udp any any -> any 7000 (msg:"x"; content:"number"; sid:1;)\n'
REPORT_ONLY = {"ips.mode": "alert-only"} # what an input that is not inline gets
GROUPS = ["taken", "implied", "no counterpart", "replaced", "unknown"]


def keys_of(path, folder=None):
    """Returns (file, line, key) of each leaf of a file and of those that it includes."""
    folder = folder or os.path.dirname(path)

    def compose(name):
        with open(name, encoding="utf-8") as file:
            return yaml.compose(file, yaml.BaseLoader)

    def walk(node, name, key, line, file):
        if isinstance(node, yaml.MappingNode) and node.value:
            number = 0
            for member, value in node.value:
                inner = f"{key}.{member.value}" if key else member.value
                yield from walk(value, name, inner, member.start_mark.line + 1, file)
                if member.value == "include":
                    for item in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                        path = os.path.join(folder, item.value)
                        included = compose(path)
                        if isinstance(included, yaml.SequenceNode):
                            for element in included.value:
                                yield from walk(element, path, f"{key}.{number}", element.start_mark.line + 1, path)
                                number += 1
                        elif included:
                            yield from walk(included, path, key, included.start_mark.line + 1, path)
        elif isinstance(node, yaml.SequenceNode) and node.value:
            for number, item in enumerate(node.value):
                yield from walk(item, name, f"{key}.{number}", item.start_mark.line + 1, file)
        else:
            yield file, line, key

    return list(walk(compose(path), path, "", 1, path))


class Import(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = os.path.join(self.folder.name, "sluice.yaml")

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def example(self, name):
        """Copies a configuration of tests/cli/import, with the files that it names, and returns its path."""
        for file in os.listdir(os.path.join(HERE, "import")):
            if file.startswith(name):
                with open(os.path.join(HERE, "import", file), encoding="utf-8") as text:
                    self.file("suricata.yaml" if file == name + ".yaml" else file.removeprefix(name + "-"),
                              text.read().replace("@DIR@", self.folder.name))
        for path in ("t.rules", "opnsense.rules/t.rules", "more-1.rules"):
            self.file(path, RULES.replace("sid:1", f"sid:{len(path)}"))
        for config in ("classification", "reference", "threshold"):
            self.file(config + ".config", "")
        return os.path.join(self.folder.name, "suricata.yaml")

    def convert(self, path, *arguments):
        code, out, err = sluice("import", path, "--output", self.output, *arguments)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def report(self, path, *arguments):
        return json.loads(self.convert(path, "--json", *arguments))

    def settings(self):
        with open(self.output, encoding="utf-8") as file:
            return yaml.load(file, yaml.BaseLoader)

    def check_example(self, name):
        path = self.example(name)
        report = self.report(path)
        expected = collections.Counter(keys_of(path))
        self.assertEqual(max(expected.values()), 1)
        self.assertEqual(collections.Counter((key["file"], key["line"], key["key"]) for key in report["keys"]),
                         expected)
        self.assertEqual(report["counts"], {group: sum(key["group"] == group for key in report["keys"])
                                            for group in GROUPS})
        for key in report["keys"]:
            self.assertTrue(key.get("text") or (key["group"] == "taken" and key["setting"]), key)
        code, out, err = sluice("check", "--strict", "--config", self.output)
        self.assertEqual(code, 0, err)

        # The text has the same keys, each once, as lines FILE:LINE: KEY.
        text = self.convert(path, "--force")
        lines = re.findall(r"(?m)^  ([^:\n]+):(\d+): ([^:\s]+)", text)
        self.assertEqual(collections.Counter((file, int(line), key) for file, line, key in lines), expected)
        return {key["key"]: key for key in report["keys"]}, report["counts"], self.settings(), out

    def test_ipfire(self):
        keys, counts, settings, checked = self.check_example("ipfire")
        self.assertEqual((counts["replaced"], counts["unknown"]), (0, 0))
        self.assertIn("2 rules loaded", checked)
        self.assertEqual(settings["vars.address-groups.HOME_NET"], "[10.66.0.0/16,fd66::/16]")
        self.assertEqual(settings["vars.port-groups.HTTP_PORTS"], "[80,81]")
        self.assertEqual(settings["rule-files"], ["t.rules", "more-*.rules"])
        self.assertEqual(settings["queue.verdict"], "repeat")
        self.assertEqual(settings["queue.mark"], "0x80000000/0x80000000")
        # The bypass mark of IPFire is the default of nft.reject-mark.
        self.assertEqual(settings["nft.reject-mark"], "0x8000000/0x8000000")
        self.assertEqual(settings["queue.fail-open"], "yes")
        self.assertEqual(settings["app-layer.protocols.ike.enabled"], "yes")
        self.assertEqual(settings["eve.enabled"], "no") # fast.log is its only log
        self.assertEqual(settings["outputs.fast.format"], "fast")
        self.assertEqual(settings["outputs.fast.filename"], "fast.log")
        self.assertNotIn("ips.mode", settings)
        self.assertEqual(keys["flow-timeouts.tcp.established"]["setting"], "flow.timeouts.tcp.established: 600")
        self.assertEqual(keys["run-as.user"]["group"], "implied")

    def test_opnsense(self):
        keys, counts, settings, checked = self.check_example("opnsense")
        self.assertEqual((counts["replaced"], counts["unknown"]), (1, 1))
        self.assertIn("1 rule loaded", checked)
        self.assertEqual(keys["outputs.1.eve-log.types.4.tls.force-magic"]["group"], "unknown")
        self.assertEqual(settings["rule-files"], ["t.rules"]) # of the file that it includes
        self.assertEqual(settings["default-rule-path"], os.path.join(self.folder.name, "opnsense.rules"))
        self.assertEqual(settings["eve.types.alert.payload-buffer-size"], "100kb")
        self.assertEqual(settings["eve.types.tls.custom"], ["subject", "issuer", "sni"])
        self.assertEqual(settings["app-layer.protocols.smb.detection-ports.dp"], "[139, 445]")
        self.assertEqual(settings["stream.inline"], "true")
        self.assertNotIn("ips.mode", settings)
        self.assertIn("nft.attach", keys["netmap.1.copy-iface"]["text"])
        self.assertEqual(settings["outputs.eve-2.filetype"], "syslog")
        self.assertEqual(settings["outputs.eve-2.syslog.facility"], "local5")
        self.assertEqual(settings["outputs.eve-2.types"], ["alert"])
        self.assertEqual(settings["outputs.syslog.format"], "fast")
        self.assertIn("apply to all outputs", keys["outputs.2.eve-log.community-id"]["text"])

    def test_places_of_suricata_are_kept_on_request(self):
        path = self.file("s.yaml", "default-log-dir: /var/log/suricata\nrun-as: {user: nobody}\npid-file: /x/y.pid\n")
        self.convert(path, "--keep-places")
        self.assertEqual(self.settings(), {"log-dir": "/var/log/suricata", "run-as.user": "nobody",
                                           "pid-file": "/x/y.pid", **REPORT_ONLY})
        self.convert(path, "--force")
        self.assertEqual(self.settings(), REPORT_ONLY)

    def test_output_is_not_replaced(self):
        path = self.file("s.yaml", "host: {memcap: 32mb}\n")
        self.convert(path)
        self.assertEqual(stat.S_IMODE(os.stat(self.output).st_mode) & 0o600, 0o600)
        before = os.stat(self.output)
        for arguments, message in ((("--output", self.output), "exists; name another file with --output, or replace it "
                                    "with --force"),
                                   (("--output", self.folder.name), "is no regular file"),
                                   (("--output", self.folder.name, "--force"), "is no regular file"),
                                   (("--output", self.folder.name + "/none/x"), "cannot write .*: No such file"),
                                   (("--output", self.folder.name + "/" + "x" * 250), "cannot write .*: File name too")):
            with self.subTest(arguments):
                code, out, err = sluice("import", path, *arguments)
                self.assertEqual((code, out), (1, ""))
                self.assertRegex(err, message)
                self.assertEqual(len(err.splitlines()), 1)
        self.assertEqual((os.stat(self.output).st_ino, os.stat(self.output).st_mtime_ns),
                         (before.st_ino, before.st_mtime_ns))
        self.convert(path, "--force")
        self.assertNotEqual(os.stat(self.output).st_ino, before.st_ino)
        os.symlink(self.output, self.output + ".link")
        self.assertEqual(sluice("import", path, "--force", "--output", self.output + ".link")[0], 1)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["s.yaml", "sluice.yaml", "sluice.yaml.link"])

    def test_default_output_and_stdout(self):
        path = self.file("s.yaml", "host: {memcap: 32mb}\n")
        run = subprocess.run([os.environ["SLUICE"], "import", path], capture_output=True, text=True, timeout=60,
                             cwd=self.folder.name)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.settings(), {"host.memcap": "32mb", **REPORT_ONLY})
        code, out, err = sluice("import", path, "--output", "-")
        self.assertEqual(code, 0)
        self.assertEqual(yaml.safe_load(out), {"host.memcap": "32mb", **REPORT_ONLY})
        self.assertIn("1 taken", err)

    def test_wrong_input_is_one_error_and_writes_nothing(self):
        for text, message in (("", "no settings"), ("just text\n", "no settings"), ("- a\n", "no settings"),
                              ("a: [\n", "YAML: "), ("a: 1\n---\nb: 2\n", "a second document"),
                              ("vars:\n  address-groups:\n    E: !$HOME_NET\n", "s.yaml:3:8: error: .*in quotes"),
                              ("a: *b\n", "no anchor"), ("include: s.yaml\n", "includes itself"),
                              ("include: .\n", "cannot read .*Is a directory"),
                              ("\x00", "YAML"),
                              ("nfq: {mode: route, route-queue: 0}\n", "would be queued again in a loop")):
            with self.subTest(text):
                path = self.file("s.yaml", text)
                code, out, err = sluice("import", path, "--output", self.output)
                self.assertEqual((code, out), (1, ""), err)
                self.assertRegex(err, message)
                self.assertEqual(os.listdir(self.folder.name), ["s.yaml"])
        for path, message in (("/nonexistent.yaml", "No such file"), (self.folder.name, "Is a directory")):
            code, out, err = sluice("import", path, "--output", self.output)
            self.assertEqual((code, out), (1, ""))
            self.assertRegex(err, message)
            self.assertEqual(len(err.splitlines()), 1, err)

    def test_wrong_command_line_is_2(self):
        for arguments, message in (((), "no file to import"), (("a", "b"), "unexpected argument 'b'"),
                                   (("a", "--ouput", "x"), "did you mean '--output'"),
                                   (("a", "--output"), "needs a value: FILE"), (("a", "--json=x"), "takes no value")):
            code, out, err = sluice("import", *arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, message)
            self.assertEqual(len(err.splitlines()), 1, err)

    def test_missing_files_are_reported_and_the_rest_is_imported(self):
        path = self.file("s.yaml", "include: none.yaml\nclassification-file: none.config\n"
                                   "default-rule-path: rules\nrule-files: [a.rules, '*.none']\n")
        code, out, err = sluice("import", path, "--output", self.output)
        self.assertEqual(code, 0)
        for message in (":1:10: warning: cannot read '.*/none.yaml': No such file or directory; its settings are not "
                        "imported", ":4:14: warning: the rule file .*/rules/a.rules does not exist",
                        ":4:23: warning: the rule file .*none does not exist"):
            self.assertRegex(err, message)
        self.assertIn("none.config does not exist: set classification-file when it does", out)
        self.assertEqual(self.settings(), {"default-rule-path": self.folder.name + "/rules",
                                           "rule-files": ["a.rules", "*.none"], **REPORT_ONLY})

    def test_unknown_keys_have_their_line(self):
        path = self.file("s.yaml", "host:\n  memcap: 32mb\n  memcaps: 1\nnonsense:\n  a:\n    - b\n")
        out = self.convert(path)
        self.assertIn(f"{path}:3: host.memcaps: 1\n  {path}:6: nonsense.a.0: b\n", out)
        self.assertIn("2 unknown", out)

    def test_unknown_settings_of_suricata_have_hints(self):
        for key, message in (("af-packet: [{interface: eth0}]", "as in Suricata: .*af-packet.interfaces.*sluice sensor"),
                             ("af-packet: {interface: eth0}", "did you mean 'af-packet.interfaces'"),
                             ("af-xdp: [{interface: eth0}]", "'af-xdp' of Suricata: .*sluice sensor.*nft.attach"),
                             ("nfq: {mode: repeat}", "'nfq' of Suricata: .*queue.verdict"),
                             ("default-log-dir: /x", "did you mean 'log-dir'"),
                             ("flow-timeouts: {}", "did you mean 'flow.timeouts'"),
                             ("stream: {reassembly: {depth: 1}}", "'stream.reassembly' of Suricata: .*stream.depth"),
                             ("stream.reassembly.depth: 1", "did you mean 'stream.depth'"),
                             ("outputs: []", "'outputs' needs settings below it, got a list, as in Suricata: .*sluice import"),
                             ("mpm-algo: hs", "'mpm-algo' of Suricata: .*Hyperscan"),
                             ("threading: {cpu-affinity: []}", "did you mean 'threading.worker-cpu-set'"),
                             ("strem: {depth: 1}", "unknown setting 'strem'"),
                             ("queue: {lenght: 1}", "did you mean 'queue.length'")):
            code, out, err = sluice("check", "--config", self.file("x.yaml", key + "\n"))
            self.assertEqual(code, 1)
            self.assertRegex(err, message)

    def test_configuration_of_suricata_is_recognised(self):
        path = self.file("s.yaml", "outputs: []\nnfq:\naf-packet: []\n")
        for command in (("check",), ("run", "--check"), ("replay", "x.pcap")):
            err = sluice(*command, "--config", path)[2]
            self.assertIn(f"this looks like a configuration of Suricata: `sluice import {path}` converts it", err)
        self.assertNotIn("looks like", sluice("check", "--config", self.file("x.yaml", "outputs: []\nnfq:\n"))[2])


if __name__ == "__main__":
    unittest.main()
