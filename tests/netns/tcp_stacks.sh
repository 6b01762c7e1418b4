#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections of real TCP stacks with random settings, without and with Sluice: none fails that succeeds without it, and
# Sluice drops no packet. ROUNDS (2) rounds of 43 connections or pairs of connections from SEED (1); ROUNDS=300
# SEED=$RANDOM for a night. IMPAIR="loss=.01 duplicate=.02 reorder=.1" adds a bad link.
. "$(dirname "$0")/lib.sh"
topology
if [ -n "${IMPAIR:-}" ]; then
	for host in cli srv; do
		for tables in iptables ip6tables; do
			ip netns exec "$P-$host" $tables -t mangle -A OUTPUT -p tcp -m mark ! --mark 0x77 -j NFQUEUE --queue-num 1
		done
		# shellcheck disable=SC2086
		background "$host" python3 "$HERE/impair.py" 1 "${SEED:-1}" $IMPAIR
	done
	wait_lines "$WORK/background.log" bound 2
fi
rounds=${ROUNDS:-2} seed=${SEED:-1}
echo 'drop tcp any any -> any any (msg:"never"; content:"NEVER-IN-THIS-TEST"; sid:1;)' >"$WORK/t.rules"
python3 "$HERE/tcp_stacks.py" "$P" "$WORK/before.json" "$seed" "$rounds" 1100 ${IMPAIR:+once}
start_sluice stacks --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0 --set queue.length=16384
queue_rule --queue-num 0
python3 "$HERE/tcp_stacks.py" "$P" "$WORK/after.json" "$seed" "$rounds" 16000 ${IMPAIR:+once}
stop_process "$LAST_PID" || fail "exit code $?"
[ -z "${KEEP:-}" ] || cp -r "$WORK/stacks" "$WORK"/*.json "$KEEP"
python3 "$HERE/tcp_stacks.py" compare "$WORK/before.json" "$WORK/after.json" ||
	fail "seed $seed: connections failed only with Sluice"
[ "$(last_stats stacks queue.0.packets)" -gt 500 ] || fail "Sluice saw no traffic"
