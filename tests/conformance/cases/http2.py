# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP/2: the buffers of HTTP, the http2 keywords, events, an upgrade from HTTP/1.1, a drop."""
import gzip
import struct

from build import (HTTP2_MAGIC, client, http2_block, http2_frame, http2_headers, request, response, server, tcp)

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

cases = {
    'buffers': (packets, buffers, {}, [], events_logged),
    'conditions': (packets, conditions),
    'upgrade': (upgrade_packets, upgrade, {}, [], upgrade_events),
    'events': (odd_packets, odd),
}
