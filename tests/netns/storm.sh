#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Under load engines are killed, rules reloaded, the program replaced, and all that at the same time: nothing is lost,
# no request fails, nothing passes uninspected; how long packets had to wait is printed.
#   KILLS, RELOADS, UPGRADES, MIXED  how many of each (4, 4, 2, 4); mixed: one of the others has begun when the engine
#                                    is killed
#   FIREWALL   how often the host's firewall is loaded anew meanwhile (0). The kernel drops what waits in queues then:
#              that is counted
#   PAUSE      the longest pause between two of them, in seconds (1)
#   RULES      a file of rules besides the test's own
#   CACHE      a folder for compiled patterns, so that rules load faster
#   RATE       datagrams a second (500)
. "$(dirname "$0")/lib.sh"
. "$HERE/continuity_lib.sh"
topology
continuity_rules "$WORK/t.rules"
cp "$SLUICE" "$WORK/sluice"
program=$SLUICE SLUICE=$WORK/sluice
options=(--rules "$WORK/t.rules" --attach after --set engine.restart-limit=1000
	--set "unix-command.filename=$WORK/control" --no-console)
[ -z "${RULES:-}" ] || options+=(--rules "$RULES")
[ -z "${CACHE:-}" ] || options+=(--set detect.sgh-mpm-caching=yes --set "detect.sgh-mpm-caching-path=$CACHE")

# The host's own firewall, and counters ahead of it and at the very end. Its file is loaded as `nft -f` does: in place
# of what was.
cat >"$WORK/firewall.nft" <<'NFT'
table inet firewall
delete table inet firewall
table inet firewall {
	chain forward {
		type filter hook forward priority 0; policy drop
		ip saddr 10.66.0.0/16 accept
		meta nfproto ipv6 accept
	}
}
NFT
gateway nft -f "$WORK/firewall.nft"
READY_SECONDS=300 start_sluice ips --queue 0-1 "${options[@]}"
supervisor=$LAST_PID
gateway nft -f - <<'NFT'
table inet books {
	counter before { }
	counter after { }
	chain first { type filter hook forward priority -399; counter name before; }
	chain last { type filter hook postrouting priority 10000; ip saddr != { 10.66.1.1, 10.66.2.1 } counter name after; }
}
NFT
counted() { gateway nft list counter inet books "$1" | awk '/packets/ { print $2 }'; }
ask() { gateway "$program" "$@" --socket "$WORK/control"; }
# A pause of random length is part of the test: each kill shall find the engine in another state.
rest() { sleep "$(awk "BEGIN { srand($RANDOM); print rand() * ${PAUSE:-1} }")"; }
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$(engine_of "$supervisor")/status" 2>/dev/null || echo 0; }
answers() { has_engine "$supervisor" "$1" && ask status >/dev/null 2>&1; }
engine_answers() { wait_for answers "${1:-${engine:-}}" || fail "no engine answers"; } # not the one that was killed
reloads() { grep -c "reloaded:" "$WORK/ips.log"; }

signals=(KILL SEGV ABRT BUS KILL)
# kill_engine N: each seventh time the next one, too, while it starts. One that an upgrade replaces may be gone.
kill_engine() {
	engine=$(next_engine "$supervisor" "${engine:-}") # not the one that was killed and is not yet cleared away
	kill "-${signals[$(($1 % 5))]}" "$engine" 2>/dev/null || true
	[ $(($1 % 7)) = 6 ] || return 0
	engine=$(next_engine "$supervisor" "$engine")
	kill -9 "$engine" 2>/dev/null || true
}

reload() { # and wait until it is over
	local had
	had=$(reloads || true)
	kill -USR2 "$supervisor"
	wait_least "reloads that ended" $((had + 1)) reloads
}

upgrade() {
	local before
	before=$(engine_of "$supervisor")
	cp "$program" "$WORK/sluice.new" && mv "$WORK/sluice.new" "$WORK/sluice"
	ask upgrade >"$WORK/upgrade.out" 2>&1 || fail "upgrade: $(cat "$WORK/upgrade.out")"
	engine_answers "$before"
}

