#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice update` on three nights, with suricata-update of PyPI, and then suricata-update alone on three more, while
# packets flow: the daemon always has the newest good rules, and no packet is lost.
#
#   source one    other rules each night
#   source two    unsupported rules, mistakes, rules for other versions, and a dataset
#   source three  good on the first night; then an error page, then a connection that is reset
#   night two     the reload fails at first (reload.mistakes: refuse): the files go back, the daemon keeps its rules
#
# A night passes by giving the downloads the time of the day before. PRODUCT_CACHE: folder for the Python environment.
. "$(dirname "$0")/../../netns/lib.sh"
. "$HERE/continuity_lib.sh"
HERE_UPDATE=$SOURCE/tests/product/update

cache=${PRODUCT_CACHE:-$WORK}
program=${SURICATA_UPDATE:-$cache/venv/bin/suricata-update}
if [ ! -x "$program" ]; then
	python3 -m venv "$cache/venv" >"$WORK/pip.log" 2>&1 || skip "python3 -m venv does not work (python3-venv)"
	"$cache/venv/bin/pip" install --quiet 'suricata-update>=1.3' >"$WORK/pip.log" 2>&1 ||
		skip "suricata-update cannot be installed from PyPI: $(tail -n 1 "$WORK/pip.log")"
fi
"$program" -V

topology
queue_rule --queue-balance 0:1
data=$WORK/data
live=$data/rules/suricata.rules
conf=$WORK/etc/sluice.yaml
mkdir -p "$WORK/etc" "$WORK/web"
continuity_rules "$WORK/own.rules"

# configuration MISTAKES: what the reload does about new mistakes in rules.
configuration() {
	printf '%s\n' "data-dir: $data" "rule-files: [$WORK/own.rules, $live]" "run-as.user: root" "reload.mistakes: $1" \
		"unix-command.filename: $WORK/ips.control" >"$conf"
}
configuration skip
echo "dist-rule-directory: $WORK/etc" >"$WORK/etc/update.yaml"

# rules FIRST COUNT TEXT: COUNT rules from sid FIRST, which drop datagrams with "TEXT-sid" to port 7000.
rules() {
	local sid
	for sid in $(seq "$1" $(($1 + $2 - 1))); do
		echo "drop udp any any -> any 7000 (msg:\"$3 $sid\"; content:\"$3-$sid\"; sid:$sid;)"
	done
}

# In the namespace of the gateway, on whose loopback interface `sluice update` finds it.
background gw python3 "$HERE_UPDATE/sources.py" "$WORK/web" "$WORK/url"
wait_for test -s "$WORK/url" || fail "the web server does not run"
url=$(cat "$WORK/url")

update() { gateway "$SLUICE" update --config "$conf" --program "$program" "$@"; }
# night CODE: a day passes, then the update.
night() {
	local code=0
	find "$data/update/cache" -type f -exec touch --date yesterday {} +
	update >"$WORK/update.out" 2>"$WORK/update.log" || code=$?
	cat "$WORK/update.out"
	equal "exit code of the update" "$code" "$1"
}
# has_rules SID...: exactly these rules of sources are in use.
has_rules() {
	gateway "$SLUICE" rules --socket "$WORK/ips.control" | awk '/^1:/ { print $1 }' | awk -F: '$2 >= 10000' | sort >"$WORK/now"
	printf '1:%s\n' "$@" | sort | diff - "$WORK/now" >&2 || fail "other rules are in use: $(tr '\n' ' ' <"$WORK/now")"
}
# answer TEXT SECONDS: whether a datagram with the text comes back.
answer() {
	client python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(float(sys.argv[2]))
s.sendto(sys.argv[1].encode(), ("10.66.2.2", 7000))
try:
    s.recv(100)
except socket.timeout:
    sys.exit(1)' "$1" "$2"
}
passes() { answer "$1" 20 || fail "$1 did not pass"; }
stopped() { ! answer "$1" 0.5 || fail "$1 passed"; }

# source_two TEXT
source_two() {
	mkdir -p "$WORK/two/lists"
	{
		rules 20000 20 "$1"
		echo 'alert udp any any -> any 7000 (msg:"unsupported"; lua:x.lua; sid:20100;)'
		echo 'alert udp any any -> any 7000 (msg:"mistake"; contnt:"x"; sid:20101;)'
		echo 'alert udp any any -> any 7000 (msg:"newer"; newer; requires:version >= 9; sid:20102;)'
		echo 'alert dns any any -> any any (msg:"set"; dns.query; dataset:isset,bad,type string,load lists/bad.lst; sid:20103;)'
	} >"$WORK/two/two.rules"
	echo "ZXZpbC5leGFtcGxl" >"$WORK/two/lists/bad.lst"
	tar -C "$WORK/two" -czf "$WORK/web/two.tar.gz" two.rules lists/bad.lst
}

