#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed traffic for hours, and the books about it.

    soak.py serve PORT CERTIFICATE                       HTTP and UDP on this port, HTTP over TLS on the next, DNS on
                                                         53, until SIGTERM; then prints how many EVIL-PATTERN have come
    soak.py ask ADDRESS ADDRESS6 PORT RATE SECONDS       RATE datagrams a second, and the rest in proportion; prints a
                                                         line of JSON
    soak.py raw RATE SECONDS SEED CLI SRV [FILE...]      packets that no program would send: broken ones, and captures
                                                         that are played again; CLI and SRV are NAMESPACE,DEVICE,MAC of
                                                         the next hop
    soak.py watch SUPERVISOR EVE SOCKET FILE INTERVAL    asks the daemon (SLUICE) each INTERVAL seconds for its
                                                         counters, rotates its events and counts them; until SIGTERM,
                                                         then waits until no flow is left. Prints JSON; FILE has a line
                                                         for each look
    soak.py judge FOLDER                                 reads what those have printed: asked, raw, served, watched,
                                                         looks, kernel, and soak_load's bulk, bulk_served; prints the
                                                         figures, and fails when they don't agree
"""
import asyncio
import collections
import ctypes
import json
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

from continuity import EVIL, PATIENCE, Echo, Numbers, room

PAGES = {b'/small': b'x' * 3000, b'/large': b'y' * 100000}


# --- The server -------------------------------------------------------------------------------------------------------

class Server:
    def __init__(self):
        self.evil = 0

    async def page(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b'\r\n\r\n')
                self.evil += EVIL in head
                path, close = head.split(b' ')[1], b'connection: close' in head.lower()
                body = PAGES.get(path, b'')
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n' %
                             (len(body), b'Connection: close\r\n' if close else b'') + body)
                await writer.drain()
                if close:
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, ssl.SSLError):
            pass
        writer.close()


class EchoAndCount(Echo):
    def __init__(self, server):
        self.server = server

    def datagram_received(self, data, address):
        self.server.evil += EVIL in data
        super().datagram_received(data, address)   # the client counts it, too


class Names(Echo):
    """Each name has an address."""

    def datagram_received(self, data, address):
        end = data.index(b'\0', 12) + 5
        answer = b'\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\x42\2\2'
        self.transport.sendto(data[:2] + b'\x81\x80\0\1\0\1\0\0\0\0' + data[12:end] + answer, address)


async def serve(port, certificate):
    port, loop, stop, server = int(port), asyncio.get_running_loop(), asyncio.Event(), Server()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    await loop.create_datagram_endpoint(lambda: EchoAndCount(server), local_addr=('0.0.0.0', port))
    await loop.create_datagram_endpoint(Names, local_addr=('0.0.0.0', 53))
    for host in '0.0.0.0', '::':
        await asyncio.start_server(server.page, host, port, backlog=512)
        await asyncio.start_server(server.page, host, port + 1, backlog=512, ssl=context)
    print('listening', flush=True)
    await stop.wait()
    print(json.dumps({'evil': server.evil}), flush=True)


# --- The client -------------------------------------------------------------------------------------------------------

class Client:
    def __init__(self, address, address6, port, seconds):
        self.hosts, self.port, self.end = (address, address6), port, time.monotonic() + seconds
        self.done, self.failures = collections.Counter(), []
        self.tls = ssl._create_unverified_context()

    async def paced(self, rate, action):
        """So many times a second; what has been missed is made up for, but not in one go."""
        due = time.monotonic() + random.random() / rate
        while (now := time.monotonic()) < self.end:
            if due > now:
                await asyncio.sleep(min(due, self.end) - now)
                continue
            due = max(due + 1 / rate, now - 1)
            await action()

    async def request(self, reader, writer, path, close):
        writer.write(b'GET %s HTTP/1.1\r\nHost: there\r\n%s\r\n' % (path, b'Connection: close\r\n' if close else b''))
        await writer.drain()
        await reader.readuntil(b'\r\n\r\n')
        assert await reader.readexactly(len(PAGES[path])) == PAGES[path]

    async def connection(self, kind, path, count, rate, tls):
        host = self.hosts[self.done[kind] % 2]
        reader, writer = await asyncio.open_connection(host, self.port + (1 if tls else 0), ssl=self.tls if tls
                                                       else None)
        due = time.monotonic()
        for i in range(count):
            last = i + 1 == count or time.monotonic() >= self.end
            await asyncio.wait_for(self.request(reader, writer, path, last), PATIENCE)
            self.done[kind] += 1
            if last:
                break
            due = max(due + 1 / rate, time.monotonic() - 1)
            await asyncio.sleep(max(0, due - time.monotonic()))
        writer.close()
        if not tls:
            await writer.wait_closed()

    def requests(self, kind, path, count, rate, tls=False):
        """Connections of `count` requests, one after the other."""
        async def action():
            try:
                await self.connection(kind, path, count, rate, tls)
            except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, AssertionError) as error:
                self.failures.append(f'{kind}: {type(error).__name__} {error}')
        return self.paced(rate / count, action)

    async def evil(self):
        """A request that must not be answered."""
        try:
            reader, writer = await asyncio.open_connection(self.hosts[self.done['evil'] % 2], self.port)
            # At its end it is gone, and says it no more often.
            writer.get_extra_info('socket').setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            self.done['evil'] += 1
            writer.write(b'GET /evil/%s HTTP/1.1\r\nHost: there\r\n\r\n' % EVIL)
            if await asyncio.wait_for(reader.read(100), 1):
                self.done['evil_answered'] += 1
            writer.close()
        except (OSError, asyncio.TimeoutError) as error:
            if 'writer' not in locals():
                self.failures.append(f'evil: {type(error).__name__} {error}')
            else:
                writer.transport.abort()


class Answers(asyncio.DatagramProtocol):
    """Of datagrams that are known by their first bytes."""

    def __init__(self, length):
        self.length, self.seen = length, set()

    def connection_made(self, transport):
        self.transport = transport
        room(transport)

    def datagram_received(self, data, address):
        self.seen.add(data[:self.length])


async def ask(address, address6, port, rate, seconds):
    port, rate, seconds = int(port), float(rate), float(seconds)
    loop, client = asyncio.get_running_loop(), Client(address, address6, port, seconds)
    counts = collections.Counter()
    _, numbers = await loop.create_datagram_endpoint(Numbers, remote_addr=(address, port))
    _, names = await loop.create_datagram_endpoint(lambda: Answers(2), remote_addr=(address, 53))
    _, large = await loop.create_datagram_endpoint(lambda: Answers(8), remote_addr=(address, port))
    names_answered = 0

    async def number():
        bad = (counts['sent'] + counts['evil']) % 50 == 49
        numbers.send(0, b'number %d %s' % (counts['sent'] + counts['evil'], EVIL if bad else b'good'))
        counts['evil' if bad else 'sent'] += 1

    async def name():
        nonlocal names_answered
        if len(names.seen) == 65536:
            names_answered += len(names.seen)
            names.seen.clear()
        text = b'host%d' % (counts['names'] % 65536)
        names.transport.sendto(struct.pack('>HHHHHH', counts['names'] % 65536, 0x100, 1, 0, 0, 0) + bytes([len(text)]) +
                               text + b'\4test\0\0\1\0\1')
        counts['names'] += 1

    async def fragments():
        large.transport.sendto(struct.pack('>Q', counts['large']) + bytes(random.choice((1600, 4000, 9000))))
        counts['large'] += 1

    await asyncio.gather(
        client.paced(rate, number), client.paced(rate / 10, name), client.paced(rate / 50, fragments),
        client.paced(2, client.evil),
        client.requests('small', b'/small', 500, rate / 10), client.requests('small', b'/small', 500, rate / 10),
        client.requests('large', b'/large', 50, rate / 50), client.requests('large', b'/large', 20, rate / 50),
        client.requests('new', b'/small', 1, rate / 30), client.requests('new', b'/small', 1, rate / 30),
        client.requests('tls', b'/small', 10, rate / 50, True))
    end = time.monotonic() + PATIENCE
    while (len(numbers.answered) < counts['sent'] or len(large.seen) < counts['large']) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    print(json.dumps({
        'datagrams': counts['sent'], 'datagrams_answered': len(numbers.answered), 'evil_datagrams': counts['evil'],
        'evil_datagrams_answered': numbers.evil_answered, 'stall': round(numbers.longest, 3), 'large': counts['large'],
        'large_answered': len(large.seen),
        'names': counts['names'], 'names_answered': names_answered + len(names.seen), 'requests': dict(client.done),
        'http': client.done['small'] + client.done['large'] + client.done['new'], 'evil_requests': client.done['evil'],
        'evil_requests_answered': client.done['evil_answered'], 'failed': len(client.failures),
        'failures': client.failures[:5]}), flush=True)


# --- Packets as they are ----------------------------------------------------------------------------------------------

def raw_socket(place):
    """In that namespace, whatever becomes of this process."""
    name, device, mac = place.split(',')
    with open(f'/run/netns/{name}') as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), f'namespace {name}')
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    to = (device, 0x0800, 0, 1, bytes.fromhex(mac.replace(':', '')))
    return lambda data: sock.sendto(data, to)


def checksum(data):
    total = sum(struct.unpack(f'>{(len(data) + 1) // 2}H', data + b'\0' * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def patch(packet, at, old, new):
    """A checksum after other bytes: what was wrong stays wrong."""
    if at + 2 <= len(packet):
        value = (~struct.unpack_from('>H', packet, at)[0] & 0xffff) + checksum(new) + (~checksum(old) & 0xffff)
        while value >> 16:
            value = (value & 0xffff) + (value >> 16)
        struct.pack_into('>H', packet, at, ~value & 0xffff)


def readdress(packet, source, target):
    packet = bytearray(packet)
    old, new, header = bytes(packet[12:20]), source + target, (packet[0] & 15) * 4
    packet[12:20] = new
    patch(packet, 10, old, new)
    if struct.unpack_from('>H', packet, 6)[0] & 0x1fff == 0:
        if packet[9] == 6:
            patch(packet, header + 16, old, new)
        elif packet[9] == 17 and packet[header + 6:header + 8] != b'\0\0':
            patch(packet, header + 6, old, new)
    return packet


def read_capture(path):
    """IPv4 packets of a pcap of Ethernet or IP."""
    with open(path, 'rb') as f:
        data = f.read()
    order = {b'\xd4\xc3\xb2\xa1': '<', b'\xa1\xb2\xc3\xd4': '>'}.get(data[:4])
    link = struct.unpack(order + 'I', data[20:24])[0] if order else -1
    if link not in (1, 101):
        return
    at, skip = 24, 14 if link == 1 else 0
    while at + 16 <= len(data):
        size = struct.unpack_from(order + 'I', data, at + 8)[0]
        frame = data[at + 16:at + 16 + size]
        at += 16 + size
        packet = frame[skip:]
        if (skip == 0 or frame[12:14] == b'\x08\0') and len(packet) >= 20 and packet[0] >> 4 == 4:
            yield packet[:struct.unpack_from('>H', packet, 2)[0] or len(packet)]


def conversations(paths):
    """Packets of all captures: whether the one who began sent it, the pair's number, the bytes."""
    for path in paths:
        first = {}
        for packet in read_capture(path):
            source, target = packet[12:16], packet[16:20]
            pair = min(source, target) + max(source, target)
            number, client = first.setdefault(pair, (len(first), source))
            if len(packet) <= 1500 and EVIL not in packet:
                yield client == source, number, packet


