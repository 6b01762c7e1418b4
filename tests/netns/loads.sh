#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Loads that use up one table after the other: idle bodies, UDP flows, incomplete datagrams, segments of one byte.
# Beside each of them a client sends requests, and no more than 1 % of these may fail. The memory stays within the sum
# of the memcaps.
#
#   tests/netns/loads.sh                small tables, in seconds
#   LOADS=full tests/netns/loads.sh     the default memcaps: 10,000 bodies, 600,000 flows, 60,000 datagrams, 100,000
#                                       segments; 99 % of the requests take at most 100 ms. About two minutes.
#   LOADS_P99=MILLISECONDS ...          another limit than 100 ms, for machines that do other work meanwhile
#   LOADS_ONLY="bodies udp" ...         only these
#   LOADS_KEEP=PATH ...                 keeps the events up to the end of each load in PATH.LOAD
. "$(dirname "$0")/lib.sh"
topology
client sysctl -qw net.ipv4.ip_forward=0
gateway ip route add 10.128.0.0/9 via 10.66.1.2
server sysctl -qw net.ipv4.ipfrag_high_thresh=536870912 net.ipv4.icmp_ratelimit=0 net.ipv4.tcp_max_syn_backlog=8192 \
	net.core.somaxconn=8192
for host in client gateway server; do
	$host sysctl -qw net.ipv4.neigh.default.gc_thresh3=8192 2>/dev/null || true
done
queue_rule --queue-num 0
L="$HERE/loads.py"
link="c0,$(gateway cat /sys/class/net/g0/address)"
full=${LOADS:-}
RATE=${LOADS_RATE:-20000} # packets a second
cat >"$WORK/t.rules" <<'RULES'
drop http any any -> any any (msg:"request"; http.uri; content:"/forbidden"; sid:1;)
drop tcp any any -> any any (msg:"raw"; content:"EVIL-PATTERN"; sid:2;)
alert http any any -> any any (msg:"body"; http.request_body; content:"never-sent"; sid:3;)
alert udp any any -> any any (msg:"datagram"; content:"never-sent"; sid:4;)
RULES
: >"$WORK/background.log"
background srv python3 "$L" serve 80
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/overload_traffic.py" udp-echo 7000
wait_lines "$WORK/background.log" listening 3

caps=(app-layer.memcap=8MiB flow.memcap=2MiB stream.memcap=2MiB stream.reassembly-memcap=8MiB defrag.memcap=1MiB)
cap_sum=21
[ -z "$full" ] || { caps=(); cap_sum=$((256 + 128 + 64 + 256 + 32)); }
start_sluice loads --queue 0 --rules "$WORK/t.rules" --no-console --set stats.interval=1 "${caps[@]/#/--set=}"
ips=$LAST_PID

resident() { awk '$1 == "VmRSS:" { print int($2 / 1024) }' "/proc/$(engine_of "$ips")/status"; } # MiB
at_start=$(resident)

# partner NAME COMMAND...: loads.py in the client, with which the script talks.
declare -A from to
partner() {
	local name=$1 in out
	mkfifo "$WORK/$name.in" "$WORK/$name.out"
	ip netns exec "$P-cli" python3 -u "$L" "${@:2}" <"$WORK/$name.in" >"$WORK/$name.out" 2>>"$WORK/background.log" &
	exec {in}>"$WORK/$name.in" {out}<"$WORK/$name.out"
	from[$name]=$out to[$name]=$in
}
tell() { echo "${*:2}" >&"${to[$1]}"; }
dismiss() {
	local in=${to[$1]} out=${from[$1]}
	exec {in}>&- {out}<&-
	rm "$WORK/$1.in" "$WORK/$1.out"
}

