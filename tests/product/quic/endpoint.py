#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A QUIC client and server of aioquic, for run.sh.

    endpoint.py server CERTIFICATE KEY LOG [--retry]
    endpoint.py client NAME [--versions V,...] [--large] [--migrate]

The server listens on port 443 and writes the server name of each ClientHello that reaches it, and each message, to LOG;
it answers a message with the same bytes. The client connects to 10.66.2.2, sends a message and prints "answered" when
the answer has arrived. --large: the ClientHello needs several packets. --migrate: the client continues from another
port. Versions are hexadecimal, the first one is offered first. Exit code 1: no connection within 4 seconds.
"""
import argparse
import asyncio
import ssl
import sys

from aioquic import tls
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.asyncio.client import connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived

ADDRESS, PORT = '10.66.2.2', 443


async def serve_forever(options):
    log = open(options.log, 'a', encoding='utf-8')

    def write(line):
        print(line, file=log, flush=True)

    class Echo(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, StreamDataReceived) and event.end_stream:
                write(f'message {event.data.decode()}')
                self._quic.send_stream_data(event.stream_id, event.data, end_stream=True)

    parse = tls.pull_client_hello

    def pull_client_hello(buffer):
        hello = parse(buffer)
        write(f'hello {hello.server_name}')
        return hello

    tls.pull_client_hello = pull_client_hello
    configuration = QuicConfiguration(is_client=False, alpn_protocols=['sluice'])
    configuration.load_cert_chain(options.certificate, options.key)
    await serve('0.0.0.0', PORT, configuration=configuration, create_protocol=Echo, retry=options.retry)
    write('ready')
    await asyncio.Future()


async def converse(options):
    configuration = QuicConfiguration(is_client=True, server_name=options.name, verify_mode=ssl.CERT_NONE,
                                      alpn_protocols=['sluice'])
    if options.large:
        configuration.alpn_protocols += [f'a-protocol-that-nobody-speaks-{number}' for number in range(60)]
    if options.versions:
        configuration.supported_versions = [int(version, 16) for version in options.versions.split(',')]
        configuration.original_version = configuration.supported_versions[0]
    async with connect(ADDRESS, PORT, configuration=configuration) as connection:
        for number in range(2 if options.migrate else 1):
            reader, writer = await connection.create_stream()
            writer.write(f'to {options.name} {number}'.encode())
            writer.write_eof()
            await reader.read()
            if options.migrate and number == 0:
                loop = asyncio.get_running_loop()
                connection._transport.close()
                transport, _ = await loop.create_datagram_endpoint(lambda: connection, local_addr=('::', 0))
                connection.connection_made(transport)
        print('answered', flush=True)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest='command', required=True)
    server = commands.add_parser('server')
    for name in ('certificate', 'key', 'log'):
        server.add_argument(name)
    server.add_argument('--retry', action='store_true')
    client = commands.add_parser('client')
    client.add_argument('name')
    client.add_argument('--versions')
    client.add_argument('--large', action='store_true')
    client.add_argument('--migrate', action='store_true')
    options = parser.parse_args()
    if options.command == 'server':
        asyncio.run(serve_forever(options))
        return
    try:
        asyncio.run(asyncio.wait_for(converse(options), 4))
    except (ConnectionError, asyncio.TimeoutError) as error:
        sys.exit(f'no connection: {type(error).__name__}')


if __name__ == '__main__':
    main()
