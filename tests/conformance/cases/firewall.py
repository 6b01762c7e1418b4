# SPDX-License-Identifier: GPL-2.0-or-later
"""Firewall rules: hooks and scopes, default policies, and other rules beside them."""
from build import (ACK, Case, client, client_hello, dns_answer, dns_query, http2_frame, http2_headers, HTTP2_MAGIC, PSH,
                   request, response, server, server_hello, tcp, tcp_packet, udp)

OPTIONS = ['--ips', '--set', 'firewall.enabled=yes', '--set', 'firewall.rule-files={folder}/firewall.rules']


def firewall(packets, rules, lines, events, **policies):
    """A case with firewall rules; policies: packet__filter='accept:hook'."""
    options = list(OPTIONS)
    for name, policy in policies.items():
        options += ['--set', f'firewall.policies.{name.replace("__", ".").replace("_", "-")}={policy}']
    return Case(packets, rules, {'firewall.rules': lines}, options, events)


# --- HTTP: only GET, the body of the response without a word; other rules see only what is accepted

web_packets = [*tcp(80, request(), response(b'welcome')),
               *tcp(80, request('POST / HTTP/1.1', b'x'), response(b'no'), client_port=40001),
               *tcp(80, request('GET /b HTTP/1.1'), response(b'forbidden word'), client_port=40002),
               *tcp(8080, request('GET /c HTTP/1.1'), response(b'welcome'), client_port=40003)]
web_rules = [
    (1, 'alert http any any -> any any (http.uri; content:"/"; bsize:1; http.method; content:"GET";)'),
    (0, 'alert http any any -> any any (http.method; content:"POST";)'),
    (0, 'alert http any any -> any any (http.response_body; content:"forbidden";)'),
    (0, 'alert tcp any any -> any 8080 (flow:to_server;)'),
]
WEB = '''accept:hook tcp:all any any <> any 80 (sid:101;)
accept:hook http1:<request_line any any -> any any (http.method; content:"GET"; bsize:3; sid:102;)
accept:hook http1:request_headers any any -> any any (sid:103;)
accept:hook http1:request_body any any -> any any (sid:104;)
accept:hook http1:request_trailer any any -> any any (sid:105;)
accept:hook http1:request_complete any any -> any any (sid:106;)
accept:hook http1:<response_headers any any -> any any (sid:107;)
drop:flow http1:response_body any any -> any any (http.response_body; content:"forbidden"; sid:108;)
accept:hook http1:response_body any any -> any any (sid:109;)
accept:hook http1:response_trailer any any -> any any (sid:110;)
accept:hook http1:response_complete any any -> any any (sid:111;)
'''
web_events = [
    '1 event_type=drop src_port=40001 firewall.hook=http:request_line firewall.policy=drop:flow',
    '1 event_type=drop dest_port=40002 firewall.hook=http:response_body firewall.policy=drop:flow',
    '1 event_type=flow src_port=40000 flow.action=', '1 event_type=flow src_port=40001 flow.action=drop',
    '1 event_type=flow src_port=40002 flow.action=drop',
    '1 event_type=alert alert.engine=td', '0 event_type=alert alert.engine=fw',
    '1 event_type=stats stats.firewall.drop_reason.default_app_policy=1 stats.firewall.drop_reason.rules=1 '
    'stats.ips.blocked=0',
]

# --- TLS: one server name, then all of the flow; a ClientHello in two segments; nothing after a refused one

HELLO = client_hello('good.example')
tls_packets = [*tcp(443, client(HELLO[:60]), client(HELLO[60:]), server(server_hello())),
               *tcp(443, client(client_hello('bad.example')), server(server_hello()), client_port=40001),
               *tcp(443, client(HELLO), server(server_hello()), client_port=40002)]
tls_rules = [
    (1, 'alert tls any any -> any any (tls.sni; content:"good.example";)'),
    (0, 'alert tls any any -> any any (tls.sni; content:"bad.example";)'),
]
TLS = '''accept:hook tcp:all any any <> any 443 (sid:101;)
accept:flow,pass:flow,alert tls:<client_hello_done any 40002 -> any any (tls.sni; content:"good.example"; bsize:12; sid:102;)
accept:flow tls:<client_hello_done any any -> any any (tls.sni; content:"good.example"; bsize:12; sid:103;)
'''
tls_events = [
    '1 event_type=flow src_port=40000 flow.action=accept', '1 event_type=flow src_port=40001 flow.action=drop',
    '1 event_type=flow src_port=40002 flow.action=accept',
    '1 event_type=alert src_port=40002 alert.engine=fw firewall.hook=tls:client_hello_done',
    '1 event_type=drop src_port=40001 firewall.hook=tls:client_hello_done',
    '1 event_type=drop firewall.hook=',
]

