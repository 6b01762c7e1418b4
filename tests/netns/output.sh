#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Output never holds up a verdict: a disk that is full, a folder that goes, a reader that dies. What is lost is counted
# by kind.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'alert udp any any -> any 7000 (msg:"any"; content:"number"; sid:1;)
drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:2;)' >"$WORK/t.rules"
: >"$WORK/got"
udp_sink 7000 "$WORK/got"

# flood NAME ARRIVED: 1000 datagrams, of which 111 are dropped; that many lines are in the sink afterwards.
flood() {
	client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 1000
	wait_lines "$WORK/got" number "$2"
	equal "$1: dropped" "$(grep -c "number 5" "$WORK/got" || true)" 0
}
ask() { "$SLUICE" "$@" --socket "$WORK/socket"; }
counter() { ask stats --all "$1" | awk '{ print $2 }'; }

# wait_sum ALERTS: until all of them are written or lost, but for one that may be cut: its rest is kept.
wait_sum() {
	wait_for has_sum "$1" ||
		fail "of $1 alerts $(counter output.alert.written) are written and $(counter output.alert.lost) lost"
}
has_sum() {
	local sum
	sum=$(($(counter output.alert.written) + $(counter output.alert.lost)))
	[ "$sum" = "$1" ] || [ "$sum" = $(($1 - 1)) ]
}

# A disk of 200 kB.
mkdir "$WORK/ips"
mount -t tmpfs -o size=200k none "$WORK/ips" 2>/dev/null || skip "no tmpfs can be mounted"
trap 'umount -l "$WORK/ips" 2>/dev/null || true; cleanup' EXIT
start_sluice ips --queue 0 --rules "$WORK/t.rules" --no-console --set "unix-command.filename=$WORK/socket"
flood "full disk" 889
wait_sum 1111
[ "$(counter output.alert.lost)" -gt 0 ] || fail "nothing was lost on a full disk"
[ "$(counter output.alert.written)" -gt 0 ] || fail "nothing was written"
[ "$(counter output.drop.lost)" -gt 0 ] || fail "losses are not counted by kind"
[ "$(counter output.write_errors)" -gt 0 ] || fail "no error is counted"
lost=$(counter output.alert.lost)

# Room again, by a rotation: it goes on, and all lines are whole.
mv "$WORK/ips/eve.json" "$WORK/old.json"
kill -HUP "$LAST_PID"
wait_for test -e "$WORK/ips/eve.json" || fail "no new file after SIGHUP"
udp_send cli 10.66.2.2 7000 "number last"
wait_events ips 1 event_type=alert alert.signature_id=1
[ "$(counter output.alert.lost)" -le $((lost + 1)) ] || fail "events are lost where there is room"
python3 -c 'import json, sys
for line in open(sys.argv[1]).read().split("\n")[:-2]: json.loads(line)' "$WORK/old.json" || fail "a line is broken"
equal "no reload" "$(ask status --json | grep -c '"generation":1')" 1

# Its folder goes, and comes back.
umount -l "$WORK/ips"
rmdir "$WORK/ips"
flood "no folder" 1779
stop_process "$LAST_PID" || fail "exit code $?"

# A reader that does not come, comes, stops reading, and dies.
start_sluice reader --queue 0 --rules "$WORK/t.rules" --no-console --set "unix-command.filename=$WORK/socket" \
	--set eve.filetype=unix_stream --set "eve.filename=$WORK/events"
flood "no reader" 2668
wait_sum 1111
equal "written to nobody" "$(counter output.alert.written)" 0
python3 - "$WORK/events" >"$WORK/reader.out" <<'PYTHON' &
import signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(1)
reader = server.accept()[0]
print('connected', flush=True)
reader.recv(1)
signal.pause()
PYTHON
READER=$!
wait_text "$WORK/reader.out" connected
flood "slow reader" 3557
wait_sum 2222
[ "$(counter output.alert.written)" -gt 0 ] || fail "the reader got nothing"
kill_process "$READER"
flood "dead reader" 4446
wait_sum 3333
lost=$(ask status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["events_lost"])')
[ "$lost" -ge 1111 ] || fail "events lost in the status: $lost"
grep -q "^$lost events lost" <<<"$(ask status)" || fail "the status does not show $lost lost events: $(ask status)"
stop_process "$LAST_PID" || fail "exit code $?"
