#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside ferm.
. "$(dirname "$0")/firewall_lib.sh"
needs ferm
cat >"$WORK/ferm.conf" <<'FERM'
domain (ip ip6) table filter chain FORWARD {
	policy DROP;
	mod state state (ESTABLISHED RELATED) ACCEPT;
	interface g0 outerface g1 proto udp dport 7000 ACCEPT;
	proto (icmp ipv6-icmp) ACCEPT;
}
FERM
firewall_start() { generator ferm "$WORK/ferm.conf"; }
firewall_reload() { firewall_start; }
firewall_ready
beside after 3
beside repeat 5
