#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of Suricata's command socket, as its client sends them, and the subcommands that send the same. Each bad
# request gets an answer that names the object, and changes nothing.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-balance 0:1
mkdir "$WORK/data"
cat >"$WORK/t.rules" <<RULES
alert tcp any any -> any 7001 (msg:"hello"; content:"hello"; sid:1;)
alert http any any -> any any (msg:"host"; http.host; dataset:isset,hosts,type string,save hosts.lst; sid:2;)
drop ip any any -> any any (msg:"bad"; hostbits:isset,bad,src; sid:3;)
alert ip any any -> any any (msg:"broken"; itype:8 sid:4;)
alert ip any any -> any any (msg:"four"; ip.src; dataset:isset,fours,type ipv4; sid:5;)
RULES
background srv python3 "$HERE/traffic.py" tcp-echo 7001
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console --set "data-dir=$WORK/data" \
	--set "datasets.rules.allow-write=yes" --set flow.memcap=64MiB
SLUICE_PID=$LAST_PID
ask() { "$SLUICE" "$@" --socket "$WORK/ips.control"; }

mkfifo "$WORK/steps"
client python3 "$HERE/traffic.py" tcp-steps 10.66.2.2 7001 <"$WORK/steps" >"$WORK/answers" 2>&1 &
exec 3>"$WORK/steps"
echo hello >&3
wait_text "$WORK/answers" hello
wait_events ips 1 alert.signature_id=1
id=$(sed -n '/"signature_id":1,/s/.*"flow_id":\([0-9]*\).*/\1/p' "$WORK/ips/eve.json" | head -n 1)

python3 "$HERE/control_commands.py" "$WORK/ips.control" "$id" "$WORK/data/hosts.lst" || fail "commands"

# A hostbit that a client sets has the effect of one that a rule sets.
client ping -c 1 -W 1 -q 10.66.2.2 >/dev/null && fail "packets of a host with the bit are not dropped"

# shutdown stops the daemon like a signal: exit code 0, socket removed.
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(b"{\"command\":\"shutdown\"}\n")
assert b"Closing Sluice" in s.recv(1000)' "$WORK/ips.control" || fail "shutdown"
wait "$SLUICE_PID" || fail "exit code $? after shutdown"
[ ! -e "$WORK/ips.control" ] || fail "the socket is left"
