#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""10,000 events per second to one further output while its server is stopped, restarted and slow.

    destinations.py SERVER     unix_stream, unix_dgram, syslog, syslog_tcp, syslog_tls, redis_list, redis_channel,
                               redis_stream, valkey_list, valkey_stream or kafka

Every event is received or counted as lost, the memory of sluice-ship and of the writer stays bounded, and the writer
never waits. syslog_tcp and syslog_tls are remote servers behind the rsyslogd of this host, which is configured as
docs/guide/ship-events.md describes. Valkey is the package of Debian 13, Kafka a broker of Apache Kafka (KRaft, one
node), which Maven downloads. The environment has the programs (EVENT_LOAD, SHIP) and a folder for downloads
(PRODUCT_CACHE).
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../output'))
from ship_servers import (Redis, Rsyslog, Server, Ship, UnixSocket, check_account, load_counters, numbers, run_load,
                          start, wait_for, write_config)

RATE, SECONDS, BUFFER = 10000, 12, '4 MiB'
COUNT = RATE * SECONDS


def skip(reason):
    print(f'SKIP: {reason}')
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class RedisChannel(Redis):
    """redis-server with a subscriber, which subscribes again when the server starts again."""

    def __init__(self, folder):
        super().__init__(folder, 'channel')
        self.messages, self.ended, self.subscribed = [], False, 0
        self.thread = threading.Thread(target=self.subscribe, daemon=True)

    def start(self):
        before = self.subscribed
        super().start()
        if not self.thread.is_alive():
            self.thread.start()
        wait_for(lambda: self.subscribed > before, 'no subscription')

    def subscribe(self):
        while not self.ended:
            try:
                s, replies = self.connect()
                s.sendall(b'SUBSCRIBE events\r\n')
                while line := replies.readline():
                    if line == b'$9\r\n' and replies.readline() == b'subscribe\r\n':
                        self.subscribed += 1
                    self.messages += numbers([line])
            except OSError:
                time.sleep(0.01)

    def received(self):
        return self.messages


class Valkey(Redis):
    """valkey-server of Debian 13, with the libraries of that release."""

    def __init__(self, folder, mode):
        super().__init__(folder, mode)
        cache = os.environ['PRODUCT_CACHE'] + '/valkey'
        done = subprocess.run([f'{HERE}/../fetch', 'trixie', cache, 'valkey-server'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            skip(f'valkey-server of trixie cannot be downloaded: {done.stdout[-300:]}')
        root = os.path.abspath(cache + '/trixie/root')
        self.program = self.path('valkey-server')
        with open(self.program, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n'
                       f'exec {root}/usr/lib64/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/x86_64-linux-gnu '
                       f'{root}/usr/bin/valkey-server "$@"\n')
        os.chmod(self.program, 0o755)


class RemoteRsyslog(Rsyslog):
    """A remote rsyslogd, to which the rsyslogd of this host sends over TCP or TLS as docs/guide/ship-events.md says."""

    def __init__(self, folder, tls):
        super().__init__(folder)
        self.port, self.local = free_port(), None
        with open(f'{HERE}/../../../docs/guide/ship-events.md', encoding='utf-8') as file:
            text = re.search(r"cat >/etc/rsyslog.d/30-sluice.conf <<'END'\n(.*?)\nEND\n", file.read(), re.DOTALL)[1]
        for old, new in (('/run/sluice-syslog.socket', self.path('socket')), ('siem.example.org', 'localhost'),
                         ('"6514"', f'"{self.port}"')):
            if old not in text:
                sys.exit(f'{old} is not in docs/guide/ship-events.md')
            text = text.replace(old, new)
        if not tls:
            text = re.sub(r'\s*StreamDriver\w*="[^"]*"', '', text)
        self.settings = f'filetype: syslog\nsyslog: {{socket: {self.path("socket")}, facility: local5}}\n'
        files = f'DefaultNetstreamDriverCAFile="{self.path("cert.pem")}"' if tls else ''
        with open(self.path('local.conf'), 'w', encoding='utf-8') as file:
            file.write(f'global(workDirectory="{folder}" {files})\n{text}\n')
        driver = ''
        if tls:
            if not os.path.exists('/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_gtls.so'):
                skip('rsyslog-gnutls is not installed')
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
                            '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout',
                            self.path('key.pem'), '-out', self.path('cert.pem')], check=True, capture_output=True)
            files += (f' DefaultNetstreamDriverCertFile="{self.path("cert.pem")}"'
                      f' DefaultNetstreamDriverKeyFile="{self.path("key.pem")}"')
            driver = 'StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="anon"'
        with open(self.path('rsyslog.conf'), 'w', encoding='utf-8') as file:
            file.write(f'''global(workDirectory="{folder}" maxMessageSize="64k" {files})
module(load="imtcp" {driver})
input(type="imtcp" address="127.0.0.1" port="{self.port}")
main_queue(queue.type="Direct")
action(type="omfile" file="{self.path('out')}" asyncWriting="off" flushOnTXEnd="on")
''')

    def start(self):
        self.process = start([self.program, '-n', '-f', self.path('rsyslog.conf'), '-i', self.path('pid')],
                             self.path('log'))
        if not self.local:
            self.local = start([self.program, '-n', '-f', self.path('local.conf'), '-i', self.path('local.pid')],
                               self.path('log'))
            wait_for(lambda: os.path.exists(self.path('socket')), 'the rsyslogd of this host does not listen')

    def close(self):
        self.local.kill()
        self.local.wait()


