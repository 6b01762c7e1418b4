# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced inside the machine: the hosts and helpers of tests/netns, on a kernel with the native queue expression.
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

ruleset() { gateway nft list ruleset 2>/dev/null | sed -E 's/packets [0-9]+ bytes [0-9]+/packets 0 bytes 0/'; }

# listens FILE: until the sink that writes it does.
listens() { wait_for test -s "$1" || fail "no sink"; }

# arrives TEXT FILE: until a line of the file has the text.
arrives() { wait_text "$2" "$1"; }
