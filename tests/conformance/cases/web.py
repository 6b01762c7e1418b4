# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP buffers and their older names, transforms of bodies, and BER values."""
import base64
import gzip
import zlib

from build import Case, client, client_hello, der, request, response, server, tcp, udp


def web(options):
    return f'alert http any any -> any any ({options})'


def datagram(options):
    return f'alert udp any any -> any any ({options})'


# --- All buffers: a request whose URI is not in its normal form, one with a body, and two responses

http_packets = tcp(
    80,
    request('GET /a%20b/../Page?x=1 HTTP/1.1', Host='Www.Example.ORG:8080', User_Agent='curl/8', Cookie='session=abc',
            Accept='text/html', Accept_Encoding='gzip', Accept_Language='en', Connection='close', X_Token='ABC'),
    response(b'<html>gone</html>', 'HTTP/1.1 404 Not Found', Content_Type='text/html', X_Note='one', Server='nginx'),
    request('POST /login HTTP/1.1', b'user=alice', Referer='http://ref.example/'),
    response(b'', 'HTTP/1.1 302 Found', Location='/home', Set_Cookie='id=1'))
buffers = [
    (1, web('http.accept_enc; content:"gzip"; bsize:4;')),
    (0, web('http.accept_enc; content:"text/html";')),
    (1, web('http.accept_lang; content:"en"; bsize:2;')),
    (0, web('http.accept_lang; content:"close";')),
    (1, web('http.connection; content:"close"; bsize:5;')),
    (0, web('http.connection; content:"gzip";')),
    (1, web('http.content_len; content:"10"; bsize:2; flow:to_server;')),
    (1, web('http.content_len; content:"17"; bsize:2; flow:to_client;')),
    (0, web('http.content_len; content:"404";')),
    (1, web('http.header.raw; content:"Cookie|3a 20|session=abc|0d 0a|";')),
    (0, web('http.header; content:"session=abc";')),
    (0, web('http.header.raw; content:"GET";')),
    (1, web('http.host.raw; content:"Www.Example.ORG:8080"; bsize:20;')),
    (0, web('http.host.raw; content:"curl";')),
    (1, web('http.host; content:"www.example.org"; bsize:15;')),
    (0, web('http.host; content:"curl";')),
    (2, web('http.host; domain; content:"example.org"; bsize:11;')),
    (0, web('http.host; domain; content:"www";')),
    (0, web('http.host; dotprefix; bsize:15;')),
    (1, web('http.host; dotprefix; bsize:16;')),
    (1, web('http.request_header; content:"X-Token|3a 20|ABC"; bsize:12;')),
    (0, web('http.request_header; content:"GET";')),
    (0, web('http.method; content:"curl";')),
    (0, web('http.uri.raw; content:"curl";')),
    (0, web('http.user_agent; content:"gzip";')),
    (1, web('http.response_header; content:"X-Note|3a 20|one"; bsize:11;')),
    (0, web('http.response_header; content:"Not Found";')),
    (1, web('http.response_line; content:"HTTP/1.1 404 Not Found"; bsize:22;')),
    (0, web('http.response_line; content:"X-Note";')),
    (1, web('http.start; content:"GET /a%20b/"; startswith; content:"X-Token|3a 20|ABC|0d 0a 0d 0a|"; endswith;')),
    (0, web('http.start; content:"user=alice";')),
    (1, web('urilen:9;')),
    (1, web('urilen:18,raw;')),
    (0, web('urilen:18;')),
    (1, web('uricontent:"/Page?x=1";')),
    (0, web('uricontent:"%20";')),
    (1, web('http.referer; absent;')),
    (2, web('http.referer; absent:or_else; content:!"other.example";')),
    (0, web('http.user_agent; absent; http.method; content:"GET";')),
    (1, web('http.request_header; header_lowercase; content:"x-token|3a 20|ABC";')),
    (0, web('http.header; header_lowercase; content:!"user-agent"; content:"curl";')),
    (0, web('http.accept; content:"gzip";')),
    (0, web('http.content_type; content:"nginx";')),
    (0, web('http.cookie; content:"curl";')),
    (1, web('http.cookie; content:"id=1"; bsize:4; flow:to_client;')),
    (0, web('http.header_names; content:"|0d 0a|Cookie|3a|";')),
    (0, web('http.location; content:"302";')),
    (0, web('http.protocol; content:"POST";')),
    (0, web('http.referer; content:"login";')),
    (0, web('http.request_line; content:"curl";')),
    (0, web('http.response_body; content:"nginx";')),
    (0, web('http.server; content:"text/html";')),
    (0, web('http.stat_msg; content:"404";')),
    (0, web('file.data; content:"nginx";')),
    (1, 'alert http1 any any -> any any (http.method; content:"POST";)'),
    (1, 'alert http1:request_line any any -> any any (http.method; content:"POST";)'),
    (0, 'alert http1:request_line any any -> any any (http.method; content:"PUT";)'),
    (1, 'alert http1:request_complete any any -> any any (http.uri; content:"/login";)'),
    (2, 'alert http1:response_started any any -> any any ()'),
    (1, 'alert http1:response_headers any any -> any any (http.server; content:"nginx";)'),
    (1, 'alert tcp:flow_start any any -> any any (flow:to_server;)'),
    (0, 'alert tcp:flow_start any any -> any any (content:"POST";)'),
]

