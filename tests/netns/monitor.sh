#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice run --attach`: whatever somebody does to the own table is noticed, put back and told, with who did it;
# nft.monitor: report tells alone, off does nothing. Neighbours' rules stay what they are.
. "$(dirname "$0")/lib.sh"
topology
: >"$WORK/t.rules"
ours() { # the sets in a fixed order: a set that was restored is listed last
	{
		for set in blocked_{,networks_}ipv{4,6}; do gateway nft list set inet sluice "$set"; done
		gateway nft list table inet sluice | sed '/^\tset /,/^\t}/d'
	} 2>/dev/null | sed -E -e '/elements = /d' -e 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'
}
neighbours() { # without times and counters
	{ gateway nft list table inet firewall; gateway iptables-save; gateway ip6tables-save; } |
		sed -E '/^#/d; s/\[[0-9]+:[0-9]+\]//'
}
listed() { gateway "$SLUICE" blocklist list --config /dev/null | awk 'NR > 1 { print $1 }' | tr '\n' ' '; }
fires() { events "$1" event_type=firewall "${@:2}"; }
queued() { kernel_queue 0 sequence; }
# monitors PID: whether its engine has the thread that monitors the ruleset.
monitors() { grep -qx sluice-firewall /proc/"$(engine_of "$1")"/task/*/comm; }

gateway iptables -A FORWARD -s 10.99.0.0/16 -j DROP
gateway ip6tables -A FORWARD -s fd99::/16 -j DROP
gateway nft 'table inet firewall { chain forward {
	type filter hook forward priority 0; policy drop
	ip saddr 10.66.0.0/16 accept
	ip6 saddr fd66::/16 accept
}; }'
neighbours >"$WORK/before" 2>/dev/null

# breaks NAME DAMAGE COMMANDS...: put back within 10 s, with one event that says the damage; packets are queued again.
breaks() {
	local name=$1 damage=$2 had before
	shift 2
	had=$(fires ips sluice.firewall.action=reasserted)
	gateway nft "$@" || fail "$name: nft $*"
	wait_events ips $((had + 1)) event_type=firewall sluice.firewall.action=reasserted
	equal "$name: the table" "$(ours)" "$(cat "$WORK/table")"
	tail -n 200 "$WORK/ips/eve.json" | grep '"action":"reasserted"' | tail -n 1 >"$WORK/event"
	python3 - "$WORK/event" "$damage" <<'PY' || fail "$name: the event: $(cat "$WORK/event")"
import json, sys
event = json.load(open(sys.argv[1]))["sluice"]["firewall"]
damage = sys.argv[2].split(",")
assert event["damage"] == damage, damage
assert event["uninspected"] == (damage != ["sets"])
assert event["table"] == "sluice" and event["process"]["name"] == "nft" and event["process"]["pid"] > 0
assert 0 <= event["duration_us"] <= event["at_most_us"]
PY
	before=$(queued)
	client ping -c1 -W5 -q 10.66.2.2 >/dev/null || fail "$name: no ping"
	equal "$name: packets queued" "$(queued)" $((before + 2))
}

start_sluice ips --queue 0 --rules "$WORK/t.rules" --attach after --set nft.blocklist.enabled=yes
ips=$LAST_PID
monitors "$ips" || fail "no thread monitors the ruleset"
ours >"$WORK/table"
gateway "$SLUICE" blocklist add 203.0.113.5 2001:db8::5 --config /dev/null --permanent
wait_stats ips "$ips" firewall.blocklist.hosts 2
breaks "the table deleted" table,chains,rules,sets 'delete table inet sluice'
breaks "its rules flushed" rules 'flush chain inet sluice forward'
breaks "a rule ahead of ours" rules 'insert rule inet sluice forward accept'
breaks "another policy" chains 'chain inet sluice forward { policy drop; }'
breaks "dormant" table 'add table inet sluice { flags dormant; }'
breaks "another chain of the name" chains,rules \
	'delete chain inet sluice forward; add chain inet sluice forward { type filter hook forward priority 7; }'
breaks "a set deleted" rules,sets 'flush chain inet sluice forward; delete set inet sluice blocked_ipv6'
equal "hosts that were blocked" "$(listed)" \
	"203.0.113.5 2001:db8::5 "
neighbours 2>/dev/null | cmp -s - "$WORK/before" || fail "a neighbour's rules have changed"
reasserted=$(fires ips sluice.firewall.action=reasserted)

# What is none of our business: others' tables, and hosts in our sets.
gateway nft 'add table inet other; add chain inet other c { type filter hook forward priority -5; }
	add rule inet other c counter'
gateway nft 'delete table inet other'
gateway "$SLUICE" blocklist add 203.0.113.6 --config /dev/null
wait_monitor ips
equal "put back without cause" "$(fires ips sluice.firewall.action=reasserted)" "$reasserted"
equal "misplaced" "$(fires ips sluice.firewall.action=misplaced)" 0
gateway nft 'add table inet other; add chain inet other late { type filter hook forward priority 500; }'
wait_events ips 1 event_type=firewall sluice.firewall.action=misplaced sluice.firewall.chain.name=late sluice.firewall.chain.priority=500
# Ours has its place behind it in one transaction, hosts and all; once, and not against a priority that somebody chose.
wait_events ips 1 event_type=firewall sluice.firewall.action=moved sluice.firewall.chain.name=late sluice.firewall.process.name=nft
equal "the new priority" "$(ours | sed -n 's/.*hook forward priority \([^;]*\);.*/\1/p')" 510
equal "hosts that were blocked" "$(listed)" \
	"203.0.113.5 203.0.113.6 2001:db8::5 "
equal "put back without cause" "$(fires ips sluice.firewall.action=reasserted)" "$reasserted"
before=$(queued)
client ping -c1 -W5 -q 10.66.2.2 >/dev/null || fail "moved: no ping"
equal "moved: packets queued" "$(queued)" $((before + 2))
gateway nft 'delete table inet other'
wait_monitor ips
equal "moved" "$(fires ips sluice.firewall.action=moved)" 1

# Somebody else's table of our name is not touched; once it is away ours is put back.
gateway nft 'delete table inet sluice; add table inet sluice; add chain inet sluice guest' 2>/dev/null
wait_events ips 1 event_type=firewall sluice.firewall.action=failed
gateway nft list table inet sluice | grep guest >/dev/null || fail "a foreign table was touched"
gateway nft delete table inet sluice
wait_events ips $((reasserted + 1)) event_type=firewall sluice.firewall.action=reasserted
equal "the table" "$(ours)" "$(cat "$WORK/table")"

# Somebody removes the table as soon as it is there, also while we look at what we made: the budget bounds what we do,
# and in the end the table is there.
yes 'delete table inet sluice' | head -n 800 | gateway nft -i >/dev/null 2>&1 || true
wait_equal "the table after a contest" "$(cat "$WORK/table")" ours
stop_process "$ips" || fail "exit code $?"
equal "events and counter" "$(fires ips sluice.firewall.action=reasserted)" "$(last_stats ips firewall.reasserted)"
[ "$(last_stats ips firewall.uninspected_us)" -gt 0 ] || fail "no time without inspection"
gateway nft list tables | grep sluice >/dev/null && fail "the table is still there"
neighbours 2>/dev/null | cmp -s - "$WORK/before" || fail "a neighbour's rules have changed at the end"

# checked NAME: until the thread has checked the table again, as it does once a second. Each check reads the counter of
# blocked packets, so a check that finds the packet of a blocked host came after it. The first may have begun before the
# call.
blocked() { "$SLUICE" stats --all firewall.blocklist.dropped_packets --socket "$WORK/$1.control" | awk '{ print $2 }'; }
checked() {
	local before
	gateway "$SLUICE" blocklist add 10.66.1.2 --force --config /dev/null
	wait_monitor "$1"
	for _ in 1 2; do
		before=$(blocked "$1")
		client ping -c1 -W1 -q 10.66.2.2 >/dev/null && fail "$1: a blocked host has an answer"
		wait_least "$1: packets of blocked hosts" $((before + 1)) blocked "$1"
	done
	gateway "$SLUICE" blocklist remove 10.66.1.2 --config /dev/null
}
counters() { gateway nft list chain inet sluice forward 2>/dev/null | grep -c counter; }

# report: told, not touched, neither when the change is noticed nor by the check of each second.
start_sluice report --queue 0 --rules "$WORK/t.rules" --attach before --set nft.monitor=report \
	--set nft.blocklist.enabled=yes
rules=$(counters)
gateway nft 'insert rule inet sluice forward counter'
wait_events report 1 event_type=firewall sluice.firewall.action=altered
checked report
equal "rules with counters" "$(counters)" $((rules + 1))
gateway nft delete rule inet sluice forward handle \
	"$(gateway nft -a list chain inet sluice forward 2>/dev/null | awk '/type filter/ { getline; print $NF }')"
wait_events report 1 event_type=firewall sluice.firewall.action=restored
equal "report: put back" "$(fires report sluice.firewall.action=reasserted)" 0
gateway nft 'add table inet other; add chain inet other early { type filter hook forward priority -50; }'
wait_events report 1 event_type=firewall sluice.firewall.action=misplaced
wait_monitor report
equal "report: moved" "$(fires report sluice.firewall.action=moved)" 0
gateway nft 'delete table inet other'
stop_process "$LAST_PID" || fail "exit code $?"

# A priority of one's own is kept, also when somebody comes to have the same: then the order is that of the
# registrations.
start_sluice fixed --queue 0 --rules "$WORK/t.rules" --attach after --set nft.priority=61
gateway nft 'add table inet other; add chain inet other late { type filter hook forward priority 61; }'
wait_events fixed 1 event_type=firewall sluice.firewall.action=misplaced
wait_monitor fixed
equal "a priority that was chosen" "$(ours | sed -n 's/.*hook forward priority \([^;]*\);.*/\1/p')" 61
gateway nft 'delete table inet other'
stop_process "$LAST_PID" || fail "exit code $?"

# off: no thread monitors the ruleset. With a blocklist there is one, which restores nothing.
start_sluice off --queue 0 --rules "$WORK/t.rules" --attach before --set nft.monitor=off
monitors "$LAST_PID" && fail "off: a thread monitors the ruleset"
gateway nft delete table inet sluice
client ping -c1 -W5 -q 10.66.2.2 >/dev/null || fail "off: no ping"
gateway nft list tables | grep sluice >/dev/null && fail "off: the table was put back"
stop_process "$LAST_PID" || fail "exit code $?"
equal "off: events" "$(fires off)" 0
start_sluice blocks --queue 0 --rules "$WORK/t.rules" --attach before --set nft.monitor=off \
	--set nft.blocklist.enabled=yes
monitors "$LAST_PID" || fail "blocks: no thread blocks hosts"
rules=$(counters)
gateway nft 'insert rule inet sluice forward counter'
checked blocks
equal "off: rules with counters" "$(counters)" $((rules + 1))
stop_process "$LAST_PID" || fail "exit code $?"
equal "off: events with a blocklist" "$(fires blocks)" 0
