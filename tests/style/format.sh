#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# format.sh [CLANG-FORMAT]: fails if a C file is not formatted by .clang-format; `clang-format -i FILE` formats it.
set -euo pipefail
cd "$(dirname "$0")/../.."
format=${1:-clang-format}
command -v "$format" >/dev/null || { echo "SKIP: $format is not installed"; exit 77; }
find src include tests -name '*.[ch]' -print0 | sort -z | xargs -0 "$format" --dry-run -Werror
