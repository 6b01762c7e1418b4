#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the rules of each mode see of real packets, without a daemon: by their counter, and by what arrives when nobody
# listens.
. "$(dirname "$0")/lib.sh"
topology

install() { gateway "$SLUICE" nft install --config /dev/null "$@" >/dev/null || fail "install $*"; }
remove() { gateway "$SLUICE" nft remove --config /dev/null || fail "remove"; }
queued() {
	gateway "$SLUICE" nft status --config /dev/null --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["packets"])'
}
send() { udp_send cli "$@"; }

# udp PORT: what arrived there, once everything sent before has.
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got7000"
background srv python3 "$HERE/traffic.py" udp-sink 7001 "$WORK/got7001"
for port in 7000 7001; do
	wait_for test -s "$WORK/got$port" || fail "got$port is empty"
done
arrives() { wait_for grep -q "$1" "$WORK/got$2"; } # arrives TEXT PORT

# A firewall that lets port 7000 through, and nothing else but ICMP.
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		udp dport 7000 accept
		meta l4proto { icmp, ipv6-icmp } accept
	}
}
NFT

# after: only what was accepted, IPv4 and IPv6; nobody listens and bypass lets it pass, and only that.
install --mode after --queue 0-3
for to in 10.66.2.2 fd66:2::2; do
	send $to 7001 "after-$to"
	send $to 7000 "after-$to"
	arrives "after-$to" 7000 || fail "after: $to does not arrive"
done
grep after "$WORK/got7001" >/dev/null && fail "bypass opened the firewall"
equal "after: queued" "$(queued)" 2

# The same without bypass: the kernel drops.
install --mode after --queue 0-3 --no-bypass
send 10.66.2.2 7000 "closed"
wait_equal "no bypass: queued" 1 queued
grep closed "$WORK/got7000" >/dev/null && fail "no bypass and no listener, and it passed"

# before: everything, also what the firewall drops afterwards.
install --mode before --queue 5
send 10.66.2.2 7001 "before"
send 10.66.2.2 7000 "before"
arrives before 7000 || fail "before: does not arrive"
grep before "$WORK/got7001" >/dev/null && fail "before: the firewall after us was skipped"
equal "before: queued" "$(queued)" 2

# repeat: packets with the mark are past it.
install --mode repeat --queue 5 --mark 0x100/0x300
send 10.66.2.2 7000 "unmarked"
gateway nft 'add table inet marks; add chain inet marks p { type filter hook prerouting priority -150; }'
gateway nft 'add rule inet marks p udp dport 7000 meta mark set meta mark or 0x104'
send 10.66.2.2 7000 "marked"
gateway nft 'add rule inet marks p udp dport 7000 meta mark set 0x304'
send 10.66.2.2 7000 "other-bits"
arrives other-bits 7000 || fail "repeat: does not arrive"
equal "repeat: queued" "$(queued)" 2
gateway nft delete table inet marks

# chain: what jumps there, less the exceptions.
remove
install --mode chain --queue 6
gateway nft 'add chain inet sluice mine { type filter hook forward priority 5; }'
gateway nft 'add rule inet sluice mine udp dport 7000 jump sluice_ips'
gateway nft 'add rule inet sluice sluice_exceptions ip daddr 10.66.2.3 accept'
send 10.66.2.2 7000 "chain-inspected"
send 10.66.2.3 7000 "chain-excepted"
arrives chain-inspected 7000 && arrives chain-excepted 7000 || fail "chain: does not arrive"
equal "chain: queued" "$(queued)" 1
gateway nft delete chain inet sluice mine
remove

# input and output: not the loopback, and not our own answers.
install --mode after --queue 7 --hook input,output --family ip
gateway ping -c1 -W1 -q 127.0.0.1 >/dev/null || fail "loopback"
equal "loopback: queued" "$(queued)" 0
gateway python3 -c '
import socket, struct
for mark in (0x40000000, 0xc0000001, 0x1):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 36, struct.pack("I", mark))
    s.sendto(b"answer", ("10.66.2.2", 7000))'
arrives answer 7000 || fail "output: does not arrive"
equal "output: only the one without the reject mark" "$(queued)" 1
client ping -c1 -W1 -q 10.66.1.1 >/dev/null || fail "input"
equal "input and output" "$(queued)" 3
remove

# Packets that wait in a queue survive other rules in the same chains, looking, printing and refused installations.
background gw python3 "$HERE/hold_queue.py" 9
wait_text "$WORK/background.log" bound
install --mode after --queue 9
for i in 1 2 3; do send 10.66.2.2 7000 "held-$i"; done
wait_equal "packets that wait" 3 kernel_queue 9 waiting
gateway "$SLUICE" nft status --config /dev/null >/dev/null
gateway "$SLUICE" nft print --config /dev/null >/dev/null
gateway "$SLUICE" nft install --config /dev/null --table second --family bridge --xt >/dev/null 2>&1 &&
	fail "xt in a bridge"
install --mode after --queue 9-10
equal "waiting after an installation with the same chains" "$(kernel_queue 9 waiting)" 3
remove
wait_equal "packets that wait" 0 kernel_queue 9 waiting
