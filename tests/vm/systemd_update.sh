#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sluice-update.service under systemd, with Debian's suricata-update: as the user sluice, within its restrictions, it
# downloads rules and reloads the confined daemon. `sluice update` as root changes to the same user.
. "$(dirname "$0")/lib_systemd.sh"
one_client
configure 500
rules=/var/lib/sluice/rules/suricata.rules
sed -i "s|rule-files: .*|rule-files: [t.rules, $rules]|" "$ETC/sluice.yaml"
echo 'security: {sandbox: auto}' >>"$ETC/sluice.yaml"
mkdir -p $WORK/web /etc/systemd/system/sluice-update.service.d
printf '[Service]\nStandardOutput=append:%s/update\nStandardError=append:%s/update\n' $WORK $WORK \
	>/etc/systemd/system/sluice-update.service.d/test.conf

# source SIZE REVISION: a rule that drops pings of this size, and one that Sluice does not support.
source() {
	cat >$WORK/web/own.rules <<-RULES
		drop icmp any any -> any any (msg:"size"; itype:8; dsize:$1; sid:10; rev:$2;)
		alert icmp any any -> any any (msg:"unsupported"; lua:x.lua; sid:11;)
	RULES
}
source 100 1
python3 -m http.server --bind 127.0.0.1 --directory $WORK/web 8000 >$WORK/web.log 2>&1 &
start_service
pings() { client ping -c 1 -W 2 -q -s "$1" 10.66.1.1 >/dev/null; }
pings 100 || fail "a ping is lost"

# night TEXT: the downloads are a day old, then the service updates the rules, and prints TEXT.
night() {
	find /var/lib/sluice/update/cache -type f -exec touch -d @1000000000 {} +
	: >$WORK/update
	systemctl start sluice-update.service || fail "sluice-update.service: $(cat $WORK/update)"
	cat $WORK/update
	grep -q "$1" $WORK/update || fail "the update did not print '$1'"
}
sluice update --config "$ETC/sluice.yaml" add-source own http://127.0.0.1:8000/own.rules || fail "add-source"
equal "owner of the source" "$(stat -c %U /var/lib/sluice/update/sources/own.yaml)" sluice
mkdir -p /var/lib/sluice/update/cache
chown sluice:sluice /var/lib/sluice/update/cache
night "updated: 1 rules added"
equal "owner of the rules" "$(stat -c %U $rules)" sluice
await "the reload" grep -q "reloaded: generation 2" $WORK/log
pings 100 && fail "the new rule does not drop"
pings 200 || fail "another ping is lost"
grep -q "1  lua" $WORK/update || fail "the unsupported keyword is not reported"

source 200 2
night "updated: .* 1 changed"
await "the reload" grep -q "reloaded: generation 3" $WORK/log
pings 200 && fail "the changed rule does not drop"
pings 100 || fail "the old rule drops"

# A broken source is no failure of the service; the previous rules stay.
echo "<html>" >$WORK/web/own.rules
night "the download has no rules; its previous rules are used"
pings 200 && fail "the previous rule does not drop any more"

# Root, too, uses the files of the user sluice.
source 100 3
sluice update --force --config "$ETC/sluice.yaml" || fail "sluice update as root"
equal "files of other users" "$(find /var/lib/sluice ! -user sluice)" ""
await "the reload" grep -q "reloaded: generation 4" $WORK/log
pings 100 && fail "the rule of the update by root does not drop"

systemctl start sluice-update.timer || fail "the timer does not start"
[ -n "$(systemctl show -P NextElapseUSecRealtime sluice-update.timer)" ] || fail "the timer has no next time"
