#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input to each command, option, argument, setting and file: one clear line, the documented exit code, and nothing
is changed.

The rows are complete by construction: commands, options and settings are read from the program, and a test fails if one
of them has no row here, or if a row is for something that the program does not have."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from program import SLUICE, commands, sluice

LONG = "x" * 5000
GOOD_RULE = 'alert tcp any any -> any any (msg:"x"; sid:1;)\n'

# What each command needs before an option or behind it to be complete; words of the first test row.
COMPLETE = {
    "run": ["--check"], "sensor": ["--interface", "lo", "--check"], "replay": ["empty.pcap"], "check": ["--no-compile"], "explain": ["1"], "analyse": ["1"],
    "top": ["--batch", "--count", "1"], "alerts": ["--live"], "nft": ["print"], "blocklist": ["list"],
    "dataset": ["list"], "hostbit": ["list", "192.0.2.1"], "memcap": ["list"], "conf": ["get", "queue.length"],
    "import": ["suricata.yaml"], "metrics": ["--once"], "completion": ["bash"], "leave": ["--after"],
    "suricata-compat": ["-T"], "update": ["--dry-run"],
}

NUMBERS = ("x", "-1", "1.5", "0x", "99999999999999999999", "1 ", " 1")


def numbers(low, high, setting=None):
    """Rows of an option with a number: (value, exit code, what the line says)."""
    what = f"needs a number from {low} to {high}, got "
    values = [*NUMBERS, str(high + 1)] + ([str(low - 1)] if low > 0 else [])
    if setting:  # settings may be hexadecimal and have space around them
        values = [value for value in values if value.strip() == value]
    return [(value, 2, what + "'" + re.escape(value) + "'") for value in values]


def words(says, *values):
    return [(value, 2, says) for value in values]


SET = [("x", 2, "NAME=VALUE"), ("=", 2, "NAME=VALUE"), ("nonsense=1", 2, "unknown setting 'nonsense'"),
       ("queue.lenght=1", 2, "did you mean 'queue.length'"), ("queue.length=x", 2, "needs a number from 1 to 1048576"),
       ("queue.length=0", 2, "needs a number from 1 to 1048576")]
MARK = words("needs MARK/MASK", "x", "1/", "/1", "0x1/0xg", "4/3", "4294967296/1")
QUEUES = words("needs queue numbers", "x", "70000", "3-1", "0,0", "-1")
NETWORK = words("needs an address or a network", "x", "10.0.0.0/33", "::/129", "10.0.0.0/")
TIME = words("is not a time from 1s to ", "x", "0s", "1y", "-1s", "99999999999d")
ATTACH = words("needs none, after, before, repeat, chain or route", "x", "aftr", "1")

