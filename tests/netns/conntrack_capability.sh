#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whether queued packets carry conntrack data is a property of the kernel: the engine that starts first, its successor
# after a death, after an upgrade, and the one that takes over with packets waiting in the queue all log the same.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'alert udp any any -> any 7000 (msg:"any"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --no-console --set queue.conntrack=always \
	--set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
ips=$LAST_PID

readies() { grep -c "^sluice: ready" "$WORK/ips.log" || true; }
wait_ready() { wait_least "engines that were ready" "$1" readies; } # wait_ready COUNT
equal "log lines about conntrack of the first engine" "$(grep -c conntrack "$WORK/ips.log")" 1

kill -9 "$(engine_of "$ips")"
wait_ready 2

engine=$(engine_of "$ips")
freeze "$ips"
udp_send cli 10.66.2.2 7000 one two three
wait_equal "packets that wait" 3 kernel_queue 0 waiting
kill -9 "$engine"
wait_ready 3
wait_text "$WORK/got" three

gateway "$SLUICE" upgrade --socket "$WORK/socket" >"$WORK/out" 2>&1 || fail "upgrade: $(cat "$WORK/out")"
wait_ready 4
equal "log lines about conntrack" "$(grep -c conntrack "$WORK/ips.log")" 4
[ "$(grep conntrack "$WORK/ips.log" | sort -u | wc -l)" = 1 ] ||
	fail "engines disagree on what the kernel can do: $(grep conntrack "$WORK/ips.log")"
stop_process "$ips" || fail "exit code $?"
