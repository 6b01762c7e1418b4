#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every packet is judged exactly once: our counters, the kernel's sequence and drops, and what was sent agree.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'drop udp any any -> any 7000 (msg:"sevens"; content:"number 7"; depth:8; sid:1;)' >"$WORK/t.rules"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --set queue.length=8192
ips=$LAST_PID
udp_sink 7000 "$WORK/got"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 20000
reached() { echo $(($(kernel_queue 0 sequence) + $(kernel_queue 0 queue_dropped))); }
wait_equal "datagrams at the queue" 20000 reached
wait_equal "packets that wait" 0 kernel_queue 0 waiting
sequence=$(kernel_queue 0 sequence)
user_dropped=$(kernel_queue 0 user_dropped)
lost=$(($(kernel_queue 0 queue_dropped) + user_dropped))
stop_process "$ips" || fail "exit code $?" # the last event has the numbers of the whole run
packets=$(last_stats ips queue.0.packets)
accepted=$(last_stats ips queue.0.accepted)
dropped=$(last_stats ips queue.0.dropped)
equal "accepted + dropped" "$((accepted + dropped))" "$packets"
equal "packets received + lost to a full socket buffer" "$((packets + user_dropped))" "$sequence"
equal "the last packet id in the statistics" "$(last_stats ips queue.0.id_sequence)" "$sequence"
# 7, 70-79, 700-799, 7000-7999 of 0..19999; those that the kernel lost may have been among them.
[ "$dropped" -le 1111 ] && [ $((dropped + lost)) -ge 1111 ] || fail "dropped by rule: $dropped, lost: $lost"
wait_equal "datagrams that arrived" "$accepted" grep -c number "$WORK/got"
equal "sevens that arrived" "$(grep -c ' number 7' "$WORK/got" || true)" 0
equal "verdicts that the kernel refused" "$(last_stats ips queue.0.verdict_errors)" 0
