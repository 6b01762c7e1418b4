#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets the largest size of super-packets on network interfaces, for IPv4 and IPv6, sent and received: link_sizes.py
BYTES INTERFACE...

It uses netlink because `ip link set` of iproute2 6.1 (Debian 12) lacks the settings for IPv4. Exit code 77: the kernel
refuses.
"""
import socket
import struct
import sys

RTM_NEWLINK, NLM_F_REQUEST, NLM_F_ACK = 16, 1, 4
IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE = 41, 58, 63, 64
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
for name in sys.argv[2:]:
    for attribute in IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE:
        body = struct.pack('=BxHiII', 0, 0, socket.if_nametoindex(name), 0, 0) + \
            struct.pack('=HHI', 8, attribute, int(sys.argv[1]))
        sock.send(struct.pack('=IHHII', 16 + len(body), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
        error = struct.unpack_from('=i', sock.recv(4096), 16)[0]
        if error:
            print(f'{name}: attribute {attribute}: error {-error}')
            sys.exit(77)
