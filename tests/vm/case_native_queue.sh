# SPDX-License-Identifier: GPL-2.0-or-later
# The native queue expression with symhash over four queues, behind a stateful firewall: attach, inspect, drop, detach.
. /test/lib.sh
topology
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		udp dport { 7000, 7001 } accept
		icmp type echo-request accept
	}
}
NFT
gateway nft list table inet firewall >/tmp/before
cat >/tmp/t.rules <<'RULES'
drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)
alert icmp any any -> any any (msg:"ping"; itype:8; sid:2;)
RULES
start_sluice --queue 0-3 --attach after --rules /tmp/t.rules
gateway nft list ruleset >/tmp/ruleset.log
grep -q "queue flags bypass to symhash mod 4" /tmp/ruleset.log || fail "the rule is not the native one"

server nc -u -l -p 7000 >/tmp/got &
for port in $(seq 2001 2016); do
	printf 'good %s\n' $port | client nc -u -p $port -w 1 10.66.2.2 7000 2>/dev/null &
	[ $port = 2001 ] && { wait $! || true; }
done
printf 'EVIL\n' | client nc -u -p 2099 -w 1 10.66.2.2 7000 2>/dev/null || true
client ping -c 3 -W 5 10.66.2.3 >/dev/null || fail "ping does not pass"
sleep 2
equal "bad datagrams that arrived" "$(grep -c EVIL /tmp/got || true)" 0
grep -q "good 2001" /tmp/got || fail "good datagrams did not arrive"
kill -USR1 $SLUICE_PID
sleep 1
grep -q '"signature_id":1' /tmp/log/eve.json || fail "no alert for the bad word"
[ "$(grep -c '"signature_id":2' /tmp/log/eve.json)" -ge 3 ] || fail "no alert for ping"
used=$(gateway awk '$8 > 0 { n++ } END { print n + 0 }' /proc/net/netfilter/nfnetlink_queue)
[ "$used" -ge 2 ] || fail "symhash used $used queue(s) for 17 connections"
kill $SLUICE_PID
wait $SLUICE_PID || fail "exit code $?"
gateway nft list ruleset >/tmp/after
cmp -s /tmp/before /tmp/after || fail "the ruleset is not what it was"
# With nobody behind the queues the firewall's decision stands: bypass in our own table opens nothing.
gateway sluice nft install --mode after --queue 0-3 || fail "install"
client ping -c 1 -W 5 10.66.2.2 >/dev/null || fail "bypass does not let pass"
printf 'x' | client nc -u -w 1 10.66.2.2 7009 || true
gateway sluice nft status | grep -q after || fail "status"
gateway sluice nft remove || fail "remove"
