#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Docker's rules in the legacy tables, which nft does not show.
VARIANT=legacy exec bash "$(dirname "$0")/firewall_docker.sh"
