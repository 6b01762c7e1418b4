#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at any moment of an installation or removal: the whole old table, the whole new one, or none.
. "$(dirname "$0")/nft_lib.sh"

nft_command install --mode after --hook forward,input,output --queue 1-2 >/dev/null
ruleset >"$WORK/after"
nft_command install --mode before --hook forward,input,output --queue 3-4 >/dev/null
ruleset >"$WORK/before"
nft_command remove
ruleset >"$WORK/none"
started=$(date +%s%N)
nft_command install --mode after >/dev/null
lasts=$((($(date +%s%N) - started) / 1000))
nft_command remove

killed=0 ended=0
declare -A seen=([after]=0 [before]=0 [none]=0)
for round in $(seq 50); do
	case $((round % 5)) in
	0) args="remove" ;;
	1 | 3) args="install --mode after --hook forward,input,output --queue 1-2" ;;
	*) args="install --mode before --hook forward,input,output --queue 3-4" ;;
	esac
	# Not by nft_command: a shell in between would be killed in its place.
	# shellcheck disable=SC2086
	"$SLUICE" nft $args --config /dev/null >/dev/null 2>&1 &
	pid=$!
	# A random moment of its run: where it is killed is what is tested.
	sleep "0.$(printf '%06d' $((RANDOM * 2 * lasts / 32768)))"
	kill -9 $pid 2>/dev/null || true
	if wait $pid 2>/dev/null; then ended=$((ended + 1)); else killed=$((killed + 1)); fi
	ruleset >"$WORK/now"
	found=
	for state in after before none; do cmp -s "$WORK/now" "$WORK/$state" && found=$state; done
	[ "$found" ] || fail "round $round ($args): neither whole nor gone"
	seen[$found]=$((seen[$found] + 1))
done
[ "$killed" -gt 0 ] && [ "$ended" -gt 0 ] || fail "$killed were killed, and $ended not"
echo "killed $killed of 50; found after ${seen[after]}, before ${seen[before]}, none ${seen[none]}"
