# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the plots of docs/benchmarks.md and prints its table, from the results in the folder of the plots.

    plots.py FOLDER        reads results.tsv and affinity.tsv of FOLDER; a plot without results is not changed

One style for all: a colour for each configuration, medians of the rounds with the range between least and most, units
on the axes, ratios in the legend. The same results give the same files.
"""
import importlib.util
import os
import re
import statistics
import sys

COLOURS = {'ct': '#999999', 'plain': '#bbbbbb', 'bare': '#4477aa', 'suri': '#cc6677', 'sluice': '#117733'}
LABELS = {'ct': 'forwarding, conntrack', 'plain': 'plain forwarding', 'bare': 'bare consumer', 'suri': 'Suricata',
          'sluice': 'Sluice'}
MARKERS = {'bare': 's', 'suri': '^', 'sluice': 'o', 'ct': 'D', 'plain': 'd'}
KINDS = ('bare', 'sluice', 'suri')
WIDTH, HEIGHT = 9, 3.6


# --- Results

class Results:
    """The values {what: {configuration: [value of each round]}}, and the machine that they come from."""

    def __init__(self, path):
        self.values, self.machine = {}, ''
        if not os.path.exists(path):
            return
        with open(path) as f:
            for line in f:
                if line.startswith('#'):
                    self.machine = line[1:].strip()
                    continue
                configuration, what, _, value, _, _ = line.rstrip('\n').split('\t')
                self.values.setdefault(what, {}).setdefault(configuration, []).append(float(value))

    def of(self, what, configuration):
        return self.values.get(what, {}).get(configuration, [])

    def median(self, what, configuration):
        values = self.of(what, configuration)
        return statistics.median(values) if values else None


def ratio_label(kind, values):
    """Returns the label of a line. Sluice's has its ratios to the other lines, at the highest x that all lines have."""
    shared = set.intersection(*(set(points) for points in values.values()))
    if kind != 'sluice' or not shared or len(values) == 1:
        return LABELS[kind]
    at = max(shared)
    ratios = {other: values[kind][at] / values[other][at] for other in values if other != kind and values[other][at]}
    parts = [f'{ratio:.2f} of {LABELS[other]}' if other == 'bare' else f'{ratio:.1f} x {LABELS[other]}' for other,
             ratio in ratios.items()]
    return f'{LABELS[kind]}: {", ".join(parts)}'


# --- Drawing

def new_figure(columns, title, width=WIDTH):
    import matplotlib
    matplotlib.use('svg')
    matplotlib.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'sluice', 'font.family': 'sans-serif',
                                'font.size': 9, 'axes.grid': True,
                                'grid.alpha': 0.3, 'axes.spines.top': False, 'axes.spines.right': False,
                                'legend.frameon': False,
                                'axes.axisbelow': True})
    import matplotlib.pyplot
    figure, axes = matplotlib.pyplot.subplots(1, columns, figsize=(width, HEIGHT), squeeze=False, layout='constrained')
    figure.suptitle(title, fontsize=10)
    return figure, axes[0]


def save(figure, folder, name):
    import matplotlib.pyplot
    figure.savefig(f'{folder}/{name}.svg', metadata={'Date': None, 'Creator': None})
    matplotlib.pyplot.close(figure)
    print(f'{folder}/{name}.svg')


def line(axis, kind, points, label):
    """Draws the medians of POINTS ({x: [values]}), and the range from minimum to maximum."""
    xs = sorted(points)
    middle = [statistics.median(points[x]) for x in xs]
    axis.fill_between(xs, [min(points[x]) for x in xs], [max(points[x]) for x in xs], color=COLOURS[kind], alpha=0.15,
                      linewidth=0)
    axis.plot(xs, middle, color=COLOURS[kind], marker=MARKERS[kind], markersize=4, label=label)


def lines(axis, by_kind):
    """Draws a line for each kind of BY_KIND ({kind: {x: [values]}}) that has values."""
    by_kind = {kind: points for kind, points in by_kind.items() if points}
    medians = {kind: {x: statistics.median(values) for x, values in points.items()} for kind, points in by_kind.items()}
    for kind, points in by_kind.items():
        line(axis, kind, points, ratio_label(kind, medians))
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=8)


def scaled(values, by):
    return [value / by for value in values]


