#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh PRESET [-j JOBS] CTEST-ARGUMENTS...: builds the preset of a sanitizer and runs tests in it, JOBS at a time
# (default: the number of CPUs).
#
# The build and the tests run at a lower priority, so that they use CPU time that other tests leave idle, and hardly
# delay tests that measure rates or latencies.
set -euo pipefail
preset=$1 jobs=$(nproc)
shift
if [ "$1" = -j ]; then
	jobs=$2
	shift 2
fi
renice -n 3 -p $$ >/dev/null
cmake --preset "$preset" "-DPython3_EXECUTABLE=${PYTHON3:-python3}" >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --build --preset "$preset" --target sanitizer_tests -j "$jobs" >"$log" 2>&1 || {
	tail -n 200 "$log"
	exit 1
}
tail -n 1 "$log"
# Run all tests of a program in one process: with a process per test, LeakSanitizer runs once per test, which takes ten
# times as long as the tests. A test that crashes then ends its program.
export CK_FORK=no
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
