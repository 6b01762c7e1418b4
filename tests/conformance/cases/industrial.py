# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols of industrial control systems."""
import struct

from build import Case, client, server, tcp, udp


def modbus(function, data, number=1, unit=10, protocol=0):
    return struct.pack('!HHHBB', number, protocol, 2 + len(data), unit, function) + data


def rule(options, protocol='modbus'):
    return f'alert {protocol} any any -> any any ({options})'


# --- Modbus: reads, writes and diagnostics; messages with mistakes

def words(*values):
    return struct.pack(f'!{len(values)}H', *values)


exchange = tcp(502, client(modbus(1, words(1, 9))), server(modbus(1, b'\2ab')),
               client(modbus(6, words(3, 7), 2, 11)), server(modbus(6, words(3, 7), 2, 11)),
               client(modbus(16, words(3, 2) + b'\4' + words(1, 500), 3)), server(modbus(16, words(3, 2), 3)),
               client(modbus(8, words(4, 0), 4)))
exchange_rules = [
    (1, rule('modbus: function 1;')),
    (1, rule('modbus: function 8, subfunction 4;')),
    (0, rule('modbus: function 8, subfunction 5;')),
    (4, rule('modbus: function assigned;')),
    (0, rule('modbus: function user;')),
    (1, rule('modbus: unit >10;')),
    (0, rule('modbus: unit 9;')),
    (1, rule('modbus: unit 10, access read coils, address 9;')),
    (0, rule('modbus: access read coils, address 10;')),
    (2, rule('modbus: access write holding;')),
    (1, rule('modbus: access write holding, address 4, value 499<>501;')),
    (0, rule('modbus: access write coils;')),
] + [(0, rule(f'app-layer-event:modbus.{event};')) for event in
     ('unsolicited_response', 'invalid_function_code', 'invalid_length', 'invalid_value', 'invalid_exception_code',
      'value_mismatch', 'flooded', 'invalid_protocol_id')]
mistakes = tcp(502, client(modbus(3, words(1, 1))), server(modbus(3, b'\4abcd')), server(modbus(3, b'\2ab')),
               client(modbus(3, words(1, 0), 2)), client(modbus(3, words(1), 3)), client(modbus(0, b'', 4)),
               client(modbus(17, b'', 5)), server(modbus(0x91, b'\x63', 5)), client(modbus(17, b'', 6, protocol=1)))
mistake_rules = [(1, rule(f'app-layer-event:modbus.{event};')) for event in
                 ('unsolicited_response', 'invalid_function_code', 'invalid_length', 'invalid_value',
                  'invalid_exception_code', 'value_mismatch', 'invalid_protocol_id')] + \
    [(0, rule('app-layer-event:modbus.flooded;'))]

# --- EtherNet/IP: lists, a session, CIP services

def enip(command, data=b'', status=0, session=7):
    return struct.pack('<HHIIQI', command, len(data), session, status, 1, 0) + data


def cip(data):
    return struct.pack('<IHHHHHH', 0, 0, 2, 0, 0, 0xb2, len(data)) + data


IDENTITY = struct.pack('<HHHBBHI', 1, 12, 58, 4, 3, 0x30, 0x524d8e) + b'\x051756-\3'
IDENTITIES = struct.pack('<HHHH', 1, 12, 18 + len(IDENTITY), 1) + bytes(16) + IDENTITY
SERVICES = struct.pack('<HHHHH', 1, 0x100, 20, 1, 0x120) + b'Communications\0\0'
READ = b'\x0e\3\x20\1\x24\2\x30\7'
LISTS = client(enip(0x63)), server(enip(0x63, IDENTITIES)), client(enip(4)), server(enip(4, SERVICES))
controller = tcp(44818, *LISTS, client(enip(0x6f, cip(READ))), server(enip(0x6f, cip(b'\x8e\0\x08\1\0\1'))),
                 client(enip(0x6f, cip(READ))), server(enip(0x6f, b'', 0x64)))
