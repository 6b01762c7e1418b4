#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where events and rules lie: a disk that is full or can't be written, a log folder that goes and comes back, rules in a
# folder that the sandbox does not know. Each with its line in the log, verdicts and traffic as ever, and a way on
# without a restart.
. "$(dirname "$0")/lib.sh"
topology
mkdir "$WORK/conf"
echo 'drop udp any any -> any 7000 (msg:"fives"; content:"number 5"; sid:1;)' >"$WORK/conf/t.rules"
: >"$WORK/got"
udp_sink 7000 "$WORK/got"
tells() { wait_text "$WORK/$1.log" "$2"; } # tells NAME PATTERN
ask() { gateway "$SLUICE" "$@" --socket "$WORK/socket"; }
counter() { ask stats --all "$1" | awk '{ print $2 }'; }
# told NAME PATTERN: with traffic until then, for it is told of what can't be written.
told() { wait_for says "$1" "$2" || fail "$1: does not say '$2'"; }
says() {
	judged "$2"
	grep -q "$2" "$WORK/$1.log"
}
sent=0
# judged NAME: a packet that passes and one that does not.
judged() {
	sent=$((sent + 1))
	udp_send cli 10.66.2.2 7000 "number 5" "number 4 of $sent"
	wait_text "$WORK/got" "number 4 of $sent"
	grep -q "number 5" "$WORK/got" && fail "$1: what must not pass passes"
	true
}
# written NAME FILE: until a new event is there.
written() {
	local before=0
	[ ! -e "$2" ] || before=$(wc -l <"$2")
	wait_for has_written "$1" "$2" "$before" || fail "$1: no event comes into $2"
}
has_written() {
	judged "$1"
	[ -e "$2" ] && [ "$(wc -l <"$2")" -gt "$3" ]
}
options=(--queue 0 --attach after --no-console --set "unix-command.filename=$WORK/socket" --set stats.interval=0)
mounted=()
trap 'umount -l "${mounted[@]}" 2>/dev/null; cleanup' EXIT
mount_disk() { # mount_disk NAME OPTIONS
	mkdir -p "$WORK/$1"
	mount -t tmpfs -o "$2" none "$WORK/$1" 2>/dev/null || skip "no tmpfs can be mounted"
	mounted+=("$WORK/$1")
}

# --- A full disk: it starts, judges, and says what it can't write; with room it goes on -------------------------------
mount_disk full size=64k
head -c 1M /dev/zero >"$WORK/full/filler" 2>/dev/null || true
start_sluice full "${options[@]}" --rules "$WORK/conf/t.rules"
judged "full disk"
tells full "events are lost: .*No space left on device: make room on its disk"
wait_least "drop events that a full disk loses" 1 counter output.drop.lost
ask reload >/dev/null || fail "no reload on a full disk"
rm "$WORK/full/filler"
written "room again" "$WORK/full/eve.json"
tells full "events are written again; [0-9]* events were lost"
stop_process "$LAST_PID" || fail "full: exit code $?"

# --- A disk that can't be written: no start, with the reason ----------------------------------------------------------
mount_disk readonly size=64k,ro
code=0
timeout 20 ip netns exec "$P-gw" "$SLUICE" run --log-dir "$WORK/readonly" "${options[@]}" --rules "$WORK/conf/t.rules" \
	>"$WORK/ro.log" 2>&1 || code=$?
equal "read-only: exit code" "$code" 1
grep -q "cannot write events to $WORK/readonly/eve.json: Read-only file system" "$WORK/ro.log" ||
	fail "read-only: does not say why"

# --- The log folder: the sandbox is for the one that was there --------------------------------------------------------
printf 'rule-files: [%s]\n' "$WORK/conf/t.rules" >"$WORK/conf/ips.yaml"
start_sluice ips "${options[@]}" --config "$WORK/conf/ips.yaml"
ips=$LAST_PID
written "at first" "$WORK/ips/eve.json"
rm -r "$WORK/ips"
told ips "events are lost: .*No such file or directory: check that its folder exists"
mkdir "$WORK/ips"
written "a new folder" "$WORK/ips/eve.json"
mv "$WORK/ips" "$WORK/ips.moved"
mkdir "$WORK/ips"
kill -HUP "$ips"
written "moved, SIGHUP" "$WORK/ips/eve.json"
equal "events lost since" "$(ask stats --all output.drop.lost | awk '{ print ($2 < 100) }')" 1

# One that its user may not write: said once, and done when it has been put right.
rm -r "$WORK/ips"
install -d -o nobody -m 700 "$WORK/ips"
denied="Permission denied; the folder must exist and belong to user root (chown)"
told ips "cannot write events to $WORK/ips/eve.json: $denied"
chown root "$WORK/ips"
written "allowed" "$WORK/ips/eve.json"

# A link in the place of the file leads nobody anywhere.
if grep -q "Landlock on" "$WORK/ips.log"; then
	rm -r "$WORK/ips"
	mkdir "$WORK/ips"
	ln -s "$WORK/elsewhere" "$WORK/ips/eve.json"
	told ips "cannot write events to $WORK/ips/eve.json: Too many levels of symbolic links"
	[ ! -e "$WORK/elsewhere" ] || fail "the supervisor opened what a link led to"
	rm "$WORK/ips/eve.json"
	written "no link" "$WORK/ips/eve.json"
fi

# --- Rules in a folder that was not named at the start ----------------------------------------------------------------
mkdir "$WORK/more"
echo 'drop udp any any -> any 7000 (msg:"more"; content:"other"; sid:2;)' >"$WORK/more/more.rules"
printf 'rule-files: [%s, %s]\n' "$WORK/conf/t.rules" "$WORK/more/more.rules" >"$WORK/conf/ips.yaml"
if grep -q "Landlock on" "$WORK/ips.log"; then
	ask reload >"$WORK/out" 2>&1 && fail "the sandbox has let it read another folder"
	grep -q "the sandbox (Landlock) does not allow to read $WORK/more/more.rules.*run .sluice upgrade." "$WORK/out" ||
		fail "the reload does not say what to do: $(cat "$WORK/out")"
fi
judged "refused reload"
ask upgrade >"$WORK/out" 2>&1 || fail "upgrade: $(cat "$WORK/out")"
reloads() { ask reload >"$WORK/out" 2>&1; }
wait_for reloads || fail "no reload after the upgrade: $(cat "$WORK/out")"
grep -q "2 rules" "$WORK/out" || fail "the new rule is not there: $(cat "$WORK/out")"
udp_send cli 10.66.2.2 7000 "other text"
judged upgraded
grep -q "other text" "$WORK/got" && fail "the new rule is not used"
stop_process "$ips" || fail "exit code $?"
