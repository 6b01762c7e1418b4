#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of every type in EveBox, with the configuration of docs/guide/siem-evebox.md.

    evebox.py SLUICE MAKE_EVENTS CACHE

EveBox is built from its package of Rust. It reads the events into its SQLite database; its HTTP interface, which its
pages in the browser use, then has each event, finds events by type, and groups the alerts. CACHE keeps the program.

Exit code 77 if cargo or EveBox's package cannot be had.
"""
import collections
import datetime
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import events as source

VERSION = '0.30.0'
WAIT_SECONDS = 120


def build(cache):
    program = cache + '/evebox/bin/evebox'
    cargo = shutil.which('cargo') or os.path.expanduser('~/.cargo/bin/cargo')
    if not os.path.exists(program):
        if not os.access(cargo, os.X_OK):
            print('SKIP: no program cargo')
            sys.exit(77)
        # Its build script writes BUILD_REV into the program, or asks git, which knows no revision of a package.
        done = subprocess.run([cargo, 'install', 'evebox', '--version', VERSION, '--locked', '--root',
                               cache + '/evebox'], env={**os.environ, 'BUILD_REV': 'package'}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(f'SKIP: cargo install evebox: {done.stdout[-1500:]}')
            sys.exit(77)
    return program


def move_to_now(events, path):
    """Writes the events with recent time stamps, because EveBox removes old events and shows those of a time range."""
    start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=10)
    with open(path, 'w', encoding='utf-8') as out:
        for number, event in enumerate(events):
            when = start + datetime.timedelta(milliseconds=10 * number)
            event['timestamp'] = when.strftime('%Y-%m-%dT%H:%M:%S.%f+0000')
            out.write(json.dumps(event, separators=(',', ':')) + '\n')


class EveBox:
    def __init__(self, program, folder):
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = free.getsockname()[1]
        config = source.page_block('siem-evebox.md', 'http:').replace('/var/log/sluice/eve.json', folder + '/eve.json')
        config = config.replace('port: 5636', f'port: {self.port}')
        with open(folder + '/evebox.yaml', 'w', encoding='utf-8') as f:
            f.write(config + f'  bookmark-directory: {folder}\n')
        command = source.page_block('siem-evebox.md', 'evebox server').split()
        command[0] = program
        command[command.index('/etc/evebox/evebox.yaml')] = folder + '/evebox.yaml'
        command[command.index('/var/lib/evebox')] = folder + '/data'
        os.makedirs(folder + '/data')
        self.log = folder + '/evebox.log'
        with open(self.log, 'w', encoding='utf-8') as log:
            self.process = subprocess.Popen([*command, '--no-tls', '--no-auth'], stdout=log, stderr=log)

    def get(self, path, **parameters):
        url = f'http://127.0.0.1:{self.port}/api/{path}?{urllib.parse.urlencode(parameters)}'
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)

    def count(self, query):
        return self.get('events/count', q=query)['total']

    def wait(self, count):
        """Waits until EveBox has so many events."""
        end, found = time.monotonic() + WAIT_SECONDS, None
        while found != count:
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log, encoding='utf-8') as log:
                    sys.exit(f'EveBox has {found} of {count} events:\n{log.read()[-3000:]}')
            time.sleep(0.2)
            try:
                found = sum(self.count('event_type:' + kind) for kind in self.kinds)
            except (urllib.error.URLError, ConnectionError):
                pass

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def check(evebox, events):
    """What is wrong with the answers of EveBox."""
    by_kind = collections.Counter(event['event_type'] for event in events)
    for kind, count in sorted(by_kind.items()):
        if (found := evebox.count('event_type:' + kind)) != count:
            yield f'{found} instead of {count} events of type {kind}'
    by_signature = collections.Counter(event['alert']['signature_id'] for event in events
                                       if event['event_type'] == 'alert')
    for signature, count in by_signature.most_common(5):
        found = evebox.count(f'event_type:alert alert.signature_id:{signature}')
        if found != count:
            yield f'{found} instead of {count} alerts of signature {signature}'
    queries = collections.Counter()
    for event in events:
        queries['sluice.engine.action:restarted'] += \
            event.get('sluice', {}).get('engine', {}).get('action') == 'restarted'
        queries['drop.reason:rules'] += event.get('drop', {}).get('reason') == 'rules'
    for query, count in queries.items():
        if (found := evebox.count(query)) != count or not count:
            yield f'{found} instead of {count} events with {query}'
    groups = evebox.get('alerts', time_range='24h')['events']
    if sum(group['_metadata']['count'] for group in groups) != by_kind['alert']:
        yield f'{sum(group["_metadata"]["count"] for group in groups)} alerts in {len(groups)} groups, not ' \
              f'{by_kind["alert"]}'


def main():
    sluice, make_events, cache = map(os.path.abspath, sys.argv[1:4])
    program = build(cache)
    with tempfile.TemporaryDirectory() as folder:
        events = source.write_events(sluice, make_events, folder + '/eve.json')
        move_to_now(events, folder + '/new.json')
        os.rename(folder + '/new.json', folder + '/eve.json')
        evebox = EveBox(program, folder)
        evebox.kinds = sorted({event['event_type'] for event in events})
        try:
            evebox.wait(len(events))
            wrong = list(check(evebox, events))
            with open(evebox.log, encoding='utf-8') as log:
                wrong += [line for line in log.read().splitlines() if re.search(r'\bERROR\b', line)]
        finally:
            evebox.stop()
    print(f'EveBox {VERSION} has {len(events)} events of {len(evebox.kinds)} types')
    print('\n'.join(wrong[:20]))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
