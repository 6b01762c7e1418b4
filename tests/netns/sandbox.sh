#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon in its sandbox: started by root it runs as user sluice, with CAP_NET_ADMIN only, and everything that it
# does for months still works: reload, rotation, stored files, datasets, compiled patterns, reject, blocked hosts, the
# control socket, a socket for events. What is missing on a host is told, and a user that somebody asked for must be
# there.
. "$(dirname "$0")/lib.sh"
topology
for tool in unshare setpriv curl; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done

# A host that has the user, as the package makes it, with its folders. Everything else belongs to root.
USER_ID=7411
grep -v "^sluice:" /etc/passwd >"$WORK/passwd.none"
{ cat "$WORK/passwd.none"; echo "sluice:x:$USER_ID:$USER_ID::/nonexistent:/usr/sbin/nologin"; } >"$WORK/passwd"
{ grep -v "^sluice:" /etc/group; echo "sluice:x:$USER_ID:"; } >"$WORK/group"
chmod 755 "$WORK"
mkdir "$WORK"/{rules,run,ips,lib,cache,empty}
chown $USER_ID:$USER_ID "$WORK"/{ips,lib,cache}
chmod 750 "$WORK"/{ips,lib,cache}

# run_in PASSWD NAME ARGS...: start_sluice on a host with those users.
run_in() {
	local passwd=$1 name=$2
	shift 2
	mkdir -p "$WORK/$name"
	: >"$WORK/$name.log"
	# shellcheck disable=SC2016
	unshare -m bash -c 'mount --bind "$0" /etc/passwd && mount --bind "$1" /etc/group && shift &&
		exec ip netns exec "$@"' \
		"$passwd" "$WORK/group" "$P-gw" "${WRAP[@]}" "$SLUICE" run --no-console --log-dir "$WORK/$name" \
		--set "unix-command.filename=$WORK/run/socket" "$@" >"$WORK/$name.log" 2>&1 &
	LAST_PID=$!
}
WRAP=()
wait_ready() { # wait_ready NAME
	wait_running "$LAST_PID" grep -q "ready" "$WORK/$1.log" || fail "$1 did not start"
}
# refuses NAME PATTERN ARGS...: does not start, and says why.
refuses() {
	local name=$1 pattern=$2 code=0
	run_in "$3" "$name" "${@:4}"
	wait "$LAST_PID" || code=$?
	equal "$name: exit code" $code 1
	grep -q "$pattern" "$WORK/$name.log" || fail "$name: does not say '$pattern'"
}
ask() { "$SLUICE" "$@" --socket "$WORK/run/socket"; }
tells() { grep -q "$2" "$WORK/$1.log" || fail "$1: does not say '$2'"; }
owner() { stat -c %u "$1"; }
wait_file() { wait_for has_file "$1" || fail "no $1"; } # wait_file PATTERN: until there is one
has_file() { compgen -G "$1" >/dev/null; }
supervisor_of() { awk '$1 == "PPid:" { print $2 }' "/proc/$ENGINE/status"; }
# each_thread FIELD VALUE: of all threads of the process $ENGINE.
each_thread() {
	local status got
	for status in /proc/"$ENGINE"/task/*/status; do
		got=$(awk -v field="$1:" '$1 == field { print $2 }' "$status")
		equal "$1 of $(awk '$1 == "Name:" { print $2 }' "$status")" "$got" "$2"
	done
}

cat >"$WORK/rules/t.rules" <<'RULES'
reject tcp any any -> any 7001 (msg:"reset"; content:"EVIL"; sid:1;)
drop udp any any -> any 7000 (msg:"block"; content:"ATTACK"; fwsam:src, 1 hour; sid:2;)
alert http any any -> any any (msg:"store"; flow:to_client; file.name; content:"wanted"; filestore; sid:3;)
alert http any any -> any any (msg:"seen"; flow:to_server; http.uri; dataset:set,uris,type string,state uris.lst; sid:4;)
alert udp any any -> any 7000 (msg:"hello"; content:"hello"; sid:5;)
RULES
chmod 755 "$WORK/rules"; chmod 644 "$WORK/rules/t.rules"
mkdir "$WORK/site"; head -c 5000 /dev/zero | tr '\0' 'x' >"$WORK/site/wanted"
background srv python3 "$HERE/traffic.py" tcp-echo 7001
background srv python3 -m http.server --directory "$WORK/site" 8080
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/got"
wait_text "$WORK/got" listening
serves() { grep -q ':8080' <<<"$(server ss -tln)"; }
wait_for serves || fail "the server of HTTP does not listen"

# --- All of it, in the strictest form: the daemon does not start if a part of it is off -------------------------------
run_in "$WORK/passwd" ips --queue 0-1 --attach after --rules "$WORK/rules/t.rules" --set nft.blocklist.enabled=yes \
	--set security.sandbox=auto --set stats.interval=0 --set file-store.enabled=yes --set "data-dir=$WORK/lib" \
	--set detect.sgh-mpm-caching=yes --set "detect.sgh-mpm-caching-path=$WORK/cache/sgh" \
	--set "nft.blocklist.never=[10.66.2.0/24]"
ips=$LAST_PID
wait_ready ips
tells ips "running as user sluice with CAP_NET_ADMIN only; Landlock on; seccomp filter on"
grep -q "warning.*\(user\|may not\)" "$WORK/ips.log" && fail "warnings about a host as it should be"
ENGINE=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
each_thread Uid $USER_ID
each_thread Gid $USER_ID
for field in CapEff CapPrm CapBnd; do each_thread $field 0000000000001000; done
for field in CapInh CapAmb; do each_thread $field 0000000000000000; done
each_thread NoNewPrivs 1
each_thread Seccomp 2
for status in /proc/"$ENGINE"/task/*/status; do
	grep -q "^Name:.*worker" "$status" &&
		equal "filters of a worker" "$(awk '$1 == "Seccomp_filters:" { print $2 }' "$status")" 3
done
# The supervisor, which is root still, has what it needs: CHOWN DAC_OVERRIDE DAC_READ_SEARCH KILL SETGID SETUID SETPCAP
# NET_ADMIN NET_RAW.
ENGINE=$(supervisor_of)
each_thread Uid 0
for field in CapEff CapPrm CapBnd; do each_thread $field 00000000000031e7; done
for field in CapInh CapAmb; do each_thread $field 0000000000000000; done
each_thread NoNewPrivs 1
each_thread Seccomp 2
equal "owner of the supervisor's files in /proc" "$(owner "/proc/$ENGINE/maps")" 0
grep -q "sandbox: user sluice, CAP_NET_ADMIN only" <<<"$(ask status)" || fail "status does not show the sandbox"

udp_send cli 10.66.2.2 7000 hello
wait_events ips 1 event_type=alert alert.signature_id=5
equal "good text" "$(client python3 "$HERE/traffic.py" tcp-ask 10.66.2.2 7001 hello)" hello
equal "bad text" "$(client python3 "$HERE/traffic.py" tcp-ask 10.66.2.2 7001 'some EVIL text')" RESET
client curl -s -m 10 -o /dev/null http://10.66.2.2:8080/wanted || fail "the page did not come"
wait_file "$WORK/ips/filestore/*/*"
equal "owner of a stored file" "$(owner "$WORK"/ips/filestore/*/*)" $USER_ID
equal "owner of the events" "$(owner "$WORK/ips/eve.json")" $USER_ID
equal "owner of compiled patterns" "$(find "$WORK/cache" -type f -exec stat -c %u {} + | sort -u)" $USER_ID

# Rules of a reload, in a file that took the place of the old one; what is compiled for them is kept, too.
before=$(find "$WORK/cache" -type f | wc -l)
sed 's/content:"hello"/content:"hullo, everybody"/' "$WORK/rules/t.rules" >"$WORK/rules/new"
mv "$WORK/rules/new" "$WORK/rules/t.rules"
ask reload >/dev/null || fail "no reload: $(ask reload 2>&1)"
tells ips "reloaded: generation 2"
[ "$(find "$WORK/cache" -type f | wc -l)" -gt "$before" ] || fail "nothing was added to the cache"
udp_send cli 10.66.2.2 7000 "hullo, everybody"
wait_events ips 2 event_type=alert alert.signature_id=5

# Rotation.
mv "$WORK/ips/eve.json" "$WORK/ips/eve.json.1"
kill -HUP "$ips"
wait_file "$WORK/ips/eve.json"
equal "owner of the new file" "$(owner "$WORK/ips/eve.json")" $USER_ID
udp_send cli 10.66.2.2 7000 "hullo, everybody"
wait_events ips 1 event_type=alert alert.signature_id=5

# The firewall: its own table, put back; a host that is blocked.
gateway nft delete table inet sluice
has_table() { gateway nft list table inet sluice >/dev/null 2>&1; }
wait_for has_table || fail "the table was not put back"
udp_send cli 10.66.2.2 7000 ATTACK
has_blocked() { grep -q 10.66.1.2 <<<"$(gateway "$SLUICE" blocklist list --config /dev/null)"; }
wait_for has_blocked || fail "nobody is blocked"
gateway "$SLUICE" blocklist flush --config /dev/null >/dev/null || fail "the list can't be cleared"
grep -q "^ *0" <<<"$(ask queues)" || fail "no queues: $(ask queues)"
ask stats >/dev/null || fail "no stats"
ask_stats ips "$ips"
stop_process "$ips" || fail "exit code $?"
grep -q "still wait" "$WORK/ips.log" && fail "packets were left"
equal "lines of the dataset" "$(base64 -d "$WORK/lib/uris.lst" | tr '\n' ' ')" "/wanted"
gateway nft list table inet sluice >/dev/null 2>&1 && fail "the table is left"

# --- Events by a socket: the reader comes later, goes, and comes again ------------------------------------------------
mkdir "$WORK/reader"; chown $USER_ID "$WORK/reader"
run_in "$WORK/passwd" reader --queue 0-1 --attach after --rules "$WORK/rules/t.rules" \
	--set eve.filetype=unix_stream --set "eve.filename=$WORK/run/events"
reader=$LAST_PID
wait_ready reader
gets() { # gets FILE: sends what is alerted, and looks whether an alert has come
	udp_send cli 10.66.2.2 7000 "hullo, everybody"
	[ -s "$1" ]
}
for round in 1 2; do
	python3 - "$WORK/run/events" >"$WORK/got.$round" <<'PY' &
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
server.listen(1)
reader = server.accept()[0]
while b'"alert"' not in (got := reader.recv(65536)):
    pass
print("got", len(got))
os.unlink(sys.argv[1])
PY
	wait_for gets "$WORK/got.$round" || fail "reader $round got nothing"
	wait $! || fail "reader $round"
done
stop_process "$reader" || fail "exit code $?"

# --- What is not as it should be, is told -----------------------------------------------------------------------------
chmod 600 "$WORK/rules/t.rules"
mkdir -p "$WORK/strange"; : >"$WORK/strange/eve.json" # root's
run_in "$WORK/passwd" strange --queue 0 --rules "$WORK/rules/t.rules"
strange=$LAST_PID
wait_ready strange
tells strange "user sluice may not read $WORK/rules/t.rules: a reload fails, or leaves its rules out"
tells strange "user sluice may not write $WORK/strange/eve.json"
tells strange "chown sluice $WORK/strange"
ask reload >"$WORK/out" 2>&1 && fail "rules that can't be read were reloaded"
grep -q "Permission denied" "$WORK/out" || fail "the reload does not say why: $(cat "$WORK/out")"
stop_process "$strange" || fail "exit code $?"
chmod 644 "$WORK/rules/t.rules"

refuses nouser "run-as.user: no-such-user: user not found" "$WORK/passwd" --queue 0 --rules "$WORK/rules/t.rules" \
	--set run-as.user=no-such-user
refuses nogroup "run-as.group: no-such-group: group not found" "$WORK/passwd" --queue 0 --rules "$WORK/rules/t.rules" \
	--set run-as.group=no-such-group
refuses required "security.sandbox is yes and the user sluice does not exist: create it with .useradd --system" \
	"$WORK/passwd.none" --queue 0 --rules "$WORK/rules/t.rules" --set security.sandbox=yes

# A host without the user; one where nothing is wanted; and a container, where who starts it has the one capability and
# is not root.
run_in "$WORK/passwd.none" plain --queue 0 --rules "$WORK/rules/t.rules"
wait_ready plain
tells plain "running as root because the user sluice does not exist: create it with .useradd --system .*sluice"
ENGINE=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
each_thread CapEff 0000000000001000
each_thread Seccomp 2
stop_process "$LAST_PID" || fail "exit code $?"

run_in "$WORK/passwd" off --queue 0 --rules "$WORK/rules/t.rules" --set security.sandbox=no
wait_ready off
ENGINE=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
each_thread Uid 0
each_thread Seccomp 0
ENGINE=$(supervisor_of)
each_thread Seccomp 0
each_thread NoNewPrivs 0
grep -q "no sandbox" <<<"$(ask status)" || fail "status does not tell that there is none"
stop_process "$LAST_PID" || fail "exit code $?"

run_in "$WORK/passwd" part --queue 0 --rules "$WORK/rules/t.rules" --set security.seccomp=no \
	--set security.landlock.enabled=no
wait_ready part
tells part "Landlock off; seccomp filter off"
ENGINE=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
each_thread Uid $USER_ID
each_thread CapEff 0000000000001000
each_thread Seccomp 0
ENGINE=$(supervisor_of)
each_thread CapEff 00000000000031e7
each_thread NoNewPrivs 1
each_thread Seccomp 0
stop_process "$LAST_PID" || fail "exit code $?"

WRAP=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin
	--bounding-set=-all,+net_admin)
