# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual HTTP requests that some server serves. The rules must stop those with a forbidden word."""
import gzip
import random
import re

from core import WAIT, message

WORDS = {'uri': b'zqvuri', 'header': b'zqvhdr', 'cookie': b'zqvcki', 'body': b'zqvbdy', 'method': b'ZQVMTH',
         'agent': b'zqvuag', 'raw': b'zqvraw', 'file': b'zqvfil'}
RULES = '''
drop http any any -> any any (msg:"uri"; flow:to_server; http.uri; content:"zqvuri"; sid:1;)
drop http any any -> any any (msg:"header"; flow:to_server; http.header; content:"zqvhdr"; sid:2;)
drop http any any -> any any (msg:"cookie"; flow:to_server; http.cookie; content:"zqvcki"; sid:3;)
drop http any any -> any any (msg:"body"; flow:to_server; http.request_body; content:"zqvbdy"; sid:4;)
drop http any any -> any any (msg:"method"; flow:to_server; http.method; content:"ZQVMTH"; sid:5;)
drop tcp any any -> any any (msg:"raw"; flow:to_server; content:"zqvraw"; sid:6;)
drop http any any -> any any (msg:"file"; flow:to_server; file.data; content:"zqvfil"; sid:7;)
drop http any any -> any any (msg:"user agent"; flow:to_server; http.user_agent; content:"zqvuag"; sid:8;)
'''
PLACES = ('uri', 'uri', 'uri', 'header', 'header', 'cookie', 'body', 'body', 'method', 'agent', 'raw', 'file', None,
          None)
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


class Request:
    """The random choices for a request. odd(share) decides whether to use an oddity; use() records its name."""

    def __init__(self, rng, place, oddness):
        self.rng, self.place, self.oddness, self.features = rng, place, oddness, []
        self.headers, self.body, self.trailer = [], b'', b''

    def odd(self, share=1.0):
        return self.rng.random() < self.oddness * share

    def use(self, name, value):
        self.features.append(name)
        return value

    def choose(self, kind, choices):
        """Returns the value of a random (name, value) pair and records its name."""
        name, value = self.rng.choice(choices)
        return self.use(f'{kind}:{name}', value)

    def word(self, place):
        return WORDS[place] if place == self.place else b'benign'


# --- The request line

LEADING = [('crlf', b'\r\n'), ('lf', b'\n'), ('crlfs', b'\r\n\r\n\r\n'), ('lfs', b'\n\n'), ('cr', b'\r'),
           ('space', b' '), ('many', b'\r\n' * 9)]
# Bytes before the method. Some servers take them for a part of it, so that it is neither POST nor PUT.
FIRST_WORDS = [('high', b'\xff\xfe'), ('control', b'\x01\x02'), ('telnet', b'\xff\xfd\x03'), ('bom', b'\xef\xbb\xbf'),
               ('long', b'A' * 2000), ('token', b'!#-')]
METHODS = [(m.decode(), m)
           for m in (b'POST', b'PUT', b'DELETE', b'OPTIONS', b'PATCH', b'PROPFIND', b'REPORT', b'MKCOL', b'SEARCH',
                     b'FOO', b'QUIT', b'EHLO', b'get',
                                     b'Get', b'BREW', b'X-Y', b'A', b'LOCK', b'VERSION-CONTROL', b'CONNECT', b'TRACE',
                                     b'PURGE', b'M-SEARCH', b'SOURCE', b'LINK', b'NICK',
                                     b'USER', b'HELO', b'STAT', b'RETR', b'GE_T', b'G3T', b"G'T", b'INVITE',
                                     b'DESCRIBE', b'SUBSCRIBE', b'QUERY', b'ACL', b'BIND', b'HELP', b'A' * 40)]
SEPARATORS = [('tab', b'\t'), ('two', b'  '), ('many', b' ' * 20), ('tab-space', b'\t '), ('vt', b'\x0b'),
              ('ff', b'\x0c'), ('cr', b'\r')]