def broken(chance):
    """An IP header that routers take, and nonsense behind it."""
    protocol = chance.choice((1, 6, 6, 17, 47, 50, 132, chance.randrange(256)))
    body = bytearray(chance.randbytes(chance.randrange(0, 120)))
    if protocol == 6 and len(body) > 13:
        body[12] = chance.choice((0x50, 0x60, 0xf0, chance.randrange(256)))
    if protocol == 17 and len(body) > 6:
        struct.pack_into('>H', body, 4, chance.choice((len(body), 0, 8, chance.randrange(65536))))
    offset = chance.choice((0, 0, 0, 0x2000, 1, 0x2003, chance.randrange(0x2000)))
    options = chance.choice((b'', b'', b'', b'\1\1\1\0', b'\x94\4\0\0'))
    head = struct.pack('>BBHHHBBH', 0x45 + len(options) // 4, chance.randrange(256), 20 + len(options) + len(body),
                       chance.randrange(65536), offset, 64, protocol, 0)
    return head + bytes(8) + options + body


def finish(packet):
    struct.pack_into('>H', packet, 10, 0)
    struct.pack_into('>H', packet, 10, ~checksum(bytes(packet[:(packet[0] & 15) * 4])) & 0xffff)
    return packet


def raw(rate, seconds, seed, cli, srv, *paths):
    rate, end, chance = float(rate), time.monotonic() + float(seconds), random.Random(int(seed))
    send, counts, rounds, begin, sent = {True: raw_socket(cli),
                                         False: raw_socket(srv)}, collections.Counter(), 0, time.monotonic(), 0

    def address(from_client, number):
        return bytes((10, 88 if from_client else 77, rounds % 256, number % 254 + 1))

    def wait():
        nonlocal sent
        sent += 1
        if (ahead := begin + sent / rate - time.monotonic()) > 0.005:
            time.sleep(ahead)

    while time.monotonic() < end:
        packets = conversations(paths) if paths else iter([(True, 0, broken(chance))] * 100)
        for from_client, number, packet in packets:
            if time.monotonic() >= end:
                break
            for kind, data, side in (('replayed',
                                      readdress(packet, address(from_client, number), address(not from_client, number)),
                                      from_client),
                                     ('broken', None, chance.random() < 0.5)):
                if kind == 'broken':
                    if chance.random() < 0.8:
                        continue
                    data = finish(readdress(broken(chance), address(side, chance.randrange(8)),
                                            address(not side, chance.randrange(8))))
                try:
                    send[side](data)
                    counts[kind] += 1
                except OSError:
                    counts['refused'] += 1
                wait()
        rounds += 1
    print(json.dumps({**counts, 'rounds': rounds}), flush=True)


