#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that behave as other TCP stacks do, packet by packet, against a real Linux server or a scripted one; the
result is as of tcp_stacks.py.

    tcp_scripts.py OUT GATEWAY-MAC FIRST-PORT SERVER-NAMESPACE SERVER-SIDE-MAC [settings]

With `settings` it plays what needs other settings than the default. Runs in the client's namespace. Its addresses are
routed to a host that does not have them (10.66.64.0/18), so that no kernel answers for them; those of scripted servers
(10.66.128.0/18) are, too. A script succeeds when the server echoes its data, and both ends when each has the other's
data.
"""
import json
import socket
import struct
import sys
import threading
import time

from tcp_stacks import run_in

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
MSS, SACK, SCALE = b'\x02\x04\x05\xb4', b'\x04\x02', b'\x03\x03\x07'
SERVER, PORT, TRIES = '10.66.2.2', 7001, 4


def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def stamp(value, echo):
    return struct.pack('!BBII', 8, 10, value & 0xffffffff, echo & 0xffffffff)


class Client:
    def __init__(self, mac, port, last, address='10.66.64', device='c0', peer=(SERVER, PORT)):
        self.address, self.port, self.peer = f'{address}.{last}', port, peer
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.sock.bind((device, 0x0800))
        self.where = (device, 0x0800, 0, 0, bytes.fromhex(mac.replace(':', '')))
        self.isn, self.their, self.stamps, self.echo = 0xfffffff0 + last, 0, 1000 * last, 0

    def send(self, flags, seq, ack=0, data=b'', options=b'', window=64000, urgent=0):
        options += b'\1' * (-len(options) % 4)
        source, target = socket.inet_aton(self.address), socket.inet_aton(self.peer[0])
        head = struct.pack('!HHIIBBHHH', self.port, self.peer[1], seq & 0xffffffff, ack & 0xffffffff,
                           (20 + len(options)) << 2, flags, window, 0, urgent)
        sums = checksum(source + target + struct.pack('!HH', 6, len(head) + len(options) + len(data)) +
                        head + options + data)
        segment = head[:16] + struct.pack('!H', sums) + head[18:] + options + data
        ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(segment), 1, 0x4000, 64, 6, 0, source, target)
        self.sock.sendto(ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:] + segment, self.where)

    def hear(self, seconds=0.5):
        """The next segment for this client: flags, sequence number, acknowledgment, data; None when there is none in
        time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.sock.settimeout(left)
            try:
                packet = self.sock.recv(65536)
            except OSError:
                return None
            if packet[9] != 6 or packet[16:20] != socket.inet_aton(self.address) or \
                    packet[22:24] != struct.pack('!H', self.port):
                continue
            seq, ack, offset, flags = struct.unpack_from('!IIBB', packet, 24)
            data, options = packet[20 + (offset >> 4) * 4:struct.unpack_from('!H', packet,
                                                                             2)[0]], packet[40:20 + (offset >> 4) * 4]
            at = options.find(b'\x08\x0a')
            self.echo = struct.unpack_from('!I', options,
                                           at + 2)[0] if at >= 0 and len(options) >= at + 10 else self.echo
            return flags, seq, ack, data
        return None

    def open(self, options=MSS, tries=(SYN,) * TRIES, change=None, isn=None, data=b''):
        """Sends SYNs until a SYN/ACK comes. Answers ACKs of older connections by a reset."""
        self.isn = self.isn if isn is None else isn
        for number, flags in enumerate(tries):
            self.send(flags, self.isn, data=data if number == 0 else b'', options=change if change is not None
                      and number > 0 else options)
            heard = self.hear()
            while heard and heard[0] & (SYN | ACK) != SYN | ACK:
                if heard[0] & ACK and not heard[0] & RST:
                    self.send(RST, heard[2])
                heard = self.hear(0.1)
            if heard and heard[2] == (self.isn + 1 & 0xffffffff):
                self.their = heard[1] + 1
                return True
        return False

    def ask(self, data=b'hello', send=None, options=b'', flags=PSH | ACK):
        """Sends data, again when it is not echoed; `send` does it in another way."""
        got = b''
        for _ in range(TRIES):
            if send:
                send()
            else:
                self.send(flags, self.isn + 1, self.their, data, options() if callable(options) else options)
            while len(got) < len(data) and (heard := self.hear()):
                if heard[3] and heard[1] == (self.their + len(got)) & 0xffffffff:
                    got += heard[3]
                    self.send(ACK, self.isn + 1 + len(data), self.their + len(got), options=options()
                              if callable(options) else options)
            if got == data:
                return True
        return False

    def acknowledge(self, options=b'', window=64000):
        self.send(ACK, self.isn + 1, self.their, options=options, window=window)

    def stamped(self):
        self.stamps += 1
        return b'\1\1' + stamp(self.stamps, self.echo)


