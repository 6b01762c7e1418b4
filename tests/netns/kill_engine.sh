#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The engine is killed again and again, in whatever it does: nothing is lost, and nothing passes uninspected.
#   KILLS  how many times (10)
#   RULES  a file of rules besides the test's own
#   PAUSE  the longest pause between two kills, in whole seconds and a bit (1)
#   MODE   how the queues are fed: after, before, repeat
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"
options=(--attach "${MODE:-after}")
[ "${MODE:-}" != repeat ] || options+=(--verdict repeat --mark 0x200/0x200)
[ -z "${RULES:-}" ] || options+=(--rules "$RULES")
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" "${options[@]}" --set engine.restart-limit=1000 \
	--set nft.blocklist.enabled=yes \
	--set "unix-command.filename=$WORK/control"
supervisor=$LAST_PID
gateway "$SLUICE" blocklist add 192.0.2.7 --permanent || fail "the blocklist"
traffic_start
signals=(KILL SEGV ABRT BUS KILL)
for i in $(seq "${KILLS:-10}"); do
	# A pause of random length is part of the test: each kill shall find the engine in another state.
	sleep "$((RANDOM % ${PAUSE:-1})).$((RANDOM % 8))$((RANDOM % 10))"
	[ $((i % 5)) = 4 ] && kill -USR2 "$supervisor" # in a reload
	engine=$(next_engine "$supervisor" "${engine:-}") # not the one that was killed and is not yet cleared away
	kill "-${signals[$((i % 5))]}" "$engine" || fail "no engine to kill"
	[ $((i % 7)) = 6 ] || continue
	engine=$(next_engine "$supervisor" "$engine") # the next one while it starts
	kill -9 "$engine" || fail "no engine to kill"
done
deaths() { grep -c "the engine was killed" "$WORK/ips.log"; }
wait_least "engines that died" "${KILLS:-10}" deaths
stall "${KILLS:-10} kills"
traffic_stop
died=$(deaths)
# One that was killed after it wrote what the one before died of, and before it knew that it had, leaves it to the next.
EVE_ONCE=sluice.engine.number wait_events ips "$died" event_type=engine sluice.engine.action=restarted
told=$(events ips event_type=engine sluice.engine.action=restarted)
[ "$told" -le $((died + died / 2)) ] || fail "$died engines died, and that was told $told times"
wait_stats ips "$supervisor" engine.restarts "$died"
grep -q 192.0.2.7 <<<"$(gateway "$SLUICE" blocklist list)" || fail "the blocklist is empty"
equal "in quarantine" "$(last_stats ips engine.quarantined)" 0
stop_process "$supervisor" || fail "exit code $?"
grep -q sluice <<<"$(gateway nft list tables)" && fail "the table is still there"
[ "$(gateway cat /proc/net/netfilter/nfnetlink_queue | wc -l)" = 0 ] || fail "a queue is still bound"
