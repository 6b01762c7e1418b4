#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Prometheus scrapes `sluice metrics` of a gateway with traffic, alerts, drops, a reload, an upgrade and a failed
# reload. Then every query of the dashboard (contrib/grafana) must return data, the alerts (contrib/prometheus) must be
# loaded without error and those of the failed reload must fire.
#   SECONDS_OF_TRAFFIC  how long (40)
#   PICTURE             PNG file: draw graphs of the dashboard's queries in Prometheus with a headless Chromium
. "$(dirname "$0")/../../netns/lib.sh"
PRODUCT=$(cd "$(dirname "$0")" && pwd)
SOURCE=$(cd "$PRODUCT/../../.." && pwd)
HERE=$SOURCE/tests/netns
for tool in prometheus promtool curl; do command -v $tool >/dev/null || skip "$tool is not installed"; done
topology
queue_rule --queue-balance 0:1
cat >"$WORK/t.rules" <<'RULES'
alert icmp any any -> any any (msg:"ping"; itype:8; sid:1;)
drop udp any any -> any 7001 (msg:"udp"; sid:2;)
drop tcp any any -> any 7002 (msg:"evil"; content:"evil"; sid:3;)
RULES
background srv python3 "$HERE/traffic.py" tcp-echo 7002
start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console --set stats.interval=2
supervisor=$LAST_PID
ask() { gateway "$SLUICE" "$@" --socket "$WORK/ips.control"; }
ip netns exec "$P-gw" "$SLUICE" metrics --socket "$WORK/ips.control" >"$WORK/metrics.log" 2>&1 &
wait_text "$WORK/metrics.log" "listening on"

# The installed example, with a shorter interval.
sed -e 's/: 15s/: 2s/' -e "s#/usr/local/share/sluice/prometheus#$SOURCE/contrib/prometheus#" \
	"$SOURCE/contrib/prometheus/sluice.scrape.yml" >"$WORK/prometheus.yml"
promtool check config "$WORK/prometheus.yml" >"$WORK/said" || fail "promtool: $(cat "$WORK/said")"
ip netns exec "$P-gw" prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/data" \
	--web.listen-address=127.0.0.1:9090 --web.console.libraries=/etc/prometheus/console_libraries \
	--web.console.templates=/etc/prometheus/consoles >"$WORK/prometheus.log" 2>&1 &
PROMETHEUS=$!
ready() { gateway curl -sf -o "$WORK/said" http://127.0.0.1:9090/-/ready; }
wait_running "$PROMETHEUS" ready || fail "Prometheus did not start"

end=$((SECONDS + ${SECONDS_OF_TRAFFIC:-40}))
round=0
graph=0
while [ $SECONDS -lt $end ]; do
	round=$((round + 1))
	client ping -c $((1 + round % 7)) -i 0.05 -q 10.66.2.2 >/dev/null || true
	for i in $(seq $((round % 5))); do udp_send cli 10.66.2.2 7001 "a $i" b; done
	udp_send cli 10.66.2.3 53 question
	client timeout 2 bash -c 'exec 3<>/dev/tcp/10.66.2.2/7002; echo hello >&3; read -r -t 1 line <&3' 2>/dev/null || true
	[ $((round % 10)) != 0 ] || ask reload >"$WORK/said" 2>&1 || fail "reload: $(cat "$WORK/said")"
	[ "$round" != 15 ] || ask upgrade >"$WORK/said" 2>&1 || fail "upgrade: $(cat "$WORK/said")"
done
echo 'alert tcp any any -> any any (msg:"broken"; nonesuch; sid:' >>"$WORK/t.rules"
ask reload >"$WORK/said" 2>&1 || true
mv "$WORK/t.rules" "$WORK/t.rules.gone"
ask reload >"$WORK/said" 2>&1 && fail "a reload without rules succeeded"
firing() { gateway curl -s http://127.0.0.1:9090/api/v1/alerts | grep -q '"alertname":"'"$1"'"'; }
wait_for firing SluiceReloadFailed || fail "SluiceReloadFailed does not fire"

ip netns exec "$P-gw" python3 "$PRODUCT/queries.py" http://127.0.0.1:9090 "$SOURCE/contrib/grafana/sluice.json" || exit 1
if [ -n "${PICTURE:-}" ]; then
	command -v chromium >/dev/null || skip "chromium is not installed"
	photograph() { # photograph FILE SIZE ADDRESS
		ip netns exec "$P-gw" timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
			--window-size="$2" --virtual-time-budget=15000 --user-data-dir="$WORK/chromium" --screenshot="$1" "$3" \
			>"$WORK/chromium.log" 2>&1 || fail "chromium"
	}
	while read -r page; do
		photograph "$WORK/$((++graph)).png" 900,900 "$page"
	done < <(python3 "$PRODUCT/queries.py" --pages http://127.0.0.1:9090)
	for i in 1 2 3 4; do echo "<img src=$i.png width=600 height=600 style='float:left'>"; done >"$WORK/all.html"
	photograph "$PICTURE" 1216,1216 "file://$WORK/all.html"
fi
stop_process "$PROMETHEUS" || fail "exit code $? of Prometheus"
stop_process "$supervisor" || fail "exit code $? of the daemon"
