# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of application protocols (app-layer-event): messages that break the rules of the protocol, one at a time."""
import struct

from build import (certificate, client, client_hello, dhcp, dns_message, dns_query, ike, kerberos_reply,
                   kerberos_request, nfs_call, quic_crypto, quic_initial, request, rfb, response, server,
                   server_hello, smb1, snmp, snmp3, snmp_pdu, tcp, tls_record, udp)


def event(protocol, name, direction):
    return f'alert {protocol} any any -> any any (app-layer-event:{protocol}.{name}; flow:{direction};)'


def events(protocol, requests=(), responses=(), absent=()):
    """Rules on events that a request has, a response has, and no message has. A rule without a direction would alert
    for both directions of a transaction."""
    return [(1, event(protocol, name, 'to_server')) for name in requests] + \
        [(1, event(protocol, name, 'to_client')) for name in responses] + \
        [(0, event(protocol, name, direction)) for name in absent for direction in ('to_server', 'to_client')]


def together(port, flows):
    """Each flow has a list of turns and gets its own client port."""
    return [packet for at, turns in enumerate(flows) for packet in tcp(port, *turns, client_port=40000 + at)]


GOOD = request(), response(b'ok')
http = together(80, [
    GOOD,
    [request('GET / HTTP/1.1', Host='other.example'), server(b'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n')],
    [client(b'GET / HTTP/1.1\r\nHost: a.example\r\nNo colon\r\n\r\n'), response(b'ok')],
    [client(b'GET http://one.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n'), response(b'ok')],
    [client(b'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab')],
    [client(b'POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab')],
    [client(b'GET\t/ HTTP/1.1\r\nHost: a.example\r\n\r\n'), response(b'ok')],
    [request(), response(b'not compressed', Content_Encoding='gzip')],
    [request(), server(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nNo colon\r\n\r\nok')],
])
http_events = events(
    'http', ['request_field_missing_colon', 'host_header_ambiguous', 'duplicate_content_length_field_in_request',
             'invalid_request_chunk_len', 'method_delim_non_compliant'],
    ['invalid_content_length_field_in_response', 'gzip_decompression_failed', 'response_field_missing_colon'],
    ['missing_host_header', 'invalid_content_length_field_in_request', 'request_header_host_invalid'])

LABEL = 'a' * 60  # 18 of them make a longer name than the 1025 bytes at which Suricata cuts it
dns = udp(53, *[client(message) for message in (
    dns_query('good.example'), dns_message([('z.example', 1)], flags=0x0140), dns_query('opcode.example', opcode=7),
    dns_query('.'.join([LABEL] * 18)),
    struct.pack('!HHHHHH', 1, 0x0100, 1, 0, 0, 0) + b'\xc0\x0c' + struct.pack('!HH', 1, 1))])
dns_events = events('dns', ['z_flag_set', 'invalid_opcode', 'name_too_long', 'infinite_loop'], [],
                    ['not_request', 'not_response', 'too_many_labels'])

dhcp_packets = udp(67, client(dhcp(1, 3, (12, b'good'))), client(dhcp(1, 3, (51, b'\0\0\1'))),
                   client(dhcp(1, 3, (12, b'cut'))[:-1]), client_port=68)
dhcp_events = events('dhcp', ['malformed_options', 'truncated_options']) + [
    (0, 'alert dhcp any any -> any any (dhcp.hostname; content:"good"; app-layer-event:dhcp.malformed_options;)')]

ftp = tcp(21, server(b'220 ready\r\n'), client(b'USER ' + b'a' * 5000 + b'\r\n'), server(b'500 too long\r\n'))
ftp_events = events('ftp', ['request_command_too_long'], [], ['response_command_too_long'])


def proposal(protocol, *transforms):
    """The SA payload of IKE version 2; transforms are pairs of type and id."""
    data = b''.join(struct.pack('!BBHBBH', 3 if at < len(transforms) - 1 else 0, 0, 8, kind, 0, number)
                    for at, (kind, number) in enumerate(transforms))
    return struct.pack('!BBHBBBB', 0, 0, 8 + len(data), 1, protocol, 0, len(transforms)) + data


DES, MD5_PRF, MD5_AUTH, GROUP_1 = (1, 2), (2, 1), (3, 1), (4, 1)
ike_packets = udp(500, client(ike(34, [(33, proposal(1, DES, MD5_PRF, MD5_AUTH, GROUP_1))])), client_port=500)
ike_events = events('ike', ['weak_crypto_enc', 'weak_crypto_prf', 'weak_crypto_auth', 'weak_crypto_dh'], [],
                    ['no_encryption', 'weak_crypto_nodh', 'malformed_data'])
# Names of Suricata 8 and 9.
ike_without_packets = udp(500, client(ike(34, [(33, proposal(1, DES, MD5_PRF))])), client_port=500)
ike_without_events = events('ike', ['weak_crypto_nodh', 'weak_crypto_no_dh', 'weak_crypto_noauth',
                                    'weak_crypto_no_auth'], [], ['malformed_data'])

krb5 = udp(88, client(kerberos_request('alice', 'EXAMPLE.ORG')), server(kerberos_reply('alice', 'EXAMPLE.ORG', 18)))
krb5_events = [(1, 'alert krb5 any any -> any any (krb5_msg_type:11;)')] + \
    events('krb5', absent=['weak_encryption', 'malformed_data'])

nfs = udp(2049, client(nfs_call(0, b'', 1)), client(nfs_call(3, b'', 2, version=5)), client_port=900)
nfs_events = events('nfs', ['non_existing_version'], [], ['too_many_transactions'])

DIALECT = b'\x02NT LM 0.12\0'
smb = tcp(445, client(smb1(0x72, b'', DIALECT)), client(smb1(0x72, b'', DIALECT)), server(smb1(0x73, b'')))
smb_events = events('smb', ['duplicate_negotiate'], ['request_to_client'], ['response_to_server', 'file_overlap'])

LONG = b'x' * 1200
MAIL = b'From: a@example.org\r\nContent-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n' \
       b'Content-Disposition: attachment; filename="f"\r\n\r\n'
SESSION = [server(b'220 ready\r\n'), client(b'HELO a.example\r\n'), server(b'250 ok\r\n'),
           client(b'MAIL FROM:<a@example.org>\r\n'), server(b'250 ok\r\n')]
RECIPIENT = [client(b'RCPT TO:<b@example.org>\r\n'), server(b'250 ok\r\n'), client(b'DATA\r\n')]
smtp = together(25, [
    [*SESSION, client(b'MAIL FROM:<c@example.org>\r\n'), server(b'503 again\r\n')],
    [*SESSION, *RECIPIENT, server(b'554 no\r\n'), client(b'QUIT\r\n'), server(b'221 bye\r\n')],
    [*SESSION, *RECIPIENT, server(b'354 go\r\n'), client(b'From: a@example.org\r\n\r\n' + LONG + b'\r\n.\r\n'),
     server(b'250 ok\r\n')],
    [*SESSION, *RECIPIENT, server(b'354 go\r\n'), client(MAIL + b'!!!not base64!!!\r\n.\r\n'), server(b'250 ok\r\n')],
])
smtp_events = events('smtp', ['duplicate_fields', 'mime_long_line', 'mime_invalid_base64'], ['data_command_rejected'],
                     ['invalid_reply', 'mime_long_boundary', 'mime_invalid_qp'])

ssh = tcp(22, client(b'SSH-2.0-' + b'x' * 300 + b'\r\n'), server(b'SSH-2.0-Server\r\n'))
ssh_events = events('ssh', ['long_banner'], [], ['invalid_banner', 'invalid_record'])

HEARTBEAT = 24
good, bad = certificate('good', 'CA', 1), certificate('bad', 'CA', 1, valid=(b'not a time', b'not a time'))
tls = together(443, [
    [client(client_hello('good.example')), server(server_hello(good))],
    [client(client_hello('bad.example')), server(server_hello(bad))],
    [client(client_hello('beat.example')), server(server_hello(good)),
     client(tls_record(HEARTBEAT, b'\x01' + struct.pack('!H', 0x4000) + b'short'))],
    [client(client_hello('long.example') + struct.pack('!BHH', 22, 0x0303, 40000) + bytes(100))],
])
tls_events = events('tls', ['overflow_heartbeat_message', 'invalid_record_length'], ['certificate_invalid_date'],
                    ['invalid_record_type', 'multiple_sni_extensions', 'certificate_invalid_serial'])

# Detection: server and client speak different protocols, and a server that speaks none
detection = together(7000, [[request(), server(b'SSH-2.0-Server\r\n')],
                            [request(), server(b'\x01\x02 nothing known \x03' * 20)], [request(), response(b'ok')]])


def detects(name):
    return f'alert tcp any any -> any any (app-layer-event:{name};)'


detection_events = [
    (1, detects('applayer_mismatch_protocol_both_directions')),
    (1, detects('applayer_detect_protocol_only_one_direction')),
    (0, detects('applayer_wrong_direction_first_data')),
    (0, detects('applayer_proto_detection_skipped')),
]

quic_packets = udp(443, client(quic_initial(b'\x08stream')[:-1] + b'x')) + \
    udp(443, client(quic_initial(b'\x08stream')), client_port=40001) + \
    udp(443, client(quic_initial(quic_crypto(70000, b'far'))), client_port=40002) + \
    udp(443, client(quic_initial(quic_crypto(0, b'\x01\0'))), client(quic_initial(b'\x01')[:-1]), client_port=40003)
quic_events = events('quic', ['failed_decrypt', 'error_on_data', 'crypto_frag_too_long', 'error_on_header']) + [
    (0, 'alert quic any any -> any any (quic.version; content:"|00 00 00 02|"; app-layer-event:quic.error_on_data;)')]

rfb_flows = together(5900, [
    [server(b'RFB 3.8\n'), client(b'RFB 003.008\n')],
    rfb(8, server(b'\x02\x13\x02'), client(b'\x13'), server(b'tls')),
    rfb(3, server(struct.pack('!I', 2)), server(bytes(16)), client(bytes(16)), server(struct.pack('!I', 9))),
    rfb(3, client(b'\x01'), server(struct.pack('!I', 1))),
])
rfb_events = events('rfb', ['unimplemented_security_type', 'confused_state'],
                    ['malformed_message', 'unknown_security_result']) + [
    (0, 'alert rfb any any -> any any (rfb.sectype:19; app-layer-event:rfb.confused_state;)')]

PDU = snmp_pdu(0, b'\x2b\x06')
snmp_packets = udp(161, client(snmp(2, b'public', PDU)), client(snmp(1, b'public', PDU)),
                   client(snmp3(b'alice', PDU, model=4)), client(snmp(2, b'public', PDU)[:-1]),
                   client(snmp(2, b'public', PDU)))
snmp_events = events('snmp', ['malformed_data', 'unknown_security_model']) + [
    (2, 'alert snmp any any -> any any (app-layer-event:snmp.version_mismatch;)'),
    (4, 'alert snmp any any -> any any (snmp.pdu_type:get_request;)'),
    (0, 'alert snmp any any -> any any (snmp.community; content:"public"; app-layer-event:snmp.malformed_data;)')]

cases = {
    'http': (http, http_events),
    'dns': (dns, dns_events),
    'dhcp': (dhcp_packets, dhcp_events),
    'ftp': (ftp, ftp_events),
    'ike': (ike_packets, ike_events),
    'ike_without': (ike_without_packets, ike_without_events),
    'krb5': (krb5, krb5_events),
    'nfs': (nfs, nfs_events),
    'quic': (quic_packets, quic_events),
    'rfb': (rfb_flows, rfb_events),
    'smb': (smb, smb_events),
    'snmp': (snmp_packets, snmp_events),
    'smtp': (smtp, smtp_events),
    'ssh': (ssh, ssh_events),
    'tls': (tls, tls_events),
    'detection': (detection, detection_events),
}
