#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests thresholds on many connections: the alerts, and the dropped packets with --ips, must be those of Suricata 8.

    thresholds.py SLUICE             compares with suricata/threshold_choice.txt
    thresholds.py --record           runs Suricata 8 (found as in suricata.py) and writes that file

The script makes the capture: interleaved connections of several clients to several servers, some with several requests.
Each rule has its own port, so that no rule drops packets that another one counts. A line of the file has the mode, the
action of the rules, the sid (0: dropped packets), the action in the event, and the packets.
"""
import collections
import itertools
import os
import random
import re
import struct
import sys
import tempfile

import run
import suricata

EXPECTED = suricata.FOLDER + '/threshold_choice.txt'
FIN, SYN, PSH, ACK = 1, 2, 8, 16
CLIENTS = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.40', 'fd00::1:1', 'fd00::1:2']
SERVERS = ['10.2.0.1', '10.2.0.2', '10.1.0.40', 'fd00::2:1', 'fd00::2:2']
CONNECTIONS, SECONDS = 36, 60

# Protocol and condition of a rule, by what the rule matches: a packet, the stream, a transaction, a datagram.
CONDITIONS = {
    'packet': ('tcp', 'flags:S;'),
    'stream': ('tcp', 'flow:established,to_server; content:"item";'),
    'request': ('http', 'http.uri; content:"item";'),
    'answer': ('http', 'http.stat_code; content:"200";'),
    'datagram': ('udp', 'content:"item";'),
}
KINDS = {
    'none': [''],
    'limit': [f'threshold:type limit, track {track}, count 2, seconds 7;'
              for track in ('by_src', 'by_dst', 'by_rule', 'by_both', 'by_flow')],
    'threshold': [f'threshold:type threshold, track {track}, count 3, seconds 20;'
                  for track in ('by_src', 'by_dst', 'by_rule', 'by_both')] +
                 ['threshold:type threshold, track by_flow, count 2, seconds 20;'],
    'both': [f'threshold:type both, track {track}, count 2, seconds 11;'
             for track in ('by_src', 'by_dst', 'by_rule', 'by_both', 'by_flow')],
    'backoff': ['threshold:type backoff, track by_flow, count 1, multiplier 2;'],
    'filter': [f'detection_filter:track {track}, count 2, seconds 15;' for track in ('by_src', 'by_dst')],
}
RULES = [(condition, text) for texts in KINDS.values() for text in texts for condition in CONDITIONS]


def port_of(index):
    return 2000 + index


def rules(action):
    lines = []
    for index, (condition, text) in enumerate(RULES):
        protocol, match = CONDITIONS[condition]
        arrow = f'any {port_of(index)} -> any any' if condition == 'answer' else f'any any -> any {port_of(index)}'
        lines.append(f'{action} {protocol} {arrow} (msg:"{condition}"; {match} {text} sid:{index + 1};)\n')
    return ''.join(lines)


class Connection:
    """The packets of a connection, with times. Each connection has another client port."""

    def __init__(self, dice, client, server, ports, start):
        self.dice, self.ends, self.ports, self.time = dice, (client, server), ports, start
        self.numbers, self.packets = [dice.getrandbits(32), dice.getrandbits(32)], []

    def add(self, side, protocol, segment, at):
        self.packets.append((self.time, run.ip_packet(self.ends[side], self.ends[1 - side], protocol, segment, at, {})))
        self.time += self.dice.choice((0.001, 0.01, 0.1, 0.5)) * self.dice.random()

    def tcp(self, side, flags, payload=b''):
        acknowledged = self.numbers[1 - side] if flags & ACK else 0
        segment = struct.pack('!HHIIBBHHH', self.ports[side], self.ports[1 - side], self.numbers[side], acknowledged,
                              0x50, flags, 60000, 0, 0)
        self.add(side, 6, segment + payload, 16)
        self.numbers[side] = (self.numbers[side] + len(payload) + bool(flags & (SYN | FIN))) & 0xffffffff

    def http(self, requests):
        for flags, side in (SYN, 0), (SYN | ACK, 1), (ACK, 0):
            self.tcp(side, flags)
        for number in range(requests):
            self.tcp(0, ACK | PSH, f'GET /item{number} HTTP/1.1\r\nHost: example.org\r\n\r\n'.encode())
            self.tcp(1, ACK | PSH, b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
            self.tcp(0, ACK)
        for flags, side in (FIN | ACK, 0), (FIN | ACK, 1), (ACK, 0):
            self.tcp(side, flags)
        return self.packets

    def datagrams(self, requests):
        for number in range(requests):
            for side, text in (0, b'item %d' % number), (1, b'answer'):
                self.add(side, 17,
                         struct.pack('!HHHH', self.ports[side], self.ports[1 - side], 8 + len(text), 0) + text, 6)
        return self.packets


def packets():
    dice, out = random.Random(20261126), []
    pairs = [(c, s) for c, s in itertools.product(CLIENTS, SERVERS) if c != s and (':' in c) == (':' in s)]
    for index, (condition, _) in enumerate(RULES):
        for number in range(CONNECTIONS):
            client, server = dice.choice(pairs)
            one = Connection(dice, client, server, (10000 + 100 * index + number, port_of(index)),
                             dice.random() * SECONDS)
            requests = dice.choice((1, 1, 1, 2, 3, 5))
            out += one.datagrams(requests) if condition == 'datagram' else one.http(requests)
    return sorted(out, key=lambda packet: packet[0])


def write_capture(path):
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for time, data in packets():
            micros = int((1700000000 + time) * 1000000)
            out.write(struct.pack('<IIII', micros // 1000000, micros % 1000000, len(data), len(data)) + data)


def results(engine):
    """Returns a line for each mode, action, rule and reported action, with the packets.

    engine(rule file, capture, inline) runs Sluice or Suricata and returns the events.
    """
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        write_capture(folder + '/in.pcap')
        for mode, action in ('passive', 'alert'), ('passive', 'drop'), ('inline', 'drop'):
            with open(folder + '/test.rules', 'w') as f:
                f.write(rules(action))
            found = collections.defaultdict(list)
            events = engine(folder + '/test.rules', folder + '/in.pcap', mode == 'inline')
            for (sid, packet, what, _), count in suricata.compared(events, mode == 'inline').items():
                found[sid, what.replace(' ', '_') or '-'] += [packet] * count
            lines += [f'{mode} {action} {sid} {what} ' + ' '.join(map(str, sorted(numbers))) for (sid, what),
                      numbers in sorted(found.items())]
    return lines


def record():
    peer = suricata.Suricata()

    def engine(rule_file, capture, inline):
        events, refused = peer.run(rule_file, capture, inline, ())
        if refused:
            sys.exit(f'Suricata refuses the rules {" ".join(refused)}')
        return events

    lines = results(engine)
    with open(EXPECTED, 'w') as f:
        f.write('# Alerts and drops of Suricata 8 on the capture of thresholds.py. Made by thresholds.py --record.\n'
                '# MODE ACTION_OF_THE_RULES SID ACTION PACKET... Sid 0: dropped packets; ACTION is the reason.\n')
        f.write(''.join(line + '\n' for line in lines))
    print(f'{len(lines)} lines')


def parsed(lines):
    return {tuple(line.split()[:4]): line.split()[4:] for line in lines if not line.startswith('#')}


def describe(key):
    mode, action, sid, what = key
    rule = 'dropped packets' if sid == '0' \
        else f'rule {sid}, {RULES[int(sid) - 1][0]}, {RULES[int(sid) - 1][1] or "no threshold"}'
    return f'{mode}, {action}: {rule} ({what})'


def main():
    if sys.argv[1:] == ['--record']:
        record()
        return
    sluice = os.path.abspath(sys.argv[1])

    def engine(rule_file, capture, inline):
        events, refused = suricata.run_sluice(sluice, rule_file, capture, inline, ())
        if refused:
            sys.exit(f'Sluice refuses the rules {refused}')
        return events

    ours = parsed(results(engine))
    with open(EXPECTED) as f:
        expected = parsed(f)
    failed = 0
    for key in sorted(ours.keys() | expected.keys()):
        more, less = (collections.Counter(a.get(key, [])) - collections.Counter(b.get(key, [])) for a,
                      b in ((ours, expected), (expected, ours)))
        if more or less:
            failed += 1
            print(f'{describe(key)}: {len(expected.get(key, []))} expected; more: '
                  f'{" ".join(sorted(more, key=int)[:8])}; missing: {" ".join(sorted(less, key=int)[:8])}')
    print(f'{len(RULES)} rules, {len(RULES) * CONNECTIONS} connections, {sum(map(len, expected.values()))} alerts and '
          f'drops, {failed} lines differ')
    sys.exit(1 if failed or not expected else 0)


if __name__ == '__main__':
    main()
