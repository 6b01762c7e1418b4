#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events of a daemon on a gateway are valid against Suricata's schema once the object "sluice" is removed: also the
# counters and events that a replay does not have (queues, the sluice table, the blocklist, engines, modes).
. "$(dirname "$0")/lib.sh"
schema=${SLUICE_SHARED:-}/verify/etc/eve-schema.json
[ -f "$schema" ] || skip "no schema $schema (set SLUICE_SHARED)"
python3 -c 'import fastjsonschema' 2>/dev/null || skip "no Python module fastjsonschema"
topology
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"block"; content:"EVIL"; fwsam:src, 1 hour; sid:1;)
alert tcp any any -> any 7001 (msg:"stream"; flow:to_server; content:"hello"; target:dest_ip; flowbits:set,seen;
	metadata:tag one; reference:url,example.org; sid:2;)
reject tcp any any -> any 7001 (msg:"reject"; content:"BAD"; sid:3;)
alert http any any -> any any (msg:"no such keyword"; unknown:1; sid:4;)
RULES
sed -i -e ':a' -e '/;$/N; s/;\n\t/; /; ta' "$WORK/t.rules"
cat >"$WORK/sluice.yaml" <<'YAML'
%YAML 1.1
---
eve:
  community-id: yes
  ethernet: yes
  types:
    - alert: { payload: yes, payload-printable: yes, payload-length: yes, packet: yes, verdict: yes, reference: yes }
    - drop: { alerts: yes, verdict: yes, flows: all }
    - anomaly: { types: { decode: yes, stream: yes, applayer: yes } }
    - stream: { all: yes }
    - flow
    - netflow
    - stats
    - engine
    - firewall
    - overload
    - http
    - files
YAML
udp_sink 7000 "$WORK/got"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
start_sluice ips --config "$WORK/sluice.yaml" --queue 0 --rules "$WORK/t.rules" --attach after \
	--set nft.blocklist.enabled=yes --set stats.interval=1 \
	--set 'vars.address-groups.HOME_NET=[10.66.2.0/24]'
supervisor=$LAST_PID
ask() { gateway "$SLUICE" "$@" --socket "$WORK/ips.control"; }
tcp() { client python3 "$HERE/traffic.py" tcp-ask 10.66.2.2 7001 "$1"; }

engine=$(engine_of "$supervisor")
kill -KILL "$engine"
wait_events ips 1 event_type=engine sluice.engine.action=restarted sluice.engine.signal=9
wait_stats ips "$supervisor" engine.restarts 1
equal "an alert in a stream" "$(tcp hello)" hello
equal "a reject" "$(tcp BAD)" RESET
ask mode alert-only >/dev/null || fail "sluice mode"
equal "a reject in alert-only" "$(tcp BAD)" BAD
ask mode drop >/dev/null || fail "sluice mode"
udp_send cli 10.66.2.2 7000 EVIL
wait_events ips 1 event_type=firewall sluice.firewall.action=blocked
gateway nft flush chain inet sluice forward
wait_events ips 1 event_type=firewall sluice.firewall.action=reasserted
stop_process "$supervisor" || fail "exit code $?"
for wanted in alert drop would_drop stream_tcp flow netflow stats firewall "engine sluice.engine.action=rule_left_out" \
	"engine sluice.engine.action=mode" "alert sluice.would_drop=true" "alert sluice.queue.number=0"; do
	# shellcheck disable=SC2086
	[ "$(events ips event_type=$wanted)" -gt 0 ] || fail "no event: $wanted"
done
python3 "$HERE/../conformance/schema.py" "$schema" "$WORK/ips/eve.json" || fail "events are not valid"
