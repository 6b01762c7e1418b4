#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice metrics`: both formats, the values, and scrapes while the daemon is upgraded, hung, or down, and while other
# clients are slow. What it refuses is told, and changes nothing.
. "$(dirname "$0")/lib.sh"
for tool in curl promtool; do command -v $tool >/dev/null || skip "$tool is not installed"; done
python3 -c 'import prometheus_client' 2>/dev/null || skip "python3-prometheus-client is not installed"
HTTP=$(dirname "$SLUICE")/sluice-metrics-http
[ -x "$HTTP" ] || skip "$HTTP is not built"
topology
queue_rule --queue-balance 0:1
cat >"$WORK/t.rules" <<'RULES'
alert icmp any any -> any any (msg:"ping"; itype:8; sid:1;)
drop udp any any -> any 7001 (msg:"udp"; sid:2;)
RULES
mkdir "$WORK/bin"
cp "$SLUICE" "$HTTP" "$WORK/bin"
SLUICE=$WORK/bin/sluice
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console --set engine.hang-timeout=0
supervisor=$LAST_PID
ask() { gateway "$SLUICE" "$@" --socket "$WORK/ips.control"; }

# start_metrics ARGS...: in the gateway; returns when it listens. Sets METRICS.
start_metrics() {
	: >"$WORK/metrics.log" # the shell in the background would empty it only after wait_running has read it
	# Not by gateway(): the process id would be that of a shell in between. Descriptor 9 must not reach the HTTP process.
	ip netns exec "$P-gw" "$SLUICE" metrics --socket "$WORK/ips.control" "$@" >"$WORK/metrics.log" 2>&1 9</dev/null &
	METRICS=$!
	wait_running "$METRICS" grep -qs "listening on" "$WORK/metrics.log" || fail "sluice metrics did not start"
}
get() { gateway curl -sS --max-time 20 -o "$1" -w '%{http_code} %{content_type}' "${@:2}" http://127.0.0.1:9931/metrics; }
value() { python3 -E -S "$HERE/metrics.py" value "$@"; }
# A text is used again for a second: a scrape of a later state.
scrape() { sleep 1.1; [ "$(get "$1")" = "$TEXT" ] || fail "scrape: $(cat "$1")"; }
# new_value SAMPLE: its value in a scrape made now.
new_value() { scrape "$WORK/new" && value "$WORK/new" "$1"; }
TEXT="200 text/plain; version=0.0.4; charset=utf-8"

# What cannot be done is told in one line, and nothing is served.
refuse() { # refuse CODE PATTERN ARGS...
	local code=0 wanted=$1 pattern=$2
	shift 2
	gateway timeout 20 "$SLUICE" metrics --socket "$WORK/ips.control" "$@" >"$WORK/said" 2>&1 || code=$?
	equal "exit code of metrics $*" "$code" "$wanted"
	grep -q -e "$pattern" "$WORK/said" || fail "metrics $*: $(cat "$WORK/said")"
}
refuse 1 "other hosts can reach 0.0.0.0:9931.*metrics.allow-remote" --listen 0.0.0.0:9931
refuse 2 "an IP address with a port" --listen localhost:9931
refuse 1 "cannot listen: No such file or directory" --listen "$WORK/missing/socket"
refuse 1 "the group 'nonesuch' does not exist" --listen "$WORK/http" --set metrics.group=nonesuch
[ ! -e "$WORK/http" ] || fail "a socket was made"
refuse 2 "1 to 64" --set metrics.clients=0
refuse 2 "needs --once" --openmetrics
refuse 2 "unexpected argument" now

# Both formats, and the values.
start_metrics
refuse 1 "127.0.0.1:9931: cannot listen: Address already in use"
client ping -c 5 -i 0.05 -q 10.66.2.2 >/dev/null
udp_send cli 10.66.2.2 7001 a b c
equal "text format" "$(get "$WORK/text")" "$TEXT"
equal "OpenMetrics" "$(get "$WORK/open" -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5')" \
	"200 application/openmetrics-text; version=1.0.0; charset=utf-8"
promtool check metrics <"$WORK/text" >"$WORK/said" 2>&1 || fail "promtool: $(cat "$WORK/said")"
python3 "$HERE/metrics.py" same "$WORK/text" "$WORK/open"
scrape "$WORK/text"
ask stats --all --json >"$WORK/stats"
python3 -E -S "$HERE/metrics.py" equal "$WORK/stats" "$WORK/text"
equal "up" "$(value "$WORK/text" sluice_up)" 1
equal "alerts of pings and of the first datagram" "$(value "$WORK/text" sluice_alerts_total)" 6
equal "datagrams" "$(value "$WORK/text" 'sluice_verdict_packets_total{verdict="blocked"}')" 3
equal "dropped by the rule" "$(value "$WORK/text" 'sluice_dropped_packets_total{reason="rules"}')" 1
equal "dropped with the flow" "$(value "$WORK/text" 'sluice_dropped_packets_total{reason="flow_drop"}')" 2
equal "packets of both queues" "$(awk '/^sluice_queue_received_packets_total/ { n += $2 } END { print n }' "$WORK/text")" \
	"$(value "$WORK/text" sluice_received_packets_total)"
gateway "$SLUICE" metrics --once --socket "$WORK/ips.control" >"$WORK/once" || fail "--once: exit code $?"
promtool check metrics <"$WORK/once" >"$WORK/said" 2>&1 || fail "promtool: $(cat "$WORK/said")"
equal "alerts, printed" "$(value "$WORK/once" sluice_alerts_total)" 6
equal "other paths" "$(gateway curl -s -o "$WORK/said" -w '%{http_code}' http://127.0.0.1:9931/other)" 404
equal "other methods" "$(gateway curl -s -o "$WORK/said" -w '%{http_code}' -d x http://127.0.0.1:9931/metrics)" 405

# The process that reads what clients send has nothing left.
http=$(pgrep -P "$METRICS")
grep -qE '^CapBnd:\s0+$' "/proc/$http/status" || grep -qE '^NoNewPrivs:\s1$' "/proc/$http/status" || fail "capabilities"
grep -qE '^CapEff:\s0+$' "/proc/$http/status" || fail "capabilities: $(grep Cap "/proc/$http/status")"
grep -qE '^Seccomp:\s2$' "/proc/$http/status" || fail "no seccomp filter"
# Only the standard streams, the listening socket and the socket pair, whatever the parent had open.
equal "descriptors" "$(find "/proc/$http/fd" -type l | wc -l)" 5

# An upgrade: counters go on, and each scrape has its answer.
ask upgrade >"$WORK/said" 2>&1 &
upgrade=$!
scrape "$WORK/scrape.0"
client ping -c 1 -q 10.66.2.2 >/dev/null
wait "$upgrade" || fail "upgrade: $(cat "$WORK/said")"
scrape "$WORK/scrape.1"
up=$(python3 -E -S "$HERE/metrics.py" monotonic "$WORK/text" "$WORK"/scrape.*) || exit 1
[ "$up" -ge 2 ] || fail "only $up of 3 scrapes had counters"
equal "hand-overs" "$(value "$WORK/scrape.1" sluice_engine_handovers_total)" 1
equal "alerts of both engines" "$(value "$WORK/scrape.1" sluice_alerts_total)" 7

# A daemon that hangs costs a scrape some seconds, however often it is asked; then its metrics are back.
freeze "$supervisor"
scrape "$WORK/hung"
equal "up while it hangs" "$(value "$WORK/hung" sluice_up)" 0
thaw "$supervisor"
wait_equal "up again" 1 new_value sluice_up
wait_text "$WORK/metrics.log" "the daemon answers again"

# Clients that send or read nothing give way after metrics.timeout.
kill "$METRICS"
wait "$METRICS" || fail "exit code $? after SIGTERM"
start_metrics --set metrics.timeout=1 --set metrics.clients=2
for i in 1 2; do
	background gw bash -c 'exec 3<>/dev/tcp/127.0.0.1/9931; printf "GET /metrics HTTP/1.1\r\n" >&3
		while sleep 0.2; do printf "X: x\r\n" >&3 || exit; done'
done
answers() { [ "$(get "$WORK/slow" 2>/dev/null)" = "$TEXT" ]; }
wait_for answers || fail "slow clients keep others out"
wait_least "connections that were closed" 2 new_value sluice_metrics_closed_connections_total

# Down: the answer says so. A Unix socket as well, with its mode; the path goes with the process.
stop_process "$supervisor" || fail "exit code $? of the daemon"
scrape "$WORK/down"
equal "up while it is down" "$(value "$WORK/down" sluice_up)" 0
grep -q sluice_flows_total "$WORK/down" && fail "counters of a daemon that is down"
gateway "$SLUICE" metrics --once --socket "$WORK/ips.control" >"$WORK/once" 2>"$WORK/said" || fail "--once: exit code $?"
equal "up, printed" "$(value "$WORK/once" sluice_up)" 0
grep -q "no daemon listens on $WORK/ips.control" "$WORK/said" || fail "$(cat "$WORK/said")"
kill "$METRICS"
wait "$METRICS" || fail "exit code $? after SIGTERM"
start_metrics --listen "$WORK/http" --set metrics.mode=0600
equal "mode" "$(stat -c %a "$WORK/http")" 600
equal "by the socket" "$(curl -s -o "$WORK/down" -w '%{http_code}' --unix-socket "$WORK/http" http://sluice/metrics)" 200
kill "$(pgrep -P "$METRICS")"
wait "$METRICS" && fail "it goes on without its HTTP process"
grep -q "ended unexpectedly" "$WORK/metrics.log" || fail "$(cat "$WORK/metrics.log")"
[ ! -e "$WORK/http" ] || fail "the socket is still there"
