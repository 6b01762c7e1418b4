#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# debian.sh RELEASE: the suricata.yaml of Debian's package, as it is installed, is imported: the report has each key
# once, and Sluice starts with the result, alerts on a bad request, drops a worse one, and lets a good one pass.
release=$1
PRODUCT_CACHE=${PRODUCT_CACHE:-$(dirname "$0")/../../../build/product}
TEST_SOURCE=$(cd "$(dirname "$0")" && pwd)
. "$TEST_SOURCE/../../netns/lib.sh"
. "$TEST_SOURCE/../../netns/import_lib.sh"
python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
bash "$TEST_SOURCE/fetch" "$release" "$PRODUCT_CACHE" >"$WORK/fetch.log" 2>&1 ||
	skip "the package suricata of $release cannot be downloaded: $(tail -n 1 "$WORK/fetch.log")"

# The files of the package at their places, in the mount namespace of this test (lib.sh).
root=$(cd "$PRODUCT_CACHE/$release/root" && pwd)
mkdir -p "$WORK/lib/suricata/rules"
bad_request_rules "$WORK/lib/suricata/rules/suricata.rules"
mount -t overlay overlay -o "lowerdir=$root/etc:/etc" /etc 2>/dev/null || skip "no overlay can be mounted"
mount -t overlay overlay -o "lowerdir=$WORK/lib:/var/lib" /var/lib
[ -s /etc/suricata/suricata.yaml ] || fail "the package has no suricata.yaml"

"$SLUICE" import /etc/suricata/suricata.yaml --output "$WORK/sluice.yaml" --json >"$WORK/report" || fail "not imported"
keys_once "$WORK/report"
equal "unknown keys" "$(grep -c '"group":"unknown"' "$WORK/report" || true)" 0

topology
web_server
queue_rule --queue-num 0
# The shipped file does not say that Suricata is inline, so that the import begins with alert-only.
grep -q "^ips.mode: alert-only # added" "$WORK/sluice.yaml" || fail "the import of a passive configuration drops"
inspects debian "$WORK/sluice.yaml" 2 --set ips.mode=drop
grep -o '"event_type":"[a-z]*"' "$WORK/debian/eve.json" | sort | uniq -c
