#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that packets before or around a message do not hide it from the rules of its protocol.

    identification.py SLUICE CORPUS [--only TEXT]

Every case is a flow. A run replays all cases as one capture with --ips. The rule of the protocol must drop the message
but no packet before it. UDP messages are taken from the fuzz corpora. The first case of each protocol has nothing
before the message, which shows that the rule matches it.
"""
import argparse
import ipaddress
import json
import os
import struct
import subprocess
import sys
import tempfile

from evasion import ACK, FIN, PSH, SYN, URG, ip
from run import checksum

SERVER = {4: '10.2.0.1', 6: 'fd02::1'}
PARSER_GAVE_UP = 'applayer error'  # inline, app-layer.error-policy drops the flow by default
TUNNEL_PORTS = (3544, 4789, 6081, 4500)
OPTIONS = '''eve: {types: {alert: {}, drop: {flows: all}, stats: {}}}
'''


def pieces(corpus, name):
    """Returns [(is to the client, bytes)] of a file in the corpus of app_NAME."""
    with open(f'{corpus}/{name}', 'rb') as file:
        data = file.read()[1:]
    found = []
    while len(data) >= 3:
        length = data[1] << 8 | data[2]
        found.append((bool(data[0] & 1), data[3:3 + length]))
        data = data[3 + length:]
    return found


class Datagrams:
    """A protocol over UDP: a message that its rule matches, and one of the same form that it does not match."""

    def __init__(self, name, ports, rule, message, evil, harmless, any_port=False, from_server=False):
        self.name, self.ports, self.rule, self.message = name, ports, rule, message
        self.harmless = message.replace(evil, harmless)
        assert self.harmless != message
        self.any_port, self.from_server = any_port, from_server


def datagram_protocols(corpus):
    dns = pieces(corpus, 'app_dns/udp_request_response')
    dhcp = pieces(corpus, 'app_dhcp/session')[0][1][:240] + b'\x35\x01\x03\x0c\x04evil\xff'
    name = b'\x03www\x07example\x04test', b'\x03xxx\x07example\x04test'
    spi = bytes.fromhex('e47a591fd057587f'), bytes.fromhex('047a591fd057587f')
    return [
        Datagrams('dns', [53], 'dns.query; content:"www.example"; nocase', dns[0][1], *name, any_port=True),
        Datagrams('dns', [53], 'flow:to_server; content:"|03|www|07|example"; dns.opcode:0', dns[0][1], *name),
        Datagrams('dns', [53], 'dns.response.rrname; content:"www.example"', dns[1][1], *name, any_port=True,
                  from_server=True),
        Datagrams('dhcp', [67], 'dhcp.hostname; content:"evil"', dhcp, b'evil', b'good'),
        Datagrams('ntp', [123], 'ntp.reference_id; content:"LOCL"', pieces(corpus, 'app_ntp/request_response')[0][1],
                  b'LOCL', b'GOOD'),
        Datagrams('tftp', [69], 'content:"rfc1350"', pieces(corpus, 'app_tftp/requests')[0][1], b'rfc1350', b'rfc1351'),
        Datagrams('krb5', [88], 'krb5.cname; content:"alice"', pieces(corpus, 'app_krb5/udp_session')[0][1], b'alice',
                  b'bobby', any_port=True),
        Datagrams('ike', [500, 4500], 'ike.init_spi; content:"e47a591fd057587f"',
                  pieces(corpus, 'app_ike/v2_init')[0][1], *spi),
        Datagrams('ike', [500], 'ike.init_spi; content:"e47a591fd057587f"',
                  pieces(corpus, 'app_ike/v1_main_mode')[0][1], *spi),
        Datagrams('nfs', [2049], 'nfs_procedure:6', pieces(corpus, 'app_nfs/udp_v2_v3')[2][1],
                  struct.pack('!III', 100003, 2, 6),
                  struct.pack('!III', 100003, 2, 4), any_port=True),
        Datagrams('dcerpc', [], 'dcerpc.stub_data; content:"request"', pieces(corpus, 'app_dcerpc/datagrams')[0][1],
                  b'request', b'harmles', any_port=True),
        Datagrams('mdns', [5353], 'mdns.queries.rrname; content:"_http"', pieces(corpus, 'app_mdns/service')[0][1],
                  b'_http', b'_smtp'),
        Datagrams('llmnr', [5355], 'llmnr.queries.rrname; content:"workstation"', pieces(corpus, 'app_llmnr/udp')[0][1],
                  b'workstation', b'playstation'),
        # Not identified by any parser.
        Datagrams('udp', [9999, 137], 'flow:to_server; content:"EVIL"', b'some EVIL thing', b'EVIL', b'fine'),
    ]


class Case:
    def __init__(self, name, sid, version=4, client_port=40000, server_port=53):
        self.name, self.sid, self.version, self.ports = name, sid, version, (client_port, server_port)
        self.packets = []  # (bytes, must be dropped)
        self.may_drop_before = False

    def place(self, number):
        self.client = f'10.1.{number >> 8}.{number & 255}' if self.version == 4 else f'fd01::{number:x}'
        for at, (build, dropped) in enumerate(self.packets):
            self.packets[at] = (build(), dropped)

    def ends(self, to_client):
        ends, ports = (self.client, SERVER[self.version]), self.ports
        return (ends[::-1], ports[::-1]) if to_client else (ends, ports)

    def udp(self, payload, to_client=False, dropped=False, length=None):
        def build():
            ends, ports = self.ends(to_client)
            segment = struct.pack('!HHHH', *ports, 8 + len(payload) if length is None else length, 0) + payload
            s, d = (ipaddress.ip_address(end).packed for end in ends)
            pseudo = s + d + (struct.pack('!I3xB', len(segment), 17) if self.version == 6
                              else struct.pack('!BBH', 0, 17, len(segment)))
            return ip(self.version, 17,
                      segment[:6] + struct.pack('!H', checksum(pseudo + segment) or 0xffff) + segment[8:], 64, *ends)

        self.packets.append((build, dropped))
        return self


class Connection(Case):
    def __init__(self, name, sid, server_port, client_port=40000):
        super().__init__(name, sid, 4, client_port, server_port)
        self.sent = [1000, 9000]
        self.tcp(False, SYN, None).tcp(True, SYN | ACK, None).tcp(False, ACK)

    def tcp(self, to_client, flags, payload=b'', dropped=False, urgent=0):
        seq, ack = self.sent[to_client], self.sent[not to_client]

        def build():
            ends, ports = self.ends(to_client)
            segment = struct.pack('!HHIIBBHHH', *ports, seq, ack if flags & ACK else 0, 5 << 4, flags, 60000, 0,
                                  urgent) + (payload or b'')
            pseudo = b''.join(ipaddress.ip_address(end).packed for end in ends) + \
                struct.pack('!BBH', 0, 6, len(segment))
            return ip(4, 6, segment[:16] + struct.pack('!H', checksum(pseudo + segment)) + segment[18:], 64, *ends)

        self.packets.append((build, dropped))
        self.sent[to_client] += len(payload or b'') + (flags & (SYN | FIN) != 0)
        return self

    def client_says(self, payload, dropped=False):
        return self.tcp(False, PSH | ACK, payload, dropped)

    def client_says_urgent(self, payload, urgent, dropped=False):
        """Sends with URG. URGENT is the urgent pointer: 1 is the first byte of the payload; may point behind it."""
        return self.tcp(False, PSH | ACK | URG, payload, dropped, urgent)

    def server_says(self, payload, dropped=False):
        return self.tcp(True, PSH | ACK, payload, dropped)


JUNK = {
    'one byte': b'\0', 'text': b'hello there, this is junk\r\n', 'zeros': bytes(60), 'ones': b'\xff' * 300,
    'HTTP': b'GET / HTTP/1.1\r\n\r\n',
    'TLS': b'\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00', 'SSH': b'SSH-2.0-x\r\n',
    'SIP': b'REGISTER sip:a SIP/2.0\r\n\r\n',
}


def datagram_cases(protocols):
    """Yields cases with datagrams before the message: junk, harmless messages, and messages of other protocols."""
    for index, protocol in enumerate(protocols):
        before = [('nothing', [])]
        for junk, data in JUNK.items():
            before.append((f'junk ({junk})', [(False, data)]))
            before.append((f'junk ({junk}) of the server', [(True, data)]))
            before.append((f'junk ({junk}) of both, three times', [(False, data), (True, data)] * 3))
            before.append((f'junk ({junk}) of both, the server first', [(True, data), (False, data)] * 2))
        before.append(('a harmless message', [(False, protocol.harmless)]))
        before.append(('a harmless message of the other side', [(True, protocol.harmless)]))
        before.append(('a harmless message of each side', [(True, protocol.harmless), (False, protocol.harmless)] * 2))
        before.append(('a message cut short', [(False, protocol.harmless[:len(protocol.harmless) // 2])]))
        before.append(('a message cut short of the other side',
                       [(True, protocol.harmless[:len(protocol.harmless) // 2])]))
        for other in protocols:
            before.append((f'a message of {other.name}', [(other.from_server, other.harmless)]))
            before.append((f'a message of {other.name}, reversed', [(not other.from_server, other.harmless)]))
        ports = [(40000, port) for port in protocol.ports]
        if protocol.name != 'udp':  # without a protocol only the ports give the direction
            ports += [(source, port) for port in protocol.ports[:1] for source in (67, 123, 500, 2049, 4500, 5353, 53)]
        if protocol.any_port:
            ports += [(40000, 7777), (5353, 7777), (123, 7777), *((40000, port) for port in TUNNEL_PORTS)]
        for name, packets in before:
            for client_port, server_port in ports:
                case = Case(f'{protocol.name} {index}: {name}, port {client_port} to {server_port}', 100 + index, 4,
                            client_port, server_port)
                for to_client, payload in packets:
                    case.udp(payload, to_client)
                yield case.udp(protocol.message, protocol.from_server, dropped=True)


# --- Length fields and tunnels

def inner(version, payload):
    """Returns a packet for the inside of a tunnel."""
    segment = struct.pack('!HHHH', 5000, 5001, 8 + len(payload), 0) + payload
    return ip(version, 17, segment, 64,
              *(('192.0.2.1', '192.0.2.2') if version == 4 else ('2001:db8::1', '2001:db8::2')))


def length_cases(sid, evil):
    for version in (4, 6):
        for length, name in ((0, 'zero'), (7, 'below the header'), (8 + len(evil) + 1, 'one too long'),
                             (65535, 'far too long')):
            yield Case(f'UDP length {name} (IPv{version})', sid, version, 40000, 9999) \
                .udp(evil, length=length, dropped=True)


def tunnel_cases(raw, dns, harmless):
    ethernet = bytes(12)
    for port in TUNNEL_PORTS:
        yield Case(f'no tunnel on port {port}', raw, 4, 40000, port).udp(b'no tunnel at all: EVIL', dropped=True)
        for version, kind in ((4, 0x0800), (6, 0x86dd)):
            packet = inner(version, harmless)
            forms = {'VXLAN': b'\x08' + bytes(7) + ethernet + struct.pack('!H', kind) + packet,
                     'GENEVE': struct.pack('!BBHI', 0, 0, kind, 0) + packet, 'Teredo': packet}
            for form, payload in forms.items():
                # The pattern is behind the inner packet: a tunnel endpoint ignores it, but another receiver reads it.
                yield Case(f'{form} with IPv{version} on port {port}, and bytes behind it', raw, 4, 40000, port) \
                    .udp(payload + b'EVIL', dropped=True)
                yield Case(f'{form} with IPv{version} on port {port}, pattern inside', raw, 4, 40000, port).udp(
                    payload[:-len(packet)] + inner(version, b'EVIL'), dropped=True)
    # A DNS query that is also a valid VXLAN packet: a label contains the EtherType and the inner IP packet.
    packet = ip(4, 17, struct.pack('!HHHH', 1, 2, 8, 0), 64, '192.0.2.1', '192.0.2.2')
    label = (b'ethernt' + struct.pack('!H', 0x0800) + packet).ljust(63, b'-')
    query = struct.pack('!HHHHHH', 0x0800, 0x0100, 1, 0, 0, 0) + bytes([len(label)]) + label + \
        b'\x03www\x07example\x04test\0\0\x01\0\x01'
    yield Case('a DNS query that is VXLAN, too', dns, 4, 53, 4789).udp(query, dropped=True)


# --- TCP

def tcp_cases(corpus, sids):
    """Yields SMTP, FTP and DNS cases with junk before the message. Servers answer junk with an error and continue."""
    helo, mail = b'EHLO client.example\r\n', b'MAIL FROM:<evil@example.com>\r\n'
    banner, error = b'220 mail.example ESMTP\r\n', b'500 unrecognized command\r\n'
    junk = {**JUNK, 'a lone line end': b'\r\n', 'one letter': b'X', 'a long line': b'A' * 6000 + b'\r\n',
            'FTP': b'USER anonymous\r\n', 'an SMB message':
            b'\0\0\0\x23\xfeSMB' + bytes(31), 'a DNS message': b'\0\x14' + bytes(20)}
    text = {name: data if data.endswith(b'\n') else data + b'\r\n' for name, data in junk.items()}
    for name, data in text.items():
        for port in (25, 587):
            yield (Connection(f'smtp on {port}: {name}, then the banner', sids['smtp'], port).client_says(data)
                   .server_says(banner).server_says(error)
                   .client_says(helo).server_says(b'250 hi\r\n').client_says(mail, True))
            yield (Connection(f'smtp on {port}: banner, then {name}', sids['smtp'], port).server_says(banner)
                   .client_says(data).server_says(error)
                   .client_says(helo).server_says(b'250 hi\r\n').client_says(mail, True))
            yield Connection(f'smtp on {port}: {name}, no answer seen', sids['smtp'], port).client_says(data) \
                .client_says(helo).client_says(mail, True)
            yield Connection(f'smtp on {port}: {name} and all in one segment', sids['smtp'], port) \
                .client_says(data + helo + mail, True)
        yield (Connection(f'smtp on an odd port: banner, then {name}', sids['smtp'], 7777).server_says(banner)
               .client_says(data).server_says(error)
               .client_says(helo).server_says(b'250 hi\r\n').client_says(mail, True))
        yield (Connection(f'ftp: {name}, then the banner', sids['ftp'], 21).client_says(data)
               .server_says(b'220 ftp ready\r\n').server_says(error)
               .client_says(b'USER anonymous\r\n').server_says(b'331 ?\r\n').client_says(b'RETR evil.txt\r\n', True))
        yield (Connection(f'ftp: banner, then {name}', sids['ftp'], 21).server_says(b'220 ftp ready\r\n')
               .client_says(data).server_says(error)
               .client_says(b'USER anonymous\r\n').server_says(b'331 ?\r\n').client_says(b'RETR evil.txt\r\n', True))
        yield (Connection(f'ftp: {name}, no answer seen', sids['ftp'], 21).client_says(data)
               .client_says(b'USER anonymous\r\n')
               .client_says(b'RETR evil.txt\r\n', True))
    query = pieces(corpus, 'app_dns/udp_request_response')[0][1]
    harmless = query.replace(b'www', b'xxx')

    def framed(message):
        return struct.pack('!H', len(message)) + message

    before = {'nothing': b'', 'a harmless query': framed(harmless), 'an empty message': b'\0\0', 'one byte': b'\0\x01A',
              'ones': framed(b'\xff' * 40),
              'a short header': framed(query[:7]), 'a query cut short': framed(harmless[:20]),
              'a response': framed(b'\0\1\x81\x80' + harmless[4:]),
              'a name that loops': framed(b'\0\1\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1'), 'zeros': framed(bytes(12)),
              'HTTP, which is a length': b'GET ' + b'/' * (0x4745 - 2),
              'TLS, which is a length': b'\x16\x03\x01\x02' + bytes(0x1603 - 2)}
    for name, data in before.items():
        yield Connection(f'dns over TCP: {name}', sids['dns'], 53).client_says(data + framed(query), True)
        if data:
            yield Connection(f'dns over TCP: {name}, in segments', sids['dns'], 53).client_says(data) \
                .client_says(framed(query), True)
            yield (Connection(f'dns over TCP: {name}, and an answer', sids['dns'], 53).client_says(data)
                   .server_says(framed(b'\0\1\x81\x81' + bytes(8)))
                   .client_says(framed(query), True))
    yield Connection('dns over TCP: the server first', sids['dns'], 53) \
        .server_says(framed(b'\0\1\x81\x81' + bytes(8))).client_says(framed(query), True)
    yield Connection('dns over TCP: a banner of the server first', sids['dns'], 53).server_says(banner) \
        .client_says(framed(query), True)


def urgent_cases(corpus, sids):
    """Yields cases with urgent bytes. A receiver leaves them in the stream or not; for one of both the message is
    complete."""
    get = b'GET /evil HTTP/1.1\r\nHost: a\r\n\r\n'
    hello = pieces(corpus, 'app_tls/tls12')[0][1]
    for sid, name, message in (('http', 'HTTP', get), ('tls', 'TLS', hello)):
        def new(what):
            return Connection(f'urgent: {name}, {what}', sids[sid], 7777)
        yield new('nothing').client_says(message, True)
        yield new('a byte before it').client_says_urgent(b'\1', 1).client_says(message, True)
        yield new('a byte before it in the same segment').client_says_urgent(b'\1' + message, 1, True)
        yield new('announced in a segment without data').client_says_urgent(b'', 1).client_says(b'\1' + message, True)
        yield new('inside, announced before it').client_says_urgent(message[:2], 4) \
            .client_says(message[2:3] + b'\1' + message[3:], True)
        yield new('the first and the third, not the second').client_says_urgent(b'\1', 1) \
            .client_says_urgent(message[:1], 1).client_says_urgent(
            b'\2', 1).client_says(message[1:], True)
        yield new('its own first byte').client_says_urgent(message[:1], 1).client_says(message[1:], True)
        yield new('more than there are readings').client_says_urgent(b'\1', 1).client_says_urgent(b'\2', 1) \
            .client_says_urgent(b'\3', 1).client_says_urgent(
            b'\4', 1)
        yield new('after the server spoke').server_says(b'\1\2\3').client_says_urgent(b'\1', 1) \
            .client_says(message, True)
    yield Connection('urgent: in a pattern', sids['raw'], 7777).client_says(b'EV').client_says_urgent(b'x', 1) \
        .client_says(b'IL-STREAM', True)
    yield Connection('urgent: three in a pattern', sids['raw'], 7777).client_says_urgent(b'Ex', 2) \
        .client_says_urgent(b'Vx', 2).client_says_urgent(
        b'IL', 2).client_says(b'-STREAM', True)
    yield Connection('urgent: later in HTTP', sids['http'], 80).client_says(get.replace(b'evil', b'good')) \
        .client_says_urgent(
        b'\1', 1).client_says(get.replace(b'evil', b'good'))


LENIENT = OPTIONS + 'app-layer: {error-policy: ignore}\n'


def banner_cases(corpus, sids):
    """Yields cases in which the server's banner is garbage or of another protocol. With error-policy: ignore the
    messages of the client must be parsed nevertheless."""
    get, hello = b'GET /evil HTTP/1.1\r\nHost: a\r\n\r\n', pieces(corpus, 'app_tls/tls12')[0][1]
    banners = {'garbage': [b'\1\2\3 garbage\r\n'], 'ones': [b'\xff' * 300],
               'SSH, then garbage': [b'SSH-2.0-x\r\n', b'\xff' * 300], 'SMTP': [b'220 hello\r\n'],
               'TLS of a wrong length': [b'\x16\x03\x01\xff\xff' + b'\2' * 40],
               'a TLS alert, then garbage': [bytes.fromhex('15030100020228') + b'\xff' * 80],
               'SMB, then garbage': [b'\0\0\0\x40\xfeSMB' + bytes(60), b'\xee' * 200],
               'an HTTP response, then garbage': [b'HTTP/1.1 200 OK\r\n\r\n', bytes(90)]}
    for name, banner in banners.items():
        for sid, message in (('tls', hello), ('http', get)):
            for port in (7777, 443, 80):
                for cuts, more in (((), False), ((3,), False), ((len(message) // 2,), False), ((3,), True),
                                   ((len(message) // 2,), True)):
                    case = Connection(f'banner: {name}, then {sid} on {port}, cut at '
                                      f'{cuts}{", the server goes on meanwhile" * more}', sids[sid], port)
                    for data in banner:
                        case.server_says(data)
                    parts = [message[a:b] for a, b in zip((0, *cuts), (*cuts, len(message)))]
                    for part in parts[:-1]:
                        case.client_says(part)
                        if more:
                            case.server_says(b'\xdd' * 70)
                    yield case.client_says(parts[-1], True)


def all_cases(corpus):
    protocols = datagram_protocols(corpus)
    names = [protocol.name for protocol in protocols]
    rules = [f'drop {each.name} any any -> any any ({each.rule}; sid:{100 + index};)' for index,
             each in enumerate(protocols)]
    rules += ['drop udp any any -> any any (msg:"raw"; content:"EVIL"; sid:200;)',
              'drop smtp any any -> any any (smtp.mail_from; content:"evil@"; sid:201;)',
              'drop ftp any any -> any any (ftp.command; content:"RETR"; sid:202;)',
              'drop http any any -> any any (http.uri; content:"/evil"; sid:203;)',
              'drop tls any any -> any any (tls.sni; content:"example"; sid:204;)',
              'drop tcp any any -> any any (content:"EVIL-STREAM"; sid:205;)']
    cases = list(datagram_cases(protocols))
    cases += length_cases(200, b'an EVIL thing')
    cases += tunnel_cases(200, 100 + names.index('dns'), b'harmless')
    cases += urgent_cases(corpus, {'http': 203, 'tls': 204, 'raw': 205})
    cases += tcp_cases(corpus, {'smtp': 201, 'ftp': 202, 'dns': 100 + names.index('dns')})
    lenient = list(banner_cases(corpus, {'http': 203, 'tls': 204}))
    return cases, lenient, '\n'.join(rules) + '\n'


# --- Running

def write_capture(path, cases):
    number, places = 0, []
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for index, case in enumerate(cases):
            case.place(index)
            place = []
            for packet, _ in case.packets:
                number += 1
                place.append(number)
                out.write(struct.pack('<IIII', 1700000000 + number // 10000, number % 10000 * 100, len(packet),
                                      len(packet)) + packet)
            places.append(place)
    return places


def replay(sluice, folder, rules, options=OPTIONS):
    for name, text in (('rules', rules), ('yaml', options)):
        with open(f'{folder}/{name}', 'w') as out:
            out.write(text)
    os.makedirs(folder + '/log')
    run = subprocess.run([sluice, 'replay', '--ips', '--no-console', '--rules', folder + '/rules', '--config',
                          folder + '/yaml', '--log-dir', folder + '/log',
                          folder + '/in.pcap'], capture_output=True, text=True)
    if run.returncode or run.stderr:
        sys.exit(f'exit code {run.returncode}: {run.stderr}')
    dropped, alerts = {}, set()
    with open(folder + '/log/eve.json') as events:
        for event in map(json.loads, events):
            if event['event_type'] == 'drop':
                dropped[event['pcap_cnt']] = event['drop'].get('reason')
            elif event['event_type'] == 'alert':
                alerts.add((event['pcap_cnt'], event['alert']['signature_id']))
    return dropped, alerts


def judge(case, place, dropped, alerts):
    """Returns what is wrong with the case, or None."""
    for (_, wanted), number in zip(case.packets, place):
        if wanted and number not in dropped:
            return 'the message passed'
        if wanted and (number, case.sid) not in alerts:
            return f'dropped, but not by the rule: {dropped[number]}, {[sid for at, sid in alerts if at == number]}'
        if not wanted and dropped.get(number) == PARSER_GAVE_UP:
            return None  # the flow is dropped, so the message is dropped, too
        if not wanted and number in dropped:
            return f'a packet before the message was dropped: {dropped[number]}, ' \
                f'{[sid for at, sid in alerts if at == number]}'
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sluice')
    parser.add_argument('corpus')
    parser.add_argument('--only', default='')
    arguments = parser.parse_args()
    *groups, rules = all_cases(arguments.corpus)
    failed = False
    for group, options in zip(groups, (OPTIONS, LENIENT)):
        cases = [case for case in group if arguments.only in case.name]
        with tempfile.TemporaryDirectory() as folder:
            places = write_capture(folder + '/in.pcap', cases)
            dropped, alerts = replay(arguments.sluice, folder, rules, options)
        problems = [f'{case.name}: {problem}' for case, place in zip(cases, places)
                    if (problem := judge(case, place, dropped, alerts))]
        for problem in problems:
            print(problem)
        print(f'{len(cases)} cases, {sum(map(len, places))} packets, {len(dropped)} dropped, {len(problems)} problems')
        failed |= bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
