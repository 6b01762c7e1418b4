# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice nft` on a kernel with both queue expressions: native is the default; print and install give the same ruleset;
# and both expressions pass packets if no daemon listens.
. "$(dirname "$0")/lib.sh"
topology

queues() { gateway nft list ruleset 2>/dev/null | grep -o 'queue .*' | sort -u; }
nft_command() {
	action=$1
	shift
	gateway sluice nft "$action" --config /dev/null "$@"
}
plain() { sed -E -e "s/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/" -e "s/, [0-9]+ packets .*//"; }

# same ARGS...: the output of `sluice nft print`, loaded by nft, gives the same ruleset as `sluice nft install`.
# tests/netns/nft_print.sh has further cases.
same() {
	nft_command print --native "$@" >/tmp/print.nft || fail "print $*"
	gateway nft -f /tmp/print.nft || fail "nft -f: $*"
	gateway nft -f /tmp/print.nft || fail "nft -f again: $*"
	gateway nft list ruleset | plain >/tmp/loaded
	nft_command status | plain >/tmp/status.loaded || fail "status of what nft loaded: $*"
	nft_command remove || fail "remove what nft loaded: $*"
	equal "left" "$(gateway nft list ruleset)" ""
	nft_command install "$@" >/tmp/install.log || fail "install $*"
	gateway nft list ruleset | plain >/tmp/installed
	nft_command status | plain >/tmp/status.installed || fail "status $*"
	diff /tmp/loaded /tmp/installed || fail "printed and installed differ: $*"
	diff /tmp/status.loaded /tmp/status.installed || fail "the status differs: $*"
	nft_command remove || fail "remove $*"
}
same --mode after --queue 8-11 --no-bypass --hook forward,input,output
same --mode route --queue 7 --family ip6
same --mode after --queue 0-1 --family bridge --hook forward,input,output

nft_command install --family ip --mode after --queue 0-3 >/tmp/install.log
equal "spread" "$(queues)" "queue flags bypass to symhash mod 4"
nft_command status --json | grep '"expression":"native","bypass":true' >/dev/null ||
	fail "status: $(nft_command status --json)"
nft_command install --family ip --mode after --queue 8-9 --no-bypass >/tmp/install.log
equal "spread from 8" "$(queues)" "queue to symhash mod 2 offset 8"
nft_command status --json | grep '"queues":{"first":8,"last":9}' >/dev/null ||
	fail "status: $(nft_command status --json)"

# Without a listener packets are dropped, or pass with bypass. Both expressions do the same.
client ping -c 1 -W 2 10.66.2.2 >/dev/null && fail "a packet passed without bypass"
for expression in --native --xt; do
	nft_command install --family ip --mode after --queue 8-9 $expression >/tmp/install.log || fail "install $expression"
	client ping -c 1 -W 5 10.66.2.2 >/dev/null || fail "a packet was dropped although the rule has bypass: $expression"
	nft_command status --json | grep '"packets":2' >/dev/null || fail "$expression: $(nft_command status --json)"
done
gateway sluice nft install --config /dev/null --family bridge --xt >/tmp/install.log 2>&1 &&
	fail "the target in a bridge"
nft_command install --xt --queue 0-3 >/tmp/install.log || fail "the target in inet"
nft_command status | grep "table inet sluice.*queue 0-3 by the xt NFQUEUE target" >/dev/null ||
	fail "$(nft_command status)"
nft_command remove
equal "left" "$(gateway nft list ruleset)" ""
