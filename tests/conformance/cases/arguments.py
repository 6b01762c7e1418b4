# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of keywords: operators, number ranges, byte orders, modifiers of flags, options of pcre and flow."""
import base64
import struct

from build import (ACK, Case, certificate, checksum, CLIENT, client, client_hello, dcerpc_bind, dcerpc_bind_ack,
                   dcerpc_request, dns_answer, dns_message, dns_query, dns_record, ethernet, FIN, fragments, ipv4,
                   kerberos_reply, kerberos_request, nfs_call, ntp, PSH, request, response, RST, SERVER, server,
                   server_hello, SYN, tcp, tcp_packet, udp, udp_packet, URG, xdr)


def datagram(options):
    return f'alert udp any any -> any any ({options})'


def segment(options):
    return f'alert tcp any any -> any any ({options})'


# --- Numbers: every form of an integer keyword. A range does not include its ends.

number_packets = [udp_packet(b'number', (40000, 4000), ttl=64)]
numbers = [(count, datagram(f'ttl:{form};')) for count, form in (
    (1, '64'), (0, '65'), (1, '=64'), (1, '0x40'), (1, '!65'), (0, '!64'), (1, '!=65'), (0, '!=64'), (1, '<65'),
    (0, '<64'), (1, '<=64'), (0, '<=63'), (1, '>63'), (0, '>64'), (1, '>=64'), (0, '>=65'), (1, '63-65'), (0, '64-66'),
    (0, '62-64'), (1, '63<>65'), (1, '!64-66'), (0, '!63-65'), (1, '&0xc0=0x40'), (0, '&0xc0=0x80'), (1, '&0xc0!=0x80'),
    (0, '&0x40!=0x40'))]
sizes = [(count, datagram(f'dsize:{form};')) for count, form in (
    (1, '6'), (0, '5'), (1, '!5'), (0, '!6'), (1, '<7'), (0, '<6'), (1, '>5'), (0, '>6'), (1, '5<>7'), (0, '6<>8'))]

# --- byte_test: the number at offset 2 is 0x1234, as text at offset 4 "077"

TEST = b'\xf0\x0f\x12\x34077;'
byte_tests = [(count, datagram(f'byte_test:{form};')) for count, form in (
    (1, '2,=,0x1234,2'), (0, '2,!=,0x1234,2'), (1, '2,!=,0x3412,2'), (1, '2,<,0x1235,2'), (0, '2,<,0x1234,2'),
    (1, '2,>,0x1233,2'), (0, '2,>,0x1234,2'), (1, '2,<=,0x1234,2'), (0, '2,<=,0x1233,2'), (1, '2,>=,0x1234,2'),
    (0, '2,>=,0x1235,2'), (1, '2,&,0x0200,2'), (0, '2,&,0x0100,2'), (0, '2,!&,0x0200,2'), (1, '2,!&,0x0100,2'),
    (1, '2,^,0x1235,2'), (0, '2,^,0x1234,2'), (1, '2,!>,0x1234,2'), (0, '2,!>,0x1233,2'),
    (1, '2,=,0x3412,2,little'), (0, '2,=,0x1234,2,little'), (1, '2,=,0x1234,2,big'), (1, '4,=,0xf00f1234,0'),
    (1, '3,=,77,4,string,dec'), (1, '3,=,63,4,string,oct'), (1, '3,=,0x77,4,string,hex'), (0, '3,=,77,4,string,hex'),
    (1, '2,=,0x23,2,bitmask 0x0ff0'), (0, '2,=,0x230,2,bitmask 0x0ff0'), (0, '2,=,0,9'))] + [
    (1, datagram('content:"|f0 0f|"; byte_test:1,=,0x12,0,relative;')),
    (1, datagram('content:"|12 34|"; byte_test:1,=,0x0f,-3,relative;')),
    (0, datagram('content:"|f0 0f|"; byte_test:1,=,0x0f,0,relative;')),
]

