# SPDX-License-Identifier: GPL-2.0-or-later
"""Each family of keywords that works on payload, buffers, files or state."""
import base64
import hashlib

from build import client, CLIENT, dns_query, request, response, SERVER, server, tcp, udp, udp_packet

LETTERS = b'ABCDEFGHabcdefgh0123456789'


def datagram(options, protocol='udp'):
    return f'alert {protocol} any any -> any any ({options})'


def web(options):
    return f'alert http any any -> any any ({options})'


content = [
    (1, datagram('content:"CDE";')),
    (0, datagram('content:"cdE";')),
    (1, datagram('content:"cdE"; nocase;')),
    (1, datagram('content:"|41 42|C"; startswith;')),
    (0, datagram('content:"BC"; startswith;')),
    (1, datagram('content:"789"; endswith;')),
    (0, datagram('content:"678"; endswith;')),
    (1, datagram('content:"CD"; offset:2; depth:2;')),
    (0, datagram('content:"CD"; offset:3;')),
    (0, datagram('content:"CD"; depth:3;')),
    (1, datagram('content:"AB"; content:"EF"; distance:2; within:2;')),
    (0, datagram('content:"AB"; content:"EF"; distance:3;')),
    (0, datagram('content:"AB"; content:"EF"; within:3;')),
    (0, datagram('content:!"cdE"; nocase;')),
    (1, datagram('content:!"XYZ";')),
    (0, datagram('content:!"CDE";')),
    (1, datagram('content:"AB"; content:!"0"; within:5;')),
    (0, datagram('content:"gh"; content:!"0"; within:5;')),
    (1, datagram('content:"gh"; isdataat:10,relative;')),
    (0, datagram('content:"gh"; isdataat:11,relative;')),
    (1, datagram('content:"AB"; fast_pattern; content:"gh01";')),
    (0, datagram('content:"AB"; content:"gh10"; fast_pattern;')),
    (1, datagram('content:"ABCDEFGH"; fast_pattern:2,4;')),
    (0, datagram('content:"ABCDEFHG"; fast_pattern:2,4;')),
    (1, datagram('dsize:26;')),
    (0, datagram('dsize:>26;')),
    (1, datagram('dsize:20<>30;')),
]

pcre = [
    (1, datagram(r'pcre:"/[A-H]{8}[a-h]{8}\d{10}$/";')),
    (0, datagram(r'pcre:"/^[a-h]/";')),
    (1, datagram(r'pcre:"/^[a-h]/i";')),
    (1, datagram(r'content:"gh"; pcre:"/^0123/R";')),
    (0, datagram(r'content:"gh"; pcre:"/^123/R";')),
    (1, datagram(r'pcre:!"/xyz/";')),
    (0, datagram(r'pcre:!"/CDE/";')),
]

# A big-endian length and value, a little-endian one, a decimal one, and what they lead to.
NUMBERS = b'\x00\x04\x01\x02' + b'\x10\x00' + b'size=0013;' + b'PAYLOAD-HERE' + b'end'
numbers = [
    (1, datagram('byte_test:2,=,4,0;')),
    (0, datagram('byte_test:2,>,4,0;')),
    (1, datagram('byte_test:2,=,16,4,little;')),
    (0, datagram('byte_test:2,=,16,4;')),
    (1, datagram('byte_test:1,&,2,3;')),
    (0, datagram('byte_test:1,&,1,3;')),
    (1, datagram('content:"size="; byte_test:4,=,13,0,relative,string,dec;')),
    (1, datagram('content:"size="; byte_jump:4,0,relative,string,dec; content:"end"; within:3;')),
    (0, datagram('content:"size="; byte_jump:4,0,relative,string,dec,multiplier 2; content:"end"; within:3;')),
    (0, datagram('content:"size="; byte_jump:4,0,relative,string,dec; content:"0013"; distance:0;')),
    (0, datagram('content:"size="; byte_extract:2,100,value;')),
    (0, datagram('content:"size="; byte_math:bytes 2, offset 100, oper +, rvalue 1, result next;')),
    (1, datagram('byte_jump:2,0; content:"|10 00|"; distance:-2; within:4;')),
    (1, datagram('byte_extract:2,0,value; byte_test:1,<,value,2;')),
    (0, datagram('byte_extract:2,0,value; byte_test:1,>,value,2;')),
    (1, datagram('byte_extract:2,0,at; content:"|10|"; offset:at; depth:1;')),
    (1, datagram('byte_math:bytes 2, offset 0, oper *, rvalue 4, result product; byte_test:2,=,product,4,little;')),
    (0, datagram('byte_math:bytes 2, offset 0, oper +, rvalue 4, result sum; byte_test:2,=,sum,4,little;')),
]

