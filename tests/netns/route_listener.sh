#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Route mode with a next consumer that does not listen: at the start and while the daemon runs the log, the status, an
# event and the doctor report it, and the log reports when it listens again.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"
hold() { # another process listens on queue 20
	background gw python3 "$HERE/hold_queue.py" 20
	HOLDER=$LAST_PID
	wait_equal "packets in the new queue 20" 0 kernel_queue 20 waiting
}
release() {
	kill "$HOLDER"
	wait_equal "packets in a queue 20 without a listener" "" kernel_queue 20 waiting
}
start() { # start NAME ARGS...
	start_sluice "$1" --queue 0 --rules "$WORK/t.rules" --no-console --set unix-command.enabled=yes \
		--set "unix-command.filename=$WORK/socket" --verdict route --route-to 20 "${@:2}"
	DAEMON=$LAST_PID
}
ask() { gateway "$SLUICE" "$@" --socket "$WORK/socket"; }
listener_is() { ask status --json | grep -q "\"next_queues\":\[{\"queue\":20,\"listening\":$1,"; }
wait_listener() { # wait_listener true|false
	wait_for listener_is "$1" || fail "status: $(ask status --json)"
}
diagnosis() {
	gateway "$SLUICE" nft doctor --queue 0 --set queue.verdict=route --set queue.route-to=20 --json "$@" || true
}
said() { wait_text "$WORK/$1.log" "$2"; } # said NAME PATTERN: in the log
without_listener() { ask stats --all ips.route_no_listener | awk '{ print $2 }'; }

# At the start no process listens on queue 20; then one does; then it exits.
start lost
dropping="has no listener: the kernel drops every packet that Sluice accepts"
remedy="start the program that reads queue 20, or set queue.route-bypass: yes"
said lost "error: queue 20 (queue.route-to) $dropping; $remedy"
wait_listener false
ask status | grep -q "queue 20 (queue.route-to) has no listener: accepted packets are dropped" ||
	fail "status: $(ask status)"
wait_events lost 1 event_type=overload sluice.overload.action=no_listener sluice.overload.queue=20 sluice.overload.bypass=false
diagnosis | python3 -c '
import json, sys
found = [f for f in json.load(sys.stdin)["findings"] if f["id"] == "route.no-listener"]
assert len(found) == 1 and found[0]["severity"] == "broken", found' || fail "doctor: $(diagnosis)"
diagnosis --set queue.route-bypass=yes | grep -q '"severity":"warning","id":"route.no-listener"' ||
	fail "doctor with bypass: $(diagnosis --set queue.route-bypass=yes)"
udp_send cli 10.66.2.2 7000 one two three
wait_equal "sequence of queue 0" 3 kernel_queue 0 sequence
wait_equal "packets without a listener" 3 without_listener
hold
said lost "queue 20 (queue.route-to) has a listener again after .* s; until then the kernel dropped 3 packets"
wait_listener true
wait_events lost 1 event_type=overload sluice.overload.action=listener sluice.overload.queue=20 sluice.overload.packets=3
diagnosis | grep -q route.no-listener && fail "doctor: $(diagnosis)"
release
wait_listener false
wait_events lost 2 event_type=overload sluice.overload.action=no_listener sluice.overload.queue=20
stop_process "$DAEMON" || fail "exit code $?"
equal "statistics" "$(last_stats lost ips.route_no_listener)" 3

# With a listener at the start there is no message; with bypass it is a warning.
hold
start bypass --set queue.route-bypass=yes
wait_listener true
release
said bypass "warning: queue 20 (queue.route-to) has no listener: packets pass without the next consumer"
equal "messages about a listener" "$(grep -c listener "$WORK/bypass.log")" 1
wait_events bypass 1 event_type=overload sluice.overload.action=no_listener sluice.overload.bypass=true
ask status | grep -q "queue 20 (queue.route-to) has no listener: accepted packets pass without the next consumer" ||
	fail "status: $(ask status)"
stop_process "$DAEMON" || fail "exit code $?"
