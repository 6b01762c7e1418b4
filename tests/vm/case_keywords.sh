# SPDX-License-Identifier: GPL-2.0-or-later
# The keywords ctmark and ctstate, and the conntrack id and mark in events, on a kernel that attaches conntrack data to
# queued packets.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT'
table inet marks {
	chain forward {
		type filter hook forward priority -150;
		udp dport 7000 ct mark set 0x51
		meta mark & 0xff0 == 0x210 counter
	}
	chain first {
		type filter hook prerouting priority -300;
		udp dport 7010 notrack
	}
	chain last {
		type filter hook postrouting priority 0;
		meta mark & 0xff0 == 0x210 counter accept
	}
}
NFT
cat >"$WORK/t.rules" <<'RULES'
alert udp any any -> any 7000 (msg:"first"; ctstate:new; ctmark:0x50/0xf0; content:"one"; nfq_set_mark:0x210/0xff0; sid:1;)
alert udp any any -> any 7000 (msg:"no more"; ctstate:new; content:"two"; sid:2;)
alert udp any any -> any 7000 (msg:"another mark"; ctmark:!0x51; sid:4;)
alert icmp any any -> any any (msg:"an error"; itype:3; ctstate:related; sid:5;)
alert udp any any -> any any (msg:"no connection"; ctstate:untracked; sid:6;)
RULES
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
listens "$WORK/got"
# The rules make the daemon ask for it, although the settings do not.
start_sluice ips --queue 0-1 --attach after --rules "$WORK/t.rules" --set stream.midstream=no \
	--set stream.midstream-grace=0
ips=$LAST_PID
grep -q "queued packets carry conntrack data$" "$WORK/ips.log" || fail "conntrack: $(cat "$WORK/ips.log")"
udp_send cli 10.66.2.2 7000 one two
udp_send cli fd66:2::2 7000 one two
udp_send cli 10.66.2.2 7009 closed # the server answers with an ICMP error
# Sluice knows that a packet is untracked only after a tracked packet in the same queue. 20 connections reach both
# queues.
client bash -c 'for _ in {1..20}; do echo tracked >/dev/udp/10.66.2.2/7000; done'
udp_send cli 10.66.2.2 7010 untracked
arrives two "$WORK/got"
wait_events ips 1 event_type=alert alert.signature_id=6 dest_port=7010
wait_events ips 2 event_type=alert alert.signature_id=1 sluice.queue.ct_state=new sluice.queue.ct_mark=81 sluice.queue.set_mark=528
wait_events ips 1 event_type=alert alert.signature_id=5 sluice.queue.ct_state=related src_ip=10.66.2.2
stop_process "$ips" || fail "exit code $?"
equal "a second packet that is new" "$(events ips event_type=alert alert.signature_id=4)" 0
equal "packets with the rule's mark at the end" \
	"$(gateway nft list chain inet marks last | sed -n 's/.*counter packets \([0-9]*\).*/\1/p')" 2
python3 - "$WORK/ips/eve.json" <<'PY' || fail "ids of connections"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
ids = {e['sluice']['queue']['ct_id'] for e in events if e.get('alert', {}).get('signature_id') in (1, 5)}
flows = {e['sluice']['queue'].get('ct_id'): e['sluice']['queue'].get('ct_mark') for e in events if e['event_type'] == 'flow'}
tracked = [e for e in events if e['event_type'] == 'flow' and e.get('dest_port') == 7010 and 'ct_id' in e['sluice']['queue']]
sys.exit(len(ids) != 3 or 0 in ids or not ids <= set(flows) or
         sorted(flows[id] for id in ids) != [0, 0x51, 0x51] or bool(tracked))
PY
