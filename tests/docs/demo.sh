#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh BUILD-FOLDER: scripts/demo with the program in that folder ends with exit code 0.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
exec "$(dirname "$0")/../../scripts/demo" --no-build "$1"
