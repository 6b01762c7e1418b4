#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fragments, as a gateway without conntrack queues them: what a rule drops does not arrive whole, what it accepts does;
# and a real receiver that lacks a part of an accepted datagram cannot be given another one for it.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
drop icmp any any -> any any (msg:"pattern in a large ping"; itype:8; dsize:>2000; content:"|aa bb aa bb aa bb|"; sid:1;)
drop icmpv6 any any -> any any (msg:"pattern in a large ping"; itype:128; dsize:>2000; content:"|aa bb aa bb aa bb|"; sid:2;)
drop udp any any -> any 7003 (msg:"evil"; content:"EVIL"; sid:3;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
pings() { client ping "$1" -c3 -i0.2 -W1 -q -s "$2" -p "$3" "$4" 2>/dev/null | grep -oE '[0-9]+ received' || true; }

equal "large pings" "$(pings -4 5000 11 10.66.2.2)" "3 received"
equal "large IPv6 pings" "$(pings -6 5000 11 fd66:2::2)" "3 received"
equal "small pings with the pattern" "$(pings -4 500 aabb 10.66.2.2)" "3 received"
equal "large pings with the pattern" "$(pings -4 5000 aabb 10.66.2.2)" "0 received"
equal "large IPv6 pings with the pattern" "$(pings -6 5000 aabb fd66:2::2)" "0 received"

# A receiver of UDP says what it got. The sender makes its fragments itself; those with TTL 10 are lost behind the
# queue.
gateway nft 'add table ip lost; add chain ip lost out { type filter hook postrouting priority 0; }
	add rule ip lost out ip ttl 9 drop'
background srv python3 -uc '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7003))
print("listening")
while True:
    print("received", s.recv(65536).decode())'
wait_text "$WORK/background.log" listening
client python3 - <<'PY'
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

def send(number, first, data, more, ttl=64):
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(data), number,
                         first >> 3 | (0x2000 if more else 0), ttl, 17, 0,
                         socket.inet_aton('10.66.1.2'), socket.inet_aton('10.66.2.2'))
    s.sendto(header + data, ('10.66.2.2', 0))
    time.sleep(0.05)

def first(text):
    return struct.pack('!HHHH', 4000, 7003, 8 + 16, 0) + text

send(100, 0, first(b'one ....'), True)           # the queue does not disturb what is well
send(100, 16, b'....good', False)
send(101, 0, first(b'two ..EV'), True)           # evil across the border
send(101, 16, b'IL......', False)
send(101, 16, b'IL......', False)
send(102, 0, first(b'three ..'), True, ttl=10)    # accepted, but the receiver has the second half only
send(102, 16, b'IL......', False)
send(102, 0, first(b'four..EV'), True)
send(103, 0, first(b'five..EV'), True)           # the receiver has the first half; another second half
send(103, 16, b'en......', False, ttl=10)
send(103, 16, b'IL......', False)
send(104, 0, first(b'six.....'), True, ttl=10)    # both see another first half: the second contradicts
send(104, 0, first(b'six...EV'), True)
send(104, 16, b'IL......', False)
send(105, 0, first(b'seven...'), True)
send(105, 16, b'....good', False)
PY
wait_text "$WORK/background.log" "received seven"
equal "datagrams that arrived" "$(grep -o 'received [a-z]*' "$WORK/background.log" | tr '\n' ' ')" \
	"received one received seven "
ask_stats ips "$ips"
wait_events ips 1 event_type=drop alert.signature_id=3
equal "datagrams dropped whole, IPv4" "$(events ips event_type=drop alert.signature_id=1)" 3
equal "datagrams dropped whole, IPv6" "$(events ips event_type=drop alert.signature_id=2)" 3
equal "fragments that contradict" "$(last_stats ips defrag.contradictions)" 3
stop_process "$ips" || fail "exit code $?"
