#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections of real TCP stacks with random settings, without and with Sluice: none fails that succeeds without it, and Sluice drops no packet.
# ROUNDS (2) rounds of 41 connections or pairs of connections from SEED (1); ROUNDS=300 SEED=$RANDOM for a night. Urgent bytes stay out of band: the
# default policy of urgent data changes what programs read.
. "$(dirname "$0")/lib.sh"
topology
rounds=${ROUNDS:-2} seed=${SEED:-1}
echo 'drop tcp any any -> any any (msg:"never"; content:"NEVER-IN-THIS-TEST"; sid:1;)' >"$WORK/t.rules"
python3 "$HERE/tcp_stacks.py" "$P" "$WORK/before.json" "$seed" "$rounds" 1100
start_sluice stacks --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0 --set queue.length=16384 \
	--set stream.urgent-policy=oob
queue_rule --queue-num 0
python3 "$HERE/tcp_stacks.py" "$P" "$WORK/after.json" "$seed" "$rounds" 16000
stop_process "$LAST_PID" || fail "exit code $?"
[ -z "${KEEP:-}" ] || cp -r "$WORK/stacks" "$WORK"/*.json "$KEEP"
python3 "$HERE/tcp_stacks.py" compare "$WORK/before.json" "$WORK/after.json" || fail "seed $seed: connections failed only with Sluice"
[ "$(last_stats stacks queue.0.packets)" -gt 500 ] || fail "Sluice saw no traffic"
