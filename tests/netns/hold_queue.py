#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hold_queue.py NUMBER: binds an NFQUEUE and never answers, so that packets wait in the kernel; prints "bound"."""
import socket
import struct
import sys
import time

NETLINK_NETFILTER = 12
NFQNL_MSG_CONFIG = 3 << 8 | 2
NLM_F_REQUEST, NLM_F_ACK = 1, 4
NFQA_CFG_CMD, NFQA_CFG_PARAMS = 1, 2
BIND, COPY_PACKET = 1, 2


def attribute(kind, data):
    return struct.pack('HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)


def configure(sock, queue, payload):
    body = struct.pack('!BBH', 0, 0, queue) + payload
    sock.send(struct.pack('IHHII', 16 + len(body), NFQNL_MSG_CONFIG, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
    error = struct.unpack_from('i', sock.recv(4096), 16)[0]
    if error:
        sys.exit(f'queue {queue}: error {error}')


def main():
    queue = int(sys.argv[1])
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    sock.bind((0, 0))
    configure(sock, queue, attribute(NFQA_CFG_CMD, struct.pack('!BBH', BIND, 0, 0)))
    configure(sock, queue, attribute(NFQA_CFG_PARAMS, struct.pack('!IB', 0xffff, COPY_PACKET)))
    print('bound', flush=True)
    time.sleep(60)


if __name__ == '__main__':
    main()