# --- entropy: 16 different bytes have 4 bits per byte, the first 8 of them 3

ENTROPY = bytes(range(16))
entropies = [(count, datagram(f'entropy:{form};')) for count, form in (
    (1, 'value 4'), (1, 'value =4'), (1, 'value == 4.0'), (0, 'value 4.1'), (0, 'value !4'), (1, 'value != 3.9'),
    (1, 'value >= 4'), (0, 'value > 4'), (1, 'value > 3.99'), (1, 'value <= 4'), (0, 'value < 4'), (1, 'value < 4.01'),
    (1, 'value 3.5-4'), (0, 'value !3.5-4'), (0, 'value 4.5-8'), (1, 'bytes 8, value 3'), (0, 'bytes 8, value 4'),
    (1, 'bytes 4, offset 12, value 2'), (0, 'bytes 5, offset 12, value > 0'), (1, 'offset 8, value 3'),
    (0, 'offset 16, value >= 0'), (1, 'bytes 0, offset 0, value 4'))]
entropy_packets = udp(4000, client(ENTROPY))

# --- byte_jump: from each place to the letter behind the jump. The payload has 16 bytes.

JUMP = b'\x03\x02' + b'0003' + b'ABCDEFGHIJ'


def jump(arguments, letter):
    return datagram(f'byte_jump:{arguments}; content:"{letter}"; distance:0; within:1;')


byte_jumps = [
    (1, jump('1,0,post_offset 2', 'A')), (0, jump('1,0,post_offset 2', 'B')),
    (1, jump('1,1,multiplier 3', 'C')), (0, jump('1,1,multiplier 3', 'D')),
    (1, jump('2,0,little,bitmask 0xff00,multiplier 3', 'C')), (1, jump('2,0,bitmask 0xff00,post_offset 1', 'A')),
    (1, jump('4,2,string,dec', 'D')), (1, jump('4,2,string,hex', 'D')), (0, jump('4,2,string,dec', 'C')),
    (1, jump('1,0,from_beginning,post_offset 3', 'A')), (0, jump('1,0,from_beginning,post_offset 3', 'B')),
    (1, jump('1,1,from_end,post_offset -4', 'I')), (0, jump('1,1,from_end,post_offset -4', 'H')),
    (1, jump('1,0,align,post_offset 1', 'A')), (0, jump('1,0,post_offset 1', 'A')),
    (1, datagram('content:"|03|"; byte_jump:1,0,relative,post_offset 4; content:"C"; distance:0; within:1;')),
    (0, datagram('byte_jump:1,0,multiplier 6; content:"A";')),
]

# --- byte_extract and byte_math: variables as offset, depth, distance, within and in comparisons

