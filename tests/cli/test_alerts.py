#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`sluice alerts` on event files: the last alerts, filters, and --follow across rotation and truncation."""
import json
import os
import subprocess
import tempfile
import threading
import unittest

from program import SLUICE, sluice


def event(number, **members):
    alert = {"action": "allowed", "gid": 1, "signature_id": number, "rev": 1, "signature": f"rule {number}",
             "category": "", "severity": 1 + number % 3}
    return {"timestamp": "2026-11-27T10:00:00.000000+0000", "event_type": "alert", "src_ip": f"10.0.0.{number % 250}",
            "src_port": 1024, "dest_ip": "10.9.9.9", "dest_port": 80, "proto": "TCP", "alert": alert, **members}


def lines(events):
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events)


class Alerts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "eve.json")

    def write(self, text, path=None, mode="a"):
        with open(path or self.path, mode, encoding="utf-8") as file:
            file.write(text)

    def sids(self, *arguments):
        code, out, err = sluice("alerts", "--file", self.path, "--json", *arguments)
        self.assertEqual((code, err), (0, ""))
        return [json.loads(line)["alert"]["signature_id"] for line in out.splitlines()]

    def test_last(self):
        other = {"event_type": "flow", "padding": "x" * 500, "alert": {"signature_id": 1}}
        for number in range(3000):
            self.write(lines([event(number), other]))
        self.write('{"event_type":"alert","alert":{"signature_id":9')  # a line that is still being written
        self.assertEqual(self.sids(), list(range(2980, 3000)))
        self.assertEqual(self.sids("--limit", "3"), [2997, 2998, 2999])
        self.assertEqual(self.sids("-n", "0"), [])
        self.assertEqual(self.sids("--limit", "1000000"), list(range(3000)))
        self.assertEqual(self.sids("--sid", "5"), [5])  # at the start of the file: all of it is searched
        self.assertEqual(self.sids("--sid", "2:5"), [])
        self.assertEqual(self.sids("--src", "10.0.0.7", "-n", "2"), [2507, 2757])
        self.assertEqual(self.sids("--dst", "10.0.0.0/8", "-n", "1"), [2999])
        self.assertEqual(self.sids("--host", "10.0.0.4/31", "-n", "2"), [2754, 2755])
        self.assertEqual(self.sids("--severity", "1", "-n", "2"), [2994, 2997])

    def test_line(self):
        self.write(lines([event(3, app_proto="http", sluice={"queue": {"number": 2}})]))
        self.assertEqual(sluice("alerts", "--file", self.path)[1],
                         "2026-11-27T10:00:00.000000+0000 ALERT [1:3:1] rule 3 [priority 1] {TCP} 10.0.0.3:1024 -> "
                         "10.9.9.9:80 (http, queue 2)\n")

    def test_default_file(self):
        self.write(lines([event(3)]))
        config = os.path.join(self.folder, "sluice.yaml")
        self.write(f"log-dir: {self.folder}\n", config)
        code, out, err = sluice("alerts", "--config", config)
        self.assertEqual((code, out.count("\n"), err), (0, 1, ""))
        # without event file: the daemon is asked
        code, out, err = sluice("alerts", "--config", config, "--set", "eve.enabled=no", "--socket", "/nonexistent/s")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, "^sluice alerts: no daemon listens on /nonexistent/s.*\n$")

    def test_damaged_lines(self):
        self.write('{"event_type":"alert"\n\n"alert"\n' + lines([event(1)]))
        code, out, err = sluice("alerts", "--file", self.path)
        self.assertEqual((code, out.count("\n")), (0, 1))
        self.assertRegex(err, "^sluice alerts: 1 lines of .*eve.json were skipped: not JSON")

    def test_wrong_input(self):
        for code, message, *arguments in (
                (2, "option '--sid' needs a rule number .*got 'x'", "--sid", "x"),
                (2, "option '--src' needs an address or a network .*got '10.0.0.0/33'", "--src", "10.0.0.0/33"),
                (2, "option '--dst' needs .*got 'a.b'", "--dst", "a.b"),
                (2, "option '--host' needs a value: NETWORK", "--host", ""),
                (2, "option '--severity' needs a number from 1 to 255, got '0'", "--severity", "0"),
                (2, "option '--limit' needs a number from 0 to 1000000, got '-1'", "--limit", "-1"),
                (2, "options .--live. and .--file. exclude each other", "--live", "--file", self.path),
                (2, "unexpected argument 'x'", "x"),
                (1, "cannot read /nonexistent: No such file.*--live", "--file", "/nonexistent"),
                (1, "cannot read /: not a regular file.*--live", "--file", "/"),
                (1, "no daemon listens on /nonexistent/s", "--live", "--socket", "/nonexistent/s")):
            got, out, err = sluice("alerts", *arguments)
            self.assertEqual((got, out), (code, ""), arguments)
            self.assertRegex(err, f"^sluice alerts: .*{message}.*\n$")

    def test_follow(self):
        """Each alert is printed once and in order, while the file is rotated, created late and truncated."""
        process = subprocess.Popen([SLUICE, "alerts", "--file", self.path, "--follow", "--json"],
                                   stdout=subprocess.PIPE, text=True)
        got, arrived = [], threading.Condition()

        def read():
            for line in process.stdout:
                with arrived:
                    got.append(json.loads(line)["alert"]["signature_id"])
                    arrived.notify()

        reader = threading.Thread(target=read)
        reader.start()

        def expect(count):
            with arrived:
                self.assertTrue(arrived.wait_for(lambda: len(got) >= count, 60), got)
            self.assertEqual(got, list(range(count)))

        try:
            self.write(lines([event(0)]))  # the file did not exist
            expect(1)
            text = lines([event(1)])
            self.write(text[:50])  # a line in two parts
            self.write(text[50:] + lines([event(2)]))
            expect(3)
            old = self.path + ".1"
            os.rename(self.path, old)
            self.write(lines([event(3)]), old)  # the daemon still writes to the old file
            expect(4)
            self.write("")  # logrotate creates the file
            self.write(lines([event(4)]), old)
            expect(5)
            self.write(lines([event(5)]), old)
            self.write(lines([event(6), {"event_type": "flow"}]))  # the daemon has opened the new one
            expect(7)
            self.write("", mode="w")  # copytruncate
            self.write(lines([event(7)]))
            expect(8)
        finally:
            process.terminate()
            process.wait()
            reader.join()
            process.stdout.close()


if __name__ == "__main__":
    unittest.main()
