# SPDX-License-Identifier: GPL-2.0-or-later
"""OPC UA: connections without security, with chunks, with security, and with faults."""
import struct

from build import Case, client, server, tcp

NONE = 'http://opcfoundation.org/UA/SecurityPolicy#None'
SIGNED = 'http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256'
URL = 'opc.tcp://plant.example:4840/line'


def rule(options, protocol='opcua'):
    return f'alert {protocol} any any -> any any ({options})'


def string(text):
    return struct.pack('<i', -1) if text is None else struct.pack('<I', len(text)) + text.encode()


def chunk(kind, data, final=b'F', size=None):
    return kind + final + struct.pack('<I', 8 + len(data) if size is None else size) + data


def hello(url=URL, version=0, buffer=65535):
    return chunk(b'HEL', struct.pack('<IIIII', version, buffer, buffer, 0, 0) + string(url))


def acknowledge(buffer=65535):
    return chunk(b'ACK', struct.pack('<IIIII', 0, buffer, buffer, 0, 0))


def numeric(number, namespace=0):
    return struct.pack('<BBH', 1, namespace, number)


def named(text, namespace):
    return struct.pack('<BH', 3, namespace) + string(text)


def request(service, parameters, handle=9):
    """The body of a request with a token, without diagnostics."""
    return numeric(service) + named('token', 1) + struct.pack('<QII', 0, handle, 0) + string(None) + \
        struct.pack('<I', 10000) + b'\0\0\0' + parameters


def response(service, status=0, parameters=b'', handle=9, diagnostics=b'\0'):
    return numeric(service) + struct.pack('<QII', 0, handle, status) + diagnostics + struct.pack('<i', -1) + b'\0\0\0' + \
        parameters


def open_channel(body, policy=NONE, final=b'F'):
    certificate = string(None) if policy == NONE else string('CERTIFICATE') + string('x' * 20)
    return chunk(b'OPN', struct.pack('<I', 7) + string(policy) + certificate +
                 (string(None) if policy == NONE else b'') + struct.pack('<II', 1, 1) + body, final)


def message(body, number=2, kind=b'MSG', final=b'F'):
    return chunk(kind, struct.pack('<IIII', 7, 1, number, number) + body, final)


def array(*items):
    return struct.pack('<I', len(items)) + b''.join(items)


def read_value(node):
    return node + struct.pack('<I', 13) + string(None) + struct.pack('<H', 0) + string(None)


def write_value(node, value):
    return node + struct.pack('<I', 13) + string(None) + b'\x0d' + value + bytes(16)


PUMP, VALVE = named('Pump', 2), numeric(1001, 3)
GUID = struct.pack('<BHIHH', 4, 1, 0x09087e75, 0x8e5e, 0x499b) + bytes.fromhex('954ff2a9603db28a')
OPAQUE = struct.pack('<BH', 5, 1) + string('M/Rb')
READ = request(631, struct.pack('<dI', 0, 2) + array(read_value(PUMP), read_value(GUID), read_value(OPAQUE)))
# Variants: a string, an array of two variants, an array of arrays, a localized text, a null.
VALUES = [b'\x0c' + string('on'), b'\x98' + array(b'\x06\1\0\0\0', b'\x0b' + bytes(8)),
          b'\xc6' + struct.pack('<I', 4) + bytes(16) + array(struct.pack('<I', 2), struct.pack('<I', 2)),
          b'\x15\3' + string('en') + string('text'), b'\0']
WRITE = request(673, array(*(write_value(PUMP, value) for value in VALUES), write_value(VALVE, b'\1\1')))
CALL = request(712, array(PUMP + numeric(5000, 2) + array(b'\x01\1', b'\x16' + numeric(300) + b'\1' + string('body'))))
BROWSE = request(527, b'\0\0' + struct.pack('<QII', 0, 0, 100) + array(
    b'\0\x55' + struct.pack('<I', 0) + b'\0\x21' + b'\1' + struct.pack('<II', 0, 63)))
MONITOR = request(751, struct.pack('<II', 1, 2) + array(
    read_value(PUMP) + struct.pack('<IId', 2, 1, 100.0) + b'\0\0\0' + struct.pack('<I?', 1, True)))
OPENED = [client(hello()), server(acknowledge()),
          client(open_channel(request(446, struct.pack('<III', 0, 0, 1) + string(None) + struct.pack('<I', 1000)))),
          server(open_channel(response(449)))]
session = [*OPENED, client(message(READ)), server(message(response(634))),
           client(message(WRITE, 3)), server(message(response(397, 0x801f0000, diagnostics=b'\x40\x11\1\0\0\0' +
                                                              string('why')), 3)),
           client(message(CALL, 4) + message(BROWSE, 5) + message(MONITOR, 6)),
           client(message(request(452, b''), 7, b'CLO'))]
