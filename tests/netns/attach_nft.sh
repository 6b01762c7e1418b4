#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice run --attach` beside a firewall made by nft: see attach_lib.sh.
. "$(dirname "$0")/attach_lib.sh"
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		udp dport 7000 accept
		icmp type echo-request accept
		icmpv6 type echo-request accept
	}
}
NFT
check_modes
