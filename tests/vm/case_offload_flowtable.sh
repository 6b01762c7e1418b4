# SPDX-License-Identifier: GPL-2.0-or-later
# nft.offload.flowtable: the kernel forwards accepted connections at ingress, without passing the hooks, and counts
# their packets. Dropped connections, and connections that are not accepted yet, are not in the flowtable.
. "$(dirname "$0")/lib.sh"
. "$HERE/offload_lib.sh"
topology
gateway sysctl -qw net.netfilter.nf_conntrack_acct=1
neighbour
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any any (msg:"bad word"; flow:established,to_server; content:"EVIL"; sid:1;)
alert tcp any any -> any any (msg:"enough"; flow:established,to_server; content:"ENOUGH"; bypass; sid:2;)
RULES
# A device that is not there: said, and nothing installed.
gateway "$SLUICE" nft install --config /dev/null --set nft.offload.flows=accepted --set nft.offload.flowtable=nothere \
	2>"$WORK/error" &&
	fail "a flowtable of a device that is not there"
grep "nft.offload.flowtable" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
gateway nft list tables | grep sluice >/dev/null && fail "a table was installed in spite of the error"

start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --attach after --set nft.offload.flows=both \
	--set stats.interval=0 \
	--set nft.offload.interval=1 --set 'nft.offload.flowtable=[g0,g1]'
ips=$LAST_PID
gateway "$SLUICE" nft doctor --config /dev/null >"$WORK/doctor.txt" || true
grep -E "^(broken|warning) (offload|own)" "$WORK/doctor.txt" &&
	fail "the doctor reports the flowtable of the sluice table"
gateway nft list flowtables | grep g1 >/dev/null ||
	fail "the sluice table has no flowtable: $(gateway nft list table inet sluice)"
for name in v4 v6; do
	to=10.66.2.2
	[ $name = v4 ] || to=fd66:2::2
	talk "$name" "$to" 7001
	says "$name" one one
	says "$name" ENOUGH ENOUGH
	says "$name" settled settled
	says "$name" settled settled # the flowtable takes the flow with a packet of each direction
	before=$(queued 0 1) hooks=$(counter firewall kept)
	for text in two EVIL three four; do says "$name" $text $text; done
	equal "$name: packets that reached the queue" "$(queued 0 1)" "$before"
	equal "$name: packets that reached the forward hook" "$(counter firewall kept)" "$hooks"
done
talk bad 10.66.2.3 7001
says bad one one
says bad EVIL TIMEOUT
says bad two TIMEOUT
hang_up bad
# Counts of a flowtable come to conntrack now and then: two packets of the handshake and eight with data.
to_server() { tracked "$1" 7001 "$(cat "$WORK/$2.port")" | cut -d' ' -f1; }
wait_least "v4: packets in conntrack" 10 to_server 10.66.2.2 v4
wait_least "v6: packets in conntrack" 10 to_server fd66:0002:0000:0000:0000:0000:0000:0002 v6
for name in v4 v6; do hang_up $name; done
stop_process "$ips" || fail "sluice run ended with exit code $?"
equal "bypassed flows" "$(events ips event_type=flow flow.bypass=capture)" 2
python3 - "$WORK/ips/eve.json" <<'PY' || fail "wrong counts in the flow events of offloaded connections"
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event['event_type'] == 'flow' and event['flow'].get('bypass') == 'capture':
        print(event['flow'])
        assert event['flow']['bypassed']['pkts_toserver'] >= 4, event['flow']
PY
gateway nft list tables | grep sluice >/dev/null && fail "the sluice table was not removed"
neighbours | cmp -s - "$WORK/neighbours" || fail "the neighbour's rules have changed"
