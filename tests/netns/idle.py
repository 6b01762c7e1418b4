#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The connections of idle.sh: client and server in one process, with sockets of their namespaces.

    idle.py PREFIX SLUICE SOCKET [SECONDS]    the namespaces PREFIX-cli and PREFIX-srv, the daemon's control socket, how
                                              long to wait for data

It prints how many connections went on, and the clients' ports of the two that sent the pattern.
"""
import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time

PREFIX, SLUICE, CONTROL = sys.argv[1:4]
PORT, PATIENCE = 7001, int((sys.argv[4:] or ["8"])[0])
libc = ctypes.CDLL(None, use_errno=True)


def enter(host):
    with open(f"/run/netns/{PREFIX}-{host}", "rb") as file:
        if libc.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")


def ask(*arguments):
    run = subprocess.run([SLUICE, *arguments, "--json", "--socket", CONTROL], check=True, capture_output=True,
                         text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


class Connection:
    def __init__(self, listener, address, port=PORT):
        enter("cli")
        self.client = socket.create_connection((address, port), timeout=PATIENCE)
        self.server = listener.accept()[0]
        self.server.settimeout(PATIENCE)
        for end in (self.client, self.server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.exchange(b"at first")

    def send(self, source, sink, data):
        source.sendall(data)
        got = b""
        while len(got) < len(data):
            piece = sink.recv(len(data) - len(got))
            assert piece, f"closed after {got!r}"
            got += piece
        assert got == data, got

    def to_server(self, data):
        self.send(self.client, self.server, data)

    def to_client(self, data):
        self.send(self.server, self.client, data)

    def exchange(self, data):
        self.to_server(data)
        self.to_client(data)


def wait_until_forgotten(connections):
    """Sluice has no flow of these any more."""
    ports = {connection.client.getsockname()[1] for connection in connections}
    for _ in range(200):
        if not [flow for flow in ask("flows") if flow["proto"] == "TCP" and flow["src_port"] in ports]:
            return
        time.sleep(0.05)
    sys.exit("the flows do not expire")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return ~(total + (total >> 16)) & 0xffff


def forge(source, destination, port, payload):
    """A data segment of a connection that does not exist."""
    def header(sum_):
        return struct.pack("!HHIIBBHHH", port, PORT, 1000, 2000, 5 << 4, 0x18, 500, sum_, 0)

    length = 20 + len(payload)
    pseudo = socket.inet_aton(source) + socket.inet_aton(destination) + \
        struct.pack("!BBH", 0, socket.IPPROTO_TCP, length)
    enter("cli")
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    raw.sendto(header(checksum(pseudo + header(0) + payload)) + payload, (destination, 0))


def main():
    enter("srv")
    listener = socket.create_server(("", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
    listener.settimeout(PATIENCE)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", PORT))
    datagrams.settimeout(PATIENCE)

    plain = Connection(listener, "10.66.2.2")
    six = Connection(listener, "fd66:2::2")
    masqueraded = Connection(listener, "10.66.2.3")
    forwarded = Connection(listener, "10.66.1.1", 7009)
    server_first = Connection(listener, "10.66.2.2")
    masqueraded_server_first = Connection(listener, "10.66.2.3")
    closed = Connection(listener, "10.66.2.2")
    reset = Connection(listener, "10.66.2.2")
    probed = Connection(listener, "10.66.2.2")
    evil = Connection(listener, "10.66.2.2")
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(("10.66.2.2", PORT))
    udp.send(b"at first")
    peer = datagrams.recvfrom(64)[1]
    wait_until_forgotten((plain, six, masqueraded, forwarded, server_first, masqueraded_server_first, closed, reset,
                          probed, evil))

    picked_up = 0
    for connection in plain, six, masqueraded, forwarded:
        connection.exchange(b"goes on")
        picked_up += 1
    for connection in server_first, masqueraded_server_first:
        connection.to_client(b"FROM-THE-SERVER")
        connection.to_server(b"FROM-THE-SERVER")  # the rule is for the other direction
        picked_up += 1

    # The end of an idle connection reaches the other side.
    closed.server.close()
    assert closed.client.recv(1) == b"", "no FIN"
    closed.client.close()
    reset.server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reset.server.close()
    try:
        reset.client.recv(1)
        sys.exit("no reset")
    except ConnectionResetError:
        pass

    # What follows a keep-alive probe is inspected, as what comes first is.
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1)):
        probed.client.setsockopt(socket.IPPROTO_TCP, option, value)
    probed.client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    port = probed.client.getsockname()[1]
    for _ in range(200):
        if [flow for flow in ask("flows") if flow.get("src_port") == port and flow["flow"]["pkts_toclient"] > 0]:
            break
        time.sleep(0.05)
    else:
        sys.exit("no keep-alive was answered")
    for connection in evil, probed:
        connection.client.sendall(b"EVIL-PATTERN")

    udp.send(b"goes on")
    datagrams.sendto(b"and back", peer)
    assert datagrams.recv(64) == b"goes on" and udp.recv(64) == b"and back"
    forge("10.66.1.2", "10.66.2.2", 4242, b"forged")
    print(picked_up, *(connection.client.getsockname()[1] for connection in (evil, probed)))
    for _ in range(200):
        if [event for event in ask("flows") if event.get("src_port") == 4242]:
            break
        time.sleep(0.05)
    else:
        sys.exit("the forged segment did not come to Sluice")
    for connection in evil, probed:
        connection.server.setblocking(False)
        try:
            sys.exit(f"the pattern passed: {connection.server.recv(64)}")
        except BlockingIOError:
            pass


main()
