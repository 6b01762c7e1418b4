#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Repeat mode with marks and masks of any width: whatever bits others have in the mark are the same before, between and
# after, and ours are gone when the packet leaves. A rule's nfq_set_mark goes along.
. "$(dirname "$0")/lib.sh"
topology
udp_sink 7000 "$WORK/got"
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)
alert udp any any -> any 7000 (msg:"a mark for the neighbours"; content:"tagged"; nfq_set_mark:0x800/0xc00; sid:2;)
RULES

# Others: a mark set ahead of us; counters behind the queue rule and in postrouting, for what is expected there.
count() { gateway nft -j list counters table inet others | python3 -c '
import json, sys
counters = [o["counter"] for o in json.load(sys.stdin)["nftables"] if "counter" in o]
print(" ".join(str(c["packets"]) for c in sorted(counters, key=lambda c: c["name"])))'; }
others() { # others MARK-BEFORE MARK-BEHIND MARK-AT-THE-END TAGGED-AT-THE-END
	gateway nft delete table inet others 2>/dev/null || true
	gateway nft -f - <<NFT
table inet others {
	counter a_total {}
	counter behind {}
	counter end {}
	counter tagged {}
	chain mangle { type filter hook prerouting priority mangle; udp dport 7000 meta mark set $1; }
	chain filter {
		type filter hook forward priority filter;
		udp dport 7000 counter name a_total
		udp dport 7000 meta mark $2 counter name behind
	}
	chain last {
		type filter hook postrouting priority mangle;
		udp dport 7000 meta mark $3 counter name end
		udp dport 7000 meta mark $4 counter name tagged
	}
}
NFT
}

number=0
# with OURS MASK THEIRS
with() {
	local ours=$1 mask=$2 theirs=$3 behind end tagged
	number=$((number + 1))
	behind=$((theirs & ~mask | ours & mask))
	end=$((theirs & ~mask))
	tagged=$(((theirs & ~0xc00 | 0x800) & ~mask))
	others "$(printf '0x%x' $theirs)" "$(printf '0x%x' $behind)" "$(printf '0x%x' $end)" "$(printf '0x%x' $tagged)"
	start_sluice "ips$number" --queue 0 --attach repeat --mark "$ours/$mask" --rules "$WORK/t.rules"
	for to in 10.66.2.2 fd66:2::2; do udp_send cli $to 7000 "plain$number" EVIL "tagged$number"; done
	wait_lines "$WORK/got" "tagged$number" 2
	stop_process "$LAST_PID" || fail "exit code $?"
	equal "$ours/$mask: what arrived" "$(grep -cE "(plain|tagged)$number\$" "$WORK/got")" 4
	equal "$ours/$mask: repeated" "$(last_stats "ips$number" queue.0.repeated)" 4
	equal "$ours/$mask: dropped" "$(last_stats "ips$number" queue.0.dropped)" 2
	equal "$ours/$mask: seen again" "$(last_stats "ips$number" queue.0.marked)" 0
	# all, behind (with nfq_set_mark other bits), at the end, tagged at the end
	read -r all seen_behind seen_end seen_tagged <<<"$(count)"
	equal "$ours/$mask: all" "$all" 4
	equal "$ours/$mask: the neighbours' bits behind us" "$seen_behind" 2
	equal "$ours/$mask: the neighbours' bits at the end" "$seen_end" 2
	equal "$ours/$mask: a rule's mark at the end" "$seen_tagged" 2
}
with 0x1 0x1 0xa5a50002
with 0x100 0x300 0x25a5a2a5
with 0x80000000 0x80000000 0x3fff33ff
with 0x5 0xf 0xbffffff3
with 0xff00f0 0xff00f0 0x80550001
with 0x12340000 0x3fff0000 0x4321

# All bits but the one of our own answers, with a rule of one's own.
gateway iptables -t mangle -A FORWARD -p udp -m mark ! --mark 0xbfffffff/0xbfffffff -j NFQUEUE --queue-num 0
others 0x1234 0xbfffffff 0xbfffffff 0x1
start_sluice all --queue 0 --verdict repeat --mark 0xbfffffff/0xbfffffff --rules "$WORK/t.rules"
udp_send cli 10.66.2.2 7000 whole
wait_text "$WORK/got" whole
stop_process "$LAST_PID" || fail "exit code $?"
equal "all bits" "$(count)" "1 1 1 0"
