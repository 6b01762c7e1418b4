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
	generator ufw default allow incoming && generator ufw route allow proto udp to any port 7000 &&
		generator ufw --force enable
}
firewall_reload() { generator ufw reload; }
firewall_ready
beside after 3
beside before 5
beside repeat 5
account after
account before
# Its files for rules of one's own, which it puts ahead of those it writes.
cp "$WORK"/etc/before*.rules "$WORK/lib"
insert() { # insert EDIT: the recipe, edited by sed, into the files as they were
	local file
	for file in "before ufw" "before6 ufw6"; do
		recipe ufw | sed -e "s/ufw-before/${file#* }-before/; $1" >"$WORK/rules"
		sed "/^# End required lines/r $WORK/rules" "$WORK/lib/${file% *}.rules" >"$WORK/etc/${file% *}.rules"
	done
}
insert ''
RELOAD_OPENS=1 # for a moment it accepts everything; the rule that feeds the queues is one of those that are away then
firewall_reload || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
# The doctor finds each mistake in the recipe.
insert '/ESTABLISHED/d'
condemned "without established connections" broken order.accept-replies
insert 's/-p udp --dport 7000 //'
condemned "a jump for everything" broken queue.accept-shared
condemned "a jump for everything" broken queue.bypass-shared
insert 's/--ctstate RELATED,ESTABLISHED -j sluice_ips/--ctstate RELATED,ESTABLISHED -j ACCEPT/'
condemned "established connections accepted ahead" broken order.accept-established
insert '/-j sluice_ips/d'
condemned "no jump" broken order.unused
insert ''
cp "$WORK/lib/before6.rules" "$WORK/etc/"
condemned "nothing for IPv6" warning family.ipv6
