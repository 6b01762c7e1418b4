#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What never answers: a rule file that can't be read to its end, at the start, at a reload, for the next engine after a
# death, and for one that is to take over; and an engine that does not stop. Nobody waits for ever, and traffic goes on
# or is treated by the policy.
. "$(dirname "$0")/lib.sh"
topology
rules() {
	rm -f "$WORK/t.rules"; echo 'drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:1;)' \
		>"$WORK/t.rules"
}
stuck() { rm -f "$WORK/t.rules"; mkfifo "$WORK/t.rules"; } # nobody ever writes
tells() { wait_text "$WORK/$1.log" "$2"; } # tells NAME PATTERN
pings() { client ping -c 2 -i 0.2 -W 1 -q 10.66.2.2 >/dev/null 2>&1; }
ask() { "$SLUICE" "$@" --socket "$WORK/socket"; }
options=(--rules "$WORK/t.rules" --queue 0-1 --attach after --no-console --set "unix-command.filename=$WORK/socket"
	--set engine.load-timeout=1)

# At the start: it ends, with the firewall as it was.
stuck
code=0
mkdir "$WORK/start"
timeout 20 ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/start" "${options[@]}" \
	>"$WORK/start.log" 2>&1 || code=$?
equal "start: exit code" "$code" 1
tells start "sluice run: the engine was not ready within 1 s (engine.load-timeout) and was killed"
grep -q sluice <<<"$(gateway nft list tables)" && fail "start: the table is there"

# At a reload: the old rules stay, whoever asked is told, and so is the next one; a new engine goes on where the old one
# can't.
rules
start_sluice ips "${options[@]}"
ips=$LAST_PID
stuck
ask reload >"$WORK/out" 2>&1 && fail "reload: a file without an end was loaded"
grep -q "not done within 1 s (engine.load-timeout).*sluice upgrade" "$WORK/out" ||
	fail "reload: does not say why: $(cat "$WORK/out")"
ask reload >"$WORK/out" 2>&1 && fail "reload: another one while one stands still"
grep -q "previous reload is hung.*sluice upgrade" "$WORK/out" ||
	fail "reload: does not say what to do: $(cat "$WORK/out")"
pings || fail "reload: traffic does not pass"

# One that is to take over: it is given up, and the old one goes on.
ask upgrade >"$WORK/out" 2>&1 && fail "upgrade: one without rules has taken over"
grep -q "was not ready within 1 s" "$WORK/out" || fail "upgrade: does not say why: $(cat "$WORK/out")"
pings || fail "upgrade: traffic does not pass"

# With the file there is a way out, without loss, though the old engine's reload still waits.
rules
client ping -i 0.02 -c 150 -W 1 -q 10.66.2.2 >"$WORK/pings" 2>&1 &
PINGS=$!
ask upgrade >"$WORK/out" 2>&1 || fail "upgrade: $(cat "$WORK/out")"
ask reload >"$WORK/out" 2>&1 || fail "no reload after the upgrade: $(cat "$WORK/out")"
wait "$PINGS" || true
grep -q " 0% packet loss" "$WORK/pings" || fail "upgrade: $(cat "$WORK/pings")"

# After a death: the second one that stands still is the last one, and the policy holds.
stuck
kill -SEGV "$(engine_of "$ips")"
code=0
wait "$ips" || code=$?
equal "death: exit code" "$code" 1
tells ips "sluice run: the engine died 2 times in a row.*was not ready within 1 s"
tells ips "traffic passes uninspected from now on"
pings || fail "death: traffic does not pass"

# An engine that can't stop: another one judges what waits and stops.
rules
start_sluice stops "${options[@]}" --set engine.stop-timeout=1 --set engine.load-timeout=20
freeze "$LAST_PID"
stop_process "$LAST_PID" || fail "stop: exit code $?"
tells stops "did not stop within 1 s (engine.stop-timeout) and was killed"
grep -q sluice <<<"$(gateway nft list tables)" && fail "stop: the table is left"
pings || fail "stop: traffic does not pass"

# The supervisor dies while the engine stands still: it goes, too. A writer that writes nothing shows that the engine
# has opened the file: until then its own open() blocks.
stuck
bash -c 'exec 3>"$0"; echo opened; exec sleep 600' "$WORK/t.rules" >"$WORK/writer" &
mkdir "$WORK/orphan"
ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/orphan" "${options[@]}" \
	--set engine.load-timeout=0 >"$WORK/orphan.log" 2>&1 &
LAST_PID=$!
wait_text "$WORK/writer" opened
wait_for has_engine "$LAST_PID" || fail "orphan: no engine"
kill_process "$LAST_PID"
