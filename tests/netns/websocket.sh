#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# WebSocket messages of a real client, inline: a message that a drop rule forbids does not reach the server, whether it
# is plain, fragmented or compressed; the others pass.
. "$(dirname "$0")/lib.sh"
python3 -c 'import websockets' 2>/dev/null || skip "python3-websockets is not installed"
topology
queue_rule
cat >"$WORK/t.rules" <<'RULES'
drop websocket any any -> any any (msg:"evil"; flow:to_server; websocket.payload; content:"evil word"; sid:1;)
RULES
background srv python3 "$HERE/websocket.py" serve 8000 "$WORK/received"
wait_for test -e "$WORK/received" || fail "the server does not start"
start_sluice run --queue 0 --rules "$WORK/t.rules" --set 'eve.types=[alert, drop, flow, stats, websocket]'
client timeout 100 python3 "$HERE/websocket.py" send 10.66.2.2 8000 >"$WORK/answers" || fail "the client failed"
stop_process "$LAST_PID" || fail "exit code $?" # writes the events
equal "answers" "$(awk '$2 == "answered" { print $1 }' "$WORK/answers" | paste -sd' ')" "plain compressed fragments"
if grep -q 'evil word' "$WORK/received"; then
	fail "the server received a forbidden message: $(grep -a 'evil word' "$WORK/received")"
fi
equal "messages that the server received" "$(wc -l <"$WORK/received")" 7
equal "dropped messages" "$(events run event_type=alert alert.signature_id=1)" 4
frames=$(events run event_type=websocket websocket.fin=false)
[ "$frames" -ge 4 ] || fail "$frames events of fragments"
