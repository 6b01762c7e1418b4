# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP/2: the buffers of HTTP, the http2 keywords, events, an upgrade from HTTP/1.1, a drop; DNS over HTTP/2."""
import base64
import gzip
import struct

from build import (HTTP2_MAGIC, client, dns_answer, dns_message, dns_name, dns_query, dns_record, http2_block,
                   http2_frame, http2_headers, request, response, server, tcp)

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED = 1, 4, 8


def settings(*pairs):
    return http2_frame(SETTINGS, b''.join(struct.pack('>HI', *pair) for pair in pairs))


def http2(options):
    return f'alert http2 any any -> any any ({options})'


def http(options):
    return f'alert http any any -> any any ({options})'


BODY = gzip.compress(b'<html>not found</html>', mtime=0)
SIZE_UPDATE = b'\x3f\xe1\x0f'  # 2048
packets = tcp(
    8080,
    client(HTTP2_MAGIC + settings((1, 8192), (2, 0)) + http2_frame(WINDOW_UPDATE, struct.pack('>I', 34634))
           + http2_headers(1, ':method: GET', ':path: /a/../b%2ejs?x=1', ':scheme: http',
                           ':authority: Www.Example.org:8080', 'user-agent: curl/8', 'accept: */*',
                           'accept-encoding: gzip', 'accept-language: en', 'cookie: a=1', 'cookie: b=2',
                           'referer: http://ref.example/', prefix=SIZE_UPDATE)),
    server(settings((3, 100)) + http2_headers(1, ':status: 404', 'server: nghttpx', 'content-type: text/html',
                                             'content-encoding: gzip', 'content-length: %d' % len(BODY), 'set-cookie: c=3',
                                             'location: /other', end=False)
           + http2_frame(DATA, BODY[:9], 1) + http2_frame(DATA, b'\x02' + BODY[9:] + b'\0\0', 1, PADDED | END_STREAM)),
    client(http2_frame(HEADERS, b'\x80\0\0\0\x20' + http2_block(':method: POST', ':path: /upload')[:9], 3, 0x20)
           + http2_frame(CONTINUATION, http2_block(':method: POST', ':path: /upload')[9:], 3, END_HEADERS)
           + http2_frame(DATA, b'user=alice', 3)),
    client(http2_frame(RST_STREAM, struct.pack('>I', 8), 3) + http2_frame(PRIORITY, struct.pack('>IB', 0, 77), 5)),
    server(http2_frame(PUSH_PROMISE, struct.pack('>I', 2) + http2_block(':method: GET', ':path: /pushed'), 3, END_HEADERS)
           + http2_headers(2, ':status: 204')),
    client(http2_frame(PING, bytes(8)) + http2_frame(GOAWAY, struct.pack('>II', 0, 11))))
