#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests that servers read in different ways, inline: what a rule forbids in one of the readings does not reach the
# server; the others pass. With the policy `drop` none of them reaches it.
. "$(dirname "$0")/lib.sh"
topology
queue_rule
cat >"$WORK/t.rules" <<'RULES'
drop http any any -> any any (msg:"evil"; flow:to_server; http.uri; content:"/evil"; sid:1;)
RULES
background srv python3 "$HERE/http_requests.py" serve 8000 "$WORK/received"
wait_for test -e "$WORK/received" || fail "the server does not start"

# answered NAME SETTING...: the cases that are answered.
answered() {
	local name=$1
	shift
	start_sluice "$name" --queue 0 --rules "$WORK/t.rules" "$@"
	client timeout 100 python3 "$HERE/http_requests.py" send 10.66.2.2 8000 >"$WORK/$name.answers" ||
		fail "$name: the client failed"
	stop_process "$LAST_PID" || fail "exit code $?" # writes the events
	awk '$2 == "answered" { print $1 }' "$WORK/$name.answers" | paste -sd' '
}

equal "inspect" "$(answered inspect)" "clear-length clear-chunks harmless-both"
equal "drop" "$(answered drop --set app-layer.protocols.http.ambiguous-request-policy=drop)" "clear-length clear-chunks"
dropped=$(events drop event_type=drop "drop.reason=applayer ambiguous")
[ "$dropped" -ge 6 ] || fail "$dropped events for 6 dropped connections"
if grep -q evil "$WORK/received"; then
	fail "the server received a forbidden request: $(strings "$WORK/received" | grep evil)"
fi
