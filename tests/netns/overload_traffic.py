#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic for overload.sh.

udp-echo PORT                  answers each datagram
udp-window ADDRESS PORT N      keeps N datagrams of 800 bytes on their way, one more for each answer, until it is ended
tls-echo PORT CERTIFICATE      a TLS server that sends back what comes
tls-ask ADDRESS PORT LINES     a TLS connection that sends so many lines, one after the other's answer; prints the local
                               port
lines ADDRESS PORT SIZE COUNT  the same without TLS, with lines of that size, then "EVIL" when EVIL is set; prints the
                               port, then the last answer
"""
import os
import socket
import ssl
import sys
import threading

PATIENCE = 20


def udp_echo(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(('0.0.0.0', port))
        print('listening', flush=True)
        while True:
            _, peer = sock.recvfrom(2048)
            sock.sendto(b'.', peer)


def udp_window(address, port, count):
    payload = b'a' * 800 + b'!'
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, port))
        sock.settimeout(PATIENCE)
        for _ in range(count):
            sock.send(payload)
        while True:
            try:
                sock.recv(64)
            except socket.timeout:  # some were lost: anew
                for _ in range(count):
                    sock.send(payload)
            sock.send(payload)


def tls_serve(context, conn):
    with context.wrap_socket(conn, server_side=True) as tls:
        while data := tls.recv(65536):
            tls.sendall(data)


def tls_echo(port, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(('0.0.0.0', port)) as server:
        print('listening', flush=True)
        while True:
            conn, _ = server.accept()
            threading.Thread(target=tls_serve, args=(context, conn), daemon=True).start()


def ask(conn, size, count):
    print(conn.getsockname()[1], flush=True)
    line = b'.' * size + b'\n'
    for _ in range(count):
        conn.sendall(line)
        got = 0
        while got < len(line):
            got += len(conn.recv(65536))


def tls_ask(address, port, count):
    context = ssl._create_unverified_context()
    with socket.create_connection((address, port), PATIENCE) as plain, context.wrap_socket(plain) as conn:
        ask(conn, 1000, count)


def lines(address, port, size, count):
    with socket.create_connection((address, port), PATIENCE) as conn:
        ask(conn, size, count)
        if os.environ.get('EVIL'):
            conn.settimeout(3)
            conn.sendall(b'EVIL\n')
            try:
                print(conn.recv(100).decode().strip(), flush=True)
            except OSError:
                print('TIMEOUT', flush=True)


COMMANDS = {'udp-echo': udp_echo, 'udp-window': udp_window, 'tls-echo': tls_echo, 'tls-ask': tls_ask, 'lines': lines}
COMMANDS[sys.argv[1]](*(int(a) if a.isdigit() else a for a in sys.argv[2:]))