controller_rules = [rule for name, value, other in (
    ('enip.vendor_id', '1', '2'), ('enip.device_type', '12', '13'), ('enip.product_code', '58', '59'),
    ('enip.revision', '0x403', '0x404'), ('enip.identity_status', '48', '49'), ('enip.serial', '0x524d8e', '1'),
    ('enip.state', '3', '4'), ('enip.capabilities', '288', '289'), ('enip.cip_status', '8', '9'),
    ('enip.cip_extendedstatus', '0x100', '1'), ('enip.status', 'invalid_session', 'no_resources'))
    for rule in ((1, f'alert enip any any -> any any ({name}:{value}; flow:to_client;)'),
                 (0, f'alert enip any any -> any any ({name}:{other};)'))] + [
    (2, rule('enip.protocol_version:1;', 'enip')),
    (0, rule('enip.protocol_version:2;', 'enip')),
    (1, rule('enip.command:list_identity; flow:to_server;', 'enip')),
    (1, rule('enip_command:99; flow:to_client;', 'enip')),
    (0, rule('enip.command:register_session;', 'enip')),
    (2, rule('enip.cip_class:1;', 'enip')),
    (0, rule('enip.cip_class:2;', 'enip')),
    (2, rule('enip.cip_instance:2;', 'enip')),
    (0, rule('enip.cip_instance:1;', 'enip')),
    (2, rule('enip.cip_attribute:7;', 'enip')),
    (0, rule('enip.cip_attribute:1;', 'enip')),
    (2, rule('cip_service:14,1,7; flow:to_server;', 'enip')),
    (0, rule('cip_service:14,1,8;', 'enip')),
    (1, rule('enip.product_name; content:"1756-"; bsize:5;', 'enip')),
    (0, rule('enip.product_name; content:"Communications";', 'enip')),
    (1, rule('enip.service_name; content:"Communications"; bsize:14;', 'enip')),
    (0, rule('enip.service_name; content:"1756";', 'enip')),
    (1, rule('app-layer-protocol:enip; enip.command:list_services; flow:to_server;', 'tcp')),
    (0, rule('app-layer-event:enip.invalid_pdu;', 'enip')),
]

# --- DNP3: a select request, its response, frames with mistakes

def crc(data):
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0xa6bc if value & 1 else value >> 1
    return struct.pack('<H', value ^ 0xffff)


def frame(data, control=0xc4, transport=0xc0):
    """A link frame with one transport segment."""
    data = bytes([transport]) + data
    head = struct.pack('<BBBBHH', 5, 0x64, 5 + len(data), control, 2, 3)
    return head + crc(head) + b''.join(data[at:at + 16] + crc(data[at:at + 16]) for at in range(0, len(data), 16))


SELECT = frame(b'\xc1\3\x0c\1\x28\1\0\7\0\3\1' + struct.pack('<IIB', 100, 100, 0))
outstation = tcp(20000, client(SELECT), server(frame(b'\xc1\x81\x90\0\x01\2\0\0\1\x81\1', 0x44)))
outstation_rules = [
    (1, rule('dnp3.func:select;', 'dnp3')),
    (1, rule('dnp3_func:129; flow:to_client;', 'dnp3')),
    (0, rule('dnp3.func:operate;', 'dnp3')),
    (1, rule('dnp3.obj:12,1;', 'dnp3')),
    (1, rule('dnp3_obj:1,2; flow:to_client;', 'dnp3')),
    (0, rule('dnp3.obj:12,2;', 'dnp3')),
    (1, rule('dnp3.ind:device_restart;', 'dnp3')),
    (1, rule('dnp3_ind:device_trouble,need_time;', 'dnp3')),
    (0, rule('dnp3.ind:config_corrupt;', 'dnp3')),
    (1, rule('dnp3.data; content:"|0c 01 28 01 00 07|"; flow:to_server;', 'dnp3')),
    (1, rule('dnp3_data; content:"|c1 81|"; startswith; bsize:11;', 'dnp3')),
    (0, rule('dnp3.data; content:"|05 64|";', 'dnp3')),
    (0, rule('app-layer-event:dnp3.bad_link_crc;', 'dnp3')),
    (0, rule('app-layer-event:dnp3.flooded;', 'dnp3')),
]
BROKEN = [SELECT[:8] + b'xx' + SELECT[10:], SELECT[:-1] + b'x', b'\5\x64\4' + SELECT[3:10], frame(b'\xc1\2\x6e\5\7\1a'),
          frame(b'\xc1\1' + b'\x3c\2\6' * 80) * 1, frame(b'\xc1\2\1\1\1\0\0\xff\xff')]
