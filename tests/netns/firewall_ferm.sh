#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside ferm.
. "$(dirname "$0")/firewall_lib.sh"
needs ferm
configure() { # configure TARGET: what is done with what may pass
	cat >"$WORK/ferm.conf" <<FERM
domain (ip ip6) table filter {
	$CHAINS
	chain FORWARD {
		policy DROP;
		mod state state (ESTABLISHED RELATED) ACCEPT;
		interface g0 outerface g1 proto udp dport 7000 $1;
		proto (icmp ipv6-icmp) ACCEPT;
	}
}
FERM
}
CHAINS=
configure ACCEPT
firewall_start() { generator ferm "$WORK/ferm.conf"; }
firewall_reload() { firewall_start; }
firewall_ready
beside after 3
beside repeat 5
account after
CHAINS='chain sluice_exceptions;
	chain sluice_ips { mod mark mark 0x40000000/0x40000000 ACCEPT; jump sluice_exceptions; NFQUEUE queue-balance "0:1" queue-bypass; }'
configure "jump sluice_ips"
firewall_reload || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
