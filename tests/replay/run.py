#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays one case and compares its events with the expected ones.

    run.py SLUICE CASE_FOLDER

A case folder has

    packets    one packet per line, in the order of the capture:
                   udp 10.0.0.1:1000 > 10.0.0.2:53 "text\\x00"       IPv6: [fd00::1]:1000
                   tcp 10.0.0.1:1000 > 10.0.0.2:80 flags=PA seq=1 ack=1 "text"
                   icmp 10.0.0.1 > 10.0.0.2 type=8 code=0 id=1 seq=1 "text"
                   hex 45000014...                                   a raw IP packet
                   frag 0-16 id=7 udp ...                            a fragment with these bytes of the IP payload;
                                                                     0-16+ sets MF even if these are the last bytes
                   inside 10.9.0.1 > 10.9.0.2 udp ...                the packet in IPv4 (id=N)
                   ethernet 02:..:01 > 02:..:02                      no packet: sets MAC addresses for later IPv4
                   ts=VALUE/ECHO gives a TCP packet a timestamp
               +N before a packet moves the clock by N seconds; ttl=, tos=, bad-checksum may be added to any
    test.rules
    options    optional: further arguments of replay, one per line (--ips, --set key=value)
    warnings   optional: texts that replay must write to stderr, one per line
    expected   lines "COUNT key=value key=value": COUNT events have these values; `key=` means that the key is absent

