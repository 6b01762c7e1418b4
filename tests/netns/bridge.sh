#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A transparent gateway: a bridge between client and server, inspected by the family bridge. Frames keep their headers;
# what a rule drops does not arrive, what it rejects is answered, what it replaces arrives; ARP and others pass. With
# VLANs where the kernel has them, or WITH_VLAN asks. FAMILY=inet: by br_netfilter, as with bridges of containers.
. "$(dirname "$0")/lib.sh"
FAMILY=${FAMILY:-bridge}
for host in cli gw srv; do
	ip netns add "$P-$host"
	ip -n "$P-$host" link set lo up
done
ip link add c0 netns "$P-cli" type veth peer name g0 netns "$P-gw"
ip link add s0 netns "$P-srv" type veth peer name g1 netns "$P-gw"
ip -n "$P-gw" link add name br0 type bridge || skip "the kernel has no bridge"
for port in g0 g1; do ip -n "$P-gw" link set "$port" master br0; ip -n "$P-gw" link set "$port" up; done
ip -n "$P-gw" link set br0 up
address() { # address NAMESPACE DEVICE NUMBER NET
	ip netns exec "$P-$1" sysctl -qw "net.ipv6.conf.${2/./\/}.accept_dad=0"
	ip -n "$P-$1" link set "$2" up
	ip -n "$P-$1" addr add "10.66.$4.$3/24" dev "$2"
	ip -n "$P-$1" addr add "fd66:$4::$3/64" dev "$2" nodad
}
address cli c0 1 1
address srv s0 2 1
vlan() { # vlan NAMESPACE DEVICE: 5 on it, and 7 within 6
	ip -n "$P-$1" link add link "$2" name "$2.5" type vlan id 5 &&
		ip -n "$P-$1" link add link "$2" name "$2.6" type vlan proto 802.1ad id 6 &&
		ip -n "$P-$1" link set "$2.6" up &&
		ip -n "$P-$1" link add link "$2.6" name "$2.7" type vlan id 7
}
[ $FAMILY = bridge ] || gateway sysctl -qw net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1 \
	2>/dev/null ||
	skip "the kernel has no br_netfilter"
gateway "$SLUICE" nft install --config /dev/null --mode after --queue 9 --family $FAMILY >"$WORK/install.log" 2>&1 ||
	skip "no queue in the family $FAMILY: $(cat "$WORK/install.log")"
gateway "$SLUICE" nft remove --config /dev/null
nets=1
if [ $FAMILY = bridge ] && vlan cli c0 2>/dev/null && vlan srv s0; then
	for net in 5 7; do address cli c0.$net 1 $net; address srv s0.$net 2 $net; done
	nets="1 5 7"
elif [ -n "${WITH_VLAN:-}" ]; then
	fail "no VLANs"
fi
for net in $nets; do
	client ping -c1 -W5 -q "10.66.$net.2" >/dev/null || fail "the bridge does not forward net $net"
	client ping -6 -c1 -W5 -q "fd66:$net::2" >/dev/null || fail "the bridge does not forward IPv6 in net $net"
done
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
background srv python3 "$HERE/traffic.py" udp-sink 7003 "$WORK/all"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_for test -s "$WORK/got" || fail "got is empty"

cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)
drop tcp any any -> any 7001 (msg:"bad word in a stream"; flow:established,to_server; content:"EVIL"; sid:2;)
alert udp any any -> any 7000 (msg:"by port"; iif:g0; oif:g1; content:"good"; sid:3;)
alert udp any any -> any 7000 (msg:"by bridge"; iif:br0; content:"good"; sid:4;)
alert udp any any -> any 7000 (msg:"changed"; content:"old"; replace:"new"; sid:5;)
alert udp any any -> any 7000 (msg:"by VLAN"; vlan.id:5; content:"good"; sid:6;)
alert udp any any -> any 7000 (msg:"two VLANs"; vlan.id:6,0; vlan.id:7,1; vlan.layers:2; content:"good"; sid:7;)
reject tcp any any -> any 7001 (msg:"reset the sender"; content:"REFUSE"; sid:8;)
rejectboth tcp any any -> any 7001 (msg:"reset both"; content:"BOTH"; sid:9;)
reject udp any any -> any 7002 (msg:"unreachable"; content:"REFUSE"; sid:10;)
RULES
start_sluice ips --queue 0 --attach after --set nft.family=$FAMILY --set eve.ethernet=yes --rules "$WORK/t.rules"
ips=$LAST_PID
ip -n "$P-cli" neigh flush all # ARP and neighbour discovery again, through the queue
# refused ADDRESS: what a sender of a datagram is told.
refused() {
	client python3 - "$1" <<'PY'
import socket, sys
sock = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(10)
sock.connect((sys.argv[1], 7002))
sock.send(b'REFUSE')
try:
    sock.recv(10)
    print('answered')
except TimeoutError:
    print('nothing')
except OSError:
    print('refused')
PY
}
expected=0
for net in $nets; do
	for to in "10.66.$net.2" "fd66:$net::2"; do
		udp_send cli "$to" 7000 "good $net" EVIL "old $net" "last $net"
		equal "a stream to $to" "$(client timeout 30 python3 "$HERE/traffic.py" tcp-ask "$to" 7001 good)" good
		# The gateway has no address: answers leave by the ports, with the tags of what they answer.
		[ $FAMILY = bridge ] || continue
		for text in REFUSE BOTH; do
			equal "$text to $to" "$(client timeout 30 python3 "$HERE/traffic.py" tcp-ask "$to" 7001 $text)" RESET
		done
		equal "a datagram to $to" "$(refused "$to")" refused
	done
	equal "a bad stream in net $net" \
		"$(client timeout 30 python3 "$HERE/traffic.py" tcp-ask "10.66.$net.2" 7001 EVIL)" TIMEOUT
	wait_lines "$WORK/got" "last $net" 2
	equal "good in net $net" "$(grep -c "good $net" "$WORK/got")" 2
	equal "changed in net $net" "$(grep -c "new $net" "$WORK/got")" 2
	expected=$((expected + 2))