faults = tcp(20000, client(SELECT), *[client(data) for data in BROKEN])
long_message = tcp(20000, client(SELECT), *[client(frame(bytes(240), transport=(0x40 if at == 0 else 0) | at & 63))
                                            for at in range(70)])

# --- IEC 60870-5-104: start, a single command and its confirmation, an acknowledgement, messages with mistakes

def apdu(control, data=b''):
    return bytes([0x68, 4 + len(data)]) + control + data


def asdu(kind, cause, objects=1):
    return struct.pack('<BBBBH', kind, objects, cause, 0, 1) + b'\1\0\0\x81'


START_ACT, START_CON, ACKNOWLEDGEMENT = apdu(b'\7\0\0\0'), apdu(b'\x0b\0\0\0'), apdu(b'\1\0\2\0')
substation = tcp(2404, client(START_ACT), server(START_CON), client(apdu(bytes(4), asdu(45, 6))),
                 server(apdu(b'\0\0\2\0', asdu(45, 0x47)) + apdu(b'\2\0\2\0', asdu(1, 3, 0x81))), client(ACKNOWLEDGEMENT))
substation_rules = [
    (2, rule('iec104_apci_type:unnumbered_control_function;', 'iec104')),
    (1, rule('iec104_apci_type:S;', 'iec104')),
    (2, rule('iec104_apci_type:i; flow:to_client;', 'iec104')),
    (0, rule('iec104_apci_type:s; flow:to_client;', 'iec104')),
    (1, rule('iec104_asdu_func:C_SC_NA_1; flow:to_server;', 'iec104')),
    (1, rule('iec104_asdu_func:m_sp_na_1;', 'tcp')),
    (2, rule('iec104_asdu_func:45;', 'iec104')),
    (0, rule('iec104_asdu_func:46;', 'iec104')),
    (0, rule('app-layer-event:iec104.invalid_control;', 'iec104')),
    (0, rule('app-layer-event:iec104.invalid_length;', 'iec104')),
    (0, rule('app-layer-event:iec104.invalid_start;', 'iec104')),
]
substation_events = [
    '3 event_type=iec104 sluice.iec104.apci_type=I',
    '1 event_type=iec104 sluice.iec104.asdu.type=45 sluice.iec104.asdu.negative=true sluice.iec104.asdu.cause=7 '
    'sluice.iec104.send_sequence=0 sluice.iec104.receive_sequence=1',
    '1 event_type=iec104 sluice.iec104.asdu.type_name=M_SP_NA_1 sluice.iec104.asdu.sequence=true '
    'sluice.iec104.asdu.objects=1 sluice.iec104.asdu.address=1']
station_faults = [packet for port, message in enumerate([
    apdu(b'\x0f\0\0\0'), apdu(b'\1\0\1\0'), apdu(bytes(4), b'\1'), b'\x68\3abc', b'\x69\4\1\0\0\0']) for packet in
    tcp(2404, client(START_ACT), client(message), client_port=40200 + port)]
station_faults_rules = [
    (2, rule('app-layer-event:iec104.invalid_control;', 'iec104')),
    (2, rule('app-layer-event:iec104.invalid_length;', 'iec104')),
    (1, rule('app-layer-event:iec104.invalid_start;', 'iec104')),
    (0, rule('iec104_asdu_func:1;', 'iec104')),
]

# --- S7comm-plus: a connection that is opened, an explore request, its response, a notification of version 3, faults

def tpkt(data):
    return struct.pack('!BBH', 3, 0, 4 + len(data)) + data


def s7(opcode, function, data, version=2, digest=b''):
    message = digest + struct.pack('!BHHH', opcode, 0, function, 0) + data
    return tpkt(b'\2\xf0\x80' + struct.pack('!BBH', 0x72, version, len(message)) + message + b'\x72' + bytes([version, 0, 0]))


CONNECT = [client(tpkt(b'\x11\xe0\0\0\0\1\0\xc1\2\1\0\xc2\2\1\2\xc0\1\x0a')),
           server(tpkt(b'\x11\xd0\0\1\0\2\0\xc1\2\1\0\xc2\2\1\2\xc0\1\x0a'))]
