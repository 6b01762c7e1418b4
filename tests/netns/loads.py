#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads that try to use up a table of Sluice, and the client beside them that must not notice. See loads.sh.

loads.py serve PORT                                    HTTP server; a POST is answered when its body is complete
loads.py good ADDRESS PORT                             one request after the other, each on a connection of its own,
                                                       until stdin ends; prints "ready", then "REQUESTS FAILED P50_MS
                                                       P99_MS MAX_MS"
loads.py bodies ADDRESS PORT COUNT BYTES               connections that send BYTES of a body of BYTES + 10 and stop;
                                                       prints "holding COUNT". For the line "finish N" N of them send
                                                       the rest: prints how many are answered.
loads.py udp LINK ADDRESS PORT COUNT SEED RATE         datagrams, each of a flow of its own; RATE: packets a second
loads.py fragments LINK ADDRESS COUNT SEED RATE        first fragments of datagrams that are never complete
loads.py pings ADDRESS COUNT                           fragmented datagrams to the echo service of ICMP; prints how many
                                                       came back
loads.py segments LINK ADDRESS PORT COUNT SIZE RATE ORDER   COUNT connections that send SIZE segments of one byte; ORDER
                                                            "in-order", or "holes": each
                                                       behind a hole. LINK is "INTERFACE,GATEWAY-MAC" for all.
