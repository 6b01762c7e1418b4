#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Repeat mode among other people's rules: the rule stands first in a filter chain that also uses marks. Inspected
# packets go through that chain again, its own decisions stay, and only the bit under the mask changes.
. "$(dirname "$0")/lib.sh"
topology
for ipt in iptables ip6tables; do
	# Somebody's marks (0xab00), set before us, and read after us.
	gateway $ipt -t mangle -A PREROUTING -p udp -j MARK --set-xmark 0xab00/0xffff
	gateway $ipt -A FORWARD -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0
	gateway $ipt -A FORWARD -p udp --dport 7009 -j DROP
	gateway $ipt -A FORWARD -p udp -m mark --mark 0xab01/0xffff -j ACCEPT
	gateway $ipt -A FORWARD -p udp -j DROP
done
echo 'drop udp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1
ips=$LAST_PID
for port in 7000 7009; do
	background srv python3 "$HERE/traffic.py" udp-sink $port "$WORK/got$port"
	wait_for test -s "$WORK/got$port" || fail "got$port is empty"
done
for to in 10.66.2.2 fd66:2::2; do
	udp_send cli "$to" 7000 good EVIL last
	udp_send cli "$to" 7009 good EVIL last
done
wait_lines "$WORK/got7000" last 2
wait_stats ips "$ips" queue.0.repeated 8 # all but the four bad ones
equal "accepted by both" "$(grep -c good "$WORK/got7000")" 2
equal "dropped by us" "$(grep -c EVIL "$WORK/got7000" || true)" 0
equal "dropped by the firewall after us" "$(grep -cE 'good|last|EVIL' "$WORK/got7009" || true)" 0
wait_events ips 4 event_type=alert alert.signature_id=1
equal "the neighbours' mark in the event" "$(events ips event_type=alert sluice.queue.mark=43776)" 4
stop_process "$ips" || fail "exit code $?"
equal "packets seen again" "$(last_stats ips queue.0.marked)" 0

# A packet that comes back marked is counted and judged by policy.
for ipt in iptables ip6tables; do
	gateway $ipt -F FORWARD
	gateway $ipt -t mangle -A FORWARD -j MARK --set-xmark 0x1/0x1
	gateway $ipt -A FORWARD -p udp -j NFQUEUE --queue-num 0
done
: >"$WORK/got7000.2"
start_sluice marked --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1 --set queue.marked-packets=drop
udp_send cli 10.66.2.2 7000 one two three
wait_events marked 3 event_type=drop drop.reason=marked
stop_process "$LAST_PID" || fail "exit code $?"
equal "marked packets" "$(last_stats marked queue.0.marked)" 3
start_sluice passing --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1
udp_send cli 10.66.2.2 7000 "late EVIL"
wait_text "$WORK/got7000" 'late EVIL'
stop_process "$LAST_PID" || fail "exit code $?"
equal "passed uninspected, counted" "$(last_stats passing ips.uninspected.marked)" 1
