# SPDX-License-Identifier: GPL-2.0-or-later
"""WebSocket: the upgrade, frames, fragmented and compressed messages, limits, and other protocols after an upgrade."""
import struct
import zlib

from build import client, request, server, tcp

FIN, RSV1, CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x80, 0x40, 0, 1, 2, 8, 9, 10
MASK = bytes.fromhex('12345678')
UPGRADE = [
    request('GET /chat HTTP/1.1', Upgrade='websocket', Connection='Upgrade', Sec_WebSocket_Version='13',
            Sec_WebSocket_Key='dGhlIHNhbXBsZSBub25jZQ=='),
    server(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
           b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n')]


def frame(payload, opcode=TEXT, flags=FIN, mask=None):
    length = struct.pack('!B', len(payload)) if len(payload) < 126 else \
        struct.pack('!BH', 126, len(payload)) if len(payload) < 65536 else struct.pack('!BQ', 127, len(payload))
    head = bytes([flags | opcode, length[0] | (0x80 if mask else 0)]) + length[1:]
    if not mask:
        return head + payload
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def from_client(payload, opcode=TEXT, flags=FIN):
    return client(frame(payload, opcode, flags, MASK))


def from_server(payload, opcode=TEXT, flags=FIN):
    return server(frame(payload, opcode, flags))


def deflater():
    """A function that compresses messages with one window (permessage-deflate with context takeover)."""
    context = zlib.compressobj(wbits=-15)

    def deflate(payload):
        return (context.compress(payload) + context.flush(zlib.Z_SYNC_FLUSH))[:-4]

    return deflate


def rule(options):
    return f'alert websocket any any -> any any ({options})'


messages = tcp(80, *UPGRADE, from_client(b'hello server'), from_server(b'hello client'),
               from_client(b'one frame of ', flags=0), from_client(b'are you there', PING), from_server(b'yes', PONG),
               from_client(b'three ', CONTINUATION, 0), from_client(b'frames', CONTINUATION),
               from_server(b'', 3), from_client(struct.pack('!H', 1000) + b'bye', CLOSE))
message_rules = [
    (1, rule('flow:to_server; websocket.payload; content:"hello server"; bsize:12;')),
    (1, rule('flow:to_client; websocket.payload; content:"hello client"; startswith;')),
    (0, rule('flow:to_client; websocket.payload; content:"server";')),
    (1, rule('websocket.payload; content:"one frame of three frames"; bsize:25;')),
    (1, rule('websocket.payload; content:"of three"; websocket.opcode:continuation;')),
    (2, rule('websocket.payload; content:"three"; websocket.opcode:0;')),
    (0, rule('websocket.payload; content:"of are"; ')),
    (1, rule('websocket.payload; content:"are you there"; bsize:13; websocket.opcode:ping;')),
    (1, rule('websocket.opcode:pong; websocket.flags:fin,!comp;')),
    (1, rule('websocket.opcode:close; websocket.payload; content:"|03 e8|bye";')),
    (1, rule('websocket.opcode:connection_close; websocket.payload; content:"|03 e8|bye";')),
    (2, rule('websocket.opcode:2<>9;')),
    (0, rule('websocket.opcode:binary;')),
    (3, rule('websocket.mask:0x12345678; websocket.opcode:!text; websocket.flags:fin;')),
    (6, rule('websocket.mask:>0;')),
    (0, rule('websocket.mask:1;')),
    (2, rule('websocket.flags:!fin;')),
    (7, rule('websocket.flags:&0x80=0x80;')),
    (7, rule('websocket.flags:128;')),
    (0, rule('websocket.flags:comp;')),
    (1, 'alert http any any -> any any (http.uri; content:"/chat";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:websocket; content:"hello client"; flow:to_client;)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:http,original; content:"hello client"; flow:to_client;)'),
]

# The second message refers to the first one. The last one of the client is marked as compressed, but is not.
deflate, deflate_server = deflater(), deflater()
first, second = deflate(b'the quick brown fox jumps'), deflate(b'the quick brown fox sleeps')
whole = deflate_server(b'compressed in two frames')
compressed = tcp(80, *UPGRADE, from_client(first, flags=FIN | RSV1), from_client(second, BINARY, FIN | RSV1),
                 from_server(whole[:7], flags=RSV1), from_server(b'', PING), from_server(whole[7:], CONTINUATION),
                 from_client(b'\xff plain text', flags=FIN | RSV1))
compressed_rules = [
    (1, rule('websocket.payload; content:"the quick brown fox jumps"; bsize:25; websocket.flags:fin,comp;')),
    (1, rule('websocket.payload; content:"the quick brown fox sleeps"; bsize:26; websocket.opcode:binary;')),
    (1, rule('websocket.payload; content:"compressed in two frames"; bsize:24;')),
    (0, rule('websocket.payload; content:"quick"; flow:to_client;')),
    (1, rule('app-layer-event:websocket.invalid_compressed_data; websocket.payload; content:"plain text"; endswith;')),
    (0, rule('app-layer-event:websocket.invalid_compressed_data; flow:to_client;')),
]

# A frame of more than max-payload-size bytes, a message, and frames after them.
LIMIT = '--set=app-layer.protocols.websocket.max-payload-size=1000'
limits = tcp(80, *UPGRADE, from_client(b'a' * 990 + b'inside' + b'b' * 4 + b'outside'), from_client(b'after a frame'),
             from_client(b'c' * 600, flags=0), from_client(b'd' * 600, CONTINUATION, 0),
             from_client(b'the end', CONTINUATION), from_client(b'after a message'))
limit_rules = [
    (1, rule('app-layer-event:websocket.skip_end_of_payload; flow:to_server;')),
    (0, rule('app-layer-event:websocket.skip_end_of_payload; flow:to_client;')),
    (1, rule('app-layer-event:websocket.reassembly_limit_reached; flow:to_server;')),
    (0, rule('app-layer-event:websocket.reassembly_limit_reached; websocket.payload; content:"a";')),
    (1, rule('websocket.payload; content:"inside"; bsize:1000;')),
    (0, rule('websocket.payload; content:"outside";')),
    (1, rule('websocket.payload; content:"after a frame"; bsize:13;')),
    (1, rule('websocket.payload; content:"the end"; bsize:7;')),
    (1, rule('websocket.payload; content:"after a message"; bsize:15;')),
]

# After the upgrade the client sends something else. With WebSocket disabled that is not an anomaly.
other = tcp(80, *UPGRADE, client(b'\x31\x32 not a frame'), server(b'\x31\x32 neither'))
UNEXPECTED = 'alert tcp any any -> any any (app-layer-event:applayer_unexpected_protocol;)'

cases = {
    'messages': (messages, message_rules, {}, ['--set', 'eve.types=[alert, flow, websocket]'], [
        '9 event_type=websocket', '1 event_type=websocket websocket.opcode=unknown-3',
        '2 event_type=websocket websocket.fin=false', '6 event_type=websocket websocket.mask=305419896',
        '1 event_type=flow app_proto=websocket app_proto_orig=http']),
    'compressed': (compressed, compressed_rules),
    'limits': (limits, limit_rules, {}, [LIMIT]),
    'other': (other, [(1, UNEXPECTED), (0, rule('websocket.payload; content:"frame";'))]),
    'disabled': (other + tcp(80, *UPGRADE, from_client(b'hello'), client_port=40001), [
        (0, UNEXPECTED), (0, rule('websocket.payload; content:"hello";')),
        (1, 'alert tcp any any -> any any (content:"not a frame";)')], {},
        ['--set=app-layer.protocols.websocket.enabled=no']),
}
