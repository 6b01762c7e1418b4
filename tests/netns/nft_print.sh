#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is printed is what is installed, and what nft and iptables take.
. "$(dirname "$0")/nft_lib.sh"

# The listing as far as both ways of queueing show the same.
plain() {
	sed -E -e 's/(counter )(packets [0-9]+ bytes [0-9]+ )?queue .*/\1queue/' -e '/^#|^$|^\tcomment/d' -e 's/[ \t]+/ /g'
}
listed() {
	nft -y list table inet sluice 2>/dev/null |
		sed -e ':a' -e '/counter packets [0-9]* bytes [0-9]* $/{N;s/\n//;ba}' | plain
}

# Without nft_queue the text can only be checked with another verdict in place of it.
check() { # check WHAT FILE
	if has_native; then
		nft -c -f "$2" || fail "$1: nft does not take it"
	else
		sed -E 's/queue (flags bypass )?to .*/accept/' "$2" >"$2.accept"
		nft -c -f "$2.accept" || fail "$1: nft does not take it"
	fi
}

same() { # same WHAT ARGS...
	local what=$1
	shift
	nft_command print "$@" >"$WORK/print.nft" || fail "$what: print"
	check "$what" "$WORK/print.nft"
	nft_command install "$@" >/dev/null || fail "$what: install"
	sed '/^table inet sluice$/d; /^delete table/d' "$WORK/print.nft" | plain >"$WORK/printed"
	listed >"$WORK/listed"
	diff -u "$WORK/printed" "$WORK/listed" >&2 || fail "$what: printed and installed differ"
	if has_native; then
		ruleset | grep -o 'queue .*' | sort -u >"$WORK/queue.listed"
		grep -o 'queue flags.*\|queue to.*' "$WORK/print.nft" | sort -u >"$WORK/queue.printed"
		diff "$WORK/queue.printed" "$WORK/queue.listed" >&2 || fail "$what: the queue expressions differ"
	fi
	nft_command remove
}
same "after" --mode after --queue 0-3
same "after, all hooks" --mode after --queue 8-11 --hook forward,input,output
same "before" --mode before --queue 0 --no-bypass
same "repeat" --mode repeat --queue 1-2 --mark 0x10/0xf0
same "repeat, all hooks" --mode repeat --queue 1-2 --mark 0x20000000/0x20000000 --hook forward,input,output
same "repeat, host" --mode repeat --queue 1 --mark 1/3 --hook input --priority 90
same "route" --mode route --queue 5 --priority 123

# The fragment of mode chain stands in somebody's table.
nft_command print --mode chain --queue 0-3 >"$WORK/sluice_ips.nft"
cat >"$WORK/user.nft" <<NFT
table inet firewall {
	include "$WORK/sluice_ips.nft"
	chain sluice_exceptions { tcp dport 22 accept; }
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related jump sluice_ips
		tcp dport 443 jump sluice_ips
	}
}
NFT
has_native || sed -i -E 's/queue (flags bypass )?to .*/accept/' "$WORK/sluice_ips.nft"
nft -f "$WORK/user.nft" || fail "the fragment"
nft list chain inet firewall sluice_exceptions | grep "dport 22" >/dev/null || fail "exceptions"
nft flush ruleset

# iptables takes its text, twice, and the commands of its head remove all of it.
for variant in nft legacy; do
	command -v iptables-$variant-restore >/dev/null || continue
	iptables-$variant -t security -S >/dev/null 2>&1 || continue
	for args in "after --queue 0-3" "before --queue 4 --hook forward,input,output" "repeat --queue 1 --mark 1/1" \
			"repeat --queue 1 --mark 0x30/0xf0 --hook forward,input,output" \
		"chain --queue 0-1" "route --queue 6"; do
		# shellcheck disable=SC2086
		nft_command print --iptables --mode $args >"$WORK/rules" || fail "print --iptables $args"
		tables=$(sed -n 's/^\*//p' "$WORK/rules")
		for v in "" 6; do
			for table in $tables; do ip${v}tables-$variant -t "$table" -S; done >"$WORK/empty"
			ip${v}tables-$variant-restore --noflush "$WORK/rules" || fail "$variant, IPv${v:-4}: $args"
			ip${v}tables-$variant -t "${tables%%[^a-z]*}" -S | grep -- '-j NFQUEUE' >/dev/null ||
				fail "$variant, IPv${v:-4}: $args: no rule"
			sed -n "s/^#   iptables/ip${v}tables-$variant/p" "$WORK/rules" |
				sed "s/&& iptables/\&\& ip${v}tables-$variant/" |
				grep -v restore | bash -e || fail "$variant, IPv${v:-4}: $args: removal"
			for table in $tables; do
				ip${v}tables-$variant -t "$table" -S
			done | cmp -s - "$WORK/empty" || fail "$variant, IPv${v:-4}: $args: left something"
		done
	done
done
