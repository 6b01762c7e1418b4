#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rule that takes its time, and more datagrams for it than can be judged: the queue's packets grow old. Encrypted and
# bulk flows are shed then, and told; a flow that is neither stays inspected; and nothing that a queue has room for is
# lost.
. "$(dirname "$0")/lib.sh"
command -v openssl >/dev/null || skip "openssl is not installed"
topology
queue_rule --queue-num 0
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -keyout "$WORK/key.pem" -out "$WORK/cert.pem" \
	2>/dev/null
cat "$WORK/key.pem" >>"$WORK/cert.pem"
T="$HERE/overload_traffic.py"
background srv python3 "$T" udp-echo 7000
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$T" tls-echo 7443 "$WORK/cert.pem"
wait_lines "$WORK/background.log" listening 3
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"bad word"; flow:established,to_server; content:"EVIL"; sid:1;)
alert udp any any -> any 7000 (msg:"slow"; pcre:"/^(a+)+$/"; sid:2;)
alert udp any any -> any 7000 (msg:"the flood is not shed"; threshold:type limit,track by_src,count 1,seconds 3600; sid:3;)
RULES

# some NAME KEY=VALUE...: waits until there is such an event.
some() { wait_least "events with ${*:2}" 1 events "$@"; }

start_sluice shed --queue 0 --rules "$WORK/t.rules" --no-console --set queue.length=2048 --set overload.queue-fill=2 \
	--set detect.pcre-match-limit=100000 --set overload.bulk-size=200KiB --set 'overload.shed=[encrypted,bulk]' \
	--set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
DAEMON=$LAST_PID
background cli python3 "$T" udp-window 10.66.2.2 7000 200
FLOOD=$LAST_PID
some shed event_type=overload sluice.overload.action=entered sluice.overload.queue=0
some shed event_type=overload sluice.overload.action=widened
client python3 "$T" tls-ask 10.66.2.2 7443 6 >"$WORK/tls.port" || fail "the TLS connection broke"
client python3 "$T" lines 10.66.2.2 7001 60000 4 >"$WORK/bulk.port" || fail "the bulk connection broke"
EVIL=1 client python3 "$T" lines 10.66.2.2 7001 100 3 >"$WORK/evil.out" || fail "the small connection broke"
equal "the answer to EVIL" "$(tail -n 1 "$WORK/evil.out")" TIMEOUT
sheds() { # at this very moment
	"$SLUICE" queues --socket "$WORK/socket" --json >"$WORK/queues.json"
	python3 -c 'import json, sys
q = json.load(open(sys.argv[1]))[0]
sys.exit(not (q["overloaded"] and q["age_us"] > 0 and q["shedding"] == ["encrypted", "bulk"]))' "$WORK/queues.json"
}
wait_for sheds || fail "queues: $(cat "$WORK/queues.json")"
grep -q "queue 0 is overloaded" <<<"$("$SLUICE" status --socket "$WORK/socket")" || fail "status"
equal "dropped by the kernel" "$(kernel_queue 0 queue_dropped) $(kernel_queue 0 user_dropped)" "0 0"
kill "$FLOOD"
some shed event_type=overload sluice.overload.action=left
freeze "$DAEMON"; client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7009 3000
thaw "$DAEMON"
some shed event_type=overload sluice.overload.action=lost sluice.overload.queue=0
grep -q "the kernel dropped .*queue.length" "$WORK/shed.log" || fail "the log does not report the drops"
grep -q "queue 0 is overloaded" "$WORK/shed.log" || fail "the log does not report the overload"
stop_process "$DAEMON" || fail "exit code $?"

