#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# reject answers: the client's connection is reset at once, a UDP sender gets ICMP, and the answers are not queued
# themselves.
. "$(dirname "$0")/lib.sh"
topology
# Everything, the gateway's own packets too: only the mark keeps the answers out.
for ipt in iptables ip6tables; do
	gateway $ipt -t mangle -A FORWARD -j NFQUEUE --queue-num 0
	gateway $ipt -t mangle -A OUTPUT -m mark --mark 0x40000000/0x40000000 -j ACCEPT
	gateway $ipt -t mangle -A OUTPUT -p tcp -j NFQUEUE --queue-num 0
	gateway $ipt -t mangle -A OUTPUT -p icmp -j NFQUEUE --queue-num 0 2>/dev/null || true
done
cat >"$WORK/t.rules" <<'RULES'
reject tcp any any -> any 7001 (msg:"reset the sender"; content:"EVIL"; sid:1;)
rejectboth tcp any any -> any 7001 (msg:"reset both"; content:"WORSE"; sid:2;)
reject udp any any -> any 7002 (msg:"unreachable"; content:"EVIL"; sid:3;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening

for to in 10.66.2.2 fd66:2::2; do
	equal "good text to $to" "$(client python3 "$HERE/traffic.py" tcp-ask "$to" 7001 hello)" hello
	equal "bad text to $to" "$(client python3 "$HERE/traffic.py" tcp-ask "$to" 7001 'some EVIL text')" RESET
	equal "worse text to $to" "$(client python3 "$HERE/traffic.py" tcp-ask "$to" 7001 'some WORSE text')" RESET
done
answer=$(client python3 - <<'PY'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.connect(('10.66.2.2', 7002))
s.send(b'EVIL')
try:
    s.recv(10)
    print('answer')
except socket.timeout:
    print('timeout')
except OSError as err:
    print('unreachable')
PY
)
equal "UDP sender" "$answer" unreachable
wait_events ips 2 event_type=drop alert.signature_id=1
# The server's side of a connection that both were told about is gone too.
established() { server ss -Htn state established '( sport = :7001 )' | wc -l; }
wait_equal "connections left at the server" 2 established
wait_stats ips "$ips" ips.reject_packets_sent 7
equal "answers that came back into the queue" "$(last_stats ips ips.marked)" 0
stop_process "$ips" || fail "exit code $?"
