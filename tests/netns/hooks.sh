#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The hooks of a host: what comes in for it, what it sends, and what it forwards, each inspected once, and told with the
# interfaces that the hook has, the sender's MAC address, and the mark.
. "$(dirname "$0")/lib.sh"
topology
for side in "gw 10.66.1.1" "srv 10.66.2.2"; do
	set -- $side
	background "$1" python3 "$HERE/traffic.py" tcp-echo 7001
done
background gw python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got.gw"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got.srv"
for sink in gw srv; do wait_text "$WORK/got.$sink" listening; done
wait_lines "$WORK/background.log" listening 2
gateway nft 'add table inet marks; add chain inet marks in { type filter hook prerouting priority -150; }'
gateway nft 'add rule inet marks in ip protocol udp meta mark set 0x77'
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any 7001 (msg:"bad word in a stream"; flow:established,to_server; content:"EVIL"; sid:1;)
alert udp any any -> any 7000 (msg:"from the client's side"; iif:g0; mark:0x77; content:"hello"; sid:2;)
alert udp any any -> any 7000 (msg:"to the server's side"; oif:g1; content:"hello"; sid:3;)
alert udp any any -> any 7000 (msg:"not of the client"; oif:!g0; mark:0; content:"hello"; sid:4;)
alert udp any any -> any 7000 (msg:"the host's own"; oif:g1; iif:g0; content:"hello"; sid:5;)
RULES
start_sluice ips --queue 0 --attach after --set "nft.hooks=[forward, input, output]" --set eve.ethernet=yes \
	--rules "$WORK/t.rules"
ips=$LAST_PID

# ask HOST ADDRESS TEXT WANTED: a stream that is dropped says nothing for as long as we wait.
ask() { equal "$1 asks $2 for $3" "$("$1" timeout "${5:-20}" python3 "$HERE/traffic.py" tcp-ask "$2" 7001 "$3")" "$4"; }
ask client 10.66.1.1 good good
ask client fd66:1::1 EVIL "" 1.5
ask client fd66:2::2 good good
ask gateway fd66:2::2 good good
ask gateway 10.66.2.2 EVIL "" 1.5
grep -q EVIL <<<"$(gateway timeout 20 python3 "$HERE/traffic.py" tcp-ask 127.0.0.1 7001 EVIL)" || fail "the loopback"
udp_send cli 10.66.1.1 7000 hello
udp_send cli 10.66.2.2 7000 hello
udp_send gw 10.66.2.2 7000 hello
wait_events ips 1 event_type=alert alert.signature_id=2 sluice.queue.hook=input sluice.queue.in_iface=g0 sluice.queue.mark=119
wait_events ips 1 event_type=alert alert.signature_id=2 sluice.queue.hook=forward sluice.queue.in_iface=g0 sluice.queue.out_iface=g1
equal "alerts for the client's interface" "$(events ips event_type=alert alert.signature_id=2)" 2
wait_events ips 2 event_type=alert alert.signature_id=3 sluice.queue.out_iface=g1
wait_events ips 1 event_type=alert alert.signature_id=4 sluice.queue.hook=output sluice.queue.out_iface=g1 src_ip=10.66.2.1
equal "alerts for the other interface" "$(events ips event_type=alert alert.signature_id=4)" 1
wait_events ips 1 event_type=alert alert.signature_id=5 sluice.queue.hook=forward
mac=$(client cat /sys/class/net/c0/address)
equal "the sender's MAC address" "$(events ips event_type=alert alert.signature_id=2 "ether.src_mac=$mac")" 2
stop_process "$ips" || fail "exit code $?"
equal "the client's flow to the host" "$(events ips event_type=flow src_ip=10.66.1.2 dest_ip=10.66.1.1 dest_port=7000 \
	sluice.queue.hook=input sluice.queue.in_iface=g0 sluice.queue.mark=119)" 1
equal "the host's own flow" "$(events ips event_type=flow src_ip=10.66.2.1 dest_port=7000 sluice.queue.hook=output \
	sluice.queue.out_iface=g1 sluice.queue.mark=0)" 1
for hook in input output; do
	equal "streams dropped at $hook" "$(events ips event_type=drop drop.reason=rules sluice.queue.hook=$hook)" 1
done
equal "streams dropped at forward" "$(events ips event_type=drop drop.reason=rules sluice.queue.hook=forward)" 0
