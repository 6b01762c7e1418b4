#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon reports packets that the kernel dropped since the queue was bound, also before the daemon was ready, and how long packets waited
# while the engine was stopped.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0 --queue-bypass
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
for _ in $(seq 100); do [ -s "$WORK/got" ] && break; sleep 0.05; done

# The engine is stopped as soon as the queue is bound, long before its first look at the kernel's counters.
mkdir -p "$WORK/ips"
ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/ips" --queue 0 --rules "$WORK/t.rules" --no-console \
	--set queue.length=16 --set unix-command.enabled=no >"$WORK/ips.log" 2>&1 &
ips=$!
gateway bash -c 'until grep -q "^ *0 " /proc/net/netfilter/nfnetlink_queue; do kill -0 $0 || exit; done' "$ips" || fail "not bound"
kill -STOP "$(engine_of "$ips")"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 300
dropped=$(kernel_queue 0 queue_dropped)
[ "$dropped" -ge 200 ] || fail "dropped by the kernel: $dropped"
kill -CONT "$(engine_of "$ips")"
for _ in $(seq 200); do grep -q "^sluice: ready" "$WORK/ips.log" && break; sleep 0.05; done
grep -q "^sluice: ready" "$WORK/ips.log" || fail "not ready"
wait_events ips 1 event_type=overload overload.action=lost overload.queue_dropped="$dropped"
grep -q "the kernel dropped $dropped packets" "$WORK/ips.log" || fail "the log does not report the drops"

# Packets that wait for two seconds are two seconds old. Sluice knows it to 200 ms, the time that a receive waits for packets: it cannot tell
# when in that time they came.
engine=$(engine_of "$ips")
waits() { for _ in $(seq 100); do [ "$(kernel_queue 0 waiting)" = "$1" ] && return; sleep 0.05; done; fail "waiting: $(kernel_queue 0 waiting) of $1"; }
waits 0
kill -STOP "$engine"
udp_send cli 10.66.2.2 7000 one two three
waits 3
sleep 2
kill -CONT "$engine"
waits 0
stop_process "$ips" || fail "exit code $?"
age=$(last_stats ips queue.0.age_max_us)
[ "$age" -ge 1800000 ] || fail "age_max_us: $age after two seconds"
