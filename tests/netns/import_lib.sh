# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after lib.sh by tests of `sluice import`: an imported configuration starts, and inspects.

# bad_request_rules FILE: the rules of the test.
bad_request_rules() {
	cat >"$1" <<'RULES'
alert http any any -> any any (msg:"bad request"; flow:to_server,established; http.uri; content:"/cgi-bin/evil"; sid:1;)
drop http any any -> any any (msg:"worse request"; flow:to_server,established; http.uri; content:"/cgi-bin/worse"; sid:2;)
RULES
}

# web_server: on the server, with a page; returns when it listens.
web_server() {
	mkdir -p "$WORK/www"
	echo "a good page" >"$WORK/www/index.html"
	background srv python3 -m http.server 80 --bind 10.66.2.2 --directory "$WORK/www"
	wait_for server curl -sf -o "$WORK/page" http://10.66.2.2/ || fail "the web server does not start"
}

# keys_once REPORT FOLDER: the report in JSON has each key of the input once, and no other.
keys_once() {
	python3 - "$1" "$SOURCE/tests/cli" <<'PYTHON' || fail "the report does not have each key once"
import collections, json, sys
sys.path.insert(0, sys.argv[2])
import test_import
report = json.load(open(sys.argv[1]))
expected = collections.Counter(test_import.keys_of(report["input"]))
found = collections.Counter((key["file"], key["line"], key["key"]) for key in report["keys"])
for key in (expected | found):
    if expected[key] != 1 or found[key] != 1:
        print(key, expected[key], found[key])
        sys.exit(1)
print("%s: %d keys" % (report["input"], len(found)), report["counts"])
PYTHON
}

# inspects NAME CONFIG RULES ARGS...: the daemon starts with the configuration, alerts on a bad request, drops a worse
# one, and lets a good one pass. A reload, in the sandbox, loads the same number of RULES.
inspects() {
	local name=$1 config=$2 rules=$3
	shift 3
	gateway "$SLUICE" check --config "$config" >"$WORK/$name.check.log" 2>&1 || fail "$name: mistakes"
	start_sluice "$name" --config "$config" --no-console "$@"
	client curl -sf -m 10 http://10.66.2.2/ | grep -q "a good page" || fail "$name: a good request does not pass"
	client curl -s -m 10 -o /dev/null http://10.66.2.2/cgi-bin/evil || fail "$name: an alert stops the request"
	wait_events "$name" 1 event_type=alert alert.signature_id=1
	if client curl -s -m 2 -o /dev/null http://10.66.2.2/cgi-bin/worse; then fail "$name: nothing is dropped"; fi
	wait_events "$name" 1 event_type=alert alert.signature_id=2 alert.action=blocked
	[ ! -e "$WORK/$name/fast.log" ] || wait_text "$WORK/$name/fast.log" "1:1:0.*bad request"
	kill -USR2 "$LAST_PID"
	wait_text "$WORK/$name.log" "reloaded: generation 2, $rules rules, 0 failed, 0 skipped"
	stop_process "$LAST_PID"
}