done
equal "bad ones that arrived" "$(grep -cE 'EVIL|old' "$WORK/got" || true)" 0
wait_events ips $expected event_type=alert alert.signature_id=3 sluice.queue.in_physical=g0 sluice.queue.out_physical=g1 \
	sluice.queue.in_iface=br0
wait_events ips $expected event_type=alert alert.signature_id=4 sluice.queue.out_iface=br0
cli_mac=$(client cat /sys/class/net/c0/address)
srv_mac=$(server cat /sys/class/net/s0/address)
macs=("ether.src_mac=$cli_mac")
[ $FAMILY = bridge ] && macs+=("ether.dest_mac=$srv_mac")
equal "MAC addresses" "$(events ips event_type=alert alert.signature_id=3 "${macs[@]}")" $expected
if [ "$nets" != 1 ]; then
	wait_events ips 2 event_type=alert alert.signature_id=6
	wait_events ips 2 event_type=alert alert.signature_id=7
	equal "tags in events" "$(python3 - "$WORK/ips/eve.json" <<'PY'
import json, sys
tags = [e.get('vlan') for e in map(json.loads, open(sys.argv[1])) if e.get('alert', {}).get('signature_id') == 3]
print(sorted(map(str, tags)))
PY
)" "['None', 'None', '[5]', '[5]', '[6, 7]', '[6, 7]']"
fi
# A broadcast is copied to all ports, and each copy is a packet of its own that goes through the queue.
ip -n "$P-gw" link add g2 type dummy 2>/dev/null && ip -n "$P-gw" link set g2 master br0 && ip -n "$P-gw" link set g2 up
client python3 -c '
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for number in range(20):
    sock.sendto(b"to all %d" % number, ("10.66.1.255", 7003))
    sock.close() if number == 19 else None
'
wait_lines "$WORK/all" "to all" 20
# Both sides of a connection were told, or one: the server keeps those with the bad word and those of which the client
# alone was told.
left=$((expected + $(echo "$nets" | wc -w)))
held() { server ss -Htn state established '( sport = :7001 )' | wc -l; }
[ $FAMILY = inet ] || wait_equal "connections left at the server" "$left" held
stop_process "$ips" || fail "exit code $?"
if [ $FAMILY = bridge ]; then
	equal "answers that were sent" "$(last_stats ips ips.reject_packets_sent)" $((4 * expected))
	equal "answers that failed" "$(last_stats ips ips.reject_packets_failed)" 0
fi
equal "flows by their ports" "$(events ips event_type=flow proto=UDP dest_port=7000 sluice.queue.in_physical=g0 \
	sluice.queue.out_physical=g1)" $expected
equal "frames of a type that is not known" "$(last_stats ips ips.uninspected.link_type)" 0
grep -q sluice <<<"$(gateway nft list tables)" && fail "the table stays"

# A dead daemon: frames pass, as bypass has it; and nothing passes without bypass.
start_sluice killed --queue 0 --attach before --set nft.family=$FAMILY --rules "$WORK/t.rules"
kill_process "$LAST_PID"
client ping -c1 -W5 -q 10.66.1.2 >/dev/null || fail "bypass"
gateway "$SLUICE" nft remove --config /dev/null
start_sluice closed --queue 0 --attach before --set nft.family=$FAMILY --set nft.bypass=no --rules "$WORK/t.rules"
kill_process "$LAST_PID"
client ping -c1 -W1 -q 10.66.1.2 >/dev/null && fail "passes without a daemon and without bypass"
true