VERSIONS = [('1.0', b'HTTP/1.0'), ('1.2', b'HTTP/1.2'), ('1.9', b'HTTP/1.9'), ('lower', b'http/1.1'),
            ('01.1', b'HTTP/01.1'), ('1.01', b'HTTP/1.01'), ('2.0', b'HTTP/2.0'),
            ('0.9', b'HTTP/0.9'), ('mixed', b'Http/1.1'), ('1.', b'HTTP/1.'), ('1', b'HTTP/1'), ('space', b'HTTP/1.1 '),
            ('tab', b'HTTP/1.1\t'), ('spaces', b'HTTP/1.1   '),
            ('3.7', b'HTTP/3.7'), ('1.10', b'HTTP/1.10'), ('no-slash', b'HTTP 1.1'), ('HTTQ', b'HTTQ/1.1'),
            ('icy', b'ICY/1.1'), ('1.1.1', b'HTTP/1.1.1'), ('1.1x', b'HTTP/1.1x')]


def encode_some(rng, text, share=0.5, upper=True):
    return b''.join(b'%%%02X' % c if rng.random() < share else bytes([c]) for c in text)


def escape_lower(rng, text):
    return encode_some(rng, text).lower()


def target_of(r):
    word = r.word('uri')
    plain = b'/' + word + b'.txt'
    if not r.odd(0.5):
        return plain
    rng = r.rng
    return r.choose('target', [
        ('percent', b'/' + encode_some(rng, word)), ('percent-all', b'/' + encode_some(rng, word, 1)),
        ('percent-lower', b'/' + escape_lower(rng, word)),
        ('query', b'/a?x=' + word), ('query-percent', b'/a?x=' + encode_some(rng, word)),
        ('query-name', b'/?' + word + b'=1'),
        ('query-many', b'/a?' + b'&'.join(b'k%d=v' % n for n in range(60)) + b'&z=' + word),
        ('absolute', b'http://h.example/' + word), ('absolute-port', b'http://h.example:80/' + word),
        ('absolute-upper', b'HTTP://H.EXAMPLE/' + word),
        ('absolute-user', b'http://u:p@h.example/' + word), ('absolute-https', b'https://h.example/' + word),
        ('absolute-other', b'ftp://h.example/' + word),
        ('dots', b'/a/../' + word), ('dot', b'/./././' + word), ('slashes', b'//a//' + word),
        ('dots-percent', b'/a/%2e%2e/' + word), ('backslash', b'/a\\..\\' + word),
        ('parameter', b'/a;b=c/' + word), ('fragment', b'/' + word + b'#x'), ('fragment-before', b'/a#' + word),
        ('utf8', '/é/'.encode() + word), ('high', b'/\xff\xfe/' + word),
        ('long', b'/' + b'a' * 3000 + b'/' + word), ('plus', b'/a+b/' + word), ('colon', b'/a:b/' + word),
        ('quote', b'/"\'<>/' + word), ('bad-percent', b'/%zz/%/' + word),
        ('nul-percent', b'/a%00b/' + word), ('no-slash', word), ('star', b'*' + word), ('question', b'/??' + word),
        ('space-percent', b'/%20/' + word), ('control', b'/\x01/' + word),
        ('semicolon', b'/a?x;y=' + word), ('space', b'/a b/' + word), ('brackets', b'/[a]{b}|^`/' + word),
        ('segment', b'/' + word[:3] + b'/../' + word), ('del', b'/\x7f/' + word),
        ('newline-percent', b'/%0d%0a/' + word), ('authority', b'h.example:80/' + word),
        ('scheme-only', b'http:///' + word), ('tilde', b'/~/' + word), ('amp', b'/a?a&&&' + word)])


def method_of(r):
    if r.place == 'method':
        return r.use('method:word', WORDS['method']) if not r.odd(0.3) \
            else r.choose('method', [('word-more', b'ZQVMTH-X'), ('word-less', b'AZQVMTH')])
    if r.place in ('body', 'file'):
        # As in Suricata, rules on files match only files of POST and PUT.
        return b'POST' if r.place == 'file' or not r.odd(0.3) else r.choose('method', METHODS)
    return b'GET' if not r.odd(0.5) else r.choose('method', METHODS)


