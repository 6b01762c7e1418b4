#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Repeat mode and tunnels that begin or end on the gateway: the mark of a packet that was inspected does not stay with
# what is unwrapped from it, nor with what it is wrapped into; each is inspected on its own hook. TUNNELS: kinds of
# tunnels to try; DIRECTIONS: in (what is unwrapped) and out (what is wrapped).
. "$(dirname "$0")/lib.sh"
topology
cat >"$WORK/t.rules" <<'RULES'
alert udp any any -> any 7000 (msg:"payload"; content:"hello"; sid:1;)
RULES
udp_sink 7000 "$WORK/got"
arrived() { grep -c hello "$WORK/got" || true; }

# tunnel_device HOST KIND LOCAL REMOTE: t0, with the addresses 10.67.0.1 (gateway) and .2
tunnel_device() {
	local host=$1 kind=$2 inner=$5
	case $kind in
	vxlan) ip -n "$P-$host" link add t0 type vxlan id 7 local "$3" remote "$4" dstport 4789 ;;
	*) ip -n "$P-$host" link add t0 type "$kind" local "$3" remote "$4" ;;
	esac || return
	ip -n "$P-$host" addr add "$inner/24" dev t0
	ip -n "$P-$host" link set t0 mtu 1400 up
	ip netns exec "$P-$host" sysctl -qw net.ipv4.conf.t0.rp_filter=0 net.ipv6.conf.t0.disable_ipv6=1
}

# run NAME HOOKS ALERTS [CHAIN]: sends five words through, without that chain of our table: so many alerts. What has
# arrived at the server has passed all hooks, and the stop writes all events.
run() {
	local name=$1 before
	start_sluice "$name" --queue 0 --attach repeat --set nft.monitor=off --set "nft.hooks=[$2]" --mark 0x10/0x30 \
		--rules "$WORK/t.rules"
	[ -z "${4:-}" ] || gateway nft flush chain inet sluice "$4"
	before=$(arrived)
	udp_send cli "$TO" 7000 hello1 hello2 hello3 hello4 hello5
	wait_equal "$name: datagrams that arrived" $((before + 5)) arrived
	stop_process "$LAST_PID" || fail "exit code $?"
	equal "$name: alerts" "$(events "$name" event_type=alert alert.signature_id=1)" "$3"
}
by_hook() { events "$1" event_type=alert "sluice.queue.hook=$2" alert.signature_id=1; }

tried=0
for kind in ${TUNNELS:-vxlan}; do
	# The client's packets to 10.66.2.9 come in a tunnel that ends here.
	tunnel_device gw "$kind" 10.66.1.1 10.66.1.2 10.67.0.1 2>/dev/null || continue
	tunnel_device cli "$kind" 10.66.1.2 10.66.1.1 10.67.0.2 || fail "no tunnel $kind"
	tried=$((tried + 1))
	ip -n "$P-cli" route add 10.66.2.9/32 via 10.67.0.1 dev t0
	client ping -c1 -W2 -q 10.66.2.9 >/dev/null || fail "$kind: the tunnel does not work"
	TO=10.66.2.9
	run "in-$kind" input,forward 10
	equal "$kind: carriers inspected" "$(by_hook "in-$kind" input)" 5
	equal "$kind: unwrapped ones inspected again" "$(by_hook "in-$kind" forward)" 5
	equal "$kind: marked ones seen" "$(last_stats "in-$kind" queue.0.marked)" 0
	# That is so because of this chain.
	run "left-$kind" input,forward 5 unmark_input
	equal "$kind: carriers inspected" "$(by_hook "left-$kind" input)" 5
	equal "$kind: without it, unwrapped ones pass" "$(by_hook "left-$kind" forward)" 0
	ip -n "$P-cli" route del 10.66.2.9/32
	ip -n "$P-cli" link del t0
	ip -n "$P-gw" link del t0

	[[ ${DIRECTIONS:-in out} = *out* ]] || continue
	# And to 10.66.3.1 go on in a tunnel that begins here.
	tunnel_device gw "$kind" 10.66.2.1 10.66.2.2 10.67.0.1
	tunnel_device srv "$kind" 10.66.2.2 10.66.2.1 10.67.0.2
	ip -n "$P-srv" addr add 10.66.3.1/32 dev lo
	ip -n "$P-gw" route add 10.66.3.1/32 via 10.67.0.2 dev t0
	client ping -c1 -W2 -q 10.66.3.1 >/dev/null || fail "$kind: the tunnel does not work"
	TO=10.66.3.1
	run "out-$kind" forward,output 10
	equal "$kind: packets inspected" "$(by_hook "out-$kind" forward)" 5
	equal "$kind: what they are wrapped into inspected" "$(by_hook "out-$kind" output)" 5
	run "kept-$kind" forward,output 5 unmark
	equal "$kind: without it, the carriers pass" "$(by_hook "kept-$kind" output)" 0
	ip -n "$P-gw" link del t0
	ip -n "$P-srv" link del t0
	ip -n "$P-srv" addr del 10.66.3.1/32 dev lo
done
[ "$tried" -gt 0 ] || skip "the kernel has none of: ${TUNNELS:-vxlan}"
