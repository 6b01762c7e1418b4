# SPDX-License-Identifier: GPL-2.0-or-later
"""Messaging: MQTT in all versions, its keywords and events."""
from build import client, mqtt, mqtt_connect, mqtt_publish, server, tcp, vector


def rule(options):
    return f'alert mqtt any any -> any any ({options})'


def topics(*names, qos=1):
    return b''.join(vector(2, name.encode()) + (bytes([qos]) if qos is not None else b'') for name in names)


CONNACK = server(mqtt(0x20, b'\0\0', b'\x03\x22\0\x0a'))
OLD_CONNACK = server(mqtt(0x20, b'\1\0'))
packets = tcp(
    1883, client(mqtt_connect()), CONNACK,
    client(mqtt_publish('plant/one', b'temperature 20') + mqtt_publish('plant/two', b'pressure 3', 2, 7, 8)),
    server(mqtt(0x50, b'\0\7')), client(mqtt(0x62, b'\0\7')), server(mqtt(0x70, b'\0\7\x92')),
    client(mqtt(0x82, b'\0\1\0', topics('first/#', 'second/+'))), server(mqtt(0x90, b'\0\1\0', b'\1\1')),
    server(mqtt_publish('first/x', b'from the broker', 1, 9)), client(mqtt(0x40, b'\0\x09\x10\0')),
    client(mqtt(0xa2, b'\0\2\0', topics('first/#', 'third', qos=None))), server(mqtt(0xb0, b'\0\2\0', b'\0\x11')),
    client(mqtt(0xc0)), server(mqtt(0xd0)), client(mqtt(0xe0, b'\4'))) + \
    tcp(8883, client(mqtt_connect('old', '', '', None, 3, 0)), OLD_CONNACK, client(mqtt(0xe0)), client_port=40001)
rules = [
    (1, rule('mqtt.connect.clientid; content:"client"; bsize:6;')),
    (0, rule('mqtt.connect.clientid; content:"user";')),
    (1, rule('mqtt.connect.username; content:"user"; bsize:4;')),
    (0, rule('mqtt.connect.username; content:"secret";')),
    (1, rule('mqtt.connect.password; content:"secret"; bsize:6;')),
    (0, rule('mqtt.connect.password; content:"user";')),
    (1, rule('mqtt.connect.protocol_string; content:"MQIsdp"; bsize:6;')),
    (0, rule('mqtt.connect.protocol_string; content:"client";')),
    (1, rule('mqtt.connect.willtopic; content:"will/topic"; bsize:10;')),
    (0, rule('mqtt.connect.willtopic; content:"gone";')),
    (1, rule('mqtt.connect.willmessage; content:"gone"; bsize:4;')),
    (0, rule('mqtt.connect.willmessage; content:"will";')),
    (2, rule('mqtt.publish.topic; content:"plant/"; startswith;')),
    (0, rule('mqtt.publish.topic; content:"second";')),
    (1, rule('mqtt.publish.message; content:"pressure 3"; bsize:10;')),
    (1, rule('flow:to_client; mqtt.publish.message; content:"broker";')),
    (0, rule('mqtt.publish.message; content:"gone";')),
    (1, rule('mqtt.subscribe.topic; content:"second/+"; bsize:8;')),
    (0, rule('mqtt.subscribe.topic; content:"third";')),
    (1, rule('mqtt.unsubscribe.topic; content:"third"; bsize:5;')),
    (0, rule('mqtt.unsubscribe.topic; content:"second";')),
    (3, rule('mqtt.type:PUBLISH;')),
    (1, rule('mqtt.type:pubrel;')),
    (1, rule('mqtt.type:PUBREC; mqtt.qos:0;')),
    (1, rule('flow:to_client; mqtt.type:PUBLISH,0; mqtt.type:PUBCOMP,3;')),
    (0, rule('mqtt.type:AUTH;')),
    (0, rule('mqtt.type:CONNECT,1;')),
    (1, rule('mqtt.flags:dup,!retain;')),
    (0, rule('mqtt.flags:retain;')),
    (1, rule('mqtt.type:PUBLISH; mqtt.qos:2;')),
    (0, rule('mqtt.qos:3;')),
    (1, rule('mqtt.protocol_version:3; mqtt.type:CONNECT;')),
    (0, rule('mqtt.protocol_version:4;')),
    (1, rule('mqtt.reason_code:17; mqtt.type:UNSUBACK;')),
    (1, rule('mqtt.reason_code:>145; mqtt.type:PUBCOMP;')),
    (1, rule('mqtt.reason_code:4; mqtt.type:DISCONNECT;')),
    (1, rule('mqtt.reason_code:16; mqtt.type:PUBACK;')),
    (0, rule('mqtt.reason_code:5;')),
    (1, rule('mqtt.connect.flags:username,password,will,clean_session,!will_retain;')),
    (0, rule('mqtt.connect.flags:will_retain;')),
    (1, rule('mqtt.connack.session_present:yes;')),
    (1, rule('mqtt.connack.session_present:false;')),
    (0, rule('mqtt.connack.session_present:yes; mqtt.protocol_version:5;')),
    (2, rule('mqtt.connack.return_code:0;')),
    (0, rule('mqtt.connack.return_code:>0;')),
    (0, rule('app-layer-event:mqtt.unintroduced_message;')),
    (0, rule('app-layer-event:mqtt.malformed_traffic;')),
]
events = ['1 event_type=mqtt mqtt.connect.client_id=client mqtt.connect.password=secret mqtt.connect.will.topic=will/topic '
          'mqtt.connect.properties.receive_maximum=20 mqtt.connack.return_code=0',
          '1 event_type=mqtt mqtt.publish.topic=plant/one mqtt.puback.message_id=',
          '1 event_type=mqtt mqtt.publish.topic=plant/two mqtt.pubrec.message_id=7 mqtt.pubrel.message_id=7 '
          'mqtt.pubcomp.reason_code=146',
          '1 event_type=mqtt mqtt.publish.topic=first/x src_port=1883 mqtt.puback.reason_code=16',
          '1 event_type=mqtt mqtt.subscribe.message_id=1 mqtt.suback.message_id=1',
          '1 event_type=mqtt mqtt.unsubscribe.message_id=2 mqtt.unsuback.message_id=2',
          '1 event_type=mqtt mqtt.disconnect.reason_code=4', '1 event_type=mqtt mqtt.pingreq.qos=0',
          '1 event_type=mqtt mqtt.pingresp.qos=0']


