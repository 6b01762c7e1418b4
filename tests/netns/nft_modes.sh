#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Install, status and remove of each mode among other people's tables, which stay as they were.
. "$(dirname "$0")/nft_lib.sh"

nft -f - <<'NFT'
table inet firewall {
	comment "somebody else's"
	set blocked { type ipv4_addr; elements = { 192.0.2.1 } }
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related counter accept
		ip saddr @blocked drop
	}
}
table ip nat {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		masquerade
	}
}
NFT
ruleset >"$WORK/before"

# mode NAME HOOKS(json) ARGS...
mode() {
	local name=$1 hooks=$2
	shift 2
	nft_command install --mode "$name" "$@" >/dev/null || fail "$name: install"
	equal "$name: installed" "$(status installed)" true
	equal "$name: mode" "$(status mode)" "$name"
	equal "$name: feeding" "$(status feeding)" true
	equal "$name: hooks" "$(status hooks)" "$hooks"
	equal "$name: others' tables" "$(nft list table inet firewall; nft list table ip nat)" "$(cat "$WORK/before")"
	nft_command remove || fail "$name: remove"
	equal "$name: removed" "$(status installed)" false
	ruleset >"$WORK/after"
	cmp -s "$WORK/before" "$WORK/after" || fail "$name: the ruleset is not what it was"
	nft_command remove || fail "$name: remove of nothing"
}
mode after '[{"hook": "forward", "priority": 60}]' --queue 0-3
mode before '[{"hook": "forward", "priority": -10}]' --queue 0-3
mode repeat '[{"hook": "forward", "priority": -10}]' --queue 7 --mark 0x100/0x300
mode chain '[]' --queue 0-3
mode route '[{"hook": "forward", "priority": 60}]' --queue 2
mode after '[{"hook": "input", "priority": 60}, {"hook": "output", "priority": 60}]' --hook input,output
mode after '[{"hook": "forward", "priority": 77}]' --family ip --priority 77
mode before '[{"hook": "forward", "priority": -10}]' --family ip6

# What was asked for is what is there.
nft_command install --mode after --queue 10-13 --no-bypass >/dev/null
equal "queues" "$(status queues)" '{"first": 10, "last": 13}'
equal "bypass" "$(status bypass)" false
equal "family" "$(status family)" inet
handle() { nft -a list tables | sed -n 's/^table inet sluice.*handle //p'; }
table=$(nft -a list table inet sluice 2>/dev/null | sed -n 's/.*chain forward .*handle //p')

# The same chains with other rules: the rules are exchanged and the chain stays, because a base chain that goes makes
# the kernel drop what waits in the queues.
nft_command install --mode after --queue 20 >/dev/null
equal "queues" "$(status queues)" '{"first": 20, "last": 20}'
equal "the chain's handle" "$(nft -a list table inet sluice 2>/dev/null | sed -n 's/.*chain forward .*handle //p')" \
	"$table"
equal "rules" "$(nft -a list chain inet sluice forward 2>/dev/null | grep -c '# handle')" 3

# Other chains: all is new, and nothing of the old is left, also in another family.
nft_command install --mode before --hook forward,input --queue 21 >/dev/null
equal "hooks" "$(status hooks)" '[{"hook": "forward", "priority": -10}, {"hook": "input", "priority": -10}]'
nft_command install --mode after --family ip --queue 22 >/dev/null
equal "tables" "$(nft list tables | grep -c sluice)" 1
equal "family" "$(status family)" ip

# Two tables of two names.
nft_command install --mode after --table second --queue 23 >/dev/null
equal "the second's queue" "$(status queues.first --table second)" 23
equal "the first's queue" "$(status queues.first)" 22
nft_command remove --table second
nft_command remove
ruleset >"$WORK/after"
cmp -s "$WORK/before" "$WORK/after" || fail "the ruleset is not what it was"
