#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ten megabytes each way, of several connections, arrive unchanged, and nothing of them is dropped: with super-packets
# and without, with segments lost before the gateway and behind it, and out of order.
. "$(dirname "$0")/lib.sh"
command -v ethtool >/dev/null || skip "ethtool is not installed"
topology
queue_rule --queue-balance 0:1
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)
drop tcp any any -> any any (msg:"two words"; content:"FIRST-WORD"; content:"SECOND-WORD"; distance:0; sid:3;)
RULES
cat >"$WORK/t.yaml" <<'YAML'
eve: {types: {alert: {}, drop: {flows: all}, anomaly: {types: {stream: yes}}, flow: {}, stats: {}}}
YAML
addresses="10.66.2.2 10.66.2.3 10.66.2.4 fd66:2::2 fd66:2::3"
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening

# transfer NAME: 10 MB there and back, through a gateway that begins with it.
transfer() {
	start_sluice "$1" --queue 0-1 --rules "$WORK/t.rules" --config "$WORK/t.yaml" --set queue.length=16384
	# shellcheck disable=SC2086
	equal "$1: connections with the same bytes back" \
		"$(client timeout 80 python3 "$HERE/traffic.py" tcp-same 7001 2000000 $addresses)" 5
	stop_process "$LAST_PID" || fail "exit code $?"
	# What is printed when it fails: drops, and what TCP tracking found wrong with those packets.
	grep '"event_type": *"drop"' "$WORK/$1/eve.json" >"$WORK/drop-events.log" || true
	grep -o '^{"timestamp":"[^"]*"' "$WORK/drop-events.log" | while read -r when; do
		grep -F "$when" "$WORK/$1/eve.json" | grep '"event_type":"anomaly"' || true
	done >"$WORK/anomalies.log" || true
	equal "$1: drop events" "$(events "$1" event_type=drop)" 0
	equal "$1: alerts" "$(events "$1" event_type=alert)" 0
	equal "$1: packets dropped" "$(($(last_stats "$1" queue.0.dropped) + $(last_stats "$1" queue.1.dropped)))" 0
	equal "$1: flows of TCP" "$(events "$1" event_type=flow proto=TCP dest_port=7001)" 5
}

segments() { # segments on|off: whether the kernel hands over packets of many segments
	client ethtool -K c0 tso "$1" gso "$1" >/dev/null
	server ethtool -K s0 tso "$1" gso "$1" >/dev/null
}

# Some packets wait in a slow class until others have passed them.
out_of_order() { # out_of_order HOST DEVICE
	ip netns exec "$P-$1" tc qdisc add dev "$2" root handle 1: htb default 10
	ip netns exec "$P-$1" tc class add dev "$2" parent 1: classid 1:10 htb rate 10gbit quantum 60000
	ip netns exec "$P-$1" tc class add dev "$2" parent 1: classid 1:20 htb rate 40mbit quantum 6000 burst 2k cburst 2k
	for command in iptables ip6tables; do
		ip netns exec "$P-$1" $command -t mangle -A POSTROUTING -p tcp -m statistic --mode random --probability 0.02 \
			-j CLASSIFY --set-class 1:20
	done
}

# loss HOST: of what comes in.
loss() {
	for command in iptables ip6tables; do
		ip netns exec "$P-$1" $command -t raw -A PREROUTING -p tcp -m statistic --mode random \
			--probability 0.005 -j DROP
	done
}

transfer plain
[ "$(($(last_stats plain queue.0.gso) + $(last_stats plain queue.1.gso)))" -gt 0 ] || fail "no super-packet was seen"
segments off
transfer cut
equal "super-packets, when there are none" "$(($(last_stats cut queue.0.gso) + $(last_stats cut queue.1.gso)))" 0
loss gw
loss srv
loss cli
transfer lossy
out_of_order cli c0
out_of_order srv s0
transfer reordered
segments on
transfer all
