# SPDX-License-Identifier: GPL-2.0-or-later
"""capture.py FILE: writes a capture of a TCP connection to port 7001 with the data "hello"."""
import struct
import sys


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def packet(source, to, flags, sequence, acknowledgment, data=b""):
    addresses = bytes([192, 0, 2, source[0], 192, 0, 2, to[0]])
    tcp = struct.pack("!HHIIBBHHH", source[1], to[1], sequence, acknowledgment, 5 << 4, flags, 65535, 0, 0)
    total = checksum(addresses + struct.pack("!BBH", 0, 6, len(tcp) + len(data)) + tcp + data)
    tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp) + len(data), 1, 0, 64, 6, 0) + addresses
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp + data


CLIENT, SERVER = (1, 40000), (2, 7001)
packets = [packet(CLIENT, SERVER, 2, 100, 0), packet(SERVER, CLIENT, 0x12, 500, 101),
           packet(CLIENT, SERVER, 0x10, 101, 501), packet(CLIENT, SERVER, 0x18, 101, 501, b"hello"),
           packet(SERVER, CLIENT, 0x11, 501, 106), packet(CLIENT, SERVER, 0x11, 106, 502),
           packet(SERVER, CLIENT, 0x10, 502, 107)]
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
    for i, data in enumerate(packets):
        file.write(struct.pack("<IIII", 1700000000, i * 1000, len(data), len(data)) + data)
