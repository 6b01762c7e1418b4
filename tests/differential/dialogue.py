# SPDX-License-Identifier: GPL-2.0-or-later
"""Differential tests of protocols in which the meaning of the client's bytes depends on the server's replies (SMTP,
FTP).

A session is everything that a client sends on one connection. Every session runs with every endpoint, and all bytes of
both peers are recorded. The capture for `sluice replay --ips` is made from this record, so Sluice gets the replies of
that server. A finding is one of two kinds: the server understood the forbidden word at its place although Sluice did
not drop it, or Sluice dropped a session without a forbidden word that the server served."""
import asyncio
import collections
import json
import random
import time

import core

# steps     bytes (one write of the client), WAIT (wait for the server's reply), or tuples on a data connection (FTP)
# deadline  index of the step after which a drop is too late, because the server has the forbidden word
WAIT = None
Session = collections.namedtuple('Session', 'number seed port steps place features deadline')
AT_ONCE = 16
READ_MAX = 1 << 18


def last_bytes(steps):
    return max(n for n, step in enumerate(steps) if isinstance(step, bytes))


def session(number, seed, port, steps, place, features, deadline=None):
    return Session(number, seed, port, list(steps), place, tuple(features), last_bytes(steps) if deadline is None
                   else deadline)


def to_json(s):
    fields = s._asdict()
    fields['steps'] = [step.decode('latin-1') if isinstance(step, bytes) else
                       [part.decode('latin-1') if isinstance(part, bytes) else part for part in step] if step else None
                       for step in s.steps]
    return fields


def from_json(fields):
    steps = [step.encode('latin-1') if isinstance(step, str) else
             tuple(part.encode('latin-1') if isinstance(part, str) and n > 0 else part for n, part in enumerate(step))
             if step else None
             for step in fields['steps']]
    return Session(**{**fields, 'steps': steps, 'features': tuple(fields['features'])})


# --- Records

class Record:
    """The events of a session: ('open', connection, opener, client port, server port), ('send', connection, side,
    bytes, step), ('close', connection, side). Connection 0 is the control connection; side 0 is the client."""

    def __init__(self):
        self.events, self.connections, self.received = [], 0, bytearray()

    def open(self, opener, client_port, server_port):
        self.events.append(('open', self.connections, opener, client_port, server_port))
        self.connections += 1
        return self.connections - 1

    def send(self, connection, side, data, step=None):
        if data:
            self.events.append(('send', connection, side, bytes(data), step))

    def close(self, connection, side):
        self.events.append(('close', connection, side))


class Connection(core.Connection):
    """A TCP connection of a capture. Either side can open it."""

    def __init__(self, capture, client, opener, ports):
        super().__init__(capture, client, ports[1], ports[0])
        self.opener, self.closed = opener, False

    def open(self):
        self.packet(self.opener, 2)
        self.packet(1 - self.opener, 0x12)
        self.packet(self.opener, 0x10)

    def close(self, side):
        if not self.closed:
            super().close(side)
        self.closed = True


def ends_line(s):
    return [step for step in s.steps if isinstance(step, bytes)][-1].endswith(b'\n')


def add_record(capture, index, s, record):
    """Writes the packets of a session, and stores the number of the last packet whose drop is in time."""
    client, connections, last = bytes([10]) + index.to_bytes(3, 'big'), {}, 0
    for kind, number, *rest in record.events:
        if kind == 'open':
            opener, client_port, server_port = rest
            if number == 0:
                client_port, server_port = 40000, s.port
            connections[number] = Connection(capture, client, opener, (client_port, server_port))
            connections[number].open()
        elif kind == 'send':
            side, data, step = rest
            connections[number].send(side, data)
            if step is not None and step <= s.deadline:
                last = capture.count - 1
        else:
            connections[number].close(rest[0])
            if number == 0 and rest[0] == 0 and not ends_line(s):
                last = capture.count  # the FIN ends the last command
    for connection in connections.values():
        connection.close(0)
    capture.last.append(last)


def replay(arguments, protocol, sessions, records, folder):
    def fill(capture):
        for index, (s, record) in enumerate(zip(sessions, records)):
            add_record(capture, index, s, record)
    return core.replay_capture(arguments.sluice, fill, len(sessions), protocol.rules, folder,
                               [*protocol.settings, *arguments.set])


# --- Talking to a server

def is_complete(data):
    """Returns whether the data ends with the last line of a reply."""
    if not data.endswith(b'\n'):
        return False
    line = bytes(data[:-1]).rsplit(b'\n', 1)[-1]
    return len(line) >= 3 and line[:3].isdigit() and line[3:4] != b'-'


