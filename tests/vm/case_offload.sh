# SPDX-License-Identifier: GPL-2.0-or-later
# Offloaded flows where verdicts mark connections themselves (NFQA_CT); the modes that differ in their verdicts, for
# this machine is slow.
set -e
for mode in after repeat; do bash "$(dirname "$0")/../netns/offload.sh" $mode; done
