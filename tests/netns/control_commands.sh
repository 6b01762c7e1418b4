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

# The subcommands: tables, JSON, and exit codes with a line that names the object.
equal "a table of memcaps" "$(ask memcap list | awk 'NR == 1 || $1 == "defrag"' | tr -s ' ' | sed 's/ $//')" \
	"$(printf 'name value setting\ndefrag 120mb defrag.memcap')"
equal "memcap set" "$(ask memcap set defrag 32mb)" "memcap value for 'defrag' updated: 33554432"
equal "memcap set" "$(ask memcap set host 24mb)" "memcap value for 'host' updated: 25165824"
ask upgrade >/dev/null || fail "upgrade"
equal "memcaps after an upgrade" "$(ask memcap list | awk '$1 == "defrag" || $1 == "host" { print $1, $2 }' | tr '\n' ' ')" \
	"defrag 32mb host 24mb "
equal "the limit in the statistics" "$(ask stats ips.memcap.defrag | awk '{ print $NF }')" 33554432
equal "dataset add" "$(ask dataset add --text hosts evil.example bad.example | sort -u)" "data added"
equal "dataset lookup" "$(ask dataset lookup hosts ZXZpbC5leGFtcGxl)" "item found in set"
equal "dataset list" "$(ask dataset list | awk '$1 == "hosts" { print $2, $3 }')" "string 2"
equal "dataset list as JSON" "$(ask dataset list --json)" \
	'[{"name":"hosts","type":"string","values":2},{"name":"fours","type":"ipv4","values":1}]'
equal "dataset clear" "$(ask dataset clear hosts --json)" '"dataset cleared"'
equal "conf get" "$(ask conf get rule-files.0 --config /dev/null 2>&1 || true)" \
	"sluice conf: Unable to get value: no setting is named 'rule-files.0' (\`sluice settings\` lists all)"
equal "conf get" "$(ask conf get unix-command.filename)" "$WORK/ips.control"
equal "hostbit add" "$(ask hostbit add 192.0.2.9 bad --for 2m)" "hostbit added"
equal "hostbit list" "$(ask hostbit list 192.0.2.9 | awk 'NR == 2 { print $1, ($2 > 100) }')" "bad 1"
refused() { # refused CODE MESSAGE ARGS...
	local code=0
	ask "${@:3}" >"$WORK/said" 2>&1 || code=$?
	equal "exit code of ${*:3}" "$code" "$1"
	grep -q "$2" "$WORK/said" || fail "${*:3}: $(cat "$WORK/said")"
	equal "lines of ${*:3}" "$(wc -l <"$WORK/said")" 1
}
refused 1 "Memcap value not found: 'nosuch'" memcap set nosuch 1mb
refused 1 "must be from 64kb" memcap set flow 1kb
refused 1 "unknown dataset 'nosuch'" dataset add nosuch YWJj
refused 1 "item not found in set" dataset lookup hosts YWJj
refused 1 "failed to add data: .*Base64" dataset add hosts abc
refused 1 "host not found" hostbit list 192.0.2.77
refused 1 "invalid address string: 'x'" hostbit remove x bad
refused 1 "'flow' is a section" conf get flow
refused 2 "'add' needs more: add NAME VALUE" dataset add hosts
refused 2 "unexpected argument 'x': list" memcap list x
refused 2 "unknown action 'ad': list, add or remove" hostbit ad
refused 2 "name an action: get" conf
refused 2 "'5x' is not a time" hostbit add 192.0.2.9 bad --for 5x
refused 2 "unexpected argument 'now'" shutdown now

# A hostbit that a client sets has the effect of one that a rule sets.
client ping -c 1 -W 1 -q 10.66.2.2 >/dev/null && fail "packets of a host with the bit are not dropped"

# A client of the socket cannot stop the daemon. `sluice shutdown` stops it like a signal: exit code 0, socket removed.
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(b"{\"command\":\"shutdown\"}\n")
answer = s.recv(1000)
assert b"NOK" in answer and b"sluice shutdown" in answer' "$WORK/ips.control" || fail "shutdown over the socket"
equal "the process that is stopped" "$("$SLUICE" shutdown --socket "$WORK/ips.control" --json)" "{\"pid\":$SLUICE_PID}"
wait "$SLUICE_PID" || fail "exit code $? after shutdown"
[ ! -e "$WORK/ips.control" ] || fail "the socket is left"
