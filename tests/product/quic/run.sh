#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections of aioquic, a QUIC implementation in Python, through a gateway with Sluice: connections to other names pass
# (version 1, version 2, a change of the version, Retry, large hellos, migration), and a drop rule on quic.sni stops the
# ClientHello before it reaches the server.
HERE_PRODUCT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PRODUCT_CACHE:?folder for downloads}
. "$HERE_PRODUCT/../../netns/lib.sh"
command -v openssl >/dev/null || skip "openssl is not installed"
mkdir -p "$cache"
if [ ! -e "$cache/complete" ]; then
	python3 -m venv "$cache/venv" >"$WORK/pip.log" 2>&1 || skip "python3 -m venv does not work (python3-venv)"
	"$cache/venv/bin/pip" install --quiet 'aioquic>=1.2,<2' >"$WORK/pip.log" 2>&1 ||
		skip "aioquic cannot be installed from PyPI: $(tail -n 1 "$WORK/pip.log")"
	touch "$cache/complete"
fi
endpoint=("$cache/venv/bin/python" "$HERE_PRODUCT/endpoint.py")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/key.pem" -out "$WORK/cert.pem" \
	-subj /CN=server.example -days 2 >"$WORK/openssl.log" 2>&1 || fail "no certificate"

topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
drop quic any any -> any any (msg:"blocked name"; quic.sni; content:"blocked.example"; endswith; sid:1;)
alert quic any any -> any any (msg:"good name"; quic.sni; content:"good.example"; endswith; sid:2;)
alert quic any any -> any any (msg:"version 2"; quic.version; content:"|6b 33 43 cf|"; sid:3;)
alert quic any any -> any any (msg:"not decrypted"; app-layer-event:quic.failed_decrypt; sid:4;)
alert quic any any -> any any (msg:"invalid data"; app-layer-event:quic.error_on_data; sid:5;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules" --set ips.mode=drop
ips=$LAST_PID

# connect NAME OPTIONS...: fails if the client gets no answer.
connect() { client "${endpoint[@]}" client "$@" >>"$WORK/client.log" 2>&1; }
# start_server OPTIONS...: a new server; SERVER_PID.
start_server() {
	: >"$WORK/server"
	background srv "${endpoint[@]}" server "$WORK/cert.pem" "$WORK/key.pem" "$WORK/server" "$@"
	SERVER_PID=$LAST_PID
	wait_text "$WORK/server" ready
}

start_server
connect one.good.example || fail "version 1: no answer"
connect two.good.example --versions 6b3343cf || fail "version 2: no answer"
connect three.good.example --versions 1,6b3343cf || fail "two versions: no answer"
connect four.good.example --large || fail "a large hello: no answer"
connect five.good.example --migrate || fail "migration: no answer"
for name in one two three four five; do
	grep -q "^hello $name.good.example" "$WORK/server" || fail "no hello of $name reached the server"
	wait_events ips 1 event_type=alert alert.signature_id=2 "quic.sni=$name.good.example"
done
wait_events ips 1 event_type=quic quic.version=6b3343cf quic.sni=two.good.example
grep -q "^message to five.good.example 1" "$WORK/server" || fail "no message after the migration"

! connect one.blocked.example || fail "the blocked name was answered"
! connect two.blocked.example --large || fail "the blocked name in a large hello was answered"
! connect three.blocked.example --versions 6b3343cf || fail "the blocked name in version 2 was answered"
! grep -q blocked.example "$WORK/server" || fail "a blocked hello reached the server: $(cat "$WORK/server")"
for name in one two three; do
	wait_events ips 1 event_type=alert alert.signature_id=1 alert.action=blocked "quic.sni=$name.blocked.example"
done
stop_process "$SERVER_PID" || true

start_server --retry
connect six.good.example || fail "Retry: no answer"
! connect four.blocked.example || fail "the blocked name after a Retry was answered"
! grep -q blocked.example "$WORK/server" || fail "a blocked hello reached the server after a Retry"
wait_events ips 2 event_type=alert alert.signature_id=2 quic.sni=six.good.example # the hellos before and after Retry
equal "packets that were not decrypted" "$(events ips event_type=alert alert.signature_id=4)" 0
equal "packets with invalid data" "$(events ips event_type=alert alert.signature_id=5)" 0
stop_process "$ips" || fail "exit code $? at a clean stop"
