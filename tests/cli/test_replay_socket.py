#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of `sluice replay --unix-socket`: clients add capture files and folders, as to Suricata's unix-socket mode."""
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from program import SLUICE, sluice

PACKET = bytes.fromhex("4500001c00000000401100000a0000010a0000020001000200080000")
CAPTURE = (bytes.fromhex("d4c3b2a1020004000000000000000000ffff000065000000") +
           struct.pack("<IIII", 1, 0, len(PACKET), len(PACKET)) + PACKET)
RULES = "alert udp any any -> any any (sid:1;)\n"


class ReplaySocket(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = self.path("socket")
        os.mkdir(self.path("out"))
        os.mkdir(self.path("folder"))
        self.write("t.rules", RULES.encode())
        self.write("a.pcap", CAPTURE)
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([SLUICE, "replay", "--rules", self.path("t.rules"), "--unix-socket", self.socket],
                                        stderr=self.log, stdout=self.log)
        self.wait(lambda: os.path.exists(self.socket))

    def tearDown(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def wait(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "the condition is not met")
            time.sleep(0.02)

    def send(self, command, **arguments):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(self.socket)
            client.sendall(json.dumps({"command": command, "arguments": arguments}).encode() + b"\n")
            answer = json.loads(client.makefile().readline())
        return answer["return"], answer["message"]

    def add(self, name, command="pcap-file", **arguments):
        return self.send(command, filename=self.path(name), **{"output-dir": self.path("out"), **arguments})

    def alerts(self):
        try:
            with open(self.path("out", "eve.json"), encoding="utf-8") as file:
                return sum('"event_type":"alert"' in line for line in file)
        except FileNotFoundError:
            return 0

    def test_files_and_folders(self):
        added = ("OK", "Successfully added file to list")
        self.assertEqual(self.send("capture-mode"), ("OK", "UNIX_SOCKET"))
        self.assertEqual(self.send("running-mode"), ("OK", "single"))
        self.assertEqual(self.send("pcap-current"), ("OK", "None"))
        self.assertEqual(self.send("pcap-last-processed"), ("OK", 0))
        self.assertEqual(self.send("ruleset-stats")[1],
                         [{"id": 0, "rules_loaded": 1, "rules_failed": 0, "rules_skipped": 0}])
        self.assertEqual(self.add("a.pcap"), added)
        self.wait(lambda: self.alerts() == 1)
        self.wait(lambda: self.send("pcap-current")[1] == "None")
        self.assertGreater(self.send("pcap-last-processed")[1], 1_000_000_000_000)
        # A watched folder: the files in it, and one that is added; further entries wait.
        self.write("folder/1.pcap", CAPTURE)
        self.write("folder/2.pcap", b"no capture")
        self.assertEqual(self.add("folder", "pcap-file-continuous", **{"delete-when-done": "true"}), added)
        self.wait(lambda: self.alerts() == 2)
        self.assertEqual(self.add("a.pcap"), added)
        self.assertEqual(self.send("pcap-file-number"), ("OK", 1))
        self.assertEqual(self.send("pcap-file-list"), ("OK", {"count": 1, "files": [self.path("a.pcap")]}))
        self.write("folder/3.pcap", CAPTURE)
        self.wait(lambda: self.alerts() == 3)
        self.wait(lambda: os.listdir(self.path("folder")) == ["2.pcap"])  # its inspection failed: it is kept
        self.assertEqual(self.send("pcap-interrupt"), ("OK", "Interrupted"))
        self.wait(lambda: self.alerts() == 4)
        self.assertEqual(self.send("shutdown"), ("OK", "Closing Sluice"))
        self.assertEqual(self.process.wait(60), 0)
        self.assertFalse(os.path.exists(self.socket))
        with open(self.path("log"), encoding="utf-8") as file:
            self.assertRegex(file.read(), "folder/2.pcap: ")

    def test_bad_requests_add_nothing(self):
        for arguments, cause in (({"filename": self.path("gone"), "output-dir": self.path("out")},
                                  "filename does not exist: .*/gone': No such file"),
                                 ({"filename": self.path("a.pcap"), "output-dir": self.path("gone")},
                                  "output-dir does not exist: .*/gone'"),
                                 ({"filename": self.path("a.pcap")}, "output-dir param is mandatory"),
                                 ({"filename": 1, "output-dir": self.path("out")}, "filename is not a string"),
                                 ({"filename": self.socket, "output-dir": self.path("out")}, "not a readable file"),
                                 ({"filename": self.path("a.pcap"), "output-dir": self.path("out"),
                                   "continuous": "true"}, "filename is not a folder: .*a.pcap"),
                                 ({"filename": self.path("a.pcap"), "output-dir": self.path("out"), "tenant": 2},
                                  "tenant is not supported")):
            word, message = self.send("pcap-file", **arguments)
            self.assertEqual(word, "NOK")
            self.assertRegex(message, cause)
        self.assertRegex(self.send("pcap-fil")[1], "did you mean 'pcap-file'")
        self.assertEqual(self.send("pcap-file-number"), ("OK", 0))
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(60), 0)

    def test_wrong_command_lines(self):
        code, _, err = sluice("replay", "--unix-socket", self.path("other"), self.path("a.pcap"))
        self.assertEqual(code, 2)
        self.assertRegex(err, "unexpected argument '.*a.pcap': clients of --unix-socket name the capture files")
        code, _, err = sluice("replay", "--rules", self.path("t.rules"), "--unix-socket", self.socket)
        self.assertEqual(code, 1)
        self.assertRegex(err, "process [0-9]+ listens on it")
        code, _, err = sluice("replay", "--rules", self.path("t.rules"), "--unix-socket", self.path("gone", "x", "s"))
        self.assertEqual(code, 1)
        self.assertRegex(err, "control socket .*/gone/x/s: .*No such file")


if __name__ == "__main__":
    unittest.main()
