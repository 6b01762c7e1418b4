# SPDX-License-Identifier: GPL-2.0-or-later
# A clean stop under traffic with the native queue expression. An emulated machine is slow: a lower rate leaves the
# daemon time for its start and its stop.
RATE=500 ROUNDS=1 MODES=after exec bash "$(dirname "$0")/../netns/attach_stop.sh"