# (command or None for all, option): rows (value, exit code, what the line says). The file kinds are in FILES.
VALUES = {
    (None, "set"): SET,
    (None, "mark"): MARK,
    (None, "queue"): QUEUES,
    (None, "attach"): ATTACH,
    ("nft", "mode"): ATTACH,
    ("nft", "reject-mark"): MARK,
    ("nft", "family"): words("needs inet, ip, ip6 or bridge", "x", "inet4"),
    ("nft", "hook"): words("needs forward, input or output", "x", "forward,x"),
    ("nft", "priority"): words("needs auto or a number", "x", "1x", "99999999999"),
    (None, "table"): words("needs a name of letters, digits", "a b", "1a", "x" * 40, "a;b"),
    ("run", "verdict"): words("needs accept, repeat or route", "x", "drop"),
    ("run", "route-to"): numbers(0, 65535, "queue.route-to"),
    ("run", "pidfile"): [("/nonexistent/pid", 1, "/nonexistent: No such file.*pid-file"),
                         ("/", 1, "pid file /: .*not a regular file")],
    (None, "log-dir"): [("/dev/null/x", 1, "/dev/null/x.*: Not a directory"),
                        ("good.rules", 1, "good.rules.*: Not a directory")],
    ("replay", "workers"): numbers(1, 64),
    ("replay", "delay"): numbers(0, 86400),
    ("replay", "done-marker"): words("needs the end of a file name", "/", "a/b"),
    ("replay", "costs"): words("--costs needs table or json", "x", "js", "tables"),
    ("sensor", "workers"): numbers(1, 256, "af-packet.workers"),
    ("sensor", "interface"): words("needs names of interfaces such as eth1,eth2", ",", "eth1,", ",eth1", "eth1,,eth2", "a b",
                                   "a/b", 'a"b', "x" * 16),
    ("sensor", "filter"): [(value, 1, "af-packet.bpf-filter .* is wrong: .*pcap-filter")
                           for value in ("nonsense", "port x", "(tcp", "tcp and")],
    ("check", "max-diagnostics"): numbers(0, 100000),
    ("flows", "limit"): numbers(1, 1073741824),
    ("rules", "limit"): numbers(1, 1073741824),
    ("alerts", "limit"): numbers(0, 1000000),
    ("alerts", "severity"): numbers(1, 255),
    ("alerts", "sid"): words("needs a rule number", "x", "1:", ":1", "1:2:3", "-1", "4294967296"),
    ("alerts", "src"): NETWORK, ("alerts", "dst"): NETWORK, ("alerts", "host"): NETWORK,
    ("explain", "vlan"): numbers(1, 4095),
    ("top", "count"): numbers(1, 1000000000),
    ("top", "interval"): numbers(1, 3600),
    (None, "for"): TIME,
    ("update", "timeout"): numbers(1, 86400),
    ("update", "data-dir"): [("/" + LONG, 1, "data-dir has more than 256 characters"),
                             ("good.rules", 1, "cannot write to .*Not a directory")],
    ("blocklist", "timeout"): numbers(1, 31536000, "nft.blocklist.timeout"),
    ("blocklist", "name"): words("cannot be the name of a list", "/", "a/b", "-x", "x" * 60, ".x"),
    ("metrics", "listen"): words("needs an IP address with a port", "x", "127.0.0.1", "127.0.0.1:99999", "[::1",
                                 "host:80"),
}
# Words that make the value of an option reach the code that reads it, in place of COMPLETE.
CONTEXT = {
    ("mode", "for"): ["drop"], ("hostbit", "for"): ["add", "192.0.2.1", "bit"], ("alerts", "file"): [],
    ("blocklist", "timeout"): ["add", "192.0.2.1"], ("blocklist", "name"): ["import", "good.rules"],
    ("metrics", "listen"): [], ("replay", "unix-socket"): [],
}

# Options with a file. Kinds: the input file of fixture() -> exit code and what the line says; None: no error there.
ABSENT, FOLDER = (1, "No such file or directory"), (1, "[Ii]s a directory")
SECRET = (1, "Permission denied")
YAML = {"absent": ABSENT, "folder": FOLDER, "secret": SECRET, "binary": (1, "binary: error: not YAML in UTF-8"),
        "huge": (1, "File too large"), "empty": None}
CAPTURE = {"absent": ABSENT, "secret": SECRET, "binary": (1, "unknown file format"),
           "empty": (1, "truncated dump file")}
RULE_FILES = {"absent": ABSENT, "folder": FOLDER, "secret": SECRET}
RULES = {"absent": ABSENT, "folder": FOLDER, "secret": SECRET, "huge": (1, "File too large")}
FILES = {
    (None, "config"): YAML,
    (None, "rules"): RULE_FILES,
    ("check", "rules"): RULES,
    ("analyse", "rules"): {},  # test_rule_files_of_analyse
    ("leave", "config"): {},  # it queries systemd first
    ("suricata-compat", "only-rules"): RULE_FILES,
    ("alerts", "file"): {"absent": (1, "No such file.*--file"), "folder": (1, "not a regular file"),
                         "secret": (1, "Permission denied")},
    ("update", "program"): {"absent": (1, "No such file.*--program"), "folder": (1, "Is a directory.*--program"),
                            "empty": (1, "Permission denied.*--program")},
    ("import", "output"): {"/dev/null/x": (1, "Not a directory"), "good.rules": (1, "exists"), "folder": (1, "folder")},
    ("replay", "unix-socket"): {"/dev/null/socket": (1, "/dev/null/socket: .*Not a directory"),
                                "good.rules": (1, "good.rules: .*name another path"),
                                "folder": (1, "folder: .*name another path"), LONG: (1, "xxx")},
}
# --socket of all commands: no daemon, or another program.
SOCKETS = {"./absent": (1, "(no daemon listens on|cannot stop the daemon of) ./absent: No such file.*--socket"),
           "./good.rules": (1, "is not a socket; .*--socket|Connection refused .*--socket"),
           "./folder": (1, "is not a socket; .*--socket|Connection refused .*--socket"),
           "./" + LONG: (1, "the path of the control socket has more than 107 characters.*--socket|File name too long"),
           "./garbage.socket": (1, "invalid answer: .*--socket|is no sluice; .*--socket"),
           "./silent.socket": (1, "silent.socket: Connection reset|is no sluice; .*--socket")}

