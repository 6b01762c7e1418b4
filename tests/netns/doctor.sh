#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice nft doctor` beside nft rulesets: clean where all is well, and each broken situation by its finding.
. "$(dirname "$0")/doctor_lib.sh"
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1

clear() { nft flush ruleset; }

# --- Clean ------------------------------------------------------------------------------------------------------------
nft -f - <<'NFT'
table inet firewall {
	set blocked { type ipv4_addr; elements = { 192.0.2.1 } }
	chain forward {
		type filter hook forward priority filter; policy drop;
		iifname "lo" accept
		ct state established,related counter accept
		ct state vmap { invalid : drop, new : jump services }
		ip saddr @blocked drop
	}
	chain services {
		tcp dport { 22, 80 } accept
		meta mark set meta mark | 0x10
		meta mark & 0x10 == 0x10 counter
		limit rate 5/second log prefix "denied" reject with icmpx admin-prohibited
	}
}
table ip nat { chain postrouting { type nat hook postrouting priority srcnat; masquerade; }; }
NFT
start --queue 0-1 --attach after
examine "after" --queue 0-1
only
equal "clean" "$CODE" 0
equal "verdict" "$(nft_command doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["verdict"])')" \
	clean
grep -q '^queues 0-1: clean, 0 warnings' <<<"$(nft_command doctor | tail -n 1)" ||
	fail "the last line: $(nft_command doctor | tail -n 1)"
absent queue.no-listener order.accept own.altered
stop
examine "stopped" --queue 0-1
only queue.no-rule
equal "nothing is seen" "$CODE" 2
for mode in "before" "repeat --mark 0x1/0x1 --set queue.verdict=repeat" \
	"route --set queue.verdict=route --set queue.route-to=9"; do
	# shellcheck disable=SC2086
	start --queue 0 --attach $mode --set nft.hooks="[forward, input, output]"
	examine "mode $mode"
	only
	equal "clean, $mode" "$CODE" 0
	stop
done

# --- Our own table ----------------------------------------------------------------------------------------------------
install() { nft_command install --mode after "$@" >/dev/null || fail "install $*"; }
hold 0 # not by us; but the findings here are others
install
examine "held"
found queue.foreign-listener broken "process [0-9]+ \(python3\)"
only queue.foreign-listener
release
examine "no listener, bypass"
found queue.no-listener warning "queue num 0 bypass|queue flags bypass to 0"
equal "warnings" "$CODE" 1
install --no-bypass
examine "no listener, no bypass"
found queue.no-listener broken
found queue.no-bypass note
family=$(nft list tables | awk '$3 == "sluice" { print $2; exit }')
handle() { nft -a list chain "$family" sluice forward | sed -n "s/.*$1.*# handle //p" | head -n 1; }
install
nft insert rule "$family" sluice forward tcp dport 443 accept
examine "a rule in our table"
found own.altered warning "tcp dport 443 accept"
nft delete rule "$family" sluice forward handle "$(handle 'dport 443')"
nft delete rule "$family" sluice forward handle "$(handle 'mark')"
examine "without the mark of our answers"
found own.altered warning "lacks rule 1"
nft flush chain "$family" sluice forward
examine "emptied"
found own.not-feeding broken
absent own.altered
install
nft -f - <<NFT
add table $family sluice { flags dormant; }
NFT
if grep -q dormant <<<"$(nft list table "$family" sluice)"; then
	examine "dormant"
	found own.dormant broken
	grep -q "nft add table $family sluice" "$WORK/found.json" ||
		fail "the remedy names another table: $(cat "$WORK/found.json")"
fi
clear
install --hook forward,input
nft flush chain "$family" sluice input
nft delete chain "$family" sluice input
examine "a chain is missing" --hook forward,input
found own.chain-missing broken "input"
clear
nft 'table inet sluice { chain forward { type filter hook forward priority 60; }; }'
examine "a table of our name"
found own.foreign warning "inet sluice"
found queue.no-rule broken
examine "attached by the configuration" --mode after
found own.missing broken
clear

# --- Priorities -------------------------------------------------------------------------------------------------------
install
nft 'table inet late { chain f { type filter hook forward priority 70; policy accept; tcp dport 1 drop; }; }'
examine "a filter behind us"
found order.filter-behind warning "late"
nft 'table inet late { chain g { type filter hook forward priority 60; policy accept; tcp dport 1 drop; }; }'
examine "a filter beside us"
found order.same-priority warning "late"
nft delete table inet late
nft 'table inet empty { chain f { type filter hook forward priority 70; policy accept; }; }'
nft 'table inet other { chain f { type filter hook input priority 70; policy accept; tcp dport 1 drop; }; }'
examine "neither empty chains nor other hooks"
absent order.filter-behind order.same-priority
examine "not where it was configured" --priority 61
found own.altered warning "60 instead of 61"
clear
install --mode before
nft 'table inet early { chain f { type filter hook forward priority -20; policy accept; tcp dport 1 drop; }; }'
examine "a filter before us"
found order.filter-before note "early"
clear

# --- Mode chain -------------------------------------------------------------------------------------------------------
nft_command install --mode chain >/dev/null
examine "mode chain, not jumped to"
found order.unused broken sluice_ips
family=$(nft list tables | awk '$3 == "sluice" { print $2; exit }')
nft "add chain $family sluice mine { type filter hook forward priority 0; policy drop; }"
nft "add rule $family sluice mine ct state established,related jump sluice_ips"
nft "add rule $family sluice mine tcp dport 80 jump sluice_ips"
nft "add rule $family sluice sluice_exceptions tcp dport 22 accept"
examine "mode chain"
only queue.no-listener
nft "insert rule $family sluice mine udp dport 53 accept"
nft "insert rule $family sluice mine ct state established accept"
examine "mode chain, with accepts ahead"
found order.accept-established broken "ct state established accept"
found order.accept warning "udp dport 53 accept"
clear