def line_of(r, end):
    lead = r.choose('leading', LEADING if r.place == 'file' else LEADING + FIRST_WORDS) if r.odd(0.35) else b''
    method, target = method_of(r), target_of(r)
    first = r.choose('separator', SEPARATORS) if r.odd(0.2) else b' '
    if r.odd(0.06) and r.place == 'uri':
        r.use('version:none', None)
        r.simple = True
        return lead + method + first + target + end
    second = r.choose('separator2', SEPARATORS) if r.odd(0.15) else b' '
    r.version = r.choose('version', VERSIONS) if r.odd(0.35) else b'HTTP/1.1'
    return lead + method + first + target + second + r.version + end


# --- Headers

def header_forms(name, value):
    """Returns (feature, lines) of unusual forms of a header; {e} stands for the line end."""
    return [
        ('no-space', name + b':' + value), ('tab', name + b':\t' + value), ('spaces', name + b':    ' + value + b'  '),
        ('upper', name.upper() + b': ' + value),
        ('lower', name.lower() + b': ' + value), ('space-colon', name + b' : ' + value),
        ('tab-colon', name + b'\t: ' + value), ('fold', name + b':{e} ' + value),
        ('fold-tab', name + b': a{e}\t' + value), ('fold-twice', name + b': a{e} b{e}  ' + value),
        ('fold-inside', name + b': ' + value[:3] + b'{e} ' + value[3:]),
        ('twice', name + b': first{e}' + name + b': ' + value),
        ('twice-before', name + b': ' + value + b'{e}' + name + b': second'),
        ('many', (name + b': n{e}') * 70 + name + b': ' + value),
        ('many-before', name + b': ' + value + (b'{e}' + name + b': n') * 70), ('high', name + b': \xe9\xff' + value),
        ('control', name + b': \x01' + value), ('nul', name + b': a\0' + value),
        ('cr-inside', name + b': a\rb' + value), ('quoted', name + b': "' + value + b'"'),
        ('comma', name + b': a, ' + value + b', b'), ('long', name + b': ' + b'v' * 6000 + value),
        ('semicolon', name + b': a; b=' + value), ('vt', name + b':\x0b' + value),
        ('ff-end', name + b': ' + value + b'\x0c'), ('colon', name + b':: ' + value),
        ('colon-value', name + b': a:' + value), ('del', name + b': \x7f' + value)]


OTHER_LINES = [
    ('empty-value', b'X-E:'), ('no-colon', b'nocolon'), ('empty-name', b': v'), ('underscore', b'X_Y: v'),
    ('many', b'{e}'.join(b'X-%d: v' % n for n in range(80))),
    ('odd-name', b'X!#$%&\'*+.^`|~: v'), ('high-name', b'X\xe9: v'), ('quote-name', b'X": v'),
    ('bracket-name', b'X(: v'), ('slash-name', b'X/Y: v'), ('at-name', b'X@Y: v'),
    ('space-name', b'X Y: v'), ('control-name', b'X\x01: v'), ('long-name', b'X' * 900 + b': v'),
    ('upgrade', b'Upgrade: h2c{e}Connection: Upgrade, HTTP2-Settings{e}HTTP2-Settings: AAMAAABkAAQAAP__'),
    ('websocket', b'Upgrade: websocket{e}Connection: Upgrade'), ('expect', b'Expect: 100-continue'),
    ('nul-name', b'X\0: v'), ('connection', b'Connection: X-M, close'),
    ('te', b'TE: trailers'), ('range', b'Range: bytes=0-1'), ('bad-range', b'Range: bytes=9-1,2-'),
    ('auth', b'Authorization: Foo x'), ('digits', b'1: 2'), ('dash', b'-: -')]
HOSTS = [('none', None), ('twice', b'Host: a{e}Host: b'), ('odd', b'Host: a b'), ('port', b'Host: h.example:99999'),
         ('empty', b'Host:'), ('user', b'Host: u@h'), ('underscore', b'Host: a_b'),
         ('ipv6', b'Host: [::1]:80'), ('dot', b'Host: h.example.'), ('bad-port', b'Host: h:x'), ('slash', b'Host: h/x'),
         ('upper', b'HOST: H')]


def header(r, name, place):
    """Returns a header with the word of PLACE, or a benign one if the word is at another place."""
    if r.place == place and r.odd(0.7):
        return r.choose(place, header_forms(name, r.word(place)))
    return name + b': ' + r.word(place)


