# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that the plan of scripts/bench measures all values of the table, and that `instructions` parses callgrind
files."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile

import everything
import plots

HERE = os.path.dirname(os.path.abspath(__file__))
FACTOR = {'plain': 1.3, 'ct': 1.2, 'bare': 1.0, 'sluice': 0.8, 'suri': 0.25}
PROFILE = '''events: Ir

ob=(1) /tree/build/sluice
fl=(1) /tree/src/flow/table.c
fn=(1) flow_table_get
10 5
+1 7
fi=(2) /tree/include/sluice/bytes.h
3 2
fi=(3) /tree/src/base/pool.c
4 11
fe=(1)
12 1
cob=(2) /lib/libhs.so.5.4.0
cfi=(4) ???
cfn=(2) scan
calls=1 0
12 1000

ob=(2)
fl=(4)
fn=(2)
0 1000

ob=(3) /lib/libc.so.6
fl=(5) ./malloc/malloc.c
fn=(3) calloc
9 50
cfn=(4) __memset_avx2_unaligned_erms
calls=2 0
9 30

fn=(4)
1 40
'''


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, f'{HERE}/{name}')
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def check_table():
    wanted = everything.plan(['table', 'rules', 'sizes', 'queues', 'latency'])
    with tempfile.TemporaryDirectory() as folder:
        path = folder + '/results.tsv'
        with open(path, 'w') as out:
            out.write('# a machine\n')
            for name, workloads in wanted.items():
                factor = next(value for kind, value in FACTOR.items() if name.startswith(kind))
                for number in (1, 2, 3):
                    for workload in workloads:
                        print(name, workload, number, 1000 * factor * number, 'unit', 0, sep='\t', file=out)
        results = plots.Results(path)
    assert results.machine == 'a machine'
    rows = list(plots.table(results, 1))
    assert rows[0] == '| | plain | ct | bare1 | suri1-37k | sluice1-37k | of bare | of Suricata |', rows[0]
    assert rows[2] == '| W1 Gbit/s | 2600.0 | 2400.0 | 2000.0 | 500.0 | 1600.0 | 0.80 | 3.20 |', rows[2]
    assert any(row.startswith('| W4') for row in rows)
    assert results.median('W3', 'sluice1-5k') == 1600


def check_profile():
    instructions = script('instructions')
    with tempfile.NamedTemporaryFile('w') as out:
        out.write(PROFILE)
        out.flush()
        profile = instructions.Profile(out.name)
    assert profile.stages == {'flow': 15, 'base': 11, 'hyperscan': 1000, 'allocator': 80, 'libc': 10}, profile.stages
    assert instructions.total(profile.stages) == 1036
    recorded = {('tree', 'x'): {'flow': 100.0}}
    with contextlib.redirect_stdout(io.StringIO()):
        assert instructions.compare({('tree', 'x'): ({'flow': 102.0}, {})}, recorded)
        assert not instructions.compare({('tree', 'x'): ({'flow': 104.0}, {})}, recorded)


if __name__ == '__main__':
    check_table()
    check_profile()
