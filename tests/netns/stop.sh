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
wait_equal "packets that wait" 1000 kernel_queue 0 waiting
kill -TERM "$LAST_PID"
thaw "$LAST_PID"
stop_process "$LAST_PID" || fail "exit code $?"
# 5, 50-59, 500-599 of 0..999
wait_lines "$WORK/got" number 889
equal "judged" "$(last_stats ips queue.0.packets)" 1000
equal "dropped" "$(last_stats ips queue.0.dropped)" 111
