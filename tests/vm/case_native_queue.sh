# SPDX-License-Identifier: GPL-2.0-or-later
# The native queue expression with symhash over four queues, behind a stateful firewall: attach, inspect, drop, detach.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		udp dport { 7000, 7001 } accept
		icmp type echo-request accept
		icmpv6 type echo-request accept
	}
}
NFT
ruleset >"$WORK/before"
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)
alert icmp any any -> any any (msg:"ping"; itype:8; sid:2;)
alert icmpv6 any any -> any any (msg:"ping"; itype:128; sid:3;)
RULES
start_sluice ips --queue 0-3 --attach after --rules "$WORK/t.rules"
ips=$LAST_PID
ruleset >"$WORK/ruleset.log"
grep -q "queue flags bypass to symhash mod 4" "$WORK/ruleset.log" ||
	fail "the sluice table has no native queue expression"

background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
listens "$WORK/got"
# Each datagram has another source port, and symhash uses the ports, so several queues get packets.
for i in $(seq 8); do
	udp_send cli 10.66.2.2 7000 "good $i"
	udp_send cli fd66:2::2 7000 "good $i"
done
for to in 10.66.2.2 fd66:2::2; do
	udp_send cli $to 7000 EVIL
	client ping -c 3 -i 0.2 -W 5 -q $to >/dev/null || fail "ping does not pass"
done
udp_send cli 10.66.2.2 7000 last
arrives last "$WORK/got"
equal "good datagrams" "$(grep -c good "$WORK/got")" 16
equal "bad datagrams that arrived" "$(grep -c EVIL "$WORK/got" || true)" 0
wait_events ips 2 event_type=drop alert.signature_id=1
wait_events ips 3 event_type=alert alert.signature_id=2
wait_events ips 3 event_type=alert alert.signature_id=3
used=$(gateway awk '$8 > 0 { n++ } END { print n + 0 }' /proc/net/netfilter/nfnetlink_queue)
[ "$used" -ge 2 ] || fail "symhash used $used queue(s) for 21 connections"
stop_process "$ips" || fail "sluice run ended with exit code $?"
ruleset | cmp -s - "$WORK/before" || fail "Sluice changed the ruleset: $(ruleset)"
