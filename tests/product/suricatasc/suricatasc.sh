#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suricatasc.sh RELEASE: runs the commands of commands.py with suricatasc of a Debian release, in Suricata of the same
# release and in Sluice, and compares the answers.
RELEASE=$1
HERE_PRODUCT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PRODUCT_CACHE:?folder for downloads}
if ! message=$("$HERE_PRODUCT/../fetch" "$RELEASE" "$cache" suricata bash coreutils 2>&1); then
	echo "SKIP: cannot download suricata of $RELEASE: ${message##*$'\n'}"
	exit 77
fi
. "$HERE_PRODUCT/../../netns/lib.sh"
ROOT=$cache/$RELEASE/root
chroot "$ROOT" /usr/bin/suricatasc --help >/dev/null 2>&1 || skip "suricatasc of $RELEASE does not run here"

# The files of both programs have the same paths, inside and outside of the folder that becomes the root of Suricata.
inside=/tmp/sc$$
mkdir -p "$ROOT$inside/data" "$ROOT/var/log/suricata"
trap 'rm -rf "$ROOT$inside" "$inside"; cleanup' EXIT
ln -s "$ROOT$inside" "$inside"
cat >"$ROOT$inside/t.rules" <<RULES
alert tcp any any -> any 7001 (msg:"port"; sid:1;)
alert tcp any any -> any 7001 (msg:"hello"; content:"hello"; sid:5;)
alert http any any -> any any (msg:"host"; http.host; dataset:isset,hosts,type string,save $inside/data/hosts.lst; sid:2;)
alert ip any any -> any any (msg:"bad"; hostbits:isset,bad,src; sid:3;)
alert ip any any -> any any (msg:"broken"; itype:8 sid:4;)
RULES
cat >"$ROOT$inside/suricata.yaml" <<YAML
%YAML 1.1
---
vars: { address-groups: { HOME_NET: any, EXTERNAL_NET: any } }
default-log-dir: $inside
unix-command: { enabled: yes, filename: $inside/suricata.socket }
outputs: [ { eve-log: { enabled: yes, filename: eve.json, types: [ alert ] } } ]
default-rule-path: $inside
rule-files: [ t.rules ]
datasets: { rules: { allow-write: true, allow-absolute-filenames: true } }
flow: { memcap: 64mb }
YAML

topology
queue_rule --queue-balance 0:1
background srv python3 "$HERE/traffic.py" tcp-echo 7001
ip netns exec "$P-gw" chroot "$ROOT" /usr/bin/suricata -c "$inside/suricata.yaml" --af-packet=g1 -k none \
	-l "$inside" --runmode workers >"$WORK/suricata.log" 2>&1 &
start_sluice ips --queue 0-1 --rules "$inside/t.rules" --no-console --set "data-dir=$ROOT$inside/data" \
	--set datasets.rules.allow-write=yes --set datasets.rules.allow-absolute-filenames=yes --set flow.memcap=64MiB \
	--set "unix-command.filename=$ROOT$inside/sluice.socket"
wait_for grep -q "Engine started" "$WORK/suricata.log" || skip "Suricata of $RELEASE does not start here"

# A flow that lasts, for get-flow-stats-by-id: Suricata shows its id in the alert.
mkfifo "$WORK/steps"
client python3 "$HERE/traffic.py" tcp-steps 10.66.2.2 7001 <"$WORK/steps" >"$WORK/answers" 2>&1 &
exec 3>"$WORK/steps"
echo hello >&3
wait_text "$WORK/answers" hello
id() { sed -n '/"signature_id":1,/s/.*"flow_id": *\([0-9]*\).*/\1/p' "$1" 2>/dev/null | head -n 1; }
has_id() { [ -n "$(id "$1")" ]; }
for _ in 1 2 3 4 5; do echo hello >&3; done
wait_for has_id "$ROOT$inside/eve.json" || fail "no alert of Suricata"
wait_for has_id "$WORK/ips/eve.json" || fail "no alert of Sluice"

python3 "$HERE_PRODUCT/commands.py" "$ROOT" "$inside" "$(id "$ROOT$inside/eve.json")" "$(id "$WORK/ips/eve.json")" ||
	fail "the answers differ"

# The pcap commands of `sluice replay`.
mkdir "$ROOT$inside/out" "$ROOT$inside/folder"
python3 "$HERE_PRODUCT/capture.py" "$ROOT$inside/a.pcap"
cp "$ROOT$inside/a.pcap" "$ROOT$inside/folder/b.pcap"
"$SLUICE" replay --rules "$inside/t.rules" --unix-socket "$ROOT$inside/replay.socket" >"$WORK/replay.log" 2>&1 &
REPLAY=$!
wait_for test -S "$ROOT$inside/replay.socket" || fail "no socket of the replay"
send() { chroot "$ROOT" /usr/bin/suricatasc -c "$1" "$inside/replay.socket"; }
current() { send pcap-current | grep -o '"None"'; }
# The process of the replay opens the paths that the client sends; they lead to the same files.
# suricatasc of Suricata 8 exits with 0 after a refusal, too.
send "pcap-file $inside/nosuch.pcap $inside/out" >"$WORK/said" || true
grep -q '"NOK"' "$WORK/said" || fail "a missing file is added: $(cat "$WORK/said")"
grep -q "filename does not exist" "$WORK/said" || fail "$(cat "$WORK/said")"
send "pcap-file $inside/a.pcap $inside/out" | grep -q "Successfully added file to list" || fail "pcap-file"
wait_events_in() { [ "$(grep -c '"signature_id":5,' "$ROOT$inside/out/eve.json" 2>/dev/null)" = "$1" ]; }
wait_for wait_events_in 1 || fail "no alert of the capture: $(cat "$WORK/replay.log")"
# suricatasc of Suricata 8.0 requires a third argument, which Suricata does not document.
{ send "pcap-file-continuous $inside/folder $inside/out" || send "pcap-file-continuous $inside/folder $inside/out true"; } \
	>"$WORK/said" 2>&1 || true
grep -q "Successfully added" "$WORK/said" || fail "pcap-file-continuous: $(cat "$WORK/said")"
wait_for wait_events_in 2 || fail "no alert of the folder"
cp "$ROOT$inside/a.pcap" "$ROOT$inside/folder/c.pcap"
wait_for wait_events_in 3 || fail "no alert of the file that was added to the folder"
send pcap-interrupt | grep -q Interrupted || fail "pcap-interrupt"
wait_for current || fail "the folder is still watched: $(send pcap-current)"
send pcap-last-processed | grep -qE '"message": *1[0-9]{12}' || fail "$(send pcap-last-processed)"
send pcap-file-number | grep -qE '"message": *0' || fail "$(send pcap-file-number)"
send shutdown | grep -q "Closing" || fail "shutdown"
wait "$REPLAY" || fail "exit code $? of the replay"
[ ! -e "$ROOT$inside/replay.socket" ] || fail "the socket is left"
