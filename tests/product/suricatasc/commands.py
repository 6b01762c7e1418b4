# SPDX-License-Identifier: GPL-2.0-or-later
"""commands.py ROOT FOLDER ID_SURICATA ID_SLUICE: sends command lines with the real suricatasc to Suricata and to Sluice,
and compares the results and the forms of the messages."""
import json
import subprocess
import sys
import time

ROOT, FOLDER, IDS = sys.argv[1], sys.argv[2], {"suricata": sys.argv[3], "sluice": sys.argv[4]}

# Command lines, and how the answer of Sluice may differ: "text": another text with the same beginning (Suricata's text
# and the cause); "more": further members; "value": another value of the same type; "": nothing.
LINES = [
    ("version", "value"), ("uptime", "value"), ("running-mode", ""), ("capture-mode", "value"),
    ("conf-get flow.memcap", "value"), ("conf-get nosuch", "text"),
    ("ruleset-stats", "value"), ("ruleset-failed-rules", "more"), ("ruleset-reload-time", "value"),
    ("memcap-list", "more"), ("memcap-show flow", ""), ("memcap-show nosuch", "loose"),
    ("memcap-set flow 32mb", "space"), ("memcap-show flow", ""), ("memcap-set flow abc", "text"),
    ("memcap-set flow 0", "text"), ("memcap-set nosuch 1mb", "loose"), ("memcap-set flow 64mb", "space"),
    ("dataset-add hosts string YWJj", ""), ("dataset-add hosts string YWJj", ""), ("dataset-add hosts string %%", "text"),
    ("dataset-add hosts md5 YWJj", "text"), ("dataset-add nosuch string YWJj", "text"),
    ("dataset-add hosts what YWJj", "text"), ("dataset-lookup hosts string YWJj", ""),
    ("dataset-lookup hosts string YWJjZGVm", ""), ("dataset-dump", ""), ("dataset-remove hosts string YWJj", ""),
    ("dataset-remove hosts string YWJj", "text"), ("dataset-clear hosts string", ""),
    ("dataset-clear nosuch string", "text"),
    ("add-hostbit 192.0.2.7 bad 100", ""), ("add-hostbit 192.0.2.7 nosuch 100", "text"),
    ("add-hostbit 192.0.2 bad 100", "text"), ("list-hostbit 192.0.2.7", "value"), ("list-hostbit 192.0.2.8", "text"),
    ("list-hostbit x", "text"), ("remove-hostbit 192.0.2.7 bad", ""), ("remove-hostbit 192.0.2.9 bad", "text"),
    ("get-flow-stats-by-id ID", "value"), ("get-flow-stats-by-id 123", "text"),
    ("iface-list", "value"), ("iface-stat IFACE", "value"), ("iface-stat nosuch", "text"),
    ("iface-bypassed-stat", "text"), ("register-tenant 1 /x", "text"), ("unregister-tenant 1", "text"),
    ("reload-tenant 1", "text"), ("reload-tenants", "text"), ("register-tenant-handler 1 vlan 3", "text"),
    ("unregister-tenant-handler 1 vlan 3", "text"),
    ("reopen-log-files", ""), ("reload-rules", ""), ("ruleset-reload-rules", ""), ("ruleset-reload-nonblocking", ""),
]
IFACES = {"suricata": "g1", "sluice": "nfq0"}


def send(name, line):
    line = line.replace("ID", IDS[name]).replace("IFACE", IFACES[name]) if "IFACE" not in line else \
        line.replace("IFACE", IFACES[name])
    done = subprocess.run(["chroot", ROOT, "/usr/bin/suricatasc", "-c", line, f"{FOLDER}/{name}.socket"],
                          capture_output=True, text=True, timeout=60)
    output = done.stdout.strip().splitlines()
    try:
        answer = json.loads(output[-1])
        return answer["return"], answer["message"], done.returncode
    except (ValueError, IndexError, KeyError, TypeError):
        return "?", done.stdout + done.stderr, done.returncode


def form(value):
    """The form of a message: names of members, types, and the form of the first item of a list."""
    if isinstance(value, dict):
        return {key: form(member) for key, member in value.items()}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return type(value).__name__


def has_form(value, wanted):
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(key in value and has_form(value[key], member)
                                               for key, member in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and (not wanted or bool(value) and has_form(value[0], wanted[0]))
    return form(value) == form(wanted)


def agrees(ours, theirs, way):
    if ours[0] == theirs[0] == "?" and ours[2] == theirs[2]:
        return True  # the client itself fails: that of 8.0 panics at register-tenant-handler
    if ours[0] != theirs[0] or ours[2] != theirs[2]:
        return False
    if way == "text":
        return ours[1].startswith(theirs[1])
    if way == "loose":  # the name is inside of Suricata's text
        return ours[1][:20] == theirs[1][:20]
    if way == "space":  # Suricata's text ends with a space
        return ours[1] == theirs[1].strip()
    if way in ("value", "more"):
        return has_form(ours[1], theirs[1])
    return ours[1] == theirs[1]


def message_of(name, command):
    """The message of a command that succeeds as soon as the workers have CPU time."""
    end = time.monotonic() + 60
    while (answer := send(name, command))[0] != "OK":
        if time.monotonic() > end:
            sys.exit(f"{command}: {name} answers {answer}")
        time.sleep(0.5)
    return answer[1]


failed = 0
for line, way in LINES:
    theirs, ours = send("suricata", line), send("sluice", line)
    if not agrees(ours, theirs, way):
        failed += 1
        print(f"{line}: Sluice {ours}, Suricata {theirs} ({way or 'equal'})")

# Every command of Suricata is known, and the counters have Suricata's groups.
theirs, ours = (set(message_of(name, "command-list")["commands"]) for name in ("suricata", "sluice"))
if theirs - ours:
    failed += 1
    print(f"command-list lacks {sorted(theirs - ours)}")
theirs, ours = (message_of(name, "dump-counters") for name in ("suricata", "sluice"))
lacking = {"uptime", "capture", "decoder", "tcp", "flow", "defrag", "flow_bypassed", "detect", "app_layer", "threads",
           "file_store"} & set(theirs) - set(ours)
if lacking:
    failed += 1
    print(f"dump-counters lacks {sorted(lacking)}")
workers = [{key: value for key, value in message["threads"].items() if key.startswith("W#")}
           for message in (theirs, ours)]
groups = [set(next(iter(threads.values()))) for threads in workers]
if not workers[1] or groups[0] - groups[1]:
    failed += 1
    print(f"the threads of dump-counters lack {sorted(groups[0] - groups[1])}")
print(f"{len(LINES) + 2} commands, {failed} differ")
sys.exit(1 if failed else 0)
