# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel without NFQUEUE: an error names the missing module, no table is installed, and traffic passes.
. "$(dirname "$0")/lib.sh"
topology
for module in nft_queue xt_NFQUEUE nfnetlink_queue; do rmmod $module 2>/dev/null || true; done
[ ! -e /proc/net/netfilter/nfnetlink_queue ] || skip "nfnetlink_queue is built in"
: >"$WORK/empty.rules"
mkdir "$WORK/ips"
code=0
timeout 30 ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/ips" --queue 0 \
	--rules "$WORK/empty.rules" \
	--attach after >"$WORK/ips.log" 2>&1 || code=$?
equal "exit code" $code 1
grep -q "queue 0: the kernel has no nfnetlink_queue: modprobe nfnetlink_queue" "$WORK/ips.log" ||
	fail "does not say what is missing"
[ -z "$(gateway nft list tables)" ] || fail "a table is left"
client ping -c 3 -i 0.2 -W 5 -q 10.66.2.2 >/dev/null || fail "traffic does not pass"
