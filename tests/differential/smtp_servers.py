# SPDX-License-Identifier: GPL-2.0-or-later
"""The SMTP servers as endpoints. MTAs deliver by LMTP to a collector in this process; Python's servers write a file."""
import asyncio
import json
import os
import re
import shutil
import threading
import time

import mail_readers
from core import HERE, Endpoint, Unavailable, root_of
from dialogue import Talk, talk
from smtp_sessions import WORDS

COLLECTOR_PORT = 2400


class Collector:
    """An LMTP server that stores each mail as (sender, recipients, content)."""

    def __init__(self):
        self.mails, self.last = [], time.monotonic()
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()
        self.ready.wait()

    def run(self):
        self.loop.run_until_complete(asyncio.start_server(self.serve, '127.0.0.1', COLLECTOR_PORT, backlog=512,
                                                          limit=1 << 24))
        self.ready.set()
        self.loop.run_forever()

    async def serve(self, reader, writer):
        writer.write(b'220 collector\r\n')
        sender, recipients = b'', []
        try:
            while line := await reader.readline():
                self.last = time.monotonic()
                word = line[:4].upper()
                if word == b'MAIL':
                    sender, recipients = line[10:].strip(), []
                elif word == b'RCPT':
                    recipients.append(line[8:].strip())
                if word == b'LHLO':
                    writer.write(b'250-collector\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 PIPELINING\r\n')
                elif word == b'DATA':
                    writer.write(b'354 go on\r\n')
                    self.mails.append((sender, recipients, await self.read_mail(reader)))
                    writer.write(b'250 kept\r\n' * len(recipients))
                else:
                    writer.write(b'250 OK\r\n')
                if word == b'QUIT':
                    break
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        writer.close()

    @staticmethod
    async def read_mail(reader):
        lines = []
        while (line := await reader.readline()) not in (b'.\r\n', b''):
            lines.append(line[1:] if line.startswith(b'.') else line)
        return b''.join(lines)

    def wait_quiet(self, seconds, most):
        end = time.monotonic() + most
        while time.monotonic() < end and time.monotonic() - self.last < seconds:
            time.sleep(0.1)


COLLECTORS = []  # the collector of this process, after the first MTA was started


def numbers_of(recipients):
    return {int(number) for r in recipients for number in re.findall(rb'n(\d+)n', r.lower())}


class SmtpServer(Endpoint):
    port, group = None, None

    def start(self):
        self.readers = mail_readers.programs(self.folder)
        self.configure()
        self.spawn(*self.arguments())
        self.wait_port(self.port, 60)

    def configure(self):
        pass

    def mails(self):
        """Returns (hello, sender, recipients, content) of each delivered mail."""
        raise NotImplementedError

    def understand(self, sessions):
        records = talk(Talk, ('127.0.0.1', self.port), sessions)
        mails = self.mails()
        by_number = {}
        for mail, found in zip(mails, mail_readers.read_all([content for *_, content in mails], self.readers)):
            for number in numbers_of(mail[2]):
                by_number.setdefault(number, []).append((mail, found))
        return records, [any(understood(s, mail, found) for mail, found in by_number.get(s.number, ()))
                         for s in sessions]


def understood(s, mail, found):
    hello, sender, recipients, content = mail
    if s.place is None:
        return True
    word = WORDS[s.place]
    if s.place == 'raw':
        # A word that the commands of BDAT cut is not in the stream.
        return word in content and word in b''.join(step for step in s.steps if step)
    places = {'helo': [hello, mail_readers.received(content)], 'from': [sender], 'rcpt': recipients,
              'subject': [found.subject], 'to': [found.to], 'file': found.files, 'name': found.names}
    return any(word in text for text in places[s.place])