class Kafka(Server):
    def __init__(self, folder):
        super().__init__(folder)
        self.jars = fetch_kafka()
        self.port, self.controller = free_port(), free_port()
        self.settings = ('filetype: kafka\n'
                         f'kafka: {{brokers: ["127.0.0.1:{self.port}"], topic: events}}\n')
        with open(self.path('server.properties'), 'w', encoding='utf-8') as file:
            file.write(f'''process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{self.controller}
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={self.path('data')}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=1
''')
        identity = self.tool('kafka.tools.StorageTool', 'random-uuid').split()[-1]
        self.tool('kafka.tools.StorageTool', 'format', '-t', identity, '-c', self.path('server.properties'))

    def java(self, *arguments):
        return ['java', '-Xmx400m', '-cp', f'{self.jars}/*', *arguments]

    def tool(self, *arguments):
        run = subprocess.run(self.java(*arguments), capture_output=True, text=True, check=False, timeout=120)
        if run.returncode != 0:
            sys.exit(f'{arguments[0]}: {run.stdout}{run.stderr}')
        return run.stdout

    def start(self):
        self.process = start(self.java('kafka.Kafka', self.path('server.properties')), self.path('log'))

        def answers():
            run = subprocess.run(self.java('org.apache.kafka.tools.TopicCommand', '--bootstrap-server',
                                           f'127.0.0.1:{self.port}', '--create', '--if-not-exists', '--topic',
                                           'events'), capture_output=True, check=False, timeout=60)
            return run.returncode == 0
        wait_for(answers, 'the Kafka broker does not answer', 120)

    def received(self):
        text = self.tool('org.apache.kafka.tools.consumer.ConsoleConsumer', '--bootstrap-server',
                         f'127.0.0.1:{self.port}', '--topic', 'events', '--from-beginning', '--timeout-ms', '30000')
        return numbers(text.encode().splitlines())