# --- Modifiers that move a content to a buffer, and older names of buffers

modifiers = [
    (1, web('content:"POST"; http_method;')),
    (0, web('content:"curl"; http_method;')),
    (1, web('content:"/Page"; http_uri;')),
    (0, web('content:"%20"; http_uri;')),
    (1, web('content:"/a%20b/../Page"; http_raw_uri;')),
    (0, web('content:"curl"; http_raw_uri;')),
    (1, web('content:"curl"; http_user_agent;')),
    (0, web('content:"session"; http_user_agent;')),
    (1, web('content:"session=abc"; http_cookie;')),
    (0, web('content:"X-Token"; http_cookie;')),
    (1, web('content:"X-Token"; http_header;')),
    (0, web('content:"session=abc"; http_header;')),
    (1, web('content:"Cookie|3a 20|session=abc"; http_raw_header;')),
    (0, web('content:"GET"; http_raw_header;')),
    (1, web('content:"www.example.org"; http_host;')),
    (0, web('content:"curl"; http_host;')),
    (1, web('content:"Www.Example.ORG"; http_raw_host;')),
    (0, web('content:"curl"; http_raw_host;')),
    (1, web('content:"user=alice"; http_client_body;')),
    (0, web('content:"ref.example"; http_client_body;')),
    (1, web('content:"gone"; http_server_body;')),
    (0, web('content:"nginx"; http_server_body;')),
    (1, web('content:"302"; http_stat_code;')),
    (0, web('content:"Not Found"; http_stat_code;')),
    (1, web('content:"Not Found"; http_stat_msg;')),
    (0, web('content:"404"; http_stat_msg;')),
    (1, web('http_accept; content:"text/html";')),
    (1, web('http_accept_enc; content:"gzip";')),
    (1, web('http_accept_lang; content:"en";')),
    (1, web('http_connection; content:"close";')),
    (1, web('http_content_len; content:"10";')),
    (1, web('http_content_type; content:"text/html";')),
    (1, web('http_header_names; content:"X-Token";')),
    (1, web('http_location; content:"/home";')),
    (2, web('http_protocol; content:"HTTP/1.1"; flow:to_server;')),
    (1, web('http_referer; content:"ref.example";')),
    (1, web('http_request_line; content:"POST /login";')),
    (1, web('http_response_line; content:"302 Found";')),
    (1, web('http_server; content:"nginx";')),
    (1, web('http_start; content:"POST /login"; startswith;')),
    (1, web('file_data; content:"gone";')),
]

# --- Transforms of request bodies

TEXT = b'the hidden words are here, and here, and here'
bodies = {'/base64': b'prefix' + base64.b64encode(TEXT), '/gzip': gzip.compress(TEXT, mtime=0),
          '/zlib': zlib.compress(TEXT), '/pseudo': b':method: GET\r\nagent: x\r\n:path: /\r\n',
          '/upper': b'CAPITAL Letters', '/xor': bytes(byte ^ key for byte, key in zip(TEXT, b'\x0d\x0a' * 40))}
body_packets = [packet for number, (path, body) in enumerate(bodies.items())
                for packet in tcp(80, request(f'POST {path} HTTP/1.1', body), response(), client_port=40000 + number)]
transforms = [
    (1, web('http.request_body; from_base64:offset 6; content:"hidden words";')),
    (0, web('http.uri; content:"/base64"; http.request_body; from_base64:offset 6; content:!"hidden";')),
    (1, web('http.request_body; gunzip; content:"the hidden words are"; startswith;')),
    (0, web('http.request_body; gunzip:max-size 8; content:"hidden words";')),
    (0, web('http.uri; content:"/gzip"; http.request_body; gunzip; content:!"hidden";')),
    (1, web('http.request_body; zlib_deflate; content:"the hidden words are"; startswith;')),
    (0, web('http.request_body; zlib_deflate:max-size 8; content:"hidden words";')),
    (0, web('http.uri; content:"/zlib"; http.request_body; zlib_deflate; content:!"hidden";')),
    (1, web('http.request_body; strip_pseudo_headers; content:"agent|3a 20|x"; startswith;')),
    (0, web('http.request_body; strip_pseudo_headers; content:"|3a|method";')),
    (1, web('http.request_body; to_lowercase; content:"capital letters"; bsize:15;')),
    (0, web('http.uri; content:"/upper"; http.request_body; to_lowercase; content:!"capital";')),
    (0, web('http.uri; content:"/upper"; http.request_body; to_uppercase; content:!"LETTERS";')),
    (1, web('http.request_body; xor:"0d0a"; content:"hidden words";')),
    (0, web('http.request_body; xor:"0d0b"; content:"hidden words";')),
    (1, web('http.request_body; subslice:0,-8; content:"CAPITAL"; bsize:7;')),
    (0, web('http.request_body; subslice:1; content:"CAPITAL";')),
    (0, web('http.uri; content:"/xor"; http.request_body; xor:"0d0a"; content:!"hidden";')),
]

