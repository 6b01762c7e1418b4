# SPDX-License-Identifier: GPL-2.0-or-later
"""RTSP: requests, responses, bodies, interleaved frames, a request of the server, and messages that are not valid."""
import struct

from build import Case, client, server, tcp

URI = 'rtsp://192.0.2.1/stream'


def message(start, *headers, body=b''):
    lines = [start, *headers, *([f'Content-Length: {len(body)}'] if body else [])]
    return ('\r\n'.join(lines) + '\r\n\r\n').encode() + body


def frame(data):
    return b'$\0' + struct.pack('!H', len(data)) + data


session = tcp(
    554, client(message('OPTIONS * RTSP/1.0', 'CSeq: 1')), server(message('RTSP/1.0 200 OK', 'CSeq: 1', 'Public: PLAY')),
    client(message(f'DESCRIBE {URI} RTSP/1.0', 'CSeq: 2', 'User-Agent: player')),
    server(message('RTSP/1.0 200 OK', 'CSeq: 2', body=b'v=0\r\nDESCRIBE rtsp://other RTSP/1.0\r\n\r\n')),
    client(message(f'PLAY {URI} RTSP/1.0', 'CSeq: 3')),
    server(message('RTSP/1.0 454 Session Not Found', 'CSeq: 3') + frame(b'media') +
           message(f'ANNOUNCE {URI} RTSP/1.0', 'CSeq: 4')),
    client(frame(b'\r\n\r\n') + message('RTSP/1.0 200 OK', 'CSeq: 4')))


def rule(options, protocol='rtsp'):
    return f'alert {protocol} any any -> any any ({options})'


session_rules = [
    (1, rule('rtsp.method; content:"OPTIONS"; bsize:7; rtsp.uri; content:"*"; bsize:1;')),
    (1, rule('rtsp.method; content:"DESCRIBE"; flow:to_server;')),
    (0, rule('rtsp.method; content:"DESCRIBE"; flow:to_client;')),
    (1, rule('rtsp.method; content:"ANNOUNCE"; flow:to_client;')),
    (3, rule(f'rtsp.uri; content:"{URI}"; bsize:{len(URI)};')),
    (0, rule('rtsp.uri; content:"other";')),
    (1, rule('rtsp.stat_code; content:"454"; bsize:3;')),
    (2, rule('rtsp.stat_code; content:"200"; flow:to_client;')),
    (0, rule('rtsp.stat_code; content:"404";')),
    (1, rule('rtsp.header; content:"User-Agent: player"; bsize:18;')),
    (2, rule('rtsp.header; content:"CSeq: 2";')),
    (0, rule('rtsp.header; content:"v=0";')),
    (0, rule('app-layer-event:rtsp.invalid_data;')),
    (1, rule('app-layer-protocol:rtsp; rtsp.method; content:"PLAY";', 'tcp')),
    (0, rule('content:"RTSP";', 'http')),
]
session_events = ['1 event_type=rtsp sluice.rtsp.method=PLAY sluice.rtsp.code= sluice.rtsp.version=RTSP/1.0',
                  '1 event_type=rtsp sluice.rtsp.code=454 sluice.rtsp.uri=',
                  '8 event_type=rtsp sluice.rtsp.version=RTSP/1.0']

faults = [packet for port, head in enumerate([
    message('DESCRIBE rtsp://a HTTP/1.0'), message('RTSP/1.0 20 OK'),
    message('PLAY rtsp://a RTSP/1.0', 'Content-Length: 0x10'),
    message('PLAY rtsp://a RTSP/1.0', 'Content-Length: 1', 'Content-Length: 2'),
    message('PLAY rtsp://a RTSP/1.0', *['a: b'] * 129)]) for packet in
    tcp(8554, client(message('SETUP rtsp://a RTSP/1.0')), client(head), client_port=40100 + port)]
faults_rules = [
    (5, rule('app-layer-event:rtsp.invalid_data;')),
    (5, rule('rtsp.method; content:"SETUP";')),
    (3, rule('rtsp.method; content:"PLAY";')),
    (0, rule('rtsp.method; content:"DESCRIBE";')),
]
# A web server on the same path: HTTP stays HTTP.
web = tcp(554, client(b'OPTIONS /rtsp HTTP/1.1\r\nHost: a\r\n\r\n'), server(b'HTTP/1.1 204 No Content\r\n\r\n'))

cases = {
    'session': Case(session, session_rules, events=session_events),
    'faults': (faults, faults_rules),
    'web': (web, [(1, rule('http.method; content:"OPTIONS";', 'http')), (0, rule('content:"OPTIONS";'))]),
}
