#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests tls.store: the PEM files are the certificate chains of OpenSSL's client and server.

    tls_store.py SLUICE

Connections of Python's ssl module, without sockets, are written to a capture, which is replayed. `openssl` reads the
files.
"""
import glob
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile

from identification import Connection, write_capture

MTU = 1400
RULES = '''alert tls any any -> any any (msg:"name"; tls.sni; content:"stored.example"; tls.store; sid:1;)
alert tls any any -> any any (msg:"subject"; tls.cert_subject; content:"other.example"; tls.store; sid:2;)
alert tls any any -> any any (msg:"neither"; tls.sni; content:"left.example"; sid:3;)
'''


def openssl(folder, *arguments):
    return subprocess.run(['openssl', *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def make_certificates(folder):
    """A root, an intermediate certificate, and a server and a client; chains in NAME.chain."""
    subjects = {'stored.example': '/O=A\x01\nB/CN=stored.example'} # control characters, which .meta must not contain
    openssl(folder, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'root.key', '-out', 'root.pem', '-subj',
            '/CN=root', '-days', '10', '-addext', 'basicConstraints=critical,CA:TRUE')
    with open(f'{folder}/ca.ext', 'w', encoding='ascii') as file:
        file.write('basicConstraints=critical,CA:TRUE\n')
    for name, issuer in (('middle', 'root'), ('stored.example', 'middle'), ('other.example', 'middle'),
                         ('left.example', 'root'), ('client', 'middle')):
        openssl(folder, 'req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', f'{name}.key', '-out', f'{name}.csr',
                '-subj', subjects.get(name, f'/CN={name}'))
        openssl(folder, 'x509', '-req', '-in', f'{name}.csr', '-CA', f'{issuer}.pem', '-CAkey', f'{issuer}.key',
                '-CAcreateserial', '-out', f'{name}.pem', '-days', '10',
                *(('-extfile', 'ca.ext') if name == 'middle' else ()))
        with open(f'{folder}/{name}.chain', 'w', encoding='ascii') as chain:
            for part in (name, 'middle', 'root') if issuer == 'middle' else (name, 'root'):
                with open(f'{folder}/{part}.pem', encoding='ascii') as file:
                    chain.write(file.read())


def shake_hands(folder, name, port, with_client=False, version=ssl.TLSVersion.TLSv1_2):
    """Returns the connection of a handshake and a few bytes of data."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.load_cert_chain(f'{folder}/{name}.chain', f'{folder}/{name}.key')
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server.maximum_version = version
    if with_client:
        client.load_cert_chain(f'{folder}/client.chain', f'{folder}/client.key')
        server.load_verify_locations(f'{folder}/root.pem')
        server.verify_mode = ssl.CERT_REQUIRED
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname=name),
            server.wrap_bio(to_server, to_client, server_side=True)]
    connection, done = Connection(name, 0, 443, port), [False, False]

    def carry(bio, say):
        data = bio.read()
        bio.write(data)
        for at in range(0, len(data), MTU):
            say(data[at:at + MTU])

    while not all(done):
        for index, (end, bio, say) in enumerate(((ends[0], to_server, connection.client_says),
                                                 (ends[1], to_client, connection.server_says))):
            try:
                if not done[index]:
                    end.do_handshake()
                    done[index] = True
            except ssl.SSLWantReadError:
                pass
            carry(bio, say)
    ends[0].write(b'hello')
    carry(to_server, connection.client_says)
    return connection


def replay(sluice, folder, name, connections, *settings):
    write_capture(f'{folder}/{name}.pcap', connections)
    subprocess.run([sluice, 'replay', '--no-console', '--rules', f'{folder}/rules', '--log-dir', f'{folder}/{name}',
                    '--set', 'tls-store.enabled=yes', '--set', 'eve.types.stats=yes',
                    *(part for setting in settings for part in ('--set', setting)), f'{folder}/{name}.pcap'], check=True)
    return sorted(glob.glob(f'{folder}/{name}/certs/*.pem'))


def certificates(text):
    return re.findall(r'-----BEGIN CERTIFICATE-----\n[^-]*-----END CERTIFICATE-----\n', text)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def counters(folder, name):
    events = [json.loads(line) for line in read(f'{folder}/{name}/eve.json').splitlines()]
    return [event for event in events if event['event_type'] == 'stats'][-1]['sluice']['stats']['tls_store']


def main():
    sluice = os.path.abspath(sys.argv[1])
    if not shutil.which('openssl'):
        print('SKIP: openssl is not installed')
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix='sluice-tls') as folder:
        make_certificates(folder)
        with open(f'{folder}/rules', 'w', encoding='ascii') as file:
            file.write(RULES)
        # The rule on the server name matches in the ClientHello, before the chains; the one on the subject after the
        # chain of the server, and before that of the client.
        stored = replay(sluice, folder, 'log', [
            shake_hands(folder, 'stored.example', 40000), shake_hands(folder, 'left.example', 40001),
            shake_hands(folder, 'other.example', 40002, with_client=True),
            shake_hands(folder, 'stored.example', 40003, version=ssl.TLSVersion.TLSv1_3)])
        names = [os.path.basename(path) for path in stored]
        assert len(names) == 3 and all(re.fullmatch(r'(client-)?[0-9]+\.[0-9]+-[0-9]+\.pem', name) for name in names), names
        expected = {40000: 'stored.example', 40002: 'other.example'}
        for path in stored:
            meta = dict(re.split(r':\s*', line, maxsplit=1) for line in read(path[:-3] + 'meta').splitlines())
            port, is_client = int(meta['SRC PORT']), os.path.basename(path).startswith('client-')
            want = read(f'{folder}/{"client" if is_client else expected[port]}.chain')
            assert certificates(read(path)) == certificates(want) and len(certificates(want)) == 3, path
            assert is_client <= (port == 40002), path
            # The files are readable for OpenSSL, and the chain is valid.
            first = openssl(folder, 'x509', '-in', path, '-noout', '-fingerprint', '-sha1')
            assert first.strip().split('=')[1].lower() == meta['TLS FINGERPRINT'], (first, meta)
            openssl(folder, 'verify', '-CAfile', 'root.pem', '-untrusted', path, path)
            assert meta['DST PORT'] == '443' and meta['PROTO'] == '6' and 'middle' in meta['TLS ISSUERDN'], meta
            assert meta['SRC IP'] != meta['DST IP'] and 'PCAP PKT NUM' in meta, meta
            assert len(meta) == 10, meta
        assert {'written': 3, 'limited': 0, 'full': 0, 'lost': 0, 'errors': 0} == counters(folder, 'log')
        # Again: the files of the first run stay.
        before = {path: read(path) for path in stored}
        again = replay(sluice, folder, 'log', [shake_hands(folder, 'stored.example', 40000)])
        assert len(again) == 4 and all(read(path) == text for path, text in before.items()), again
        # Limits: of the folder, and of a second.
        def many():
            return [shake_hands(folder, 'stored.example', 40000 + number) for number in range(6)]

        assert len(replay(sluice, folder, 'full', many(), 'tls-store.max-files=4', 'tls-store.rate-limit=0')) == 4
        assert counters(folder, 'full')['full'] == 2
        assert len(replay(sluice, folder, 'limited', many(), 'tls-store.rate-limit=2')) < 6
        assert counters(folder, 'limited')['limited'] > 0
        assert not glob.glob(f'{folder}/*/certs/*.tmp')
        # Without the output the rules match, and store nothing.
        assert not replay(sluice, folder, 'off', many(), 'tls-store.enabled=no')


if __name__ == '__main__':
    main()
