#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A full queue loses packets and says so; with fail-open it lets them pass.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"

start_sluice closed --queue 0 --rules "$WORK/t.rules" --set queue.length=16
freeze "$LAST_PID"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 100
wait_equal "dropped by the kernel" 84 kernel_queue 0 queue_dropped
equal "waiting" "$(kernel_queue 0 waiting)" 16
equal "arrived" "$(grep -c number "$WORK/got" || true)" 0
thaw "$LAST_PID"
wait_lines "$WORK/got" number 16
stop_process "$LAST_PID" || fail "exit code $?"
equal "the loss in the statistics" "$(last_stats closed queue.0.queue_dropped)" 84

start_sluice open --queue 0 --rules "$WORK/t.rules" --set queue.length=16 --fail-open
freeze "$LAST_PID"
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 100
wait_lines "$WORK/got" number 100
thaw "$LAST_PID"
wait_lines "$WORK/got" number 116
stop_process "$LAST_PID" || fail "exit code $?"
