#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafted TCP to a real Linux server: its stack must never hand a program the pattern that a drop rule forbids.

    evasion.py PREFIX RUN control|sluice [--only TEXT] [--show]

PREFIX names the network namespaces (PREFIX-cli, -gw, -srv) of lib.sh, RUN (1..9) makes addresses that no other run
uses. The cases are those of ../replay/evasion.py and some that need a real receiver. Here nobody judges by a model what
a receiver would take: the client writes packets to the wire, a socket of the server namespace reads.

A packet that leaves with a TTL of 2 passes the gateway and is lost before the server, as at a further router; the shell
script's rules see to that. The client's addresses are routed to a host that does not have them, so that no kernel
answers for them.

control: nothing is queued. Then every attack must succeed, but for those that Linux refuses (REFUSED): a case that
cannot succeed tests nothing. sluice: no attack may succeed. Ordinary data must arrive in both.
"""
import argparse
import ctypes
import itertools
import os
import re
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'replay')
import evasion as replay  # noqa: E402
from evasion import ACK, AFTER, AT, BEFORE, DATA, FIN, PATTERN, PSH, RST, SYN, URG, Case, checksum  # noqa: E402

CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
ETHER_TYPE = {4: 0x0800, 6: 0x86dd}
SERVER = {4: '10.66.2.2', 6: 'fd66:2::2'}
BATCH = 64
LOST = 2  # TTL of packets that the gateway forwards and the server never gets

# What Linux does not deliver whole, by the beginning of the name: what came first counts, RST counts, a contradiction
# of fragments ends the datagram. And what depends on its fast path.
REFUSED = ('harmless bytes overwritten, 1 at', 'harmless bytes overwritten, 4 at',
           'changed retransmission after the first was accepted',
           'changed retransmission of a part', 'overlapping fragments, harmless first',
           'TCP in fragments, overlapping (', 'decoy with all flags')
UNSURE = ('decoy with a very old acknowledgment',)


def enter(namespace):
    with open(f'/run/netns/{namespace}') as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f'setns {namespace}')


# --- Cases that need a real receiver ----------------------------------------------------------------------------------


def fragments(size, order=None, more=None):
    """Cuts a packet into IP fragments of `size`; `more(parts)` changes the list of (offset, bytes, TTL). The first of
    IPv6 has the TCP header: Linux wants it so."""
    def cut(packet):
        version = packet[0] >> 4
        head = 20 if version == 4 else 40
        ends = (socket.inet_ntop(*end)
                for end in (((socket.AF_INET, packet[12:16]), (socket.AF_INET, packet[16:20])) if version == 4
                                                   else ((socket.AF_INET6, packet[8:24]),
                                                         (socket.AF_INET6, packet[24:40]))))
        source, destination = ends
        data = packet[head:]
        first = size if version == 4 else max(size, 24)
        parts = [(0, data[:first], 64), *((at, data[at:at + size], 64) for at in range(first, len(data), size))]
        parts = order(parts) if order else parts
        parts = more(parts) if more else parts
        return [replay.ip(version, 6, part, ttl, source, destination, identification=int.from_bytes(data[:2], 'big'),
                          offset=at // 8,
                          more=int(at + len(part) < len(data))) for at, part, ttl in parts]
    return cut


def atomic_fragment(packet):
    return [packet[:4] + struct.pack('!H', len(packet) - 32) + bytes([44]) + packet[7:40] +
            struct.pack('!BBHI', 6, 0, 0, 77) + packet[40:]]


def more_headers(packet):
    """IPv4: options (NOPs); IPv6: hop-by-hop and destination options (PadN)."""
    if packet[0] >> 4 == 6:
        return [packet[:4] + struct.pack('!H', len(packet) - 40 + 16) + b'\0' + packet[7:40] +
                bytes([60, 0, 1, 4, 0, 0, 0, 0]) +
                bytes([6, 0, 1, 4, 0, 0, 0, 0]) + packet[40:]]
    head = bytes([0x46]) + packet[1:2] + struct.pack('!H', len(packet) + 4) + packet[4:10] + b'\0\0' + \
        packet[12:20] + b'\1\1\1\0'
    return [head[:10] + struct.pack('!H', checksum(head)) + head[12:] + packet[20:]]


def first_at(offset, data, ttl=64):
    return lambda parts: [(offset, data, ttl), *parts]


def tcp_cases(version):
    """As in replay.cases(): what a case needs beyond packets is in `case.cut`, functions by a packet's number."""
    port = [5000]

    def new(name, **how):
        port[0] += 1
        return Case(f'{name} (IPv{version})', version, port[0], **how)

    def in_fragments(name, cut, before=BEFORE):
        case = new(name).handshake().send(0, before)
        case.cut = {len(case.packets): cut}
        return case.send(len(before), DATA[len(before):])

    decoy = b'HARMLESS-123'
    # What dies behind the gateway: Sluice has seen it, the receiver has not.
    yield new('lost first, then a byte at a time').handshake().send(0, BEFORE).send(AT, decoy, ttl=LOST) \
        .send(AT, PATTERN[:1]).send(
        AT + 1, PATTERN[1:2]).send(AT + 2, PATTERN[2:]).send(AT + len(PATTERN), AFTER)
    yield new('lost first, out of order').handshake().send(AT, decoy, ttl=LOST) \
        .send(AT, PATTERN + AFTER).send(0, BEFORE)
    yield new('lost first, twice').handshake().send(0, BEFORE).send(AT, decoy, ttl=LOST) \
        .send(AT + 3, b'other', ttl=LOST).send(AT, PATTERN + AFTER)
    yield new('lost first, all of it').handshake().send(0, b'.' * len(DATA), ttl=LOST).send(0, DATA)
    yield new('lost first, longer than the second').handshake().send(0, b'.' * 500, ttl=LOST).send(0, DATA)
    yield new('lost first, shorter than the second').handshake().send(0, BEFORE).send(AT, b'....', ttl=LOST) \
        .send(AT, PATTERN + AFTER)
    for name, flags in (('RST', RST), ('RST/ACK', RST | ACK), ('FIN', FIN | ACK)):
        yield new(f'lost {name}').handshake().send(0, BEFORE).send(AT, b'', flags=flags, ttl=LOST) \
            .send(AT, PATTERN + AFTER)
        yield new(f'lost {name} in the pattern').handshake().send(0, DATA[:AT + 5]) \
            .send(AT + 5, b'', flags=flags, ttl=LOST).send(
            AT + 5, DATA[AT + 5:])
    case = new('lost RST and SYN').handshake().send(0, BEFORE).send(AT, b'', flags=RST, ttl=LOST)
    case.add(case.tcp(True, 500000, 0, SYN, ttl=LOST))
    yield case.send(AT, PATTERN + AFTER)
    # The RST is lost or has a wrong sequence number, so that the server keeps the connection; a SYN follows. An
    # inspector that accepts both would begin a new stream.
    for reset, how in (('lost RST', {'ttl': LOST}), ('RST with a wrong number', {'shift': 5})):
        for number, back in (('the same number', 0), ('a lower number', 40), ('a higher number', -30000)):
            for syn, ttl in (('lost SYN', LOST), ('SYN', 64)):
                case = new(f'{reset}, {syn} with {number}').handshake().send(0, DATA[:AT + 4]) \
                    .send(AT + 4, b'', flags=RST, **how)
                case.add(case.tcp(True, case.isn - back, 0, SYN, ttl=ttl))
                case.send(0, b'', flags=ACK, shift=-back).send(0, b'.' * 6, shift=-back, ttl=LOST)
                yield case.send(0, b'.' * (max(back, 0) + AT + 4) + DATA[AT + 4:], shift=-max(back, 0)) \
                    .send(AT + 4, DATA[AT + 4:])
    case = new('lost SYN with another number')
    case.add(case.tcp(True, 500000, 0, SYN, ttl=LOST))
    yield case.handshake().pieces([AT + 4])
    case = new('lost SYN with another number, data as if it counted')
    case.add(case.tcp(True, 500000, 0, SYN, ttl=LOST))
    yield case.handshake().send(0, decoy, ttl=LOST, shift=499000).pieces([AT + 4])
    yield (new('FIN before the hole is filled').handshake().send(AT + 4, DATA[AT + 4:], flags=FIN | PSH | ACK)
           .send(0, DATA[:AT + 4]))
    yield (new('lost first, FIN, then the second').handshake().send(0, BEFORE).send(AT, decoy, ttl=LOST)
           .send(AT + len(PATTERN), AFTER, flags=FIN | PSH | ACK).send(AT, PATTERN))
    # What a receiver answers, or ignores.
    yield new('RST in the window, not at its edge').handshake().send(0, BEFORE).send(AT, b'', flags=RST, shift=5) \
        .send(AT, PATTERN + AFTER)
    yield new('RST just before the window').handshake().send(0, BEFORE).send(AT, b'', flags=RST, shift=-1) \
        .send(AT, PATTERN + AFTER)
    yield new('FIN before the window').handshake().send(0, BEFORE).send(AT, b'', flags=FIN | ACK, shift=-3) \
        .send(AT, PATTERN + AFTER)
    yield new('SYN in the window').handshake().send(0, BEFORE).send(AT, b'', flags=SYN, shift=5) \
        .send(AT, PATTERN + AFTER)
    yield new('FIN without ACK').handshake().send(0, BEFORE).send(AT, b'', flags=FIN).send(AT, PATTERN + AFTER)
    yield new('decoy without ACK').handshake().send(0, BEFORE).send(AT, decoy, flags=PSH).send(AT, PATTERN + AFTER)
    yield new('decoy without flags').handshake().send(0, BEFORE).send(AT, decoy, flags=0).send(AT, PATTERN + AFTER)
    yield new('decoy with a very old acknowledgment').handshake().send(0, BEFORE).send(AT, decoy, ack_shift=-900000) \
        .send(AT, PATTERN + AFTER)
    yield new('decoy with all flags').handshake().send(0, BEFORE).send(AT, decoy, flags=0x3f).send(AT, PATTERN + AFTER)
    yield new('decoy before the window').handshake().send(0, BEFORE).send(AT, decoy, shift=-AT - 100) \
        .send(AT, PATTERN + AFTER)
    # Handshakes.
    case = new('data with the handshake\'s third packet').handshake()
    case.packets.pop()
    yield case.pieces([AT + 4])
    yield new('SYN with data that is not the same later').handshake(b'.' * len(DATA)).pieces([AT + 4])
    case = new('pattern in the SYN and after').handshake(DATA)
    yield case.pieces([AT + 4])
    case = new('SYN again').handshake()
    case.add(case.tcp(True, case.isn, 0, SYN))
    yield case.pieces([AT + 4])
    # Timestamps.
    yield (new('lost decoy with a timestamp of the future', timestamps=True).handshake().send(0, BEFORE)
           .send(AT, decoy, clock=0x40000000, ttl=LOST).send(AT, PATTERN + AFTER))
    yield new('in timestamps that stand still', timestamps=True).handshake().send(0, DATA[:AT + 3], clock=5000) \
        .send(AT + 3, DATA[AT + 3:], clock=5000)
    case = new('pattern without the timestamps agreed on', timestamps=True).handshake().send(0, BEFORE)
    case.timestamps = False
    yield case.send(AT, PATTERN[:4]).send(AT + 4, PATTERN[4:] + AFTER)
    # Urgent data: one byte at most is out of band for Linux, that which the last pointer marks.
    yield (new('urgent pointer into the next segment').handshake().send(0, BEFORE, flags=PSH | ACK | URG, urgent=AT + 6)
           .send(AT, PATTERN[:5] + b'!' + PATTERN[5:] + AFTER))
    case = new('urgent pointer moved on').handshake()
    case.send(AT, PATTERN, flags=PSH | ACK | URG, urgent=6).send(AT + len(PATTERN), AFTER, flags=PSH | ACK | URG,
                                                                 urgent=3)
    yield case.send(0, BEFORE)
    yield new('urgent pointer of 0').handshake().send(0, DATA[:AT + 4]).send(AT + 4, b'!' + DATA[AT + 4:],
                                                                             flags=PSH | ACK | URG, urgent=0)
    yield (new('urgent pointer far beyond').handshake().send(0, BEFORE).send(AT, PATTERN, flags=PSH | ACK | URG,
                                                                             urgent=3000)
           .send(AT + len(PATTERN), AFTER))
    yield (new('urgent byte lost, then sent as ordinary').handshake().send(0, BEFORE)
           .send(AT, PATTERN + AFTER, flags=PSH | ACK | URG, urgent=6, ttl=LOST).send(AT, PATTERN + AFTER))
    yield new('urgent pointer without the flag').handshake().send(0, BEFORE).send(AT, PATTERN, urgent=6) \
        .send(AT + len(PATTERN), AFTER)
    # TCP in fragments. A header of 20 bytes, so that the pattern is in the fragments after it.
    for size in (8, 16, 24):
        yield in_fragments(f'TCP in fragments of {size}', fragments(size))
        yield in_fragments(f'TCP in fragments of {size}, reversed', fragments(size, lambda parts: parts[::-1]))
        yield in_fragments(f'TCP in fragments of {size}, random', fragments(size, replay.shuffled(size)))
    yield in_fragments('TCP in fragments, a harmless one lost', fragments(8, more=first_at(24, b'HARMLESS', LOST)))
    yield in_fragments('TCP in fragments, a harmless one lost later',
                       fragments(8, more=lambda parts: [*parts[:2], (24, b'HARMLESS', LOST), *parts[2:]]))
    yield in_fragments('TCP in fragments, all harmless and lost before',
                       fragments(8,
                                 more=lambda parts: [*((at, b'HARMLESS'[:len(part)], LOST) for at, part, _ in parts),
                                                     *parts]))
    yield in_fragments('TCP in fragments, overlapping', fragments(8, more=first_at(24, b'HARMLESS')))
    yield in_fragments('TCP in fragments, each twice',
                       fragments(8, more=lambda parts: [part for part in parts for _ in range(2)]))
    yield in_fragments('TCP in fragments, overlapping at the end',
                       fragments(16, more=lambda parts: [*parts[:-1], (parts[-2][0] + 8, b'HARMLESS', 64), parts[-1]]))
    yield in_fragments('with more headers', more_headers, DATA[:AT + 3])
    if version == 6:
        yield in_fragments('in an atomic fragment', atomic_fragment, DATA[:AT + 3])


