# SPDX-License-Identifier: GPL-2.0-or-later
"""The DNS servers as endpoints. Each is authoritative for the zones of the words, and refuses every other name."""
import asyncio

from core import WAIT, Endpoint
from dns_queries import WORDS
from exchange import AT_ONCE, exchange

ZONES = [word.decode() + '.test' for word in WORDS.values()] + ['good.test', 'type.test']
RECORDS = '''@ 60 IN SOA ns.test. mail.test. 1 60 60 60 60
@ 60 IN NS ns.test.
@ 60 IN A 10.1.0.1
@ 60 IN SRV 0 0 1 host.test.
* 60 IN A 10.1.0.1
* 60 IN TXT "text"
'''


class Collector(asyncio.DatagramProtocol):
    def __init__(self):
        self.received, self.last = [], 0

    def datagram_received(self, data, _address):
        self.received.append(data)
        self.last = asyncio.get_running_loop().time()

    def error_received(self, _error):
        pass


async def ask(address, m, quiet):
    """Sends the steps of a message; returns the datagrams that the server answers."""
    loop = asyncio.get_running_loop()
    transport, collector = await loop.create_datagram_endpoint(Collector, remote_addr=address)
    try:
        for step in m.steps:
            if step is not WAIT:
                transport.sendto(step)
        begin = loop.time()
        while loop.time() - max(begin, collector.last) < quiet and len(collector.received) < m.count:
            await asyncio.sleep(0.005)
    finally:
        transport.close()
    return collector.received


async def ask_all(address, messages, quiet):
    answers, waiting = [[]] * len(messages), iter(enumerate(messages))

    async def work():
        for index, m in waiting:
            answers[index] = await ask(address, m, quiet)
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return answers


class Server(Endpoint):
    groups, port, quiet = ('nightly-dns', '/'), None, 0.3

    def start(self):
        self.configure()
        self.spawn(*self.arguments())
        self.wait_port(self.port)

    def exchange(self, messages):
        address, answers = ('127.0.0.1', self.port), [None] * len(messages)
        for udp in (True, False):
            chosen = [n for n, m in enumerate(messages) if m.udp == udp]
            some = [messages[n] for n in chosen]
            for n, answer in zip(chosen, asyncio.run(ask_all(address, some, self.quiet)) if udp
                                 else exchange(address, some, self.quiet)):
                answers[n] = answer
        return answers


class Dnsmasq(Server):
    name, groups, program, port = 'dnsmasq', ('dns', '/'), '/usr/sbin/dnsmasq', 5301
    more = ''

    def configure(self):
        addresses = ''.join(f'address=/{zone}/10.1.0.1\ntxt-record={zone},text\n' for zone in ZONES)
        self.write('dnsmasq.conf',
                   f'port={self.port}\nno-resolv\nno-hosts\nuser=root\npid-file=\n'
                   'listen-address=127.0.0.1\nbind-interfaces\n'
                   + (self.more or addresses + 'srv-host=type.test,host.test,1\n'))

    def arguments(self):
        return ('dnsmasq', '--keep-in-foreground', '--conf-file=/endpoint/dnsmasq.conf', '--log-facility=-',
                '--dns-forward-max=10000')


class Forwarder(Dnsmasq):
    """A dnsmasq that forwards queries to another dnsmasq."""
    name, port, more = 'dnsmasq-forwarder', 5302, 'server=127.0.0.1#5312\ncache-size=0\n'

    def start(self):
        class Upstream(Dnsmasq):
            name, port = 'dnsmasq-upstream', 5312
        self.upstream = Upstream(self.folder)
        self.upstream.start()
        super().start()

    def stop(self):
        super().stop()
        self.upstream.stop()


class Unbound(Server):
    name, program, port = 'unbound', '/usr/sbin/unbound', 5303

    def configure(self):
        zones = ''.join(f'local-zone: "{zone}." redirect\nlocal-data: "{zone}. A 10.1.0.1"\nlocal-data: "{zone}. SRV 0 '
                        f'0 1 host.test."\n' for zone in ZONES)
        self.write('unbound.conf',
                   f'server:\nport: {self.port}\ninterface: 127.0.0.1\nusername: ""\nchroot: ""\npidfile: '
                   f'""\nuse-syslog: no\ndirectory: /endpoint\nmodule-config: iterator\n'
                   f'incoming-num-tcp: 200\nlocal-zone: "." refuse\n{zones}\nremote-control:\ncontrol-enable: no\n')

    def arguments(self):
        return 'unbound', '-d', '-c', '/endpoint/unbound.conf'


class Bind(Server):
    name, program, port = 'bind9', '/usr/sbin/named', 5304

    def configure(self):
        self.write('zone', RECORDS)
        zones = ''.join(f'zone "{zone}" {{ type primary; file "/endpoint/zone"; }};\n' for zone in ZONES)
        self.write('named.conf',
                   'options { directory "/endpoint"; listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; }; '
                   'recursion no; pid-file none; session-keyfile none; '
                   'notify no; tcp-clients 500; dnssec-validation no; managed-keys-directory "/endpoint"; };\ncontrols '
                   '{ };\n%s' % (self.port, zones))

    def arguments(self):
        return 'named', '-g', '-c', '/endpoint/named.conf', '-n', '2'


class Knot(Server):
    name, program, port = 'knot', '/usr/sbin/knotd', 5305

    def configure(self):
        self.write('zone', RECORDS)
        zones = ''.join(f'  - domain: {zone}\n    file: /endpoint/zone\n    acl: all\n' for zone in ZONES)
        self.write('knot.conf',
                   f'server:\n  rundir: /endpoint\n  listen: 127.0.0.1@{self.port}\nlog:\n  - target: stderr\n    any: '
                   f'warning\ndatabase:\n  storage: /endpoint\n'
                   f'acl:\n  - id: all\n    action: transfer\n    address: 127.0.0.1\ntemplate:\n  - id: default\n    '
                   f'zonefile-sync: -1\n    journal-content: none\nzone:\n{zones}')

    def arguments(self):
        return 'knotd', '-c', '/endpoint/knot.conf'


SERVERS = (Dnsmasq, Forwarder)
NIGHTLY = (Unbound, Bind, Knot)
