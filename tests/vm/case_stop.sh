# SPDX-License-Identifier: GPL-2.0-or-later
# A clean stop under traffic with the native queue expression. The emulated machine is slow, so the rate is low.
RATE=100 INTERVAL=0.05 ROUNDS=1 MODES=after exec bash "$(dirname "$0")/../netns/attach_stop.sh"