# --- Events: a request without a host

event_packets = tcp(80, client(b'GET / HTTP/1.1\r\n\r\n'), response(b'ok'))
events = [
    (1, web('app-layer-event:http.missing_host_header;')),
    (0, web('app-layer-event:http.host_header_ambiguous;')),
]

# --- BER values: a long string, a bit string with more unused bits than bits, a long real number; not in UDP's header

ber_packets = udp(4000, client(b'PRE' + der(4, b's' * 300)), client(b'PRE' + der(3, b'\xff\x00')),
                  client(b'PRE' + der(9, b'\x03' + b'1' * 300)))
ber = [
    (2, datagram('asn1:oversize_length 250, absolute_offset 3;')),
    (0, datagram('asn1:oversize_length 400, absolute_offset 3;')),
    (1, datagram('content:"PRE"; asn1:bitstring_overflow, relative_offset 0;')),
    (1, datagram('asn1:double_overflow, absolute_offset 3;')),
    (0, datagram('asn1:bitstring_overflow, absolute_offset 0; content:"s";')),
    (3, datagram('udp.hdr; content:"|0f a0|"; offset:2; depth:2; pkt_data; content:"PRE"; startswith;')),
    (0, datagram('udp.hdr; content:"|0f a0|"; offset:2; depth:2; pkt_data; content:"|0f a0|"; offset:2; depth:2;')),
]

# --- Scopes: one packet with the word, or the rest of its flow

scope_packets = [*udp(4000, client(b'drop me'), client(b'second')), *udp(4001, client(b'drop me'), client(b'second'))]
scopes = [
    (1, 'drop:packet udp any any -> any 4000 (content:"drop me";)'),
    (1, 'drop:flow udp any any -> any 4001 (content:"drop me";)'),
    (1, 'alert udp any any -> any 4000 (content:"second";)'),
    (0, 'alert udp any any -> any 4001 (content:"second";)'),
]

# --- Upgrades: to an unknown protocol (the flow remains HTTP), to a detected protocol, and without further bytes

UPGRADE = request('POST /attach HTTP/1.1', Connection='Upgrade', Upgrade='tcp'), \
    server(b'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
upgrade_packets = tcp(2375, *UPGRADE, client(b'\x01ls -l /srv\n' * 20), server(b'\x01total 0\n' * 20)) + \
    tcp(2375, *UPGRADE, client(client_hello('inner.example')), client_port=40001) + \
    tcp(2375, *UPGRADE, client_port=40002) + \
    tcp(2375, request('CONNECT host:1 HTTP/1.1'), server(b'HTTP/1.1 200 OK\r\n\r\n'), client(b'\x01unknown\n' * 20),
        client_port=40003)
upgrades = [
    (3, web('http.stat_code; content:"101";')),
    (1, 'alert tls any any -> any any (tls.sni; content:"inner.example";)'),
    (0, web('http.uri; content:"ls -l";')),
    (0, 'alert tcp any any -> any any (app-layer-protocol:failed; content:"ls -l";)'),
]
upgrade_events = ['1 event_type=flow src_port=40000 app_proto=http',
                  '1 event_type=flow src_port=40001 app_proto=tls app_proto_orig=http',
                  '1 event_type=flow src_port=40002 app_proto=http app_proto_orig=',
                  '1 event_type=flow src_port=40003 app_proto=failed app_proto_orig=http',
                  '1 event_type=http src_port=40000 http.url=/attach']

cases = {
    'buffers': (http_packets, buffers),
    'modifiers': (http_packets, modifiers),
    'transforms': (body_packets, transforms),
    'events': (event_packets, events),
    'ber': (ber_packets, ber),
    'upgrades': Case(upgrade_packets, upgrades, events=upgrade_events),
    'scopes': Case(scope_packets, scopes, options=['--ips'], events=['1 event_type=stats stats.ips.blocked=3']),
}
