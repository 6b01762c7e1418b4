#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice nft doctor` finds no problem in the rules of the documents and of the folder nft/, while a daemon reads the
# queues: docs/modes.md, the examples for iptables, and the guide's rules for marks and for several consumers. The
# examples for nft are in tests/vm/case_doctor.sh.
. "$(dirname "$0")/doctor_lib.sh"
for tool in iptables-nft-restore ip6tables-nft-restore; do command -v $tool >/dev/null || skip "no $tool"; done
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip link set lo up
clear() { nft flush ruleset; }
clean() { # clean NAME [ARGS...]
	examine "$@"
	only
	equal "$1: exit code" "$CODE" 0
}
both() { # both ARGS...: of iptables and ip6tables
	iptables-nft "$@"
	ip6tables-nft "$@"
}
restore() {
	iptables-nft-restore --noflush "$1"
	ip6tables-nft-restore --noflush "$1"
}
# A jump to the chain of mode chain in place of an accept.
jumps() {
	both -P FORWARD DROP
	both -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j sluice_ips
	both -A FORWARD -p tcp --dport 80 -j sluice_ips
}

start --queue 0-3 --set nft.attach=none

# --- docs/modes.md: each command that prints a ruleset, as one that installs it ---------------------------------------
sed -n 's/^<!-- sluice nft print \(.*\) -->$/\1/p' "$SOURCE/docs/modes.md" >"$WORK/modes"
[ "$(wc -l <"$WORK/modes")" -ge 10 ] || fail "docs/modes.md has no commands"
installed=0
while read -ra options; do
	case " ${options[*]} " in
	*" --iptables "*)
		nft_command print "${options[@]}" >"$WORK/printed"
		restore "$WORK/printed"
		jumps
		clean "${options[*]}" --queue 0-3
		;;
	*)
		if ! nft_command install "${options[@]}" >"$WORK/installed" 2>&1; then
			# The family bridge needs nft_queue, and a flowtable nf_flow_table, which this kernel may lack.
			[[ " ${options[*]} " =~ bridge|flowtable ]] || fail "install ${options[*]}: $(cat "$WORK/installed")"
			continue
		fi
		if [[ " ${options[*]} " == *" chain "* ]]; then
			family=$(nft list tables | awk '$3 == "sluice" { print $2; exit }')
			for family in $(nft list tables | awk '$3 == "sluice" { print $2 }'); do
				nft "add chain $family sluice mine { type filter hook forward priority 0; policy drop; }"
				nft "add rule $family sluice mine ct state established,related jump sluice_ips"
				nft "add rule $family sluice mine tcp dport 80 jump sluice_ips"
			done
		fi
		clean "${options[*]}" "${options[@]}"
		installed=$((installed + 1))
		;;
	esac
	clear
done <"$WORK/modes"
[ $installed -ge 7 ] || fail "only $installed rulesets of docs/modes.md were installed"

# --- nft/: the files unchanged ----------------------------------------------------------------------------------------
for file in "$SOURCE"/nft/iptables/*.rules; do
	mode=$(basename "$file" .rules)
	restore "$file"
	case $mode in
	chain) jumps ;;
	repeat) both -A FORWARD -p tcp --dport 22 -j DROP ;;
	esac
	repeat=()
	[ "$mode" != repeat ] || repeat=(--set queue.verdict=repeat --mark 0x1/0x1)
	clean "nft/iptables/$mode.rules" --queue 0-3 "${repeat[@]}"
	absent mark.kept
	clear
done
# --- Marks: a queue rule of one's own in mode repeat, and the rule that removes the mark ------------------------------
repeat=(--set queue.verdict=repeat --mark 0x1/0x1 --queue 0)
both -A FORWARD -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0
both -A FORWARD -p tcp --dport 22 -j DROP
clean "repeat" "${repeat[@]}"
found mark.kept note 0x1/0x1
both -t mangle -A POSTROUTING -m mark --mark 0x1/0x1 -j MARK --set-xmark 0x0/0x1
clean "repeat, the mark removed by iptables" "${repeat[@]}"
absent mark.kept mark.cleared
both -t mangle -F
nft 'table inet m { chain c {
	type filter hook postrouting priority 300
	meta mark & 0x1 == 0x1 meta mark set meta mark & 0xfffffffe
}; }'
clean "repeat, the mark removed by nft" "${repeat[@]}"
absent mark.kept mark.cleared
nft delete table inet m
both -t mangle -A FORWARD -m mark --mark 0x1/0x1 -j MARK --set-xmark 0x0/0x1
examine "the mark removed ahead of the queue" "${repeat[@]}"
found mark.cleared warning 0x1/0x1
clear
both -A FORWARD -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0 --queue-bypass
both -A FORWARD -p tcp --dport 22 -j DROP
examine "repeat with bypass" "${repeat[@]}"
found queue.bypass-shared broken
clear

# --- Several consumers ------------------------------------------------------------------------------------------------
hold 20
nft_command install --mode route --queue 0 --set queue.route-to=20 >/dev/null
clean "Sluice first" --queue 0
clear
both -A FORWARD -j NFQUEUE --queue-num 20
examine "Sluice second, nothing routed yet" --queue 0
only queue.routed
found queue.routed warning "received none"
clear
both -A FORWARD -m mark ! --mark 0x100/0x100 -j NFQUEUE --queue-num 0
both -A FORWARD -m mark ! --mark 0x200/0x200 -j NFQUEUE --queue-num 20
clean "one chain" --queue 0 --set queue.verdict=repeat --mark 0x100/0x100
clear
release
stop
