#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A WebSocket server that records and echoes messages, and its client, with the package websockets.

    websocket.py serve PORT FILE          records each message in a line
    websocket.py send ADDRESS PORT        sends messages on connections of their own; prints "NAME answered|not answered"
"""
import asyncio
import sys

import websockets

TEXT = 'a good text that is repeated, ' * 20
# Name, compression, and the messages. A message that is a list is sent in fragments.
CASES = [
    ('plain', None, ['good', TEXT]),
    ('compressed', 'deflate', [TEXT, TEXT + 'again']),
    ('fragments', None, [['good ', 'in ', 'three']]),
    ('evil-plain', None, ['good', 'an evil word']),
    ('evil-fragments', None, [['an ev', 'il wo', 'rd']]),
    ('evil-compressed', 'deflate', [TEXT + 'an evil wor', TEXT + 'an evil word']),
    ('evil-binary', 'deflate', [b'\0\1an evil word']),
]


async def serve(port, path):
    async def record(connection):
        async for message in connection:
            with open(path, 'ab') as out:
                out.write((message.encode() if isinstance(message, str) else message) + b'\n')
            await connection.send(message)

    async with websockets.serve(record, '', port):
        open(path, 'ab').close()
        await asyncio.Future()


async def send(address, port):
    for name, compression, messages in CASES:
        answered = True
        connection = await websockets.connect(f'ws://{address}:{port}/', compression=compression, close_timeout=0.2)
        try:
            for message in messages:
                await connection.send(message)
                whole = ''.join(message) if isinstance(message, list) else message
                if await asyncio.wait_for(connection.recv(), 2) != whole:
                    sys.exit(f'{name}: another answer')
        except (asyncio.TimeoutError, websockets.ConnectionClosed):
            answered = False
        print(name, 'answered' if answered else 'not answered', flush=True)
        await connection.close()


if __name__ == '__main__':
    asyncio.run(serve(int(sys.argv[2]), sys.argv[3]) if sys.argv[1] == 'serve' else send(sys.argv[2], int(sys.argv[3])))
