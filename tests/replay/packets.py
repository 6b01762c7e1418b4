# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds packets with every header that Sluice decodes, as bytes. broken.py damages them."""
import struct

from run import checksum

MAC = bytes.fromhex('020000000001020000000002')
V4 = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
V6 = (bytes.fromhex('fd000000000000000000000000000001'), bytes.fromhex('fd000000000000000000000000000002'))
HTTP = b'GET /index.html HTTP/1.1\r\nHost: example.org\r\nContent-Length: 12\r\n\r\n'
IPV4_IN, TCP, UDP, IPV6_IN, ROUTING, FRAGMENT, GRE, ESP, AH, NO_NEXT, DESTINATION, SCTP = \
    4, 6, 17, 41, 43, 44, 47, 50, 51, 59, 60, 132
ICMP, IGMP, HOP_BY_HOP, ICMPV6 = 1, 2, 0, 58


# --- Transport

def with_checksum(data, at, pseudo=b''):
    return data[:at] + struct.pack('!H', checksum(pseudo + data)) + data[at + 2:]


def tcp(payload=HTTP, options=bytes.fromhex('020405b40402080a00000001000000020103030700000000'), flags=0x18, port=80):
    header = struct.pack('!HHIIBBHHH', 40000, port, 1000, 2000, (20 + len(options)) // 4 << 4, flags, 8192, 0, 0)
    return header + options + payload


def udp(payload=b'\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01', port=53, source=40000):
    return struct.pack('!HHHH', source, port, 8 + len(payload), 0) + payload


def icmp(kind=8, code=0, body=b'\0\x01\0\x02' + b'abcdefgh' * 4):
    return with_checksum(struct.pack('!BBH', kind, code, 0) + body, 2)


def sctp():
    chunks = struct.pack('!BBHIHHI', 0, 3, 20, 1, 0, 0, 51) + b'data' + struct.pack('!BBH', 11, 0, 4) + \
        struct.pack('!BBHI', 3, 0, 8, 1)
    return struct.pack('!HHII', 5000, 5001, 99, 0) + chunks


def igmp():
    return with_checksum(bytes.fromhex('1600000002000000') + bytes([224, 0, 0,
                                                                    9]), 2) + b'\0\0\0\x01' + bytes([224, 0, 0, 9])


# --- IP

def ipv4(protocol, segment, options=b'', fragment=0x4000, total=None, addresses=V4):
    length = 20 + len(options)
    total = length + len(segment) if total is None else total
    header = struct.pack('!BBHHHBBH', 0x40 | length // 4, 0, total, 7, fragment, 64, protocol, 0) + \
        b''.join(addresses) + options
    return with_checksum(header, 10) + segment


def ipv6(protocol, segment, addresses=V6):
    return struct.pack('!IHBB', 6 << 28, len(segment), protocol, 64) + b''.join(addresses) + segment


def extension(following, body=b'\x01\x04\0\0\0\0'):
    """Returns an IPv6 extension header. The body and the two bytes before it must be a multiple of eight bytes."""
    return bytes([following, (len(body) + 2) // 8 - 1]) + body


def fragment6(following, offset, more):
    return struct.pack('!BBHI', following, 0, offset << 3 | more, 77)


def network4():
    """Returns IPv4 packets with every protocol and option."""
    options = (b'\x07\x07\x04\0\0\0\0\0', b'\x94\x04\0\0', b'\x44\x0c\x05\0' + bytes(8), b'\x83\x07\x04\x0a\0\0\x01\0',
               b'\x82\x0b' + bytes(9) + b'\0',
               b'\x86\x0a\0\0\0\x01\x01\x04\0\0\0\0', b'\x01\x01\x01\0')
    return [ipv4(TCP, tcp()), ipv4(TCP, tcp(b'', bytes.fromhex('020405b4'), 2)),
            ipv4(TCP, tcp(options=bytes.fromhex('1302aabb220affeeddccbbaa99880000'))),
            ipv4(UDP, udp()), ipv4(UDP, udp(b'')), ipv4(ICMP, icmp()),
            ipv4(ICMP, icmp(3, 4, b'\0\0\x05\0' + ipv4(UDP, udp()))),
            ipv4(ICMP, icmp(13, 0, bytes(16))), ipv4(IGMP, igmp()), ipv4(SCTP, sctp()), ipv4(ESP, bytes(range(40))),
            ipv4(AH, bytes([TCP, 4, 0, 0]) + bytes(20) + tcp()), ipv4(TCP, tcp(), fragment=0x2000),
            ipv4(UDP, b'x' * 32, fragment=0x0010),
            ipv4(NO_NEXT, b'nothing'), *[ipv4(UDP, udp(), options=each) for each in options]]


def network6():
    extended = extension(DESTINATION) + extension(ROUTING, b'\x01\x04\0\0\0\0') + \
        extension(TCP, b'\0\x01\0\0\0\0' + bytes(16)) + tcp()
    headers = [(ICMPV6, icmp(128)), (ICMPV6, icmp(2, 0, b'\0\0\x05\0' + ipv6(UDP, udp()))),
               (ICMPV6, icmp(135, 0, bytes(4) + V6[1])),
               (ICMPV6, icmp(143, 0, bytes(20))), (TCP, tcp()), (UDP, udp()), (SCTP, sctp()), (ESP, bytes(range(40))),
               (HOP_BY_HOP, extended),
               (FRAGMENT, fragment6(UDP, 0, 1) + udp()), (FRAGMENT, fragment6(TCP, 9, 0) + b'y' * 24),
               (NO_NEXT, b'rest'),
               (HOP_BY_HOP, extension(UDP, b'\x05\x02\0\0\xc2\x04\0\x01\0\0\x01\x02\0\0') + udp()),
               (AH, bytes([UDP, 4, 0, 0]) + bytes(20) + udp()),
               (DESTINATION, extension(FRAGMENT) + fragment6(UDP, 0, 0) + udp())]
    return [ipv6(protocol, data) for protocol, data in headers]


# --- Tunnels

def gre(ether_type, payload, flags=0, fields=b''):
    return struct.pack('!HH', flags, ether_type) + fields + payload


def vxlan(payload):
    return udp(b'\x08\0\0\0\0\0\x2a\0' + payload, 4789)


def geneve(payload, options=b'\x01\x02\x80\x01\xde\xad\xbe\xef'):
    return udp(bytes([len(options) // 4, 0]) + b'\x65\x58\0\0\x2a\0' + options + payload, 6081)


def tunnels():
    inside4, inside6 = ipv4(TCP, tcp()), ipv6(UDP, udp())
    frame = MAC + b'\x08\0' + inside4
    pptp = b'\xff\x03\0\x21' + inside4
    erspan2 = struct.pack('!HHI', 0x1001, 0x0005, 0) + frame
    erspan3 = struct.pack('!HHIIHH', 0x2001, 0x0005, 7, 0, 0, 0) + frame
    return [ipv4(GRE, gre(0x0800, inside4)), ipv4(GRE, gre(0x0800, inside4, 0xb000, bytes(12))),
            ipv4(GRE, gre(0x86dd, inside6, 0x2000, bytes(4))),
            ipv4(GRE, gre(0x0800, inside4, 0x4000, bytes(4) + b'\0\0\0\x04\x0a\0\0\x01' + bytes(4))),
            ipv4(GRE, gre(0x6558, frame)),
            ipv4(GRE, gre(0x880b, pptp, 0x3081, struct.pack('!HHII', len(pptp), 1, 2, 3))),
            ipv4(GRE, gre(0x88be, frame)),
            ipv4(GRE, gre(0x88be, erspan2, 0x1000, bytes(4))), ipv4(GRE, gre(0x22eb, erspan3, 0x1000, bytes(4))),
            ipv4(GRE, gre(0x8847, b'\0\0\x11\x40' + inside4)), ipv4(IPV4_IN, inside4), ipv4(IPV6_IN, inside6),
            ipv6(IPV4_IN, inside4), ipv6(IPV6_IN, inside6),
            ipv4(UDP, vxlan(frame)), ipv4(UDP, geneve(frame)), ipv4(UDP, udp(inside6, 3544)),
            ipv4(UDP, udp(b'\0\0' + bytes(11) + inside6, 40000, 3544)),
            ipv4(IPV4_IN, ipv4(GRE, gre(0x86dd, ipv6(IPV6_IN, ipv6(UDP, vxlan(frame))))))]


# --- Links

def link_only():
    """Returns (EtherType, bytes) of ARP, VLAN, PPPoE, MPLS and other layers below IP."""
    inside, frame = ipv4(UDP, udp()), MAC + b'\x08\0' + ipv4(UDP, udp())
    arp = struct.pack('!HHBBH', 1, 0x0800, 6, 4, 1) + MAC[:6] + V4[0] + MAC[6:] + V4[1]
    return [(0x0806, arp), (0x8100, b'\0\x0a\x08\0' + inside),
            (0x88a8, b'\0\x0a\x81\0\0\x0b\x86\xdd' + ipv6(TCP, tcp())),
            (0x8100, b'\0\x0a\x81\0\0\x0b\x81\0\0\x0c\x08\0' + inside),
            (0x8864, struct.pack('!BBHHH', 0x11, 0, 1, len(inside) + 2, 0x21) + inside),
            (0x8863, struct.pack('!BBHH', 0x11, 9, 0, 12) + b'\x01\x01\0\0\x01\x03\0\x04abcd'),
            (0x8847, b'\0\0\x10\0\0\0\x21\x40' + inside),
            (0x8847, b'\0\0\x31\x40\0\0\0\0' + frame), (0x88e7, bytes(4) + frame),
            (0x893f, b'\0\x01\0\0\x08\0' + inside), (0x8926, b'\0\x01\0\x02\x08\0' + inside),
            (0x894f, b'\0\x02\x02\x01\0\0\x01\xff' + inside),
            (0x894f, b'\x0f\xc6\x01\x03\0\0\x01\xff' + bytes(16) + frame), (0x8903, b'\0\x01\0\0' + frame),
            (0x88cc, b'\x02\x07\x04' + MAC[:6]), (0x0040, b'\xaa\xaa\x03\0\0\0\x08\0' + inside)]


def internet():
    """Returns (EtherType, packet) of all IP packets."""
    everything = network4() + network6() + tunnels()
    return [(0x0800 if packet[0] >> 4 == 4 else 0x86dd, packet) for packet in everything]


def ethernet():
    return [MAC + struct.pack('!H', kind) + packet for kind, packet in internet() + link_only()]


def ppp(kind, packet):
    return struct.pack('!H', 0x21 if kind == 0x0800 else 0x57) + packet


def null(kind, order):
    return struct.pack(order + 'I', 2 if kind == 0x0800 else 30)


def with_length(kind, packet):
    """Sets the length in the outer IP header to that of the packet, so that the inner headers are truncated."""
    if kind == 0x0800 and len(packet) >= 20:
        return with_checksum(packet[:2] + struct.pack('!H', len(packet)) + packet[4:10] + bytes(2) + packet[12:20],
                             10) + packet[20:]
    if kind == 0x86dd and len(packet) >= 40:
        return packet[:4] + struct.pack('!H', len(packet) - 40) + packet[6:]
    return packet


def cut_inside():
    """Returns (EtherType, packet) of all IP packets, cut at every length, with the new length in the IP header."""
    return [(kind, with_length(kind, packet[:length])) for kind, packet in internet()
            for length in range(20, len(packet))]


def by_link():
    """Returns {link type in capture files: packets} for every supported link type."""
    ip, any_link = internet(), internet() + link_only()
    return {
        1: ethernet(),
        0: [null(kind, '<') + packet for kind, packet in ip] + [null(ip[0][0], '>') + ip[0][1]],
        9: [b'\xff\x03' + ppp(kind, packet) for kind, packet in ip] + [ppp(*ip[0]), b'\xff\x03\0\x2f' + ip[0][1]],
        12: [packet for _, packet in ip],
        101: [packet for _, packet in ip],
        104: [struct.pack('!BBH', 0x0f, 0, kind) + packet for kind, packet in any_link],
        108: [null(kind, '>') + packet for kind, packet in ip],
        113: [struct.pack('!HHH', 0, 1, 6) + MAC[:6] + b'\0\0' + struct.pack('!H', kind) + packet for kind,
              packet in any_link],
        228: [packet for kind, packet in ip if kind == 0x0800],
        229: [packet for kind, packet in ip if kind == 0x86dd],
        276: [struct.pack('!HHIHBB', kind, 0, 3, 1, 0, 6) + MAC[:6] + b'\0\0' + packet for kind, packet in any_link],
    }
