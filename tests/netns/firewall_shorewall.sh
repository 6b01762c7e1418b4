#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside Shorewall, for IPv4.
FAMILIES=10.66.2.2
. "$(dirname "$0")/firewall_lib.sh"
needs shorewall
mkdir "$WORK/etc" "$WORK/var"
cp -r /etc/shorewall/. "$WORK/etc/"
sed -i 's/^STARTUP_ENABLED=.*/STARTUP_ENABLED=Yes/; s/^STARTUP_LOG=.*/STARTUP_LOG=/; s/^LOG_BACKEND=.*/LOG_BACKEND=/' \
	"$WORK/etc/shorewall.conf"
printf 'fw firewall\nlan ipv4\nwan ipv4\n' >"$WORK/etc/zones"
printf '?FORMAT 2\nlan g0\nwan g1\n' >"$WORK/etc/interfaces"
printf 'lan wan DROP\nwan lan DROP\nall all ACCEPT\n' >"$WORK/etc/policy"
printf 'ACCEPT lan wan udp 7000\n' >"$WORK/etc/rules"
REPLACE="/etc/shorewall=$WORK/etc /var/lib/shorewall=$WORK/var"
firewall_start() { generator shorewall start; }
firewall_reload() { generator shorewall reload; }
firewall_ready
beside after 3
beside repeat 5
account after
# Shorewall's own action NFQUEUE in place of ACCEPT. It is for IPv4 only, and so is the gateway.
gateway sysctl -qw net.ipv6.conf.all.forwarding=0
recipe shorewall >"$WORK/etc/rules"
firewall_reload || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
recipe shorewall | sed '/ESTABLISHED/,/wan *lan/d' >"$WORK/etc/rules"
condemned "without established connections" broken order.accept-established --mode chain
recipe shorewall >"$WORK/etc/rules"
condemned "not said to be in place of an accept" broken queue.accept-shared
