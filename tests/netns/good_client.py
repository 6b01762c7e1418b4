#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Short TCP connections beside an attack: how many succeed, and how long they take.

    good_client.py serve ADDRESS PORT
    good_client.py ask ADDRESS PORT PARALLEL SECONDS TIMEOUT

A connection sends one line and reads the line that the server sends back. Every other line has the word MARKED. `ask`
prints "TOTAL SUCCEEDED MARKED P50 P99 MAX"; MARKED is the number of marked lines among those that succeeded, times are
milliseconds.
"""
import socket
import sys
import threading
import time


def serve(address, port):
    listener = socket.create_server((address, port), backlog=4096)
    print('listening', flush=True)

    def answer(connection):
        with connection:
            connection.settimeout(30)
            try:
                connection.sendall(connection.makefile('rb').readline())
            except OSError:
                pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def exchange(address, port, text, timeout):
    with socket.create_connection((address, port), timeout) as sock:
        sock.settimeout(timeout)
        sock.sendall(text)
        return sock.makefile('rb').readline() == text


def ask(address, port, parallel, seconds, timeout):
    times, lost, marked = [], [], []
    end = time.monotonic() + seconds

    def run(number):
        count = 0
        while time.monotonic() < end:
            count += 1
            mark = count % 2 == 1
            text = f'{"MARKED" if mark else "plain"} {number} {count}\n'.encode()
            begin = time.monotonic()
            try:
                good = exchange(address, port, text, timeout)
            except OSError:
                good = False
            spent = time.monotonic() - begin
            (times if good else lost).append(spent)
            if good and mark:
                marked.append(count)
            time.sleep(max(0, 0.02 - spent))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    at = [f'{1000 * times[min(len(times) - 1, int(len(times) * share))]:.1f}' if times else 'none'
          for share in (0.5, 0.99, 1)]
    print(len(times) + len(lost), len(times), len(marked), *at)


if __name__ == '__main__':
    if sys.argv[1] == 'serve':
        serve(sys.argv[2], int(sys.argv[3]))
    ask(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6]))
