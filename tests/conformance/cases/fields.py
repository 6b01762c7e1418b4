# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of events that no capture of the suite shows; tests/output/fields.py searches their events, too."""
import os
import struct

from build import (CLIENT, HTTP2_MAGIC, SERVER, certificate, client, client_hello, dcerpc_datagram, der, der_number,
                   dns_message, dns_name, dns_record, http2_frame, http2_headers, icmp_packet, igmp, ipv4,
                   kerberos_name, mqtt, mqtt_connect, mqtt_publish, ntlmssp, quic_chlo, request, response, sequence,
                   server, server_hello, smb2, smb2_file, smb2_pipe, tagged, tcp, tls_handshake, tls_record, udp,
                   udp_packet, vector)

A, NS, CNAME, SOA, NULL, PTR, MX, TXT, AAAA, SRV, OPT, SSHFP, OTHER = 1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 41, 44, 99
LONG = '.'.join(['a' * 63] * 18)
SOA_NUMBERS = struct.pack('!IIIII', 1, 2, 3, 4, 5)


def every_record(name):
    """A record of each type, and some whose names are longer than events show."""
    target = dns_name('target.example')
    data = {A: bytes([203, 0, 113, 9]), AAAA: bytes(range(16)), NS: target, CNAME: target, PTR: target,
            MX: struct.pack('!H', 10) + target, NULL: b'null', TXT: b'\5first\6second', OTHER: b'\1\2\3',
            SOA: target + target + SOA_NUMBERS, SRV: struct.pack('!HHH', 1, 2, 443) + target,
            SSHFP: b'\1\1' + bytes(range(20)), OPT: struct.pack('!HH', 10, 8) + b'clientco'}
    return [dns_record(name, kind, bytes_) for kind, bytes_ in data.items()] + [
        dns_record(LONG, A, data[A]), dns_record(name, CNAME, dns_name(LONG)),
        dns_record(name, SOA, dns_name(LONG) + dns_name(LONG) + SOA_NUMBERS)]


def answers(port, flags=0x8580):
    """A response with every record in each of its sections: three messages, each of at most 64 kB."""
    records = every_record('name.example')
    questions = [('name.example', A)]
    return [udp_packet(dns_message([(LONG, A)], flags=0, number=9), (port, port))] + [
        udp_packet(dns_message(questions, *sections, flags=flags, number=number), (port, port), (SERVER, CLIENT))
        for number, sections in enumerate([(records,), ((), records), ((), (), records)])]


def smb2_rename(name, target):
    """SET_INFO with FileRenameInformation (MS-SMB2 2.2.39, MS-FSCC 2.4.37)."""
    path = target.encode('utf-16-le')
    info = struct.pack('<B7xQI', 1, 0, len(path)) + path
    return [*smb2_file('share', name, b'data', b'data')[:-2],
            client(smb2(17, struct.pack('<HBBIHHI', 33, 1, 10, len(info), 96, 0, 0) + b'F' * 16 + info, 20)),
            server(smb2(17, struct.pack('<H', 2), 20, True))]


def kerberos_ticket(realm, *names):
    """A ticket in a token of SPNEGO (RFC 4178) for Kerberos (RFC 4121)."""
    ticket = der(0x61, sequence(tagged(0, der_number(5)), tagged(1, der(27, realm.encode())),
                                tagged(2, kerberos_name(2, *names))))
    request = der(0x6e, sequence(tagged(0, der_number(5)), tagged(1, der_number(14)), tagged(3, ticket)))
    token = der(0x60, der(6, bytes.fromhex('2a864886f712010202')), b'\1\0', request)
    return der(0x60, der(6, bytes.fromhex('2b0601050502')), tagged(0, sequence(tagged(2, der(4, token)))))


def unusual_order():
    """An AUTHENTICATE message of NTLMSSP in which the user precedes the domain."""
    message = ntlmssp(3, 'DD', 'UU', 'HOST')
    domain, user = 12 + 2 * 8 + 4, 12 + 3 * 8 + 4  # the offsets of both
    return message[:domain] + message[user:user + 4] + message[domain + 4:user] + message[domain:domain + 4] + \
        message[user + 4:]


def session_setup(number, blob):
    return [client(smb2(1, struct.pack('<HBBIIHHQ', 25, 0, 1, 0, 0, 88, len(blob), 0) + blob, number, tree=0)),
            server(smb2(1, struct.pack('<HHHH', 9, 0, 72, 0), number, True, 0))]


MESSAGE = (b'From: a@example.org\r\nTo: b@example.org\r\nSubject: hello\r\nDate: today\r\nReceived: from x\r\n'
           b'X-Mailer: y\r\nMessage-Id: <1@example.org>\r\n\r\ntext http://example.org/a\r\n.\r\n')
