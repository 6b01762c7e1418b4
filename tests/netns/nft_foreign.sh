#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A table of our name that is somebody else's is neither replaced nor removed; guests in our table are not thrown out.
. "$(dirname "$0")/nft_lib.sh"

nft 'table inet sluice { chain forward { type filter hook forward priority 60; policy accept; counter; }; }'
wrong "install over a foreign table" 1 "'inet sluice' exists and was not created by sluice.*--table" install \
	--mode after
wrong "remove of a foreign table" 1 "'inet sluice' exists and was not created by sluice" remove
wrong "status of a foreign table" 1 "'inet sluice' exists and was not created by sluice" status
nft_command install --mode after --table mine >/dev/null || fail "another name"
nft_command remove --table mine
nft delete table inet sluice
nft 'table inet sluice { comment "made by slu"; }'
wrong "a comment like ours" 1 "not created by sluice" remove
nft delete table inet sluice

# In another family it is in nobody's way, and stays.
nft 'table ip6 sluice { chain x { }; }'
nft_command install --mode after >/dev/null || fail "install beside ip6"
equal "mode" "$(status mode)" after
nft_command remove || fail "remove beside ip6"
equal "tables" "$(nft list tables)" "table ip6 sluice"
nft delete table ip6 sluice

# What `print` prints is ours, and can be loaded twice.
if has_native; then
	nft_command print --mode after --queue 0-3 >"$WORK/print.nft"
	nft -f "$WORK/print.nft" && nft -f "$WORK/print.nft" || fail "nft -f"
	equal "mode of what nft loaded" "$(status mode)" after
	equal "queues of what nft loaded" "$(status queues)" '{"first": 0, "last": 3}'
	nft_command remove
fi

# Mode chain: base chains of the user, in the same table.
nft_command install --mode chain --queue 3 >/dev/null
nft add rule inet sluice sluice_exceptions tcp dport 22 accept
nft 'add chain inet sluice mine { type filter hook forward priority 0; policy drop; }'
nft 'add rule inet sluice mine jump sluice_ips'
nft_command install --mode chain --queue 4 >/dev/null || fail "other rules beside guests"
equal "queue" "$(status queues.first)" 4
nft list chain inet sluice sluice_exceptions | grep "dport 22 accept" >/dev/null || fail "the exceptions are gone"
nft list chain inet sluice mine | grep "jump sluice_ips" >/dev/null || fail "the jump is gone"
wrong "remove with guests" 1 "chain 'mine' that sluice did not create.*delete the chain" remove
wrong "another mode with guests" 1 "chain 'mine' that sluice did not create" install --mode after
nft delete chain inet sluice mine
nft_command remove || fail "remove without guests"
equal "ruleset" "$(ruleset)" ""
