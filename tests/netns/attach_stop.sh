#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A clean start and a clean stop lose nothing and let nothing pass twice: numbered datagrams and echo requests run on
# while `sluice run --attach` comes and goes in each mode.
. "$(dirname "$0")/lib.sh"
topology
gateway iptables -P FORWARD DROP
gateway iptables -A FORWARD -p udp --dport 7000 -j ACCEPT
gateway iptables -A FORWARD -p icmp -j ACCEPT
echo 'alert udp any any -> any 7000 (msg:"first"; content:"number 0"; dsize:8; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"

# passes: a hundred datagrams more arrive.
passes() {
	local from
	from=$(grep -c number "$WORK/got") || true
	more() { [ "$(grep -c number "$WORK/got")" -ge $((from + 100)) ]; }
	wait_for more || fail "no datagrams arrive"
}

# wave: the traffic, in the background, until all_there().
wave() {
	: >"$WORK/got" # the sink appends
	ip netns exec "$P-cli" python3 "$HERE/traffic.py" udp-paced 10.66.2.2 7000 "${RATE:-2000}" 300 >"$WORK/sent" 2>&1 &
	sender=$!
	ip netns exec "$P-cli" ping -q -i "${INTERVAL:-0.005}" -w 300 -W 5 10.66.2.3 >"$WORK/ping" 2>&1 &
	pinger=$!
}

# all_there WHAT: what was sent has arrived, once.
all_there() {
	local sent
	kill "$sender"
	kill -INT "$pinger"
	wait "$sender" || fail "$1: sender: $(cat "$WORK/sent")"
	wait "$pinger" || fail "$1: ping: $(cat "$WORK/ping")"
	sent=$(cat "$WORK/sent")
	wait_equal "$1: datagrams" "$sent" bash -c "grep -o 'number.*' '$WORK/got' | sort -u | wc -l"
	equal "$1: arrivals" "$(grep -c number "$WORK/got")" "$sent"
	grep " 0% packet loss" "$WORK/ping" >/dev/null || fail "$1: $(cat "$WORK/ping")"
	grep duplicates "$WORK/ping" >/dev/null && fail "$1: $(cat "$WORK/ping")"
	return 0
}

for mode in ${MODES:-after before repeat}; do
	arguments=(--attach $mode)
	[ $mode != repeat ] || arguments+=(--verdict repeat --mark 0x1/0x1)
	wave
	for round in $(seq "${ROUNDS:-3}"); do
		passes
		start_sluice $mode$round --queue 0-1 --rules "$WORK/t.rules" --set queue.length=20000 "${arguments[@]}"
		judges() { [ $(($(kernel_queue 0 sequence) + $(kernel_queue 1 sequence))) -gt 110 ]; }
		wait_for judges || fail "$mode: no packets come to the queues"
		stop_process "$LAST_PID" || fail "$mode: exit code $?"
		gateway nft list tables 2>/dev/null | grep sluice >/dev/null && fail "$mode: the table is still there"
		judged=$(($(last_stats $mode$round queue.0.accepted) + $(last_stats $mode$round queue.0.repeated) +
			$(last_stats $mode$round queue.1.accepted) + $(last_stats $mode$round queue.1.repeated)))
		[ $judged -gt 100 ] || fail "$mode: only $judged packets were inspected"
	done
	all_there $mode
done

# route: what waits for the next consumer is not ours any more, but would be dropped when our chain goes.
start_sluice next --queue 20 --rules "$WORK/t.rules" --set queue.length=20000
next=$LAST_PID
wave
passes
start_sluice route --queue 0-1 --rules "$WORK/t.rules" --set queue.length=20000 --attach route --verdict route \
	--route-to 20 --route-bypass
passes
freeze "$next"
waits() { [ "$(kernel_queue 20 waiting)" -gt 100 ]; }
wait_for waits || fail "route: nothing waits for the next consumer"
# The daemon first removes the rules of its chains, then waits for the next consumer.
queues() { gateway nft list table inet sluice 2>/dev/null | grep queue >/dev/null; }
stops() { ! queues; }
(wait_for stops; thaw "$next") &
stop_process "$LAST_PID" || fail "route: exit code $?"
gateway nft list tables 2>/dev/null | grep sluice >/dev/null && fail "route: the table is still there"
[ "$(($(last_stats route queue.0.routed) + $(last_stats route queue.1.routed)))" -gt 100 ] ||
	fail "route: nothing was routed"
all_there route
stop_process "$next" || fail "next: exit code $?"
