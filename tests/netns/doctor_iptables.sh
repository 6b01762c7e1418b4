#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice nft doctor` beside queue rules in iptables: as manuals of other programs have them, by nft's and by the legacy
# tables.
. "$(dirname "$0")/doctor_lib.sh"
for tool in iptables-nft ip6tables-nft iptables-legacy ip6tables-legacy; do
	command -v $tool >/dev/null || skip "no $tool"
done
iptables-legacy -L >/dev/null 2>&1 || skip "the kernel has no legacy tables"
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1

clear() {
	local tool table
	nft flush ruleset
	for tool in iptables-legacy ip6tables-legacy; do
		for table in filter mangle raw; do
			$tool -t $table -F
			$tool -t $table -X
		done
		$tool -P FORWARD ACCEPT
	done
}

for kind in nft legacy; do
	four="iptables-$kind" six="ip6tables-$kind"
	clear

	# The rule at the top of FORWARD, as it is advised everywhere: the firewall behind it is never asked.
	$four -I FORWARD -j NFQUEUE --queue-num 0 --queue-bypass
	$four -A FORWARD -p tcp --dport 22 -j DROP
	examine "$kind: at the top"
	found queue.accept-shared broken "1, of which 1 deny"
	found queue.bypass-shared broken "-j NFQUEUE --queue-num 0 --queue-bypass|queue .*bypass"
	found family.ipv6 warning forward
	$six -I FORWARD -j NFQUEUE --queue-num 0 --queue-bypass
	examine "$kind: IPv6, too"
	absent family.ipv6 family.ipv4
	equal "$kind: broken" "$CODE" 2

	# In repeat mode the packet comes back, marked.
	clear
	$four -A FORWARD -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0
	$four -A FORWARD -p tcp --dport 22 -j DROP
	$six -A FORWARD -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0
	examine "$kind: repeat" --set queue.verdict=repeat --mark 0x1/0x1
	only queue.no-listener
	found queue.no-listener broken "drops|queue 0: no listener"
	$four -t mangle -A PREROUTING -j MARK --set-xmark 0x3/0x3
	$four -t mangle -A PREROUTING -j CONNMARK --restore-mark
	$four -t mangle -A POSTROUTING -j CONNMARK --save-mark
	examine "$kind: repeat, with others' marks" --set queue.verdict=repeat --mark 0x1/0x1
	found mark.forged broken "0x3 under 0x3"
	found mark.restored broken "restore-mark|meta mark set ct mark"

	# After an accept: what it takes is not seen.
	clear
	$four -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
	$four -A FORWARD -i eth0 -p tcp --dport 80 -j ACCEPT
	$four -A FORWARD -i lo -j ACCEPT
	$four -A FORWARD -j NFQUEUE --queue-num 0
	examine "$kind: after accepts"
	found order.accept-established broken "established,related|related,established"
	found order.accept warning "1 rule accepts"
	$four -I FORWARD -j ACCEPT
	examine "$kind: after an accept of everything"
	found order.unreachable broken "ACCEPT|accept"

	# In chains of others: Docker accepts its own ahead; the rule in DOCKER-USER is a guest.
	clear
	$four -N DOCKER-USER
	$four -A FORWARD -j DOCKER-USER
	$four -A DOCKER-USER -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN
	$four -A DOCKER-USER -j NFQUEUE --queue-balance 0:3 --queue-cpu-fanout
	$four -P FORWARD DROP
	examine "$kind: DOCKER-USER" --queue 0-3
	found manager.docker note
	found manager.guest warning "Docker"
	found queue.fanout warning "queue-cpu-fanout|queue .*fanout"
	found queue.accept-shared broken "policy drop"
	absent order.unreachable order.accept-established

	# A chain of its own that nothing jumps to; and two consumers.
	clear
	$four -N IPS
	$four -A IPS -j NFQUEUE --queue-num 0
	examine "$kind: nothing jumps to it"
	found order.unused broken IPS
	clear
	nft_command install --mode after --queue 0 >/dev/null
	$four -A FORWARD -p udp -j NFQUEUE --queue-num 0
	$four -A FORWARD -p tcp -j NFQUEUE --queue-num 9
	hold 9
	examine "$kind: two users"
	found queue.second-rule warning "-p udp|udp"
	found queue.other-user note "queue 9 \(python3\)"
	release
	clear

	# Before connection tracking, and on the outer side of NAT.
	$four -t raw -A PREROUTING -j NFQUEUE --queue-num 0
	examine "$kind: raw"
	found order.before-conntrack warning
	clear
	nft 'table ip nat2 { chain p { type nat hook postrouting priority srcnat; masquerade; }; }'
	$four -t mangle -A PREROUTING -j NFQUEUE --queue-num 0
	examine "$kind: outside NAT"
	found order.nat warning
done
clear
