# SPDX-License-Identifier: GPL-2.0-or-later
"""Common code of the differential tests: messages, captures for `sluice replay --ips`, and endpoints.

A message is everything that one peer sends on one connection. Most messages have a forbidden word at one place (a URI,
a header, a body), for which there is a drop rule. A finding is one of two kinds: an endpoint read the word at its place
although Sluice did not drop it, or Sluice dropped a message without a forbidden word that an endpoint serves ("wrong
drop").
"""
import collections
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MSS = 1400
SERVER = bytes([192, 0, 2, 1])

# steps     bytes (sent as one segment), or WAIT (wait for the peer's answer)
# place     the place of the forbidden word, or None for a benign message
# features  the oddities that the generator chose. `ends-with-close`: no endpoint understands the message before the
#           connection ends, so a drop of the FIN is in time
# opening   bytes that the peer sends first
# udp       each step is a datagram
WAIT = None
Message = collections.namedtuple('Message',
                                 'number seed from_client port steps place features opening answer count udp')
Verdict = collections.namedtuple('Verdict', 'stopped reason late')


def message(number, seed, steps, place, features, from_client=True, port=80, opening=b'', answer=b'', count=1,
            udp=False):
    return Message(number, seed, from_client, port, list(steps), place, tuple(features), opening, answer, count, udp)


def to_json(m):
    fields = m._asdict()
    fields['steps'] = [None if step is WAIT else step.decode('latin-1') for step in m.steps]
    fields['opening'], fields['answer'] = m.opening.decode('latin-1'), m.answer.decode('latin-1')
    return fields


def from_json(fields):
    steps = [WAIT if step is None else step.encode('latin-1') for step in fields['steps']]
    return message(fields['number'], fields.get('seed'), steps, fields['place'], fields['features'],
                   fields['from_client'], fields['port'],
                   fields['opening'].encode('latin-1'), fields['answer'].encode('latin-1'), fields['count'],
                   fields.get('udp', False))


def cases(name, from_json=from_json):
    """Returns the messages of earlier findings."""
    path = f'{HERE}/cases/{name}.jsonl'
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [from_json(json.loads(line)['message']) for line in f]


# --- Captures

def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def ip_header(source, target, protocol, length):
    ip = struct.pack('!BBHHHBBH', 0x45, 0, 20 + length, 1, 0x4000, 64, protocol, 0) + source + target
    return ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:]


class Datagrams:
    """Writes UDP datagrams between a client and the server, without checksums. Has the same methods as Connection."""

    def __init__(self, capture, client, port):
        self.capture, self.addresses, self.ports = capture, (client, SERVER), (40000, port)

    def open(self):
        pass

    def send(self, side, data):
        header = struct.pack('!HHHH', self.ports[side], self.ports[1 - side], 8 + len(data), 0)
        self.capture.write(ip_header(self.addresses[side], self.addresses[1 - side], 17, 8 + len(data)) + header + data)

    def close(self, side):
        pass


class Connection:
    """Writes the packets of a TCP connection. They have no TCP checksums; CONFIGURATION switches validation off."""

    def __init__(self, capture, client, port, client_port=40000):
        self.capture, self.addresses, self.ports = capture, (client, SERVER), (client_port, port)
        self.sequence, self.packets = [1000, 5000], 0

    def packet(self, side, flags, data=b''):
        source, target = self.addresses[side], self.addresses[1 - side]
        ports = self.ports if side == 0 else self.ports[::-1]
        acknowledged = self.sequence[1 - side] if flags & 0x10 else 0
        header = struct.pack('!HHIIBBHHH', *ports, self.sequence[side], acknowledged, 0x50, flags, 65535, 0, 0)
        self.capture.write(ip_header(source, target, 6, 20 + len(data)) + header + data)
        self.sequence[side] += len(data) + (1 if flags & 3 else 0)

    def open(self):
        self.packet(0, 2)
        self.packet(1, 0x12)
        self.packet(0, 0x10)

    def send(self, side, data):
        for at in range(0, len(data), MSS):
            self.packet(side, 0x18, data[at:at + MSS])
            self.packet(1 - side, 0x10)

    def close(self, side):
        self.packet(side, 0x11)
        self.packet(1 - side, 0x11)
        self.packet(side, 0x10)


