#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ordinary connections between real clients and real servers, through a running `sluice run`: none may be dropped.

    ordinary.py --sluice PROGRAM [--connections N] [--only TEXT] [--nightly]

All packets of the loopback interface of a separate network namespace pass two queues of Sluice. It loads at least one
drop rule for each protocol; no rule matches the traffic. The N connections are divided evenly between all pairs of
client and server. Every exchange must succeed; Sluice must drop no packet, raise no exception, and see a flow for each
connection. The endpoints are those of differential.py, and sshd, tinyproxy and their clients.

Needs root, iptables and NFQUEUE. Exits with 77 (skipped) without root, or when no endpoint can run.
"""
import argparse
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import core
import differential
import dns_servers
import ftp_servers
import http_clients
import http_servers
import smtp_servers
import tls_servers

PROCESSES = 6  # clients per pair that run at the same time
# Pairs that also fail sometimes without Sluice (see --without-sluice): the server does not read the body, or its FTP
# data connection times out.
FAIL_WITHOUT_SLUICE = {('curl-put', 'python'), ('curl-put', 'wsgiref'), ('ftplib-active', 'pyftpdlib')}
SECONDS = 900  # timeout for the clients of a pair
RST = 4

RULES = '''drop tcp any any -> any any (msg:"tcp"; content:"zqv-never-sent"; sid:1;)
drop udp any any -> any any (msg:"udp"; content:"zqv-never-sent"; sid:2;)
drop http any any -> any any (msg:"uri"; http.uri; content:"zqv-never-sent"; sid:3;)
drop http any any -> any any (msg:"header"; http.header; content:"zqv-never-sent"; sid:4;)
drop http any any -> any any (msg:"request body"; http.request_body; content:"zqv-never-sent"; sid:5;)
drop ip any any -> any any (msg:"file"; file.data; content:"zqv-never-sent"; sid:6;)
drop tls any any -> any any (msg:"name"; tls.sni; content:"zqv-never-sent"; sid:7;)
drop tls any any -> any any (msg:"subject"; tls.cert_subject; content:"zqv-never-sent"; sid:8;)
drop dns any any -> any any (msg:"query"; dns.query; content:"zqv-never-sent"; sid:9;)
drop smtp any any -> any any (msg:"sender"; smtp.mail_from; content:"zqv-never-sent"; sid:10;)
drop ftp any any -> any any (msg:"command"; ftp.command; content:"zqv-never-sent"; sid:11;)
drop ssh any any -> any any (msg:"software"; ssh.software; content:"zqv-never-sent"; sid:12;)
'''
CONFIGURATION = '''eve:
  types:
    - alert
    - drop: {flows: all}
    - anomaly: {types: {applayer: yes, stream: yes}}
    - flow
    - stats
'''


class ScriptedClient(core.Endpoint):
    """A client program that run() starts `count` times through a shell script, with the number of the run as $1. Exit
    code 0: the exchange succeeded."""
    script = None

    def start(self):
        pass

    def run(self, server, count):
        """Makes COUNT exchanges; returns how many succeeded."""
        self.write('one', '#!/bin/sh\n' + self.script.format(port=server.port) + '\n')
        self.write('share', f'''#!/bin/sh
n=$1
while [ $n -le {count} ]; do
    sh /endpoint/one $n >/endpoint/out.$n 2>&1 </dev/null && echo $n >>/endpoint/ended || cat /endpoint/out.$n >>/endpoint/failed
    rm -f /endpoint/out.$n
    n=$((n + {PROCESSES}))
done
''')
        self.write('ended', '')
        subprocess.run(self.command('sh', '-c',
                                    'for n in ' + ' '.join(str(n + 1) for n in range(PROCESSES)) +
                                    '; do sh /endpoint/share $n & done; wait'),
                       stdin=subprocess.DEVNULL, timeout=SECONDS)
        with open(self.folder + '/ended') as f:
            return len(f.readlines())

    def failures(self):
        path = self.folder + '/failed'
        return open(path, errors='replace').read()[-600:] if os.path.exists(path) else ''


def script(name, groups, program, text):
    return type(name, (ScriptedClient,), {'name': name, 'groups': groups, 'program': program, 'script': text})


PYTHON_TLS = '''exec /usr/bin/python3 -c '
import socket, ssl
c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
with socket.create_connection(("127.0.0.1", {port}), 20) as s, c.wrap_socket(s, server_hostname="good.example") as t:
    t.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
' '''
PYTHON_MAIL = '''exec /usr/bin/python3 -c '
import smtplib
from email.message import EmailMessage
m = EmailMessage(); m["From"], m["To"], m["Subject"] = "a@h.example", "<n'$1'n@h.example>", "An ordinary mail"
m.set_content("Some text.\\n" * 200); m.add_attachment(bytes(range(256)) * 40, maintype="application", subtype="octet-stream", filename="report.bin")
with smtplib.SMTP("127.0.0.1", {port}, timeout=30) as s: s.send_message(m)
' '''
PYTHON_FTP = '''exec /usr/bin/python3 -c '
import ftplib, io
with ftplib.FTP() as f:
    f.connect("127.0.0.1", {port}, 30); f.login(); f.set_pasv(PASSIVE); f.cwd("pub")
    f.storbinary("STOR ordinary.n'$1'n", io.BytesIO(b"some bytes" * 3000)); f.retrbinary("RETR ordinary.n'$1'n", lambda b: None); f.nlst(); f.delete("ordinary.n'$1'n"); f.quit()
' '''
RESOLVE = '''exec /usr/bin/python3 -c '
import socket
assert socket.getaddrinfo("n'$1'.good.test", 80, socket.AF_INET)
' '''
CURL_MAIL = '''printf 'From: a@h.example\\r\\nTo: <n'$1'n@h.example>\\r\\nSubject: by curl\\r\\n\\r\\nSome text.\\r\\n' | exec curl -sS -m 30 --mail-from a@h.example --mail-rcpt "n$1"n@h.example -T - smtp://127.0.0.1:{port}'''
HTTP_SCRIPTS = (
    script('curl-post', ('http', '/'), '/usr/bin/curl',
           'seq 5000 | exec curl -sS -f -m 30 -o /dev/null -F "file=@-;filename=numbers.txt" -F a=b '
           'http://127.0.0.1:{port}/form?n=$1'),
    script('curl-put', ('http', '/'), '/usr/bin/curl',
           'seq 9000 | exec curl -sS -f -m 30 -o /dev/null -T - http://127.0.0.1:{port}/put/$1'),
    script('curl-keep-alive', ('http', '/'), '/usr/bin/curl',
           'exec curl -sS -f -m 30 -o /dev/null -o /dev/null -o /dev/null "http://127.0.0.1:{port}/a/$1?q=[1-3]"'),
)
TLS_SCRIPTS = (
    script('python-ssl', ('/',), '/usr/bin/python3', PYTHON_TLS),
    script('s_client', ('tls', '/'), '/usr/bin/openssl',
           'echo Q | exec timeout 20 openssl s_client -connect 127.0.0.1:{port} -servername good.example'),
    script('s_client-1.2', ('tls', '/'), '/usr/bin/openssl',
           'echo Q | exec timeout 20 openssl s_client -connect 127.0.0.1:{port} -servername good.example -tls1_2'),
    script('gnutls-cli', ('tls',), '/usr/bin/gnutls-cli',
           'exec timeout 20 gnutls-cli --no-ca-verification --sni-hostname good.example -p {port} 127.0.0.1'),
)
DNS_SCRIPTS = (script('getaddrinfo', ('/',), '/usr/bin/python3', RESOLVE),)
MAIL_SCRIPTS = (
    script('smtplib', ('/',), '/usr/bin/python3', PYTHON_MAIL),
    script('curl-smtp', ('http', '/'), '/usr/bin/curl', CURL_MAIL),
)
FTP_SCRIPTS = (
    script('ftplib', ('/',), '/usr/bin/python3', PYTHON_FTP.replace('PASSIVE', 'True')),
    script('ftplib-active', ('/',), '/usr/bin/python3', PYTHON_FTP.replace('PASSIVE', 'False')),
    script('curl-ftp', ('http', '/'), '/usr/bin/curl',
           'exec curl -sS -m 30 -o /dev/null ftp://127.0.0.1:{port}/pub/word.txt'),
    script('wget-ftp', ('http', '/'), '/usr/bin/wget',
           'exec wget -q -T 30 -O /dev/null ftp://127.0.0.1:{port}/pub/word.txt'),
)


class HttpClient:
    """An HTTP client of differential.py that sends ordinary requests to a real server."""

    def __init__(self, kind, folder):
        self.client = kind(folder)
        self.name = kind.name
        self.client.start()

    def run(self, server, count):
        client, messages = self.client, [Benign] * count
        client.port = server.port
        for path in glob.glob(client.folder + '/results*'):
            os.remove(path)
        client.write('numbers', ''.join(f'{n}\n' for n in range(count)))
        client.prepare(messages)
        subprocess.run(client.command(*client.arguments()), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=SECONDS)
        return sum(1 for result in client.results(messages).values() if result.good and result.status == b'200')

    def failures(self):
        return ''


class Benign:
    """Replaces a generated message: the request has no forbidden word, so `place` is None."""
    place = None


class Nginx(http_servers.Nginx):
    """Serves files, compressed if the client accepts it, and a page for each other path."""
    def configure(self):
        os.makedirs(self.folder + '/root')
        for n in range(50):
            with open(f'{self.folder}/root/{n}', 'w') as f:
                f.write('<html><body>' + ''.join(f'<p>Line {i} of page {n}</p>\n' for i in range(n * n)) +
                        '</body></html>\n')
        self.write('nginx.conf', f'''
daemon off; user root; worker_processes 2; pid /endpoint/pid; error_log /endpoint/error;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path /endpoint/body; proxy_temp_path /endpoint/proxy; fastcgi_temp_path /endpoint/f; uwsgi_temp_path /endpoint/u; scgi_temp_path /endpoint/s;
  client_max_body_size 10m; gzip on; gzip_types *; gzip_min_length 100; default_type text/html;
  server {{ listen unix:/endpoint/up; return 200 "served\\n"; }}
  server {{ listen {self.port} backlog=1024;
    location /f/ {{ alias /endpoint/root/; try_files $uri @page; }}
    location / {{ proxy_pass http://unix:/endpoint/up:/; }}
    location @page {{ proxy_pass http://unix:/endpoint/up:; }} }}
}}
''')


class Resolver(dns_servers.Forwarder):
    """A resolver on port 53, which the C library uses. /etc/resolv.conf of this mount namespace names no other
    server."""
    name, port = 'dnsmasq-53', 53


class Sshd(core.Endpoint):
    name, groups, program, port = 'sshd', ('nightly-ssh',), '/usr/sbin/sshd', 8222

    def start(self):
        for name in 'host', 'user':
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{self.folder}/{name}'], check=True)
        os.chmod(self.folder, 0o755)
        shutil.copy(self.folder + '/user.pub', self.folder + '/authorized')
        self.spawn('sh', '-c',
                   "case $(cat /etc/passwd) in *sshd:x*) ;; *) echo 'sshd:x:105:65534::/run/sshd:/usr/sbin/nologin' "
                   ">>/etc/passwd ;; esac; mkdir -p /run/sshd; chmod 755 /run/sshd; "
                   f'exec /usr/sbin/sshd -D -e -f /dev/null -p {self.port} -h /endpoint/host -o '
                   f'AuthorizedKeysFile=/endpoint/authorized -o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes -o '
                   f'MaxStartups=200')
        self.wait_port(self.port)


class Proxy(core.Endpoint):
    name, groups, program, port = 'tinyproxy', ('nightly-ssh',), '/usr/bin/tinyproxy', 8888

    def start(self):
        self.write('conf',
                   f'Port {self.port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 200\nLogFile '
                   f'"/endpoint/log.proxy"\nAllow 127.0.0.1\n')
        self.spawn('/usr/bin/tinyproxy', '-d', '-c', '/endpoint/conf')
        self.wait_port(self.port)


def tunnel_scripts(sshd, https):
    """Clients of the proxy that connect through it by CONNECT."""
    ssh = 'exec timeout 60 ssh -i /endpoint/key -o BatchMode=yes -o StrictHostKeyChecking=no ' \
          '-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR '
    return (
        script('ssh', ('nightly-ssh',), '/usr/bin/ssh', ssh + f'-p {sshd.port} root@127.0.0.1 echo done'),
        script('ssh-in-connect', ('nightly-ssh',), '/usr/bin/ssh',
               ssh + f'-o "ProxyCommand=nc.openbsd -X connect -x 127.0.0.1:{{port}} %h %p" -p {sshd.port} '
                     f'root@127.0.0.1 echo done'),
        script('https-in-connect', ('http', '/'), '/usr/bin/curl',
               f'exec curl -sS -k -m 30 -o /dev/null -x http://127.0.0.1:{{port}} --connect-to '
               f'good.example:{https.port}:127.0.0.1:{https.port} https://good.example:{https.port}/$1'),
        script('http-by-proxy', ('http', '/'), '/usr/bin/curl',
               'exec curl -sS -m 30 -o /dev/null -x http://127.0.0.1:{port} http://127.0.0.1:8001/by/proxy/$1'),
    )


def started(kinds, folder):
    endpoints = []
    for kind in kinds:
        try:
            endpoint = kind(folder)
            endpoint.start()
            endpoints.append(endpoint)
        except (core.Unavailable, RuntimeError, OSError) as reason:
            print(f'skipped {kind.name}: {str(reason)[:200]}', flush=True)
    return endpoints


def available(kinds, folder, wrap=lambda kind, folder: kind(folder)):
    clients = []
    for kind in kinds:
        try:
            clients.append(wrap(kind, folder))
        except core.Unavailable as reason:
            print(f'skipped {kind.name}: {reason}', flush=True)
    return clients


def pairs_of(arguments, folder, servers):
    """Returns all pairs of a client and a server that speak the same protocol."""
    pairs = []

    def add(server_kinds, clients):
        found = started(server_kinds, folder)
        servers.extend(found)
        pairs.extend((client, server) for server in found for client in clients)
        return found
    web = available(http_clients.CLIENTS, folder, HttpClient) + available(HTTP_SCRIPTS, folder)
    add((Nginx, *http_servers.SERVERS[1:]), web)
    https = add((tls_servers.Nginx, tls_servers.OpenSsl, tls_servers.GnuTls, tls_servers.Nss),
                available(TLS_SCRIPTS, folder))
    add((Resolver,), available(DNS_SCRIPTS, folder))
    mail = (smtp_servers.Smtpd, smtp_servers.Aiosmtpd) + \
        ((smtp_servers.Postfix, smtp_servers.Exim, smtp_servers.Opensmtpd) if arguments.nightly else ())
    add(mail, available(MAIL_SCRIPTS, folder))
    add(ftp_servers.SERVERS if arguments.nightly else ftp_servers.LIGHT, available(FTP_SCRIPTS, folder))
    tunnels = started((Sshd, Proxy), folder)
    servers.extend(tunnels)
    if len(tunnels) == 2 and https:
        for client in available(tunnel_scripts(tunnels[0], https[0]), folder):
            shutil.copy(tunnels[0].folder + '/user', client.folder + '/key')
            pairs.append((client, tunnels[1]))
    pairs = [(c, s) for c, s in pairs if (c.name, s.name) not in FAIL_WITHOUT_SLUICE]
    return [(c, s) for c, s in pairs if not arguments.only or arguments.only in f'{c.name} {s.name}']


class Sluice:
    def __init__(self, program, folder):
        self.folder = folder + '/sluice'
        os.makedirs(self.folder)
        with open(self.folder + '/rules', 'w') as f:
            f.write(RULES)
        with open(self.folder + '/sluice.yaml', 'w') as f:
            f.write(CONFIGURATION)
        self.log = open(self.folder + '/log', 'w')
        self.process = subprocess.Popen([program, 'run', '--config', self.folder + '/sluice.yaml', '--queue', '0-1',
                                         '--rules', self.folder + '/rules', '--log-dir', self.folder,
                                         '--set', 'run-as.user=root', '--set',
                                         f'unix-command.filename={self.folder}/control', '--set', 'stats.interval=5'],
                                         stdout=self.log, stderr=self.log)
        for _ in range(200):
            with open(self.folder + '/log') as f:
                if 'sluice: ready' in f.read():
                    break
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        else:
            self.process.kill()
        if self.process.poll() is not None:
            raise RuntimeError('sluice run did not start: ' + open(self.folder + '/log').read())
        for command in 'iptables', 'ip6tables':
            subprocess.run([command, '-A', 'INPUT', '-i', 'lo', '-j', 'NFQUEUE', '--queue-balance', '0:1'], check=True)

    def stop(self):
        """Stops Sluice; returns its exit code and its events by type."""
        for command in 'iptables', 'ip6tables':
            subprocess.run([command, '-F', 'INPUT'], check=True)
        self.process.terminate()
        code = self.process.wait(60)
        events = collections.defaultdict(list)
        with open(self.folder + '/eve.json') as f:
            for line in f:
                event = json.loads(line)
                events[event['event_type']].append(event)
        return code, events


def counters(event):
    """All counters of a stats event in one tree: those of Suricata, and those that only Sluice has."""
    def merge(one, other):
        for key, item in other.items():
            one[key] = merge(one.get(key, {}), item) if isinstance(item, dict) else item
        return one
    return merge(event['stats'], event['sluice']['stats'])


def numbers_below(tree, path=''):
    """Yields (path, number) of all numbers in a JSON object."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from numbers_below(value, f'{path}{key}.')
        elif isinstance(value, int):
            yield path + key, value


