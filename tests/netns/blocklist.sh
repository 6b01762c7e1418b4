#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocked hosts: a rule that drops blocks its host in the kernel, whose flood then costs the daemon nothing: its queue
# stands still while the kernel's counters rise. The list is shown and edited beside the daemon, times run out, HOME_NET
# is never blocked, and everybody else's rules stay what they are.
. "$(dirname "$0")/lib.sh"
topology
for host in 3 4 5; do
	ip -n "$P-cli" addr add "10.66.1.$host/24" dev c0
	ip -n "$P-cli" addr add "fd66:1::$host/64" dev c0 nodad
done
blocklist() { gateway "$SLUICE" blocklist "$1" --config /dev/null "${@:2}"; }
listed() { blocklist list | awk 'NR > 1 { print $1 }' | tr '\n' ' '; }
neighbours() { gateway nft list table inet firewall; gateway iptables-save; gateway ip6tables-save; }
plain() { sed -E -e '/^#/d' -e 's/\[[0-9]+:[0-9]+\]//' -e 's/packets [0-9]+ bytes [0-9]+//'; }
# say FROM TO TEXT...: datagrams to port 7000.
say() {
	client python3 - "$@" <<'PY'
import socket, sys
source, to, *texts = sys.argv[1:]
sock = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((source, 0))
for text in texts:
    count, _, word = text.rpartition("*")
    for _ in range(int(count or 1)):
        sock.sendto(word.encode(), (to, 7000))
PY
}
arrived() { grep -c "$1" "$WORK/got" || true; }
arrives() { # arrives TEXT COUNT
	wait_equal "datagrams '$1'" "$2" arrived "$1"
}
waits() { # waits LIST: until these are blocked
	wait_equal "blocked hosts" "$1" listed
}

gateway iptables -A FORWARD -s 10.99.0.0/16 -j DROP
gateway nft 'table inet firewall {
	set s { type ipv4_addr; elements = { 10.98.0.1 }; }
	chain forward { type filter hook forward priority 0; ip saddr @s drop; }
}'
neighbours 2>/dev/null | plain >"$WORK/before"
blocklist list 2>"$WORK/error" && fail "a list without a table"
grep "has no blocklist" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"

cat >"$WORK/class.config" <<'CLASS'
config classification: intrusion,an intrusion,1
config classification: noise,noise,3
CLASS
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"asks for it"; content:"EVIL-A"; fwsam:src, 1 hour; sid:1;)
drop udp any any -> any 7000 (msg:"by its priority"; content:"EVIL-B"; priority:1; sid:2;)
drop udp any any -> any 7000 (msg:"by its class"; content:"EVIL-C"; classtype:noise; priority:9; sid:3;)
drop udp any any -> any 7000 (msg:"does not ask"; content:"EVIL-D"; priority:9; sid:4;)
drop udp any any -> any 7000 (msg:"of HOME_NET"; content:"EVIL-E"; fwsam:dst, 1 hour; priority:9; sid:5;)
alert udp any any -> any 7000 (msg:"only tells"; content:"EVIL-F"; priority:1; sid:6;)
drop udp any any -> any 7000 (msg:"for a moment"; content:"EVIL-G"; fwsam:src, 6 seconds; sid:7;)
RULES
udp_sink 7000 "$WORK/got"
start_sluice ips --queue 0 --rules "$WORK/t.rules" --attach after --set nft.blocklist.enabled=yes \
	--set nft.blocklist.size=4 \
	--set nft.blocklist.priority=1 --set nft.blocklist.classtypes=noise --set nft.blocklist.timeout=100 \
	--set classification-file="$WORK/class.config" --set 'vars.address-groups.HOME_NET=[10.66.2.0/24,fd66:2::/64]'
ips=$LAST_PID

# Who is blocked, and who is not.
say 10.66.1.5 10.66.2.2 good EVIL-D EVIL-F after-d
say 10.66.1.5 10.66.2.2 EVIL-E after-e
arrives after-e 1
arrives EVIL-F 1
equal "blocked without cause" "$(listed)" ""
say 10.66.1.2 10.66.2.2 EVIL-A
say fd66:1::2 fd66:2::2 EVIL-A
say 10.66.1.3 10.66.2.2 EVIL-B
say fd66:1::4 fd66:2::2 EVIL-C
waits "10.66.1.2 10.66.1.3 fd66:1::2 fd66:1::4 "
wait_events ips 4 event_type=firewall sluice.firewall.action=blocked
equal "by rule 1" \
	"$(events ips event_type=firewall sluice.firewall.host=10.66.1.2 sluice.firewall.signature_id=1 sluice.firewall.timeout=3600)" 1
equal "by rule 2" \
	"$(events ips event_type=firewall sluice.firewall.host=10.66.1.3 sluice.firewall.signature_id=2 sluice.firewall.timeout=100)" 1
equal "by rule 3" "$(events ips event_type=firewall sluice.firewall.signature_id=3)" 1

