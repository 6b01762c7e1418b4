#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reloads that change the outputs while packets flow: outputs begin and end, event types change, and those that stay
# lose no event. What cannot change is named.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0

# configure TYPES OUTPUTS
configure() {
	cat >"$WORK/sluice.yaml" <<-END
		eve: {types: {$1}}
		outputs: {stays: {types: [alert]}, $2}
	END
}

reloads=0
reload() {
	reloads=$((reloads + 1))
	"$SLUICE" reload --socket "$WORK/ips.control" >"$WORK/reload.log" 2>&1 || fail "the reload failed"
}
lines() { wc -l <"$WORK/ips/$1"; }
alerts() { grep -c '"event_type":"alert"' "$WORK/ips/$1" || true; }

cat >"$WORK/t.rules" <<END
alert udp any any -> any 7000 (msg:"each"; content:"number"; sid:1;)
drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:2;)
END
udp_sink 7000 "$WORK/got"
configure "alert: yes" "second: {types: [alert]}"
start_sluice ips --config "$WORK/sluice.yaml" --rules "$WORK/t.rules" --no-console
SLUICE_PID=$LAST_PID
background cli python3 "$HERE/traffic.py" udp-paced 10.66.2.2 7000 500 60
PACED=$LAST_PID
wait_for test -s "$WORK/ips/second.json" || fail "the output of the start gets no events"

# An output ends, another begins, and the event file gets drop events, too.
configure "alert: yes, drop: {flows: all}" "third: {types: [drop]}, nowhere: {filename: $WORK/none/x.json}, \
server: {filetype: syslog, types: [alert]}"
reload
wait_for test -s "$WORK/ips/third.json" || fail "the new output gets no events"
ended=$(lines second.json)
grep -q "output nowhere: cannot open its file .*No such file.*sluice upgrade" "$WORK/ips.log" ||
	fail "the output without a folder is not reported"
grep -q "output server: the buffer for sluice-ship .*sluice upgrade" "$WORK/ips.log" ||
	fail "the new output to a server is not reported"
wait_for test "$(grep -c '"event_type":"drop"' "$WORK/ips/third.json")" -gt 0
grep -q '"event_type":"alert"' "$WORK/ips/third.json" && fail "the new output gets other events"
wait_for grep -q '"event_type":"drop"' "$WORK/ips/eve.json" || fail "the event file gets no drop events"
equal "lines of the output that ended" "$(lines second.json)" "$ended"
equal "outputs in the counters" "$("$SLUICE" stats --all output.destinations --socket "$WORK/ips.control" |
	grep -o 'destinations\.[a-z]*\.events' | sort | tr '\n' ' ')" \
	"destinations.stays.events destinations.third.events "

# Many changes in turn.
for i in $(seq 10); do
	configure "alert: yes" "turn$((i % 2)): {types: [alert]}"
	reload
done
# A reload that fails changes no output.
configure "alert: yes" "failed: {types: [alert]}"
mv "$WORK/t.rules" "$WORK/gone"
"$SLUICE" reload --socket "$WORK/ips.control" >"$WORK/reload.log" 2>&1 && fail "a reload without rules succeeded"
mv "$WORK/gone" "$WORK/t.rules"

kill -TERM "$PACED"
wait "$PACED" || true
sent=$(tail -n 1 "$WORK/background.log")
kill -TERM "$SLUICE_PID"
wait "$SLUICE_PID" || true
[ "$sent" -gt 100 ] || fail "only $sent packets were sent"
equal "alerts of sid 1 in the event file" "$(grep '"event_type":"alert"' "$WORK/ips/eve.json" |
	grep -c '"signature_id":1,')" "$sent"
equal "alerts of the output that stays" "$(alerts stays.json)" "$(alerts eve.json)"
[ "$(lines turn0.json)" -gt 0 ] && [ "$(lines turn1.json)" -gt 0 ] || fail "the outputs in turn got no events"
