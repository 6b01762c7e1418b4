#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The profile gateway, included in a configuration: the kernel forwards a TLS connection after its handshake without
# queueing it, `sluice status` shows the share, a rule on the server name still drops, and a reload reads the profile
# again.
. "$(dirname "$0")/lib.sh"
. "$HERE/offload_lib.sh"
command -v openssl >/dev/null || skip "openssl is not installed"
topology
profile=$(cd "$HERE/../.." && pwd)/profiles/gateway.yaml
mkdir "$WORK/www"
head -c 4000000 /dev/zero >"$WORK/www/large"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$WORK/server.key" \
	-out "$WORK/server.pem" -subj "/CN=server.example" -days 2 2>/dev/null
background srv sh -c "cd '$WORK/www' && exec openssl s_server -accept 4433 -cert '$WORK/server.pem' \
	-key '$WORK/server.key' -WWW -quiet"
cat >"$WORK/t.rules" <<'RULES'
drop tls any any -> any any (msg:"bad name"; tls.sni; content:"bad.example"; sid:1;)
RULES
printf '%s\n' "include: $profile" 'nft.attach: after' >"$WORK/sluice.yaml"
start_sluice ips --config "$WORK/sluice.yaml" --rules "$WORK/t.rules" --no-console --set nft.offload.interval=1
ips=$LAST_PID
# Whether acknowledgments are offloaded depends on the kernel; the log says so.
grep -q "acknowledgments are \(offloaded: no rule\|queued: nft.offload.acknowledgments needs connection marks\)" \
	"$WORK/ips.log" || fail "the log does not mention acknowledgments"

# get VERSION NAME: gets the file over TLS.
get() {
	printf 'GET /large HTTP/1.0\r\n\r\n' |
		client timeout 10 openssl s_client -connect 10.66.2.2:4433 "-$1" -servername "$2" -quiet -ign_eof \
			>"$WORK/got" 2>/dev/null
	[ "$(wc -c <"$WORK/got")" -ge 4000000 ]
}
wait_for get tls1_3 good.example || fail "no TLS connection"
get tls1_2 good.example || fail "no TLS 1.2 connection"
wait_events ips 2 event_type=tls tls.sni=good.example

# The kernel forwarded nearly all of the 8 MB without queueing them.
share() { # share: whole percents of the bytes
	"$SLUICE" status --socket "$WORK/ips.control" | sed -n 's/^offload: .* and \([0-9]*\)[.][0-9] % of bytes .*/\1/p'
}
wait_least "percent of bytes that never reached a queue" 80 share
[ "$(counter sluice offload_accepted)" -gt 0 ] || fail "the kernel accepted nothing"

# A reload reads the included file, also in the sandbox.
kill -USR2 "$ips"
wait_text "$WORK/ips.log" "reloaded: generation\|settings unchanged"
! grep -q "gateway.yaml" "$WORK/ips.log" || fail "the reload could not read the profile: $(cat "$WORK/ips.log")"
get tls1_3 good.example || fail "no TLS connection after the reload"
# Last, because the server waits for the rest of the connection.
! get tls1_3 bad.example || fail "the rule on the server name did not drop"
wait_events ips 1 event_type=drop alert.signature_id=1
stop_process "$ips" || fail "exit code $?"
equal "flows that the kernel took over" "$([ "$(last_stats ips ips.offload.accepted)" -ge 3 ] && echo yes)" yes