mkdir "$WORK/container"; chown 65534 "$WORK/container"; chown 65534 "$WORK/run"
run_in "$WORK/passwd" container --queue 0 --rules "$WORK/rules/t.rules"
wait_ready container
tells container "reject rules drop without sending"
tells container "cannot read .*nfnetlink_queue without CAP_DAC_READ_SEARCH"
ENGINE=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
each_thread Uid 65534
each_thread CapEff 0000000000001000
each_thread NoNewPrivs 1
each_thread Seccomp 2
# Its supervisor can execute another version of the program, which needs the capability as well.
ENGINE=$(supervisor_of)
for field in CapEff CapPrm CapBnd CapInh CapAmb; do each_thread $field 0000000000001000; done
each_thread Seccomp 2
before=$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')
ask upgrade >"$WORK/out" 2>&1 || fail "no upgrade: $(cat "$WORK/out")"
[ "$(ask status --json | sed -E 's/.*"engine_pid":([0-9]+).*/\1/')" != "$before" ] ||
	fail "the upgrade has the same engine"
each_thread CapEff 0000000000001000
each_thread Seccomp 2
stop_process "$LAST_PID" || fail "exit code $?"
refuses other "only root can change the user" "$WORK/passwd" --queue 0 --rules "$WORK/rules/t.rules" \
	--set run-as.user=root
