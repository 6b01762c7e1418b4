#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside firewalld: its own core writes the rules, without the D-Bus service around it.
. "$(dirname "$0")/firewall_lib.sh"
needs firewall-offline-cmd
mkdir -p "$WORK/etc/zones" "$WORK/etc/policies"
cp -r /etc/firewalld/. "$WORK/etc/"
for zone in "lan g0" "wan g1"; do
	echo "<?xml version=\"1.0\"?><zone target=\"ACCEPT\"><interface name=\"${zone#* }\"/></zone>" \
		>"$WORK/etc/zones/${zone% *}.xml"
done
cat >"$WORK/etc/policies/through.xml" <<'XML'
<?xml version="1.0"?>
<policy target="DROP"><ingress-zone name="lan"/><egress-zone name="wan"/><port port="7000" protocol="udp"/></policy>
XML
cat >"$WORK/core.py" <<'PY'
import sys
from firewall.core.fw import Firewall
firewall = Firewall()
firewall.start()
if sys.argv[1] == 'reload':
    firewall.reload()
PY
REPLACE="/etc/firewalld=$WORK/etc"
firewall_start() {
	generator /usr/bin/python3 "$WORK/core.py" start && gateway nft list tables | grep firewalld >/dev/null
}
firewall_reload() { generator /usr/bin/python3 "$WORK/core.py" reload; }
firewall_ready
beside after 3
beside before 5
beside repeat 5
account after
account before
