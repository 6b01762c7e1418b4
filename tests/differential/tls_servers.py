# SPDX-License-Identifier: GPL-2.0-or-later
"""The TLS servers as endpoints. Each accepts the server names GOOD and EVIL of tls_hellos.py and refuses others. If it
can, it also refuses ALPN protocols other than PROTOCOL and http/1.1."""
import asyncio
import os
import shutil
import subprocess

from core import Endpoint, Unavailable
from http_servers import build_go
from tls_hellos import EVIL, GOOD

CIPHERS = 'ALL:@SECLEVEL=0'
NAMES = (GOOD.decode(), EVIL.decode())


async def greet(port, m, quiet):
    """Sends a message; returns the bytes from the server up to its first complete handshake record."""
    received = b''
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection('127.0.0.1', port), 5)
    except (OSError, asyncio.TimeoutError):
        return received
    try:
        for step in m.steps:
            writer.write(step)
            await asyncio.wait_for(writer.drain(), 5)
            if len(m.steps) > 1:
                await asyncio.sleep(0)
        while not (received[:1] == b'\x16' and len(received) >= 5 + int.from_bytes(received[3:5], 'big')):
            data = await asyncio.wait_for(reader.read(65536), quiet)
            if not data:
                break
            received += data
    except (OSError, asyncio.TimeoutError):
        pass
    finally:
        writer.close()
    return received


async def greet_all(port, messages, quiet, at_once):
    answers, waiting = [b''] * len(messages), iter(enumerate(messages))

    async def work():
        for index, m in waiting:
            answers[index] = await greet(port, m, quiet)
    await asyncio.gather(*(work() for _ in range(at_once)))
    return answers


class Server(Endpoint):
    groups, port, quiet, at_once = ('tls', '/'), None, 0.25, 16

    def ask(self, messages):
        return asyncio.run(greet_all(self.port, messages, self.quiet, self.at_once))

    def start(self):
        if not shutil.which('openssl'):
            raise Unavailable('openssl is not installed; it makes the certificate')
        run = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout',
                              self.folder + '/key.pem', '-out', self.folder + '/certificate.pem',
                              '-days', '30', '-subj', '/CN=good.example', '-addext',
                              f'subjectAltName=DNS:{NAMES[0]},DNS:{NAMES[1]}'], capture_output=True)
        if run.returncode:
            raise Unavailable('openssl cannot make a certificate')
        os.chmod(self.folder + '/key.pem', 0o644)
        self.configure()
        self.spawn(*self.arguments())
        self.wait_port(self.port)

    def configure(self):
        pass

    def exchange(self, messages):
        return self.ask(messages)


class Nginx(Server):
    name, groups, program, port = 'nginx-tls', ('http', '/'), '/usr/sbin/nginx', 8443

    def configure(self):
        self.write('nginx.conf', '''
daemon off; user root; worker_processes 1; pid /endpoint/pid; error_log /endpoint/error crit;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path /endpoint/body; proxy_temp_path /endpoint/proxy; fastcgi_temp_path /endpoint/f; uwsgi_temp_path /endpoint/u; scgi_temp_path /endpoint/s;
  ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3; ssl_ciphers %s; ssl_certificate /endpoint/certificate.pem; ssl_certificate_key /endpoint/key.pem;
  server { listen 8443 ssl backlog=1024 default_server; ssl_reject_handshake on; }
  server { listen 8443 ssl; server_name %s ""; return 200 ""; }
}
''' % (CIPHERS, ' '.join(NAMES)))

    def arguments(self):
        return 'nginx', '-c', '/endpoint/nginx.conf', '-e', '/endpoint/error'


class Pair(Server):
    """A program that accepts only one server name; a second process runs for the other name."""
    server_name = NAMES[0]

    def start(self):
        super().start()
        self.second = None
        if self.server_name == NAMES[0]:
            kind = type(self)

            class Second(kind):
                name, port, server_name = kind.name + '-second', kind.port + 1, NAMES[1]
            self.second = Second(self.folder)
            self.second.start()

    def stop(self):
        super().stop()
        if self.second:
            self.second.stop()

    def exchange(self, messages):
        answers = [None] * len(messages)
        for server, chosen in ((self, [n for n, m in enumerate(messages) if m.place != 'name']),
                               (self.second, [n for n, m in enumerate(messages) if m.place == 'name'])):
            some = [messages[n] for n in chosen]
            for n, answer in zip(chosen, server.ask(some)):
                answers[n] = answer
        return answers


class OpenSsl(Pair):
    name, program, port, at_once = 'openssl', '/usr/bin/openssl', 8444, 1  # serves one connection at a time

    def arguments(self):
        # -servername_fatal refuses names other than that of -servername.
        return ('openssl', 's_server', '-accept', str(self.port), '-quiet', '-key', '/endpoint/key.pem', '-cert',
                '/endpoint/certificate.pem', '-key2', '/endpoint/key.pem', '-cert2', '/endpoint/certificate.pem',
                '-servername', self.server_name, '-servername_fatal', '-alpn', 'http/0.9,http/1.1', '-cipher', CIPHERS,
                '-min_protocol', 'TLSv1', '-naccept', '100000000')


class GnuTls(Pair):
    name, program, port = 'gnutls', '/usr/bin/gnutls-serv', 8446

    def arguments(self):
        return ('gnutls-serv', '--quiet', '--echo', '--port', str(self.port), '--x509keyfile', '/endpoint/key.pem',
                '--x509certfile', '/endpoint/certificate.pem', '--sni-hostname', self.server_name,
                '--sni-hostname-fatal',
                '--alpn', 'http/0.9', '--alpn', 'http/1.1', '--alpn-fatal', '--priority',
                'NORMAL:+VERS-TLS1.0:+VERS-TLS1.1:+SHA1:+SIGN-RSA-SHA1:%COMPAT')


class Nss(Pair):
    name, program, port, at_once = 'nss', '/usr/bin/selfserv', 8448, 4

    def arguments(self):
        # selfserv uses the nickname of a certificate as its server name, and this one for clients without SNI.
        script = ('cd /endpoint && certutil -N -d . --empty-password && openssl pkcs12 -export -in certificate.pem '
                  '-inkey key.pem -name %s -passout pass:x -out both.p12 && '
                  'pk12util -d . -i both.p12 -W x -K "" && exec selfserv -d . -n %s -p %d -t 8 -V tls1.0: -a %s -w ""' %
                  (self.server_name, self.server_name, self.port, self.server_name))
        return 'sh', '-c', script


class Go(Server):
    name, groups, program, port = 'go-tls', ('/',), '/bin/sh', 8450

    def __init__(self, folder):
        super().__init__(folder)
        self.built = build_go(folder, 'tls')

    def configure(self):
        shutil.copy(self.built, self.folder + '/server')

    def arguments(self):
        return '/endpoint/server', str(self.port)


SERVERS = (Nginx, OpenSsl, GnuTls)
NIGHTLY = (Nss, Go)
