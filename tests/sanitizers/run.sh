#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh PRESET CTEST-ARGUMENTS...: runs tests in the build folder of a sanitizer's preset. It builds nothing: scripts/test does that before.
# A build that is missing or older than the sources is a failure.
set -euo pipefail
preset=$1
shift
if ! ninja -C "build/$preset" -n sanitizer_tests 2>&1 | grep -q "no work to do"; then
	echo "build/$preset is missing or out of date; build it with: cmake --preset $preset && cmake --build --preset $preset --target sanitizer_tests" >&2
	exit 1
fi
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
