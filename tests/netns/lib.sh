# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of this folder: a client, a gateway and a server in network namespaces of their own.
#
#   client 10.66.1.2, fd66:1::2  --  gateway  --  server 10.66.2.2 .. .9, fd66:2::2 .. ::9
#
# Needs root and SLUICE, the program to test. Everything is gone when the script ends, also by a signal. Exit code 77:
# skipped.
set -euo pipefail

: "${SLUICE:?path of the program}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/wait_lib.sh"
SOURCE=$(cd "$HERE/../.." && pwd)
TEST=$(basename "$0" .sh)
P="sl$$"
WORK=$(mktemp -d)
# With this variable, print() writes a text and its newline separately, and the lines of two processes get mixed.
unset PYTHONUNBUFFERED

skip() {
	echo "SKIP: $*"
	exit 77
}

fail() {
	echo "FAILED: $*" >&2
	for log in "$WORK"/*.log; do
		[ -s "$log" ] && { echo "--- $(basename "$log")"; tail -n 30 "$log"; } >&2
	done
	exit 1
}

[ "$(id -u)" = 0 ] || skip "needs root"
for tool in ip iptables nft python3 unshare; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done

# The script runs again with an empty /run of its own. Tests that run at the same time then share no control socket, no
# names of network namespaces (/run/netns) and no lock of the legacy iptables (/run/xtables.lock).
if [ -z "${PRIVATE_RUN:-}" ]; then
	rm -rf "$WORK"
	PRIVATE_RUN=yes exec unshare --mount bash -c 'mount -t tmpfs run /run && exec bash "$0" "$@"' "$0" "$@"
fi

# In an EXIT trap, too, the shell would stop at the first command that fails. Only jobs that are still there are ended:
# the number of one that has gone may be somebody else's by now.
cleanup() {
	local pid pids host
	set +e
	trap '' INT TERM HUP
	pids=$(jobs -rp; jobs -sp)
	for pid in $pids; do kill "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null; done
	for pid in $pids; do
		for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
		kill -9 "$pid" 2>/dev/null
	done
	for host in cli gw srv; do ip netns del "$P-$host" 2>/dev/null; done
	rm -rf "$WORK"
}
trap cleanup EXIT
trap 'echo "ended by a signal" >&2; exit 1' INT TERM HUP

client() { ip netns exec "$P-cli" "$@"; }
gateway() { ip netns exec "$P-gw" "$@"; }
server() { ip netns exec "$P-srv" "$@"; }

# Few processes, because an emulated machine takes long to start one.
topology() {
	local host i
	for host in cli gw srv; do ip netns add "$P-$host"; done
	ip link add c0 netns "$P-cli" type veth peer name g0 netns "$P-gw"
	ip link add s0 netns "$P-srv" type veth peer name g1 netns "$P-gw"
	client sysctl -qw net.ipv6.conf.c0.{accept_dad,dad_transmits}=0
	server sysctl -qw net.ipv6.conf.s0.{accept_dad,dad_transmits}=0
	gateway sysctl -qw net.ipv6.conf.{g0,g1}.{accept_dad,dad_transmits}=0 net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0
	ip -n "$P-cli" -batch - <<-IP
		link set lo up
		link set c0 up
		addr add 10.66.1.2/24 dev c0
		addr add fd66:1::2/64 dev c0 nodad
		route add default via 10.66.1.1
		route add ::/0 via fd66:1::1
	IP
	ip -n "$P-gw" -batch - <<-IP
		link set lo up
		link set g0 up
		link set g1 up
		addr add 10.66.1.1/24 dev g0
		addr add fd66:1::1/64 dev g0 nodad
		addr add 10.66.2.1/24 dev g1
		addr add fd66:2::1/64 dev g1 nodad
	IP
	{
		echo "link set lo up"
		echo "link set s0 up"
		for i in 2 3 4 5 6 7 8 9; do
			echo "addr add 10.66.2.$i/24 dev s0"
			echo "addr add fd66:2::$i/64 dev s0 nodad"
		done
		echo "route add default via 10.66.2.1"
		echo "route add ::/0 via fd66:2::1"
	} | ip -n "$P-srv" -batch -
	client ping -c1 -W2 -q 10.66.2.2 >/dev/null || fail "the topology does not forward"
	client ping -6 -c1 -W2 -q fd66:2::2 >/dev/null || fail "the topology does not forward IPv6"
}

# queue_rule [ARGS of -j NFQUEUE]: all forwarded packets, both families, in mangle FORWARD.
queue_rule() {
	gateway iptables -t mangle -A FORWARD -j NFQUEUE "$@"
	gateway ip6tables -t mangle -A FORWARD -j NFQUEUE "$@"
}

# start_sluice NAME ARGS...: `sluice run` in the gateway, as root, to whom the folder belongs (sandbox.sh tries the user
# sluice); log in $WORK/NAME.log, events in $WORK/NAME/eve.json, control socket $WORK/NAME.control. Sets LAST_PID.
# READY_SECONDS: how long it may take (60).
start_sluice() {
	local name=$1 said end=$((SECONDS + ${READY_SECONDS:-60}))
	shift
	mkdir -p "$WORK/$name"
	: >"$WORK/$name.log"
	# Not by gateway(): the process id would be that of a shell in between.
	ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --set "unix-command.filename=$WORK/$name.control" \
		--set "nft.blocklist.folder=$WORK/$name.blocklist" --log-dir "$WORK/$name" "$@" \
		>"$WORK/$name.log" 2>&1 &
	LAST_PID=$!
	while [ $SECONDS -lt $end ]; do
		read -r -d '' said <"$WORK/$name.log" || true
		[[ $said != *"sluice: ready"* ]] || return 0
		kill -0 "$LAST_PID" 2>/dev/null || fail "$name did not start"
		pause 2
	done
	fail "$name is not ready after ${READY_SECONDS:-60} s"
}

# stop_process PID: SIGTERM, and its exit code.
stop_process() {
	kill "$1"
	wait "$1"
}

# engine_of PID: the engine that `sluice run` (the supervisor) has now; empty when it has none.
engine_of() {
	local children=
	# A line without an end: read gives it, and fails.
	{ read -r children <"/proc/$1/task/$1/children"; } 2>/dev/null || true
	[ -n "$children" ] || children=$(pgrep -P "$1" 2>/dev/null | tr '\n' ' ') || true
	echo "${children%% *}"
}

# has_engine PID [BEFORE]: whether it has an engine that is not BEFORE.
has_engine() {
	local engine
	engine=$(engine_of "$1")
	[ -n "$engine" ] && [ "$engine" != "${2:-}" ]
}

# next_engine PID [BEFORE]: its engine, waited for, that is not BEFORE; empty when there is none after a minute. Shorter
# pauses than those of wait_for: the caller acts on an engine that has just started.
next_engine() {
	local engine end=$((SECONDS + 60))
	while [ $SECONDS -lt $end ]; do
		engine=$(engine_of "$1")
		[ -n "$engine" ] && [ "$engine" != "${2:-}" ] && break
		engine=
		sleep 0.01
	done
	echo "$engine"
}

# freeze PID, thaw PID: what looks at packets stands still, and goes on.
freeze() {
	local engine
	engine=$(engine_of "$1")
	kill -STOP "$engine"
	wait_for is_stopped "$engine" || fail "process $engine does not stop"
}
is_stopped() { # each thread stops when it is scheduled next
	! grep -hE '^State:' /proc/"$1"/task/*/status | grep -qv stopped
}
thaw() { kill -CONT "$(engine_of "$1")"; }

