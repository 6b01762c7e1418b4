#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mosquitto, slapd, snmpd, PostgreSQL and sipp through a gateway with Sluice: ordinary traffic passes, its events are
# written, and what a drop rule matches does not reach the server.
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PRODUCT_CACHE:?folder for downloads}
. "$folder/../../netns/lib.sh"
"$folder/../fetch" bookworm "$cache" mosquitto mosquitto-clients slapd ldap-utils snmpd snmp postgresql-15 \
	sip-tester dash >"$WORK/fetch.log" 2>&1 || skip "no packages: $(tail -n 1 "$WORK/fetch.log")"
root=$(cd "$cache/bookworm/root" && pwd)
mkdir -p "$root/srv"
mount --bind "$WORK" "$root/srv" # this script has a mount namespace of its own
mount -t proc proc "$root/proc"
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
chmod 777 "$WORK"
# start NAME PROGRAM ARGS...: a server. try NAME PROGRAM ARGS...: a client; what it prints is in $WORK/NAME.client.
start() { ip netns exec "$P-srv" chroot "$root" env TERM=dumb "${@:2}" >"$WORK/$1.server" 2>&1 & }
# refused NAME PROGRAM ARGS...: a client that must not get an answer.
try() { client timeout "${LIMIT:-20}" chroot "$root" env TERM=dumb "${@:2}" >"$WORK/$1.client" 2>&1; }
refused() { ! LIMIT=5 try "$@" || fail "$1: the forbidden message was answered: ${*:2}"; }
listens_on() { server ss -Hlntu | grep -q ":$1 "; }
# unseen NAME: the server has seen ordinary traffic, and nothing that a rule drops.
unseen() {
	wait_text "$WORK/$1.server" ordinary
	if grep forbidden "$WORK/$1.server"; then fail "$1: the server saw what was to be dropped"; fi
}

topology
queue_rule --queue-num 0
cat >"$WORK/t.rules" <<'RULES'
drop mqtt any any -> any any (msg:"topic"; mqtt.publish.topic; content:"forbidden"; sid:1;)
drop ldap any any -> any any (msg:"name"; ldap.request.dn; content:"cn=forbidden"; sid:2;)
drop snmp any any -> any any (msg:"community"; snmp.community; content:"forbidden"; sid:3;)
drop pgsql any any -> any any (msg:"query"; pgsql.query; content:"forbidden"; sid:4;)
drop sip any any -> any any (msg:"address"; sip.uri; content:"forbidden"; sid:5;)
RULES

printf 'listener 1883\nallow_anonymous true\nuser root\nlog_dest stderr\n' >"$WORK/mosquitto.conf"
start mosquitto mosquitto -v -c /srv/mosquitto.conf

mkdir "$WORK/ldap"
cat >"$WORK/slapd.conf" <<'CONF'
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=example,dc=org"
directory /srv/ldap
CONF
start slapd slapd -d 256 -f /srv/slapd.conf -h ldap://0.0.0.0

echo 'rocommunity ordinary' >"$WORK/snmpd.conf"
start snmpd snmpd -f -Lo -C -c /srv/snmpd.conf -I -smux udp:161

programs=$(cd "$root" && echo usr/lib/postgresql/*/bin)
chroot --userspec=65534:65534 "$root" "/$programs/initdb" -D /srv/database -A trust -U admin >"$WORK/initdb.log" 2>&1 ||
	fail "initdb"
echo 'host all all 10.66.1.0/24 trust' >>"$WORK/database/pg_hba.conf"
ip netns exec "$P-srv" chroot --userspec=65534:65534 "$root" "/$programs/postgres" -D /srv/database -h 10.66.2.2 -k /srv \
	-c log_statement=all >"$WORK/postgres.server" 2>&1 &
postgres=$!

start sipp sipp -sn uas -i 10.66.2.2 -p 5060 -nostdin -trace_msg -message_file /srv/sipp.messages

for port in 1883 389 161 5432 5060; do wait_for listens_on $port || fail "no server listens on port $port"; done
start_sluice gw --queue 0 --rules "$WORK/t.rules" --set ips.mode=drop
sluice_pid=$LAST_PID

for version in mqttv31 mqttv311 mqttv5; do
	for qos in 0 1 2; do
		try mosquitto mosquitto_pub -V $version -h 10.66.2.2 -q $qos -t ordinary/topic -m hello || fail "mosquitto: $version"
		[ $qos = 0 ] || refused mosquitto mosquitto_pub -V $version -h 10.66.2.2 -q $qos -t forbidden/topic -m hello
	done
done
unseen mosquitto

try slapd ldapsearch -x -H ldap://10.66.2.2 -b 'ou=ordinary,dc=example,dc=org' || [ $? = 32 ] || fail "slapd: no answer"
# The exit code 32 is the answer "no such object".
refused slapd sh -c "ldapsearch -x -H ldap://10.66.2.2 -b cn=forbidden,dc=example,dc=org; [ \$? = 32 ]"
unseen slapd

for version in 1 2c; do
	try snmpd snmpget -t 1 -r 3 -v $version -c ordinary 10.66.2.2 1.3.6.1.2.1.1.3.0 || fail "snmpd: no answer"
	refused snmpd snmpget -t 1 -r 0 -v $version -c forbidden 10.66.2.2 1.3.6.1.2.1.1.3.0
done
try snmpd snmpget -t 1 -r 3 -v 2c -c ordinary -Oqv 10.66.2.2 1.3.6.1.2.1.11.4.0 || fail "snmpd: no answer"
equal "snmpd: requests with a wrong community" "$(cat "$WORK/snmpd.client")" 0

psql=("/$programs/psql" -h 10.66.2.2 -U admin -w -d postgres)
try postgres "${psql[@]}" -c "select 'ordinary'" || fail "PostgreSQL: no answer"
refused postgres "${psql[@]}" -c "select 'forbidden'"
unseen postgres

try sipp sipp -sn uac -s ordinary -m 5 -nostdin -timeout 15 10.66.2.2:5060 || fail "sipp: no answer"
refused sipp sipp -sn uac -s forbidden -m 1 -nostdin -timeout 3 10.66.2.2:5060
grep -q "sip:ordinary@" "$WORK/sipp.messages" || fail "sipp: the server saw no call"
if grep -q "forbidden" "$WORK/sipp.messages"; then fail "sipp: the server saw what was to be dropped"; fi

kill -INT "$postgres" # does not wait for its clients
stop_process "$sluice_pid" || fail "exit code $?"
for protocol in mqtt ldap snmp pgsql sip; do
	[ "$(events gw event_type=$protocol)" -ge 1 ] || fail "$protocol: no event"
done
for rule in 1 2 3 4 5; do
	[ "$(events gw event_type=alert alert.signature_id=$rule alert.action=blocked)" -ge 1 ] || fail "rule $rule: no alert"
done
equal "anomalies" "$(events gw event_type=anomaly)" 0
