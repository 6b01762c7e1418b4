#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`sluice update` and `sluice-suricata-compat` with the real suricata-update and sources on the loopback interface.

SLUICE is the program; SURICATA_UPDATE the other one (default: that in PATH), or that of PyPI in the Python environment
PRODUCT_CACHE/venv. UPDATE_ALL=yes tests all ways in which a source can be broken. Without suricata-update: exit code 77.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from sources import CUT, RESET, Sources, archive, rule  # noqa: E402

SLUICE = os.environ["SLUICE"]
VENV = os.environ.get("PRODUCT_CACHE") and os.environ["PRODUCT_CACHE"] + "/venv/bin/suricata-update"
SURICATA_UPDATE = os.environ.get("SURICATA_UPDATE") or VENV or shutil.which("suricata-update")
ALL = os.environ.get("UPDATE_ALL") == "yes"  # all ways in which a source can be broken
DAY = 24 * 60 * 60


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.conf, self.data = self.folder / "etc", self.folder / "data"
        self.conf.mkdir()
        self.live = self.data / "rules/suricata.rules"
        self.config = self.conf / "sluice.yaml"
        self.config.write_text(f"data-dir: {self.data}\nrule-files: [{self.live}]\nsecurity.sandbox: no\n"
                               f"unix-command.filename: {self.folder}/no.socket\n")
        self.compat = self.folder / "sluice-suricata-compat"
        self.compat.symlink_to(SLUICE)
        self.web = Sources()
        self.addCleanup(self.web.close)

    def run_command(self, *command, **options):
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100,
                             stdin=subprocess.DEVNULL, **options)
        return run.returncode, run.stdout, run.stderr

    def update(self, *arguments):
        return self.run_command(SLUICE, "update", "--config", self.config, "--program", SURICATA_UPDATE, *arguments)

    def night(self, *arguments, code=0):
        """A day passes; then the update. Returns its result as JSON, and stderr."""
        for file in self.data.glob("update/cache/*"):
            os.utime(file, (time.time() - DAY, file.stat().st_mtime - DAY))
        got, out, err = self.update("--json", *arguments)
        self.assertEqual(got, code, out + err)
        return json.loads(out) if out else None, err

    def add_source(self, name, content):
        """Adds a source as `sluice update add-source` does, in less time."""
        self.web.files["/" + name] = content
        folder = self.data / "update/sources"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(f"source: {name}\nurl: {self.web.url}/{name}\n")

    def sids(self):
        return sorted(int(sid) for sid in re.findall(r"^[^#\n].*\bsid:(\d+);", self.live.read_text(), re.M))

    def snapshot(self):
        """Names and contents of what a failing command must not change."""
        return {str(path): path.read_bytes() for folder in (self.data / "rules", self.conf)
                for path in folder.rglob("*") if path.is_file()}


