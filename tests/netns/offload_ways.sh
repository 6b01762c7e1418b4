#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What makes a flow the kernel's: TLS after its handshake, configured ports, a stream inspected to its depth, a bypass
# of UDP; and what brings it back. In mode route the next consumer goes on to see what we have handed over, and as a
# fragment the rules work in a firewall's own table.
. "$(dirname "$0")/lib.sh"
. "$HERE/offload_lib.sh"
topology
gateway sysctl -qw net.netfilter.nf_conntrack_acct=1
neighbour
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" tcp-echo 7002
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
wait_lines "$WORK/background.log" listening 2
wait_text "$WORK/got" listening
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)
alert tcp any any -> any any (msg:"enough"; flow:established,to_server; content:"ENOUGH"; bypass; sid:2;)
alert udp any any -> any 7000 (msg:"enough"; content:"ENOUGH"; bypass; sid:3;)
drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:4;)
RULES
has_native() {
	gateway nft -c 'add table inet probe; add chain inet probe c; add rule inet probe c queue num 0' 2>/dev/null
}
# still QUEUES COMMAND...: no packet comes to them meanwhile.
still() {
	local before
	# shellcheck disable=SC2086
	before=$(queued $1)
	"${@:2}"
	# shellcheck disable=SC2086
	equal "packets that reached queue $1 in '${*:2}'" "$(queued $1)" "$before"
}

start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --attach after --set nft.offload.flows=accepted \
	--set nft.offload.interval=1 \
	--set nft.offload.ports=7002,9000-9001 --set stream.bypass=yes --set stream.depth=20000 \
	--set app-layer.protocols.tls.encryption-handling=bypass --set stats.interval=0
ips=$LAST_PID

# A port: from the first packet on.
talk port 10.66.2.2 7002
still "0 1" says port EVIL EVIL
hang_up port

# UDP: the rest of the datagrams between these ports.
client python3 - <<'PY'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('10.66.1.2', 5555)); s.connect(('10.66.2.2', 7000))
s.send(b'ENOUGH')
PY
wait_text "$WORK/got" ENOUGH
udp_rest() {
	client python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.66.1.2", 5555)); s.connect(("10.66.2.2", 7000))
for i in range(50): s.send(b"EVIL %d" % i)'
	wait_lines "$WORK/got" EVIL 50
}
still "0 1" udp_rest

# The depth of both directions.
talk deep 10.66.2.2 7001
long=$(head -c 15000 /dev/zero | tr '\0' x)
says deep "$long" "$long"
says deep "$long" "$long"
says deep settled settled
still "0 1" says deep EVIL EVIL

# TLS: after the handshake.
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/key.pem" -out "$WORK/cert.pem" -days 1 -subj \
		/CN=offload.test 2>/dev/null
	background srv openssl s_server -quiet -rev -accept 4433 -key "$WORK/key.pem" -cert "$WORK/cert.pem"
	wait_least "servers of TLS" 1 eval 'server ss -Htln sport = 4433 | wc -l'
	mkfifo "$WORK/tls.in"
	ip netns exec "$P-cli" openssl s_client -quiet -connect 10.66.2.2:4433 -servername offload.test <"$WORK/tls.in" \
		>"$WORK/tls.out" 2>/dev/null &
	exec 9>"$WORK/tls.in"
	tls_says() { # tls_says TEXT REVERSED
		echo "$1" >&9
		wait_for grep -qx "$2" "$WORK/tls.out" || fail "TLS: no answer to $1: $(cat "$WORK/tls.out")"
	}
	tls_says hello olleh
	tls_says settled delttes
	still "0 1" tls_says "$(head -c 12000 /dev/zero | tr '\0' a)b" "b$(head -c 12000 /dev/zero | tr '\0' a)"
	exec 9>&-
fi

