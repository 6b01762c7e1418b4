# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures everything that the table and the plots of docs/benchmarks.md need. Started by scripts/bench.

The topology, the workloads and the programs to compare with are those of the bench harness in SLUICE_SHARED, which is
called "yardstick" in the code. Each round starts every configuration once and runs all workloads that the selected
parts need; even rounds go through the configurations in reverse order. Rows of results.tsv: configuration, what, round,
value, unit, CPU % of other processes. The plots are drawn from this file, which is kept beside them.
"""
import argparse
import contextlib
import importlib.util
import os
import platform
import re
import signal
import subprocess
import sys
import time

import plots

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULE_SETS = ('', '-1k', '-5k', '-10k', '-20k', '-37k')
SIZES = (64, 128, 256, 512, 1024, 1400)
ALL = 'W1 W1m W2 W3 W3b W4 W5'.split()
PEERS = ('bare', 'suri', 'sluice')
SIZE_SECONDS, ROUND_TRIPS, ECHO_PORT = 2, 4000, 7777
# Quantiles of the latency plot; denser in the tail.
QUANTILES = [i / 50 for i in range(50)] + [0.98 + i / 1000 for i in range(1, 20)] + [0.9995, 0.9999]


def name_of(kind, queues=1, rules='-37k'):
    return f'{kind}{queues}' + ('' if kind == 'bare' else rules)


def plan(parts):
    """Returns {configuration: [workloads]} in the order of a round."""
    wanted = {}

    def want(name, *what):
        wanted.setdefault(name, []).extend(w for w in what if w not in wanted.get(name, []))

    if 'table' in parts:
        want('ct', *ALL)
        want('plain', 'W1')
    for kind in PEERS:
        if 'rules' in parts:
            for rules in RULE_SETS:
                want(name_of(kind, 1, rules), 'W3', 'W4')
        for queues in (1, 2):
            if 'table' in parts:
                want(name_of(kind, queues), *ALL)
            if 'queues' in parts:
                want(name_of(kind, queues), 'W2', 'W3')
        for part in ('sizes', 'latency'):
            if part in parts:
                want(name_of(kind), part)
    return wanted


class Workloads:
    """Workloads in addition to those of the yardstick. As there, a workload returns {what: (value, unit)}."""

    def __init__(self, yardstick):
        self.y = yardstick

    def client(self, command):
        return self.y.sh(self.y.ns('cli') + command, preexec_fn=self.y.join(self.y.BENCH_CG))

    def sizes(self):
        values = {}
        for size in SIZES:
            before = self.y.received()
            said = self.y.sh(['taskset', '-c', '0'] + self.y.ns('cli') + [
                self.y.DIR + '/bin/udpgen', '-l', str(size), '-g', '16', '-t', str(SIZE_SECONDS), '-f', '8', '-r', '0',
                self.y.ADDR['udp'][0], self.y.ADDR['udp'][1]], preexec_fn=self.y.join(self.y.BENCH_CG)).stdout
            time.sleep(.3)
            sent, got = int(re.match(r'sent (\d+)', said)[1]), self.y.received() - before
            values[f'size.{size}'] = (got / SIZE_SECONDS, 'pps')
            values[f'size.{size}.lost'] = (max(0, 100 * (1 - got / sent)), '%')
        return values

    def latency(self):
        done = self.client([self.y.DIR + '/bin/round_trips', self.y.ADDR['udp'][0], str(ECHO_PORT), str(ROUND_TRIPS),
                            '1000'])
        times = sorted(float(line) for line in done.stdout.split())
        if not times:
            sys.exit('no reply to any packet of round_trips: ' + done.stderr)
        return {f'rtt.{q:.4f}': (times[int(q * (len(times) - 1))], 'us') for q in QUANTILES}


def yardstick_path():
    return os.environ.get('SLUICE_SHARED', os.path.dirname(ROOT) + '/shared') + '/bench/run.py'


def default_command():
    """Sluice with its default configuration, except for HOME_NET (the same as for Suricata) and the rules' classes."""
    shared = os.path.dirname(os.path.dirname(yardstick_path()))
    return (f'{ROOT}/build/release/sluice run --no-console --queue {{queues}} --rules {{rules}} --log-dir {{log}} '
            f'--set vars.address-groups.HOME_NET=10.88.1.0/24 --set '
            f'classification-file={shared}/rules/et-open-2024-03/classification.config')


