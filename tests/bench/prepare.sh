# SPDX-License-Identifier: GPL-2.0-or-later
# Builds Sluice, and prepares the bench harness of SLUICE_SHARED in BENCH_DIR. To be sourced in the root of the tree.
# Sets $shared.
shared=${SLUICE_SHARED:-$(cd .. && pwd)/shared}
export BENCH_DIR=${BENCH_DIR:-${TMPDIR:-/tmp}/sluice-bench}

[ "$(id -u)" = 0 ] || { echo "$0: needs root, for network namespaces" >&2; exit 1; }
[ -x "$shared/bench/run.py" ] || { echo "SKIP: no benchmark in $shared/bench (set SLUICE_SHARED)"; exit 77; }
scripts/install-deps bench
cmake --preset release -DSLUICE_TESTS=OFF >/dev/null
cmake --build --preset release --target sluice | tail -n 1
"$shared/bench/setup"