def headers_of(r):
    lines = []
    if r.odd(0.15):
        host = r.choose('host', HOSTS)
        lines += [host] if host else []
    else:
        lines.append(b'Host: h.example')
    if r.place == 'header' or r.rng.random() < 0.3:
        lines.append(header(r, b'X-M', 'header'))
    if r.place == 'cookie' or r.rng.random() < 0.2:
        lines.append(header(r, b'Cookie', 'cookie'))
    if r.place == 'agent' or r.rng.random() < 0.2:
        lines.append(header(r, b'User-Agent', 'agent'))
    if r.place == 'raw':
        lines.append(b'X-R: ' + WORDS['raw'])
    for _ in range(r.rng.choice((0, 0, 1, 2)) if r.odd(0.6) else 0):
        lines.append(r.choose('other', OTHER_LINES))
    r.rng.shuffle(lines)
    if r.odd(0.05) and lines:
        lines[0] = r.use('first-header-blank', b' ' + lines[0])
    return lines


# --- Bodies

LENGTHS = [('plus', b'Content-Length: +%d'), ('zeros', b'Content-Length: 000%d'),
           ('twice', b'Content-Length: %d{e}Content-Length: %d'), ('list', b'Content-Length: %d, %d'),
           ('space', b'Content-Length:   %d  '),
           ('tab', b'Content-Length:\t%d'), ('no-space', b'Content-Length:%d'), ('space-colon', b'Content-Length : %d'),
           ('fold', b'Content-Length:{e} %d'), ('lower', b'content-length: %d'),
           ('extra', b'Content-Length: %d x'), ('vt', b'Content-Length: \x0b%d'), ('dot', b'Content-Length: %d.0'),
           ('quoted', b'Content-Length: "%d"'), ('underscore', b'Content_Length: %d'),
           ('minus-too', b'Content-Length: -1{e}Content-Length: %d'), ('hex', b'Content-Length: 0x%x')]
CODINGS = [('upper', b'Transfer-Encoding: CHUNKED'), ('comma', b'Transfer-Encoding: chunked,'),
           ('comma-before', b'Transfer-Encoding: ,chunked'), ('identity', b'Transfer-Encoding: identity, chunked'),
           ('twice', b'Transfer-Encoding: chunked{e}Transfer-Encoding: chunked'),
           ('twice-list', b'Transfer-Encoding: chunked, chunked'), ('tab', b'Transfer-Encoding:\tchunked'),
           ('vt', b'Transfer-Encoding: \x0bchunked'),
           ('fold', b'Transfer-Encoding:{e} chunked'), ('parameter', b'Transfer-Encoding: chunked;q=1'),
           ('gzip', b'Transfer-Encoding: gzip, chunked'), ('space-colon', b'Transfer-Encoding : chunked'),
           ('lower', b'transfer-encoding: chunked'), ('spaces', b'Transfer-Encoding:   chunked   '),
           ('quoted', b'Transfer-Encoding: "chunked"'), ('x', b'Transfer-Encoding: xchunked'),
           ('no-space', b'Transfer-Encoding:chunked'),
           ('x-before', b'Transfer-Encoding: x, chunked'),
           ('two-lines', b'Transfer-Encoding: x{e}Transfer-Encoding: chunked'),
           ('underscore', b'Transfer_Encoding: chunked'),
           ('identity-line', b'Transfer-Encoding: identity{e}Transfer-Encoding: chunked')]
SIZES = [('upper', b'%X'), ('zeros', b'0000%x'), ('space-after', b'%x '), ('space-before', b' %x'), ('tab', b'%x\t'),
         ('extension', b'%x;a=b'), ('extension-quoted', b'%x;a="b;c"'), ('extension-space', b'%x ; a = b'),
         ('0x', b'0x%x'), ('plus', b'+%x'), ('extension-long', b'%x;' + b'e' * 900), ('semicolon', b'%x;'),
         ('many-zeros', b'0' * 30 + b'%x'), ('comma', b'%x,'), ('cr', b'%x\r'), ('extension-nul', b'%x;\0')]


def fill(r, template, length):
    return template.replace(b'%d', b'%d' % length).replace(b'%x', b'%x' % length)


