# SPDX-License-Identifier: GPL-2.0-or-later
# Queue rules that use conntrack. With the conntrack mark the firewall skips the queue after Sluice has accepted a
# packet of the connection. With conntrack's original tuple a queue rule selects the same queue for both directions,
# although NAT changes the addresses.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT'
table inet firewall {
	counter known { }
	chain prerouting {
		type filter hook prerouting priority mangle;
		ct state new meta mark set 0xab00
		ct mark != 0 meta mark set ct mark
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct mark 0xab01 counter name known
		ct state established,related accept
		udp dport 7000 ct state new accept
		tcp dport 7001 ct state new accept
	}
	chain save { # before postrouting, where Sluice clears its mark
		type filter hook forward priority 10;
		meta mark and 0x1 == 0x1 ct mark set meta mark
	}
}
NFT
ruleset >"$WORK/before"
echo 'drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
listens "$WORK/got"
start_sluice ips --queue 0-1 --attach repeat --verdict repeat --mark 0x1/0x1 --rules "$WORK/t.rules"
ips=$LAST_PID
# A connection of six datagrams. Only the first good one is queued; all bad ones are, because none is accepted.
cat >"$WORK/send.py" <<'PY'
import socket, sys, time
s = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7000))
for i in range(6):
    s.send(b'%s %d' % (sys.argv[2].encode(), i))
    time.sleep(1.5 if i == 0 else 0)
PY
for to in 10.66.2.2 fd66:2::2; do
	client python3 "$WORK/send.py" $to good
	client python3 "$WORK/send.py" $to EVIL
done
udp_send cli 10.66.2.2 7000 last
arrives last "$WORK/got"
equal "good datagrams" "$(grep -c good "$WORK/got")" 12
equal "bad datagrams that arrived" "$(grep -c EVIL "$WORK/got" || true)" 0
wait_events ips 12 event_type=drop alert.signature_id=1
equal "the neighbours' mark" "$(events ips event_type=drop sluice.queue.mark=43776)" 12
equal "packets that conntrack's mark spared us" \
	"$(gateway nft list counter inet firewall known | sed -n 's/.*packets \([0-9]*\) .*/\1/p')" 10
stop_process "$ips" || fail "exit code $?"
equal "packets in the queues" "$(($(last_stats ips queue.0.packets) + $(last_stats ips queue.1.packets)))" 15
equal "packets inspected twice" "$(last_stats ips ips.marked)" 0
ruleset | cmp -s - "$WORK/before" || fail "Sluice changed the ruleset: $(ruleset)"

# A queue rule of the administrator, before DNAT, where both directions have different addresses.
gateway nft -f - <<'NFT'
table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat;
		ip daddr 10.66.1.1 tcp dport 7001 dnat to 10.66.2.2-10.66.2.9
	}
	chain postrouting {
		type nat hook postrouting priority srcnat;
		oifname g1 masquerade
	}
}
table ip feed {
	chain prerouting {
		type filter hook prerouting priority -120;
		tcp dport 7001 jump spread
		tcp sport 7001 jump spread
	}
	chain spread {
		meta l4proto tcp queue to jhash ct original ip saddr . ct original ip daddr . ct original proto-src . ct original proto-dst mod 4 offset 4
	}
}
NFT
echo 'alert tcp any any -> any any (msg:"word"; content:"MARKER"; sid:1;)' >"$WORK/t.rules"
# Sluice sees two one-sided connections for each real one.
start_sluice nat --queue 4-7 --rules "$WORK/t.rules" --set stream.async-oneside=yes --set stream.midstream=yes
nat=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
for i in $(seq 8); do
	equal "echo $i" "$(client python3 "$HERE/traffic.py" tcp-ask 10.66.1.1 7001 "MARKER $i")" "MARKER $i"
done
wait_events nat 16 event_type=alert alert.signature_id=1
python3 - "$WORK/nat/eve.json" <<'PY' || fail "the directions of a connection were on different workers"
import collections, json, sys
queues, used = collections.defaultdict(set), set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['event_type'] == 'alert':
        # NAT does not change the port at the gateway.
        queues[e['src_port'] if e['dest_port'] == 7001 else e['dest_port']].add(e['sluice']['queue']['number'])
        used.add(e['sluice']['queue']['number'])
assert len(queues) == 8 and all(len(q) == 1 for q in queues.values()), queues
assert len(used) > 1, used
PY
stop_process "$nat" || fail "sluice run ended with exit code $?"
