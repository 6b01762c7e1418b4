#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 30000 SYNs at a time, several times, from everywhere, at full speed: a connection that was there goes on and is
# inspected, memory does not grow, every packet is accounted for. Once with memory for all of them, once with so little
# that flows must give way.
. "$(dirname "$0")/lib.sh"
topology
client sysctl -qw net.ipv4.ip_forward=0
gateway ip route add 10.128.0.0/9 via 10.66.1.2
queue_rule --queue-num 0
echo 'drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)' >"$WORK/t.rules"
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 "$HERE/traffic.py" tcp-echo 80
wait_lines "$WORK/background.log" listening 2
mac=$(gateway cat /sys/class/net/g0/address)

resident() { # of Sluice, in KiB
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$(engine_of "$ips")/status"
}

flood() { # flood SEED
	client python3 "$HERE/flood.py" c0 "$mac" 10.66.2.2 30000 "$1"
}

ask() { # ask TEXT WANTED
	echo "$1" >&"$talk"
	read -r -t 30 -u "$hear" answer || answer="nothing"
	equal "the connection" "$answer" "$2"
}

drained() {
	wait_equal "packets that wait" 0 kernel_queue 0 waiting
}

# accounted NAME: packets that the kernel queued are judged or lost, exactly. Asked again when some came while we asked.
accounted() {
	local before judged accepted dropped queue_dropped errors
	for _ in $(seq 20); do
		drained
		before=$(kernel_queue 0 sequence)
		ask_stats "$1" "$ips"
		read -r judged accepted dropped queue_dropped errors < <(last_stats "$1" \
			queue.0.packets queue.0.accepted queue.0.dropped queue.0.queue_dropped queue.0.verdict_errors)
		[ "$(kernel_queue 0 sequence)" = "$before" ] && break
	done
	lost=$(($(kernel_queue 0 queue_dropped) + $(kernel_queue 0 user_dropped)))
	equal "$1: accepted + dropped" "$((accepted + dropped))" "$judged"
	equal "$1: judged + lost to a full socket buffer" "$((judged + $(kernel_queue 0 user_dropped)))" "$before"
	equal "$1: the loss in the statistics" "$queue_dropped" "$(kernel_queue 0 queue_dropped)"
	equal "$1: verdicts that the kernel refused" "$errors" 0
}

# survives NAME ADDRESS LIMIT GROWTH ARGS...: the connection is with ADDRESS; resident memory stays below LIMIT MiB, and
# stops growing (by GROWTH KiB and more for each flood).
survives() {
	local name=$1 address=$2 limit=$3 growth=$4 seed=2 quiet=0 resident before queued
	shift 4
	start_sluice "$name" --queue 0 --rules "$WORK/t.rules" "$@"
	ips=$LAST_PID
	coproc TALK { client python3 -u "$HERE/traffic.py" tcp-steps "$address" 7001; }
	hear=${TALK[0]} talk=${TALK[1]}
	ask "before" "before"
	flood 1 &
	flooding=$!
	bytes=$(client timeout 60 python3 "$HERE/traffic.py" tcp-bulk "$address" 7001 1000000)
	ask "in the middle" "in the middle"
	wait $flooding || fail "the flood ended by itself"
	drained
	# Reserved memory becomes resident when it is used for the first time: tables until they are full, rings until they
	# have been filled once. A leak grows with each flood. So two floods in a row must leave the memory as it is. How
	# much of a flood the kernel queues depends on the machine; a flood counts when it queued 10,000 packets.
	resident=$(resident)
	while [ $quiet -lt 2 ] && [ $seed -lt 20 ]; do
		before=$resident queued=$(kernel_queue 0 sequence)
		flood $seed
		seed=$((seed + 1))
		drained
		resident=$(resident)
		if [ $((resident - before)) -ge "$growth" ]; then quiet=0
		elif [ $(($(kernel_queue 0 sequence) - queued)) -ge 10000 ]; then quiet=$((quiet + 1)); fi
	done
	ask "after" "after"
	equal "$name: bytes of a connection begun in the flood" "$bytes" 1000000
	[ $quiet = 2 ] || fail "$name: resident memory grows with each flood, last from $before to $resident KiB"
	[ "$resident" -lt $((limit * 1024)) ] || fail "$name: resident memory is $resident KiB, more than $limit MiB"
	ask "EVIL-PATTERN" TIMEOUT
	equal "$name: drops by the rule" "$(events "$name" event_type=alert alert.signature_id=1 dest_ip="$address")" 1
	exec {talk}>&-
	accounted "$name"
	stop_process "$ips" || fail "exit code $?"
	echo "$name: $(last_stats "$name" queue.0.packets) packets judged, $lost lost," \
		"resident $before, then $resident KiB after $seed floods" >>"$WORK/survived.log"
}

# With ample memory each flood takes more of it until the caps are reached, so only the limit is checked.
# The addresses differ: the first connection repeats its last segment for minutes.
survives ample 10.66.2.3 620 $((620 * 1024))
survives scarce 10.66.2.4 120 128 --set flow.memcap=2MiB --set stream.memcap=4MiB --set stream.reassembly-memcap=16MiB
cat "$WORK/survived.log"
