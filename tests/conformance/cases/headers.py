# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers below the application: Ethernet, IP and its extensions, ICMP, IGMP, SCTP; checksums and events."""
import ipaddress
import struct

from build import (ACK, AH, arp, Case, client, CLIENT, CLIENT6, DESTINATION, ESP, ethernet, fragments, GRE, HOP_BY_HOP,
                   icmp_packet, igmp, ipv4, ipv6, NO_NEXT, PSH, ROUTING, sctp, sctp_chunk, server, SERVER, SERVER6, SYN,
                   tcp, tcp_packet, udp_packet, with_extensions)


def rule(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


def hexadecimal(data):
    return '|' + data.hex(' ') + '|'


SIX = (CLIENT6, SERVER6)

# --- IPv6: a datagram behind three extension headers, one without them, and one in two fragments

PAD = b'\0\x01\x04\0\0\0\0'  # no more than eight bytes; PadN fills them
SEGMENTS = b'\x02\x04\0' + bytes(4) + ipaddress.ip_address(SERVER6).packed
extended = with_extensions(udp_packet(b'behind extensions', (40000, 9999), SIX, ttl=7),
                           (HOP_BY_HOP, PAD), (ROUTING, SEGMENTS), (DESTINATION, PAD))
plain = udp_packet(b'directly', (40001, 9999), SIX)
in_fragments = fragments(udp_packet(b'F' * 40 + b'end of fragments', (40002, 9999), SIX), 32, 5)
AUTHENTICATION = b'\x04\0\0' + struct.pack('!II', 5, 6) + bytes(12)
authenticated = with_extensions(udp_packet(b'authenticated', (40004, 9999), SIX), (AH, AUTHENTICATION))
nothing = ipv6(NO_NEXT, b'', SIX)
encrypted = ipv6(ESP, struct.pack('!II', 0x1001, 1) + bytes(16), SIX)
ipv6_packets = [extended, plain, *in_fragments, tcp_packet(b'', SYN, 7, 0, (40003, 80), SIX), authenticated, nothing,
                encrypted]
ipv6_rules = [
    (1, rule('ip', 'content:"behind extensions"; ip_proto:17;')),
    (0, rule('ip', 'content:"behind extensions"; ip_proto:0;')),
    (0, rule('ip', 'content:"behind extensions"; ip_proto:60;')),
    (1, rule('ip', 'content:"behind extensions"; ip_proto:udp;')),
    (0, rule('ip', 'content:"behind extensions"; ip_proto:!udp;')),
    (1, rule('ip', 'ip_proto:6;')),
    (1, rule('ip', 'ip_proto:50;')),
    (1, rule('ip', 'ip_proto:59;')),
    (0, rule('ip', 'ip_proto:51;')),
    (1, rule('udp', 'content:"authenticated"; startswith; ipv6.hdr; bsize:64;')),
    (0, rule('udp', 'content:"authenticated"; ipv6.hdr; bsize:40;')),
    (1, rule('udp', 'ttl:7; content:"behind";')),
    (0, rule('udp', 'ttl:7; content:"directly";')),
    (0, rule('udp', 'ttl:<7;')),
    (1, rule('udp', 'content:"behind"; ipv6.hdr; content:"|01 04 00 00 00 00|"; offset:40; bsize:80;')),
    (1, rule('udp', 'content:"directly"; ipv6.hdr; bsize:40; content:"|11 40|"; offset:6; depth:2;')),
    (0, rule('udp', 'content:"directly"; ipv6.hdr; content:"|01 04 00 00 00 00|";')),
    (0, rule('udp', 'ipv6.hdr; content:"directly";')),
    (1, rule('udp', f'content:"directly"; ip.src; content:"{hexadecimal(ipaddress.ip_address(CLIENT6).packed)}"; '
                    'bsize:16;')),
    (1, rule('udp', f'content:"directly"; ip.dst; content:"{hexadecimal(ipaddress.ip_address(SERVER6).packed)}"; '
                    'bsize:16;')),
    (0, rule('udp', 'ip.src; content:"dir"; depth:3;')),
    (0, rule('udp', 'ip.dst; content:"dir"; depth:3;')),
    (1, rule('ip', 'fragoffset:32;')),
    (0, rule('ip', 'fragoffset:16;')),
    (1, rule('udp', 'content:"end of fragments"; flow:only_frag;')),
    (0, rule('udp', 'content:"end of fragments"; flow:no_frag;')),
    (1, rule('ipv6', 'content:"directly";')),
    (1, rule('ip6', 'content:"directly";')),
    (0, rule('ipv4', 'content:"directly";')),
    (0, rule('ip4', 'content:"directly";')),
]

# --- ICMPv6 (RFC 4443): echo request, packet too big, neighbour solicitation, and a reply with a wrong checksum

icmpv6_packets = [
    icmp_packet(128, 0, 21, 4, ends=SIX), icmp_packet(2, 0, 0, 1280, plain[:60], ends=SIX[::-1]),
    icmp_packet(135, 0, 0, 0, ipaddress.ip_address(SERVER6).packed, SIX, ttl=255),
    icmp_packet(129, 0, 22, 5, ends=SIX[::-1], **{'bad-checksum': ''}), icmp_packet(8, 0, 23, 6),
]
icmpv6_rules = [
    (1, rule('icmpv6', 'itype:128; icode:0; icmp_id:21; icmp_seq:4;')),
    (0, rule('icmpv6', 'itype:128; icode:1;')),
    (0, rule('icmpv6', 'icmp_id:21; icmp_seq:5;')),
    (0, rule('icmpv4', 'itype:128;')),
    (1, rule('icmpv4', 'itype:8;')),
    (0, rule('icmpv6', 'itype:8;')),
    (5, rule('icmp', 'itype:!250;')),
    (1, rule('icmp', 'icmpv6.mtu:1280;')),
    (0, rule('icmp', 'icmpv6.mtu:>1280;')),
    (1, rule('icmpv6', 'icmpv6.hdr; content:"|87 00|"; startswith; content:"|00 00 00 00|"; distance:2; bsize:8;')),
    (0, rule('icmpv6', 'icmpv6.hdr; content:"|20 01 0d b8|";')),
    (1, rule('icmpv6', 'itype:135; ttl:255;')),
    (3, rule('icmpv6', 'icmpv6-csum:valid;')),
    (1, rule('icmpv6', 'icmpv6-csum:invalid; icmp_id:22;')),
    (0, rule('icmpv6', 'icmpv6-csum:invalid; icmp_id:21;')),
    (4, rule('ip', 'ip_proto:58;')),
    (4, rule('ip', 'ip_proto:ipv6-icmp;')),
]

# --- IPv4 and ICMP: identification, header bytes, type of service

stamp = struct.pack('!III', 1000, 2000, 3000)
ipv4_packets = [
    udp_packet(b'first', (40000, 9999), tos=0x20, ipid=513, ttl=33), udp_packet(b'second', (40001, 9999), ipid=514),
    icmp_packet(13, 0, 9, 1, stamp), icmp_packet(8, 0, 9, 2, b'echo data'),
    tcp_packet(b'', SYN, 4000, 0, (40002, 80), options=b'\x02\x04\x05\xb4\x03\x03\x02\0', window=512),
]
ipv4_rules = [
    (1, rule('udp', 'id:513; content:"first";')),
    (0, rule('udp', 'id:513; content:"second";')),
    (1, rule('udp', 'tos:32;')),
    (0, rule('udp', 'tos:32; content:"second";')),
    (1, rule('udp', 'ttl:33;')),
    (0, rule('udp', 'ttl:34;')),
    (1, rule('udp', 'ipv4.hdr; content:"|45 20|"; startswith; content:"|02 01|"; distance:2; within:2; bsize:20;')),
    (0, rule('udp', 'ipv4.hdr; content:"first";')),
    (1, rule('udp', 'udp.hdr; content:"|9c 40 27 0f 00 0d|"; startswith; bsize:8;')),
    (0, rule('udp', 'udp.hdr; content:"first";')),
    (5, rule('ip', f'ip.src; content:"{hexadecimal(ipaddress.ip_address(CLIENT).packed)}"; bsize:4;')),
    (0, rule('ip', f'ip.dst; content:"{hexadecimal(ipaddress.ip_address(CLIENT).packed)}";')),
    (0, rule('ip', 'sameip;')),
    (1, rule('icmp', f'icmpv4.hdr; content:"|0d 00|"; startswith; content:"{hexadecimal(stamp)}"; bsize:20;')),
    (1, rule('icmp', 'icmpv4.hdr; content:"|08 00|"; startswith; bsize:8;')),
    (0, rule('icmp', 'icmpv4.hdr; content:"echo data";')),
    (1, rule('tcp', 'tcp.hdr; content:"|02 04 05 b4|"; offset:20; depth:4; bsize:28;')),
    (0, rule('tcp', 'tcp.hdr; content:"|02 04 05 b5|";')),
    (1, rule('tcp', 'tcp.seq:4000; tcp.ack:0; tcp.window:512; tcp.flags:S; tcp.wscale:2;')),
    (0, rule('tcp', 'tcp.seq:4001;')),
    (0, rule('tcp', 'tcp.ack:1;')),
    (0, rule('tcp', 'tcp.window:513;')),
    (0, rule('tcp', 'tcp.wscale:>2;')),
    (2, rule('ip', 'ip_proto:17;')),
    (0, rule('ip', 'ip_proto:>17;')),
]


# --- Checksums: each protocol once right, once wrong

def with_wrong_ip_checksum(packet):
    return packet[:10] + bytes([packet[10] ^ 0x55]) + packet[11:]


WRONG = {'bad-checksum': ''}
without_checksum = ipv4(17, struct.pack('!HHHH', 40005, 9999, 8 + 4, 0) + b'none', (CLIENT, SERVER))
checksum_packets = [
    udp_packet(b'data', (40000, 9999)), udp_packet(b'data', (40001, 9999), **WRONG), without_checksum,
    udp_packet(b'data', (40002, 9999), SIX), udp_packet(b'data', (40003, 9999), SIX, **WRONG),
    tcp_packet(b'', SYN, ports=(40000, 80)), tcp_packet(b'', SYN, ports=(40001, 80), **WRONG),
    tcp_packet(b'', SYN, ports=(40002, 80), ends=SIX), tcp_packet(b'', SYN, ports=(40003, 80), ends=SIX, **WRONG),
    icmp_packet(8, 0, 1), icmp_packet(8, 0, 2, **WRONG), igmp(0x16, '239.0.0.1'), igmp(0x17, '239.0.0.2', broken=True),
    with_wrong_ip_checksum(udp_packet(b'data', (40004, 9999))),
]
checksums = [
    (2, rule('udp', 'udpv4-csum:valid;')),
    (1, 'alert udp any 40001 -> any any (udpv4-csum:invalid;)'),
    (0, 'alert udp any 40000 -> any any (udpv4-csum:invalid;)'),
    (0, 'alert udp any 40005 -> any any (udpv4-csum:invalid;)'),
    (1, 'alert udp any 40002 -> any any (udpv6-csum:valid;)'),
    (1, rule('udp', 'udpv6-csum:invalid;')),
    (0, 'alert udp any 40002 -> any any (udpv6-csum:invalid;)'),
    (1, rule('tcp', 'tcpv4-csum:valid;')),
    (1, rule('tcp', 'tcpv4-csum:invalid;')),
    (0, 'alert tcp any 40001 -> any any (tcpv4-csum:valid;)'),
    (1, rule('tcp', 'tcpv6-csum:valid;')),
    (1, 'alert tcp any 40003 -> any any (tcpv6-csum:invalid;)'),
    (0, 'alert tcp any 40002 -> any any (tcpv6-csum:invalid;)'),
    (1, rule('icmp', 'icmpv4-csum:valid; icmp_id:1;')),
    (1, rule('icmp', 'icmpv4-csum:invalid; icmp_id:2;')),
    (0, rule('icmp', 'icmpv4-csum:invalid; icmp_id:1;')),
    (1, rule('igmp', 'igmp-csum:valid; igmp.type:0x16;')),
    (1, rule('igmp', 'igmp-csum:invalid; igmp.type:0x17;')),
    (0, rule('igmp', 'igmp-csum:invalid; igmp.type:0x16;')),
    (1, rule('ip', 'ipv4-csum:invalid;')),
    (0, 'alert udp any 40000 -> any any (ipv4-csum:invalid;)'),
    (1, 'alert udp any 40000 -> any any (ipv4-csum:valid;)'),
]

# --- IGMP (RFC 2236): a report and a leave

igmp_packets = [igmp(0x16, '239.1.2.3'), igmp(0x17, '239.1.2.3')]
igmp_rules = [
    (2, rule('igmp', 'ipopts:rtralt;')),
    (1, rule('igmp', 'igmp.type:0x16;')),
    (0, rule('igmp', 'igmp.type:0x11;')),
    (1, rule('igmp', 'igmp.hdr; content:"|17 00|"; startswith; content:"|ef 01 02 03|"; endswith; bsize:8;')),
    (0, rule('igmp', 'igmp.hdr; content:"|ef 01 02 04|";')),
    (2, rule('ip', 'ip_proto:igmp;')),
    (0, rule('icmp', 'ipopts:rtralt;')),
]

# --- SCTP (RFC 9260): INIT, then DATA in the same packet as SACK

init = sctp_chunk(1, struct.pack('!IIHHI', 0x11223344, 65536, 10, 10, 1))
data = sctp_chunk(0, struct.pack('!IHHI', 1, 0, 0, 18) + b'user data here', 3)
sack = sctp_chunk(3, struct.pack('!IIHH', 1, 65536, 0, 0))
sctp_packets = [sctp(0, init), sctp(0x55667788, sack, data)]
sctp_rules = [
    (1, rule('sctp', 'sctp.chunk_type:init; sctp.vtag:0; sctp.chunk_cnt:1;')),
    (0, rule('sctp', 'sctp.chunk_type:init; sctp.chunk_cnt:2;')),
    (1, rule('sctp', 'sctp.chunk_type:0; sctp.chunk_cnt:2;')),
    (0, rule('sctp', 'sctp.chunk_type:abort;')),
    (1, rule('sctp', f'sctp.vtag:{0x55667788};')),
    (0, rule('sctp', 'sctp.vtag:1;')),
    (1, rule('sctp', 'sctp.chunk_data; content:"user data here"; bsize:14;')),
    (0, rule('sctp', 'sctp.chunk_data; content:"|11 22 33 44|";')),
    (1, rule('sctp', 'sctp.hdr; content:"|9c 40 8e 3c 55 66 77 88|"; startswith;')),
    (0, rule('sctp', 'sctp.hdr; content:"|9c 40 8e 3d|";')),
    (2, 'alert sctp any 40000 -> any 36412 (sctp.chunk_cnt:>0;)'),
    (0, 'alert sctp any any -> any 36413 (sctp.chunk_cnt:>0;)'),
]

# --- Ethernet: a frame without a tag, one with a tag, one with two

ethernet_packets = [ethernet(udp_packet(b'untagged', (40000, 9999))),
                    ethernet(udp_packet(b'tagged', (40001, 9999)), 30),
                    ethernet(udp_packet(b'stacked', (40002, 9999), SIX), 100, 200)]
ethernet_rules = [
    (1, rule('udp', 'content:"untagged"; ether.hdr; content:"|02 00 00 00 00 02 02 00 00 00 00 01 08 00|"; bsize:14;')),
    (0, rule('udp', 'ether.hdr; content:"tagged";')),
    (1, rule('udp', 'vlan.id:30;')),
    (1, rule('udp', 'vlan.id:100,0; vlan.id:200,1; content:"stacked";')),
    (0, rule('udp', 'vlan.id:200,0;')),
    (1, rule('udp', 'vlan.layers:0; content:"untagged";')),
    (1, rule('udp', 'vlan.layers:2;')),
    (0, rule('udp', 'vlan.layers:2; content:"tagged"; startswith;')),
]

# --- Protocols that have a name in rules, but no parser; and names of rule protocols for parts of others

payload = b'|opaque payload|'
gre = struct.pack('!HH', 0x2000, 0x0800) + struct.pack('!I', 77) + udp_packet(b'carried', (40000, 9999))
esp = struct.pack('!II', 0x1001, 1) + payload
protocol_packets = [ipv4(GRE, gre, (CLIENT, SERVER)), ipv4(ESP, esp, (CLIENT, SERVER)),
                    ipv4(AH, struct.pack('!BBHII', 59, 4, 0, 5, 6) + bytes(12), (CLIENT, SERVER)),
                    *tcp(7000, client(b'split in'), client(b' segments'))]
protocol_rules = [
    (1, rule('gre', 'ip_proto:gre;')),
    (0, rule('gre', 'ip_proto:esp;')),
    (1, rule('esp', 'ip_proto:esp;')),
    (0, rule('esp', 'ip_proto:ah;')),
    (1, rule('ah', 'ip_proto:ah;')),
    (0, rule('ah', 'ip_proto:gre;')),
    (1, rule('tcp-stream', 'flow:to_server; content:"split in segments";')),
    (0, rule('tcp-pkt', 'flow:to_server; content:"split in segments";')),
    (1, rule('tcp-pkt', 'flow:to_server; content:" segments"; startswith;')),
    (0, rule('tcp-stream', 'content:"split out";')),
    (1, rule('pkthdr', 'ip_proto:50;')),
    (0, rule('pkthdr', 'ip_proto:sctp;')),
    (1, rule('ip4', 'ip_proto:esp;')),
    (1, rule('ipv4', 'ip_proto:esp;')),
    (0, rule('ip6', 'ip_proto:esp;')),
    (0, rule('ipv6', 'ip_proto:esp;')),
    (1, rule('udp', 'content:"carried";')),
]

# --- Events: packets with wrong headers; a retransmission with other data

truncated = udp_packet(b'these bytes are cut off', (40000, 9999))[:-10]
short_udp = ipv4(17, struct.pack('!HHHH', 40001, 9999, 40, 0) + b'short', (CLIENT, SERVER))
whole = tcp(7000, client(b'original'), server(b'answer'))
overlap = whole[:4] + [tcp_packet(b'0riginal', PSH | ACK, 1001, 5001, (40000, 7000))] + whole[4:]
event_packets = [truncated, short_udp, ipv4(6, b'\0' * 8, (CLIENT, SERVER)), *overlap]
events = [
    (1, rule('pkthdr', 'decode-event:ipv4.trunc_pkt;')),
    (1, rule('pkthdr', 'decode-event:udp.pkt_too_small;')),
    (1, rule('pkthdr', 'decode-event:tcp.pkt_too_small;')),
    (0, rule('pkthdr', 'decode-event:tcp.hlen_too_small;')),
    (1, rule('pkthdr', 'engine-event:ipv4.trunc_pkt;')),
    (1, rule('tcp', 'stream-event:reassembly_overlap_different_data;')),
    (0, rule('tcp', 'stream-event:3whs_ack_in_wrong_dir;')),
]

# --- ARP: a request and a reply for IPv4, a message of another protocol, one without addresses, and a datagram

arp_packets = [arp(1, CLIENT, SERVER), arp(2, CLIENT, SERVER, b'\2\0\0\0\0\7'),
               arp(1, CLIENT, SERVER).replace(b'\x08\0\6\4', b'\x88\0\6\4'), arp(1, CLIENT, SERVER)[:30],
               ethernet(udp_packet(b'no message of ARP', (40000, 9999)))]
arp_rules = [
    (2, rule("arp", "")),
    (0, rule('arp', 'l3_proto:ipv4;')),
    (1, rule('arp', 'ether.hdr; content:"|02 00 00 00 00 07|"; startswith;')),
    (5, rule('ether', '')),
    (1, rule('ether', 'l3_proto:ipv4;')),
    (0, rule('ether', 'l3_proto:ipv6;')),
    (1, rule('ether', 'content:"no message";')),
    (1, rule('ip', 'l3_proto:!ip6;')),
    (0, rule('ip', 'l3_proto:!ip4;')),
    (1, rule('pkthdr', 'decode-event:arp.unsupported_protocol;')),
    (1, rule('pkthdr', 'decode-event:arp.unsupported_pkt;')),
]

cases = {
    'ipv6': (ipv6_packets, ipv6_rules),
    'icmpv6': (icmpv6_packets, icmpv6_rules),
    'ipv4': (ipv4_packets, ipv4_rules),
    'checksums': (checksum_packets, checksums),
    'igmp': (igmp_packets, igmp_rules),
    'sctp': (sctp_packets, sctp_rules),
    'ethernet': Case(ethernet_packets, ethernet_rules, ethernet=True),
    'arp': Case(arp_packets, arp_rules, ethernet=True, options=['--set', 'eve.types=[alert, arp]'],
                events=['1 event_type=arp arp.opcode=request arp.dest_mac=00:00:00:00:00:00',
                        '1 event_type=arp arp.opcode=reply arp.dest_mac=02:00:00:00:00:07', '2 event_type=arp']),
    'protocols': (protocol_packets, protocol_rules),
    'events': (event_packets, events),
}
