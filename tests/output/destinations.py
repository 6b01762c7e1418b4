#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Further outputs to Unix sockets, rsyslog and redis-server, while the servers and sluice-ship are stopped, restarted
and slow: every event is received or counted as lost.

    destinations.py EVENT_LOAD SLUICE_SHIP SLUICE
"""
import os
import re
import subprocess
import sys
import tempfile
import time

from ship_servers import (Redis, Rsyslog, Ship, UnixSocket, check_account, load_counters, run_load, wait_for,
                          write_config)

RATE, COUNT = 10000, 10000


def new_servers(folder):
    servers = {'stream': UnixSocket(f'{folder}/stream', 'stream'), 'dgram': UnixSocket(f'{folder}/dgram', 'dgram')}
    if Rsyslog.program:
        servers['syslog'] = Rsyslog(f'{folder}/syslog')
    if Redis.program:
        for mode in ('list', 'rpush', 'stream'):
            servers[f'redis-{mode}'] = Redis(f'{folder}/redis-{mode}', mode)
    return servers


def exercise(programs, folder, buffer_size, disturb, duplicates_allowed):
    """Sends COUNT events to all servers while disturb(ship, servers) runs. Returns the accounts."""
    load, ship_program = programs
    servers = new_servers(folder)
    config = f'{folder}/sluice.yaml'
    write_config(config, folder, servers, buffer_size)
    ship = Ship(ship_program, folder, config)
    try:
        for server in servers.values():
            server.start()
        ship.start()
        process = run_load(load, config, f'{folder}/log', RATE, COUNT, 60)
        disturb(ship, servers)
        counters = load_counters(process)
        if counters['ring_lost']:
            sys.exit(f'{counters["ring_lost"]} events were lost between worker and output thread')
        received = {name: server.received() for name, server in servers.items()}
        accounts = {name: check_account(name, counters[name], received[name], COUNT, duplicates_allowed)
                    for name in servers}
        ship.stop()
        return accounts, servers, ship
    finally:
        for server in servers.values():
            server.kill()
        if ship.process:
            ship.kill()


def undisturbed(programs, folder):
    accounts, servers, _ = exercise(programs, folder, '16 MiB', lambda ship, servers: None, False)
    for name, account in accounts.items():
        if account['lost'] or servers[name].__class__ is Redis and account['received'] != COUNT:
            sys.exit(f'{name}: {account}')
    if 'syslog' in servers:
        line = servers['syslog'].lines()[0].decode()
        if not re.match(r'local3\.notice(<\d+>)? 1 \S+ sluice alert \d{4}-\d\d-\d\dT\S+ ?\{"timestamp"', line):
            sys.exit(f'rsyslog parsed another header: {line[:200]}')
    return accounts


def restarted(programs, folder):
    """Servers end and start again; so does sluice-ship, once in order and once killed."""
    def disturb(ship, servers):
        time.sleep(0.3)
        for server in servers.values():
            server.stop()
        time.sleep(0.2)
        for server in servers.values():
            server.start()
        ship.kill()
        time.sleep(0.1)
        ship.start()
        time.sleep(0.3)
        ship.stop()
        ship.start()
    accounts, _, ship = exercise(programs, folder, '64 MiB', disturb, True)
    for name, account in accounts.items():
        if account['lost']:
            sys.exit(f'{name}: events were lost although the buffer was large enough: {account}\n{ship.log()}')
    return accounts


def stopped(programs, folder):
    """Servers are stopped, then paused, for longer than the buffer lasts: what does not fit is lost and counted."""
    def disturb(ship, servers):
        time.sleep(0.3)
        for server in servers.values():
            server.pause()
        time.sleep(0.4)
        for server in servers.values():
            server.resume()
            server.stop()
        time.sleep(0.5)
        for server in servers.values():
            server.start()
    accounts, _, ship = exercise(programs, folder, '256 kB', disturb, True)
    for name, account in accounts.items():
        if not account['lost']:
            sys.exit(f'{name}: nothing was lost, so the test does not test what it should: {account}')
    if len(re.findall(r'output redis-list: .*events wait in memory', ship.log())) > 3:
        sys.exit(f'sluice-ship logs every attempt:\n{ship.log()}')
    return accounts


def hung(programs, folder):
    """A reader that does not read costs almost nothing: sluice-ship wakes up rarely. Returns its wake-ups per second."""
    load, ship_program = programs
    seconds = 1
    wakes = {}
    for kind in ('stream', 'dgram'):
        server = UnixSocket(f'{folder}/{kind}', kind)
        config = f'{folder}/{kind}.yaml'
        write_config(config, folder, {kind: server}, '256 kB')
        ship = Ship(ship_program, folder, config)
        try:
            server.start()
            ship.start()
            server.pause()
            process = run_load(load, config, f'{folder}/log', RATE, COUNT, 60)
            wait_for(lambda: ship.waits() > 20, 'sluice-ship does not run')
            before, begun = ship.waits(), time.monotonic()
            time.sleep(seconds)
            wakes[kind] = round((ship.waits() - before) / (time.monotonic() - begun))
            server.resume()
            check_account(kind, load_counters(process)[kind], server.received(), COUNT, False)
            ship.stop()
        finally:
            server.kill()
            if ship.process:
                ship.kill()
        if wakes[kind] > 150:
            sys.exit(f'{kind}: sluice-ship wakes up {wakes[kind]} times per second while the reader is hung')
    return wakes


def late(programs, folder):
    """sluice-ship starts after the engine has written its events, and ends after the engine."""
    load, ship_program = programs
    servers = {'stream': UnixSocket(f'{folder}/stream', 'stream')}
    config = f'{folder}/sluice.yaml'
    write_config(config, folder, servers, '16 MiB')
    ship = Ship(ship_program, folder, config)
    process = run_load(load, config, f'{folder}/log', 100000, 2000, 3)
    time.sleep(0.5)
    ship.start()  # its server does not run yet: the events wait
    load_counters(process)  # the engine has ended
    servers['stream'].start()
    try:
        wait_for(lambda: len(set(servers['stream'].received())) == 2000, 'events of an ended engine do not arrive')
    finally:
        servers['stream'].kill()
    ship.stop()


def arguments(ship, folder):
    """Wrong arguments, files and settings: one line, and the documented exit code."""
    cases = [(['--wrong'], 2, 'unrecognized option'), (['extra'], 2, "unexpected argument 'extra'"),
             (['--config', f'{folder}/missing.yaml'], 1, 'missing.yaml'),
             (['--config', '/dev/null', '--set', 'outputs.x.filetype=carrier-pigeon'], 1, 'carrier-pigeon'),
             (['--config', '/dev/null', '--set', 'outputs.x.filetype=unix_stream'], 1, 'outputs.x.filename'),
             (['--config', '/dev/null', '--set', 'outputs.x.filetype=kafka', '--set', 'outputs.x.kafka.properties=y'],
              1, "'y' is not of the form NAME=VALUE"),
             (['--config', '/dev/null', '--set', 'output.ship-socket=/dev/null/x'], 1, 'cannot listen on /dev/null/x'),
             (['--help'], 0, 'Usage: sluice-ship'), (['--version'], 0, 'sluice-ship ')]
    for options, code, text in cases:
        run = subprocess.run([ship, *options], capture_output=True, text=True, check=False)
        if run.returncode != code or text not in run.stdout + run.stderr:
            sys.exit(f'sluice-ship {" ".join(options)}: exit code {run.returncode}, {run.stdout}{run.stderr}')


def settings(sluice, folder):
    """`sluice check` reports mistakes in outputs with their places."""
    cases = [('x: {types: [alerts]}', "unknown event type 'alerts'"),
             ('"a b": {filetype: redis}', 'letters, digits, - and _'),
             ('x: {filetype: unix_dgram, filename: relative}', 'needs the path of the Unix socket'),
             ('x: {filetype: redis, filename: x}', 'only outputs with filetype regular'),
             ('x: {filetype: redis, max-size: 1M}', 'only outputs with filetype regular are rotated'),
             ('x: {filetype: redis, redis: {username: me}}', 'needs a password'),
             ('x: {filetype: redis, redis: {port: 70000}}', '70000'),
             ('x: {rotate-interval: often}', "got 'often'"), ('x: {buffer-size: 1k}', '65536'),
             ('x: {format: fast, types: [alert]}', 'only outputs with format eve'),
             ('x: {severity: 0}', '1 to 255')]
    for text, message in cases:
        path = f'{folder}/bad.yaml'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'outputs:\n  {text}\n')
        run = subprocess.run([sluice, 'check', '--config', path], capture_output=True, text=True, check=False)
        errors = [line for line in run.stderr.splitlines() if 'error: ' in line]
        if run.returncode != 1 or len(errors) != 1 or message not in errors[0] or 'bad.yaml:2:' not in errors[0]:
            sys.exit(f'{text}: exit code {run.returncode}, {run.stdout}{run.stderr}')


def main():
    load, ship, sluice = (os.path.abspath(path) for path in sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix='sluice-ship') as folder:
        os.chmod(folder, 0o755)
        arguments(ship, folder)
        settings(sluice, folder)
        for test in (undisturbed, restarted, stopped, hung, late):
            place = f'{folder}/{test.__name__}'
            os.makedirs(place)
            accounts = test((load, ship), place)
            for name, account in (accounts or {}).items():
                print(f'{test.__name__:12} {name:12} {account}')
    missing = [server.__name__ for server in (Rsyslog, Redis) if not server.program]
    if missing:
        print(f'SKIP: not installed: {", ".join(missing)}')
        sys.exit(77)


if __name__ == '__main__':
    main()
