# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of rules: lua and luaxform, in each place where they may be, and the functions of their libraries."""
import hashlib

from build import (Case, certificate, client, client_hello, dns_message, dns_name, dns_query, dns_record, request,
                   response, server, server_hello, ssh_kex, tcp, udp)

MICROSECONDS = int((1700000000.0 + 0.001) % 1 * 1e6)  # of the first packet, see own.py
ALLOWED = ['--set', 'security.lua.allow-rules=yes']


def script(body, init='{}', before='', at_init='', thread_init=''):
    """A script whose functions have these bodies; init() returns `init`."""
    return f'''{before}
function init(sig)
    {at_init}
    return {init}
end
function thread_init()
    {thread_init}
end
function match(args)
    {body}
end
'''


def holds(expression, init='{}'):
    """A script that matches if the expression is true."""
    return script(f'if {expression} then return 1 end return 0', init)


def library(name, expression, get='get_tx'):
    """A script that gets an object `x` of a library, and evaluates an expression with it."""
    return script(f'local x = require("suricata.{name}").{get}()\nif {expression} then return 1 end return 0')


def case(packets, header, rules, files=()):
    """A case with rules of one script each: (COUNT, OPTIONS, SCRIPT). The script is @ in the options."""
    lines, files = [], dict(files)
    for number, (count, options, text) in enumerate(rules):
        files[f'{number}.lua'] = text
        lines.append((count, f'{header} ({options.replace("@", f"{number}.lua")})'))
    return Case(packets, lines, files, ALLOWED)


# --- The places of the keyword

datagram = udp(4000, client(b'hello world'))
UDP = 'alert udp any any -> any any'
places = case(datagram, UDP, [
    (1, 'lua:@;', holds('true')),
    (0, 'lua:@;', holds('false')),
    (0, 'lua:!@;', holds('true')),
    (1, 'lua:!@;', holds('false')),
    (1, 'lua:@;', holds('args.payload == "hello world" and args.packet == nil', '{payload = true}')),
    (1, 'lua:@;', holds('args["payload"]:find("world")', '{payload = tostring(true)}')),
    (1, 'lua:@;', holds('#args.packet == 39', '{packet = true}')),
    (1, 'content:"hello"; lua:@;', holds('true')),
    (0, 'content:"absent"; lua:@;', holds('true')),
    (1, 'luajit:@;', holds('true')),
    (1, 'lua:@;', script('local n = 0 for i = 1, 3 do n = n + i end if n == 6 then return 1 end')),
])

web = tcp(80, request('GET /a%20b?q=1 HTTP/1.1', Host='example.com', **{'User-Agent': 'curl/8'}),
          response(b'the body', Server='nginx'),
          request('POST /form HTTP/1.1', b'name=value', Host='example.org'), response(b'done'))
buffers = case(web, 'alert http any any -> any any', [
    (1, 'http.uri; content:"form"; lua:@;', holds('args.buffer == "/form"', '{buffer = true}')),
    (2, 'http.host; lua:@;', holds('args.buffer:find("^example%.") and args.offset == 1')),
    (0, 'http.host; lua:@;', holds('args.buffer == "www.example.com"')),
    (1, 'http.host; to_uppercase; lua:@;', holds('args.buffer == "EXAMPLE.ORG"')),
    (1, 'http.uri; luaxform:@; content:"MRO"; endswith;', 'function transform(input, args) '
     'input = input:reverse():upper() return input:gsub("^MRO(.*)$", "%1MRO"), #input end'),
    (1, 'http.host; luaxform:@, x, yz; content:"example.orgxyz";',
     'function transform(input, args) local out = input .. args[1] .. args[2] return out, #out end'),
    (1, 'http.host; luaxform:@; content:"example.org";', 'function transform(input) return nil end'),
    (0, 'http.host; luaxform:@; content:"example.org";', 'function transform(input) return "other", 5 end'),
    (1, 'http.request_body; content:"name"; lua:@;', holds('args.buffer == "name=value"')),
    (1, 'http.uri; content:"/a"; lua:@;',
     library('http', 'x:request_line() == "GET /a%20b?q=1 HTTP/1.1" and x:request_host() == "example.com"')),
])