controller_7 = tcp(102, *CONNECT, client(s7(0x31, 0x4bb, b'EXPLORE-DATA')), server(s7(0x32, 0x4bb, b'ANSWER')),
                   server(s7(0x33, 0x1000, b'NEWS', 3, b'\x20' + bytes(32))))
controller_7_rules = [
    (1, rule('s7commplus_opcode:request;', 's7commplus')),
    (1, rule('s7commplus_opcode:0x32; flow:to_client;', 's7commplus')),
    (1, rule('s7commplus_opcode:notification; s7commplus_func:4096;', 's7commplus')),
    (0, rule('s7commplus_opcode:response2;', 's7commplus')),
    (2, rule('s7commplus_func:explore;', 's7commplus')),
    (1, rule('s7commplus_func:1211; flow:to_server;', 'tcp')),
    (0, rule('s7commplus_func:invoke;', 's7commplus')),
    (1, rule('s7commplus_content; content:"|31 00 00 04 bb|"; startswith; content:"EXPLORE-DATA";', 's7commplus')),
    (0, rule('s7commplus_content; content:"|03 00|"; startswith;', 's7commplus')),
    (0, rule('app-layer-event:s7commplus.invalid_tpkt;', 's7commplus')),
    (0, rule('app-layer-event:s7commplus.invalid_length;', 's7commplus')),
]
controller_7_events = ['1 event_type=s7commplus sluice.s7commplus.opcode=request sluice.s7commplus.function=explore '
                       'sluice.s7commplus.version=2 sluice.s7commplus.function_code=1211 sluice.s7commplus.length=23',
                       '1 event_type=s7commplus sluice.s7commplus.opcode=notification sluice.s7commplus.function=']
faults_7 = tcp(102, *CONNECT, client(s7(0x31, 0x4bb, b'') + tpkt(b'\2\xf0\x80\x72\1\0\x09') + b'\2\0\0\7xyz'))

# --- DNP3: floating-point points

values = tcp(20000, client(SELECT), server(frame(b'\xc1\x81\0\0\x1e\5\0\0\0\1' + struct.pack('<f', -1.5) +
                                                 b'\x1e\6\0\0\0\1' + struct.pack('<d', 1e300), 0x44)))


# --- DNP3: file objects, whose points are preceded by their size


def file_object(variation, point):
    return bytes([70, variation, 0x5b, 1]) + struct.pack('<H', len(point)) + point


OPEN = struct.pack('<HH6sHIIHHH', 26, 6, bytes(6), 0x1ff, 9, 5, 2, 1024, 7) + b'/a.xmlzz'
BLOCK = struct.pack('<II', 0x12345678, 0x80000000) + b'data'
STATUS = struct.pack('<IIHHB', 0x12345678, 5, 1024, 7, 0) + b'ok'
files = tcp(20000, client(frame(b'\xc1\x19' + file_object(3, OPEN) + file_object(8, b'/b'))),
            server(frame(b'\xc1\x81\0\0' + file_object(4, STATUS), 0x44)),
            client(frame(b'\xc2\x1d' + file_object(2, struct.pack('<HHHHI', 12, 2, 14, 3, 1) + b'mepwd'))),
            client(frame(b'\xc3\2' + file_object(5, BLOCK))),
            client(frame(b'\xc4\2' + file_object(5, BLOCK[:7]))), # shorter than its fields
            client(frame(b'\xc5\2' + b'\x46\6\7\1' + BLOCK)), # without a size
            client(frame(b'\xc6\2\x6e\5\7\1abcde')), # octet string
            client(frame(b'\xc7\1\x3c\2\x0d'))) # reserved range code
