#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a virtual machine, as root: installs, upgrades, removes and purges the packages of this folder as an
# administrator would. A host in front of the machine (cli) sends requests to one behind it (srv).
set -euo pipefail
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -y -o Dpkg::Use-Pty=0)

fail() {
	echo "FAILED: $*" >&2
	systemctl --no-pager status sluice.service >&2 || true
	journalctl --no-pager -n 40 -u sluice.service >&2 || true
	tail -n 5 /var/log/sluice/eve.json >&2 || true
	exit 1
}
step() { echo "--- $*"; }
wait_for() { # wait_for WHAT COMMAND...: at most 120 s
	local end=$((SECONDS + 120)) what=$1
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "$what does not happen within 120 s"
		sleep 0.2
	done
}

step "hosts"
for name in cli srv; do ip netns add $name; done
ip link add g0 type veth peer name c0 netns cli
ip link add g1 type veth peer name s0 netns srv
ip addr add 10.66.1.1/24 dev g0
ip addr add 10.66.2.1/24 dev g1
ip link set g0 up
ip link set g1 up
ip -n cli addr add 10.66.1.2/24 dev c0
ip -n srv addr add 10.66.2.2/24 dev s0
for host in cli:c0:10.66.1.1 srv:s0:10.66.2.1; do
	IFS=: read -r name device router <<<"$host"
	ip -n "$name" link set lo up
	ip -n "$name" link set "$device" up
	ip -n "$name" route add default via "$router"
done
echo 1 >/proc/sys/net/ipv4/ip_forward
mkdir www
echo welcome >www/index.html
ip netns exec srv busybox httpd -p 80 -h www
request() { # request PATH: prints the answer
	ip netns exec cli python3 -c 'import http.client, sys
connection = http.client.HTTPConnection("10.66.2.2", timeout=20)
connection.request("GET", "/" + sys.argv[1])
print(connection.getresponse().read().decode())' "$1"
}
wait_for "the server's answer" request index.html

step "install"
"${apt[@]}" install ./sluice_*.deb
[ "$(systemctl is-enabled sluice.service || true)" = disabled ] || fail "the installation enabled the service"
[ "$(systemctl is-enabled sluice-update.timer || true)" = disabled ] || fail "the installation enabled the updates"
sluice-suricata-compat -V | grep -q "This is Suricata version 8" || fail "sluice-suricata-compat does not answer"
systemctl enable --now -q sluice.service
wait_for "the start" sluice status
sluice status
sluice mode | grep -q alert-only || fail "the first mode is not alert-only"
systemctl show -P MainPID sluice.service >pid
engine() { awk '{ print $1 }' "/proc/$(cat pid)/task/$(cat pid)/children"; }
confined() { # the supervisor and the engine have the AppArmor profile
	local process
	for process in "$(cat pid)" "$(engine)"; do
		[ "$(cat "/proc/$process/attr/current")" = "sluice (enforce)" ] ||
			fail "AppArmor: $(tr '\0' ' ' <"/proc/$process/cmdline"): $(cat "/proc/$process/attr/current")"
	done
}
confined

journalctl -u sluice.service -o cat | grep "without sending a reset" && fail "the sockets of reject cannot be used"

step "a bad request"
request 'index.html?x=$%7bjndi:ldap://x/y%7d' >answer || fail "alert-only dropped the request"
request 'index.html?x=${jndi:ldap://x/y}' >answer || fail "alert-only dropped the request"
grep -q welcome answer || fail "no answer to the bad request"
wait_for "the alert" grep -q '"signature_id":9000001' /var/log/sluice/eve.json

step "drop"
sed -i 's/^ips.mode: alert-only/ips.mode: drop/' /etc/sluice/sluice.yaml
systemctl reload sluice.service
wait_for "the mode drop" sh -c 'sluice mode | grep -q "mode: drop"'
request 'index.html?x=${jndi:ldap://x/y}' >/dev/null 2>&1 && fail "the bad request passed"
request index.html | grep -q welcome || fail "a good request was dropped"

step "events to syslog and a Unix socket, packets and files to folders"
cat >>/etc/sluice/sluice.yaml <<'YAML'
outputs:
  journal: {filetype: syslog, types: [alert], syslog: {socket: /dev/log}}
  reader: {filetype: unix_stream, types: [alert], filename: /run/reader.socket}
  fast: {format: fast, filename: fast.log}
pcap-log: {enabled: yes, compression: zstd}
file-store: {enabled: yes, force-filestore: yes}
YAML
python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("/run/reader.socket")
os.chmod("/run/reader.socket", 0o666)
s.listen()
while True:
    connection, _ = s.accept()
    with open("reader.json", "ab", buffering=0) as file:
        while data := connection.recv(1 << 16):
            file.write(data)' &
