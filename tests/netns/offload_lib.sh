# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests offload*.sh, after lib.sh: connections that are driven line by line, and what the gateway's
# kernel makes of them.

# talk NAME ADDRESS PORT: a connection of which step sends the lines.
declare -A LINES=()
talk() {
	mkfifo "$WORK/$1.in"
	: >"$WORK/$1.out"
	ip netns exec "$P-cli" python3 "$HERE/traffic.py" tcp-steps "$2" "$3" 1.2 <"$WORK/$1.in" >"$WORK/$1.out" \
		2>"$WORK/$1.port" &
	exec {fd}>"$WORK/$1.in"
	eval "TALK_$1=$fd"
	wait_for test -s "$WORK/$1.port" || fail "$1.port is empty"
	LINES[$1]=0
}

# step NAME TEXT [COUNT]: sends it (COUNT times in a row) and prints what comes back: the same, TIMEOUT or RESET.
step() {
	local fd="TALK_$1"
	LINES[$1]=$((LINES[$1] + 1))
	echo "$2" >&"${!fd}"
	wait_more_lines "$WORK/$1.out" '' "${LINES[$1]}"
	STEP=$(sed -n "${LINES[$1]}p" "$WORK/$1.out")
}

hang_up() { # hang_up NAME
	local fd="TALK_$1"
	eval "exec ${!fd}>&-"
	rm -f "$WORK/$1.in"
}

# says NAME TEXT WANTED: what comes back.
says() {
	step "$1" "$2"
	equal "$1: the answer to $2" "$STEP" "$3"
}

# counter TABLE NAME [FAMILY]: packets of a named counter.
counter() {
	gateway nft list counter "${3:-inet}" "$1" "$2" 2>/dev/null | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

# queued N...: packets that came to these queues.
queued() {
	local sum=0 number queue
	for queue in "$@"; do
		number=$(kernel_queue "$queue" sequence)
		sum=$((sum + ${number:-0}))
	done
	echo "$sum"
}

# tracked IPV4-ADDRESS SERVER-PORT CLIENT-PORT: packets and bytes of both directions, as the gateway's conntrack has
# them; nothing where that is not shown.
tracked() {
	gateway cat /proc/net/nf_conntrack 2>/dev/null | python3 -c '
import re, sys
address, server, client = sys.argv[1:]
for line in sys.stdin:
    if f"dst={address} sport={client} dport={server} " in line:
        print(*re.findall("packets=([0-9]+)", line), *re.findall("bytes=([0-9]+)", line))' "$1" "$2" "$3"
}

# A firewall beside us, which marks all connections, and looks behind everybody else whether its bits are what they
# were, and whether it sees any of ours.
neighbour() {
	gateway nft -f - <<'NFT'
table inet firewall {
	counter kept { }
	counter changed { }
	counter leaked { }
	chain prerouting {
		type filter hook prerouting priority mangle;
		ct mark 0 ct mark set 0x8077
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		icmp type echo-request accept
		icmpv6 type echo-request accept
		meta l4proto { tcp, udp } accept
	}
	chain postrouting {
		type filter hook postrouting priority mangle;
		ct mark & 0xcfffffff == 0x8077 counter name kept
		ct mark & 0xcfffffff != 0x8077 counter name changed
		meta mark & 0x30000000 != 0 counter name leaked
	}
}
NFT
	neighbours >"$WORK/neighbours"
}
neighbours() { gateway nft list table inet firewall | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'; }
unchanged() {
	neighbours | cmp -s - "$WORK/neighbours" || fail "the neighbour's rules have changed: $(neighbours)"
	equal "connections whose other bits have changed" "$(counter firewall changed)" 0
	equal "packets with our bits that others saw" "$(counter firewall leaked)" 0
	[ "$(counter firewall kept)" -gt 0 ] || fail "the neighbour saw nothing"
}
