# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames: the keyword frame for every protocol that has frames, the object "frame" of alerts, and events of type
frame."""
import struct

from build import (Case, client, client_hello, dcerpc_bind, dcerpc_bind_ack, der, der_number, dns_answer, dns_query,
                   http2_frame, HTTP2_MAGIC, mqtt, mqtt_connect, nfs_call, nfs_reply, request, response, rfb,
                   rfb_server_init, rpc_record, sequence, server, server_hello, smb1, smb2_file, ssh_kex, tcp,
                   tls_record, udp, vector)

SET = ['--set', 'eve.types.alert=yes', '--set', 'eve.types.frame=yes']


def rule(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


# --- TLS

ALERT, DATA = 21, 23
tls = tcp(443, client(client_hello('frames.example')), server(server_hello(b'certificate')),
          client(tls_record(ALERT, b'\x02\x28')))
tls_rules = [
    (1, rule('tls', 'frame:tls.pdu; flow:to_server; content:"|16 03 01|"; startswith; content:"frames.example";')),
    (1, rule('tls', 'frame:hdr; content:"|15 03 03 00 02|"; startswith; bsize:5;')),
    (1, rule('tls', 'frame:tls.data; flow:to_server; content:"|01|"; startswith; content:"frames.example";')),
    (0, rule('tls', 'frame:tls.hdr; content:"frames.example";')),
    (1, rule('tls', 'frame:tls.alert; content:"|02 28|"; bsize:2;')),
    (0, rule('tls', 'frame:tls.heartbeat; content:"|02|";')),
    (1, rule('tcp', 'frame:tls.pdu; flow:to_client; content:"|16 03 03|"; startswith; content:"certificate";')),
    (0, rule('tls', 'frame:tls.pdu; content:"frames.example"; startswith;')),
    (1, rule('tls', 'frame:tls.stream; flow:to_server; content:"frames.example"; content:"|15 03 03|"; distance:0;')),
    (1, rule('tls', 'frame:tls.pdu; byte_test:2,=,2,3; flow:to_server;')),
    (1, rule('tls', 'frame:tls.alert; to_sha256; bsize:32;')),
    (0, rule('tls', 'frame:tls.alert; to_sha256; bsize:2;')),
]
tls_events = ['3 event_type=alert frame.type=pdu frame.complete=true', '1 event_type=alert frame.type=hdr frame.length=5',
              '2 event_type=alert frame.type=alert frame.length=2 frame.direction=toserver',
              '2 event_type=frame app_proto=tls frame.direction=toserver frame.type=pdu',
              '1 event_type=frame frame.type=alert frame.length=2 frame.payload=Aig=',
              '1 event_type=frame frame.type=hdr frame.direction=toserver frame.stream_offset=0',
              '2 event_type=frame frame.type=stream']

# --- HTTP

http = tcp(80, request('GET /first HTTP/1.1'), response(b'the first body'), request('GET /second HTTP/1.1'),
           response(b'the second body'))
http_rules = [
    (1, rule('http', 'frame:http1.request; content:"GET /first HTTP/1.1|0d 0a|"; startswith; content:"|0d 0a 0d 0a|";'
                     ' endswith;')),
    (1, rule('http1', 'frame:response; content:"the second body"; endswith;')),
    (0, rule('http1', 'frame:response; content:"the first body"; content:"the second body";')),
    (1, rule('http1', 'frame:request; strip_whitespace; content:"GET/secondHTTP/1.1Host:"; startswith;')),
    (0, rule('http1', 'frame:request; content:"body";')),
]
http_events = ['2 event_type=alert frame.type=request http.http_method=GET', '1 event_type=alert frame.tx_id=1 tx_id=1 '
               'frame.type=response frame.direction=toclient']

# --- HTTP/2

http2 = tcp(80, client(HTTP2_MAGIC + http2_frame(4) + http2_frame(8, b'\x3f\xff\0\x01')), server(http2_frame(4)))
http2_rules = [
    (1, rule('http2', 'frame:http2.hdr; content:"|00 00 04 08 00|"; startswith;')),
    (1, rule('http2', 'frame:http2.data; content:"|3f ff 00 01|"; bsize:4;')),
    (1, rule('http2', 'frame:http2.pdu; content:"|00 00 04 08 00 00 00 00 00 3f ff 00 01|";')),
    (0, rule('http2', 'frame:http2.hdr; content:"|3f ff|";')),
]

# --- DNS

dns = udp(53, client(dns_query('frames.example')), server(dns_answer('frames.example'))) + \
    tcp(53, client(vector(2, dns_query('stream.example'))), client_port=40001)
dns_rules = [
    (2, rule('dns', 'frame:dns.pdu; content:"|06|frames|07|example";')),
    (1, rule('dns', 'frame:pdu; content:"|12 34|"; startswith; content:"|06|stream"; flow:to_server;')),
    (0, rule('dns', 'frame:pdu; content:"|00 20|"; startswith;')),
    (0, rule('udp', 'frame:dns.pdu; content:"stream";')),
]
dns_events = ['1 event_type=alert frame.type=pdu frame.length=32 proto=UDP frame.stream_offset=',
              '1 event_type=alert frame.type=pdu proto=TCP frame.stream_offset=2']

# --- SMB, DCE/RPC, NFS

smb = tcp(445, *smb2_file('\\\\SRV\\DATA', 'plans.txt', b'WRITTEN-CONTENT', b'READ-CONTENT')) + \
    tcp(445, client(smb1(0x72, b'', b'\2NT LM 0.12\0')), client_port=40001)
smb_rules = [
    (1, rule('smb', 'frame:smb2.data; content:"WRITTEN-CONTENT"; endswith;')),
    (1, rule('smb', 'frame:smb2.pdu; content:"|fe|SMB"; startswith; content:"READ-CONTENT";')),
    (0, rule('smb', 'frame:smb2.hdr; content:"CONTENT";')),
    (1, rule('smb', 'frame:nbss.data; content:"READ-CONTENT"; endswith;')),
    (1, rule('smb', 'frame:nbss.pdu; content:"|00 00|"; startswith; content:"WRITTEN-CONTENT";')),
    (1, rule('smb', 'frame:smb1.hdr; content:"|ff|SMB|72|"; startswith; bsize:32;')),
    (1, rule('smb', 'frame:smb1.data; content:"NT LM 0.12";')),
    (0, rule('smb', 'frame:smb1.pdu; content:"|fe|SMB";')),
    (0, rule('smb', 'frame:smb3.pdu; content:"SMB";')),
    (7, rule('smb', 'frame:nbss.hdr; content:"|00 00|"; startswith; bsize:4; flow:to_server;')),
]
MAPPER = 'e1af8308-5d1f-11c9-91a4-08002b14a0fa'
dcerpc = tcp(135, client(dcerpc_bind(MAPPER)), server(dcerpc_bind_ack()))
dcerpc_rules = [
    (1, rule('dcerpc', 'frame:dcerpc.hdr; content:"|05 00 0b 03|"; startswith; bsize:16;')),
    (1, rule('dcerpc', 'frame:dcerpc.pdu; content:"|05 00 0c 03|"; startswith;')),
    (1, rule('dcerpc', 'frame:dcerpc.data; content:"|b8 10 b8 10|"; startswith; flow:to_server;')),
    (0, rule('dcerpc', 'frame:dcerpc.data; content:"|05 00 0b|"; startswith;')),
]
nfs = tcp(2049, client(rpc_record(nfs_call(3, b'ARGUMENTS-OF-IT!'))), server(rpc_record(nfs_reply(1, bytes(4) + b'RESULT-OF')))) + \
    udp(2049, client(nfs_call(3, b'OTHER-ARGUMENTS!')), client_port=40001)
nfs_rules = [
    (2, rule('nfs', 'frame:rpc.pdu; content:"ARGUMENTS";')),
    (2, rule('nfs', 'frame:rpc.creds; content:"host";')),
    (1, rule('nfs', 'frame:nfs.pdu; content:"ARGUMENTS-OF-IT!"; startswith; endswith;')),
    (1, rule('nfs', 'frame:nfs.pdu; content:"RESULT-OF"; endswith;')),
    (1, rule('nfs', 'frame:nfs.status; content:"|00 00 00 00|"; bsize:4;')),
    (1, rule('nfs', 'frame:rpc.hdr; content:"|00 00 00 01|"; endswith; bsize:12;')),
    (1, rule('nfs', 'frame:rpc.data; content:"RESULT-OF";')),
    (0, rule('nfs', 'frame:nfs4.pdu; content:"ARGUMENTS";')),
]

# --- SMTP

smtp_turns = [server(b'220 mx.example.net ESMTP\r\n'), client(b'EHLO client.example.org\r\n'), server(b'250 ok\r\n'),
              client(b'AUTH PLAIN AGdhbHVudA==\r\n'), server(b'235 go on\r\n'),
              client(b'MAIL FROM:<a@example.org>\r\n'), server(b'250 ok\r\n'), client(b'RCPT TO:<b@example.net>\r\n'),
              server(b'250 ok\r\n'), client(b'DATA\r\n'), server(b'354 go ahead\r\n'),
              client(b'Subject: frames\r\n\r\nthe first line\r\n'), client(b'the last line\r\n.\r\n'),
              server(b'250 queued\r\n'), client(b'QUIT\r\n'), server(b'221 bye\r\n')]
smtp = tcp(25, *smtp_turns)
smtp_rules = [
    (1, rule('smtp', 'frame:smtp.command_line; content:"MAIL FROM:"; startswith; content:">|0d 0a|"; endswith;')),
    (1, rule('smtp', 'frame:smtp.command_line; content:"AUTH PLAIN "; base64_decode:relative; base64_data; '
                     'content:"galunt"; endswith;')),
    (1, rule('smtp', 'frame:smtp.response_line; content:"354 go ahead|0d 0a|"; bsize:14;')),
    (3, rule('smtp', 'frame:response_line; content:"250 ok"; startswith;')),
    (1, rule('smtp', 'frame:smtp.data; content:"Subject: frames"; startswith; content:"the first line";')),
    (0, rule('smtp', 'frame:smtp.data; content:"MAIL FROM";')),
    (0, rule('smtp', 'frame:smtp.data; content:"|0d 0a|.|0d 0a|";')),
    (1, rule('smtp', 'frame:smtp.stream; content:"|0d 0a|.|0d 0a|";')),
    (0, rule('smtp', 'frame:smtp.command_line; content:"the last line";')),
]
smtp_events = ['1 event_type=alert frame.type=data smtp.helo=client.example.org frame.tx_id=0',
               '2 event_type=alert frame.type=command_line smtp.helo=client.example.org frame.tx_id=0']

starttls = tcp(25, server(b'220 mx.example.net ESMTP\r\n'), client(b'EHLO client.example.org\r\n'), server(b'250 ok\r\n'),
               client(b'STARTTLS\r\n'), server(b'220 start\r\n'), client(client_hello('frames.example')),
               server(server_hello(b'certificate')), client(tls_record(ALERT, b'\x02\x28')))
starttls_rules = [
    (1, rule('smtp', 'frame:response_line; content:"220 start|0d 0a|"; bsize:11;')),
    (1, rule('tls', 'frame:tls.pdu; flow:to_server; content:"frames.example";')),
    (1, rule('tls', 'frame:tls.stream; flow:to_server; content:"frames.example";')),
    (0, rule('smtp', 'frame:smtp.stream; flow:to_server; content:"frames.example";')),
]

# --- SIP

SIP = b'INVITE sip:bob@example.net SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\nContent-Length: 4\r\n\r\nv=0\n'
SIP_OK = b'SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 192.0.2.1\r\nContent-Length: 0\r\n\r\n'
sip = udp(5060, client(SIP), server(SIP_OK)) + tcp(5060, client(SIP), server(SIP_OK), client_port=40001)
sip_rules = [
    (2, rule('sip', 'frame:pdu; content:"INVITE sip"; startswith; content:"v=0|0a|"; endswith;')),
    (2, rule('sip', 'frame:request.line; content:"SIP/2.0|0d 0a|"; endswith;')),
    (2, rule('sip', 'frame:sip.request.headers; content:"Via:"; startswith; content:"4|0d 0a|"; endswith;')),
    (2, rule('sip', 'frame:request.body; content:"v=0"; startswith; bsize:4;')),
    (2, rule('sip', 'frame:response.line; content:"SIP/2.0 200 OK|0d 0a|"; bsize:16;')),
    (2, rule('sip', 'frame:response.headers; content:"Content-Length: 0|0d 0a|"; endswith;')),
    (0, rule('sip', 'frame:response.body; content:"v";')),
    (0, rule('sip', 'frame:request.headers; content:"INVITE";')),
]

# --- MQTT, WebSocket, LDAP, SSH, VNC, EtherNet/IP

mqtt_packets = tcp(1883, client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\x03\x22\0\x0a')))
mqtt_rules = [
    (1, rule('mqtt', 'frame:mqtt.pdu; content:"|10|"; startswith; content:"MQTT";')),
    (1, rule('mqtt', 'frame:header; content:"|20|"; startswith; bsize:2;')),
    (1, rule('mqtt', 'frame:data; content:"|00 00 03 22|"; startswith;')),
    (0, rule('mqtt', 'frame:mqtt.header; content:"MQTT";')),
]
mqtt_events = ['1 event_type=alert frame.type=header frame.length=2 frame.complete=true frame.direction=toclient']

websocket = tcp(80, request('GET /chat HTTP/1.1', Upgrade='websocket', Connection='Upgrade', Sec_WebSocket_Version='13',
                            Sec_WebSocket_Key='dGhlIHNhbXBsZSBub25jZQ=='),
                server(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                       b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'),
                server(b'\x81\x0chello client'))
websocket_rules = [
    (1, rule('websocket', 'frame:websocket.header; content:"|81 0c|"; bsize:2;')),
    (1, rule('websocket', 'frame:websocket.pdu; content:"|81 0c|hello client"; startswith; endswith;')),
    (1, rule('websocket', 'frame:websocket.data; content:"hello client"; startswith; endswith;')),
    (0, rule('websocket', 'frame:websocket.header; content:"hello";')),
]

BIND = sequence(der_number(1), der(0x60, der_number(3), der(4, b'cn=frames'), der(0x80, b'secret')))
ldap = tcp(389, client(BIND))
ldap_rules = [
    (1, rule('ldap', 'frame:ldap.pdu; content:"|30|"; startswith; content:"cn=frames";')),
    (0, rule('ldap', 'frame:ldap.pdu; content:"cn=frames"; startswith;')),
]


def ssh_record(message):
    padding = 8 - (len(message) + 5) % 8 + 8
    return struct.pack('!IB', len(message) + padding + 1, padding) + message + bytes(padding)


ssh = tcp(22, server(b'SSH-2.0-OpenSSH_9.9\r\n'), client(b'SSH-2.0-client\r\n'), client(ssh_record(b'\x14KEX-MESSAGE')))
ssh_rules = [
    (1, rule('ssh', 'frame:ssh.record.hdr; content:"|14|"; endswith; bsize:6;')),
    (1, rule('ssh', 'frame:record.data; content:"KEX-MESSAGE"; startswith;')),
    (1, rule('ssh', 'frame:record.pdu; content:"|00 00 00|"; startswith; content:"KEX-MESSAGE";')),
    (0, rule('ssh', 'frame:record.pdu; content:"OpenSSH";')),
]
vnc = tcp(5900, *rfb(3, server(struct.pack('!I', 1)), client(b'\1'), server(rfb_server_init(b'desktop'))))
vnc_rules = [
    (2, rule('rfb', 'frame:rfb.pdu; content:"RFB 003.003|0a|"; bsize:12;')),
    (1, rule('rfb', 'frame:pdu; content:"desktop"; endswith;')),
    (0, rule('rfb', 'frame:pdu; content:"desktop"; startswith;')),
]
enip = tcp(44818, client(struct.pack('<HHII8sI', 0x65, 4, 0, 0, b'context!', 0) + b'\1\0\0\0'),
           client(struct.pack('<HHII8sI', 0x6f, 24, 0, 0, b'second..', 0) + b'\0\0\0\0\0\0\2\0\0\0\0\0\xb2\0\x08\0' +
                  b'\x0e\3\x20\1\x24\1\x30\7'))
# A Multiple Service Packet with three services, the second of which has the lowest offset, and its response.
SERVICES = struct.pack('<HHHH', 3, 16, 8, 22) + b'\x4c\2\x20\x6b\x25\0\1\1' + b'\x0e\1\x20\4AA' + b'\x10\1\x20\5BBBB'
ANSWERS = struct.pack('<HHH', 2, 6, 12) + b'\xcc\0\0\0CD' + b'\x8e\0\x05\0'


def enip_unit(data):
    return struct.pack('<HHII8sI', 0x6f, 16 + len(data), 0, 0, b'multiple', 0) + \
        struct.pack('<IHHHHHH', 0, 0, 2, 0, 0, 0xb2, len(data)) + data


enip_multiple = tcp(44818, client(enip_unit(b'\x0a\2\x20\2\x24\1' + SERVICES)),
                    server(enip_unit(b'\x8a\0\0\0' + ANSWERS)))
enip_multiple_rules = [
    (1, rule('enip', 'frame:cip; content:"|0a 02|"; startswith; bsize:36; flow:to_server;')),
    (1, rule('enip', 'frame:cip; content:"|4c 02 20 6b|"; startswith; bsize:8;')),
    (1, rule('enip', 'frame:cip; content:"|0e 01|"; startswith; content:"AA"; endswith; bsize:6;')),
    (1, rule('enip', 'frame:cip; content:"|10 01|"; startswith; content:"BBBB"; endswith; bsize:8;')),
    (1, rule('enip', 'frame:cip; content:"|cc 00 00 00|CD"; bsize:6; flow:to_client;')),
    (1, rule('enip', 'frame:cip; content:"|8e 00 05 00|"; bsize:4;')),
    (0, rule('enip', 'frame:cip; content:"|0e 01|"; startswith; content:"BBBB";')),
]
enip_rules = [
    (1, rule('enip', 'frame:enip.hdr; content:"context!"; bsize:24;')),
    (1, rule('enip', 'frame:enip.data; content:"|01 00 00 00|"; bsize:4;')),
    (1, rule('enip', 'frame:enip.pdu; content:"|65 00|"; startswith; bsize:28;')),
    (0, rule('enip', 'frame:enip.data; content:"context";')),
    (1, rule('enip', 'frame:enip.item; content:"|00 00 00 00|"; bsize:4;')),
    (1, rule('enip', 'frame:enip.item; content:"|b2 00 08 00 0e 03|"; startswith; bsize:12;')),
    (1, rule('enip', 'frame:cip; content:"|0e 03 20|"; startswith; bsize:8;')),
]


# --- Segments, and long frames

telnet_turns = [
    server(b'\xff\xfd\x18\xff\xfd\x20login: '), client(b'\xff\xfb\x18root\r\n'), server(b'root\r\nPassword: '),
    client(b'secret\r\n'), server(b'\r\n'), server(b'\xff\xfa\x18\1\xff\xf0Welcome\r\n'),
    client(b'\xff\xfa\x18\0xterm\xff\xff\xff\xf0ls\r\n')]
telnet_rules = [
    (1, rule('telnet', 'frame:ctl; content:"|ff fd 18|"; bsize:3;')),
    (1, rule('telnet', 'frame:telnet.ctl; content:"|ff fa 18 00|xterm|ff ff|"; startswith; bsize:11;')),
    (1, rule('telnet', 'frame:ctl; flow:to_client; content:"|ff f0|"; bsize:2;')),
    (1, rule('telnet', 'frame:data; content:"login: "; bsize:7;')),
    (1, rule('telnet', 'frame:data; content:"root|0d 0a|Password: "; bsize:16;')),
    (1, rule('telnet', 'frame:pdu; flow:to_server; content:"secret|0d 0a|"; bsize:8;')),
    (1, rule('telnet', 'frame:data; flow:to_client; content:"Welcome|0d 0a|"; bsize:9;')),
    (1, rule('telnet', 'frame:data; content:"ls|0d 0a|"; bsize:4;')),
    (0, rule('telnet', 'frame:data; content:"|ff|";')),
]


def pieces(*turns, cut=1):
    return tcp(1883, *turns, cut=cut)


LONG = mqtt(0x30, vector(2, b'topic') + b'\0' + b'A' * 2000 + b'FIRST-NEEDLE' + b'B' * 4000 + b'LAST-NEEDLE')
long_packets = tcp(1883, client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\0')), client(LONG), cut=500)
long_rules = [
    (1, rule('mqtt', 'frame:pdu; content:"FIRST-NEEDLE";')),
    (1, rule('mqtt', 'frame:pdu; content:"LAST-NEEDLE"; endswith;')),
    (0, rule('mqtt', 'frame:pdu; content:"FIRST-NEEDLE"; endswith;')),
]
inline = ['--ips']
dropped = tcp(1883, client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\0')), client(mqtt(0x30, b'\0\5topic\0BAD')),
              client(mqtt(0xc0)), cut=2)

cases = {
    'tls': Case(tls, tls_rules, options=SET, events=tls_events),
    'http': Case(http, http_rules, events=http_events),
    'http2': Case(http2, http2_rules),
    'dns': Case(dns, dns_rules, events=dns_events),
    'smb': Case(smb, smb_rules),
    'dcerpc': Case(dcerpc, dcerpc_rules),
    'nfs': Case(nfs, nfs_rules),
    'smtp': Case(smtp, smtp_rules, events=smtp_events),
    'smtp_in_pieces_inline': Case(tcp(25, *smtp_turns, cut=1), [
        (1, rule('smtp', 'frame:data; content:"the last line|0d 0a|"; endswith;')),
        (0, rule('smtp', 'frame:data; content:"the last line|0d 0a|."; endswith;'))], options=inline),
    'starttls': Case(starttls, starttls_rules),
    'sip': Case(sip, sip_rules),
    'mqtt': Case(mqtt_packets, mqtt_rules, events=mqtt_events),
    'websocket': Case(websocket, websocket_rules),
    'ldap': Case(ldap, ldap_rules),
    'ssh': Case(ssh, ssh_rules),
    'rfb': Case(vnc, vnc_rules),
    'enip': Case(enip, enip_rules),
    'enip_multiple': Case(enip_multiple, enip_multiple_rules),
    'telnet': Case(tcp(23, *telnet_turns), telnet_rules),
    'telnet_in_pieces': Case(tcp(23, *telnet_turns, cut=1), telnet_rules),
    'telnet_inline': Case(tcp(23, *telnet_turns, cut=2), telnet_rules, options=inline),
    'in_pieces': Case(pieces(client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\x03\x22\0\x0a'))), mqtt_rules),
    'in_pieces_inline': Case(pieces(client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\x03\x22\0\x0a')), cut=7), [
        (1, rule('mqtt', 'frame:pdu; content:"|10|"; startswith; content:"MQTT"; content:"secret"; endswith;')),
        (1, rule('mqtt', 'frame:header; content:"|20|"; startswith; bsize:2;')),
        (0, rule('mqtt', 'frame:mqtt.header; content:"MQTT";'))], options=inline),
    'long': Case(long_packets, long_rules),
    'drop': Case(dropped, [
        (1, 'drop mqtt any any -> any any (frame:mqtt.data; content:"BAD"; endswith;)'),
        (0, rule('mqtt', 'frame:header; content:"|c0|"; startswith;'))], options=inline,
        events=['1 event_type=alert alert.action=blocked frame.type=data frame.complete=true']),
}
