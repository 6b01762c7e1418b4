# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers that sluice-ship sends events to, for the tests of further outputs.

A server can be stopped, started again, and paused (it stays connected but reads nothing), and returns the events that
it has received. It runs in the foreground, in a folder of the test, on Unix sockets or loopback.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time


def wait_for(condition, what, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            sys.exit(f'timeout: {what}')
        time.sleep(0.05)


def start(command, log, **more):
    """Starts a program in its own process group, with its output in the file `log`."""
    with open(log, 'ab') as file:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **more)


def numbers(lines):
    """Returns the numbers of the events in lines of text, in order."""
    return [int(m[1]) for m in (re.search(rb'"flow_id":(\d+)', line) for line in lines) if m]


class Server:
    """`settings`: the lines of the output in the configuration, without its name."""
    settings = ''

    def __init__(self, folder):
        self.folder, self.process = folder, None
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait()
        self.process = None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def close(self):
        """Ends what stays when the server is killed."""

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


# Reads a Unix socket and appends to a file; a separate process, so that it can be stopped and killed.
READER = r'''
import os, socket, sys
kind, path, out = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == 'stream' else socket.SOCK_DGRAM)
try: os.unlink(path)
except FileNotFoundError: pass
s.bind(path)
file = open(out, 'ab', buffering=0)
if kind == 'stream':
    s.listen(8)
    while True:
        connection, _ = s.accept()
        while (data := connection.recv(1 << 20)):
            file.write(data)
        file.write(b'\n')
else:
    while True:
        file.write(s.recv(1 << 20))
'''


class UnixSocket(Server):
    def __init__(self, folder, kind):
        super().__init__(folder)
        self.kind = kind
        filetype = 'unix_stream' if kind == 'stream' else 'unix_dgram'
        self.settings = f'filetype: {filetype}\nfilename: {self.path("socket")}\n'

    def start(self):
        if os.path.exists(self.path('socket')):
            os.unlink(self.path('socket'))
        self.process = start([sys.executable, '-c', READER, self.kind, self.path('socket'), self.path('out')],
                             self.path('log'))
        wait_for(lambda: os.path.exists(self.path('socket')), 'the reader does not listen')

    def received(self):
        if not os.path.exists(self.path('out')):
            return []
        with open(self.path('out'), 'rb') as file:
            return numbers(file)


class Rsyslog(Server):
    """rsyslogd with a socket of its own, which writes the messages to a file with their RFC 5424 header parsed."""
    program = shutil.which('rsyslogd', path='/usr/sbin:/sbin:/usr/bin')

    def __init__(self, folder):
        super().__init__(folder)
        self.settings = ('filetype: syslog\n'
                         f'syslog: {{socket: {self.path("socket")}, facility: local3, level: notice}}\n')
        with open(self.path('rsyslog.conf'), 'w', encoding='utf-8') as file:
            file.write(f'''global(workDirectory="{folder}" maxMessageSize="64k")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{self.path('socket')}" RateLimit.Interval="0" UseSysTimeStamp="off" useSpecialParser="off"
      parseHostname="on")
main_queue(queue.type="Direct")
template(name="all" type="string"
         string="%pri-text% %protocol-version% %hostname% %app-name% %msgid% %timestamp:::date-rfc3339% %msg%\\n")
action(type="omfile" file="{self.path('out')}" template="all" asyncWriting="off" flushOnTXEnd="on")
''')

    def start(self):
        if os.path.exists(self.path('socket')):
            os.unlink(self.path('socket'))
        self.process = start([self.program, '-n', '-f', self.path('rsyslog.conf'), '-i', self.path('pid')],
                             self.path('log'))
        wait_for(lambda: os.path.exists(self.path('socket')), 'rsyslogd does not listen')

    def lines(self):
        if not os.path.exists(self.path('out')):
            return []
        with open(self.path('out'), 'rb') as file:
            return file.readlines()

    def received(self):
        return numbers(self.lines())


