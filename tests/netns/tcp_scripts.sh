#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Clients and servers that behave as other TCP stacks do, without and with Sluice: none fails that succeeds without it.
. "$(dirname "$0")/lib.sh"
topology
client sysctl -qw net.ipv4.ip_forward=0
server sysctl -qw net.ipv4.ip_forward=0
gateway ip route add 10.66.64.0/18 via 10.66.1.2
gateway ip route add 10.66.128.0/18 via 10.66.2.2
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
mac=$(gateway cat /sys/class/net/g0/address) server_mac=$(gateway cat /sys/class/net/g1/address)
echo 'drop tcp any any -> any any (msg:"never"; content:"NEVER-IN-THIS-TEST"; sid:1;)' >"$WORK/t.rules"
play() { client python3 "$HERE/tcp_scripts.py" "$WORK/$1.json" "$mac" "$2" "$P-srv" "$server_mac" "${@:3}"; }
compare() {
	python3 "$HERE/tcp_stacks.py" compare "$WORK/$1.json" "$WORK/$2.json" || fail "scripts failed only with Sluice"
}
play before 2000
play settings_before 2500 settings
server sysctl -qw net.ipv4.tcp_syncookies=2 # always use SYN cookies: the same SYN gets the same sequence number
play cookies_before 4000
start_sluice scripts --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0
queue_rule --queue-num 0
play cookies_after 5000
server sysctl -qw net.ipv4.tcp_syncookies=1
play after 3000
stop_process "$LAST_PID" || fail "exit code $?"
[ -z "${KEEP:-}" ] || cp -r "$WORK/scripts" "$WORK"/*.json "$KEEP"
compare before after
compare cookies_before cookies_after
[ "$(last_stats scripts queue.0.packets)" -gt 100 ] || fail "Sluice saw no traffic"

start_sluice settings --queue 0 --rules "$WORK/t.rules" --set stream.midstream-grace=0 \
	--set stream.invalid-policy=ignore --set stream.async-oneside=yes \
	--set stream.midstream=yes
play settings_after 3500 settings
stop_process "$LAST_PID" || fail "exit code $?"
compare settings_before settings_after
