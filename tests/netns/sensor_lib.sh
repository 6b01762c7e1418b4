# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of the sensor, after lib.sh: a mirror port. What the client sends on m0 arrives on m1 of the
# gateway, on which the sensor listens. Neither has addresses, so the hosts send nothing themselves.

mirror() {
	ip netns add "$P-cli"
	ip netns add "$P-gw"
	add_mirror
}
add_mirror() {
	ip link add m0 netns "$P-cli" mtu 9000 type veth peer name m1 netns "$P-gw" mtu 9000
	client sysctl -qw net.ipv6.conf.m0.disable_ipv6=1
	gateway sysctl -qw net.ipv6.conf.m1.disable_ipv6=1
	client ip link set m0 up
	gateway ip link set m1 up
}

# start_sensor NAME ARGS...: `sluice sensor` on m1, or on INTERFACE; otherwise as start_sluice.
start_sensor() {
	local name=$1 said end=$((SECONDS + 60))
	shift
	mkdir -p "$WORK/$name"
	: >"$WORK/$name.log"
	ip netns exec "$P-gw" "$SLUICE" sensor --interface "${INTERFACE:-m1}" --set run-as.user=root \
		--set "unix-command.filename=$WORK/$name.control" --log-dir "$WORK/$name" "$@" >"$WORK/$name.log" 2>&1 &
	LAST_PID=$!
	while [ $SECONDS -lt $end ]; do
		read -r -d '' said <"$WORK/$name.log" || true
		[[ $said != *"sluice: ready"* ]] || return 0
		kill -0 "$LAST_PID" 2>/dev/null || fail "$name did not start"
		pause 2
	done
	fail "$name is not ready"
}

sensor() { python3 -E "$HERE/sensor.py" "$@"; }

# kernel_packets NAME: packets that the kernel has counted for the rings of the sensor NAME.
kernel_packets() { "$SLUICE" stats --all capture.kernel_packets --socket "$WORK/$1.control" | awk '{ print $2 }'; }