# The numbers 6, 3 and (little-endian) 1, and a decimal one. The text begins at offset 6.
VARIABLES = b'\x06\x03\x01\x00' + b'17' + b'ABCDEFGHIJ'
variables = [
    (1, datagram('byte_extract:1,0,at; content:"A"; offset:at; depth:1;')),
    (0, datagram('byte_extract:1,0,at; content:"B"; offset:at; depth:1;')),
    (1, datagram('byte_extract:1,1,gap; content:"A"; content:"E"; distance:gap; within:1;')),
    (0, datagram('byte_extract:1,1,gap; content:"A"; content:"D"; distance:gap;')),
    (1, datagram('byte_extract:1,1,range; content:"A"; content:"D"; within:range;')),
    (0, datagram('byte_extract:1,1,range; content:"A"; content:"E"; within:range;')),
    (1, datagram('byte_extract:2,2,flag,little; byte_test:1,=,flag,2;')),
    (0, datagram('byte_extract:2,2,flag; byte_test:1,=,flag,2;')),
    (1, datagram('byte_extract:2,4,number,string,dec; byte_test:1,<,number,0;')),
    (0, datagram('byte_extract:2,4,number,string,dec; byte_test:1,>,number,0;')),
    (1, datagram('byte_extract:1,1,at,multiplier 3; content:"D"; offset:at; depth:1;')),
    (1, datagram('byte_extract:1,1,at,align 4,multiplier 1; content:"17A"; offset:at; depth:3;')),
    (1, datagram('byte_extract:1,1,size; content:"G"; isdataat:size,relative;')),
    (0, datagram('byte_extract:1,1,size; content:"H"; isdataat:size,relative;')),
    (1, datagram('content:"|06|"; byte_extract:1,0,next,relative; byte_test:1,=,next,1;')),
]
math = [(count, datagram(f'byte_math:bytes 1, offset 0, oper {oper}, rvalue {value}, result r; byte_test:1,=,r,{at};'))
        for count, oper, value, at in (
            (1, '-', 3, 1), (0, '-', 2, 1), (1, '/', 2, 1), (0, '/', 3, 1), (1, '/', 6, 2), (1, '+', 43, 4),
            (0, '+', 42, 4), (1, '*', 11, 7), (0, '*', 12, 7), (1, '>>', 1, 1), (0, '>>', 2, 1), (1, '>>', 2, 2),
            (0, '<<', 1, 0))] + [
    (1, datagram('byte_math:bytes 1, offset 1, oper <<, rvalue 1, result r; byte_test:1,=,r,0;')),
    (1, datagram('byte_math:bytes 2, offset 4, oper -, rvalue 11, result r, string dec; byte_test:1,=,r,0;')),
    (1, datagram('byte_math:bytes 2, offset 2, oper +, rvalue 2, result r, endian little; byte_test:1,=,r,1;')),
    (1, datagram('byte_math:bytes 1, offset 0, oper +, rvalue 0, result r, bitmask 0x06; byte_test:1,=,r,1;')),
    (1, datagram('content:"|06|"; byte_math:bytes 1, offset 0, oper +, rvalue 3, result r, relative; '
                 'byte_test:1,=,r,0;')),
]

# --- isdataat, bsize, and contents with escapes

LETTERS = b'ABCDEFGH;:"\\|z'
places = [
    (1, datagram('isdataat:13;')), (0, datagram('isdataat:14;')), (1, datagram('isdataat:!14;')),
    (0, datagram('isdataat:!13;')), (1, datagram('content:"GH"; isdataat:6,relative;')),
    (0, datagram('content:"GH"; isdataat:!6,relative;')), (1, datagram('content:"GH"; isdataat:!7,relative;')),
    (1, datagram(r'content:"GH\;\:\"\\|7c|z"; endswith;')), (0, datagram(r'content:"GH\:\;";')),
    (1, datagram('content:"|41 42 43|DEF|47|"; depth:7;')), (0, datagram('content:"|42 41|";')),
]

# --- pcre: its flags, and those that select a buffer

pcre_packets = tcp(80, request('POST /Path%20a?q=1 HTTP/1.1', b'user=alice', User_Agent='curl/8', Cookie='id=7',
                               Host='Www.Example.ORG'), response(b'line one\nline two', 'HTTP/1.1 404 Not Found'))
pcre = [(count, f'alert http any any -> any any (pcre:"{text}";)') for count, text in (
    (1, r'/^\/path a\?q=1$/Ui'), (0, r'/^\/path a\?q=1$/U'), (1, '/Path%20a/I'), (0, '/Path a/I'),
    (1, r'/^user=\w+$/P'),
    (0, '/POST/P'), (1, '/^POST$/M'), (0, '/^PUT$/M'), (1, '/^id=7$/C'), (0, '/curl/C'), (1, '/^curl/V'), (0, '/id=/V'),
    (1, '/^404$/S'), (0, '/Not/S'), (1, '/^Not Found$/Y'), (0, '/404/Y'), (1, '/^www.example.org$/W'), (0, '/curl/W'),
    (1, '/^Www.Example.ORG$/Z'), (0, '/curl/Z'), (1, r'/User-Agent: curl/H'), (0, '/id=7/H'),
    (1, r'/Cookie: id=7/D'), (0, '/POST/D'), (1, '/^line two$/Qm'), (0, '/^line two$/Q'), (1, '/one.line/Qs'),
    (0, '/one.line/Q'), (1, '/l i n e/Qx'), (0, '/l i n e/Q'))]

