# SPDX-License-Identifier: GPL-2.0-or-later
"""S7comm: variables, blocks, control of the controller, user data, PDUs in several packets, and faults."""
import struct

from build import Case, client, server, tcp

JOB, ACK, ACK_DATA, USERDATA = 1, 2, 3, 7


def rule(options, protocol='s7comm'):
    return f'alert {protocol} any any -> any any ({options})'


def tpkt(data):
    return struct.pack('!BBH', 3, 0, 4 + len(data)) + data


def transport(data, last=True):
    return tpkt(b'\2\xf0' + (b'\x80' if last else b'\0') + data)


def pdu(kind, parameters, data=b'', reference=5, error=(0, 0)):
    return struct.pack('!BBHHHH', 0x32, kind, 0, reference, len(parameters), len(data)) + \
        (bytes(error) if kind in (ACK, ACK_DATA) else b'') + parameters + data


def s7(*arguments, **options):
    return transport(pdu(*arguments, **options))


def variable(area, address, db=0, count=1, kind=2, bit=0):
    return b'\x12\x0a\x10' + struct.pack('!BHHI', kind, count, db, area << 24 | address << 3 | bit)


def variables(function, *items):
    return bytes([function, len(items)]) + b''.join(items)


def block(function, name):
    return bytes([function]) + bytes(7) + bytes([len(name)]) + name


CONNECT = [client(tpkt(b'\x11\xe0\0\0\0\1\0\xc1\2\1\0\xc2\2\1\2\xc0\1\x0a')),
           server(tpkt(b'\x11\xd0\0\1\0\2\0\xc1\2\1\0\xc2\2\1\2\xc0\1\x0a')),
           client(s7(JOB, b'\xf0\0\0\1\0\1\1\xe0', reference=0)),
           server(s7(ACK_DATA, b'\xf0\0\0\1\0\1\0\xf0', reference=0))]
DB_READ = b'\x12\x07\xb0\x01\x04' + struct.pack('!HH', 9, 40)
READ = s7(JOB, variables(4, variable(0x84, 10, 7, 4), DB_READ + b'\0', variable(0x83, 3, kind=1, bit=5)), reference=6)
WRITE = s7(JOB, variables(5, variable(0x84, 100, 8, 5, kind=4)), b'\0\4\0\x50' + b'VALUE-1234', reference=7)
controller = tcp(102, *CONNECT, client(READ), server(s7(ACK_DATA, b'\4\3', b'\xff\4\0\x20DATA', reference=6)),
                 client(WRITE), server(s7(ACK_DATA, b'\5\1', b'\x05', reference=7)),
                 client(s7(JOB, variables(4, variable(0x1d, 0, count=2)), reference=8)),
                 server(s7(ACK_DATA, b'\4', reference=8, error=(0x85, 0))))
controller_rules = [
    (4, rule('s7comm.rosctr:job;')),
    (4, rule('s7comm.rosctr:3; flow:to_client;')),
    (0, rule('s7comm.rosctr:userdata;')),
    (2, rule('s7comm.function:setup_communication;')),
    (1, rule('s7comm.function:write_var; flow:to_server;', 'tcp')),
    (2, rule('s7comm.function:4; s7comm.rosctr:ack_data;')),
    (0, rule('s7comm.function:plc_stop;')),
    (2, rule('s7comm.pdu_reference:7;')),
    (0, rule('s7comm.pdu_reference:9;')),
    (1, rule('s7comm.item:db 7; s7comm.item:area flags;')),
    (1, rule('s7comm.item:area db, db 9, address 43;')),
    (0, rule('s7comm.item:db 9, address 44;')),
    (0, rule('s7comm.item:area flags, db 7;')),
    (1, rule('s7comm.item:db 8, address 108-111;')),
    (0, rule('s7comm.item:db 8, address >109;')),
    (1, rule('s7comm.item:db 8, address !99-109;')),
    (0, rule('s7comm.item:db 8, address !99-111;')),
    (1, rule('s7comm.item:area 0x1d, address 1;')),
    (0, rule('s7comm.item:area timers, db 0;')),
    (2, rule('s7comm.item:area db;')),
    (1, rule('s7comm.content; content:"VALUE-1234"; endswith; content:"|05 01|"; startswith;')),
    (0, rule('s7comm.content; content:"|32 01|"; startswith;')),
    (1, rule('s7comm.error_class:supplies; s7comm.error_code:0;')),
    (0, rule('s7comm.error_class:access;')),
    (0, rule('s7comm.error_code:1;')),
    (0, rule('app-layer-event:s7comm.invalid_parameter;')),
    (0, rule('app-layer-event:s7comm.invalid_length;')),
    (0, rule('flow:to_server;', 's7commplus')),
]
controller_events = [
    '1 event_type=s7comm sluice.s7comm.function=read_var sluice.s7comm.rosctr=job sluice.s7comm.pdu_reference=6 '
    'sluice.s7comm.item_count=3 sluice.s7comm.items.0.area=db sluice.s7comm.items.0.db=7 '
    'sluice.s7comm.items.0.address=10 sluice.s7comm.items.0.count=4 sluice.s7comm.items.1.db=9 '
    'sluice.s7comm.items.2.area=flags sluice.s7comm.items.2.bit=5 sluice.s7comm.items.2.db=',
    '2 event_type=s7comm sluice.s7comm.function_code=5 sluice.s7comm.pdu_reference=7',
    '1 event_type=s7comm sluice.s7comm.rosctr=ack_data sluice.s7comm.error_class=133 sluice.s7comm.error_code=0',
    '1 event_type=s7comm sluice.s7comm.pdu_length=480']

