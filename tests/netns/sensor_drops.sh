#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sensor whose ring is too small reports the packets that the kernel dropped: in its log, in an event, in its
# statistics and its status; the packets that were inspected or dropped are all that were sent.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
mirror
sent=20000
for workers in 1 2; do
	# By addresses, all packets of the flood would get into one ring.
	start_sensor drops --workers "$workers" --set af-packet.cluster-type=cluster_flow --set af-packet.ring-size=1MiB --set af-packet.block-size=128KiB \
		--set engine.hang-timeout=0
	pid=$LAST_PID
	freeze "$pid"
	client python3 -E "$HERE/sensor.py" flood m0 "$sent"
	thaw "$pid"
	wait_equal "packets of the kernel" "$sent" kernel_packets drops
	wait_text "$WORK/drops.log" 'ring 0 of m1: the kernel dropped [0-9]* packets because the ring was full'
	ask_stats drops "$pid"
	# shellcheck disable=SC2046
	read -r dropped inspected full <<<"$(echo $(last_stats drops capture.kernel_drops decoder.pkts queue.0.ring_full))"
	[ "$dropped" -gt 0 ] || fail "no drops are counted"
	[ "$full" -gt 0 ] || fail "the ring was never full"
	[ $((dropped + inspected)) = "$sent" ] || fail "$dropped dropped and $inspected inspected, sent $sent"
	"$SLUICE" status --socket "$WORK/drops.control" | grep -q "interface m1: capturing, $sent packets, $dropped dropped" ||
		fail "the status has other numbers: $("$SLUICE" status --socket "$WORK/drops.control")"
	[ "$(events drops event_type=overload sluice.overload.action=lost)" -ge "$workers" ] || fail "no event of the drops"
	stop_process "$pid" || fail "the sensor ends with $?"
	rm -rf "$WORK/drops"
done
echo "ok: $dropped of $sent packets were dropped and counted"
