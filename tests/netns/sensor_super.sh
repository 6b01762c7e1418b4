#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sensor gets super-packets as the kernel has merged them, of up to 64 KiB and larger (BIG TCP): every byte is inspected,
# and none has a decoder event. On the interface of a gateway it sees each packet once, and the hosts of it as well.
. "$(dirname "$0")/lib.sh"
. "$HERE/sensor_lib.sh"
. "$HERE/words_lib.sh"
topology
WORDS=20
for word in $(seq -w 1 $WORDS); do
	echo "alert tcp any any -> any 7001 (msg:\"word $word\"; content:\"WORD$word\"; sid:1$word;)"
	echo "alert tcp any 7001 -> any any (msg:\"echo $word\"; content:\"WORD$word\"; sid:2$word;)"
done >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening


# watch NAME ADDRESS: a sensor sees the words that are sent to the address.
watch() {
	INTERFACE=g0 start_sensor "$1" --rules "$WORK/t.rules" --set stream.depth=0 \
		--set stream.midstream-grace=0 --set af-packet.ring-size=64MiB
	pid=$LAST_PID
	equal "bytes of $2" "$(words "$2")" 8000000
	wait_least "$1: packets" 100 kernel_packets "$1"
	ask_stats "$1" "$pid"
	equal "$1: dropped by the kernel" "$(last_stats "$1" capture.kernel_drops)" 0
	equal "$1: truncated" "$(last_stats "$1" queue.0.truncated)" 0
	equal "$1: invalid" "$(last_stats "$1" decoder.invalid)" 0
	equal "$1: segments with gaps" "$(last_stats "$1" tcp.reassembly_gap)" 0
	[ "$(last_stats "$1" queue.0.gso)" -gt 0 ] || fail "$1: no super-packet came"
	largest=$(last_stats "$1" decoder.max_pkt_size)
	stop_process "$pid" || fail "$1: exit code $?"
	# Passively, the last bytes of a connection may be inspected when its flow ends: at the latest now.
	equal "$1: words that were found" "$(words_found "$1")" $((2 * WORDS))
}
watch four 10.66.2.2
watch six fd66:2::2

# Packets of the largest size from the first flight on, whatever the round trip time.
client python3 "$HERE/link_sizes.py" 185000 c0 || exit
gateway python3 "$HERE/link_sizes.py" 185000 g0 g1 || exit
server python3 "$HERE/link_sizes.py" 185000 s0 || exit
client sysctl -qw net.ipv4.tcp_tso_rtt_log=30 net.ipv4.tcp_wmem="4096 8000000 16000000"
server sysctl -qw net.ipv4.tcp_rmem="4096 8000000 16000000"
ip -n "$P-cli" route change default via 10.66.1.1 initcwnd 1000
ip -n "$P-cli" -6 route change default via fd66:1::1 initcwnd 1000
ip -n "$P-gw" link set g1 mtu 9000
ip -n "$P-srv" link set s0 mtu 9000
large() {
	rm -rf "$WORK/$1"
	watch "$1" "$2"
	[ "$largest" -gt 65549 ]
}
wait_for large four_big 10.66.2.2 || fail "there was no super-packet of more than 64 KiB"
wait_for large six_big fd66:2::2 || fail "there was no IPv6 super-packet of more than 64 KiB"
echo "ok: largest packet of $largest bytes"