def load_yardstick():
    """Imports the yardstick as a module and adds the workloads of this file."""
    path = yardstick_path()
    os.environ.setdefault('SLUICE_CMD', default_command())
    spec = importlib.util.spec_from_file_location('yardstick', path)
    if os.geteuid() != 0 or not os.path.exists(path):
        sys.exit(f'needs root and the bench harness {path}: see scripts/bench')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = Workloads(module)
    module.WORKLOADS.update(sizes=own.sizes, latency=own.latency)
    return module


def move_folders(logs):
    """Moves folders out of Suricata's log folder, where the yardstick expects only files. tests/bench/replay creates
    folders there."""
    aside = os.path.dirname(logs) + '/other-logs'
    os.makedirs(aside, exist_ok=True)
    for entry in list(os.scandir(logs)):
        if entry.is_dir():
            os.rename(entry.path, f'{aside}/{entry.name}-{time.time_ns()}')


@contextlib.contextmanager
def live():
    """Yields the yardstick while its namespaces are up and its servers run."""
    y = load_yardstick()
    move_folders(y.DIR + '/suri/log')
    for folder in (y.BENCH_CG, y.IPS_CG):
        if os.path.isdir(y.CPUACCT):
            os.makedirs(folder, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    y.topo('down')
    y.topo('up')
    servers = [y.popen(y.ns('srv') + command, f'server{i}.log') for i, command in enumerate(
        (['nginx', '-c', y.DIR + '/nginx.conf'], ['iperf3', '-s', '-p', '5201'], [y.DIR + '/bin/udprtt', '-s']))]
    try:
        time.sleep(.5)
        y.probe()
        yield y
    finally:
        for server in servers:
            y.stop(server, wait=5)
        y.topo('down')


def one_configuration(y, name, workloads, number, out):
    config = y.config(name)
    try:
        config.start()
        if config.proc:
            print(name, 'load', number, f'{config.load:.2f}', 's', 0, sep='\t', file=out)
        for workload in workloads:
            y.measure(name, workload, number, out)
        if config.proc:
            print(name, 'rss', number, f'{config.rss():.0f}', 'MiB', 0, sep='\t', file=out, flush=True)
    finally:
        config.stop()


def measure(args, path):
    wanted = {name: what for name, what in plan(args.parts).items() if not args.only
              or re.match('|'.join(args.only), name)}
    with live() as y, open(path, 'a' if args.append else 'w') as out:
        y.FOREIGN_LIMIT = args.foreign or y.FOREIGN_LIMIT
        out.write(environment())
        for number in range(args.first, args.first + args.rounds):
            for name in list(wanted)[::1 if number % 2 else -1]:
                one_configuration(y, name, wanted[name], number, out)


def environment():
    with open('/proc/cpuinfo') as f:
        model = re.search(r'model name\s*: (.*)', f.read())
    revision = subprocess.run(['git', '-C', ROOT, 'describe', '--always',
                               '--dirty'], capture_output=True, text=True).stdout.strip()
    kernel = re.match('[0-9.]*', platform.release())[0]
    return (f'# {os.cpu_count()} CPUs, {model[1] if model else platform.machine()}, Linux {kernel}, '
            f'revision {revision or "?"}\n')


def arguments():
    parser = argparse.ArgumentParser(prog='scripts/bench', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-r', '--rounds', type=int, default=5)
    parser.add_argument('--first', type=int, default=1, metavar='ROUND', help='number of the first round (default 1)')
    parser.add_argument('--parts', type=lambda text: text.split(','),
                        default='table,rules,sizes,queues,latency'.split(','))
    parser.add_argument('--only', type=lambda text: text.split(','), default=[],
                        help='only configurations that begin with one of these words, such as bare,sluice')
    parser.add_argument('--append', action='store_true', help='append to the existing results')
    parser.add_argument('--foreign', type=float, metavar='PERCENT',
                        help='repeat a measurement if other processes use more than this share of one CPU')
    parser.add_argument('--draw', action='store_true', help='only draw the existing results')
    parser.add_argument('--out', default=ROOT + '/docs/plots', help='folder for results and plots')
    return parser.parse_args()


def main():
    args = arguments()
    results = args.out + '/results.tsv'
    os.makedirs(args.out, exist_ok=True)
    if not args.draw:
        measure(args, results)
    plots.draw(args.out)


if __name__ == '__main__':
    main()
