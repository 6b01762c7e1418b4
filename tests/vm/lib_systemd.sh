# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what systemd runs inside the machine: the service as it is installed, and its configuration in $ETC.
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
equal() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; }
field() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"; }
show() { systemctl show -P "$1" sluice.service; }
engine() { # of the supervisor: its only child
	local supervisor
	supervisor=$(show MainPID)
	awk '{ print $1 }' "/proc/$supervisor/task/$supervisor/children"
}
wait_for() { # wait_for WHAT COMMAND...
	local what=$1
	shift
	for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
	fail "$what does not come to pass"
}
# configure SIZE: pings larger than that are dropped, EVIL to port 7001 is reset; two queues.
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
# start_service [SETTING...]: with these in [Service], and its log in $WORK/log.
start_service() {
	printf '[Service]\nStandardOutput=append:%s/log\nStandardError=append:%s/log\n' $WORK $WORK >/etc/systemd/system/sluice.service.d/test.conf
	printf '%s\n' "$@" >>/etc/systemd/system/sluice.service.d/test.conf
	systemctl daemon-reload
	: >$WORK/log
	systemctl start sluice.service || fail "no start"
	is_ready || fail "started, and does not answer"
}
is_ready() { [ "$(show ActiveState)" = active ] && sluice status --socket $CONTROL; }
# A host beside the machine: 10.66.1.2, to its 10.66.1.1.
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

# pings_begin ... pings_end: sends pings all the time; none of them may be lost.
. /source/tests/netns/continuity_lib.sh
pings_begin() {
	ip netns exec cli ping -i 0.2 10.66.1.1 >$WORK/pings 2>&1 & # its own process, for the signal
	PINGS=$!
}
pings_end() {
	for _ in $(seq 50); do ping_is_current $WORK/pings && break; done
	kill -INT $PINGS
	wait $PINGS || true
	equal "lost pings" "$(pings_missing $WORK/pings)" ""
	grep -q "icmp_seq=20 " $WORK/pings || fail "hardly any ping"
}
