#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that no receiver gets a pattern that a drop rule matches, if it is split, reordered, overlapped or preceded by
decoys.

    evasion.py SLUICE [--workers N] [--acknowledgments] [--only TEXT]

Every case is a connection or a datagram, over IPv4 and over IPv6. A run replays all cases as one capture with --ips.
The packets that were not dropped are reassembled as receivers do it: once with the first data for each byte, once with
the last. Decoys (low TTL, wrong checksum, outside of the window, old timestamp) are marked in the case and left out
here, because no receiver accepts them. A case in which no receiver would get the pattern without Sluice fails, because
it tests nothing. Data of connections without the pattern must arrive completely.

With --acknowledgments, the server of each connection sends data after the handshake and acknowledges each segment of
the client, and Sluice skips acknowledgments as the kernel does with nft.offload.acknowledgments. Most of them must be
skipped, and the cases must have the same results.
"""
import argparse
import ipaddress
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

from run import checksum

PATTERN = b'EVIL-PATTERN'
BEFORE, AFTER = b'GET /hello-', b' and so on\r\n'
DATA = BEFORE + PATTERN + AFTER
AT = len(BEFORE)
CLIENT, SERVER = {4: '10.1.0.1', 6: 'fd01::1'}, {4: '10.2.0.1', 6: 'fd02::1'}
FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
RULES = '''drop tcp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:1;)
drop udp any any -> any any (msg:"the pattern"; content:"EVIL-PATTERN"; sid:2;)
drop tcp any any -> any any (msg:"two words"; content:"FIRST-WORD"; content:"SECOND-WORD"; distance:0; sid:3;)
'''
OFFLOAD = ['--set', 'nft.offload.acknowledgments=auto', '--set', 'nft.offload.acknowledgment-packets=0']
OPTIONS = '''eve: {types: {alert: {}, drop: {flows: all}, stats: {}}}
stream: {overlap: drop}
'''


def ip(version, protocol, segment, ttl=64, source=None, destination=None, identification=1, offset=0, more=0):
    s, d = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    if version == 6:
        if offset or more:
            segment = struct.pack('!BBHI', protocol, 0, offset << 3 | more, identification) + segment
            protocol = 44
        return struct.pack('!IHBB', 6 << 28, len(segment), protocol, ttl) + s + d + segment
    header = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(segment), identification & 0xffff, more << 13 | offset,
                         ttl, protocol, 0) + s + d
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + segment


GREETING = b'READY'


class Case:
    """A connection: its packets in the order of the wire, with the data that a receiver accepts and its offset."""

    acknowledges = False  # --acknowledgments

    def __init__(self, name, version, port, window=60000, timestamps=False, isn=1000):
        self.name, self.version, self.port, self.window, self.timestamps = name, version, port, window, timestamps
        self.isn, self.server_isn, self.clock = isn, 70000, 1000
        self.packets = []  # (bytes, offset of data or None if no receiver accepts it, data)
        self.attack, self.pattern, self.sent = True, PATTERN, DATA

    def tcp(self, to_server, seq, ack, flags, data=b'', bad_checksum=False, ttl=64, urgent=0, clock=None, window=None):
        ports = (self.port, 80) if to_server else (80, self.port)
        ends = (CLIENT[self.version], SERVER[self.version]) if to_server else (SERVER[self.version],
                                                                               CLIENT[self.version])
        options = b''
        if self.timestamps:
            self.clock += 1
            options = struct.pack('!BBBBII', 1, 1, 8, 10, self.clock if clock is None else clock, 0 if flags == SYN
                                  else 500)
        segment = struct.pack('!HHIIBBHHH', *ports, seq & 0xffffffff, ack & 0xffffffff, (20 + len(options)) // 4 << 4,
                              flags,
                              self.window if window is None else window, 0, urgent) + options + data
        s, d = (ipaddress.ip_address(end).packed for end in ends)
        value = checksum((s + d + (struct.pack('!I3xB', len(segment), 6) if self.version == 6
                                   else struct.pack('!BBH', 0, 6, len(segment)))) + segment)
        segment = segment[:16] + struct.pack('!H', value ^ 0x1234 if bad_checksum else value) + segment[18:]
        return ip(self.version, 6, segment, ttl, *ends)

    def add(self, packet, offset=None, data=b''):
        self.packets.append((packet, offset, data))

    def handshake(self, syn_data=b''):
        self.add(self.tcp(True, self.isn, 0, SYN, syn_data))
        self.add(self.tcp(False, self.server_isn, self.isn + 1, SYN | ACK))
        self.add(self.tcp(True, self.isn + 1, self.server_isn + 1, ACK))
        if self.acknowledges:
            self.add(self.tcp(False, self.server_isn + 1, self.isn + 1, PSH | ACK, GREETING))
            self.server_isn += len(GREETING)
            self.add(self.tcp(True, self.isn + 1, self.server_isn + 1, ACK))
        return self

    def send(self, offset, data, taken=True, **how):
        """Sends data of the client at an offset of its stream. taken=False: receivers do not accept it (decoy)."""
        flags = how.pop('flags', PSH | ACK)
        how.setdefault('window', None)
        packet = self.tcp(True, self.isn + 1 + offset + how.pop('shift', 0),
                          self.server_isn + 1 + how.pop('ack_shift', 0), flags, data, **how)
        self.add(packet, offset if taken else None, data)
        if self.acknowledges and taken and data:
            self.acknowledge(len(received(self, [True] * len(self.packets), False)))
        return self

    def acknowledge(self, offset):
        self.add(self.tcp(False, self.server_isn + 1, self.isn + 1 + offset, ACK))
        return self

    def pieces(self, cuts, order=None):
        edges = [0, *sorted(cuts), len(self.sent)]
        parts = [(a, self.sent[a:b]) for a, b in zip(edges, edges[1:]) if a < b]
        for offset, data in (order(parts) if order else parts):
            self.send(offset, data)
        return self


class Datagram(Case):
    def fragments(self, parts, taken=None):
        """Sends the UDP datagram in fragments: (offset in bytes, length, bytes to send instead or None)."""
        ends = CLIENT[self.version], SERVER[self.version]
        segment = struct.pack('!HHHH', self.port, 53, 8 + len(DATA), 0) + DATA
        s, d = (ipaddress.ip_address(end).packed for end in ends)
        pseudo = s + d + (struct.pack('!I3xB', len(segment), 17) if self.version == 6
                          else struct.pack('!BBH', 0, 17, len(segment)))
        segment = segment[:6] + struct.pack('!H', checksum(pseudo + segment)) + segment[8:]
        self.whole = segment
        for offset, length, other in parts:
            data = other if other is not None else segment[offset:offset + length]
            more = offset + length < len(segment)
            self.add(ip(self.version, 17, data, 64, *ends, identification=self.port, offset=offset // 8,
                        more=int(more)), offset, data)
        return self


def shuffled(seed):
    def order(parts):
        parts = list(parts)
        random.Random(seed).shuffle(parts)
        return parts
    return order


def cases(version):
    port = [1024]

    def new(name, **how):
        port[0] += 1
        return Case(f'{name} (IPv{version})', version, port[0], **how)

    def datagram(name):
        port[0] += 1
        return Datagram(f'{name} (IPv{version})', version, port[0])

    for cut in range(1, len(DATA)):
        yield new(f'two segments, cut at {cut}').handshake().pieces([cut])
        yield new(f'two segments, cut at {cut}, reversed').handshake().pieces([cut], lambda parts: parts[::-1])
    for size in (1, 2, 3, 5, 8):
        yield new(f'segments of {size}').handshake().pieces(range(size, len(DATA), size))
        yield new(f'segments of {size}, reversed').handshake().pieces(range(size, len(DATA), size),
                                                                      lambda parts: parts[::-1])
    for seed in range(12):
        cuts = random.Random(seed).sample(range(1, len(DATA)), 6)
        yield new(f'random cuts and order {seed}').handshake().pieces(cuts, shuffled(seed))
    # Overlaps with different data: harmless bytes first and then the pattern, and the other way round.
    for step in (1, 4, len(PATTERN)):
        case = new(f'harmless bytes overwritten, {step} at a time').handshake().send(0, BEFORE) \
            .send(AT + 1, b'x' * (len(PATTERN) - 1))
        for at in range(0, len(PATTERN), step):
            case.send(AT + at, PATTERN[at:at + step])
        yield case.send(AT + len(PATTERN), AFTER)
    yield new('overlap from before').handshake().send(AT + 4, b'y' * 8 + AFTER).send(0, BEFORE + PATTERN)
    yield new('overlap around').handshake().send(AT + 3, b'zzz').send(0, DATA)
    yield new('changed retransmission after the first was accepted').handshake() \
        .send(0, BEFORE + b'GOOD' + PATTERN[4:] + AFTER).send(0, DATA)
    yield new('changed retransmission of a part').handshake().send(0, BEFORE).send(AT, b'GOOD' + PATTERN[4:]) \
        .send(AT, PATTERN[:4])
    yield (new('changed retransmission after a lost first').handshake().send(0, BEFORE)
           .send(AT, b'QUIET-WORDS!', taken=False, ttl=2)
           .send(AT, PATTERN).send(AT + len(PATTERN), AFTER))
    # Decoys that no receiver accepts.
    yield new('decoy with low TTL').handshake().send(0, BEFORE).send(AT, b'HARMLESS-123', taken=False, ttl=1) \
        .send(AT, PATTERN + AFTER)
    yield new('decoy with wrong checksum').handshake().send(0, BEFORE) \
        .send(AT, b'HARMLESS-123', taken=False, bad_checksum=True).send(AT, PATTERN + AFTER)
    yield new('decoy beyond the window', window=4000).handshake().send(0, BEFORE) \
        .send(AT + 70000, b'HARMLESS-123', taken=False).send(AT, PATTERN + AFTER)
    yield (new('decoy with an old timestamp', timestamps=True).handshake().send(0, BEFORE)
           .send(AT, b'HARMLESS-123', taken=False, clock=1)
           .send(AT, PATTERN + AFTER))
    yield (new('RST with a bad sequence number').handshake().send(0, BEFORE)
           .send(AT, b'', taken=False, flags=RST, shift=900000)
           .send(AT, PATTERN + AFTER))
    yield (new('RST with a bad checksum').handshake().send(0, BEFORE).send(AT, b'', taken=False, flags=RST,
                                                                           bad_checksum=True)
           .send(AT, PATTERN + AFTER))
    yield (new('FIN with a bad sequence number').handshake().send(0, BEFORE)
           .send(AT, b'', taken=False, flags=FIN | ACK, shift=900000)
           .send(AT, PATTERN + AFTER))
    yield (new('SYN in the connection').handshake().send(0, BEFORE).send(AT, b'', taken=False, flags=SYN, shift=500000)
           .send(AT, PATTERN + AFTER))
    yield (new('data with a bad acknowledgment').handshake().send(0, BEFORE)
           .send(AT, b'HARMLESS-123', taken=False, ack_shift=900000)
           .send(AT, PATTERN + AFTER))
    # Unusual but valid segments.
    yield new('data before the handshake is acknowledged').handshake(DATA[:5]).send(0, DATA)
    yield new('sequence numbers that wrap', isn=0xffffffff - AT - 3).handshake().pieces(range(3, len(DATA), 3))
    yield new('urgent byte inside').handshake() \
        .send(0, BEFORE + PATTERN[:5] + b'!', flags=PSH | ACK | URG, urgent=AT + 6, taken=False).send_rest(PATTERN)
    yield new('keep-alives between').handshake().send(0, DATA[:15]).send(14, b'\0', taken=False, flags=ACK) \
        .send(15, DATA[15:])
    yield new('window probe').handshake().send(0, DATA[:15]).send(15, DATA[15:16]).send(15, DATA[15:])
    yield new('FIN with the last data').handshake().send(0, DATA[:15]).send(15, DATA[15:], flags=FIN | PSH | ACK)
    case = new('two words, far apart')
    case.sent, case.pattern = b'FIRST-WORD' + b'.' * 1200 + b'SECOND-WORD\r\n', None
    yield case.handshake().pieces(range(100, 1200, 100))
    case = new('two words, reversed order')
    case.sent, case.pattern = b'FIRST-WORD' + b'.' * 1200 + b'SECOND-WORD\r\n', None
    yield case.handshake().pieces(range(100, 1200, 100), lambda parts: parts[::-1])
    # Fragments.
    length = 8 + len(DATA)
    for size in (8, 16, 24):
        cuts = [(at, min(size, length - at), None) for at in range(0, length, size)]
        yield datagram(f'fragments of {size}').fragments(cuts)
        yield datagram(f'fragments of {size}, reversed').fragments(cuts[::-1])
        yield datagram(f'fragments of {size}, random').fragments(shuffled(size)(cuts))
    cuts = [(at, min(8, length - at), None) for at in range(0, length, 8)]
    yield datagram('overlapping fragments, harmless first').fragments([(16, 8, b'harmless'), *cuts])
    yield datagram('overlapping fragments, harmless later').fragments([*cuts[:-1], (16, 8, b'harmless'), cuts[-1]])
    yield datagram('fragments again after the whole').fragments([*cuts, *cuts])
    # Harmless data, which must arrive.
    for seed in range(6):
        case = new(f'ordinary data {seed}')
        case.attack, case.sent = False, bytes(random.Random(seed).choices(b'abcdefgh \n', k=4000))
        cuts = random.Random(seed).sample(range(1, 4000), 20)
        yield case.handshake().pieces(cuts, shuffled(seed) if seed % 2 else None)
    case = new('the same data twice')
    case.attack, case.sent = False, b'harmless and repeated'
    yield case.handshake().pieces([7]).pieces([12])


def send_rest(self, pattern):
    """Sends the rest of a pattern after an urgent byte. For receivers the urgent byte is not part of the stream."""
    return self.send(AT + 6, pattern[5:] + AFTER, taken=True, shift=0)


Case.send_rest = send_rest


def received(case, passed, last_wins):
    """Returns the bytes that a receiver has from the start of the stream up to the first gap."""
    place = {}
    for (_, offset, data), ok in zip(case.packets, passed):
        if offset is None or not ok:
            continue
        for i, byte in enumerate(data):
            if last_wins or offset + i not in place:
                place[offset + i] = byte
    out = bytearray()
    while len(out) in place:
        out.append(place[len(out)])
    return bytes(out)


def has_attack(case, data):
    if isinstance(case, Datagram):
        return len(data) >= len(case.whole) and PATTERN in data
    if case.pattern:
        return case.pattern in data
    return b'FIRST-WORD' in data and b'SECOND-WORD' in data


def write_capture(path, all_cases):
    """Writes the packets of all cases; returns the packet numbers of each case."""
    number, places = 0, []
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for case in all_cases:
            place = []
            for packet, _, _ in case.packets:
                number += 1
                place.append(number)
                out.write(struct.pack('<IIII', 1700000000 + number // 10000, number % 10000 * 100, len(packet),
                                      len(packet)) + packet)
            places.append(place)
    return places


def judge(case, passed):
    """Returns what is wrong with the packets that passed, or None."""
    views = [received(case, passed, last) for last in (False, True)]
    if case.attack:
        if any(has_attack(case, view) for view in views):
            return 'a receiver has the pattern'
    elif any(view != case.sent for view in views):
        return 'ordinary data did not arrive'
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sluice')
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--only', default='')
    parser.add_argument('--acknowledgments', action='store_true')
    arguments = parser.parse_args()
    Case.acknowledges = arguments.acknowledgments
    all_cases = [case for version in (4, 6) for case in cases(version) if arguments.only in case.name]
    problems = []
    for case in all_cases:
        everything = [True] * len(case.packets)
        if case.attack and not isinstance(case, Datagram) and 'urgent' not in case.name and \
                not any(has_attack(case, received(case, everything, last)) for last in (False, True)):
            problems.append(f'{case.name}: without Sluice no receiver gets the pattern, so the case tests nothing')
    with tempfile.TemporaryDirectory() as folder:
        places = write_capture(folder + '/in.pcap', all_cases)
        for name, text in (('rules', RULES), ('yaml', OPTIONS)):
            with open(f'{folder}/{name}', 'w') as out:
                out.write(text)
        command = [arguments.sluice, 'replay', '--ips', '--no-console', '--rules', folder + '/rules', '--config',
                   folder + '/yaml', '--log-dir',
                   folder + '/log', *(OFFLOAD if arguments.acknowledgments else []), *(['--workers', str(arguments.workers)] if arguments.workers > 1 else []),
                   folder + '/in.pcap']
        os.makedirs(folder + '/log')
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode or run.stderr:
            sys.exit(f'exit code {run.returncode}: {run.stderr}')
        dropped = set()
        with open(folder + '/log/eve.json') as events:
            for event in map(json.loads, events):
                if event['event_type'] == 'drop':
                    dropped.add(event['pcap_cnt'])
                elif event['event_type'] == 'stats' and arguments.acknowledgments:
                    skipped = event['sluice']['stats']['firewall']['offload']['acknowledgment_packets']
    if arguments.acknowledgments and skipped < sum(map(len, places)) / 10:
        problems.append(f'only {skipped} acknowledgments were skipped')
    for case, place in zip(all_cases, places):
        passed = [number not in dropped for number in place]
        problem = judge(case, passed)
        if problem:
            problems.append(f'{case.name}: {problem}; passed: ' + ''.join('.' if ok else 'D' for ok in passed))
    for problem in problems:
        print(problem)
    if arguments.acknowledgments:
        print(f'{skipped} acknowledgments skipped')
    print(f'{len(all_cases)} cases, {sum(map(len, places))} packets, {len(dropped)} dropped, {len(problems)} problems')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