buffers = [
    (1, http('http.method; content:"GET"; http.uri; content:"/b.js?x=1"; bsize:9;')),
    (0, 'alert http1 any any -> any any (http.uri; content:"/";)'),
    (1, http2('http.uri.raw; content:"/a/../b%2ejs?x=1"; bsize:16;')),
    (1, http2('http.host; content:"www.example.org"; bsize:15;')),
    (1, http2('http.host.raw; content:"Www.Example.org:8080"; bsize:20;')),
    (1, http2('http.user_agent; content:"curl/8"; bsize:6;')),
    (1, http2('http.cookie; content:"a=1|3b 20|b=2"; bsize:8; flow:to_server;')),
    (1, http2('http.cookie; content:"c=3"; bsize:3; flow:to_client;')),
    (1, http2('http.accept; content:"*/*"; http.accept_enc; content:"gzip"; http.accept_lang; content:"en";')),
    (1, http2('http.referer; content:"http://ref.example/"; bsize:19;')),
    (1, http2('http.header; content:"|3a|authority: Www.Example.org:8080|0d 0a|user-agent: curl/8|0d 0a|";')),
    (0, http2('http.header; content:"cookie";')),
    (1, http2('http.header.raw; content:"cookie: a=1|0d 0a|cookie: b=2|0d 0a|";')),
    (1, http2('http.header_names; content:"|0d 0a|user-agent|0d 0a|accept|0d 0a|";')),
    (1, http2('http.request_header; content:"accept: */*"; bsize:11;')),
    (1, http2('http.response_header; content:"server: nghttpx"; bsize:15;')),
    (1, http2('http.request_line; content:"GET /a/../b%2ejs?x=1 HTTP/2|0d 0a|"; bsize:29;')),
    (1, http2('http.response_line; content:"HTTP/2 404|0d 0a|"; bsize:12;')),
    (1, http2('http.stat_code; content:"404";')),
    (2, http2('http.stat_msg; bsize:0;')),
    (3, http2('http.protocol; content:"HTTP/2"; bsize:6; flow:to_server;')),
    (1, http2('http.server; content:"nghttpx"; http.location; content:"/other";')),
    (1, http2('http.content_type; content:"text/html"; http.content_len; content:"%d";' % len(BODY))),
    (1, http2('http.response_body; content:"<html>not found</html>"; bsize:22;')),
    (1, http2('file.data; content:"not found"; flow:to_client;')),
    (1, http2('http.request_body; content:"user=alice";')),
    (1, http2('filename:"upload";')),
    (1, http2('http.uri; content:"/pushed"; bsize:7;')),
    (1, http2('http2.header_name; content:"accept-language"; bsize:15;')),
    (0, http2('http2.header_name; content:"curl";')),
    (1, http2('http2.header; content:"|3a|path: /upload"; bsize:14;')),
    (0, http2('http2.header; content:"/upload|0d 0a|";')),
]
conditions = [
    (1, http2('http2.frametype:PING;')),
    (1, http2('http2.frametype:PUSH_PROMISE;')),
    (1, http2('http2.frametype:9;')),
    (0, http2('http2.frametype:>9;')),
    (1, http2('http2.errorcode:CANCEL;')),
    (1, http2('http2.errorcode:11;')),
    (0, http2('http2.errorcode:NO_ERROR;')),
    (1, http2('http2.priority:32;')),
    (1, http2('http2.priority:77;')),
    (0, http2('http2.priority:<32;')),
    (1, http2('http2.window:34634;')),
    (0, http2('http2.window:34635;')),
    (1, http2('http2.size_update:2048;')),
    (0, http2('http2.size_update:>2048;')),
    (1, http2('http2.settings:SETTINGS_HEADER_TABLE_SIZE>4096;')),
    (1, http2('http2.settings:SETTINGSMAXCONCURRENTSTREAMS=100; flow:to_client;')),
    (0, http2('http2.settings:SETTINGS_ENABLE_PUSH=1;')),
    (1, http2('http2.frametype:RST_STREAM; http.uri; content:"/upload";')),
]
events_logged = [
    '1 event_type=http http.version=2 http.http2.stream_id=1 http.status=404 http.hostname=www.example.org',
    '1 event_type=http http.http2.stream_id=3 http.http2.request.error_code=CANCEL http.http2.request.priority=32',
    '1 event_type=http http.http2.stream_id=0 http.http2.request.error_code=ENHANCEYOURCALM',
    '1 event_type=fileinfo fileinfo.filename=/b.js fileinfo.size=22 fileinfo.state=CLOSED',
    '1 event_type=fileinfo fileinfo.filename=/upload fileinfo.state=TRUNCATED',
    '1 event_type=flow app_proto=http2',
    '0 event_type=anomaly',
]

# --- An upgrade

upgrade_packets = tcp(
    80,
    request('GET /robots.txt HTTP/1.1', Host='nghttp2.example', Connection='Upgrade, HTTP2-Settings', Upgrade='h2c',
            HTTP2_Settings='AAMAAABkAAIAAAAA'),
    server(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n' + settings((3, 100))
           + http2_headers(1, ':status: 200', end=False) + http2_frame(DATA, b'Sitemap:', 1, END_STREAM)),
    client(HTTP2_MAGIC + settings((2, 0)) + http2_headers(3, ':method: GET', ':path: /humans.txt')),
    server(http2_headers(3, ':status: 404')))
upgrade = [
    (1, 'alert http1 any any -> any any (http.uri; content:"/robots.txt";)'),
    (1, http2('http.uri; content:"/robots.txt"; http.host; content:"nghttp2.example";')),
    (2, http('http.uri; content:"/robots.txt";')),
    (1, http2('http.uri; content:"/humans.txt";')),
    (1, http2('file.data; content:"Sitemap"; flow:to_client;')),
    (2, http2('http2.settings:SETTINGS_ENABLE_PUSH=0;')),
    (0, http2('http.stat_code; content:"101";')),
]
upgrade_events = [
    '1 event_type=http http.http2.stream_id=1 http.url=/robots.txt http.status=200',
    '1 event_type=flow app_proto=http2 app_proto_orig=http',
]

