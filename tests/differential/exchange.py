# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends messages to servers, and serves messages to clients, many at the same time."""
import asyncio

from core import WAIT

AT_ONCE = 48
READ_MAX = 1 << 20


async def read_until_quiet(reader, quiet, received):
    """Reads until the peer closes (returns True), or until no data arrives for QUIET seconds (returns False)."""
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
    """Sends a message; returns the bytes that the server sends, or None if it accepts no connection."""
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
    """Sends each message to the server; returns its answers, None for a connection that was not accepted."""
    return asyncio.run(exchange_all(address, messages, quiet))


class Deliverer:
    """Serves messages to clients: answers a request for /N with the steps of message N, and closes the connection."""

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
        """Answers all other requests. A client endpoint may override this function."""

    async def serve_while(self, port, work):
        server = await asyncio.start_server(self.serve_one, '0.0.0.0', port, backlog=1024)
        async with server:
            return await work()

    def run(self, port, command, timeout):
        """Serves on PORT while COMMAND runs. Returns its exit code, or None if it was killed after the timeout."""
        async def work():
            process = await asyncio.create_subprocess_exec(*command)
            try:
                return await asyncio.wait_for(process.wait(), timeout)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
                return None
        return asyncio.run(self.serve_while(port, work))