def event(name, direction='to_server'):
    return rule(f'app-layer-event:mqtt.{name}; flow:{direction};')


odd = tcp(1883, client(mqtt_connect()), CONNACK, client(mqtt_connect()), client(mqtt(0x40, b'\0\1')),
          server(mqtt(0x90, b'\0\1\0', b'\1') + mqtt(0xb0, b'\0\1\0', b'\0')), client(b'\0\0'),
          client(mqtt(0x36, vector(2, b'topic'), b'\0\1\0', b'text')), client(mqtt(0x82, b'\0\1\0', b'\0\x09short'))) + \
    tcp(1883, client(mqtt_connect()), client(mqtt_publish('early', b'')), client_port=40001) + \
    tcp(1883, client(mqtt(0xc0)), server(mqtt(0x20, b'\0\0')), client_port=40002)
odd_rules = [
    (1, event('double_connect')),
    (1, event('missing_publish')),
    (1, event('missing_subscribe', 'to_client')),
    (1, event('missing_unsubscribe', 'to_client')),
    (1, event('unassigned_msg_type')),
    (1, event('invalid_qos_level')),
    (1, event('malformed_traffic')),
    (2, event('unintroduced_message')),
    (1, event('missing_connect', 'to_client')),
    (0, event('missing_msg_id')),
    (0, event('too_many_transactions')),
    (0, event('too_many_messages')),
]
many = tcp(1883, client(mqtt_connect()), CONNACK,
           client(b''.join(mqtt_publish('topic', b'', 1, number) for number in range(1, 5))),
           client(mqtt_publish('topic', b'', 2, 9)), server(mqtt(0x50, b'\0\x09') * 70))
many_rules = [
    (1, event('too_many_messages', 'to_client')),
    (2, event('too_many_transactions')),
    (0, event('malformed_traffic')),
]
cases = {
    'mqtt': (packets, rules, {}, [], events),
    'mqtt_in_pieces': (tcp(1883, client(mqtt_connect()), CONNACK, client(mqtt_publish('topic', b'in pieces')), cut=1), [
        (1, rule('mqtt.publish.message; content:"in pieces"; bsize:9;')), (0, rule('mqtt.qos:1;'))]),
    'mqtt_events': (odd, odd_rules),
    'mqtt_many': (many, many_rules, {}, ['--set', 'app-layer.protocols.mqtt.max-tx=3']),
    'mqtt_long': (tcp(1883, client(mqtt_connect()), CONNACK, client(mqtt_publish('topic', b'long' * 100)),
                      client(mqtt_publish('topic', b'short'))), [
        (1, rule('mqtt.publish.message; content:"short";')), (0, rule('mqtt.publish.message; content:"long";'))], {},
        ['--set', 'app-layer.protocols.mqtt.max-msg-length=100'],
        ['1 event_type=mqtt mqtt.publish.truncated=true mqtt.publish.skipped_length=411']),
}