def simple(**how):
    def script(c):
        good = c.open(**how)
        c.acknowledge()
        return good and c.ask()
    return script


def timestamps(first, always):
    def script(c):
        c.stamps = first
        good = c.open(MSS + SACK + stamp(first, 0) + b'\1' + SCALE)
        c.acknowledge(c.stamped() if always else b'')
        return good and c.ask(options=c.stamped if always else b'')
    return script


def crashed(same_isn, half_open=False):
    def script(c):
        good = c.open()
        if not half_open:
            c.acknowledge()
            good = good and c.ask()
        c.echo = 0
        good = c.open(isn=c.isn if same_isn else c.isn + 90000) and good
        c.acknowledge()
        return good and c.ask(b'after the crash')
    return script


def reset_first(same_isn):
    def script(c):
        c.send(SYN, c.isn, options=MSS)
        c.send(RST, c.isn + 1)
        while c.hear(1):   # the SYN/ACK comes before or after the reset
            pass
        c.isn += 0 if same_isn else 70000   # most stacks choose another number when they try again
        return simple()(c)
    return script


# How far a connection is when its client resets it.
SYN_ACK, HANDSHAKE, TALK = 'the SYN/ACK', 'the handshake', 'data'


def reset_after(point, same_isn, flags=RST, all_options=False, resets=2):
    """The client resets the connection `resets` times and connects again, as health checks, port scanners and restarted
    hosts do."""
    def script(c):
        options = (lambda: MSS + SACK + stamp(c.stamps, 0) + b'\1' + SCALE) if all_options else (lambda: MSS)
        stamped = c.stamped if all_options else lambda: b''
        for left in range(resets, -1, -1):
            if not c.open(options()):
                return False
            if point != SYN_ACK or left == 0:
                c.acknowledge(stamped())
            if (point == TALK or left == 0) and not c.ask(b'hello%d' % left, options=stamped):
                return False
            if left > 0:
                at = c.isn + (7 if point == TALK else 1)
                c.send(flags, at, c.their + (6 if point == TALK else 0) if flags & ACK else 0)
                c.stamps += 1
                c.isn += 0 if same_isn else 50000
        return True
    return script


def closed(last_ack):
    """Both sides have closed the connection; then the client uses the same initial sequence number again."""
    def script(c):
        good = c.open()
        c.acknowledge()
        good = good and c.ask()
        c.send(FIN | ACK, c.isn + 6, c.their + 5)
        good = good and hears(c, FIN)
        if last_ack:
            c.send(ACK, c.isn + 7, c.their + 1)
        good = good and c.open()
        c.acknowledge()
        return good and c.ask(b'once more')
    return script


def wrong_reset(c):
    c.send(SYN, c.isn, options=MSS)
    c.send(RST, c.isn + 70000)
    c.send(RST | ACK, c.isn - 3, 77)
    return simple()(c)


def all_twice(c):
    c.send(SYN, c.isn, options=MSS)
    good = c.open()
    c.acknowledge()
    c.acknowledge()

    def send():
        for _ in range(2):
            c.send(PSH | ACK, c.isn + 1, c.their, b'hello')
    return good and c.ask(send=send)


def parts(order, acknowledges=True, last=PSH | ACK):
    def script(c):
        good = c.open(MSS + SACK)
        if acknowledges:
            c.acknowledge()

        def send():
            for at in order:
                c.send(last if at == max(order) else ACK, c.isn + 1 + at, c.their, b'hello'[at:at + 1])
        return good and c.ask(send=send)
    return script


