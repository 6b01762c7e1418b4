#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that packets cause no memory allocation after warm-up: a capture of twice the length needs no more of them.

    allocations.py SLUICE SOURCE COUNTER

COUNTER is the library of count_allocations.c. The traffic covers everything that keeps state: TCP connections with
handshake, out-of-order data and FINs, datagrams, fragments, ICMP errors, tunnels, flows that expire, and rules with
thresholds, flowbits and stream contents. The second half of the long capture may cause only the few allocations with
which the output thread grows its buffers, and no mmap().
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import packets
import replaying
from packets import ICMP, TCP, UDP
from run import checksum

WRITER_MAY_GROW = 40
ROUNDS = 750


def address(number):
    return bytes([10, 0, number >> 8 & 255, number & 255])


def tcp(ends, ports, sequence, acknowledgment, flags, payload=b''):
    header = struct.pack('!HHIIBBHHH', *ports, sequence & 0xffffffff, acknowledgment & 0xffffffff, 5 << 4, flags, 8192,
                         0, 0)
    segment = header + payload
    pseudo = ends[0] + ends[1] + struct.pack('!BBH', 0, TCP, len(segment))
    segment = segment[:16] + struct.pack('!H', checksum(pseudo + segment)) + segment[18:]
    return packets.ipv4(TCP, segment, addresses=ends)


def connection(rng, client, server):
    """Yields the packets of a connection. Half of the connections have out-of-order data; a third does not end."""
    ports, ends = (rng.randrange(1024, 60000), 80), (client, server)
    back, back_ports = ends[::-1], ports[::-1]
    a, b = rng.getrandbits(32), rng.getrandbits(32)
    data = [bytes(rng.choice(b'abcdet \r\n\0GHT/1.0') for _ in range(rng.randrange(20, 600))) for _ in range(6)]
    yield tcp(ends, ports, a, 0, 2)
    yield tcp(back, back_ports, b, a + 1, 0x12)
    yield tcp(ends, ports, a + 1, b + 1, 0x10)
    at, segments = a + 1, []
    for piece in data:
        segments.append(tcp(ends, ports, at, b + 1, 0x18, piece))
        at += len(piece)
    if rng.random() < 0.5:
        rng.shuffle(segments)
    yield from segments
    yield tcp(back, back_ports, b + 1, at, 0x18, packets.HTTP)
    yield tcp(ends, ports, at, b + 1 + len(packets.HTTP), 0x10)
    if rng.random() < 0.66:
        yield tcp(ends, ports, at, b + 1 + len(packets.HTTP), 0x11)
        yield tcp(back, back_ports, b + 1 + len(packets.HTTP), at + 1, 0x11)
        yield tcp(ends, ports, at + 1, b + 2 + len(packets.HTTP), 0x10)


def traffic(rng, number):
    client, server = address(number % 60000), bytes([192, 0, 2, number % 200])
    yield from connection(rng, client, server)
    question = packets.ipv4(UDP, packets.udp(source=1024 + number % 60000), addresses=(client, server))
    yield question
    yield packets.ipv4(ICMP, packets.icmp(3, 3, bytes(4) + question[:28]), addresses=(server, client))
    whole = packets.udp(bytes(1200))
    yield packets.ipv4(UDP, whole[:800], fragment=0x2000, addresses=(client, server))
    yield packets.ipv4(UDP, whole[800:], fragment=100, addresses=(client, server))
    yield packets.ipv4(4, question, addresses=(server, client))
    yield packets.ipv4(ICMP, packets.icmp(), addresses=(client, server))
    yield packets.ipv4(6, bytes(rng.randrange(30)), addresses=(client, server))


def write_capture(path, rounds):
    """Writes the packets of ROUNDS rounds and returns their number. More rounds only append packets."""
    rng, count = random.Random(1), 0
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for number in range(rounds):
            for packet in traffic(rng, number):
                out.write(struct.pack('<IIII', 1_600_000_000 + number, count % 1_000_000, len(packet), len(packet)) +
                          packet)
                count += 1
    return count


class Counted:
    def __init__(self, sluice, arguments, counter, folder, captures):
        report = folder + '/counts'
        env = dict(os.environ, LD_PRELOAD=counter, COUNT_ALLOCATIONS=report)
        cpu = min(os.sched_getaffinity(0))  # with one CPU only the main thread compiles rules
        run = subprocess.run(['taskset', '-c', str(cpu), sluice, 'replay', '--no-console', '--log-dir', folder,
                              *arguments, *captures], env=env,
                             capture_output=True, timeout=120)
        if run.returncode != 0:
            sys.exit(f'replay failed ({run.returncode}): {run.stderr.decode(errors="replace")}')
        with open(report) as f:
            self.allocations, self.maps, self.others, self.other_maps = map(int, f.read().split())
        with open(folder + '/eve.json') as f:
            lines = f.readlines()
        self.events, self.stats = len(lines), json.loads(lines[-1])['stats']

    def total(self):
        return self.allocations + self.others

    def total_maps(self):
        return self.maps + self.other_maps

    def __str__(self):
        return (f"{self.stats['capture']['kernel_packets']} packets, {self.events} events: {self.allocations} "
                f"allocations and {self.maps} mappings, "
                f'{self.others} and {self.other_maps} in other threads')


def main():
    sluice, source, counter = (os.path.abspath(path) for path in sys.argv[1:4])
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*replaying.default_arguments(source), '--rules',
                     source + '/tests/replay/captures/determinism.rules', '--set', 'queue.batch=64']
        # Leave out rules on the file type, because libmagic allocates memory for each file.
        keywords = source + '/tests/replay/captures/keywords.rules'
        with open(keywords) as rules, open(folder + '/keywords.rules', 'w') as out:
            out.writelines(line for line in rules if 'magic' not in line)
        arguments[arguments.index(keywords)] = folder + '/keywords.rules'
        once, twice = folder + '/once.pcap', folder + '/twice.pcap'
        counts = write_capture(once, ROUNDS), write_capture(twice, 2 * ROUNDS)
        for mode in [], ['--ips']:
            runs = [Counted(sluice, arguments + mode, counter, folder, [path]) for path in (once, twice)]
            control = Counted(sluice, arguments + mode, counter, folder, [once, once])
            for run in runs:
                print(' '.join(mode), run)
            if [run.stats['capture']['kernel_packets']
                for run in runs] != list(counts) or runs[1].events < 1.5 * runs[0].events:
                print('packets are missing, or the second half of the capture has too few events')
                failed = True
            if control.total() <= runs[0].total() or runs[0].others == 0:
                print('two capture files need no more allocations than one: COUNTER does not work')
                failed = True
            # Compare the sum over all threads, because threads that compile rules share the work differently in each
            # run. WRITER_MAY_GROW allows for buffers of the output thread.
            if runs[1].total() - runs[0].total() > WRITER_MAY_GROW or runs[1].total_maps() != runs[0].total_maps():
                print('the second half of the capture caused allocations or mappings')
                failed = True
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