# --- Blocks, start and stop, user data; a PDU in three packets

START = s7(JOB, b'\x28' + bytes(6) + b'\xfd' + struct.pack('!H', 2) + b'C \x09P_PROGRAM', reference=9)
DELETE = s7(JOB, b'\x28' + bytes(6) + b'\xfd' + struct.pack('!H', 10) + b'\1\x000800001B\x05_DELE')
STOP = pdu(JOB, b'\x29' + bytes(5) + b'\x09P_PROGRAM', reference=10)
PARTS = transport(STOP[:5], False) + transport(STOP[5:12], False) + transport(STOP[12:])
LIST = s7(USERDATA, b'\0\1\x12\4\x11\x44\1\0', b'\xff\x09\0\4\1\x31\0\1', reference=11)
LISTED = s7(USERDATA, b'\0\1\x12\x08\x12\x84\1\1\0\0\xd4\1', b'\x0a\0\0\0', reference=11)
CONTROL = [*CONNECT, client(s7(JOB, block(0x1a, b'_0A00001P') + b'\x0d1000126000064')), server(s7(ACK_DATA, b'\x1a')),
           server(s7(JOB, block(0x1b, b'_0A00001P'))), client(s7(ACK_DATA, b'\x1b\0', b'\0\4\0\xfbBLOCK')),
           server(s7(JOB, block(0x1c, b'_0A00001P'))), client(s7(ACK_DATA, b'\x1c')),
           client(s7(JOB, block(0x1d, b'_0800001A'))), server(s7(ACK_DATA, b'\x1d' + bytes(7) + b'\x070000064')),
           client(s7(JOB, b'\x1e' + bytes(7))), client(s7(JOB, b'\x1f' + bytes(7))), client(START), client(DELETE),
           client(PARTS), client(LIST), server(LISTED), server(s7(ACK, b'', error=(0x81, 4)))]
control = tcp(102, *CONTROL)
control_rules = [
    (3, rule('s7comm.block; content:"_0A00001P"; bsize:9;')),
    (1, rule('s7comm.block; content:"_08"; startswith; s7comm.function:start_upload;')),
    (0, rule('s7comm.block; content:"P_PROGRAM";')),
    (1, rule('s7comm.service; content:"P_PROGRAM"; bsize:9; s7comm.function:plc_control;')),
    (1, rule('s7comm.service; content:"P_PROGRAM"; s7comm.function:plc_stop;')),
    (1, rule('s7comm.service; content:"_DELE";')),
    (0, rule('s7comm.service; content:"_0A";')),
    (2, rule('s7comm.userdata_group:cpu;')),
    (0, rule('s7comm.userdata_group:security;')),
    (2, rule('s7comm.userdata_subfunction:1;')),
    (0, rule('s7comm.userdata_subfunction:2;')),
    (1, rule('s7comm.error_class:0xd4; s7comm.error_code:1;')),
    (1, rule('s7comm.rosctr:ack; s7comm.error_class:application_relationship;')),
    (0, rule('app-layer-event:s7comm.invalid_parameter;')),
]
control_events = [
    '1 event_type=s7comm sluice.s7comm.function=plc_stop sluice.s7comm.service=P_PROGRAM sluice.s7comm.pdu_reference=10',
    '1 event_type=s7comm sluice.s7comm.function=start_upload sluice.s7comm.block=_0800001A',
    '1 event_type=s7comm sluice.s7comm.userdata.type=request sluice.s7comm.userdata.group=cpu '
    'sluice.s7comm.userdata.subfunction=1',
    '1 event_type=s7comm sluice.s7comm.userdata.type=response sluice.s7comm.error_class=212']

# --- Faults

BAD = [
    ('invalid_tpkt', b'\2\0\0\x07\2\xf0\x80'),
    ('invalid_protocol', transport(b'\x72\1\0\0' + bytes(8))),
    ('invalid_rosctr', s7(4, b'\4\0')),
    ('invalid_length', transport(pdu(JOB, b'\4\0') + b'x')),
    ('invalid_length', transport(pdu(JOB, b'\4\0', b'data')[:-5])),
    ('invalid_length', transport(b'\x32\1')),
    ('invalid_parameter', s7(JOB, variables(4, variable(0x84, 1, 1))[:-1])),
    ('invalid_parameter', s7(JOB, block(0x1a, b'_0A00001P')[:-1])),
    ('invalid_parameter', s7(USERDATA, b'\0\1\x12\4')),
    ('too_long', transport(pdu(JOB, b'\4\0') + bytes(40000), False) + transport(bytes(40000))),
]
faults = [packet for port, (_, data) in enumerate(BAD) for packet in
          tcp(102, *CONNECT, client(data), client_port=40400 + port)]
faults_rules = [(sum(other == name for other, _ in BAD), rule(f'app-layer-event:s7comm.{name};'))
                for name in sorted({name for name, _ in BAD})] + [(0, rule('s7comm.function:write_var;'))]

cases = {
    's7comm': Case(controller, controller_rules, events=controller_events),
    's7comm_control': Case(control, control_rules, events=control_events),
    's7comm_faults': (faults, faults_rules),
    's7comm_other_port': (tcp(9999, *CONNECT), [(0, rule('flow:to_server;')),
                                                (4, rule('dsize:>0;', 'tcp'))]),
}
