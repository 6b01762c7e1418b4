#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# HTTP/2 without TLS, inline, with curl and nghttpd: by connection preface and by upgrade from HTTP/1.1. Ordinary traffic
# passes; a request that a drop rule matches does not reach the server.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null || skip "curl is not installed"
command -v nghttpd >/dev/null || skip "nghttpd is not installed (package nghttp2-server)"
command -v nghttpx >/dev/null || skip "nghttpx is not installed (package nghttp2-proxy)"
curl --version | grep -q HTTP2 || skip "curl has no HTTP/2"
topology
queue_rule
mkdir "$WORK/www"
echo good >"$WORK/www/good"
echo evil >"$WORK/www/evil"
head -c 2000000 /dev/urandom | base64 >"$WORK/www/large"
cat >"$WORK/t.rules" <<'RULES'
drop http any any -> any any (msg:"path"; http.uri; content:"/evil"; sid:1;)
drop http2 any any -> any any (msg:"header"; flow:to_server; http.request_header; content:"x-bad: yes"; sid:2;)
drop http any any -> any any (msg:"body"; http.request_body; content:"forbidden"; sid:3;)
alert http2 any any -> any any (msg:"anomaly"; app-layer-event:http2.invalid_frame_header; sid:4;)
RULES
# nghttpd serves the files; nghttpx in front of it also accepts upgrades.
background srv stdbuf -oL nghttpd --no-tls --verbose --htdocs="$WORK/www" 8001
background srv nghttpx --no-ocsp --workers=1 "--frontend=*,8000;no-tls" "--backend=127.0.0.1,8001;;proto=h2;no-tls"
for port in 8001 8000; do
	wait_for server bash -c ": </dev/tcp/127.0.0.1/$port" 2>/dev/null || fail "the server does not start"
done
start_sluice gw --queue 0 --rules "$WORK/t.rules" --set app-layer.error-policy=drop-flow
sluice_pid=$LAST_PID

# get MODE PATH [ARGS of curl]: the body; its status, version and errors are in $WORK/status.
get() {
	local mode=$1 path=$2
	shift 2
	client curl -sS "$mode" --max-time 5 -o "$WORK/body" -w '%{http_code} %{http_version}' "$@" \
		"http://10.66.2.2:8000$path" >"$WORK/status" 2>&1 || return
	cat "$WORK/body"
}

for mode in --http2-prior-knowledge --http2; do
	equal "$mode" "$(get $mode /good)" good
	equal "$mode: status" "$(cat "$WORK/status")" "200 2"
	# An upgrade needs a small response first, because curl 7.88 fails when much data follows the answer to the upgrade;
	# by prior knowledge it can send only one request.
	urls=(-o "$WORK/copy" http://10.66.2.2:8000/large)
	[ $mode != --http2 ] || urls=(-o "$WORK/first" http://10.66.2.2:8000/good "${urls[@]}")
	client curl -sS $mode --max-time 20 "${urls[@]}" >"$WORK/status" 2>&1 ||
		fail "$mode: large: $(cat "$WORK/status")"
	cmp "$WORK/copy" "$WORK/www/large" || fail "$mode: the file was changed"
	if get $mode /evil; then fail "$mode: the forbidden path was answered"; fi
done
equal "an upload" "$(get --http2-prior-knowledge /good --data-binary "@$WORK/www/large")" good
# Forty requests on one connection, and side by side. (curl 7.88 cannot do this by prior knowledge.)
for way in --no-progress-meter --parallel; do
	client curl -sS --http2 $way --max-time 20 "http://10.66.2.2:8000/good?[1-40]" >"$WORK/many" 2>&1 ||
		fail "$way: $(cat "$WORK/many")"
	equal "$way" "$(grep -o good "$WORK/many" | wc -l)" 40
done
if get --http2-prior-knowledge /good?header -H 'X-Bad: yes'; then fail "the forbidden header was answered"; fi
if get --http2-prior-knowledge /good?body -d 'x=forbidden'; then fail "the forbidden body was answered"; fi

stop_process "$sluice_pid" || fail "exit code $?" # writes the events
for word in evil x-bad; do
	if grep -q "$word" "$WORK/background.log"; then fail "the server received '$word'"; fi
done
equal "anomalies" "$(events gw event_type=anomaly)" 0
equal "drops by the path" "$(events gw event_type=alert alert.signature_id=1)" 2
equal "drops by the header" "$(events gw event_type=alert alert.signature_id=2)" 1
equal "drops by the body" "$(events gw event_type=alert alert.signature_id=3)" 1
[ "$(events gw event_type=http http.version=2 http.status=200)" -ge 45 ] || fail "too few http events"