def check_events(code, events, connections):
    """Returns a line for each finding in the exit code and the events of Sluice."""
    wrong, late = [f'sluice run ended with {code}'] if code else [], 0
    reasons, flags = collections.Counter(), {}
    for event in events['flow']:
        if 'tcp' in event:
            flags[event['flow_id'],
                  'to_client'], flags[event['flow_id'], 'to_server'] = (int(event['tcp'][key], 16)
                                                                        for key in ('tcp_flags_ts', 'tcp_flags_tc'))
    for event in events['drop']:
        # The receiver has sent a RST, and would ignore the packet.
        if event['drop'].get('reason') == 'stream error' and flags.get((event['flow_id'], event.get('direction')),
                                                                       0) & RST:
            late += 1
            continue
        reasons[f'{event["drop"].get("reason")}, {event.get("app_proto", "no protocol")}, ports '
                f'{event.get("src_port")} > {event.get("dest_port")}'] += 1
    wrong += [f'dropped: {count} packets: {reason}' for reason, count in reasons.most_common(20)]
    print(f'  {late} packets dropped after a RST of their receiver (ignored)')
    stats = counters(events['stats'][-1])
    for path, value in numbers_below(stats):
        parts = path.split('.')
        lost = parts[0] == 'queue' and parts[-1] in ('verdict_lost', 'user_dropped', 'queue_dropped')
        error = parts[:2] == ['app_layer', 'error'] or (parts[:2] == ['ips', 'exception']
                                                        and parts[2] != 'stream_invalid')
        if value and (lost or error):
            wrong.append(f'counter {path} = {value}')
    dropped = sum(queue['dropped'] for queue in stats['queue'].values())
    if dropped != len(events['drop']):
        wrong.append(f'{dropped} packets dropped, but {len(events["drop"])} drop events')
    anomalies = collections.Counter(f'{e["anomaly"].get("app_proto", e["anomaly"]["type"])}: {e["anomaly"]["event"]}'
                                    for e in events['anomaly'])
    for text, count in anomalies.most_common():
        print(f'  anomaly, {count} times: {text}')
    flows = collections.Counter(e.get('app_proto', 'unknown') for e in events['flow'])
    print('  flows: ' + ', '.join(f'{count} {name}' for name, count in flows.most_common()))
    if sum(flows.values()) < connections:
        wrong.append(f'{sum(flows.values())} flows for {connections} connections')
    return wrong