files_rules = [
    (1, rule('dnp3.obj:70,3;', 'dnp3')),
    (1, rule('dnp3.obj:70,8;', 'dnp3')),
    (1, rule('dnp3.obj:70,4; flow:to_client;', 'dnp3')),
    (2, rule('dnp3.obj:70,5;', 'dnp3')),
    (1, rule('dnp3.obj:110,5;', 'dnp3')),
    (1, rule('dnp3.obj:60,2;', 'dnp3')),
    (1, rule('app-layer-event:dnp3.unknown_object;', 'dnp3')),
    (0, rule('dnp3.obj:70,1;', 'dnp3')),
]
POINT = 'dnp3.application.objects.0.points.0'
files_events = [
    f'1 event_type=dnp3 dnp3.application.complete=true {POINT}.size=34 {POINT}.index=0 {POINT}.filename=/a.xml '
    f'{POINT}.filename_size=6 {POINT}.authentication_key=9 dnp3.application.objects.1.points.0.file_specification=/b',
    f'1 event_type=dnp3 dnp3.application.complete=true {POINT}.file_handle=305419896 {POINT}.optional_text=ok',
    f'1 event_type=dnp3 dnp3.application.complete=true {POINT}.username=me {POINT}.password=pwd',
    f'1 event_type=dnp3 dnp3.application.complete=true {POINT}.block_number=2147483648 {POINT}.file_data=data',
    '1 event_type=dnp3 dnp3.application.complete=false dnp3.application.objects.0.variation=6',
]

cases = {
    'modbus': (exchange, exchange_rules),
    'modbus_mistakes': (mistakes, mistake_rules),
    'modbus_flood': (tcp(502, client(modbus(17, b'') * 501)), [(1, rule('app-layer-event:modbus.flooded;')),
                                                               (0, rule('modbus: function 1;'))]),
    'enip': (controller, controller_rules),
    'enip_udp': (udp(44818, *LISTS), [
        (1, rule('app-layer-protocol:enip; enip.command:list_services; flow:to_server;', 'udp')),
        (0, rule('enip.cip_class:1;', 'enip'))]),
    'enip_faults': (tcp(44818, *LISTS, client(enip(0x6f, cip(b'\x0e\x09'))), client(enip(4) * 1025)), [
        (1, rule('app-layer-event:enip.invalid_pdu;', 'enip')),
        (1, rule('app-layer-event:enip.too_many_transactions; flow:to_server; threshold:type limit, track by_flow, '
                 'count 1, seconds 60;', 'enip')),
        (0, rule('enip.command:cancel;', 'enip'))]),
    'iec104': Case(substation, substation_rules, events=substation_events),
    'iec104_faults': (station_faults, station_faults_rules),
    's7commplus': Case(controller_7, controller_7_rules, events=controller_7_events),
    's7commplus_faults': (faults_7, [(1, rule('app-layer-event:s7commplus.invalid_length;', 's7commplus')),
                                     (1, rule('app-layer-event:s7commplus.invalid_tpkt;', 's7commplus')),
                                     (1, rule('s7commplus_func:explore;', 's7commplus')),
                                     (0, rule('s7commplus_func:0;', 's7commplus'))]),
    's7comm': (tcp(102, *CONNECT, client(tpkt(b'\2\xf0\x80\x32\1' + bytes(8)))),
               [(0, rule('flow:to_server;', 's7commplus')), (1, rule('content:"|32 01|"; flow:to_server;', 'tcp'))]),
    'dnp3': (outstation, outstation_rules),
    'dnp3_values': Case(values, [(1, rule('dnp3.obj:30,5;', 'dnp3')), (0, rule('dnp3.obj:30,4;', 'dnp3'))], events=[
        '1 event_type=dnp3 dnp3.type=response dnp3.application.objects.0.points.0.value=-1.5 '
        'dnp3.application.objects.1.points.0.value=1e+300']),
    'dnp3_files': Case(files, files_rules, events=files_events),
    'dnp3_faults': (faults, [(1, rule(f'app-layer-event:dnp3.{event};', 'dnp3')) for event in
                             ('bad_link_crc', 'bad_transport_crc', 'len_too_small', 'unknown_object',
                              'too_many_points')] + [(0, rule('app-layer-event:dnp3.too_many_objects;', 'dnp3'))]),
    'dnp3_flood': (tcp(20000, client(SELECT * 33)), [(1, rule('app-layer-event:dnp3.flooded;', 'dnp3')),
                                                     (0, rule('app-layer-event:dnp3.unknown_object;', 'dnp3'))]),
    'dnp3_long': (long_message, [(1, rule('app-layer-event:dnp3.too_long_reassembly;', 'dnp3')),
                                 (0, rule('dnp3.func:0;', 'dnp3'))]),
}