mail = [server(b'220 ready\r\n'), client(b'EHLO x\r\n'), server(b'250 ok\r\n'),
        client(b'MAIL FROM:<a@example.org>\r\n'), server(b'250 ok\r\n'), client(b'RCPT TO:<b@example.org>\r\n'),
        server(b'250 ok\r\n'), client(b'DATA\r\n'), server(b'354 go\r\n'), client(MESSAGE), server(b'250 ok\r\n'),
        client(b'QUIT\r\n'), server(b'221 bye\r\n')]
client_certificate = tls_record(22, tls_handshake(11, vector(3, vector(3, certificate(
    'client', 'Example CA', 7, ['client.example.org'])))))
# A server that requests a certificate of the client (RFC 5246 7.4.4) before its ServerHelloDone, a record of 9 bytes.
certificate_request = server_hello(certificate('x', 'y', 1))[:-9] + tls_record(22, tls_handshake(
    13, vector(1, b'\1') + vector(2, b'\4\1') + vector(2, b''))) + tls_record(22, tls_handshake(14, b''))
UUID = '12345678-1234-abcd-ef00-0123456789ab'


def postgresql(kind, body=b''):
    return kind + struct.pack('!I', 4 + len(body)) + body


# Start with options, a password in clear text, and COPY TO STDOUT.
START = struct.pack('!I', 0x30000) + b'user\0bob\0datestyle\0ISO\0extra_float_digits\x002\0options\0-c geqo=off\0\0'
database = tcp(5432, client(struct.pack('!I', 4 + len(START)) + START), server(postgresql(b'R', struct.pack('!I', 3))),
               client(postgresql(b'p', b'secret\0')), server(postgresql(b'R', bytes(4)) + postgresql(b'Z', b'I')),
               client(postgresql(b'Q', b'COPY t TO STDOUT\0')),
               server(postgresql(b'H', b'\0' + struct.pack('!Hhh', 2, 0, 0)) + postgresql(b'd', b'1\tone\n') +
                      postgresql(b'd', b'2\ttwo\n') + postgresql(b'c') + postgresql(b'C', b'COPY 2\0') +
                      postgresql(b'Z', b'I')))


def alerts(*rules):
    return [(count, f'alert {text}') for count, text in rules]


MATCH, NO_MATCH = 'udp any any -> any any (content:"|06|target";)', 'udp any any -> any any (content:"absent";)'
# Messages of MQTT 5 with reason codes and properties; the longest one is skipped.
CODE = b'\x10\0'
mqtt_messages = tcp(
    1883, client(mqtt_connect()), server(mqtt(0x20, b'\0\0', b'\x03\x22\0\x0a')),
    client(mqtt(0x34, b'\0\1t\0\7', b'\2\1\1', b'text')), server(mqtt(0x50, b'\0\7' + CODE)),
    client(mqtt(0x62, b'\0\7' + CODE)), server(mqtt(0x70, b'\0\7' + CODE)),
    client(mqtt_publish('t', b'x', 1, 8)), server(mqtt(0x40, b'\0\x08' + CODE)),
    client(mqtt(0x82, b'\0\1\0', b'\0\1t\1')), server(mqtt(0x90, b'\0\1\0', b'\1')),
    client(mqtt(0xa2, b'\0\2\0', b'\0\1t')), server(mqtt(0xb0, b'\0\2\0', b'\x11')),
    client(mqtt(0xc0)), server(mqtt(0xd0)), client(mqtt_publish('t', b'long' * 100)),
    client(mqtt(0xe0, b'\0\6\x1f\0\3bye')))

# --- Sessions of the fuzz corpora, and messages that none of them has

def corpus(name):
    """The turns of a file in tests/fuzz/corpus: after the transport, pieces of a direction, a length and bytes."""
    with open(os.path.join(os.path.dirname(__file__), '../../fuzz/corpus', name), 'rb') as f:
        data = f.read()[1:]
    turns = []
    while len(data) >= 3:
        length = int.from_bytes(data[1:3], 'big')
        turns.append((server if data[0] & 1 else client)(data[3:3 + length]))
        data = data[3 + length:]
    return turns


LDAP = ['add_compare_abandon', 'bind', 'delete', 'extended', 'modify', 'modify-dn', 'sasl_encrypted', 'search']
STATUS = b'\x8a\0\x1e\0' + struct.pack('<HHH', 2, 6, 10) + b'\x8e\0\0\0\x83\0\x08\1\0\1'
EXTENDED_STATUS = struct.pack('<HHIIQI', 0x6f, 16 + len(STATUS), 7, 0, 9, 0) + \
    struct.pack('<IHHHHHH', 0, 0, 2, 0, 0, 0xb2, len(STATUS)) + STATUS
