#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Crafted TCP and fragments through the gateway to a real Linux server: with a drop rule on a pattern no program there
# ever reads it.
. "$(dirname "$0")/lib.sh"
topology
client sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
server sysctl -qw net.ipv4.tcp_max_syn_backlog=4096 net.core.somaxconn=4096
gateway ip route add 10.66.64.0/18 via 10.66.1.2
gateway ip -6 route add fd66:64::/32 via fd66:1::2
# A router more: what leaves with a TTL of 2 is seen in the gateway and does not arrive.
server iptables -t raw -A PREROUTING -m ttl --ttl-lt 2 -j DROP
server ip6tables -t raw -A PREROUTING -m hl --hl-lt 2 -j DROP
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)
drop udp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:2;)
drop tcp any any -> any any (msg:"two words"; content:"FIRST-WORD"; content:"SECOND-WORD"; distance:0; sid:3;)
RULES

# attack RUN MODE...: the cases, with addresses of this run.
attack() {
	client python3 "$HERE/evasion.py" "$P" "$@" >"$WORK/evasion-$1.log" 2>&1 || fail "run $*"
}

# judged NAME QUEUES: what came was judged, all of it.
judged() {
	local q lost
	for q in $2; do
		lost=$(last_stats "$1" "queue.$q.queue_dropped")
		equal "$1: lost in queue $q" "$lost" 0
		equal "$1: accepted + dropped of queue $q" \
			"$(($(last_stats "$1" "queue.$q.accepted") + $(last_stats "$1" "queue.$q.dropped")))" \
			"$(last_stats "$1" "queue.$q.packets")"
		[ "$(last_stats "$1" "queue.$q.packets")" -gt 20 ] || fail "$1: queue $q had nothing to do"
	done
}

attack 1 control
run=2
for overlap in rewrite drop; do
	queue_rule --queue-num 0
	start_sluice "one-$overlap" --queue 0 --rules "$WORK/t.rules" --set stream.overlap=$overlap --set queue.length=16384
	attack $run sluice
	stop_process "$LAST_PID" || fail "exit code $?"
	judged "one-$overlap" 0
	gateway iptables -t mangle -F FORWARD
	gateway ip6tables -t mangle -F FORWARD
	queue_rule --queue-balance 0:1
	start_sluice "two-$overlap" --queue 0-1 --rules "$WORK/t.rules" --set stream.overlap=$overlap \
		--set queue.length=16384
	attack $((run + 1)) sluice
	stop_process "$LAST_PID" || fail "exit code $?"
	judged "two-$overlap" "0 1"
	gateway iptables -t mangle -F FORWARD
	gateway ip6tables -t mangle -F FORWARD
	run=$((run + 2))
done
queue_rule --queue-num 0
start_sluice no-urgent --queue 0 --rules "$WORK/t.rules" --set stream.urgent-policy=drop
attack $run sluice --only urgent
stop_process "$LAST_PID" || fail "exit code $?"
judged no-urgent 0
