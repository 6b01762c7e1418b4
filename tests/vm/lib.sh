# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced inside the machine (busybox sh): a client, a gateway and a server in network namespaces.
set -eu

# busybox prefers its own ip, which has no netns.
ip() { /usr/local/bin/ip "$@"; }

fail() {
	echo "FAILED: $*"
	for log in /tmp/*.log; do [ -s "$log" ] && { echo "--- $log"; tail -n 20 "$log"; }; done
	exit 1
}
equal() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; }
client() { ip netns exec cli "$@"; }
gateway() { ip netns exec gw "$@"; }
server() { ip netns exec srv "$@"; }

topology() {
	for host in cli gw srv; do
		ip netns add $host
		ip -n $host link set lo up
	done
	ip link add c0 netns cli type veth peer name g0 netns gw
	ip link add s0 netns srv type veth peer name g1 netns gw
	ip -n cli addr add 10.66.1.2/24 dev c0
	ip -n gw addr add 10.66.1.1/24 dev g0
	ip -n gw addr add 10.66.2.1/24 dev g1
	for i in 2 3 4 5; do ip -n srv addr add 10.66.2.$i/24 dev s0; done
	ip -n cli link set c0 up
	ip -n gw link set g0 up
	ip -n gw link set g1 up
	ip -n srv link set s0 up
	ip -n cli route add default via 10.66.1.1
	ip -n srv route add default via 10.66.2.1
	gateway sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	client ping -c 1 -W 5 10.66.2.2 >/dev/null || fail "the topology does not forward"
}

# start_sluice ARGS...: in the gateway; sets SLUICE_PID.
start_sluice() {
	mkdir -p /tmp/log
	gateway sluice run --log-dir /tmp/log "$@" >/tmp/sluice.log 2>&1 &
	SLUICE_PID=$!
	for _ in $(seq 300); do
		grep -q ready /tmp/sluice.log && return 0
		kill -0 $SLUICE_PID 2>/dev/null || fail "sluice did not start"
		sleep 0.1
	done
	fail "sluice is not ready"
}
