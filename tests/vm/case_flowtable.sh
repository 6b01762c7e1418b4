# SPDX-License-Identifier: GPL-2.0-or-later
# A firewall with a flowtable. Offloaded connections bypass all hooks, so Sluice does not see them. If the firewall
# offloads only connections that a rule of Sluice has marked, Sluice inspects everything before the mark.
. "$(dirname "$0")/lib.sh"
topology
background srv python3 "$HERE/traffic.py" tcp-echo 7001
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any 7001 (msg:"bad word"; flow:established,to_server; content:"EVIL"; sid:1;)
alert tcp any any -> any 7001 (msg:"enough"; flow:established,to_server; content:"DONE"; nfq_set_mark:0x100/0x100; sid:2;)
RULES
firewall() { # firewall CONDITION: offloads connections that match the condition
	gateway nft delete table inet firewall 2>/dev/null || true
	gateway nft -f - <<NFT
table inet firewall {
	flowtable fast { hook ingress priority 0; devices = { g0, g1 }; }
	chain forward {
		type filter hook forward priority filter; policy drop;
		meta l4proto tcp $1 flow add @fast
		ct state established,related accept
		tcp dport 7001 accept
	}
	chain save {
		type filter hook postrouting priority filter;
		meta mark & 0x100 == 0x100 ct mark set 0x100
	}
}
NFT
}
# steps LINE...: sends the lines over one connection; prints the reply to each, or TIMEOUT.
steps() {
	printf '%s\n' "$@" | client timeout 30 python3 "$HERE/traffic.py" tcp-steps "$TO" 7001 | tr '\n' ' '
}

firewall "ct state established" || skip "the kernel has no flowtables"
start_sluice blind --queue 0-1 --attach after --rules "$WORK/t.rules"
for TO in 10.66.2.2 fd66:2::2; do equal "offloaded at once: $TO" "$(steps one EVIL two)" "one EVIL two "; done
stop_process "$LAST_PID" || fail "sluice run ended with exit code $?"
equal "drops of offloaded packets" "$(events blind event_type=drop)" 0

firewall "ct mark 0x100"
before=$(gateway nft list table inet firewall)
start_sluice ips --queue 0-1 --attach after --rules "$WORK/t.rules"
for TO in 10.66.2.2 fd66:2::2; do
	equal "inspected: $TO" "$(steps one EVIL)" "one TIMEOUT "
	equal "offloaded by a rule: $TO" "$(steps one DONE two three EVIL four five)" "one DONE two three EVIL four five "
done
stop_process "$LAST_PID" || fail "sluice run ended with exit code $?"
wait_events ips 2 event_type=drop drop.reason=rules
equal "alerts of the rule that sets the mark" "$(events ips event_type=alert alert.signature_id=2)" 2
equal "the firewall's ruleset" "$(gateway nft list table inet firewall)" "$before"
