# SPDX-License-Identifier: GPL-2.0-or-later
# Offload on a kernel in which verdicts can set the conntrack mark (NFQA_CT). The machine is slow, so only modes with
# different verdicts are tested.
set -e
for mode in after repeat; do bash "$(dirname "$0")/../netns/offload.sh" $mode; done