EXTENDED = b'\x30\x0d\2\1\1\x77\x08\x80\3\x31.2\x81\1v'
INTERMEDIATE = b'\x30\x0d\2\1\1\x79\x08\x80\3\x31.2\x81\1v'
EXTENDED_RESPONSE = b'\x30\x14\2\1\1\x78\x0f\x0a\1\0\4\0\4\0\x8a\3\x31.2\x8b\1v'
RENAME = b'\x30\x14\2\1\2\x6c\x0f\4\2a=\4\2b=\1\1\xff\x80\2c='

PRIORITY, RST_STREAM, SETTINGS = 2, 3, 4  # types of frames of HTTP/2
TABLE_SIZE = b'\x3f\xe1\x07'  # a size update of the table of HPACK to 1024 bytes
SETTING = http2_frame(SETTINGS, struct.pack('!HI', 3, 100))
http2 = tcp(
    80, client(HTTP2_MAGIC + SETTING + http2_headers(1, ':method: GET', ':path: /a', prefix=TABLE_SIZE, end=False) +
               http2_frame(PRIORITY, struct.pack('!IB', 0, 7), 1) + http2_frame(PRIORITY, struct.pack('!IB', 0, 9), 1)),
    server(SETTING + http2_headers(1, ':status: 200', prefix=TABLE_SIZE, end=False) +
           http2_frame(RST_STREAM, struct.pack('!I', 2), 1)),
    client(http2_frame(RST_STREAM, struct.pack('!I', 8), 1)))