# --- Marks ------------------------------------------------------------------------------------------------------------
install
nft 'table inet m { chain f {
	type filter hook prerouting priority mangle
	tcp dport 1 meta mark set meta mark | 0x40000000
}; }'
examine "our mark, set by somebody"
found mark.forged broken "0x40000000 under 0x40000000"
clear
install
nft 'table inet m { chain f { type filter hook prerouting priority mangle; meta mark set 0x40001; }; }'
examine "a whole mark that clears ours"
absent mark.forged mark.matched
nft 'table inet m { chain f { meta mark & 0xf0000000 == 0x20000000 accept; }; }'
examine "bits of ours asked for"
found mark.matched warning "0x20000000 under 0xf0000000"
clear
install
ip rule add fwmark 0xc0000000/0xc0000000 lookup 77
examine "bits of ours routed"
found mark.routed warning "fwmark 0xc0000000/0xc0000000 lookup 77"
ip rule del fwmark 0xc0000000/0xc0000000 lookup 77
nft_command install --mode repeat --mark 0x40000/0x40000 >/dev/null
nft 'table ip filter { chain ts-forward { meta mark set meta mark & 0xff00ffff | 0x40000; }; }'
ip rule add fwmark 0x80000/0xff0000 lookup 52
examine "the mark of Tailscale" --set queue.verdict=repeat
found mark.forged broken "Tailscale sets bits of Sluice's mark 0x40000/0x40000"
found mark.routed warning "Tailscale"
found manager.tailscale note
ip rule del fwmark 0x80000/0xff0000 lookup 52
clear
nft_command install --mode repeat --mark 0x1/0x1 >/dev/null
nft -f - <<'NFT'
table inet m {
	chain in { type filter hook prerouting priority mangle; meta mark set ct mark; }
	chain out { type filter hook postrouting priority mangle; ct mark set meta mark; }
}
NFT
examine "our mark saved and restored" --set queue.verdict=repeat
found mark.restored broken "meta mark set ct mark"
nft -f - <<'NFT'
flush chain inet m out
add rule inet m out ct mark set meta mark & 0xff00
NFT
examine "restored, and not saved" --set queue.verdict=repeat
found mark.restored warning
found mark.free note "0x[0-9a-f]+"
nft 'add rule inet m out meta mark set numgen inc mod 8'
examine "a mark by a counter" --set queue.verdict=repeat
found mark.any warning "numgen inc mod 8"
clear

# A connection that has the mark: conntrack says so.
nft_command install --mode repeat --mark 0x1/0x1 >/dev/null
examine "no connection" --set queue.verdict=repeat --mark 0x1/0x1
absent mark.connections
nft 'table inet m { chain o { type filter hook output priority mangle; udp dport 7009 ct mark set 0x1; }; }'
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 7009))'
examine "a connection with our mark" --set queue.verdict=repeat --mark 0x1/0x1
found mark.connections warning "1 connections"
clear

# --- Families ---------------------------------------------------------------------------------------------------------
install --family ip
examine "IPv4 only"
found family.ipv6 warning forward
sysctl -qw net.ipv6.conf.all.forwarding=0
examine "IPv4 only, and no IPv6 to forward"
found family.ipv6 note forward
install --family ip6
examine "IPv6 only"
found family.ipv4 warning forward
clear

# --- Who else ---------------------------------------------------------------------------------------------------------
install
nft 'table inet firewalld { chain filter_FORWARD {
	type filter hook forward priority filter + 10
	ct state established accept
	reject
}; }'
nft 'table ip docker-bridges { chain filter-forward { }; }'
nft 'table inet f2b-table { chain f2b-chain { type filter hook input priority -1; tcp dport 22 drop; }; }'
examine "managers"
for manager in firewalld docker fail2ban; do found manager.$manager note; done
only queue.no-listener
clear

# --- Interfaces that build super-packets which the kernel has to segment ----------------------------------------------
ip link add name l0 type veth peer name l1
ip link set l0 up
ip link set l1 up
examine "usual interfaces"
absent link.big-tcp link.udp-gro
python3 "$(dirname "$0")/link_sizes.py" 185000 l0 || skip "the kernel has no BIG TCP for IPv4"
examine "BIG TCP"
found link.big-tcp note "interface l0 .* 185000 bytes"
if command -v ethtool >/dev/null; then
	for feature in rx-udp-gro-forwarding rx-gro-list; do
		ethtool -K l1 gro on $feature on
		examine "$feature"
		found link.udp-gro note "interface l1"
		ethtool -K l1 gro off
		examine "$feature without GRO"
		absent link.udp-gro
		ethtool -K l1 $feature off
	done
fi
ip link set l0 down
examine "an interface that is down"
absent link.big-tcp
ip link del l0

# --- By hand, and by whom it may --------------------------------------------------------------------------------------
if command -v setpriv >/dev/null; then
	code=0
	setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$SLUICE" nft doctor --config /dev/null \
		>"$WORK/out" 2>&1 || code=$?
	equal "without capability" "$code" 3
	grep -q CAP_NET_ADMIN "$WORK/out" || fail "without capability: $(cat "$WORK/out")"
fi