def run_cases(version, run, only):
    generated = itertools.chain(replay.cases(version), tcp_cases(version))
    replay.SERVER[version] = SERVER[version]
    for number in itertools.count():
        last = number % 24 + 1
        replay.CLIENT[version] = f'10.66.{64 + run}.{last}' if version == 4 else f'fd66:64::{run}:{last}'
        case = next(generated, None)
        if case is None:
            return
        if only in case.name:
            case.address, case.peer = replay.CLIENT[version], None
            yield case


# --- The two hosts ----------------------------------------------------------------------------------------------------


class Server(threading.Thread):
    """Reads what connections and datagrams bring; `got` by (address, port) of the client."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        enter(namespace)
        self.got, self.changed = {}, time.monotonic()
        self.tcp = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        self.udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        for sock, port in ((self.tcp, 80), (self.udp, 53)):
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(('::', port))
        self.tcp.listen(1024)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.tcp, selectors.EVENT_READ, self.accept)
        self.selector.register(self.udp, selectors.EVENT_READ, self.datagram)

    @staticmethod
    def key(peer):
        return peer[0].removeprefix('::ffff:'), peer[1]

    def accept(self):
        sock, peer = self.tcp.accept()
        key = self.key(peer)
        self.got.setdefault(key, bytearray())
        self.selector.register(sock, selectors.EVENT_READ, lambda: self.read(sock, key))

    def read(self, sock, key):
        try:
            data = sock.recv(65536)
        except OSError:
            data = b''
        self.got[key] += data
        if not data:
            self.selector.unregister(sock)
            sock.close()

    def datagram(self):
        data, peer = self.udp.recvfrom(65536)
        self.got[self.key(peer)] = data

    def run(self):
        while True:
            for chosen, _ in self.selector.select():
                chosen.data()
                self.changed = time.monotonic()


class Wire:
    """The client's end: packets out as they are; of what comes in, the SYN/ACKs are of interest."""

    def __init__(self, prefix):
        enter(prefix + '-cli')
        link = subprocess.run(['ip', '-n', prefix + '-gw', 'link', 'show',
                               'g0'], capture_output=True, text=True, check=True).stdout
        self.gateway = bytes.fromhex(re.search('link/ether ([0-9a-f:]+)', link)[1].replace(':', ''))
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        self.sock.bind(('c0', 3))

    def send(self, packet):
        self.sock.sendto(packet, ('c0', ETHER_TYPE[packet[0] >> 4], 0, 0, self.gateway))

    def receive(self, by_key, timeout):
        """Notes the sequence number and timestamp of SYN/ACKs in their cases; False after the time."""
        self.sock.settimeout(timeout)
        try:
            packet, where = self.sock.recvfrom(65536)
        except (socket.timeout, BlockingIOError):
            return False
        version = packet[0] >> 4
        head, protocol = (20, packet[9]) if version == 4 else (40, packet[6])
        if where[2] == PACKET_OUTGOING or protocol != 6 or packet[head + 13] & (SYN | ACK) != SYN | ACK:
            return True
        address = socket.inet_ntop(*((socket.AF_INET, packet[16:20]) if version == 4
                                     else (socket.AF_INET6, packet[24:40])))
        case = by_key.get((address, int.from_bytes(packet[head + 2:head + 4], 'big')))
        if case and int.from_bytes(packet[head + 8:head + 12], 'big') == (case.isn + 1) & 0xffffffff:
            options = packet[head + 20:head + (packet[head + 12] >> 4) * 4]
            at = options.find(b'\x08\x0a')
            case.peer = int.from_bytes(packet[head + 4:head + 8],
                                       'big'), int.from_bytes(options[at + 2:at + 6], 'big') if at >= 0 else 0
        return True


