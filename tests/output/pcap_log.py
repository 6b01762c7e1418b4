#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pcap-log: the capture files have the selected packets byte for byte, and alerts name the file of their packet.

    pcap_log.py SLUICE
"""
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

PACKETS, LENGTH = 200, 100


def datagram(number):
    """UDP from port 1000 + number; every tenth has the text `bad`."""
    text = (b'bad ' if number % 10 == 0 else b'good') + b'%04d' % number
    payload = text.ljust(LENGTH, b'.')
    udp = struct.pack('>HHHH', 1000 + number // 2, 7000, 8 + len(payload), 0) + payload
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0, bytes([10, 0, 0, 1]),
                     bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    return ip[:10] + struct.pack('>H', ~total & 0xffff) + ip[12:] + udp


def write_hosts(path):
    """The same packet from 64 hosts, 20,000 times, for several workers."""
    packet = datagram(1)
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for number in range(20000):
            one = packet[:15] + bytes([number % 64]) + packet[16:]
            file.write(struct.pack('<IIII', 1000000, number, len(one), len(one)) + one)


def write_capture(path):
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for number in range(PACKETS):
            packet = datagram(number)
            file.write(struct.pack('<IIII', 1000000 + number // 50, number, len(packet), len(packet)) + packet)


def read_capture(path, is_killed=False):
    """Returns the numbers of the packets. `is_killed`: the end of the file is missing."""
    program = {'.zst': 'zstd', '.lz4': 'lz4'}.get(os.path.splitext(path)[1])
    if program:
        run = subprocess.run([program, '-dc', path], check=not is_killed, capture_output=True)
        data = run.stdout
        assert not is_killed or run.returncode, f'{path} is complete'
    else:
        with open(path, 'rb') as file:
            data = file.read()
    magic, major, minor, _, _, _, link = struct.unpack_from('<IHHIIII', data)
    assert (magic, major, minor, link) == (0xa1b2c3d4, 2, 4, 101), path
    at, packets = 24, []
    while at + 16 <= len(data):
        seconds, micros, length, wire = struct.unpack_from('<IIII', data, at)
        packet = data[at + 16:at + 16 + length]
        if is_killed and len(packet) < length:
            break
        number = int(packet[32:36])
        assert length == wire == len(packet) and packet == datagram(number), f'{path}: packet {number}'
        assert (seconds, micros) == (1000000 + number // 50, number), f'{path}: time of packet {number}'
        packets.append(number)
        at += 16 + length
    return packets


def kill(sluice, folder, compression):
    """An engine that is killed leaves a file with the packets that it had until a second before."""
    os.mkfifo(f'{folder}/{compression}.fifo')
    daemon = subprocess.Popen([sluice, 'replay', '--no-console', '--log-dir', f'{folder}/kill-{compression}', '--set',
                               'pcap-log.enabled=yes', '--set', f'pcap-log.compression={compression}',
                               f'{folder}/{compression}.fifo'])
    with open(f'{folder}/{compression}.fifo', 'wb') as pipe:
        with open(f'{folder}/in.pcap', 'rb') as file:
            data = file.read()
        for _ in range(200): # libpcap reads the pipe in blocks; the last block may stay in its buffer
            pipe.write(data[24:] if _ else data)
        pipe.flush()
        deadline = time.monotonic() + 20
        packets = []
        while len(packets) < 20000:
            assert time.monotonic() < deadline, f'{compression}: {len(packets)} packets written'
            time.sleep(.2)
            for path in glob.glob(f'{folder}/kill-{compression}/log.pcap.*'):
                packets = read_capture(path, is_killed=True)
        daemon.kill()
        daemon.wait()
    killed, = glob.glob(f'{folder}/kill-{compression}/log.pcap.*')
    assert len(read_capture(killed, is_killed=True)) >= len(packets)


def main():
    sluice = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='sluice-pcap') as folder:
        write_capture(f'{folder}/in.pcap')
        with open(f'{folder}/rules', 'w', encoding='utf-8') as file:
            file.write('alert udp any any -> any 7000 (msg:"bad"; content:"bad "; startswith; sid:1; '
                       'tag:host,3,packets,src;)\n')

        def run(name, *settings, code=0, pattern='log.pcap.*'):
            options = [part for setting in settings for part in ('--set', f'pcap-log.{setting}')]
            run = subprocess.run([sluice, 'replay', '--no-console', '--rules', f'{folder}/rules', '--log-dir',
                                  f'{folder}/{name}', '--set', 'pcap-log.enabled=yes', *options, f'{folder}/in.pcap'],
                                 capture_output=True, text=True, check=False)
            assert run.returncode == code, f'{name}: {run.stderr}'
            if code:
                return run.stderr
            files = {path: read_capture(path) for path in sorted(glob.glob(f'{folder}/{name}/**/{pattern}',
                                                                           recursive=True))}
            with open(f'{folder}/{name}/eve.json', encoding='utf-8') as file:
                events = [json.loads(line) for line in file]
            for event in events:
                if event['event_type'] != 'alert':
                    continue
                number = event['pcap_cnt'] - 1
                assert number in files.get(event['capture_file'], [number]), f'{name}: alert {number}: {event}'
            return files

        files = run('all')
        assert sum(files.values(), []) == list(range(PACKETS)), files
        assert list(files) == [f'{folder}/all/log.pcap.1000000'], files
        # A new file begins when one is full; two begin in the same second only with different names.
        files = run('rotated', 'limit=4000', 'max-files=0', 'dir=packets')
        assert sum(files.values(), []) == list(range(PACKETS)) and len(files) > 5, files
        assert all(os.path.getsize(path) <= 4000 and '/packets/' in path for path in files)
        files = run('ring', 'limit=4000', 'max-files=2')
        assert len(files) == 2 and sum(files.values(), [])[-1] == PACKETS - 1, files
        # No file exceeds the limit when several workers fill it, and their packets are not lost.
        write_hosts(f'{folder}/hosts.pcap')
        subprocess.run([sluice, 'replay', '--no-console', '--workers', '4', '--log-dir',
                        f'{folder}/workers', '--set', 'pcap-log.enabled=yes', '--set', 'pcap-log.limit=100000', '--set',
                        'pcap-log.max-files=0', f'{folder}/hosts.pcap'], check=True)
        sizes = [os.path.getsize(path) for path in glob.glob(f'{folder}/workers/log.pcap.*')]
        assert max(sizes) <= 100000 and sum(sizes) > .9 * 20000 * 144, sizes
        # Flows of two packets each: the packet with the alert and the one behind it.
        files = run('alerts', 'conditional=alerts')
        assert sum(files.values(), []) == [n for n in range(PACKETS) if n % 10 < 2], files
        files = run('tag', 'conditional=tag')
        assert sum(files.values(), []) and not any(n % 10 > 3 for n in sum(files.values(), [])), files
        for compression in ('zstd', 'lz4'):
            if not shutil.which(compression):
                continue
            files = run(compression, f'compression={compression}')
            assert sum(files.values(), []) == list(range(PACKETS)), files
            kill(sluice, folder, compression)
        if shutil.which('lz4'):
            files = run('levels', 'compression=lz4', 'lz4-level=9', 'lz4-checksum=yes', 'limit=4000', 'max-files=0')
            assert sum(files.values(), []) == list(range(PACKETS)) and len(files) > 5, files
            subprocess.run(['lz4', '-tm', *files], check=True, stderr=subprocess.DEVNULL)
        # The files of earlier runs count for max-files, and are not overwritten or continued, also with another
        # compression.
        first = run('again', 'limit=4000', 'max-files=0')
        second = run('again', 'limit=4000', 'max-files=0')
        assert len(second) == 2 * len(first) and all(second[path] == first[path] for path in first), second
        third = run('again', 'limit=4000', 'max-files=5', 'compression=zstd')
        assert len(third) == 5 and all(path.endswith('.zst') for path in third), third
        # Names.
        files = run('name', 'filename=%t.cap', pattern='*.cap')
        assert list(files) == [f'{folder}/name/1000000.cap'], files
        files = run('multi', 'mode=multi')
        assert list(files) == [f'{folder}/multi/log.pcap.0.1000000'], files
        files = run('thread', 'mode=multi', 'filename=w%i-%n-%t', 'limit=4000', 'max-files=2', pattern='w*')
        assert len(files) == 2 and all(re.fullmatch('w[1-9][0-9]*-0-10000[0-9]+', os.path.basename(path))
                                       for path in files), files
        for name in ('%x', 'a%', '%n%t', '%t0', 'a/%t'):
            assert 'pcap-log.filename' in run('bad', f'filename={name}', code=2), name
        # In mode multi, each worker has its files: limit and max-files apply to each.
        for workers in 4, 2:
            subprocess.run([sluice, 'replay', '--no-console', '--workers', str(workers), '--log-dir',
                            f'{folder}/each', '--set', 'pcap-log.enabled=yes', '--set', 'pcap-log.limit=100000', '--set',
                            'pcap-log.max-files=3', '--set', 'pcap-log.mode=multi', f'{folder}/hosts.pcap'], check=True)
            names = [os.path.basename(path).split('.')[2] for path in glob.glob(f'{folder}/each/log.pcap.*')]
            count = {name: names.count(name) for name in names}
            assert count == {str(i): 3 for i in range(workers)}, count
        assert 'pcap-log.filename' in run('bad', 'filename=a/b', code=2)
        error = run('bad', 'dir=/dev/null/x', code=1)
        assert 'cannot log packets to folder /dev/null/x (pcap-log)' in error, error


if __name__ == '__main__':
    main()
