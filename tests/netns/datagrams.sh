#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Datagrams to real sockets: junk of both sides before a query, a UDP length of 0 in IPv6, a tunnel's port, and a pcre
# that reaches its limit.
. "$(dirname "$0")/lib.sh"
topology
cat >"$WORK/t.rules" <<'RULES'
drop dns any any -> any any (msg:"query"; dns.query; content:"evil.test"; sid:1;)
drop udp any any -> any any (msg:"pattern"; content:"EVIL"; content:!"EVIL-TEXT"; sid:2;)
drop udp any any -> any any (msg:"limit"; content:"start-"; pcre:"/(?:a|aa)+x.*EVIL-TEXT|EVIL-TEXT$/"; sid:3;)
RULES
queue_rule --queue-num 0
start_sluice run --queue 0 --rules "$WORK/t.rules"
sluice=$LAST_PID
: >"$WORK/received.log"
background srv python3 "$HERE/datagrams.py" listen "$WORK/received.log"
arrived() { wait_text "$WORK/received.log" "$1"; } # arrived TEXT: waits for it
arrived ready
server python3 "$HERE/datagrams.py" junk 10.66.1.2 40000
client python3 "$HERE/datagrams.py" send
arrived "the end"
arrived "length zero harmless"
arrived "good"
! grep -q "EVIL\|evil" "$WORK/received.log" || fail "a program received what a rule drops"
stop_process "$sluice" || fail "exit code $?"
equal "drops by rules" "$(last_stats run ips.drop_reason.rules)" 4
grep -q "reached a limit 1 times, most recently of rule 1:3" "$WORK/run.log" || fail "no warning of the limit"
