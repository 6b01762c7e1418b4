# SPDX-License-Identifier: GPL-2.0-or-later
"""Each application protocol: its detection, its buffers, and rules of which one detail is wrong."""
import base64
import hashlib
import struct

from build import (certificate, client, client_hello, dcerpc_bind, dcerpc_bind_ack, dcerpc_request, dcerpc_response,
                   dhcp, dns_answer, dns_query, ike, ike_sa, kerberos_reply, kerberos_request, nfs_call, nfs_reply, ntp,
                   request, response, server, server_hello, smb2_pipe, ssh_kex, tcp, udp, xdr)


def any_of(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


# --- HTTP: two requests, the second with a body

http = tcp(80,
           request('GET /shop/item?id=7 HTTP/1.1', User_Agent='curl/8', Cookie='session=abc',
                   Referer='http://ref.example/', Accept='text/html'),
           response(b'<html>welcome</html>', Server='nginx', Content_Type='text/html'),
           request('POST /login HTTP/1.1', b'user=alice&pw=secret', Content_Type='application/x-www-form-urlencoded'),
           response(b'', 'HTTP/1.1 302 Found', Location='/home'))
http_rules = [
    (2, any_of('http', 'http.host; content:"example.org"; bsize:11;')),
    (1, any_of('http', 'http.method; content:"GET";')),
    (1, any_of('http', 'http.method; content:"POST"; http.uri; content:"/login"; startswith; endswith;')),
    (0, any_of('http', 'http.method; content:"POST"; http.user_agent; content:"curl";')),
    (1, any_of('http', 'http.uri; content:"id=7"; endswith;')),
    (1, any_of('http', 'http.request_line; content:"GET /shop/item?id=7 HTTP/1.1"; bsize:28;')),
    (2, any_of('http', 'http.protocol; content:"HTTP/1.1"; flow:to_server;')),
    (1, any_of('http', 'http.user_agent; content:"curl/"; startswith;')),
    (1, any_of('http', 'http.cookie; content:"session=abc"; bsize:11;')),
    (1, any_of('http', 'http.referer; content:"ref.example";')),
    (1, any_of('http', 'http.accept; content:"text/html"; bsize:9;')),
    (1, any_of('http', 'http.request_body; content:"pw=secret"; endswith;')),
    (0, any_of('http', 'http.request_body; content:"GET";')),
    (1, any_of('http', 'http.header; content:"Server|3a 20|nginx"; flow:to_client;')),
    (0, any_of('http', 'http.header; content:"Server|3a 20|nginx"; flow:to_server;')),
    (1, any_of('http', 'http.server; content:"nginx"; bsize:5;')),
    (1, any_of('http', 'http.location; content:"/home"; bsize:5;')),
    (1, any_of('http', 'http.stat_code; content:"302";')),
    (1, any_of('http', 'http.stat_msg; content:"Found";')),
    (0, any_of('http', 'http.stat_code; content:"Found";')),
    (1, any_of('http', 'http.response_body; content:"welcome";')),
    (1, any_of('http', 'file.data; content:"<html>"; startswith; flow:to_client;')),
    (1, any_of('http', 'http.content_type; content:"text/html"; flow:to_client;')),
    (1, any_of('http', 'http.header_names; content:"|0d 0a|Host|0d 0a|"; content:"|0d 0a|Referer|0d 0a|";')),
    (0, any_of('tls', 'content:"GET";')),
    (0, any_of('dns', 'content:"example";')),
]

# --- TLS

leaf = certificate('www.example.org', 'Example CA', 0x0102030405, ['www.example.org', 'alt.example.org'])
fingerprint = ':'.join(f'{byte:02x}' for byte in hashlib.sha1(leaf).digest())
ja3 = '771,49195-47,0-10-11-16,29-23,0'
tls = tcp(443, client(client_hello('www.example.org')), server(server_hello(leaf)))
tls_rules = [
    (1, any_of('tls', 'tls.sni; content:"www.example.org"; bsize:15;')),
    (0, any_of('tls', 'tls.sni; content:"alt.example.org";')),
    (1, any_of('tls', 'tls.cert_subject; content:"CN=www.example.org";')),
    (1, any_of('tls', 'tls.cert_issuer; content:"CN=Example CA";')),
    (0, any_of('tls', 'tls.cert_issuer; content:"www.example.org";')),
    (1, any_of('tls', 'tls.cert_serial; content:"01:02:03:04:05"; bsize:14;')),
    (1, any_of('tls', f'tls.cert_fingerprint; content:"{fingerprint}"; bsize:59;')),
    (1, any_of('tls', 'tls.subjectaltname; content:"alt.example.org"; bsize:15;')),
    (1, any_of('tls', f'ja3.string; content:"{ja3}"; bsize:{len(ja3)};')),
    (1, any_of('tls', f'ja3.hash; content:"{hashlib.md5(ja3.encode()).hexdigest()}";')),
    (0, any_of('tls', f'ja3.hash; content:"{hashlib.md5(b"771").hexdigest()}";')),
    (1, any_of('tls', 'ja3s.string; content:"771,49195,11"; bsize:12;')),
    (1, any_of('tls', 'tls.alpn; content:"http/1.1"; bsize:8;')),
    (1, any_of('tls', 'tls.certs; content:"Example CA";')),
    (0, any_of('tls', 'tls_cert_expired;')),
    (0, any_of('http', 'content:"example";')),
]

# --- DNS: an answer, an error

dns = udp(53, client(dns_query('www.example.org')), server(dns_answer('www.example.org')),
          client(dns_query('no.example.org', 16, 2)), server(dns_answer('no.example.org', b'', 16, 2, 3)))
dns_rules = [
    (1, any_of('dns', 'dns.query; content:"www.example.org"; bsize:15;')),
    (2, any_of('dns', 'dns.query; content:"EXAMPLE.org"; nocase; endswith;')),
    (0, any_of('dns', 'dns.query; content:"|07|";')),
    (1, any_of('dns', 'dns.rcode:3;')),
    (0, any_of('dns', 'dns.rcode:2;')),
    (1, any_of('dns', 'dns.answers.rrname; content:"www.example.org";')),
    (0, any_of('dns', 'dns.answers.rrname; content:"no.example.org";')),
    (1, any_of('dns', 'dns.rrtype:16; flow:to_server;')),
    (0, any_of('dns', 'dns.rrtype:28;')),
    (0, any_of('dns', 'dns.opcode:4;')),
]

# --- SMTP with an attachment

mail = b'From: alice@example.org\r\nTo: bob@example.net\r\nSubject: quarterly report\r\n' \
       b'Message-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n' \
       b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n' \
       b'--b\r\nContent-Type: application/octet-stream\r\n' \
       b'Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="report.bin"\r\n\r\n' + \
       base64.b64encode(b'ATTACHED-PAYLOAD') + b'\r\n--b--\r\n.\r\n'
smtp = tcp(25, server(b'220 mx.example.net ESMTP\r\n'), client(b'EHLO client.example.org\r\n'),
           server(b'250 mx.example.net\r\n'), client(b'MAIL FROM:<alice@example.org>\r\n'), server(b'250 ok\r\n'),
           client(b'RCPT TO:<bob@example.net>\r\n'), server(b'250 ok\r\n'), client(b'DATA\r\n'),
           server(b'354 go\r\n'), client(mail), server(b'250 queued\r\n'), client(b'QUIT\r\n'), server(b'221 bye\r\n'))
smtp_rules = [
    (1, any_of('smtp', 'smtp.helo; content:"client.example.org"; bsize:18;')),
    (1, any_of('smtp', 'smtp.mail_from; content:"alice@example.org";')),
    (1, any_of('smtp', 'smtp.rcpt_to; content:"bob@example.net";')),
    (0, any_of('smtp', 'smtp.rcpt_to; content:"alice@example.org";')),
    (1, any_of('smtp', 'email.subject; content:"quarterly report"; bsize:16;')),
    (1, any_of('smtp', 'email.from; content:"alice@example.org";')),
    (1, any_of('smtp', 'email.to; content:"bob@example.net";')),
    (1, any_of('smtp', 'file.data; content:"ATTACHED-PAYLOAD";')),
    (1, any_of('smtp', 'file.name; content:"report.bin";')),
    (0, any_of('smtp', 'file.name; content:"octet";')),
]

# --- FTP

ftp = tcp(21, server(b'220 ready\r\n'), client(b'USER alice\r\n'), server(b'331 password\r\n'),
          client(b'PASS secret\r\n'), server(b'230 logged in\r\n'), client(b'PASV\r\n'),
          server(b'227 Entering Passive Mode (198,51,100,1,156,64)\r\n'), client(b'RETR notes.txt\r\n'),
          server(b'550 no such file\r\n'))
ftp_rules = [
    (1, any_of('ftp', 'ftp.command; content:"USER"; bsize:4; ftp.command_data; content:"alice"; bsize:5;')),
    (1, any_of('ftp', 'ftp.command; content:"RETR"; ftp.command_data; content:"notes.txt";')),
    (0, any_of('ftp', 'ftp.command; content:"alice";')),
    (0, any_of('ftp', 'ftp.command_data; content:"USER";')),
    (1, any_of('ftp', 'ftp.completion_code; content:"550";')),
    (1, any_of('ftp', 'ftp.reply; content:"no such file";')),
    (1, any_of('ftp', 'ftp.dynamic_port:40000; flow:to_client;')),
    (0, any_of('ftp', 'ftp.dynamic_port:40001;')),
]

# --- SSH

client_lists = ['curve25519-sha256', 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256',
                'none', 'none', '', '']
server_lists = ['curve25519-sha256', 'ssh-ed25519', 'aes256-ctr', 'aes256-ctr', 'hmac-sha2-512', 'hmac-sha2-512',
                'none', 'none', '', '']
hassh = hashlib.md5(b'curve25519-sha256;aes128-ctr;hmac-sha2-256;none').hexdigest()
hassh_server = hashlib.md5(b'curve25519-sha256;aes256-ctr;hmac-sha2-512;none').hexdigest()
ssh = tcp(22, client(b'SSH-2.0-TestClient_1.0\r\n'), server(b'SSH-2.0-TestServer_2.0\r\n'),
          client(ssh_kex(client_lists)), server(ssh_kex(server_lists)))
ssh_rules = [
    (1, any_of('ssh', 'ssh.software; content:"TestClient_1.0"; bsize:14; flow:to_server;')),
    (1, any_of('ssh', 'ssh.software; content:"TestServer"; flow:to_client;')),
    (0, any_of('ssh', 'ssh.software; content:"TestServer"; flow:to_server;')),
    (0, any_of('ssh', 'ssh.software; content:"SSH-2.0";')),
    (1, any_of('ssh', 'ssh.proto; content:"2.0"; bsize:3; flow:to_server;')),
    (1, any_of('ssh', f'ssh.hassh; content:"{hassh}";')),
    (1, any_of('ssh', f'ssh.hassh.server; content:"{hassh_server}";')),
    (0, any_of('ssh', f'ssh.hassh; content:"{hassh_server}";')),
]

# --- DCE/RPC over TCP, and in a pipe of SMB2

MAPPER, SRVSVC = 'e1af8308-5d1f-11c9-91a4-08002b14a0fa', '4b324fc8-1670-01d3-1278-5a47bf6ee188'


def calls(interface):
    return [(dcerpc_bind(interface), dcerpc_bind_ack()),
            (dcerpc_request(3, b'stub-data-1'), dcerpc_response(b'answer-data'))]


def third_call(interface):
    return f'dcerpc.iface:{interface}; dcerpc.opnum:3; '


dcerpc = tcp(135, *[turn for sent, received in calls(MAPPER) for turn in (client(sent), server(received))])
dcerpc_rules = [
    (1, any_of('dcerpc', third_call(MAPPER) + 'dcerpc.stub_data; content:"stub-data-1"; flow:to_server;')),
    (0, any_of('dcerpc', third_call(SRVSVC))),
    (0, any_of('dcerpc', f'dcerpc.iface:{MAPPER}; dcerpc.opnum:4;')),
    (1, any_of('dcerpc', 'dcerpc.opnum:2-5; dcerpc.stub_data; content:"stub-data"; flow:to_server;')),
    (1, any_of('dcerpc', 'dcerpc.stub_data; content:"answer-data"; flow:to_client;')),
]
smb = tcp(445, *smb2_pipe('\\\\SRV\\IPC$', 'srvsvc', calls(SRVSVC)))
smb_rules = [
    (1, any_of('smb', 'smb.named_pipe; content:"IPC$"; endswith; flow:to_server;')),
    (0, any_of('smb', 'smb.share; content:"SMB";')),
    (0, any_of('smb', 'smb.named_pipe; content:"SMB";')),
    (1, any_of('smb', third_call(SRVSVC) + 'dcerpc.stub_data; content:"stub-data-1"; flow:to_server;')),
    (0, any_of('smb', third_call(MAPPER))),
]

# --- The others

LOOKUP, READ = 3, 6
nfs = udp(2049, client(nfs_call(LOOKUP, xdr(b'dir-handle') + xdr(b'secret.txt'))),
          server(nfs_reply(1, struct.pack('!II', 2, 0))), client_port=900)
nfs_rules = [
    (1, any_of('nfs', f'nfs_procedure:{LOOKUP}; flow:to_server;')),
    (0, any_of('nfs', f'nfs_procedure:{READ};')),
    (1, any_of('nfs', 'nfs.version:3; flow:to_server;')),
    (0, any_of('nfs', 'nfs.version:4;')),
]
krb5 = udp(88, client(kerberos_request('alice', 'EXAMPLE.ORG')), server(kerberos_reply('alice', 'EXAMPLE.ORG', 23)))
krb5_rules = [
    (1, any_of('krb5', 'krb5_msg_type:11;')),
    (0, any_of('krb5', 'krb5_msg_type:13;')),
    (1, any_of('krb5', 'krb5.cname; content:"alice"; bsize:5; flow:to_client;')),
    (1, any_of('krb5', 'krb5.sname; content:"krbtgt"; flow:to_client;')),
    (0, any_of('krb5', 'krb5.cname; content:"krbtgt";')),
    (1, any_of('krb5', 'krb5.ticket_encryption:weak;')),
    (0, any_of('krb5', 'krb5.ticket_encryption:18;')),
]
# IKE version 2, then the key exchange of main mode in version 1, whose payloads have buffers.
KEY = struct.pack('!HH', 14, 0) + b'K' * 64
ike_packets = udp(500, client(ike(34, [(33, ike_sa()), (34, KEY), (40, b'N' * 32), (43, b'vendor-id')])),
                  client_port=500)
ike_rules = [
    (1, any_of('ike', 'ike.exchtype:34;')),
    (0, any_of('ike', 'ike.exchtype:35;')),
    (1, any_of('ike', f'ike.init_spi; content:"{b"INITIATR".hex()}";')),
    (0, any_of('ike', f'ike.init_spi; content:"{b"RESPONDR".hex()}";')),
]
ike1_packets = udp(500, client(ike(2, [(4, b'K' * 64), (10, b'N' * 32)], 0x10, 0, b'RESPONDR')),
                   server(ike(2, [(4, b'L' * 64), (10, b'M' * 24)], 0x10, 0, b'RESPONDR')), client_port=500)
ike1_rules = [
    (2, any_of('ike', 'ike.exchtype:2;')),
    (1, any_of('ike', f'ike.resp_spi; content:"{b"RESPONDR".hex()}";')),
    (1, any_of('ike', 'ike.nonce_payload_length:32;')),
    (1, any_of('ike', 'ike.nonce_payload_length:<32; flow:to_client;')),
    (0, any_of('ike', 'ike.nonce_payload_length:<24;')),
    (2, any_of('ike', 'ike.key_exchange_payload_length:64;')),
    (1, any_of('ike', 'ike.nonce_payload; content:"NNNN"; startswith;')),
]
dhcp_packets = udp(67, client(dhcp(1, 3, (12, b'laptop'))),
                   server(dhcp(2, 5, (51, struct.pack('!I', 3600)), (58, struct.pack('!I', 1800)))), client_port=68)
dhcp_rules = [
    (1, any_of('dhcp', 'dhcp.hostname; content:"laptop"; bsize:6;')),
    (0, any_of('dhcp', 'dhcp.hostname; content:"|63 82 53 63|";')),
    (1, any_of('dhcp', 'dhcp.leasetime:3600;')),
    (0, any_of('dhcp', 'dhcp.leasetime:<3600;')),
    (1, any_of('dhcp', 'dhcp.renewal_time:1800;')),
    (0, any_of('dhcp', 'dhcp.rebinding_time:>0;')),
]
ntp_packets = udp(123, client(ntp(3, stratum=0)), server(ntp(4, stratum=1)), client_port=40000)
ntp_rules = [
    (1, any_of('ntp', 'ntp.mode:3;')),
    (1, any_of('ntp', 'ntp.mode:4;')),
    (0, any_of('ntp', 'ntp.mode:6;')),
    (1, any_of('ntp', 'ntp.stratum:1;')),
    (0, any_of('ntp', 'ntp.version:3;')),
]
tftp = udp(69, client(b'\0\x01boot.img\0octet\0'))
tftp_rules = [
    (1, any_of('tftp', 'content:"boot.img";')),
    (0, any_of('tftp', 'content:"other.img";')),
    (1, any_of('udp', 'app-layer-protocol:tftp;')),
    (0, any_of('udp', 'app-layer-protocol:dns;')),
]

cases = {
    'http': (http, http_rules),
    'http_small_segments': (tcp(80, *[request('GET /cut/in/pieces HTTP/1.1'), response(b'split response')], cut=3), [
        (1, any_of('http', 'http.uri; content:"/cut/in/pieces"; bsize:14;')),
        (1, any_of('http', 'file.data; content:"split response"; flow:to_client;')),
        (0, any_of('http', 'http.uri; content:"split";'))]),
    'tls': (tls, tls_rules),
    'dns': (dns, dns_rules),
    'dns_tcp': (tcp(53, client(struct.pack('!H', len(dns_query('a.example.org'))) + dns_query('a.example.org'))), [
        (1, any_of('dns', 'dns.query; content:"a.example.org";')),
        (0, any_of('dns', 'dns.query; content:"b.example.org";'))]),
    'smtp': (smtp, smtp_rules),
    'ftp': (ftp, ftp_rules),
    'ssh': (ssh, ssh_rules),
    'dcerpc': (dcerpc, dcerpc_rules),
    'smb': (smb, smb_rules),
    'nfs': (nfs, nfs_rules),
    'krb5': (krb5, krb5_rules),
    'ike': (ike_packets, ike_rules),
    'ike1': (ike1_packets, ike1_rules),
    'dhcp': (dhcp_packets, dhcp_rules),
    'ntp': (ntp_packets, ntp_rules),
    'tftp': (tftp, tftp_rules),
}