# beside NAME COMMAND...: runs the command, and the good client meanwhile.
beside() {
	local name=$1 requests failed p50 p99 max
	shift
	case " ${LOADS_ONLY:-$name} " in *" $name "*) ;; *) return 0 ;; esac
	partner good good 10.66.2.2 80
	read -r -t 20 -u "${from[good]}" _ || fail "$name: the good client does not begin"
	"$@"
	tell good end
	read -r -t 60 -u "${from[good]}" requests failed p50 p99 max || fail "$name: the good client does not end"
	dismiss good
	echo "$name: $requests requests, $failed failed, p50 $p50 ms, p99 $p99 ms, max $max ms," \
		"resident $(resident) MiB (at start $at_start)" |
		tee -a "$WORK/result.log"
	[ -z "${LOADS_KEEP:-}" ] || cp -r "$WORK/loads" "$LOADS_KEEP.$name"
	[ $((failed * 100)) -le "$requests" ] || fail "$name: $failed of $requests requests failed"
	[ "$(resident)" -le $((at_start + cap_sum + 32)) ] ||
		fail "$name: resident memory is $(resident) MiB; the memcaps are $cap_sum MiB in sum"
	[ -z "$full" ] || [ "${p99%.*}" -le "${LOADS_P99:-100}" ] || fail "$name: p99 is $p99 ms"
}

value() { # of the last stats event; a new one is awaited
	local before
	before=$(events loads event_type=stats)
	wait_least "statistics events" $((before + 1)) events loads event_type=stats
	last_stats loads "$1"
}

bodies() { # bodies COUNT BYTES
	local held answered
	partner bodies bodies 10.66.2.2 80 "$1" "$2"
	read -r -t 120 -u "${from[bodies]}" held || fail "bodies: not sent"
	equal "bodies" "$held" "holding $1"
	# The oldest are complete in the end, though what Sluice knew of them is gone.
	tell bodies finish 20
	read -r -t 70 -u "${from[bodies]}" answered || fail "bodies: not finished"
	equal "old bodies that are answered" "$answered" 20
	dismiss bodies
}
size() { [ -n "$full" ] && echo "$1" || echo "$2"; } # size FULL GATE
beside bodies bodies "$(size 10000 400)" 100000

# Half of the flows is answered, so that they are no longer new.
udp() {
	client python3 "$L" udp "$link" 10.66.2.2 7000 $(($1 / 2)) 1 "$RATE"
	client python3 "$L" udp "$link" 10.66.2.3 7009 $(($1 / 2)) 2 "$RATE"
}
beside udp udp "$(size 600000 24000)"

# Datagrams that are complete get through meanwhile, though their fragments need the same table.
fragments() {
	client python3 "$L" fragments "$link" 10.66.2.4 "$1" 3 "$RATE" &
	local flood=$! answered
	answered=$(client python3 "$L" pings 10.66.2.2 20)
	wait $flood || fail "the fragments were not sent"
	[ "$answered" -ge 19 ] || fail "fragments: $answered of 20 fragmented pings were answered"
}
beside fragments fragments "$(size 60000 8000)"

beside in-order client python3 "$L" segments "$link" 10.66.2.2 7001 10 "$(size 10000 1000)" "$RATE" in-order
beside holes client python3 "$L" segments "$link" 10.66.2.2 80 "$(size 1000 240)" 100 "$RATE" holes

evicted() { # evicted COUNTER...: each counts something, and the log and an event report its table
	for counter; do
		[ "$(last_stats loads "$counter")" -gt 0 ] || fail "$counter is 0"
	done
}
if [ -z "${LOADS_ONLY:-}$full" ]; then
	value uptime >/dev/null
	evicted app_layer.memcap.shed_flows flow.evicted defrag.evicted tcp.reassembly_evicted
	for memcap in app-layer.memcap flow.memcap defrag.memcap; do
		[ "$(events loads event_type=overload sluice.overload.action=evicted sluice.overload.memcap=$memcap)" -ge 1 ] ||
			fail "no event of $memcap"
		grep -q "$memcap is used up" "$WORK/loads.log" || fail "the log does not report $memcap"
	done
fi
equal "parsers without memory" "$(value app_layer.error.http.alloc)" 0
stop_process "$ips" || fail "exit code $?"
cat "$WORK/result.log"
