#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Super-packets up to 64 kB come unsegmented, are inspected to their last byte, and every byte arrives.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
alert tcp any any -> any 7001 (msg:"large"; dsize:>20000; sid:1; threshold:type limit, track by_rule, count 1, seconds 60;)
drop tcp any any -> any 7001 (msg:"word at the end"; content:"THE-END-IS-EVIL"; sid:2;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
equal "bytes back" "$(client python3 "$HERE/traffic.py" tcp-bulk 10.66.2.2 7001 20000000)" 20000000
equal "IPv6 bytes back" "$(client python3 "$HERE/traffic.py" tcp-bulk fd66:2::2 7001 5000000)" 5000000
wait_events ips 1 event_type=alert alert.signature_id=1
answer=$(client python3 - <<'PY'
import socket
s = socket.create_connection(('10.66.2.2', 7001), timeout=3)
s.settimeout(2)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
s.sendall(b'warm up')
s.recv(100)
s.sendall(b'y' * 12000 + b'THE-END-IS-EVIL')
got = b''
try:
    while data := s.recv(65536):
        got += data
except socket.timeout:
    pass
print('whole' if got.endswith(b'EVIL') else 'cut')
PY
)
equal "text with the bad end" "$answer" cut
ask_stats ips "$ips"
[ "$(last_stats ips queue.0.gso)" -gt 0 ] || fail "no super-packet was seen"
equal "truncated" "$(last_stats ips queue.0.truncated)" 0
stop_process "$ips" || fail "exit code $?"
