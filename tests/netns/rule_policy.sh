#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rule policy: a rule changed to drop drops, a disabled one does not match, a reload reads the policy again, and
# `sluice explain` names the line. A mistake in the policy stops neither the start nor a reload.
. "$(dirname "$0")/lib.sh"
topology
queue_rule
mkdir "$WORK/rules"
cat >"$WORK/rules/t.rules" <<'RULES'
alert udp any any -> any 7000 (msg:"first"; content:"first"; sid:1;)
drop udp any any -> any 7000 (msg:"second"; content:"second"; sid:2;)
# alert udp any any -> any 7000 (msg:"third"; content:"third"; sid:3;)
alert udp any any -> any 7000 (msg:"fourth"; content:"fourth"; classtype:bad-unknown; sid:4;)
alert udp any any -> any 7000 (msg:"fifth"; content:"fifth"; sid:5;)
RULES
cat >"$WORK/policy" <<'POLICY'
drop 1
disable re:SECOND
enable group:t
drop msg:^third$
nonsense
modify 5 content contend
POLICY
cat >"$WORK/drop.conf" <<'DROP'
# drop.conf of suricata-update
re:classtype:bad-unknown
DROP
cat >"$WORK/sluice.yaml" <<CONFIG
rule-policy: { file: $WORK/policy, drop-file: $WORK/drop.conf }
CONFIG
ask() { "$SLUICE" "$@" --socket "$WORK/ips.control"; }
# explained SID TEXT: the explanation of the rule contains the text.
explained() {
	ask explain "$1" >"$WORK/said" 2>&1 || fail "explain $1: $(cat "$WORK/said")"
	grep -qF "$2" "$WORK/said" || fail "explain $1 does not say '$2': $(cat "$WORK/said")"
}
# forwarded WORD...: sends four words; only the given ones arrive. The arrival of the last packet shows that the others
# got their verdicts.
round=0
forwarded() {
	local word arrived
	round=$((round + 1))
	for word in first second third fourth end; do udp_send cli 10.66.2.2 7000 "$word $round"; done
	wait_text "$WORK/got" "end $round"
	arrived=$(sed -n "/ end /d; s/^[0-9]* \(.*\) $round$/\1/p" "$WORK/got" | paste -sd' ')
	equal "forwarded in round $round" "$arrived" "$*"
}

: >"$WORK/got"
udp_sink 7000 "$WORK/got"
start_sluice ips --config "$WORK/sluice.yaml" --queue 0 --rules "$WORK/rules/t.rules" --no-console
SLUICE_PID=$LAST_PID
grep -q "policy:5:1: error: a line must begin with" "$WORK/ips.log" || fail "the mistake is not reported"
grep -q "rules changed by the rule policy: 1 enabled, 3 changed to drop" "$WORK/ips.log" ||
	fail "the counts are not logged"

# Rule 2 was disabled by a line and enabled by the next one: the last line counts.
forwarded
explained 1 "changed by $WORK/policy:1: drop 1"
explained 1 "action drop"
explained 2 "changed by $WORK/policy:3: enable group:t"
explained 3 "changed by $WORK/policy:4: drop msg:^third$"
explained 4 "changed by $WORK/drop.conf:2: re:classtype:bad-unknown"
explained 5 "not loaded: mistake in $WORK/rules/t.rules:5: unknown keyword 'contend'"
explained 5 "changed by $WORK/policy:6: modify 5 content contend"

# A reload reads the policy again, and skips the line with the mistake.
cat >"$WORK/policy" <<'POLICY'
disable 2
nonsense
alert classtype:bad-unknown
drop 1
alert-only 1
POLICY
ask reload >"$WORK/said" 2>&1 || fail "reload: $(cat "$WORK/said")"
forwarded first second third fourth
explained 1 "action drop (alert-only)"
explained 1 "changed by $WORK/policy:5: alert-only 1"
explained 2 "not loaded: disabled by the rule policy"
explained 2 "changed by $WORK/policy:1: disable 2"
explained 3 "not loaded: commented out in $WORK/rules/t.rules:3"
explained 4 "changed by $WORK/policy:3: alert classtype:bad-unknown"
ask explain 6 2>"$WORK/said" && fail "a rule that is in no file is explained"
grep -q "no rule file" "$WORK/said" || fail "$(cat "$WORK/said")"
stop_process "$SLUICE_PID" || fail "exit code $?"
equal "drops by rules" "$(events ips event_type=drop drop.reason=rules)" 4
equal "alerts that allowed" "$(events ips event_type=alert alert.action=allowed)" 2
equal "alerts of alert-only" "$(events ips event_type=alert sluice.would_drop=true alert.signature_id=1)" 1
