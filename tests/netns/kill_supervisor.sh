#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The supervisor is killed, and somebody like systemd has the sockets: nothing is lost, and nothing passes uninspected.
#   KILLS  how many times (5)
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"
mkdir "$WORK/ips"
ip netns exec "$P-gw" python3 "$HERE/fdstore.py" "$WORK" "${KILLS:-5}" "$SLUICE" run --set run-as.user=root \
	--log-dir "$WORK/ips" --queue 0-1 --rules "$WORK/t.rules" \
	--attach after --set "unix-command.filename=$WORK/control" >"$WORK/ips.log" 2>&1 &
systemd=$!
wait_text "$WORK/ips.log" "^sluice: ready"
traffic_start
for i in $(seq 2 $((${KILLS:-5} + 1))); do wait_more_lines "$WORK/ips.log" "^sluice: ready" "$i"; done # 60 s for each
wait_text "$WORK/said" "^WATCHDOG=1"
equal "starts" "$(grep -c "^sluice: ready" "$WORK/ips.log")" $((${KILLS:-5} + 1))
equal "starts with what was there" "$(grep -c "took over the queues" "$WORK/ips.log")" "${KILLS:-5}"
"$SLUICE" status --socket "$WORK/control" >"$WORK/status" || fail "the control socket does not answer"
equal "process" "$("$SLUICE" status --json --socket "$WORK/control" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["engine_pid"])')" \
	"$(engine_of "$("$SLUICE" status --json --socket "$WORK/control" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')")"
traffic_stop

touch "$WORK/stop"
wait $systemd || fail "exit code $?"
grep -q "^STOPPING=1" "$WORK/said" || fail "systemd hears nothing of the end"
equal "stored" "$(tail -n 1 "$WORK/said")" "STORED sluice-q0 sluice-q1"
grep -q sluice <<<"$(gateway nft list tables)" && fail "the table is still there"
true