def draw_rules(results, folder):
    def points(kind, what):
        found = {}
        for thousands in (0, 1, 5, 10, 20, 37):
            values = results.of(what, f'{kind}1-{thousands}k' if thousands else f'{kind}1')
            if values:
                found[thousands] = scaled(values, 1e3)
        if kind == 'bare' and found:  # bare has no rules: draw a horizontal line
            found[37] = found[0]
        return found
    figure, axes = new_figure(2, 'Throughput and number of rules (one queue)')
    for axis, what, unit in zip(axes, ('W3', 'W4'), ('keep-alive requests: thousand/s', 'new connections: thousand/s')):
        lines(axis, {kind: points(kind, what) for kind in KINDS})
        axis.set_xlabel('rules of ET Open loaded, thousands')
        axis.set_ylabel(unit)
    save(figure, folder, 'rules')


def draw_sizes(results, folder):
    sizes = sorted(int(what[5:]) for what in results.values if re.fullmatch(r'size\.\d+', what))
    figure, axes = new_figure(3, 'UDP of one sender core by packet size (one queue, all rules)', 11)
    for axis, unit, suffix, factor in zip(axes,
                                          ('delivered, thousand packets/s', 'delivered, Gbit/s of payload', 'lost, %'),
                                          ('', '', '.lost'),
                                          (lambda size: 1e-3, lambda size: size * 8e-9, lambda size: 1)):
        by_kind = {}
        for kind in KINDS:
            name = f'{kind}1' + ('' if kind == 'bare' else '-37k')
            by_kind[kind] = {size: [value * factor(size) for value in results.of(f'size.{size}{suffix}', name)]
                             for size in sizes
                             if results.of(f'size.{size}', name)}
        lines(axis, by_kind)
        axis.set_xlabel('UDP payload, bytes')
        axis.set_ylabel(unit)
    for axis in axes[1:]:
        axis.get_legend().remove()
    save(figure, folder, 'sizes')


def draw_queues(results, folder):
    figure, axes = new_figure(2, f'One and two queues, all rules ({results.machine.split(",")[0]})')
    for axis, what, unit in zip(axes, ('W2', 'W3'),
                                ('64-byte UDP: thousand packets/s', 'keep-alive requests: thousand/s')):
        for place, kind in enumerate(KINDS):
            if not results.of(what, f'{kind}2' + ('' if kind == 'bare' else '-37k')):
                continue
            values = [scaled(results.of(what, f'{kind}{queues}' + ('' if kind == 'bare' else '-37k')), 1e3) or [0]
                      for queues in (1, 2)]
            middle = [statistics.median(each) for each in values]
            spread = [[m - min(each) for m, each in zip(middle, values)],
                      [max(each) - m for m, each in zip(middle, values)]]
            label = LABELS[kind] + (f': {middle[1] / middle[0]:.2f} with two' if all(middle) else '')
            axis.bar([x + (place - 1) * 0.27 for x in (1, 2)], middle, 0.25, yerr=spread, color=COLOURS[kind],
                     label=label,
                     error_kw={'elinewidth': 0.8, 'capsize': 2})
        axis.set_xticks([1, 2])
        axis.set_xlabel('queues')
        axis.set_ylabel(unit)
        axis.margins(y=0.25)
        axis.legend(fontsize=8)
    save(figure, folder, 'queues')


def draw_latency(results, folder):
    quantiles = sorted(float(what[4:]) for what in results.values if what.startswith('rtt.'))
    figure, axes = new_figure(2, 'Round trip of one small UDP packet each millisecond (one queue, all rules)')
    for kind in KINDS:
        name = f'{kind}1' + ('' if kind == 'bare' else '-37k')
        times = [results.median(f'rtt.{q:.4f}', name) for q in quantiles]
        if None in times:
            continue
        middle = times[quantiles.index(0.5)]
        axes[0].plot(times, [100 * q for q in quantiles], color=COLOURS[kind],
                     label=f'{LABELS[kind]}: median {middle:.0f} us')
        tail = times[min(range(len(quantiles)), key=lambda i: abs(quantiles[i] - 0.99))]
        axes[1].plot(times, [100 * (1 - q) for q in quantiles], color=COLOURS[kind],
                     label=f'{LABELS[kind]}: p99 {tail:.0f} us')
    axes[0].set_ylabel('round trips that take no longer, %')
    axes[1].set_ylabel('round trips that take longer, %')
    axes[1].set_yscale('log')
    for axis in axes:
        axis.set_xscale('log')
        axis.set_xlabel('round trip, us')
        axis.legend(fontsize=8)
    save(figure, folder, 'latency')