# --- Events

odd_packets = tcp(
    80,
    client(HTTP2_MAGIC + http2_headers(1, ':method: GET', ':authority: u:p@a.example', 'host: b.example')
           + http2_frame(DATA, b'x') + http2_frame(SETTINGS, bytes(5)) + http2_headers(3, ':method: GET', prefix=b'\xff\0')
           + http2_headers(1, ':method: GET', ':path: /again')))
odd = [
    (1, http2('app-layer-event:http2.authority_host_mismatch;')),
    (1, http2('app-layer-event:http2.userinfo_in_uri;')),
    (1, http2('app-layer-event:http2.data_stream_zero;')),
    (1, http2('app-layer-event:http2.invalid_frame_length;')),
    (1, http2('app-layer-event:http2.invalid_header;')),
    (0, http2('app-layer-event:http2.too_many_streams;')),
]

# --- DNS over HTTP/2: a body in the first stream, a path in the third one, another request in the second one

def dns_body(stream, first, body, *fields):
    return (http2_headers(stream, first, *fields, 'content-type: application/dns-message', end=False)
            + http2_frame(DATA, body, stream, END_STREAM))


def doh2(options):
    return f'alert doh2 any any -> any any ({options})'


def dns(options):
    return f'alert dns any any -> any any ({options})'


DNS_TYPE = 'content-type: application/dns-message'
DNS_SECTIONS = dns_message([('second.example', 1)], [dns_record('second.example', 1, bytes(4))],
                           [dns_record('zone.example', 2, dns_name('ns.example'))],
                           [dns_record('ns.example', 1, bytes(4))], flags=0x8183)
doh2_packets = tcp(
    8080,
    client(HTTP2_MAGIC + dns_body(1, ':method: POST', dns_query('first.example'), ':path: /dns-query',
                                  ':authority: Dns.example')),
    server(settings((3, 100)) + dns_body(1, ':status: 200', dns_answer('first.example'))),
    client(http2_headers(3, ':method: GET', ':path: /other') + http2_headers(
        5, ':method: GET', ':path: /dns-query?dns=%s' % base64.urlsafe_b64encode(
            dns_query('second.example', number=0)).decode().rstrip('='), ':authority: dns.example')
        + http2_frame(PING, bytes(8))),
    server(http2_headers(3, ':status: 404') + dns_body(5, ':status: 200', DNS_SECTIONS)))
doh2_rules = [
    (1, dns('dns.query; content:"first.example"; bsize:13;')),
    (1, doh2('dns.query; content:"second.example"; bsize:14;')),
    (2, doh2('dns.query; content:"example"; endswith; http.host; content:"dns.example";')),
    (0, doh2('dns.query; content:"example"; http.uri; content:"/other";')),
    (1, doh2('http.uri; content:"/other";')),
    (1, http('http.uri; content:"/other";')),
    (1, http2('http.uri; content:"/other"; http.method; content:"GET";')),
    (0, 'alert http1 any any -> any any (http.uri; content:"/other";)'),
    (2, doh2('dns.queries.rrname; content:"first.example";')),
    (2, dns('dns.query.name; content:"second.example";')),
    (1, dns('dns.answer.name; content:"first.example";')),
    (1, doh2('dns.answers.rrname; content:"second.example";')),
    (1, dns('dns.authorities.rrname; content:"zone.example"; bsize:12;')),
    (1, doh2('dns.additionals.rrname; content:"ns.example"; bsize:10;')),
    (1, dns('dns.response.rrname; content:"ns.example";')),
    (0, doh2('dns.answers.rrname; content:"zone.example";')),
    (4, doh2('dns.opcode:0;')),
    (0, dns('dns.opcode:1;')),
    (1, doh2('dns.rcode:nxdomain;')),
    (0, doh2('dns.rcode:refused;')),
    (4, dns('dns.rrtype:a;')),
    (0, doh2('dns.rrtype:txt;')),
    (1, doh2('http2.frametype:PING;')),
    (1, http2('http2.frametype:PING;')),
    (1, 'alert tcp any any -> any any (app-layer-protocol:doh2; content:"/other";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:dns; content:"/other";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:http2; content:"/other";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:doh2,exact; content:"/other";)'),
    (0, 'alert tcp any any -> any any (app-layer-protocol:dns,exact; content:"/other";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:http2,original; content:"/other";)'),
    (1, doh2('file.data; content:"|05|first|07|example"; flow:to_server;')),
]
doh2_events = [
    '2 event_type=dns',
    '1 event_type=dns dns.type=response dns.rcode=NOERROR http.url=/dns-query http.status=200',
    '1 event_type=dns dns.type=response dns.rcode=NXDOMAIN http.http2.stream_id=5',
    '1 event_type=http http.url=/other http.status=404',
    '1 event_type=flow app_proto=doh2 app_proto_orig=http2',
    '0 event_type=anomaly',
]
# Messages with DNS events: a truncated answer, a reserved bit, a response by the client, and a request by the server.
dns_faults_packets = tcp(
    8080,
    client(HTTP2_MAGIC + dns_body(1, ':method: POST', dns_message([('bit.example', 1)], flags=0x0140), ':path: /dns-query')
           + dns_body(3, ':method: POST', dns_answer('client.example'), ':path: /dns-query')
           + dns_body(5, ':method: POST', dns_query('good.example'), ':path: /dns-query')),
    server(settings((3, 100)) + dns_body(1, ':status: 200', dns_answer('bit.example')[:-3])
           + dns_body(3, ':status: 200', dns_query('x.example'))
           + dns_body(5, ':status: 200', dns_answer('good.example'))))
