#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that the events of a replay depend neither on the number of workers nor on the size of a batch.

    determinism.py SLUICE SOURCE SHARED [--share N] [--together N] [--largest BYTES] [--timeout S] [-j N] [PART OF A
    PATH...]

Captures of SHARED/pcaps are chosen as in captures.py. Each is replayed with the shipped rules, captures/keywords.rules
and captures/determinism.rules, half of them with --ips, with 1, 2 and 4 workers and batches of 1 and 64. All events
except statistics must be the same, byte for byte and in the same order.
"""
import concurrent.futures
import os
import sys
import tempfile

import captures
import replaying

RUNS = [(1, 64), (1, 1), (2, 64), (2, 1), (4, 64), (4, 1)]
CONFIG = """%YAML 1.1
---
eve:
  types:
    alert: {payload: yes, packet: yes, metadata: yes, tagged-packets: yes}
    anomaly: {types: {decode: yes, stream: yes}}
    drop: {alerts: yes, flows: all}
    flow: yes
    netflow: yes
    stats: yes
"""


def first_difference(one, other):
    """Returns the first events that differ as text, or None."""
    for a, b in zip(one, other):
        if a != b:
            return f'{a.decode(errors="replace")[:600]}\n    and {b.decode(errors="replace")[:600]}'
    return None if len(one) == len(other) else f'{len(one)} events and {len(other)}'


def check(sluice, arguments, shared, paths, timeout):
    """Returns (problem or None, the first run)."""
    arguments = arguments + captures.mode_options(paths)
    reference = None
    with tempfile.TemporaryDirectory() as folder:
        for workers, batch in RUNS:
            run = replaying.Run(sluice, arguments + ['--workers', str(workers), '--set', f'queue.batch={batch}'],
                                [os.path.join(shared, path) for path in paths], folder, timeout * len(paths))
            who = f'{workers} workers, batch {batch}'
            problem = run.problem(may_fail=True)
            reference = reference or run
            if problem:
                return f'{who}: {problem}', reference
            if (run.code, run.said) != (reference.code, reference.said):
                return f'{who}: exit code {run.code}, {run.said!r}, not {reference.code}, {reference.said!r}', reference
            difference = first_difference(reference.lines_without_stats(), run.lines_without_stats())
            if difference:
                return f'1 worker and {who} differ: {difference}', reference
    return None, reference


def main():
    args = captures.argument_parser().parse_args()
    found = captures.chosen_captures(args, ['pcaps'])
    failed = total = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        config = folder + '/sluice.yaml'
        with open(config, 'w') as f:
            f.write(CONFIG)
        source = os.path.abspath(args.source)
        arguments = ['--config', config, *replaying.default_arguments(source), *replaying.cache_settings(folder),
                     '--rules', source + '/tests/replay/captures/determinism.rules']
        results = pool.map(lambda group: captures.check_group(
            lambda paths: check(os.path.abspath(args.sluice), arguments, args.shared, paths, args.timeout), group),
            captures.groups_of(found, args.together))
        for path, problem, run in (one for group in results for one in group):
            total += len(run.lines_without_stats())
            if problem:
                failed += 1
                print(f'{path}: {problem}', flush=True)
    print(f'{len(found)} captures, {total} events, {failed} failed')
    sys.exit(1 if failed or total == 0 else 0)


if __name__ == '__main__':
    main()
