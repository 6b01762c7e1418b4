# SPDX-License-Identifier: GPL-2.0-or-later
# Mode repeat, with a tunnel that ends on the gateway.
TUNNELS=ipip DIRECTIONS=in exec bash "$(dirname "$0")/../netns/repeat_tunnel.sh"
