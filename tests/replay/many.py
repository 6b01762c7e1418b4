#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests many connections with a small stream.reassembly-memcap and --ips. Finished and idle connections must hold no
reassembly memory, so that no segment is refused.

    many.py SLUICE
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import evasion

REQUEST, ANSWER = b'GET / HTTP/1.1\r\nHost: a\r\n\r\n', b'x' * 1200


def request(case):
    case.handshake().send(0, REQUEST)
    case.add(case.tcp(False, case.server_isn + 1, case.isn + 1 + len(REQUEST), evasion.ACK | evasion.PSH, ANSWER))
    case.add(case.tcp(True, case.isn + 1 + len(REQUEST), case.server_isn + 1 + len(ANSWER), evasion.ACK))


def close(case, with_reset):
    here, there = case.isn + 1 + len(REQUEST), case.server_isn + 1 + len(ANSWER)
    if with_reset:
        case.add(case.tcp(True, here, there, evasion.RST | evasion.ACK))
        return
    case.add(case.tcp(True, here, there, evasion.FIN | evasion.ACK))
    case.add(case.tcp(False, there, here + 1, evasion.FIN | evasion.ACK))
    case.add(case.tcp(True, here + 1, there + 1, evasion.ACK))


def finished(count):
    for i in range(count):
        case = evasion.Case('', 4 + 2 * (i % 2), 1024 + i)
        request(case)
        close(case, i % 3 == 0)
        yield from (packet for packet, _, _ in case.packets)


def idle(count):
    """Yields connections that are all open at once; each sends a second request after all have sent the first."""
    all_cases = [evasion.Case('', 4, 1024 + i) for i in range(count)]
    for case in all_cases:
        request(case)
        yield from (packet for packet, _, _ in case.packets)
    for case in all_cases:
        yield case.tcp(True, case.isn + 1 + len(REQUEST), case.server_isn + 1 + len(ANSWER), evasion.ACK | evasion.PSH,
                       REQUEST)


def run(sluice, name, packets, memcap):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/in.pcap', 'wb') as out:
            out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
            for number, packet in enumerate(packets):
                out.write(struct.pack('<IIII', 1700000000 + number // 10000, number % 10000 * 100, len(packet),
                                      len(packet)) + packet)
        replay = subprocess.run([sluice, 'replay', '--ips', '--no-console', '--set',
                                 f'stream.reassembly-memcap={memcap}', '--log-dir', folder,
                                 folder + '/in.pcap'], capture_output=True, text=True)
        if replay.returncode or replay.stderr:
            sys.exit(f'{name}: exit code {replay.returncode}: {replay.stderr}')
        with open(folder + '/eve.json') as events:
            stats = json.loads(events.readlines()[-1])['stats']
    refused, dropped = stats['tcp']['segment_memcap_drop'], stats['ips']['blocked']
    print(f'{name}: {stats["tcp"]["sessions"]} sessions in {memcap}, {refused} segments without memory, {dropped} '
          f'packets dropped, {stats["tcp"]["reassembly_memuse"]} bytes left')
    return refused == 0 and dropped == 0 and stats['tcp']['reassembly_memuse'] == 0


def main():
    sluice = sys.argv[1]
    good = run(sluice, 'finished', finished(3000), '1MiB')
    good &= run(sluice, 'idle', idle(2000), '7MiB')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
