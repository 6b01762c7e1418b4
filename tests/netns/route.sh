#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Route mode: what we accept goes on to the next consumer's queue; without one, the bypass bit decides.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'drop udp any any -> any any (msg:"first"; content:"ONE"; sid:1;)' >"$WORK/first.rules"
echo 'drop udp any any -> any any (msg:"second"; content:"TWO"; sid:2;)' >"$WORK/second.rules"
udp_sink 7000 "$WORK/got"

start_sluice second --queue 20 --rules "$WORK/second.rules"
second=$LAST_PID
start_sluice first --queue 0 --rules "$WORK/first.rules" --verdict route --route-to 20
first=$LAST_PID
udp_send cli 10.66.2.2 7000 ONE TWO three
wait_text "$WORK/got" three
equal "arrived" "$(grep -cE 'ONE|TWO|three' "$WORK/got")" 1
wait_events first 1 event_type=drop alert.signature_id=1
wait_events second 1 event_type=drop alert.signature_id=2
stop_process "$second" || fail "exit code $?"

udp_send cli 10.66.2.2 7000 four
wait_stats first "$first" queue.0.routed 3
equal "arrived without a listener and without bypass" "$(grep -c four "$WORK/got" || true)" 0
stop_process "$first" || fail "exit code $?"

start_sluice bypass --queue 0 --rules "$WORK/first.rules" --verdict route --route-to 20 --set queue.route-bypass=yes
udp_send cli 10.66.2.2 7000 ONE five
wait_text "$WORK/got" five
equal "arrived without a listener but with bypass" "$(grep -cE 'ONE|five' "$WORK/got")" 1
stop_process "$LAST_PID" || fail "exit code $?"