def chunks_of(r, data):
    rng, out, at = r.rng, [], 0
    template = r.choose('chunk', SIZES) if r.odd(0.5) else b'%x'
    end = r.use('chunk:lf', b'\n') if r.odd(0.12) else b'\r\n'
    while at < len(data):
        size = rng.randint(1, max(1, min(len(data) - at, 7 if r.odd(0.3) else 4000)))
        out.append(template % size + end + data[at:at + size] + end)
        at += size
    last = r.choose('chunk-last', [('zeros', b'000'), ('extension', b'0;x'), ('space', b'0 ')]) if r.odd(0.2) else b'0'
    trailer = r.choose('trailer', [('one', b'X-T: v\r\n'), ('length', b'Content-Length: 5\r\n'),
                                   ('word', b'X-M: ' + r.word('header') + b'\r\n')]) if r.odd(0.2) else b''
    return b''.join(out) + last + end + trailer + end


def form_of(r):
    """Returns the content type and the bytes of a multipart form."""
    word = r.word('file') if r.place == 'file' else r.word('body')
    boundary = b'XbX' if not r.odd(0.3) else r.choose('boundary',
                                                      [('long', b'-' * 60 + b'b'), ('quote', b"a'b(c)"),
                                                       ('dashes', b'----WebKitFormBoundary'), ('plus', b'a+_,-./:=?')])
    kind = b'multipart/form-data; boundary=' + boundary
    if r.odd(0.3):
        kind = r.choose('form-type',
                        [('quoted', b'multipart/form-data; boundary="' + boundary + b'"'),
                         ('upper', b'Multipart/Form-Data; Boundary=' + boundary), ('more', kind + b'; charset=utf-8'),
                                      ('comma', b'multipart/form-data, boundary=' + boundary),
                                      ('space', b'multipart/form-data;boundary=' + boundary),
                                      ('before', b'multipart/form-data; x=y; boundary=' + boundary)])
    disposition = b'Content-Disposition: form-data; name="f"; filename="a.txt"'
    if r.odd(0.5):
        disposition = r.choose('disposition',
                               [('lower', disposition.lower()),
                                ('no-quotes', b'Content-Disposition: form-data; name=f; filename=a.txt'),
                                ('spaces', b'Content-Disposition:form-data ;name="f" ;filename="a.txt"'),
                                               ('star', b"Content-Disposition: form-data; name=\"f\"; "
                                                        b"filename*=UTF-8''a.txt"),
                                                        ('order',
                                                         b'Content-Disposition: form-data; filename="a.txt"; name="f"'),
                                               ('fold', b'Content-Disposition: form-data;\r\n name="f"; '
                                                        b'filename="a.txt"'),
                                                        ('escaped',
                                                         b'Content-Disposition: form-data; name="f"; '
                                                         b'filename="a\\".txt"'),
                                               ('single',
                                                b"Content-Disposition: form-data; name='f'; filename='a.txt'"),
                                                ('type-before', b'Content-Type: text/plain\r\n' + disposition)])
    end = b'\r\n' if not r.odd(0.1) else r.use('form:lf', b'\n')
    before = r.use('form:preamble', b'preamble' + end) if r.odd(0.15) else b''
    part = b'--' + boundary + end + disposition + end + end + b'text ' + word + b' text' + end
    first = b'--' + boundary + end + b'Content-Disposition: form-data; name="a"' + end + end + b'1' + \
        end if r.odd(0.4) else b''
    last = b'--' + boundary + b'--' + end if not r.odd(0.1) else r.use('form:no-end', b'')
    return kind, before + first + part + last


def content_of(r):
    """Returns (content type, content, [further headers])."""
    word = r.word('body')
    if r.place == 'file' or (r.place == 'body' and r.odd(0.3)):
        if r.place == 'file' and r.odd(0.2):
            return b'application/octet-stream', b'text ' + WORDS['file'], []
        return (*form_of(r), [])
    if r.odd(0.15):
        data = gzip.compress(b'text ' + word + b' text', mtime=0)
        return b'text/plain', r.use('body:gzip',
                                    data), [r.rng.choice((b'Content-Encoding: gzip', b'Content-Encoding: x-gzip',
                                                          b'Content-encoding:GZIP'))]
    if r.odd(0.3):
        return b'application/x-www-form-urlencoded', r.use('body:form', b'a=1&b=' + word + b'&c=3'), []
    if r.odd(0.2):
        return b'text/plain', r.use('body:long', b'x' * 20000 + word + b'y' * 500), []
    return b'text/plain', b'some text ' + word, []


