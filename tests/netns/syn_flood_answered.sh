#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A SYN flood that the server answers (SYN cookies), with memory for far fewer half-open connections than the flood
# begins during one round trip: new connections succeed, and are inspected from their first byte on.
#
# FLOOD=full: 50,000 SYNs a second for 60 s with the default memcaps (or those of SETTINGS), without an added delay.
# Prints the share of connections that succeeded and their times; asks for 99 %, and for 100 ms at the 99th percentile.
. "$(dirname "$0")/lib.sh"
: "${SYN_LOAD:?path of syn_load}"
topology
client sysctl -qw net.ipv4.ip_forward=0 net.ipv4.ip_local_port_range="1024 65000"
server sysctl -qw net.ipv4.tcp_syncookies=2 net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096
gateway ip route add 10.128.0.0/9 via 10.66.1.2
rate=6000 seconds=3 parallel=40 settings="--set flow.memcap=256KiB --set stream.memcap=2MiB"
if [ "${FLOOD:-}" = full ]; then
	rate=${RATE:-50000} seconds=${SECONDS_OF_FLOOD:-60} parallel=8 settings=${SETTINGS:-}
else
	# The handshake's ACK comes 200 ms after the SYN/ACK passed Sluice; the flood begins 1200 more connections in this
	# time.
	client iptables -t mangle -A OUTPUT -p tcp ! --syn -j NFQUEUE --queue-num 1
	: >"$WORK/impair.log"
	# a function would run in a shell that is ended alone
	ip netns exec "$P-cli" python3 "$HERE/impair.py" 1 1 delay=200 >"$WORK/impair.log" 2>&1 &
	wait_text "$WORK/impair.log" bound
fi
queue_rule --queue-num 0 --queue-bypass
echo 'alert tcp any any -> any 80 (msg:"marked"; flow:established,to_server; content:"MARKED"; depth:6; sid:1;)' \
	>"$WORK/t.rules"
: >"$WORK/background.log"
background srv python3 "$HERE/good_client.py" serve 10.66.2.2 80
wait_text "$WORK/background.log" listening
mac=$(gateway cat /sys/class/net/g0/address)
# Without the grace, in which any segment may begin a session.
# shellcheck disable=SC2086
start_sluice flood --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0 --set queue.length=65536 $settings
ips=$LAST_PID
client "$SYN_LOAD" c0 "$mac" 10.66.2.2 80 "$rate" "$((seconds + 1))" >"$WORK/sent" &
flooding=$!
read -r total good marked p50 p99 longest \
	< <(client python3 "$HERE/good_client.py" ask 10.66.2.2 80 "$parallel" "$seconds" 3)
wait $flooding
stop_process "$ips" || fail "exit code $?"
# A flow event for each SYN: millions at full size.
grep -E '"event_type":"(stats|alert)"' "$WORK/flood/eve.json" >"$WORK/kept.json"
mv "$WORK/kept.json" "$WORK/flood/eve.json"
sent=$(cat "$WORK/sent")
echo "$sent SYNs, $good of $total connections, p50 $p50 ms, p99 $p99 ms, longest $longest ms," \
	"$(last_stats flood flow.get_used) flows and $(last_stats flood tcp.ssn_memcap_drop) sessions gave way," \
	"$(last_stats flood tcp.ssn_restored) were begun again," \
	"queue overruns $(last_stats flood queue.0.queue_dropped), stream memory $(last_stats flood tcp.memuse)," \
	"flow memory $(last_stats flood flow.memuse)"
# A connection that was given up may have had an alert, too.
[ "$(events flood event_type=alert)" -ge "$marked" ] ||
	fail "$(events flood event_type=alert) alerts for $marked connections"
[ "$total" -gt 20 ] || fail "only $total connections were tried"
[ $((good * 100)) -ge $((total * 99)) ] || fail "$good of $total connections succeeded"
if [ "${FLOOD:-}" = full ]; then
	[ "${p99%.*}" -le 100 ] || fail "99 % of the connections took up to $p99 ms"
else
	[ "$(last_stats flood tcp.ssn_restored)" -gt 0 ] || fail "no session was begun again"
fi