wait_for "the reader" test -S /run/reader.socket
sluice check || fail "sluice check refuses the further outputs"
sluice upgrade || fail "sluice upgrade"
request index.html | grep -q welcome || fail "a good request was dropped"
request 'index.html?x=${jndi:ldap://x/y}' >/dev/null 2>&1 && fail "the bad request passed"
wait_for "the alert in the journal" sh -c "journalctl -o cat | grep -q 'signature_id.*9000001'"
wait_for "the alert at the reader" grep -q '"signature_id":9000001' reader.json
wait_for "the alert in fast.log" grep -q ':9000001:' /var/log/sluice/fast.log
wait_for "the capture file" sh -c 'ls /var/log/sluice/log.pcap.*.zst'
wait_for "the file of the response" sh -c 'grep -r welcome /var/log/sluice/filestore'
confined
systemctl is-active -q sluice-ship.service || fail "sluice-ship.service does not run"
[ "$(stat -c %U "/proc/$(systemctl show -P MainPID sluice-ship.service)")" = sluice-ship ] || fail "user of sluice-ship"

step "metrics"
systemctl enable --now -q sluice-metrics.service
scrape() {
	python3 -c 'import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:9931/metrics", timeout=20).read().decode())'
}
wait_for "the first scrape" scrape
scrape >metrics
grep -q '^sluice_up 1' metrics || fail "sluice_up: $(grep sluice_up metrics)"
grep -q '^sluice_alerts_total [1-9]' metrics || fail "sluice_alerts_total: $(grep sluice_alerts metrics)"

step "update of the rules"
type -P suricata-update >/dev/null || fail "suricata-update is not installed"
mkdir rules
echo 'drop http any any -> any any (msg:"updated"; http.uri; content:"updated"; sid:10;)' >rules/own.rules
busybox httpd -p 127.0.0.1:8000 -h rules
sed -i 's#^rule-files:#&\n  - /var/lib/sluice/rules/suricata.rules#' /etc/sluice/sluice.yaml
sluice update add-source own http://127.0.0.1:8000/own.rules || fail "sluice update add-source"
request updated.html >/dev/null || fail "the request is dropped before the update"
systemctl start sluice-update.service || fail "$(journalctl --no-pager -n 30 -u sluice-update.service)"
wait_for "the reload" sh -c 'sluice rules | grep -q "^1:10 "'
request updated.html >/dev/null 2>&1 && fail "the updated rule does not drop"
request index.html | grep -q welcome || fail "a good request was dropped"

step "upgrade"
ip netns exec cli ping -i 0.2 10.66.2.2 >pings &
pings=$!
before=$(engine)
sleep 3
"${apt[@]}" install ./next.deb
dpkg-query -W -f '${Version}\n' sluice | grep -q '+next$' || fail "not upgraded"
[ "$(systemctl show -P MainPID sluice.service)" = "$(cat pid)" ] || fail "the service was restarted"
[ "$(engine)" != "$before" ] || fail "the engine is still the old one"
next=$(engine)
grep -q "^ips.mode: drop" /etc/sluice/sluice.yaml || fail "the upgrade changed the configuration"
sleep 35 # longer than WatchdogSec=
kill -INT $pings
wait $pings || true
tail -n 3 pings
grep -q " 0% packet loss" pings || fail "the upgrade lost packets"
[ "$(engine)" = "$next" ] || fail "the next engine was replaced after the upgrade"

systemctl is-active -q sluice-ship.service sluice-metrics.service || fail "the upgrade stopped a service"
confined
journalctl -k -o cat | grep 'apparmor="DENIED".*profile="sluice"' && fail "the AppArmor profile lacks rules"

step "remove"
"${apt[@]}" remove sluice
for unit in sluice-ship.service sluice-ship.socket sluice-metrics.service; do
	systemctl is-active -q $unit && fail "$unit still runs"
done
systemctl is-active -q sluice.service && fail "the service still runs"
nft list tables | grep -q sluice && fail "the sluice table is still there"
[ -f /etc/sluice/sluice.yaml ] || fail "remove deleted the configuration"
request 'index.html?x=${jndi:ldap://x/y}' >/dev/null || fail "without Sluice the request does not pass"

step "purge"
"${apt[@]}" purge sluice
for path in /etc/sluice /var/log/sluice /var/lib/sluice /var/cache/sluice; do
	[ ! -e $path ] || fail "purge left $path"
done
