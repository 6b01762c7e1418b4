# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice nft doctor` on a kernel with nft's queue expression and flowtables: no findings beside an ordinary firewall,
# and findings about features that only this kernel has.
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

# examine NAME [ARGS...]: runs the doctor, and writes the findings to findings.log as "severity id rule text". The
# doctor must not change the ruleset.
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
stop_process "$ips" || fail "sluice run ended with exit code $?"

# The examples in nft/, and the flowtable of the guide, must give no findings.
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
	gateway nft -f "$file" || fail "cannot load nft/$mode.nft"
	examine "nft/$mode.nft" "${options[@]}"
	equal "nft/$mode.nft: findings" "$(grep -vE '^note |queue.no-listener' "$WORK/findings.log")" ""
	for table in sluice mine; do gateway nft delete table inet $table 2>/dev/null || true; done
done
awk '/^```nft$/ { inside = 1; text = ""; next }
	/^```$/ { if (inside && text ~ /flow add @fast/) printf "%s", text; inside = 0 } inside { text = text $0 "\n" }' \
	"$SOURCE/docs/guide/attach.md" | sed 's/lan0/g0/g; s/wan0/g1/g' >"$WORK/flowtable.nft"
[ -s "$WORK/flowtable.nft" ] || fail "docs/guide/attach.md has no flowtable"
gateway nft -f "$WORK/flowtable.nft" || fail "cannot load the flowtable of docs/guide/attach.md"
gateway "$SLUICE" nft install --config /dev/null --mode after --queue 0-3 >/dev/null
examine "the guide's flowtable"
equal "the guide's flowtable: findings" "$(grep -vE '^note |queue.no-listener' "$WORK/findings.log")" ""
found 'note offload.flowtable .*ct mark 0x0*100 flow add @fast'
gateway nft delete table inet gateway
gateway "$SLUICE" nft remove --config /dev/null

# Queue rules of the administrator.
queue() { # queue STATEMENT: replaces the table `mine` by one whose only rule is the statement
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

# A queue rule in the firewall's own chain, as in nft's manual: bypass accepts packets for the rest of the chain.
gateway nft delete table inet mine
gateway nft insert rule inet firewall forward 'udp dport 7001 queue flags bypass to 0'
examine "in the firewall's chain"
found 'broken queue.bypass-shared'
found 'broken queue.accept-shared'
# Without a listener a packet passes that the policy of the chain would drop.
background srv python3 "$HERE/traffic.py" udp-sink 7001 "$WORK/got"
listens "$WORK/got"
udp_send cli 10.66.2.2 7001 "through by bypass"
arrives "through by bypass" "$WORK/got"

# The sluice table: changed by another process, and installed again.
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