stream = Case(tcp(7000, client(b'first part, '), client(b'second part')), [
    (1, 'alert tcp any any -> any any (flow:to_server; content:"second"; lua:stream.lua;)'),
    (0, 'alert tcp any any -> any any (flow:to_server; content:"second"; lua:other.lua;)'),
], {'stream.lua': holds('args.stream:find("first part, second part", 1, true)', '{stream = true}'),
    'other.lua': holds('args.stream:find("third", 1, true)', '{stream = true}')}, ALLOWED)

# --- Variables

bytevars = case(udp(4000, client(b'\x00\x05hello'), client(b'\x00\x06hello')), UDP, [
    (1, 'byte_extract:2,0,size; lua:@;',
     script('if size:value() == #args.buffer - 2 then return 1 end', before='local b = require("suricata.bytevar")',
            thread_init='size = b.get("size")', at_init='b.map(sig, "size")')),
    (0, 'byte_extract:2,0,size; lua:@;',
     script('if size:value() == 7 then return 1 end', before='local b = require("suricata.bytevar")',
            thread_init='size = b.get("size")', at_init='b.map(sig, "size")')),
])

variables = case(udp(4000, client(b'one'), server(b'two'), client(b'three')), UDP, [
    (1, 'lua:@;', script('local v = count:value() v = tostring((tonumber(v) or 0) + 1) count:set(v, #v) '
                         'if v == "3" then return 1 end',
                         before='local f = require("suricata.flowvar")', at_init='f.register("count")',
                         thread_init='count = f.get("count")')),
    (1, 'lua:@;', script('if n:incr() == 3 and n:value() == 3 then return 1 end',
                         before='local f = require("suricata.flowint")', thread_init='n = f.get("n")')),
    (1, 'flowint:n,==,3; lua:@;', holds('true')),
    (3, 'lua:@;', script('m:set(1) if m:decr() == 0 and m:decr() == 0 then return 1 end',
                         before='local f = require("suricata.flowint")', at_init='f.register("m")',
                         thread_init='m = f.get("m")')),
    (1, 'lua:@;', script('if n:value() == nil then n:set(7) return 1 end',
                         before='local f = require("suricata.flowint")', thread_init='n = f.get("once")')),
    (0, 'lua:@;', script('if v:value() ~= nil then return 1 end',
                         before='local f = require("suricata.flowvar")', thread_init='v = f.get("never")')),
])

# --- Packet, flow, rule

