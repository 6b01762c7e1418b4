# SPDX-License-Identifier: GPL-2.0-or-later
"""SIP over UDP and TCP: requests, responses, compact headers, SDP, and messages that are not valid."""
from build import client, server, tcp, udp

SDP = '\r\n'.join([
    'v=0', 'o=alice 2890844526 2890842807 IN IP4 192.0.2.1', 's=a session', 'i=about the session',
    'u=http://www.example.org/session', 'e=alice@example.org', 'p=+1 617 555-6011', 'c=IN IP4 192.0.2.17',
    'b=AS:128', 'b=CT:1000', 't=2873397496 2873404696', 'r=604800 3600 0 90000', 'z=2882844526 -1h', 'k=prompt',
    'a=recvonly', 'a=tool:phone', 'm=audio 49170 RTP/AVP 0', 'i=the voice', 'c=IN IP4 192.0.2.18', 'b=AS:64',
    'k=clear:secret', 'a=rtpmap:0 PCMU/8000', 'm=video 51372 RTP/AVP 99', 'a=rtpmap:99 h263-1998/90000', ''])
INVITE, OK = 'INVITE sip:bob@example.net SIP/2.0', 'SIP/2.0 200 OK'


def message(start, *headers, body=''):
    lines = [start, *headers, *([f'Content-Length: {len(body)}'] if body else [])]
    return ('\r\n'.join(lines) + '\r\n\r\n' + body).encode()


HEADERS = ['Via: SIP/2.0/UDP pc.example.org;branch=z9hG4bK1', 'Via: SIP/2.0/UDP proxy.example.org',
           'From: Alice <sip:alice@example.org>;tag=1', 'To: Bob <sip:bob@example.net>', 'User-Agent: phone/1.0',
           'Subject: lunch', 'Content-Type: application/sdp']
invite = message(INVITE, *HEADERS, body=SDP)
ok = message(OK, *HEADERS[:4], 'Server: pbx')
compact = message('BYE sip:alice@example.org SIP/2.0', 'v:SIP/2.0/UDP pbx', 'f: Carol', 't :Alice', 'l: 0', 'c: text/plain')
calls = udp(5060, client(invite), server(ok), server(compact), client(b'\r\n\r\n'))


def rule(options, transport='sip'):
    return f'alert {transport} any any -> any any ({options})'


start_lines = [
    (1, rule('sip.method; content:"INVITE"; bsize:6; flow:to_server;')),
    (1, rule('sip.method; content:"BYE"; flow:to_client;')),
    (0, rule('sip.method; content:"BYE"; flow:to_server;')),
    (1, rule('sip.uri; content:"sip:bob@example.net"; bsize:19;')),
    (0, rule('sip.uri; content:"INVITE";')),
    (1, rule(f'sip.request_line; content:"{INVITE}"; bsize:34;')),
    (0, rule('sip.request_line; content:"200 OK";')),
    (1, rule('sip.stat_code; content:"200"; bsize:3;')),
    (0, rule('sip.stat_code; content:"OK";')),
    (1, rule('sip.stat_msg; content:"OK"; bsize:2;')),
    (0, rule('sip.stat_msg; content:"200";')),
    (1, rule('sip.response_line; content:"SIP/2.0 200 OK"; bsize:14;')),
    (0, rule('sip.response_line; content:"INVITE";')),
    (3, rule('sip.protocol; content:"SIP/2.0"; bsize:7;')),
    (0, rule('sip.protocol; content:"200";')),
]
headers = [
    (2, rule('sip.from; content:"Alice <sip:alice@example.org>"; startswith;')),
    (1, rule('sip.from; content:"Carol"; bsize:5;')),
    (0, rule('sip.from; content:"Bob";')),
    (1, rule('sip.to; content:"Alice"; bsize:5;')),
    (2, rule('sip.to; content:"Bob <sip:bob@example.net>"; bsize:25;')),
    (0, rule('sip.to; content:"Carol";')),
    (2, rule('sip.via; content:"pc.example.org"; sip.via; content:"proxy.example.org"; endswith;')),
    (1, rule('sip.via; content:"SIP/2.0/UDP pbx"; bsize:15;')),
    (0, rule('sip.via; content:"pc.example.org"; content:"proxy";')),
    (1, rule('sip.user_agent; content:"phone/1.0"; bsize:9;')),
    (0, rule('sip.user_agent; content:"pbx";')),
    (1, rule('sip.content_type; content:"application/sdp"; bsize:15;')),
    (1, rule('sip.content_type; content:"text/plain"; bsize:10;')),
    (0, rule('sip.content_type; content:"phone";')),
    (1, rule(f'sip.content_length; content:"{len(SDP)}"; bsize:3;')),
    (1, rule('sip.content_length; content:"0"; bsize:1;')),
    (0, rule('sip.content_length; content:"sdp";')),
]


