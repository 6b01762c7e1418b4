#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mode alert-only changes nothing on the wire and reports what mode drop does: by queue range, by rule, by reload, by
# `sluice mode` for a time, and over a crash, an upgrade and the end of that time.
. "$(dirname "$0")/lib.sh"
topology
# Both directions of port 7004 go to queue 4, all else to queue 0.
for port in --dport --sport; do
	gateway iptables -t mangle -A FORWARD -p tcp $port 7004 -j NFQUEUE --queue-num 4 --queue-bypass
done
queue_rule --queue-num 0 --queue-bypass
cat >"$WORK/t.rules" <<'RULES'
reject tcp any any -> any any (msg:"evil"; flow:to_server; content:"EVIL"; sid:1;)
alert tcp-pkt any any -> any any (msg:"spelling"; flow:to_server; content:"colour"; replace:"COLOUR"; sid:2;)
reject tcp any any -> any any (msg:"quiet"; flow:to_server; content:"QUIET"; sid:4;)
alert tcp-pkt any any -> any any (msg:"quiet spelling"; flow:to_server; content:"grey"; replace:"GREY"; sid:5;)
RULES
printf '%s\n' 'alert-only 4' 'alert-only msg:"quiet spelling"' >"$WORK/policy"
config() { # config MODE: of the queues that have no mode of their own
	printf '%s\n' '%YAML 1.1' --- "ips: { mode: $1 }" 'queues: { "4": { ips-mode: alert-only } }' \
		"rule-policy: { file: $WORK/policy }" >"$WORK/sluice.yaml"
}
ask() { gateway "$SLUICE" "$@" --socket "$WORK/control"; }
mode() { ask mode --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])'; }
tcp() { client python3 "$HERE/traffic.py" tcp-ask 10.66.2.2 "$1" "$2"; }

stats() { ask stats "$1" | awk '{ print $2 }'; }
restarted() { # restarted ENGINE: waits for the next one, and until it answers
	wait_for another_answers "$1" || fail "no engine after $1"
}
another_answers() { has_engine "$supervisor" "$1" && ask status >/dev/null 2>&1; }

: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" tcp-echo 7004
wait_lines "$WORK/background.log" listening 2
# A connection that is older than Sluice: mode drop cuts it (stream.midstream-policy).
mkfifo "$WORK/steps"
client python3 -u "$HERE/traffic.py" tcp-steps 10.66.2.3 7004 <"$WORK/steps" >"$WORK/answers" 2>&1 &
exec 3>"$WORK/steps"
echo before >&3
wait_text "$WORK/answers" before

config drop
start_sluice ips --config "$WORK/sluice.yaml" --queue 0,4 --rules "$WORK/t.rules" \
	--set unix-command.filename="$WORK/control" \
	--set stream.midstream-grace=0 --set stats.interval=0
supervisor=$LAST_PID

# --- By queue range ---
equal "mode" "$(mode)" mixed
grep -q "queue 4: alert-only" <<<"$(ask mode)" || fail "the mode of the queue is not shown: $(ask mode)"
equal "EVIL in queue 0" "$(tcp 7001 EVIL)" RESET
sent=$(stats ips.reject_packets_sent)
[ "$sent" -gt 0 ] || fail "no reject packet was sent"
wait_events ips 1 event_type=drop drop.reason=rules sluice.queue.number=0
equal "EVIL in queue 4" "$(tcp 7004 EVIL)" EVIL
equal "colour in queue 0" "$(tcp 7001 colour)" COLOUR
equal "colour in queue 4" "$(tcp 7004 colour)" colour
equal "packets left as they were" "$(stats ips.would_replace)" 1
equal "reject packets" "$(stats ips.reject_packets_sent)" "$sent"
equal "would reject" "$(stats ips.would_reject)" 1
equal "reason" "$(stats ips.would_drop_reason.rules)" 1
[ "$(stats ips.would_drop)" -gt 1 ] || fail "later packets of the flow are not counted"
wait_events ips 1 event_type=alert alert.signature_id=1 sluice.queue.number=4 alert.action=allowed sluice.would_drop=true
wait_events ips 1 event_type=would_drop drop.reason=rules alert.signature_id=1 alert.action=allowed \
	sluice.queue.verdict=accept
equal "drop events of queue 4" "$(events ips event_type=drop sluice.queue.number=4)" 0
equal "blocked alerts of queue 0" "$(events ips event_type=alert alert.action=blocked sluice.queue.number=0)" 1
# Exception policies.
echo after >&3
wait_text "$WORK/answers" after
exec 3>&-
[ "$(stats ips.would_drop_reason.stream_midstream)" -gt 0 ] || fail "stream midstream is not counted"
[ "$(stats ips.would_drop_reason.exception_policy_flow_drop)" -gt 0 ] || fail "packets of the flow are not counted"

# --- By rule ---
before=$(stats ips.would_replace)
equal "QUIET in mode drop" "$(tcp 7001 QUIET)" QUIET
equal "grey in mode drop" "$(tcp 7001 grey)" grey
equal "packets that an alert-only rule left as they were" "$(stats ips.would_replace)" $((before + 1))
wait_events ips 1 event_type=alert alert.signature_id=4 sluice.queue.number=0 alert.action=allowed sluice.would_drop=true
wait_events ips 1 event_type=would_drop alert.signature_id=4 drop.reason=rules
equal "drop events of the rule" "$(events ips event_type=drop alert.signature_id=4)" 0
grep -q " 0 packets dropped, 1 packets passed by alert-only" <<<"$(ask explain 4)" || fail "explain: $(ask explain 4)"

