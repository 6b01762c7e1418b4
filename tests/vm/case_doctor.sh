# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor where the kernel has nft's own queue and flowtables: clean beside an ordinary firewall with a daemon that
# listens, and the findings about what only this kernel has.
. "$(dirname "$0")/lib.sh"
topology
gateway nft -f - <<'NFT'
table inet firewall {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		udp dport 7000 accept
		icmp type echo-request accept
	}
}
NFT
echo 'drop udp any any -> any 7000 (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"

# examine NAME [ARGS...]: findings as "severity id", and the ruleset is what it was.
examine() {
	NAME=$1
	shift
	gateway nft -a list ruleset | sed -E 's/packets [0-9]+ bytes [0-9]+//' >"$WORK/before"
	CODE=0
	gateway "$SLUICE" nft doctor --config /dev/null --json "$@" >"$WORK/found" || CODE=$?
	gateway nft -a list ruleset | sed -E 's/packets [0-9]+ bytes [0-9]+//' | cmp -s - "$WORK/before" ||
		fail "$NAME: the ruleset changed"
	python3 -c '
import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    print(f["severity"], f["id"], f.get("rule", {}).get("text", ""), f["what"])' "$WORK/found" >"$WORK/findings.log"
}
found() { grep -qE "$1" "$WORK/findings.log" || fail "$NAME: no finding /$1/"; }

start_sluice ips --config /dev/null --queue 0-3 --attach after --rules "$WORK/t.rules"
ips=$LAST_PID
examine "clean"
[ "$CODE" = 0 ] || fail "clean: exit code $CODE"
equal "clean: findings" "$(cat "$WORK/findings.log")" ""

# Offload, behind our chain: the place makes no difference.
gateway nft 'add table inet shortcut
	add flowtable inet shortcut fast { hook ingress priority 0; devices = { g0, g1 }; }' || fail "no flowtable"
gateway nft 'add chain inet shortcut forward { type filter hook forward priority 200; policy accept; }'
gateway nft 'add rule inet shortcut forward meta l4proto udp flow add @fast'
examine "flowtable"
found 'broken offload.flowtable .*flow add @fast.*g[01],g[01]'
[ "$CODE" = 2 ] || fail "flowtable: exit code $CODE"
gateway nft flush chain inet shortcut forward
examine "flowtable without a rule"
found 'note offload.unused'
gateway nft 'add rule inet shortcut forward ct mark 0x77 flow add @fast'
examine "flowtable for marked connections"
found 'note offload.flowtable ct mark 0x0*77 flow add @fast'
gateway nft delete table inet shortcut
stop_process "$ips" || fail "exit code $?"

# What the documents say: the examples in nft/ as they are, and the guide's flowtable.
for file in "$SOURCE"/nft/*.nft; do
	mode=$(basename "$file" .nft)
	options=(--mode "$mode")
	case $mode in
	repeat) options+=(--set queue.verdict=repeat --mark 0x1/0x1) ;;
	offload) options=(--mode after --set nft.offload.flows=both) ;;
	chain)
		{
			echo 'table inet mine {'
			grep -v '^#' "$file"
			echo 'chain forward {
		type filter hook forward priority 0; policy drop
		ct state established,related jump sluice_ips; tcp dport 80 jump sluice_ips
	}'
			echo '}'
		} >"$WORK/chain.nft"
		file=$WORK/chain.nft
		;;
	esac
	gateway nft -f "$file" || fail "nft/$mode.nft is not loaded"
	examine "nft/$mode.nft" "${options[@]}"
	equal "nft/$mode.nft: findings" "$(grep -vE '^note |queue.no-listener' "$WORK/findings.log")" ""
	for table in sluice mine; do gateway nft delete table inet $table 2>/dev/null || true; done
done
awk '/^```nft$/ { inside = 1; text = ""; next }
	/^```$/ { if (inside && text ~ /flow add @fast/) printf "%s", text; inside = 0 } inside { text = text $0 "\n" }' \
	"$SOURCE/docs/guide/attach.md" | sed 's/lan0/g0/g; s/wan0/g1/g' >"$WORK/flowtable.nft"
[ -s "$WORK/flowtable.nft" ] || fail "docs/guide/attach.md has no flowtable"
gateway nft -f "$WORK/flowtable.nft" || fail "the guide's flowtable is not loaded"
gateway "$SLUICE" nft install --config /dev/null --mode after --queue 0-3 >/dev/null
examine "the guide's flowtable"
equal "the guide's flowtable: findings" "$(grep -vE '^note |queue.no-listener' "$WORK/findings.log")" ""
found 'note offload.flowtable .*ct mark 0x0*100 flow add @fast'
gateway nft delete table inet gateway
gateway "$SLUICE" nft remove --config /dev/null

# Native queue rules of somebody's own.
queue() { # queue STATEMENT: in a chain of its own, ahead of nothing
	gateway nft delete table inet mine 2>/dev/null || true
	gateway nft "add table inet mine; add chain inet mine f { type filter hook forward priority 60; }
		add rule inet mine f $1"
}
queue 'queue flags bypass to symhash mod 4'
examine "symhash" --queue 0-3
equal "symhash: findings" "$(grep -v no-listener "$WORK/findings.log")" ""
found 'warning queue.no-listener queue flags bypass to symhash mod 4 queues 0-3: no listener'
queue 'queue to 0-3'
examine "by addresses" --queue 0-3
found 'note queue.by-addresses queue to 0-3'
found 'broken queue.no-listener'
queue 'queue flags bypass,fanout to 0-3'
examine "fanout" --queue 0-3
found 'warning queue.fanout queue flags bypass,fanout to 0-3'
queue 'queue flags bypass to numgen inc mod 4'
examine "numgen" --queue 0-3
found 'warning queue.not-by-flow queue flags bypass to numgen inc mod 4'
queue 'queue flags bypass to jhash ip saddr . tcp sport mod 4'
examine "jhash" --queue 0-3
found 'warning queue.not-by-flow .*jhash ip saddr . tcp sport mod 4'
queue 'queue flags bypass to jhash ct original ip saddr . ct original ip daddr mod 4'
examine "jhash of the original tuple" --queue 0-3
equal "jhash: findings" "$(grep -v no-listener "$WORK/findings.log" || true)" \
	"$(grep family "$WORK/findings.log" || true)"

# In the firewall's own chain: what nft's manual shows, and what it costs.
gateway nft delete table inet mine
gateway nft insert rule inet firewall forward 'udp dport 7001 queue flags bypass to 0'
examine "in the firewall's chain"
found 'broken queue.bypass-shared'
found 'broken queue.accept-shared'
# And so it is: what the policy drops passes, because nobody listens.
background srv python3 "$HERE/traffic.py" udp-sink 7001 "$WORK/got"
listens "$WORK/got"
udp_send cli 10.66.2.2 7001 "through by bypass"
arrives "through by bypass" "$WORK/got"

# Our own table by the native expression: altered, and as it was.
gateway nft delete table inet firewall
gateway "$SLUICE" nft install --config /dev/null --mode after --queue 0-3 >/dev/null
examine "own"
equal "own: findings" "$(grep -v no-listener "$WORK/findings.log" || true)" ""
handle=$(gateway nft -a list chain inet sluice forward | sed -n 's/.*symhash.*# handle //p')
gateway nft replace rule inet sluice forward handle "$handle" queue to 0-3
examine "own, altered"
found 'warning own.altered'
gateway "$SLUICE" nft install --config /dev/null --mode after --queue 0-3 >/dev/null
examine "own, installed again"
equal "own again: findings" "$(grep -v no-listener "$WORK/findings.log" || true)" ""