# --- flags of TCP, bits of fragments, options of IP

flag_packets = [tcp_packet(b'', flags, 100, 100, (40000 + at, 9000)) for at, flags in enumerate(
    (SYN, SYN | ACK, RST | ACK, FIN | PSH | URG, 0, SYN | 0xc0))]
flags = [(count, segment(f'flags:{form};')) for count, form in (
    (1, 'S'), (3, '+S'), (1, 'SA'), (1, '+SA'), (4, '*SA'), (5, '!SA'), (1, '0'), (1, 'FPU'),
    (1, '+FP'), (2, 'S,CE'), (2, 'S,12'), (1, 'SCE'), (0, 'SF'), (0, 'R'), (1, 'RA'), (0, '+FS'))]


def with_fragment_bits(packet, field):
    """The IPv4 packet with other flags and another fragment offset."""
    header = packet[:6] + struct.pack('!H', field) + packet[8:10] + b'\0\0' + packet[12:20]
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + packet[20:]


fragment_packets = [with_fragment_bits(udp_packet(b'bits', (40000 + at, 9000)), field)
                    for at, field in enumerate((0, 0x4000, 0x8000, 0xc000))] + \
    fragments(udp_packet(b'A' * 20 + b'pieces', (40009, 9000)), 16)
fragment_rules = [(count, f'alert ip any any -> any any (fragbits:{form};)') for count, form in (
    (1, 'D'), (2, '+D'), (1, 'R'), (3, '*DR'), (1, '+DR'), (2, 'M'), (0, 'MD'), (0, '+MR'))] + [
    (1, 'alert ip any any -> any any (fragoffset:2;)'), (1, 'alert ip any any -> any any (fragoffset:>2;)'),
    (0, 'alert ip any any -> any any (fragoffset:>4;)'),
    (1, datagram('content:"pieces"; flow:only_frag;')), (0, datagram('content:"pieces"; flow:no_frag;')),
    (4, datagram('content:"bits"; flow:no_frag;')), (0, datagram('content:"bits"; flow:only_frag;')),
]
OPTIONS = {'rr': b'\x07\x07\x04' + bytes(4), 'ts': b'\x44\x08\x05\0' + bytes(4), 'lsrr': b'\x83\x07\x04' + bytes(4),
           'ssrr': b'\x89\x07\x04' + bytes(4), 'satid': b'\x88\x04\0\x01', 'rtralt': b'\x94\x04\0\0',
           'sec': b'\x82\x0b' + bytes(9), 'nop': b'\x01', 'qs': b'\x19\x08' + bytes(6),
           'cipso': b'\x86\x0a' + struct.pack('!IBB2x', 1, 1, 4)}
option_packets = [ipv4(17, struct.pack('!HHHH', 40000 + at, 9000, 12, 0) + b'data', (CLIENT, SERVER),
                       options=option + bytes(-len(option) % 4)) for at, option in enumerate(OPTIONS.values())]
option_packets.append(udp_packet(b'none', (41000, 9000)))
options = [(1, datagram(f'ipopts:{name};')) for name in OPTIONS] + [
    (10, datagram('ipopts:any;')), (0, datagram('ipopts:esec;')), (0, datagram('content:"none"; ipopts:any;'))]

# --- flow: states, and where contents are searched

flow_packets = tcp(7000, client(b'first ha'), client(b'lf and second'), server(b'answer')) + \
    udp(4000, client(b'alone'), client_port=40005)