# Floods, in both families: the queue stands still, the kernel counts, others go on.
before=$(kernel_queue 0 sequence)
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 20000
say fd66:1::2 fd66:2::2 '20000*flood'
equal "packets that reached the queue" "$(kernel_queue 0 sequence)" "$before"
equal "arrivals of the flood" "$(arrived 'number\|flood')" 0
blocklist list --json >"$WORK/list.json"
python3 - "$WORK/list.json" <<'PY' || fail "the list: $(cat "$WORK/list.json")"
import json, sys
hosts = {host["address"]: host for host in json.load(open(sys.argv[1]))["hosts"]}
assert hosts["10.66.1.2"]["packets"] == 20000 and hosts["fd66:1::2"]["packets"] == 20000
assert hosts["10.66.1.3"]["packets"] == 0
assert hosts["10.66.1.2"]["bytes"] > 20000 * 28
assert 3500 < hosts["10.66.1.2"]["expires"] <= hosts["10.66.1.2"]["timeout"] == 3600
PY
equal "the status" "$(gateway "$SLUICE" nft status --config /dev/null | sed -n 's/ (.*//; s/^blocklist: //p')" \
	"2 IPv4 hosts, 2 IPv6 hosts, 40000 packets"
gateway "$SLUICE" nft status --config /dev/null --json |
	grep '"blocklist":{"ipv4":2,"ipv6":2,"packets":40000,' >/dev/null ||
	fail "the status as JSON: $(gateway "$SLUICE" nft status --config /dev/null --json)"
# Nor does anybody reach a blocked host.
server ping -c1 -W1 -q 10.66.1.3 >/dev/null && fail "a blocked host is reached"
say 10.66.1.5 10.66.2.2 still-good
arrives still-good 1
wait_stats ips "$ips" firewall.blocklist.dropped_packets 40001
equal "hosts, in the statistics" "$(last_stats ips firewall.blocklist.hosts)" 4
equal "refused, in the statistics" "$(last_stats ips firewall.blocklist.refused)" 1

# By hand: out, in again, not HOME_NET, no more than there is room.
equal "removed" "$(blocklist remove 10.66.1.2 fd66:1::2 --json)" '{"removed":2}'
say 10.66.1.2 10.66.2.2 free-again
arrives free-again 1
blocklist add 10.66.2.9 --set 'vars.address-groups.HOME_NET=10.66.2.0/24' 2>"$WORK/error" && fail "HOME_NET was blocked"
grep "is in nft.blocklist.never; no address was blocked" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
blocklist add 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 2>"$WORK/error" && fail "more than there is room"
grep "full" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
equal "a transaction that fails adds nobody" "$(listed)" "10.66.1.3 fd66:1::4 "
grep "nothing was changed" "$WORK/error" >/dev/null || fail "$(cat "$WORK/error")"
blocklist flush
# The first transaction (64 hosts) is 63 times the same host, and 192.0.2.2.
blocklist add $(yes 192.0.2.1 | head -63) 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 2>"$WORK/error" &&
	fail "more than there is room"
grep "full.*; the first 64 of 68 hosts were added, the others were not" "$WORK/error" >/dev/null ||
	fail "$(cat "$WORK/error")"
equal "the first transaction stays" "$(listed)" "192.0.2.1 192.0.2.2 "
blocklist flush
blocklist add 10.66.1.3 fd66:1::4 --force
blocklist add 192.0.2.1 192.0.2.2 192.0.2.3 --permanent
say 10.66.1.4 10.66.2.2 EVIL-A
wait_stats ips "$ips" firewall.blocklist.full 1
blocklist flush
equal "flushed" "$(listed)" ""
equal "an empty list" "$(blocklist list)" "no hosts are blocked"

# Times run out; who asks again is blocked again.
say 10.66.1.4 10.66.2.2 EVIL-G
waits "10.66.1.4 "
say 10.66.1.4 10.66.2.2 not-now
waits "" # its time is over
say 10.66.1.4 10.66.2.2 now-again
arrives now-again 1
equal "while it was blocked" "$(arrived not-now)" 0

# The table goes, the hosts come back with it; whoever added them.
wait_stats ips "$ips" firewall.blocklist.hosts 0 # the daemon has read the empty list
blocklist add 10.66.1.4 --timeout 500 --force     # of the default HOME_NET
wait_stats ips "$ips" firewall.blocklist.hosts 1 # remembered
gateway nft delete table inet sluice
wait_events ips 1 event_type=firewall sluice.firewall.action=reasserted
equal "blocked again" "$(listed)" "10.66.1.4 "
say 10.66.1.4 10.66.2.2 not-now
say 10.66.1.5 10.66.2.2 after-it
arrives after-it 1
equal "while it was blocked again" "$(arrived not-now)" 0

stop_process "$ips" || fail "exit code $?"
[ "$(last_stats ips firewall.blocklist.dropped_packets)" -ge 40002 ] || fail "the counters began anew with the table"
gateway nft list tables | grep sluice >/dev/null && fail "the table is still there"
neighbours 2>/dev/null | plain | cmp -s - "$WORK/before" || fail "a neighbour's rules have changed"
