#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The program takes over from itself again and again: nothing is lost, nothing passes uninspected, flows go on, and what
# can't start leaves all as it is.
#   UPGRADES  how many times (4)
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"
program=$SLUICE
cp "$program" "$WORK/sluice"
SLUICE=$WORK/sluice
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --attach after --set unix-command.filename="$WORK/control" \
	--set stream.midstream-grace=0 --set pcap-log.enabled=yes --set pcap-log.limit=50000 --set pcap-log.max-files=0
supervisor=$LAST_PID
ask() { gateway "$program" "$@" --socket "$WORK/control"; }
# another_answers BEFORE: whether there is an engine that is not BEFORE, and it answers.
another_answers() { has_engine "$supervisor" "$1" && ask status >/dev/null 2>&1; }
traffic_start
packets=0
for i in $(seq "${UPGRADES:-4}"); do
	sleep "0.$((RANDOM % 8))$((RANDOM % 10))" # random: another moment of the traffic each time
	engine=$(engine_of "$supervisor")
	# another file under the same name, as a package manager leaves it
	cp "$program" "$WORK/sluice.new" && mv "$WORK/sluice.new" "$WORK/sluice"
	ask upgrade >"$WORK/upgrade.out" 2>&1 || fail "upgrade $i: $(cat "$WORK/upgrade.out"; tail -5 "$WORK/ips.log")"
	wait_for another_answers "$engine" || fail "upgrade $i: no other engine answers"
	kill -0 "$supervisor" || fail "the supervisor is gone"
	# Counters go on: what one engine had judged is part of what the next one says.
	before=$packets
	packets=$(ask stats capture.kernel_packets | awk '{print $2}')
	[ "${packets:-0}" -gt "$before" ] || fail "upgrade $i: $packets packets, $before before"
done

# What would not start takes over nothing.
engine=$(engine_of "$supervisor")
printf '#!/bin/sh\necho "it needs a library that is not there" >&2\nexit 1\n' >"$WORK/sluice.new" &&
	chmod +x "$WORK/sluice.new" && mv "$WORK/sluice.new" "$WORK/sluice"
ask upgrade >"$WORK/upgrade.out" 2>&1 && fail "a broken program took over"
grep -q "would not start: it needs a library that is not there" "$WORK/upgrade.out" ||
	fail "no reason: $(cat "$WORK/upgrade.out")"
equal "engine" "$(engine_of "$supervisor")" "$engine"
cp "$program" "$WORK/sluice.new" && mv "$WORK/sluice.new" "$WORK/sluice"
# Nor one that lacks its rules.
mv "$WORK/t.rules" "$WORK/t.rules.kept"
ask upgrade >"$WORK/upgrade.out" 2>&1 && fail "a program without rules took over"
mv "$WORK/t.rules.kept" "$WORK/t.rules"
equal "engine" "$(engine_of "$supervisor")" "$engine"

stall "${UPGRADES:-4} upgrades"
traffic_stop
wait_stats ips "$supervisor" engine.handovers "${UPGRADES:-4}"
equal "restarts" "$(last_stats ips engine.restarts)" 0
wait_events ips "${UPGRADES:-4}" event_type=engine sluice.engine.action=handed_over
sessions=$(last_stats ips tcp.sessions)
[ "$sessions" -ge "${UPGRADES:-4}" ] || fail "$sessions connections were counted"
equal "connections picked up in their midst" "$(last_stats ips tcp.midstream_pickups)" 0
equal "errors of pcap-log" "$(last_stats ips pcap_log.errors)" 0
logged=$(last_stats ips pcap_log.written)
stop_process "$supervisor" || fail "exit code $?"
# Each engine began files of its own: all are whole, and no packet is missing.
in_files=$(python3 - "$WORK/ips" <<-'END'
	import glob, struct, sys
	total = 0
	for path in glob.glob(sys.argv[1] + '/log.pcap.*'):
	    with open(path, 'rb') as file:
	        data = file.read()
	    at = 24
	    while at < len(data):
	        at += 16 + struct.unpack_from('<I', data, at + 8)[0]
	        total += 1
	    assert at == len(data) and data[:4] == b'\xd4\xc3\xb2\xa1', path
	print(total)
END
)
[ "$in_files" -ge "$logged" ] || fail "$in_files packets in capture files, $logged were written"
grep -q sluice <<<"$(gateway nft list tables)" && fail "the table is still there"
[ "$(gateway cat /proc/net/netfilter/nfnetlink_queue | wc -l)" = 0 ] || fail "a queue is still bound"