flow = [
    (1, segment('flow:established,to_server; content:"half";')),
    (0, segment('flow:established,to_server,no_stream; content:"half";')),
    (1, segment('flow:established,to_server,only_stream; content:"half";')),
    (1, segment('flow:from_client,no_stream; content:"first";')),
    (0, segment('flow:from_server; content:"first";')),
    (1, segment('flow:from_server,established; content:"answer";')),
    (1, segment('flow:stateless; flags:S;')),
    (1, segment('flow:not_established; flags:S;')),
    (0, segment('flow:established; flags:S;')),
    (1, datagram('flow:not_established; content:"alone";')),
    (0, datagram('flow:established; content:"alone";')),
    (1, datagram('flow:to_server,stateless; content:"alone";')),
]

# --- Lists of numbers: record types of DNS, VLAN tags

A, TXT = 1, 16
list_packets = udp(53, client(dns_message([('www.example.org', A)])), server(dns_message(
    [('www.example.org', A)], [dns_record('www.example.org', A, bytes(4)), dns_record('www.example.org', A, bytes(4)),
                               dns_record('www.example.org', TXT, b'\x03any')], flags=0x8180)))
lists = [(count, f'alert dns any any -> any any (flow:to_client; dns.rrtype:{form};)') for count, form in (
    (1, '16'), (1, 'txt'), (0, '15'), (0, 'mx'), (1, '1,any'), (0, '1,all'), (1, '<17,all'), (1, '1,0'), (0, '16,0'),
    (1, '16,-1'), (0, '1,-1'), (1, '1,nb 2'), (0, '1,nb 3'), (1, '!1,-1'), (1, 'count 3'), (0, 'count 2'),
    (1, '15,oob_or 3'), (0, '15,oob_or 2'))]
tag_packets = [ethernet(udp_packet(b'two tags', (40000, 9000)), 100, 200),
               ethernet(udp_packet(b'one tag', (40001, 9000)), 100), ethernet(udp_packet(b'no tag', (40002, 9000)))]
tags = [(count, datagram(f'vlan.id:{form};')) for count, form in (
    (2, '100'), (1, '200'), (2, '100,0'), (1, '100,-1'), (1, '100,all'), (2, '100,all_or_absent'), (3, '100,or_absent'),
    (1, 'count 2'), (1, '200,nb 1'), (0, '100,1'), (0, '300'), (0, 'count 3'))]

# --- base64_decode: where it begins and how much it decodes

ENCODED = base64.b64encode(b'decoded text of this')
base64_packets = udp(4000, client(b'key: ' + ENCODED + b'!'))
decoded = [(count, datagram(f'{start}base64_decode:{form}; base64_data; content:"decoded"; {size}'))
           for count, start, form, size in (
               (1, '', 'offset 5', 'bsize:20;'), (0, '', 'offset 4', ''), (1, 'content:"key: "; ', 'relative', ''),
               (1, 'content:"key"; ', 'offset 2, relative', ''), (1, '', 'bytes 12, offset 5', 'bsize:9;'),
               (0, '', 'bytes 8, offset 5', ''), (0, 'content:"key"; ', 'relative', ''))]
MODES = {'/plain': base64.b64encode(b'some words here'), '/spaced': b'c29tZSB3 b3JkcyBoZXJl',
         '/cut': b'c29tZSB3b3JkcyBoZX'}
mode_packets = [packet for at, (path, body) in enumerate(MODES.items())
                for packet in tcp(80, request(f'POST {path} HTTP/1.1', body), client_port=40000 + at)]


def decodes(path, arguments, text):
    return f'alert http any any -> any any (http.uri; content:"{path}"; http.request_body; from_base64' \
        f'{arguments}; content:"{text}"; startswith;)'


modes = [
    (1, decodes('/plain', '', 'some words here')), (1, decodes('/plain', ':mode strict', 'some words here')),
    (1, decodes('/spaced', ':mode rfc2045', 'some words here')), (0, decodes('/spaced', ':mode rfc4648', 'some words')),
    (1, decodes('/spaced', ':mode rfc4648', 'some w')), (0, decodes('/cut', ':mode strict', 'some')),
    (1, decodes('/plain', ':bytes 8', 'some w')), (0, decodes('/plain', ':bytes 8', 'some words')),
    (1, decodes('/plain', ':offset 8', 'ords here')),
]

