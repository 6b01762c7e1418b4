#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon reports packets that the kernel dropped since the queue was bound, also before the daemon was ready, and
# how long packets waited while the engine was stopped.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0 --queue-bypass
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"

# The engine is stopped as soon as the queue is bound, long before its first look at the kernel's counters.
mkdir -p "$WORK/ips"
ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/ips" --queue 0 --rules "$WORK/t.rules" \
	--no-console \
	--set queue.length=16 --set unix-command.enabled=no >"$WORK/ips.log" 2>&1 &
ips=$!
gateway bash -c 'until grep -q "^ *0 " /proc/net/netfilter/nfnetlink_queue; do kill -0 $0 || exit; done' "$ips" ||
	fail "not bound"
freeze "$ips"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 300
dropped=$(kernel_queue 0 queue_dropped)
[ "$dropped" -ge 200 ] || fail "dropped by the kernel: $dropped"
thaw "$ips"
wait_for grep -q "^sluice: ready" "$WORK/ips.log" || fail "not ready"
wait_events ips 1 event_type=overload sluice.overload.action=lost sluice.overload.queue_dropped="$dropped"
grep -q "the kernel dropped $dropped packets" "$WORK/ips.log" || fail "the log does not report the drops"

# Packets that wait for two seconds are two seconds old. Sluice knows it to 200 ms, the time that a receive waits for
# packets: it cannot tell when in that time they came.
waits() { wait_equal "packets that wait" "$1" kernel_queue 0 waiting; }
waits 0
freeze "$ips"
udp_send cli 10.66.2.2 7000 one two three
waits 3
sleep 2 # the age that is to be measured: nothing shows that time has passed
thaw "$ips"
waits 0
stop_process "$ips" || fail "exit code $?"
age=$(last_stats ips queue.0.age_max_us)
[ "$age" -ge 1800000 ] || fail "age_max_us: $age after two seconds"
