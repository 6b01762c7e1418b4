# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of packets that pass without entering a queue (fail_open.sh, bypass.sh): a topology, a sink for datagrams, and queries to
# the daemon.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
topology
echo 'alert udp any any -> any 9 (msg:"never"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
for _ in $(seq 100); do [ -s "$WORK/got" ] && break; sleep 0.05; done
flood() { client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 "$1"; }
arrived() { grep -c number "$WORK/got" || true; }
wait_arrived() { # wait_arrived COUNT
	for _ in $(seq 100); do [ "$(arrived)" = "$1" ] && return; sleep 0.05; done
	fail "arrived: $(arrived) of $1"
}
start() { # start NAME ARGS...: with a control socket
	start_sluice "$1" --rules "$WORK/t.rules" --no-console --set queue.length=16 --set unix-command.enabled=yes \
		--set "unix-command.filename=$WORK/socket" "${@:2}"
	DAEMON=$LAST_PID
}
ask() { gateway "$SLUICE" "$@" --socket "$WORK/socket"; }
uninspected() { ask status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["uninspected"][sys.argv[1]])' "$1"; }
wait_uninspected() { # wait_uninspected KIND COUNT
	for _ in $(seq 50); do [ "$(uninspected "$1")" = "$2" ] && return; sleep 0.1; done
	fail "uninspected.$1: got $(uninspected "$1"), wanted $2"
}
sum() { # sum NAME TYPE FIELD: over all events of the type
	python3 -E -S - "$WORK/$1/eve.json" "$2" "$3" <<'PY'
import json, sys
path, kind, field = sys.argv[1:]
print(sum(event[kind].get(field, 0) for event in map(json.loads, open(path)) if event['event_type'] == kind))
PY
}
engine_count() { grep -c "^sluice: ready" "$WORK/$1.log"; }
wait_engines() { # wait_engines NAME COUNT
	for _ in $(seq 200); do [ "$(engine_count "$1")" -ge "$2" ] && return; sleep 0.05; done
	fail "$1: engine number $2 is not ready"
}
traffic() {
	flood 10
	total=$((total + 10))
	wait_arrived "$total"
}

total=0 # datagrams that are to arrive
