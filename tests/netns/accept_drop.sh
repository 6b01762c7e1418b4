#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A drop rule's packets never arrive, all others do; IPv4 and IPv6; each with its events.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1; rev:3;)
alert udp any any -> any 7000 (msg:"odd word"; content:"ODD"; sid:2;)
pass udp any any -> any 7000 (msg:"known good"; content:"GOOD-EVIL"; sid:3;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
udp_sink 7000 "$WORK/got"

for to in 10.66.2.2 fd66:2::2; do
	udp_send cli "$to" 7000 "first" "some EVIL text" "an ODD text" "GOOD-EVIL text" "last"
done
wait_lines "$WORK/got" last 2
equal "plain datagrams" "$(grep -c first "$WORK/got")" 2
equal "dropped datagrams that arrived" "$(grep -c 'some EVIL' "$WORK/got" || true)" 0
equal "alerted datagrams" "$(grep -c 'an ODD' "$WORK/got")" 2
equal "passed datagrams" "$(grep -c GOOD-EVIL "$WORK/got")" 2

wait_events ips 2 event_type=alert alert.signature_id=1 alert.action=blocked
wait_events ips 2 event_type=alert alert.signature_id=2 alert.action=allowed
wait_events ips 2 event_type=drop drop.reason=rules
equal "IPv6 alerts" "$(events ips event_type=alert alert.signature_id=1 proto=UDP dest_port=7000 \
	dest_ip=fd66:0002:0000:0000:0000:0000:0000:0002)" 1
equal "events with their queue" "$(events ips event_type=alert sluice.queue.number=0 in_iface=g0)" 4
stop_process "$ips" || fail "exit code $? at a clean stop"
equal "packets accepted and dropped" "$(last_stats ips ips.blocked)" 2
