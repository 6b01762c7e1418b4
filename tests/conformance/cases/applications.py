# SPDX-License-Identifier: GPL-2.0-or-later
"""Keywords of application protocols that the module protocols does not have, and older names of keywords."""
import hashlib
import struct

from build import (Case, certificate, client, client_hello, dcerpc_bind, dcerpc_bind_ack, dcerpc_datagram, dcerpc_request,
                   dcerpc_response, dhcp, dns_message, dns_name, dns_record, ike, ike1_sa, kerberos_error,
                   kerberos_reply, kerberos_request, nfs_call, ntp, quic_chlo, quic_crypto, quic_initial, rfb, rfb_server_init, rpc_record, server, server_hello, smb1, smb2_login, snmp, snmp3,
                   snmp_pdu, snmp_trap,
                   smb2_pipe, ssh_kex, tcp, udp, udp_packet, xdr)


def rule(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


# --- DNS: records in all sections, and an update

A, NS, CNAME, PTR, TXT, SRV = 1, 2, 5, 12, 16, 33
QUERY, RESPONSE, MULTICAST_RESPONSE, UPDATE = 0x0100, 0x8180, 0x8400, 0x2800
ADDRESS = bytes([203, 0, 113, 9])
dns_packets = udp(53, client(dns_message([('www.example.org', A)])), server(dns_message(
    [('www.example.org', A)],
    [dns_record('www.example.org', CNAME, dns_name('cdn.example.net')), dns_record('cdn.example.net', A, ADDRESS)],
    [dns_record('example.org', NS, dns_name('ns1.example.com'))],
    [dns_record('ns1.example.com', A, ADDRESS)], RESPONSE))) + \
    udp(53, client(dns_message([('zone.example.org', 6)], flags=UPDATE, number=7)), client_port=40001)
dns_rules = [
    (2, rule('dns', 'dns.queries.rrname; content:"www.example.org"; bsize:15;')),
    (0, rule('dns', 'dns.queries.rrname; content:"cdn";')),
    (2, rule('dns', 'dns.query.name; content:"www.example.org"; bsize:15;')),
    (0, rule('dns', 'dns.query.name; content:"ns1";')),
    (1, rule('dns', 'dns.answer.name; content:"cdn.example.net"; bsize:15;')),
    (0, rule('dns', 'dns.answer.name; content:"ns1";')),
    (1, rule('dns', 'dns.answers.rrname; content:"cdn.example.net"; bsize:15;')),
    (0, rule('dns', 'dns.answers.rrname; content:"ns1";')),
    (1, rule('dns', 'dns.authorities.rrname; content:"example.org"; bsize:11;')),
    (0, rule('dns', 'dns.authorities.rrname; content:"cdn";')),
    (1, rule('dns', 'dns.additionals.rrname; content:"ns1.example.com"; bsize:15;')),
    (0, rule('dns', 'dns.additionals.rrname; content:"cdn";')),
    (1, rule('dns', 'dns.response.rrname; content:"cdn.example.net"; bsize:15;')),
    (0, rule('dns', 'dns.response.rrname; content:"zone";')),
    (1, rule('dns', 'dns.opcode:5;')),
    (0, rule('dns', 'dns.opcode:4;')),
    (1, rule('dns', 'dns_query; content:"www.example.org";')),
    (0, rule('dns', 'dns_query; content:"cdn";')),
]

# --- mDNS (RFC 6762): all messages go to the group, from port 5353

GROUP, OTHER = '224.0.0.251', '192.0.2.200'
SERVICE, PRINTER = '_ipp._tcp.local', 'printer._ipp._tcp.local'
mdns_packets = [
    udp_packet(dns_message([(SERVICE, PTR)], flags=0), (5353, 5353), ('192.0.2.1', GROUP), ttl=255),
    udp_packet(dns_message([], [dns_record(SERVICE, PTR, dns_name(PRINTER))],
                           [dns_record('auth.local', NS, dns_name('ns.local'))],
                           [dns_record('host.local', A, ADDRESS)], MULTICAST_RESPONSE, 0),
               (5353, 5353), (OTHER, GROUP), ttl=255)]
mdns_rules = [
    (1, rule('mdns', f'mdns.queries.rrname; content:"{SERVICE}"; bsize:15;')),
    (0, rule('mdns', 'mdns.queries.rrname; content:"printer";')),
    (1, rule('mdns', f'mdns.answers.rrname; content:"{SERVICE}"; bsize:15;')),
    (0, rule('mdns', 'mdns.answers.rrname; content:"host";')),
    (1, rule('mdns', 'mdns.authorities.rrname; content:"auth.local"; bsize:10;')),
    (0, rule('mdns', 'mdns.authorities.rrname; content:"host";')),
    (1, rule('mdns', 'mdns.additionals.rrname; content:"host.local"; bsize:10;')),
    (0, rule('mdns', 'mdns.additionals.rrname; content:"auth";')),
    (1, rule('mdns', f'mdns.response.rrname; content:"{PRINTER}"; bsize:23;')),
    (0, rule('mdns', 'mdns.response.rrname; content:"|05|local";')),
    (0, rule('dns', f'dns.queries.rrname; content:"{SERVICE}";')),
]

# --- LLMNR (RFC 4795): a query to the group; a query to a host and its response

LLMNR_RESPONSE = 0x8000
llmnr_packets = [udp_packet(dns_message([('fileserver', A)], flags=0), (40000, 5355), ('192.0.2.1', '224.0.0.252')),
                 *udp(5355, client(dns_message([('printer', A)], flags=0)), server(dns_message(
                     [('printer', A)], [dns_record('printer', A, ADDRESS)], [dns_record('auth', NS, dns_name('ns'))],
                     [dns_record('extra', A, ADDRESS)], LLMNR_RESPONSE)), client_port=40001)]
llmnr_rules = [
    (1, rule('llmnr', 'llmnr.queries.rrname; content:"fileserver"; bsize:10;')),
    (0, rule('llmnr', 'llmnr.queries.rrname; content:"extra";')),
    (1, rule('llmnr', 'llmnr.answers.rrname; content:"printer"; bsize:7;')),
    (0, rule('llmnr', 'llmnr.answers.rrname; content:"fileserver";')),
    (1, rule('llmnr', 'llmnr.authorities.rrname; content:"auth"; bsize:4;')),
    (0, rule('llmnr', 'llmnr.authorities.rrname; content:"ns";')),
    (1, rule('llmnr', 'llmnr.additionals.rrname; content:"extra"; bsize:5;')),
    (0, rule('llmnr', 'llmnr.additionals.rrname; content:"auth";')),
    (1, rule('llmnr', 'llmnr.response.rrname; content:"extra"; bsize:5;')),
    (0, rule('llmnr', 'llmnr.response.rrname; content:"fileserver";')),
    (0, rule('dns', 'dns.queries.rrname; content:"printer";')),
]

# --- SMTP: the headers of a message, its text, and what must not be in them

BODY = b'see http://bad.example/path today\r\n'
mail = b'Received: from mx1.example.net\r\nReceived: from mx2.example.net\r\nFrom: alice@example.org\r\n' \
       b'To: bob@example.net\r\nCc: carol@example.com\r\nDate: Tue, 14 Nov 2023 22:13:20 +0000\r\n' \
       b'Subject: report\r\nMessage-ID: <1@example.org>\r\nX-Mailer: TestMailer 1.0\r\nMIME-Version: 1.0\r\n' \
       b'Content-Type: text/plain\r\n\r\n' + BODY + b'.\r\n'
smtp = tcp(25, server(b'220 mx.example.net ESMTP\r\n'), client(b'EHLO client.example.org\r\n'), server(b'250 ok\r\n'),
           client(b'MAIL FROM:<alice@example.org>\r\n'), server(b'250 ok\r\n'),
           client(b'RCPT TO:<bob@example.net>\r\n'), server(b'250 ok\r\n'), client(b'DATA\r\n'), server(b'354 go\r\n'),
           client(mail), server(b'250 queued\r\n'), client(b'QUIT\r\n'), server(b'221 bye\r\n'))
smtp_rules = [
    (1, rule('smtp', 'email.cc; content:"carol@example.com"; bsize:17;')),
    (0, rule('smtp', 'email.cc; content:"report";')),
    (1, rule('smtp', 'email.date; content:"Tue, 14 Nov 2023 22|3a|13|3a|20 +0000"; bsize:31;')),
    (0, rule('smtp', 'email.date; content:"bob";')),
    (1, rule('smtp', 'email.message_id; content:"<1@example.org>"; bsize:15;')),
    (0, rule('smtp', 'email.message_id; content:"report";')),
    (1, rule('smtp', 'email.received; content:"mx1.example.net"; endswith;')),
    (1, rule('smtp', 'email.received; content:"mx2.example.net"; endswith;')),
    (0, rule('smtp', 'email.received; content:"report";')),
    (1, rule('smtp', 'email.x_mailer; content:"TestMailer 1.0"; bsize:14;')),
    (0, rule('smtp', 'email.x_mailer; content:"report";')),
    (1, rule('smtp', 'email.url; content:"bad.example/path"; bsize:16;')),
    (0, rule('smtp', 'email.url; content:"today";')),
    (1, rule('smtp', f'email.body_md5; content:"{hashlib.md5(BODY).hexdigest()}"; bsize:32;')),
    (0, rule('smtp', 'email.body_md5; content:"bad";')),
    (0, rule('smtp', 'email.from; content:"bob";')),
    (0, rule('smtp', 'email.to; content:"carol";')),
    (0, rule('smtp', 'email.subject; content:"TestMailer";')),
    (0, rule('smtp', 'smtp.helo; content:"mx.example.net";')),
    (0, rule('smtp', 'smtp.mail_from; content:"bob";')),
]

# --- FTP: a file over a passive data connection; an active one to another host

control = tcp(21, server(b'220 ready\r\n'), client(b'USER alice\r\n'), server(b'331 password\r\n'),
              client(b'PASS secret\r\n'), server(b'230 logged in\r\n'), client(b'PASV\r\n'),
              server(b'227 Entering Passive Mode (198,51,100,1,156,64)\r\n'), client(b'RETR notes.txt\r\n'),
              server(b'150 opening\r\n'))
transfer = tcp(40000, server(b'content of the notes'), client_port=41000)
bounce = tcp(21, server(b'220 ready\r\n'), client(b'PORT 203,0,113,7,4,1\r\n'), server(b'200 ok\r\n'),
             client(b'NOOP\r\n'), client_port=40001)
ftp_packets = control[:-3] + transfer + control[-3:] + bounce
ftp_rules = [
    (1, rule('ftp', 'ftp.mode:passive; flow:to_client;')),
    (1, rule('ftp', 'ftp.mode:active; ftp.command; content:"PORT";')),
    (0, rule('ftp', 'ftp.mode:active; ftp.command; content:"PASV";')),
    (1, 'alert ftp any any => any any (ftp.command; content:"USER"; ftp.reply_received:yes;)'),
    (1, 'alert ftp any any => any any (ftp.command; content:"NOOP"; ftp.reply_received:no;)'),
    (0, 'alert ftp any any => any any (ftp.command; content:"USER"; ftp.reply_received:no;)'),
    (1, rule('ftp', 'ftpbounce;')),
    (0, rule('ftp', 'ftpbounce; ftp.command; content:"PASV";')),
    (0, rule('ftp', 'ftp.completion_code; content:"ready";')),
    (0, rule('ftp', 'ftp.reply; content:"220";')),
    (1, rule('ftp-data', 'ftpdata_command:retr; file.data; content:"content of the notes";')),
    (0, rule('ftp-data', 'ftpdata_command:stor;')),
    (1, rule('ftp-data', 'ftpdata.command:retr; file.name; content:"notes.txt";')),
    (0, rule('ftp-data', 'file.data; content:"alice";')),
]

# --- TLS: one connection with a valid certificate, one with an expired certificate and an issuer's

RANDOM = bytes(range(32))
leaf = certificate('www.example.org', 'Example CA', 0x0102030405, ['www.example.org'])
old = certificate('old.example.org', 'Old CA', 5, valid=(b'100101000000Z', b'210101000000Z'))
FINGERPRINT = ':'.join(f'{byte:02x}' for byte in hashlib.sha1(leaf).digest())
# JA4: ciphers and extensions sorted, without SNI (0) and ALPN (16), then the signature algorithms as sent
JA4 = 't12d0205h1_' + '_'.join(hashlib.sha256(part).hexdigest()[:12]
                               for part in (b'002f,c02b', b'000a,000b,000d_0804,0403'))
tls_packets = tcp(443, client(client_hello('www.example.org', signatures=(0x0804, 0x0403))),
                  server(server_hello(leaf))) + \
    tcp(443, client(client_hello('old.example.org', (0x1301,), random=bytes(32))),
        server(server_hello(old, certificate('Old CA', 'Old CA', 1))), client_port=40001)

# Two ClientHello messages on one connection that differ in the random only: both are inspected.
tls_again_packets = tcp(443, client(client_hello('again.example.org')),
                        client(client_hello('again.example.org', random=bytes(range(7, 39)))))


def hexadecimal(data):
    return '|' + data.hex(' ') + '|'


tls_again_rules = [
    (1, rule('tls', f'tls.random; content:"{hexadecimal(RANDOM)}";')),
    (1, rule('tls', f'tls.random; content:"{hexadecimal(bytes(range(7, 39)))}";')),
    (0, rule('tls', f'tls.random; content:"{hexadecimal(bytes(range(8, 40)))}";')),
]
tls_rules = [
    (2, rule('tls', 'tls.version:1.2; tls.sni; content:"example.org";')),
    (0, rule('tls', 'tls.version:1.3;')),
    (2, rule('tls', 'ssl_version:tls1.2; tls.sni; content:"example.org";')),
    (0, rule('tls', 'ssl_version:sslv3,tls1.0;')),
    (2, rule('tls', 'ssl_state:client_hello; tls.sni; content:"example.org";')),
    (0, rule('tls', 'ssl_state:client_keyx;')),
    (1, rule('tls', f'tls.random; content:"{hexadecimal(RANDOM)}"; bsize:32; flow:to_server;')),
    (0, rule('tls', 'tls.random; content:"www.example.org";')),
    (1, rule('tls', f'tls.random_time; content:"{hexadecimal(RANDOM[:4])}"; bsize:4;')),
    (0, rule('tls', f'tls.random_time; content:"{hexadecimal(RANDOM[4:6])}";')),
    (1, rule('tls', f'tls.random_bytes; content:"{hexadecimal(RANDOM[4:])}"; bsize:28;')),
    (0, rule('tls', f'tls.random_bytes; content:"{hexadecimal(RANDOM[:4])}";')),
    (1, rule('tls', 'tls.cert_chain_len:1;')),
    (1, rule('tls', 'tls.cert_chain_len:2;')),
    (0, rule('tls', 'tls.cert_chain_len:>2;')),
    (1, rule('tls', f'tls.fingerprint:"{FINGERPRINT}";')),
    (0, rule('tls', f'tls.fingerprint:"{FINGERPRINT[:-2]}{int(FINGERPRINT[-2:], 16) ^ 1:02x}";')),
    (1, rule('tls', 'tls.issuerdn:"Example CA";')),
    (0, rule('tls', 'tls.issuerdn:"www.example.org";')),
    (1, rule('tls', 'tls.subject:"CN=www.example.org";')),
    (0, rule('tls', 'tls.subject:"Example CA";')),
    (1, rule('tls', 'tls_cert_valid;')),
    (0, rule('tls', 'tls_cert_valid; tls.cert_subject; content:"old.example.org";')),
    (1, rule('tls', 'tls.store; tls.cert_subject; content:"old.example.org";')),
    (0, rule('tls', 'tls.store; tls.cert_subject; content:"none.example.org";')),
    (1, rule('tls', 'tls_store; tls_cert_expired;')),
    (0, rule('tls', 'tls_store; tls_cert_expired; tls.cert_subject; content:"www.example.org";')),
    (1, rule('tls', 'tls_cert_expired;')),
    (0, rule('tls', 'tls_cert_expired; tls.cert_subject; content:"www.example.org";')),
    (1, rule('tls', 'tls_cert_notafter:>2039;')),
    (0, rule('tls', 'tls_cert_notafter:<2020;')),
    (1, rule('tls', 'tls_cert_notbefore:<2011;')),
    (0, rule('tls', 'tls_cert_notbefore:>2021;')),
    (2, rule('tls', f'ja3s.hash; content:"{hashlib.md5(b"771,49195,11").hexdigest()}";')),
    (0, rule('tls', f'ja3s.hash; content:"{hashlib.md5(b"771,49196,11").hexdigest()}";')),
    (1, rule('tls', f'ja4.hash; content:"{JA4}"; bsize:36;')),
    (0, rule('tls', 'ja4.hash; content:"t13";')),
    (0, rule('tls', 'ja3.string; content:"770,"; startswith;')),
    (0, rule('tls', 'ja3s.string; content:"770,"; startswith;')),
    (0, rule('tls', 'tls.alpn; content:"www.example.org";')),
    (0, rule('tls', 'tls.cert_fingerprint; content:"' + ':'.join(['00'] * 20) + '";')),
    (0, rule('tls', 'tls.cert_serial; content:"01:02:03:04:06";')),
    (0, rule('tls', 'tls.cert_subject; content:"Example CA";')),
    (0, rule('tls', 'tls.certs; content:"http/1.1";')),
    (0, rule('tls', 'tls.subjectaltname; content:"Example CA";')),
    (1, rule('tls', 'tls_sni; content:"www.example.org";')),
    (1, rule('tls', 'tls_cert_subject; content:"www.example.org";')),
    (1, rule('tls', 'tls_cert_issuer; content:"Example CA";')),
    (1, rule('tls', f'tls_cert_fingerprint; content:"{FINGERPRINT}";')),
    (1, rule('tls', 'tls_cert_serial; content:"01:02:03:04:05";')),
    (1, rule('tls', 'ja3_string; content:"49195-47";')),
    (2, rule('tls', 'ja3_hash; bsize:32;')),
    (1, rule('ssl', 'tls.sni; content:"www.example.org";')),
]

# --- SSH

EXCHANGE = ['curve25519-sha256', 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none',
            'none', '', '']
ALGORITHMS = 'curve25519-sha256;aes128-ctr;hmac-sha2-256;none'
SERVER_ALGORITHMS = ALGORITHMS.replace('aes128', 'aes256')
ssh_packets = tcp(22, client(b'SSH-2.0-TestClient_1.0\r\n'), server(b'SSH-1.99-TestServer_2.0 comment\r\n'),
                  client(ssh_kex(EXCHANGE)), server(ssh_kex([name.replace('aes128', 'aes256') for name in EXCHANGE])))


def quoted(text):
    return text.replace(';', '|3b|')


HASSH, HASSH_SERVER = (hashlib.md5(text.encode()).hexdigest() for text in (ALGORITHMS, SERVER_ALGORITHMS))
ssh_rules = [
    (1, rule('ssh', f'ssh.hassh.string; content:"{quoted(ALGORITHMS)}"; bsize:{len(ALGORITHMS)};')),
    (0, rule('ssh', 'ssh.hassh.string; content:"ssh-ed25519";')),
    (1, rule('ssh', f'ssh.hassh.server.string; content:"{quoted(SERVER_ALGORITHMS)}"; bsize:{len(ALGORITHMS)};')),
    (0, rule('ssh', 'ssh.hassh.server.string; content:"ssh-ed25519";')),
    (0, rule('ssh', f'ssh.hassh.server; content:"{HASSH}";')),
    (1, rule('ssh', f'ssh-hassh; content:"{HASSH}";')),
    (1, rule('ssh', f'ssh-hassh-server; content:"{HASSH_SERVER}";')),
    (1, rule('ssh', 'ssh-hassh-string; content:"aes128-ctr";')),
    (1, rule('ssh', 'ssh-hassh-server-string; content:"aes256-ctr";')),
    (1, rule('ssh', 'ssh.softwareversion:testclient; flow:to_server;')),
    (0, rule('ssh', 'ssh.softwareversion:comment;')),
    (1, rule('ssh', 'ssh.protoversion:2.0;')),
    (2, rule('ssh', 'ssh.protoversion:2_compat;')),
    (0, rule('ssh', 'ssh.protoversion:1.0;')),
    (0, rule('ssh', 'ssh.proto; content:"SSH";')),
    (1, rule('ssh', 'ssh_proto; content:"1.99"; bsize:4;')),
    (1, rule('ssh', 'ssh_software; content:"TestServer_2.0"; bsize:14;')),
]

# --- SMB: a login and a share of files; DCE/RPC in a pipe by its older names

MAPPER, SRVSVC = 'e1af8308-5d1f-11c9-91a4-08002b14a0fa', '4b324fc8-1670-01d3-1278-5a47bf6ee188'
login = tcp(445, *smb2_login('\\\\SRV\\DATA', 'EXAMPLE', 'alice'))
pipe = tcp(445, *smb2_pipe('\\\\SRV\\IPC$', 'srvsvc', [
    (dcerpc_bind(SRVSVC), dcerpc_bind_ack()), (dcerpc_request(3, b'stub-data'), dcerpc_response(b'answer-data'))]),
    client_port=40001)
smb_rules = [
    (1, rule('smb', 'smb.ntlmssp_user; content:"alice"; bsize:5;')),
    (0, rule('smb', 'smb.ntlmssp_user; content:"NTLMSSP";')),
    (1, rule('smb', 'smb.ntlmssp_domain; content:"EXAMPLE"; bsize:7;')),
    (0, rule('smb', 'smb.ntlmssp_domain; content:"NTLMSSP";')),
    (1, rule('smb', r'smb.share; content:"|5c 5c|SRV|5c|DATA"; bsize:10; flow:to_server;')),
    (0, rule('smb', 'smb.share; content:"SMB";')),
    (1, rule('smb', 'smb_share; content:"DATA"; endswith; flow:to_server;')),
    (1, rule('smb', 'smb_named_pipe; content:"IPC$"; endswith; flow:to_server;')),
    (0, rule('smb', 'smb_named_pipe; content:"DATA"; flow:to_server;')),
    (1, rule('smb', 'smb.version:2; smb.ntlmssp_user; content:"alice";')),
    (0, rule('smb', 'smb.version:1;')),
    (1, rule('smb', f'dce_iface:{SRVSVC}; dce_opnum:3; dce_stub_data; content:"stub-data"; flow:to_server;')),
    (0, rule('smb', f'dce_iface:{MAPPER}; dce_opnum:3; dce_stub_data; content:"stub-data"; flow:to_server;')),
    (0, rule('smb', f'dce_iface:{SRVSVC}; dce_stub_data; content:"stub-data"; flow:to_client;')),
]
dcerpc_packets = tcp(135, client(dcerpc_bind(MAPPER)), server(dcerpc_bind_ack()),
                     client(dcerpc_request(3, b'stub-data')), server(dcerpc_response(b'answer-data')))
dcerpc_rules = [
    (1, rule('dcerpc', 'dcerpc.stub_data; content:"answer-data"; endswith; flow:to_client;')),
    (0, rule('dcerpc', 'dcerpc.stub_data; content:"|05 00|"; startswith;')),
]

# --- QUIC: a ClientHello in two packets, out of order, and its answer; version 2; a CHLO of Google's QUIC

HELLO = client_hello('www.example.org', (0x1301, 0x1302), b'h3')[5:]
ANSWER = server_hello()[5:]
ANSWER = ANSWER[:4 + int.from_bytes(ANSWER[1:4], 'big')]
JA3, JA3S = '771,4865-4866,0-10-11-16,29-23,0', '771,49195,11'
TAGS = [(b'PAD', b'-' * 20), (b'SNI', b'www.example.com'), (b'VER', b'Q043'), (b'CCS', bytes(16)),
        (b'UAID', b'Example/1.0'), (b'PDMD', b'X509')]
CYU = '43,PAD-SNI-VER-CCS-UAID-PDMD'


def quic_hello(version=1):
    """A client's hello in two packets, its second part first, and the server's hello."""
    return [client(quic_initial(b'\x01' + quic_crypto(40, HELLO[40:]), version=version, size=1200)),
            client(quic_initial(quic_crypto(0, HELLO[:40]), version=version, number=1, size=1200)),
            server(quic_initial(b'\x02\0\0\0\0' + quic_crypto(0, ANSWER), destination=b'clientid',
                                source=b'serverid', version=version, is_server=True))]


quic_packets = udp(443, *quic_hello()) + udp(4433, *quic_hello(0x6b3343cf), client_port=40001) + \
    udp(443, *quic_hello(0xff00001d), client_port=40002) + udp(443, client(quic_chlo(TAGS)), client_port=40003) + \
    udp(4433, client(quic_initial(quic_crypto(0, HELLO), version=0xff00001d)), client_port=40004)
quic_rules = [
    (2, rule('quic', 'quic.version; content:"|00 00 00 01|"; bsize:4;')),
    (1, rule('quic', 'quic.version; content:"|6b 33 43 cf|"; flow:to_server;')),
    (1, rule('quic', 'quic.version; content:"Q043";')),
    (0, rule('quic', 'quic.version; content:"Q046";')),
    (3, rule('quic', 'quic.sni; content:"www.example.org"; bsize:15;')),
    (1, rule('quic', 'quic.sni; content:"www.example.com"; bsize:15;')),
    (0, rule('quic', 'quic.sni; content:"www.example.net";')),
    (0, rule('tls', 'tls.sni; content:"www.example.org";')),
    (1, rule('quic', 'quic.ua; content:"Example/"; startswith;')),
    (0, rule('quic', 'quic.ua; content:"X509";')),
    (1, rule('quic', f'quic.cyu.string; content:"{CYU}"; bsize:{len(CYU)};')),
    (0, rule('quic', 'quic.cyu.string; content:"SMHL";')),
    (1, rule('quic', f'quic.cyu.hash; content:"{hashlib.md5(CYU.encode()).hexdigest()}";')),
    (0, rule('quic', f'quic.cyu.hash; content:"{hashlib.md5(b"").hexdigest()}";')),
    (3, rule('quic', f'ja3.string; content:"{JA3}"; bsize:{len(JA3)};')),
    (3, rule('quic', f'ja3.hash; content:"{hashlib.md5(JA3.encode()).hexdigest().upper()}";')),
    (3, rule('quic', f'ja3s.string; content:"{JA3S}"; bsize:{len(JA3S)};')),
    (3, rule('quic', f'ja3s.hash; content:"{hashlib.md5(JA3S.encode()).hexdigest()}";')),
    (3, rule('quic', 'ja4.hash; content:"q12d0204h3_"; startswith;')),
    (0, rule('quic', 'ja4.hash; content:"t12d0204h3_";')),
    (3, rule('udp', 'app-layer-protocol:quic; quic.sni; content:"www.example.org";')),
]
quic_events = ['1 event_type=quic quic.version=1 quic.sni=www.example.org pcap_cnt=2',
               '1 event_type=quic quic.version=1 quic.sni= src_port=443',
               '1 event_type=quic quic.version=v2 quic.sni=www.example.org',
               '1 event_type=quic quic.version=ff00001d quic.sni=www.example.org',
               '1 event_type=quic quic.version=Q043 quic.ua=Example/1.0']

# --- The others

nfs_packets = udp(2049, client(nfs_call(3, xdr(b'dir-handle') + xdr(b'secret.txt'))), client_port=900)
nfs_rules = [
    (1, rule('nfs', 'nfs.procedure:lookup;')),
    (1, rule('nfs', 'nfs_version:3;')),
    (0, rule('nfs', 'nfs.procedure:read;')),
    (0, rule('nfs', 'nfs_version:4;')),
]
# Calls of procedure 1 of version 3 of mountd (program 100005), in UDP and TCP.


def nfs2_write(offset, data, number):
    return nfs_call(8, bytes(31) + b'\7' + struct.pack('!III', 0, offset, 0) + xdr(data), number, version=2)


# Two files are written with version 2, over TCP and UDP, each in two parts.
NFS2_PARTS = [nfs2_write(8, b'VIRUS-22', 2), nfs2_write(0, b'11-EVIL-', 1)]
nfs2_packets = tcp(2049, *[client(rpc_record(part)) for part in NFS2_PARTS], client_port=901) + \
    udp(2049, *[client(part) for part in NFS2_PARTS], client_port=902)
nfs2_rules = [
    (2, rule('nfs', 'file.data; content:"EVIL-VIRUS"; flow:to_server;')),
    (0, rule('nfs', 'file.data; content:"EVIL-VIRUS"; flow:to_client;')),
    (2, rule('nfs', 'nfs_procedure:8; nfs.version:2;')),
    (1, rule('nfs', 'filesize:16;')), # a UDP flow has no end that completes the file
    (0, rule('nfs', 'nfs_procedure:7;')),
]
nfs2_events = ['1 event_type=fileinfo fileinfo.size=16 fileinfo.state=CLOSED proto=TCP',
               '1 event_type=fileinfo fileinfo.size=16 proto=UDP',
               '2 event_type=nfs nfs.procedure=WRITE nfs.version=2 nfs.file_tx=true']
mount = nfs_call(1, xdr(b'/export')).replace(struct.pack('!I', 100003), struct.pack('!I', 100005))
rpc_packets = udp(700, client(mount)) + tcp(701, client(rpc_record(mount)))
rpc_rules = [
    (1, rule('udp', 'rpc:100005,3,1;')),
    (1, rule('tcp', 'rpc:100005, *, 1;')),
    (2, rule('ip', 'rpc:100005;')),
    (0, rule('ip', 'rpc:100005,2,*;')),
    (0, rule('ip', 'rpc:100005,3,2;')),
    (0, rule('ip', 'rpc:100000,*,*;')),
]
krb5_packets = udp(88, client(kerberos_request('alice', 'EXAMPLE.ORG')), server(kerberos_error(25, 'EXAMPLE.ORG'))) + \
    udp(88, client(kerberos_request('bob', 'EXAMPLE.ORG')), server(kerberos_reply('bob', 'EXAMPLE.ORG', 18)),
        client_port=40001)
krb5_rules = [
    (1, rule('krb5', 'krb5_err_code:25;')),
    (0, rule('krb5', 'krb5_err_code:24;')),
    (1, rule('krb5', 'krb5_msg_type:error;')),
    (1, rule('krb5', 'krb5_cname; content:"bob"; flow:to_client;')),
    (1, rule('krb5', 'krb5_sname; content:"EXAMPLE.ORG"; krb5_msg_type:11;')),
    (0, rule('krb5', 'krb5.sname; content:"bob";')),
]
# The responder chooses AES-CBC, SHA, a pre-shared key and group 2 of what the initiator offers (RFC 2409, appendix A).
ATTRIBUTES = [(1, 7), (2, 2), (3, 1), (4, 2), (14, 128)]
ike_packets = udp(
    500, client(ike(2, [(1, ike1_sa(ATTRIBUTES)), (13, b'\xaf\xca\xd7\x13vendor-id')], 0x10, 0)),
    server(ike(2, [(1, ike1_sa(ATTRIBUTES))], 0x10, 0, b'RESPONDR')),
    client(ike(2, [(4, b'K' * 64), (10, b'N' * 32)], 0x10, 0, b'RESPONDR')), client_port=500)
ike_rules = [
    (1, rule('ikev2', 'ike.nonce_payload_length:32;')),
    (1, rule('ike', f'ike.vendor; content:"afcad713{b"vendor-id".hex()}"; bsize:26;')),
    (0, rule('ike', 'ike.vendor; content:"vendor-id";')),
    (1, rule('ike', 'ike.chosen_sa_attribute:alg_enc=7; flow:to_client;')),
    (0, rule('ike', 'ike.chosen_sa_attribute:alg_enc=5;')),
    (1, rule('ike', 'ike.chosen_sa_attribute:sa_key_length=128; flow:to_client;')),
    (1, rule('ike', f'ike.key_exchange_payload; content:"{"K" * 64}"; bsize:64;')),
    (0, rule('ike', 'ike.key_exchange_payload; content:"N";')),
    (0, rule('ike', 'ike.key_exchange_payload_length:>64;')),
    (0, rule('ike', 'ike.nonce_payload; content:"K";')),
    (0, rule('ike', f'ike.resp_spi; content:"{b"INITIATR".hex()}";')),
]
dhcp_packets = udp(67, client(dhcp(1, 3, (12, b'laptop'))), server(dhcp(
    2, 5, (51, struct.pack('!I', 3600)), (58, struct.pack('!I', 1800)), (59, struct.pack('!I', 3150)))), client_port=68)
dhcp_rules = [
    (1, rule('dhcp', 'dhcp.rebinding_time:3150;')),
    (0, rule('dhcp', 'dhcp.rebinding_time:>3150;')),
    (0, rule('dhcp', 'dhcp.renewal_time:3150;')),
]
ntp_packets = udp(123, client(ntp(3, stratum=0)), server(ntp(4, stratum=1)))
ntp_rules = [
    (1, rule('ntp', 'ntp.reference_id; content:"GPS|00|"; bsize:4; flow:to_client;')),
    (0, rule('ntp', 'ntp.reference_id; content:"|24 01 06|";')),
    (2, rule('ntp', 'ntp.version:4;')),
    (0, rule('ntp', 'ntp.version:3;')),
    (0, rule('ntp', 'ntp.stratum:2;')),
]

OID, ENTERPRISE = b'\x2b\x06\x01\x02\x01\x01\x01\0', b'\x2b\x06\x01\x04\x01\x04\x01\x02\x15'
GET, GET_NEXT, RESPONSE_PDU, BULK, REPORT = 0, 1, 2, 5, 8
snmp_packets = udp(161, client(snmp(2, b'public', snmp_pdu(GET, OID))),
                   server(snmp(2, b'public', snmp_pdu(RESPONSE_PDU, OID, error=2)))) + \
    udp(162, client(snmp(1, b'traps', snmp_trap(3, ENTERPRISE))), client_port=40001) + \
    udp(161, client(snmp3(b'alice', snmp_pdu(GET_NEXT, OID))), server(snmp3(b'alice', b'', encrypted=True)),
        client_port=40002)
snmp_rules = [
    (2, rule('snmp', 'snmp.version:2;')),
    (1, rule('snmp', 'snmp.version:1;')),
    (2, rule('snmp', 'snmp.version:>2;')),
    (0, rule('snmp', 'snmp.version:4;')),
    (2, rule('snmp', 'snmp.community; content:"public"; bsize:6;')),
    (0, rule('snmp', 'snmp.community; content:"private";')),
    (2, rule('snmp', 'snmp.usm; content:"alice"; bsize:5;')),
    (0, rule('snmp', 'snmp.usm; content:"engine";')),
    (1, rule('snmp', 'snmp.pdu_type:0; flow:to_server;')),
    (1, rule('snmp', 'snmp.pdu_type:response; flow:to_client;')),
    (3, rule('snmp', 'snmp.pdu_type:!get_request;')),
    (0, rule('snmp', 'snmp.pdu_type:get_bulk_request;')),
    (1, rule('snmp', 'snmp.trap_type:linkup;')),
    (0, rule('snmp', 'snmp.trap_type:0;')),
    (1, rule('snmp', 'snmp.trap_oid; content:"1.3.6.1.4.1.4.1.2.21"; bsize:20;')),
    (0, rule('snmp', 'snmp.trap_oid; content:"1.3.6.1.2";')),
    (1, rule('snmp', 'snmp.trap_address; content:"|c0 00 02 07|"; bsize:4;')),
    (0, rule('snmp', 'snmp.trap_address; content:"192";')),
    (5, rule('udp', 'app-layer-protocol:snmp;')),
    (0, rule('udp', 'app-layer-protocol:ntp;')),
]
snmp_events = ['1 event_type=snmp snmp.version=2 snmp.pdu_type=get_request snmp.community=public',
               '1 event_type=snmp snmp.version=2 snmp.pdu_type=response sluice.snmp.error=noSuchName src_port=161',
               '1 event_type=snmp snmp.version=1 snmp.pdu_type=trap_v1 snmp.trap_type=linkUp '
               'snmp.trap_oid=1.3.6.1.4.1.4.1.2.21 snmp.trap_address=192.0.2.7',
               '1 event_type=snmp snmp.version=3 snmp.pdu_type=encrypted snmp.usm=alice']

CHALLENGE, VNC_OK, VNC_FAILED = bytes(range(16)), bytes(4), struct.pack('!I', 1)
rfb_packets = tcp(5900, *rfb(8, server(b'\x02\x01\x02'), client(b'\x02'), server(CHALLENGE), client(CHALLENGE[::-1]),
                             server(VNC_OK), client(b'\x01'), server(rfb_server_init(b'desktop')))) + \
    tcp(5901, *rfb(3, server(struct.pack('!I', 1)), client(b'\0'), server(rfb_server_init(b'old'))),
        client_port=40001) + \
    tcp(5900, *rfb(8, server(b'\x01\x02'), client(b'\x02'), server(CHALLENGE), client(CHALLENGE),
                   server(VNC_FAILED), server(struct.pack('!I', 5) + b'wrong')), client_port=40002)
rfb_rules = [
    (1, rule('rfb', 'rfb.name; content:"desktop"; bsize:7;')),
    (1, rule('rfb', 'rfb.name; content:"old"; flow:to_client;')),
    (0, rule('rfb', 'rfb.name; content:"wrong";')),
    (2, rule('rfb', 'rfb.sectype:2;')),
    (1, rule('rfb', 'rfb.sectype:<2; flow:to_server;')),
    (0, rule('rfb', 'rfb.sectype:>2;')),
    (1, rule('rfb', 'rfb.secresult:ok;')),
    (1, rule('rfb', 'rfb.secresult:fail; flow:to_client;')),
    (1, rule('rfb', 'rfb.secresult:!0;')),
    (0, rule('rfb', 'rfb.secresult:unknown;')),
    (2, rule('rfb', 'rfb.secresult:!unknown;')),
    (0, rule('rfb', 'rfb.secresult:toomany;')),
    (3, rule('tcp', 'app-layer-protocol:rfb; flow:to_server; content:"RFB 003"; startswith;')),
]
rfb_events = ['1 event_type=rfb rfb.client_protocol_version.minor=008 rfb.authentication.security_type=2 '
              f'rfb.authentication.vnc.challenge={CHALLENGE.hex()} rfb.authentication.vnc.response='
              f'{CHALLENGE[::-1].hex()} rfb.authentication.security_result=OK rfb.framebuffer.name=desktop '
              'rfb.framebuffer.width=800 rfb.framebuffer.pixel_format.red_shift=16',
              '1 event_type=rfb rfb.server_protocol_version.minor=003 rfb.authentication.security_type=1 '
              'rfb.framebuffer.name=old',
              '1 event_type=rfb rfb.authentication.security_result=FAIL rfb.server_security_failure_reason=wrong']

# --- Protocols over their other transport, and the first version of SMB

def over(transport, protocol, options):
    return f'alert {transport} any any -> any any (app-layer-protocol:{protocol}; flow:to_server; {options})'


def with_length(message):
    return struct.pack('!H', len(message)) + message


krb5_tcp = tcp(88, client(struct.pack('!I', len(kerberos_request('alice', 'EXAMPLE.ORG'))) +
                          kerberos_request('alice', 'EXAMPLE.ORG')))
nfs_tcp = tcp(2049, client(rpc_record(nfs_call(3, xdr(b'dir-handle') + xdr(b'secret.txt')))), client_port=900)
llmnr_tcp = tcp(5355, client(with_length(dns_message([('fileserver', A)], flags=0))))
dcerpc_udp = udp(135, client(dcerpc_datagram(0, MAPPER, 3, b'stub-data')),
                 server(dcerpc_datagram(2, MAPPER, 3, b'answer-data')))
smb1_packets = tcp(445, client(smb1(0x72, b'', b'\x02NT LM 0.12\0')),
                   server(smb1(0x72, struct.pack('<HBHHIIIIQHB', 0, 3, 50, 1, 16644, 65536, 0, 0x8000e3fd, 0, 0, 0),
                               bytes(16), True)))
dns_tcp = tcp(53, client(with_length(dns_message([('tcp.example.org', A)]))))
transport_packets = krb5_tcp + nfs_tcp + llmnr_tcp + dcerpc_udp + dns_tcp + smb1_packets
transport_rules = [
    (1, over('tcp', 'krb5', 'krb5_msg_type:10;')),
    (0, over('udp', 'krb5', '')),
    (1, over('tcp', 'nfs', 'nfs_procedure:lookup;')),
    (0, over('udp', 'nfs', '')),
    (1, over('tcp', 'llmnr', 'llmnr.queries.rrname; content:"fileserver";')),
    (0, over('udp', 'llmnr', '')),
    (1, over('udp', 'dcerpc', f'dcerpc.iface:{MAPPER}; dcerpc.opnum:3; dcerpc.stub_data; content:"stub-data";')),
    (1, over('tcp', 'dcerpc', '')),  # SMB carries DCE/RPC
    (0, over('tcp', 'dcerpc,exact', '')),
    (1, over('tcp', 'dns', 'dns.query; content:"tcp.example.org";')),
    (0, over('udp', 'dns', '')),
    (1, rule('smb', 'smb.version:1; flow:to_server;')),
    (0, rule('smb', 'smb.version:2;')),
]

cases = {
    'dns': (dns_packets, dns_rules),
    'mdns': (mdns_packets, mdns_rules),
    'llmnr': (llmnr_packets, llmnr_rules),
    'smtp': (smtp, smtp_rules),
    'ftp': (ftp_packets, ftp_rules, {}, [], [
        '2 event_type=alert flow_id=5901791419203892 parent_id=4913726188760675',
        '1 event_type=ftp_data parent_id=4913726188760675',
        '1 event_type=flow flow_id=4913726188760675 parent_id=', '1 event_type=flow parent_id=4913726188760675']),
    'tls': (tls_packets, tls_rules),
    'tls_again': (tls_again_packets, tls_again_rules),
    'ssh': (ssh_packets, ssh_rules),
    'smb': (login + pipe, smb_rules),
    'dcerpc': (dcerpc_packets, dcerpc_rules),
    'rpc': (rpc_packets, rpc_rules),
    'nfs': (nfs_packets, nfs_rules),
    'nfs2': Case(nfs2_packets, nfs2_rules, events=nfs2_events,
                 options=['--set', 'app-layer.protocols.nfs.version-2-writes=yes']),
    'nfs2_not_inspected': (nfs2_packets, [(0, rule('nfs', 'file.data; content:"EVIL";')),
                                          (4, rule('nfs', 'nfs_procedure:8;'))]),
    'krb5': (krb5_packets, krb5_rules),
    'ike': (ike_packets, ike_rules),
    'quic': (quic_packets, quic_rules, {}, [], quic_events),
    'rfb': (rfb_packets, rfb_rules, {}, [], rfb_events),
    'snmp': (snmp_packets, snmp_rules, {}, [], snmp_events),
    'dhcp': (dhcp_packets, dhcp_rules),
    'ntp': (ntp_packets, ntp_rules),
    'datagrams': (krb5_packets + nfs_packets + llmnr_packets + dns_packets + dcerpc_packets, [
        (2, over('udp', 'krb5', 'krb5_msg_type:10;')), (0, over('tcp', 'krb5', '')),
        (1, over('udp', 'nfs', 'nfs_procedure:lookup;')), (0, over('tcp', 'nfs', '')),
        (1, over('udp', 'llmnr', 'llmnr.queries.rrname; content:"printer";')), (0, over('tcp', 'llmnr', '')),
        (1, over('udp', 'dns', 'dns.query; content:"www"; startswith;')), (0, over('tcp', 'dns', '')),
        (1, over('tcp', 'dcerpc', 'dcerpc.opnum:3;')), (0, over('udp', 'dcerpc', ''))]),
    'transports': (transport_packets, transport_rules),
}
