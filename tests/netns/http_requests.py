#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP requests that servers read in different ways.

    http_requests.py serve PORT FILE       records what arrives, and answers each connection once
    http_requests.py send ADDRESS PORT     sends each case on a connection of its own; prints "NAME answered|not
                                           answered"
"""
import socket
import sys
import threading

EVIL = b'GET /evil HTTP/1.1\r\nHost: h\r\n\r\n'
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


def post(headers, body):
    return b'POST /a HTTP/1.1\r\nHost: h\r\n' + headers + b'\r\n' + body


# Junk that is a part of the method (Python, nginx), CONNECT, and lengths.
CASES = [
    ('clear-length', post(b'Content-Length: 4\r\n', b'text')),
    ('clear-chunks', post(b'Transfer-Encoding: chunked\r\n', b'4\r\ntext\r\n0\r\n\r\n')),
    ('harmless-both', post(b'Transfer-Encoding: chunked\r\nContent-Length: 14\r\n', b'4\r\ntext\r\n0\r\n\r\n')),
    ('evil-behind-chunks',
     post(b'Transfer-Encoding: chunked\r\nContent-Length: %d\r\n' % (5 + len(EVIL)), b'0\r\n\r\n' + EVIL)),
    ('evil-in-chunk',
     post(b'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', b'%x\r\n' % len(EVIL) + EVIL + b'\r\n0\r\n\r\n')),
    ('evil-second-length', post(b'Content-Length: %d\r\nContent-Length: 0\r\n' % len(EVIL), EVIL)),
    ('evil-word', post(b'Transfer-Encoding: xchunked\r\n', EVIL)),
    ('evil-connect', b'CONNECT h:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nab\ncd' + EVIL),
    ('evil-junk', b'\x01\xff' + EVIL),
    ('evil-helo', EVIL.replace(b'GET', b'HELO')),
]


def serve(port, path):
    def record(connection):
        connection.settimeout(10)
        data = b''
        try:
            while True:
                more = connection.recv(65536)
                if not more:
                    break
                data += more
                if len(data) == len(more):
                    connection.sendall(OK)
        except OSError:
            pass
        with lock, open(path, 'ab') as f:
            f.write(data)
        connection.close()

    lock = threading.Lock()
    server = socket.create_server(('', port))
    open(path, 'ab').close()
    while True:
        threading.Thread(target=record, args=(server.accept()[0],), daemon=True).start()


def send(address, port):
    for name, data in CASES:
        answer = b''
        with socket.create_connection((address, port), timeout=10) as s:
            s.settimeout(2)
            try:
                s.sendall(data)
                answer = s.recv(4096)
            except OSError:
                pass
        print(name, 'answered' if answer else 'not answered', flush=True)


if __name__ == '__main__':
    if sys.argv[1] == 'serve':
        serve(int(sys.argv[2]), sys.argv[3])
    else:
        send(sys.argv[2], int(sys.argv[3]))