class Wrapper(Case):
    def engine(self, code):
        """Evaluates an expression with suricata-update's module `engine`, by the Python of suricata-update."""
        first = pathlib.Path(SURICATA_UPDATE).read_text().split("\n")[0]
        python = first[2:].split()[0] if first.startswith("#!") else sys.executable
        status, out, err = self.run_command(python, "-c", "import json; from suricata.update import engine; "
                                                          f"print(json.dumps({code}))")
        self.assertEqual(status, 0, err)
        return json.loads(out.splitlines()[-1])

    def test_its_answers_are_understood(self):
        path = str(self.compat)
        self.assertEqual(self.engine(f"engine.get_version('{path}')[:3]"), [8, 0, 7])
        info = self.engine(f"engine.get_build_info('{path}')")
        self.assertTrue(set(info) >= {"features", "prefix", "sysconfdir", "localstatedir", "datarootdir", "version"})
        self.assertIn("NFQ", info["features"])
        self.config.write_text(self.config.read_text() + "vars.address-groups.LAB: 10.9.0.0/16\n"
                               "vars.port-groups.ODD: '[81,82]'\napp-layer.protocols.dns.enabled: no\n")
        conf = self.engine(f"engine.Configuration.load('{self.config}', '{path}').conf")
        self.assertEqual(conf["vars.address-groups.LAB"], "10.9.0.0/16")
        self.assertEqual(conf["vars.port-groups.ODD"], "[81,82]")
        self.assertIn("vars.address-groups.HOME_NET", conf)
        self.assertEqual(conf["app-layer.protocols.dns.enabled"], "no")
        self.assertEqual(conf["rule-files.0"], str(self.live))

    def test_a_test_fails_for_a_whole_set_only(self):
        rules = self.folder / "a.rules"
        test = [self.compat, "-T", "-l", self.folder, "-c", self.config, "-S", rules]
        rules.write_text(rule(1) + rule(2, "lua:x.lua; ") + rule(3, "requires:version >= 9; ") + rule(4, "flow:up; "))
        code, _, err = self.run_command(*test)
        self.assertEqual(code, 0, err)
        self.assertIn(f"{rules}:4:", err)
        self.assertIn("1 rules loaded, 1 failed, 2 skipped", err)
        self.assertEqual(self.run_command(*test, "--init-errors-fatal")[0], 1)
        rules.write_text(rule(2, "lua:x.lua; ") + rule(4, "flow:up; "))
        code, _, err = self.run_command(*test)
        self.assertEqual(code, 1)
        self.assertIn("none of the 2 rules can be loaded", err)

    def test_bad_command_lines(self):
        bad = self.conf / "bad.yaml"
        bad.write_text("rule-files: {a: 1}\n")
        for arguments, code, text in (
                ([], 2, "one of -V, --build-info, --dump-config and -T is needed"),
                (["-V", "-T"], 2, "only one of -V, --build-info, --dump-config and -T"),
                (["--unknown"], 2, "unknown option '--unknown'"),
                (["-T", "file"], 2, "unexpected argument 'file'"),
                (["-T", "-S"], 2, "option '--only-rules' needs a value: FILE"),
                (["-T", "-S", "/none.rules"], 1, "cannot read '/none.rules'"),
                (["-T", "-c", "/none.yaml"], 1, "/none.yaml"),
                (["--dump-config", "-c", bad], 1, "suricata-update: --suricata-conf")):
            status, out, err = self.run_command(self.compat, *arguments)
            self.assertEqual((status, out), (code, ""), err)
            self.assertIn(text, err)

    def test_suricata_update_alone(self):
        self.web.files["/a.rules"] = rule(1) + rule(2, "lua:x.lua; ") + rule(4, "flow:up; ")
        run = [SURICATA_UPDATE, "-D", self.data, "--suricata", self.compat, "--suricata-conf", self.config,
               "-c", "/dev/null", "--no-reload", "--url", self.web.url + "/a.rules"]
        code, out, err = self.run_command(*run)
        self.assertEqual(code, 0, out + err)
        self.assertIn("Found Suricata version 8.0.7", out)
        self.assertEqual(self.sids(), [1, 2, 4])
        self.web.files["/a.rules"] = rule(4, "flow:up; ")
        code, out, err = self.run_command(*run, "--force")
        self.assertEqual(code, 1, out + err)
        self.assertEqual(self.sids(), [1, 2, 4])