# Contradictory options, by command.
CONTRADICTIONS = {
    "run": [["--console", "--no-console"]],
    "replay": [["--console", "--no-console"], ["--delay", "1", "--done-marker", ".done"], ["--unix-socket", "s", "x.pcap"],
               ["--unix-socket", "s", "--costs", "table"]],
    "sensor": [["--console", "--no-console"]],
    "check": [["--compile", "--no-compile"]],
    "alerts": [["--live", "--file", "good.rules"]],
    "nft": [["print", "--bypass", "--no-bypass"], ["print", "--native", "--xt"], ["print", "--native", "--iptables"],
            ["print", "--mode", "after", "--attach", "before"]],
    "blocklist": [["add", "192.0.2.1", "--permanent", "--timeout", "5"]],
    "settings": [["--json", "--yaml"], ["--json", "--markdown"], ["--markdown", "--yaml"], ["queue", "--yaml"]],
    "metrics": [["--openmetrics"]],
    "mode": [["--for", "1h"]],
    "suricata-compat": [["-V", "-T"], ["--build-info", "--dump-config"]],
    "leave": [[]],
}

# Arguments that are missing, superfluous or wrong, by command; (words, what the line says).
UNEXPECTED = "unexpected argument 'surplus'"
ARGUMENTS = {
    "run": [(["surplus"], UNEXPECTED + "; rules are given by --rules")],
    "sensor": [(["surplus"], UNEXPECTED + "; interfaces are given by --interface")],
    "replay": [([], "no capture file given")],
    "check": [(["surplus"], UNEXPECTED)],
    **{name: [(["surplus"], UNEXPECTED)] for name in (
        "status", "queues", "flows", "top", "alerts", "costs", "rules", "reload", "upgrade", "shutdown", "metrics",
        "lend")},
    "stats": [(["--describe", "nonsense"], "unknown counter 'nonsense'")],
    "explain": [([], "name a rule or a flow"), (["x"], "name a rule or a flow"), (["1:x"], "name a rule or a flow"),
                (["flow", "x"], "name a rule or a flow"), (["192.0.2.1:1", "x"], "name a rule or a flow"),
                (["1", "2", "3", "4"], "name a rule or a flow")],
    "analyse": [([], "needs one rule"), (["x"], "needs one rule"), (["1", "2"], "needs one rule"),
                (["1:2:3"], "needs one rule")],
    "mode": [(["surplus"], "unknown action 'surplus'"), (["drop", "surplus"], UNEXPECTED)],
    "update": [(["surplus"], "unknown argument 'surplus'")],
    "nft": [([], "name an action"), (["surplus"], "unknown action"), (["print", "surplus"], UNEXPECTED),
            (["prnt"], "did you mean 'print'")],
    "blocklist": [([], "name an action"), (["surplus"], "unknown action"), (["list", "surplus"], UNEXPECTED),
                  (["add"], "name the addresses or networks to add"), (["remove"], "name the addresses"),
                  (["add", "x"], "is not an IPv4 or IPv6 address"), (["add", "192.0.2.1/33"], "is not an IPv4"),
                  (["add", "192.0.2.9-192.0.2.1"], "is not an IPv4"), (["import"], "name the file to import"),
                  (["forget"], "name the")],
    "dataset": [([], "name an action"), (["surplus"], "unknown action"), (["list", "surplus"], UNEXPECTED),
                (["add"], "'add' needs more: add NAME VALUE"), (["add", "x"], "'add' needs more"),
                (["remove", "x"], "'remove' needs more"), (["lookup", "x"], "'lookup' needs more"),
                (["clear"], "'clear' needs more"), (["clear", "x", "surplus"], UNEXPECTED),
                (["dump", "surplus"], UNEXPECTED)],
    "hostbit": [([], "name an action"), (["surplus"], "unknown action"), (["list"], "'list' needs more"),
                (["add", "192.0.2.1"], "'add' needs more"), (["remove", "192.0.2.1"], "'remove' needs more"),
                (["add", "192.0.2.1", "bit", "surplus"], UNEXPECTED)],
    "memcap": [([], "name an action"), (["surplus"], "unknown action"), (["list", "surplus"], UNEXPECTED),
               (["set"], "'set' needs more"), (["set", "x"], "'set' needs more"),
               (["set", "x", "1", "surplus"], UNEXPECTED)],
    "conf": [([], "name an action"), (["set"], "did you mean 'get'"), (["get"], "'get' needs more"),
             (["get", "x", "surplus"], UNEXPECTED)],
    "keywords": [(["nonsense"], "unknown keyword 'nonsense'"), (["contnt"], "did you mean 'content'"),
                 (["content", "surplus"], UNEXPECTED)],
    "settings": [(["nonsense"], "unknown setting 'nonsense'"), (["queue.lenght"], "did you mean 'queue.length'"),
                 (["queue", "surplus"], UNEXPECTED)],
    "import": [([], "no file to import"), (["suricata.yaml", "surplus"], UNEXPECTED)],
    "completion": [([], "name an action: bash, zsh or fish"), (["tcsh"], "unknown action 'tcsh'"),
                   (["bash", "surplus"], UNEXPECTED)],
    "leave": [(["--after", "surplus"], UNEXPECTED)],
    "suricata-compat": [([], "one of -V, --build-info, --dump-config and -T is needed"),
                        (["-T", "surplus"], UNEXPECTED)],
}