# --- By reload ---
config alert-only
ask reload >"$WORK/reload.out" || fail "reload: $(cat "$WORK/reload.out")"
equal "mode after the reload" "$(mode)" alert-only
equal "EVIL after the reload" "$(tcp 7001 EVIL)" EVIL
# A crash does not switch to drop, although the file cannot be read any more.
echo "ips: { mode: nonsense" >"$WORK/sluice.yaml"
engine=$(engine_of "$supervisor")
kill -9 "$engine"
restarted "$engine"
equal "mode after the crash" "$(mode)" alert-only
equal "EVIL after the crash" "$(tcp 7001 EVIL)" EVIL
config drop
ask reload >"$WORK/reload.out" || fail "reload: $(cat "$WORK/reload.out")"
equal "mode after the second reload" "$(mode)" mixed
equal "EVIL after the second reload" "$(tcp 7001 EVIL)" RESET
wait_events ips 1 event_type=engine sluice.engine.action=mode sluice.engine.mode=alert-only sluice.engine.cause=reload

# --- By `sluice mode` ---
ask mode alert-only --for 1h | grep -q "mode: alert-only.*until" || fail "sluice mode does not say until when"
equal "EVIL in alert-only" "$(tcp 7001 EVIL)" EVIL
ask status | grep -q "^mode: alert-only.*until.*left" || fail "status does not say it: $(ask status)"
until=$(ask mode --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["until"][:16])')
engine=$(engine_of "$supervisor")
kill -9 "$engine"
restarted "$engine"
equal "EVIL after a crash" "$(tcp 7001 EVIL)" EVIL
engine=$(engine_of "$supervisor")
ask upgrade >"$WORK/upgrade.out" 2>&1 || fail "upgrade: $(cat "$WORK/upgrade.out")"
restarted "$engine"
equal "EVIL after an upgrade" "$(tcp 7001 EVIL)" EVIL
equal "the end of the time" "$(ask mode --json |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["until"][:16])')" "$until"
ask mode configured | grep -q "mode: mixed" || fail "sluice mode configured"
equal "EVIL as configured" "$(tcp 7001 EVIL)" RESET
# The configured mode returns after that time, even if the engine that got the command died.
ask mode alert-only --for 3s >/dev/null
equal "EVIL for three seconds" "$(tcp 7001 EVIL)" EVIL
engine=$(engine_of "$supervisor")
kill -9 "$engine"
wait_text "$WORK/ips.log" "mode mixed (expired)"
equal "EVIL after three seconds" "$(tcp 7001 EVIL)" RESET
wait_events ips 1 event_type=engine sluice.engine.action=mode sluice.engine.cause=expired sluice.engine.mode=mixed
# A queue that the configuration sets to alert-only stays so.
ask mode drop >/dev/null
equal "EVIL in queue 4 in mode drop" "$(tcp 7004 EVIL)" EVIL
# Wrong arguments change nothing.
ask mode silent 2>"$WORK/wrong" && fail "a mode that does not exist"
ask mode alert-only --for never 2>"$WORK/wrong" && fail "a time that is none"
ask mode --for 1m 2>"$WORK/wrong" && fail "a time without a mode"
equal "mode after wrong words" "$(mode)" mixed
stop_process "$supervisor" || fail "exit code $?"

# --- Connections that the kernel drops by itself ---
for ipt in iptables ip6tables; do gateway $ipt -t mangle -F FORWARD; done
config drop
echo 'drop tcp any any -> any any (msg:"dropped"; flow:to_server,established; content:"DROPPED"; sid:3;)' \
	>>"$WORK/t.rules"
start_sluice kernel --config "$WORK/sluice.yaml" --queue 0 --rules "$WORK/t.rules" \
	--set unix-command.filename="$WORK/control" \
	--attach after --set nft.offload.flows=dropped --set stats.interval=0
supervisor=$LAST_PID
mkfifo "$WORK/more"
client python3 -u "$HERE/traffic.py" tcp-steps 10.66.2.4 7001 <"$WORK/more" >"$WORK/heard" 2>&1 &
exec 4>"$WORK/more"
echo first >&4
wait_text "$WORK/heard" first
echo DROPPED >&4
wait_equal "connections that the kernel drops" 1 stats ips.offload.dropped
# A retransmission of the client passes.
ask mode alert-only >/dev/null
grep -q "removed nft.offload.drop-mark from 1 connections" "$WORK/kernel.log" ||
	fail "the mark of the connection is still there"
echo >&4
wait_text "$WORK/heard" DROPPED
exec 4>&-
# An engine that starts in alert-only removes the mark from the connections of the previous engine.
ask mode configured >/dev/null
client python3 "$HERE/traffic.py" tcp-ask 10.66.2.5 7001 DROPPED >/dev/null &
wait_equal "connections that the kernel drops" 2 stats ips.offload.dropped
config alert-only
ask upgrade >"$WORK/upgrade.out" 2>&1 || fail "upgrade: $(cat "$WORK/upgrade.out")"
wait_lines "$WORK/kernel.log" "removed nft.offload.drop-mark" 2
stop_process "$supervisor" || fail "exit code $?"
