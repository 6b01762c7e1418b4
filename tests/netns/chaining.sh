#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# We and another consumer of queues, one behind the other: by routing, with and without the bypass bit, and by repeat;
# we first and they first; and what happens when one of them dies under load. CONSUMER: python (queue_consumer.py) or
# suricata.
. "$(dirname "$0")/lib.sh"
CONSUMER=${CONSUMER:-python}
CHROOT=${BENCH_DIR:-/nonexistent}/trixie
if [ "$CONSUMER" = suricata ]; then
	[ -x "$CHROOT/usr/bin/suricata" ] || skip "no Suricata: BENCH_DIR names a folder with a Debian trixie that has it"
	FOLDER=/tmp/$P
	mkdir -p "$CHROOT$FOLDER"
	trap 'cleanup; rm -rf "${CHROOT:?}$FOLDER"' EXIT
	echo 'drop udp any any -> any any (msg:"theirs"; content:"THEIRS"; sid:9;)' >"$CHROOT$FOLDER/theirs.rules"
fi
topology
udp_sink 7000 "$WORK/got"
echo 'drop udp any any -> any any (msg:"ours"; content:"OURS"; sid:1;)' >"$WORK/t.rules"

# them VERDICT [MARK/MASK]: starts the other one on queue 20; sets THEM.
them() {
	local nfq=()
	case $1 in
	route:*) nfq=(--set nfq.mode=route --set "nfq.route-queue=0") ;;
	repeat) nfq=(--set nfq.mode=repeat --set "nfq.repeat-mark=${2%/*}" --set "nfq.repeat-mask=${2#*/}") ;;
	esac
	if [ "$CONSUMER" = python ]; then
		ip netns exec "$P-gw" python3 "$HERE/queue_consumer.py" 20 THEIRS "$@" >"$WORK/them.log" 2>&1 &
	else
		ip netns exec "$P-gw" chroot "$CHROOT" /usr/bin/suricata -c /etc/suricata/suricata.yaml \
			-S "$FOLDER/theirs.rules" -l "$FOLDER" \
			-q 20 -k none --runmode workers --set unix-command.enabled=no "${nfq[@]}" >"$WORK/them.log" 2>&1 &
	fi
	THEM=$!
	wait_running $THEM they_listen || fail "the other consumer did not start"
}
they_listen() { [ "$(kernel_queue 20 copy_mode)" = 2 ]; }
we() { # we NAME ARGS...
	start_sluice "$1" --queue 0 --rules "$WORK/t.rules" "${@:2}"
	WE=$LAST_PID
}
rule() { gateway iptables -t mangle -A FORWARD -p udp "$@"; }
arrived() { grep -c "$1\$" "$WORK/got" || true; }
# both NAME: ours and theirs are dropped, the rest arrives once.
both() {
	udp_send cli 10.66.2.2 7000 "$1" "$1 OURS" "$1 THEIRS" "$1 end"
	wait_equal "$1: the last datagram" 1 arrived "$1 end"
	equal "$1" "$(arrived "$1") $(arrived "$1 OURS") $(arrived "$1 THEIRS") $(arrived "$1 end")" "1 0 0 1"
}
only() { # only NAME WANTED WORD: what arrives of NAME and "NAME WORD" with one side dead
	udp_send cli 10.66.2.2 7000 "$1" "$1 $3" "$1 end"
	wait_equal "$1: the last datagram" 1 arrived "$1 end"
	equal "$1" "$(arrived "$1") $(arrived "$1 $3")" "$2"
}
load() { # load: paced datagrams until `unload`
	ip netns exec "$P-cli" python3 "$HERE/traffic.py" udp-paced 10.66.2.2 7000 400 60 >"$WORK/paced" 2>&1 &
	LOAD=$!
	flows || fail "the load does not arrive"
}
passed() { grep -c number "$WORK/got" || true; }
sent() { client cat /sys/class/net/c0/statistics/tx_packets; }
more() { [ "$("$1")" -gt "$2" ]; }
flows() { wait_for more passed $(($(passed) + 20)); } # whether it arrives
stands() { # whether nothing arrives of what is sent; packets with a verdict may still be on their way at first
	local before
	for _ in $(seq 20); do
		before=$(passed)
		wait_for more sent $(($(sent) + 100)) || fail "the load is not sent"
		[ "$(passed)" != "$before" ] || return 0
	done
	return 1
}
unload() { kill $LOAD && wait $LOAD || fail "the load"; }
end_them() { kill -9 $THEM; wait $THEM 2>/dev/null || true; }

# --- We first, and route ----------------------------------------------------------------------------------------------
rule -j NFQUEUE --queue-num 0
them accept
we first --verdict route --route-to 20
both routed
load
end_them
stands || fail "route: packets pass a dead second without the bypass bit"
them accept
flows || fail "route: packets do not go on with a new second"
unload
both again
stop_process $WE || fail "exit code $?"
equal "lost by us" "$(last_stats first queue.0.verdict_errors)" 0
we bypass --verdict route --route-to 20 --set queue.route-bypass=yes
load
end_them
flows || fail "route with bypass: packets stay with a dead second"
unload
only bypassed "1 0" OURS
# Our death: the firewall's rule has no bypass.
them accept
load
kill_process $WE
stands || fail "packets pass a dead first"
unload
end_them

# --- They first, and route --------------------------------------------------------------------------------------------
gateway iptables -t mangle -F FORWARD
rule -j NFQUEUE --queue-num 20
we second
them route:0
both second
load
kill_process $WE
stands || fail "packets pass us when we are dead"
we second-again
flows || fail "packets do not go on when we are back"
end_them
stands || fail "packets pass a dead first"
unload
if [ "$CONSUMER" = python ]; then
	them route:0:bypass
	both third
	load
	kill_process $WE
	flows || fail "bypass: packets stay when we are dead"
	unload
	only fourth "1 0" THEIRS
	end_them
else
	kill_process $WE
fi

# --- Both repeat in one chain, each with a mark of its own ------------------------------------------------------------
# order FIRST SECOND: numbers of queues
order() {
	gateway iptables -t mangle -F FORWARD
	for queue in "$@"; do
		case $queue in
		0) rule -m mark ! --mark 0x100/0x100 -j NFQUEUE --queue-num 0 ;;
		20) rule -m mark ! --mark 0x2/0x2 -j NFQUEUE --queue-num 20 ;;
		esac
	done
	gateway iptables -t mangle -A FORWARD -p udp -m mark --mark 0x102 -m comment --comment judged
}
judged() { gateway iptables -t mangle -L FORWARD -vnx | awk '/judged/ { print $1 }'; }
them repeat 0x2/0x2
for name in we-first they-first; do
	if [ $name = we-first ]; then order 0 20; else order 20 0; fi
	we $name --verdict repeat --mark 0x100/0x100
	both $name
	equal "$name: packets with both marks" "$(judged)" 2
	load
	kill_process $WE
	stands || fail "$name: packets pass us when we are dead"
	we $name-again --verdict repeat --mark 0x100/0x100
	flows || fail "$name: packets do not go on when we are back"
	unload
	stop_process $WE || fail "exit code $?"
	equal "$name: packets that circled" "$(last_stats $name-again queue.0.looping)" 0
	equal "$name: packets that came marked" "$(last_stats $name-again queue.0.marked)" 0
done
we last --verdict repeat --mark 0x100/0x100
load
end_them
stands || fail "repeat: packets pass a dead neighbour"
unload
stop_process $WE || fail "exit code $?"