firewalls=0
firewall() { # when it is due: FIREWALL times, spread over all
	step=$((step + 1))
	[ $((step * ${FIREWALL:-0} / steps)) -gt $firewalls ] || return 0
	firewalls=$((firewalls + 1))
	gateway nft -f "$WORK/firewall.nft" || fail "the firewall"
}
steps=$((${KILLS:-4} + ${RELOADS:-4} + ${UPGRADES:-2} + ${MIXED:-4})) step=0

traffic_start
stall "nothing happens" >/dev/null
# Not each time before the next one works: engines that never get as far are something else, and started later and
# later.
for i in $(seq "${KILLS:-4}"); do
	[ $((i % 4)) = 0 ] || engine_answers
	rest
	kill_engine "$i"
	firewall
done
engine_answers
stall "${KILLS:-4} kills"
for i in $(seq "${RELOADS:-4}"); do
	reload
	firewall
	[ "$i" = 5 ] && begin=$(rss)
done
echo "memory of the engine: ${begin:-?} kB after 5 reloads, $(rss) kB after ${RELOADS:-4}"
[ "${RELOADS:-4}" -lt 20 ] || [ "$(rss)" -lt $((begin * 11 / 10 + 16384)) ] || fail "reloads cost memory"
stall "${RELOADS:-4} reloads"
for i in $(seq "${UPGRADES:-2}"); do rest; upgrade; firewall; done
stall "${UPGRADES:-2} upgrades"
for i in $(seq "${MIXED:-4}"); do
	engine_answers
	rest
	case $((i % 3)) in
	0) kill -USR2 "$supervisor" ;;
	1) ask upgrade >/dev/null 2>&1 & ;;
	2) firewall ;;
	esac
	rest
	kill_engine "$i"
	firewall
done
engine_answers
stall "${MIXED:-4} of all at once"
[ "${FIREWALL:-0}" = 0 ] || LOSS=counted
traffic_stop

# What came in and did not go out again: what a rule dropped, and what the kernel did.
engine_answers
missing=$(($(counted before) - $(counted after)))
gone=$((missing - $(answered evil_sent)))
echo "packets: $(counted before), of them $(answered evil_sent) for a rule to drop;" \
	"the kernel dropped $gone with $firewalls loads of the firewall"
if [ "${FIREWALL:-0}" = 0 ]; then
	[ "$gone" = 0 ] || grep -a '"event_type":"drop"' "$WORK/ips/eve.json" | grep -av '"signature_id":1,' >&2 || true
	equal "packets that were lost" "$gone" 0
else
	pings=$({ pings_missing "$WORK/ping.there"; pings_missing "$WORK/ping.back"; } | wc -w)
	lost=$(($(answered sent) - $(answered answered) + pings))
	reported=$(grep -o "dropped [0-9]* packets that waited" "$WORK/ips.log" | awk '{ n += $2 } END { print n + 0 }')
	echo "datagrams and pings that were lost: $lost; firewall events reported $reported"
	[ "$lost" -le $((gone + 2)) ] || fail "$lost are lost, of which the kernel dropped $gone"
fi
died=$(grep -c "the engine was killed" "$WORK/ips.log" || true)
[ "$died" -ge $((${KILLS:-4} + ${MIXED:-4} / 2)) ] || fail "only $died engines died"
echo "engines that died: $died, reloads: $(grep -c "reloaded:" "$WORK/ips.log")," \
	"hand-overs: $(ask stats --all engine.handovers | awk '{ print $2 }')"
equal "in quarantine" "$(ask stats --all engine.quarantined | awk '{ print $2 }')" 0
stop_process "$supervisor" || fail "exit code $?"
grep -q sluice <<<"$(gateway nft list tables)" && fail "the table is still there"
[ "$(gateway cat /proc/net/netfilter/nfnetlink_queue | wc -l)" = 0 ] || fail "a queue is still bound"
