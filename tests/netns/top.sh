#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sluice top` on a terminal of 80x24 and a larger one (tmux), and as text; while the daemon runs, restarts and is
# absent. `sluice alerts` reads from the daemon.
#
# PICTURE=FILE writes the screen as SVG, for the README (scripts/top-picture).
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip "tmux is not installed"
topology
queue_rule --queue-balance 0:1
cat >"$WORK/t.rules" <<'RULES'
drop http any any -> any any (msg:"WEB path traversal to /etc/passwd"; flow:to_server,established; http.uri.raw; content:"/etc/passwd"; classtype:web-application-attack; sid:1000001; rev:2;)
drop http any any -> any any (msg:"WEB SQL injection UNION SELECT"; flow:to_server,established; http.uri; content:"UNION SELECT"; nocase; classtype:web-application-attack; sid:1000002; rev:1;)
alert http any any -> any any (msg:"SCAN sqlmap user agent"; flow:to_server,established; http.user_agent; content:"sqlmap"; classtype:attempted-recon; sid:1000003; rev:1;)
alert dns any any -> any any (msg:"DNS query for example.com"; dns.query; content:"example.com"; threshold: type limit, track by_src, count 1, seconds 2; classtype:policy-violation; sid:1000004; rev:1;)
RULES
background srv python3 "$HERE/live_traffic.py" serve
wait_text "$WORK/background.log" ready
start() {
	start_sluice ips --queue 0-1 --rules "$WORK/t.rules" --no-console --set detect.rule-budget=10000 \
		--set "classification-file=$SOURCE/rules/classification.config"
}
start
SLUICE_PID=$LAST_PID
background cli python3 "$HERE/live_traffic.py" browse 300

# As text: rates, and a row of each table.
"$SLUICE" top --batch -n 1 --interval 1 --socket "$WORK/ips.control" >"$WORK/text" || fail "top --batch"
for text in "^sluice .* mode drop  4 rules" "Traffic  *[0-9.]*k* packets/s" "^10.66.1.2 " "^ *1000001 drop" " rules$" \
	"blocked .*1000001 WEB path" "[1-9][0-9.]*k* accepted/s" "[1-9][0-9.]*k* active"; do
	grep -q "$text" "$WORK/text" || fail "text without '$text': $(cat "$WORK/text")"
done
[ "$(wc -L <"$WORK/text")" -le 80 ] || fail "a line is longer than 80 columns: $(cat "$WORK/text")"
"$SLUICE" top --batch -n 1 --socket "$WORK/none" >"$WORK/text" 2>&1 && fail "top --batch without daemon"
grep -q "no daemon listens on $WORK/none" "$WORK/text" || fail "$(cat "$WORK/text")"
"$SLUICE" top </dev/null >"$WORK/text" 2>&1 && fail "top without terminal"
grep -q "no terminal; use --batch" "$WORK/text" || fail "$(cat "$WORK/text")"