def run(arguments, folder):
    servers, wrong, made = [], [], 0
    with open('/etc/resolv.conf', 'w') as f:  # only in this mount namespace
        f.write('nameserver 127.0.0.1\noptions timeout:5 attempts:2\n')
    try:
        pairs = pairs_of(arguments, folder, servers)
        if not pairs:
            return None
        share = max(1, -(-arguments.connections // len(pairs)))
        sluice = None if arguments.without_sluice else Sluice(arguments.sluice, folder)
        if sluice and arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            sniffer = subprocess.Popen(['tcpdump', '-i', 'lo', '-w', arguments.keep + '/all.pcap', '-U', '-Z', 'root'],
                                       stderr=subprocess.DEVNULL)
            time.sleep(1)
        begin = time.monotonic()
        for client, server in pairs:
            done = client.run(server, share)
            made += share
            if done != share:
                wrong.append(f'{client.name} to {server.name}: {share - done} of {share} failed: {client.failures()}')
        print(f'{made} connections, {len(pairs)} pairs of client and server, {len({c.name for c, _ in pairs})} '
              f'clients, {len(servers)} servers, {time.monotonic() - begin:.0f} s')
    finally:
        for server in servers:
            server.stop()
    if not sluice:
        return wrong
    wrong += check_events(*sluice.stop(), made)
    if arguments.keep:
        sniffer.terminate()
        sniffer.wait()
        shutil.copytree(sluice.folder, arguments.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns('control'))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sluice', required=True, type=os.path.abspath)
    parser.add_argument('--connections', type=int, default=10000)
    parser.add_argument('--only', help='pairs whose names contain the text')
    parser.add_argument('--keep', help='write the packets, the log and the events of Sluice to this folder')
    parser.add_argument('--without-sluice', action='store_true',
                        help='make the connections without Sluice, to find those that fail anyway')
    parser.add_argument('--nightly', action='store_true',
                        help='also use servers that take long to download or to start')
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print('SKIP: needs root')
        return 77
    differential.enter_namespace()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        open(folder + '/resolv.conf', 'w').close()
        subprocess.run(['mount', '--bind', folder + '/resolv.conf', '/etc/resolv.conf'], check=True)
        wrong = run(arguments, folder)
        subprocess.run(['umount', '/etc/resolv.conf'], check=True)
    if wrong is None:
        print('SKIP: no endpoint can run')
        return 77
    for line in wrong:
        print('WRONG ' + line)
    print(f'{len(wrong)} findings')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
