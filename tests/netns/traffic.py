#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Small traffic for the namespace tests; every wait is bounded.

    traffic.py udp-sink PORT FILE                    writes one line per datagram: source port and text
    traffic.py udp-flood ADDRESS PORT COUNT          COUNT datagrams "number N"
    traffic.py udp-paced ADDRESS PORT RATE SECONDS   RATE datagrams "number N" a second until SIGTERM comes, or for
                                                     SECONDS; prints how many it were
    traffic.py tcp-echo PORT                         echoes every connection
    traffic.py tcp-ask ADDRESS PORT TEXT             prints what comes back: the echo, RESET, TIMEOUT
    traffic.py tcp-bulk ADDRESS PORT BYTES           sends so many bytes to a tcp-echo server and counts what comes back
    traffic.py tcp-same PORT BYTES ADDRESS...        random bytes to tcp-echo servers, a connection for each address at
                                                     once; prints for how many the same came back
    traffic.py tcp-steps ADDRESS PORT                a connection to a tcp-echo server: sends each line that it reads
                                                     and prints what comes back, TIMEOUT (4 s), RESET; an empty line
                                                     only waits for what comes
"""
import os
import signal
import socket
import sys
import threading
import time

SO_RCVBUFFORCE = 33


def family(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


def udp_sink(port, path):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)   # a busy machine must not look like loss
    sock.bind(('::', int(port)))
    with open(path, 'a', buffering=1) as out:
        out.write('listening\n')
        while True:
            data, peer = sock.recvfrom(65536)
            out.write(f'{peer[1]} {data[:60].decode("latin-1")}\n')


def udp_flood(address, port, count):
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    for number in range(int(count)):
        sock.sendto(b'number %d' % number, (address, int(port)))


def udp_paced(address, port, rate, seconds):
    """Catches up after a pause, a hundred at once at most."""
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    ended = []  # no Event: the handler would wait for its lock, which who is interrupted may have
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    begin, sent = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < float(seconds) and not ended:
        time.sleep(0.001)
        for _ in range(min(int(passed * int(rate)) - sent, 100)):
            sock.sendto(b'number %d' % sent, (address, int(port)))
            sent += 1
    print(sent)


def echo(conn):
    """What begins with LATER is answered two seconds later."""
    with conn:
        try:
            while data := conn.recv(262144):
                if data.startswith(b'LATER'):
                    time.sleep(2)
                conn.sendall(data)
        except OSError:
            pass


def tcp_echo(port):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(('::', int(port)))
    sock.listen(64)
    print('listening', flush=True)
    while True:
        conn, _ = sock.accept()
        threading.Thread(target=echo, args=(conn,), daemon=True).start()


def tcp_ask(address, port, text):
    try:
        sock = socket.create_connection((address, int(port)), timeout=3)
        sock.sendall(text.encode('latin-1'))
        print(sock.recv(65536).decode('latin-1') or 'CLOSED')
    except (ConnectionResetError, ConnectionRefusedError):
        print('RESET')
    except socket.timeout:
        print('TIMEOUT')
    except OSError as err:
        print('ERROR', err)


def tcp_bulk(address, port, count):
    total, got = int(count), 0
    # In a flood the queue loses SYNs as it loses all else; five of them go out in this time.
    sock = socket.create_connection((address, int(port)), timeout=40)
    sock.settimeout(20)

    def send():
        left = total
        while left > 0:
            part = min(left, 262144)
            sock.sendall(b'x' * part)
            left -= part
        sock.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    while data := sock.recv(262144):
        got += len(data)
    print(got)


def same(address, port, count, results):
    import hashlib  # the VM's small Python does not have it, and does not come here
    sent, got = hashlib.sha256(), hashlib.sha256()
    sock = socket.create_connection((address, port), timeout=60)

    def send():
        left = count
        while left > 0:
            part = os.urandom(min(left, 50000))
            sent.update(part)
            sock.sendall(part)
            left -= len(part)
        sock.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        while data := sock.recv(262144):
            got.update(data)
        sender.join(10)
    except OSError as err:
        print(address, err, file=sys.stderr)
    results.append(sent.digest() == got.digest())


def tcp_same(port, count, *addresses):
    results = []
    threads = [threading.Thread(target=same, args=(address, int(port), int(count), results)) for address in addresses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(results))


def tcp_steps(address, port, patience='4'):
    sock = socket.create_connection((address, int(port)), timeout=3)
    sock.settimeout(float(patience))
    print(sock.getsockname()[1], file=sys.stderr)
    for line in sys.stdin:
        text = line.rstrip('\n').encode()
        try:
            sock.sendall(text)
            got = b''
            while len(got) < max(len(text), 1) and (data := sock.recv(65536)):
                got += data
            print(got.decode('latin-1') or 'CLOSED', flush=True)
        except ConnectionResetError:
            print('RESET', flush=True)
        except socket.timeout:
            print('TIMEOUT', flush=True)


if __name__ == '__main__':
    commands = {'udp-sink': udp_sink, 'udp-flood': udp_flood, 'udp-paced': udp_paced,
                'tcp-echo': tcp_echo, 'tcp-ask': tcp_ask, 'tcp-bulk': tcp_bulk, 'tcp-same': tcp_same,
                'tcp-steps': tcp_steps}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