class PythonServer(SmtpServer):
    program = '/usr/bin/python3'

    def configure(self):
        shutil.copy(HERE + '/endpoints/mail.py', self.folder)
        self.path = self.folder + '/mails'
        open(self.path, 'w').close()

    def arguments(self):
        return '/usr/bin/python3', '/endpoint/mail.py', self.name, str(self.port)

    def mails(self):
        with open(self.path) as f:
            lines = [json.loads(line) for line in f]
        os.truncate(self.path, 0)
        return [(hello.encode('latin-1'), sender.encode('latin-1'), [r.encode('latin-1')
                                                                     for r in recipients], content.encode('latin-1'))
                                                                     for hello, sender, recipients, content in lines]


class Smtpd(PythonServer):
    """The SMTP server of Python's standard library, up to Python 3.11."""
    name, groups, port = 'smtpd', ('smtp', '/'), 8021

    def find_root(self):
        root = super().find_root()
        library = root.rstrip('/') + '/usr/lib'
        if not any(os.path.exists(f'{library}/{name}/smtpd.py') for name in os.listdir(library)
                   if name.startswith('python3.')):
            raise Unavailable('this version of Python has no smtpd')
        return root


class Aiosmtpd(PythonServer):
    name, groups, port = 'aiosmtpd', ('smtp', '/'), 8022

    def find_root(self):
        for root in (root_of('smtp'), '/'):
            if root and os.path.exists(root.rstrip('/') + '/usr/lib/python3/dist-packages/aiosmtpd'):
                return root
        raise Unavailable('aiosmtpd is not installed and not downloaded (tests/differential/fetch-endpoints smtp)')


class Mta(SmtpServer):
    user = None  # user that the maintainer script of the package creates

    def start(self):
        if not COLLECTORS:
            COLLECTORS.append(Collector())
        super().start()

    def mails(self):
        collector = COLLECTORS[0]
        collector.last = time.monotonic()
        collector.wait_quiet(4, 600)
        mails, collector.mails = collector.mails, []
        return [(b'', *mail) for mail in mails]


class Postfix(Mta):
    name, groups, program, port = 'postfix', ('nightly-postfix',), '/usr/sbin/postfix', 8023

    def configure(self):
        self.write('main.cf', '''
compatibility_level = 3.6
config_directory = /endpoint
queue_directory = /endpoint/spool
data_directory = /endpoint/data
daemon_directory = /usr/lib/postfix/sbin
command_directory = /usr/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = /endpoint/maillog
maillog_file_prefixes = /endpoint
myhostname = mx.h.example
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
virtual_mailbox_domains = h.example
virtual_mailbox_maps = static:ok
virtual_transport = lmtp:inet:127.0.0.1:2400
smtpd_relay_restrictions = reject_unauth_destination
smtpd_authorized_xforward_hosts = 127.0.0.0/8
smtpd_client_connection_count_limit = 0
smtpd_error_sleep_time = 0
smtpd_soft_error_limit = 10000
smtpd_hard_error_limit = 20000
smtpd_junk_command_limit = 10000
lmtp_line_length_limit = 0
lmtp_destination_concurrency_limit = 40
disable_dns_lookups = yes
enable_long_queue_ids = yes
in_flow_delay = 0
smtpd_delay_reject = no
''')
        services = '''8023 inet n - n - 300 smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 discard
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
smtp unix - - n - - discard
relay unix - - n - - discard
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - 40 lmtp
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
'''
        self.write('master.cf',
                   services.replace('defer unix - - n - 0 bounce', 'flush unix n - n 1000? 0 flush\ndefer unix - - n - '
                                                                   '0 bounce')
                   .replace('bounce unix - - n - 0 discard', 'bounce unix - - n - 0 bounce'))

    def arguments(self):
        return 'sh', '-c', '''
case $(cat /etc/passwd) in *postfix:*) ;; *) echo 'postfix:x:110:110::/var/spool/postfix:/bin/false' >>/etc/passwd; printf 'postfix:x:110:\\npostdrop:x:111:\\n' >>/etc/group;; esac
chmod 755 /endpoint; mkdir -p /endpoint/spool /endpoint/data && chown postfix /endpoint/data
for d in active bounce corrupt defer deferred flush hold incoming private saved trace; do mkdir -p /endpoint/spool/$d; chown postfix /endpoint/spool/$d; chmod 700 /endpoint/spool/$d; done
for d in maildrop public; do mkdir -p /endpoint/spool/$d; chown postfix:postdrop /endpoint/spool/$d; done; chmod 730 /endpoint/spool/maildrop; chmod 710 /endpoint/spool/public
mkdir -p /endpoint/spool/pid; exec /usr/lib/postfix/sbin/master -c /endpoint -d'''