flow_packets = tcp(4000, client(b'from the client'), server(b'from the server'))
flow = [
    (1, datagram('flow:established,to_server; content:"the client";', 'tcp')),
    (0, datagram('flow:established,to_client; content:"the client";', 'tcp')),
    (1, datagram('flow:established,to_client; content:"the server";', 'tcp')),
    (0, datagram('flow:not_established; content:"the client";', 'tcp')),
    (1, datagram('flow:to_server; flags:S;', 'tcp')),
    (0, datagram('flow:stateless,to_client; flags:S;', 'tcp')),
    (1, 'alert tcp any any -> any 4000 (content:"the client";)'),
    (0, 'alert tcp any any -> any 4001 (content:"the client";)'),
    (1, f'alert tcp {SERVER} 4000 -> {CLIENT} any (content:"the server";)'),
    (0, f'alert tcp !{SERVER} any -> any any (content:"the server";)'),
    (1, f'alert tcp {CLIENT} any <> {SERVER} any (content:"the server";)'),
    (1, 'alert tcp [192.0.2.0/24,!192.0.2.9] [1024:] -> any [4000,5000:6000] (content:"the client";)'),
]

# The second datagram of a flow comes after the first has set the bit.
bits_packets = udp(4000, client(b'login'), client(b'action'), client(b'logout'), client(b'action')) + \
    udp(4000, client(b'action'), client_port=40001)
bits = [
    (0, datagram('content:"login"; flowbits:set,in; flowbits:noalert;')),
    (1, datagram('content:"action"; flowbits:isset,in;')),
    (0, datagram('content:"logout"; flowbits:unset,in; noalert;')),
    (2, datagram('content:"action"; flowbits:isnotset,in;')),
    (0, datagram('content:"action"; flowbits:isset,other;')),
    (0, datagram('content:"other"; flowbits:set,other;')),
]

# Another flow of the same host sees the bit, until it expires.
xbits_packets = udp(4000, client(b'knock')) + udp(5000, client(b'enter'), client_port=41000) + \
    [udp_packet(b'enter', (42000, 5000), ('192.0.2.77', SERVER)), 20, udp_packet(b'enter', (43000, 5000))]
xbits = [
    (1, datagram('content:"knock"; xbits:set,knocked,track ip_src,expire 10;')),
    (1, datagram('content:"enter"; xbits:isset,knocked,track ip_src;')),
    (2, datagram('content:"enter"; xbits:isnotset,knocked,track ip_src;')),
    (0, datagram('content:"enter"; xbits:isset,other,track ip_src;')),
    (0, datagram('content:"leave"; xbits:set,other,track ip_src,expire 10;')),
]

# Six datagrams within a second, and one a minute later.
limits_packets = udp(4000, *[client(b'again')] * 6) + [60, udp_packet(b'again', (40000, 4000))]
limits = [
    (7, datagram('content:"again";')),
    (3, datagram('content:"again"; threshold:type limit, track by_src, count 2, seconds 30;')),
    (2, datagram('content:"again"; threshold:type threshold, track by_src, count 3, seconds 30;')),
    (1, datagram('content:"again"; threshold:type both, track by_src, count 3, seconds 30;')),
    (3, datagram('content:"again"; detection_filter:track by_src, count 3, seconds 30;')),
    (0, datagram('content:"again"; threshold:type threshold, track by_src, count 8, seconds 300;')),
]

BODY = b'%PDF-1.4 ' + b'x' * 91
files_packets = tcp(80, request('GET /docs/Manual.PDF HTTP/1.1'), response(BODY, Content_Type='application/pdf'))
files = [
    (1, web('file.name; content:"Manual.PDF"; endswith;')),
    (0, web('file.name; content:"Manual.pdf";')),
    (1, web('file.data; content:"%PDF-1.4"; startswith; flow:to_client;')),
    (1, web('filesize:100;')),
    (0, web('filesize:>100;')),
    (1, web('filemagic:"PDF document";')),
    (0, web('filemagic:"executable";')),
    (1, web('filemd5:md5.list;')),
    (1, web('filesha256:sha256.list;')),
    (0, web('filesha1:sha1.list;')),
]
files_lists = {'md5.list': hashlib.md5(BODY).hexdigest() + '\n', 'sha256.list': hashlib.sha256(BODY).hexdigest() + '\n',
               'sha1.list': hashlib.sha1(b'another file').hexdigest() + '\n'}

transforms_packets = tcp(80, request('GET /a%20b/C?q=x++y HTTP/1.1', User_Agent='Agent  One',
                                     X_Token=base64.b64encode(b'hidden words').decode()))