# kill_process PID: SIGKILL; an engine that it leaves ends by itself.
kill_process() {
	local engine
	engine=$(engine_of "$1")
	kill -9 "$1"
	wait "$1" 2>/dev/null || true
	[ -z "$engine" ] || wait_for has_ended "$engine" || fail "the engine $engine lives on without its supervisor"
}
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# wait_running PID COMMAND...: until the command succeeds; it fails when the process ends before.
wait_running() { wait_for has_ended_or "$@" && "${@:2}"; }
has_ended_or() { has_ended "$1" || "${@:2}"; }

# background cli|gw|srv COMMAND...: on that host, in the background until the test ends.
background() {
	ip netns exec "$P-$1" "${@:2}" >>"$WORK/background.log" 2>&1 &
	LAST_PID=$!
}

# udp_sink PORT FILE: on the server; writes a line for each datagram. Returns when it listens.
udp_sink() {
	background srv python3 "$HERE/traffic.py" udp-sink "$1" "$2"
	wait_for test -s "$2" || fail "nothing listens on port $1"
}

# udp_send cli|gw|srv ADDRESS PORT TEXT...: from that host, all of one socket, a datagram a text. Not by Python, which
# takes long to start under emulation. What an ICMP error before has told is no failure.
udp_send() {
	ip netns exec "$P-$1" bash -c '
		exec 3<>"/dev/udp/$0/$1" || exit
		for text in "${@:2}"; do printf %s "$text" 2>/dev/null >&3 || printf %s "$text" >&3 || exit; done' "${@:2}"
}