packets = case(datagram, 'alert udp any any -> any any', [
    (1, 'lua:@;', library('packet', 'x:payload() == "hello world" and #x:packet() == 39', 'get')),
    (1, 'lua:@;', library('packet', 'x:sp() == 40000 and x:dp() == 4000 and x:pcap_cnt() == 1', 'get')),
    (1, 'lua:@;', library('packet', 'table.concat({x:tuple()}, " ") == "4 192.0.2.1 198.51.100.1 17 40000 4000"', 'get')),
    (1, 'lua:@;', library('packet', f'table.concat({{x:timestamp()}}, " ") == "1700000000 {MICROSECONDS}"', 'get')),
    (1, 'lua:@;', library('packet', f'x:timestring_iso8601() == "2023-11-14T22:13:20.{MICROSECONDS:06}+0000"', 'get')),
    (1, 'lua:@;', library('packet', f'x:timestring_legacy() == "11/14/2023-22:13:20.{MICROSECONDS:06}"', 'get')),
    (0, 'lua:@;', library('packet', 'x:sp() == 4000', 'get')),
    (1, 'lua:@;', library('flow', 'table.concat({x:tuple()}, " ") == "4 192.0.2.1 198.51.100.1 17 40000 4000"', 'get')),
    (1, 'lua:@;', library('flow', 'table.concat({x:stats()}, " ") == "1 39 0 0" and x:id() > 0', 'get')),
    (1, 'lua:@;', library('flow', 'table.concat({x:timestamps()}, " ") == '
                          f'"1700000000 {MICROSECONDS} 1700000000 {MICROSECONDS}"', 'get')),
    (1, 'lua:@;', library('flow', f'x:timestring_iso8601() == "2023-11-14T22:13:20.{MICROSECONDS:06}+0000"', 'get')),
    (1, 'lua:@;', library('flow', f'x:timestring_legacy() == "11/14/2023-22:13:20.{MICROSECONDS:06}"', 'get')),
    (1, 'lua:@;', library('flow', 'select(2, x:app_layer_proto()) == "unknown" or true', 'get')),
    (1, 'lua:@;', library('flow', 'x:has_alerts() == false', 'get')),
    (1, 'gid:5; rev:3; priority:2; lua:@;',
     library('rule', 'x:gid() == 5 and x:rev() == 3 and x:action() == "alert" and x:msg() == tostring(x:sid()) and '
             'x:priority() == 2 and select(2, x:class()) == 2 and type(x:class_description()) == "string"', 'get_rule')),
    (1, 'lua:@;', holds('require("suricata.util").thread_info().name == "W#0" and '
                        'require("suricata.util").thread_info().id == 0')),
    (1, 'lua:@;', holds('require("suricata.http").get_tx() == nil and require("suricata.file").get_file() == nil')),
])

http = case(web, 'alert http1:response_complete any any -> any any', [
    (1, 'lua:@;', library('http', 'x:request_line() == "GET /a%20b?q=1 HTTP/1.1"')),
    (2, 'lua:@;', library('http', 'x:response_line() == "HTTP/1.1 200 OK"')),
    (1, 'lua:@;', library('http', 'x:request_uri_raw() == "/a%20b?q=1" and x:request_uri_normalized() == "/a b?q=1"')),
    (1, 'lua:@;', library('http', 'x:request_host() == "example.org"')),
    (1, 'lua:@;', library('http', 'x:request_header("user-agent") == "curl/8" and x:request_header("none") == nil')),
    (1, 'lua:@;', library('http', 'x:response_header("Server") == "nginx"')),
    (1, 'lua:@;', library('http', 'x:request_headers()["User-Agent"] == "curl/8"')),
    (1, 'lua:@;', library('http', 'x:response_headers().Server == "nginx"')),
    (1, 'lua:@;', library('http', 'x:request_headers_raw():find("User%-Agent: curl/8\\r\\n")')),
    (1, 'lua:@;', library('http', 'x:response_headers_raw():find("Server: nginx\\r\\n")')),
    (1, 'lua:@;', library('http', '(x:response_body() or {})[1] == "the body"')),
    (0, 'lua:@;', library('http', 'x:request_line() == "PUT / HTTP/1.1"')),
    (2, 'lua:@;', library('flow', 'x:app_layer_proto() == "http"', 'get')),
    (2, 'lua:@;', holds('require("suricata.dns").get_tx() == nil and require("suricata.tls").get_tx() == nil')),
])
request_body = case(web, 'alert http1:request_complete any any -> any any', [
    (1, 'lua:@;', library('http', '(x:request_body() or {})[1] == "name=value"')),
    (0, 'lua:@;', library('http', '(x:request_body() or {})[1] == "name"')),
])

answers = [dns_record('example.com', 5, dns_name('www.example.com')),
           dns_record('www.example.com', 1, bytes([203, 0, 113, 9]))]
lookup = udp(53, client(dns_query('example.com')),
             server(dns_message([('example.com', 1)], answers, [dns_record('example.com', 2, dns_name('ns.example.com'))],
                                flags=0x8180)))
