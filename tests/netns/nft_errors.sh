#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What can go wrong: one clear line, exit code 1 or 2, and the ruleset as it was. Looking and failing leave no trace.
. "$(dirname "$0")/nft_lib.sh"
nft 'table inet firewall { chain f { type filter hook forward priority 0; policy drop; }; }'
nft_command install --mode before --queue 9 >/dev/null

if command -v setpriv >/dev/null; then
	real=$SLUICE
	printf '#!/bin/sh\nexec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "%s" "$@"\n' "$real" \
		>"$WORK/bare"
	chmod 755 "$WORK/bare"
	SLUICE=$WORK/bare
	for action in install remove status; do wrong "$action without capability" 1 "CAP_NET_ADMIN" $action; done
	equal "print without capability" "$(nft_command print | grep -c 'priority 60')" 1
	SLUICE=$real
fi
wrong "no action" 2 "print, install, remove, status, unmark or doctor" --mode after
wrong "wrong action" 2 "did you mean 'install'" instal
wrong "two actions" 2 "unexpected argument 'remove'" install remove
wrong "wrong option" 2 "queue" install --queuu 1
wrong "wrong mode" 2 "after" install --mode sideways
wrong "wrong hook" 2 "forward" install --hook postrouting
wrong "wrong family" 2 "inet" install --family arp
wrong "wrong priority" 2 "priority" install --priority high
wrong "wrong queue" 2 "queue" install --queue 70000
wrong "queues with a hole" 2 "range" install --queue 0,2
wrong "wrong table" 2 "name" install --table 'a b'
wrong "repeat without mark" 2 "mark" install --mode repeat
wrong "mark 0" 2 "mark" install --mode repeat --mark 0/1
wrong "marks that overlap" 2 "shares bits" install --mode repeat --mark 0x40000000/0x40000000
wrong "iptables for bridges" 2 "bridge" print --family bridge --iptables
wrong "iptables with a blocklist" 2 "nft install" print --iptables --set nft.blocklist.enabled=yes
wrong "no configuration" 1 "No such file" print --config "$WORK/nothing.yaml"
has_native || wrong "no native queue" 1 "nft_queue" install --native
has_native || wrong "no queue for bridges" 1 "nft_queue" install --family bridge
wrong "the target in bridges" 1 "nft_queue" install --family bridge --xt

# No generation of the ruleset was used up by any of that: nobody who watches was woken. nft's own transactions show
# that the monitor has begun, and that it has shown all that was before them.
nft monitor >"$WORK/events" 2>&1 &
monitor=$!
marked() { # marked NAME
	nft "add table inet $1; delete table inet $1"
	grep -q "add table inet $1" "$WORK/events"
}
wait_for marked begin || fail "nft monitor shows nothing"
nft_command status >/dev/null
nft_command print >/dev/null
nft_command install --native --family bridge --table probing >/dev/null 2>&1 || true
equal "remove without a table" "$(nft_command remove --table absent)" "table absent: not installed, nothing to remove"
nft_command remove --table probing >/dev/null
wait_for marked end || fail "nft monitor does not go on"
kill $monitor
wait $monitor 2>/dev/null || true
has_native || equal "events" "$(grep -vE 'table inet (begin|end)$|^# new generation .*\(nft\)$' "$WORK/events")" ""
equal "the first table is still there" "$(status mode)" before
