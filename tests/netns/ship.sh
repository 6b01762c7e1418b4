#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Further outputs of the sandboxed daemon: files of its own for fast.log, stats.log and selected events, and a server
# behind sluice-ship. Neither the death of sluice-ship nor that of the engine loses an event, and no verdict waits.
. "$(dirname "$0")/lib.sh"
ship=$(dirname "$SLUICE")/sluice-ship
[ -x "$ship" ] || skip "sluice-ship is not built"
topology
queue_rule --queue-num 0
echo 'alert udp any any -> any 7000 (msg:"any"; content:"number"; priority:3; sid:1;)
drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; priority:1; sid:2;)' >"$WORK/t.rules"
cat >"$WORK/sluice.yaml" <<END
sensor-name: gw7
output.ship-socket: $WORK/ship/socket
outputs:
  fast: {format: fast, filename: fast.log, severity: 1}
  stats: {format: stats, filename: stats.log}
  elsewhere: {filename: $WORK/elsewhere/drops.json, types: [drop]}
  reader: {filetype: unix_stream, filename: $WORK/reader.sock, types: [alert]}
  off: {enabled: no, filetype: unix_stream}
END
mkdir "$WORK/elsewhere"
: >"$WORK/got"
udp_sink 7000 "$WORK/got"
cat >"$WORK/reader.py" <<'END'
import os, socket, sys
path, out = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
if os.path.exists(path):
    os.unlink(path)
s.bind(path)
s.listen()
with open(out, "ab", buffering=0) as file:
    while True:
        connection, _ = s.accept()
        while data := connection.recv(65536):
            file.write(data)
END
: >"$WORK/read"
start_reader() {
	python3 "$WORK/reader.py" "$WORK/reader.sock" "$WORK/read" &
	reader=$!
	wait_for test -S "$WORK/reader.sock" || fail "no reader"
}
start_ship() {
	"$ship" --config "$WORK/sluice.yaml" 2>>"$WORK/ship.log" &
	shipper=$!
}
ask() { "$SLUICE" "$@" --socket "$WORK/ips.control"; }
output() { ask stats --all "output.destinations.reader.$1" | awk '{ print $2 }'; }
# flood ARRIVED: 1000 datagrams, of which 111 are dropped.
flood() {
	client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 1000
	wait_lines "$WORK/got" number "$1"
}
distinct() { grep -o '"queue":{"number":0,"id":[0-9]*.*"signature_id":[12]' "$WORK/read" |
	sed -E 's/.*"id":([0-9]*).*"signature_id":([12])/\1 \2/' | sort -u | wc -l; }

start_reader
start_ship
start_sluice ips --queue 0 --rules "$WORK/t.rules" --no-console --config "$WORK/sluice.yaml"
supervisor=$LAST_PID
grep -q "Landlock on; seccomp filter on" "$WORK/ips.log" || echo "note: no sandbox here"
flood 889
wait_equal "events that the reader has" 1111 distinct
grep -q '"host":"gw7"' "$WORK/read" || fail "no host in the events"
wait_for test -s "$WORK/ips/fast.log" || fail "no fast.log"
equal "lines of fast.log" "$(grep -c '\[Drop\] \[\*\*\] \[1:2:0\] fives \[\*\*\] .* {UDP} ' "$WORK/ips/fast.log")" 111
equal "other lines" "$(grep -vc fives "$WORK/ips/fast.log")" 0
equal "drops" "$(grep -c '"event_type":"drop"' "$WORK/elsewhere/drops.json")" 111
kill -USR1 "$supervisor"
wait_for grep -q "^capture.kernel_packets .*Total" "$WORK/ips/stats.log" || fail "no counters"
ask status | grep "^output reader: 1111 events delivered, 0 waiting, 0 lost$" || fail "$(ask status)"

# SIGHUP reopens the files of all outputs.
mv "$WORK/ips/fast.log" "$WORK/fast.1"
mv "$WORK/elsewhere/drops.json" "$WORK/drops.1"
kill -HUP "$supervisor"
wait_for test -e "$WORK/ips/fast.log" || fail "fast.log was not reopened"
wait_for test -e "$WORK/elsewhere/drops.json" || fail "drops.json was not reopened"

# sluice-ship dies: the events wait, and its successor sends them.
kill -9 "$shipper"
flood 1778
equal "verdicts" "$(grep -c "number 5" "$WORK/got" || true)" 0
wait_equal "events that wait" 1111 output waiting
wait_for grep -q "output reader: sluice-ship does not listen on output.ship-socket" "$WORK/ips.log" ||
	fail "the log does not say that sluice-ship is missing"
start_ship
wait_equal "delivered" 2222 output delivered
wait_for grep -q "output reader: events are delivered again" "$WORK/ips.log" || fail "the end is not logged"

# The engine is killed while the reader is away: its events arrive all the same.
kill "$reader"
rm "$WORK/reader.sock"
flood 2667
wait_equal "events that wait for the reader" 1111 output waiting
kill -9 "$(engine_of "$supervisor")"
start_reader

wait_equal "events of all engines" 3333 distinct
stop_process "$supervisor"
kill "$shipper"
wait_for has_ended "$shipper" || fail "sluice-ship does not end"