# Sluice reads the counters of marked connections once a second, and less often on a busy machine. Unmarked connections
# are not read, so the packets up to here must have been counted before.
handled() { "$SLUICE" stats flow_bypassed.pkts --socket "$WORK/ips.control" | awk '{ print $2 }'; }
wait_least "packets that the kernel handled" 50 handled

# Back to the queue, on demand. (What we know of the flow ourselves is that it is bypassed: it passes, and is marked
# again.)
talk back 10.66.2.2 7001
says back one one
says back ENOUGH ENOUGH
says back settled settled
still "0 1" says back two two
# Late acknowledgments have come: each packet marks its connection again.
acknowledged() { ! { client ss -Htin state connected; server ss -Htin state connected; } | grep -q unacked; }
wait_for acknowledged || fail "segments are not acknowledged"
before=$(queued 0 1)
[ "$(gateway "$SLUICE" nft unmark --config /dev/null | cut -d' ' -f1)" -ge 2 ] || fail "no connection was unmarked"
equal "marked connections" "$(gateway "$SLUICE" nft unmark --config /dev/null --json)" '{"unmarked":0}'
says back three three
[ "$(queued 0 1)" -gt "$before" ] || fail "an unmarked connection did not come to the queue"
still "0 1" says back four four
unchanged
for name in deep back; do hang_up $name; done
stop_process "$ips" || fail "exit code $?"
[ "$(last_stats ips flow_bypassed.local_capture_pkts)" -ge 1 ] ||
	fail "packets of offloaded flows that came nevertheless"
[ "$(last_stats ips flow_bypassed.pkts)" -ge 50 ] ||
	fail "packets that the kernel alone handled: $(last_stats ips flow_bypassed.pkts)"
equal "records of the flow of UDP" "$(events ips event_type=flow proto=UDP flow.pkts_toserver=51 \
	flow.bypassed.pkts_toserver=50 flow.bypass=capture)" 1

# Another consumer behind us: it goes on to see what we do not.
start_sluice next --queue 5 --rules "$WORK/t.rules" --set stats.interval=0
next=$LAST_PID
echo 'alert tcp any any -> any any (msg:"enough"; flow:established,to_server; content:"SUFFICES"; bypass; sid:2;)' \
	>"$WORK/first.rules"
start_sluice first --queue 0-1 --rules "$WORK/first.rules" --attach route --verdict route --route-to 5 \
	--set nft.offload.flows=both \
	--set stats.interval=0
first=$LAST_PID
talk route 10.66.2.2 7001
says route one one
says route SUFFICES SUFFICES
says route settled settled
seen=$(queued 5)
still "0 1" says route two two
[ "$(queued 5)" -gt "$seen" ] || fail "the next consumer does not see what we have handed over"
still "0 1" says route EVIL TIMEOUT
hang_up route
stop_process "$first" || fail "exit code $?"
stop_process "$next" || fail "exit code $?"
unchanged

# Within somebody's own table, as printed: nft's text needs the kernel's own queue.
if has_native; then
	"$SLUICE" nft print --config /dev/null --mode chain --queue 0-1 --set nft.offload.flows=accepted \
		>"$WORK/fragment.nft"
	gateway nft -f - <<NFT
table inet theirs {
	$(cat "$WORK/fragment.nft")
	chain forward {
		type filter hook forward priority 5; policy accept;
		meta l4proto tcp jump sluice_ips
	}
}
NFT
	start_sluice fragment --queue 0-1 --rules "$WORK/t.rules" --set nft.offload.flows=accepted \
		--set nft.offload.verdict=packet-mark \
		--set stats.interval=0
	fragment=$LAST_PID
	talk chain 10.66.2.2 7001
	says chain one one
	says chain ENOUGH ENOUGH
	says chain settled settled
	still "0 1" says chain EVIL EVIL
	[ "$(counter theirs offload_accepted)" -ge 2 ] || fail "nothing was accepted in the firewall's own table"
	hang_up chain
	stop_process "$fragment" || fail "exit code $?"
fi
