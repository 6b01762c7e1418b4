#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Packets that the kernel passes because a fail-open queue is full are counted, logged and reported, and no other
# packets are: with the sluice table, and with a rule of another table that has a counter.
. "$(dirname "$0")/uninspected_lib.sh"

# Nothing is reported for a start, a reload, an upgrade, the death of an engine, and a table that was removed and
# restored. The events outlive the engines.
start own --queue 0-1 --attach after --fail-open
traffic
ask reload >/dev/null || fail "reload"
traffic
ask upgrade >/dev/null || fail "upgrade"
wait_engines own 2
traffic
kill -9 "$(engine_of "$DAEMON")"
wait_engines own 3
traffic
gateway nft flush ruleset
wait_events own 1 event_type=firewall sluice.firewall.action=reasserted
traffic
wait_readings 3
for kind in fail_open bypass; do equal "passes ($kind) before the flood" "$(uninspected $kind)" 0; done
equal "unqueued packets" "$(ask status --json |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["unqueued"])')" 0
equal "events of passes" \
	"$(events own event_type=overload sluice.overload.action=lost) $(events own event_type=firewall \
	sluice.firewall.action=no_listener)" "0 0"

# A full queue: packets beyond its length pass.
passed_or_waiting() { echo $(($(arrived) - total + $(kernel_queue 0 waiting) + $(kernel_queue 1 waiting))); }
freeze "$DAEMON"
flood 100
wait_equal "datagrams that passed or wait" 100 passed_or_waiting
waiting=$(($(kernel_queue 0 waiting) + $(kernel_queue 1 waiting)))
passed=$((100 - waiting))
[ "$waiting" -ge 16 ] || fail "waiting: $waiting"
wait_arrived $((total + passed))
thaw "$DAEMON"
total=$((total + 100))
wait_arrived "$total"
wait_uninspected fail_open "$passed"
ask status | grep -q "uninspected: $passed packets passed because a queue was full" || fail "status: $(ask status)"
grep -q "the kernel passed $passed packets uninspected because a queue was full" "$WORK/own.log" ||
	fail "the log does not report the passes"
equal "fail_open in the events" "$(sum own overload fail_open)" "$passed"
equal "bypass" "$(uninspected bypass)" 0
stop_process "$DAEMON" || fail "exit code $?"
equal "fail_open in the statistics" "$(last_stats own ips.uninspected.fail_open)" "$passed"

# Somebody else's rule with a counter, which begins at any number.
gateway iptables -t mangle -A FORWARD -c 1000 90000 -j NFQUEUE --queue-num 0 --queue-bypass
start foreign --queue 0 --fail-open
traffic
freeze "$DAEMON"
flood 100
wait_arrived $((total + 84))
thaw "$DAEMON"
total=$((total + 100))
wait_arrived "$total"
wait_uninspected fail_open 84
stop_process "$DAEMON" || fail "exit code $?"

# Rules of legacy iptables are not read: that passes cannot be counted is said, once packets come.
if command -v iptables-legacy >/dev/null; then
	gateway iptables -t mangle -F
	gateway iptables-legacy -t mangle -A FORWARD -j NFQUEUE --queue-num 0
	start legacy --queue 0 --fail-open
	traffic
	ask status | grep -q "packets that pass while a queue is full cannot be counted" || fail "status: $(ask status)"
	wait_for grep -q "queue.fail-open) cannot be counted: no nftables rule feeds the queues" "$WORK/legacy.log" ||
		fail "the log does not say that passes cannot be counted"
	stop_process "$DAEMON" || fail "exit code $?"
fi