shed_flow() { # shed_flow NAME PORT: how many flows of the port say that they were shed
	python3 - "$WORK/$1/eve.json" "$2" <<'PY'
import json, sys
count = 0
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event['event_type'] == 'flow' and event.get('src_port') == int(sys.argv[2]):
        count += {'target': 'overload', 'policy': 'bypass'} in event['flow'].get('exception_policy', [])
print(count)
PY
}
equal "TLS: shed" "$(shed_flow shed "$(cat "$WORK/tls.port")")" 1
equal "bulk: shed" "$(shed_flow shed "$(cat "$WORK/bulk.port")")" 1
equal "small: shed" "$(shed_flow shed "$(head -n 1 "$WORK/evil.out")")" 0
equal "small: dropped" "$(events shed event_type=drop "src_port=$(head -n 1 "$WORK/evil.out")" alert.signature_id=1)" 1
[ "$(last_stats shed ips.overload.shed.encrypted)" -ge 1 ] || fail "statistics: encrypted"
[ "$(last_stats shed ips.overload.shed.bulk)" -ge 1 ] || fail "statistics: bulk"
equal "statistics: established" "$(last_stats shed ips.overload.shed.established)" 0
[ "$(last_stats shed ips.queue_age_us.max)" -gt 0 ] || fail "statistics: age"
[ "$(last_stats shed queue.0.full_batches)" -gt 0 ] || fail "statistics: full batches"

# Without a class the same is told, and everything stays inspected.
start_sluice none --queue 0 --rules "$WORK/t.rules" --no-console --set queue.length=2048 --set overload.queue-fill=2 \
	--set detect.pcre-match-limit=100000 --set overload.bulk-size=200KiB --set 'overload.shed=[]' \
	--set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
DAEMON=$LAST_PID
background cli python3 "$T" udp-window 10.66.2.2 7000 200
FLOOD=$LAST_PID
some none event_type=overload sluice.overload.action=entered
client python3 "$T" lines 10.66.2.2 7001 60000 4 >"$WORK/bulk.port" || fail "the bulk connection broke"
kill "$FLOOD"
"$SLUICE" costs --socket "$WORK/socket" >"$WORK/costs" || fail "costs without budget"
grep -q "not measured: set detect.packet-budget or detect.rule-budget" "$WORK/costs" || fail "costs: $(cat "$WORK/costs")"
grep -q "^inspected: [1-9]" "$WORK/costs" || fail "totals: $(cat "$WORK/costs")"
stop_process "$DAEMON" || fail "exit code $?"
equal "bulk without a class: shed" "$(shed_flow none "$(cat "$WORK/bulk.port")")" 0

# Slow packets and rules are reported, with the slowest rules; a rule that only alerts is suspended for a time, and
# resumed
echo 'drop udp any any -> any 7000 (msg:"slow, and drops"; pcre:"/^(a|aa)+$/"; sid:4;)' >>"$WORK/t.rules"
start_sluice budget --queue 0 --rules "$WORK/t.rules" --no-console --set detect.pcre-match-limit=100000 \
	--set detect.packet-budget=1 --set detect.rule-budget=1 --set detect.suspend-slow-rules=alert \
	--set detect.suspend-count=5 \
	--set detect.suspend-time=2 --set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
DAEMON=$LAST_PID
background cli python3 "$T" udp-window 10.66.2.2 7000 20
FLOOD=$LAST_PID
some budget event_type=overload sluice.overload.action=suspended
some budget event_type=overload sluice.overload.action=slow
some budget event_type=overload sluice.overload.action=resumed
kill "$FLOOD"
grep -q "over budget [1-9]" <<<"$("$SLUICE" explain 2 --socket "$WORK/socket")" || fail "explain"
"$SLUICE" costs --socket "$WORK/socket" --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
costs, searches, total = answer["rules"], answer["searches"], answer["total"]
assert answer["measured"] and total["packets"] > 0 and total["evaluations"] > 0, total
assert all(s["scans"] > 0 and s["literals"] > 0 and s["buffer"] for s in searches), searches
assert {c["signature_id"] for c in costs} >= {2, 4}, costs
assert [c["total_us"] for c in costs] == sorted((c["total_us"] for c in costs), reverse=True)' || fail "costs"
grep -q "rule 1:2 suspended for 2 s" "$WORK/budget.log" || fail "the log does not report the suspension"
grep -q "rule 1:4 suspended" "$WORK/budget.log" && fail "a rule that drops is suspended"
grep -q "exceeded detect.packet-budget" "$WORK/budget.log" || fail "the log does not report slow packets"
stop_process "$DAEMON" || fail "exit code $?"
[ "$(last_stats budget ips.budget.packets)" -gt 0 ] || fail "statistics: slow packets"
[ "$(last_stats budget ips.budget.suspended)" -gt 0 ] || fail "statistics: suspended"
