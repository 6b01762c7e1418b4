# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests firewall_*.sh: somebody's generator writes the gateway's firewall, which lets datagrams to port
# 7000 through and none to port 7001; Sluice installs itself beside it. The script has the functions
#
#   firewall_start, firewall_reload
#
# and calls beside MODE PACKETS and account MODE for each that is to be tried. In mode chain the firewall's own rule
# sends to the queues what it accepts: the script writes it where somebody would who uses this generator, and reloads.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
FAMILIES=${FAMILIES:-"10.66.2.2 fd66:2::2"}

needs() { for tool in "$@"; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done; }

# generator COMMAND...: in the gateway, with folders of this machine replaced as REPLACE="FOLDER=COPY ..." says.
generator() {
	gateway unshare -m bash -c '
		for pair in $0; do mount --bind "${pair#*=}" "${pair%%=*}" || exit; done
		mount -t tmpfs run /run 2>/dev/null
		exec "$@"' "${REPLACE:-}" "$@" >>"$WORK/generator.log" 2>&1 </dev/null
}

# Everybody else's rules, without what changes by itself.
others_rules() {
	{
		gateway nft list ruleset 2>/dev/null |
			awk '/^table (inet|ip|ip6|bridge) sluice / { ours = 1 } !ours { print } /^}/ { ours = 0 }'
		for ipt in iptables-legacy ip6tables-legacy; do
			! command -v $ipt-save >/dev/null || gateway $ipt-save 2>/dev/null | grep -v '^#' || true
		done
	} | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/; s/\[[0-9]+:[0-9]+\]/[0:0]/'
}

# arrived TEXT: how often at the port that is open, and at the closed one.
arrived() { grep -c "$1\$" "$WORK/open" || true; }
leaked() { grep -c "$1\$" "$WORK/closed" || true; }
# send NAME: to both ports, each family; and what arrives of it. NAME is unique.
send() {
	local to
	for to in $FAMILIES; do
		udp_send cli "$to" 7001 "$1" "$1 EVIL"
		udp_send cli "$to" 7000 "$1" "$1 EVIL" "$1 end"
	done
}
COUNT=$(echo "$FAMILIES" | wc -w)
# expect WHAT NAME EVIL: all of NAME arrived at the open port, EVIL (how many of each family) of the bad ones, nothing
# at the closed one.
expect() {
	wait_equal "arrivals of $2 end" "$COUNT" arrived "$2 end"
	equal "$1: what is allowed" "$(arrived "$2")" "$COUNT"
	equal "$1: bad ones" "$(arrived "$2 EVIL")" $((COUNT * $3))
	equal "$1: what the firewall denies" "$(leaked "$2")" 0
}

# Until thirty more of the paced datagrams have arrived.
more_numbers() {
	local from
	from=$(grep -c number "$WORK/open" || true)
	wait_least "$1: datagrams that arrived" $((from + 30)) arrived_numbers
}
arrived_numbers() { grep -c number "$WORK/open"; }

# last_number WHAT NUMBER FROM: until this one, the last of the numbered datagrams, has arrived behind line FROM. It may
# still wait for a CPU of the gateway, and would pass without inspection when the daemon has stopped.
last_number() { wait_equal "$1: arrivals of the last datagram" 1 number_arrived "$2" "$3"; }
number_arrived() { tail -n +$(($2 + 1)) "$WORK/open" | grep -c " number $1\.\?\$" || true; }

# run_beside NAME MODE ARGS...: the daemon, attached in this mode.
run_beside() {
	local name=$1 options=(--attach "$2")
	[ "$2" != repeat ] || options+=(--mark 0x200/0x200)
	[ "$2" != chain ] || options=()
	# A firewall may take longer to reload than engine.hang-timeout allows a frozen engine by default.
	start_sluice "$name" --queue 0-1 --set engine.hang-timeout=60 "${options[@]}" --rules "$WORK/t.rules" "${@:3}"
}

# sum NAME COUNTER: of both queues, by the last statistics.
sum() { echo $(($(last_stats "$1" "queue.0.$2") + $(last_stats "$1" "queue.1.$2"))); }

