#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh PRESET CTEST-ARGUMENTS...: builds a sanitizer's preset and runs tests in it.
set -euo pipefail
preset=$1
shift
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" | tail -n 3
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