# --- Conditions on transactions: versions, dates, names, lists and ranges

MAPPER = 'e1af8308-5d1f-11c9-91a4-08002b14a0fa'
transaction_packets = \
    tcp(443, client(client_hello('www.example.org')), server(server_hello(certificate('www', 'CA', 1)))) + \
    tcp(135, client(dcerpc_bind(MAPPER)), server(dcerpc_bind_ack()), client(dcerpc_request(3, b'stub'))) + \
    udp(88, client(kerberos_request('alice', 'EXAMPLE.ORG')), server(kerberos_reply('alice', 'EXAMPLE.ORG', 23))) + \
    udp(2049, client(nfs_call(3, xdr(b'dir-handle') + xdr(b'secret.txt'))), client_port=900) + \
    udp(123, client(ntp(3)), server(ntp(4))) + \
    udp(53, client(dns_query('no.example')), server(dns_answer('no.example', b'', rcode=3))) + \
    tcp(80, request('GET /nine%20 HTTP/1.1'), response(b'ok'))


def forms(protocol, option, *pairs):
    return [(count, f'alert {protocol} any any -> any any ({option}:{form})') for count, form in pairs]


transactions = \
    forms('tls', 'tls_cert_notafter', (1, '2039<>2041;'), (0, '2041<>2042;'), (1, '>2039-12-31T23:59:58;'),
          (0, '>2040-01-02;')) + \
    forms('tls', 'tls_cert_notbefore', (1, '2020-01-01T00:00:00;'), (0, '2021;'), (1, '<2020-02;'),
          (0, '<2019-12;')) + \
    forms('tls', 'tls.version', (1, '!1.3; flow:to_server;'), (0, '!1.2;'), (1, '0x0303; flow:to_server;')) + \
    forms('tls', 'ssl_version', (1, '!sslv3,!tls1.0; flow:to_server;'), (0, '!tls1.2;'),
          (1, 'tls1.1,tls1.2; flow:to_server;')) + \
    forms('dcerpc', 'dcerpc.iface', (1, f'{MAPPER},=3; flow:to_server;'), (0, f'{MAPPER},!3;'),
          (1, f'{MAPPER},>2; flow:to_server;'), (0, f'{MAPPER},<3;'), (1, f'{MAPPER},any_frag; flow:to_server;')) + \
    forms('dcerpc', 'dcerpc.opnum', (1, '1-3,9; flow:to_server;'), (0, '4-9,1;'), (1, '<4; flow:to_server;'),
          (0, '>3;'), (0, '!3; dcerpc.stub_data; content:"stub";')) + \
    forms('krb5', 'krb5.ticket_encryption', (1, 'weak;'), (0, '!weak;'), (1, 'rc4-hmac;'), (1, '18,23;'),
          (0, 'aes256-cts-hmac-sha1-96;')) + \
    forms('krb5', 'krb5_msg_type', (1, '!as_req; flow:to_client;'), (1, 'as_rep; flow:to_client;'), (0, '11-13;')) + \
    forms('nfs', 'nfs_procedure', (1, '3<>5;'), (1, '1<>3;'), (0, '4<>6;'), (0, '!lookup;'), (1, '!read;'), (1, '<4;'),
          (0, '>3;')) + \
    forms('ntp', 'ntp.mode', (1, 'client;'), (1, '!client;'), (0, 'broadcast;'), (0, '4-6;')) + \
    forms('dns', 'dns.rcode', (1, 'nxdomain;'), (0, '!nxdomain; flow:to_client;'), (1, '2-4;'), (0, 'servfail;')) + \
    forms('http', 'urilen', (1, '5<>7;'), (0, '6<>8;'), (1, '!7;'), (1, '8,raw;'), (0, '8,norm;'), (1, '>5,norm;')) + \
    forms('http', 'http.uri; bsize', (1, '6;'), (0, '!6;'), (1, '5<>7;'), (0, '6<>8;'), (1, '<=6;'), (0, '>6;'))