# On terminals. The server of tmux is one of this test.
tm() { tmux -L "$P" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null || true; cleanup' EXIT
open() { # open NAME WIDTH HEIGHT [VARIABLE=VALUE]...
	tm new-session -d -s "$1" -x "$2" -y "$3" env TERM=screen-256color LC_ALL=C.UTF-8 "${@:4}" \
		"$SLUICE" top --socket "$WORK/ips.control" --interval 1
}
screen() { tm capture-pane -p -t "$1"; }
shows() { screen "$1" | grep -q -e "$2"; }
wait_screen() { wait_for shows "$@" || fail "the screen has no '$2': $(screen "$1")"; }
keys() { tm send-keys -t "$@"; }

# The picture of the README: a screen with rates of some updates.
if [ -n "${PICTURE:-}" ]; then
	open picture 116 44
	wait_screen picture '^10.66.1.2 .*####'
	sleep 40
	tm capture-pane -e -N -p -t picture >"$WORK/ansi"
	python3 "$SOURCE/tests/docs/terminal_svg.py" 116 <"$WORK/ansi" >"$PICTURE" || fail "no picture"
	exit 0
fi

open small 80 24
wait_screen small '^10.66.1.2 .* [1-9][0-9.]*k* .*####'
screen small >"$WORK/screen"
equal "lines" "$(wc -l <"$WORK/screen")" 24
grep -q "^\*QUEUE .* STAT" "$WORK/screen" || fail "no queues: $(cat "$WORK/screen")"
grep -q "\[Talkers\]" <(tail -n 1 "$WORK/screen") || fail "no panels: $(cat "$WORK/screen")"
keys small Tab
wait_screen small '\[Flows\]'
wait_screen small '^TCP .*10.66.1.2:.*10.66.2.2:80 .*http'
keys small 4
wait_screen small '1000002 drop .*WEB SQL'
keys small 5
wait_screen small ' rules *$'
keys small 6
wait_screen small 'allowed .*1000003 SCAN sqlmap'
# A filter, typed and removed.
keys small / traversal
wait_screen small 'Filter: traversal_'
keys small Enter
wait_screen small 'filter: traversal'
shows small 1000003 && fail "the filter has no effect: $(screen small)"
keys small Escape
wait_screen small '1000003 SCAN'
# The order of the rules by their number, in both directions.
keys small 4 '<' '<'
wait_screen small '\*SID'
first() { screen "$1" | sed -n '/\*SID/,$p' | sed -n 2p | awk '{ print $1 }'; }
wait_equal "first rule" 1000001 first small
keys small R
wait_equal "first rule, reverse" 1000004 first small
keys small h
wait_screen small 'Keys of sluice top'
keys small h
wait_screen small '\*SID'
# Paused: nothing changes, not even the time.
keys small p
wait_screen small PAUSED
screen small >"$WORK/paused"
grep -v PAUSED "$WORK/paused" >"$WORK/before"
sleep 1.5
screen small | grep -v PAUSED | cmp -s - "$WORK/before" || fail "the screen changes while it is paused"
keys small p
wait_for bash -c "! tmux -L $P capture-pane -p -t small | grep -q PAUSED" || fail "the pause does not end"

# A larger terminal shows more panels; an ASCII terminal without colours shows no other characters.
open large 132 50
wait_screen large '^10.66.1.2 .*####'
for text in "^\*\?HOST" "^PROTO" "MATCH/S" "REASON" "DESTINATION"; do
	shows large "$text" || fail "a large screen has no '$text': $(screen large)"
done
tm resize-window -t large -x 80 -y 24
wait_for bash -c "! tmux -L $P capture-pane -p -t large | grep -q DESTINATION" || fail "a resize has no effect"
open plain 80 24 LC_ALL=C NO_COLOR=1
wait_screen plain '^10.66.1.2 .*####'
screen plain | LC_ALL=C grep -q '[^ -~]' && fail "not ASCII: $(screen plain)"
tm capture-pane -e -p -t plain | grep -q $'\033\[[0-9;]*3[0-7]m' && fail "colours in spite of NO_COLOR"
tm capture-pane -e -p -t small | grep -q $'\033\[' || fail "no attributes"

# The last alerts from the daemon, and new ones while it runs.
"$SLUICE" alerts --live --limit 3 --socket "$WORK/ips.control" >"$WORK/alerts" || fail "alerts"
equal "alerts" "$(grep -cE '^[0-9-]+T[0-9:.+-]+ [A-Z]+ +\[1:100000[1-4]:[12]\] .* 10\.66\.1\.2' "$WORK/alerts")" 3
"$SLUICE" alerts --live --sid 1000001 --limit 1 --json --socket "$WORK/ips.control" >"$WORK/alerts" || fail "alerts"
equal "blocked" "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["alert"]["action"])' <"$WORK/alerts")" blocked
"$SLUICE" alerts --live --follow --limit 0 --socket "$WORK/ips.control" >"$WORK/follow" 2>&1 &
FOLLOW=$!
wait_more_lines "$WORK/follow" "1000001" 2

# In mode alert-only; and the event file has the same lines as the memory of the daemon.
"$SLUICE" mode alert-only --socket "$WORK/ips.control" >/dev/null || fail "mode"
has_would_drop() {
	"$SLUICE" alerts --live --sid 1000001 --limit 1 --socket "$WORK/ips.control" >"$WORK/alerts"
	grep -q ' WOULD_DROP \[1:1000001:2\] WEB path .* (http, queue [01])$' "$WORK/alerts"
}
wait_for has_would_drop || fail "no WOULD_DROP: $(cat "$WORK/alerts")"
"$SLUICE" mode configured --socket "$WORK/ips.control" >/dev/null || fail "mode"
"$SLUICE" alerts --live --limit 50 --socket "$WORK/ips.control" | sort >"$WORK/alerts"
same_in_file() { "$SLUICE" alerts --file "$WORK/ips/eve.json" --limit 1000 | sort | comm -23 "$WORK/alerts" - | cmp -s - /dev/null; }
wait_for same_in_file || fail "the event file lacks alerts of the daemon: $(cat "$WORK/alerts")"

# How a rule of the running daemon is compiled, with its cost.
"$SLUICE" analyse 1000001 --socket "$WORK/ips.control" >"$WORK/analysis" || fail "analyse"
for text in 'source: the running daemon' 'pattern "/etc/passwd" in http.uri.raw' 'cost: evaluated [1-9]'; do
	grep -q "$text" "$WORK/analysis" || fail "analyse has no '$text': $(cat "$WORK/analysis")"
done
"$SLUICE" analyse 77 --socket "$WORK/ips.control" 2>"$WORK/analysis" && fail "a rule that is not there is analysed"
grep -q "^sluice analyse: no rule file has rule 1:77" "$WORK/analysis" || fail "$(cat "$WORK/analysis")"

# The daemon stops, and another one starts: the screen says so, and continues.
kill "$FOLLOW"
stop_process "$SLUICE_PID" || fail "exit code of the daemon"
wait_screen small 'The daemon does not answer'
wait_screen small 'no daemon listens on'
start
wait_screen small '\*SID'
keys small 2
wait_screen small '^10.66.1.2 .*####'
for name in small large plain; do
	keys "$name" q
	wait_for bash -c "! tmux -L $P has-session -t $name 2>/dev/null" || fail "q does not end $name"
done
stop_process "$LAST_PID" || fail "exit code of the daemon"
echo "top: ok"