The capture is replayed twice; the events must be the same.
"""
import ipaddress
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

FLAGS = {'F': 1, 'S': 2, 'R': 4, 'P': 8, 'A': 16, 'U': 32, 'E': 64, 'C': 128}


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_packet(src, dst, protocol, segment, at, options):
    """Returns an IP packet with the segment. Sets the checksum at offset AT of the segment."""
    s, d = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if protocol == 1 and s.version == 6:
        protocol = 58
    pseudo = b'' if protocol == 1 else s.packed + d.packed + (
        struct.pack('!BBH', 0, protocol, len(segment)) if s.version == 4
        else struct.pack('!I3xB', len(segment), protocol))
    value = checksum(pseudo + segment) ^ (0x5555 if 'bad-checksum' in options else 0)
    segment = segment[:at] + struct.pack('!H', value) + segment[at + 2:]
    ttl, tos = int(options.get('ttl', 64)), int(options.get('tos', 0))
    if s.version == 6:
        return struct.pack('!IHBB', 6 << 28 | tos << 20, len(segment), protocol, ttl) + s.packed + d.packed + segment
    header = struct.pack('!BBHHHBBH', 0x45, tos, 20 + len(segment), int(options.get('ipid', 1)), 0, ttl, protocol,
                         0) + s.packed + d.packed
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + segment


def endpoint(text):
    m = re.fullmatch(r'\[(.*)\]:(\d+)|([\d.]+):(\d+)', text)
    return (m[1] or m[3], int(m[2] or m[4])) if m else (text, 0)


def fragment(data, first, last, more, number):
    if data[0] >> 4 == 6:
        part = data[40:][first:last]
        head = struct.pack('!BBHI', data[6], 0, first | (more or last < len(data) - 40), number)
        return data[:4] + struct.pack('!HB', 8 + len(part), 44) + data[7:40] + head + part
    part = data[20:][first:last]
    field = first >> 3 | (0x2000 if more or last < len(data) - 20 else 0)
    header = data[:2] + struct.pack('!HHH', 20 + len(part), number, field) + data[8:10] + b'\0\0' + data[12:20]
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + part


def parse(line):
    kind, rest = line.split(None, 1)
    m = kind == 'frag' and re.fullmatch(r'(\d+)-(\d*)(\+?) id=(\d+) (.*)', rest)
    if m:
        return fragment(parse(m[5]), int(m[1]), int(m[2] or 65536), bool(m[3]), int(m[4]))
    m = kind == 'inside' and re.fullmatch(r'(\S+) > (\S+) (id=(\d+) )?(.*)', rest)
    if m:
        inner = parse(m[5])
        header = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(inner), int(m[4] or 1), 0, 64, 4 if inner[0] >> 4 == 4
                             else 41, 0)
        header += ipaddress.ip_address(m[1]).packed + ipaddress.ip_address(m[2]).packed
        return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + inner
    if kind == 'hex':
        return bytes.fromhex(rest)
    m = re.search(r'"(.*)"\s*$', rest)
    payload = m[1].encode('latin-1').decode('unicode_escape').encode('latin-1') if m else b''
    src, _, dst, *words = (rest[:m.start()] if m else rest).split()
    options = dict(w.split('=', 1) if '=' in w else (w, '') for w in words)
    (src, sport), (dst, dport) = endpoint(src), endpoint(dst)
    if kind == 'udp':
        return ip_packet(src, dst, 17, struct.pack('!HHHH', sport, dport, 8 + len(payload), 0) + payload, 6, options)
    if kind == 'tcp':
        flags = sum(FLAGS[f] for f in options.get('flags', 'PA'))
        more = struct.pack('!BBBBII', 1, 1, 8, 10, *map(int, options['ts'].split('/'))) if 'ts' in options else b''
        return ip_packet(src, dst, 6,
                         struct.pack('!HHIIBBHHH', sport, dport, int(options.get('seq', 1)), int(options.get('ack', 1)),
                                                  0x50 + (len(more) << 2), flags, int(options.get('window', 8192)),
                                     0, 0) + more + payload,
                         16, options)
    if kind == 'icmp':
        return ip_packet(src, dst, 1, struct.pack('!BBHHH', int(options.get('type', 8)), int(options.get('code', 0)), 0,
                                                  int(options.get('id', 1)), int(options.get('seq', 1))) + payload, 2,
                                                  options)
    sys.exit(f'unknown packet: {line}')


def write_capture(source, path):
    seconds = 1700000000.0
    lines = [line.strip() for line in open(source) if line.strip() and not line.startswith('#')]
    is_ethernet, frame = any(line.startswith('ethernet ') for line in lines), b''
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1 if is_ethernet else 101))
        for line in lines:
            if line.startswith('ethernet '):
                _, sender, _, receiver = line.split()
                frame = bytes.fromhex((receiver + sender).replace(':', '')) + b'\x08\x00'
                continue
            m = re.match(r'\+([\d.]+)\s+(.*)', line)
            seconds, line = (seconds + float(m[1]), m[2]) if m else (seconds + 0.001, line)
            data = frame + parse(line)
            out.write(struct.pack('<IIII', int(seconds), int(seconds % 1 * 1e6), len(data), len(data)) + data)


def value(event, path):
    for part in path.split('.'):
        if isinstance(event, list) and part.isdigit() and int(part) < len(event):
            event = event[int(part)]
            continue
        if not isinstance(event, dict) or part not in event:
            return ''
        event = event[part]
    return str(event).lower() if isinstance(event, bool) else str(event)


def replay(sluice, case, capture, folder):
    os.makedirs(folder)
    options = []
    if os.path.exists(case + '/options'):
        options = [line.strip() for line in open(case + '/options') if line.strip()]
    run = subprocess.run([sluice, 'replay', '--rules', case + '/test.rules', '--log-dir', folder, *options, capture],
                         capture_output=True, text=True, timeout=50)
    warnings = []
    if os.path.exists(case + '/warnings'):
        warnings = [line.strip() for line in open(case + '/warnings') if line.strip()]
    missing = [text for text in warnings if text not in run.stderr]
    if run.returncode or missing or (run.stderr and not warnings) or 'error' in run.stderr:
        sys.exit(f'exit code {run.returncode}: {run.stderr} without {missing}')
    return [json.loads(line) for line in open(folder + '/eve.json')]


def main():
    sluice, case = sys.argv[1], os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        write_capture(case + '/packets', folder + '/test.pcap')
        events = replay(os.path.abspath(sluice), case, folder + '/test.pcap', folder + '/1')
        again = replay(os.path.abspath(sluice), case, folder + '/test.pcap', folder + '/2')
    if events != again:
        sys.exit('two runs gave different events')
    failed = checks = 0
    for line in open(case + '/expected'):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        wanted, *pairs = re.findall(r'\S+=".*?"|\S+', line)
        pairs = [(k, v.strip('"')) for k, v in (p.split('=', 1) for p in pairs)]
        got = sum(all(value(e, k) == v for k, v in pairs) for e in events)
        checks += 1
        if got != int(wanted):
            failed += 1
            print(f'{line}: got {got}')
    if failed or not checks:
        for event in events:
            print(json.dumps(event)[:400])
        sys.exit(f'{failed} of {checks} checks failed')
    print(f'{checks} checks')


if __name__ == '__main__':
    main()