def fetch_kafka():
    jars = os.path.join(os.environ['PRODUCT_CACHE'], 'kafka')
    for program in ('java', 'mvn'):
        if not shutil.which(program):
            skip(f'{program} is not installed')
    if not os.path.exists(f'{jars}/complete'):
        run = subprocess.run(['mvn', '-q', '-B', '-f', f'{HERE}/pom.xml', 'dependency:copy-dependencies',
                              f'-DoutputDirectory={jars}'], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            skip(f'Maven cannot download Apache Kafka: {run.stdout[-300:]}')
        open(f'{jars}/complete', 'w', encoding='utf-8').close()
    return jars


def new_server(name, folder):
    if name in ('unix_stream', 'unix_dgram'):
        return UnixSocket(folder, name.removeprefix("unix_"))
    if name == 'syslog':
        return Rsyslog(folder) if Rsyslog.program else skip('rsyslogd is not installed')
    if name in ('syslog_tcp', 'syslog_tls'):
        return RemoteRsyslog(folder, name == 'syslog_tls') if Rsyslog.program else skip('rsyslogd is not installed')
    if name == 'kafka':
        return Kafka(folder)
    if name.startswith('valkey_'):
        return Valkey(folder, name.removeprefix('valkey_'))
    if not Redis.program:
        skip('redis-server is not installed')
    return RedisChannel(folder) if name == 'redis_channel' else Redis(folder, name.removeprefix('redis_'))


def memory_kb(pid):
    """Returns the anonymous and shared memory of a process."""
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        text = file.read()
    return sum(int(re.search(rf'{name}:\s+(\d+)', text)[1]) for name in ('RssAnon', 'RssShmem'))


def main():
    name = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix='sluice-destination') as folder:
        os.chmod(folder, 0o755)
        server = new_server(name, f'{folder}/server')
        config = f'{folder}/sluice.yaml'
        write_config(config, folder, {name: server}, BUFFER)
        ship = Ship(os.environ['SHIP'], folder, config)
        try:
            server.start()
            ship.start()
            process = run_load(os.environ['EVENT_LOAD'], config, f'{folder}/log', RATE, COUNT, 120)
            largest = {'writer': 0, 'ship': 0}

            def watch():
                while process.poll() is None:
                    for who, pid in (('writer', process.pid), ('ship', ship.process and ship.process.pid)):
                        try:
                            largest[who] = max(largest[who], memory_kb(pid))
                        except (OSError, TypeError, AttributeError):
                            pass
                    time.sleep(0.1)
            watcher = threading.Thread(target=watch)
            watcher.start()
            time.sleep(2)
            server.stop()  # for 2 seconds, longer than the buffer lasts
            time.sleep(2)
            server.start()
            time.sleep(1)
            for _ in range(20):  # slow: it runs for a fifth of the time
                server.pause()
                time.sleep(0.08)
                server.resume()
                time.sleep(0.02)
            ship.kill()
            ship.start()
            server.kill()
            server.start()
            counters = load_counters(process)
            watcher.join()
            if name in ('redis_channel', 'syslog_tcp', 'syslog_tls'):
                # A server that ends forgets what it has confirmed and not yet sent to the subscribers of a channel; a
                # TCP connection that ends, what the rsyslogd of this host has sent and the remote one has not read.
                counted = counters[name]['delivered']
                wait_for(lambda: len(set(server.received())) >= counted * .9, 'messages behind the server', 180)
                before = 0
                while (now := len(set(server.received()))) != before:
                    before = now
                    time.sleep(2)
                unsent = counted - now
                print(f'{unsent} messages were lost behind the first server')
                counters[name]['delivered'] -= unsent
                counters[name]['lost_error'] += unsent
            account = check_account(name, counters[name], server.received(), COUNT, True)
            ship.stop()
        finally:
            server.kill()
            server.close()
            if ship.process:
                ship.kill()
        if counters['ring_lost']:
            sys.exit(f'{counters["ring_lost"]} events were lost between worker and output thread')
        if account['lost'] == 0 and name not in ('syslog_tcp', 'syslog_tls'):  # whose queue is on disk
            sys.exit('nothing was lost, so the test does not test what it should')
        if largest['writer'] > 60 << 10 or largest['ship'] > 60 << 10:
            sys.exit(f'memory is not bounded: {largest} kB')
        print(f'{name}: {account}, longest call of the worker {counters["max_call_us"]} us, memory {largest} kB')


if __name__ == '__main__':
    main()
