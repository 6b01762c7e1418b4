#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `systemctl restart` must keep packets and flows, and no packet may pass uninspected (restart hand-over). If the next
# supervisor cannot start, the restart becomes a stop, which removes the sluice table.
. "$(dirname "$0")/lib_systemd.sh"
one_client

configure 300
start_service

# systemd keeps the queues and the state of flows, the table stays, and the next supervisor continues with them. A
# literal that is split over packets before and after the restart must match, which shows that the flow's state was
# transferred.
queues() { awk '{ print $1, $2, $6, $7 }' /proc/net/netfilter/nfnetlink_queue; } # owner and drop counters of each queue
table() { nft -a list tables | grep sluice; }
python3 /source/tests/netns/traffic.py tcp-echo 7001 >$WORK/echo 2>&1 &
await "a server" grep -q listening $WORK/echo
supervisor=$(show MainPID)
before="$(queues) $(table) $(stat -c %i $CONTROL) $(show NFileDescriptorStore)"
mkfifo $WORK/steps
client python3 -u /source/tests/netns/traffic.py tcp-steps 10.66.1.1 7001 30 <$WORK/steps >$WORK/answers 2>&1 &
exec 3>$WORK/steps
echo "some EV" >&3
await "an answer" grep -q "some EV" $WORK/answers
pings_begin
client ping -c 80 -i 0.1 -W 1 -q -s 400 10.66.1.1 >$WORK/large 2>&1 &
large=$!
systemctl restart sluice.service || fail "no restart"
is_ready || fail "no answer after the restart"
[ "$(show MainPID)" != "$supervisor" ] || fail "the supervisor was not restarted"
echo "IL text" >&3
await "another answer" grep -q RESET $WORK/answers
exec 3>&-
wait $large || true
pings_end
grep -q "80 packets transmitted, 0 received" $WORK/large || fail "large pings passed: $(cat $WORK/large)"
equal "queues, table, socket and store" "$(queues) $(table) $(stat -c %i $CONTROL) $(show NFileDescriptorStore)" \
	"$before"
equal "hand-overs" "$(sluice stats engine.handovers --socket $CONTROL | awk '{ print $2 }')" 1
grep -q "handed over [0-9]* flows" $WORK/log || fail "no flows were handed over"

# A hung engine that does not hand over its flows must not delay a restart forever. A stop of the service during such a
# restart must stop it.
grow() { [ "$(cat $WORK/log | wc -l)" -gt "$1" ]; }
lines=$(cat $WORK/log | wc -l)
kill -STOP "$(engine)"
systemctl --no-block restart sluice.service
await "the restart" grow "$lines"
systemctl stop sluice.service || fail "no stop of a restart"
grep -q "before it handed over its flows" $WORK/log || fail "no word of the engine that stands still"
grep -q sluice <<<"$(nft list tables)" && fail "the table is left by a restart that became a stop"
equal "sockets that systemd keeps" "$(show NFileDescriptorStore)" 0
systemctl start sluice.service || fail "systemctl start failed after the stop"
is_ready || fail "no answer after the stop and start"

# With a broken configuration the next supervisor cannot start, so the restart must remove the table. Otherwise packets
# would wait for a daemon that does not come.
cp "$ETC/sluice.yaml" $WORK/sluice.yaml
echo "no-such-setting: 1" >>"$ETC/sluice.yaml"
systemctl restart sluice.service && fail "a restart with a broken configuration succeeded"
grep -q "this restart removes the sluice table" $WORK/log || fail "no message about the broken configuration"
grep -q sluice <<<"$(nft list tables)" && fail "a failed restart did not remove the sluice table"
systemctl stop sluice.service
systemctl reset-failed sluice.service 2>/dev/null || true # fails if systemd has unloaded the unit
cp $WORK/sluice.yaml "$ETC/sluice.yaml"
systemctl start sluice.service || fail "systemctl start failed after a broken configuration"
is_ready || fail "no answer after a broken configuration"

# Without D-Bus a restart is a stop and a start, and the log says so.
systemctl stop dbus.service dbus.socket || fail "cannot stop D-Bus"
systemctl restart sluice.service || fail "systemctl restart failed without D-Bus"
is_ready || fail "no answer after a restart without D-Bus"
grep -q "the hand-over of a restart needs a D-Bus daemon" $WORK/log || fail "no warning about D-Bus"
equal "hand-overs" "$(sluice stats engine.handovers --socket $CONTROL | awk '{ print $2 }')" 0
systemctl start dbus.socket || fail "cannot start D-Bus"

systemctl stop sluice.service || fail "systemctl stop failed"
equal "result" "$(show Result)" success
grep -q sluice <<<"$(nft list tables)" && fail "the sluice table was not removed"
equal "sockets that systemd keeps" "$(show NFileDescriptorStore)" 0
