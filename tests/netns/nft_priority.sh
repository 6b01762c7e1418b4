#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The priority is found beside the rulesets that tools generate: behind every filter chain, or right ahead of the first.
. "$(dirname "$0")/nft_lib.sh"

# priority WHAT MODE WANTED [ARGS...]
priority() {
	local what=$1 mode=$2 wanted=$3
	shift 3
	nft_command install --mode "$mode" "$@" >/dev/null || fail "$what: install"
	equal "$what, mode $mode" "$(status hooks.0.priority)" "$wanted"
	# Again with our own table there: it does not push itself away.
	nft_command install --mode "$mode" "$@" >/dev/null
	equal "$what, mode $mode, again" "$(status hooks.0.priority)" "$wanted"
	nft_command remove
}

priority "nothing" after 60
priority "nothing" before -10

# firewalld: its filter chains at 10, its mangle at -140.
nft -f - <<'NFT'
table inet firewalld {
	chain mangle_PREROUTING { type filter hook prerouting priority -140; policy accept; }
	chain filter_FORWARD {
		type filter hook forward priority filter + 10; policy accept
		ct state established accept
		reject
	}
	chain filter_INPUT { type filter hook input priority filter + 10; policy accept; }
}
NFT
priority "firewalld" after 60
priority "firewalld" before -10
nft delete table inet firewalld

# Docker by nft, and by iptables-nft with DOCKER-USER.
nft -f - <<'NFT'
table ip docker-bridges {
	chain filter-FORWARD { type filter hook forward priority filter; policy accept; jump filter-forward; }
	chain filter-forward { }
	chain nat-POSTROUTING { type nat hook postrouting priority srcnat; policy accept; }
}
NFT
priority "docker, nft" after 60
priority "docker, nft" before -10
nft delete table ip docker-bridges
if command -v iptables-nft >/dev/null; then
	iptables-nft -N DOCKER-USER
	iptables-nft -A FORWARD -j DOCKER-USER
	priority "docker, iptables" after 60
	priority "docker, iptables" before -10
	# iptables-nft puts its table security at 50 or, as in 1.8.9, at 150: whatever it is, we come after it.
	iptables-nft -t security -A FORWARD -j ACCEPT
	at=$(nft -y list table ip security 2>/dev/null | sed -n 's/.*priority \([0-9]*\);.*/\1/p')
	priority "iptables-nft, security at $at" after $((at + 10))
	nft flush ruleset
fi
if iptables-legacy -t security -A FORWARD -j ACCEPT 2>/dev/null; then
	priority "iptables-legacy" after 60
	iptables-legacy -t security -F
fi

# kube-proxy filters ahead of filter.
nft 'table ip kube-proxy { chain filter-forward { type filter hook forward priority -110; policy accept; }; }'
priority "kube-proxy" before -120
priority "kube-proxy" after 60
nft delete table ip kube-proxy

# Far behind, and as far as it goes: the second is nobody to stay behind of.
nft 'table ip6 late { chain f { type filter hook forward priority 250; policy accept; }; }'
nft 'table inet last { chain f { type filter hook forward priority 2147483647; policy accept; }; }'
priority "a late chain" after 260
priority "a late chain of the other family" after 60 --family ip
nft 'table inet exact { chain n { type filter hook forward priority 260; policy accept; }; }'
priority "another behind it" after 270
nft flush ruleset

# A chain at the very place that would be chosen is not shared, whatever its type.
nft 'table inet x { chain f { type filter hook forward priority -10; policy accept; }; }'
priority "at -10" before -20
nft flush ruleset
nft 'table inet x { chain f { type filter hook forward priority -149; policy accept; }; }'
priority "right behind mangle" before -151
nft flush ruleset

# Hooks are looked at one by one.
nft 'table inet x { chain i { type filter hook input priority 90; policy accept; }; }'
nft_command install --mode after --hook forward,input >/dev/null
# 100 is where source NAT sits.
equal "each hook its own" "$(status hooks)" '[{"hook": "forward", "priority": 60}, {"hook": "input", "priority": 101}]'
nft_command remove

# Another sluice: no leapfrogging, no sharing.
nft_command install --mode after --table other >/dev/null
priority "beside another sluice" after 61
nft_command install --mode after >/dev/null
nft_command install --mode after --table other >/dev/null
equal "the other stays" "$(status hooks.0.priority --table other)" 60
equal "print sees the live ruleset" "$(nft_command print --table third | sed -n 's/.*priority \(.*\); policy.*/\1/p')" \
	62