cases = {
    'dns': (answers(53), alerts((3, MATCH), (0, NO_MATCH))),
    'mdns': (answers(5353), alerts((3, MATCH), (0, NO_MATCH)), {}, ['--set', 'eve.types=[mdns, alert]'],
             ['4 event_type=mdns', '1 event_type=mdns sluice.mdns=']),
    'llmnr': (answers(5355), alerts((3, MATCH), (0, NO_MATCH))),
    'smb': (tcp(445, *smb2_rename('one', 'two')),
            alerts((1, 'smb any any -> any any (flow:to_server; content:"|fe|SMB"; threshold:type limit, '
                       'track by_flow, count 1, seconds 60;)'), (0, NO_MATCH)), {}, [],
            ['1 event_type=smb smb.rename.from=one smb.rename.to=two smb.set_info.class=FILE_INFO']),
    'smb_login': (tcp(445, *smb2_pipe('share', '', [])[:2], *session_setup(1, kerberos_ticket('REALM', 'cifs', 'host')),
                      *session_setup(2, unusual_order())),
                  alerts((1, 'smb any any -> any any (content:"NTLMSSP";)'), (0, NO_MATCH)), {}, [],
                  ['1 event_type=smb smb.kerberos.realm=REALM', '1 event_type=smb smb.ntlmssp.warning=true',
                   '1 event_type=anomaly anomaly.event=unusual_ntlmssp_order anomaly.layer=proto_parser']),
    # Anomalies of parsers do not depend on events of protocols.
    'anomaly': (tcp(445, *smb2_pipe('share', '', [])[:2], *session_setup(1, unusual_order())),
                alerts((1, 'smb any any -> any any (content:"NTLMSSP";)'), (0, NO_MATCH)), {},
                ['--set', 'eve.types=[alert, anomaly]'],
                ['1 event_type=anomaly anomaly.event=unusual_ntlmssp_order', '0 event_type=smb']),
    'mqtt': (mqtt_messages, alerts((1, 'mqtt any any -> any any (mqtt.type:PUBREL;)'), (0, NO_MATCH)), {},
             ['--set', 'app-layer.protocols.mqtt.max-msg-length=200'],
             ['1 event_type=mqtt mqtt.publish.truncated=true', '1 event_type=mqtt mqtt.pubcomp.reason_code=16']),
    'smtp': (tcp(25, *mail), alerts((1, 'smtp any any -> any any (content:"hello";)'), (0, NO_MATCH))),
    'tls': (tcp(443, client(client_hello('example.org')), server(certificate_request), client(client_certificate)),
            alerts((1, 'tls any any -> any any (tls.sni; content:"example.org";)'), (0, NO_MATCH))),
    'dcerpc': (udp(1024, client(dcerpc_datagram(0, UUID, 3, b'stub')), server(dcerpc_datagram(2, UUID, 3, b'stub'))),
               alerts((2, 'udp any any -> any any (content:"stub";)'), (0, NO_MATCH))),
    'icmp': ([icmp_packet()], [(1, 'drop icmp any any -> any any (itype:8;)'), (0, 'alert ' + NO_MATCH)], {},
             ['--ips'],
             ['1 event_type=drop drop.icmp_id=1 drop.icmp_seq=1']),
    'igmp': ([igmp(0x16, '224.0.0.5'), igmp(0x11, '224.0.0.5')],
             alerts((1, 'igmp any any -> any any (igmp.type:22;)'), (0, NO_MATCH)), {},
             ['--set', 'eve.types=[alert, igmp]'],
             ['1 event_type=igmp igmp.type=22', '1 event_type=igmp igmp.type=17']),
    'rgmp': ([ipv4(2, struct.pack('!BBH4s', 0xff, 0, 0, bytes(4)))],
             alerts((1, 'igmp any any -> any any (igmp.type:255;)'), (0, NO_MATCH)), {},
             ['--set', 'eve.types=[alert, igmp]'],
             ['1 event_type=igmp rgmp.type=255', '1 event_type=alert rgmp.type=255']),
    'pgsql': (database, alerts((1, 'pgsql any any -> any any (pgsql.query; content:"COPY";)'), (0, NO_MATCH)), {},
              ['--set', 'eve.types=[alert, pgsql]', '--set', 'eve.types.pgsql.passwords=no'],
              ['1 event_type=pgsql pgsql.request.password_redacted=true',
               '1 event_type=pgsql pgsql.response.copy_data_out.row_count=2 '
               'pgsql.response.copy_out_response.columns=2']),
    'quic': (udp(443, client(quic_chlo([(b'SNI', b'www.example.org'), (b'UAID', b'Example/1.0')]))),
             alerts((1, 'quic any any -> any any (quic.ua; content:"Example";)'), (0, NO_MATCH)), {},
             ['--set', 'eve.types=[alert, quic]'], ['1 event_type=quic quic.ua=Example/1.0 quic.version=Q043']),
    'bittorrent_dht': (udp(6881, client(b'd1:rd2:id20:' + b'i' * 20 + b'5:nodes26:' + b'n' * 20 + b'\x0a\0\0\1\0\x50' +
                                        b'6:nodes638:' + b'm' * 20 + bytes(16) + b'\0\x51e1:t1:a1:y1:re')),
                       alerts((1, 'bittorrent-dht any any -> any any (content:"nodes";)'), (0, NO_MATCH)), {},
                       ['--set', 'eve.types=[alert, bittorrent-dht]'],
                       ['1 event_type=bittorrent_dht bittorrent_dht.transaction_id=61']),
    'enip': (tcp(44818, *corpus('app_enip/commands'), server(EXTENDED_STATUS)),
             alerts((1, 'enip any any -> any any (enip.capabilities:288;)'), (0, NO_MATCH)), {},
             ['--set', 'eve.types=[alert, enip]'], ['1 event_type=enip enip.request.command=list_services']),
    'ldap': (sum((tcp(389, *corpus(f'app_ldap/{name}'), client_port=41000 + at) for at, name in enumerate(LDAP)), []) +
             tcp(389, client(EXTENDED), server(INTERMEDIATE + EXTENDED_RESPONSE), client(RENAME), client_port=42000),
             alerts((1, 'ldap any any -> any any (ldap.request.operation:add_request;)'), (0, NO_MATCH)), {},
             ['--set', 'eve.types=[alert, ldap]'], ['1 event_type=ldap ldap.request.operation=add_request']),
    'modbus': (tcp(502, *corpus('app_modbus/functions')),
               alerts((1, 'modbus any any -> any any (modbus:function 24;)'), (0, NO_MATCH)), {},
               ['--set', 'eve.types=[alert, modbus]'],
               ['1 event_type=modbus modbus.request.function_code=RdFIFOQueue']),
    'http2': (http2, alerts((1, 'http2 any any -> any any (http.uri; content:"/a";)'), (0, NO_MATCH)), {},
              ['--set', 'eve.types=[alert, http, http2]'],
              ['1 event_type=http http.http2.request.has_multiple=priority',
               '1 event_type=http http.status=200 http.http2.response.error_code=INTERNALERROR']),
    'rfb': (tcp(5900, *corpus('app_rfb/failed')),
            alerts((1, 'rfb any any -> any any (rfb.sectype:2;)'), (0, NO_MATCH)), {},
            ['--set', 'eve.types=[alert, rfb]'], ['1 event_type=rfb rfb.server_security_failure_reason=wrong']),
    'http': (tcp(80, request('GET /a HTTP/1.1', X_Forwarded_For='203.0.113.7'), response(b'body')),
             alerts((1, 'http any any -> any any (http.uri; content:"/a";)'), (0, NO_MATCH)), {},
             ['--set', 'eve.xff.enabled=yes'], ['1 event_type=http sluice.xff=203.0.113.7']),
    'frame': (tcp(80, request('GET /a HTTP/1.1'), response(b'body')),
              alerts((1, 'http1 any any -> any any (frame:request; content:"/a";)'), (0, NO_MATCH)), {},
              ['--set', 'eve.types=[alert, frame]'],
              ['1 event_type=alert frame.type=request frame.tx_id=0', '1 event_type=frame frame.type=response']),
}
