#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same with Suricata as the other consumer.
CONSUMER=suricata exec bash "$(dirname "$0")/chaining.sh"
