#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Other rules while packets flow: none is lost, none goes uninspected, flows and their bits go on, and mistakes change
# nothing.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-balance 0:1

# rules N: what is always dropped, what needs two packets of a connection, and other rules each time.
rules() {
	echo 'drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:1;)'
	echo 'alert tcp any any -> any 7001 (msg:"first"; content:"first"; flowbits:set,seen; flowbits:noalert; sid:2;)'
	echo 'drop tcp any any -> any 7001 (msg:"second"; content:"second"; flowbits:isset,seen; sid:3;)'
	echo 'alert udp any any -> any 7002 (msg:"once"; content:"once"; threshold:type limit, track by_src, count 1, seconds 600; sid:4;)'
	for i in $(seq 200); do
		echo "alert udp any any -> any 7000 (msg:\"$1\"; content:\"filler $1 $i\"; sid:$((1000 * $1 + i));)"
	done
}

# reload: SIGUSR2, and wait until it is over.
reloads=0
reload() {
	reloads=$((reloads + 1))
	kill -USR2 "$SLUICE_PID"
	wait_lines "$WORK/ips.log" "reloaded:\|settings unchanged" $reloads
}

rules 1 >"$WORK/t.rules"
: >"$WORK/got" # at once: the sink makes it later
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
background srv python3 "$HERE/traffic.py" udp-sink 7002 "$WORK/once"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_for test -s "$WORK/got" || fail "got is empty"
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console
SLUICE_PID=$LAST_PID

mkfifo "$WORK/steps"
client python3 "$HERE/traffic.py" tcp-steps 10.66.2.2 7001 <"$WORK/steps" >"$WORK/answers" 2>&1 &
exec 3>"$WORK/steps"
echo "the first" >&3
wait_text "$WORK/answers" "the first"
udp_send cli 10.66.2.2 7002 once

background cli python3 "$HERE/traffic.py" udp-paced 10.66.2.2 7000 1000 60
PACED=$LAST_PID
for i in $(seq 20); do
	rules $((2 + i % 2)) >"$WORK/t.rules"
	reload
done
equal "reloads that worked" "$(grep -c "reloaded: generation" "$WORK/ips.log")" 20
grep -q "generation 21, 204 rules, 0 failed, 0 skipped" "$WORK/ips.log" || fail "the last generation is not 21"

# A rule with a mistake is left out; a reload that would leave no rule is refused.
echo 'alert udp any any -> any 7000 (msg:"broken"; contnt:"x"; sid:9;)' >>"$WORK/t.rules"
reload
grep -q "generation 22, 204 rules, 1 failed, 0 skipped" "$WORK/ips.log" ||
	fail "the rules without mistakes are not loaded"
grep -q "t.rules:205:.*contnt" "$WORK/ips.log" || fail "the log does not have the place of the mistake"
mv "$WORK/t.rules" "$WORK/gone"
reload
grep -q "generation 22): the rules could not be loaded" "$WORK/ips.log" || fail "the missing file is not reported"
mv "$WORK/gone" "$WORK/t.rules"
rules 4 >"$WORK/t.rules"
reload

kill -TERM "$PACED"
wait "$PACED" || true
sent=$(tail -n 1 "$WORK/background.log")
dropped=$(seq 0 $((sent - 1)) | grep -c '^5' || true)
wait_lines "$WORK/got" number $((sent - dropped))
equal "that must not arrive" "$(grep -c "number 5" "$WORK/got" || true)" 0

# The connection is older than all reloads, and its bit is still there.
echo "the second" >&3
wait_text "$WORK/answers" TIMEOUT
exec 3>&-
wait_events ips 1 event_type=alert alert.signature_id=3
equal "generation of the alert" "$(events ips event_type=alert alert.signature_id=3 sluice.queue.ruleset=23)" 1

# The threshold counts on.
udp_send cli 10.66.2.2 7002 once once
wait_lines "$WORK/once" once 3
stop_process "$SLUICE_PID" || fail "exit code $?"
equal "alerts of the threshold" "$(events ips event_type=alert alert.signature_id=4)" 1
equal "judged" "$(last_stats ips ips.accepted)" \
	"$(($(last_stats ips capture.kernel_packets) - $(last_stats ips ips.blocked)))"
equal "lost" "$(last_stats ips capture.kernel_drops)" 0