session_rules = [
    (1, rule('opcua.msg_type:HEL;')),
    (1, rule('opcua_msg_type:acknowledge; flow:to_client;')),
    (2, rule('opcua.msg_type:open_secure_channel;')),
    (1, rule('opcua.msg_type:clo;')),
    (7, rule('opcua.msg_type:MSG;')),
    (0, rule('opcua.msg_type:err;')),
    (0, rule('opcua.msg_type:rhe;')),
    (1, rule('opcua.service:WriteRequest;')),
    (1, rule('opcua_msg_service:readrequest; flow:to_server;', 'tcp')),
    (2, rule('opcua.service:400-640; opcua.msg_type:MSG; flow:to_server;')),
    (1, rule('opcua.service:ServiceFault; flow:to_client;')),
    (0, rule('opcua.service:HistoryReadRequest;')),
    (1, rule('opcua_node_id:712;')),
    (0, rule('opcua.node_id:713;')),
    (1, rule('opcua.node_id:634; opcua_node_namespace_index:0;')),
    (0, rule('opcua.node_namespace_index:1;')),
    (1, rule('opcua.status:&0xc0000000=0x80000000; flow:to_client;')),
    (0, rule('opcua.status:&0xc0000000=0x40000000;')),
    (1, rule('opcua.endpoint_url; content:"plant.example"; bsize:33;')),
    (0, rule('opcua.endpoint_url; content:"#None";')),
    (2, rule('opcua.security_policy; content:"#None"; endswith;')),
    (0, rule('opcua.security_policy; content:"plant";')),
    (1, rule('opcua.item; content:"ns=2|3b|s=Pump"; bsize:11; opcua.service:ReadRequest;')),
    (1, rule('opcua.item; content:"ns=3|3b|i=1001"; bsize:11; opcua.service:WriteRequest;')),
    (1, rule('opcua.item; content:"ns=1|3b|g=09087e75-8e5e-499b-954f-f2a9603db28a"; opcua.item; '
             'content:"ns=1|3b|b=TS9SYg=="; bsize:15;')),
    (1, rule('opcua.item; content:"ns=2|3b|i=5000"; opcua.service:CallRequest;')),
    (1, rule('opcua.item; content:"i=85"; bsize:4; opcua.service:BrowseRequest;')),
    (1, rule('opcua.item; content:"Pump"; opcua.service:CreateMonitoredItemsRequest;')),
    (0, rule('opcua.item; content:"token";')),
    (1, rule('opcua.body; content:"|01 00 c8 02|"; startswith; content:"token"; content:"body";')),
    (0, rule('opcua.body; content:"MSGF";')),
] + [(0, rule(f'app-layer-event:opcua.{event};')) for event in
     ('invalid_type_id', 'invalid_body', 'invalid_string', 'chunk_too_large')]
session_events = [
    '1 event_type=opcua sluice.opcua.msg_type=HEL sluice.opcua.version=0 sluice.opcua.endpoint_url=' + URL,
    '1 event_type=opcua sluice.opcua.msg_type=OPN sluice.opcua.service=OpenSecureChannelRequest '
    'sluice.opcua.security_policy=' + NONE + ' sluice.opcua.request_id=1',
    '1 event_type=opcua sluice.opcua.service=ReadRequest sluice.opcua.items.0=ns=2;s=Pump sluice.opcua.item_count=3 '
    'sluice.opcua.secure_channel_id=7 sluice.opcua.request_id=2 sluice.opcua.request_handle=9 sluice.opcua.chunks=1',
    '1 event_type=opcua sluice.opcua.service=WriteRequest sluice.opcua.item_count=6 sluice.opcua.items.5=ns=3;i=1001',
    '1 event_type=opcua sluice.opcua.service=ServiceFault sluice.opcua.status=2149515264 sluice.opcua.node_id=397',
    '1 event_type=opcua sluice.opcua.service=CallRequest sluice.opcua.items.1=ns=2;i=5000',
]

# --- Two messages with interleaved chunks, a message that is aborted, and a connection that the server opens

LONG = request(673, array(*[write_value(PUMP, b'\x0c' + string('y' * 900))] * 2))
chunked = [*OPENED, client(message(LONG[:600], 3, final=b'C')), client(message(READ[:40], 4, final=b'C')),
           client(message(LONG[600:1200], 3, final=b'C')), client(message(READ[40:], 4)),
           client(message(LONG[1200:], 3)),
           client(message(LONG[:600], 5, final=b'C') + message(struct.pack('<I', 0x80b80000) + string('enough'), 5, final=b'A'))]
