# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends the commands of Suricata's command socket: control_commands.py SOCKET FLOW_ID FILE_OF_DATASET"""
import base64
import json
import re
import socket
import sys

PATH, FLOW_ID, DATASET_FILE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
failures = []


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(PATH)
        self.socket.sendall(json.dumps({"version": "0.2"}).encode())  # without a newline, as suricatasc 7 does
        assert self.line()["return"] == "OK"

    def line(self):
        data = b""
        while not data.endswith(b"\n"):
            piece = self.socket.recv(1 << 16)
            assert piece, "the daemon closed the connection"
            data += piece
        return json.loads(data)

    def send(self, command, arguments=None):
        message = {"command": command}
        if arguments is not None:
            message["arguments"] = arguments
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return self.line()


client = Client()


def check(command, arguments, word, wanted):
    """`wanted`: a text or a regular expression of the message if it is a string, otherwise the message or a test."""
    answer = client.send(command, arguments)
    message = answer["message"]
    if callable(wanted):
        good = wanted(message)
    elif isinstance(wanted, re.Pattern):
        good = isinstance(message, str) and wanted.search(message)
    else:
        good = message == wanted
    if answer["return"] != word or not good:
        failures.append(f"{command} {arguments}: {answer}, expected {word} {wanted}")
    return message


def good(command, wanted, **arguments):
    return check(command, arguments or None, "OK", wanted)


def bad(command, wanted, **arguments):
    return check(command, arguments or None, "NOK", re.compile(wanted))


ABC = base64.b64encode(b"abc").decode()
hosts = {"setname": "hosts", "settype": "string"}

names = good("command-list", lambda m: m["count"] == len(m["commands"]))["commands"]
for name in ("shutdown help version uptime running-mode capture-mode conf-get dump-counters reload-rules "
             "ruleset-reload-rules ruleset-reload-nonblocking ruleset-reload-time ruleset-stats ruleset-failed-rules "
             "register-tenant-handler unregister-tenant-handler register-tenant reload-tenant reload-tenants "
             "unregister-tenant add-hostbit remove-hostbit list-hostbit reopen-log-files memcap-set memcap-show "
             "memcap-list dataset-add dataset-remove get-flow-stats-by-id dataset-dump dataset-clear dataset-lookup "
             "iface-stat iface-list iface-bypassed-stat ebpf-bypassed-stat dataset-add-json pcap-file").split():
    if name not in names:
        failures.append(f"command-list lacks {name}")
good("help", lambda m: set(m["descriptions"]) <= set(names))
good("version", lambda m: isinstance(m, str))
good("uptime", lambda m: isinstance(m, int))
good("running-mode", "workers")
good("capture-mode", "NFQ")

# settings
good("conf-get", str(64 << 20), variable="flow.memcap")
good("conf-get", "yes", variable="datasets.rules.allow-write")
good("conf-get", "accept", variable="queue.verdict")
bad("conf-get", "'flow' is a section", variable="flow")
bad("conf-get", "no setting is named 'flow.memcab'", variable="flow.memcab")
bad("conf-get", "variable is not a string", variable=7)
bad("conf-get", "variable is not a string")

# rules
good("ruleset-stats", lambda m: m == [{"id": 0, "rules_loaded": 4, "rules_failed": 1, "rules_skipped": 0}])
good("ruleset-failed-rules", lambda m: [(r["tenant_id"], r["line"], "itype:8 sid:4" in r["rule"]) for r in m] ==
     [(0, 4, True)])
first = good("ruleset-reload-time", lambda m: re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d{4}$",
                                                       m[0]["last_reload"]))
good("reload-rules", "done")
good("ruleset-reload-rules", "done")
good("ruleset-reload-time", lambda m: m[0]["last_reload"] > first[0]["last_reload"])
good("reopen-log-files", "done")

# queues
good("iface-list", {"count": 2, "ifaces": ["nfq0", "nfq1"]})
packets = [good("iface-stat", lambda m: set(m) == {"pkts", "invalid-checksums", "drop", "bypassed"}, iface=f"nfq{i}")
           for i in range(2)]
