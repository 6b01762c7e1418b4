#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic of the tests of the live view.

    live_traffic.py serve                   HTTP servers on port 80 of 10.66.2.2 to .5, which answer /BYTES with so many
                                            bytes; a UDP echo on port 53 of all addresses; prints "ready"
    live_traffic.py browse SECONDS          requests pages of these servers, with attacks among them, and sends datagrams
"""
import http.client
import http.server
import socket
import sys
import threading
import time

SERVERS = ['10.66.2.2', '10.66.2.3', '10.66.2.4', '10.66.2.5']


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        size = self.path.rsplit('/', 1)[-1].split('?')[0]
        body = b'x' * (int(size) if size.isdigit() else 100)
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve():
    for address in SERVERS:
        server = http.server.ThreadingHTTPServer((address, 80), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(('', 53))
    print('ready', flush=True)
    while True:
        data, peer = sock.recvfrom(65536)
        sock.sendto(data, peer)


def fetch(address, size, until, pause):
    connection = http.client.HTTPConnection(address, 80, timeout=5)
    while time.monotonic() < until:
        try:
            connection.request('GET', f'/pages/{size}', headers={'User-Agent': 'Mozilla/5.0'})
            connection.getresponse().read()
        except OSError:
            connection.close()
        time.sleep(pause)


def attack(until):
    """Requests that the rules drop or report: each on a connection of its own."""
    paths = ['/cgi-bin/../../etc/passwd', '/index.php?id=1%20UNION%20SELECT%20password', '/wp-login.php']
    number = 0
    while time.monotonic() < until:
        connection = http.client.HTTPConnection(SERVERS[number % 4], 80, timeout=0.4)
        try:
            connection.request('GET', paths[number % 3], headers={'User-Agent': 'sqlmap/1.7'})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass
        connection.close()
        number += 1
        time.sleep(0.2)


def ask(until):
    query = b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x03com\x00\x00\x01\x00\x01'
    while time.monotonic() < until:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(1)
            sock.sendto(query, ('10.66.2.6', 53))
            try:
                sock.recv(4096)
            except OSError:
                pass
        time.sleep(0.05)


def browse(seconds):
    until = time.monotonic() + float(seconds)
    work = [(fetch, (address, size, until, pause)) for address, size, pause in
            zip(SERVERS, (60000, 20000, 5000, 1000), (0.02, 0.03, 0.05, 0.1))]
    work += [(attack, (until,)), (ask, (until,))]
    threads = [threading.Thread(target=function, args=arguments) for function, arguments in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == '__main__':
    {'serve': serve, 'browse': browse}[sys.argv[1]](*sys.argv[2:])