class Talk:
    """One session with a server. A subclass performs the tuples among the steps."""
    quiet, patience = 0.02, 0.5  # seconds to wait for more after a complete reply, and for a reply

    def __init__(self, address, s):
        self.address, self.session, self.record, self.closed = address, s, Record(), False

    async def read_reply(self, patience):
        """Reads until a reply is complete and nothing follows, or until a timeout."""
        wait, got = patience, bytearray()
        while not self.closed and len(self.record.received) < READ_MAX:
            try:
                data = await asyncio.wait_for(self.reader.read(65536), wait)
            except asyncio.TimeoutError:
                return
            except OSError:
                data = b''
            self.closed = not data
            self.record.send(0, 1, data)
            self.record.received += data
            got += data
            wait = self.quiet if is_complete(got) else patience

    async def perform(self, number, step):
        raise NotImplementedError

    async def end(self):
        pass

    async def run(self):
        s = self.session
        try:
            self.reader, self.writer = await asyncio.wait_for(asyncio.open_connection(*self.address), 5)
        except (OSError, asyncio.TimeoutError):
            return None
        self.record.open(0, 40000, s.port)
        try:
            for number, step in enumerate(s.steps):
                if step is WAIT:
                    await self.read_reply(self.patience)
                elif isinstance(step, bytes):
                    self.record.send(0, 0, step, number)
                    self.writer.write(step)
                    await asyncio.wait_for(self.writer.drain(), 5)
                else:
                    await self.perform(number, step)
            await self.read_reply(self.patience)
        except (OSError, asyncio.TimeoutError):
            pass
        finally:
            await self.end()
            self.record.close(0, 1 if self.closed else 0)
            self.writer.close()
        return self.record


async def talk_all(kind, address, sessions):
    records, waiting = [None] * len(sessions), iter(enumerate(sessions))

    async def work():
        for index, s in waiting:
            records[index] = await kind(address, s).run()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return records


def talk(kind, address, sessions):
    return asyncio.run(talk_all(kind, address, sessions))


# --- Findings

def sessions_of(name, protocol, arguments):
    if arguments.again:
        with open(arguments.again) as f:
            lines = [json.loads(line) for line in f]
        return [from_json(line['message']) for line in lines if line.get('protocol', name) == name]
    return core.cases(name, from_json) + [protocol.generate(number, arguments.seed)
                                          for number in range(arguments.messages)]


def cut(r, data):
    """Cuts the bytes of a write into pieces at random, or returns them whole."""
    rng = r.rng
    if len(data) > 9000 or not r.odd(0.3):
        return [data]
    if rng.random() < 0.3:
        first = min(len(data), rng.randint(1, 40))
        pieces = [data[n:n + 1] for n in range(first)] + [data[first:]]
    else:
        places = sorted({rng.randrange(len(data)) for _ in range(rng.randint(1, 4))})
        pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]
    r.features.append('segments')
    return [piece for piece in pieces if piece]


class Oddities:
    """The random choices for a session. odd(share) decides whether to use an oddity; use() records its name."""

    def __init__(self, rng, place, oddness):
        self.rng, self.place, self.oddness, self.features = rng, place, oddness, []

    def odd(self, share=1.0):
        return self.rng.random() < self.oddness * share

    def use(self, name, value):
        self.features.append(name)
        return value

    def choose(self, kind, choices):
        """Returns the value of a random (name, value) pair and records its name."""
        name, value = self.rng.choice(choices)
        return self.use(f'{kind}:{name}', value)


def find(name, protocol, arguments, folder, out, prepare, report):
    """Runs one protocol. Returns the number of findings, or None if no endpoint can run."""
    sessions = sessions_of(name, protocol, arguments)
    print(f'{name}: seed {arguments.seed}, {len(sessions)} sessions, {sum(1 for s in sessions if s.place)} have a '
          f'forbidden word', flush=True)
    findings, verdicts_of = collections.OrderedDict(), {}
    endpoints = prepare(protocol, arguments, folder)
    try:
        for endpoint in endpoints:
            begin = time.monotonic()
            records, read = endpoint.understand(sessions)
            talked = time.monotonic() - begin
            served = [n for n, record in enumerate(records) if record]
            verdicts = replay(arguments, protocol, [sessions[n] for n in served], [records[n] for n in served], folder)
            counts = collections.Counter()
            for n, verdict in zip(served, verdicts):
                s = sessions[n]
                counts['understood'] += bool(s.place and read[n])
                counts['stopped'] += bool(s.place and read[n] and verdict.stopped)
                counts['benign'] += bool(not s.place and read[n])
                if read[n] and (not verdict.stopped if s.place else verdict.reason is not None):
                    findings.setdefault(n, []).append(endpoint.name)
                    verdicts_of[n] = verdict
                    counts['findings'] += 1
            print(f'  {endpoint.name}: {len(served)} sessions; understood {counts["understood"]} forbidden words, of '
                  f'which {counts["stopped"]} were stopped; served '
                  f'{counts["benign"]} benign ones; {counts["findings"]} findings ({talked:.0f} s, replay '
                  f'{time.monotonic() - begin - talked:.0f} s)', flush=True)
    finally:
        for endpoint in endpoints:
            endpoint.stop()
    if not endpoints:
        return None
    return report(name, protocol, sessions, verdicts_of, findings, out, to_json)


def seeded(number, seed):
    return random.Random(f'{seed}/{number}')
