# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends messages to servers, and serves messages to clients, many at a time."""
import asyncio

from core import WAIT

AT_ONCE = 48
READ_MAX = 1 << 20


async def read_until_quiet(reader, quiet, received):
    """Reads until the peer closes, or until nothing came for `quiet` seconds. True: it closed."""
    while sum(map(len, received)) < READ_MAX:
        try:
            data = await asyncio.wait_for(reader.read(65536), quiet)
        except asyncio.TimeoutError:
            return False
        except OSError:
            return True
        if not data:
            return True
        received.append(data)
    return True


async def exchange_one(address, m, quiet):
    """The bytes that the server sends for a message."""
    received = []
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), 5)
    except (OSError, asyncio.TimeoutError):
        return None
    try:
        for step in m.steps:
            if step is WAIT:
                await read_until_quiet(reader, min(quiet, 0.1), received)
            else:
                writer.write(step)
                await asyncio.wait_for(writer.drain(), 5)
                if len(m.steps) > 1:
                    await asyncio.sleep(0)
        await read_until_quiet(reader, quiet, received)
    except (OSError, asyncio.TimeoutError):
        pass
    finally:
        writer.close()
    return b''.join(received)


async def exchange_all(address, messages, quiet):
    answers, waiting = [None] * len(messages), iter(enumerate(messages))

    async def work():
        for index, m in waiting:
            answers[index] = await exchange_one(address, m, quiet)
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return answers


def exchange(address, messages, quiet=0.4):
    """What the server at `address` answers to each message; None: it accepted no connection."""
    return asyncio.run(exchange_all(address, messages, quiet))


class Deliverer:
    """Serves messages to clients: the request for /N gets the steps of message N, then the connection is closed."""

    def __init__(self, messages, path_of=lambda request: request.split(b' ', 2)[1]):
        self.messages, self.path_of, self.served = messages, path_of, 0

    async def serve_one(self, reader, writer):
        try:
            request = await asyncio.wait_for(reader.readuntil(b'\r\n\r\n'), 10)
            name = self.path_of(request).rsplit(b'/', 1)[-1]
            if name.isdigit() and int(name) < len(self.messages):
                self.served += 1
                for step in self.messages[int(name)].steps:
                    if step is not WAIT:
                        writer.write(step)
                        await writer.drain()
                        await asyncio.sleep(0)
            else:
                await self.serve_other(request, reader, writer)
        except (OSError, IndexError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def serve_other(self, request, reader, writer):
        """Requests for anything else; a client endpoint overrides it."""

    async def serve_while(self, port, work):
        server = await asyncio.start_server(self.serve_one, '0.0.0.0', port, backlog=1024)
        async with server:
            return await work()

    def run(self, port, command, timeout):
        """Serves on `port` while `command` runs. Its exit code; None: it did not end in time."""
        async def work():
            process = await asyncio.create_subprocess_exec(*command)
            try:
                return await asyncio.wait_for(process.wait(), timeout)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
                return None
        return asyncio.run(self.serve_while(port, work))
