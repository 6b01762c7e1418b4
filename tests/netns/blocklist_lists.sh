#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocked networks and lists: files of the configuration, imported lists, networks blocked by hand. HOME_NET is spared,
# lists are read again without losing the old ones when a file is broken, networks come back with the table, and hosts
# and networks stay blocked after a restart.
. "$(dirname "$0")/lib.sh"
topology
for host in 20 21 40 70; do ip -n "$P-cli" addr add "10.66.1.$host/24" dev c0; done
ip -n "$P-cli" addr add fd66:1::40/64 dev c0 nodad
folder=$WORK/lists
options=(--set nft.blocklist.enabled=yes --set "nft.blocklist.folder=$folder"
	--set 'vars.address-groups.HOME_NET=[10.66.2.0/24,fd66:2::/64]' --set "unix-command.filename=$WORK/ips.control")
blocklist() { gateway "$SLUICE" blocklist "$1" --config /dev/null "${options[@]}" "${@:2}"; }
passes() { client ping -c1 -W1 -q -I "$1" "$2" >/dev/null; }
blocked() { ! passes "$1" "$2" || fail "$1 is not blocked"; }
free() { passes "$1" "$2" || fail "$1 is blocked"; }

# Lists of providers: Spamhaus' text and JSON, abuse.ch's columns. One blocks a part of HOME_NET, too.
cat >"$WORK/drop.txt" <<'LIST'
; Spamhaus DROP List
10.66.1.16/29 ; SBL1
10.66.2.0/30 ; SBL2
10.66.0.0/6 ; too wide
LIST
cat >"$WORK/abuse.csv" <<'LIST'
# comment
"first_seen_utc","dst_ip","dst_port"
"2026-01-01 00:00:00","fd66:1::40","443"
LIST
start() {
	: >"$WORK/t.rules"
	start_sluice ips --queue 0 --rules "$WORK/t.rules" --attach after "${options[@]}" \
		--set "nft.blocklist.files=[$WORK/drop.txt,$WORK/abuse.csv]"
	ips=$LAST_PID
}
start
grep "drop.txt:4: 10.66.0.0/6 is wider than a /8" "$WORK/ips.log" >/dev/null || fail "a wide network is not reported"
before=$(kernel_queue 0 sequence)
blocked 10.66.1.20 10.66.2.2
blocked fd66:1::40 fd66:2::2
equal "packets of blocked networks that reached the queue" "$(kernel_queue 0 sequence)" "$before"
free 10.66.1.40 10.66.2.2

# By hand: add, list, remove; for a time. HOME_NET is refused.
blocklist add 10.66.1.40-10.66.1.47 10.66.1.70 --permanent
blocked 10.66.1.40 10.66.2.2
blocked 10.66.1.70 10.66.2.2
equal "listed" "$(blocklist list | awk 'NR > 1 { print $1 }' | tr '\n' ' ')" "10.66.1.70 10.66.1.40/29 "
blocklist add 10.66.2.0/25 2>"$WORK/error" && fail "HOME_NET was blocked"
grep "all of 10.66.2.0/25 is in nft.blocklist.never; no address was blocked" "$WORK/error" >/dev/null ||
	fail "$(cat "$WORK/error")"
blocklist add 10.0.0.0/7 2>"$WORK/error" && fail "a part of the Internet was blocked"
grep "'10.0.0.0/7' is wider than a /8" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
equal "removed" "$(blocklist remove 10.66.1.40/29 --json)" '{"removed":1}'
free 10.66.1.40 10.66.2.2
blocklist add 10.66.1.40/29 --timeout 2
blocked 10.66.1.40 10.66.2.2
wait_for passes 10.66.1.40 10.66.2.2 || fail "the block did not end"

# Imported lists: replaced under the same name, refused if nothing is in them, and forgotten.
printf '%s\n' '{"cidr":"10.66.1.40/32","sblid":"SBL3"}' '{"type":"metadata","records":1}' |
	blocklist import - --name provider | grep "imported provider: 1 entries" >/dev/null || fail "not imported"
blocked 10.66.1.40 10.66.2.2
echo "nothing" >"$WORK/empty"
blocklist import "$WORK/empty" --name provider 2>"$WORK/error" && fail "an empty list was imported"
grep "has no address or network; nothing was changed" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
blocked 10.66.1.40 10.66.2.2
blocklist lists --json >"$WORK/lists.json"
python3 - "$WORK/lists.json" <<'PY' || fail "the lists: $(cat "$WORK/lists.json")"
import json, sys
answer = json.load(open(sys.argv[1]))
lists = {(one["kind"], one["name"].rpartition("/")[2]): one for one in answer["lists"]}
assert lists["file", "drop.txt"]["entries"] == 2 and lists["file", "drop.txt"]["left_out"] == 1
assert lists["file", "abuse.csv"]["entries"] == 1 and lists["imported", "provider"]["entries"] == 1
assert answer["networks"] == {"ipv4": 2, "ipv6": 1} # HOME_NET is spared
PY

# A file that cannot be read any more: its networks stay blocked. One that has changed: its new networks are blocked.
mv "$WORK/drop.txt" "$WORK/away"
echo 10.66.1.21 >"$WORK/abuse.csv"
blocklist reread
blocked 10.66.1.20 10.66.2.2
blocked 10.66.1.21 10.66.2.2
free fd66:1::40 fd66:2::2
blocklist lists | grep "drop.txt.*cannot be read any more" >/dev/null || fail "a lost file is not shown"
mv "$WORK/away" "$WORK/drop.txt"

# The networks come back with the table.
gateway nft delete table inet sluice
wait_events ips 1 event_type=firewall sluice.firewall.action=reasserted
blocked 10.66.1.20 10.66.2.2
blocked 10.66.1.40 10.66.2.2

# After a restart the same hosts and networks are blocked.
stop_process "$ips" || fail "exit code $?"
free 10.66.1.40 10.66.2.2
start
blocked 10.66.1.70 10.66.2.2
blocked 10.66.1.40 10.66.2.2
blocked 10.66.1.20 10.66.2.2
blocklist forget provider
free 10.66.1.40 10.66.2.2
blocklist forget provider 2>"$WORK/error" && fail "a list was forgotten twice"
grep "there is no imported list 'provider'" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
blocklist flush
free 10.66.1.70 10.66.2.2
stop_process "$ips" || fail "exit code $?"
start
free 10.66.1.70 10.66.2.2 # unblocked before the stop
stop_process "$ips" || fail "exit code $?"