"""
import os
import random
import resource
import select
import socket
import struct
import sys
import time

PATIENCE = 3
HOLE = 600         # bytes between the segments of `segments ... holes`
CONNECTING = 32   # of `bodies` at the same time


def raise_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# --- HTTP -------------------------------------------------------------------------------------------------------------

class Request:
    def __init__(self, sock):
        self.sock, self.head, self.left = sock, b'', None

    def feed(self, data):
        """True when the request is complete."""
        if self.left is None:
            self.head += data
            end = self.head.find(b'\r\n\r\n')
            if end < 0:
                return False
            self.left = 0
            for line in self.head[:end].split(b'\r\n'):
                if line.lower().startswith(b'content-length:'):
                    self.left = int(line.split(b':')[1])
            data = self.head[end + 4:]
        self.left -= len(data)
        return self.left <= 0


def serve(port):
    raise_limit()
    listener = socket.create_server(('0.0.0.0', int(port)), backlog=4096)
    listener.setblocking(False)
    poll, requests = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    print('listening', flush=True)
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                try:
                    sock, _ = listener.accept()
                except OSError:
                    continue
                poll.register(sock, select.EPOLLIN)
                requests[sock.fileno()] = Request(sock)
                continue
            request = requests[fd]
            try:
                data = request.sock.recv(1 << 20)
            except OSError:
                data = b''
            if data and not request.feed(data):
                continue
            if data:
                body = b'x' * 200
                request.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 200\r\nConnection: close\r\n\r\n' + body)
            del requests[fd]
            poll.unregister(fd)
            request.sock.close()


def ask(address, port, number):
    with socket.create_connection((address, port), PATIENCE) as sock:
        sock.sendall(b'GET /good/%d HTTP/1.1\r\nHost: server\r\nUser-Agent: good\r\n\r\n' % number)
        answer = b''
        while data := sock.recv(65536):
            answer += data
    return answer.startswith(b'HTTP/1.1 200') and len(answer) > 200


def good(address, port):
    times, failed, number = [], 0, 0
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        begin = time.monotonic()
        try:
            failed += not ask(address, int(port), number)
        except OSError:
            failed += 1
        times.append(time.monotonic() - begin)
        if number == 0:
            print('ready', flush=True)
        number += 1
    times.sort()
    at = [times[min(len(times) - 1, int(len(times) * share))] * 1000 for share in (0.5, 0.99, 1)]
    print(len(times), failed, *(f'{ms:.1f}' for ms in at), flush=True)


def bodies(address, port, count, size):
    raise_limit()
    count, size, body = int(count), int(size), b'b' * int(size)
    held, pending, poll = [], {}, select.epoll()
    while len(held) < count:
        while len(pending) < CONNECTING and len(held) + len(pending) < count:
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex((address, int(port)))
            head = f'POST /idle/{len(held) + len(pending)} HTTP/1.1\r\nHost: server\r\n' \
                f'Content-Length: {size + 10}\r\n\r\n'
            pending[sock.fileno()] = [sock, head.encode() + body, time.monotonic()]
            poll.register(sock, select.EPOLLOUT)
        for fd, _ in poll.poll(1):
            sock, data, _ = pending[fd]
            try:
                sent = sock.send(data)
            except OSError:
                sent = len(data)   # it stays one of those that are held, and is never answered
            pending[fd][1] = data[sent:]
        now = time.monotonic()
        for fd, (sock, data, begun) in list(pending.items()):
            if not data or now - begun > PATIENCE:
                poll.unregister(fd)
                held.append(pending.pop(fd)[0])
    print('holding', len(held), flush=True)
    for line in sys.stdin:
        answered = 0
        for sock in held[:int(line.split()[1])]:
            sock.settimeout(PATIENCE)
            try:
                sock.sendall(b'b' * 10)
                answered += sock.recv(100).startswith(b'HTTP/1.1 200')
            except OSError:
                pass
        print(answered, flush=True)


# --- Packets ----------------------------------------------------------------------------------------------------------

def checksum(total):
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def words(data):
    data = bytes(data) + b'\0' * (len(data) % 2)
    return sum(struct.unpack(f'!{len(data) // 2}H', data))


class Link:
    """Sends IPv4 packets from any address of 10.128.0.0/9 through the gateway, at most `rate` a second."""

    def __init__(self, link, rate):
        interface, mac = link.split(',')
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.where = (interface, 0x0800, 0, 0, bytes.fromhex(mac.replace(':', '')))
        self.rate, self.sent, self.begin = int(rate), 0, time.monotonic()

    def send(self, source, target, protocol, payload, ident=0, fragment=0x4000):
        header = bytearray(struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), ident, fragment, 64, protocol, 0,
                                       source, target))
        struct.pack_into('!H', header, 10, checksum(words(header)))
        try:
            self.sock.sendto(header + payload, self.where)
        except OSError:
            pass   # no room on the device: one packet less
        self.sent += 1
        if self.sent % 64 == 0:
            ahead = self.sent / self.rate - (time.monotonic() - self.begin)
            if ahead > 0.001:
                time.sleep(ahead)


def source_of(value):
    return struct.pack('!I', 0x0a800000 | value & 0x7fffff)


def udp(link, address, port, count, seed, rate):
    chance, link, target = random.Random(int(seed)), Link(link, rate), socket.inet_aton(address)
    for _ in range(int(count)):
        value = chance.getrandbits(40)
        # A checksum of 0: none was computed.
        link.send(source_of(value), target, 17,
                  struct.pack('!HHHH', value >> 23 & 0xffff | 1, int(port), 24, 0) + b'a load of flows.')


def fragments(link, address, count, seed, rate):
    chance, link, target = random.Random(int(seed)), Link(link, rate), socket.inet_aton(address)
    payload = struct.pack('!HHHH', 1000, 9, 2008, 0) + b'f' * 1192
    for _ in range(int(count)):
        value = chance.getrandbits(40)
        link.send(source_of(value), target, 17, payload, value >> 23 & 0xffff, 0x2000)


def pings(address, count):
    """Sent by ping(8)'s socket type: the kernel fragments them, and the server's kernel answers."""
    sock, answered = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), 0
    sock.settimeout(1)
    for number in range(int(count)):
        echo = bytearray(struct.pack('!BBHHH', 8, 0, 0, os.getpid() & 0xffff, number) + b'p' * 3000)
        struct.pack_into('!H', echo, 2, checksum(words(echo)))
        sock.sendto(echo, (address, 0))
        try:
            while sock.recv(4096)[20:28] != struct.pack('!BBHHH', 0, 0, checksum(words(b'\0\0\0\0' + echo[4:])),
                                                        os.getpid() & 0xffff, number):
                pass
            answered += 1
        except OSError:
            pass
    print(answered, flush=True)


class Connection:
    """A TCP client of which no kernel knows."""

    def __init__(self, link, number, target, port):
        self.link, self.source, self.target = link, source_of(0x700000 + number), target
        self.ports, self.isn, self.peer = struct.pack('!HH', 20000 + number % 40000, port), 1000, None
        self.fixed = words(self.source) + words(target) + 6 + words(self.ports)

    def segment(self, flags, at=0, data=b''):
        sequence = self.isn + at
        rest = struct.pack('!IIBBHHH', sequence, self.peer or 0, 0x50, flags, 64240, 0, 0) + data
        total = checksum(self.fixed + words(rest) + 20 + len(data))
        self.link.send(self.source, self.target, 6, self.ports + rest[:12] + struct.pack('!H', total) + rest[14:])

    def open(self, listener):
        self.segment(2)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            packet = listener.recv(2048)
            if packet[12:16] == self.target and packet[16:20] == self.source and packet[33] & 0x12 == 0x12:
                self.peer = struct.unpack('!I', packet[24:28])[0] + 1
                self.segment(0x10, 1)
                return
        sys.exit('no SYN/ACK')


def segments(link, address, port, count, size, rate, order):
    interface = link.split(',')[0]
    link, size, target = Link(link, rate), int(size), socket.inet_aton(address)
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    listener.bind((interface, 0x0800))
    listener.settimeout(PATIENCE)
    connections = []
    for number in range(int(count)):
        connections.append(Connection(link, number + int(port), target, int(port)))  # others than of another port
        connections[-1].open(listener)
    listener.close()
    for connection in connections:
        for place in range(1, size + 1):
            connection.segment(0x18, place if order == 'in-order' else 2 + place * HOLE, b's')
    print('sent', size * len(connections), flush=True)


COMMANDS = {'serve': serve, 'good': good, 'bodies': bodies, 'udp': udp, 'fragments': fragments, 'pings': pings,
            'segments': segments}
COMMANDS[sys.argv[1]](*sys.argv[2:])
