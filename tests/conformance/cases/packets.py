# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of packets, fragments, tunnels, and TCP reassembly."""
import struct

from build import (ACK, client, CLIENT, CLIENT6, FIN, fragments, GRE, icmp_packet, ipv4, PSH, request, SERVER, SERVER6,
                   SYN, tcp, tcp_packet, udp_packet)


def rule(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


headers_packets = [
    icmp_packet(8, 0, 77, 3), icmp_packet(3, 4, 0, 0, ends=(SERVER, CLIENT)),
    tcp_packet(b'', SYN, 100, 0, (40000, 80), options=b'\x02\x04\x05\xb4\x03\x03\x07\0', window=1024),
    tcp_packet(b'', FIN | PSH | 32, 200, 0, (40001, 80), ttl=3),
    udp_packet(b'sixteen bytes ok', (40002, 9999), tos=8),
    udp_packet(b'version six', (40003, 9999), (CLIENT6, SERVER6)),
    udp_packet(b'same host', (40004, 9999), (CLIENT, CLIENT)),
    udp_packet(b'broken', (40005, 9999), **{'bad-checksum': ''}),
    ipv4(17, struct.pack('!HHHH', 40006, 9999, 8 + 7, 0) + b'options', (CLIENT, SERVER), options=b'\x94\x04\0\0'),
]
headers = [
    (1, rule('icmp', 'itype:8; icode:0; icmp_id:77; icmp_seq:3;')),
    (1, rule('icmp', 'itype:3; icode:4;')),
    (0, rule('icmp', 'itype:8; icmp_id:78;')),
    (0, rule('icmp', 'itype:>8;')),
    (1, rule('tcp', 'flags:S; seq:100; ack:0; window:1024;')),
    (1, rule('tcp', 'tcp.mss:1460;')),
    (0, rule('tcp', 'tcp.mss:<1460;')),
    (1, rule('tcp', 'tcp.wscale:7;')),
    (1, rule('tcp', 'flags:FPU; ttl:<5;')),
    (2, rule('tcp', 'flags:!A;')),
    (0, rule('tcp', 'flags:SA;')),
    (1, rule('ip', 'ttl:3;')),
    (1, rule('udp', 'tos:8; dsize:16;')),
    (1, rule('ip', 'sameip;')),
    (1, rule('udp', 'udpv4-csum:invalid;')),
    (0, rule('tcp', 'tcpv4-csum:invalid;')),
    (2, rule('ip', 'ip_proto:1;')),
    (1, rule('udp', 'ipopts:rtralt;')),
    (0, rule('ip', 'ipopts:ts;')),
    (1, rule('udp', 'ipv6.hdr; content:"|20 01 0d b8|"; offset:8; depth:4;')),
    (1, 'alert udp 2001:db8::/64 any -> any any (content:"version six";)'),
    (0, 'alert udp 2001:db9::/64 any -> any any (content:"version six";)'),
    (1, rule('udp', 'udp.hdr; content:"|9c 44|"; startswith;')),
]

# A pattern across the border of two fragments; fragment fields; fragments in the wrong order.
long4, long6 = udp_packet(b'A' * 20 + b'across-the-border' + b'B' * 20, (40000, 9999)), \
    udp_packet(b'A' * 20 + b'across-the-border' + b'B' * 20, (40001, 9999), (CLIENT6, SERVER6))
fragment_rules = [
    (3, rule('udp', 'content:"across-the-border";')),
    (0, rule('udp', 'content:"across-the-border"; startswith;')),
    (2, 'alert udp any any -> 198.51.100.1 9999 (content:"across-the-border";)'),
    (2, rule('ip', 'fragbits:M; fragoffset:0;')),
    (0, rule('ip', 'fragbits:D;')),
]
fragment_packets = fragments(long4, 32, 7) + fragments(long4, 32, 8)[::-1] + fragments(long6, 32, 9)

inner = udp_packet(b'tunnelled payload', (40000, 9999))
inner6 = udp_packet(b'tunnelled payload', (40000, 9998), (CLIENT6, SERVER6))
frame = bytes.fromhex('020000000002020000000001') + b'\x08\0' + udp_packet(b'tunnelled payload', (40000, 9997))
tunnels_packets = [
    ipv4(4, inner), ipv4(41, inner6),
    ipv4(GRE, struct.pack('!HH', 0, 0x0800) + udp_packet(b'tunnelled payload', (40000, 9996))),
    udp_packet(b'\x08\0\0\0\0\0\x2a\0' + frame, (40000, 4789), ('203.0.113.1', '203.0.113.2')),
]
tunnels = [
    (1, 'alert udp 192.0.2.1 any -> 198.51.100.1 9999 (content:"tunnelled payload"; dsize:17;)'),
    (1, 'alert udp 2001:db8::1 any -> any 9998 (content:"tunnelled payload"; startswith;)'),
    (1, 'alert udp 192.0.2.1 any -> any 9997 (content:"tunnelled payload"; startswith;)'),
    (1, 'alert udp 192.0.2.1 any -> any 9996 (content:"tunnelled payload"; startswith;)'),
    (0, 'alert udp 192.0.2.2 any -> any any (content:"tunnelled payload";)'),
    (0, 'alert udp any any -> any 9999 (content:"another payload";)'),
]

# The pattern lies in two segments; in segments of which the second comes before the first; and in segments that are
# sent twice. The last packet has no connection.
_, text = request('GET /split/pattern HTTP/1.1')
whole = tcp(80, client(text), cut=9)
swapped = tcp(80, client(text), client_port=40001, cut=9)
data = [at for at, packet in enumerate(swapped) if len(packet) > 40]
swapped[data[0]:data[0]] = [swapped.pop(data[1])]  # before the first segment, and so before its acknowledgement
twice = tcp(80, client(text), client_port=40002, cut=9)
twice = [packet for packet in twice for _ in range(2 if len(packet) > 40 else 1)]
reassembly_packets = whole + swapped + twice + \
    [tcp_packet(b'GET /split/pattern HTTP/1.1\r\nHost: x\r\n\r\n', PSH | ACK, 1, 1, (40009, 80))]
reassembly = [
    (3, rule('http', 'http.uri; content:"/split/pattern"; bsize:14;')),
    (0, rule('http', 'http.uri; content:"/split/pattern/";')),
    (1, 'alert http any 40001 -> any any (http.uri; content:"/split/pattern";)'),
    (1, 'alert tcp any 40002 -> any any (flow:established,to_server; content:"/split/pattern";)'),
    (0, 'alert tcp any 40009 -> any any (flow:established; content:"/split/pattern";)'),
    (3, rule('tcp', 'flags:SA;')),
]

cases = {
    'headers': (headers_packets, headers),
    'fragments': (fragment_packets, fragment_rules),
    'tunnels': (tunnels_packets, tunnels),
    'reassembly': (reassembly_packets, reassembly),
}
