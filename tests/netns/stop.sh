#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SIGTERM while packets wait in a queue that somebody else's rule feeds: they are judged before the queue is closed.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"
start_sluice ips --queue 0 --rules "$WORK/t.rules"
freeze "$LAST_PID"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 1000
sleep 0.2
equal "waiting" "$(kernel_queue 0 waiting)" 1000
kill -TERM "$LAST_PID"
thaw "$LAST_PID"
stop_process "$LAST_PID" || fail "exit code $?"
# 5, 50-59, 500-599 of 0..999
for _ in $(seq 60); do [ "$(grep -c number "$WORK/got")" = 889 ] && break; sleep 0.05; done
equal "arrived" "$(grep -c number "$WORK/got")" 889
equal "judged" "$(last_stats ips queue.0.packets)" 1000
equal "dropped" "$(last_stats ips queue.0.dropped)" 111