class Update(Case):
    def test_rules_are_added_changed_and_removed(self):
        self.add_source("a.rules", rule(1) + rule(2) + rule(3))
        self.add_source("b.tar.gz", archive({"x/b.rules": rule(11) + rule(12, "lua:x.lua; ") + rule(13, "flow:up; ")
                                             + rule(14, "requires:version >= 9; ")}))
        result, err = self.night()
        self.assertEqual((result["result"], result["rules_added"], result["rules_loaded"], result["rules_failed"],
                          result["rules_skipped"], result["rules_unmet"]), ("updated", 4, 4, 1, 2, 1))
        self.assertEqual(result["unsupported"], [{"keyword": "lua", "count": 1}])
        self.assertIn(f"{self.live}:", err)
        self.assertIn("no daemon runs", err)
        self.assertEqual(self.night()[0]["result"], "unchanged")
        self.web.files["/a.rules"] = rule(1) + rule(2, rev=2) + rule(4)
        result, _ = self.night()
        self.assertEqual((result["rules_added"], result["rules_removed"], result["rules_changed"]), (1, 1, 1))
        self.assertEqual(self.sids(), [1, 2, 4, 11, 12, 13, 14])
        self.assertTrue((self.data / "update/previous/suricata.rules").is_file())
        code, out, _ = self.update()
        self.assertEqual((code, out.splitlines()[-1]),
                         (0, "no changes: 4 loaded, 1 failed, 2 skipped (1 for other versions)"))

    def test_commands_about_sources(self):
        self.web.files["/a.rules"] = rule(1)
        self.assertEqual(self.update("add-source", "mine", self.web.url + "/a.rules")[0], 0)
        code, out, _ = self.update("list-enabled-sources")
        self.assertEqual(code, 0)
        self.assertIn("mine", out)
        self.night()
        self.assertEqual(self.sids(), [1])
        self.assertEqual(self.update("remove-source", "mine")[0], 0)
        self.assertNotEqual(self.update("remove-source", "mine")[0], 0)

    def test_rule_files_of_the_user_are_applied(self):
        self.add_source("a.rules", "".join(rule(sid) for sid in range(1, 5)) + "# " + rule(5))
        (self.conf / "disable.conf").write_text("1\n")
        (self.conf / "enable.conf").write_text("5\n")
        (self.conf / "drop.conf").write_text("2\n")
        (self.conf / "modify.conf").write_text('3 "needle 3" "other 3"\n')
        self.night()
        text = self.live.read_text()
        self.assertEqual(self.sids(), [2, 3, 4, 5])
        self.assertRegex(text, r"(?m)^drop .*sid:2;")
        self.assertIn("other 3", text)

    def test_a_broken_source_stops_no_other(self):
        self.add_source("a.rules", rule(1) + rule(2))
        self.add_source("b.tar.gz", archive({"b.rules": "".join(rule(sid) for sid in range(11, 15))}))
        self.add_source("c.rules", rule(21))
        self.night()
        good = self.web.files["/b.tar.gz"]
        many = archive({"b.rules": "".join(rule(1000 + i, f'content:"{i * 7919}"; ') for i in range(2000))})
        ways = [(RESET, "the download broke off; its previous rules are used"),
                ("<html>maintenance</html>", "no rules; its previous rules are used"),
                (archive({"b.rules": rule(11)}), "less than half of its previous rules")]
        if ALL:
            ways += [(None, "HTTP Error 404"),
                     (good[:60], "its previous rules are used"),
                     ((CUT, many), "its previous rules are used"),
                     (archive({"b.rules": b"\xff\xfe\x00" * 99}), "its previous rules are used")]
        for day, (broken, text) in enumerate(ways):
            self.web.files["/b.tar.gz"] = broken
            self.web.files["/a.rules"] = rule(1) + rule(2, rev=2 + day)
            self.web.files["/c.rules"] = rule(21, rev=2 + day)
            result, err = self.night(code=3)
            self.assertIn(text, err)
            self.assertEqual(self.sids(), [1, 2, 11, 12, 13, 14, 21])
            self.assertEqual((result["rules_changed"], result["rules_removed"]), (2, 0), f"{text}: {err}")
            self.assertGreater(result["source_problems"], 0)
        self.web.files["/b.tar.gz"] = archive({"b.rules": "".join(rule(sid, rev=2) for sid in range(11, 15))})
        self.assertEqual(self.night()[0]["rules_changed"], 4)
        self.web.files["/b.tar.gz"] = archive({"b.rules": rule(11)})
        self.assertEqual(self.night("--force")[0]["rules_removed"], 3)

    def test_a_new_source_that_breaks_off_is_left_out(self):
        self.add_source("a.rules", rule(1))
        self.add_source("b.rules", RESET)
        result, err = self.night(code=3)
        self.assertIn(f"source {self.web.url}/b.rules: the download broke off; it is left out", err)
        self.assertEqual(self.sids(), [1])
        self.web.files["/b.rules"] = rule(2)
        self.night()
        self.assertEqual(self.sids(), [1, 2])

    def test_a_source_with_a_secret_breaks_off(self):
        self.add_source("a.rules", rule(1))
        self.web.files["/secret/b.rules"] = rule(2)
        (self.data / "update/sources/b.yaml").write_text(
            f"source: b\nurl: {self.web.url}/%(secret-code)s/b.rules\nparams: {{secret-code: secret}}\n")
        self.night()
        self.assertEqual(self.sids(), [1, 2])
        self.web.files["/secret/b.rules"] = RESET
        result, err = self.night(code=3)
        self.assertIn("without naming a source: the previous rules of all sources are used", err)
        self.assertNotIn("/secret/", err)
        self.assertNotIn("left out", err)
        self.assertEqual(self.sids(), [1, 2])

    def loaded_values(self):
        return (self.live.parent / re.search(r"load (datasets/\w+)", self.live.read_text())[1]).read_text()

    def test_datasets_of_sources_are_found(self):
        files = {"x/a.rules": 'alert dns any any -> any any (msg:"d"; dns.query; '
                              'dataset:isset,bad,type string,load lists/bad.lst; sid:1;)\n',
                 "x/lists/bad.lst": "ZXZpbC5leGFtcGxl\n"}
        self.add_source("a.tar.gz", archive(files))
        result, err = self.night()
        self.assertEqual((result["rules_loaded"], result["rules_failed"]), (1, 0), err)
        self.assertEqual(self.loaded_values(), "ZXZpbC5leGFtcGxl\n")
        files["x/lists/bad.lst"] = "Z29vZC5leGFtcGxl\n"
        self.web.files["/a.tar.gz"] = archive(files)
        self.assertEqual(self.night()[0]["result"], "updated")  # the rules are the same, the values are not
        self.assertEqual(self.loaded_values(), "Z29vZC5leGFtcGxl\n")

    def test_a_test_and_a_dry_run_change_nothing(self):
        self.add_source("a.rules", "".join(rule(sid) for sid in range(1, 10)))
        self.night()
        before = self.snapshot()
        self.web.files["/a.rules"] = "".join(rule(sid, rev=2) for sid in range(1, 10))
        result, _ = self.night("--dry-run")
        self.assertEqual((result["result"], result["rules_changed"]), ("tested", 9))
        self.assertEqual(self.snapshot(), before)
        self.web.files["/a.rules"] = "".join(rule(sid, "flow:up; ") for sid in range(1, 10))
        _, err = self.night(code=1)
        self.assertIn("only 0 of the 9 new rules can be loaded, 9 are in use; the rules are unchanged", err)
        self.assertEqual(self.snapshot(), before)
        self.web.files["/a.rules"] = "".join(rule(sid, "flow:up; " if sid > 4 else "", 3) for sid in range(1, 10))
        self.assertEqual(self.night()[0]["rules_loaded"], 4)

    def test_offline_uses_the_last_downloads(self):
        self.add_source("a.rules", rule(1))
        self.night()
        self.web.files["/a.rules"] = rule(2)
        asked = len(self.web.requests)
        self.assertEqual(self.night("--offline")[0]["result"], "unchanged")
        self.assertEqual(len(self.web.requests), asked)

    def test_an_interrupted_update_is_completed(self):
        self.add_source("a.rules", rule(1))
        self.night()
        (self.data / "update/reload-pending").touch()
        self.assertEqual(self.night()[0]["result"], "updated")
        self.assertFalse((self.data / "update/reload-pending").exists())
        self.assertEqual(self.night()[0]["result"], "unchanged")

    def test_the_rule_file_may_be_part_of_a_pattern(self):
        (self.data / "rules").mkdir(parents=True)
        (self.data / "rules/own.rules").write_text(rule(7))
        self.config.write_text(self.config.read_text().replace("suricata.rules", "*.rules").replace("[", "['")
                               .replace("]", "']"))
        self.add_source("a.rules", rule(1))
        result, err = self.night()
        self.assertEqual((result["rules_loaded"], result["rules_added"]), (2, 1), err)
        self.assertNotIn("rule-files", err)
        self.web.files["/a.rules"] = rule(1, rev=2)
        result, _ = self.night()
        self.assertEqual((result["rules_loaded"], result["rules_changed"]), (2, 1))

    def test_a_rule_file_that_is_not_loaded_is_reported(self):
        self.config.write_text(f"data-dir: {self.data}\nsecurity.sandbox: no\n")
        self.add_source("a.rules", rule(1))
        result, err = self.night("--no-reload")
        self.assertEqual(result["rules_loaded"], 1)
        self.assertIn(f"add {self.live} to rule-files in {self.config}", err)

    def test_bad_input_changes_nothing(self):
        self.add_source("a.rules", rule(1))
        self.night()
        before = self.snapshot()
        bad = self.folder / "bad.yaml"
        bad.write_text(f"data-dir: {self.data}\nquueue.numbers: 0\n")
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "update.yaml").write_text("sources: {\n")
        shutil.copy(self.config, broken)
        for arguments, code, text in (
                (["--unknown"], 2, "unknown option '--unknown'"),
                (["--timeout", "0"], 2, "option '--timeout' needs a number from 1 to 86400, got '0'"),
                (["--data-dir", "/" + "x" * 300], 1, "data-dir has more than 256 characters"),
                (["remove-sources", "a-rules"], 2, "unknown argument 'remove-sources'"),
                (["--program", "/none/suricata-update"], 1, "cannot run '/none/suricata-update': No such file"),
                (["--program", "/bin/false"], 1, "suricata-update failed (exit code 1): no output; the rules are"),
                (["--config", "/none/sluice.yaml"], 1, "/none/sluice.yaml"),
                (["--config", bad], 1, "the configuration has mistakes: correct them first"),
                (["--config", broken / "sluice.yaml"], 1, "suricata-update failed (exit code 1)")):
            status, out, err = self.update(*arguments)
            self.assertEqual((status, out), (code, ""), err)
            self.assertIn(text, err)
            self.assertEqual(len([line for line in err.splitlines() if line.startswith("sluice update:")
                                  and "suricata-update: " not in line]) <= 1, True, err)
        environment = dict(os.environ, PATH="/none", HOME="/none")
        if not any(os.access(f"{folder}/suricata-update", os.X_OK) for folder in ("/usr/local/bin", "/usr/bin")):
            code, _, err = self.run_command(SLUICE, "update", "--config", self.config, env=environment)
            self.assertEqual(code, 1)
            self.assertIn("suricata-update is not installed", err)
        with open(self.data / "update/lock") as lock:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, _, err = self.update()
            self.assertEqual(code, 1)
            self.assertIn("another `sluice update` is running", err)
        self.assertEqual(self.snapshot(), before)

    def test_bad_lines_of_the_users_files_are_reported(self):
        self.add_source("a.rules", rule(1))
        self.night()
        for name, text, place, message in (
                ("disable.conf", "1\n# comment\nnonsense\n", ":3:1: error: ", "expected SID, GID:SID, re:"),
                ("enable.conf", "re:(\n", ":1:", "error: .*re"),
                ("drop.conf", "1:2:3:4\n", ":1:1: error: ", "expected SID"),
                ("modify.conf", '3 "needle 3"\n', ":1:1: error: ", "a modification needs three words"),
                ("disable.conf", None, ": error: ", "cannot be read: Is a directory")):
            with self.subTest(name, text=text):
                path = self.conf / name
                if text is None:
                    path.mkdir()
                else:
                    path.write_text(text)
                before = self.snapshot()
                code, out, err = self.update()
                self.assertEqual((code, out), (1, ""), err)
                self.assertRegex(err, f"\\A{path}{place}.*{message}")
                self.assertRegex(err, "nothing was downloaded, and the rules are unchanged\n$")
                self.assertEqual(self.snapshot(), before)
                if text is None:
                    path.rmdir()
                else:
                    path.unlink()

    def test_a_hung_suricata_update_is_ended(self):
        program = self.folder / "hangs"
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
        code, _, err = self.update("--program", program, "--timeout", "1")
        self.assertEqual(code, 1)
        self.assertIn("suricata-update did not end within 1 s (--timeout); the rules are unchanged", err)


if __name__ == "__main__":
    if not SURICATA_UPDATE or not os.access(SURICATA_UPDATE, os.X_OK):
        print("SKIP: suricata-update is not installed")
        sys.exit(77)
    unittest.main()