dns = case(lookup, 'alert dns:response_complete any any -> any any', [
    (1, 'lua:@;', library('dns', 'x:rrname() == "example.com" and x:txid() == 0x1234')),
    (1, 'lua:@;', library('dns', 'x:rcode() == 0 and x:rcode_string() == "NOERROR" and x:recursion_desired()')),
    (1, 'lua:@;', library('dns', '#x:queries() == 1 and x:queries()[1].rrname == "example.com" and '
                          'x:queries()[1]["type"] == "A"')),
    (1, 'lua:@;', library('dns', '#x:answers() == 2 and x:answers()[1].addr == "www.example.com" and '
                          'x:answers()[2].addr == "203.0.113.9" and x:answers()[2].type == "A" and x:answers()[2].ttl')),
    (1, 'lua:@;', library('dns', 'x:authorities()[1].type == "NS" and x:authorities()[1].addr == "ns.example.com"')),
    (1, 'lua:@;', holds('require("suricata.dns").rrname() == "example.com"')),
    (0, 'lua:@;', library('dns', 'x:rcode() == 3')),
])

leaf = certificate('leaf.example.com', 'issuer', 0x1234)
handshake = tcp(443, client(client_hello('www.example.com')), server(server_hello(leaf)))
tls = case(handshake, 'alert tls:server_cert_done any any -> any any', [
    (1, 'lua:@;', library('tls', 'x:get_sni() == "www.example.com" and x:get_client_version() == "TLS 1.2"')),
    (1, 'lua:@;', library('tls', '({x:get_server_cert_info()})[1] == "TLS 1.2" and '
                          '({x:get_server_cert_info()})[2]:find("leaf.example.com") and '
                          '({x:get_server_cert_info()})[3]:find("issuer") and '
                          f'({{x:get_server_cert_info()}})[4]:gsub(":", "") == "{hashlib.sha1(leaf).hexdigest()}"')),
    (1, 'lua:@;', library('tls', f'x:get_server_cert_chain()[0].length == {len(leaf)} and '
                          f'require("suricata.hashing").sha1_hex_digest(x:get_server_cert_chain()[0].data) == '
                          f'"{hashlib.sha1(leaf).hexdigest()}"')),
    (1, 'lua:@;', library('tls', 'x:get_server_cert_not_before() == 1577836800 and '
                          'x:get_server_cert_not_after() == 2208988800 and x:get_server_serial() == "12:34"')),
    (1, 'lua:@;', library('tls', 'x:get_client_cert_info() == nil and x:get_client_serial() == nil and '
                          'x:get_client_cert_not_after() == nil and x:get_client_cert_not_before() == nil and '
                          '#x:get_client_cert_chain() == 0 and x:get_server_version() == "TLS 1.2"')),
    (1, 'lua:@;', library('ja3', '#x:ja3_get_hash() == 32 and #x:ja3s_get_hash() == 32 and '
                          'x:ja3_get_string():find("^771,") and x:ja3s_get_string():find("^771,")')),
    (0, 'lua:@;', library('tls', 'x:get_sni() == "example.com"')),
])
ja3 = case(handshake, 'alert tls any any -> any any', [
    (1, 'lua:@;', script('if #args.buffer == 32 and #require("suricata.ja3").get_tx():ja3_get_hash() == 32 then return 1 end',
                         '{ja3 = true}', at_init='require("suricata.ja3").enable_ja3()')),
    (1, 'lua:@;', script('if #require("suricata.ja3").get_tx():ja3s_get_hash() == 32 then return 1 end', '{ja3s = true}')),
    (0, 'lua:@;', script('if args.buffer == "" then return 1 end', '{ja3s = true}')),
])

shell = tcp(22, client(b'SSH-2.0-OpenSSH_9\r\n'), server(b'SSH-2.0-dropbear\r\n'),
            client(ssh_kex(['kex'] + [''] * 9)), server(ssh_kex(['kex'] + [''] * 9)))
