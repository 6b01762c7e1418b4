#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Another program edits its ruleset 1000 times while datagrams pass. Now and then it flushes the whole ruleset or
# removes the sluice table. Datagrams that passed uninspected fall into the periods that events report, each lost
# datagram was counted as flushed, and the other program ends up with exactly the rules that the same edits produce on a
# host without Sluice.
#
# The kernel removes a base chain in two steps: it replaces the hook's list of chains, then it flushes the queues. When
# a verdict arrives between the two, nf_reinject() finds that the position of our chain is past the end of the list and
# frees the packet, and the verdict succeeds. Sluice cannot notice this loss, so the test counts these packets by the
# tracepoint skb:kfree_skb.
. "$(dirname "$0")/lib.sh"
topology
edits=${EDITS:-1000} seed=${SEED:-7}
echo 'alert udp any any -> any 7000 (msg:"seen"; content:"number"; sid:1;)' >"$WORK/t.rules"
cat >"$WORK/c.yaml" <<'YAML'
eve:
  types:
    alert: { payload-printable: yes }
    firewall: {}
    stats: {}
YAML
background srv python3 "$HERE/monitor_edits.py" receive 7000 "$WORK/got"
wait_for test -s "$WORK/got" || fail "got is empty"
start_sluice ips --config "$WORK/c.yaml" --queue 0-1 --rules "$WORK/t.rules" --attach after --set queue.length=20000
ips=$LAST_PID
# From the first chain that goes on each packet that is lost is counted, not only batches.
gateway nft 'add table inet first; add chain inet first c { type filter hook input priority 3; }
	delete table inet first'
wait_monitor ips

tracefs=/sys/kernel/tracing
[ -d $tracefs/instances ] || mount -t tracefs tracefs $tracefs ||
	skip "needs tracefs, to count packets that the kernel frees without an error"
trace_engine=$tracefs/instances/$P
trace_all=$tracefs/instances/$P-all # of all processes, to explain a failure
mkdir "$trace_engine" "$trace_all"
remove_traces() { # The events must be off before an instance can be removed.
	for instance in "$trace_engine" "$trace_all"; do
		echo 0 >"$instance/events/skb/kfree_skb/enable"
		rmdir "$instance"
	done
}
trap 'remove_traces; cleanup' EXIT
threads=
for thread in "/proc/$(engine_of "$ips")"/task/*; do threads+="${threads:+ || }common_pid == ${thread##*/}"; done
echo "$threads" >"$trace_engine/events/skb/kfree_skb/filter"
for instance in "$trace_engine" "$trace_all"; do
	echo 1 >"$instance/options/stacktrace"
	echo 1 >"$instance/events/skb/kfree_skb/enable"
done

ip netns exec "$P-cli" python3 "$HERE/monitor_edits.py" send 10.66.2.2 7000 "${RATE:-1000}" >"$WORK/sent" \
	2>"$WORK/send.log" &
sender=$!
wait_text "$WORK/got" '^[0-9]'
gateway python3 "$HERE/monitor_edits.py" edit "$edits" "$seed" 1 >"$WORK/edit.log"
# Datagrams go on until the sluice table is back after the last edit, and some after that.
wait_monitor ips
restored() { gateway nft list chain inet sluice forward 2>/dev/null | grep -c queue >/dev/null; }
wait_for restored || fail "the sluice table was not restored: $(gateway nft list tables)"
received=$(wc -l <"$WORK/got")
wait_more_lines "$WORK/got" '^[0-9]' $((received + ${RATE:-1000} / 2))
kill "$sender"
wait "$sender" || fail "the sender"
wait_equal "packets that wait" 0 waiting
# The receiver writes the end behind all that it has received.
udp_send cli 10.66.2.2 7000 end
wait_text "$WORK/got" '^end$'
# The monitor counts once a second which packets were flushed. A difference that remains is for the judge below.
wait_for flushed_counted ips || true

# No rule here drops packets, so each packet that a verdict of the engine frees is one that the kernel discarded.
cp "$trace_engine/trace" "$WORK/trace_engine"
cp "$trace_all/trace" "$WORK/trace_all"
discarded=$(grep -A1 -E '=> (sk_skb_reason_drop|kfree_skb(_reason)?)$' "$WORK/trace_engine" |
	grep -cE '=> (nfqnl|nf)_reinject$' || true)

# Prints the rules of the other program without the sluice table; counters are set to 0.
rules() { # rules HOST
	ip netns exec "$P-$1" nft list tables 2>/dev/null | grep -v ' sluice$' | while read -r _ family name; do
		ip netns exec "$P-$1" nft list table "$family" "$name" 2>/dev/null
	done | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'
}
rules gw >"$WORK/rules"
stop_process "$ips" || fail "exit code $?"
gateway nft list tables | grep sluice >/dev/null && fail "the table is still there"
rules gw | cmp -s - "$WORK/rules" || fail "the stop changed a neighbour's rules"
client python3 "$HERE/monitor_edits.py" edit "$edits" "$seed" 0 >>"$WORK/edit.log"
rules cli | cmp -s - "$WORK/rules" || fail "a neighbour's rules are not what its edits leave"
[ -s "$WORK/rules" ] || fail "the neighbour has no rules"
python3 "$HERE/monitor_edits.py" judge "$WORK/sent" "$WORK/got" "$WORK/ips/eve.json" "$discarded" \
	>"$WORK/judge.log" 2>&1 || {
	awk '/: kfree_skb:/ { if (stack) count[stack]++; stack = $NF } /^ *=> / { stack = stack " < " $2 }
		END { if (stack) count[stack]++; for (s in count) print count[s], s }' "$WORK/trace_all" |
			sort -rn >"$WORK/freed.log"
	fail "see judge.log; freed.log has each place where the kernel freed packets of any process"
}
cat "$WORK/judge.log"
cat "$WORK/edit.log"
