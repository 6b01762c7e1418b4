#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Configurations with all keys of those that IPFire and OPNsense generate start after `sluice import`, and inspect, with
# the queue rules that these systems have.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/import_lib.sh"
python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
topology
web_server

# example NAME: copies a configuration and the files that it names to $WORK/conf.NAME, and imports it.
example() {
	local file folder=$WORK/conf.$1
	mkdir -p "$folder/opnsense.rules"
	for file in "$SOURCE/tests/cli/import/$1"*.yaml; do
		case $(basename "$file") in
		"$1.yaml") sed "s#@DIR@#$folder#" "$file" >"$folder/suricata.yaml" ;;
		*) sed "s#@DIR@#$folder#" "$file" >"$folder/$(basename "$file" | sed "s/^$1-//")" ;;
		esac
	done
	bad_request_rules "$folder/t.rules"
	cp "$folder/t.rules" "$folder/opnsense.rules"
	sed 's/sid:/sid:1/; s/evil/ill/; s/worse/bad/' "$folder/t.rules" >"$folder/more-1.rules"
	for file in classification reference threshold; do : >"$folder/$file.config"; done
	"$SLUICE" import "$folder/suricata.yaml" --output "$folder/sluice.yaml" --json >"$folder/report" ||
		fail "$1 is not imported"
	keys_once "$folder/report"
}

# IPFire queues packets without its mark, and Sluice lets them run through the rules again.
example ipfire
gateway iptables -t mangle -A FORWARD -m mark ! --mark 0x80000000/0x80000000 -j NFQUEUE --queue-num 0
# It writes fast.log only; the test reads events.
inspects ipfire "$WORK/conf.ipfire/sluice.yaml" 4 --set eve.enabled=yes
[ -s "$WORK/ipfire/fast.log" ] || fail "no fast.log"
gateway iptables -t mangle -F FORWARD

# OPNsense runs on FreeBSD with netmap; here Sluice installs the queue rule.
example opnsense
inspects opnsense "$WORK/conf.opnsense/sluice.yaml" 2 --attach after
