# SPDX-License-Identifier: GPL-2.0-or-later
# Acknowledgments that no rule can match are accepted by the kernel without being queued (nft.offload.acknowledgments), on
# a kernel in which verdicts can set the conntrack mark (NFQA_CT). A rule still drops later data of the connection, each
# forwarded segment is either queued or counted as skipped, and a reload with a rule that needs acknowledgments queues
# them again. The settings are those of the profile gateway.
. "$(dirname "$0")/lib.sh"
. "$HERE/offload_lib.sh"
topology
gateway sysctl -qw net.netfilter.nf_conntrack_acct=1
gateway nft -f - <<'NFT'
table inet count {
	counter forwarded { }
	chain forward {
		type filter hook forward priority filter; policy accept;
		ct state established,related,new meta l4proto tcp counter name forwarded
	}
}
NFT
: >"$WORK/background.log"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
wait_lines "$WORK/background.log" listening 1
bad='drop tcp any any -> any any (msg:"bad word"; flow:established,to_server; content:"EVIL"; sid:1;)'
empty='alert tcp any any -> any any (msg:"acknowledgment"; flags:A; dsize:0; sid:5;)'
echo "$bad" >"$WORK/t.rules"
echo "include: $(cd "$HERE/../.." && pwd)/profiles/gateway.yaml" >"$WORK/sluice.yaml"
start_sluice ips --config "$WORK/sluice.yaml" --queue 0 --rules "$WORK/t.rules" --attach after \
	--set nft.offload.acknowledgment-packets=8 --set nft.offload.interval=1 --set stats.interval=0
ips=$LAST_PID
grep -q "acknowledgments are offloaded" "$WORK/ips.log" || fail "the log does not say that they are offloaded"

skipped() { counter sluice offload_acknowledgments; }
steps() { # steps NAME COUNT
	local i
	for i in $(seq "$2"); do
		says "$1" "line$i" "line$i"
		sleep 0.2 # longer than the client delays its acknowledgment
	done
}
# account: each segment was either queued or skipped. The dropped connections send theirs again, so on a slow machine
# segments may be forwarded while the counters are read.
account() {
	local before after sum
	for _ in $(seq 50); do # until no segment was forwarded meanwhile
		before=$(counter count forwarded)
		sum=$(($(queued 0) + $(skipped) + $(counter sluice offload_dropped) + $(counter sluice offload_accepted)))
		after=$(counter count forwarded)
		[ "$before" != "$after" ] || break
	done
	[ "$before" -le "$sum" ] && [ "$sum" -le "$after" ] ||
		fail "$before to $after segments were forwarded, and $sum queued or skipped"
}
# reload N: the Nth reload.
reload() {
	kill -USR2 "$ips"
	wait_lines "$WORK/ips.log" "reloaded:" "$1"
}

for version in 4 6; do
	case $version in
	4) to=10.66.2.2 shown=$to ;;
	6) to=fd66:2::2 shown=fd66:0002:0000:0000:0000:0000:0000:0002 ;;
	esac
	talk "v$version" $to 7001
	steps "v$version" 6 # more than 8 packets: from now on acknowledgments are skipped
	before=$(skipped)
	steps "v$version" 10
	# Each line of the server is acknowledged, nearly always by a segment of its own.
	[ $(($(skipped) - before)) -ge 5 ] || fail "$to: only $(($(skipped) - before)) acknowledgments were skipped"
	says "v$version" EVIL TIMEOUT
	hang_up "v$version"
	wait_events ips 1 event_type=drop alert.signature_id=1 dest_ip=$shown
done

talk last 10.66.2.2 7001
steps last 10
sleep 1
account
printf '%s\n%s\n' "$bad" "$empty" >"$WORK/t.rules"
reload 1
wait_text "$WORK/ips.log" "acknowledgments are queued: 1 rule can match or count them (1:5)"
"$SLUICE" status --socket "$WORK/ips.control" >"$WORK/status"
grep -q "acknowledgments are queued, because 1 rule can match or count them: 1:5" "$WORK/status" ||
	fail "status: $(cat "$WORK/status")"
grep -q "^offload: .* never reached a queue" "$WORK/status" || fail "status: $(cat "$WORK/status")"
before=$(skipped)
steps last 10
sleep 1
equal "acknowledgments skipped although a rule matches them" "$(skipped)" "$before"
[ "$(events ips event_type=alert alert.signature_id=5)" -ge 5 ] || fail "the rule did not match acknowledgments"
echo "$bad" >"$WORK/t.rules"
reload 2
steps last 10
[ $(($(skipped) - before)) -ge 5 ] || fail "no acknowledgments skipped after the rule was removed"
sleep 1
account
all=$(skipped)
says last bye bye
hang_up last
stop_process "$ips" || fail "exit code $?"
[ "$(last_stats ips firewall.offload.acknowledgment_packets)" -ge "$all" ] || fail "acknowledgments, in the statistics"
[ "$(last_stats ips ips.offload.acknowledgments)" -ge 3 ] || fail "flows whose acknowledgments were offloaded"
