#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is wrong when the running daemon reads its configuration again, by a reload or an upgrade: said to who asked, and
# everything stays as it was. A user that is not there, a queue that is taken, rules and settings with mistakes.
. "$(dirname "$0")/lib.sh"
topology
echo 'drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:1;)' >"$WORK/t.rules"
ask() { gateway "$SLUICE" "$@" --socket "$WORK/socket"; }
configure() { # configure QUEUES [LINE]...
	printf 'queue: {numbers: "%s"}\nrule-files: [%s]\n' "$1" "$WORK/t.rules" >"$WORK/ips.yaml"
	[ $# -lt 2 ] || printf '%s\n' "${@:2}" >>"$WORK/ips.yaml"
}
configure 0-1
mkdir "$WORK/ips"
ip netns exec "$P-gw" "$SLUICE" run --config "$WORK/ips.yaml" --log-dir "$WORK/ips" --attach after --no-console \
	--set "unix-command.filename=$WORK/socket" >"$WORK/ips.log" 2>&1 &
ips=$!
wait_text "$WORK/ips.log" "^sluice: ready"
engine=$(engine_of "$ips")

# refuses WHAT PATTERN COMMAND: the command fails, somebody says why, and it goes on as it was.
refuses() {
	ask "$3" >"$WORK/out" 2>&1 && fail "$1: $3 did not fail"
	# The command upgrade shows the reason; a reload may only log it.
	grep -qE "$2" "$WORK/out" $([ "$3" = upgrade ] || echo "$WORK/ips.log") ||
		fail "$1: $3 does not say /$2/: $(cat "$WORK/out")"
	equal "$1: engine" "$(engine_of "$ips")" "$engine"
	client ping -c 1 -W 2 -q 10.66.2.2 >/dev/null || fail "$1: traffic does not pass"
}
configure 0-1 'run-as: {user: nobody-of-that-name}'
refuses "no user" "sluice run: run-as.user: nobody-of-that-name: user not found: create it, or set another user" upgrade
code=0
"$SLUICE" run --check --config "$WORK/ips.yaml" >"$WORK/out" 2>&1 || code=$?
equal "check: exit code" "$code" 1
grep -q "run-as.user: nobody-of-that-name: user not found" "$WORK/out" || fail "check: $(cat "$WORK/out")"

# A queue that somebody else has: at a reload it is no matter yet, at an upgrade it is seen before the old engine has
# handed over.
background gw python3 "$HERE/hold_queue.py" 2
holder=$LAST_PID
wait_text "$WORK/background.log" bound
configure 0-2
ask reload >"$WORK/out" 2>&1 || fail "reload: $(cat "$WORK/out")"
grep -q "'queue.numbers' has changed: it takes effect with .sluice upgrade., or at the next start" "$WORK/out" \
	"$WORK/ips.log" || fail "reload: does not tell of the queue"
refuses "queue taken" "queue 2 is in use by .*process $holder .*: stop that process or choose another queue number" \
	upgrade

configure 0-1 'queue-of-nothing: 3'
refuses "bad configuration" "ips.yaml:3:.*queue-of-nothing" reload
refuses "bad configuration" "ips.yaml:3:.*queue-of-nothing" upgrade
configure 0-1
echo 'alert udp any any -> any 7000 (contnt:"x"; sid:2;)' >>"$WORK/t.rules"
ask reload >"$WORK/out" 2>&1 || fail "a rule with a mistake stops the reload: $(cat "$WORK/out")"
grep -q "t.rules:2:.*contnt" "$WORK/out" || fail "the reload does not report the mistake: $(cat "$WORK/out")"
mv "$WORK/t.rules" "$WORK/gone"
refuses "no rules" "the rules could not be loaded" reload
refuses "no rules" "the rules could not be loaded|would not start" upgrade
mv "$WORK/gone" "$WORK/t.rules"

# With all of it put right it goes on, by the same process.
kill "$holder"
wait_equal "packets in a queue 2 without a listener" "" kernel_queue 2 waiting
sed -i 2d "$WORK/t.rules"
ask upgrade >"$WORK/out" 2>&1 || fail "upgrade: $(cat "$WORK/out")"
client ping -c 1 -W 2 -q 10.66.2.2 >/dev/null || fail "traffic does not pass"
stop_process "$ips" || fail "exit code $?"