def line(name, value, other):
    """A rule on the whole value, and one on a value of another line."""
    return [(1, rule(f'sdp.{name}; content:"{value}"; bsize:{len(value)};')), (0, rule(f'sdp.{name}; content:"{other}";'))]


sdp = line('origin', 'alice 2890844526 2890842807 IN IP4 192.0.2.1', 'session') + \
    line('session_name', 'a session', 'about') + line('session_info', 'about the session', 'voice') + \
    line('uri', 'http|3a|//www.example.org/session', 'alice')[1:] + \
    [(1, rule('sdp.uri; content:"//www.example.org/session"; endswith;'))] + \
    line('email', 'alice@example.org', '617') + line('phone_number', '+1 617 555-6011', 'alice') + \
    line('connection_data', 'IN IP4 192.0.2.17', '192.0.2.18') + \
    [(1, rule('sdp.bandwidth; content:"AS|3a|128"; sdp.bandwidth; content:"CT|3a|1000";')),
     (0, rule('sdp.bandwidth; content:"AS|3a|64";'))] + \
    line('time', '2873397496 2873404696', '604800') + line('repeat_time', '604800 3600 0 90000', '2873397496') + \
    line('timezone', '2882844526 -1h', '604800') + line('encryption_key', 'prompt', 'clear') + \
    [(1, rule('sdp.attribute; content:"recvonly"; bsize:8; sdp.attribute; content:"tool|3a|phone";')),
     (0, rule('sdp.attribute; content:"rtpmap";'))] + \
    [(1, rule('sdp.media.media; content:"audio 49170"; startswith; sdp.media.media; content:"video 51372";')),
     (0, rule('sdp.media.media; content:"audio"; content:"video";'))] + \
    line('media.media_info', 'the voice', 'about') + line('media.session_info', 'the voice', 'about') + \
    line('media.connection_data', 'IN IP4 192.0.2.18', '192.0.2.17') + \
    [(1, rule('sdp.media.encryption_key; content:"clear|3a|secret"; bsize:12;')),
     (0, rule('sdp.media.encryption_key; content:"prompt";'))]

# Two messages in a segment, and one in three, with line ends between them; one that HTTP also has a method for.
stream = tcp(5060, client(invite + b'\r\n\r\n' + message('ACK sip:bob@example.net SIP/2.0')), server(ok),
             client(invite[:40]), client(invite[40:500]), client(invite[500:])) + \
    tcp(7000, client(message('OPTIONS sip:bob@example.net SIP/2.0')), server(ok), client_port=40001)
stream_rules = [
    (4, 'alert tcp any any -> any any (app-layer-protocol:sip; sip.protocol; content:"SIP/2.0"; flow:to_server;)'),
    (2, rule('sip.method; content:"INVITE"; sdp.media.media; content:"video";')),
    (1, rule('sip.method; content:"ACK";')),
    (1, 'alert sip any any -> any 7000 (sip.method; content:"OPTIONS";)'),
    (0, 'alert http any any -> any any (http.method; content:"OPTIONS";)'),
    (0, 'alert udp any any -> any any (app-layer-protocol:sip; sip.protocol; content:"SIP/2.0";)'),
]
datagram_rules = [
    (1, 'alert udp any any -> any any (app-layer-protocol:sip; sip.method; content:"INVITE";)'),
    (0, 'alert tcp any any -> any any (app-layer-protocol:sip; sip.method; content:"INVITE";)'),
]

invalid = udp(5060, client(invite), client(b'neither a request nor a response\r\n\r\n'), server(ok)) + \
    udp(5060, client(message(INVITE, 'Content-Length: 5, 6')), client_port=40001) + \
    tcp(5060, client(message(INVITE, 'Content-Length: x') + invite), client_port=40002)
invalid_rules = [
    (3, rule('app-layer-event:sip.invalid_data; flow:to_server;')),
    (2, rule('app-layer-event:sip.invalid_data; sip.method; content:"INVITE";')),
    (0, rule('app-layer-event:sip.invalid_data; flow:to_client;')),
    (0, rule('app-layer-event:sip.invalid_data; sdp.origin; content:"alice";')),
]

cases = {
    'start_lines': (calls, start_lines, {}, [], [
        '1 event_type=sip sip.method=INVITE sip.uri=sip:bob@example.net sip.version=SIP/2.0',
        '1 event_type=sip sip.code=200 sip.reason=OK sip.version=SIP/2.0 sip.method=',
        '3 event_type=sip', '1 event_type=flow app_proto=sip']),
    'headers': (calls, headers),
    'sdp': (calls, sdp, {}, [], [
        '1 event_type=sip sip.sdp.version=0 sip.sdp.encryption_key=prompt sip.sdp.email=alice@example.org']),
    'stream': (stream, stream_rules),
    'datagrams': (calls, datagram_rules),
    'invalid': (invalid, invalid_rules),
}
