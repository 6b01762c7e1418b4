#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands for systemd: starts the daemon with a socket for its notifications, keeps the descriptors that it hands over,
and starts it again with them when it is killed.

    fdstore.py FOLDER TIMES COMMAND...   kills it TIMES times, each a while after it was ready, then ends it by SIGTERM.
                                         What it said goes to FOLDER/said, its log to standard error. Exit code: that of
                                         the last one
"""
import array
import os
import random
import select
import signal
import socket
import sys
import time

folder, times, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
path = os.path.join(folder, 'notify')
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(path)
said = open(os.path.join(folder, 'said'), 'w', buffering=1)
store = {}   # name: descriptor
STOP_SECONDS = 60


def hear(wait):
    """The messages that have come: lines; descriptors are put into the store."""
    lines = []
    while select.select([server], [], [], wait)[0]:
        wait = 0
        data, ancillary, _, _ = server.recvmsg(65536, socket.CMSG_SPACE(16 * 4))
        text = data.decode()
        fds = array.array('i')
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(content[:len(content) - len(content) % 4])
        for line in text.split('\n'):
            said.write(line + '\n')
            lines.append(line)
            if line.startswith('FDNAME='):
                name = line[7:]
        if fds:
            old = store.pop(name, None)
            if old is not None:
                os.close(old)
            store[name] = fds[0]
        elif 'FDSTOREREMOVE=1' in text and name in store:
            os.close(store.pop(name))
    return lines


def start():
    names, fds = list(store), [os.dup(fd) for fd in store.values()]
    pid = os.fork()
    if pid:
        for fd in fds:
            os.close(fd)
        return pid
    high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
    for i, fd in enumerate(high):
        os.dup2(fd, 3 + i, inheritable=True)
    os.closerange(3 + len(fds), 256)
    os.environ.update(NOTIFY_SOCKET=path, WATCHDOG_USEC='6000000', WATCHDOG_PID=str(os.getpid()))
    if fds:
        os.environ.update(LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=':'.join(names), LISTEN_PID=str(os.getpid()))
    os.execvp(command[0], command)


def children(pid):
    try:
        return [int(text) for text in open(f'/proc/{pid}/task/{pid}/children').read().split()]
    except OSError:
        return []


def start_time(pid):
    """When the process started, in ticks; None when it has ended. Tells a process from a later one with the same
    number."""
    try:
        fields = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()
    except OSError:
        return None
    return None if fields[0] == 'Z' else fields[19]


def wait_ready(pid):
    end = time.monotonic() + 20
    while 'READY=1' not in hear(0.1):
        if time.monotonic() > end:
            sys.exit('it is not ready')
        if os.waitpid(pid, os.WNOHANG)[0]:
            sys.exit('it ended')


pid = 0


def kill_daemon(*_):
    """The test ended early: do not leave the daemon behind. Its engine ends by itself."""
    if pid:
        os.kill(pid, signal.SIGKILL)
    os._exit(1)


signal.signal(signal.SIGTERM, kill_daemon)
for _ in range(times):
    pid = start()
    wait_ready(pid)
    end = time.monotonic() + random.uniform(0.3, 1)
    while time.monotonic() < end:
        hear(0.05)
    left = {child: start_time(child) for child in children(pid)}
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while any(started and start_time(child) == started for child, started in left.items()):
        time.sleep(0.01)   # systemd waits until the whole control group has ended
pid = start()
wait_ready(pid)
end = time.monotonic() + 5
while time.monotonic() < end:   # a heartbeat
    if 'WATCHDOG=1' in hear(0.1):
        break
while not os.path.exists(os.path.join(folder, 'stop')):
    hear(0.05)
os.kill(pid, signal.SIGTERM)
end, ended, status = time.monotonic() + STOP_SECONDS, 0, 0
while not ended:
    hear(0.05)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if time.monotonic() > end:
        for process in [pid] + children(pid):
            for thread in os.listdir(f'/proc/{process}/task'):
                where = f'/proc/{process}/task/{thread}'
                print('still there:', process, thread, open(f'{where}/comm').read().strip(),
                      open(f'{where}/wchan').read(), file=sys.stderr)
        print(open(f'/proc/{pid}/status').read(), file=sys.stderr)
        kill_daemon()
hear(0)
said.write('STORED ' + ' '.join(sorted(store)) + '\n')
sys.exit(os.waitstatus_to_exitcode(status))
