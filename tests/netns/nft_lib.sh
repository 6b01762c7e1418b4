# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests nft_*.sh and doctor*.sh: the script runs again in a network namespace of its own, with an empty
# ruleset and with an empty /run of its own (control socket, lock of the legacy iptables). Needs root and SLUICE, the
# program to test. Exit code 77: skipped.
set -euo pipefail

: "${SLUICE:?path of the program}"
SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$SOURCE/tests/netns/wait_lib.sh"

skip() {
	echo "SKIP: $*"
	exit 77
}

fail() {
	echo "FAILED: $*" >&2
	nft list ruleset >&2 2>/dev/null || true
	exit 1
}

equal() { # equal WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

[ "$(id -u)" = 0 ] || skip "needs root"
for tool in nft unshare python3; do command -v $tool >/dev/null || skip "$tool is not installed"; done
[ "${NFT_INSIDE:-}" ] || NFT_INSIDE=1 exec unshare --net \
	--mount bash -c 'mount -t tmpfs run /run && exec bash "$0" "$@"' "$0" "$@"
nft add table inet probe 2>/dev/null || skip "the kernel has no nf_tables"
nft delete table inet probe

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# No configuration of this machine.
nft_command() { "$SLUICE" nft "$1" --config /dev/null "${@:2}"; }

# The ruleset without the counters' values.
ruleset() { nft list ruleset 2>/dev/null | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'; }

# status PATH [OPTION...]: a value of the status, such as mode or hooks.0.priority.
status() {
	nft_command status --json "${@:2}" | python3 -c '
import json, sys
value = json.load(sys.stdin)
for part in sys.argv[1].split("."):
    value = value[int(part)] if part.isdigit() else value[part]
print(json.dumps(value) if not isinstance(value, str) else value)' "$1"
}

# Whether the kernel has nft's own queue expression.
has_native() { nft -c 'add table inet probe; add chain inet probe c; add rule inet probe c queue num 0' 2>/dev/null; }

# wrong NAME CODE PATTERN ARGS...: fails with one line that matches, and changes nothing.
wrong() {
	local name=$1 code=$2 pattern=$3 got=0 before
	shift 3
	before=$(ruleset)
	nft_command "$@" >"$WORK/out" 2>&1 || got=$?
	[ "$got" = "$code" ] || fail "$name: exit code $got instead of $code: $(cat "$WORK/out")"
	grep -qE "$pattern" "$WORK/out" || fail "$name: does not say /$pattern/: $(cat "$WORK/out")"
	equal "$name: lines" "$(wc -l <"$WORK/out")" 1
	equal "$name: the ruleset" "$(ruleset)" "$before"
}
