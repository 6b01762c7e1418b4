#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A TCP connection that was idle for longer than flow.timeouts.tcp.established continues if conntrack knows it, and is
# inspected from there on. All settings concerned have their defaults, and the grace period after the start is over. A
# segment without a connection is dropped.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT' || skip "the kernel has no NAT by nftables"
table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat
		ip daddr 10.66.1.1 tcp dport 7009 dnat to 10.66.2.4:7001
	}
	chain postrouting { type nat hook postrouting priority srcnat; ip daddr 10.66.2.3 masquerade; }
}
table inet filter {
	chain forward { type filter hook forward priority filter; ct state established,related accept; }
}
NFT
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)
alert tcp any any -> any any (msg:"of the server"; flow:to_client,established; content:"FROM-THE-SERVER"; sid:2;)
RULES
run() { # run NAME OPTION...
	start_sluice "$1" --queue 0-1 --attach after --rules "$WORK/t.rules" --set stream.midstream-grace=0 \
		--set flow.timeouts.tcp.established=1 \
		--set flow.timeouts.tcp.closed=1 --set flow.timeouts.udp.established=1 --set flow.timeouts.udp.new=1 "${@:2}"
}

run ips
said=$(python3 "$HERE/idle.py" "$P" "$SLUICE" "$WORK/ips.control") || fail "a connection does not continue"
read -r picked_up patterns <<<"$said"
counter() { "$SLUICE" stats "$1" --socket "$WORK/ips.control" | awk '{ print $2 }'; }
[ "$(counter tcp.midstream_conntrack)" -ge "$picked_up" ] ||
	fail "picked up: $(counter tcp.midstream_conntrack) connections"
# Once, or again when the client sends it again after its flow has expired.
for port in $patterns; do
	wait_least "alerts of port $port" 1 events ips event_type=alert alert.signature_id=1 src_port="$port"
done
equal "what the server sent is known as that" "$(events ips event_type=alert alert.signature_id=2)" 2
wait_events ips 1 event_type=drop src_port=4242 drop.reason="stream midstream"
equal "other drops of connections without a beginning" "$(events ips event_type=drop drop.reason="stream midstream")" 1
stop_process "$LAST_PID" || fail "exit code $?"

# With stream.midstream-conntrack: no the policy decides.
run strict --set stream.midstream-conntrack=no
python3 "$HERE/idle.py" "$P" "$SLUICE" "$WORK/strict.control" 2 >"$WORK/strict.out" 2>&1 &&
	fail "an idle connection continues without conntrack"
[ "$(events strict event_type=drop drop.reason="stream midstream")" -gt 0 ] ||
	fail "no drop event: $(cat "$WORK/strict.out")"
stop_process "$LAST_PID" || fail "exit code $?"
