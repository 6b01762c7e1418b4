# SPDX-License-Identifier: GPL-2.0-or-later
# Connections that began before Sluice, on a kernel that attaches conntrack data to queued packets:
# - The client is identified correctly although the server's packet is the first one, also behind NAT.
# - A connection that conntrack knows is picked up without stream.midstream-grace; a forged segment is not.
# - After the grace period packets have no conntrack data, and Sluice looks connections up in the conntrack table.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		tcp dport 7001 accept
		udp dport 7000 accept
	}
}
table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat;
		ip daddr 10.66.1.1 tcp dport 7002 dnat to 10.66.2.5:7001
		ip daddr 10.66.1.1 tcp dport 7003 dnat to 10.66.2.6:7001
	}
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip daddr { 10.66.2.5, 10.66.2.6 } oifname g1 masquerade
	}
}
NFT
# The server sends SERVERWORD to each client as soon as the file GO exists: over TCP after the connection, over UDP
# after a datagram of the client. The client prints what it receives.
cat >"$WORK/old.py" <<'PY'
import os, socket, sys, threading, time
role, kind, address, port, go = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
family = socket.AF_INET6 if ':' in address else socket.AF_INET
stream = kind == 'tcp'
sock = socket.socket(family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)

def wait():
    for _ in range(1200):
        if os.path.exists(go):
            return
        time.sleep(0.05)

def speak(conn, peer):
    wait()
    conn.sendall(b'SERVERWORD') if stream else conn.sendto(b'SERVERWORD', peer)
    while stream and conn.recv(100):
        conn.sendall(b'goes on')

if role == 'server':
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    if stream:
        sock.listen(8)
    print('listening', flush=True)
    while True:
        conn, peer = sock.accept() if stream else (sock, sock.recvfrom(100)[1])
        threading.Thread(target=speak, args=(conn, peer), daemon=True).start()
sock.settimeout(300) # a machine beside other work is slow
sock.connect((address, port))
stream or sock.send(b'hello')
print('connected', flush=True)
print(sock.recv(100).decode(), flush=True)
if stream:
    sock.sendall(b'CLIENTWORD')
    sock.settimeout(8)
    try:
        print(sock.recv(100).decode(), flush=True)
    except OSError:
        print('TIMEOUT', flush=True)
PY
# A segment of a connection that never existed.
cat >"$WORK/forge.py" <<'PY'
import socket, struct
def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
source, target, data = socket.inet_aton('10.66.1.2'), socket.inet_aton('10.66.2.2'), b'FORGED!!'
head = struct.pack('!HHIIBBHHH', 5555, 7001, 1000, 2000, 0x50, 0x18, 512, 0, 0)
whole = checksum(source + target + struct.pack('!BBH', 0, 6, len(head) + len(data)) + head + data)
sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
sock.sendto(head[:16] + struct.pack('!H', whole) + head[18:] + data, ('10.66.2.2', 0))
PY

serve() { # serve KIND ADDRESS PORT GO
	: >"$WORK/serve.$4"
	ip netns exec "$P-srv" python3 "$WORK/old.py" server "$1" "$2" "$3" "$WORK/go.$4" >"$WORK/serve.$4" \
		2>>"$WORK/background.log" &
	arrives listening "$WORK/serve.$4"
}
connect() { # connect NAME KIND ADDRESS PORT
	: >"$WORK/$1.out"
	ip netns exec "$P-cli" python3 "$WORK/old.py" client "$2" "$3" "$4" - >"$WORK/$1.out" 2>>"$WORK/background.log" &
	arrives connected "$WORK/$1.out"
}
heard() { # heard NAME WANTED: all that it printed
	wait_more_lines "$WORK/$1.out" '' "$(echo "$2" | wc -l)"
	equal "$1" "$(cat "$WORK/$1.out")" "$2"
}
went_on="connected
SERVERWORD
goes on"

