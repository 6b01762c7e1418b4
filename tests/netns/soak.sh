#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mixed traffic for a long time: no memory grows, every packet is accounted for, nothing is lost, nothing passes that
# must not, and at the end all is given back. Good for a sanitizer's build, too: what it says at the end counts. Most of
# the load is soak_load's, which asks first as fast as answers come, and then at a part of that; soak.py's is of more
# kinds.
#   SOAK_LOAD      the program soak_load, of the build's tests/netns
#   SOAK_MINUTES   how long (30)
#   SOAK_RAMP      for how many seconds before that the capacity is sought (40)
#   SOAK_PERCENT   how much of the capacity is used then (80)
#   SOAK_RATE      datagrams a second of soak.py; the rest in proportion (600)
#   SOAK_RULES     a file of rules besides the test's own
#   SOAK_CAPTURES  how many captures of SLUICE_SHARED are played (200)
#   SOAK_REPORT    a folder where the figures are left
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
: "${SOAK_LOAD:?path of the program}"
command -v openssl >/dev/null || skip "openssl is not installed"
seconds=$(awk "BEGIN { print int(${SOAK_MINUTES:-30} * 60) }")
ramp=${SOAK_RAMP:-40}
timeout=$((seconds >= 120 ? 10 : 2)) # of flows
topology
for host in cli srv; do
	ip netns exec "$P-$host" sysctl -qw net.ipv4.ip_forward=0 net.ipv4.ip_local_port_range="10000 65000"
done
# Where the captures play: nobody is there, and nobody answers.
gateway ip route add 10.77.0.0/16 via 10.66.2.2
gateway ip route add 10.88.0.0/16 via 10.66.1.2
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -keyout "$WORK/key.pem" -out "$WORK/cert.pem" \
	2>/dev/null
cat "$WORK/key.pem" >>"$WORK/cert.pem"
cat >"$WORK/t.rules" <<'RULES'
drop udp any any -> any any (msg:"evil"; content:"EVIL-PATTERN"; sid:1;)
drop http any any -> any any (msg:"evil path"; http.uri; content:"/evil/"; sid:2;)
alert http any any -> any any (msg:"path"; http.uri; content:"/no/where"; sid:3;)
alert dns any any -> any any (msg:"name"; dns.query; content:"host4242."; sid:4;)
RULES
options=(--rules "$WORK/t.rules" --set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
	--set stats.interval=0
	--set "defrag.timeout=$timeout" --set 'vars.address-groups.HOME_NET=[10.66.1.0/24,fd66:1::/64]')
for protocol in tcp udp icmp default; do
	for state in new established bypassed; do options+=(--set "flow.timeouts.$protocol.$state=$timeout"); done
done
options+=(--set "flow.timeouts.tcp.closed=$timeout")
rules=${SOAK_RULES:-}
[ -z "$rules" ] || options+=(--rules "$rules")
[ ! -f "${rules%/*}/classification.config" ] || options+=(--set "classification-file=${rules%/*}/classification.config")

READY_SECONDS=300 start_sluice ips --queue 0-1 --attach after --no-console "${options[@]}"
supervisor=$LAST_PID
gateway nft -f - <<'NFT'
table inet soak {
	counter before { }
	counter after { }
	chain first { type filter hook forward priority -399; counter name before; }
	chain last {
		type filter hook postrouting priority 10000
		ip saddr { 10.66.1.1, 10.66.2.1 } accept
		ip6 saddr { fd66:1::1, fd66:2::1, fe80::/10 } accept
		counter name after
	}
}
NFT
counted() { gateway nft list counter inet soak "$1" | awk '/packets/ { print $2 }'; }
mac() { ip -n "$P-gw" -o link show "$1" | sed 's/.*ether \([^ ]*\).*/\1/'; }
places=() # each may have as many connections as there are ports
for i in 2 3 4 5 6 7 8 9; do places+=("10.66.2.$i" "fd66:2::$i"); done
captures=()
if [ -d "${SLUICE_SHARED:-}/pcaps" ]; then
	mapfile -t captures < <(find "$SLUICE_SHARED/pcaps" -name '*.pcap' -size -1000k | sort |
		shuf -n "${SOAK_CAPTURES:-200}" --random-source=<(yes))
fi

ip netns exec "$P-srv" python3 "$HERE/soak.py" serve 7000 "$WORK/cert.pem" >"$WORK/served" 2>"$WORK/served.log" &
serving=$!
wait_text "$WORK/served" listening
ip netns exec "$P-srv" "$SOAK_LOAD" serve 80 "${places[@]}" >"$WORK/bulk_served" 2>"$WORK/bulk_served.log" &
bulk_serving=$!
wait_text "$WORK/bulk_served" listening
python3 "$HERE/soak.py" watch "$supervisor" "$WORK/ips/eve.json" "$WORK/socket" "$WORK/looks" \
	"$((seconds >= 120 ? 10 : 2))" \
	>"$WORK/watched" 2>"$WORK/watched.log" &
watching=$!
wait_for test -s "$WORK/looks" || fail "looks is empty"
pings_start
python3 "$HERE/soak.py" raw "$((${SOAK_RATE:-600} / 4))" "$((ramp + seconds))" 1 "$P-cli,c0,$(mac g0)" \
	"$P-srv,s0,$(mac g1)" "${captures[@]}" >"$WORK/raw" 2>"$WORK/raw.log" &
playing=$!
ip netns exec "$P-cli" "$SOAK_LOAD" ask 80 "$ramp" "$seconds" "${SOAK_PERCENT:-80}" "${places[@]}" >"$WORK/bulk" \
	2>"$WORK/bulk.log" &
asking=$!
client python3 "$HERE/soak.py" ask 10.66.2.2 fd66:2::2 7000 "${SOAK_RATE:-600}" "$((ramp + seconds))" >"$WORK/asked" \
	2>"$WORK/asked.log" || fail "the client"
wait $asking || fail "the bulk client"
wait $playing || fail "the captures"
pings_stop
kill $serving $bulk_serving
wait $serving || fail "the server"
wait $bulk_serving || fail "the bulk server"
sed -i /listening/d "$WORK/served" "$WORK/bulk_served"
# TCP tries again for minutes to end what was dropped: nothing may come between the last look and the kernel's counters.
for host in client server; do
	$host nft 'add table inet quiet; add chain inet quiet out { type filter hook output priority 0; policy drop; }'
done
kill $watching
wait $watching || fail "the books"
echo "{\"before\": $(counted before), \"after\": $(counted after), \"ramp\": $ramp}" >"$WORK/kernel"
stop_process "$supervisor" || fail "exit code $?"
[ -z "${SOAK_REPORT:-}" ] || { mkdir -p "$SOAK_REPORT"; cp \
	-r "$WORK"/{asked,bulk,raw,served,bulk_served,watched,looks,kernel,ips,*.log} "$SOAK_REPORT"; }
python3 "$HERE/soak.py" judge "$WORK" || fail "the books do not agree"
pings_judge
grep -E "Sanitizer|runtime error" "$WORK/ips.log" && fail "a sanitizer has something to say"
true
