#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon of a sensor: a reload, an engine that dies, commands that it refuses, and an interface that is missing while
# an engine is replaced; `sluice run` with capture.method is the same sensor. Messages of a start that fails.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
mirror
rules=$WORK/sensor.rules
rule() { echo "drop udp any any -> any 7777 (msg:\"probe\"; content:\"probe\"; sid:$1;)"; }
rule 1 >"$rules"
probe() { client python3 -E "$HERE/sensor.py" probe m0; }
alerts() { events daemon event_type=alert "alert.signature_id=$1"; }
control() { local command=$1; shift; "$SLUICE" "$command" --socket "$WORK/daemon.control" "$@"; }
# matches SID: sends a packet and waits for an alert of the rule.
matches() {
	local had
	had=$(alerts "$1")
	for _ in $(seq 20); do
		probe
		sleep 0.2
		[ "$(alerts "$1")" -le "$had" ] || return 0
	done
	fail "rule $1 does not match"
}

start_sensor daemon --rules "$rules"
pid=$LAST_PID
matches 1
[ "$(events daemon event_type=alert alert.action=allowed)" -gt 0 ] || fail "the alert of a drop rule is not 'allowed'"
[ "$(events daemon event_type=drop)" = 0 ] || fail "a sensor has a drop event"
[ "$(events daemon event_type=alert sluice.ring=0)" -gt 0 ] || fail "no ring in events"

rule 2 >>"$rules"
control reload >/dev/null || fail "no reload"
matches 2

control upgrade >"$WORK/upgrade.log" 2>&1 && fail "an upgrade of a sensor"
grep -q 'a sensor has no hand-over: restart the daemon' "$WORK/upgrade.log" || fail "upgrade: $(cat "$WORK/upgrade.log")"
control mode drop >"$WORK/mode.log" 2>&1 && fail "a sensor in mode drop"
grep -q 'drops nothing' "$WORK/mode.log" || fail "mode: $(cat "$WORK/mode.log")"
ask_stats daemon "$pid"
equal "memory of the ring" "$(last_stats daemon queue.0.ring_bytes)" $((32 << 20))
control status | grep -q '^sandbox: user root, CAP_NET_RAW only' || fail "status: $(control status)"

engine=$(engine_of "$pid")
kill -9 "$engine"
[ -n "$(next_engine "$pid" "$engine")" ] || fail "no other engine"
wait_lines "$WORK/daemon.log" 'sluice: ready' 2
matches 2

engine=$(engine_of "$pid")
gateway ip link del m1
wait_text "$WORK/daemon.log" 'interface m1 has disappeared'
kill -9 "$engine"
wait_lines "$WORK/daemon.log" 'sluice: ready' 3
add_mirror
matches 2
stop_process "$pid" || fail "the sensor ends with $?"
schema=${SLUICE_SHARED:-}/verify/etc/eve-schema.json
if [ -f "$schema" ] && python3 -c 'import fastjsonschema' 2>/dev/null; then
	python3 "$HERE/../conformance/schema.py" "$schema" "$WORK/daemon/eve.json" || fail "events are not valid"
fi

rm -rf "$WORK/daemon"
start_sluice daemon --rules "$rules" --set capture.method=af-packet --set af-packet.interfaces=m1
pid=$LAST_PID
matches 2
stop_process "$pid" || fail "run as sensor ends with $?"

# As another user, with the whole sandbox: the worker opens a ring again with CAP_NET_RAW alone.
rm -rf "$WORK/daemon"
chmod 755 "$WORK"
mkdir "$WORK/daemon"
chown nobody "$WORK/daemon"
start_sensor daemon --rules "$rules" --set run-as.user=nobody --set security.seccomp=yes --workers 2
pid=$LAST_PID
matches 2
gateway ip link del m1
wait_text "$WORK/daemon.log" 'interface m1 has disappeared'
add_mirror
matches 2
stop_process "$pid" || fail "the sensor of another user ends with $?"

# fails WANTED ARGS...: fails unless the command exits with 1 after one line that contains WANTED.
fails() {
	local wanted=$1 code=0
	shift
	ip netns exec "$P-gw" "$SLUICE" sensor --log-dir "$WORK/fails" --set "unix-command.filename=$WORK/fails.control" \
		--set security.sandbox=no --set run-as.user=root "$@" >"$WORK/fails.log" 2>&1 || code=$?
	[ "$code" = 1 ] || fail "exit code $code, wanted 1: $*"
	[ "$(grep -c '^sluice sensor: ' "$WORK/fails.log")" = 1 ] || fail "not one line: $*"
	grep -q "^sluice sensor: .*$wanted" "$WORK/fails.log" || fail "no '$wanted': $*"
}
fails 'cannot capture from none: no such interface: No such device; `ip link`' --interface none
fails 'af-packet.bpf-filter "port" is wrong: .*pcap-filter' --interface m1 --filter port
fails 'more than af-packet.memcap' --interface m1 --set af-packet.memcap=16MiB
echo "ok"
