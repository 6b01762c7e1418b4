#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside ufw, with its folders replaced by copies.
. "$(dirname "$0")/firewall_lib.sh"
needs ufw
mkdir "$WORK/etc" "$WORK/lib"
cp -r /etc/ufw/. "$WORK/etc/"
cp /etc/default/ufw "$WORK/default"
sed -i 's/^IPV6=.*/IPV6=yes/; s/^DEFAULT_FORWARD_POLICY=.*/DEFAULT_FORWARD_POLICY="DROP"/' "$WORK/default"
REPLACE="/etc/ufw=$WORK/etc /etc/default/ufw=$WORK/default"
firewall_start() {
	generator ufw default allow incoming && generator ufw route allow proto udp to any port 7000 && generator ufw --force enable
}
firewall_reload() { generator ufw reload; }
firewall_ready
beside after 3
beside before 5
beside repeat 5
account after
account before
# Its files for rules of one's own, which it puts ahead of those it writes.
for file in "before ufw" "before6 ufw6"; do
	chain_rules | sed '/^:/!d' >"$WORK/chains"
	{ chain_rules | sed '/^:/d'; echo "-A ${file#* }-before-forward -p udp --dport 7000 -j sluice_ips"; } >"$WORK/rules"
	sed -i -e "/^\*filter/r $WORK/chains" -e "/^# End required lines/r $WORK/rules" "$WORK/etc/${file% *}.rules"
done
RELOAD_OPENS=1 # for a moment it accepts everything; the rule that feeds the queues is one of those that are away then
firewall_reload || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