if sum(m["pkts"] for m in packets) == 0:
    failures.append("iface-stat counts no packets")
bad("iface-stat", "Iface does not exist: 'eth9'", iface="eth9")
bad("iface-stat", "Iface does not exist: 'nfq7'", iface="nfq7")
bad("iface-stat", "iface is not a string")
bad("iface-bypassed-stat", "No interface using bypass")

# flows
good("get-flow-stats-by-id", lambda m: m["pkts_toserver"] >= 3 and m["pkts_toclient"] >= 2 and
     m["bytes_toserver"] > 100 and m["age"] >= 0, flow_id=FLOW_ID)
bad("get-flow-stats-by-id", "Not found: flow 123", flow_id=123)
bad("get-flow-stats-by-id", "flow_id is not an integer", flow_id="x")

# datasets
good("dataset-add", "data added", datavalue=ABC, **hosts)
good("dataset-add", "data already in set", datavalue=ABC, **hosts)
good("dataset-lookup", "item found in set", datavalue=ABC, **hosts)
bad("dataset-lookup", "item not found in set", datavalue="YWJjZGVm", **hosts)
bad("dataset-add", "failed to add data: .*Base64", datavalue="%%%%", **hosts)
bad("dataset-add", "datavalue is not string", **hosts)
bad("dataset-add", "unknown settype 'what'", setname="hosts", settype="what", datavalue=ABC)
bad("dataset-add", "wrong type: dataset 'hosts' has type string", setname="hosts", settype="md5", datavalue=ABC)
bad("dataset-add", "no loaded rule or setting defines a dataset 'nosuch'", setname="nosuch", settype="string",
    datavalue=ABC)
bad("dataset-add", "failed to add data: .*IPv4", setname="fours", settype="ipv4", datavalue="1.2.3.999")
good("dataset-add", "data added", setname="fours", settype="ipv4", datavalue="192.0.2.1")
good("datasets", lambda m: m == [{"name": "hosts", "type": "string", "values": 1},
                                 {"name": "fours", "type": "ipv4", "values": 1}])
good("dataset-dump", "datasets dump done")
if open(DATASET_FILE).read() != ABC + "\n":
    failures.append(f"the file of the dataset: {open(DATASET_FILE).read()}")
good("dataset-remove", "data removed", datavalue=ABC, **hosts)
bad("dataset-remove", "failed to remove data", datavalue=ABC, **hosts)
good("dataset-add", "data added", datavalue=ABC, **hosts)
good("dataset-clear", "dataset cleared", **hosts)
bad("dataset-lookup", "item not found in set", datavalue=ABC, **hosts)
bad("dataset-clear", "no loaded rule", setname="nosuch", settype="string")
bad("dataset-add-json", "dataset-add", datavalue=ABC, datajson="{}", **hosts)

# memcaps
def memcaps():
    return {row["name"]: row["value"] for row in client.send("memcap-list")["message"]}


before = memcaps()
if before != {"stream": "64mb", "stream-reassembly": "256mb", "flow": "64mb", "applayer-proto-http": "256mb",
              "applayer-proto-http-byterange": "256mb", "defrag": "32mb", "ippair": "16mb", "host": "16mb",
              "ftp": "256mb"}:
    failures.append(f"memcap-list: {before}")
good("memcap-show", {"value": "64mb"}, config="stream")
bad("memcap-show", "Memcap value not found: 'nosuch'", config="nosuch")
for name, value, cause in (("flow", "abc", "error parsing memcap specified, value not changed: 'abc'"),
                           ("flow", "0", "Unlimited value is not allowed for 'flow'"),
                           ("flow", "65536", "less than the memory in use: "),
                           ("flow", "1kb", "must be from 64kb to 1024gb"),
                           ("stream", "512gb", "more than 4 times that of the configuration"),
                           ("nosuch", "1mb", "Memcap value not found: 'nosuch'")):
    bad("memcap-set", cause, config=name, memcap=value)
