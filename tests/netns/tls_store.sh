#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Certificate chains of a server behind the gateway, stored by a confined engine in a folder of their own: the stored
# chain is what the server sent.
. "$(dirname "$0")/lib.sh"
command -v openssl >/dev/null || skip "openssl is not installed"
topology
queue_rule --queue-num 0

echo 'alert tls any any -> any any (msg:"stored"; tls.cert_subject; content:"server.example"; tls.store; sid:1;)' \
	>"$WORK/t.rules"
certificate() { # certificate NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$WORK/$1.key" -out "$WORK/$1.pem" \
		-subj "/CN=$1.example" -days 2 2>/dev/null
}
certificate server
certificate other
cat "$WORK/server.pem" "$WORK/other.pem" >"$WORK/chain.pem"
background srv openssl s_server -accept 4433 -cert "$WORK/server.pem" -key "$WORK/server.key" \
	-cert_chain "$WORK/other.pem" -tls1_2 -quiet
background srv openssl s_server -accept 4434 -cert "$WORK/other.pem" -key "$WORK/other.key" -tls1_2 -quiet
start_sluice ips --rules "$WORK/t.rules" --no-console --set tls-store.enabled=yes \
	--set tls-store.certs-log-dir="$WORK/elsewhere"
SLUICE_PID=$LAST_PID

shake_hands() { client openssl s_client -connect "10.66.2.2:$1" -tls1_2 </dev/null >"$WORK/answer" 2>&1; }
wait_for shake_hands 4433 || fail "no TLS connection: $(tail -n 3 "$WORK/answer")"
wait_for shake_hands 4434 || fail "no TLS connection to the other server"
stored() { find "$WORK/elsewhere" -name '*.pem'; }
is_stored() { [ -n "$(stored)" ]; }
wait_for is_stored || fail "nothing is stored"
for file in $(stored); do
	equal "chain in $file" "$(cat "$file")" "$(cat "$WORK/chain.pem")"
	grep -q "TLS SUBJECT: .*CN=server.example" "${file%pem}meta" || fail "subject in the .meta file"
	grep -q "DST PORT: .*4433" "${file%pem}meta" || fail "port in the .meta file"
done
wait_stats ips "$SLUICE_PID" tls_store.written "$(stored | wc -l)"
equal "errors" "$(last_stats ips tls_store.errors)" 0
stop_process "$SLUICE_PID" || fail "exit code $?"