# --- The books --------------------------------------------------------------------------------------------------------

def count_events(path, lines):
    """By kind, and by what clients can tell. The counters of the last stats event."""
    stats = None
    with open(path, 'rb') as f:
        for line in f:
            if b'"event_type":"http"' in line and b'"url":"/bulk/' in line:   # most of them: not worth to be parsed
                lines['http'] += 1
                lines['http bulk'] += 1
                continue
            event = json.loads(line)
            kind = event['event_type']
            lines[kind] += 1
            if kind in ('alert', 'drop'):
                lines[f'{kind} {event.get("alert", {}).get("signature_id")}'] += 1
            elif kind == 'http':
                lines['http ' + event['http'].get('url', '')] += 1
            elif kind == 'flow':
                lines['flow packets'] += event['flow']['pkts_toserver'] + event['flow']['pkts_toclient']
            elif kind == 'dns' and event['dns'].get('type') in ('query', 'request') and \
                    event.get('dest_ip') == '10.66.2.2':
                lines['dns request'] += 1
            elif kind == 'stats':
                stats = counters(event)
    return stats


class Watch:
    POOLS = ('flow.active', 'flow.memuse', 'tcp.active_sessions', 'tcp.memuse', 'tcp.reassembly_memuse',
             'app_layer.memuse', 'defrag.memuse')

    def __init__(self, supervisor, eve, sock, path):
        self.supervisor, self.eve, self.sock = int(supervisor), eve, sock
        self.looks, self.lines, self.wrong, self.begin = open(path, 'w',
                                                              buffering=1), collections.Counter(), [], time.monotonic()

    def stats(self):
        done = subprocess.run([os.environ['SLUICE'], 'stats', '--json', '--all', '--socket', self.sock],
                              capture_output=True, timeout=60)
        return json.loads(done.stdout)

    def engine(self):
        return int(open(f'/proc/{self.supervisor}/task/{self.supervisor}/children').read().split()[0])

    def rss(self, pid):
        for line in open(f'/proc/{pid}/status'):
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
        return 0

    def cpu(self, path):
        name, fields = open(path).read().split('(', 1)[1].rsplit(')', 1)
        fields = fields.split()
        return name, (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def workers(self, engine):
        """CPU seconds of all threads that look at packets."""
        threads = [self.cpu(f'/proc/{engine}/task/{thread}/stat') for thread in os.listdir(f'/proc/{engine}/task')]
        return sum(seconds for name, seconds in threads if name.startswith('worker-q'))

    def idle(self):
        """CPU seconds nobody wanted, of the machine."""
        with open('/proc/stat') as f:
            fields = f.readline().split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf('SC_CLK_TCK')

    def rotate(self):
        old = self.eve + '.old'
        os.rename(self.eve, old)
        os.kill(self.supervisor, signal.SIGHUP)
        for _ in range(100):
            if os.path.exists(self.eve):
                break
            time.sleep(0.05)
        else:
            self.wrong.append('no new file after a rotation')
        count_events(old, self.lines)
        os.unlink(old)

    def look(self):
        stats, engine = self.stats(), self.engine()
        get = lambda path: value(stats, path)
        judged, packets = get('ips.accepted') + get('ips.blocked'), get('capture.kernel_packets')
        if judged != packets:
            self.wrong.append(f'{packets} packets, {judged} judged')
        found = {'seconds': round(time.monotonic() - self.begin), 'supervisor_kb': self.rss(self.supervisor),
                 'engine_kb': self.rss(engine), 'cpu': self.cpu(f'/proc/{engine}/stat')[1],
                 'workers': self.workers(engine), 'idle': self.idle(), 'exact': time.monotonic() - self.begin,
                 'packets': packets,
                 'lost': sum(v for k, v in flat(stats) if k.endswith(('_dropped', '.lost', 'overruns'))
                             and 'kernel' not in k),
                 **{pool: get(pool) for pool in self.POOLS}}
        self.looks.write(json.dumps(found) + '\n')
        return stats, found

    def busy(self, stats):
        return {pool: value(stats, pool) for pool in self.POOLS if value(stats, pool) != self.empty[pool]}

    def run(self, interval):
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
        _, first = self.look()
        self.empty = {pool: first[pool] for pool in self.POOLS}
        due = time.monotonic()
        while not stop:
            due += float(interval)
            while not stop and time.monotonic() < due:
                time.sleep(0.1)
            self.look()
            self.rotate()
        for _ in range(600):
            stats, last = self.look()
            if not self.busy(stats):
                break
            time.sleep(0.1)
        else:
            self.wrong.append(f'not given back: {self.busy(stats)}')
        print(json.dumps({'wrong': self.wrong, 'lines': self.lines, 'stats': stats}), flush=True)


def value(stats, path):
    for part in path.split('.'):
        stats = stats[part]
    return stats


def counters(event):
    """All counters of a stats event in one tree: those of Suricata, and those that only Sluice has."""
    def merge(one, other):
        for key, item in other.items():
            one[key] = merge(one.get(key, {}), item) if isinstance(item, dict) else item
        return one
    return merge(event['stats'], event['sluice']['stats'])


def flat(stats, before=''):
    for key, item in stats.items():
        if isinstance(item, dict):
            yield from flat(item, f'{before}{key}.')
        elif isinstance(item, int):
            yield before + key, item


# --- The verdict ------------------------------------------------------------------------------------------------------

def median(values):
    return sorted(values)[len(values) // 2]


def flat_memory(looks, wrong):
    """After a third of the time pools have been as full as they get: from then on nothing may grow but by 2 % and 2
    MiB."""
    settled = looks[len(looks) // 3:]
    part = max(len(settled) // 4, 1)
    for process in 'supervisor_kb', 'engine_kb':
        begin, end = median([l[process] for l in settled[:part]]), median([l[process] for l in settled[-part:]])
        print(f'{process}: {looks[0][process]} at the start, {begin} after a third of the time, {end} at the end, '
              f'{max(l[process] for l in looks)} at most')
        if end > begin * 1.02 + (2048 if looks[-1]['seconds'] >= 300 else 32768):
            wrong.append(f'{process} grows from {begin} to {end}')


def load(looks, ramp, bulk):
    """What of the CPU the workers had while the capacity was sought, and after that until the bulk client ended."""
    busy = [l for i, l in enumerate(looks) if i == 0
            or l['packets'] - looks[i - 1]['packets'] > 500 * (l['exact'] - looks[i - 1]['exact'])]
    print(f'bulk: {bulk["first_capacity"]} requests a second are the capacity at first, {bulk["capacity"]} later '
          f'({bulk["least_capacity"]} to {bulk["most_capacity"]}); {bulk["rate"]} were wanted, {bulk["reached"]} '
          f'reached; the slowest took {bulk["slowest"]} s')
    for what, part in ('the capacity is sought',
                       [l for l in busy if l['seconds'] <= ramp]), ('that is paced',
                                                                    [l for l in busy if l['seconds'] > ramp + 1]):
        if len(part) > 1:
            first, last = part[0], part[-1]
            took = last['exact'] - first['exact']
            print(f'while {what}: {(last["packets"] - first["packets"]) / took:.0f} packets a second; of a CPU the '
                  f'workers had {(last["workers"] - first["workers"]) * 100 / took:.0f} %, the engine '
                  f'{(last["cpu"] - first["cpu"]) * 100 / took:.0f} %, idle were '
                  f'{(last["idle"] - first["idle"]) * 100 / took:.0f} % of {os.cpu_count()} CPUs')


def judge(folder):
    asked, raw_sent, served, watched = (json.load(open(os.path.join(folder, name)))
                                        for name in ('asked', 'raw', 'served', 'watched'))
    bulk, bulk_served = (json.load(open(os.path.join(folder, name))) for name in ('bulk', 'bulk_served'))
    looks = [json.loads(line) for line in open(os.path.join(folder, 'looks'))]
    kernel = json.load(open(os.path.join(folder, 'kernel')))
    stats, lines, wrong = watched['stats'], collections.Counter(watched['lines']), list(watched['wrong'])
    final = count_events(os.path.join(folder, 'ips', 'eve.json'), lines) # of what came after the last rotation

    def same(what, got, wanted):
        if got != wanted:
            wrong.append(f'{what}: {got}, wanted {wanted}')

    same('datagrams that came back', asked['datagrams_answered'], asked['datagrams'])
    same('large datagrams that came back', asked['large_answered'], asked['large'])
    same('names that were answered', asked['names_answered'], asked['names'])
    same('requests that failed', asked['failed'], 0)
    same('datagrams that must not come back', asked['evil_datagrams_answered'], 0)
    same('requests that must not be answered', asked['evil_requests_answered'], 0)
    same('patterns that came to the server', served['evil'], 0)
    same('bulk requests that failed', bulk['failed'], 0)
    same('bulk requests the server did not understand', bulk_served['wrong'], 0)
    bulk_http = sum(bulk[kind] for kind in ('pages', 'downloads', 'zipped', 'posts', 'new'))
    same('bulk requests that were answered', bulk_http + bulk['bursts'], bulk['asked'])
    same('bulk requests that came to the server', bulk_served['requests'], bulk_http)
    same('bulk datagrams that came to the server', bulk_served['datagrams'], bulk['datagrams'])
    # The kernel, and ours.
    queues = stats['queue'].values()
    same('packets of the queues', sum(q['packets'] for q in queues), value(stats, 'capture.kernel_packets'))
    same('ids of the queues', sum(q['id_sequence'] for q in queues), value(stats, 'capture.kernel_packets'))
    same('packets that nft saw before', kernel['before'], value(stats, 'capture.kernel_packets'))
    same('packets that nft saw after', kernel['after'], value(stats, 'ips.accepted'))
    same('accepted and blocked', value(stats, 'ips.accepted') + value(stats, 'ips.blocked'),
         value(stats, 'capture.kernel_packets'))
    same('reasons of drops', sum(v for v in stats['ips']['drop_reason'].values()), value(stats, 'ips.blocked'))
    for name in ('queue_dropped', 'user_dropped', 'waiting', 'verdict_errors', 'verdict_lost', 'malformed_messages',
                 'lost', 'receive_overruns'):
        same(f'queues: {name}', sum(q[name] for q in queues), 0)
    for kind, counted in stats['output'].items():
        if isinstance(counted, dict):
            same(f'{kind} events lost', counted['lost'], 0)
    same('engines that died', stats['engine']['restarts'] + stats['engine']['hangs'], 0)
    # What we wrote, and what the clients did.
    for kind in 'alert', 'drop', 'flow':
        same(f'{kind} events', lines[kind], value(final, f'output.{kind}.written'))
    same('events', sum(v for k, v in lines.items() if ' ' not in k and k != 'stats'),
         sum(counted['written'] for kind, counted in final['output'].items() if isinstance(counted, dict)
             and kind != 'stats'))
    same('packets at the end', value(final, 'capture.kernel_packets'), value(stats, 'capture.kernel_packets'))
    same('requests that were logged', lines['http /small'] + lines['http /large'], asked['http'])
    same('bulk requests that were logged', lines['http bulk'], bulk_http)
    same('names that were logged', lines['dns request'], asked['names'])
    same('datagrams of the pattern', lines['alert 1'], asked['evil_datagrams'])
    same('requests of the pattern', lines['alert 2'], asked['evil_requests'])

    last = looks[-1]
    print(f'{last["packets"]} packets in {last["seconds"]} s, {value(stats, "ips.blocked")} of them dropped; the '
          f'engine used {last["cpu"] * 100 / max(last["seconds"], 1):.1f} % of a CPU')
    load(looks, kernel['ramp'], bulk)
    print(json.dumps({'bulk': bulk, 'asked': asked, 'raw': raw_sent,
                      'events': {k: v for k, v in lines.items() if ' ' not in k}}))
    flat_memory(looks, wrong)
    print(f'{lines["flow packets"]} packets in {lines["flow"]} flows; at most {max(l["flow.active"] for l in looks)} '
          f'flows at a time')
    if wrong:
        sys.exit('\n'.join(wrong))


def watch(supervisor, eve, sock, path, interval):
    Watch(supervisor, eve, sock, path).run(interval)


if __name__ == '__main__':
    commands = {'serve': serve, 'ask': ask, 'raw': raw, 'watch': watch, 'judge': judge}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    command = commands[sys.argv[1]]
    if asyncio.iscoroutinefunction(command):
        asyncio.run(command(*sys.argv[2:]))
    else:
        command(*sys.argv[2:])