def fit(case, number):
    """The case's packet for the server that there is: its numbers instead of the model's. None: it is the server's to
    send."""
    packet = bytearray(case.packets[number][0])
    version = packet[0] >> 4
    head, protocol = (20, packet[9]) if version == 4 else (40, packet[6])
    if protocol != 6:
        return [bytes(packet)]
    if packet[head:head + 2] == b'\0\x50':
        return None
    pseudo = bytes(packet[12:20] if version == 4 else packet[8:40]) + struct.pack('!II', len(packet) - head, 6)
    wrong = checksum(pseudo + bytes(packet[head:]))
    if packet[head + 13] & ACK:
        ack = int.from_bytes(packet[head + 8:head + 12], 'big') - case.server_isn + case.peer[0]
        packet[head + 8:head + 12] = struct.pack('!I', ack & 0xffffffff)
        if packet[head + 12] >> 4 == 8:
            packet[head + 28:head + 32] = struct.pack('!I', case.peer[1])
    packet[head + 16:head + 18] = b'\0\0'
    packet[head + 16:head + 18] = struct.pack('!H', checksum(pseudo + bytes(packet[head:])) ^ (0x1234 if wrong else 0))
    if version == 4 and packet[8] == 1:
        packet[8], packet[10:12] = LOST, b'\0\0'
        packet[10:12] = struct.pack('!H', checksum(bytes(packet[:20])))
    elif version == 6 and packet[7] == 1:
        packet[7] = LOST
    cut = getattr(case, 'cut', {}).get(number)
    return cut(bytes(packet)) if cut else [bytes(packet)]


