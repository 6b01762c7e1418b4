#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two queues: both directions of a connection are judged by one worker, both workers have work, all is accounted for.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-balance 0:1
echo 'alert tcp any any -> any any (msg:"word"; content:"MARKER"; sid:1;)' >"$WORK/t.rules"
start_sluice ips --queue 0-1 --rules "$WORK/t.rules"
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
for i in 2 3 4 5 6 7 8 9; do
	equal "echo of 10.66.2.$i" "$(client python3 "$HERE/traffic.py" tcp-ask "10.66.2.$i" 7001 "MARKER $i")" "MARKER $i"
done
wait_events ips 16 event_type=alert alert.signature_id=1
python3 - "$WORK/ips/eve.json" <<'PY' || fail "the directions of a connection were on different workers"
import json, sys, collections
queues = collections.defaultdict(set)
used = set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['event_type'] == 'alert':
        pair = frozenset(((e['src_ip'], e['src_port']), (e['dest_ip'], e['dest_port'])))
        queues[pair].add(e['sluice']['queue']['number'])
        used.add(e['sluice']['queue']['number'])
assert len(queues) == 8, queues
assert all(len(q) == 1 for q in queues.values()), queues
assert used == {0, 1}, used
PY
stop_process "$ips" || fail "exit code $?"
for q in 0 1; do
	received=$(last_stats ips "queue.$q.packets")
	judged=$(($(last_stats ips "queue.$q.accepted") + $(last_stats ips "queue.$q.dropped")))
	equal "packets judged of queue $q" "$judged" "$received"
	[ "$received" -gt 0 ] || fail "queue $q had nothing to do"
done