chunked_rules = [
    (1, rule('opcua.service:WriteRequest; opcua.body; content:"yyyy"; isdataat:1900; opcua.item; content:"Pump";')),
    (1, rule('opcua.service:ReadRequest; opcua.item; content:"ns=1|3b|b=TS9SYg==";')),
    (1, rule('opcua.status:0x80b80000;')),
    (0, rule('app-layer-event:opcua.invalid_body;')),
    (0, rule('app-layer-event:opcua.too_many_messages;')),
]
chunked_events = ['1 event_type=opcua sluice.opcua.service=WriteRequest sluice.opcua.chunks=3 '
                  f'sluice.opcua.length={len(LONG)}',
                  '1 event_type=opcua sluice.opcua.aborted=true sluice.opcua.reason=enough sluice.opcua.chunks=2']
REVERSE = chunk(b'RHE', string('urn:plant') + string(URL))
reverse = tcp(9999, client(REVERSE), server(hello()), client(acknowledge()), server(open_channel(request(446, b''))))
reverse_rules = [
    (1, rule('opcua.msg_type:reverse_hello; opcua.endpoint_url; content:"plant.example";')),
    (1, rule('opcua.service:OpenSecureChannelRequest; flow:to_client;')),
    (0, rule('opcua.msg_type:OPN; flow:to_server;')),
]

# --- Security: bodies that are encrypted, and bodies that are only signed

SECURE = [client(hello()), server(acknowledge()), client(open_channel(b'\x5a' * 200, SIGNED)),
          server(open_channel(b'\x5b' * 200, SIGNED))]
secured = tcp(4840, *SECURE, client(message(b'\x99' * 300)), server(message(b'\x98' * 300)),
              client(message(LONG[:600] + b'S' * 32, 3, final=b'C')), client(message(LONG[600:] + b'S' * 32, 3)))
secured_rules = [
    (2, rule('opcua.msg_type:OPN; opcua.security_policy; content:"#Basic256Sha256";')),
    (3, rule('opcua.msg_type:MSG;')),
    (1, rule('opcua.service:WriteRequest; opcua.item; content:"Pump";')),
    (0, rule('opcua.body; content:"SS";')),
    (0, rule('opcua.body; content:"|99 99|";')),
    (0, rule('app-layer-event:opcua.invalid_type_id;')),
    (0, rule('app-layer-event:opcua.invalid_body;')),
]
secured_events = ['2 event_type=opcua sluice.opcua.msg_type=MSG sluice.opcua.readable=false']

# --- Faults

BAD = [
    ('invalid_size', [message(b'', 2)[:4] + struct.pack('<I', 23) + bytes(16)]),
    ('invalid_type', [chunk(b'ABC', bytes(24))]),
    ('invalid_chunk_type', [message(READ, final=b'X')]),
    ('invalid_chunk_type', [chunk(b'ERR', struct.pack('<I', 1) + string('no'), b'C')]),
    ('invalid_type_id', [message(numeric(2))]),
    ('invalid_type_id', [message(b'\x07')]),
    ('nonzero_namespace_index', [message(numeric(631, 4))]),
    ('invalid_body', [message(READ[:-4])]),
    ('invalid_string', [chunk(b'ERR', struct.pack('<II', 1, 90) + b'no')]),
    ('abnormal_version', [hello(version=1)]),
    ('body_too_large', [message(READ + bytes(40000), 2, final=b'C'), message(bytes(40000), 2)]),
    ('chunk_too_large', [message(READ + bytes(66000), 2)]),
    ('too_many_messages', [message(READ[:50], number, final=b'C') for number in range(2, 11)]),
]
faults = [packet for port, (_, data) in enumerate(BAD) for packet in
          tcp(4840, *OPENED, *[client(each) for each in data], client_port=40300 + port)]
NAMES = sorted({name for name, _ in BAD})
faults_rules = [(sum(other == name for other, _ in BAD) + (name == 'body_too_large'),
                 rule(f'app-layer-event:opcua.{name};')) for name in NAMES] + [
    (1, rule('opcua.node_namespace_index:4; opcua.node_id:631;')),
    (0, rule('opcua.service:HistoryReadRequest;'))]

cases = {
    'opcua': Case(tcp(4840, *session), session_rules, events=session_events),
    'opcua_other_port': (tcp(9999, *OPENED), [(1, rule('opcua.msg_type:HEL;')), (0, rule('opcua.msg_type:MSG;'))]),
    'opcua_chunks': Case(tcp(4840, *chunked), chunked_rules, events=chunked_events),
    'opcua_reverse': (reverse, reverse_rules),
    'opcua_security': Case(secured, secured_rules, events=secured_events),
    'opcua_faults': (faults, faults_rules),
}
