#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 50000 SYNs at a time, four times, from everywhere, at full speed: a connection that was there goes on and is inspected, memory does not grow, every packet is
# accounted for. Once with memory for all of them, once with so little that flows must give way.
. "$(dirname "$0")/lib.sh"
topology
client sysctl -qw net.ipv4.ip_forward=0
gateway ip route add 10.128.0.0/9 via 10.66.1.2
queue_rule --queue-num 0
echo 'drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" tcp-echo 80
for _ in $(seq 50); do [ "$(grep -c listening "$WORK/background.log")" = 2 ] && break; sleep 0.05; done
mac=$(gateway cat /sys/class/net/g0/address)

resident() { # of Sluice, in KiB
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$ips/status"
}

flood() { # flood SEED
	client python3 "$HERE/flood.py" c0 "$mac" 10.66.2.2 50000 "$1"
}

ask() { # ask TEXT WANTED
	echo "$1" >&"$talk"
	read -r -t 30 -u "$hear" answer || answer="nothing"
	equal "the connection" "$answer" "$2"
}

drained() {
	for _ in $(seq 200); do [ "$(kernel_queue 0 waiting)" = 0 ] && break; sleep 0.05; done
}

# survives NAME LIMIT GROWTH ARGS...: resident memory stays below LIMIT MiB, and grows by less than GROWTH in the second half.
survives() {
	local name=$1 limit=$2 growth=$3 warm end sequence
	shift 3
	start_sluice "$name" --queue 0 --rules "$WORK/t.rules" "$@"
	ips=$LAST_PID
	coproc TALK { client python3 -u "$HERE/traffic.py" tcp-steps 10.66.2.3 7001; }
	hear=${TALK[0]} talk=${TALK[1]}
	ask "before" "before"
	flood 1 &
	flooding=$!
	bytes=$(client timeout 60 python3 "$HERE/traffic.py" tcp-bulk 10.66.2.3 7001 1000000)
	ask "in the middle" "in the middle"
	wait $flooding || fail "the flood ended by itself"
	drained
	warm=$(resident)
	flood 2
	ask "after" "after"
	drained
	end=$(resident)
	equal "$name: bytes of a connection begun in the flood" "$bytes" 1000000
	[ $((end - warm)) -lt $((growth * 1024)) ] || fail "$name: resident memory grew from $warm to $end KiB"
	[ "$end" -lt $((limit * 1024)) ] || fail "$name: resident memory is $end KiB, more than $limit MiB"
	ask "EVIL-PATTERN" TIMEOUT
	equal "$name: drops by the rule" "$(events "$name" event_type=alert alert.signature_id=1)" 1
	exec {talk}>&-
	drained
	sequence=$(kernel_queue 0 sequence)
	lost=$(($(kernel_queue 0 queue_dropped) + $(kernel_queue 0 user_dropped)))
	user_lost=$(kernel_queue 0 user_dropped)
	stop_process "$ips" || fail "exit code $?"
	equal "$name: accepted + dropped" "$(($(last_stats "$name" queue.0.accepted) + $(last_stats "$name" queue.0.dropped)))" \
		"$(last_stats "$name" queue.0.packets)"
	[ "$(($(last_stats "$name" queue.0.packets) + user_lost))" -ge "$sequence" ] ||
		fail "$name: $sequence packets were queued, $(last_stats "$name" queue.0.packets) judged and $user_lost lost"
	echo "$name: $(last_stats "$name" queue.0.packets) packets judged, $lost lost, resident $warm, then $end KiB" >>"$WORK/survived.log"
}

# Memory that was reserved counts as resident when it is used first: with ample memory that is until the caps are reached.
survives ample 620 620
survives scarce 120 1 --set flow.memcap=8MiB --set stream.memcap=8MiB --set stream.reassembly-memcap=16MiB
cat "$WORK/survived.log"