# Files that are arguments; (command, words before it).
FILE_ARGUMENTS = {
    ("replay", "--no-console"): CAPTURE,
    ("import",): {"absent": ABSENT, "folder": FOLDER, "secret": SECRET, "binary": (1, "not YAML in UTF-8"),
                  "huge": (1, "File too large"), "empty": (1, "this is no suricata.yaml")},
    ("blocklist", "import"): {"absent": ABSENT, "folder": FOLDER, "secret": SECRET, "huge": (1, "File too large"),
                              "empty": (1, "has no address or network; nothing was changed")},
}

# Settings that name files which `sluice check` reads; a file with a mistake, with the place and the message.
LIST = {"absent": ABSENT, "folder": FOLDER, "secret": SECRET, "huge": (1, "File too large"), "empty": None}
DATABASE = {"absent": ABSENT, "folder": (1, "as a country database"), "secret": SECRET,
            "huge": (1, "as a country database"), "empty": (1, "as a country database"),
            "binary": (1, "as a country database")}
SETTING_FILES = {
    "rule-files": (RULES, "# rule\nalert tcp any any -> any any (sid:x;)\n", r":2:35: error: "),
    "classification-file": (LIST, "\nconfig classification: a,b,x\n", r":2:28: error: .*priority"),
    "reference-config-file": (LIST, "\nconfig nonsense: a http://\n", r":2:1: error: a line must begin with"),
    "threshold-file": (LIST, "\n\nsuppress gen_id x, sig_id 1\n", r":3:17: error: "),
    "rule-policy.file": (LIST, "nonsense 1\n", r":1:1: error: a line must begin with"),
    "rule-policy.disable-file": (LIST, "# disable\n1:x\n", r":2:1: error: expected SID"),
    "rule-policy.enable-file": (LIST, "re:(\n", r":1:5: error: "),
    "rule-policy.drop-file": (LIST, "x\n", r":1:1: error: expected SID"),
    "rule-policy.modify-file": (LIST, "1 two\n", r":1:1: error: a modification needs three words"),
    "reputation.categories": (LIST, "1,a,b\n99,a,b\n", r":2:1: error: .*category number"),
    "reputation.files": (LIST, "192.0.2.1,1,300\n", r":1:13: error: "),
    "geoip-database": (DATABASE, None, None),
    "nft.blocklist.files": (LIST, None, None),
    "datasets.*.load": ({**LIST, "huge": (1, "the line is too long")}, "YQ==\n***\n", r":2:1: error: .*Base64"),
    "datasets.*.state": ({"folder": FOLDER, "secret": SECRET, "huge": (1, "the line is too long")}, "*\n",
                         r":1:1: error: .*Base64"),
}
# Settings with a path that is not read by `sluice check`.
OTHER_PATHS = {"default-rule-path", "firewall.rule-path", "firewall-rule-path", "data-dir",
               "detect.sgh-mpm-caching-path", "log-dir", "output.ship-socket",
               "security.landlock.directories.read", "security.landlock.directories.write"}

