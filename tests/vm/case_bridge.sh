# SPDX-License-Identifier: GPL-2.0-or-later
# A transparent gateway by the bridge family, with VLANs.
WITH_VLAN=1 exec bash "$(dirname "$0")/../netns/bridge.sh"
