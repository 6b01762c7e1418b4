#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sensor on a mirror port has the events of `sluice replay` of the same packets, with one and with two workers; VLAN
# tags, which the kernel removes from frames, are in its events.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
mirror
rules=$WORK/sensor.rules
cat >"$rules" <<-'RULES'
	alert http any any -> any any (msg:"request"; flow:established,to_server; http.method; content:"GET"; sid:1;)
	drop tcp any any -> any any (msg:"would be dropped"; flow:established,to_client; content:"HTTP/1."; sid:2;)
	alert dns any any -> any any (msg:"query"; dns.query; content:"."; sid:3;)
	alert ip any any -> any any (msg:"vlan"; vlan.layers:>0; threshold:type limit,track by_src,seconds 60,count 1; sid:4;)
	alert icmp any any -> any any (msg:"echo"; itype:8; sid:5;)
	alert udp any any -> any any (msg:"udp"; threshold:type limit,track by_src,seconds 60,count 1; sid:6;)
RULES
sensor make "$WORK/own.pcap"
captures=("$WORK/own.pcap")
if [ -d "${SLUICE_SHARED:-}/pcaps/zeek" ]; then
	for name in http/get http/100-continue http/content-range-gap http/get-gzip dns-caa dnp3/dnp3_read ftp/ipv4 ftp/ipv6; do
		captures+=("$SLUICE_SHARED/pcaps/zeek/$name.pcap")
	done
fi
# Times of flows are those of the sending, so no flow of a short test times out; sending takes less than a timeout.
options=(--rules "$rules" --set stream.midstream-grace=0
	--set replay.checksum-checks=yes --set af-packet.checksum-checks=yes)
number=0
for capture in "${captures[@]}"; do
	number=$((number + 1))
	"$SLUICE" replay --log-dir "$WORK/replay$number" "${options[@]}" "$capture" >"$WORK/replay.log" 2>&1 ||
		fail "replay of $capture"
done
for workers in 1 2; do
	number=0
	for capture in "${captures[@]}"; do
		number=$((number + 1))
		start_sensor "sensor$workers.$number" --workers "$workers" "${options[@]}" --set af-packet.defrag=no
		pid=$LAST_PID
		sent=$(client python3 -E "$HERE/sensor.py" send m0 4000 "$capture") || fail "cannot send $capture"
		wait_equal "packets of $capture" "$sent" kernel_packets "sensor$workers.$number"
		stop_process "$pid" || fail "the sensor ends with $?"
		sensor compare "$WORK/replay$number/eve.json" "$WORK/sensor$workers.$number/eve.json" >"$WORK/compare.log" ||
			fail "$workers workers: other events than those of replay for $capture"
	done
done
echo "ok: events of ${#captures[@]} captures are those of replay"
