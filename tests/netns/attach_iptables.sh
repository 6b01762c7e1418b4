#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice run --attach` beside a firewall made by iptables: see attach_lib.sh.
. "$(dirname "$0")/attach_lib.sh"
for ipt in iptables ip6tables; do
	gateway $ipt -P FORWARD DROP
	gateway $ipt -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
	gateway $ipt -A FORWARD -p udp --dport 7000 -j ACCEPT
done
gateway iptables -A FORWARD -p icmp --icmp-type echo-request -j ACCEPT
gateway ip6tables -A FORWARD -p icmpv6 --icmpv6-type echo-request -j ACCEPT
check_modes
