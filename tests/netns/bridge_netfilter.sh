#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The bridge again, as those of containers are inspected: by br_netfilter, in the table of the family inet.
FAMILY=inet exec bash "$(dirname "$0")/bridge.sh"
