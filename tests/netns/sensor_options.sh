#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Options of a sensor: the filter, also for VLAN tags, which lets no other packet into a ring at the start; the snap
# length; promiscuous mode; several interfaces; and every way to distribute packets.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
mirror
sensor make "$WORK/own.pcap"
# The capture has 316 packets: 104 without VLAN tag, 104 with an 802.1Q tag with the id 100, 4 with the id 0, and 104
# with two tags. They are 30 conversations of 10 packets, and 16 datagrams: 4 DNS queries, 4 echo requests, 8 fragments.
play() { client python3 -E "$HERE/sensor.py" send m0 4000 "$WORK/own.pcap" >/dev/null; }
# packets NAME: prints the number of packets that the workers have inspected.
packets() { "$SLUICE" stats --all decoder.pkts --socket "$WORK/$1.control" | awk '{ print $2 }'; }
# captures WANTED ARGS...: fails unless a sensor with these arguments captures WANTED packets.
captures() {
	local wanted=$1 name=filter
	shift
	rm -rf "$WORK/$name"
	start_sensor "$name" "$@"
	play
	wait_equal "packets with $*" "$wanted" packets "$name"
	stop_process "$LAST_PID" || fail "the sensor ends with $?"
}
captures 316
captures 212 --filter vlan
captures 104 --filter 'vlan 100' --workers 2
captures 104 --filter 'not vlan'
captures 200 --filter 'tcp port 80' # with one VLAN tag, which the kernel has removed, or none
captures 316 --set af-packet.promiscuous=no --set af-packet.checksum-checks=no
for type in cluster_addresses cluster_flow cluster_cpu cluster_qm; do
	captures 316 --workers 2 --set af-packet.cluster-type=$type --set af-packet.defrag=no --set af-packet.rollover=yes
	captures 316 --workers 3 --set af-packet.cluster-type=$type --set af-packet.defrag=no --set af-packet.cluster-id=77
done

# The interface is down at the start.
gateway ip link set lo up
gateway ip link set m1 down
start_sensor down --filter 'vlan 100'
pid=$LAST_PID
wait_text "$WORK/down.log" 'interface m1 is down'
gateway ip link set m1 up
wait_text "$WORK/down.log" 'capturing from m1 again'
play
wait_equal "packets of an interface that was down" 104 packets down
stop_process "$pid" || fail "the sensor ends with $?"

# As another user than root, with CAP_NET_RAW alone.
if command -v setpriv >/dev/null; then
	chmod 755 "$WORK"
	mkdir "$WORK/raw"
	chown nobody "$WORK/raw"
	ip netns exec "$P-gw" setpriv --reuid=nobody --clear-groups --bounding-set=-all,+net_raw --inh-caps=-all,+net_raw \
		--ambient-caps=-all,+net_raw "$SLUICE" sensor --interface m1 --workers 2 --log-dir "$WORK/raw" \
		--set "unix-command.filename=$WORK/raw/raw.control" >"$WORK/raw.log" 2>&1 &
	pid=$!
	wait_text "$WORK/raw.log" 'sluice: ready'
	client python3 -E "$HERE/sensor.py" probe m0
	wait_for test -s "$WORK/raw/eve.json" || true
	stop_process "$pid" || fail "the sensor with CAP_NET_RAW alone ends with $?"
	[ "$(last_stats raw decoder.pkts)" = 1 ] || fail "the sensor with CAP_NET_RAW alone has captured nothing"
fi

# A snap length: longer packets are truncated, and counted.
start_sensor snap --set af-packet.snap-length=60
pid=$LAST_PID
play
wait_equal "packets" 316 packets snap
ask_stats snap "$pid"
[ "$(last_stats snap queue.0.truncated)" -gt 30 ] || fail "no truncated packets are counted"
[ "$(gateway ip -d link show m1 | grep -o 'promiscuity [0-9]*')" = "promiscuity 1" ] || fail "no promiscuous mode"
stop_process "$pid" || fail "the sensor ends with $?"
[ "$(gateway ip -d link show m1 | grep -o 'promiscuity [0-9]*')" = "promiscuity 0" ] || fail "promiscuous mode stays"

# Packets that arrive while the sensor starts: only those of the filter come.
background cli python3 -E "$HERE/sensor.py" flood m0 300000
flood=$LAST_PID
start_sensor start --workers 2 --filter 'udp port 9'
pid=$LAST_PID
wait_for has_ended "$flood"
ask_stats start "$pid"
equal "packets that the filter excludes" "$(last_stats start decoder.pkts)" 0
stop_process "$pid" || fail "the sensor ends with $?"

# Packets that the kernel has not delivered yet when the sensor stops are inspected.
start_sensor last --set af-packet.block-timeout=1000
pid=$LAST_PID
client python3 -E "$HERE/sensor.py" probe m0
stop_process "$pid" || fail "the sensor ends with $?"
equal "packets at the stop" "$(last_stats last decoder.pkts)" 1

# Two interfaces.
ip link add n0 netns "$P-cli" type veth peer name n1 netns "$P-gw"
client ip link set n0 up
gateway ip link set n1 up
echo 'alert udp any any -> any 7777 (msg:"probe"; content:"probe"; sid:1;)' >"$WORK/two.rules"
INTERFACE=m1,n1 start_sensor two --workers 2 --rules "$WORK/two.rules"
pid=$LAST_PID
for name in m n; do client python3 -E "$HERE/sensor.py" probe ${name}0; done
wait_events two 1 event_type=alert in_iface=m1
wait_events two 1 event_type=alert in_iface=n1
"$SLUICE" status --socket "$WORK/two.control" >"$WORK/status"
grep -q '^4 rings: ' "$WORK/status" || fail "$(cat "$WORK/status")"
grep -q '^interface n1: capturing' "$WORK/status" || fail "$(cat "$WORK/status")"
stop_process "$pid" || fail "the sensor ends with $?"
echo ok