def window_opens(c):
    good = c.open()
    c.acknowledge(window=0)
    c.send(PSH | ACK, c.isn + 1, c.their, b'hello', window=0)
    time.sleep(0.1)

    def send():
        c.send(ACK, c.isn + 6, c.their, window=3)
        c.send(ACK, c.isn + 6, c.their, window=64000)
    return good and c.ask(send=send)


def keeps_alive(c):
    good = c.open()
    c.acknowledge()
    good = good and c.ask()
    c.send(ACK, c.isn + 5, c.their + 5, b'\0')
    answered = c.hear()
    c.send(ACK, c.isn + 5, c.their + 5)
    return good and bool(answered and answered[0] == ACK) and bool(c.hear())


def hears(peer, flags, data=b''):
    """Waits for a segment with at least these flags and this data; the sequence number behind it."""
    for _ in range(8):
        heard = peer.hear()
        if heard and heard[0] & flags == flags and heard[3] == data:
            peer.their = heard[1] + len(data) + bool(heard[0] & SYN)
            return True
    return False


def talk(c, s):
    """Both ends have completed the handshake."""
    c.send(PSH | ACK, c.isn + 1, c.their, b'hello')
    good = hears(s, ACK, b'hello')
    s.send(PSH | ACK, s.isn + 1, s.their, b'echo')
    good = hears(c, ACK, b'echo') and good
    c.send(FIN | ACK, c.isn + 6, c.their)
    good = hears(s, FIN) and good
    s.send(FIN | ACK, s.isn + 5, s.their + 1)
    return hears(c, FIN) and good


def simultaneous(options=MSS, repeats=False):
    """RFC 9293, 3.5: both send a SYN, and answer that of the other by a SYN/ACK; some stacks with an ACK alone."""
    def script(c, s):
        c.send(SYN, c.isn, options=options)
        s.send(SYN, s.isn, options=options)
        good = hears(c, SYN) and hears(s, SYN)
        for _ in range(1 + repeats):
            c.send(SYN | ACK, c.isn, c.their, options=options)
            s.send(SYN | ACK, s.isn, s.their, options=options)
        return good and hears(c, SYN | ACK) and hears(s, SYN | ACK) and talk(c, s)
    return script


def answered(client, server, flags=SYN | ACK):
    """The options of SYN and SYN/ACK, each a function of the two ends."""
    def script(c, s):
        c.send(SYN, c.isn, options=client)
        good = hears(s, SYN)
        s.send(flags, s.isn, s.their, options=server)
        good = good and hears(c, SYN | ACK)
        c.acknowledge()
        return good and hears(s, ACK) and talk(c, s)
    return script


def one_side(from_client, begins=True):
    """The other end's segments take another way."""
    def script(c, s):
        speaker, hearer = (c, s) if from_client else (s, c)
        speaker.their = hearer.isn + 1
        good = True
        if begins:
            speaker.send(SYN if from_client else SYN | ACK, speaker.isn, 0 if from_client else speaker.their,
                         options=MSS)
            good = hears(hearer, SYN)
        speaker.acknowledge()
        good = good and hears(hearer, ACK)
        for number in range(5):
            speaker.send(PSH | ACK, speaker.isn + 1 + 5 * number, speaker.their + 7 * number, b'data%d' % number)
            good = hears(hearer, ACK, b'data%d' % number) and good
        speaker.send(FIN | ACK, speaker.isn + 26, speaker.their + 28)
        return hears(hearer, FIN) and good
    return script


BOTH_ENDS = {
    'simultaneous open': simultaneous(),
    'simultaneous open, repeated': simultaneous(repeats=True),
    'simultaneous open with all options': simultaneous(MSS + SACK + stamp(9, 0) + SCALE),
    'SYN/ACK with more options': answered(b'', MSS + SACK + SCALE),
    'SYN/ACK with a timestamp alone': answered(MSS, MSS + stamp(77, 0)),
    'SYN/ACK that echoes no timestamp': answered(MSS + stamp(1000, 0), MSS + stamp(77, 0)),
    'SYN/ACK with PSH and ECE': answered(MSS, MSS, SYN | ACK | PSH | ECE),
    'client side alone': one_side(True),
}
# What the guide names settings for.
WITH_SETTINGS = {
    'SYN/ACK that echoes a wrong timestamp': answered(MSS + stamp(1000, 0), MSS + stamp(77, 5)),
    'server side alone': one_side(False),
}

