#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a capture for benchmarks, with traffic like that of the live workloads. Equal arguments give equal files.

    captures.py NAME LENGTH FILE

    requests      LENGTH HTTP requests for pages of 1 kB on 32 keep-alive connections: 2 packets each
    pages         LENGTH different HTTP requests, each for another page of 0.3 to 60 kB (median 4 kB), on 32 keep-alive
                  connections, each of which is closed after 100 requests
    gateway       like requests, but 256 connections of 64 clients to 61 servers, so that several workers have work
    connections   LENGTH TCP connections with one HTTP request each: 9 packets each
    datagrams     LENGTH UDP packets with 64 bytes of payload, 16 flows to 2 addresses
    download      LENGTH pages of 100 kB over HTTP keep-alive, in segments of 1,448 bytes; an ACK for every second one
    super         LENGTH super-packets of 60,000 bytes in TCP streams, as GRO makes them and F_GSO queues them

As in the live workloads, clients are 10.88.1.x and servers 10.88.2.x. The captures download and super begin a new
connection before a stream reaches the depth to which it is inspected.
"""
import base64
import random
import struct
import sys

SYN, FIN, PSH, ACK = 2, 1, 8, 16
MAC = bytes.fromhex('020000000001020000000002') + b'\x08\0'
CLIENT, SERVER = 0x0a580102, 0x0a580202
REQUEST = b'GET /%s HTTP/1.1\r\nHost: 10.88.2.2:80\r\n\r\n'
ANSWER = (b'HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 04 Mar 2024 10:00:00 GMT\r\nContent-Type: '
          b'text/html\r\nContent-Length: %d\r\n'
          b'Last-Modified: Mon, 04 Mar 2024 09:00:00 GMT\r\nConnection: keep-alive\r\nETag: '
          b'"65e58d10-400"\r\nAccept-Ranges: bytes\r\n\r\n')
SEGMENT, SUPER, STEP_MICROSECONDS = 1448, 60000, 10
PAGES_EACH, PAGES_OF_BROWSER, SUPERS_EACH = 8, 100, 16
STAMPS = b'\x01\x01\x08\x0a' + bytes.fromhex('0000100000002000')


def checksum(data):
    """Internet checksum. The remainder of one long integer by 65535 is the ones' complement sum of its 16-bit words."""
    data += b'\0' * (len(data) % 2)
    rest = int.from_bytes(data, 'big') % 65535
    return ~(rest if rest or not any(data) else 65535) & 65535


def with_checksum(data, at, pseudo=b''):
    return data[:at] + struct.pack('!H', checksum(pseudo + data)) + data[at + 2:]


def ip(protocol, source, target, segment):
    header = struct.pack('!BBHHHBBHII', 0x45, 0, 20 + len(segment), 1, 0x4000, 64, protocol, 0, source, target)
    return MAC + with_checksum(header, 10) + segment