class Redis(Server):
    """redis-server with a list or stream that outlives its restarts (append-only file), or with a subscriber."""
    program = shutil.which('redis-server')

    def __init__(self, folder, mode):
        super().__init__(folder)
        self.mode = mode
        self.settings = ('filetype: redis\n'
                         f'redis: {{socket: {self.path("socket")}, mode: {mode}, key: events, stream-maxlen: 0}}\n')

    def start(self):
        self.process = start([self.program, '--port', '0', '--unixsocket', self.path('socket'), '--dir', self.folder,
                              '--save', '', '--appendonly', 'yes', '--appendfsync', 'no'], self.path('log'))
        wait_for(self.answers, 'redis-server does not answer')

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path('socket'))
        return s, s.makefile('rb')

    def answers(self):
        try:
            s, replies = self.connect()
        except OSError:
            return False
        with s:
            s.sendall(b'PING\r\n')
            return replies.readline() == b'+PONG\r\n'

    def received(self):
        s, replies = self.connect()
        with s:
            if self.mode in ('stream', 'xadd'):
                s.sendall(b'XRANGE events - +\r\n')
            else:
                s.sendall(b'LRANGE events 0 -1\r\n')
            s.settimeout(30)
            found, left = [], 1
            while left > 0:
                line = replies.readline()
                left -= 1
                if line[:1] == b'*':
                    left += int(line[1:])
                elif line[:1] == b'$':
                    text = replies.read(int(line[1:]) + 2)
                    found += numbers([text])
                elif line[:1] == b'-' or not line:
                    sys.exit(f'redis: {line}')
        return found[::-1] if self.mode in ('list', 'lpush') else found


class Ship:
    """sluice-ship with a configuration."""

    def __init__(self, program, folder, config):
        self.program, self.folder, self.config, self.process = program, folder, config, None

    def start(self):
        socket_path = os.path.join(self.folder, 'ship.socket')
        if os.path.exists(socket_path):
            os.unlink(socket_path)
        self.process = start([self.program, '--config', self.config], os.path.join(self.folder, 'ship.log'))
        wait_for(lambda: os.path.exists(socket_path), 'sluice-ship does not listen')

    def stop(self):
        self.process.terminate()
        if self.process.wait() != 0:
            sys.exit(f'sluice-ship exited with {self.process.returncode}')
        self.process = None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def log(self):
        with open(os.path.join(self.folder, 'ship.log'), encoding='utf-8') as file:
            return file.read()

    def waits(self):
        """Returns how often the threads of the process have slept or waited so far."""
        total = 0
        for thread in os.listdir(f'/proc/{self.process.pid}/task'):
            with open(f'/proc/{self.process.pid}/task/{thread}/status', encoding='utf-8') as file:
                total += int(re.search(r'\nvoluntary_ctxt_switches:\s+(\d+)', file.read())[1])
        return total

    def memory_kb(self):
        with open(f'/proc/{self.process.pid}/status', encoding='utf-8') as file:
            return int(re.search(r'RssAnon:\s+(\d+)', file.read())[1])


def write_config(path, folder, outputs, buffer_size='1 MiB'):
    """Writes a configuration with the servers `outputs` ({name: Server}) and without an event file."""
    with open(path, 'w', encoding='utf-8') as file:
        # The ring is large, because on a busy machine the threads of the writer may not run for a while.
        file.write(f'output.ship-socket: {folder}/ship.socket\noutput.ring-size: 16M\neve.enabled: no\noutputs:\n')
        for name, server in outputs.items():
            lines = (server.settings + f'types: [alert]\nbuffer-size: {buffer_size}\n').splitlines()
            file.write(f'  {name}:\n' + ''.join(f'    {line}\n' for line in lines))


def check_account(name, counters, received, count, duplicates_allowed):
    """Every event was received or counted as lost, and was received once unless a connection broke."""
    distinct = len(set(received))
    lost = counters['lost_full'] + counters['lost_error'] + counters['rejected']
    if counters['events'] != count:
        sys.exit(f'{name}: {counters["events"]} of {count} events were selected')
    if counters['delivered'] + lost + counters['waiting'] != count:
        sys.exit(f'{name}: the counters do not add up: {counters}')
    if counters['waiting']:
        sys.exit(f'{name}: {counters["waiting"]} events still wait')
    if distinct != counters['delivered']:
        sys.exit(f'{name}: {distinct} events were received, {counters["delivered"]} are counted as delivered: '
                 f'{counters}')
    if not duplicates_allowed and len(received) != distinct:
        sys.exit(f'{name}: {len(received) - distinct} events were received twice')
    return {'events': count, 'received': distinct, 'twice': len(received) - distinct, 'lost': lost,
            'connects': counters['connects']}


def run_load(program, config, folder, rate, count, drain):
    return subprocess.Popen([program, config, folder, str(rate), str(count), str(drain)], stdout=subprocess.PIPE,
                            text=True)


def load_counters(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f'event_load exited with {process.returncode}')
    return json.loads(out)
