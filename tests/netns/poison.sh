#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A packet that kills each engine that looks at it, one with which a worker never ends, and one that has it start a
# program, which the sandbox punishes: all are dropped after two deaths and kept, and the traffic around them goes on.
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
: "${SLUICE_POISON:?path of the library}"
topology
continuity_rules "$WORK/t.rules"
export LD_PRELOAD=$SLUICE_POISON ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"
# With a shorter time a busy machine looks like a hang.
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --attach after --set engine.hang-timeout=3
supervisor=$LAST_PID
unset LD_PRELOAD
udp_sink 7003 "$WORK/got"
traffic_start

DIE='POISON-DIE, and some more letters'
HANG='POISON-HANG, and some more letters'
EXEC='POISON-EXEC, and some more letters'
# poison TEXT DEATHS: of engines by now; the datagrams around it arrive.
poison() {
	udp_send cli 10.66.2.2 7003 "before $2" "$1" "after $2"
	wait_more_lines "$WORK/ips.log" "the engine \(was killed\|hung\)" "$2"
	wait_text "$WORK/got" "before $2"
	wait_text "$WORK/got" "after $2"
	equal "engines that died" "$(grep -c "the engine \(was killed\|hung\)" "$WORK/ips.log")" "$2"
	grep -q "^$1" "$WORK/got" && fail "$1 arrived"
	true
}
poison "$DIE" 2
poison "$HANG" 4
poison "$EXEC" 6
equal "said of the program" "$(grep -c "the engine was killed by signal 31" "$WORK/ips.log")" 2
equal "said of a hang" "$(grep -c "hung and was killed" "$WORK/ips.log")" 2
traffic_stop
# An engine that is killed right after it wrote what the one before died of leaves it to the next.
export EVE_ONCE=sluice.engine.number
wait_events ips 6 event_type=engine sluice.engine.action=restarted
wait_events ips 2 event_type=engine sluice.engine.action=restarted sluice.engine.cause=hang
unset EVE_ONCE
wait_events ips 3 event_type=engine sluice.engine.action=quarantined
equal "files" "$(find "$WORK/ips/quarantine" -name '*.pcap' | wc -l)" 3
python3 - "$WORK/ips/quarantine" "$DIE" "$HANG" "$EXEC" <<'PY' || fail "the files are not what killed the engines"
import glob, struct, sys
found = set()
for path in glob.glob(sys.argv[1] + '/*.pcap'):
    data = open(path, 'rb').read()
    magic, _, _, _, _, _, link = struct.unpack('=IHHIIII', data[:24])
    _, _, captured, length = struct.unpack('=IIII', data[24:40])
    assert (magic, link, captured, length) == (0xa1b2c3d4, 101, len(data) - 40, len(data) - 40), (path, data[:40])
    assert data[40] == 0x45 and data[56:60] == bytes([10, 66, 2, 2]), data[40:]
    found.add(data[68:])
assert found == {text.encode() for text in sys.argv[2:]}, found
PY
stop_process "$supervisor" || fail "exit code $?"
equal "in quarantine" "$(last_stats ips engine.quarantined)" 3
equal "hangs" "$(last_stats ips engine.hangs)" 2
