# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTTP clients as endpoints. Each fetches /f/N for each message N, and writes a line with the result for its user:

    N TAB 1, or 0 when the client reports an error TAB status TAB reason TAB headers TAB body TAB name of the file

The last five are in Base64. A client that delivers nothing writes no line.
"""
import asyncio
import base64
import collections
import glob
import os
import re
import shutil

from core import HERE, Endpoint
from exchange import Deliverer
from http_servers import build_go

Result = collections.namedtuple('Result', 'good status reason headers body name')
SHARES = 6  # number of processes of a client that fetches one URL at a time


class Client(Endpoint):
    port = None
    files = ()    # files of endpoints/ that start() copies into the folder
    seconds = 900

    def start(self):
        for name in self.files:
            shutil.copy(f'{HERE}/endpoints/{name}', self.folder)

    def understand_with(self, understood, messages):
        results = self.fetch(messages)
        return [understood(m, results.get(n)) for n, m in enumerate(messages)]

    @property
    def base(self):
        return f'http://127.0.0.1:{self.port}/f/'

    def fetch(self, messages):
        """Runs the client; returns {index of message: Result}."""
        for path in glob.glob(self.folder + '/results*'):
            os.remove(path)
        self.write('numbers', ''.join(f'{n}\n' for n in range(len(messages))))
        self.prepare(messages)
        self.deliver(messages)
        return self.results(messages)

    def prepare(self, messages):
        pass

    def deliver(self, messages):
        if Deliverer(messages).run(self.port, self.command(*self.arguments()), self.seconds) is None:
            print(f'  {self.name}: did not end within {self.seconds} s', flush=True)

    def results(self, messages):
        results = {}
        for path in glob.glob(self.folder + '/results*'):
            with open(path) as f:
                for line in f:
                    fields = line.rstrip('\n').split('\t')
                    if len(fields) == 7:
                        results[int(fields[0])] = Result(fields[1] == '1',
                                                         *(base64.b64decode(field) for field in fields[2:]))
        return results


class Files(Client):
    """A client that writes bodies and headers to out/N.body and out/N.head, and "N EXIT-CODE STATUS" for each transfer
    to the file `ended`."""

    def prepare(self, messages):
        for name in ('out', 'names'):
            shutil.rmtree(f'{self.folder}/{name}', ignore_errors=True)
            os.makedirs(f'{self.folder}/{name}')
        self.write('ended', '')
        self.write('named', ''.join(f'{n}\n' for n, m in enumerate(messages) if m.place == 'name'))

    def read(self, path):
        try:
            with open(f'{self.folder}/out/{path}', 'rb') as f:
                return f.read(1 << 19)
        except FileNotFoundError:
            return None

    def results(self, messages):
        results, codes = {}, {}
        with open(self.folder + '/ended') as f:
            for line in f:
                words = line.split()
                if len(words) >= 2:
                    codes[int(words[0])] = words[1]
        for n in range(len(messages)):
            head, body = self.read(f'{n}.head') or b'', self.read(f'{n}.body')
            head = re.split(rb'\n(?=\s*HTTP/)', head)[-1]  # without interim responses
            names = '\n'.join(os.listdir(f'{self.folder}/names/{n}')) \
                if os.path.isdir(f'{self.folder}/names/{n}') else ''
            if head or body or names:
                status = re.findall(rb'^\s*\S*HTTP/?\S*\s+(\d{3})(?!\d)', head, re.MULTILINE)
                reasons = b'\n'.join(re.findall(rb'^\s*HTTP.*', head, re.MULTILINE))
                results[n] = Result(self.is_good(codes.get(n)), status[-1] if status else b'', reasons, head, body
                                    or b'', names.encode('utf-8', 'surrogateescape'))
        return results

    def is_good(self, code):
        return code == '0'


class Curl(Files):
    name, program, port = 'curl', '/usr/bin/curl', 8101
    options = ()

    def prepare(self, messages):
        """Writes a configuration for each of SHARES processes. A single process with --parallel would stop at the first
        response that is not HTTP."""
        super().prepare(messages)
        shares = [[] for _ in range(SHARES)]
        for n, m in enumerate(messages):
            lines = shares[n % SHARES]
            lines += [*self.options, 'silent', 'max-time = 6', f'url = "{self.base}{n}"',
                      f'output = "/endpoint/out/{n}.body"', f'dump-header = "/endpoint/out/{n}.head"',
                      f'write-out = "{n} %{{exitcode}}\\n"', 'next']
            if m.place == 'name':
                os.makedirs(f'{self.folder}/names/{n}')
                lines += [*self.options, 'silent', 'max-time = 6', f'url = "{self.base}{n}"', 'remote-name',
                          'remote-header-name', f'output-dir = "/endpoint/names/{n}"', 'next']
        for share, lines in enumerate(shares):
            self.write(f'config.{share}', '\n'.join(lines[:-1]) + '\n')

    def arguments(self):
        return ('sh', '-c', f'for n in $(seq 0 {SHARES - 1}); do '
                            'curl -K /endpoint/config.$n >>/endpoint/ended 2>/dev/null & done; wait')


class CurlCompressed(Curl):
    name, port = 'curl-compressed', 8102
    options = ('compressed', 'tr-encoding', 'http0.9')


class Wget(Files):
    name, program, port = 'wget', '/usr/bin/wget', 8103

    def arguments(self):
        options = f'-t1 -T5 --max-redirect=0 --content-on-error --compression=auto --no-config --no-hsts'
        self.write('one',
                   f'#!/bin/sh\nwget {options} -q -S -O /endpoint/out/$1.body {self.base}$1 '
                   f'2>/endpoint/out/$1.head\necho "$1 $?" >>/endpoint/ended\n')
        self.write('named-one',
                   f'#!/bin/sh\nwget {options} -q --content-disposition -P /endpoint/names/$1 {self.base}$1 '
                   f'2>/dev/null\nexit 0\n')
        return ('sh', '-c', 'xargs -P 12 -n 1 sh /endpoint/one </endpoint/numbers; '
                            'xargs -r -P 12 -n 1 sh /endpoint/named-one </endpoint/named')

    def is_good(self, code):
        return code in ('0', '8')  # 8: the response has an error status


class Python(Client):
    name, program, port, kind = 'python-urllib', '/usr/bin/python3', 8104, 'urllib'
    files = ('fetch.py',)

    def arguments(self):
        return 'python3', '/endpoint/fetch.py', self.kind, self.base


class Requests(Python):
    name, groups, program, port, kind = 'python-requests', (
        'http',), '/usr/lib/python3/dist-packages/requests/__init__.py', 8105, 'requests'


class Node(Client):
    name, program, port, kind = 'node-http', '/usr/bin/node', 8106, 'strict'
    files = ('fetch.js',)

    def arguments(self):
        return 'node', '--no-warnings', '/endpoint/fetch.js', self.kind, self.base


class NodeLenient(Node):
    name, port, kind = 'node-http-lenient', 8107, 'lenient'


class NodeFetch(Node):
    name, groups, port, kind = 'node-fetch', ('http',), 8108, 'fetch'


class Shared(Client):
    """A client that fetches one URL at a time. SHARES processes run at the same time, each with a part of the URLs."""
    interpreter = None

    def arguments(self):
        return ('sh', '-c', f'for n in $(seq 0 {SHARES - 1}); do '
                            f'{self.interpreter} /endpoint/{self.files[0]} {self.base} $n {SHARES} & done; wait')


class Php(Shared):
    name, groups, program, port, interpreter = 'php-fopen', (
        'http',), '/usr/bin/php8.2', 8109, 'php8.2 -d display_errors=0'
    files = ('fetch.php',)


class Perl(Shared):
    name, groups, program, port, interpreter = 'perl-lwp', ('http',
                                                            '/'), '/usr/share/perl5/LWP/UserAgent.pm', 8110, 'perl'
    files = ('fetch.pl',)


class Go(Client):
    name, groups, program, port = 'go-http', ('/',), '/bin/sh', 8111

    def __init__(self, folder):
        super().__init__(folder)
        self.built = build_go(folder, 'fetch')

    def start(self):
        shutil.copy(self.built, self.folder + '/client')

    def arguments(self):
        return '/endpoint/client', self.base


class Page(Deliverer):
    """Serves a page whose script fetches the messages, and receives its results."""

    def __init__(self, messages, folder):
        super().__init__(messages)
        self.folder, self.ended = folder, asyncio.Event()

    async def serve_other(self, request, reader, writer):
        path = request.split(b' ', 2)[1]
        length = re.search(rb'\r\ncontent-length: *(\d+)', request, re.IGNORECASE)
        body, kind = b'', b'text/plain'
        if length:
            data = await reader.readexactly(int(length[1]))
            with open(self.folder + '/results', 'ab') as f:
                f.write(data)
        if path == b'/numbers':
            body = ''.join(f'{n}\n' for n in range(len(self.messages))).encode()
        elif path == b'/page':
            with open(f'{HERE}/endpoints/fetch.html', 'rb') as f:
                body, kind = f.read(), b'text/html'
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' %
                     (kind, len(body)) + body)
        await writer.drain()
        if path == b'/end':
            self.ended.set()

    def run_browser(self, port, command, timeout):
        async def work():
            process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL,
                                                           stdout=asyncio.subprocess.DEVNULL,
                                                           stderr=asyncio.subprocess.DEVNULL)
            try:
                await asyncio.wait_for(self.ended.wait(), timeout)
                return True
            except asyncio.TimeoutError:
                return None
            finally:
                process.kill()
                await process.wait()
        return asyncio.run(self.serve_while(port, work))


class Chromium(Client):
    name, groups, program, port = 'chromium', ('nightly-chromium', '/'), '/usr/lib/chromium/chromium', 8112
    seconds = 3000

    def deliver(self, messages):
        command = self.command('/usr/lib/chromium/chromium', '--headless=new', '--no-sandbox', '--disable-gpu',
                               '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
                               '--disable-component-update',
                               '--user-data-dir=/endpoint/profile', f'http://127.0.0.1:{self.port}/page')
        if Page(messages, self.folder).run_browser(self.port, command, self.seconds) is None:
            print(f'  {self.name}: did not end within {self.seconds} s', flush=True)


CLIENTS = (Curl, CurlCompressed, Wget, Python, Requests, Node, NodeLenient, NodeFetch, Php, Perl, Go)
NIGHTLY = (Chromium,)
