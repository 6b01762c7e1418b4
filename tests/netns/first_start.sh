#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first start on a new host: root runs `sluice check` and `sluice run`, the user sluice exists, the folders of the
# daemon do not, and the command line names a rule file that the configuration names, too.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0

USER_ID=7411
chmod 755 "$WORK"
{ grep -v "^sluice:" /etc/passwd; echo "sluice:x:$USER_ID:$USER_ID::/nonexistent:/usr/sbin/nologin"; } >"$WORK/passwd"
{ grep -v "^sluice:" /etc/group; echo "sluice:x:$USER_ID:"; } >"$WORK/group"
mkdir "$WORK/etc"
echo 'alert udp any any -> any 7000 (msg:"seen"; content:"needle in a haystack"; sid:1;)' >"$WORK/etc/a.rules"
ln -s a.rules "$WORK/etc/link.rules"
cat >"$WORK/etc/sluice.yaml" <<YAML
rule-files: [$WORK/etc/a.rules]
log-dir: $WORK/var/log/sluice
data-dir: $WORK/var/lib/sluice
detect: { sgh-mpm-caching: yes, sgh-mpm-caching-path: $WORK/var/cache/sluice/sgh }
unix-command: { filename: $WORK/run/socket }
YAML

# With the users of the new host. `exec`, so that $! is the daemon.
on_host() {
	# shellcheck disable=SC2016
	exec unshare -m bash -c 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group &&
		exec ip netns exec "$@"' \
		"$WORK" "$P-gw" "$SLUICE" "$@"
}
(on_host check --config "$WORK/etc/sluice.yaml" --rules "$WORK/etc/link.rules") >"$WORK/check.log" 2>&1 ||
	fail "check: exit code $?"
grep -q "link.rules: note: this file is listed twice and is loaded once" "$WORK/check.log" ||
	fail "check does not name the file"
grep -q "1 rule loaded, 0 failed, 0 skipped, from 1 file" "$WORK/check.log" || fail "check counts wrong"

on_host run --config "$WORK/etc/sluice.yaml" --rules "$WORK/etc/link.rules" --queue 0 >"$WORK/run.log" 2>&1 &
LAST_PID=$!
wait_running "$LAST_PID" grep -q "sluice: ready" "$WORK/run.log" || fail "the daemon did not start"
grep -q "cannot create folder\|may not write" "$WORK/run.log" && fail "a folder is missing"
grep -q "pattern databases come from the cache" "$WORK/run.log" || fail "the daemon cannot use what the check compiled"
for folder in log/sluice lib/sluice cache/sluice/sgh; do
	equal "$folder" "$(stat -c '%a %u %g' "$WORK/var/$folder")" "750 $USER_ID $USER_ID"
done
udp_send cli 10.66.2.2 7000 "a needle in a haystack"
got=$(eve wait "$WORK/var/log/sluice/eve.json" 1 event_type=alert)
equal "alerts" "$got" 1
stop_process "$LAST_PID" || fail "exit code $?"

# A folder that cannot be created: the cause, and the start fails.
: >"$WORK/file"
code=0
(on_host run --config "$WORK/etc/sluice.yaml" --queue 0 --log-dir "$WORK/file/log") >"$WORK/failed.log" 2>&1 || code=$?
equal "exit code without a log folder" $code 1
grep -q "cannot create folder $WORK/file/log: Not a directory" "$WORK/failed.log" ||
	fail "the log does not say what is wrong with the folder"