SCRIPTS = {
    'lwIP: MSS only, small window': simple(),
    'no options': simple(options=b''),
    'Windows: ECN, then without': simple(tries=(SYN | ECE | CWR, SYN | ECE | CWR, SYN, SYN)),
    'AccECN flags': simple(tries=(SYN | ECE | CWR,) * TRIES),
    'SYN again with fewer options': simple(options=MSS + SACK + stamp(5, 0) + SCALE, change=MSS),
    'SYN again with more options': simple(options=MSS, change=MSS + SACK + SCALE),
    'unknown options': simple(options=MSS + b'\xfe\x06\x12\x34\x56\x78\xfd\x04\x99\x99' + b'\x1e\x0c' + bytes(10)),
    'data in the SYN': simple(data=b'hello'),
    'SYN with PSH': simple(tries=(SYN | PSH,) * TRIES),
    'timestamps': timestamps(5000, True),
    'macOS: timestamps near the end of their space': timestamps(0xfffffff0, True),
    'timestamps from zero': timestamps(0, True),
    'timestamps only in the SYN': timestamps(7000, False),
    'crashed client, other number': crashed(False),
    'lwIP: crashed client, same number': crashed(True),
    'SYN/ACK not heard, other number': crashed(False, True),
    'reset before the SYN/ACK': reset_first(False),
    'reset before the SYN/ACK, same number': reset_first(True),
    'closed, then the same number': closed(True),
    'closed without the last ACK, then the same number': closed(False),
    'resets of other numbers': wrong_reset,
    'everything twice': all_twice,
    'one byte a segment': parts((0, 1, 2, 3, 4)),
    'last byte first': parts((4, 3, 2, 1, 0)),
    'data instead of the ACK': parts((0, 1, 2, 3, 4), False),
    'data out of order instead of the ACK': parts((1, 0, 2, 3, 4), False),
    'FIN with the last byte': parts((0, 1, 2, 3, 4), last=FIN | PSH | ACK),
    'window opens late': window_opens,
    'keep-alive with garbage': keeps_alive,
} | {
    f'{name} after {point}, {number} number': reset_after(point, number == 'same', **how)
    for point in (SYN_ACK, HANDSHAKE, TALK) for number in ('same', 'other')
    for name, how in (('RST', {}), ('RST/ACK', {'flags': RST | ACK}), ('RST with all options', {'all_options': True}))
}


def main():
    out, mac, first_port, namespace, server_mac = sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:6]
    outcome = {}

    def run(name, script, number):
        try:
            outcome[f'{name} IPv4 {number}'] = 'ok' if script(Client(mac, first_port + number,
                                                                     10 + number)) else 'no answer'
        except OSError as error:
            outcome[f'{name} IPv4 {number}'] = str(error)

    def both(script):
        def run_both(c):
            last = int(c.address.rsplit('.', 1)[1])
            thread, made = run_in(namespace,
                                  lambda: Client(server_mac, 7002, last, '10.66.128', 's0', (c.address, c.port)))
            thread.join()
            s, c.peer = made[0], (f'10.66.128.{last}', 7002)
            s.isn ^= 0x5a5a5a5a
            return script(c, s)
        return run_both
    needs_settings = sys.argv[6:] == ['settings']
    scripts = ({} if needs_settings else SCRIPTS) | {name: both(script) for name,
                                                     script in (WITH_SETTINGS if needs_settings else BOTH_ENDS).items()}
    threads = [threading.Thread(target=run, args=(name, script, number)) for number,
               (name, script) in enumerate(scripts.items())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(out, 'w') as file:
        json.dump(outcome, file, indent=0)


if __name__ == '__main__':
    main()