def fit_protocol(case, number):
    packet = case.packets[number][0]
    return packet[9] if packet[0] >> 4 == 4 else packet[6]


def play(wire, cases):
    """Every case up to the server's SYN/ACK, then the rest of all, a packet of each in turn."""
    by_key = {(case.address, case.port): case for case in cases}
    left = {}
    for case in cases:
        left[case] = range(len(case.packets))
        if fit_protocol(case, 0) != 6:
            continue
        opening = next(number for number in left[case]
                       if case.packets[number][0][20 if case.version == 4 else 40:][:2] == b'\0\x50')
        left[case] = left[case][opening:]
        for number in range(opening):
            for packet in fit(case, number):
                wire.send(packet)
    deadline = time.monotonic() + 10
    # A SYN that has the pattern may not arrive.
    asked = [case for case in cases if fit_protocol(case, 0) == 6 and PATTERN not in case.packets[0][0]]
    while missing := [case for case in asked if case.peer is None]:
        wire.receive(by_key, 0.1)
        if time.monotonic() > deadline:
            sys.exit('no SYN/ACK: ' + ', '.join(case.name for case in missing))
    while wire.receive(by_key, 0.2):
        pass
    left = {case: numbers for case, numbers in left.items() if case.peer or fit_protocol(case, 0) != 6}
    cases = list(left)
    for turn in itertools.zip_longest(*left.values()):
        for case, number in zip(cases, turn):
            for packet in (fit(case, number) or []) if number is not None else []:
                wire.send(packet)
        time.sleep(0.001)
    while wire.receive(by_key, 0):
        pass


