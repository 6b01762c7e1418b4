#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Engines that keep dying: after the limit the keeper ends, loudly, and traffic passes or is dropped as configured.
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"

# give_up NAME ARGS...: until the keeper has ended.
give_up() {
	local name=$1 engine code=0
	start_sluice "$name" --queue 0-1 --rules "$WORK/t.rules" --set engine.restart-limit=3 "${@:2}"
	for _ in $(seq 400); do
		engine=$(engine_of "$LAST_PID")
		[ -z "$engine" ] || kill -SEGV "$engine" 2>/dev/null || true
		kill -0 "$LAST_PID" 2>/dev/null || break
		sleep 0.02
	done
	wait "$LAST_PID" || code=$?
	equal "$name: exit code" "$code" 1
	grep -q "sluice run: the engine died 4 times in a row" "$WORK/$name.log" || fail "$name: does not say why it ended"
}
pings() { client ping -c 3 -i 0.2 -W 1 -q 10.66.2.2 >"$WORK/pings" 2>&1; }

give_up open --attach after --set engine.failure-policy=open
grep -q "traffic passes uninspected from now on" "$WORK/open.log" || fail "open: does not say so"
grep -q sluice <<<"$(gateway nft list tables)" && fail "open: the table is still there"
pings || fail "open: traffic does not pass"

give_up closed --attach after --set engine.failure-policy=closed
grep -q "traffic is dropped from now on" "$WORK/closed.log" || fail "closed: does not say so"
grep -q sluice <<<"$(gateway nft list tables)" || fail "closed: the table is gone"
pings && fail "closed: traffic passes"
start_sluice again --queue 0-1 --rules "$WORK/t.rules" --attach after
pings || fail "closed: not after another start"
stop_process "$LAST_PID" || fail "exit code $?"

# auto is what nft.bypass says.
give_up auto-open --attach after
pings || fail "auto: traffic does not pass"
give_up auto-closed --attach after --set nft.bypass=no
pings && fail "auto without bypass: traffic passes"
gateway "$SLUICE" nft remove || fail "the table can't be removed"
pings || fail "traffic does not pass without the table"
