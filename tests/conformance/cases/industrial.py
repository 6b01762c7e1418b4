# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols of industrial control systems."""
import struct

from build import client, server, tcp


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

cases = {
    'modbus': (exchange, exchange_rules),
    'modbus_mistakes': (mistakes, mistake_rules),
    'modbus_flood': (tcp(502, client(modbus(17, b'') * 501)), [(1, rule('app-layer-event:modbus.flooded;')),
                                                               (0, rule('modbus: function 1;'))]),
}