class Queues:
    """How many packets wait in the gateway's queues."""

    def __init__(self, namespace):
        enter(namespace)
        try:
            self.file = open('/proc/thread-self/net/netfilter/nfnetlink_queue')
        except FileNotFoundError:
            self.file = None

    def waiting(self):
        if not self.file:
            return 0
        self.file.seek(0)
        return sum(int(line.split()[2]) for line in self.file)


def settle(server, queues):
    deadline = time.monotonic() + 20
    quiet = time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - max(quiet, server.changed) < 0.3:
        if queues.waiting():
            quiet = time.monotonic()
        time.sleep(0.02)


def judge(case, got, control):
    """What is wrong, or None."""
    if not case.attack:
        return None if got == case.sent else f'ordinary data did not arrive: {bytes(got)[:80]}'
    succeeded = PATTERN in got if isinstance(case, replay.Datagram) else replay.has_attack(case, bytes(got))
    if control and case.name.startswith(UNSURE):
        return None
    if control and not succeeded and not case.name.startswith(REFUSED):
        return f'Linux does not take it: {bytes(got)}'
    if control and succeeded and case.name.startswith(REFUSED):
        return 'Linux takes it'
    if not control and succeeded:
        return f'THE PATTERN ARRIVED: {bytes(got)}'
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('prefix')
    parser.add_argument('run', type=int)
    parser.add_argument('mode', choices=('control', 'sluice'))
    parser.add_argument('--only', default='')
    parser.add_argument('--show', action='store_true')
    arguments = parser.parse_args()
    server = Server(arguments.prefix + '-srv')
    server.start()
    queues = Queues(arguments.prefix + '-gw')
    wire = Wire(arguments.prefix)
    all_cases = [case for version in (4, 6) for case in run_cases(version, arguments.run, arguments.only)]
    for at in range(0, len(all_cases), BATCH):
        play(wire, all_cases[at:at + BATCH])
        settle(server, queues)
    problems = 0
    for case in all_cases:
        got = server.got.get((case.address, case.port), b'')
        problem = judge(case, got, arguments.mode == 'control')
        problems += problem is not None
        if problem or arguments.show:
            print(f'{case.name}: {problem or bytes(got)[:60]}')
    print(f'{arguments.mode}: {len(all_cases)} cases, {sum(len(case.packets) for case in all_cases)} packets, '
          f'{problems} problems')
    os._exit(1 if problems else 0)   # without waiting for the server's thread


if __name__ == '__main__':
    main()
