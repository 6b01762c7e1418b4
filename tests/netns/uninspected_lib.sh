# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of packets that pass without entering a queue (fail_open.sh, bypass.sh): a topology, a sink for
# datagrams, and queries to the daemon.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
topology
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
udp_sink 7000 "$WORK/got"
flood() { client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 "$1"; }
arrived() { grep -c number "$WORK/got" || true; }
wait_arrived() { wait_equal "datagrams that arrived" "$1" arrived; } # wait_arrived COUNT
# wait_readings COUNT: until the daemon has read the kernel's counters so many times; it then writes what it has counted
# to a file.
wait_readings() {
	local account before
	account=$(compgen -G '/run/sluice/queues-*-0') || fail "the daemon keeps no account"
	is_newer() { [ "$(stat -c %.Y "$account")" != "$before" ]; }
	for _ in $(seq "$1"); do
		before=$(stat -c %.Y "$account")
		wait_for is_newer || fail "the daemon does not read the kernel's counters"
	done
}
start() { # start NAME ARGS...: with a control socket
	start_sluice "$1" --rules "$WORK/t.rules" --no-console --set queue.length=16 --set unix-command.enabled=yes \
		--set "unix-command.filename=$WORK/socket" "${@:2}"
	DAEMON=$LAST_PID
}
ask() { gateway "$SLUICE" "$@" --socket "$WORK/socket"; }
uninspected() {
	ask status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["uninspected"][sys.argv[1]])' "$1"
}
wait_uninspected() { wait_equal "uninspected.$1" "$2" uninspected "$1"; } # wait_uninspected KIND COUNT
sum() { # sum NAME TYPE FIELD: over all events of the type
	python3 -E -S - "$WORK/$1/eve.json" "$2" "$3" <<'PY'
import json, sys
path, kind, field = sys.argv[1:]
print(sum(event['sluice'][kind].get(field, 0) for event in map(json.loads, open(path)) if event['event_type'] == kind))
PY
}
engine_count() { grep -c "^sluice: ready" "$WORK/$1.log"; }
wait_engines() { # wait_engines NAME COUNT
	wait_equal "$1: engines that became ready" "$2" engine_count "$1"
}
traffic() {
	flood 10
	total=$((total + 10))
	wait_arrived "$total"
}

total=0 # datagrams that are to arrive