# Wrong values of settings whose type allows any word; None: any text is allowed, or the value is checked at the start.
TEXTS = {
    "detect.sgh-mpm-caching-max-age": "x", "control.mode": "999", "queue.numbers": "3-1", "queue.mark": "1",
    "queues.*.mark": "1", "nft.table": "a b", "nft.priority": "x", "nft.reject-mark": "1",
    "nft.offload.accept-mark": "1", "nft.offload.drop-mark": "1", "nft.offload.acknowledgment-mark": "1",
    "nft.offload.ports": "70000",
    "eve.rotate-interval": "x", "outputs.*.rotate-interval": "x", "metrics.listen": "x", "metrics.mode": "x",
    "nft.hooks": "x", "action-order": "x", "overload.shed": "x", "file-store.force-hash": "x",
    "eve.types.files.force-hash": "x", "outputs.*.types": "x", "threading.management-cpu-set": "x",
    "threading.worker-cpu-set": "x", "threading.output-cpu-set": "x", "nft.blocklist.countries": "[[DE]]",
    "eve.types.dns.types": "x", "eve.types.dns.formats": "x", "eve.types.doh2.types": "x", "eve.types.doh2.formats": "x",
    "eve.types.http.custom": "x", "eve.types.smb.types": "x",
    "eve.types.smtp.custom": "x", "eve.types.smtp.md5": "x", "eve.types.tls.custom": "x",
    "vars.address-groups.*": "300.1.1.1", "vars.port-groups.*": "70000", "nft.blocklist.never": "x",
    "decoder.teredo.ports": "x", "decoder.vxlan.ports": "x", "decoder.geneve.ports": "x", "decoder.gtp.ports": "x",
}
ANY_TEXT = re.compile(r"""af-packet\.(interfaces|bpf-filter)|datasets\.(save-directory|\*\.(load|state))|unix-command\.filename|(control|metrics)\.group|
    firewall[.-]rule-files|pid-file|run-as\.(user|group)|
    nft\.blocklist\.(folder|classtypes)|nft\.offload\.flowtable|eve\.filename|
    outputs\.\*\.(filename|prefix|(syslog|redis|kafka)\..*)|.*xff\.header|sensor-name|
    (file-store|tls-store)\.(dir|certs-log-dir)|
    pcap-log\.(dir|filename)|.*swf-decompression\.type|.*extract-urls-schemes|app-layer\.protocols\.\*\..*ports\..p""",
                      re.X)


def concrete(name):
    """Returns the name of a setting with a word in place of each wildcard."""
    return name.replace("queues.*", "queues.0").replace("**", "x").replace("*", "x")


def options(command):
    """Returns [(option, whether it takes a value)] of a command, from its help."""
    text = sluice(command, "--help")[1].partition("\nOptions:\n")[2].partition("\nExit codes:\n")[0]
    return [(name, bool(value)) for name, value in
            re.findall(r"^  (?:-\w, |    )--([\w-]+)(?: ([A-Z]\S*))?", text, re.M)]


def exit_codes(command):
    return {int(code) for code in re.findall(r"^  (\d)  ", sluice(command, "--help")[1].partition(
        "\nExit codes:\n")[2], re.M)}


def row(table, command, option):
    return table.get((command, option), table.get((None, option)))


