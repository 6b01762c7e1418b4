#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Links that lose packets before and behind the gateway: connections that were looked at arrive whole, none hangs, none
# is cut. Tracking sees segments and acknowledgments that the other side never gets, and some that it gets twice.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0

# lose HOST HOOK: one of forty packets that come in there.
lose() {
	ip netns exec "$P-$1" nft "add table inet loss; add chain inet loss in { type filter hook $2 priority -350; }"
	ip netns exec "$P-$1" nft 'add rule inet loss in meta l4proto tcp numgen random mod 40 == 0 drop'
}
cat >"$WORK/t.rules" <<'RULES'
drop tcp any any -> any 7001 (msg:"a word that is never sent"; content:"NEVER-SENT-BY-ANYBODY"; sid:1;)
RULES
start_sluice ips --queue 0 --rules "$WORK/t.rules"
ips=$LAST_PID
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_text "$WORK/background.log" listening
lose cli input
lose srv input
lose gw prerouting
for _ in 1 2 3; do
	equal "bytes back" "$(client timeout 60 python3 "$HERE/traffic.py" tcp-bulk 10.66.2.2 7001 1500000)" 1500000
done
# Short ones, closed by both sides: what gets lost is SYN, FIN and the last ACK.
answer=$(client timeout 100 python3 - <<'PY'
import concurrent.futures
import socket


def once(i):
    with socket.create_connection(('10.66.2.2', 7001), timeout=30) as s:
        s.settimeout(30)
        text = b'%06d' % i * 50
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        got = b''
        while data := s.recv(4096):
            got += data
        return got == text


with concurrent.futures.ThreadPoolExecutor(20) as pool:
    print(sum(pool.map(once, range(200))))
PY
)
equal "short connections" "$answer" 200
ask_stats ips "$ips"
[ "$(last_stats ips tcp.overlap)" -gt 0 ] || fail "nothing was sent twice"
equal "contradictions" "$(last_stats ips tcp.overlap_diff_data)" 0
stop_process "$ips" || fail "exit code $?"
