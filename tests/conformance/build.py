# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the packets of the conformance cases: IP packets in conversations, and the protocol messages that have a
binary form."""
import hmac
import ipaddress
import os
import struct
import sys
import typing
import uuid

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../replay'))
from run import checksum, fragment, ip_packet  # noqa: E402

CLIENT, SERVER = '192.0.2.1', '198.51.100.1'
CLIENT6, SERVER6 = '2001:db8::1', '2001:db8:1::1'
FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
ICMP, IGMP, TCP, UDP, GRE, ESP, AH, SCTP = 1, 2, 6, 17, 47, 50, 51, 132
HOP_BY_HOP, ROUTING, FRAGMENT, ICMP6, NO_NEXT, DESTINATION = 0, 43, 44, 58, 59, 60
MAC_CLIENT, MAC_SERVER = bytes.fromhex('020000000001'), bytes.fromhex('020000000002')
TYPE_IP4, TYPE_ARP, TYPE_IP6, TYPE_VLAN, TYPE_QINQ = 0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8


class Case(typing.NamedTuple):
    """A conformance case; see own.py."""
    packets: list
    rules: list
    files: dict = {}
    options: list = []
    events: list = []
    ethernet: bool = False


# --- Conversations. A list of packets may hold numbers, too: seconds that pass before the next packet.

def client(data):
    return 'client', data


def server(data):
    return 'server', data


def tcp_packet(payload=b'', flags=PSH | ACK, seq=1, ack=1, ports=(40000, 80), ends=(CLIENT, SERVER), options=b'',
               window=8192, **ip):
    header = struct.pack('!HHIIBBHHH', *ports, seq, ack, (20 + len(options)) // 4 << 4, flags, window, 0, 0)
    return ip_packet(*ends, TCP, header + options + payload, 16, ip)


def udp_packet(payload, ports=(40000, 53), ends=(CLIENT, SERVER), **ip):
    return ip_packet(*ends, UDP, struct.pack('!HHHH', *ports, 8 + len(payload), 0) + payload, 6, ip)


def icmp_packet(kind=8, code=0, number=1, sequence=1, payload=b'ping', ends=(CLIENT, SERVER), **ip):
    return ip_packet(*ends, ICMP, struct.pack('!BBHHH', kind, code, 0, number, sequence) + payload, 2, ip)


def tcp(port, *turns, client_port=40000, ends=(CLIENT, SERVER), cut=1400, finished=True):
    """A whole connection: handshake, the turns, each acknowledged, and an orderly end."""
    here, there, packets = 1000, 5000, []

    def send(to_server, flags, payload=b''):
        nonlocal here, there
        direction = 1 if to_server else -1
        packets.append(tcp_packet(payload, flags, *((here, there) if to_server else (there, here)),
                                  ports=(client_port, port)[::direction], ends=ends[::direction]))
        size = len(payload) + bool(flags & (SYN | FIN))
        here, there = (here + size, there) if to_server else (here, there + size)

    packets.append(tcp_packet(b'', SYN, here, 0, (client_port, port), ends))
    here += 1
    send(False, SYN | ACK)
    send(True, ACK)
    for who, data in turns:
        for at in range(0, len(data), cut):
            send(who == 'client', PSH | ACK, data[at:at + cut])
            send(who != 'client', ACK)
    if finished:
        send(True, FIN | ACK)
        send(False, FIN | ACK)
        send(True, ACK)
    return packets


def udp(port, *turns, client_port=40000, ends=(CLIENT, SERVER)):
    return [udp_packet(data, (client_port, port) if who == 'client' else (port, client_port), ends if who == 'client'
                       else ends[::-1])
            for who, data in turns]


def fragments(packet, size, number=7):
    """The packet in fragments of `size` bytes, a multiple of eight."""
    length = len(packet) - (40 if packet[0] >> 4 == 6 else 20)
    return [fragment(packet, at, min(at + size, length), False, number) for at in range(0, length, size)]


def ipv4(protocol, payload, ends=('203.0.113.1', '203.0.113.2'), ttl=64, options=b''):
    """An IPv4 packet with a payload that has no checksum of its own, such as a tunnel."""
    length = 20 + len(options)
    header = struct.pack('!BBHHHBBH', 0x40 | length // 4, 0, length + len(payload), 1, 0, ttl, protocol, 0)
    header += b''.join(ipaddress.ip_address(end).packed for end in ends) + options
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + payload


def ipv6(protocol, payload, ends=(CLIENT6, SERVER6), hop_limit=64):
    """An IPv6 packet with a payload that has no checksum of its own, such as an extension header."""
    return struct.pack('!IHBB', 6 << 28, len(payload), protocol, hop_limit) + \
        b''.join(ipaddress.ip_address(end).packed for end in ends) + payload


def with_extensions(packet, *extensions):
    """The IPv6 packet with extension headers before its payload: pairs of number and bytes after "next header"."""
    kinds = [kind for kind, _ in extensions] + [packet[6]]
    headers = b''.join(bytes([kinds[at + 1]]) + body for at, (_, body) in enumerate(extensions))
    size = len(packet) - 40 + len(headers)
    return packet[:4] + struct.pack('!HB', size, kinds[0]) + packet[7:40] + headers + packet[40:]


def igmp(kind, group, maximum=0, broken=False):
    """An IGMPv2 message (RFC 2236), with the router alert option."""
    message = struct.pack('!BBH', kind, maximum, 0) + ipaddress.ip_address(group).packed
    sum_of = checksum(message) ^ (0x5555 if broken else 0)
    return ipv4(IGMP, message[:2] + struct.pack('!H', sum_of) + message[4:], (CLIENT, group), 1, b'\x94\x04\0\0')


def crc32c(data):
    """The checksum of SCTP (RFC 9260, appendix A)."""
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def sctp_chunk(kind, body, flags=0):
    return struct.pack('!BBH', kind, flags, 4 + len(body)) + body + bytes(-len(body) % 4)


def sctp(tag, *chunks, ports=(40000, 36412), ends=(CLIENT, SERVER)):
    header, body = struct.pack('!HHI', *ports, tag), b''.join(chunks)
    return ipv4(SCTP, header + struct.pack('<I', crc32c(header + bytes(4) + body)) + body, ends)


def ethernet(packet, *vlans, source=MAC_CLIENT, destination=MAC_SERVER):
    """An Ethernet frame with the IP packet, and VLAN tags from the outermost to the innermost."""
    types = [TYPE_QINQ if len(vlans) > 1 and not at else TYPE_VLAN for at in range(len(vlans))]
    types.append(TYPE_IP6 if packet[0] >> 4 == 6 else TYPE_IP4)
    tags = b''.join(struct.pack('!HH', vlan, types[at + 1]) for at, vlan in enumerate(vlans))
    return destination + source + struct.pack('!H', types[0]) + tags + packet


def arp(opcode, sender, target, target_mac=bytes(6)):
    """An Ethernet frame with an ARP message for IPv4; it is sent to all stations unless target_mac is given."""
    message = struct.pack('!HHBBH', 1, TYPE_IP4, 6, 4, opcode) + MAC_CLIENT + ipaddress.ip_address(sender).packed + \
        target_mac + ipaddress.ip_address(target).packed
    return (target_mac if any(target_mac) else b'\xff' * 6) + MAC_CLIENT + struct.pack('!H', TYPE_ARP) + message


# --- Databases that rules refer to

def country_database(networks):
    """A MaxMind DB (format 2.0) with 24-bit records: network -> ISO code, for IPv4 and IPv6."""
    nodes, values = [[None, None]], b''

    def text(word):
        return bytes([2 << 5 | len(word)]) + word.encode()

    def number(kind, value):
        return bytes([kind << 5 | 2]) + struct.pack('!H', value)

    for network, code in networks.items():
        network = ipaddress.ip_network(network)
        depth = network.prefixlen + (96 if network.version == 4 else 0)
        address, node = int(network.network_address), 0
        for at in range(depth):
            bit = address >> 127 - at & 1
            if at == depth - 1:
                nodes[node][bit] = ('value', len(values))
            elif nodes[node][bit] is None:
                nodes[node][bit] = len(nodes)
                nodes.append([None, None])
            node = nodes[node][bit]
        values += bytes([7 << 5 | 1]) + text('country') + bytes([7 << 5 | 1]) + text('iso_code') + text(code)

    def record(child):
        at = len(nodes) if child is None else child if isinstance(child, int) else len(nodes) + 16 + child[1]
        return at.to_bytes(3, 'big')

    tree = b''.join(record(left) + record(right) for left, right in nodes)
    facts = {'node_count': number(6, len(nodes)), 'record_size': number(5, 24), 'ip_version': number(5, 6),
             'binary_format_major_version': number(5, 2), 'binary_format_minor_version': number(5, 0),
             'database_type': text('Test-Country'), 'languages': b'\0\x04', 'build_epoch': b'\x01\x02\x01',
             'description': bytes([7 << 5])}
    return tree + bytes(16) + values + b'\xab\xcd\xefMaxMind.com' + bytes([7 << 5 | len(facts)]) + \
        b''.join(text(name) + fact for name, fact in facts.items())


# --- HTTP and DNS

def header_lines(fields):
    return ''.join(f'{name}: {text}\r\n' for name, text in fields.items())


def request(line='GET / HTTP/1.1', body=b'', **headers):
    fields = {'Host': 'example.org', **{name.replace('_', '-'): text for name, text in headers.items()}}
    if body:
        fields['Content-Length'] = len(body)
    return client(f'{line}\r\n{header_lines(fields)}\r\n'.encode() + body)


def response(body=b'', line='HTTP/1.1 200 OK', **headers):
    fields = {'Content-Length': len(body), **{name.replace('_', '-'): text for name, text in headers.items()}}
    return server(f'{line}\r\n{header_lines(fields)}\r\n'.encode() + body)


def dns_name(name):
    return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0'


def dns_query(name, kind=1, number=0x1234, opcode=0):
    return struct.pack('!HHHHHH', number, 0x0100 | opcode << 11, 1, 0, 0, 0) + dns_name(name) + \
        struct.pack('!HH', kind, 1)


def dns_answer(name, address=bytes([203, 0, 113, 9]), kind=1, number=0x1234, rcode=0):
    """A reply with one answer; without an address, none."""
    record = b'\xc0\x0c' + struct.pack('!HHIH', kind, 1, 300, len(address)) + address if address else b''
    return struct.pack('!HHHHHH', number, 0x8180 | rcode, 1, 1 if address else 0, 0, 0) + dns_name(name) + \
        struct.pack('!HH', kind, 1) + record


def dns_record(name, kind, data):
    return dns_name(name) + struct.pack('!HHIH', kind, 1, 300, len(data)) + data


def dns_message(questions, answers=(), authorities=(), additionals=(), flags=0x0100, number=0x1234):
    """A message with all four sections: questions are pairs of name and type, the others lists of records."""
    return struct.pack('!HHHHHH', number, flags, len(questions), len(answers), len(authorities), len(additionals)) + \
        b''.join(dns_name(name) + struct.pack('!HH', kind, 1) for name, kind in questions) + \
        b''.join([*answers, *authorities, *additionals])


# --- DER, for certificates and Kerberos

def der(tag, *parts):
    body = b''.join(parts)
    size = bytes([len(body)]) if len(body) < 128 else b'\x82' + struct.pack('!H', len(body))
    return bytes([tag]) + size + body


def der_number(value):
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, 'big'))


def sequence(*parts):
    return der(0x30, *parts)


def x509_name(common_name):
    return sequence(der(0x31, sequence(der(6, b'\x55\x04\x03'), der(12, common_name.encode()))))


def certificate(subject, issuer, serial, names=(), valid=(b'200101000000Z', b'400101000000Z')):
    """An X.509 certificate, by default valid from 2020 to 2040, with a signature that nobody verifies."""
    algorithm = sequence(der(6, bytes.fromhex('2a864886f70d01010b')), der(5))
    key = sequence(sequence(der(6, bytes.fromhex('2a864886f70d010101')), der(5)),
                   der(3, b'\0' + sequence(der_number(65537 << 16 | 1), der_number(65537))))
    more = b''
    if names:
        alternatives = sequence(*[der(0x82, name.encode()) for name in names])
        more = der(0xa3, sequence(sequence(der(6, b'\x55\x1d\x11'), der(4, alternatives))))
    body = sequence(der(0xa0, der_number(2)), der_number(serial), algorithm, x509_name(issuer),
                    sequence(*[der(23, time) for time in valid]), x509_name(subject), key, more)
    return sequence(body, algorithm, der(3, b'\0' + bytes(32)))


# --- TLS

def vector(size, data):
    return len(data).to_bytes(size, 'big') + data


def tls_record(kind, data, version=0x0303):
    return struct.pack('!BH', kind, version) + vector(2, data)


def tls_handshake(kind, body):
    return bytes([kind]) + vector(3, body)


def tls_extension(kind, data):
    return struct.pack('!H', kind) + vector(2, data)


def client_hello(name, ciphers=(0xc02b, 0x002f), alpn=b'http/1.1', random=bytes(range(32)), signatures=()):
    offers = [(0, vector(2, b'\0' + vector(2, name.encode()))), (10, vector(2, struct.pack('!HH', 29, 23))),
              (11, vector(1, b'\0')), (16, vector(2, vector(1, alpn)))]
    if signatures:
        offers.append((13, vector(2, struct.pack(f'!{len(signatures)}H', *signatures))))
    extensions = b''.join(tls_extension(kind, data) for kind, data in offers)
    body = struct.pack('!H', 0x0303) + random + vector(1, b'') + \
        vector(2, struct.pack(f'!{len(ciphers)}H', *ciphers)) + vector(1, b'\0') + vector(2, extensions)
    return tls_record(22, tls_handshake(1, body), 0x0301)


def server_hello(*certificates):
    hello = struct.pack('!H', 0x0303) + bytes(range(32, 64)) + vector(1, b'') + struct.pack('!HB', 0xc02b, 0) + \
        vector(2, tls_extension(11, vector(1, b'\0')))
    chain = vector(3, b''.join(vector(3, each) for each in certificates))
    return b''.join(tls_record(22, tls_handshake(kind, body)) for kind, body in ((2, hello), (11, chain), (14, b'')))


# --- MQTT

def mqtt(first, *parts):
    """A message: its first byte, and the parts after the fixed header."""
    body, length = b''.join(parts), b''
    rest = len(body)
    while True:
        length += bytes([rest % 128 | (128 if rest >= 128 else 0)])
        rest //= 128
        if not rest:
            return bytes([first]) + length + body


def mqtt_connect(client_id='client', user='user', password='secret', will=('will/topic', b'gone'), version=5, flags=0):
    """A CONNECT message; in version 5 with the property receive_maximum."""
    flags |= 2 | (4 if will else 0) | (0x80 if user else 0) | (0x40 if password else 0)
    properties = vector(1, b'\x21\0\x14') if version == 5 else b''
    will_properties = b'\0' if version == 5 else b''
    return mqtt(0x10, vector(2, b'MQIsdp' if version == 3 else b'MQTT'), bytes([version, flags, 0, 60]), properties,
                vector(2, client_id.encode()),
                will_properties + vector(2, will[0].encode()) + vector(2, will[1]) if will else b'',
                vector(2, user.encode()) if user else b'', vector(2, password.encode()) if password else b'')


def mqtt_publish(topic, message, qos=0, number=1, flags=0, version=5):
    return mqtt(0x30 | qos << 1 | flags, vector(2, topic.encode()), struct.pack('!H', number) if qos else b'',
                b'\0' if version == 5 else b'', message)


# --- QUIC

QUIC_SALTS = {1: '38762cf7f55934b34d179ae6a4c80cadccbb7f0a', 0x6b3343cf: '0dede3def700a6db819381be6e269dcbf9bd2ed9',
              0xff00001d: 'afbfec289993d24c9e9786f19c6111e04390a899'}


def quic_integer(value):
    size = 1 if value < 1 << 6 else 2 if value < 1 << 14 else 4
    return (value | {1: 0, 2: 1, 4: 2}[size] << 8 * size - 2).to_bytes(size, 'big')


def quic_crypto(offset, data):
    """A CRYPTO frame."""
    return b'\x06' + quic_integer(offset) + quic_integer(len(data)) + data


def quic_initial(frames, key_id=b'firstkey', destination=b'firstkey', source=b'clientid', version=1, number=0,
                 is_server=False, size=0):
    """An encrypted Initial packet (RFC 9001), padded to at least `size` bytes; the keys derive from key_id."""
    def expand(secret, label, length):
        label = b'tls13 ' + label
        info = length.to_bytes(2, 'big') + vector(1, label) + b'\0'
        return hmac.digest(secret, info + b'\x01', 'sha256')[:length]

    is_second = version == 0x6b3343cf
    initial = hmac.digest(bytes.fromhex(QUIC_SALTS[version]), key_id, 'sha256')
    secret = expand(initial, b'server in' if is_server else b'client in', 32)
    key, iv, mask_key = (expand(secret, (b'quicv2 ' if is_second else b'quic ') + name, length)
                         for name, length in ((b'key', 16), (b'iv', 12), (b'hp', 16)))
    ids = vector(1, destination) + vector(1, source) + b'\0'
    frames = frames.ljust(max(4, size - 5 - len(ids) - 2 - 4 - 16), b'\0')
    header = struct.pack('!BI', 0xd3 if is_second else 0xc3, version) + ids + \
        (4 + len(frames) + 16 | 0x4000).to_bytes(2, 'big') + number.to_bytes(4, 'big')
    nonce = bytes(a ^ b for a, b in zip(iv, number.to_bytes(12, 'big')))
    sealed = AESGCM(key).encrypt(nonce, frames, header)
    encryptor = Cipher(algorithms.AES(mask_key), modes.ECB()).encryptor()
    mask = encryptor.update(sealed[:16])
    return bytes([header[0] ^ mask[0] & 15]) + header[1:-4] + \
        bytes(a ^ b for a, b in zip(header[-4:], mask[1:5])) + sealed


def quic_chlo(tags, version=b'Q043'):
    """A client's packet of Google's QUIC with a public header and a CHLO message; tags are pairs of name and value."""
    index, end = b'', 0
    for name, value in tags:
        end += len(value)
        index += name.ljust(4, b'\0') + struct.pack('<I', end)
    message = b'CHLO' + struct.pack('<HH', len(tags), 0) + index + b''.join(value for _, value in tags)
    return b'\x09' + bytes(range(8)) + version + b'\x01' + b'hash of 12 b' + b'\xa0\x01' + vector(2, message)


# --- SSH

def ssh_kex(lists):
    """SSH_MSG_KEXINIT with ten name lists, in a binary packet."""
    payload = b'\x14' + bytes(16) + b''.join(vector(4, each.encode()) for each in lists) + bytes(5)
    padding = 8 - (5 + len(payload)) % 8 + 8
    return struct.pack('!IB', 1 + len(payload) + padding, padding) + payload + bytes(padding)


# --- DCE/RPC and SMB

NDR = uuid.UUID('8a885d04-1ceb-11c9-9fe8-08002b104860').bytes_le + struct.pack('<I', 2)


def dcerpc(kind, body, call=1):
    return struct.pack('<BBBBIHHI', 5, 0, kind, 3, 0x10, 16 + len(body), 0, call) + body


def dcerpc_bind(interface, version=3, call=1):
    return dcerpc(11, struct.pack('<HHIB3xHBx', 4280, 4280, 0, 1, 0, 1) + uuid.UUID(interface).bytes_le +
                  struct.pack('<HH', version, 0) + NDR, call)


def dcerpc_bind_ack(call=1, result=0):
    return dcerpc(12, struct.pack('<HHIH', 4280, 4280, 1, 4) + b'135\0' + bytes(2) +
                  struct.pack('<B3xHH', 1, result, 0) + NDR, call)


def dcerpc_request(opnum, stub, call=2):
    return dcerpc(0, struct.pack('<IHH', len(stub), 0, opnum) + stub, call)


def dcerpc_response(stub, call=2):
    return dcerpc(2, struct.pack('<IHBB', len(stub), 0, 0, 0) + stub, call)


def dcerpc_datagram(kind, interface, opnum, stub, version=3, sequence_number=1):
    """A connectionless PDU (C706, chapter 12): kind 0 is a request, 2 a response."""
    return struct.pack('<BBBB4s', 4, kind, 8, 0, b'\x10\0\0\0') + bytes(16) + uuid.UUID(interface).bytes_le + \
        bytes(range(16)) + struct.pack('<IIIHHHHHBB', 0, version, sequence_number, opnum, 0xffff, 0xffff, len(stub), 0,
                                       0, 0) + stub


def smb1(command, words=b'', data=b'', answer=False):
    """An SMB 1 message (MS-CIFS 2.2.3)."""
    header = b'\xffSMB' + struct.pack('<BIBHH8xHHHHH', command, 0, 0x98 if answer else 0x18, 0xc801, 0, 0, 0, 0xfeff, 0,
                                     1)
    body = bytes([len(words) // 2]) + words + struct.pack('<H', len(data)) + data
    return vector(4, header + body)


def smb2(command, body, number, answer=False, tree=1, status=0):
    header = b'\xfeSMB' + struct.pack('<HHIHHIIQIIQ', 64, 1, status, command, 1, answer, 0, number, 0xfeff,
                                     tree, 5) + bytes(16)
    return vector(4, header + body)


def smb2_pipe(share, pipe, pieces):
    """A client connects to a share, opens a pipe and writes and reads the pieces in turn."""
    path, name, handle = share.encode('utf-16-le'), pipe.encode('utf-16-le'), b'F' * 16
    turns = [
        client(smb2(0, struct.pack('<HHHHI', 36, 1, 1, 0, 0) + bytes(24) + struct.pack('<H', 0x0210), 0, tree=0)),
        server(smb2(0, struct.pack('<HHHH', 65, 1, 0x0210, 0) + bytes(16) +
                    struct.pack('<IIII', 0, 65536, 65536, 65536) + bytes(16) + struct.pack('<HHI', 128, 0, 0),
                    0, True, 0)),
        client(smb2(3, struct.pack('<HHHH', 9, 0, 72, len(path)) + path, 1, tree=0)),
        server(smb2(3, struct.pack('<HBBIII', 16, 2, 0, 0, 0, 0x1f01ff), 1, True)),
        client(smb2(5, struct.pack('<HBBI16xIIIIIHHII', 57, 0, 0, 2, 0x12019f, 0, 7, 1, 0, 120, len(name), 0, 0) + name,
                    2)),
        server(smb2(5, struct.pack('<HBBI', 89, 0, 0, 1) + bytes(32) + bytes(16) + bytes(8) + handle + bytes(8), 2,
                    True)),
    ]
    number = 3
    for sent, received in pieces:
        turns += [client(smb2(9, struct.pack('<HHIQ', 49, 112, len(sent), 0) + handle + bytes(16) + sent, number)),
                  server(smb2(9, struct.pack('<HHIIHH', 17, 0, len(sent), 0, 0, 0), number, True)),
                  client(smb2(8, struct.pack('<HBBIQ', 49, 80, 0, 4096, 0) + handle + bytes(16) + b'\0', number + 1)),
                  server(smb2(8, struct.pack('<HBBIII', 17, 80, 0, len(received), 0, 0) + received, number + 1, True))]
        number += 2
    return turns


def ntlmssp(kind, *texts, flags=0xe0088297):
    """An NTLMSSP message (MS-NLMP): NEGOTIATE, CHALLENGE or AUTHENTICATE, with domain, user and workstation."""
    head = b'NTLMSSP\0' + struct.pack('<I', kind)
    if kind == 1:
        return head + struct.pack('<I', flags) + bytes(16)
    if kind == 2:
        return head + struct.pack('<HHII', 0, 0, 48, flags) + b'challeng' + bytes(8) + struct.pack('<HHI', 0, 0, 48)
    fields, data, at = b'', b'', 64
    for text in (b'', b'', *[text.encode('utf-16-le') for text in texts], b''):
        fields += struct.pack('<HHI', len(text), len(text), at)
        data, at = data + text, at + len(text)
    return head + fields + struct.pack('<I', flags) + data


def smb2_file(share, name, written, read):
    """A client opens a file of a share, writes to it, reads from it and closes it."""
    turns = smb2_pipe(share, name, [(written, read)])
    turns[3] = server(smb2(3, struct.pack('<HBBIII', 16, 1, 0, 0, 0, 0x1f01ff), 1, True))  # a share of files
    return turns + [client(smb2(6, struct.pack('<HHI', 24, 0, 0) + b'F' * 16, 9)),
                    server(smb2(6, struct.pack('<HHI', 60, 0, 0) + bytes(52), 9, True))]


def smb2_login(share, domain, user):
    """A client logs in with NTLMSSP and connects to a share of files."""
    def setup(blob):
        return struct.pack('<HBBIIHHQ', 25, 0, 1, 0, 0, 88, len(blob), 0) + blob

    def answer(blob):
        return struct.pack('<HHHH', 9, 0, 72, len(blob)) + blob
    path, more = share.encode('utf-16-le'), 0xc0000016  # STATUS_MORE_PROCESSING_REQUIRED
    return [*smb2_pipe(share, '', [])[:2],
            client(smb2(1, setup(ntlmssp(1)), 1, tree=0)), server(smb2(1, answer(ntlmssp(2)), 1, True, 0, more)),
            client(smb2(1, setup(ntlmssp(3, domain, user, 'HOST')), 2, tree=0)),
            server(smb2(1, answer(b''), 2, True, 0)),
            client(smb2(3, struct.pack('<HHHH', 9, 0, 72, len(path)) + path, 3, tree=0)),
            server(smb2(3, struct.pack('<HBBIII', 16, 1, 0, 0, 0, 0x1f01ff), 3, True))]


# --- NFS, Kerberos, IKE, DHCP, NTP

def xdr(data):
    return struct.pack('!I', len(data)) + data + bytes(-len(data) % 4)


def nfs_call(procedure, arguments, number=1, version=3):
    """A call of ONC RPC over UDP to the NFS program, with AUTH_SYS."""
    credentials = struct.pack('!I', 1) + xdr(b'host') + struct.pack('!III', 1000, 100, 0)
    return struct.pack('!IIIIIII', number, 0, 2, 100003, version, procedure, 1) + xdr(credentials) + bytes(8) + \
        arguments


def rpc_record(message):
    """A message of ONC RPC over TCP (RFC 5531, section 11) in one fragment."""
    return struct.pack('!I', 0x80000000 | len(message)) + message


def nfs_reply(number=1, results=bytes(4)):
    return struct.pack('!IIIIII', number, 1, 0, 0, 0, 0) + results


def tagged(number, *parts):
    return der(0xa0 | number, *parts)


def kerberos_name(kind, *words):
    return sequence(tagged(0, der_number(kind)), tagged(1, sequence(*[der(27, word.encode()) for word in words])))


def kerberos_request(user, realm, kind=10):
    body = sequence(tagged(0, der(3, bytes(5))), tagged(1, kerberos_name(1, user)), tagged(2, der(27, realm.encode())),
                    tagged(3, kerberos_name(2, 'krbtgt', realm)), tagged(5, der(24, b'20400101000000Z')),
                    tagged(7, der_number(1)),
                    tagged(8, sequence(der_number(18))))
    return der(0x60 | kind, sequence(tagged(1, der_number(5)), tagged(2, der_number(kind)), tagged(4, body)))


def kerberos_reply(user, realm, encryption, kind=11):
    def encrypted(algorithm):
        return sequence(tagged(0, der_number(algorithm)), tagged(2, der(4, b'secret')))
    ticket = der(0x61, sequence(tagged(0, der_number(5)), tagged(1, der(27, realm.encode())),
                                tagged(2, kerberos_name(2, 'krbtgt', realm)), tagged(3, encrypted(encryption))))
    return der(0x60 | kind, sequence(
        tagged(0, der_number(5)), tagged(1, der_number(kind)), tagged(3, der(27, realm.encode())),
        tagged(4, kerberos_name(1, user)), tagged(5, ticket), tagged(6, encrypted(18))))


def kerberos_error(code, realm):
    body = [tagged(0, der_number(5)), tagged(1, der_number(30)), tagged(4, der(24, b'20231114221320Z')),
            tagged(5, der_number(0)), tagged(6, der_number(code)), tagged(9, der(27, realm.encode())),
            tagged(10, kerberos_name(2, 'krbtgt', realm))]
    return der(0x60 | 30, sequence(*body))


def ike(exchange, payloads, version=0x20, flags=8, responder=bytes(8)):
    """An IKE message; payloads are pairs of type and body."""
    types = [kind for kind, _ in payloads] + [0]
    data = b''.join(struct.pack('!BBH', types[at + 1], 0, 4 + len(body)) + body for at,
                    (_, body) in enumerate(payloads))
    return b'INITIATR' + responder + \
        struct.pack('!BBBBII', types[0], version, exchange, flags, 0, 28 + len(data)) + data


def ike_sa():
    transforms = [(1, 12, b'\x80\x0e\0\x80'), (2, 5, b''), (3, 12, b''), (4, 14, b'')]
    data = b''.join(struct.pack('!BBHBBH', 3 if kind < 4 else 0, 0, 8 + len(more), kind, 0, number) + more for kind,
                    number, more in transforms)
    return struct.pack('!BBHBBBB', 0, 0, 8 + len(data), 1, 1, 0, len(transforms)) + data


def ike1_sa(attributes):
    """The SA payload of IKE version 1 (RFC 2408) with one transform; attributes are pairs of type and value."""
    data = b''.join(struct.pack('!HH', 0x8000 | kind, value) for kind, value in attributes)
    transform = struct.pack('!BBHBBH', 0, 0, 8 + len(data), 1, 1, 0) + data
    return struct.pack('!II', 1, 1) + struct.pack('!BBHBBBB', 0, 0, 8 + len(transform), 1, 1, 0, 1) + transform


def dhcp(operation, kind, *options):
    """A DHCP message; options are pairs of number and value."""
    header = struct.pack('!BBBBIHH', operation, 1, 6, 0, 0xdeadbeef, 0, 0) + bytes(16) + MAC_CLIENT + \
        bytes(10 + 64 + 128)
    return header + b'\x63\x82\x53\x63' + b''.join(
        bytes([number]) + vector(1, value) for number, value in ((53, bytes([kind])), *options)) + b'\xff'


def ntp(mode, version=4, stratum=2, reference=b'GPS\0'):
    return struct.pack('!BBbb', version << 3 | mode, stratum, 6, -20) + bytes(8) + reference + bytes(32)


def snmp_pdu(kind, *oids, error=0, request=7):
    variables = sequence(*[sequence(der(6, oid), der(5)) for oid in oids])
    return der(0xa0 | kind, der_number(request), der_number(error), der_number(0), variables)


def snmp(version, community, pdu):
    """A message of version 1 or 2c (version 2)."""
    return sequence(der_number(version - 1), der(4, community), pdu)


def snmp_trap(kind, enterprise, address=bytes([192, 0, 2, 7])):
    """The PDU of a trap of version 1."""
    return der(0xa4, der(6, enterprise), der(0x40, address), der_number(kind), der_number(0), der(0x43, b'\x05'),
               sequence())


def snmp3(user, pdu, model=3, encrypted=False):
    """A message of version 3; the PDU may be encrypted."""
    usm = sequence(der(4, b'engine'), der_number(1), der_number(2), der(4, user), der(4), der(4))
    head = sequence(der_number(9), der_number(65000), der(4, b'\x07' if encrypted else b'\x04'), der_number(model))
    return sequence(der_number(3), head, der(4, usm),
                    der(4, b'secret-bytes') if encrypted else sequence(der(4, b'engine'), der(4), pdu))


def rfb(minor, *turns):
    """A VNC handshake of version 3.MINOR: both versions, then the turns."""
    return [server(f'RFB 003.{minor:03}\n'.encode()), client(f'RFB 003.{minor:03}\n'.encode()), *turns]


def rfb_server_init(name, width=800, height=600):
    return struct.pack('!HHBBBBHHHBBB3xI', width, height, 32, 24, 0, 1, 255, 255, 255, 16, 8, 0, len(name)) + name


HTTP2_MAGIC = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'


def http2_frame(kind, payload=b'', stream=0, flags=0):
    return len(payload).to_bytes(3, 'big') + struct.pack('>BBI', kind, flags, stream) + payload


def http2_block(*fields, prefix=b''):
    """A header block of literals in the form "name: value"; `prefix`: bytes before them."""
    def literal(text):
        assert len(text) < 127
        return bytes([len(text)]) + text.encode()

    return prefix + b''.join(b'\0' + literal(name) + literal(value)
                             for name, value in (field.split(': ', 1) for field in fields))


def http2_headers(stream, *fields, end=True, **options):
    return http2_frame(1, http2_block(*fields, **options), stream, 4 | end)