def draw_affinity(results, folder):
    names = [name for name in ('pinned', 'same CPU', 'unpinned') if any(name in by for by in results.values.values())]
    figure, axes = new_figure(len(results.values), 'Runs with workers pinned and not', 4 * len(results.values))
    for axis, (what, by) in zip(axes, results.values.items()):
        values = [by.get(name, []) for name in names]
        axis.boxplot(values, labels=[f'{name}\n{spread(each)}' for name, each in zip(names, values)], widths=0.5,
                     medianprops={'color': COLOURS['sluice']}, flierprops={'markersize': 3})
        axis.set_ylabel(what)
        axis.set_ylim(bottom=0)
    save(figure, folder, 'affinity')


def spread(values):
    """Returns mean and coefficient of variation as a label."""
    if len(values) < 2:
        return ''
    return f'mean {statistics.mean(values):.3g}\ncv {100 * statistics.stdev(values) / statistics.mean(values):.1f} %'


# --- The table

ROWS = (('W1', 'W1 Gbit/s', 1, 1), ('W1m', 'W1m Gbit/s', 1, 2), ('W2', 'W2 thousand packets/s', 1e3, 0),
        ('W2.lost', 'W2 lost %', 1, 2),
        ('W3', 'W3 thousand requests/s', 1e3, 1), ('W3.p50', 'W3 p50 us', 1, 0), ('W3.p99', 'W3 p99 us', 1, 0),
        ('W3b', 'W3b thousand requests/s', 1e3, 2), ('W4', 'W4 thousand connections/s', 1e3, 1),
        ('W5.p50', 'W5 p50 us', 1, 0),
        ('W5.p99', 'W5 p99 us', 1, 0), ('load', 'load s', 1, 2), ('rss', 'resident MiB', 1, 0))


def table(results, queues):
    """Yields the lines of a Markdown table: medians with QUEUES queues, then Sluice's ratios to bare and Suricata."""
    columns = [name for name in ('plain', 'ct', f'bare{queues}', f'suri{queues}-37k', f'sluice{queues}-37k')
               if any(name in by for what, by in results.values.items() if what in ('W1', 'W2', 'W3'))]
    yield f'| | {" | ".join(columns)} | of bare | of Suricata |'
    yield '|---' * (len(columns) + 3) + '|'
    for what, title, unit, digits in ROWS:
        medians = [results.median(what, name) for name in columns]
        cells = ['' if value is None else f'{value / unit:.{digits}f}' for value in medians]
        own = results.median(what, f'sluice{queues}-37k')
        others = [results.median(what, f'{kind}{queues}' + rules) for kind, rules in (('bare', ''), ('suri', '-37k'))]
        cells += ['' if own is None or not other or what == 'W2.lost' else f'{own / other:.2f}' for other in others]
        if any(cells):
            yield f'| {title} | {" | ".join(cells)} |'


def can_draw():
    if importlib.util.find_spec('matplotlib'):
        return True
    print('matplotlib is missing, so no plots are drawn; run scripts/install-deps bench')
    return False


def draw(folder):
    results, affinity = Results(folder + '/results.tsv'), Results(folder + '/affinity.tsv')
    drawings = ((draw_rules, ('W3', 'sluice1')), (draw_sizes, ('size.64', 'sluice1-37k')),
                (draw_queues, ('W2', 'sluice2-37k')),
                (draw_latency, ('rtt.0.5000', 'sluice1-37k')))
    drawn = can_draw()
    for function, needed in drawings:
        if drawn and results.of(*needed):
            function(results, folder)
    if drawn and affinity.values:
        draw_affinity(affinity, folder)
    print(results.machine)
    for queues in (1, 2):
        if results.median('W1', f'sluice{queues}-37k') is not None:
            print(f'\n{queues} queue{"s" * (queues > 1)}, medians:\n')
            print('\n'.join(table(results, queues)))


if __name__ == '__main__':
    draw(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)) + '/../../docs/plots')