# eve COMMAND ARGS...: without what the machine adds to Python, which takes half of its start.
eve() { python3 -E -S "$HERE/eve.py" "$@"; }

# events NAME KEY=VALUE...: how many events of $WORK/NAME/eve.json have all these values (dots walk objects).
events() {
	eve count "$WORK/$1/eve.json" "${@:2}"
}

# last_stats NAME PATH...: values of the last stats event. Values that are compared are read together: the next event
# may come any time.
last_stats() {
	local name=$1
	shift
	eve stats "$WORK/$name/eve.json" "$@"
}

# ask_stats NAME PID: until the daemon PID, asked for it, has written another statistics event.
ask_stats() {
	local had
	had=$(events "$1" event_type=stats)
	kill -USR1 "$2"
	[ "$(eve wait "$WORK/$1/eve.json" $((had + 1)) event_type=stats)" -gt "$had" ] || fail "$1: no statistics event"
}

# wait_stats NAME PID PATH WANTED: until a statistics event has this number; asks for such events.
wait_stats() { wait_equal "$3" "$4" new_stats "$1" "$2" "$3"; }
new_stats() { # new_stats NAME PID PATH
	ask_stats "$1" "$2"
	last_stats "$1" "$3"
}

# wait_monitor NAME: until the daemon NAME has handled all changes of the ruleset that were made before the call. It
# counts the notifications that it has read before it handles them. Of three changes, each made when the one before has
# been counted, the first may be counted by a read that began before the call; the second is not, and when the third is
# counted, the second has been handled.
wait_monitor() {
	local had
	for _ in 1 2 3; do
		had=$(ruleset_changes "$1")
		gateway nft 'add table inet marker; delete table inet marker'
		wait_least "$1: changes of the ruleset" $((had + 1)) ruleset_changes "$1"
	done
}
ruleset_changes() { "$SLUICE" stats --all firewall.changes --socket "$WORK/$1.control" | awk '{ print $2 }'; }

# wait_events NAME WANTED KEY=VALUE...: until there are that many, at most 60 s.
wait_events() {
	local name=$1 wanted=$2 got
	shift 2
	got=$(eve wait "$WORK/$name/eve.json" "$wanted" "$@")
	[ "$got" = "$wanted" ] || fail "$name: expected $wanted events with $*, got $got"
}

# kernel_queue N FIELD: from the gateway's /proc/net/netfilter/nfnetlink_queue; waiting, copy_mode (2: whole packets),
# queue_dropped, user_dropped, sequence. Prints nothing for a queue without a listener.
kernel_queue() {
	local field
	case $2 in waiting) field=3 ;; copy_mode) field=4 ;; queue_dropped) field=6 ;; user_dropped) field=7 ;; sequence) \
		field=8 ;; esac
	gateway awk -v q="$1" -v f="$field" '$1 == q { print $f }' /proc/net/netfilter/nfnetlink_queue
}

# waiting: packets in the queues 0 and 1.
waiting() { echo $(($(kernel_queue 0 waiting) + $(kernel_queue 1 waiting))); }

# flushed_counted NAME: whether the monitor of the daemon, with the queues 0 and 1, has counted all packets whose
# verdicts the kernel refused.
flushed_counted() {
	"$SLUICE" stats --all firewall.flushed queue.0.verdict_lost queue.1.verdict_lost --socket "$WORK/$1.control" |
		awk '{ n[NR] = $2 } END { exit NR != 3 || n[1] != n[2] + n[3] }'
}

equal() { # equal WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}
