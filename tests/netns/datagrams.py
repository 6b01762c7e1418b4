# SPDX-License-Identifier: GPL-2.0-or-later
"""Datagrams for datagrams.sh.

    datagrams.py listen FILE        as the server: appends a line for each datagram that programs get, of ports 53, 4789
                                    and 9999
    datagrams.py junk ADDRESS PORT  as the server: sends junk from port 53, before the client asks
    datagrams.py send               as the client: what must not arrive has EVIL in it or asks for evil.test, the rest
                                    is harmless
"""
import select
import socket
import struct
import sys

PORTS = (53, 4789, 9999)
V4, V6 = '10.66.2.2', 'fd66:2::2'


def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff or 0xffff


def listen(path):
    sockets = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for port in PORTS:
            s = socket.socket(family, socket.SOCK_DGRAM)
            if family == socket.AF_INET6:
                s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind(('', port))
            sockets.append(s)
    with open(path, 'w') as out:
        print('ready', file=out, flush=True)
        while True:
            for s in select.select(sockets, [], [])[0]:
                print(s.getsockname()[1], s.recv(65536), file=out, flush=True)


def junk(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(('10.66.2.3', 53))
        for payload in (b'\0', b'junk', b'more junk'):
            s.sendto(payload, (address, int(port)))


def query(name):
    labels = b''.join(bytes([len(part)]) + part for part in name.split(b'.'))
    return b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + labels + b'\0\0\1\0\1'


def send_length_zero(payload):
    """IPv6, with a length field of 0."""
    source = socket.inet_pton(socket.AF_INET6, 'fd66:1::2')
    header = struct.pack('!HHHH', 40100, 9999, 0, 0)
    pseudo = source + socket.inet_pton(socket.AF_INET6, V6) + struct.pack('!IHBB', len(header) + len(payload), 0, 0, 17)
    value = checksum(pseudo + header + payload)
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_UDP) as s:
        s.sendto(header[:6] + struct.pack('!H', value) + payload, (V6, 0))


def send_all():
    send_length_zero(b'length zero EVIL')
    send_length_zero(b'length zero harmless')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(('', 40000))
        for payload in (b'\0', b'junk', query(b'good.test'), query(b'evil.test')):
            s.sendto(payload, ('10.66.2.3', 53))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b'no tunnel, EVIL', (V4, 4789))
        s.sendto(b'start-' + b'a' * 60 + b' EVIL-TEXT', (V4, 9999))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b'the end', (V4, 9999))


if __name__ == '__main__':
    {'listen': listen, 'junk': junk, 'send': send_all}[sys.argv[1]](*sys.argv[2:])
