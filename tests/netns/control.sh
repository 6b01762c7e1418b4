#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The control socket: what the daemon says of itself, of flows and of rules, who may ask, and that clients cost no
# packet.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-balance 0:1
cat >"$WORK/t.rules" <<'RULES'
alert tcp any any -> any 7001 (msg:"hello"; content:"hello"; sid:1; rev:3;)
drop tcp any any -> any 7001 (msg:"evil"; content:"evil"; sid:2;)
alert icmp any any -> any any (msg:"ping"; itype:8; sid:3;)
RULES
background srv python3 "$HERE/traffic.py" tcp-echo 7001
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console --set "unix-command.filename=$WORK/socket" \
	--set unix-command.enabled=yes --set control.clients=3 --set flow.timeouts.icmp.new=2 \
	--set flow.timeouts.icmp.established=2
SLUICE_PID=$LAST_PID
ask() { "$SLUICE" "$@" --socket "$WORK/socket"; }
json() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for part in sys.argv[1].split("."):
    value = value[int(part)] if isinstance(value, list) else value[part]
print(str(value).lower() if isinstance(value, bool) else value)' "$1"; }

equal "mode" "$(stat -c %a "$WORK/socket")" 660
equal "generation" "$(ask status --json | json rules.generation)" 1
equal "rules" "$(ask status | sed -n 2p)" "3 rules, 0 failed, 0 skipped, generation 1"

mkfifo "$WORK/steps"
client python3 "$HERE/traffic.py" tcp-steps 10.66.2.2 7001 <"$WORK/steps" >"$WORK/answers" 2>&1 &
exec 3>"$WORK/steps"
echo hello >&3
wait_text "$WORK/answers" hello

# A flow by its ends, in either order.
ask flows >"$WORK/flows"
port=$(sed -n 's/^TCP .*10.66.1.2:\([0-9]*\) -> 10.66.2.2:7001 .*/\1/p' "$WORK/flows")
[ -n "$port" ] || fail "the flow is not listed: $(cat "$WORK/flows")"
equal "header of the flows" "$(head -n 1 "$WORK/flows" | awk '{ print $1, $2, $3 }')" "PROTO CLIENT SERVER"
equal "flows as JSON" "$(ask flows --json | grep -c '"proto":"TCP"')" 1
ask explain "10.66.1.2:$port" 10.66.2.2:7001 --json >"$WORK/flow"
equal "verdict" "$(json verdict <"$WORK/flow")" inspected
equal "rule of the flow" "$(json rules.0.signature_id <"$WORK/flow")" 1
equal "reported" "$(json rules.0.reported <"$WORK/flow")" true
echo evil >&3
wait_text "$WORK/answers" TIMEOUT
ask explain tcp 10.66.2.2:7001 "10.66.1.2:$port" --json >"$WORK/flow"
equal "verdict" "$(json verdict <"$WORK/flow")" dropped
equal "reason" "$(json drop.reason <"$WORK/flow")" rules
equal "rule that dropped" "$(json drop.signature_id <"$WORK/flow")" 2
grep -q "verdict: dropped, reason rules, rule 1:2 evil" <<<"$(ask explain "10.66.1.2:$port" 10.66.2.2:7001)" ||
	fail "explain in words"
ask explain 10.66.1.2:1 10.66.2.2:1 2>"$WORK/none" && fail "a flow that is not there is explained"
grep -q "flow not found" "$WORK/none" || fail "$(cat "$WORK/none")"

# The same by the number that events have; and when it is over.
id=$(json flow_id <"$WORK/flow")
equal "by its id" "$(ask explain "$id" --json | json drop.signature_id)" 2
equal "by its id" "$(ask explain flow "$id" --json | json src_port)" "$port"
ask explain flow 12345 2>"$WORK/none" && fail "a flow that is not there is explained"
grep -q "flow not found" "$WORK/none" || fail "$(cat "$WORK/none")"

