#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A bad link: an NFQUEUE consumer that delays, loses, duplicates and reorders packets (for kernels without netem).

    impair.py QUEUE SEED [delay=MS] [loss=P] [duplicate=P] [reorder=P]

P are probabilities from 0 to 1. A reordered packet waits 3 ms longer than the others. Copies are sent with mark 0x77,
which the rule that queues must leave out. Prints "bound".
"""
import heapq
import random
import select
import socket
import struct
import sys
import time

from hold_queue import BIND, COPY_PACKET, NETLINK_NETFILTER, NFQA_CFG_CMD, NFQA_CFG_PARAMS, attribute, configure
from queue_consumer import (NFQA_PACKET_HDR, NFQA_PAYLOAD, NFQA_VERDICT_HDR, NFQNL_MSG_PACKET, NFQNL_MSG_VERDICT,
                            SO_RCVBUFFORCE, attributes)

SO_MARK, MARK, REORDER_SECONDS = 36, 0x77, 0.003


def send_verdict(sock, queue, number, accept):
    body = struct.pack('!BBH', 0, 0, queue) + attribute(NFQA_VERDICT_HDR, struct.pack('!I', int(accept)) + number)
    sock.send(struct.pack('IHHII', 16 + len(body), NFQNL_MSG_VERDICT, 1, 0, 0) + body)


class Copies:
    """Sends a packet once more."""

    def __init__(self):
        self.v4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.v6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
        for sock in (self.v4, self.v6):
            sock.setsockopt(socket.SOL_SOCKET, SO_MARK, MARK)

    def send(self, packet):
        try:
            if packet[0] >> 4 == 4:
                self.v4.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
            else:
                self.v6.sendto(packet, (socket.inet_ntop(socket.AF_INET6, packet[24:40]), 0))
        except OSError:
            pass   # larger than the link: no copy


def main():
    queue, chance = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    want = {'delay': 0, 'loss': 0, 'duplicate': 0, 'reorder': 0}
    want.update((key, float(value)) for key, value in (text.split('=') for text in sys.argv[3:]))
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    sock.bind((0, 0))
    configure(sock, queue, attribute(NFQA_CFG_CMD, struct.pack('!BBH', BIND, 0, 0)))
    configure(sock, queue, attribute(NFQA_CFG_PARAMS, struct.pack('!IB', 0xffff, COPY_PACKET)))
    copies, waiting, order = Copies(), [], 0
    print('bound', flush=True)
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, number, copy = heapq.heappop(waiting)
            send_verdict(sock, queue, number, True)
            if copy:
                copies.send(copy)
        if not select.select([sock], [], [], waiting[0][0] - now if waiting else None)[0]:
            continue
        message = sock.recv(70000)
        if struct.unpack_from('H', message, 4)[0] != NFQNL_MSG_PACKET:
            continue
        packet = attributes(message[20:])
        number, data = packet[NFQA_PACKET_HDR][:4], packet[NFQA_PAYLOAD]
        if chance.random() < want['loss']:
            send_verdict(sock, queue, number, False)
            continue
        at = now + want['delay'] / 1000 + (REORDER_SECONDS if chance.random() < want['reorder'] else 0)
        copy = data if chance.random() < want['duplicate'] else None
        order += 1
        heapq.heappush(waiting, (at, order, number, copy))


if __name__ == '__main__':
    main()
