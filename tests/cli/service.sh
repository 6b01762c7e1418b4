#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# service.sh FILE COMMAND: checks the unit with systemd-analyze verify, that the exposure level of systemd-analyze
# security is below 2.0, and that it starts `sluice COMMAND`.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "SKIP: systemd-analyze is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unit=$work/${1##*/}
sed -E 's#=([-+]*)[^ =]*/sluice #=\1/bin/true #' "$1" >"$unit" # sluice need not be installed
grep -q "^ExecStart=/bin/true $2" "$unit" || { echo "no ExecStart in $1" >&2; exit 1; }

# A rule that `sluice run` leaves out must not stop the service, so the unit must not check rules before the start.
if grep -E "^ExecStartPre=.*sluice +check" "$1" >&2; then exit 1; fi

systemd-analyze verify --man=no "$unit" >"$work/out" 2>&1 || true
if grep -F "$unit" "$work/out" >&2; then exit 1; fi
grep -q -- --offline <<<"$(systemd-analyze security --help)" || { echo "SKIP: systemd is older than 250"; exit 77; }
systemd-analyze security --no-pager --offline=yes --threshold=19 "$unit" >"$work/out" || {
	grep -E '✗|Overall' "$work/out" >&2
	exit 1
}
