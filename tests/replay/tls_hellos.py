#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that every ClientHello that OpenSSL accepts is inspected: a drop rule on its server name must match.

    tls_hellos.py SLUICE [--count N] [--seed N] [--print]

A real ClientHello is put into records in unusual ways: other versions, fragments, records of length 0, records of other
types. A server of Python's ssl module, without sockets, shows by its SNI callback whether OpenSSL has read the server
name. Each hello that it has read becomes a TCP connection of a capture, which is replayed with --ips. The test fails if
all packets of a connection pass. There are fixed cases and N random ones.
"""
import argparse
import os
import random
import ssl
import struct
import subprocess
import sys
import tempfile

from identification import PARSER_GAVE_UP, Connection, replay, write_capture

GOOD, EVIL = 'good.example', 'evil.example'
RULES = '''drop tls any any -> any any (tls.sni; content:"evil.example"; sid:1;)
drop tls any any -> any any (tls.alpn; content:"evil-protocol"; sid:2;)
'''
HANDSHAKE, ALERT, CHANGE_CIPHER_SPEC, APPLICATION, HEARTBEAT = 22, 21, 20, 23, 24


def record(kind, version, body):
    return struct.pack('!BHH', kind, version, len(body)) + body


class Client:
    def __init__(self, name, protocols=('h2',)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(list(protocols))
        self.input, self.output = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.input, self.output, server_hostname=name)

    def step(self, data=b''):
        self.input.write(data)
        try:
            self.object.do_handshake()
        except ssl.SSLError:
            pass
        return self.output.read()


class Server:
    def __init__(self, certificate, curve=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if curve:
            context.set_ecdh_curve(curve)
        context.sni_callback = lambda _object, name, _context: self.names.append(name)
        self.names = []
        self.input, self.output = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.input, self.output, server_side=True)

    def step(self, data):
        self.input.write(data)
        try:
            self.object.do_handshake()
        except ssl.SSLError:
            pass
        return self.output.read()


def fixed(body):
    """Yields (name of the case, bytes of the client)."""
    for version in (0x0300, 0x0301, 0x0302, 0x0303, 0x0304, 0x0305, 0x03ff, 0x0200, 0x0400):
        yield f'record version {version:04x}', record(HANDSHAKE, version, body)
        yield f'record version {version:04x}, in two', record(HANDSHAKE, version, body[:60]) + \
            record(HANDSHAKE, 0x0303, body[60:])
        yield f'second record of version {version:04x}', record(HANDSHAKE, 0x0301, body[:60]) + \
            record(HANDSHAKE, version, body[60:])
    for size in (1, 2, 3, 4, 5, 100):
        yield f'records of {size}', b''.join(record(HANDSHAKE, 0x0301, body[at:at + size])
                                             for at in range(0, len(body), size))
    for version in (0x0304, 0x0305, 0x03ff, 0x0400, 0x7f00, 0xffff):
        yield f'hello of version {version:04x}', record(HANDSHAKE, 0x0301,
                                                        body[:4] + struct.pack('!H', version) + body[6:])
    for kind in (HANDSHAKE, ALERT, CHANGE_CIPHER_SPEC, APPLICATION, HEARTBEAT):
        for content in (b'', b'\x01', b'\x01\x5a'):
            yield f'a record of type {kind} with {len(content)} bytes first', record(kind, 0x0301, content) + \
                record(HANDSHAKE, 0x0301, body)
            yield f'a record of type {kind} with {len(content)} bytes inside', \
                record(HANDSHAKE, 0x0301, body[:60]) + record(kind, 0x0301, content) + \
                record(HANDSHAKE, 0x0301, body[60:])
    yield 'thirty records of length 0', record(HANDSHAKE, 0x0301, b'') * 30 + record(HANDSHAKE, 0x0301, body)
    yield 'a junk byte first', b'\0' + record(HANDSHAKE, 0x0301, body)


def random_case(rng, body):
    """Cuts the hello at random into records of random versions, with records of other types in between."""
    out, at = b'', 0
    while at < len(body):
        size = rng.choice((0, 0, 1, 3, 5, 60, 200, 1000))
        if rng.random() < 0.03:
            out += record(rng.choice((ALERT, CHANGE_CIPHER_SPEC, APPLICATION, HEARTBEAT)), 0x0301,
                          rng.choice((b'', b'\x01', b'\x01\x00')))
        out += record(HANDSHAKE, rng.choice((0x0300, 0x0301, 0x0303, 0x0304, 0x0305, 0x03aa, 0x03ff)),
                      body[at:at + size])
        at += size
    return out


def accepted(certificate, cases):
    for name, data in cases:
        server = Server(certificate)
        server.step(data)
        if EVIL in server.names:
            yield name, data


def segments(connection, data, size):
    """Sends DATA in segments. Any of their packets may be the one that is dropped."""
    for at in range(0, len(data), size):
        connection.client_says(data[at:at + size])
    return connection


def connections(certificate, count, seed):
    body = Client(EVIL).step()[5:]
    rng = random.Random(seed)
    cases = [*fixed(body), *((f'random {i}', random_case(rng, body)) for i in range(count))]
    found = list(accepted(certificate, cases))
    for name, data in found:
        for port in (443, 9999):
            yield segments(Connection(f'{name}, port {port}', 1, port), data, 1400)
        yield segments(Connection(f'{name}, in small segments', 1, 443), data, 7)
    # The server sends something first, or in the middle of the hello.
    hello = record(HANDSHAKE, 0x0301, body)
    for banner in (b'220 mail.example ESMTP\r\n', b'SSH-2.0-x\r\n', b'HTTP/1.1 200 OK\r\n\r\n', b'\0', b'junk',
                   b'+OK ready\r\n', b'\0\0\0\x23\xffSMB' + bytes(31)):
        for port in (443, 9999, 25, 80):
            yield Connection(f'{banner[:4]} of the server first, port {port}', 1, port) \
                .server_says(banner).client_says(hello)
            yield Connection(f'{banner[:4]} of the server inside, port {port}', 1, port).client_says(hello[:2]) \
                .server_says(banner).client_says(hello[2:])
            yield Connection(f'{banner[:4]} of the server inside, later, port {port}', 1, port) \
                .client_says(hello[:20]).server_says(banner).client_says(hello[20:])
    # A HelloRetryRequest, and a second hello with another server name or protocol.
    for name, first, second in (('another server name', Client(GOOD), EVIL.encode()),
                                ('another protocol', Client(GOOD, ('good-protocol',)), b'evil-protocol')):
        server = Server(certificate, 'secp521r1')
        hello = first.step()
        retry = server.step(hello)
        again = first.step(retry)
        assert len(again) > 100, 'the server sends no HelloRetryRequest'
        again = again.replace(GOOD.encode() if second == EVIL.encode() else b'good-protocol', second)
        assert second in again
        yield (Connection(f'second hello with {name}', 1 if second == EVIL.encode() else 2, 443)
               .client_says(hello).server_says(retry)
               .client_says(again))
        yield Connection(f'second hello with {name}, at once', 1 if second == EVIL.encode() else 2, 443) \
            .client_says(hello + again)
    # No server accepts a hello of this length. It is a parser error, and app-layer.error-policy drops the flow by
    # default with --ips.
    for length in (136000, 0xffffff):
        long = b'\x01' + struct.pack('!I', length)[1:] + b'\x03\x03'
        yield Connection(f'a hello of {length} bytes', None, 443) \
            .client_says(record(HANDSHAKE, 0x0301, long + bytes(16000)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sluice')
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--print', action='store_true')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificate = folder + '/server.pem'
        made = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
                               '-nodes', '-keyout', certificate, '-out',
                               folder + '/certificate', '-days', '2', '-subj', '/CN=x'], capture_output=True)
        if made.returncode:
            print('SKIP: openssl cannot make a certificate')
            sys.exit(77)
        with open(certificate, 'a') as out, open(folder + '/certificate') as file:
            out.write(file.read())
        cases = list(connections(certificate, arguments.count, arguments.seed))
        places = write_capture(folder + '/in.pcap', cases)
        dropped, alerts = replay(arguments.sluice, folder, RULES)
    problems = []
    for case, place in zip(cases, places):
        stopped = [number for number in place if number in dropped]
        by_rule = any((number, case.sid) in alerts for number in place) or any(dropped[number] == PARSER_GAVE_UP
                                                                               for number in stopped)
        if not stopped or (case.sid and not by_rule):
            problems.append(f'{case.name}: ' + ('every packet passed' if not stopped
                                                else 'dropped, but not by the rule'))
    for problem in problems:
        print(problem)
    if arguments.print:
        print(*(case.name for case in cases), sep='\n')
    print(f'{len(cases)} connections, {sum(map(len, places))} packets, {len(problems)} problems')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
