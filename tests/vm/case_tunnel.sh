# SPDX-License-Identifier: GPL-2.0-or-later
# Repeat mode's mark and tunnels that begin or end on the gateway.
TUNNELS=ipip DIRECTIONS=in exec bash "$(dirname "$0")/../netns/repeat_tunnel.sh"
