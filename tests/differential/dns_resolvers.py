# SPDX-License-Identifier: GPL-2.0-or-later
"""The resolvers as endpoints. Each queries the server of this module, which answers with the steps of a message. A
resolver has understood a message if it returns the address of the forbidden name."""
import asyncio
import json
import os
import shutil
import socket
import struct
import subprocess

from core import HERE, Endpoint
from dns_responses import ADDRESS, ADDRESS6, question_of
from dns_servers import Collector, Dnsmasq
from exchange import AT_ONCE

SERVER_PORT = 53


class Answering(asyncio.DatagramProtocol):
    """A DNS server that answers a question with the message that was generated for it, with the ID of the query."""

    def __init__(self, messages):
        self.by_question = {question_of(m.opening): m for m in messages}

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        m = self.by_question.get(question_of(data))
        for step in m.steps if m else ():
            self.transport.sendto((data[:2] if step[:2] == b'\x11\x11' else step[:2]) + step[2:], address)


async def serve_while(messages, work):
    """Serves the messages while WORK runs."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Answering(messages),
                                                                             local_addr=('127.0.0.1', SERVER_PORT))
    try:
        return await work()
    finally:
        transport.close()


async def ask(port, m):
    """Returns the answer of the resolver on PORT to the question of a message."""
    loop = asyncio.get_running_loop()
    transport, collector = await loop.create_datagram_endpoint(Collector, remote_addr=('127.0.0.1', port))
    try:
        transport.sendto(struct.pack('!H', 0x7777) + m.opening[2:])
        begin = loop.time()
        while not collector.received and loop.time() - begin < 0.5:
            await asyncio.sleep(0.005)
    finally:
        transport.close()
    return b''.join(collector.received)


def after_name(data, at):
    while data[at]:
        if data[at] >= 0xc0:
            return at + 2
        at += 1 + data[at]
    return at + 1


def record_data(answer):
    """Returns the data of the records before the first malformed one. Records behind that are ignored, because no
    client reads them even if a forwarder passes them on."""
    found = []
    try:
        questions, *counts = struct.unpack_from('!HHHH', answer, 4)
        at = 12
        for _ in range(questions):
            at = after_name(answer, at) + 4
        for _ in range(sum(counts)):
            at = after_name(answer, at) + 10
            length = struct.unpack_from('!H', answer, at - 2)[0]
            if at + length > len(answer):
                break
            found.append(answer[at:at + length])
            at += length
    except (IndexError, struct.error):
        pass
    return found


class Forwarding:
    """A resolver that accepts queries on a port."""

    def understand(self, messages):
        async def work():
            answers, waiting = [b''] * len(messages), iter(enumerate(messages))

            async def worker():
                for index, m in waiting:
                    answers[index] = await ask(self.port, m)
            await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
            return answers
        answers = asyncio.run(serve_while(messages, work))
        return [(ADDRESS6 if m.place == 'type' else ADDRESS) in record_data(answer) for m,
                answer in zip(messages, answers)]


class DnsmasqResolver(Forwarding, Dnsmasq):
    name, port, more = 'dnsmasq-resolver', 5322, f'server=127.0.0.1#{SERVER_PORT}\ncache-size=0\n'


class Glibc(Endpoint):
    """getaddrinfo() of this machine's C library."""
    name, groups, program = 'glibc', ('/',), '/usr/bin/python3'

    def start(self):
        shutil.copy(f'{HERE}/endpoints/resolve.py', self.folder)
        self.write('resolv.conf', 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
        self.write('nsswitch.conf', 'hosts: dns\n')

    def understand(self, messages):
        names = []
        for m in messages:
            labels, at = [], 12
            while m.opening[at]:
                labels.append(m.opening[at + 1:at + 1 + m.opening[at]].decode())
                at += 1 + m.opening[at]
            names.append(('.'.join(labels) + '.', socket.AF_INET6 if m.place == 'type' else socket.AF_INET))
        self.write('names', json.dumps(names))

        async def work():
            process = await asyncio.create_subprocess_exec(*self.command('sh', '-c',
                                                                         'mount --bind /endpoint/resolv.conf '
                                                                         '/etc/resolv.conf && mount --bind '
                                                                         '/endpoint/nsswitch.conf /etc/nsswitch.conf '
                                                                         '&& '
                                                                         'exec python3 /endpoint/resolve.py'),
                                                                         stdin=subprocess.DEVNULL)
            await process.wait()
        asyncio.run(serve_while(messages, work))
        path = os.path.join(self.folder, 'found')
        if not os.path.exists(path):
            raise RuntimeError('resolve.py wrote no result')
        with open(path) as f:
            found = json.load(f)
        return [socket.inet_ntop(family, ADDRESS6 if family == socket.AF_INET6 else ADDRESS) in addresses
                for (_, family), addresses in zip(names, found)]


RESOLVERS = (Glibc, DnsmasqResolver)