class Exim(Mta):
    name, groups, program, port = 'exim', ('nightly-exim',), '/usr/sbin/exim4', 8024

    def configure(self):
        self.write('exim.conf', '''
primary_hostname = mx.h.example
spool_directory = /endpoint/spool
log_file_path = /endpoint/%slog
daemon_smtp_ports = 8024
local_interfaces = 127.0.0.1
never_users =
tls_advertise_hosts =
chunking_advertise_hosts = *
pipelining_advertise_hosts = *
acl_smtp_rcpt = check
acl_smtp_data = accept
smtp_accept_max = 200
smtp_accept_queue_per_connection = 1000
smtp_accept_max_nonmail = 1000
smtp_max_unknown_commands = 1000
smtp_max_synprot_errors = 1000
smtp_load_reserve = 1000
accept_8bitmime = true
message_size_limit = 50M
host_lookup =
rfc1413_hosts =
begin acl
check:
  accept domains = h.example
  deny message = refused
begin routers
all:
  driver = manualroute
  route_list = * 127.0.0.1
  transport = collector
  self = send
begin transports
collector:
  driver = smtp
  protocol = lmtp
  port = 2400
  hosts_try_chunking =
  allow_localhost
  message_linelength_limit = 1G
begin retry
* * F,1h,1m
''')

    def arguments(self):
        return 'sh', '-c', '''
case $(cat /etc/passwd) in *Debian-exim:*) ;; *) echo 'Debian-exim:x:112:112::/var/spool/exim4:/bin/false' >>/etc/passwd; echo 'Debian-exim:x:112:' >>/etc/group;; esac
mkdir -p /endpoint/spool /etc/exim4; chown -R Debian-exim:Debian-exim /endpoint/spool; chmod 777 /endpoint; cp /endpoint/exim.conf /etc/exim4/exim4.conf; chmod 644 /etc/exim4/exim4.conf
exec /usr/sbin/exim4 -bdf -q1m'''


class Opensmtpd(Mta):
    name, groups, program, port = 'opensmtpd', ('nightly-opensmtpd',), '/usr/sbin/smtpd', 8025

    def configure(self):
        self.write('smtpd.conf', '''
smtp max-message-size 50M
listen on 127.0.0.1 port 8025 hostname mx.h.example
table users { "@" = nobody }
action "collect" lmtp "127.0.0.1:2400" rcpt-to virtual <users>
match from any for domain "h.example" action "collect"
''')

    def arguments(self):
        return 'sh', '-c', '''
case $(cat /etc/passwd) in *opensmtpd:*) ;; *) printf 'opensmtpd:x:113:113::/var/lib/opensmtpd/empty:/bin/false\\nopensmtpq:x:114:114::/var/lib/opensmtpd/empty:/bin/false\\n' >>/etc/passwd; printf 'opensmtpd:x:113:\\nopensmtpq:x:114:\\n' >>/etc/group;; esac
mkdir -p /var/lib/opensmtpd/empty /var/spool/smtpd; mount -t tmpfs none /var/spool; mkdir -p /var/spool/smtpd; chmod 711 /var/spool/smtpd; chmod 755 /endpoint; chmod 600 /endpoint/smtpd.conf
mkdir -p /var/spool/smtpd/offline; chgrp opensmtpq /var/spool/smtpd/offline; chmod 770 /var/spool/smtpd/offline
exec /usr/sbin/smtpd -d -f /endpoint/smtpd.conf'''


LIGHT = (Smtpd, Aiosmtpd)
SERVERS = (*LIGHT, Postfix, Exim, Opensmtpd)
