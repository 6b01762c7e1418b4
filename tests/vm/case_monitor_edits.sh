# SPDX-License-Identifier: GPL-2.0-or-later
# The test tests/netns/monitor_edits.sh with fewer edits, on a kernel with nft's native queue.
EDITS=${EDITS:-40} RATE=${RATE:-200}
. "$(dirname "${BASH_SOURCE[0]}")/../netns/monitor_edits.sh"