bad("memcap-set", "memcap value is not a string", config="flow")
if memcaps() != before:
    failures.append(f"a refused memcap-set has changed {memcaps()}")
for name, low, high in (("flow", "32mb", "256mb"), ("stream", "8mb", "250mb"), ("stream-reassembly", "64mb", "1gb"),
                        ("applayer-proto-http", "8mb", "1gb"), ("defrag", "8mb", "120mb"), ("host", "1mb", "100mb")):
    for value in (low, high):
        good("memcap-set", lambda m: re.match(f"memcap value for '{name}' updated: [0-9]+$", m), config=name,
             memcap=value)
        good("memcap-show", {"value": value}, config=name)

# bits of hosts
host = {"ipaddress": "192.0.2.7"}
good("add-hostbit", "hostbit added", hostbit="bad", expire=100, **host)
good("list-hostbit", lambda m: m["count"] == 1 and m["hostbits"][0]["name"] == "bad" and
     95 <= m["hostbits"][0]["expire"] <= 100, **host)
good("add-hostbit", "hostbit added", ipaddress="2001:db8::1", hostbit="bad", expire=5)
bad("add-hostbit", "hostbit not found: .*'nosuch'", hostbit="nosuch", expire=100, **host)
bad("add-hostbit", "invalid address string: '192.0.2'", ipaddress="192.0.2", hostbit="bad", expire=100)
bad("add-hostbit", "expire is not an integer", hostbit="bad", expire="x", **host)
bad("add-hostbit", "expire is not an integer", hostbit="bad", expire=0, **host)
bad("list-hostbit", "host not found: .*192.0.2.8", ipaddress="192.0.2.8")
bad("list-hostbit", "invalid address string", ipaddress="x")
good("remove-hostbit", "hostbit removed", hostbit="bad", **host)
bad("remove-hostbit", "host not found: .*'bad' is not set on 192.0.2.7", hostbit="bad", **host)
bad("list-hostbit", "host not found", **host)
# a bit that the client sets is the one that rules test: the packets of this host are dropped
good("add-hostbit", "hostbit added", ipaddress="10.66.1.2", hostbit="bad", expire=100)

# commands that Sluice does not have
for name, arguments in (("register-tenant", {"id": 1, "filename": "/x"}), ("unregister-tenant", {"id": 1}),
                        ("reload-tenant", {"id": 1}), ("reload-tenants", {}),
                        ("register-tenant-handler", {"id": 1, "htype": "vlan", "hargs": 3}),
                        ("unregister-tenant-handler", {"id": 1, "htype": "vlan", "hargs": 3})):
    bad(name, "^multi-tenant support not enabled", **arguments)
bad("pcap-file", "sluice replay", **{"filename": "/x", "output-dir": "/tmp"})
bad("dataset-ad", "did you mean 'dataset-add'")

# counters of each worker
message = good("dump-counters", lambda m: sorted(t for t in m["threads"]) == ["W#01-nfq0", "W#02-nfq1"])
for name, thread in message["threads"].items():
    for key in ("capture.kernel_packets", "decoder.pkts", "tcp.sessions", "flow.tcp", "flow.wrk.spare_sync",
                "defrag.ipv4.fragments", "defrag.ipv6.fragments", "detect.alert", "flow_bypassed.local_pkts",
                "app_layer.flow.http"):
        value = thread
        for part in key.split("."):
            value = value.get(part, {})
        if not isinstance(value, int):
            failures.append(f"{name} lacks {key}")
for key in ("pkts", "tcp"):
    if sum(t["decoder"][key] for t in message["threads"].values()) != message["decoder"][key]:
        failures.append(f"decoder.{key} is not the sum of the threads")
if not isinstance(message["detect"]["engines"][0]["last_reload"], str):
    failures.append("detect.engines has no last_reload")
if "threads" in client.send("stats")["message"]:
    failures.append("stats has the threads")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
