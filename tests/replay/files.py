#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of files over HTTP: file keywords, fileinfo events, and the file store.

    files.py SLUICE
"""
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import evasion

UNLIMITED = ['--set', 'app-layer.http.response-body-limit=0', '--set', 'app-layer.http.request-body-limit=0']
STORE = ['--set', 'file-store.enabled=yes', '--set', 'file-store.stream-depth=1GiB']


def content(seed, size):
    return random.Random(seed).randbytes(size)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Conversation(evasion.Case):
    """An HTTP connection with requests and responses in turn; each segment is acknowledged."""

    def __init__(self, port):
        super().__init__('', 4, port)
        self.here, self.there = self.isn + 1, self.server_isn + 1
        self.handshake()

    def put(self, to_server, data, cut=1400):
        for at in range(0, len(data), cut):
            part = data[at:at + cut]
            seq, ack = (self.here, self.there) if to_server else (self.there, self.here)
            self.add(self.tcp(to_server, seq, ack, evasion.ACK | evasion.PSH, part))
            if to_server:
                self.here += len(part)
            else:
                self.there += len(part)
            self.add(self.tcp(not to_server, *((self.there, self.here) if to_server else (self.here, self.there)),
                              evasion.ACK))

    def download(self, name, body, promised=None):
        self.put(True, f'GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n'.encode())
        self.put(False,
                 f'HTTP/1.1 200 OK\r\nContent-Length: {len(body) if promised is None else promised}\r\n\r\n'.encode() +
                 body)
        return self

    def upload(self, *files):
        body = b''.join(f'--b\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\n'.encode() +
                        data + b'\r\n'
                        for name, data in files) + b'--b--\r\n'
        self.put(True, f'POST /up HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n'
                       f'Content-Length: {len(body)}\r\n\r\n'.encode() + body)
        self.put(False, b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        return self

    def end(self):
        self.add(self.tcp(True, self.here, self.there, evasion.FIN | evasion.ACK))
        self.add(self.tcp(False, self.there, self.here + 1, evasion.FIN | evasion.ACK))
        self.add(self.tcp(True, self.here + 1, self.there + 1, evasion.ACK))
        return self


def stored_files(folder):
    """Returns {name: content} of the file store. Fails if a name is not the digest of its content. Files in the store's
    tmp folder fail as well."""
    found = {}
    for base, _, names in os.walk(folder + '/filestore'):
        for name in names:
            with open(os.path.join(base, name), 'rb') as f:
                found[name] = f.read()
            assert os.path.basename(base) == name[:2] and digest(found[name]) == name, f'{base}/{name}: wrong digest'
    return found


def replay(sluice, folder, conversations, rules, options):
    with open(folder + '/in.pcap', 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        packets = [packet for conversation in conversations for packet, _, _ in conversation.packets]
        for number, packet in enumerate(packets):
            out.write(struct.pack('<IIII', 1700000000 + number // 10000, number % 10000 * 100, len(packet),
                                  len(packet)) + packet)
    with open(folder + '/test.rules', 'w') as f:
        f.write('\n'.join(rules).replace('FOLDER', folder))
    run = subprocess.run([sluice, 'replay', '--no-console', '--rules', folder + '/test.rules', '--log-dir', folder,
                          *options, folder + '/in.pcap'],
                         capture_output=True, text=True)
    assert run.returncode == 0 and 'error' not in run.stderr, run.stderr
    with open(folder + '/eve.json') as f:
        events = [json.loads(line) for line in f]
    os.unlink(folder + '/eve.json')
    return events


def of_type(events, kind):
    return [event for event in events if event['event_type'] == kind]


def sids(events):
    return sorted(event['alert']['signature_id'] for event in of_type(events, 'alert'))


def test_forced(sluice, folder):
    """force-filestore stores files of any size; of a truncated file, the bytes that were received."""
    small, large, cut = content(1, 900), content(2, 2_500_000), content(3, 20_000)
    conversations = [Conversation(2000).download('small', small).download('large', large).end(),
                     Conversation(2001).download('again', small).end(),
                     Conversation(2002).download('cut', cut, 30_000).end()]
    events = replay(sluice, folder, conversations, [], [*UNLIMITED, *STORE, '--set', 'file-store.force-filestore=yes'])
    infos = {event['fileinfo']['filename']: event['fileinfo'] for event in of_type(events, 'fileinfo')}
    assert stored_files(folder) == {digest(data): data for data in (small, large, cut)}
    assert all(info['stored'] for info in infos.values()) and len(infos) == 4, infos
    assert infos['/large']['size'] == len(large) and infos['/large']['sha256'] == digest(large) and \
        infos['/large']['state'] == 'CLOSED'
    assert infos['/cut']['state'] == 'TRUNCATED' and infos['/cut']['size'] == len(cut)
    assert of_type(events, 'fileinfo')[0]['src_port'] == 80, 'the source of the event is not the sender'
    stats = of_type(events, 'stats')[-1]
    own = stats['sluice']['stats']
    assert stats['stats']['file_store'] == {'fs_errors': 0}, stats['stats']['file_store']
    assert own['file_store'] == {'files': 4, 'refused': 0}, own['file_store']
    assert own['files']['opened'] == 4


def test_rules(sluice, folder):
    """Rules with filestore choose files by name, digest (known at the end of the file) or type; no other file stays in
    the store."""
    text, evil, other, image = (b'just text\n' * 50, content(5, 400_000), content(6, 600_000),
                                b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR' + bytes(5000))
    with open(folder + '/evil.list', 'w') as f:
        f.write(digest(evil) + '  evil.bin\n')
    rules = ['alert http any any -> any any (msg:"name"; filename:"TEXT"; fileext:"txt"; filestore; sid:1;)',
             'alert http any any -> any any (msg:"digest"; filesha256:evil.list; filestore; sid:2;)',
             'alert http any any -> any any (msg:"type"; filemagic:"PNG image"; filesize:>4000; filestore; sid:3;)',
             'alert http any any -> any any (msg:"type"; file.magic; content:"PNG"; startswith; file.name; '
             'content:"/image"; sid:4;)',
             'alert http any any -> any any (msg:"never"; filename:"text"; filesize:<10; filestore; sid:5;)',
             'alert http any any -> any any (msg:"in the middle"; file.data; content:"|%s|"; sid:6;)' %
             other[300_000:300_012].hex(),
             'alert http any any -> any any (msg:"all of it"; file.data; content:"just text"; filesize:500; sid:7;)']
    conversation = Conversation(2000).download('a/text.txt', text).download('evil', evil).download('other', other) \
        .download('image', image).end()
    events = replay(sluice, folder, [conversation], rules, [*UNLIMITED, *STORE])
    assert sids(events) == [1, 2, 3, 4, 6, 7], sids(events)
    assert stored_files(folder) == {digest(data): data for data in (text, evil, image)}
    infos = {event['fileinfo']['filename']: event['fileinfo'] for event in of_type(events, 'fileinfo')}
    assert [name for name, info in infos.items() if info['stored']] == ['/a/text.txt', '/evil', '/image'], infos
    assert infos['/evil']['sid'] == [2] and 'sid' not in infos['/other']
    alert = next(event for event in of_type(events, 'alert') if event['alert']['signature_id'] == 2)
    assert alert['files'][0]['sha256'] == digest(evil) and alert['files'][0]['storing'] and \
        not alert['files'][0]['stored']


def test_several_files(sluice, folder):
    """A rule on files matches once for each matching file of a transaction."""
    one, two, three = content(7, 3000), content(8, 5000), content(9, 700)
    rules = ['alert http any any -> any any (msg:"each"; filename:"pic"; filestore; sid:1;)',
             'alert http any any -> any any (msg:"size"; filesize:>4000; sid:2;)',
             'alert http any any -> any any (msg:"not of one file"; filename:"pic1"; filesize:>4000; filemagic:"data"; '
             'sid:3;)']
    conversation = Conversation(2000).upload(('pic1', one), ('pic2', two), ('note', three)).end()
    events = replay(sluice, folder, [conversation], rules, [*UNLIMITED, *STORE])
    names = [event['files'][-1]['filename'] for event in of_type(events, 'alert')
             if event['alert']['signature_id'] == 1]
    assert names == ['pic1', 'pic2'], names
    assert sids(events).count(2) == 1, sids(events)
    assert stored_files(folder) == {digest(data): data for data in (one, two)}


def test_scopes(sluice, folder):
    """filestore stores the matching file, all files of its transaction, or all later files of its flow, in the
    directions it names."""
    first, second, third, upload, answer = (content(30 + i, 2000 + i) for i in range(5))
    for options, stored in (('filestore', [second]), ('filestore:response,file', [second]),
                            ('filestore:request,file', []),
                            ('filestore:response,tx', [second]), ('filestore:both,tx', [second]),
                            ('filestore:response,flow', [second, answer, third]), ('filestore:request,flow', [upload]),
                            ('filestore:both,flow', [second, upload, answer, third])):
        conversation = Conversation(2000).download('first', first).download('second', second)
        conversation.put(True, b'POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n' % len(upload) + upload)
        conversation.put(False, b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(answer) + answer)
        rules = [f'alert http any any -> any any (flow:to_client; filename:"second"; {options}; sid:1;)']
        with tempfile.TemporaryDirectory() as own:
            replay(sluice, own, [conversation.download('third', third).end()], rules, [*UNLIMITED, *STORE])
            assert stored_files(own) == {digest(data): data
                                         for data in stored}, (options,
                                                               [len(data) for data in stored_files(own).values()])


def test_drop(sluice, folder):
    """With --ips a drop rule on the name of a file matches at its begin, one on the digest at its end."""
    evil = content(10, 30_000)
    with open(folder + '/evil.list', 'w') as f:
        f.write(hashlib.md5(evil).hexdigest() + '\n')
    for rule, let_through in (('filename:"evil";', 0), ('filemd5:evil.list;', len(evil) - 1)):
        conversation = Conversation(2000).download('evil', evil).end()
        events = replay(sluice, folder, [conversation],
                        [f'drop http any any -> any any ({rule} flow:to_client; sid:1;)'], [*UNLIMITED, '--ips'])
        assert sids(events) == [1], (rule, sids(events))
        info = of_type(events, 'fileinfo')
        assert len(info) == 1 and info[0]['fileinfo']['size'] >= let_through, (rule, info)
        assert of_type(events, 'drop'), rule


def test_workers(sluice, folder):
    """Events and stored files are the same with any number of workers."""
    bodies = [content(20 + i, 1000 * (i + 1) ** 2) for i in range(12)]
    conversations = [Conversation(3000 + i).download(f'file{i}', body).end() for i, body in enumerate(bodies)]
    rules = ['alert http any any -> any any (msg:"some"; filesize:>5000; filestore; sid:1;)']
    runs = []
    for workers in ('1', '2', '4'):
        events = replay(sluice, folder, conversations, rules, [*UNLIMITED, *STORE, '--workers', workers])
        runs.append([event for event in events if event['event_type'] != 'stats'])
        stored = stored_files(folder)
        assert stored == {digest(body): body for body in bodies if len(body) > 5000}
    assert runs[0] == runs[1] == runs[2]


def main():
    tests = [test_forced, test_rules, test_several_files, test_scopes, test_drop, test_workers]
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(sys.argv[1], folder)
            except AssertionError as mistake:
                print(f'{test.__name__}: {mistake}')
                failed += 1
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
