#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody else's consumer of a queue, on netlink by hand.

    queue_consumer.py NUMBER WORD VERDICT [MARK/MASK]

Drops packets that contain WORD. The others get VERDICT: accept, repeat, or route:N, route:N:bypass (on to queue N). A
mark changes the bits under its mask. Prints "bound", and at SIGTERM how many packets it saw.
"""
import signal
import socket
import struct
import sys

from hold_queue import BIND, COPY_PACKET, NETLINK_NETFILTER, NFQA_CFG_CMD, NFQA_CFG_PARAMS, attribute, configure

NFQNL_MSG_PACKET, NFQNL_MSG_VERDICT = 3 << 8, 3 << 8 | 1
NFQA_PACKET_HDR, NFQA_VERDICT_HDR, NFQA_MARK, NFQA_PAYLOAD = 1, 2, 3, 10
NF_DROP, NF_ACCEPT, NF_QUEUE, NF_REPEAT, BYPASS = 0, 1, 3, 4, 0x8000
SO_RCVBUFFORCE = 33


def verdict_of(text):
    kind, *rest = text.split(':')
    if kind == 'route':
        return NF_QUEUE | int(rest[0]) << 16 | (BYPASS if rest[1:] else 0)
    return {'accept': NF_ACCEPT, 'repeat': NF_REPEAT}[kind]


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('HH', data)
        found[kind & 0x3fff] = data[4:length]
        data = data[length + 3 & ~3:]
    return found


class Stop(Exception):
    pass


def stop(*_):
    raise Stop


def main():
    queue, word, verdict = int(sys.argv[1]), sys.argv[2].encode(), verdict_of(sys.argv[3])
    mark, mask = (int(part, 0) for part in sys.argv[4].split('/')) if sys.argv[4:] else (0, 0)
    seen = 0
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    sock.bind((0, 0))
    configure(sock, queue, attribute(NFQA_CFG_CMD, struct.pack('!BBH', BIND, 0, 0)))
    configure(sock, queue, attribute(NFQA_CFG_PARAMS, struct.pack('!IB', 0xffff, COPY_PACKET)))
    signal.signal(signal.SIGTERM, stop)
    print('bound', flush=True)
    try:
        while True:
            message = sock.recv(70000)
            if struct.unpack_from('H', message, 4)[0] != NFQNL_MSG_PACKET:
                continue
            packet = attributes(message[20:])
            seen += 1
            number = packet[NFQA_PACKET_HDR][:4]
            bad = word in packet[NFQA_PAYLOAD]
            payload = attribute(NFQA_VERDICT_HDR, struct.pack('!I', NF_DROP if bad else verdict) + number)
            if mask and not bad:
                old = struct.unpack('!I', packet.get(NFQA_MARK, bytes(4)))[0]
                payload += attribute(NFQA_MARK, struct.pack('!I', old & ~mask | mark & mask))
            body = struct.pack('!BBH', 0, 0, queue) + payload
            sock.send(struct.pack('IHHII', 16 + len(body), NFQNL_MSG_VERDICT, 1, 0, 0) + body)
    except Stop:
        print(seen, flush=True)


if __name__ == '__main__':
    main()
