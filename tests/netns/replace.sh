#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Words that go on as others: single packets whose checksum the kernel has not filled in yet, super-packets, and packets
# with a whole checksum. A wrong checksum would show: the receiver would not get the packet.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
alert udp any any -> any 7000 (msg:"udp"; content:"hello"; replace:"HELLO"; sid:1;)
alert tcp any any -> any 7001 (msg:"tcp"; content:"hello"; replace:"HELLO"; sid:2;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/sink"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
for log in sink background.log; do wait_text "$WORK/$log" listening; done

words() {
	local address=$1
	udp_send cli "$address" 7000 "say hello" "say nothing"
	equal "tcp to $address" "$(client python3 "$HERE/traffic.py" tcp-ask "$address" 7001 "say hello!")" "say HELLO!"
}
words 10.66.2.2
words fd66:2::2
client ethtool -K c0 tx off >/dev/null
words 10.66.2.3
client ethtool -K c0 tx on >/dev/null
wait_lines "$WORK/sink" 'say' 6
equal "datagrams that were changed" "$(grep -c 'say HELLO$' "$WORK/sink")" 3
equal "datagrams that were not" "$(grep -c 'say nothing$' "$WORK/sink")" 3

# A word at the end of a super-packet, and bytes around it that arrive as they were.
large() {
	client python3 - "$1" <<'PY'
import socket, sys
s = socket.create_connection((sys.argv[1], 7001), timeout=5)
s.settimeout(5)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
for round in range(20):
    sent = b'%d' % round + b'y' * 20000 + b'hello!'
    s.sendall(sent)
    got = b''
    while len(got) < len(sent) and (data := s.recv(65536)):
        got += data
    if got != sent.replace(b'hello', b'HELLO') and got != sent:
        sys.exit('other bytes came back')
    last = got[-6:].decode()
print(last)
PY
}
equal "super-packets" "$(large 10.66.2.2)" "HELLO!"
equal "super-packets over IPv6" "$(large fd66:2::2)" "HELLO!"
ask_stats ips "$ips"
[ "$(last_stats ips queue.0.gso)" -gt 0 ] || fail "no super-packet was seen"
[ "$(last_stats ips ips.replaced)" -ge 6 ] || fail "$(last_stats ips ips.replaced) packets were changed"
equal "refused" "$(last_stats ips ips.replace_refused)" 0
stop_process "$ips" || fail "exit code $?"