class Capture:
    """A pcap file with one connection for each message. The client's address contains the index of the message."""

    def __init__(self, path):
        self.file = open(path, 'wb', buffering=1 << 20)
        self.file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        self.count, self.last = 0, []  # last[n]: number of the last packet whose drop is in time

    def write(self, packet):
        self.count += 1
        at = self.count * 50
        self.file.write(struct.pack('<IIII', 1700000000 + at // 1000000, at % 1000000, len(packet), len(packet)) +
                        packet)

    def add(self, index, m):
        connection = (Datagrams if m.udp else Connection)(self, bytes([10]) + index.to_bytes(3, 'big'), m.port)
        sender = 0 if m.from_client else 1
        connection.open()
        if m.opening:
            connection.send(1 - sender, m.opening)
        for step in m.steps:
            if step is not WAIT:
                connection.send(sender, step)
                last = self.count if m.udp else self.count - 1
            elif m.answer:
                connection.send(1 - sender, m.answer)
        if m.answer and m.steps[-1] is not WAIT:
            connection.send(1 - sender, m.answer)
        if 'ends-with-close' in m.features:
            last = self.count + 1
        connection.close(1 if m.answer else sender)
        self.last.append(last)


def client_index(address):
    return int.from_bytes(socket.inet_aton(address)[1:], 'big')


CONFIGURATION = 'stream:\n  checksum-validation: no\neve:\n  types:\n    - alert\n    - drop\n'


def replay(sluice, messages, rules, folder, settings=()):
    """Replays the messages with --ips; returns the Verdict on each."""
    def fill(capture):
        for index, m in enumerate(messages):
            capture.add(index, m)
    return replay_capture(sluice, fill, len(messages), rules, folder, settings)


def replay_capture(sluice, fill, count, rules, folder, settings=()):
    """Replays COUNT messages that fill(capture) writes; returns the Verdict on each."""
    work = tempfile.mkdtemp(dir=folder)
    capture = Capture(work + '/messages.pcap')
    fill(capture)
    capture.file.close()
    with open(work + '/rules', 'w') as f:
        f.write(rules)
    with open(work + '/sluice.yaml', 'w') as f:
        f.write(CONFIGURATION)
    options = [word for setting in settings for word in ('-s', setting)]
    run = subprocess.run([sluice, 'replay', '--ips', '--no-console', '--config', work + '/sluice.yaml', '--rules',
                          work + '/rules', '--log-dir', work, *options, work + '/messages.pcap'],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f'sluice replay ended with {run.returncode}: {run.stderr}')
    verdicts = [None] * count
    with open(work + '/eve.json') as f:
        for line in f:
            if '"alert"' in line or '"drop"' in line:
                note_drop(json.loads(line), capture.last, verdicts)
    shutil.rmtree(work)
    return [verdict or Verdict(False, None, False) for verdict in verdicts]


def note_drop(event, last, verdicts):
    if event['event_type'] == 'alert' and event['alert'].get('action') == 'blocked':
        reason = f'rule {event["alert"]["signature_id"]}'
    elif event['event_type'] == 'drop':
        reason = event['drop'].get('reason', 'drop')
    else:
        return
    address = event['src_ip'] if event['src_ip'].startswith('10.') else event['dest_ip']
    index = client_index(address)
    in_time = event.get('pcap_cnt', 1 << 60) <= last[index]
    if verdicts[index] is None or (verdicts[index].late and in_time):
        verdicts[index] = Verdict(in_time, reason, not in_time)


# --- Endpoints

class Unavailable(Exception):
    """The endpoint cannot run on this machine; the text is the reason."""


def endpoints_folder():
    return os.environ.get('SLUICE_ENDPOINTS', os.path.join(HERE, '..', '..', 'build', 'endpoints'))


def root_of(group):
    """Returns the root folder of a group of packages, or None if fetch-endpoints has not made it."""
    root = os.path.realpath(os.path.join(endpoints_folder(), group))
    return root if os.path.exists(root + '/.packages') else None


class Endpoint:
    """A server or client. Its programs see its folder as /endpoint (run-endpoint). A subclass defines

    name     name of the endpoint
    groups   groups of packages that have the program, in order of preference; '/' is this machine
    program  path of the program in the root folder
    start() or run()
    """
    name, groups, program = None, ('http', '/'), None
    netns = None  # command prefix that enters the network namespace of the programs

    def __init__(self, folder):
        self.folder = os.path.join(folder, self.name)
        self.process = None
        self.root = self.find_root()
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o777)  # servers that drop privileges must be able to write to it

    def find_root(self):
        for group in self.groups:
            root = '/' if group == '/' else root_of(group)
            if root and os.path.exists(root + '/' + self.program.lstrip('/')):
                return root
        raise Unavailable(f'{self.program} is not installed and not downloaded (tests/differential/fetch-endpoints)')

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w') as f:
            f.write(text)

    def command(self, *words):
        return [*(self.netns or []), HERE + '/run-endpoint', self.root, self.folder, *words]

    def spawn(self, *words):
        """Starts the endpoint's program; its output goes to the file log in its folder."""
        log = open(os.path.join(self.folder, 'log'), 'ab')
        self.process = subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self.process

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def wait_port(self, port, seconds=20):
        """Waits until the server accepts connections."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process and self.process.poll() is not None:
                break
            with socket.socket() as s:
                if s.connect_ex(('127.0.0.1', port)) == 0:
                    return
            time.sleep(0.02)
        with open(os.path.join(self.folder, 'log'), errors='replace') as f:
            raise RuntimeError(f'{self.name} does not listen on port {port}: {f.read()[-2000:]}')
