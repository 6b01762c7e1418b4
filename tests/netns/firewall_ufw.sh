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
