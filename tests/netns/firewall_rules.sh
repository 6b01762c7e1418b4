#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The firewall rules of the guide (docs/guide/firewall-rules.md), with real clients and servers: TLS to named servers,
# DNS to one resolver and HTTP with listed methods pass, and nothing else.
. "$(dirname "$0")/lib.sh"
for tool in curl openssl; do command -v $tool >/dev/null || skip "$tool is not installed"; done
topology
queue_rule --queue-num 0

awk '/^```suricata$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/guide/firewall-rules.md" \
	>"$WORK/gateway.rules"
[ "$(grep -c '^accept:\|^drop:' "$WORK/gateway.rules")" -ge 9 ] || fail "the guide has no rules"
cat >"$WORK/sluice.yaml" <<YAML
vars:
  address-groups: { HOME_NET: 10.66.1.0/24, RESOLVER: 10.66.2.3 }
firewall: { enabled: yes, rule-path: $WORK, rule-files: [gateway.rules] }
YAML

# --- Servers: HTTP on .2 and .4, TLS on .2, DNS on .3 (the resolver) and .4

mkdir "$WORK/www"
echo "a page" >"$WORK/www/index.html"
cat >"$WORK/servers.py" <<'PYTHON'
import http.server, os, socket, sys, threading

class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    do_DELETE = do_OPTIONS = do_POST

def resolver(address):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 53))
    while True:
        query, peer = sock.recvfrom(2048)
        answer = query[:2] + b'\x81\x80\0\1\0\1\0\0\0\0' + query[12:] + b'\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1'
        sock.sendto(answer, peer)

os.chdir(sys.argv[1])
for address in ('10.66.2.3', '10.66.2.4'):
    threading.Thread(target=resolver, args=(address,), daemon=True).start()
http.server.ThreadingHTTPServer(('10.66.2.2', 80), Handler).serve_forever()
PYTHON
cat >"$WORK/resolve.py" <<'PYTHON'
import socket, sys

sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(2)
name = b''.join(bytes([len(label)]) + label.encode() for label in sys.argv[2].split('.')) + b'\0'
sock.sendto(b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + name + b'\0\1\0\1', (sys.argv[1], 53))
sys.exit(0 if sock.recv(2048)[-4:] == b'\xc0\0\2\1' else 1)
PYTHON
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=www.example.org -days 2 -keyout "$WORK/key.pem" \
	-out "$WORK/cert.pem" 2>/dev/null || fail "openssl makes no certificate"
background srv python3 "$WORK/servers.py" "$WORK/www"
background srv openssl s_server -accept 443 -cert "$WORK/cert.pem" -key "$WORK/key.pem" -www

get() { client curl -s -m 3 -o "$WORK/answer" "$@"; }
hello() {
	client timeout 3 openssl s_client -connect 10.66.2.2:443 -servername "$1" </dev/null 2>/dev/null |
		grep -q "^SSL handshake has read [1-9]"
}
resolve() { client python3 "$WORK/resolve.py" "$1" www.example.org 2>/dev/null; }
both() { wait_for server curl -sf -m 1 -o /dev/null http://10.66.2.2/ && wait_for server curl -skf -m 1 -o /dev/null https://10.66.2.2/; }
both || fail "the servers do not start"

gateway "$SLUICE" check --config "$WORK/sluice.yaml" >"$WORK/check.log" 2>&1 || fail "the rules of the guide have mistakes"
start_sluice one --config "$WORK/sluice.yaml" --queue 0 --set eve.types.drop.flows=all

# --- What is accepted

get -f http://10.66.2.2/ || fail "GET does not pass"
get -I -f http://10.66.2.2/ || fail "HEAD does not pass"
get -f -X OPTIONS http://10.66.2.2/ || fail "OPTIONS does not pass"
hello www.example.org || fail "TLS to www.example.org does not pass"
hello a.example.net || fail "TLS to a name below example.net does not pass"
resolve 10.66.2.3 || fail "DNS to the resolver does not pass"
equal "drops" "$(events one event_type=drop)" 0

# --- What is not

if get -X POST -d x=1 http://10.66.2.2/; then fail "POST passes"; fi
if get -X DELETE http://10.66.2.2/; then fail "DELETE passes"; fi
if hello www.example.com; then fail "TLS to another name passes"; fi
if resolve 10.66.2.4; then fail "DNS to another resolver passes"; fi
if get http://10.66.2.2:443/; then fail "HTTP on the port of TLS passes"; fi
if client ping -c1 -W1 -q 10.66.2.2 >/dev/null; then fail "ping passes"; fi
wait_for test "$(events one event_type=drop firewall.hook=http:request_line)" -ge 2 || fail "no drop of a method"
wait_events one 1 event_type=drop firewall.hook=tls:client_hello_done
wait_events one 1 event_type=drop proto=UDP dest_ip=10.66.2.4 firewall.hook=packet:filter
wait_events one 1 event_type=drop proto=ICMP firewall.policy=drop:packet

# The accepted traffic passes as before.
get -f http://10.66.2.2/ || fail "GET does not pass any more"

# Alert-only: the same traffic passes, and is reported.
stop_process "$LAST_PID" || fail "exit code $?"
start_sluice two --config "$WORK/sluice.yaml" --queue 0 --set ips.mode=alert-only
get -f -X POST -d x=1 http://10.66.2.2/ || fail "alert-only drops a POST"
wait_events two 1 event_type=would_drop firewall.hook=http:request_line
stop_process "$LAST_PID" || fail "exit code $?"
