#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rule set of which 1 % has mistakes and 5 % is unsupported: the service starts, a reload works, and `sluice rules
# --failed` lists exactly those rules; so do the stats and the engine events. A rule file that cannot be read is
# reported in the same way. With --strict neither a start nor a reload succeeds.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
ask() { "$SLUICE" "$@" --socket "$WORK/socket"; }

# generate FILE: 1,000 rules. What must be left out goes to FILE.wanted: kind, sid, line.
generate() {
	python3 - "$1" <<'PYTHON'
import sys

mistakes = ['content:"x', 'contnt:"x";', 'content:"x"; depth:abc;', 'dsize:>;', 'content:"x"; content:"|0g|";']
features = ['sd_pattern:2,us_social;', 'js_data; content:"x";', 'luaxform:x.lua;', 'sip_method:invite;',
            'gtp_type:1;', 'lua:x.lua;']
headers = ['alert jabber', 'alert irc', 'activate tcp', 'alert mms']
with open(sys.argv[1], 'w') as rules, open(sys.argv[1] + '.wanted', 'w') as wanted:
    for line in range(1, 1001):
        head, options = 'alert udp', f'content:"payload {line}";'
        if line % 100 == 50:
            options = mistakes[line // 100 % len(mistakes)]
            wanted.write(f'mistake {line} {line}\n')
        elif line % 20 == 7:
            pick = line // 20
            if pick % 2:
                options = features[pick // 2 % len(features)]
            else:
                head = headers[pick // 2 % len(headers)]
            wanted.write(f'unsupported {line} {line}\n')
        elif line == 2:
            head = 'drop udp'
            options = 'content:"evil";'
        rules.write(f'{head} any any -> any any (msg:"rule {line}"; {options} sid:{line};)\n')
PYTHON
}

# listed FILE: compares the list of the daemon with what must be left out of FILE and the files in $2.
listed() {
	ask rules --failed --json >"$WORK/failed" || fail "rules --failed"
	python3 - "$WORK/failed" "$1" "${2:-}" \
		<<'PYTHON' || fail "rules --failed lists other rules: $(ask rules --failed | head -n 20)"
import json, sys

answer = json.load(open(sys.argv[1]))
got = [(r['kind'], r.get('signature_id'), r.get('line'), r['file']) for r in answer['rules']]
wanted = [(kind, int(sid), int(line), sys.argv[2])
          for kind, sid, line in (text.split() for text in open(sys.argv[2] + '.wanted'))]
unread = [('unread file', None, None, name) for name in sys.argv[3].split()]
assert sorted(map(str, got)) == sorted(map(str, wanted + unread)), set(got) ^ set(wanted + unread)
assert all(r['reason'] for r in answer['rules'])
assert (answer['failed'], answer['skipped'], answer['files_failed']) == (10, 50, len(unread)), answer
PYTHON
}

generate "$WORK/a.rules"
cat >"$WORK/settings.yaml" <<EOF2
rule-files: [$WORK/a.rules, $WORK/gone.rules]
EOF2
code=0
"$SLUICE" check --no-compile --rules "$WORK/a.rules" >"$WORK/check.out" 2>"$WORK/check.err" || code=$?
equal "exit code of check" "$code" 1
grep -q "940 rules loaded, 10 failed, 50 skipped" "$WORK/check.out" || fail "$(cat "$WORK/check.out")"
while read -r kind _ line; do
	grep -q "a.rules:$line:[0-9]*: ${kind/mistake/error}: " "$WORK/check.err" ||
		fail "check does not report the $kind in line $line"
done <"$WORK/a.rules.wanted"

start_sluice ips --config "$WORK/settings.yaml" --queue 0 --no-console --set "unix-command.filename=$WORK/socket" \
	--set unix-command.enabled=yes
PID=$LAST_PID
listed "$WORK/a.rules" "$WORK/gone.rules"
equal "status" "$(ask status | sed -n 2p)" "940 rules, 10 failed, 50 skipped, generation 1"
grep -q "left out: 10 rules with mistakes, 50 unsupported rules, 1 rule file that cannot be read" "$WORK/ips.log" ||
	fail "the log does not report the rules"
equal "loaded rules" "$(ask rules | grep -c "a.rules:")" 940
equal "page of the list" "$(ask rules --failed --limit 7 | grep -c "a.rules:")" 7
wait_events ips 1 event_type=engine sluice.engine.action=rules_left_out sluice.engine.rules_failed=10 sluice.engine.rules_skipped=50 \
	sluice.engine.rule_files_failed=1
wait_events ips 10 event_type=engine sluice.engine.action=rule_left_out sluice.engine.kind=mistake
wait_events ips 50 event_type=engine sluice.engine.action=rule_left_out sluice.engine.kind=unsupported
wait_events ips 1 event_type=engine sluice.engine.action=rule_left_out sluice.engine.line=7 sluice.engine.signature_id=7 \
	"sluice.engine.file=$WORK/a.rules"

# The other rules work.
udp_send cli 10.66.2.2 7000 evil "payload 3 "
wait_events ips 1 event_type=alert alert.signature_id=3
wait_events ips 1 event_type=alert alert.signature_id=2

# A reload succeeds, too. The missing file appears, and other rules have mistakes.
generate "$WORK/b.rules"
echo 'alert udp any any -> any any (msg:"late"; content:"late"; sid:2001;)' >"$WORK/gone.rules"
sed -i "s/a.rules/b.rules/" "$WORK/settings.yaml"
ask reload >"$WORK/said" 2>&1 || fail "reload: $(cat "$WORK/said")"
grep -q "generation 2, 941 rules, 10 failed, 50 skipped" "$WORK/said" || fail "$(cat "$WORK/said")"
listed "$WORK/b.rules"
equal "stats" "$(ask stats --json | python3 -c 'import json, sys
engine = json.load(sys.stdin)["detect"]["engines"][0]
print(engine["rules_loaded"], engine["rules_failed"], engine["rules_skipped"])')" "941 10 50"
udp_send cli 10.66.2.2 7000 late
wait_events ips 1 event_type=alert alert.signature_id=2001
stop_process "$PID" || fail "exit code $?"

# A missing semicolon does not make a rule that drops everything: the rule is an error. A rule that does drop everything
# of its header is loaded, and start and reload warn of it.
drops_all='plain.rules:[0-9]*:1: warning: rule 1:2 drops all traffic of its header'
missing="plain.rules:[0-9]*:41: error: a ';' is missing before 'content'"
cat >"$WORK/plain.rules" <<'RULES'
drop udp any any -> any 7000 (msg:"all" content:"evil"; sid:1;)
drop udp any any -> any 7009 (msg:"port"; flow:to_server; sid:2;)
RULES
start_sluice plain --queue 0 --rules "$WORK/plain.rules" --no-console --set "unix-command.filename=$WORK/socket" \
	--set unix-command.enabled=yes
PID=$LAST_PID
grep -q "$drops_all" "$WORK/plain.log" || fail "the start does not warn of a rule that drops all"
grep -q "$missing" "$WORK/plain.log" || fail "the start does not report the missing semicolon"
ask reload >"$WORK/said" 2>&1 || fail "reload: $(cat "$WORK/said")"
grep -q "$drops_all" "$WORK/said" && grep -q "$missing" "$WORK/said" ||
	fail "the reload does not report the rules: $(cat "$WORK/said")"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
wait_text "$WORK/got" listening
udp_send cli 10.66.2.2 7000 harmless
wait_text "$WORK/got" harmless # a rule with a missing semicolon drops nothing
stop_process "$PID" || fail "exit code $?"

# No rule is left: the daemon starts and logs it.
sed -n 7p "$WORK/a.rules" >"$WORK/none.rules"
start_sluice none --queue 0 --rules "$WORK/none.rules" --no-console
grep -q "NO RULE IS LOADED" "$WORK/none.log" || fail "the log does not say that no rule is loaded"
client ping -c1 -W2 -q 10.66.2.2 >/dev/null || fail "the gateway does not forward"
stop_process "$LAST_PID" || fail "exit code $?"

# --strict refuses any left-out rule, at a start and at a reload.
gateway "$SLUICE" run --strict --set run-as.user=root --set unix-command.enabled=no --log-dir "$WORK/ips" --queue 0 \
	--rules "$WORK/none.rules" --no-console >"$WORK/strict.log" 2>&1 &&
	fail "--strict starts"
grep -q "1 unsupported rule (engine.init-failure-fatal)" "$WORK/strict.log" ||
	fail "--strict does not say why: $(cat "$WORK/strict.log")"
echo 'alert udp any any -> any any (msg:"good"; content:"good"; sid:1;)' >"$WORK/good.rules"
start_sluice strict2 --strict --queue 0 --rules "$WORK/good.rules" --no-console \
	--set "unix-command.filename=$WORK/socket" --set unix-command.enabled=yes
cat "$WORK/none.rules" >>"$WORK/good.rules"
ask reload >"$WORK/said" 2>&1 && fail "--strict reloads an unsupported rule"
grep -q "1 unsupported rule (engine.init-failure-fatal)" "$WORK/said" || fail "$(cat "$WORK/said")"
equal "generation" "$(ask status --json |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["rules"]["generation"])')" 1
# Packets wait when an engine dies: the next one starts with the good rules all the same.
engine=$(engine_of "$LAST_PID")
kill -9 "$engine"
[ -n "$(next_engine "$LAST_PID" "$engine")" ] || fail "no engine after the death of the first one"
equal "status after a death" "$(ask status | sed -n 2p)" "1 rules, 0 failed, 1 skipped, generation 1"
stop_process "$LAST_PID" || fail "exit code $?"
