# SPDX-License-Identifier: GPL-2.0-or-later
# A transparent gateway (a bridge) with VLANs, and the sluice table in the family bridge.
WITH_VLAN=1 exec bash "$(dirname "$0")/../netns/bridge.sh"
