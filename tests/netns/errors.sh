#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What can go wrong at the start: one clear line, exit code 1 or 2, and the firewall as it was.
. "$(dirname "$0")/lib.sh"
topology
gateway iptables -A FORWARD -p udp --dport 1 -j DROP
gateway nft list ruleset >"$WORK/before" 2>/dev/null
: >"$WORK/empty.rules"

# wrong NAME CODE PATTERN ARGS...
wrong() {
	local name=$1 code=$2 pattern=$3 got=0
	shift 3
	timeout 20 ip netns exec "$P-gw" "${WRAP[@]}" "$SLUICE" "$@" >"$WORK/out" 2>&1 || got=$?
	[ "$got" = "$code" ] || fail "$name: exit code $got instead of $code: $(cat "$WORK/out")"
	grep -qE "$pattern" "$WORK/out" || fail "$name: does not say /$pattern/: $(cat "$WORK/out")"
	gateway nft list ruleset >"$WORK/after" 2>/dev/null
	cmp -s "$WORK/before" "$WORK/after" || fail "$name: the firewall was changed"
}
WRAP=()
start_sluice holder --queue 5 --rules "$WORK/empty.rules"
wrong "queue taken" 1 "queue 5.*(taken|in use|busy|owned|bound)" run --queue 5 --rules "$WORK/empty.rules" \
	--log-dir "$WORK" --attach after
wrong "queue taken says by whom" 1 "$LAST_PID" run --queue 5 --rules "$WORK/empty.rules" --log-dir "$WORK"
stop_process "$LAST_PID" || fail "exit code $?"
wrong "unknown option" 2 "queu" run --queu 5
wrong "unknown mode" 2 "after" run --queue 0 --rules "$WORK/empty.rules" --attach sideways
wrong "no such rule file" 1 "nothing.rules.*No such file" run --queue 0 --rules "$WORK/nothing.rules" --log-dir "$WORK"
wrong "no such configuration" 1 "nothing.yaml" run --config "$WORK/nothing.yaml"
echo 'queue: {numbers: "70000"}' >"$WORK/bad.yaml"
wrong "bad configuration" 1 "bad.yaml:1:" run --config "$WORK/bad.yaml"
wrong "no log folder" 1 "cannot write events to $WORK/empty.rules/log/eve.json: Not a directory" run --queue 0 \
	--rules "$WORK/empty.rules" --log-dir "$WORK/empty.rules/log"
wrong "repeat without mark" 1 "mark" run --queue 0 --rules "$WORK/empty.rules" --log-dir "$WORK" --verdict repeat
if command -v setpriv >/dev/null; then
	WRAP=(setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --reuid 65534 --clear-groups)
	chmod 755 "$WORK"; chmod 644 "$WORK"/*.rules
	mkdir -p "$WORK/nobody"; chmod 777 "$WORK/nobody"
	wrong "no capability" 1 "CAP_NET_ADMIN" run --queue 0 --rules "$WORK/empty.rules" --log-dir "$WORK/nobody"
fi