def framed(r, kind, data, more):
    """Returns the headers with type and framing of the body, and the bytes of the body."""
    lines = [b'Content-Type: ' + kind, *more]
    choice = r.rng.random()
    if r.odd(0.45):
        coding = r.choose('coding', CODINGS) if r.odd(0.6) else r.use('chunked', b'Transfer-Encoding: chunked')
        lines.append(coding)
        data_on_wire = chunks_of(r, data)
        if r.odd(0.25):
            length = r.rng.choice((0, 5, len(data), len(data_on_wire), 100000))
            lines.insert(0 if choice < 0.5 else len(lines), r.use('length-and-coding', b'Content-Length: %d' % length))
        return lines, data_on_wire
    length = r.choose('length', LENGTHS) if r.odd(0.35) else b'Content-Length: %d'
    return [*lines, fill(r, length, len(data))], data


# --- Requests within requests

EVIL = b'GET /' + WORDS['uri'] + b' HTTP/1.1\r\nHost: h.example\r\nConnection: close\r\n\r\n'


def hiding(r, lines, body):
    """Returns a request with these headers and this body, in which some server may find a second request."""
    version = r.choose('version', VERSIONS[:4]) if r.odd(0.3) else b'HTTP/1.1'
    method = b'POST' if not r.odd(0.1) else r.choose('method',
                                                     [('GET', b'GET'), ('CONNECT', b'CONNECT'), ('PUT', b'PUT'),
                                                      ('FOO', b'FOO')])
    lines = [b'Host: h.example', *lines]
    r.rng.shuffle(lines)
    end = b'\r\n' if not r.odd(0.05) else r.use('line-end:lf', b'\n')
    return method + b' / ' + version + end + b''.join(line.replace(b'{e}', end) + end for line in lines) + end + body


def smuggled(r):
    """Returns a request with a second request in its body. Servers that read the length differently find the second
    one."""
    rng = r.rng
    coding = b'Transfer-Encoding: chunked' if not r.odd(0.8) else r.choose('coding', CODINGS)
    template = b'Content-Length: %d' if not r.odd(0.5) else r.choose('length', LENGTHS)
    first = b'%x\r\n' % len(EVIL)
    kind = rng.choice(('last-chunk', 'in-chunk', 'no-chunks', 'lengths', 'length', 'chunk-line', 'line-end', 'cr'))
    r.use('smuggled:' + kind, None)
    if kind == 'last-chunk':
        body = b'0\r\n\r\n' + EVIL
        return hiding(r, [coding, fill(r, template, len(body))], body)
    if kind == 'in-chunk':
        return hiding(r, [coding, fill(r, template, len(first))], first + EVIL + b'\r\n0\r\n\r\n')
    if kind == 'no-chunks':
        return hiding(r, [coding], EVIL)
    if kind == 'lengths':
        short = rng.choice((0, 1, 7))
        return hiding(r, [fill(r, template, short), b'Content-Length: %d' % (short + len(EVIL))], b'x' * short + EVIL)
    if kind == 'length':
        short = rng.choice((0, 1, 7))
        return hiding(r, [fill(r, template, rng.choice((short, short + len(EVIL))))], b'x' * short + EVIL)
    if kind == 'chunk-line':
        size = r.choose('chunk',
                        [*SIZES, ('lf', b'%x;a\nb'), ('cr-lf', b'%x\rb'), ('underscore', b'%x_0'),
                         ('wide', b'10000000%x'), ('wider', b'1000000000000000%x')])
        return hiding(r, [coding], fill(r, size, len(EVIL)) + b'\r\n' + EVIL + b'\r\n0\r\n\r\n' + EVIL)
    line = rng.choice((coding, fill(r, template, rng.choice((7, 7 + len(EVIL))))))
    if kind == 'cr':
        return hiding(r, [b'X: a\r' + line], b'0\r\n\r\nab' + EVIL)
    return hiding(r, [b'X: a', b'Y: b\n' + rng.choice((b'', b' ', b'\r')) + b'\n' + line], b'0\r\n\r\nab' + EVIL)


