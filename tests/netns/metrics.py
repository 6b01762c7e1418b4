# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks metrics of `sluice metrics`.

    metrics.py equal STATS.json METRICS     every counter of `sluice stats --json` is a metric, and the sums are the same
    metrics.py same TEXT OPENMETRICS        both formats have the same metrics; OpenMetrics is parsed strictly
    metrics.py monotonic METRICS...         no counter is less than in the file before
    metrics.py value METRICS SAMPLE         prints the value of a sample, such as 'sluice_up'
"""
import re
import sys

LINE = re.compile(r'([a-z_0-9]+)(\{.*\})? (\S+)')
# Metrics that are not counters of `sluice stats`.
OTHERS = ('sluice_query_', 'sluice_metrics_', 'sluice_build_info', 'sluice_workers_answer',
          'sluice_alert_only')


def read(path):
    """Returns {sample: value} and {metric: type}."""
    samples, kinds = {}, {}
    for line in open(path, encoding='utf-8'):
        if line.startswith('# TYPE '):
            name, kind = line.split()[2:]
            assert name not in kinds, f'{path}: {name} has two headers'
            kinds[name] = kind
        elif not line.startswith('#'):
            match = LINE.fullmatch(line.rstrip('\n'))
            assert match, f'{path}: {line}'
            name = match[1] + (match[2] or '')
            assert name not in samples, f'{path}: {name} is there twice'
            samples[name] = float(match[3])
    return samples, kinds


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, path + (key,))
    elif isinstance(value, list):
        yield from leaves(value[0], path)
    else:
        yield '.'.join(path), value


def check_equal(stats, metrics):
    import json
    # detect.engines[].last_reload is a text, for exporters of Suricata; sluice_ruleset_loaded_timestamp_seconds has it.
    counters = {name: value for name, value in leaves(json.load(open(stats, encoding='utf-8')))
                if not isinstance(value, str)}
    samples, _ = read(metrics)
    unlisted = [name for name in samples if name.startswith('sluice_unlisted')]
    assert not unlisted, f'without a row in src/counter/table.c: {unlisted}'
    ours = {name: value for name, value in samples.items() if not name.startswith(OTHERS) and name != 'sluice_up'}
    assert len(ours) == len(counters), f'{len(ours)} samples, {len(counters)} counters'
    for counter, name in (('flow.total', 'sluice_flows_total'), ('detect.alert', 'sluice_alerts_total'),
                          ('ips.memcap.flow', 'sluice_memory_limit_bytes{table="flow"}'),
                          ('queue.1.length', 'sluice_queue_length_packets{queue="1",worker="1"}'),
                          ('ips.blocked', 'sluice_verdict_packets_total{verdict="blocked"}')):
        assert samples[name] == counters[counter], f'{name}: {samples[name]}, {counter}: {counters[counter]}'


def check_same(text, openmetrics):
    from prometheus_client.openmetrics import parser
    plain, kinds = read(text)
    with open(openmetrics, encoding='utf-8') as f:
        families = list(parser.text_fd_to_metric_families(f))
    parsed = {(s.name, tuple(sorted(s.labels.items()))) for family in families for s in family.samples}
    assert len(parsed) == len(plain), f'{len(parsed)} samples in OpenMetrics, {len(plain)} in text'
    for family in families:
        assert family.documentation.endswith('.'), f'{family.name}: no help'
        name = family.name + ('_total' if family.type == 'counter' else '')
        assert kinds[name] == family.type, f'{name}: {kinds[name]}, {family.type}'
        # A metric without a unit is a number of its own kind: a state, a time, a generation.
        assert family.unit or family.type == 'gauge', f'{family.name}: no unit'


def check_monotonic(paths):
    before, up = {}, 0
    for path in paths:
        samples, kinds = read(path)
        if samples['sluice_up'] == 0:
            continue
        up += 1
        for name, value in samples.items():
            if kinds.get(name.split('{')[0]) == 'counter' and not name.startswith('sluice_metrics_'):
                assert value >= before.get(name, 0), f'{path}: {name} went from {before[name]} to {value}'
                before[name] = value
    print(up)


if __name__ == '__main__':
    try:
        if sys.argv[1] == 'equal':
            check_equal(*sys.argv[2:])
        elif sys.argv[1] == 'same':
            check_same(*sys.argv[2:])
        elif sys.argv[1] == 'monotonic':
            check_monotonic(sys.argv[2:])
        else:
            print(f'{read(sys.argv[2])[0][sys.argv[3]]:g}')
    except AssertionError as error:
        sys.exit(f'FAILED: {error}')
