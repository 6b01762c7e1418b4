#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside ferm.
. "$(dirname "$0")/firewall_lib.sh"
needs ferm
configure() { # configure TARGET: what is done with what may pass
	cat >"$WORK/ferm.conf" <<FERM
domain (ip ip6) table filter {
	chain FORWARD {
		policy DROP;
		mod state state (ESTABLISHED RELATED) ACCEPT;
		interface g0 outerface g1 proto udp dport 7000 $1;
		proto (icmp ipv6-icmp) ACCEPT;
	}
}
FERM
}
configure ACCEPT
firewall_start() { generator ferm "$WORK/ferm.conf"; }
firewall_reload() { firewall_start; }
firewall_ready
beside after 3
beside repeat 5
account after
recipe ferm >"$WORK/ferm.conf"
firewall_reload || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
recipe ferm | sed 's/(ESTABLISHED RELATED) jump sluice_ips/(ESTABLISHED RELATED) ACCEPT/' >"$WORK/ferm.conf"
condemned "established connections accepted ahead" broken order.accept-established
recipe ferm | sed '/ESTABLISHED/d; s/proto (icmp/mod conntrack ctstate ESTABLISHED ACCEPT; proto (icmp/' \
	>"$WORK/ferm.conf"
condemned "established connections accepted behind" broken order.accept-replies
