#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Packets that come back from REPEAT without the mark, for ever: found, judged by policy and reported. Equal packets one
# after the other are none.
. "$(dirname "$0")/lib.sh"
topology
udp_sink 7000 "$WORK/got"
echo 'drop udp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
arrived() { grep -c "$1" "$WORK/got" || true; }
arrives() { wait_equal "arrivals of '$1'" "$2" arrived "$1"; } # arrives TEXT COUNT
queued_udp() { gateway iptables -A FORWARD -p udp "$@" -j NFQUEUE --queue-num 0; }

# The same bytes three hundred times: as they are no loop, every one passes.
gateway ip6tables -A FORWARD -p udp -m mark ! --mark 0x1/0x1 -j NFQUEUE --queue-num 0
start_sluice same --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1
client python3 - <<'PY'
import socket, time
sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.connect(('fd66:2::2', 7000))
for number in range(300):
    sock.send(b'heartbeat')
    time.sleep(0.001)
PY
arrives heartbeat 300
stop_process "$LAST_PID" || fail "exit code $?"
equal "equal packets taken for loops" "$(last_stats same queue.0.looping)" 0
equal "repeated" "$(last_stats same queue.0.repeated)" 300

# A queue rule that does not ask for the mark.
queued_udp
start_sluice loop --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1 --set queue.repeat-limit=20
udp_send cli 10.66.2.2 7000 one two EVIL
# Marked, they are past the mark already when they come back; so this is queue.marked-packets' case, and no loop.
arrives one 1
arrives two 1
stop_process "$LAST_PID" || fail "exit code $?"
equal "marked" "$(last_stats loop queue.0.marked)" 2
equal "looping" "$(last_stats loop queue.0.looping)" 0

# One ahead of it takes the mark off again.
gateway iptables -F FORWARD
gateway iptables -A FORWARD -p udp -j MARK --set-xmark 0x0/0xff
queued_udp -m mark ! --mark 0x1/0x1
start_sluice off --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1 --set queue.repeat-limit=20
udp_send cli 10.66.2.2 7000 three EVIL four
wait_events off 2 event_type=drop "drop.reason=repeat loop"
wait_events off 1 event_type=drop drop.reason=rules
stop_process "$LAST_PID" || fail "exit code $?"
equal "passed" "$(arrived three)$(arrived four)" 00
equal "looping" "$(last_stats off queue.0.looping)" 2
equal "repeated" "$(last_stats off queue.0.repeated)" 42
grep -q "2 packets came back from repeat without queue.mark:.*drops these" "$WORK/off.log" ||
	fail "no word of it: $(cat "$WORK/off.log")"

# The other policy: what has been inspected so often is accepted, and skips the rest of the chain.
start_sluice accept --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1 --set queue.repeat-limit=20 \
	--set queue.looping-packets=accept
udp_send cli 10.66.2.2 7000 five EVIL
arrives five 1
stop_process "$LAST_PID" || fail "exit code $?"
equal "looping" "$(last_stats accept queue.0.looping)" 1
equal "bad ones that passed" "$(arrived EVIL)" 0

# A flood of them, more than wait in the queue: nothing of it circles for ever, and the rest of the traffic goes on.
start_sluice flood --queue 0 --rules "$WORK/t.rules" --verdict repeat --mark 0x1/0x1 --set queue.repeat-limit=20
client python3 "$HERE/traffic.py" udp-flood 10.66.2.2 7000 3000
wait_equal "packets that wait" 0 kernel_queue 0 waiting
client ping -c1 -W2 -q 10.66.2.2 >/dev/null || fail "ping"
stop_process "$LAST_PID" || fail "exit code $?"
[ "$(last_stats flood queue.0.looping)" -gt 500 ] || fail "only $(last_stats flood queue.0.looping) found"
equal "numbers that passed" "$(arrived number)" 0
