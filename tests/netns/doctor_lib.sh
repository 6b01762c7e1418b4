# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests doctor*.sh: a namespace of its own, and what the doctor says of the ruleset in it.
. "$(dirname "${BASH_SOURCE[0]}")/nft_lib.sh"

# All that the doctor reads, and must leave as it is. What iptables writes has the time in a comment.
everything() {
	nft -a list ruleset 2>/dev/null
	iptables-legacy-save 2>/dev/null | grep -v '^#' || true
	ip6tables-legacy-save 2>/dev/null | grep -v '^#' || true
	ip rule
	ip -6 rule
}

# examine NAME [ARGS...]: asks the doctor; what it found is in $WORK/found.json, its exit code in CODE. Nothing may have
# changed.
examine() {
	NAME=$1
	shift
	everything >"$WORK/everything.before"
	CODE=0
	nft_command doctor --json "$@" >"$WORK/found.json" || CODE=$?
	everything >"$WORK/everything.after"
	cmp "$WORK/everything.before" "$WORK/everything.after" || fail "$NAME: the doctor changed something"
	[ "$CODE" -le 2 ] || fail "$NAME: exit code $CODE: $(cat "$WORK/found.json")"
}

# found ID SEVERITY [PATTERN]: there is such a finding, and the text of its rule (or what it is about) matches.
found() {
	python3 - "$WORK/found.json" "$@" <<'PYTHON' || fail "$NAME: no finding $*: $(cat "$WORK/found.json")"
import json, re, sys
report, wanted, severity = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
pattern = sys.argv[4] if len(sys.argv) > 4 else ''
for finding in report['findings']:
    about = ' '.join([finding['what'], finding.get('other', ''), *map(str, finding.get('rule', {}).values())])
    if finding['id'] == wanted and finding['severity'] == severity and re.search(pattern, about):
        assert finding['why'] and finding['remedy']
        sys.exit(0)
sys.exit(1)
PYTHON
}

# absent ID...: there is none of these.
absent() {
	local id
	for id in "$@"; do
		! grep -q "\"id\":\"$id\"" "$WORK/found.json" || fail "$NAME: there is a finding $id: $(cat "$WORK/found.json")"
	done
}

# only ID...: the warnings and worse are these and no others.
only() {
	equal "$NAME: findings" "$(python3 -c '
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
print(*sorted({f["id"] for f in findings if f["severity"] != "note"}))' "$WORK/found.json")" "$(
		printf '%s\n' "$@" | sort | xargs)"
}

# Somebody who has a queue: hold NUMBER, and release.
hold() {
	rm -f "$WORK/held"
	python3 "$(dirname "${BASH_SOURCE[0]}")/hold_queue.py" "$1" >"$WORK/held" &
	HOLDER=$!
	wait_text "$WORK/held" bound
}
release() {
	kill "$HOLDER"
	wait "$HOLDER" 2>/dev/null || true
}

# start ARGS...: the daemon, which listens.
start() {
	mkdir -p "$WORK/log"
	echo 'alert icmp any any -> any any (msg:"ping"; sid:1;)' >"$WORK/t.rules"
	: >"$WORK/run.log" # the previous daemon's has "ready"
	"$SLUICE" run --config /dev/null --set run-as.user=root --set "unix-command.filename=$WORK/control" \
		--log-dir "$WORK/log" --rules "$WORK/t.rules" "$@" >"$WORK/run.log" 2>&1 &
	DAEMON=$!
	wait_for grep -q ready "$WORK/run.log" || fail "the daemon does not start: $(cat "$WORK/run.log")"
}
stop() {
	kill "$DAEMON"
	wait "$DAEMON" || fail "the daemon ends with $?"
}
