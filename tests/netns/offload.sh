#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flows that are decided are the kernel's. What is accepted passes the queue by and arrives unchanged, what is dropped
# is dropped there, in all modes and both families; the firewall's own decision holds nevertheless, and nobody else's
# bits of marks change.
mode=${1:-}
if [ -z "$mode" ]; then # each on a network of its own: connections that were cut off go on to be heard of
	for mode in after before repeat; do bash "$0" $mode; done
	exit
fi
. "$(dirname "$0")/lib.sh"
. "$HERE/offload_lib.sh"
topology
gateway sysctl -qw net.netfilter.nf_conntrack_acct=1
neighbour
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" tcp-echo 7002
wait_lines "$WORK/background.log" listening 2
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"bad word"; flow:established,to_server; content:"EVIL"; sid:1;)
alert tcp any any -> any any (msg:"enough"; flow:established,to_server; content:"ENOUGH"; bypass; sid:2;)
pass tcp any any -> any any (msg:"passed"; flow:established,to_server; content:"PASS-ME"; sid:3;)
RULES

# accepted NAME ADDRESS ENOUGH [PORT]: after the word all passes the queue by, also what would have been dropped.
accepted() {
	local before
	talk "$1" "$2" "${4:-7001}"
	says "$1" one one
	says "$1" "$3" "$3"
	says "$1" settled settled # an answer of the word's packet may still have been in the queue
	before=$(queued 0 1)
	for text in two EVIL three; do says "$1" $text $text; done
	equal "$1: packets that reached the queue" "$(queued 0 1)" "$before"
}

# dropped NAME ADDRESS: after the word nothing arrives, and what is sent again and again does not reach the queue.
dropped() {
	local before got
	talk "$1" "$2" 7001
	says "$1" one one
	says "$1" EVIL TIMEOUT
	before=$(queued 0 1) got=$(counter sluice offload_dropped)
	says "$1" two TIMEOUT
	# What was dropped is sent again after twice as long as before each time.
	wait_least "$1: packets that the kernel dropped" $((got + 1)) counter sluice offload_dropped
	equal "$1: packets that reached the queue" "$(queued 0 1)" "$before"
	hang_up "$1"
}

how="--attach $mode"
[ $mode = repeat ] && how+=" --verdict repeat --mark 0x1/0x1"
# shellcheck disable=SC2086
start_sluice $mode --queue 0-1 --rules "$WORK/t.rules" $how --set nft.offload.flows=both --set stats.interval=0 \
	--set nft.offload.interval=1 --set flow.timeouts.tcp.bypassed=3600
accepted "${mode}_a4" 10.66.2.2 ENOUGH
port=$(cat "$WORK/${mode}_a4.port")
accepted "${mode}_a6" fd66:2::2 ENOUGH
accepted "${mode}_p4" 10.66.2.3 PASS-ME
dropped "${mode}_d4" 10.66.2.2
dropped=2 # with the one that has no connection
[ $mode != after ] || { dropped "${mode}_d6" fd66:2::2; dropped=3; }
[ "$(counter sluice offload_accepted)" -ge 12 ] || fail "$mode: the kernel accepted $(counter sluice offload_accepted)"

# A packet without a connection has nothing to be saved to: what is dropped is dropped all the same, and what passes
# loses its mark.
gateway nft 'add table inet loose; add chain inet loose p { type filter hook prerouting priority raw; }
	add rule inet loose p tcp dport 7002 notrack; add rule inet loose p tcp sport 7002 notrack'
talk "${mode}_n4" 10.66.2.2 7002
says "${mode}_n4" one one
says "${mode}_n4" PASS-ME PASS-ME
says "${mode}_n4" two two
hang_up "${mode}_n4"
talk "${mode}_m4" 10.66.2.2 7002
says "${mode}_m4" one one
says "${mode}_m4" EVIL TIMEOUT
says "${mode}_m4" two TIMEOUT
hang_up "${mode}_m4"
gateway nft delete table inet loose

# What the firewall denies later is denied.
gateway nft insert rule inet firewall forward tcp dport 7001 ip daddr 10.66.2.2 drop
says "${mode}_a4" four TIMEOUT
says "${mode}_a6" four four
gateway nft delete rule inet firewall forward handle \
	"$(gateway nft -a list chain inet firewall forward | sed -n 's/.*10.66.2.2 drop # handle //p')"
moved=$(tracked 10.66.2.2 7001 "$port")
for name in a4 a6 p4; do hang_up "${mode}_$name"; done
stop_process "$LAST_PID" || fail "exit code $?"
equal "$mode: flows accepted, in the statistics" "$(last_stats $mode ips.offload.accepted)" 4
equal "$mode: flows dropped, in the statistics" "$(last_stats $mode ips.offload.dropped)" "$dropped"
[ "$(last_stats $mode firewall.offload.accepted_packets)" -ge 12 ] || fail "$mode: accepted, in the statistics"
[ "$(last_stats $mode firewall.offload.dropped_packets)" -ge 2 ] || fail "$mode: dropped, in the statistics"
[ "$(last_stats $mode firewall.offload.accepted_bytes)" -ge $((12 * 52)) ] || fail "$mode: bytes accepted"
equal "$mode: flows whose state is bypassed" "$(events $mode event_type=flow flow.state=bypassed flow.bypass=capture)" 2
unchanged
# The record of the flow has what conntrack has, and says what part of it never came to us.
[ -z "$moved" ] || python3 - "$WORK/$mode/eve.json" "$port" $moved <<'PY' || fail "$mode: the record of the flow"
import json, sys
file, port, *moved = sys.argv[1:]
moved = list(map(int, moved))
for line in open(file):
    event = json.loads(line)
    if event['event_type'] == 'flow' and event.get('src_port') == int(port) and event['dest_ip'] == '10.66.2.2':
        flow = event['flow']
        got = [flow['pkts_toserver'], flow['pkts_toclient'], flow['bytes_toserver'], flow['bytes_toclient']]
        print(flow, moved)
        assert all(a >= b for a, b in zip(got, moved)) and got[0] <= moved[0] + 8, got
        assert flow['bypassed']['pkts_toserver'] >= 3 and flow['bypassed']['bytes_toclient'] >= 3 * 52
        break
else:
    sys.exit('no such flow')
PY