# A rule, also when it has gone.
rule() { ask explain "$1" --json | json "$2"; } # rule SID FIELD: workers publish their counts now and then
wait_equal "matches" 1 rule 1 matches
equal "its text" "$(ask explain 1:1 --json | json rev)" 3
ask explain 99 2>/dev/null && fail "a rule that is not there is explained"
client ping -c 3 -i 0.1 -q 10.66.2.2 >/dev/null
wait_equal "alerts of ping" 3 rule 3 alerts
ping_flow() { ask flows --json | python3 -c 'import json, sys
print(*(f["flow_id"] for f in map(json.loads, sys.stdin) if f["proto"] == "ICMP"))'; }
id=$(ping_flow)
wait_equal "flows of ping" "" ping_flow
equal "the flow is over" "$(ask explain flow "$id" --json | json over)" true
equal "rule of a flow that is over" "$(ask explain "$id" --json | json rules.0.signature_id)" 3
grep -q "ended; .*since" <<<"$(ask explain "$id")" || fail "over, in words"
sed -i /sid:3/d "$WORK/t.rules"
ask reload >"$WORK/said" || fail "reload failed"
grep -q "reloaded: generation 2, 2 rules, 0 failed, 0 skipped" "$WORK/said" || fail "reload: $(cat "$WORK/said")"
equal "loaded" "$(ask explain 3 --json | json loaded)" false
equal "alerts are kept" "$(ask explain 3 --json | json alerts)" 3
echo 'alert tcp any any -> any any (msg:"ping"; sid:3; rev:4;)' >>"$WORK/t.rules"
ask reload >/dev/null
equal "alerts are kept when it comes back" "$(ask explain 3 --json | json alerts)" 3

# The answer to a reload has the mistakes; a reload that would leave no rule is refused.
echo 'alert tcp any any -> any any (msg:"broken"; sid:abc;)' >>"$WORK/t.rules"
ask reload >"$WORK/said" 2>&1 || fail "the reload is refused: $(cat "$WORK/said")"
grep -q "generation 4, 3 rules, 1 failed, 0 skipped" "$WORK/said" || fail "$(cat "$WORK/said")"
grep -q "t.rules:4:.*'sid' needs" "$WORK/said" || fail "the answer does not have the mistake: $(cat "$WORK/said")"
mv "$WORK/t.rules" "$WORK/gone"
ask reload >"$WORK/said" 2>&1 && fail "a reload has taken away all rules"
grep -q "settings unchanged (generation 4): the rules could not be loaded: all of them are left out" "$WORK/said" ||
	fail "$(cat "$WORK/said")"
mv "$WORK/gone" "$WORK/t.rules"
equal "generation" "$(ask status --json | json rules.generation)" 4
equal "last reload" "$(ask status --json | json reload.ok)" false

equal "dropped" "$(ask stats --json | json ips.drop_reason.rules)" \
	"$(ask stats ips.drop_reason.rules | awk '{print $2}')"
equal "queues" "$(ask queues --json | json 1.queue)" 1

# Names of counters: of a group, with --json as well; of a counter that is 0; of none.
equal "a group" "$(ask stats ips.drop_reason detect | awk '{ print $1 }' | cut -d. -f1 | sort -u | tr '\n' ' ')" \
	"detect ips "
equal "a group as JSON" "$(ask stats ips.drop_reason.rules detect --json | python3 -c 'import json, sys
value = json.load(sys.stdin)
print(sorted(value), list(value["ips"]), list(value["ips"]["drop_reason"]), "scans" in value["detect"])')" \
	"['detect', 'ips'] ['drop_reason'] ['rules'] True"
equal "a counter that is 0" "$(ask stats ips.drop_reason.flow_memcap | awk '{ print $2 }')" 0
for options in "" --json --all; do
	# shellcheck disable=SC2086
	ask stats nosuch $options >"$WORK/none" 2>&1 && fail "a counter that is not there is no failure: $options"
	grep -q "unknown counter 'nosuch'" "$WORK/none" || fail "$(cat "$WORK/none")"
done
equal "no events lost" "$(ask status | grep -c "events lost")" 0

# Clients that say nonsense, nothing, or too much; one too many.
python3 - "$WORK/socket" <<'PYTHON' || fail "clients"
import json, socket, sys, time

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect(sys.argv[1])
    return s

readers = {}

def line(s):
    text = readers.setdefault(s, s.makefile('rb')).readline()
    return json.loads(text) if text else None

s = connect()
for question in (b'nonsense', b'[]', b'{}', b'{"command":1}', b'{"command":"statsu"}',
                 b'{"command":"stats","arguments":[]}', b'{"command":"flows","arguments":{"limit":0}}', b'[' * 1000):
    s.sendall(question + b'\n')
    answer = line(s)
    assert answer['return'] == 'NOK', (question, answer)
assert 'stats' in (s.sendall(b'{"command":"statsu"}\n'), line(s))[1]['message']
s.sendall(b'{"version":"0.2"}\n{"command":"uptime"}\n')          # as the field's client begins
assert line(s)['return'] == 'OK'
assert isinstance(line(s)['message'], int)
silent, slow = connect(), connect()
for _ in range(200):                                              # answers that nobody reads
    try:
        slow.setblocking(False)
        slow.send(b'{"command":"dump-counters"}\n' * 100)
    except BlockingIOError:
        break
s.sendall(b'{"command":"uptime"}\n')
assert line(s)['return'] == 'OK'
silent.sendall(b'x' * 20000)
answer = line(silent)
assert answer is None or 'too long' in answer['message'], answer
PYTHON

# 150 clients with half a request, and slow readers: they stay connected and retry, and the daemon answers others all
# the same.
python3 - "$WORK/socket" >"$WORK/held" <<'PYTHON' &
import select, socket, sys

def connect(request):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.setblocking(False)
    try:
        while request:
            request = request[s.send(request):]
    except BlockingIOError:
        pass
    return s

half, slow = b'{"command":"upt', b'{"command":"uptime"}\n' * 1000
clients = {}
for i in range(150 + 20):
    clients[connect(half if i < 150 else slow)] = half if i < 150 else slow
print("connected", flush=True)
while True:
    for s in select.select(list(clients), [], [], 0.02)[0]:
        if clients[s] == half:                                    # the daemon has closed it: again
            del clients[s]
            clients[connect(half)] = half
PYTHON
HOLDER=$!
wait_for test -s "$WORK/held" || fail "held is empty"
for command in "status" "stats uptime" "queues" "flows" "status"; do
	# shellcheck disable=SC2086
	ask $command >"$WORK/said" 2>&1 || fail "'$command' beside half-open clients: $(cat "$WORK/said")"
done
kill "$HOLDER" || fail "the half-open clients have gone"
wait "$HOLDER" || true

# A second daemon refuses to start on the socket of a running one, whatever unix-command.enabled is; the socket of a
# daemon that died is replaced.
mkdir -p "$WORK/other"
for enabled in yes auto; do
	ip netns exec "$P-gw" timeout 20 "$SLUICE" run --set run-as.user=root --log-dir "$WORK/other" --queue 9 \
		--rules "$WORK/t.rules" --no-console \
		--set "unix-command.filename=$WORK/socket" --set "unix-command.enabled=$enabled" >"$WORK/other.log" 2>&1 &&
		fail "two daemons share a socket (unix-command.enabled: $enabled)"
	grep -q "control socket $WORK/socket: process $SLUICE_PID listens on it.*unix-command.filename" "$WORK/other.log" ||
		fail "$(cat "$WORK/other.log")"
done
exec 3>&-
kill_process "$SLUICE_PID"
sed -i '$d' "$WORK/t.rules"
echo 'flow: { memcap: 64 MiB }' >"$WORK/settings.yaml"
start_sluice again --config "$WORK/settings.yaml" --queue 0-1 --rules "$WORK/t.rules" --no-console \
	--set "unix-command.filename=$WORK/socket" \
	--set unix-command.enabled=yes
equal "generation" "$(ask status --json | json rules.generation)" 1

# A setting that a reload does not take is named, with what takes it; one that it takes is not.
ask reload >"$WORK/said" 2>&1 || fail "reload failed"
grep -q "has changed" "$WORK/said" && fail "nothing has changed: $(cat "$WORK/said")"
echo 'flow: { memcap: 65 MiB, timeouts: { udp: { new: 7 } } }' >"$WORK/settings.yaml"
ask reload >"$WORK/said" 2>&1 || fail "reload failed"
equal "settings that are not taken" "$(grep -c "has changed" "$WORK/said")" 1
grep -q "'flow.memcap' has changed: it takes effect with .sluice upgrade." "$WORK/said" || fail "$(cat "$WORK/said")"
stop_process "$LAST_PID" || fail "exit code $?"
[ ! -e "$WORK/socket" ] || fail "the socket is left"
ask status 2>"$WORK/none" && fail "nobody answered"
grep -q "no daemon listens" "$WORK/none" || fail "$(cat "$WORK/none")"
