# SPDX-License-Identifier: GPL-2.0-or-later
"""Mailboxes and terminals: POP3, IMAP, Telnet."""
from build import client, client_hello, server, tcp


def lines(make, *texts):
    return make(''.join(text + '\r\n' for text in texts).encode())


def pop3(options):
    return f'alert pop3 any any -> any any ({options})'


def imap(options):
    return f'alert imap any any -> any any ({options})'


def tcp_rule(options):
    return f'alert tcp any any -> any any ({options})'


MESSAGE = ('Subject: report', 'From: Alice <alice@example.org>', 'Content-Type: multipart/mixed; boundary=x', '', '--x',
           'Content-Disposition: attachment; filename=invoice.exe', 'Content-Transfer-Encoding: base64', '',
           'TVogaGVsbG8gd29ybGQ=', '--x--')

# --- POP3

session = tcp(
    110, lines(server, '+OK POP3 ready <1.2@example.org>'),
    lines(client, 'USER alice', 'PASS secret'), lines(server, '+OK', '+OK 1 message'),
    lines(client, 'LIST', 'RETR 1'), lines(server, '+OK', '1 400', '.', '+OK 400 octets', *MESSAGE, '.'),
    lines(client, 'QUIT'), lines(server, '+OK bye'))
session_rules = [
    (1, pop3('file.data; content:"MZ hello world"; bsize:14;')),
    (1, pop3('file.name; content:"invoice.exe"; file.data; content:"MZ"; startswith;')),
    (1, pop3('fileext:"exe"; flow:to_client;')),
    (0, pop3('file.data; content:"TVog";')),
    (0, pop3('file.data; content:"MZ"; flow:to_server;')),
    (1, pop3('flow:to_server; content:"PASS secret";')),
    (0, pop3('app-layer-event:pop3.unknown_command;')),
    (0, pop3('app-layer-event:pop3.incorrect_argument_count;')),
]
session_events = [
    '6 event_type=pop3',
    '1 event_type=pop3 pop3.request= pop3.response.status=OK',
    '1 event_type=pop3 pop3.request.command=PASS pop3.request.args=[\'secret\'] pop3.response.success=true',
    '1 event_type=pop3 pop3.request.command=RETR email.subject=report email.attachment=[\'invoice.exe\']',
    '1 event_type=fileinfo fileinfo.filename=invoice.exe fileinfo.size=14 fileinfo.state=CLOSED',
    '1 event_type=flow app_proto=pop3',
]
broken = tcp(
    110, lines(server, '+OK ready'), lines(client, 'RETR', 'WHAT', 'USER ' + 'a' * 300),
    lines(server, '-ERR ' + 'b' * 600, '-ERR', '-ERR'), lines(client, *['NOOP'] * 300))
broken_rules = [
    (1, pop3('app-layer-event:pop3.incorrect_argument_count; flow:to_server;')),
    (1, pop3('app-layer-event:pop3.unknown_command; flow:to_server;')),
    (1, pop3('app-layer-event:pop3.request_too_long; flow:to_server;')),
    (1, pop3('app-layer-event:pop3.response_too_long; flow:to_client;')),
    (1, pop3('app-layer-event:pop3.too_many_transactions; flow:to_server;')),
    (0, pop3('file.data; bsize:>0;')),
]
hello = client(client_hello('mail.example.org'))
stls = tcp(110, lines(server, '+OK ready'), lines(client, 'STLS'), lines(server, '+OK begin'), hello)
stls_rules = [
    (1, 'alert tls any any -> any any (tls.sni; content:"mail.example.org";)'),
    (0, pop3('app-layer-event:pop3.unknown_command;')),
]

# --- IMAP

BODY = ''.join(line + '\r\n' for line in MESSAGE)
mailbox = tcp(
    143, lines(server, '* OK [CAPABILITY IMAP4rev1] ready'), lines(client, 'a1 LOGIN alice secret', 'a2 SELECT INBOX'),
    lines(server, 'a1 OK', '* 1 EXISTS', 'a2 OK'), lines(client, 'a3 FETCH 1 (FLAGS BODY[])'),
    lines(server, '* 1 FETCH (FLAGS (\\Seen) BODY[] {%d}' % len(BODY), BODY + ')', 'a3 OK'),
    lines(client, 'a4 APPEND Drafts {%d+}' % len(BODY), BODY), lines(server, 'a4 OK'),
    lines(client, 'a5 LOGOUT'), lines(server, '* BYE', 'a5 OK'))
mailbox_rules = [
    (1, imap('flow:to_client; file.data; content:"MZ hello world"; bsize:14;')),
    (1, imap('flow:to_server; file.data; content:"MZ hello world"; bsize:14;')),
    (2, imap('filename:"invoice";')),
    (0, imap('file.data; content:"TVog";')),
    (1, imap('flow:to_server; content:"LOGIN alice";')),
    (1, tcp_rule('app-layer-protocol:imap; flow:to_server; content:"LOGIN alice";')),
    (0, tcp_rule('app-layer-protocol:pop3; flow:to_server; content:"LOGIN alice";')),
]
mailbox_events = [
    '2 event_type=fileinfo fileinfo.filename=invoice.exe fileinfo.state=CLOSED',
    '1 event_type=alert alert.signature_id=1 sluice.imap.command=FETCH sluice.imap.email.subject=report',
    '1 event_type=flow app_proto=imap',
]
starttls = tcp(9999, lines(server, '* OK ready'), lines(client, 'a1 STARTTLS'), lines(server, 'a1 OK begin'), hello)
starttls_rules = [
    (1, 'alert tls any any -> any any (tls.sni; content:"mail.example.org";)'),
    (0, imap('content:"mail.example.org";')),
]

# --- Telnet

telnet = tcp(23, server(b'\xff\xfd\x18\xff\xfd\x20login: '), client(b'root\r\n'))
options = tcp(9999, server(b'\xff\xfd\x18\xff\xfd\x20login: '), client(b'root\r\n'))
telnet_rules = [
    (1, 'alert telnet any any -> any any (flow:to_server; content:"root|0d 0a|";)'),
    (1, tcp_rule('app-layer-protocol:telnet,to_client; flow:to_server; content:"root";')),
    (0, 'alert telnet any any -> any any (flow:to_client; content:"root";)'),
]

cases = {
    'pop3': (session, session_rules, {}, [], session_events),
    'pop3_in_pieces': (tcp(110, lines(server, '+OK POP3'), lines(client, 'RETR 1'), lines(server, '+OK', *MESSAGE, '.'),
                           cut=1), [(1, pop3('file.data; content:"MZ hello world"; bsize:14;')),
                                    (0, pop3('file.data; content:"TVog";'))]),
    'pop3_broken': (broken, broken_rules),
    'pop3_stls': (stls, stls_rules, {}, [], ['1 event_type=flow app_proto=tls app_proto_orig=pop3']),
    'imap': (mailbox, mailbox_rules, {}, [], mailbox_events),
    'imap_starttls': (starttls, starttls_rules, {}, [], ['1 event_type=flow app_proto=tls app_proto_orig=imap']),
    'telnet': (telnet, telnet_rules, {}, [], ['1 event_type=flow app_proto=telnet']),
    'telnet_options': (options, telnet_rules),
}
