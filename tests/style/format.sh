#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# format.sh [CLANG-FORMAT]: fails when a C file is not as .clang-format wants it; `clang-format -i FILE` makes it so.
set -euo pipefail
cd "$(dirname "$0")/../.."
format=${1:-clang-format}
command -v "$format" >/dev/null || { echo "$format is not installed"; exit 77; }
find src include tests -name '*.[ch]' -print0 | sort -z | xargs -0 "$format" --dry-run -Werror
