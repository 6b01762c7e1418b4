#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends capture files on an interface, and compares the events of a sensor with those of `sluice replay`.

usage: sensor.py make CAPTURE                      writes a capture: HTTP, DNS, ICMP and fragments, with VLAN tags
       sensor.py send INTERFACE RATE CAPTURE...    frames of Ethernet captures (pcap), RATE per second
       sensor.py probe INTERFACE                   a UDP packet to port 7777
       sensor.py flood INTERFACE COUNT             UDP packets as fast as possible
       sensor.py compare REPLAY_EVENTS SENSOR_EVENTS   exit code 1 after a list of differences
"""
import json
import socket
import struct
import sys
import time
from collections import Counter

ETHERNET = 1
# Members of events that differ in each run, because they depend on the time or the source of the packets.
VARYING = {"timestamp", "flow_id", "pcap_cnt", "in_iface", "sluice", "start", "end", "age", "parent_id"}


def frames(path):
    """Returns the frames of a pcap file with the link type Ethernet."""
    with open(path, "rb") as file:
        data = file.read()
    for order in "<>":
        magic = struct.unpack(order + "I", data[:4])[0]
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            break
    else:
        sys.exit(f"{path}: no pcap file")
    if struct.unpack(order + "I", data[20:24])[0] & 0xFFFF != ETHERNET:
        sys.exit(f"{path}: no Ethernet")
    at = 24
    while at + 16 <= len(data):
        _, _, length, wire = struct.unpack(order + "IIII", data[at:at + 16])
        frame = data[at + 16:at + 16 + length]
        if len(frame) == wire:  # a truncated frame would arrive as a shorter one
            yield frame
        at += 16 + length


def send(interface, rate, paths):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    pause, due, count = 1 / rate, time.monotonic(), 0
    for path in paths:
        for frame in frames(path):
            due += pause
            left = due - time.monotonic()
            if left > 0:
                time.sleep(left)
            sock.send(frame)
            count += 1
    print(count)


def datagram(port, payload):
    ends = bytes([10, 66, 1, 2]), bytes([10, 66, 1, 1])
    udp = struct.pack("!HHHH", port, 7777, 8 + len(payload), 0) + payload
    return bytes.fromhex("0200000000010200000000020800") + ipv4(17, *ends, transport(17, *ends, udp, 6))


def flood(interface, count, payload):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    frames_of_ports = [datagram(1024 + port, payload) for port in range(min(count, 1000))]
    for number in range(count):
        sock.send(frames_of_ports[number % 1000])


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(protocol, source, destination, segment, fragment=0x4000):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 77, fragment, 64, protocol, 0, source, destination)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + segment


def transport(protocol, source, destination, segment, at):
    pseudo = source + destination + struct.pack("!BBH", 0, protocol, len(segment))
    return segment[:at] + struct.pack("!H", checksum(pseudo + segment)) + segment[at + 2:]


def conversation(number):
    """Returns an HTTP request and its answer, as IP packets; each number has its own addresses and ports."""
    client, server, port = bytes([10, 0, number, 1]), bytes([10, 0, number, 2]), 40000 + number
    request = b"GET /%d HTTP/1.1\r\nHost: example.org\r\n\r\n" % number
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    here, there = 1000, 2000

    def segment(to_server, flags, payload=b""):
        nonlocal here, there
        ports, numbers = ((port, 80), (here, there)) if to_server else ((80, port), (there, here))
        ends = (client, server) if to_server else (server, client)
        head = struct.pack("!HHIIBBHHH", *ports, numbers[0], numbers[1] if flags & 16 else 0, 5 << 4, flags, 8192, 0, 0)
        moved = len(payload) + bool(flags & 3)
        if to_server:
            here += moved
        else:
            there += moved
        return ipv4(6, *ends, transport(6, *ends, head + payload, 16))

    return [segment(True, 2), segment(False, 18), segment(True, 16), segment(True, 24, request), segment(False, 16),
            segment(False, 24, answer), segment(True, 16), segment(True, 17), segment(False, 17), segment(True, 16)]


def datagrams():
    client, server = bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])
    question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01"
    udp = transport(17, client, server, struct.pack("!HHHH", 5353, 53, 8 + len(question), 0) + question, 6)
    echo = struct.pack("!BBHHH", 8, 0, 0, 1, 1) + b"abcdefgh" * 4
    echo = echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]
    return [ipv4(17, client, server, udp), ipv4(1, client, server, echo), ipv4(17, server, client, udp[:16], 0x2000),
            ipv4(17, server, client, udp[16:], 0x0002)]


def make(path):
    tags = (b"", b"\x81\0\0\x64", b"\x88\xa8\0\x07\x81\0\xe0\x64", b"\x81\0\0\0")
    packets = [(tags[number % 3], packet) for number in range(30) for packet in conversation(number)]
    packets += [(tag, packet) for tag in tags for packet in datagrams()]
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET))
        for number, (tag, packet) in enumerate(packets):
            frame = bytes.fromhex("020000000001020000000002") + tag + b"\x08\0" + packet
            file.write(struct.pack("<IIII", 1700000000, number * 250, len(frame), len(frame)) + frame)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items() if key not in VARYING}
    return [plain(item) for item in value] if isinstance(value, list) else value


def events(path):
    found = Counter()
    with open(path) as file:
        for line in file:
            event = json.loads(line)
            if event["event_type"] not in ("stats", "engine", "overload", "firewall"):
                found[json.dumps(plain(event), sort_keys=True)] += 1
    return found


def compare(replay, sensor):
    wanted, got = events(replay), events(sensor)
    for name, extra in (("only replay", wanted - got), ("only sensor", got - wanted)):
        for event, count in sorted(extra.items()):
            print(f"{name}, {count} times: {event}")
    if not wanted:
        sys.exit("the replay has no events")
    sys.exit(wanted != got)


def main():
    command, *arguments = sys.argv[1:]
    if command == "make":
        make(arguments[0])
    elif command == "send":
        send(arguments[0], float(arguments[1]), arguments[2:])
    elif command == "flood":
        flood(arguments[0], int(arguments[1]), b"x" * 1000)
    elif command == "probe":
        flood(arguments[0], 1, b"probe")
    elif command == "compare":
        compare(*arguments)
    else:
        sys.exit(__doc__)


main()