mkdir -p "$data/rules"
: >"$live"
start_sluice ips --queue 0-1 --config "$conf"
traffic_start

echo "--- night 1: three sources"
rules 10000 20 first >"$WORK/web/one.rules"
source_two first
rules 30000 20 first >"$WORK/web/three.rules"
for source in one.rules two.tar.gz three.rules; do
	update add-source "${source%%.*}" "$url/$source" >"$WORK/add.log" 2>&1 || fail "add-source $source"
done
mkdir -p "$data/update/cache"
night 0
has_rules $(seq 10000 10019) $(seq 20000 20019) 20103 $(seq 30000 30019)
grep -qw lua "$WORK/update.out" || fail "the unsupported keyword is not reported"
grep -q "$live:[0-9]*:.*contnt" "$WORK/update.log" || fail "the mistake is not reported with file and line"
stopped first-10003
stopped first-30003
passes second-10003

echo "--- night 2: the daemon rejects the rules, which have one more mistake; then source three is an error page"
rules 10000 25 second >"$WORK/web/one.rules"
echo 'drop udp any any -> any 7000 (contnt:"another mistake"; sid:10099;)' >>"$WORK/web/one.rules"
configuration refuse
cp "$live" "$WORK/before.rules"
night 1
grep -q "the reload failed, the previous rules are back in place: .*1 new mistake" "$WORK/update.log" ||
	fail "the failed reload is not reported: $(cat "$WORK/update.log")"
cmp "$WORK/before.rules" "$live" || fail "the previous rule file is not back in place"
[ ! -e "$data/update/reload-pending" ] || fail "the update was not completed"
has_rules $(seq 10000 10019) $(seq 20000 20019) 20103 $(seq 30000 30019)
stopped first-10003
passes second-10003
configuration skip
echo "<html>Internal error</html>" >"$WORK/web/three.rules"
night 3
grep -q "source $url/three.rules: the download has no rules; its previous rules are used" "$WORK/update.log" ||
	fail "the broken source is not reported: $(cat "$WORK/update.log")"
has_rules $(seq 10000 10024) $(seq 20000 20019) 20103 $(seq 30000 30019)
stopped second-10003
stopped second-10024
stopped first-30003
passes first-10003

echo "--- night 3: source three resets connections; the others are newer"
rules 10010 25 third >"$WORK/web/one.rules"
source_two third
echo reset >"$WORK/web/three.rules"
night 3
grep -q "source $url/three.rules: the download broke off; its previous rules are used" "$WORK/update.log" ||
	fail "the broken source is not reported: $(cat "$WORK/update.log")"
has_rules $(seq 10010 10034) $(seq 20000 20019) 20103 $(seq 30000 30019)
stopped third-10034
stopped third-20003
stopped first-30003
passes second-10003
passes first-20003

echo "--- the night after: source three is back, and nothing else has changed"
rules 30000 30 fourth >"$WORK/web/three.rules"
night 0
has_rules $(seq 10010 10034) $(seq 20000 20019) 20103 $(seq 30000 30029)
night 0
grep -q "^no changes" "$WORK/update.out" || fail "an update without changes changed something"

# suricata-update alone, with the sources and downloads so far, tests by sluice-suricata-compat and reloads by `sluice
# reload`. One source changes each night, one has unsupported rules and mistakes, one is broken from the second night on.
ln -s "$SLUICE" "$WORK/sluice-suricata-compat"
for day in 1 2 3; do
	echo "--- suricata-update alone, night $day"
	rules 10000 $((20 + day)) "alone$day" >"$WORK/web/one.rules"
	[ $day = 1 ] || rm -f "$WORK/web/three.rules"
	find "$data/update/cache" -type f -exec touch --date yesterday {} +
	gateway "$program" --data-dir "$data" --config "$WORK/etc/update.yaml" --suricata "$WORK/sluice-suricata-compat" \
		--suricata-conf "$conf" --reload-command "$SLUICE reload --config $conf" >"$WORK/update.log" 2>&1 ||
		fail "suricata-update: $(tail -n 5 "$WORK/update.log")"
	grep -q "reloaded: generation" "$WORK/update.log" || fail "suricata-update did not reload: $(cat "$WORK/update.log")"
	[ $day = 1 ] || grep -q "will use latest cached version" "$WORK/update.log" || fail "the source is not broken"
	has_rules $(seq 10000 $((10019 + day))) $(seq 20000 20019) 20103 $(seq 30000 30029)
	stopped "alone$day-10003"
	stopped third-20003
	stopped fourth-30003
done

traffic_stop
equal "reloads that failed" "$(grep -c "settings unchanged" "$WORK/ips.log")" 1
echo "reloads: $(grep -c "reloaded: generation" "$WORK/ips.log")"