DECODED = 'http.request_header; content:"X-Token|3a 20|"; base64_decode:relative; base64_data; '
transforms = [
    (0, web('http.user_agent; content:"Agent"; bsize:9;')),
    (0, web('http.user_agent; compress_whitespace; bsize:10;')),
    (0, web('http.host; domain; content:"www";')),
    (0, web('http.host; dotprefix; content:"example"; startswith;')),
    (0, web(r'http.user_agent; pcrexform:"^(\w+)"; content:"One";')),
    (0, web('http.user_agent; strip_whitespace; bsize:10;')),
    (0, web('http.host; tld; content:"example";')),
    (0, web('http.user_agent; to_md5; bsize:10;')),
    (0, web('http.user_agent; to_sha1; bsize:10;')),
    (0, web('http.uri.raw; url_decode; content:"%20";')),
    (1, web('http.user_agent; to_lowercase; content:"agent  one"; bsize:10;')),
    (1, web('http.user_agent; to_uppercase; content:"AGENT  ONE";')),
    (0, web('http.user_agent; to_uppercase; content:"AGENT ONE";')),
    (1, web('http.user_agent; compress_whitespace; content:"Agent One"; bsize:9;')),
    (1, web('http.user_agent; strip_whitespace; content:"AgentOne"; bsize:8;')),
    (0, web('http.user_agent; content:"AgentOne";')),
    (1, web(f'http.user_agent; to_md5; content:"|{hashlib.md5(b"Agent  One").hexdigest()}|"; bsize:16;')),
    (1, web(f'http.user_agent; to_sha1; content:"|{hashlib.sha1(b"Agent  One").hexdigest()}|"; bsize:20;')),
    (1, web(f'http.user_agent; to_sha256; content:"|{hashlib.sha256(b"Agent  One").hexdigest()}|"; bsize:32;')),
    (0, web('http.user_agent; to_sha256; bsize:10;')),
    (1, web('http.host; dotprefix; content:".example.org"; bsize:12;')),
    (1, web('http.uri.raw; url_decode; content:"/a b/C";')),
    (0, web('http.uri.raw; content:"/a b/C";')),
    (1, web('http.host; domain; content:"example.org"; bsize:11;')),
    (1, web('http.host; tld; content:"org"; bsize:3;')),
    (1, web(r'http.user_agent; pcrexform:"^(\w+)"; content:"Agent"; bsize:5;')),
    (1, web('http.user_agent; xor:"00"; content:"Agent  One"; bsize:10;')),
    (1, web(DECODED + 'content:"hidden words"; bsize:12;')),
    (0, web(DECODED + 'content:"other words";')),
]

sets_packets = udp(53, client(dns_query('bad.example'))) + \
    udp(53, client(dns_query('good.example')), client_port=40001) + \
    udp(53, client(dns_query('bad.example')), client_port=40002)
sets = [
    (2, datagram('dns.query; dataset:isset,listed,type string,load listed.list;', 'dns')),
    (1, datagram('dns.query; dataset:isnotset,listed;', 'dns')),
    (2, datagram('dns.query; dataset:set,first_seen,type string;', 'dns')),
    (0, datagram('dns.query; content:"good"; dataset:isset,listed;', 'dns')),
    (0, datagram('dns.query; dataset:isset,none,type string,load none.list;', 'dns')),
]
sets_lists = {'listed.list': base64.b64encode(b'bad.example').decode() + '\n',
              'none.list': base64.b64encode(b'other.example').decode() + '\n'}

# Rules of all actions: without an inline mode drop only reports, and pass ends the inspection of the packet.
actions_packets = udp(4000, client(b'one evil thing')) + udp(4001, client(b'two evil thing'), client_port=40001)
actions = [
    (0, 'pass udp any any -> any 4001 (content:"two";)'),
    (1, 'alert udp any any -> any any (content:"evil";)'),
    (0, 'alert udp any any -> any 4001 (content:"evil";)'),
    (1, 'drop udp any any -> any 4000 (content:"evil";)'),
    (1, 'reject udp any any -> any 4000 (content:"evil";)'),
    (1, 'rejectsrc udp any any -> any 4000 (content:"evil";)'),
    (1, 'rejectdst udp any any -> any 4000 (content:"evil";)'),
    (1, 'rejectboth udp any any -> any 4000 (content:"evil";)'),
    (0, 'rejectboth udp any any -> any 4000 (content:"two";)'),
]

cases = {
    'content': (udp(4000, client(LETTERS)), content),
    'pcre': (udp(4000, client(LETTERS)), pcre),
    'numbers': (udp(4000, client(NUMBERS)), numbers),
    'flow': (flow_packets, flow),
    'flowbits': (bits_packets, bits),
    'xbits': (xbits_packets, xbits),
    'threshold': (limits_packets, limits),
    'files': (files_packets, files, files_lists),
    'transforms': (transforms_packets, transforms),
    'datasets': (sets_packets, sets, sets_lists),
    'actions': (actions_packets, actions),
}
