#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by attach_iptables.sh and attach_nft.sh, which make a firewall, then check_modes: `sluice run --attach` in
# each mode beside that firewall drops bad packets, and the firewall's decisions and its rules stay what they were:
# while Sluice runs, after a clean stop, after kill -9, and after `sluice nft remove`.
. "$(dirname "$0")/lib.sh"
topology
echo 'drop udp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
for port in 7000 7001; do background srv python3 "$HERE/traffic.py" udp-sink $port "$WORK/got$port"; done
for port in 7000 7001; do
	wait_for test -s "$WORK/got$port" || fail "got$port is empty"
done

ruleset() { gateway nft list ruleset 2>/dev/null | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'; }
unchanged() { ruleset | cmp -s - "$WORK/before" || fail "$1: the ruleset is not what it was: $(ruleset)"; }

# pass WHAT EVIL: sends to the open and to the closed port, by both families; EVIL is how many of the two bad datagrams
# arrive.
pass() {
	local what=$1 evil=$2 to
	for to in 10.66.2.2 fd66:2::2; do
		udp_send cli $to 7001 "$what: closed"
		udp_send cli $to 7000 "$what: good" "$what: EVIL" "$what: last"
		client ping -c1 -W5 -q $to >/dev/null || fail "$what: no ping to $to"
	done
	wait_lines "$WORK/got7000" "$what: last" 2
	equal "$what: good datagrams" "$(grep -cE "$what: (good|last)" "$WORK/got7000")" 4
	equal "$what: bad datagrams" "$(grep -c "$what: EVIL" "$WORK/got7000" || true)" "$evil"
	equal "$what: datagrams to the closed port" "$(grep -c "$what" "$WORK/got7001" || true)" 0
}

# mode NAME SEEN ARGS...: SEEN is how many packets of one pass() reach the queue.
mode() {
	local what=$1 seen=$2
	shift 2
	start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --attach "$@"
	equal "$what: table" "$(gateway "$SLUICE" nft status --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])')" "$what"
	pass "$what, running" 0
	wait_events ips 2 event_type=drop alert.signature_id=1
	stop_process "$LAST_PID" || fail "$what: exit code $?"
	equal "$what: packets in the queues" \
		"$(($(last_stats ips queue.0.packets) + $(last_stats ips queue.1.packets)))" "$seen"
	unchanged "$what, stopped"

	start_sluice killed --queue 0-1 --rules "$WORK/t.rules" --attach "$@"
	kill_process "$LAST_PID"
	pass "$what, killed" 2
	gateway nft list tables 2>/dev/null | grep sluice >/dev/null || fail "$what: the table did not stay"
	# What a dead one left is taken over.
	start_sluice again --queue 0-1 --rules "$WORK/t.rules" --attach "$@"
	pass "$what, again" 0
	kill_process "$LAST_PID"
	gateway "$SLUICE" nft remove || fail "$what: remove"
	unchanged "$what, removed"
	pass "$what, removed" 2
	rm -rf "$WORK"/{ips,killed,again}
}

# The firewall lets port 7000 and echo requests through, and their answers; port 7001 is one of those that are closed.
check_modes() {
	ruleset >"$WORK/before"
	# For each family 3 datagrams, and a ping there and back; ahead of the firewall also the one to the closed port.
	mode after 10 after
	mode before 12 before
	mode repeat 12 repeat --verdict repeat --mark 0x1/0x1
	mode route 10 route --verdict route --route-to 20 --route-bypass
}
