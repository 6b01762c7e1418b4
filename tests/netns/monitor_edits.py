#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A neighbour who edits its ruleset, traffic that goes on meanwhile, and what became of it.

    monitor_edits.py edit COUNT SEED RUDE     COUNT random edits of tables n0..n4 by nft; with RUDE 1 also, rarely, of
                                              the whole ruleset and of the table sluice. The same seed leaves the same
                                              rules
    monitor_edits.py send ADDRESS PORT RATE   sends numbered datagrams until SIGTERM and prints a line "NUMBER TIME" for
                                              each
    monitor_edits.py receive PORT FILE        receives them and writes a line "NUMBER TIME" for each, and the line "end"
                                              for the datagram "end"
    monitor_edits.py judge SENT GOT EVE DISCARDED
                                              compares: prints how many datagrams were sent, lost and uninspected, and
                                              lists each mismatch. DISCARDED: packets that the kernel freed although
                                              their verdict succeeded
"""
import json
import random
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime

FAMILIES = ['ip', 'ip6', 'inet']
HOOKS = ['prerouting', 'input', 'forward', 'output', 'postrouting']


def nft(text):
    subprocess.run(['nft', '-f', '-'], input=text, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Neighbour:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.tables = {}   # name: (family, {chain: rules}, sets)

    def rule(self):
        return self.chance.choice(['counter', 'ip daddr 198.51.100.7 counter', 'meta mark set meta mark or 0x100000',
                                   'tcp dport 9 counter', 'ct state new counter', 'ip6 daddr fd99::1 counter',
                                   'meta l4proto 6 counter'])

    def add_table(self):
        name = f'n{self.chance.randrange(5)}'
        if name in self.tables:
            return self.add_chain()
        family = self.chance.choice(FAMILIES)
        self.tables[name] = (family, {}, set())
        return f'add table {family} {name}'

    def table(self):
        return self.chance.choice(sorted(self.tables)) if self.tables else None

    def add_chain(self):
        name = self.table()
        if not name:
            return self.add_table()
        family, chains, _ = self.tables[name]
        chain = f'c{self.chance.randrange(4)}'
        if chain in chains:
            return self.add_rule()
        chains[chain] = 0
        hook = ''
        if self.chance.random() < 0.7:
            hook = (f'{{ type filter hook {self.chance.choice(HOOKS)} priority {self.chance.randrange(-300, 300)}; '
                    'policy accept; }')
        return f'add chain {family} {name} {chain} {hook}'

    def add_rule(self):
        name = self.table()
        if not name or not self.tables[name][1]:
            return self.add_chain()
        family, chains, _ = self.tables[name]
        rule = self.rule()
        if family == 'ip' and 'ip6' in rule or family == 'ip6' and 'ip daddr' in rule:
            rule = 'counter'
        return f'add rule {family} {name} {self.chance.choice(sorted(chains))} {rule}'

    def drop_chain(self):
        name = self.table()
        if not name or not self.tables[name][1]:
            return self.add_chain()
        family, chains, _ = self.tables[name]
        chain = self.chance.choice(sorted(chains))
        del chains[chain]
        return f'flush chain {family} {name} {chain}\ndelete chain {family} {name} {chain}'

    def drop_table(self):
        name = self.table()
        if not name:
            return self.add_table()
        family = self.tables.pop(name)[0]
        return f'delete table {family} {name}'

    def flush_table(self):
        name = self.table()
        return f'flush table {self.tables[name][0]} {name}' if name else self.add_table()

    def add_set(self):
        name = self.table()
        if not name:
            return self.add_table()
        family, _, sets = self.tables[name]
        sets.add('s')
        return (f'add set {family} {name} s {{ type inet_service; }}\n'
                f'add element {family} {name} s {{ {self.chance.randrange(1, 65535)} }}')

    def edit(self):
        kinds = [self.add_table] * 2 + [self.add_chain] * 4 + [self.add_rule] * 6 + [self.drop_chain] * 3 + \
                [self.drop_table, self.flush_table, self.add_set]
        return self.chance.choice(kinds)()


def edit(count, seed, rude):
    neighbour, begun = Neighbour(int(seed)), time.time()
    for number in range(int(count)):
        # By the number alone, so that the neighbour's own chance is the same with and without.
        if number % 100 == 37:
            neighbour.tables.clear()
            nft('flush ruleset')
        elif number % 100 == 71 and rude == '1':
            nft('delete table inet sluice' if number % 200 == 71 else 'flush chain inet sluice forward')
        nft(neighbour.edit())
    print(f'{count} edits in {time.time() - begun:.1f} s')


def send(address, port, rate):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    begin, sent, lines = time.monotonic(), 0, []
    while not ended:
        due = int((time.monotonic() - begin) * int(rate))
        for _ in range(min(due - sent, 50)):
            lines.append(f'{sent} {time.time():.6f}')
            sock.sendto(b'number %d.' % sent, (address, int(port)))
            sent += 1
        time.sleep(0.001)
    print('\n'.join(lines))


def receive(port, path):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)   # SO_RCVBUFFORCE: a busy machine must not look like loss
    sock.bind(('', int(port)))
    with open(path, 'a', buffering=1) as out:
        out.write('listening\n')
        while True:
            data = sock.recv(65536)
            if data == b'end':
                out.write('end\n')
                continue
            out.write(f'{int(data.split()[1].rstrip(b"."))} {time.time():.6f}\n')


def seconds(timestamp):
    return datetime.strptime(timestamp, '%Y-%m-%dT%H:%M:%S.%f%z').timestamp()


def read_events(path):
    inspected, windows, flushed, stats = set(), [], 0, None
    for line in open(path, encoding='utf-8'):
        event = json.loads(line)
        if event['event_type'] == 'alert':
            inspected.add(int(event['payload_printable'].split()[1].split('.')[0]))
        elif event['event_type'] == 'stats':
            stats = event['sluice']['stats']
        elif event['event_type'] == 'firewall':
            told = event['sluice']['firewall']
            flushed += told.get('packets', 0)
            if told.get('uninspected') and 'at_most_us' in told:
                end = seconds(event['timestamp'])
                windows.append((end - told['at_most_us'] / 1e6, end))
    return inspected, windows, flushed, stats


def judge(sent_path, got_path, eve_path, discarded):
    sent = {int(n): float(t) for n, t in (line.split() for line in open(sent_path))}
    arrivals = [line.split() for line in open(got_path) if line not in ('listening\n', 'end\n')]
    got = {int(n): float(t) for n, t in arrivals}
    inspected, windows, flushed, stats = read_events(eve_path)
    lost, uninspected = set(sent) - set(got), set(got) - inspected
    # A datagram passed the hook at some time between its sending and its arrival.
    outside = [n for n in uninspected if not any(sent[n] <= end and got[n] >= begin for begin, end in windows)]
    refused = sum(q['verdict_lost'] for q in stats['queue'].values())
    print(f'{len(sent)} sent, {len(lost)} lost, {flushed} reported as flushed, {discarded} discarded by the kernel, '
          f'{len(uninspected)} uninspected in {len(windows)} windows of {sum(b - a for a, b in windows):.1f} s '
          f'together, {stats["firewall"]["changes"]} changes')
    wrong = []
    if len(arrivals) != len(got):
        wrong.append(f'{len(arrivals) - len(got)} arrived twice')
    if outside:
        wrong.append(f'{len(outside)} passed uninspected outside of what was reported: {sorted(outside)[:10]}')
    if len(inspected) < len(sent) / 2:
        wrong.append(f'only {len(inspected)} were inspected')
    if not len(lost) <= refused + int(discarded):
        wrong.append(f'{len(lost)} were lost, {refused} verdicts refused, {discarded} discarded by the kernel')
    if flushed != stats['firewall']['flushed'] or flushed != refused:
        wrong.append(f'{flushed} flushed by the events, {stats["firewall"]["flushed"]} in the statistics, {refused} '
                     f'verdicts')
    if any(q['dropped'] for q in stats['queue'].values()):
        wrong.append('Sluice dropped')
    if not windows:
        wrong.append('no window was reported')
    if wrong:
        wrong += [f'lost: {n}, sent at {sent[n]:.3f}' for n in sorted(lost)[:20]] + \
            [f'period without inspection: {a:.3f} to {b:.3f}' for a, b in windows]
    sys.exit('\n'.join(wrong) or 0)


if __name__ == '__main__':
    {'edit': edit, 'send': send, 'receive': receive, 'judge': judge}[sys.argv[1]](*sys.argv[2:])
