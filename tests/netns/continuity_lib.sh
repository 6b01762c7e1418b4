# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests in which nothing may be lost: datagrams and pings both ways, HTTP on old and new connections.

export EVE_CUT=yes # engines are killed
ADDRESSES=10.66.2.2,10.66.2.3,10.66.2.4,10.66.2.5 # the kernel divides queues by them

# continuity_rules FILE: what is dropped always, and others.
continuity_rules() {
	{
		echo 'drop udp any any -> any any (msg:"evil"; content:"EVIL-PATTERN"; sid:1;)'
		echo 'alert http any any -> any any (msg:"path"; http.uri; content:"/no/where"; sid:2;)'
		for i in $(seq 200); do
			echo "alert udp any any -> any 7000 (msg:\"filler\"; content:\"filler $i\"; sid:$((1000 + i));)"
		done
	} >"$1"
}

# traffic_start: in the background, until traffic_stop. Not many pings: ping has room for a hundred or so that come at
# once.
traffic_start() {
	background srv python3 "$HERE/continuity.py" serve "$ADDRESSES" 7000
	wait_text "$WORK/background.log" listening
	ip netns exec "$P-cli" python3 "$HERE/continuity.py" ask "$ADDRESSES" 7000 "${RATE:-500}" >"$WORK/asked" \
		2>"$WORK/asked.log" &
	ASKING=$!
	wait_for test -s "$WORK/asked" || fail "asked is empty"
	pings_start
}

pings_start() {
	ip netns exec "$P-cli" ping -i 0.1 10.66.2.2 >"$WORK/ping.there" 2>&1 &
	PING_THERE=$!
	ip netns exec "$P-srv" ping -i 0.1 10.66.1.2 >"$WORK/ping.back" 2>&1 &
	PING_BACK=$!
}

answered() { tail -n 1 "$WORK/asked" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

has_more_lines() { [ "$(grep -c . "$1")" -gt "$2" ]; } # has_more_lines FILE COUNT

# stall WHAT: waits until each address has answered a datagram that is sent from now on, and prints the longest gap
# between two datagrams, and the slowest request, since the last call.
stall() {
	local had
	had=$(grep -c . "$WORK/asked")
	kill -USR1 "$ASKING"
	# A busy virtual machine takes more than a minute to answer what has piled up.
	wait_for has_more_lines "$WORK/asked" "$had" || wait_for has_more_lines "$WORK/asked" "$had" ||
		wait_more_lines "$WORK/asked" . $((had + 1))
	echo "$1: the longest gap $(tail -n 1 "$WORK/asked" | awk '{ print $1 " s, the slowest request " $2 " s" }')"
}

# pings_missing FILE: the sequence numbers of the pings that were lost: those without an answer before the last one that
# was answered. The answers arrive in order; the answers of the last pings may still be on their way when ping ends.
pings_missing() {
	awk '/bytes from .*icmp_seq=/ { sub(/.*icmp_seq=/, ""); seen[$1 + 0] = 1; if ($1 + 0 > last) last = $1 + 0 }
		END { if (!last) print "all"; for (i = 1; i < last; i++) if (!(i in seen)) printf "%d ", i }' "$1"
}

# other_drops: what was dropped though no rule of continuity_rules() says so, as far as it was told.
other_drops() {
	cat "$WORK"/ips/eve.json* 2>/dev/null | grep '"event_type":"drop"' | grep -v '"signature_id":1,' | tail -n 20
}

# traffic_stop: ends it, and nothing was lost. LOSS=counted: that is for the caller to judge.
traffic_stop() {
	kill "$ASKING"
	wait "$ASKING" || fail "the client: $(cat "$WORK/asked.log")"
	pings_stop
	tail -n 1 "$WORK/asked"
	[ "${LOSS:-none}" = counted ] || equal "datagrams that came back" "$(answered answered)" "$(answered sent)"
	equal "datagrams that must not come back" "$(answered evil_answered)" 0
	[ "$(answered evil_sent)" -gt 0 ] || fail "nothing was to be dropped"
	[ "$(answered failed)" -eq 0 ] || other_drops >&2
	equal "requests that failed" "$(answered failed)" 0
	[ "$(answered requests)" -gt 50 ] || fail "hardly any request was made"
	[ "${LOSS:-none}" = counted ] || pings_judge
}

# ping_is_current FILE: the next answer comes as soon as it is asked for.
ping_is_current() {
	wait_more_lines "$1" . $(($(grep -c . "$1") + 1))
	tail -n 1 "$1" | awk '{ sub(/.*time=/, ""); exit !($1 + 0 < 200) }'
}

# pings_stop: ends ping once answers are current again: an engine may just be starting.
pings_stop() {
	local file
	for file in "$WORK/ping.there" "$WORK/ping.back"; do
		wait_for ping_is_current "$file" || fail "no current answers to pings: $(tail -n 1 "$file")"
	done
	kill -INT "$PING_THERE" "$PING_BACK"
	wait "$PING_THERE" "$PING_BACK" || true
}

pings_judge() {
	equal "lost pings" "$(pings_missing "$WORK/ping.there")" ""
	equal "lost pings of the server" "$(pings_missing "$WORK/ping.back")" ""
}
