#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An engine that was taken over does its worst to the supervisor (hostile.c): garbage in the shared memory, floods of
# messages, messages that are none, descriptors, a channel that it does not read or closes, queues that it gives up. The
# supervisor replaces it each time, and is neither killed nor blocked; when that happens too often, the configured
# policy decides.
. "$(dirname "$0")/lib.sh"
: "${SLUICE_HOSTILE:?path of the library}"
topology
echo 'drop udp any any -> any 7003 (msg:"evil"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
mkdir -p "$WORK/orders"
options=(--queue 0-1 --rules "$WORK/t.rules" --attach after --no-console
	--set "security.landlock.directories.write=[$WORK/orders]")
hostile_start() {
	export LD_PRELOAD=$SLUICE_HOSTILE HOSTILE=$WORK/orders \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"
	start_sluice "$@" "${options[@]}"
	unset LD_PRELOAD
	supervisor=$LAST_PID
}
udp_sink 7003 "$WORK/got"
descriptors() { find "/proc/$supervisor/fd" -mindepth 1 | wc -l; }

readies() { grep -c "sluice: ready" "$1"; } # readies FILE
# hostile NAME PATTERN: the supervisor says that, another engine comes, and inspects.
hostile() {
	local before lines ready
	before=$(engine_of "$supervisor")
	lines=$(wc -l <"$WORK/ips.log")
	ready=$(readies "$WORK/ips.log")
	: >"$WORK/orders/$1"
	wait_more_lines "$WORK/ips.log" "sluice: ready" $((ready + 1))
	tail -n "+$((lines + 1))" "$WORK/ips.log" >"$WORK/said"
	grep -q "sluice: ready" "$WORK/said" || fail "$1: no other engine: $(cat "$WORK/said")"
	grep -q "$2" "$WORK/said" || fail "$1: the supervisor does not say '$2': $(cat "$WORK/said")"
	[ "$(engine_of "$supervisor")" != "$before" ] || fail "$1: it is the same engine"
	kill -0 "$supervisor" || fail "$1: the supervisor has died"
	udp_send cli 10.66.2.2 7003 "before $1" "EVIL $1" "after $1"
	wait_text "$WORK/got" "after $1"
	grep -q "EVIL" "$WORK/got" && fail "$1: traffic is not inspected"
	true
}

hostile_start ips
had=$(descriptors)
hostile memory "killed by signal 11"
grep -q "was cut" "$WORK/ips.log" && fail "the shared memory could be cut"
hostile flood "the engine sent too many messages"
hostile garbage "the engine sent invalid messages"
hostile deaf "the engine \(does not read its messages\|sent too many messages\)"
hostile upgrades "the engine \(does not read its messages\|sent too many messages\)"
hostile files "killed by signal"
hostile queues "killed by signal"
hostile close "the engine closed its channel"
equal "restarts in sluice status" "$("$SLUICE" status --json --socket "$WORK/ips.control" |
	sed -E 's/.*"restarts":([0-9]+).*/\1/')" 8
equal "descriptors of the supervisor" "$(descriptors)" "$had"
"$SLUICE" upgrade --socket "$WORK/ips.control" >"$WORK/out" 2>&1 || fail "no upgrade afterwards: $(cat "$WORK/out")"
stop_process "$supervisor" || fail "exit code $?"

# Too many of them: violations are closed, everything else would be open. No datagram passes from the last death on.
ready_again_or_ended() { [ "$(readies "$WORK/closed.log")" -gt "$ready" ] || has_ended "$supervisor"; }
hostile_start closed --set engine.restart-limit=1 --set engine.failure-policy=open --set engine.violation-policy=closed
for _ in 1 2; do
	ready=$(readies "$WORK/closed.log")
	: >"$WORK/orders/flood"
	wait_for ready_again_or_ended || fail "the supervisor neither replaces the engine nor ends"
done
code=0
wait "$supervisor" || code=$?
equal "exit code" "$code" 1
grep -q "traffic is dropped from now on (engine.violation-policy: closed)" "$WORK/closed.log" ||
	fail "$(cat "$WORK/closed.log")"
client ping -c 2 -i 0.2 -W 1 -q 10.66.2.2 >/dev/null && fail "traffic passes"
gateway "$SLUICE" nft remove || fail "the table can't be removed"
client ping -c 2 -i 0.2 -W 1 -q 10.66.2.2 >/dev/null || fail "traffic does not pass without the table"
