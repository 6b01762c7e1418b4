# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced inside the machine: the hosts and helpers of tests/netns, on a kernel with the native queue expression.
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

ruleset() { gateway nft list ruleset 2>/dev/null | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'; }

# listens FILE: until the sink that writes it does.
listens() {
	for _ in $(seq 100); do [ -s "$1" ] && return; sleep 0.1; done
	fail "no sink"
}

# arrives TEXT FILE: within 10 s.
arrives() {
	for _ in $(seq 100); do grep "$1" "$2" >/dev/null && return; sleep 0.1; done
	fail "'$1' does not arrive"
}
