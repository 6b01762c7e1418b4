#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service under load: engine and supervisor are killed repeatedly, and the rules are reloaded. systemd keeps the
# sockets of the queues. No packet may be lost, no request may fail, and no packet may pass uninspected.
. "$(dirname "$0")/lib_systemd.sh"
HERE=/source/tests/netns P=vm
background() {
	ip netns exec "$P-$1" "${@:2}" >>$WORK/background.log 2>&1 &
	LAST_PID=$!
}
. $HERE/continuity_lib.sh
RATE=60

for side in "cli 1" "srv 2"; do
	# shellcheck disable=SC2086
	set -- $side
	ip netns add "vm-$1"
	ip link add "g$2" type veth peer name e0 netns "vm-$1"
	ip addr add "10.66.$2.1/24" dev "g$2"
	ip link set "g$2" up
	for i in 2 3 4 5; do ip -n "vm-$1" addr add "10.66.$2.$i/24" dev e0; done
	ip -n "vm-$1" link set lo up
	ip -n "vm-$1" link set e0 up
	ip -n "vm-$1" route add default via "10.66.$2.1"
done
sysctl -qw net.ipv4.ip_forward=1
ip netns exec vm-cli ping -c 1 -W 5 -q 10.66.2.2 >/dev/null || fail "the machine does not forward packets"

continuity_rules "$ETC/t.rules"
cat >"$ETC/sluice.yaml" <<'YAML'
rule-files: [t.rules]
queue: {numbers: 0-1}
nft: {attach: after, hooks: [forward]}
YAML
start_service
nft -f - <<'NFT'
table inet books {
	counter before { }
	counter after { }
	chain first { type filter hook forward priority -399; counter name before; }
	chain last { type filter hook postrouting priority 10000; ip saddr != { 10.66.1.1, 10.66.2.1 } counter name after; }
}
NFT
counted() { nft list counter inet books "$1" | awk '/packets/ { print $2 }'; }
another() { # another engine|supervisor PID: succeeds if a process other than PID runs as such, and the daemon answers
	local now
	if [ "$1" = engine ]; then now=$(engine); else now=$(show MainPID); fi
	[ -n "$now" ] && [ "$now" != 0 ] && [ "$now" != "$2" ] && is_ready
}

traffic_start
sleep 2 # the period that is measured, to compare the others with
stall "nothing happens"
# A pause of random length after each kill is part of the test: the next one shall find another state.
for _ in 1 2 3 4; do
	before=$(engine)
	kill -9 "$before"
	await "another engine" another engine "$before"
	sleep "0.$((RANDOM % 10))"
done
stall "the engine killed 4 times"
for i in 1 2 3 4; do
	before=$(show MainPID)
	[ $((i % 2)) = 0 ] && kill -9 "$(engine)" # kill the engine, too
	kill -9 "$before"
	await "another supervisor" another supervisor "$before"
	sleep "0.$((RANDOM % 10))"
done
stall "the supervisor killed 4 times"
for i in 1 2; do
	systemctl reload sluice.service || fail "no reload"
	await "the reload" grep -q "reloaded: generation $((1 + i))" $WORK/log
done
stall "2 reloads"
traffic_stop
wait_equal "packets that wait" 0 awk '{ n += $3 } END { print n }' /proc/net/netfilter/nfnetlink_queue
missing() { echo $(($(counted before) - $(counted after))); }
wait_least "packets that a rule drops" "$(answered evil_sent)" missing
# Packets that came in and have not gone out yet are missing for a moment.
all_out() { [ "$(missing)" = "$(answered evil_sent)" ]; }
wait_for all_out || true
packets=$(counted before)
echo "packets: $packets, of them $(answered evil_sent) for a rule to drop; $(missing) did not go out"
grep -a '"event_type":"drop"' /var/log/sluice/eve.json | grep -av '"signature_id":1,' >$WORK/other.log || true
cat $WORK/other.log
equal "packets that did not go out" "$(missing)" "$(answered evil_sent)"
[ "$(grep -c "took over the queues" $WORK/log)" -ge 4 ] || fail "supervisors did not take over"
for queue in 0 1; do
	[ "$(awk -v q=$queue '$1 == q { print $8 }' /proc/net/netfilter/nfnetlink_queue)" -gt 100 ] ||
		fail "queue $queue has no traffic"
done
systemctl stop sluice.service || fail "systemctl stop failed"
equal "result" "$(show Result)" success