# --- DNS: one resolver, queries only; UDP datagrams of other ports are dropped one by one

dns_packets = [*udp(53, client(dns_query('www.example.org')), server(dns_answer('www.example.org'))),
               *udp(53, client(dns_query('www.example.org', opcode=2)), client(dns_query('www.example.org')),
                    client_port=40001),
               *udp(99, client(b'a'), client(b'b'), client_port=40002),
               *udp(98, client(b'a'), client(b'stop'), client(b'b'), client_port=40003)]
dns_rules = [
    (2, 'alert dns any any -> any any (dns.query; content:"www.example.org";)'),
    (0, 'alert dns any any -> any any (dns.opcode:2;)'),
    (1, 'alert udp any any -> any 98 (content:"a";)'),
    (0, 'alert udp any any -> any 98 (content:"b";)'),
]
DNS = '''accept:hook udp:all any any <> any 53 (sid:101;)
drop:packet dns:request_complete any any -> any any (dns.opcode:2; sid:102;)
accept:tx dns:<request_complete any any -> any any (sid:103;)
accept:tx dns:<response_complete any any -> any any (sid:104;)
drop:flow udp:all any any -> any 98 (content:"stop"; alert; sid:105;)
accept:packet udp:all any any -> any 98 (sid:106;)
'''
dns_events = [
    '1 event_type=drop src_port=40001 firewall.policy=drop:packet',
    '2 event_type=drop src_port=40002 firewall.hook=packet:filter firewall.policy=drop:packet',
    '1 event_type=alert src_port=40003 alert.signature_id=105 alert.action=blocked firewall.hook=udp:all',
    '1 event_type=stats stats.firewall.blocked=5 stats.firewall.drop_reason.default_packet_policy=2 '
    'stats.firewall.drop_reason.flow_drop=1 stats.firewall.drop_reason.rules=2',
]

# --- A segment that is refused as a packet is refused again when it is sent again

POST = b'POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 0\r\n\r\n'
again_packets = tcp(80, client(POST), finished=False)[:3] + [tcp_packet(POST, PSH | ACK, 1001, 5001, (40000, 80))] * 3
again_rules = [(0, 'alert http any any -> any any ()'), (1, 'alert tcp any any -> any any (flags:S;)')]
AGAIN = '''accept:hook tcp:all any any <> any 80 (sid:101;)
accept:hook http1:request_started any any -> any any (sid:103;)
drop:packet http1:request_line any any -> any any (http.method; content:"POST"; alert; sid:102;)
'''
again_events = ['3 event_type=drop src_port=40000 firewall.policy=drop:packet']

# --- Default policies, and the hooks before flow and stream

policy_packets = [*tcp(80, request(), response(b'welcome')), *tcp(81, request(), client_port=40001, finished=False),
                  *tcp(82, request(), client_port=40002, finished=False)]
policy_rules = [
    (1, 'alert http any any -> any 80 (http.method; content:"GET";)'),
    (0, 'alert tcp any any -> any 81 ()'),
    (0, 'alert tcp any any -> any 82 (flags:S;)'),
]
POLICY = '''drop:packet tcp:pre_flow any any -> any 81 (sid:101;)
drop:packet tcp:pre_stream any any -> any 82 (flags:S; sid:102;)
'''
policy_events = [
    '0 event_type=flow dest_port=81', '1 event_type=flow dest_port=82', '0 event_type=drop dest_port=80',
    '6 event_type=alert dest_port=80 alert.engine=fw alert.signature_id=2201001',
    '1 event_type=stats stats.firewall.drop_reason.pre_flow_hook=3 stats.firewall.drop_reason.pre_stream_hook=1',
]

# --- Bits of transactions: a message is delivered only if its sender was accepted; config: packets without a flow

