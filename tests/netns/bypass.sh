#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The next daemon counts, logs and reports packets that a queue rule with bypass passed while no daemon listened: before
# the first daemon started, after one was killed, and with a rule of another table that has a counter.
. "$(dirname "$0")/uninspected_lib.sh"

# No listener: first before any daemon has run, then after the daemon was killed.
gateway "$SLUICE" nft install --attach after --queue 0 >/dev/null || fail "nft install"
flood 5
total=$((total + 5))
wait_arrived "$total"
start first --queue 0 --attach after
equal "bypass before the first daemon" "$(uninspected bypass)" 5
grep -q "5 packets passed uninspected (bypass) in the last .* s because no daemon listened" "$WORK/first.log" ||
	fail "the log does not report the bypass"
equal "packets of the event" "$(sum first firewall packets)" 5
flood 3
total=$((total + 3))
wait_arrived "$total"
wait_readings 2 # the second one began after these had passed
kill_process "$DAEMON"
flood 7
total=$((total + 7))
wait_arrived "$total"
start second --queue 0 --attach after
equal "bypass while there was no daemon" "$(uninspected bypass)" 7
[ "$(uninspected bypass_ms)" -gt 0 ] || fail "bypass: no time"
ask status | grep -q "uninspected: 7 packets passed while no daemon listened" || fail "status: $(ask status)"
equal "packets of the event" "$(sum second firewall packets)" 7
[ "$(events second event_type=firewall sluice.firewall.action=no_listener sluice.firewall.uninspected=true \
	sluice.firewall.packets=7)" = 1 ] || fail "the event"
stop_process "$DAEMON" || fail "exit code $?"
equal "bypass in the statistics" "$(last_stats second ips.uninspected.bypass)" 7

# A rule of another table, whose counter starts at any number.
gateway iptables -t mangle -A FORWARD -c 1000 90000 -j NFQUEUE --queue-num 0 --queue-bypass
start foreign --queue 0
stop_process "$DAEMON" || fail "exit code $?"
flood 9
total=$((total + 9))
wait_arrived "$total"
start again --queue 0 --fail-open
equal "bypass by another's rule" "$(uninspected bypass)" 9
equal "table of the event" "$(events again event_type=firewall sluice.firewall.table=sluice)" 0
stop_process "$DAEMON" || fail "exit code $?"
