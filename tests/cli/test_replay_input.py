#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the inputs of `sluice replay`: standard input, pipes, compressed captures, and folders."""
import bz2
import contextlib
import gzip
import json
import lzma
import os
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from program import SLUICE, sluice

HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000065000000")
RULES = "alert udp any any -> any any (sid:1;)\n"


def record(seconds, host=1):
    packet = bytes.fromhex("4500001c00000000401100000a0000") + bytes([host]) + bytes.fromhex("0a0000020001000200080000")
    return struct.pack("<IIII", seconds, 0, len(packet), len(packet)) + packet


class ReplayInput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.mkdir(self.path("out"))
        self.write("t.rules", RULES.encode())

    def tearDown(self):
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def arguments(self, *arguments):
        return ["replay", "--no-console", "--rules", self.path("t.rules"), "--log-dir", self.path("out"), *arguments]

    def replay(self, *arguments, **options):
        return sluice(*self.arguments(*arguments), **options)

    @contextlib.contextmanager
    def start(self, *arguments, **options):
        """Starts a replay, which is ended if the test fails."""
        with subprocess.Popen([SLUICE, *self.arguments(*arguments)], stderr=subprocess.PIPE, text=True,
                              **options) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def events(self, kind):
        try:
            with open(self.path("out", "eve.json"), encoding="utf-8") as file:
                # the last line may be incomplete while the program writes it
                events = [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [event for event in events if event["event_type"] == kind]

    def hosts(self, kind="alert"):
        return [int(event["src_ip"].split(".")[3]) for event in self.events(kind)]

    def wait(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "the condition is not met")
            time.sleep(0.02)

    def test_standard_input(self):
        capture = HEADER + record(1, 1) + record(2, 3)
        for name, data in (("plain", capture), ("compressed", gzip.compress(capture))):
            with self.subTest(name):
                for workers in ("1", "2"):
                    run = subprocess.run([SLUICE, *self.arguments("--workers", workers, "-")], input=data,
                                         capture_output=True, check=False)
                    self.assertEqual((run.returncode, run.stderr), (0, b""))
                    self.assertEqual(self.hosts(), [1, 3])

    def test_packets_of_a_pipe_are_inspected_when_they_arrive(self):
        for number, kind in enumerate((signal.SIGTERM, signal.SIGINT)):
            with self.start("-", stdin=subprocess.PIPE) as process:
                os.write(process.stdin.fileno(), HEADER + record(1, 1))
                self.wait(lambda: self.hosts() == [1])
                os.write(process.stdin.fileno(), record(2, 3)[:-1])  # the signal arrives within a packet
                time.sleep(0.1 * number)
                process.send_signal(kind)
                err = process.communicate(timeout=60)[1]
                self.assertEqual((process.returncode, err), (0, ""))
            self.assertEqual(self.hosts("flow"), [1])  # the flow was ended, and its event written
            os.remove(self.path("out", "eve.json"))

    def test_a_signal_ends_the_wait_for_the_header(self):
        os.mkfifo(self.path("fifo"))
        with self.start(self.path("fifo")) as process:
            with open(self.path("fifo"), "wb"):  # opens when the program has opened it
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(self.events("stats")), 1)

    def test_compressed_files(self):
        self.write("a.pcap", gzip.compress(HEADER + record(1, 1)) + gzip.compress(record(2, 3)))
        self.write("b.pcap", HEADER + record(3, 4))
        self.assertEqual(self.replay(self.path("a.pcap"), self.path("b.pcap"))[0], 0)
        self.assertEqual(self.hosts(), [1, 3, 4])

    def test_compressed_files_with_errors(self):
        data = gzip.compress(HEADER + record(1, 1) + record(2, 3))
        self.write("cut.gz", data[:-1])
        code, _, err = self.replay(self.path("cut.gz"))
        self.assertEqual(code, 0)
        self.assertRegex(err, r"cut.gz: after packet 2: the gzip data is incomplete; the rest of the file is skipped\n$")
        self.assertEqual(self.hosts(), [1, 3])
        self.write("damaged.gz", data[:-8] + bytes(8))
        code, _, err = self.replay(self.path("damaged.gz"))
        self.assertEqual(code, 0)
        self.assertRegex(err, r"damaged.gz: after packet 2: the gzip data is damaged: incorrect data check; the rest ")
        for name, compressed in (("xz", lzma.compress(HEADER)), ("bzip2", bz2.compress(HEADER))):
            self.write(name, compressed)
            code, _, err = self.replay(self.path(name))
            self.assertEqual(code, 1)
            self.assertRegex(err, f"{name}: {name} compression is not supported: decompress the file and pipe it to "
                                  "`sluice replay -`\n$")
        for data, cause in ((b"no capture", "unknown file format"), (b"", "truncated dump file"),
                            (gzip.compress(b"no capture"), "unknown file format"),
                            (b"\x1f\x8b\x08", "truncated dump file|gzip data is incomplete")):
            run = subprocess.run([SLUICE, *self.arguments("-")], input=data, capture_output=True, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr.decode(), f"standard input: .*({cause})")
            self.assertEqual(run.stderr.count(b"\n"), 1)

    def test_interfaces_of_pcapng_files(self):
        def block(kind, body):
            body += bytes(-len(body) % 4)
            return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

        def interface(link, name):
            options = struct.pack("<HH", 2, len(name)) + name + bytes(-len(name) % 4) if name else b""
            return block(1, struct.pack("<HHI", link, 0, 0) + options)

        def packet(index, seconds, data):
            time = seconds * 1000000
            return block(6, struct.pack("<IIIII", index, time >> 32, time & 0xffffffff, len(data), len(data)) + data)

        ip = [record(0, host)[16:] for host in range(5)]
        section = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))
        self.write("a.pcapng", section + interface(101, b"ppp0") + interface(1, b"eth1") + packet(0, 1, ip[1]) +
                   packet(1, 2, bytes(12) + b"\x08\x00" + ip[2]))
        self.write("b.pcapng", gzip.compress(section + interface(101, b"") + interface(101, b"eth1") +
                                             packet(0, 3, ip[3]) + packet(1, 4, ip[4])))
        for workers in ("1", "2"):
            code, _, err = self.replay("--workers", workers, self.path("a.pcapng"), self.path("b.pcapng"))
            self.assertEqual((code, err), (0, ""))
            for kind in ("alert", "flow"):
                self.assertEqual(sorted((event["src_ip"], event.get("in_iface")) for event in self.events(kind)),
                                 [("10.0.0.1", "ppp0"), ("10.0.0.2", "eth1"), ("10.0.0.3", None), ("10.0.0.4", "eth1")])

    def test_standard_input_is_given_once(self):
        code, _, err = self.replay("-", self.path("x.pcap"), "-")
        self.assertIn(code, (1, 2))
        self.assertRegex(err, r"standard input \(-\) can be given only once")

    def make_folder(self):
        """A folder with four captures, named in another order than that of their packets, and other files."""
        os.makedirs(self.path("folder", "sub", "deep"))
        self.write("folder/b.pcap", HEADER + record(40, 4) + record(50, 5))
        self.write("folder/c", gzip.compress(HEADER + record(20, 2)))
        self.write("folder/sub/a.pcap", HEADER + record(30, 3))
        self.write("folder/sub/deep/z.pcap", HEADER + record(10, 1))
        self.write("folder/notes.txt", b"no capture")
        self.write("folder/.hidden.pcap", HEADER + record(5, 9))
        self.write("folder/sub/empty", b"")

    def test_folder(self):
        self.make_folder()
        for workers in ("1", "2"):
            code, _, err = self.replay("--workers", workers, self.path("folder"))
            self.assertEqual((code, self.hosts()), (0, [2, 4, 5]))
            self.assertRegex(err, r"^sluice: .*folder/notes.txt: unknown file format; the file is skipped\n$")
            code, _, err = self.replay("--workers", workers, "--recursive", self.path("folder") + "/")
            self.assertEqual((code, self.hosts()), (0, [1, 2, 3, 4, 5]))
            self.assertEqual(err.count("the file is skipped"), 2)
        os.mkdir(self.path("none"))
        code, _, err = self.replay(self.path("none"), self.path("folder/b.pcap"))
        self.assertEqual((code, self.hosts()), (0, [4, 5]))
        self.assertRegex(err, "^sluice: warning: folder .*/none contains no capture file\n$")

    def test_names_of_files_in_events(self):
        self.make_folder()
        for workers in ("1", "3"):
            code = self.replay("--workers", workers, "--set", "eve.pcap-file=yes", self.path("folder"))[0]
            self.assertEqual(code, 0)
            self.assertEqual([os.path.basename(event["pcap_filename"]) for event in self.events("alert")],
                             ["c", "b.pcap", "b.pcap"])

    def test_delete(self):
        self.make_folder()
        data = gzip.compress(HEADER + record(60, 6))
        self.write("folder/cut", data[:-1])
        code, _, err = self.replay("--workers", "2", "--delete", self.path("folder"))
        self.assertEqual((code, self.hosts()), (0, [2, 4, 5, 6]))
        self.assertRegex(err, "cut: after packet 1: the gzip data is incomplete")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), [".hidden.pcap", "cut", "notes.txt", "sub"])

    def test_done_markers(self):
        self.make_folder()
        self.write("folder/b.pcap.done", b"")
        code, _, err = self.replay("--done-marker", ".done", "--delete", self.path("folder"))
        self.assertEqual((code, err, self.hosts()), (0, "", [4, 5]))
        self.assertEqual(sorted(os.listdir(self.path("folder"))), [".hidden.pcap", "c", "notes.txt", "sub"])

    def test_continuous(self):
        self.make_folder()
        for workers in ("1", "2"):
            with self.start("--workers", workers, "--continuous", "--delay", "2", "--recursive",
                            self.path("folder")) as process:
                # These files have just been written: they are inspected together, in the order of their packets.
                self.wait(lambda: self.hosts() == [1, 2, 3, 4, 5])
                with open(self.path("folder", "sub", "new.pcap"), "wb") as file:
                    file.write(HEADER + record(60, 6))
                    file.flush()
                    for host in range(7, 10):  # a file that is written is not inspected
                        time.sleep(1)
                        file.write(record(60 + host, host))
                        file.flush()
                        self.assertEqual(len(self.hosts()), 5)
                self.wait(lambda: self.hosts()[5:] == [6, 7, 8, 9])
                self.assertNotIn(9, self.hosts("flow"))
                process.send_signal(signal.SIGTERM)
                err = process.communicate(timeout=60)[1]
            self.assertEqual((process.returncode, err.count("\n")), (0, 2))
            self.assertEqual(sorted(self.hosts("flow")), list(range(1, 10)))
            self.assertEqual(len(self.events("stats")), 1)
            os.remove(self.path("folder", "sub", "new.pcap"))
            os.remove(self.path("out", "eve.json"))

    def test_continuous_with_markers_and_deletion(self):
        os.mkdir(self.path("folder"))
        with self.start("--continuous", "--done-marker", ".done", "--delete", self.path("folder")) as process:
            for host in (1, 2):  # the same name is used again
                self.write("folder/a.pcap", HEADER + record(host, host))
                time.sleep(1.5)
                self.assertEqual(len(self.hosts()), host - 1)
                self.write("folder/a.pcap.done", b"")
                self.wait(lambda: os.listdir(self.path("folder")) == [])
                self.wait(lambda: len(self.hosts()) == host)
            self.write("folder/bad", b"no capture")
            self.write("folder/bad.done", b"")
            self.write("folder/b.pcap", HEADER + record(3, 3))
            self.write("folder/b.pcap.done", b"")
            self.wait(lambda: len(self.hosts()) == 3)
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0)
        self.assertRegex(err, "^sluice: .*folder/bad: unknown file format; the file is skipped\n$")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["bad", "bad.done"])

    def test_a_watched_folder_that_disappears(self):
        os.mkdir(self.path("folder"))
        with self.start("--continuous", self.path("folder")) as process:
            self.wait(lambda: os.path.exists(self.path("out", "eve.json")))
            os.rmdir(self.path("folder"))
            err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err, "^sluice replay: .*/folder: No such file or directory\n$")

    def test_wrong_options(self):
        self.write("a.pcap", HEADER)
        for options, says in ((["--continuous", self.path("a.pcap")], "--continuous needs folders, and '.*a.pcap' is none"),
                              (["--continuous", "-"], "--continuous needs folders, and '-' is none"),
                              (["--recursive", "--unix-socket", "s"], "--recursive and --unix-socket cannot be combined")):
            code, _, err = self.replay(*options)
            self.assertEqual(code, 2)
            self.assertRegex(err, says)


if __name__ == "__main__":
    unittest.main()
