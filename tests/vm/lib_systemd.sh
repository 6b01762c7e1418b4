# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers for scripts that systemd runs inside the machine, with Sluice installed as a service. Its configuration is in
# $ETC. To be sourced.
set -euo pipefail
WORK=/tmp/work
mkdir -p $WORK /etc/systemd/system/sluice.service.d
ETC=$(dirname "$(find / -xdev -name sluice.yaml -path '*etc*' | head -n 1)")
CONTROL=/run/sluice/control.socket

fail() {
	echo "FAILED: $*" >&2
	tail -n 25 $WORK/log >&2 || true
	systemctl --no-pager -n 0 status sluice.service >&2 || true
	exit 1
}
. /source/tests/netns/wait_lib.sh
equal() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; }
field() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"; }
show() { systemctl show -P "$1" sluice.service; }
engine() { # prints the PID of the engine, the only child of the supervisor
	local supervisor
	supervisor=$(show MainPID)
	awk '{ print $1 }' "/proc/$supervisor/task/$supervisor/children"
}
await() { # await WHAT COMMAND...: until the command succeeds; its output is of no interest
	wait_for "${@:2}" >/dev/null 2>&1 || fail "$1 does not come to pass"
}
# configure SIZE: two queues; pings with more than SIZE bytes are dropped, connections with EVIL to port 7001 are reset.
configure() {
	cat >"$ETC/t.rules" <<-RULES
		drop icmp any any -> any any (msg:"large"; itype:8; dsize:>$1; sid:1;)
		reject tcp any any -> any 7001 (msg:"reset"; content:"EVIL"; sid:2;)
	RULES
	cat >"$ETC/sluice.yaml" <<-YAML
		rule-files: [t.rules]
		queue: {numbers: 0-1}
		nft: {attach: after, hooks: [input, output, forward]}
	YAML
}
# start_service [SETTING...]: adds the settings to [Service], and starts it; its log is $WORK/log.
start_service() {
	printf '[Service]\nStandardOutput=append:%s/log\nStandardError=append:%s/log\n' $WORK $WORK \
		>/etc/systemd/system/sluice.service.d/test.conf
	printf '%s\n' "$@" >>/etc/systemd/system/sluice.service.d/test.conf
	systemctl daemon-reload
	: >$WORK/log
	systemctl start sluice.service || fail "systemctl start failed"
	is_ready || fail "the service has started but does not answer"
}
is_ready() { [ "$(show ActiveState)" = active ] && sluice status --socket $CONTROL; }
# Adds a client host 10.66.1.2; the machine is 10.66.1.1.
one_client() {
	ip netns add cli
	ip link add g0 type veth peer name c0 netns cli
	ip addr add 10.66.1.1/24 dev g0
	ip link set g0 up
	ip -n cli addr add 10.66.1.2/24 dev c0
	ip -n cli link set lo up
	ip -n cli link set c0 up
}
client() { ip netns exec cli "$@"; }

# pings_begin ... pings_end: sends pings all the time, of which some are answered before anything else is done; none of
# them may be lost.
. /source/tests/netns/continuity_lib.sh
pings_begin() {
	ip netns exec cli ping -i 0.2 10.66.1.1 >$WORK/pings 2>&1 & # not by client(), so that $! is the PID of ping
	PINGS=$!
	wait_text $WORK/pings "icmp_seq=3 "
}
pings_end() {
	wait_text $WORK/pings "icmp_seq=20 "
	wait_for ping_is_current $WORK/pings || fail "no current answers to pings: $(tail -n 1 $WORK/pings)"
	kill -INT $PINGS
	wait $PINGS || true
	equal "lost pings" "$(pings_missing $WORK/pings)" ""
}
