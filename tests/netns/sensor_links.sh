#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sensor captures again after its interface was down, removed and created again, renamed, or moved to another network
# namespace and back; it logs and counts that. It captures super-packets, and it reports packets that the kernel
# dropped because a ring was full.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
mirror
rules=$WORK/sensor.rules
echo 'alert udp any any -> any 7777 (msg:"probe"; content:"probe"; sid:1;)' >"$rules"

# probe: sends a datagram to port 7777. alerts: prints the number of alerts for such datagrams.
probe() { client python3 -E "$HERE/sensor.py" probe m0; }
alerts() { events links event_type=alert alert.signature_id=1; }
captures() { # captures WHAT: an alert for a datagram that is sent now
	local had try
	had=$(alerts)
	for try in 1 2 3 4 5 6 7 8 9 10; do
		probe
		for _ in 1 2 3 4 5; do
			[ "$(alerts)" -le "$had" ] || return 0
			sleep 0.1
		done
	done
	fail "$1: no packet is captured"
}

for workers in 1 2; do
	start_sensor links --rules "$rules" --workers "$workers"
	pid=$LAST_PID
	engine=$(engine_of "$pid")
	captures "at the start"
	[ "$(events links event_type=alert in_iface=m1)" -gt 0 ] || fail "no in_iface in alerts"

	gateway ip link set m1 down
	wait_text "$WORK/links.log" 'interface m1 is down'
	gateway ip link set m1 up
	wait_text "$WORK/links.log" 'capturing from m1 again'
	captures "up again"
	for state in down capturing; do
		[ "$(events links event_type=engine sluice.engine.interface=m1 sluice.engine.state=$state)" -gt 0 ] ||
			fail "no event of the state $state"
	done

	gateway ip link set m1 mtu 1500
	gateway ip link set m1 mtu 9000
	captures "another MTU"

	gateway ip link set m1 down
	gateway ip link set m1 name mirror1
	gateway ip link set mirror1 up
	wait_text "$WORK/links.log" 'interface m1 was renamed to mirror1'
	captures "renamed"
	wait_for grep -q '"renamed":"mirror1"' "$WORK/links/eve.json" || fail "no event of the new name"
	gateway ip link set mirror1 down
	gateway ip link set mirror1 name m1
	gateway ip link set m1 up
	captures "renamed back"

	gateway ip link del m1
	wait_text "$WORK/links.log" 'interface m1 has disappeared'
	add_mirror
	captures "created again"
	[ "$(events links event_type=engine sluice.engine.state=gone)" -gt 0 ] || fail "no event of an interface that is gone"

	ip netns add "$P-srv"
	gateway ip link set m1 netns "$P-srv"
	wait_lines "$WORK/links.log" 'interface m1 has disappeared' 2
	ip netns exec "$P-srv" ip link set m1 netns "$P-gw"
	gateway ip link set m1 up
	captures "moved back"
	ip netns del "$P-srv"

	[ "$(engine_of "$pid")" = "$engine" ] || fail "the engine was replaced"
	ask_stats links "$pid"
	losses=$(last_stats links queue.0.link_losses)
	[ "$losses" -ge 4 ] || fail "only $losses losses of the link are counted" # down, down to rename, removed, moved
	"$SLUICE" status --socket "$WORK/links.control" | grep -q 'interface m1: capturing' ||
		fail "the status does not show the interface"
	stop_process "$pid" || fail "the sensor ends with $?"
	rm -rf "$WORK/links"
done
echo "ok: $losses losses of the link"
