# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by lib.sh, nft_lib.sh and tests/vm/lib_systemd.sh, which have the function fail: waits for conditions. The
# limit of all of them is 60 s of time, not a number of tries, because a slow host needs long for each try.

# Pauses between tries grow, so that a slow host spends its time on what is waited for.
PAUSES=(0.02 0.03 0.05 0.07 0.1 0.15 0.2 0.3)
exec {NOTHING_TO_READ}<> <(:) # `read` with a time limit sleeps without starting a process
pause() { read -rt "${PAUSES[$1 < 7 ? $1 : 7]}" -u "$NOTHING_TO_READ" || true; }

# wait_for COMMAND...: until the command succeeds; it fails when the command never did.
wait_for() {
	local try=0 end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		pause $((try++))
	done
}

# wait_equal WHAT WANTED COMMAND...: until the command prints WANTED.
wait_equal() {
	local got try=0 end=$((SECONDS + 60))
	while got=$("${@:3}") || true; [ "$got" != "$2" ]; do
		[ $SECONDS -lt $end ] || fail "$1: got '$got', wanted '$2'"
		pause $((try++))
	done
}

# wait_least WHAT LEAST COMMAND...: until the command prints a number of at least LEAST.
wait_least() {
	local got try=0 end=$((SECONDS + 60))
	until got=$("${@:3}") || true; [ "${got:-0}" -ge "$2" ] 2>/dev/null; do
		[ $SECONDS -lt $end ] || fail "$1: got '$got', wanted at least $2"
		pause $((try++))
	done
}

# wait_text FILE PATTERN: until a line of the file matches.
wait_text() { wait_for grep -qs -e "$2" "$1" || fail "$(basename "$1") has no line with '$2'"; }

# wait_lines FILE PATTERN COUNT: until so many lines of the file match.
wait_lines() { wait_equal "lines with '$2' in $(basename "$1")" "$3" grep -cs -e "$2" "$1"; }

# wait_more_lines FILE PATTERN COUNT: until so many lines of the file match, or more.
wait_more_lines() { wait_least "lines with '$2' in $(basename "$1")" "$3" grep -cs -e "$2" "$1"; }
