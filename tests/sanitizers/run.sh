#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh PRESET CTEST-ARGUMENTS...: builds the preset of a sanitizer and runs tests in it. The build folder must exist.
# scripts/test has built it before, so the build here takes time only if sources have changed since.
set -euo pipefail
preset=$1
shift
if [ ! -f "build/$preset/build.ninja" ]; then
	echo "build/$preset does not exist; run" \
		"cmake --preset $preset && cmake --build --preset $preset --target sanitizer_tests" >&2
	exit 1
fi
cmake --build --preset "$preset" --target sanitizer_tests | tail -n 3
# Run all tests of a program in one process: with a process per test, LeakSanitizer runs once per test, which takes ten
# times as long as the tests. A test that crashes then ends its program.
export CK_FORK=no
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