class Servers:
    """Programs that are no daemon: one answers garbage, one closes each connection."""

    def __init__(self, folder):
        self.sockets = []
        for name, answer in (("garbage.socket", b"\0\xff garbage\n"), ("silent.socket", b"")):
            listener = socket.socket(socket.AF_UNIX)
            address = os.path.join(folder, name)
            listener.bind(address)
            os.chmod(address, 0o777)
            listener.listen(64)
            self.sockets.append(listener)
            threading.Thread(target=self.serve, args=(listener, answer), daemon=True).start()

    @staticmethod
    def serve(listener, answer):
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            try:
                with client:
                    client.recv(1 << 16)
                    client.sendall(answer)
            except OSError:
                pass

    def close(self):
        for listener in self.sockets:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        (cls.folder / "folder").mkdir()
        (cls.folder / "folder/file").write_text("x")
        (cls.folder / "good.rules").write_text(GOOD_RULE)
        (cls.folder / "empty").write_text("")
        (cls.folder / "binary").write_bytes(bytes(range(256)) * 16)
        (cls.folder / "secret").write_text("x")
        (cls.folder / "secret").chmod(0)
        (cls.folder / "suricata.yaml").write_text("%YAML 1.1\n---\nvars: {}\n")
        header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
        (cls.folder / "empty.pcap").write_bytes(header)
        (cls.folder / "half.pcap").write_bytes(header + bytes.fromhex("01000000000000004000000040000000") + bytes(10))
        with open(cls.folder / "huge", "wb") as file:
            file.truncate(20 << 30)
        cls.servers = Servers(cls.folder)
        cls.addClassCleanup(cls.servers.close)
        cls.codes = {name: exit_codes(name) for name in commands()}

    def snapshot(self):
        """Names, types, modes, sizes, times and digests of all files of the folder."""
        def describe(path):
            status = path.lstat()
            digest = "" if not path.is_file() or status.st_size > 1 << 20 or path.name == "secret" else (
                hashlib.sha256(path.read_bytes()).hexdigest())
            return status.st_mode, status.st_size, status.st_mtime_ns, digest
        return {str(path): describe(path) for path in sorted(self.folder.rglob("*"))}

    def run_sluice(self, *arguments, secret=False):
        """Runs the command in the folder. A file without permissions is read as another user than root."""
        user = {"user": 65534, "group": 65534, "extra_groups": []} if secret and os.geteuid() == 0 else {}
        run = subprocess.run([SLUICE, *arguments], capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                             cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, **user)
        return run.returncode, run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")

    def fails(self, code, says, command, *arguments, names=None, stdout=False):
        """Runs a command that must fail with one line (and the lines of the position that a message has), which names
        the option or file, and must change nothing."""
        with self.subTest(" ".join([command, *arguments])[:150]):
            before = self.snapshot()
            got, out, err = self.run_sluice(command, *arguments, secret="secret" in arguments)
            self.assertEqual(got, code, err)
            self.assertIn(code, self.codes[command], "the exit code is not documented in the help")
            if not stdout:
                self.assertEqual(out, "")
            lines = err.splitlines()
            messages = [line for line in lines if re.match(r"sluice[ :]|\S+: (error|warning|note):", line)]
            self.assertEqual(len(messages), 1, err)
            self.assertLessEqual(len(lines), 3, err)  # the line of the file and a caret may follow
            self.assertRegex(lines[0], says)
            if names:
                self.assertIn(names, err)
            self.assertEqual(self.snapshot(), before)

    def complete(self, command, option=None):
        return CONTEXT.get((command, option), COMPLETE.get(command, []))

    # --- Options ----------------------------------------------------------------------------------------------------

    def test_each_option_with_a_value_has_a_row(self):
        known, used = set(), set()
        for command in commands():
            for option, has_value in options(command):
                if not has_value:
                    continue
                known.add((command, option))
                for table in (VALUES, FILES):
                    for key in ((command, option), (None, option)):
                        if key in table:
                            used.add(key)
                if option == "socket" or row(VALUES, command, option) or row(FILES, command, option) is not None:
                    continue
                self.fail(f"sluice {command} --{option} has no row")
        self.assertEqual((set(VALUES) | set(FILES)) - used, set(), "rows without an option")
        self.assertEqual(set(CONTEXT) - known, set())

    def test_missing_values(self):
        for command in commands():
            for option, has_value in options(command):
                if has_value:
                    self.fails(2, f"^sluice {command}: option '--{option}' needs a value: ", command, "--" + option)
                    self.fails(2, f"^sluice {command}: option '--{option}' needs a value: ", command, f"--{option}=")
                elif option != "help":
                    self.fails(2, f"^sluice {command}: option '--{option}' takes no value", command, f"--{option}=x")

    def test_unknown_options(self):
        for command in commands():
            self.fails(2, f"^sluice {command}: unknown option '--nonsense'", command, "--nonsense")
            self.fails(2, f"^sluice {command}: unknown option '-%'", command, "-%")
            for option, _ in options(command):
                self.fails(2, f"^sluice {command}: unknown option '--{option}x'", command, f"--{option}x")

    def test_wrong_values(self):
        for command in commands():
            for option, has_value in options(command):
                if not has_value or option == "log-dir" and command in ("suricata-compat", "replay"):
                    continue  # suricata-compat ignores it; test_replay_log_dir
                for value, code, says in row(VALUES, command, option) or []:
                    self.fails(code, says, command, *self.complete(command, option), f"--{option}={value}")

    def test_replay_log_dir(self):
        for value, code, says in VALUES[(None, "log-dir")]:
            self.fails(code, says, "replay", "--no-console", "--log-dir", value, "empty.pcap")

    def test_files_of_options(self):
        for command in commands():
            for option, has_value in options(command):
                for kind, expected in (has_value and row(FILES, command, option) or {}).items():
                    if expected is None or (command, option) == ("run", "config") and kind == "secret":
                        continue
                    code, says = expected
                    self.fails(code, says, command, *self.complete(command, option), "--" + option, kind,
                               stdout=command in ("check", "suricata-compat"), names=kind[:80])

    def test_sockets(self):
        for command in commands():
            if not any(option == "socket" for option, _ in options(command)) or command in ("metrics", "update"):
                continue
            for path, (code, says) in SOCKETS.items():
                arguments = self.complete(command)
                if command == "analyse" and not path.endswith(".socket"):
                    continue  # it reads the rules of the configuration
                self.fails(code, says, command, *arguments, "--socket", path)

    def test_metrics_without_a_daemon_prints_that_it_is_down(self):
        for path, (_, says) in SOCKETS.items():
            code, out, err = self.run_sluice("metrics", "--once", "--socket", path)
            self.assertEqual((code, len(err.splitlines())), (0, 1), err)
            self.assertIn("\nsluice_up 0\n", out)
            self.assertRegex(err, says + ".*printing sluice_up 0")

    def test_contradictions(self):
        for command, rows in CONTRADICTIONS.items():
            for arguments in rows:
                self.fails(2, f"^sluice {command}: ", command, *arguments)

    # --- Arguments --------------------------------------------------------------------------------------------------

    def test_arguments(self):
        self.assertEqual(set(ARGUMENTS), set(commands()))
        for command, rows in ARGUMENTS.items():
            for arguments, says in rows:
                code = 1 if command == "stats" else 2
                self.fails(code, f"^sluice {command}: .*{says}", command, *arguments)

    def test_unknown_commands(self):
        for arguments in (["nonsense"], ["help", "nonsense"], ["--nonsense"], [""], [LONG]):
            code, out, err = self.run_sluice(*arguments)
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), err)
            self.assertRegex(err, "^sluice: unknown command ")

    def test_files_of_arguments(self):
        for (command, *before), kinds in FILE_ARGUMENTS.items():
            for kind, (code, says) in kinds.items():
                self.fails(code, says, command, *before, kind, names=kind)

    def test_truncated_capture(self):
        """The packets before its end are inspected, so that there are events."""
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = self.run_sluice("replay", "--no-console", "--log-dir", folder, "half.pcap")
        self.assertEqual((code, out, len(err.splitlines())), (1, "", 1), err)
        self.assertIn("half.pcap: after packet 0: truncated", err)

    # --- Settings ---------------------------------------------------------------------------------------------------

    def check_all(self, values):
        """Checks a file with one line per setting; returns {line: [message]} of the errors."""
        path = self.folder / "settings.yaml"
        path.write_text("".join(f"{concrete(name)}: {value}\n" for name, value in values))
        code, out, err = self.run_sluice("check", "--no-compile", "--max-diagnostics", "100000", "--config", path.name)
        path.unlink()
        self.assertEqual(code, 1, err)
        errors = {}
        for line, column, message in re.findall(r"^settings\.yaml:(\d+):(\d+): error: (.*)$", err, re.M):
            self.assertGreater(int(column), 0)
            errors.setdefault(int(line), []).append(message)
        return errors

    def rejected(self, values, says):
        """Each value must be an error at its line that contains what says(row) returns."""
        errors = self.check_all([(row["name"], value) for row, value in values])
        self.assertGreater(len(values), 0)
        for number, (row, value) in enumerate(values, 1):
            with self.subTest(row["name"], value=value):
                self.assertEqual(len(errors.get(number, [])), 1, errors.get(number))
                for word in says(row):
                    self.assertIn(word, errors[number][0])

    def settings(self):
        return [row for row in json.loads(sluice("settings", "--json")[1])
                if row["name"] not in ("eve.types.*", "firewall.policies.**")]  # of any type

    def test_wrong_types(self):
        rows = [row for row in self.settings() if row["type"] != "section"]
        name = lambda row: [concrete(row["name"])]
        self.rejected([(row, "{nonsense: value}") for row in rows], lambda row: name(row) + ["got a mapping"])
        rows = [row for row in rows if row["type"] != "rule variable"]
        self.rejected([(row, "[[nonsense]]") for row in rows], lambda row: name(row) + ["got a list"])

    def test_sections(self):
        rows = [row for row in self.settings() if row["type"] == "section"]
        self.rejected([(row, "nonsense") for row in rows],
                      lambda row: [concrete(row["name"]), "needs settings below it"])

    def test_unknown_settings(self):
        rows = [row for row in self.settings() if "*" not in row["name"]]
        errors = self.check_all([(row["name"] + "-nonsense", "1") for row in rows])
        for number, row in enumerate(rows, 1):
            self.assertEqual(len(errors.get(number, [])), 1, row["name"])
            self.assertRegex(errors[number][0], f"unknown setting '{re.escape(row['name'])}-nonsense'|needs settings")

    def test_wrong_words(self):
        rows = self.settings()
        choices = [row for row in rows if row["type"] == "choice"]
        self.rejected([(row, "nonsense") for row in choices],
                      lambda row: [concrete(row["name"]), "got 'nonsense'", *row["choices"]])
        booleans = [row for row in rows if row["type"] == "yes or no"]
        for value in ("nonsense", "2", "''"):
            self.rejected([(row, value) for row in booleans], lambda row: [concrete(row["name"]), "needs yes or no"])

    def test_numbers(self):
        for kind in ("number", "size"):
            rows = [row for row in self.settings() if row["type"] == kind]
            self.rejected([(row, "nonsense") for row in rows], lambda row: [concrete(row["name"]), "got 'nonsense'"])
            ranged = [row for row in rows if "low" in row]
            self.assertGreater(len(ranged), 50)
            limits = lambda row: [concrete(row["name"]), str(row["low"]), str(row["high"])]
            self.rejected([(row, str(row["high"] + 1)) for row in ranged], limits)
            self.rejected([(row, str(row["low"] - 1)) for row in ranged], limits)
            self.rejected([(row, "99999999999999999999999") for row in ranged], limits)

    def test_texts(self):
        rows = [row for row in self.settings() if row["type"] in ("text", "list", "rule variable")]
        left = [row["name"] for row in rows if row["name"] not in TEXTS and not ANY_TEXT.fullmatch(row["name"]) and
                not row["name"].startswith("host-os-policy.")]
        self.assertEqual(left, [], "settings without a row")
        self.assertLessEqual(set(TEXTS), {row["name"] for row in rows}, "rows without a setting")
        wrong = [(row, TEXTS[row["name"]]) for row in rows if row["name"] in TEXTS]
        wrong += [(row, "nonsense") for row in rows if row["name"].startswith("host-os-policy.")]
        self.rejected(wrong, lambda row: [concrete(row["name"])])

    def test_firewall_policies(self):
        for value in ("nonsense", "[[packet.filter]]"):
            self.assertRegex(self.check_all([("firewall.policies", value)])[1][0],
                             "'firewall.policies' needs settings below it")

    def test_ports_of_protocols(self):
        values = [(f"app-layer.protocols.tls.{scope}detection-ports.{side}", "nonsense")
                  for scope in ("tcp.", "udp.") for side in ("dp", "sp")]
        for name, value in values:
            errors = self.check_all([(name, value)])
            self.assertRegex(errors[1][0], f"'{name}': 'nonsense' is not a port")

    def test_each_setting_is_of_a_known_type(self):
        types = {"number", "size", "choice", "yes or no", "section", "text", "list", "rule variable", "path",
                 "list of paths"}
        self.assertEqual({row["type"] for row in self.settings()}, types)

    # --- Files ------------------------------------------------------------------------------------------------------

    def check_file(self, name, value):
        """Writes a configuration with the file, and returns the arguments that check it."""
        row = {row["name"]: row for row in json.loads(sluice("settings", "--json")[1])}[name]
        value = f"[{value}]" if row["type"] == "list of paths" else str(value)
        more = f"{concrete(name).rpartition('.')[0]}.type: string\n" if name.startswith("datasets.") else ""
        (self.folder / "file.yaml").write_text(f"{concrete(name)}: {value}\n{more}")
        (self.folder / "file.yaml").chmod(0o644)
        return ["check", "--quiet", "--config", "file.yaml", "--rules", "good.rules"]

    def test_each_file_setting_has_a_row(self):
        paths = {row["name"] for row in self.settings() if row["type"] in ("path", "list of paths")}
        self.assertEqual(paths - set(SETTING_FILES) - OTHER_PATHS, set(), "settings without a row")
        self.assertEqual(OTHER_PATHS - paths, set())

    def test_files_of_settings(self):
        for name, (kinds, _, _) in SETTING_FILES.items():
            for kind, expected in kinds.items():
                with self.subTest(name, kind=kind):
                    arguments = self.check_file(name, self.folder / kind)
                    code, out, err = self.run_sluice(*arguments, secret=kind == "secret")
                    if expected is None:
                        self.assertEqual((code, out, err), (0, "", ""))
                        continue
                    self.assertEqual((code, out), (expected[0], ""), err)
                    self.assertRegex(err.splitlines()[0], expected[1])
                    self.assertIn(str(self.folder / kind), err)
                    self.assertLessEqual(len(err.splitlines()), 6, err)

    def test_mistakes_in_files_of_settings(self):
        for name, (_, text, place) in SETTING_FILES.items():
            if text is None:
                continue
            with self.subTest(name):
                (self.folder / "mistake").write_text(text)
                code, out, err = self.run_sluice(*self.check_file(name, self.folder / "mistake"))
                self.assertEqual((code, out), (1, ""), err)
                self.assertRegex(err.splitlines()[0], "^" + re.escape(str(self.folder / "mistake")) + place)

    def test_rule_files_of_analyse(self):
        for kind in ("absent", "folder", "secret"):
            code, out, err = self.run_sluice("analyse", "1", "--rules", kind, secret=kind == "secret")
            self.assertEqual((code, out, len(err.splitlines())), (1, "", 1), err)
            self.assertIn(kind, err)


if __name__ == "__main__":
    unittest.main()
