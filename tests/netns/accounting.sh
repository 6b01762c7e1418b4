#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every packet is judged exactly once: our counters, the kernel's sequence and drops, and what was sent agree.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'drop udp any any -> any 7000 (msg:"sevens"; content:"number 7"; depth:8; sid:1;)' >"$WORK/t.rules"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --set queue.length=8192
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
for _ in $(seq 50); do [ -s "$WORK/got" ] && break; sleep 0.05; done
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 20000
for _ in $(seq 100); do [ "$(kernel_queue 0 waiting)" = 0 ] && break; sleep 0.05; done
sleep 0.3
kill -USR1 "$ips"
sleep 0.5
sequence=$(kernel_queue 0 sequence)
lost=$(($(kernel_queue 0 queue_dropped) + $(kernel_queue 0 user_dropped)))
packets=$(last_stats ips queue.0.packets)
accepted=$(last_stats ips queue.0.accepted)
dropped=$(last_stats ips queue.0.dropped)
equal "accepted + dropped" "$((accepted + dropped))" "$packets"
equal "packets received + lost to a full socket buffer" "$((packets + $(kernel_queue 0 user_dropped)))" "$sequence"
equal "the last packet id in the statistics" "$(last_stats ips queue.0.id_sequence)" "$sequence"
# 7, 70-79, 700-799, 7000-7999 of 0..19999
if [ "$lost" = 0 ]; then
	equal "dropped by rule" "$dropped" 1111
	equal "datagrams that arrived" "$(grep -c number "$WORK/got")" $((20000 - 1111))
fi
equal "sevens that arrived" "$(grep -c ' number 7' "$WORK/got" || true)" 0
equal "verdicts that the kernel refused" "$(last_stats ips queue.0.verdict_errors)" 0
stop_process "$ips" || fail "exit code $?"
