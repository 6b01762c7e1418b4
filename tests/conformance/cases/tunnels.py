# SPDX-License-Identifier: GPL-2.0-or-later
"""Proxies: CONNECT with several protocols inside, refused and unknown tunnels, absolute URIs; methods that HTTP does not
define, and RTSP, which looks like HTTP."""
from build import certificate, client, client_hello, request, response, server, server_hello, tcp

ESTABLISHED = server(b'HTTP/1.1 200 Connection established\r\n\r\n')


def connect(target):
    return request(f'CONNECT {target} HTTP/1.1', Host=target)


def together(port, *flows):
    """Each flow has a list of turns and gets its own client port."""
    return [packet for at, turns in enumerate(flows) for packet in tcp(port, *turns, client_port=40000 + at)]


def rule(protocol, options, client_port='any'):
    return f'alert {protocol} any {client_port} -> any any ({options})'


tunnels = together(
    3128,
    [connect('inner.example:443'), ESTABLISHED, client(client_hello('inner.example')),
     server(server_hello(certificate('inner.example', 'CA', 1)))],
    [connect('inner.example:80'), ESTABLISHED, request('GET /inside HTTP/1.1', Host='inner.example'), response(b'ok')],
    [connect('inner.example:22'), server(b'HTTP/1.0 200 OK\r\nProxy-Agent: p\r\n\r\nSSH-2.0-OpenSSH_9.6\r\n'),
     client(b'SSH-2.0-PuTTY\r\n')],
    [connect('inner.example:25'), response(b'no', 'HTTP/1.1 403 Forbidden'), request('GET /after HTTP/1.1')],
    [connect('inner.example:9'), ESTABLISHED, client(b'\1\2\3 unknown' * 20), server(b'\4\5 neither' * 20)],
    [connect('a.example:3128'), ESTABLISHED, connect('b.example:22'), ESTABLISHED, client(b'SSH-2.0-nested\r\n'),
     server(b'SSH-2.0-end\r\n')],
    [request('GET http://www.example.org:8080/a%20b?x=1 HTTP/1.1', Host='www.example.org:8080'), response(b'ok')])
tunnel_rules = [
    (1, rule('tls', 'tls.sni; content:"inner.example";', 40000)),
    (0, rule('tls', 'tls.sni; content:"inner.example";', '!40000')),
    (1, rule('tcp', 'app-layer-protocol:http,original; app-layer-protocol:tls,final; tls.sni; content:"inner";')),
    (2, rule('http', 'http.uri; content:"inner.example"; startswith; http.method; content:"CONNECT";', '40000:40001')),
    (1, rule('http', 'http.uri; content:"/inside"; bsize:7;', 40001)),
    (1, 'alert ssh any any -> any 40002 (ssh.software; content:"OpenSSH_9.6";)'),
    (1, 'alert http any any -> any 40003 (http.stat_code; content:"403";)'),
    (1, rule('http', 'http.uri; content:"/after";', 40003)),
    (0, rule('tcp', 'app-layer-event:applayer_unexpected_protocol;')),
    (1, rule('ssh', 'ssh.software; content:"nested"; flow:to_server;', 40005)),
    (2, rule('http', 'http.method; content:"CONNECT";', 40005)),
    (1, rule('http', 'http.uri; content:"/a b?x=1"; bsize:8; http.host; content:"www.example.org";', 40006)),
    (1, rule('http', 'http.uri.raw; content:"http|3a|//www.example.org|3a|8080/a%20b?x=1"; bsize:37;', 40006)),
    (0, rule('http', 'http.uri; content:"www.example.org";', 40006)),
]
tunnel_events = [
    '1 event_type=flow src_port=40000 app_proto=tls app_proto_orig=http',
    '1 event_type=flow src_port=40001 app_proto=http', '1 event_type=flow src_port=40002 app_proto=ssh app_proto_orig=http',
    '1 event_type=flow src_port=40003 app_proto=http app_proto_orig=',
    '1 event_type=flow src_port=40004 app_proto=failed app_proto_orig=http',
    '1 event_type=flow src_port=40005 app_proto=ssh app_proto_orig=http',
    '1 event_type=tls src_port=40000 tx_id=0', '1 event_type=http src_port=40001 http.url=/inside tx_id=0']

# A connection that begins with OPTIONS, also a method of HTTP, and a URI of RTSP is RTSP. A request line with a method
# that HTTP does not define is HTTP on any port if it has an HTTP version.
RTSP = server(b'RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n')


def rtsp(method):
    return client(f'{method} rtsp://cam.example/video RTSP/1.0\r\nCSeq: 1\r\n\r\n'.encode())


methods = together(554, [rtsp('OPTIONS'), RTSP], [rtsp('DESCRIBE'), RTSP]) + \
    tcp(9000, request('FOO /unknown HTTP/1.1'), response(b'', 'HTTP/1.1 405 No'), client_port=40002) + \
    tcp(80, client(b'BAR /old\r\n'), server(b'anything'), client_port=40003) + \
    tcp(80, client(b'BAZ /video FOO/1.0\r\nCSeq: 1\r\n\r\n'), RTSP, client_port=40004)
method_rules = [
    (1, rule('rtsp', 'rtsp.method; content:"OPTIONS";', 40000)),
    (0, rule('http', 'http.method; content:"OPTIONS";')),
    (0, rule('http', 'http.method; content:"DESCRIBE";')),
    (1, rule('rtsp', 'rtsp.method; content:"DESCRIBE";', 40001)),
    (1, rule('http', 'http.method; content:"FOO"; bsize:3;', 40002)),
    (1, rule('http', 'http.method; content:"BAR"; bsize:3;', 40003)),
    (0, rule('http', 'app-layer-event:http.request_line_unknown_method_no_protocol; flow:to_server;', '!40003')),
    (1, rule('http', 'app-layer-event:http.request_line_unknown_method_no_protocol; flow:to_server;', 40003)),
    (1, rule('http', 'app-layer-event:http.request_line_unknown_method_invalid_protocol; flow:to_server;', 40004)),
]
method_events = ['1 event_type=flow src_port=40000 app_proto=rtsp', '1 event_type=flow src_port=40001 app_proto=rtsp',
                 '1 event_type=flow src_port=40002 app_proto=http', '1 event_type=flow src_port=40003 app_proto=http']

cases = {
    'tunnels': (tunnels, tunnel_rules, {}, ['--set', 'eve.types=[alert, flow, http, tls]'], tunnel_events),
    'methods': (methods, method_rules, {}, [], method_events),
}
