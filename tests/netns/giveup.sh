#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Engines that keep dying: after the limit the supervisor ends, loudly, and traffic passes or is dropped as configured.
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"

ends() { # kills the engine that there is now
	local engine
	engine=$(engine_of "$LAST_PID")
	[ -z "$engine" ] || kill -SEGV "$engine" 2>/dev/null || true
	has_ended "$LAST_PID"
}
# give_up NAME ARGS...: until the supervisor has ended.
give_up() {
	local name=$1 code=0
	start_sluice "$name" --queue 0-1 --rules "$WORK/t.rules" --set engine.restart-limit=3 "${@:2}"
	[ -z "${WHILE_UP:-}" ] || $WHILE_UP
	wait_for ends || fail "$name: the supervisor starts engines for ever"
	wait "$LAST_PID" || code=$?
	equal "$name: exit code" "$code" 1
	grep -q "sluice run: the engine died 4 times in a row" "$WORK/$name.log" || fail "$name: does not say why it ended"
}
pings() { client ping -c 3 -i 0.2 -W 1 -q 10.66.2.2 >"$WORK/pings" 2>&1; }

# A client sends what the rules forbid all the time: with `closed` none of it arrives at any moment, with `open` not
# before the end.
udp_sink 7000 "$WORK/got"
cat >"$WORK/send.py" <<'PY'
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
n = 0
while True:
    s.sendto(b'EVIL-PATTERN %d' % n, ('10.66.2.%d' % (2 + n % 4), 7000))
    n += 1
    time.sleep(0.002)
PY
attack_start() { : >"$WORK/got"; ip netns exec "$P-cli" python3 "$WORK/send.py" & ATTACK=$!; }
attack_stop() { kill "$ATTACK"; wait "$ATTACK" 2>/dev/null || true; }
arrived() { grep -c EVIL "$WORK/got" || true; }

give_up open --attach after --set engine.failure-policy=open
grep -q "traffic passes uninspected from now on (engine.crash-policy.*: open).*start sluice again" "$WORK/open.log" ||
	fail "open: does not say so"
grep -q "in a row.*; traffic passes uninspected" "$WORK/open.log" || fail "open: the last line does not say so"
grep -q sluice <<<"$(gateway nft list tables)" && fail "open: the table is still there"
pings || fail "open: traffic does not pass"

# closed NAME SETTINGS...: the queues let packets pass when they are full, but not then.
closed() {
	start_sluice "probe-$1" --queue 0-1 --rules "$WORK/t.rules" --attach after "${@:2}"
	"$SLUICE" status --socket "$WORK/probe-$1.control" >"$WORK/status" || fail "no status"
	grep -q "^if engines keep dying: .*is dropped after: .*crash" "$WORK/status" ||
		fail "$1: status does not show the policy: $(cat "$WORK/status")"
	"$SLUICE" mode --json --socket "$WORK/probe-$1.control" | grep -q '"crash":"closed"' ||
		fail "$1: mode --json does not show the policy"
	stop_process "$LAST_PID" || fail "exit code $?"
	WHILE_UP=attack_start give_up "$1" --attach after --set queue.fail-open=yes --set queue.length=16 "${@:2}"
	grep -q "traffic is dropped from now on (engine.crash-policy.*: closed); start sluice again.*sluice nft remove" \
		"$WORK/$1.log" || fail "$1: does not say so"
	grep -q "in a row.*; traffic is dropped" "$WORK/$1.log" || fail "$1: the last line does not say so"
	grep -q sluice <<<"$(gateway nft list tables)" || fail "$1: the table is gone"
	pings && fail "$1: traffic passes"
	attack_stop
	equal "$1: forbidden datagrams that arrived" "$(arrived)" 0
}
closed closed --set engine.failure-policy=closed
start_sluice again --queue 0-1 --rules "$WORK/t.rules" --attach after
pings || fail "closed: not after another start"
stop_process "$LAST_PID" || fail "exit code $?"
closed cause --set engine.failure-policy=open --set engine.crash-policy=closed
gateway "$SLUICE" nft remove || fail "the table can't be removed"

# The setting of another cause has no effect.
give_up other --attach after --set engine.failure-policy=open --set engine.hang-policy=closed \
	--set engine.memory-policy=closed \
	--set engine.violation-policy=closed
pings || fail "other: traffic does not pass"

# The first engine does not start: the firewall stays as it is, unless engine.start-policy is closed.
echo 'alert tcp any any -> any any (msg:"no sid";' >"$WORK/bad.rules"
first_start() {
	ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --queue 0-1 --rules "$WORK/bad.rules" \
		--attach after --no-console \
		--set "unix-command.filename=$WORK/first.control" --set engine.init-failure-fatal=yes --log-dir "$WORK" "$@" \
		>"$WORK/first.log" 2>&1 &&
		fail "it starts with a broken rule"
	true
}
first_start --set engine.failure-policy=closed
pings || fail "first start: traffic does not pass"
first_start --set engine.start-policy=closed
grep -q "traffic is dropped from now on (engine.start-policy: closed)" "$WORK/first.log" ||
	fail "first start: $(cat "$WORK/first.log")"
pings && fail "first start, closed: traffic passes"
# Nor does a second daemon that finds the queues taken close the first one's table.
start_sluice first --queue 0-1 --rules "$WORK/t.rules" --attach after
first=$LAST_PID
ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --queue 0-1 --rules "$WORK/t.rules" --attach after \
	--no-console --log-dir "$WORK" \
	--set "unix-command.filename=$WORK/second.control" --set engine.start-policy=closed >"$WORK/second.log" 2>&1 &&
	fail "two daemons have the queues"
grep -q "traffic is dropped" "$WORK/second.log" && fail "the second daemon has closed the gateway"
pings || fail "the second daemon has stopped traffic"
stop_process "$first" || fail "exit code $?"

# auto is what nft.bypass says.
give_up auto-open --attach after
pings || fail "auto: traffic does not pass"
give_up auto-closed --attach after --set nft.bypass=no
pings && fail "auto without bypass: traffic passes"
gateway "$SLUICE" nft remove || fail "the table can't be removed"
pings || fail "traffic does not pass without the table"
