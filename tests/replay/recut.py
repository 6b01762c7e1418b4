#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes the segmentation of TCP in a capture. The byte streams stay the same.

    recut.py IN OUT byte|random|join [--seed N] [--first BYTES]

byte    one segment for every byte; after --first segments of a direction, segments of up to 100 bytes
random  segments of 1 to 200 bytes, often tiny
join    consecutive payload of one direction, without payload of the other direction in between, becomes one segment of
        up to 64 kB. It replaces the first of its parts, so that it is before its acknowledgement. It may exceed the
        receiver's window, so the windows of all segments are set to the maximum

Some packets stay unchanged: packets other than TCP over IPv4 or IPv6, fragments, packets in tunnels or with IPv6
extension headers, packets that the capture truncated, and segments with SYN, RST or urgent data. `join` also keeps
segments that are out of order. New segments have correct checksums, but unchanged ones may have wrong ones (checksum
offload of the sender), so replay with replay.checksum-checks=no.
"""
import argparse
import random
import struct

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
LONGEST = 65535
# By link type: offset of the EtherType, length of the link header, and offset of IP in link types without EtherType.
ETHERTYPE_AT = {1: 12, 113: 14, 276: 0}
HEADER_LENGTH = {1: 14, 113: 16, 276: 20}
RAW = {0: 4, 12: 0, 14: 0, 101: 0, 108: 4, 228: 0, 229: 0}


# --- Capture files

def read_pcap(data):
    """Returns (link type, [(seconds, nanoseconds, bytes, length on the wire)]), or None if it is no pcap file."""
    magic = data[:4].hex()
    order = {'d4c3b2a1': '<', '4d3cb2a1': '<', 'a1b2c3d4': '>', 'a1b23c4d': '>'}.get(magic)
    if not order or len(data) < 24:
        return None
    nano = magic in ('4d3cb2a1', 'a1b23c4d')
    link, at, packets = struct.unpack_from(order + 'I', data, 20)[0] & 0x0fffffff, 24, []
    while at + 16 <= len(data):
        seconds, fraction, length, wire = struct.unpack_from(order + 'IIII', data, at)
        if at + 16 + length > len(data):
            break
        packets.append((seconds, fraction if nano else fraction * 1000, data[at + 16:at + 16 + length], wire))
        at += 16 + length
    return link, packets


def interface_of(body, order):
    """Returns (link type, ticks per second) of an interface description block."""
    link, at, ticks = struct.unpack_from(order + 'H', body)[0], 8, 1000000
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + 'HH', body, at)
        if code == 0:
            break
        if code == 9 and length == 1:
            ticks = 2 ** (body[at + 4] & 0x7f) if body[at + 4] & 0x80 else 10 ** body[at + 4]
        at += 4 + (length + 3) // 4 * 4
    return link, ticks


def read_pcapng(data):
    """Like read_pcap(), for pcapng. None also if the interfaces have different link types."""
    if data[:4].hex() != '0a0d0d0a' or len(data) < 28:
        return None
    order, at, interfaces, packets = '<', 0, [], []
    while at + 12 <= len(data):
        if data[at:at + 4].hex() == '0a0d0d0a':
            order = '<' if data[at + 8:at + 12].hex() == '4d3c2b1a' else '>'
        kind, length = struct.unpack_from(order + 'II', data, at)
        if length < 12 or at + length > len(data):
            break
        body = data[at + 8:at + length - 4]
        if kind == 1:
            interfaces.append(interface_of(body, order))
        elif kind == 6:
            number, high, low, captured, wire = struct.unpack_from(order + 'IIIII', body)
            ticks = interfaces[number][1]
            seconds, rest = divmod(high << 32 | low, ticks)
            packets.append((seconds & 0xffffffff, rest * 1000000000 // ticks, body[20:20 + captured], wire))
        elif kind in (2, 3):
            return None
        at += length
    return (interfaces[0][0], packets) if len({link for link, _ in interfaces}) == 1 else None


def read_capture(path):
    with open(path, 'rb') as f:
        data = f.read()
    return read_pcap(data) or read_pcapng(data)


def write_pcap(path, link, packets):
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, link))
        f.write(b''.join(struct.pack('<IIII', seconds, fraction, len(data), max(wire, len(data))) + data
                         for seconds, fraction, data, wire in packets))


# --- Headers

def ip_offset(link, data):
    """Returns the offset of the IP header, or None."""
    if link in RAW:
        return RAW[link] if len(data) > RAW[link] else None
    if link not in ETHERTYPE_AT or len(data) < HEADER_LENGTH[link]:
        return None
    kind, at = struct.unpack_from('!H', data, ETHERTYPE_AT[link])[0], HEADER_LENGTH[link]
    while kind in (0x8100, 0x88a8) and len(data) >= at + 4:
        kind, at = struct.unpack_from('!H', data, at + 2)[0], at + 4
    return at if kind in (0x0800, 0x86dd) else None


def ones_sum(data):
    """Returns the sum of the 16-bit words, not folded."""
    if len(data) % 2:
        data += b'\0'
    return sum(struct.unpack(f'!{len(data) // 2}H', data))


def fold(total):
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Segment:
    """A TCP packet that may be cut: its headers as bytes, and its payload."""

    def __init__(self, data, ip, tcp, payload, end):
        self.head, self.ip, self.tcp = data[:payload], ip, tcp
        self.payload = data[payload:end]
        self.version = data[ip] >> 4
        source, destination = (ip + 12, 4) if self.version == 4 else (ip + 8, 16)
        addresses = data[source:source + 2 * destination]
        self.ports = data[tcp:tcp + 4]
        self.pair = (addresses[:destination] + self.ports[:2], addresses[destination:] + self.ports[2:])
        self.sequence, self.acknowledged = struct.unpack_from('!II', data, tcp + 4)
        self.flags, self.window = data[tcp + 13], struct.unpack_from('!H', data, tcp + 14)[0]
        bare = data[tcp:tcp + 4] + bytes(4) + data[tcp + 8:tcp + 13] + b'\0' + data[tcp + 14:tcp + 16] + \
            bytes(2) + data[tcp + 18:payload]
        self.fixed_sum = ones_sum(addresses) + 6 + ones_sum(bare)
        self.tcp_length = payload - tcp
        self.heads = {}

    def acknowledge(self, number):
        """Sets the acknowledgement number, and updates the sum for the checksum."""
        new = struct.pack('!I', number)
        self.fixed_sum += ones_sum(new) - ones_sum(self.head[self.tcp + 8:self.tcp + 12])
        self.head = self.head[:self.tcp + 8] + new + self.head[self.tcp + 12:]

    def ip_head(self, length):
        """Returns link and IP header for LENGTH bytes of payload."""
        head = self.heads.get(length)
        if head is None:
            head = bytearray(self.head[:self.tcp])
            if self.version == 4:
                struct.pack_into('!H', head, self.ip + 2, self.tcp - self.ip + self.tcp_length + length)
                struct.pack_into('!H', head, self.ip + 10, 0)
                struct.pack_into('!H', head, self.ip + 10, fold(ones_sum(bytes(head[self.ip:]))))
            else:
                struct.pack_into('!H', head, self.ip + 4, self.tcp_length + length)
            head = self.heads[length] = bytes(head)
        return head

    def piece(self, at, payload, flags, window=None):
        """Returns a packet with PAYLOAD, whose sequence number is AT bytes after that of the segment."""
        sequence = (self.sequence + at) & 0xffffffff
        total = self.fixed_sum + (sequence >> 16) + (sequence & 0xffff) + flags + self.tcp_length + len(payload)
        total += payload[0] << 8 if len(payload) == 1 else ones_sum(payload)
        head = self.head
        if window is None:
            window = self.window
        else:
            total += window - self.window
        return b''.join((self.ip_head(len(payload)), self.ports, struct.pack('!I', sequence),
                         head[self.tcp + 8:self.tcp + 13],
                         struct.pack('!BHH', flags, window, fold(total)), head[self.tcp + 18:], payload))


def parse_segment(link, data, wire):
    """Returns the Segment in a packet, or None if the packet must stay unchanged."""
    ip = ip_offset(link, data)
    if ip is None or wire > len(data) or len(data) < ip + 40:
        return None
    if data[ip] >> 4 == 4:
        tcp, end = ip + (data[ip] & 15) * 4, ip + struct.unpack_from('!H', data, ip + 2)[0]
        if data[ip + 9] != 6 or struct.unpack_from('!H', data, ip + 6)[0] & 0x3fff or tcp < ip + 20:
            return None
    elif data[ip] >> 4 == 6:
        tcp, end = ip + 40, ip + 40 + struct.unpack_from('!H', data, ip + 4)[0]
        if data[ip + 6] != 6:
            return None
    else:
        return None
    if end > len(data) or end < tcp + 20:
        return None
    payload = tcp + (data[tcp + 12] >> 4) * 4
    if payload < tcp + 20 or payload > end:
        return None
    return Segment(data, ip, tcp, payload, end)


# --- Cutting

def is_plain(segment):
    return bool(segment.payload) and not segment.flags & (SYN | RST | URG)


def split(link, packets, lengths):
    """Yields the packets, with each payload cut into pieces; lengths(PAIR) returns the length of the next piece."""
    for seconds, fraction, data, wire in packets:
        segment = parse_segment(link, data, wire)
        if not segment or not is_plain(segment) or len(segment.payload) < 2:
            yield seconds, fraction, data, wire
            continue
        at, payload = 0, segment.payload
        while at < len(payload):
            part = payload[at:at + lengths(segment.pair)]
            last = at + len(part) == len(payload)
            piece = segment.piece(at, part, segment.flags if last else segment.flags & ~(FIN | PSH))
            yield seconds, fraction, piece, len(piece)
            at += len(part)


class ByteLengths:
    def __init__(self, first):
        self.first, self.seen = first, {}

    def __call__(self, pair):
        seen = self.seen[pair] = self.seen.get(pair, 0) + 1
        return 1 if seen <= self.first else 100


def random_lengths(seed):
    dice = random.Random(seed)
    return lambda pair: dice.choice((1, 1, 2, 3, dice.randint(1, 20), dice.randint(1, 200),
                                     1 + int(200 * dice.random() ** 3)))


class Side:
    """The state of one direction while joining."""

    def __init__(self):
        self.next = self.run = self.acknowledged = None
        self.scale = None


def window_scale(segment):
    """Returns the window scale option of a SYN, or None."""
    options, at = segment.head[segment.tcp + 20:], 0
    while at < len(options) and options[at]:
        length = 1 if options[at] == 1 else options[at + 1] if at + 1 < len(options) else 0
        if length == 0:
            break
        if options[at] == 3 and length == 3 and at + 2 < len(options):
            return min(options[at + 2], 14)
        at += length
    return None


class Joiner:
    def __init__(self, link):
        self.link, self.sides, self.out, self.parts = link, {}, [], {}

    def add(self, packet):
        seconds, fraction, data, wire = packet
        segment = parse_segment(self.link, data, wire)
        if not segment:
            self.out.append(packet)
            return
        source, destination = segment.pair
        mine = self.sides.setdefault((source, destination), Side())
        other = self.sides.setdefault((destination, source), Side())
        if segment.flags & SYN:
            mine = self.sides[source, destination] = Side()
            mine.scale = window_scale(segment)
            mine.next = (segment.sequence + 1 + len(segment.payload)) & 0xffffffff
            self.out.append((seconds, fraction, segment.piece(0, segment.payload, segment.flags, LONGEST), wire))
        elif self.join(segment, mine, other):
            if segment.flags & FIN:
                piece = segment.piece(len(segment.payload), b'', segment.flags & ~PSH, LONGEST)
                self.out.append((seconds, fraction, piece, len(piece)))
        else:
            self.begin(segment, mine, other)
            if not segment.flags & (RST | URG):
                piece = segment.piece(0, segment.payload, segment.flags, LONGEST)
                packet = (seconds, fraction, piece, len(piece))
            self.out.append(packet)
        if segment.flags & ACK:
            mine.acknowledged = segment.acknowledged
        if segment.flags & (FIN | RST): # a later segment may acknowledge the FIN, so do not move its payload before it
            mine.run = other.run = None

    def begin(self, segment, mine, other):
        """Begins a new run with the segment, which later segments may join."""
        if not segment.payload:
            return
        other.run = mine.run = None
        if is_plain(segment) and mine.next in (None, segment.sequence):
            mine.run = len(self.out)
            start = segment.sequence if other.acknowledged is None else other.acknowledged
            self.parts[mine.run] = (segment, bytearray(segment.payload), start)
            mine.next = (segment.sequence + len(segment.payload)) & 0xffffffff

    def join(self, segment, mine, other):
        """Moves the payload into the first segment of the run. Returns False if this is not possible. The caller keeps
        a FIN as a segment without payload."""
        if mine.run is None or not is_plain(segment) or segment.sequence != mine.next:
            return False
        first, joined, start = self.parts[mine.run]
        room = LONGEST - (first.tcp - first.ip if first.version == 4 else 0) - first.tcp_length
        end = (segment.sequence + len(segment.payload) - start) & 0xffffffff
        if first.flags & FIN or len(joined) + len(segment.payload) > room or \
                end > LONGEST << (0 if None in (mine.scale, other.scale) else other.scale):
            return False
        joined += segment.payload
        first.acknowledge(segment.acknowledged) # it acknowledges only data from before the run
        mine.next = (mine.next + len(segment.payload)) & 0xffffffff
        return True

    def packets(self):
        for index, (segment, payload, _) in self.parts.items():
            seconds, fraction, _, _ = self.out[index]
            piece = segment.piece(0, bytes(payload), segment.flags, LONGEST)
            self.out[index] = (seconds, fraction, piece, len(piece))
        return self.out


def join(link, packets):
    joiner = Joiner(link)
    for packet in packets:
        joiner.add(packet)
    return joiner.packets()


def recut(link, packets, how, seed=1, first=1 << 60):
    """Returns the packets with the new segmentation."""
    if how == 'byte':
        return list(split(link, packets, ByteLengths(first)))
    if how == 'random':
        return list(split(link, packets, random_lengths(seed)))
    return join(link, packets)


def payload_bytes(link, packets):
    """Returns the number of payload bytes in segments that may be cut."""
    segments = (parse_segment(link, data, wire) for _, _, data, wire in packets)
    return sum(len(segment.payload) for segment in segments if segment and is_plain(segment))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('capture')
    parser.add_argument('out')
    parser.add_argument('how', choices=('byte', 'random', 'join'))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=1 << 60)
    options = parser.parse_args()
    found = read_capture(options.capture)
    if not found:
        raise SystemExit(f'{options.capture}: neither pcap nor pcapng, or with several link types')
    write_pcap(options.out, found[0], recut(*found, options.how, options.seed, options.first))


if __name__ == '__main__':
    main()