# recipe NAME: the block of docs/guide/attach.md behind `<!-- recipe NAME -->`, with the queues and interfaces of these
# tests.
recipe() {
	awk -v name="$1" '
		$0 == "<!-- recipe " name " -->" { mine = 1; next }
		mine && /^```/ { if (++fences == 2) exit; next }
		mine { print }' "$SOURCE/docs/guide/attach.md" | sed 's/0:3/0:1/; s/lan0/g0/; s/wan0/g1/' >"$WORK/recipe.$1"
	[ -s "$WORK/recipe.$1" ] || fail "docs/guide/attach.md has no recipe $1"
	cat "$WORK/recipe.$1"
}

# judge NAME MODE: the doctor finds no problem.
judge() {
	local options=(--mode "$2") code=0
	[ "$2" != repeat ] || options+=(--mark 0x200/0x200 --set queue.verdict=repeat)
	gateway "$SLUICE" nft doctor --config /dev/null --queue 0-1 "${options[@]}" >"$WORK/doctor.log" || code=$?
	[ "$code" = 0 ] ||
		fail "$1: findings of the doctor, exit code $code: $(grep -E -A 3 '^(broken|warning)' "$WORK/doctor.log")"
	rm "$WORK/doctor.log"
}

# condemned NAME SEVERITY FINDING [ARGS...]: after a reload of the firewall the doctor reports that finding.
condemned() {
	firewall_reload || fail "$1: reload: $(tail -5 "$WORK/generator.log")"
	gateway "$SLUICE" nft doctor --config /dev/null --queue 0-1 "${@:4}" >"$WORK/doctor.log" || true
	grep -q "^$2 $3: " "$WORK/doctor.log" || fail "$1: no finding '$2 $3'"
	rm "$WORK/doctor.log"
}

# chain_rules: the chains of mode chain as the program prints them for iptables, without the lines around them.
chain_rules() { "$SLUICE" nft print --config /dev/null --mode chain --iptables --queue 0-1 | grep '^[:-]'; }

# beside MODE PACKETS: PACKETS of those five that send() sends are seen.
beside() {
	local mode=$1 seen=$2 before
	before=$(others_rules)
	run_beside "$mode" "$mode"
	judge "$mode" "$mode"
	send "$mode"
	expect "$mode" "$mode" 0
	equal "$mode: others' rules" "$(others_rules)" "$before"

	# A reload under way: what arrives has been inspected, before and after.
	local from
	from=$(wc -l <"$WORK/open")
	ip netns exec "$P-cli" python3 "$HERE/traffic.py" udp-paced 10.66.2.2 7000 400 20 >"$WORK/paced" 2>&1 &
	local paced=$!
	more_numbers "$mode"
	firewall_reload || fail "$mode: reload: $(tail -5 "$WORK/generator.log")"
	more_numbers "$mode: after the reload"
	kill $paced
	wait $paced || fail "$mode: the traffic"
	last_number "$mode" $(($(tail -n 1 "$WORK/paced") - 1)) "$from"
	send "$mode-reloaded"
	expect "$mode: after the reload" "$mode-reloaded" 0
	stop_process "$LAST_PID" || fail "$mode: exit code $?"
	local passed judged
	passed=$(grep -c number "$WORK/open" || true)
	judged=$(sum "$mode" packets)
	[ "$mode${RELOAD_OPENS:-}" = chain1 ] || [ "$judged" -ge $((passed - PASSED + 2 * COUNT * seen)) ] ||
		fail "$mode: $passed arrived and $judged were inspected"
	# Not told by the number that was inspected: while the firewall's chain is exchanged for a new one both stand, and a
	# packet passes both.
	local denied
	denied=$(events "$mode" event_type=flow dest_port=7001)
	if [ "$seen" = 3 ]; then
		equal "$mode: inspected, although the firewall denies it" "$denied" 0
	else
		[ "$denied" -gt 0 ] || fail "$mode: what the firewall denies is not seen"
	fi
	PASSED=$passed
	local now
	now=$(others_rules)
	if [ "$mode" = chain ]; then # a reload may bring a user's chains in another order
		now=$(sort <<<"$now") before=$(sort <<<"$before")
	fi
	[ "$now" = "$before" ] || fail "$mode: others' rules are not what they were"

	# Dead, and with a queue that is full: the firewall's deny is a deny.
	run_beside "$mode-dead" "$mode"
	kill_process "$LAST_PID"
	send "$mode-dead"
	expect "$mode: with a dead daemon" "$mode-dead" 1
	run_beside "$mode-full" "$mode" --set queue.length=1 --set queue.fail-open=yes
	freeze "$LAST_PID"
	for to in $FAMILIES; do udp_send cli "$to" 7000 "fill-$mode" "fill-$mode"; done
	# The first of each family fills the queue, so that the second passes.
	wait_least "$mode: datagrams that pass a full queue" "$COUNT" arrived "fill-$mode"
	send "$mode-full"
	expect "$mode: with a full queue" "$mode-full" 1
	thaw "$LAST_PID"
	stop_process "$LAST_PID" || fail "$mode: exit code $?"
	gateway nft list tables | grep sluice && fail "$mode: our table is still there"
	true
}

# account MODE: a reload while packets wait in the queue. Each numbered datagram arrives, or was flushed by the kernel
# and is counted so, or was the firewall's to drop while it had no rules: what it lets through is inspected in mode
# after, and nothing is lost here.
account() {
	local mode=$1 name=$1-account from pid sender
	from=$(wc -l <"$WORK/open")
	run_beside "$name" "$mode" --set queue.length=20000
	pid=$LAST_PID
	# From the first chain that goes on each packet that is lost is counted, not only batches.
	gateway nft 'add table inet first; add chain inet first c { type filter hook input priority 3; }
		delete table inet first'
	wait_monitor "$name"
	ip netns exec "$P-cli" python3 "$HERE/monitor_edits.py" send 10.66.2.2 7000 1000 >"$WORK/sent" \
		2>>"$WORK/background.log" &
	sender=$!
	more_numbers "$name"
	freeze "$pid"
	wait_least "$name: packets that wait" 50 waiting
	firewall_reload || fail "$name: reload: $(tail -5 "$WORK/generator.log")"
	thaw "$pid"
	more_numbers "$name: after the reload"
	kill "$sender"
	wait "$sender" || fail "$name: the sender"
	last_number "$name" "$(awk 'END { print $1 }' "$WORK/sent")" "$from"
	wait_equal "$name: packets that wait" 0 waiting
	# The monitor counts once a second which packets were flushed. A difference that remains is for the judgement below.
	wait_for flushed_counted "$name" || true
	stop_process "$pid" || fail "$name: exit code $?"
	# The sink writes this one behind all that it has received.
	udp_send cli 10.66.2.2 7000 "$name end"
	wait_text "$WORK/open" "$name end"
	python3 - "$WORK/sent" "$WORK/open" "$from" "$(sum "$name" packets)" "$(sum "$name" verdict_lost)" \
		"$(last_stats "$name" firewall.flushed)" "$(sum "$name" dropped)" "$mode" >"$WORK/account" \
		<<'PY' || fail "$name: $(cat "$WORK/account")"
import sys
sent = {int(line.split()[0]) for line in open(sys.argv[1])}
numbers = [int(line.split('number ')[1].split('.')[0]) for line in list(open(sys.argv[2]))[int(sys.argv[3]):]
           if 'number' in line]
judged, refused, flushed, dropped = map(int, sys.argv[4:8])
got = set(numbers)
denied = len(sent) - len(got) - flushed
print(f'{len(sent)} sent, {judged} judged, {len(got)} arrived, {flushed} flushed, {denied} for the firewall to drop')
wrong = []
if len(numbers) != len(got) or got - sent:
    wrong.append('arrived twice, or never sent')
if dropped:
    wrong.append('dropped by us')
if flushed != refused:
    wrong.append(f'{refused} verdicts were refused')
if sys.argv[8] == 'after':
    if judged != len(got) + flushed:
        wrong.append('what was judged is not what arrived and what was flushed')
elif judged != len(sent):
    wrong.append('what was judged is not what was sent')
if denied < 0:
    wrong.append('more was flushed than is missing')
sys.exit('\n'.join(wrong) or 0)
PY
	cat "$WORK/account"
	PASSED=$(grep -c number "$WORK/open" || true)
}

topology
: >"$WORK/generator.log"
PASSED=0
echo 'drop udp any any -> any any (msg:"bad word"; content:"EVIL"; sid:1;)' >"$WORK/t.rules"
background srv python3 "$HERE/traffic.py" udp-sink 7000 "$WORK/open"
background srv python3 "$HERE/traffic.py" udp-sink 7001 "$WORK/closed"
for sink in open closed; do wait_text "$WORK/$sink" listening; done

# firewall_ready: started, and it does what this test takes for granted.
firewall_ready() {
	firewall_start || skip "it does not run here: $(tail -3 "$WORK/generator.log" | tr '\n' ' ')"
	send alone
	expect "without sluice" alone 1
}
