#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic of several kinds that must not notice anything.

    continuity.py serve ADDRESS,... PORT       UDP and HTTP, for ever; each datagram is answered with itself,
                                               EVIL-PATTERN with what no rule drops
    continuity.py ask ADDRESS,... PORT RATE    until SIGTERM: numbered datagrams to all addresses in turn (a queue has
                                               its own), every 50th with EVIL-PATTERN, which must not arrive; requests
                                               on connections that stay, and on new ones. Then waits for what is on its
                                               way, and prints one line of JSON. SIGUSR1: prints the longest stall since
                                               the last one, as soon as a later datagram to each address is answered and
                                               no request is older
"""
import asyncio
import json
import signal
import socket
import sys
import time

PATIENCE = 20   # seconds for one request, and for what is on its way at the end
EVIL = b'EVIL-PATTERN'
ARRIVED = b'IT-ARRIVED'
BODY = b'x' * 3000


def room(transport):
    """What piled up comes at once; 33 is SO_RCVBUFFORCE."""
    transport.get_extra_info('socket').setsockopt(socket.SOL_SOCKET, 33, 64 << 20)


# --- The server -------------------------------------------------------------------------------------------------------

class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport
        room(transport)

    def datagram_received(self, data, address):
        self.transport.sendto(data.replace(EVIL, ARRIVED), address)


async def answer(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b'\r\n\r\n')
            close = b'connection: close' in head.lower()
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n' %
                         (len(BODY), b'Connection: close\r\n' if close else b'') + BODY)
            await writer.drain()
            if close:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def serve(addresses, port):
    for address in addresses.split(','):
        await asyncio.get_running_loop().create_datagram_endpoint(Echo, local_addr=(address, int(port)))
    server = await asyncio.start_server(answer, '0.0.0.0', int(port), backlog=512)
    print('listening', flush=True)
    await server.serve_forever()


# --- The client -------------------------------------------------------------------------------------------------------

class Numbers(asyncio.DatagramProtocol):
    def __init__(self):
        self.answered, self.evil_answered, self.last, self.stall, self.longest = set(), 0, 0, 0.0, 0.0
        self.transports = []
        self.highest = {}   # address: the highest number that it answered

    def connection_made(self, transport):
        self.transports.append(transport)
        room(transport)

    def send(self, number, data):
        self.transports[(number + number // 50) % len(self.transports)].sendto(data)

    def datagram_received(self, data, address):
        now = time.monotonic()
        if self.last:
            self.stall = max(self.stall, now - self.last)
            self.longest = max(self.longest, self.stall)
        self.last = now
        if ARRIVED in data:
            self.evil_answered += 1
        else:
            number = int(data.split()[1])
            self.answered.add(number)
            self.highest[address[0]] = max(self.highest.get(address[0], 0), number)

    def error_received(self, error):
        print(f'datagram: {error}', file=sys.stderr)


class Requests:
    def __init__(self, addresses, port):
        self.addresses, self.port, self.begun = addresses, port, 0
        self.done, self.failures, self.stop, self.slowest, self.longest = 0, [], False, 0.0, 0.0
        self.pending = {}   # task: when its request began

    async def one(self, reader, writer, close):
        begin = self.pending[asyncio.current_task()] = time.monotonic()
        try:
            await self.exchange(reader, writer, close)
        finally:
            del self.pending[asyncio.current_task()]
        self.done += 1
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.longest = max(self.longest, self.slowest)

    async def exchange(self, reader, writer, close):
        writer.write(b'GET /some/where HTTP/1.1\r\nHost: there\r\n%s\r\n' % (b'Connection: close\r\n' if close
                                                                             else b''))
        await writer.drain()
        await reader.readuntil(b'\r\n\r\n')
        body = await reader.readexactly(len(BODY))
        assert body == BODY

    async def connection(self, count):
        self.begun += 1
        opening = asyncio.open_connection(self.addresses[self.begun % len(self.addresses)], self.port)
        reader, writer = await asyncio.wait_for(opening, PATIENCE)
        for i in range(count):
            await asyncio.wait_for(self.one(reader, writer, i + 1 == count), PATIENCE)
            if self.stop:
                break
            await asyncio.sleep(0.01)
        writer.close()

    async def run(self, count):
        while not self.stop:
            try:
                await self.connection(count)
            except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, AssertionError) as error:
                self.failures.append(f'{type(error).__name__} {error}')


async def ask(addresses, port, rate):
    loop, stop, numbers, requests = asyncio.get_running_loop(), asyncio.Event(), Numbers(), Requests(
        addresses.split(','), int(port))
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    for address in requests.addresses:
        await loop.create_datagram_endpoint(lambda: numbers, remote_addr=(address, int(port)))

    sent, evil, marks = 0, 0, set()

    async def mark():
        number, begin = sent + evil, time.monotonic()
        while any(numbers.highest.get(address, -1) < number for address in requests.addresses) or \
                any(pending < begin for pending in requests.pending.values()):
            await asyncio.sleep(0.01)
        print(f'{numbers.stall:.3f} {requests.slowest:.3f}', flush=True)
        numbers.stall = requests.slowest = 0.0

    loop.add_signal_handler(signal.SIGUSR1, lambda: marks.add(loop.create_task(mark())))
    print('asking', flush=True)
    # Connections that stay for good, for a while, and for one request.
    clients = [asyncio.create_task(requests.run(count)) for count in (1 << 30, 1 << 30, 50, 50, 1, 1, 1)]
    begin = time.monotonic()
    while not stop.is_set():
        due = int((time.monotonic() - begin) * float(rate))
        while sent + evil < due:
            number = sent + evil
            bad = number % 50 == 49
            numbers.send(number, b'number %d %s' % (number, EVIL if bad else b'good'))
            sent, evil = (sent, evil + 1) if bad else (sent + 1, evil)
        await asyncio.sleep(0.002)
    requests.stop = True
    await asyncio.gather(*clients)
    end = time.monotonic() + PATIENCE
    while len(numbers.answered) < sent and time.monotonic() < end:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.2)
    print(json.dumps({'sent': sent, 'answered': len(numbers.answered), 'evil_sent': evil,
                      'evil_answered': numbers.evil_answered,
                      'stall': round(numbers.longest, 3), 'slowest': round(requests.longest, 3),
                      'requests': requests.done, 'failed': len(requests.failures),
                      'failures': requests.failures[:5]}), flush=True)


if __name__ == '__main__':
    commands = {'serve': serve, 'ask': ask}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    asyncio.run(commands[sys.argv[1]](*sys.argv[2:]))
