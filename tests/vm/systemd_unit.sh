#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The installed service under systemd. It runs as the user sluice, is active only when packets are inspected, reloads
# its rules, survives the death of engine and supervisor without packet loss, and removes its table at a stop.
. "$(dirname "$0")/lib_systemd.sh"
one_client

configure 500
printf 'security: {sandbox: auto}\npid-file: sluice.pid\n' >>"$ETC/sluice.yaml"
start_service WatchdogSec=10s

# User, capabilities and sandbox.
supervisor=$(show MainPID)
user=$(awk -F: '$1 == "sluice" { print $3 }' /etc/passwd)
equal "user of the supervisor" "$(field "$supervisor" Uid)" "$user"
equal "capabilities of the supervisor" "$(field "$supervisor" CapEff)" 0000000000001004
for status in /proc/"$(engine)"/task/*; do
	thread=${status#/proc/}
	equal "user" "$(field "$thread" Uid)" "$user"
	equal "capabilities" "$(field "$thread" CapEff)" 0000000000001000
	equal "no new privileges" "$(field "$thread" NoNewPrivs)" 1
	equal "system calls" "$(field "$thread" Seccomp)" 2
done
equal "pid file" "$(cat /run/sluice/sluice.pid)" "$supervisor"
equal "owner of the events" "$(stat -c %U /var/log/sluice/eve.json)" sluice
[ "$(show NFileDescriptorStore)" -ge 6 ] || fail "systemd keeps $(show NFileDescriptorStore) sockets"

# Inspection, and reload.
client ping -c 3 -i 0.2 -W 2 -q 10.66.1.1 >/dev/null || fail "pings are lost"
client ping -c 1 -W 1 -q -s 800 10.66.1.1 >/dev/null && fail "large pings are not dropped"
python3 /source/tests/netns/traffic.py tcp-echo 7001 >$WORK/echo 2>&1 &
await "a server" grep -q listening $WORK/echo
equal "good text" "$(client python3 /source/tests/netns/traffic.py tcp-ask 10.66.1.1 7001 hello)" hello
equal "bad text" "$(client python3 /source/tests/netns/traffic.py tcp-ask 10.66.1.1 7001 'some EVIL text')" RESET

sed -i 's/dsize:>500/dsize:>300/' "$ETC/t.rules"
systemctl reload sluice.service || fail "no reload"
await "the reload" grep -q "reloaded: generation 2" $WORK/log
client ping -c 1 -W 1 -q -s 400 10.66.1.1 >/dev/null && fail "the new rule does not drop"

# Kill the engine, then the supervisor, while pings run; none may be lost.
pings_begin
before=$(engine)
kill -9 "$before"
another_engine() { [ -n "$(engine)" ] && [ "$(engine)" != "$before" ] && is_ready; }
await "another engine" another_engine
equal "the supervisor" "$(show MainPID)" "$supervisor"
kill -9 "$supervisor"
another_supervisor() { [ "$(show MainPID)" != 0 ] && [ "$(show MainPID)" != "$supervisor" ] && is_ready; }
await "another supervisor" another_supervisor
pings_end
equal "pid file of the next supervisor" "$(cat /run/sluice/sluice.pid)" "$(show MainPID)"
client ping -c 1 -W 1 -q -s 800 10.66.1.1 >/dev/null && fail "large pings are not dropped any more"
equal "bad text" "$(client python3 /source/tests/netns/traffic.py tcp-ask 10.66.1.1 7001 'some EVIL text')" RESET

# After an upgrade the process goes on notifying the watchdog.
supervisor=$(show MainPID)
sluice upgrade --socket $CONTROL >/dev/null || fail "sluice upgrade failed"
sleep 12
equal "the supervisor after the upgrade" "$(show MainPID)" "$supervisor"
is_ready || fail "no answer after the upgrade"

# The watchdog of systemd must replace a hung supervisor.
kill -STOP "$supervisor"
await "the watchdog" another_supervisor
client ping -c 1 -W 2 -q 10.66.1.1 >/dev/null || fail "no ping after the watchdog"

systemctl stop sluice.service || fail "systemctl stop failed"
equal "result" "$(show Result)" success
grep -q sluice <<<"$(nft list tables)" && fail "the sluice table was not removed"
equal "sockets that systemd keeps" "$(show NFileDescriptorStore)" 0
client ping -c 1 -W 2 -q -s 800 10.66.1.1 >/dev/null || fail "ping failed after the stop"
systemctl start sluice.service || fail "the second systemctl start failed"
is_ready || fail "no answer after the second start"
client ping -c 1 -W 1 -q -s 800 10.66.1.1 >/dev/null && fail "large pings are not dropped after the second start"
systemctl stop sluice.service
