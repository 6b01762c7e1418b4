#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Super-packets that can't be inspected as they are: longer than what the kernel copies (BIG TCP), or of several UDP
# datagrams (GRO). Every byte and every datagram is inspected, and all of the traffic arrives. A datagram that is too
# long and no super-packet is dropped.
. "$(dirname "$0")/lib.sh"
. "$HERE/words_lib.sh"
command -v ethtool >/dev/null || skip "ethtool is not installed"
topology
client python3 "$HERE/link_sizes.py" 185000 c0 || exit
gateway python3 "$HERE/link_sizes.py" 185000 g0 g1 || exit
server python3 "$HERE/link_sizes.py" 185000 s0 || exit
# Packets of the largest size from the first flight on, whatever the round trip time.
client sysctl -qw net.ipv4.tcp_tso_rtt_log=30 net.ipv4.tcp_wmem="4096 8000000 16000000"
server sysctl -qw net.ipv4.tcp_rmem="4096 8000000 16000000"
ip -n "$P-cli" route change default via 10.66.1.1 initcwnd 1000
ip -n "$P-cli" -6 route change default via fd66:1::1 initcwnd 1000
# The kernel compares IPv6 super-packets with the MTU including the 8 bytes of their jumbo option, and does not forward
# full ones.
ip -n "$P-gw" link set g1 mtu 9000
ip -n "$P-srv" link set s0 mtu 9000
client ethtool -K c0 tx-udp-segmentation off
gateway ethtool -K g0 gro on rx-udp-gro-forwarding on || skip "the kernel has no rx-udp-gro-forwarding"
queue_rule --queue-num 0
WORDS=20
for word in $(seq -w 1 $WORDS); do
	echo "alert tcp any any -> any 7001 (msg:\"word $word\"; content:\"WORD$word\"; sid:1$word;)"
	echo "alert tcp any 7001 -> any any (msg:\"echo $word\"; content:\"WORD$word\"; sid:2$word;)"
done >"$WORK/t.rules"
echo 'drop udp any any -> any 7003 (msg:"bad datagram"; content:"EVIL"; startswith; dsize:100; sid:1;)' \
	>>"$WORK/t.rules"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --set stream.depth=0
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" udp-sink 7003 "$WORK/sink"
for log in sink background.log; do wait_text "$WORK/$log" listening; done

# counter NAME PATH: of a statistics event that is written now.
counter() {
	ask_stats "$1" "$ips"
	last_stats "$1" "$2"
}

# --- BIG TCP ----------------------------------------------------------------------------------------------------------
# all_words NAME: waits until a rule has matched for each word and its echo.
all_words() { wait_equal "$1: words that were found" $((2 * WORDS)) words_found "$1"; }
# comes_large NAME ADDRESS: whether the words came in super-packets of more than 64 KiB: on a busy host not each time.
comes_large() {
	equal "bytes of $2" "$(words "$2")" 8000000
	all_words "$1"
	large=$(counter "$1" ips.segmented.large)
	[ "$large" -gt 0 ]
}
wait_for comes_large ips 10.66.2.2 || fail "there was no super-packet of more than 64 KiB"
equal "truncated packets are segmented" "$(last_stats ips queue.0.truncated)" "$large"
grep -q 'BIG TCP' "$WORK/ips.log" || fail "the log does not say so"

# Ten seconds later the kernel no longer segments; another daemon sets the flag of the queue again.
stop_process "$ips" || fail "exit code $?"
start_sluice six --queue 0 --rules "$WORK/t.rules" --set stream.depth=0
ips=$LAST_PID
wait_for comes_large six fd66:2::2 || fail "there was no IPv6 super-packet of more than 64 KiB"
stop_process "$ips" || fail "exit code $?"

# --- Several datagrams in one packet ----------------------------------------------------------------------------------
start_sluice udp --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
client python3 - 10.66.2.2 fd66:2::2 <<'PY'
import socket
import sys
for address in sys.argv[1:]:
    sock = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
    sock.sendto(b''.join((b'EVIL' if i % 5 == 2 else b'GOOD').ljust(100, b'.') for i in range(20)), (address, 7003))
PY
wait_lines "$WORK/sink" GOOD 32
equal "bad datagrams" "$(grep -c EVIL "$WORK/sink" || true)" 0
wait_events udp 8 event_type=alert alert.signature_id=1
[ "$(counter udp ips.segmented.udp)" -gt 0 ] || fail "no datagrams came in one packet"
equal "none was left whole" "$(last_stats udp ips.unsegmented_udp)" 0
grep -q 'rx-udp-gro-forwarding' "$WORK/udp.log" || fail "the log does not say so"

# --- Too long, and no super-packet: 65535 bytes, of which the kernel copies 65531 -------------------------------------
gateway iptables -t mangle -I PREROUTING -m conntrack --ctstate INVALID # puts fragments together
# long_datagram NAME: sends it, and waits for a short one behind it.
long_datagram() {
	client python3 - "$1" <<'PY'
import socket
import sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in 65507, 10:
    sock.sendto((b'%d %s' % (size, sys.argv[1].encode())).ljust(size, b' '), ('10.66.2.2', 7003))
PY
	wait_text "$WORK/sink" "10 $1"
}
long_datagram drop
equal "long datagrams" "$(grep -c 65507 "$WORK/sink" || true)" 0
wait_events udp 1 event_type=drop drop.reason=truncated
stop_process "$ips" || fail "exit code $?"
start_sluice inspect --queue 0 --rules "$WORK/t.rules" --set queue.truncated-packets=inspect
ips=$LAST_PID
long_datagram pass
equal "long datagrams, inspected" "$(grep -c 65507 "$WORK/sink" || true)" 1
stop_process "$ips" || fail "exit code $?"
