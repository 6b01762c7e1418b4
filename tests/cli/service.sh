#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# service.sh FILE...: checks the units with systemd-analyze verify, and that the exposure level of systemd-analyze
# security is below 2.0 for each service.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "SKIP: systemd-analyze is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# sluice need not be installed
for file; do sed -E 's#=([-+]*)[^ =]*/sluice(-ship)? #=\1/bin/true #' "$file" >"$work/$(basename "$file")"; done
units=("$work"/*.service)
for unit in "${units[@]}"; do
	grep -Eq "^ExecStart=/bin/true (run|update|metrics|--config)" "$unit" || { echo "no ExecStart in $unit" >&2; exit 1; }
	# A rule that `sluice run` leaves out must not stop the service, so the unit must not check rules before the start.
	if grep -E "^ExecStartPre=.*true +check" "$unit" >&2; then exit 1; fi
done
systemd-analyze verify --man=no "$work"/sluice* >"$work/out" 2>&1 || true
if grep -E "$work/sluice|ordering cycle" "$work/out" >&2; then exit 1; fi
# Services stop in the reverse order of their start: sluice-ship.service gets the last events of the daemon.
grep -q "^Before=.*\bsluice.service" "$work/sluice-ship.service" || { echo "sluice-ship stops too early" >&2; exit 1; }
grep -q -- --offline <<<"$(systemd-analyze security --help)" || { echo "SKIP: systemd is older than 250"; exit 77; }
for unit in "${units[@]}"; do
	systemd-analyze security --no-pager --offline=yes --threshold=19 "$unit" >"$work/out" || {
		grep -E '✗|Overall' "$work/out" >&2
		exit 1
	}
done
