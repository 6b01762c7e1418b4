#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections that are older than Sluice: they go on, and are inspected, for stream.midstream-grace; after that, and
# with 0, they are cut, for nobody knows what was in them.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0 --queue-bypass
echo 'drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)' >"$WORK/t.rules"
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening

# connect NAME ADDRESS: a connection that say and hear talk over.
connect() {
	mkfifo "$WORK/$1.in"
	: >"$WORK/$1.out"
	ip netns exec "$P-cli" python3 -u "$HERE/traffic.py" tcp-steps "$2" 7001 <"$WORK/$1.in" >"$WORK/$1.out" \
		2>"$WORK/$1.log" &
	exec {HANDLE}>"$WORK/$1.in"
	eval "$1=$HANDLE"
	ask "$1" "at first" "at first"
}

say() { # say NAME TEXT
	wc -l <"$WORK/$1.out" >"$WORK/$1.lines"
	echo "$2" >&"${!1}"
}

hear() { # hear NAME WANTED
	local before
	before=$(cat "$WORK/$1.lines")
	wait_more_lines "$WORK/$1.out" '' $((before + 1))
	equal "connection $1" "$(tail -n +$((before + 1)) "$WORK/$1.out")" "$2"
}

ask() { # ask NAME TEXT WANTED
	say "$1" "$2"
	hear "$1" "$3"
}

# The first packet that Sluice sees is the client's data, the server's data, or only an acknowledgment.
connect four 10.66.2.2
connect six fd66:2::2
connect server_first 10.66.2.3
connect quiet 10.66.2.4
connect unseen 10.66.2.5
say server_first "LATER, please"
# The server has it before Sluice starts, and answers two seconds later.
received() { server ss -Htin state established src 10.66.2.3 | grep -o 'bytes_received:[0-9]*'; }
wait_equal "what the server has" bytes_received:21 received
start_sluice ips --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=8
started=$SECONDS
grep -q "conntrack data" "$WORK/ips.log" || fail "the log does not say whether the kernel attaches conntrack data"
ask four "goes on" "goes on"
ask six "goes on" "goes on"
hear server_first "LATER, please"
ask server_first "and goes on" "and goes on"
ask quiet "EVIL-" "EVIL-"
ask four "harmless EVIL-" "harmless EVIL-"
equal "drop events until now" "$(events ips event_type=drop)" 0
# The beginning of the pattern was let through, its end is not.
for name in four six server_first quiet; do say $name "$([ $name = six ] && echo the EVIL-)PATTERN"; done
for name in four six server_first quiet; do
	[ $name = server_first ] && continue
	hear $name TIMEOUT
done
hear server_first PATTERN
ask six "after it" TIMEOUT
ask server_first "still there" "still there"
equal "alerts" "$(events ips event_type=alert alert.signature_id=1)" 3
# When the grace is over: what was picked up goes on, what was not is cut. The time is what is tested, and nothing shows
# that it is over.
while [ $((SECONDS - started)) -le 9 ]; do sleep 0.2; done
ask server_first "known by now" "known by now"
ask unseen "never heard of" TIMEOUT
[ "$(events ips event_type=drop dest_ip=10.66.2.5)" -gt 0 ] ||
	fail "no drop event for the connection that was not picked up"
stop_process "$LAST_PID" || fail "exit code $?"

# Without grace.
connect none 10.66.2.6
start_sluice strict --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0 \
	--set stream.midstream-conntrack=only --set queue.conntrack=no
ask none "goes on?" TIMEOUT
connect fresh 10.66.2.6
ask fresh "a new one does" "a new one does"
stop_process "$LAST_PID" || fail "exit code $?"
# The kernel sends again what was not acknowledged, and without Sluice it arrives.
hear_late=$(wc -l <"$WORK/none.out")
[ "$hear_late" = 2 ] || fail "lines of the connection without grace: $hear_late"