class Connection:
    """Both ends of a TCP connection. segment() returns a frame; handshake() and close() return lists of frames."""

    def __init__(self, port, service=80, client=CLIENT, server=SERVER):
        self.ends = [(client, port), (server, service)]
        self.sequence = [port * 65537, port * 7919 + 1000]

    def segment(self, side, flags, payload=b'', options=STAMPS):
        (source, port), (target, other) = self.ends[side], self.ends[1 - side]
        acknowledged = self.sequence[1 - side] if flags & ACK else 0
        header = struct.pack('!HHIIBBHHH', port, other, self.sequence[side] & 0xffffffff, acknowledged & 0xffffffff,
                             (20 + len(options)) // 4 << 4, flags, 65160, 0, 0) + options
        pseudo = struct.pack('!IIBBH', source, target, 0, 6, len(header) + len(payload))
        self.sequence[side] += len(payload) + bool(flags & (SYN | FIN))
        return ip(6, source, target, with_checksum(header + payload, 16, pseudo))

    def handshake(self):
        offers = bytes.fromhex('020405b40402080a000010000000000001030307')
        return [self.segment(0, SYN, options=offers), self.segment(1, SYN | ACK, options=offers), self.segment(0, ACK)]

    def close(self):
        return [self.segment(0, FIN | ACK), self.segment(1, FIN | ACK), self.segment(0, ACK)]


def page(size):
    rng = random.Random(size)
    text = base64.b64encode(rng.randbytes(size))[:size]
    return b'\n'.join(text[at:at + 100] for at in range(0, len(text), 101))[:size].ljust(size, b'\n')


def requests(length):
    return keep_alive([Connection(20000 + i) for i in range(32)], length)


def gateway(length):
    return keep_alive([Connection(20000 + i, client=CLIENT + i % 64, server=SERVER + i % 61) for i in range(256)],
                      length)


def keep_alive(connections, length):
    answer = ANSWER % 1024 + page(1024)
    for connection in connections:
        yield from connection.handshake()
    for i in range(length):
        connection = connections[i % len(connections)]
        yield connection.segment(0, PSH | ACK, REQUEST % b'small.html')
        yield connection.segment(1, PSH | ACK, answer)


def connections(length):
    answer = ANSWER % 1024 + page(1024)
    for i in range(length):
        connection = Connection(1024 + i)
        yield from connection.handshake()
        yield connection.segment(0, PSH | ACK, REQUEST % b'small.html')
        yield connection.segment(1, PSH | ACK, answer)
        yield connection.segment(0, ACK)
        yield from connection.close()


def datagrams(length):
    for i in range(length):
        source, target = 40000 + i % 16, SERVER + i % 2
        udp = struct.pack('!HHHH', source, 9999, 72, 0) + b'x' * 64
        yield ip(17, CLIENT, target, with_checksum(udp, 6, struct.pack('!IIBBH', CLIENT, target, 0, 17, len(udp))))


def renewed(length, each, service):
    """Yields LENGTH rows (connection, frames that open it, whether to close it); a new connection after EACH rows."""
    for i in range(length):
        if i % each == 0:
            connection = Connection(30000 + i // each, service)
        yield connection, connection.handshake() if i % each == 0 else [], i % each == each - 1 or i == length - 1


def download(length):
    answer = ANSWER % 102400 + page(102400)
    for connection, opening, ends in renewed(length, PAGES_EACH, 80):
        yield from opening
        yield connection.segment(0, PSH | ACK, REQUEST % b'big.html')
        for number, at in enumerate(range(0, len(answer), SEGMENT)):
            yield connection.segment(1, ACK, answer[at:at + SEGMENT])
            if number % 2:
                yield connection.segment(0, ACK)
        yield from connection.close() if ends else []


def super_packets(length):
    payload = random.Random(SUPER).randbytes(SUPER)
    for connection, opening, ends in renewed(length, SUPERS_EACH, 5201):
        yield from opening
        yield connection.segment(0, PSH | ACK, payload)
        yield connection.segment(1, ACK)
        yield from connection.close() if ends else []


class Browsing:
    """Generates requests and pages without repetitions: random words, links, scripts, images, cookies, user agents and
    queries."""

    LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
    SYSTEMS = ('Windows NT 10.0; Win64; x64', 'X11; Linux x86_64', 'Macintosh; Intel Mac OS X 10_15_7',
               'iPhone; CPU iPhone OS 17_4 like Mac OS X', 'Linux; Android 14; SM-S921B')
    LANGUAGES = 'en-US,en', 'de-DE,de', 'fr-FR,fr', 'es-ES,es', 'ja-JP,ja'

    def __init__(self):
        self.rng = random.Random(6)
        self.words = [self.letters(self.rng.randint(2, 10), 'etaoinshrdlucmfwypvbgk') for _ in range(6000)]

    def letters(self, number, alphabet=LETTERS):
        return ''.join(self.rng.choices(alphabet, k=number))

    def text(self, number):
        return ' '.join(self.rng.choices(self.words, k=number))

    def element(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return f'<p class="{self.text(1)}">{self.text(rng.randint(10, 80))}</p>\n'
        if kind < 0.7:
            return f'<a href="/pages/{rng.randrange(4000)}.html?ref={rng.getrandbits(48):x}">{self.text(3)}</a>\n'
        if kind < 0.85:
            return (f'<script>var {self.text(1)} = {{"id": {rng.getrandbits(30)}, "name": "{self.text(2)}", '
                    f'"token": "{rng.getrandbits(160):040x}"}};</script>\n')
        image = base64.b64encode(rng.randbytes(rng.randint(30, 300))).decode()
        return f'<img src="data:image/png;base64,{image}">\n'

    def answer(self):
        size = min(60000, max(300, int(self.rng.lognormvariate(8.3, 1.0))))
        body = f'<!DOCTYPE html>\n<html><head><title>{self.text(5)}</title></head><body>\n'
        while len(body) < size:
            body += self.element()
        body = body[:size - 15].encode() + b'</body></html>\n'
        return ANSWER % len(body) + body

    def request(self):
        rng = self.rng
        query = ''
        if rng.random() < 1 / 3:
            query = f'?id={rng.randrange(10 ** 6)}&session={self.letters(16)}&q={self.text(1)}+{self.text(1)}'
        return (f'GET /pages/{rng.randrange(4000)}.html{query} HTTP/1.1\r\n'
                f'Host: www{rng.randint(1, 50)}.example.test\r\n'
                f'User-Agent: Mozilla/5.0 ({rng.choice(self.SYSTEMS)}) AppleWebKit/537.36 (KHTML, like Gecko) '
                f'Chrome/{rng.randint(90, 131)}.0.{rng.randint(4000, 6900)}.{rng.randint(1, 200)} Safari/537.36\r\n'
                'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n'
                f'Accept-Language: {rng.choice(self.LANGUAGES)};q=0.{rng.randint(5, 9)}\r\n'
                'Accept-Encoding: identity\r\n'
                f'Referer: http://www{rng.randint(1, 50)}.example.test/{self.letters(8)}/{self.letters(12)}\r\n'
                f'Cookie: sid={self.letters(32)}; theme={self.letters(5)}; '
                f'_ga=GA1.2.{rng.randrange(10 ** 9)}.{rng.randrange(10 ** 9)}\r\n\r\n').encode()


def pages(length):
    browsing, open_connections = Browsing(), {}
    for i in range(length):
        place, used = i % 32, i // 32
        if used % PAGES_OF_BROWSER == 0:
            if used:
                yield from open_connections[place].close()
            open_connections[place] = Connection(20000 + i)
            yield from open_connections[place].handshake()
        connection = open_connections[place]
        yield connection.segment(0, PSH | ACK, browsing.request())
        answer = browsing.answer()
        for number, at in enumerate(range(0, len(answer), SEGMENT)):
            yield connection.segment(1, ACK, answer[at:at + SEGMENT])
            if number % 2:
                yield connection.segment(0, ACK)
    for connection in open_connections.values():
        yield from connection.close()


CAPTURES = {'requests': requests, 'pages': pages, 'gateway': gateway, 'connections': connections, 'datagrams': datagrams,
            'download': download,
            'super': super_packets}


def write(name, length, path):
    """Writes the capture and returns its number of packets."""
    count = 0
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for count, frame in enumerate(CAPTURES[name](length), 1):
            seconds, micros = divmod(count * STEP_MICROSECONDS, 1_000_000)
            out.write(struct.pack('<IIII', 1_700_000_000 + seconds, micros, len(frame), len(frame)) + frame)
    return count


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in CAPTURES:
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])


if __name__ == '__main__':
    main()
