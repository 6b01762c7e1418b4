# SPDX-License-Identifier: GPL-2.0-or-later
# The neighbour's edits, fewer of them, on a kernel that queues natively: see tests/netns/monitor_edits.sh.
EDITS=${EDITS:-75} RATE=${RATE:-200}
. "$(dirname "${BASH_SOURCE[0]}")/../netns/monitor_edits.sh"
