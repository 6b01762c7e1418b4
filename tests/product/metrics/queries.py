# SPDX-License-Identifier: GPL-2.0-or-later
"""Evaluates the queries of the dashboard in a Prometheus.

    queries.py URL DASHBOARD.json   every query must return data, and every alert rule must be healthy
    queries.py --pages URL          prints the addresses of pages of Prometheus with graphs of some of the queries
"""
import json
import sys
import urllib.parse
import urllib.request

# Without Grafana its variables are replaced: all gateways, and an interval with several scrapes.
VARIABLES = {'$instance': '.*', '$__rate_interval': '10s'}
GRAPHS = ('sum by (queue) (rate(sluice_queue_received_packets_total[10s]))',
          'sum by (reason) (rate(sluice_dropped_packets_total[10s])) > 0',
          'sum by (queue, worker) (rate(sluice_worker_cpu_seconds_total[10s]))',
          'sum by (table) (sluice_memory_bytes / on (instance, table) sluice_memory_limit_bytes) > 0')


def ask(url, path, **arguments):
    query = '?' + urllib.parse.urlencode(arguments) if arguments else ''
    with urllib.request.urlopen(f'{url}/api/v1/{path}{query}', timeout=30) as reply:
        return json.load(reply)['data']


def queries(node):
    """Yields (title, expression) of all panels, variables and annotations."""
    if isinstance(node, dict):
        if 'expr' in node:
            yield node.get('name') or node.get('legendFormat') or '', node['expr']
        for member in node.values():
            yield from queries(member)
    elif isinstance(node, list):
        for member in node:
            yield from queries(member)


def main():
    if sys.argv[1] == '--pages':
        for expr in GRAPHS:
            print(f'{sys.argv[2]}/classic/graph?g0.expr={urllib.parse.quote(expr)}&g0.tab=0&g0.range_input=1m')
        return
    url, dashboard = sys.argv[1:]
    done, problems = 0, []
    for title, expr in queries(json.load(open(dashboard, encoding='utf-8'))):
        for name, value in VARIABLES.items():
            expr = expr.replace(name, value)
        # The annotation has a result only at the time of a reload.
        if 'changes(' in expr:
            expr = f'max_over_time(({expr.replace("> 0", "")})[2m:2s]) > 0'
        try:
            result = ask(url, 'query', query=expr)['result']
        except urllib.error.HTTPError as error:
            result = []
            problems.append(error.read().decode())
        if not result:
            problems.append(f'no data: {title}: {expr}')
        done += 1
    rules = [rule for group in ask(url, 'rules')['groups'] for rule in group['rules']]
    problems += [f'{rule["name"]}: {rule["lastError"]}' for rule in rules if rule['health'] != 'ok']
    up = ask(url, 'query', query='count(count by (__name__) ({job="sluice"}))')['result'][0]['value'][1]
    print(f'{done} queries of the dashboard, {len(rules)} alerts, {up} metrics')
    if problems or not rules:
        sys.exit('FAILED:\n' + '\n'.join(problems))


if __name__ == '__main__':
    main()