# --- Message

def request(r, last):
    end = b'\n' if r.odd(0.15) and r.use('line-end:lf', True) else b'\r\n'
    r.simple, r.version = False, b'HTTP/1.1'
    line = line_of(r, end)
    if r.simple:
        return line
    lines, body = headers_of(r), b''
    if r.place in ('body', 'file') or r.rng.random() < 0.1:
        more, body = framed(r, *content_of(r))
        lines += more
    if last and not r.odd(0.15):
        lines.append(b'Connection: close')
    ends = [end] * len(lines)
    if r.odd(0.08):
        ends = [r.rng.choice((b'\r\n', b'\n')) for _ in lines]
        r.use('line-end:mixed', None)
    if r.odd(0.03):
        ends = [r.rng.choice((b'\r\n', b'\r', b'\r\r\n')) for _ in lines]
        r.use('line-end:cr', None)
    head = b''.join(text.replace(b'{e}', e) + e for text, e in zip(lines, ends))
    return line + head + end + body


def cut(r, data):
    """Cuts a message into segments."""
    rng, size = r.rng, rng_choice(r)
    if size == 0 or len(data) > 9000:
        return [data]
    if size == 1:
        first = min(len(data), rng.randint(1, 60))
        return [data[n:n + 1] for n in range(first)] + ([data[first:]] if first < len(data) else [])
    places = sorted({rng.randint(1, len(data) - 1) for _ in range(size)}) if len(data) > 1 else []
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


def rng_choice(r):
    if not r.odd(0.4):
        return 0
    return r.choose('segments', [('bytes', 1), ('two', 2), ('some', 5)])


def pipeline(r, rng):
    """Returns benign requests that are sent before the one with the word."""
    before = []
    for _ in range(rng.randint(1, 3)):
        quiet = Request(rng, None, r.oddness * 0.25)
        before.append(request(quiet, False))
        r.features += ['before-' + f for f in quiet.features]
    return r.use('pipelined', before)


def generate(number, seed):
    """Returns message NUMBER of the run with this seed."""
    rng = random.Random(f'{seed}/{number}')
    place = rng.choice(PLACES)
    r = Request(rng, place, rng.choice((0.15, 0.3, 0.3, 0.5, 0.8)))
    before = pipeline(r, rng) if r.odd(0.35) else []
    wire = smuggled(r) if place == 'uri' and r.odd(0.35) else request(r, True)
    if before and rng.random() < 0.5:
        r.use('waits', None)
        steps = [part for data in before for part in (data, WAIT)] + cut(r, wire)
    else:
        steps = cut(r, b''.join(before) + wire)
    port = 80 if rng.random() < 0.8 else r.use('port:other', rng.choice((8080, 12345, 25, 5000)))
    return message(number, seed, steps, place, r.features, port=port, answer=ANSWER, count=1 + len(before))


# The servers answer with lines TAG=<CONTENT>, one for each place.
TAGS = {'uri': b'U', 'header': b'H', 'cookie': b'C', 'body': b'B', 'method': b'M', 'agent': b'A', 'raw': b'S',
        'file': b'B'}
# Ignore text after the ">" at the end of a line, because error pages repeat the request that the server refuses.
PATTERNS = {place: re.compile(rb'\b' + tag + (rb'=<served>' if place == 'raw'
                                              else rb'=<(?:(?!>\r?\n)[^\0])*?' + WORDS[place])) for place,
                                              tag in TAGS.items()}


def understood(m, answer):
    """Returns whether the server's application read the word at its place, or served all requests of a benign
    message."""
    if answer is None:
        return False
    if m.place is None:
        return answer.count(b'S=<served>') >= m.count
    return bool(PATTERNS[m.place].search(answer))


def limit_of(m):
    """Returns the limit in src/app/http/http.md that explains why a message was not stopped, or None."""
    for step, following in zip(m.steps, m.steps[1:]):
        if step and following is WAIT and re.search(rb'CONNECT [^\n]*\n(.+\n)*(Content-Length|Transfer-Encoding)', step,
                                                    re.I):
            return 'a request after a CONNECT with a body; the response has a status that opens a tunnel'
    return None
