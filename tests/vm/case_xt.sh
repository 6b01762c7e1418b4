# SPDX-License-Identifier: GPL-2.0-or-later
# nft.expression: xt on a kernel that also has the native expression, with one inet table.
. "$(dirname "$0")/lib.sh"
topology
gateway nft 'add table inet firewall
	add chain inet firewall forward { type filter hook forward priority filter; policy drop; }'
gateway nft 'add rule inet firewall forward udp dport 7000 ct state new accept'
ruleset >"$WORK/before"
echo 'drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
listens "$WORK/got"

start_sluice ips --queue 0-1 --attach after --set nft.expression=xt --rules "$WORK/t.rules"
ips=$LAST_PID
gateway "$SLUICE" nft status >"$WORK/status.log"
grep -q "table inet sluice.*queue 0-1 by the xt NFQUEUE target" "$WORK/status.log" ||
	fail "the queue rule is not an xt NFQUEUE target"
ruleset | grep symhash >/dev/null && fail "the ruleset has the native expression"
# The xt target selects the queue by addresses; eight servers reach both queues.
for i in 2 3 4 5 6 7 8 9; do
	udp_send cli "10.66.2.$i" 7000 "good $i" EVIL
	udp_send cli "fd66:2::$i" 7000 "good $i" EVIL
done
udp_send cli 10.66.2.2 7000 last
arrives last "$WORK/got"
equal "good datagrams" "$(grep -c good "$WORK/got")" 16
equal "bad datagrams that arrived" "$(grep -c EVIL "$WORK/got" || true)" 0
wait_events ips 16 event_type=drop alert.signature_id=1
stop_process "$ips" || fail "sluice run ended with exit code $?"
for queue in 0 1; do [ "$(last_stats ips queue.$queue.packets)" -gt 0 ] || fail "queue $queue had no packets"; done
ruleset | cmp -s - "$WORK/before" || fail "Sluice changed the ruleset: $(ruleset)"

start_sluice killed --queue 0-1 --attach after --set nft.expression=xt --rules "$WORK/t.rules"
kill_process "$LAST_PID"
udp_send cli 10.66.2.2 7000 bypass
arrives bypass "$WORK/got"
# The table of the killed daemon is replaced by one with the native expression.
start_sluice native --queue 0-1 --attach after --rules "$WORK/t.rules"
ruleset | grep "symhash mod 2" >/dev/null || fail "the ruleset does not have the native expression"
udp_send cli 10.66.2.2 7000 EVIL again
arrives again "$WORK/got"
equal "bad datagrams that arrived" "$(grep -c EVIL "$WORK/got" || true)" 0
stop_process "$LAST_PID" || fail "sluice run ended with exit code $?"
ruleset | cmp -s - "$WORK/before" || fail "Sluice changed the ruleset: $(ruleset)"
