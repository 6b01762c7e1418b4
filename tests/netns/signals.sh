#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The signals have the same meaning as in Suricata, and the pid file names the process that gets them.
. "$(dirname "$0")/lib.sh"
topology
queue_rule --queue-num 0
pid_file=/run/sluice/sluice.pid
rule() { echo "alert udp any any -> any 7000 (msg:\"$1\"; content:\"number\"; sid:$1;)" >"$WORK/t.rules"; }
rule 1
: >"$WORK/got"
udp_sink 7000 "$WORK/got"
options=(--queue 0 --rules "$WORK/t.rules" --no-console --set "unix-command.filename=$WORK/socket")

# run_fails TEXT OPTION...: the daemon does not start, with this error.
run_fails() {
	local code=0
	gateway "$SLUICE" run --log-dir "$WORK/none" "${options[@]}" "${@:2}" >"$WORK/out" 2>&1 || code=$?
	equal "exit code of $*" $code 1
	grep -qF -- "$1" "$WORK/out" || fail "no '$1' in: $(cat "$WORK/out")"
}

run_fails "folder $WORK/missing: No such file or directory" --pidfile "$WORK/missing/sluice.pid"
run_fails "folder $WORK/missing: No such file or directory" --pidfile "$WORK/missing/sluice.pid" --check
run_fails "cannot write pid file $WORK: it is not a regular file (pid-file)" --pidfile "$WORK"

# The file of a process that has ended, or that is no sluice, is replaced; its name may have no folder.
for stale in 4194305 $$ text ""; do
	echo "$stale" >$pid_file
	start_sluice ips "${options[@]}" --set pid-file=sluice.pid
	equal "pid file after '$stale'" "$(cat $pid_file)" "$LAST_PID"
	equal "mode of the pid file" "$(stat -c %a $pid_file)" 644
	equal "files in /run/sluice" "$(find /run/sluice -name '*pid*' | wc -l)" 1
	[ -z "$stale" ] || stop_process "$LAST_PID"
	[ -z "$stale" ] || [ ! -e $pid_file ] || fail "the pid file is left"
done
ips=$LAST_PID

# Another daemon does not take it, nor does it remove it.
run_fails "pid file $pid_file belongs to process $ips, another sluice: stop it, or change pid-file" --queue 1 \
	--pidfile sluice.pid --set "unix-command.filename=$WORK/other"
equal "pid file of the first daemon" "$(cat $pid_file)" "$ips"

alerts() { events ips event_type=alert "alert.signature_id=$1"; }
udp_send cli 10.66.2.2 7000 "number one"
wait_equal "alerts of rule 1" 1 alerts 1

# SIGHUP: a new file, and no reload.
rule 2
mv "$WORK/ips/eve.json" "$WORK/rotated.json"
kill -HUP "$(cat $pid_file)"
wait_for test -e "$WORK/ips/eve.json" || fail "no new file after SIGHUP"
udp_send cli 10.66.2.2 7000 "number two"
wait_equal "alerts of rule 1 after SIGHUP" 1 alerts 1
"$SLUICE" status --socket "$WORK/socket" | grep -q "generation 1" || fail "SIGHUP reloads"

# SIGUSR2: other rules, and the same file.
inode=$(stat -c %i "$WORK/ips/eve.json")
kill -USR2 "$(cat $pid_file)"
wait_text "$WORK/ips.log" "reloaded: generation 2"
udp_send cli 10.66.2.2 7000 "number three"
wait_equal "alerts of rule 2 after SIGUSR2" 1 alerts 2
equal "event file" "$(stat -c %i "$WORK/ips/eve.json")" "$inode"

# SIGUSR1: statistics.
ask_stats ips "$(cat $pid_file)"

# The file stays over an upgrade, and a file that another process has written is not removed.
"$SLUICE" upgrade --socket "$WORK/socket" >/dev/null || fail "no upgrade"
equal "pid file after an upgrade" "$(cat $pid_file)" "$ips"
echo 1 >$pid_file
stop_process "$ips"
equal "pid file of another process" "$(cat $pid_file)" 1
