#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ends at the start: told to stop while it loads, killed while it loads, a supervisor that dies then; nothing is left of
# any.
. "$(dirname "$0")/lib.sh"
topology
gateway iptables -A FORWARD -p udp --dport 1 -j DROP
gateway nft list ruleset >"$WORK/before" 2>/dev/null
for i in $(seq 20000); do
	echo "alert tcp any any -> any $((i % 500))" \
		"(msg:\"filler\"; content:\"filler number $i\"; pcre:\"/some$i[a-f]+/\"; sid:$i;)"
done >"$WORK/t.rules"

# nothing_left NAME: of queues, tables, processes, the control socket.
nothing_left() {
	wait_equal "$1: queues" "" gateway cat /proc/net/netfilter/nfnetlink_queue
	gateway nft list ruleset >"$WORK/after" 2>/dev/null
	cmp -s "$WORK/before" "$WORK/after" || fail "$1: the firewall was changed"
	[ -z "$(ip netns pids "$P-gw")" ] || fail "$1: processes are left"
	[ ! -e "$WORK/control" ] || fail "$1: the control socket is left"
}

# begin NAME ARGS...: started, and loading: the engine has read the rules and is not ready. Sets LAST_PID, ENGINE.
begin() {
	local name=$1 size
	mkdir -p "$WORK/$name"
	ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/$name" --rules "$WORK/t.rules" \
		--queue 0-1 --attach after \
		--set "unix-command.filename=$WORK/control" "${@:2}" >"$WORK/$name.log" 2>&1 &
	LAST_PID=$!
	ENGINE=$(next_engine "$LAST_PID")
	[ -n "$ENGINE" ] || fail "$name: no engine: $(cat "$WORK/$name.log")"
	size=$(stat -c %s "$WORK/t.rules")
	wait_least "$name: bytes that the engine has read" "$size" awk '/^rchar:/ { print $2 }' "/proc/$ENGINE/io"
	grep -q "^sluice: ready" "$WORK/$name.log" && fail "$name: it does not take long enough"
	true
}

begin stopped
stop_process "$LAST_PID" || fail "stopped: exit code $?"
nothing_left stopped

begin killed
kill -SEGV "$ENGINE"
wait_text "$WORK/killed.log" "^sluice: ready"
client ping -c1 -W2 -q 10.66.2.2 >/dev/null || fail "killed: traffic does not pass"
grep -q . <<<"$("$SLUICE" status --socket "$WORK/control")" || fail "killed: the control socket does not answer"
stop_process "$LAST_PID" || fail "killed: exit code $?"
nothing_left killed

begin orphan
kill -9 "$LAST_PID"
wait "$LAST_PID" 2>/dev/null || true
wait_for has_ended "$ENGINE" || fail "orphan: it lives on"
rm -f "$WORK/control" # nobody is left who could
nothing_left orphan

# One that dies at its start again and again is given up.
begin again --set engine.restart-limit=2
gives_up() { # kills the engine that there is now
	ENGINE=$(engine_of "$LAST_PID")
	[ -z "$ENGINE" ] || kill -ABRT "$ENGINE" 2>/dev/null || true
	has_ended "$LAST_PID"
}
wait_for gives_up || fail "again: the supervisor starts engines for ever"
code=0
wait "$LAST_PID" || code=$?
equal "again: exit code" $code 1
grep -q "the engine died 3 times in a row" "$WORK/again.log" || fail "again: does not say why: $(cat "$WORK/again.log")"
nothing_left again
