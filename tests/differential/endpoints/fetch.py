# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetches URL/N for each N of a file with urllib or requests, and writes the results in the format of
http_clients.py."""
import base64
import queue
import sys
import threading
import urllib.error
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def by_urllib(url):
    opener = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))
    try:
        answer = opener.open(url, timeout=5)
    except urllib.error.HTTPError as error:
        answer = error
    good, body = True, b''
    try:
        while True:
            piece = answer.read(4096)
            if not piece:
                break
            body += piece
    except Exception as error:
        good, body = False, body + (getattr(error, 'partial', b'') or b'')
    return good, answer.status, answer.reason, str(answer.headers), body


def by_requests(url):
    import requests
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(url, timeout=5, stream=True, allow_redirects=False)
        good, body = True, b''
        try:
            for piece in answer.iter_content(512):
                body += piece
        except Exception:
            good = False
        return good, answer.status_code, answer.reason, '\n'.join(f'{k}: {v}' for k, v in answer.headers.items()), body


def encode(value):
    if not isinstance(value, bytes):
        value = str(value).encode('utf-8', 'surrogateescape')
    return base64.b64encode(value[:1 << 19]).decode()


def work(fetch, base, numbers, out, lock):
    while True:
        try:
            number = numbers.get_nowait()
        except queue.Empty:
            return
        try:
            good, status, reason, headers, body = fetch(base + number)
        except Exception:
            continue
        with lock:
            out.write(f'{number}\t{int(good)}\t{encode(status)}\t{encode(reason or "")}\t'
                      f'{encode(headers)}\t{encode(body)}\t\n')


def main(kind, base):
    numbers, lock = queue.Queue(), threading.Lock()
    with open('/endpoint/numbers') as f:
        for line in f:
            numbers.put(line.strip())
    with open('/endpoint/results', 'w') as out:
        threads = [threading.Thread(target=work, args=({'urllib': by_urllib, 'requests': by_requests}[kind], base,
                                                       numbers, out, lock)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main(*sys.argv[1:])