serve tcp 10.66.2.2 7001 one
serve tcp 10.66.2.5 7001 one
serve tcp fd66:2::2 7001 one
serve udp 10.66.2.2 7000 one
connect four tcp 10.66.2.2 7001
connect six tcp fd66:2::2 7001
connect nat tcp 10.66.1.1 7002
connect udp udp 10.66.2.2 7000
cat >"$WORK/t.rules" <<'RULES'
alert tcp any 7001 -> any any (msg:"server"; flow:established,to_client; content:"SERVERWORD"; sid:1;)
alert tcp any any -> any any (msg:"the wrong way"; flow:to_server; content:"SERVERWORD"; sid:2;)
alert tcp any any -> any 7001 (msg:"client"; flow:established,to_server; content:"CLIENTWORD"; sid:3;)
alert tcp any any -> any any (msg:"the wrong way"; flow:to_client; content:"CLIENTWORD"; sid:4;)
alert udp any any -> any any (msg:"datagram"; flow:established,to_client; content:"SERVERWORD"; sid:5;)
alert udp any any -> any any (msg:"the wrong way"; flow:to_server; content:"SERVERWORD"; sid:6;)
RULES
start_sluice ips --queue 0 --attach after --rules "$WORK/t.rules" --set queue.conntrack=always \
	--set stream.midstream-grace=0
ips=$LAST_PID
grep -q "queued packets carry conntrack data$" "$WORK/ips.log" ||
	fail "queued packets carry no conntrack data: $(cat "$WORK/ips.log")"
touch "$WORK/go.one"
for name in four six nat; do heard $name "$went_on"; done
heard udp "connected
SERVERWORD"
wait_events ips 3 event_type=alert alert.signature_id=1
wait_events ips 3 event_type=alert alert.signature_id=3
wait_events ips 1 event_type=alert alert.signature_id=5
for sid in 2 4 6; do equal "alerts of rule $sid" "$(events ips event_type=alert alert.signature_id=$sid)" 0; done
equal "drops until now" "$(events ips event_type=drop)" 0
client python3 "$WORK/forge.py"
wait_events ips 1 event_type=drop src_port=5555 "drop.reason=stream midstream"
stop_process "$ips" || fail "sluice run ended with exit code $?"
equal "flows with swapped client and server" "$(events ips event_type=flow src_port=7001)" 0
equal "connections to the server" "$(events ips event_type=flow proto=TCP dest_port=7001)" 4 # with the forged one
equal "datagrams to the server" "$(events ips event_type=flow proto=UDP dest_port=7000)" 1
equal "flows whose direction conntrack corrected" "$(last_stats ips flow.conntrack_reply)" 4
equal "sessions picked up by conntrack data" "$(last_stats ips tcp.midstream_conntrack)" 3
equal "packets with conntrack" "$(last_stats ips queue.0.conntrack)" "$(last_stats ips queue.0.packets)"

# During and after the grace period.
serve tcp 10.66.2.3 7001 two
serve tcp 10.66.2.4 7001 three
connect inside tcp 10.66.2.3 7001
serve tcp 10.66.2.6 7001 three
connect late tcp 10.66.2.4 7001
connect late_nat tcp 10.66.1.1 7003
start_sluice grace --queue 0 --attach after --rules "$WORK/t.rules" --set stream.midstream-grace=6
started=$SECONDS
grep -q "queued packets carry conntrack data for a time" "$WORK/grace.log" ||
	fail "the log does not mention conntrack data for a time"
touch "$WORK/go.two"
heard inside "$went_on"
while [ $((SECONDS - started)) -le 7 ]; do sleep 0.2; done # the grace is what is tested; nothing shows that it is over
touch "$WORK/go.three"
heard late "$went_on"
# With DNAT and SNAT Sluice cannot find the connection in the conntrack table by the packet's addresses. The first
# packet is dropped; the kernel then attaches conntrack data to the retransmission.
heard late_nat "$went_on"
equal "drops of other connections" "$(events grace event_type=drop src_ip=10.66.2.6)" "$(events grace event_type=drop)"
stop_process "$LAST_PID" || fail "sluice run ended with exit code $?"
told=$(last_stats grace queue.0.conntrack)
[ "$(last_stats grace tcp.conntrack_queries)" -gt 0 ] || fail "no lookup in the conntrack table"
[ "$told" -gt 0 ] || fail "no packet had conntrack data during the grace period"
[ "$told" -lt "$(last_stats grace queue.0.packets)" ] || fail "packets still have conntrack data after the grace period"
equal "verdicts refused by the kernel" "$(last_stats grace queue.0.verdict_errors)" 0