BITS = '''config:packet tcp:pre_flow any any <> any 81 (config:tracking disable, type flow, scope packet; sid:100;)
accept:hook tcp:all any any <> any any (sid:101;)
accept:hook http1:request_started any any -> any any (sid:102;)
accept:hook http1:request_line any any -> any any (http.uri; content:"/a"; xbits:set,known,track tx; sid:103;)
accept:hook http1:request_line any any -> any any (sid:104;)
accept:tx http1:request_headers any any -> any any (xbits:isset,known,track tx; sid:105;)
'''
bit_packets = [*tcp(80, request('GET /a HTTP/1.1'), response(b'one')),
               *tcp(80, request('GET /b HTTP/1.1'), response(b'two'), client_port=40001),
               *tcp(81, request('GET /b HTTP/1.1'), response(b'three'), client_port=40002)]
bit_rules = [
    (1, 'alert http any any -> any any (http.uri; content:"/a";)'),
    (0, 'alert http any any -> any any (http.uri; content:"/b";)'),
]
bit_events = [
    '1 event_type=drop firewall.hook=http:request_headers src_port=40001', '0 event_type=drop dest_port=81',
    '0 event_type=drop src_port=40000', '0 event_type=flow dest_port=81', '1 event_type=http http.url=/a',
]

# --- detection_filter: the rule drops from its fourth match on

FLOOD = '''drop:packet udp:all any any -> any 9 (detection_filter:track by_src, count 3, seconds 60; alert; sid:101;)
accept:packet udp:all any any -> any 9 (sid:102;)
'''
flood_packets = udp(9, *[client(b'again')] * 5)
flood_rules = [(3, 'alert udp any any -> any 9 (content:"again";)'), (0, 'alert udp any any -> any 9 (content:"never";)')]
flood_events = ['2 event_type=alert alert.signature_id=101 alert.action=blocked', '2 event_type=drop',
                '1 event_type=stats stats.firewall.accepted=3 stats.firewall.blocked=2']

# --- HTTP/2: hooks of streams and of frames of the connection

STREAMS = '''accept:hook tcp:all any any <> any 8080 (sid:101;)
accept:tx,alert http2:global:<request_complete any any -> any any (sid:102;)
accept:tx http2:global:response_started any any -> any any (sid:103;)
accept:hook http2:stream:request_started any any -> any any (sid:104;)
accept:hook,alert http2:stream:request_headers any any -> any any (http.uri; content:"/a"; sid:105;)
accept:hook http2:stream:request_data any any -> any any (sid:106;)
accept:hook http2:stream:request_closed any any -> any any (sid:107;)
accept:hook http2:request_complete any any -> any any (sid:108;)
'''
SETTINGS = http2_frame(4)
stream_packets = [*tcp(8080, client(HTTP2_MAGIC + SETTINGS), server(SETTINGS),
                       client(http2_headers(1, ':method: GET', ':path: /a')),
                       client(http2_headers(3, ':method: GET', ':path: /b')))]
stream_rules = [
    (1, 'alert http2:stream:request_headers any any -> any any (http.uri; content:"/a";)'),
    (0, 'alert http2:global:request_started any any -> any any (http.uri; content:"/a";)'),
    (0, 'alert http2 any any -> any any (http.uri; content:"/b";)'),
]
stream_events = [
    '1 event_type=alert alert.signature_id=102 sub_state=global', '1 event_type=alert alert.signature_id=105 sub_state=stream',
    '1 event_type=drop firewall.hook=http2:stream:request_headers firewall.policy=drop:flow',
]

cases = {
    'bits': firewall(bit_packets, bit_rules, BITS, bit_events),
    'flood': firewall(flood_packets, flood_rules, FLOOD, flood_events),
    'streams': firewall(stream_packets, stream_rules, STREAMS, stream_events),
    'stream_policies': firewall(stream_packets, [(0, stream_rules[0][1]), (1, 'alert tcp any any -> any any (flags:S;)')],
                                'accept:hook tcp:all any any <> any 8080 (sid:101;)\n',
                                ['1 event_type=drop firewall.hook=http2:stream:request_data firewall.policy=drop:flow'],
                                app__http2__global__default_policy='accept:tx',
                                app__http2__stream__default_policy='accept:hook',
                                app__http2__stream__request_data='drop:flow'),
    'web': firewall(web_packets, web_rules, WEB, web_events),
    'tls': firewall(tls_packets, tls_rules, TLS, tls_events),
    'dns': firewall(dns_packets, dns_rules, DNS, dns_events),
    'again': firewall(again_packets, again_rules, AGAIN, again_events),
    'policies': firewall(policy_packets, policy_rules, POLICY, policy_events, packet__filter='accept:hook',
                         app__http1__default_policy='[accept:hook, alert]', app__default_policy='drop:flow'),
}
