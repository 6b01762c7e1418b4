#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays malformed packets and damaged capture files. Nothing may crash, and decoder events must be counted.

    broken.py SLUICE SOURCE [--seed N] [--flips N]

Packets with every header that Sluice decodes are cut at every length and get random bytes, for every link type. Then
capture files are cut and damaged. The same seed gives the same bytes.
"""
import argparse
import concurrent.futures
import os
import random
import struct
import sys
import tempfile

import packets
import replaying

MAGIC = 0xa1b2c3d4
TIMEOUT = 300
RAW, UNSUPPORTED = 101, 147


def capture(link, records):
    """Returns a pcap file. A record is (captured bytes, length on the wire)."""
    out = [struct.pack('<IHHiIII', MAGIC, 2, 4, 0, 0, 262144, link)]
    for i, (data, wire_length) in enumerate(records):
        out.append(struct.pack('<IIII', 1700000000 + i // 1000, i % 1000 * 1000, len(data), wire_length) + data)
    return b''.join(out)


def pcapng(link, records):
    """Returns a pcapng file without options."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)
    out = [block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)),
           block(1, struct.pack('<HHI', link, 0, 262144))]
    for data, wire_length in records:
        out.append(block(6, struct.pack('<IIIII', 0, 0, 0, len(data), wire_length) + data))
    return b''.join(out)


def whole(originals):
    return [(data, len(data)) for data in originals]


def cut(data):
    """Cuts a packet at every length. Every second record claims the original length on the wire (snaplen)."""
    return [(data[:length], len(data) if length % 2 else length) for length in range(len(data) + 1)]


def flip(data, rng, count):
    """Returns COUNT copies with one to eight changed bytes each; about every eighth has trailing random bytes."""
    records = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
            changed[rng.randrange(min(len(changed),
                                      rng.choice((20, 60, 10000))))] = rng.choice((0, 0xff, rng.randrange(256)))
        if rng.randrange(8) == 0:
            changed += rng.randbytes(rng.randrange(40))
        records.append((bytes(changed), len(changed)))
    return records


def noise(rng, count):
    return whole([rng.randbytes(rng.randrange(200)) for _ in range(count)])


def broken_captures(seed, flips):
    """Yields (link type, records): packets of every link type, and IP packets whose inner headers are truncated."""
    for link, originals in packets.by_link().items():
        rng = random.Random(f'{seed} {link}')
        yield link, [record for data in originals for record in cut(data) + flip(data, rng, flips)] + noise(rng, flips)
    inside, rng = [packet for _, packet in packets.cut_inside()], random.Random(seed)
    yield RAW, whole(inside)
    yield RAW, [record for data in inside for record in flip(data, rng, 1)]
    yield UNSUPPORTED, whole(inside[:50])


def check_packets(sluice, arguments, link, records):
    """Replays the records of a link type; returns what is wrong, or None. The counters of the run with --ips are not
    compared, because inline defragmentation drops some fragments."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + '/broken.pcap'
        with open(path, 'wb') as f:
            f.write(capture(link, records))
        one, other, inline = (replaying.Run(sluice, arguments + options, [path], folder, TIMEOUT)
                              for options in (['--set', 'queue.batch=64'], ['--set', 'queue.batch=1'], ['--ips']))
    problem = one.problem(may_fail=False) or other.problem(may_fail=False) or inline.problem(may_fail=False)
    if problem:
        return problem
    if one.stats()['capture']['kernel_packets'] != len(records):
        return f"{one.stats()['capture']['kernel_packets']} of {len(records)} packets"
    if link == UNSUPPORTED:
        return None if one.own_stats()['ips']['uninspected']['link_type'] == len(records) else 'not counted as uninspected'
    if replaying.decoder_events(one.stats()) == 0:
        return 'no decoder events'
    if one.stats()['decoder'] != other.stats()['decoder']:
        return 'decoder counters depend on queue.batch'
    return None


def broken_files(rng):
    """Returns (name, bytes) of capture files that are cut or damaged, and of files that are no captures."""
    records = whole(packets.ethernet()[:12])
    files_whole = {'pcap': capture(1, records), 'pcapng': pcapng(1, records)}
    files = [('empty', b''), ('noise', rng.randbytes(4000)), ('text', b'not a capture\n' * 20)]
    for name, content in files_whole.items():
        for length in (*range(1, 64, 3), *(rng.randrange(len(content)) for _ in range(12))):
            files.append((f'{name} cut at {length}', content[:length]))
        for number in range(24):
            changed = bytearray(content)
            for _ in range(4):
                changed[rng.randrange(rng.choice((60, len(content))))] = rng.randrange(256)
            files.append((f'{name} damaged, {number}', bytes(changed)))
    return files


def check_file(sluice, name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + '/broken'
        with open(path, 'wb') as f:
            f.write(content)
        run = replaying.Run(sluice, [], [path], folder, TIMEOUT)
    if name in ('empty', 'noise', 'text') and run.code != 1:
        return f'exit code {run.code} instead of 1 for a file that is no capture'
    return run.problem(may_fail=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sluice')
    parser.add_argument('source')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--flips', type=int, default=60)
    parser.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    args = parser.parse_args()

    sluice = os.path.abspath(args.sluice)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        arguments = replaying.default_arguments(os.path.abspath(args.source)) + replaying.cache_settings(folder)
        tasks = []
        for link, records in broken_captures(args.seed, args.flips):
            tasks.append((f'link type {link}, {len(records)} packets',
                          pool.submit(check_packets, sluice, arguments, link, records)))
        for name, content in broken_files(random.Random(args.seed)):
            tasks.append((f'file: {name}', pool.submit(check_file, sluice, name, content)))
        failed = 0
        for name, task in tasks:
            if task.result():
                failed += 1
                print(f'{name}: {task.result()}', flush=True)
    print(f'{len(tasks)} captures, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