ssh = case(shell, 'alert ssh any any -> any any', [
    (1, 'flow:to_server; ssh.hassh; lua:@;', library('ssh', 'x:client_proto() == "2.0" and x:server_proto() == "2.0"')),
    (1, 'flow:to_server; ssh.hassh; lua:@;', library('ssh', 'x:client_software() == "OpenSSH_9"')),
    (1, 'flow:to_server; ssh.hassh; lua:@;', library('ssh', 'x:server_software() == "dropbear"')),
    (1, 'flow:to_client; ssh.hassh.server; lua:@;', library('ssh', '#x:client_hassh() == 32 and #x:server_hassh() == 32')),
    (1, 'flow:to_client; ssh.hassh.server; lua:@;',
     library('ssh', 'x:client_hassh_string():find("^kex;") and x:server_hassh_string():find("^kex;")')),
    (0, 'flow:to_server; ssh.hassh; lua:@;', library('ssh', 'x:client_software() == "dropbear"')),
])

mail = tcp(25, server(b'220 ready\r\n'), client(b'HELO client\r\n'), server(b'250 ok\r\n'),
           client(b'MAIL FROM:<a@example.com>\r\n'), server(b'250 ok\r\n'),
           client(b'RCPT TO:<b@example.com>\r\n'), server(b'250 ok\r\n'),
           client(b'RCPT TO:<c@example.com>\r\n'), server(b'250 ok\r\n'),
           client(b'DATA\r\n'), server(b'354 go\r\n'),
           client(b'Subject: hello\r\nX-Tag: one\r\nContent-Type: text/plain\r\n\r\nbody\r\n.\r\n'), server(b'250 ok\r\n'),
           client(b'QUIT\r\n'), server(b'221 bye\r\n'))
smtp = case(mail, 'alert smtp any any -> any any', [
    (1, 'email.subject; lua:@;', library('smtp', 'x:get_mail_from():find("a@example.com", 1, true)')),
    (1, 'email.subject; lua:@;', library('smtp', '#x:get_rcpt_list() == 2 and x:get_rcpt_list()[2]:find("c@example.com")')),
    (1, 'email.subject; lua:@;', library('smtp', 'x:get_mime_field("x-tag") == "one" and '
                                         'x:get_mime_field("Subject") == "hello" and x:get_mime_field("none") == nil')),
    (1, 'email.subject; lua:@;', library('smtp', '#x:get_mime_list() == 3')),
    (0, 'email.subject; lua:@;', library('smtp', 'x:get_mime_field("Subject") == "bye"')),
])

files = case(web, 'alert http any any -> any any', [
    (1, 'flow:to_client; file.data; content:"the body"; filemd5:list; lua:@;',
     library('file', 'x:name() and x:size() == 8 and x:file_id() == 0 and x:tx_id() == 0 and '
             'x:get_state() ~= nil and x:is_stored() == false', 'get_file')),
    (1, 'flow:to_client; file.data; content:"the body"; lua:@;',
     library('file', '(x:md5() == nil or #x:md5() == 32) and (x:sha1() == nil or #x:sha1() == 40) and '
             '(x:sha256() == nil or #x:sha256() == 64) and (x:magic() == nil or #x:magic() > 0)', 'get_file')),
    (0, 'flow:to_client; file.data; content:"the body"; lua:@;', library('file', 'x:size() == 9', 'get_file')),
], {'list': hashlib.md5(b'the body').hexdigest() + '\n'})

cases = {
    'places': places,
    'buffers': buffers,
    'stream': stream,
    'bytevars': bytevars,
    'variables': variables,
    'packets': packets,
    'http': http,
    'request-body': request_body,
    'dns': dns,
    'tls': tls,
    'ja3': ja3,
    'ssh': ssh,
    'smtp': smtp,
    'files': files,
}