dns_faults = [
    (1, dns('app-layer-event:dns.z_flag_set;')),
    (1, doh2('app-layer-event:dns.z_flag_set; dns.query; content:"bit.example";')),
    (1, dns('app-layer-event:dns.malformed_data; flow:to_client;')),
    (1, 'alert tcp any any -> any any (app-layer-event:dns.not_request;)'),
    (1, doh2('app-layer-event:dns.not_response;')),
    (1, http2('app-layer-event:dns.not_response;')),
    (0, dns('app-layer-event:dns.invalid_opcode;')),
    (0, doh2('app-layer-event:dns.malformed_data; dns.query; content:"good.example";')),
    (0, doh2('app-layer-event:http2.invalid_frame_header;')),
]
dns_faults_events = ['1 event_type=anomaly anomaly.event=z_flag_set anomaly.app_proto=doh2',
                     '1 event_type=anomaly anomaly.event=malformed_data', '1 event_type=anomaly anomaly.event=not_request',
                     '1 event_type=anomaly anomaly.event=not_response', '4 event_type=anomaly']
LONG_DNS = dns_query('long.example') + bytes(65536)
long_dns_packets = tcp(
    8080,
    client(HTTP2_MAGIC + http2_headers(1, ':method: POST', ':path: /', DNS_TYPE, end=False)
           + http2_frame(DATA, LONG_DNS[:40000], 1) + http2_frame(DATA, LONG_DNS[40000:], 1, END_STREAM)),
    server(dns_body(1, ':status: 200', dns_answer('long.example'))))
long_dns = [
    (1, http2('app-layer-event:http2.dns_request_too_long;')),
    (1, doh2('app-layer-event:http2.dns_request_too_long;')),
    (0, http2('app-layer-event:http2.dns_response_too_long;')),
    (0, doh2('dns.query; content:"long.example";')),
    (1, doh2('dns.answers.rrname; content:"long.example";')),
]
no_doh2 = [
    (0, dns('dns.query; content:"example";')),
    (1, http2('http.uri; content:"/other";')),
    (0, 'alert tcp any any -> any any (app-layer-protocol:dns; content:"/other";)'),
    (1, 'alert tcp any any -> any any (app-layer-protocol:http2; content:"/other";)'),
]

cases = {
    'doh2': (doh2_packets, doh2_rules, {}, [], doh2_events),
    'doh2_in_pieces': (tcp(8080, *[client(HTTP2_MAGIC + dns_body(1, ':method: POST', dns_query('first.example'),
                                                                 ':path: /'))], cut=1),
                       [(1, dns('dns.query; content:"first.example"; bsize:13;')),
                        (0, dns('dns.query; content:"second.example";'))]),
    'doh2_events': (dns_faults_packets, dns_faults, {}, [], dns_faults_events),
    'doh2_too_long': (long_dns_packets, long_dns),
    'doh2_disabled': (doh2_packets, no_doh2, {}, ['--set', 'app-layer.protocols.doh2.enabled=no'],
                      ['0 event_type=dns', '4 event_type=http', '1 event_type=flow app_proto=http2']),
    'buffers': (packets, buffers, {}, [], events_logged),
    'conditions': (packets, conditions),
    'upgrade': (upgrade_packets, upgrade, {}, [], upgrade_events),
    'events': (odd_packets, odd),
}
