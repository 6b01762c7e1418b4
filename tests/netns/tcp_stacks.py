#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of Linux's own TCP with random settings, without and with Sluice: what succeeds without it must succeed
with it.

    tcp_stacks.py PREFIX OUT SEED ROUNDS FIRST-PORT [once]

PREFIX names the network namespaces of lib.sh; two runs must differ in FIRST-PORT, since ports may stay in TIME_WAIT. A
round sets random sysctls that change handshake and flow, the same in both runs, on client and server, then runs all
scenarios at the same time. `once` leaves out the scenarios that use ports again: on a bad link a late reset may end the
second connection. OUT gets a JSON object: name of the connection -> "ok" or the error. `tcp_stacks.py compare BEFORE
AFTER` prints a table of the scenarios and ends with 1 when a connection failed that had succeeded.
"""
import collections
import ctypes
import fcntl
import json
import random
import select
import socket
import struct
import sys
import termios
import threading
import time

CLONE_NEWNET = 0x40000000
TCP_MD5SIG, TCP_REPAIR, TCP_FASTOPEN, MSG_FASTOPEN, IPPROTO_MPTCP = 14, 19, 23, 0x20000000, 262
SERVER, CLIENT = {4: '10.66.2.2', 6: 'fd66:2::2'}, {4: '10.66.1.2', 6: 'fd66:1::2'}
TIMEOUT = 6
URGENT_AFTER = (1, 40, 300, 1, -4000, 3)   # bytes in the stream before each urgent byte; negative: none follows
SYSCTLS = {'tcp_timestamps': (0, 1, 2), 'tcp_sack': (0, 1), 'tcp_dsack': (0, 1), 'tcp_window_scaling': (0, 1),
           'tcp_ecn': (0, 1, 2),
           'tcp_fastopen': (0, 1, 3, 0x7, 0x203, 0x207, 0x403, 0x607), 'tcp_syncookies': (0, 1, 2),
           'tcp_rfc1337': (0, 1),
           'tcp_tw_reuse': (0, 1), 'tcp_autocorking': (0, 1), 'tcp_mtu_probing': (0, 2),
           'tcp_slow_start_after_idle': (0, 1),
           'tcp_abort_on_overflow': (0, 1), 'tcp_early_retrans': (0, 3)}


def enter(namespace):
    with open(f'/run/netns/{namespace}') as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f'setns {namespace}')


def run_in(namespace, call):
    """In a thread of that namespace; the result is in the list that comes back, when the thread has ended."""
    result = []

    def body():
        try:
            enter(namespace)
            result.append(call())
        except OSError as error:
            result.append(f'{type(error).__name__}: {error}')
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread, result


def new_socket(family, protocol=0):
    sock = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_STREAM, protocol)
    sock.settimeout(TIMEOUT)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return sock


def read_all(sock):
    return b''.join(iter(lambda: sock.recv(65536), b''))


def read_exact(sock, count):
    data = b''
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise OSError('closed early')
        data += more
    return data


def wait_until_acknowledged(sock):
    """An abort discards what was not sent or got lost on the way: on a bad or slow link the peer would miss it, with
    and without Sluice."""
    end, left = time.monotonic() + TIMEOUT, 1
    while left and time.monotonic() < end:
        left = struct.unpack('i', fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]
        time.sleep(0.01)


def abort(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    sock.close()


def vanish(sock):
    """As if the host had crashed: nothing is sent."""
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    sock.close()


def md5_key(address):
    packed = struct.pack('HH4s120x', socket.AF_INET, 0, socket.inet_aton(address))
    return packed + struct.pack('BBHI80s', 0, 0, 6, 0, b'secret')


class Case:
    """One connection or several of the same ports. Server and client are methods that take a socket; what they return
    must be equal."""

    def __init__(self, number, scenario, family, chance, first_port):
        self.port, self.scenario, self.family = first_port + number, scenario, family
        self.name = f'{scenario} IPv{family} {number}'
        self.out = chance.randbytes(chance.choice((1, 10, 1000, 20000)))
        self.back = chance.randbytes(chance.choice((1, 10, 1000, 20000)))
        self.ready = threading.Event()
        self.client_port = self.port
        self.connections = 2 if scenario.startswith('again') or scenario == 'fastopen' else 1
        self.v4_only = scenario == 'md5'

    def listen(self):
        listener = new_socket(self.family, IPPROTO_MPTCP if self.scenario == 'mptcp' else 0)
        if self.scenario == 'small mss':
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 200)
        if self.scenario == 'zero window':
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        if self.scenario == 'md5':
            listener.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, md5_key(CLIENT[4]))
        if self.scenario.startswith('fastopen'):
            listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)
        listener.bind((SERVER[self.family], self.port))
        listener.listen(16)
        self.ready.set()
        return listener

    def serve(self):
        listener = self.listen()
        results = []
        for turn in range(self.connections):
            sock, _ = listener.accept()
            sock.settimeout(TIMEOUT)
            results.append(self.answer(sock, turn))
        return results

    def answer(self, sock, turn):
        kind = self.scenario
        if kind == 'server first':
            sock.sendall(self.back)
            return read_exact(sock, len(self.out)) == self.out
        if kind == 'half close':
            good = read_all(sock) == self.out
            sock.sendall(self.back)
            sock.close()
            return good
        if kind == 'server half close':
            sock.sendall(self.back)
            sock.shutdown(socket.SHUT_WR)
            return read_all(sock) == self.out
        if kind == 'zero window':
            time.sleep(0.4)
        if kind == 'urgent':
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 0)
        if kind == 'urgent dialogue':
            return self.hear_urgent(sock) and read_exact(sock, len(self.out)) == self.out
        good = read_exact(sock, len(self.out)) == self.out
        sock.sendall(self.back)
        first = turn == 0
        if kind == 'server aborts' or (kind == 'again after server reset' and first):
            wait_until_acknowledged(sock)
            abort(sock)
        elif kind == 'again after server crash' and first:
            wait_until_acknowledged(sock)
            vanish(sock)
        elif kind == 'again while open' and first:
            self.kept = sock
        elif kind == 'again after server closes':
            sock.close()
        else:
            try:
                sock.recv(1)   # until the client closes
            except OSError:
                pass
            sock.close()
        return good

    def hear_urgent(self, sock):
        """As rlogin and database servers do: the byte comes past the stream, as the process is told of it."""
        good = True
        for size in URGENT_AFTER:
            good = read_exact(sock, abs(size)) == b'\3' * abs(size) and good
            if size > 0:
                urgent = select.poll()
                urgent.register(sock, select.POLLPRI)
                ready = bool(urgent.poll(1000 * TIMEOUT))
                sock.settimeout(0)   # with a timeout Python waits for bytes in the stream
                good = ready and sock.recv(1, socket.MSG_OOB) == b'!' and good
                sock.settimeout(TIMEOUT)
            sock.sendall(b'\4')
        return good

    def say_urgent(self, sock):
        good = True
        for size in URGENT_AFTER:
            sock.sendall(b'\3' * abs(size))
            if size > 0:
                sock.send(b'!', socket.MSG_OOB)
            good = read_exact(sock, 1) == b'\4' and good
        return good

    def ask(self):
        if not self.ready.wait(TIMEOUT):
            raise OSError('no listener')
        return [self.ask_once(turn) for turn in range(self.connections)]

    def ask_once(self, turn):
        kind, first = self.scenario, turn == 0
        sock = new_socket(self.family, IPPROTO_MPTCP if kind == 'mptcp' else 0)
        if kind.startswith('again'):
            sock.bind((CLIENT[self.family], self.client_port))
        if kind == 'small mss':
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 100)
        if kind == 'md5':
            sock.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, md5_key(SERVER[4]))
        out = self.out
        if kind.startswith('fastopen'):
            try:
                out = out[sock.sendto(out, MSG_FASTOPEN, (SERVER[self.family], self.port)):]
            except OSError as error:   # the client's sysctl forbids it
                if error.errno != 95:
                    raise
                sock.connect((SERVER[self.family], self.port))
        else:
            for attempt in range(20):
                try:
                    sock.connect((SERVER[self.family], self.port))
                    break
                except OSError as error:   # TIME_WAIT of the client itself
                    if error.errno != 99 or attempt == 19:
                        raise
                    time.sleep(0.1)
        if kind == 'keepalive':
            for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2)):
                sock.setsockopt(socket.IPPROTO_TCP, option, value)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            time.sleep(2.5)
        if kind == 'urgent':
            sock.send(b'!', socket.MSG_OOB)
        if kind == 'urgent dialogue':
            good = self.say_urgent(sock)
            sock.sendall(out)
            sock.close()
            return good
        if kind == 'server half close':
            good = read_all(sock) == self.back
            sock.sendall(out)
            sock.close()
            return good
        sock.sendall(out)
        if kind == 'half close':
            sock.shutdown(socket.SHUT_WR)
            return read_all(sock) == self.back
        good = read_exact(sock, len(self.back)) == self.back
        if kind == 'client aborts' or (kind == 'again after client reset' and first):
            abort(sock)
        elif kind in ('again after client crash', 'again while open') and first:
            vanish(sock)
        elif kind in ('again after server crash', 'again after server reset') and first:
            time.sleep(0.3)
            (vanish if 'crash' in kind else abort)(sock)
        elif kind == 'again after server closes':
            sock.settimeout(TIMEOUT)
            sock.recv(1)
            sock.close()
        else:
            sock.close()
        return good


SCENARIOS = ('plain', 'server first', 'half close', 'server half close', 'client aborts', 'server aborts', 'keepalive',
             'zero window', 'urgent', 'urgent dialogue',
             'small mss', 'md5', 'mptcp', 'fastopen', 'fastopen once', 'again after close', 'again after server closes',
             'again after client reset', 'again after server reset', 'again after client crash',
             'again after server crash', 'again while open')


def set_sysctls(namespace, values):
    def write():
        for name, value in values.items():
            with open(f'/proc/sys/net/ipv4/{name}', 'w') as file:
                file.write(str(value))
    thread, result = run_in(namespace, write)
    thread.join()
    if result[0]:
        raise SystemExit(result[0])


def run(prefix, out, seed, rounds, first_port, scenarios):
    chance, outcome, number = random.Random(seed), {}, 0
    for _ in range(rounds):
        for host in ('cli', 'srv'):
            set_sysctls(f'{prefix}-{host}', {name: chance.choice(values) for name, values in SYSCTLS.items()})
        running = []
        for scenario in scenarios:
            for family in (4, 6):
                number += 1
                case = Case(number, scenario, family, chance, first_port)
                if case.v4_only and family == 6:
                    continue
                running.append((case, run_in(f'{prefix}-srv', case.serve), run_in(f'{prefix}-cli', case.ask)))
        for case, (server, served), (client, asked) in running:
            client.join(5 * TIMEOUT)
            server.join(5 * TIMEOUT)
            good = [True] * case.connections
            outcome[case.name] = 'ok' if served == [good] and asked == [good] else f'server {served}, client {asked}'
    with open(out, 'w') as file:
        json.dump(outcome, file, indent=0)


def compare(before, after):
    with open(before) as first, open(after) as second:
        before, after = json.load(first), json.load(second)
    table, bad = collections.defaultdict(lambda: [0, 0, 0]), []
    for name, result in before.items():
        row = table[name.rsplit(' ', 2)[0]]
        row[0] += 1
        row[1] += result == 'ok'
        row[2] += after[name] == 'ok'
        if result == 'ok' != after[name]:
            bad.append(f'{name}: {after[name]}')
    print(f'{"scenario":46} {"connections":>11} {"ok without":>10} {"ok with":>8}')
    for name, row in table.items():
        print(f'{name:46} {row[0]:11} {row[1]:10} {row[2]:8}')
    print(*bad, sep='\n')
    return 1 if bad else 0


if __name__ == '__main__':
    if sys.argv[1] == 'compare':
        sys.exit(compare(*sys.argv[2:4]))
    wanted = [name for name in SCENARIOS if not (sys.argv[6:] and name.startswith('again'))]
    run(sys.argv[1], sys.argv[2], *(int(text) for text in sys.argv[3:6]), wanted)