# --- app-layer-protocol: a known and an unknown protocol, and a change from HTTP to TLS

UPGRADED = client(client_hello('inner.example'))
protocol_packets = tcp(80, request(), response(b'ok')) + \
    tcp(7000, client(b'\x01\x02\x03 nothing known' * 20), server(b'\x04\x05 neither' * 20), client_port=40001) + \
    tcp(8080, request('CONNECT inner.example:443 HTTP/1.1'), server(b'HTTP/1.1 200 OK\r\n\r\n'), UPGRADED,
        server(server_hello(certificate('inner.example', 'CA', 1))), client_port=40002)


def spoken(port, form):
    return f'alert tcp any any -> any {port} (flow:to_server; app-layer-protocol:{form};)'


protocols = [
    (1, spoken(80, 'http')), (0, spoken(80, '!http')), (1, spoken(80, '!tls')), (0, spoken(80, 'failed')),
    (1, spoken(7000, 'failed')), (0, spoken(7000, 'http')), (1, spoken(80, 'http,final')),
    (2, spoken(8080, 'http,original')),  # evaluated at the end of each detection: of HTTP, and of TLS
    (0, spoken(8080, 'tls,original')), (1, spoken(8080, 'tls,final')),
    (0, spoken(80, 'tls,either')), (1, spoken(80, 'tls|http')), (0, spoken(80, 'tls|dns')), (1, spoken(80, '!tls|dns')),
    (0, spoken(80, '!tls|http')), (1, spoken(80, 'http1,exact')), (0, spoken(80, 'http2,exact')),
    (1, spoken(80, 'http1|tls,either,exact')), (1, spoken(7000, 'tls|failed,final')),
]

# --- app-layer-state: a state as hook, and before and after a state; the request has its head in two segments

state_packets = tcp(80, client(b'POST /first HTTP/1.1\r\nHost: a'), client(b'.example\r\nContent-Length: 4\r\n\r\nbo'),
                    client(b'dy'), response(b'ok'))


def state(form, options=''):
    return f'alert http1 any any -> any any (app-layer-state:{form}; {options})'


states = [
    (1, state('request_line', 'http.uri; content:"/first";')),
    (1, state('<request_headers')), (0, state('<request_line')),
    (1, state('>request_headers')), (1, state('>request_line', 'http.method; content:"POST";')),
    (1, state('>response_headers')), (0, state('>request_headers', 'http.method; content:"GET";')),
]

cases = {
    'entropy': (entropy_packets, entropies),
    'entropy_event': Case(entropy_packets, [(0, datagram('entropy:value 5;')), (1, datagram('dsize:16;'))],
                          events=['1 event_type=flow metadata.entropy.content=4']),
    'numbers': (number_packets, numbers),
    'sizes': (number_packets, sizes),
    'byte_test': (udp(4000, client(TEST)), byte_tests),
    'byte_jump': (udp(4000, client(JUMP)), byte_jumps),
    'variables': (udp(4000, client(VARIABLES)), variables),
    'byte_math': (udp(4000, client(VARIABLES)), math),
    'places': (udp(4000, client(LETTERS)), places),
    'pcre': (pcre_packets, pcre),
    'flags': (flag_packets, flags),
    'fragments': (fragment_packets, fragment_rules),
    'ip_options': (option_packets, options),
    'flow': (flow_packets, flow),
    'lists': (list_packets, lists),
    'vlan': Case(tag_packets, tags, ethernet=True),
    'transactions': (transaction_packets, transactions),
    'protocols': (protocol_packets, protocols),
    'states': (state_packets, states),
    'base64': (base64_packets, decoded),
    'base64_modes': (mode_packets, modes),
}
