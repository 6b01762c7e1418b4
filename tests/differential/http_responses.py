# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual HTTP responses that some client accepts. The rules must stop those with a forbidden word."""
import random
import re
import zlib

import encoders
from core import message
from http_requests import Request, cut

WORDS = {'body': b'zqvbdy', 'file': b'zqvfil', 'header': b'zqvhdr', 'reason': b'zqvmsg', 'status': b'477',
         'raw': b'zqvraw', 'name': b'zqvnam', 'cookie': b'zqvcki'}
RULES = '''
drop http any any -> any any (msg:"body"; flow:to_client; http.response_body; content:"zqvbdy"; sid:1;)
drop http any any -> any any (msg:"file"; flow:to_client; file.data; content:"zqvfil"; sid:2;)
drop http any any -> any any (msg:"header"; flow:to_client; http.header; content:"zqvhdr"; sid:3;)
drop http any any -> any any (msg:"reason"; flow:to_client; http.stat_msg; content:"zqvmsg"; sid:4;)
drop http any any -> any any (msg:"status"; flow:to_client; http.stat_code; content:"477"; sid:5;)
drop tcp any any -> any any (msg:"raw"; flow:to_client; content:"zqvraw"; sid:6;)
drop http any any -> any any (msg:"name"; flow:to_client; file.name; content:"zqvnam"; sid:7;)
drop http any any -> any any (msg:"cookie"; flow:to_client; http.cookie; content:"zqvcki"; sid:8;)
'''
PLACES = ('body', 'body', 'body', 'body', 'file', 'file', 'header', 'header', 'cookie', 'reason', 'status', 'raw',
          'name', None, None, None)
OPENING = (b'GET /f/%s HTTP/1.1\r\nHost: h.example\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nTE: '
           b'gzip, deflate\r\nConnection: close\r\n\r\n')
BENIGN = b'benign-end'  # end of a benign body; shows that the client read the whole body


# --- Encodings

LONG = b'N' * 70000


def gzip_of(r, data):
    if not r.odd(0.5):
        return encoders.member(data)
    half = len(data) // 2
    return r.choose('gzip', [
        ('name', encoders.member(data, 8, name=b'file.txt')),
        ('name-long', encoders.member(data, 8, name=LONG[:r.rng.choice((300, 4095, 4096, 4097, 9000, 70000))])),
        ('comment', encoders.member(data, 16, comment=b'c' * r.rng.choice((5, 5000)))),
        ('extra', encoders.member(data, 4, extra=b'e' * r.rng.choice((0, 4, 3000, 65535)))),
        ('checksum', encoders.member(data, 2)), ('all-flags', encoders.member(data, 31, b'n', b'xx', b'c')),
        ('text', encoders.member(data, 1)), ('reserved', encoders.member(data, 0xe0)),
        ('members', encoders.member(data[:half]) + encoders.member(data[half:])),
        ('member-empty', encoders.member(b'') + encoders.member(data)),
        ('members-many', b''.join(encoders.member(data[n:n + 3]) for n in range(0, len(data), 3)) if len(data) < 3000
         else encoders.member(data)),
        ('member-long', encoders.member(data[:half]) + encoders.member(data[half:], 8, name=LONG[:5000])),
        ('bad-checksum', encoders.member(data, checksum=1)),
        ('truncated-trailer', encoders.member(data)[:-8]), ('truncated-part', encoders.member(data)[:-3]),
        ('cut', encoders.member(data + b'x' * 300 + bytes(r.rng.randrange(256) for _ in range(200)))[:-30]),
        ('junk', encoders.member(data) + b'junk behind'), ('zeros', encoders.member(data) + bytes(20)),
        ('stored', encoders.member(data, level=0)), ('zlib', zlib.compress(data)),
        ('raw', encoders.deflate(data)), ('junk-before', b'junk' + encoders.member(data)),
        ('method', encoders.member(data, method=7)), ('lf-before', b'\n' + encoders.member(data))])


def deflate_of(r, data):
    if not r.odd(0.6):
        return r.rng.choice((zlib.compress, encoders.deflate))(data)
    return r.choose('deflate',
                    [('raw', encoders.deflate(data)), ('zlib', zlib.compress(data)), ('stored', zlib.compress(data, 0)),
                     ('raw-stored', encoders.deflate(data, 0)), ('gzip', encoders.member(data)),
                                ('cut', zlib.compress(data)[:-4]), ('junk', zlib.compress(data) + b'junk'),
                                ('raw-junk', encoders.deflate(data) + b'junk'),
                                ('raw-cut', encoders.deflate(data + bytes(200))[:-2]),
                                ('twice', zlib.compress(zlib.compress(data)))])


def brotli_of(r, data):
    whole = encoders.brotli(data, r.rng.choice((10, 16, 22, 24)))
    if not r.odd(0.5):
        return whole
    long = encoders.brotli(data + bytes(r.rng.randrange(256) for _ in range(300)))
    return r.choose('br',
                    [('cut', whole[:-1]), ('cut-long', long[:-100]), ('junk', whole + b'junk'),
                     ('twice', whole + whole)])


def zstd_of(r, data):
    whole = encoders.zstd(data, r.rng.choice((1, 3, 19)))
    if not r.odd(0.5):
        return whole
    return r.choose('zstd',
                    [('frames', encoders.zstd(data[:5]) + encoders.zstd(data[5:])),
                     ('skippable', b'\x50\x2a\x4d\x18\x04\0\0\0abcd' + whole), ('cut', whole[:-1]),
                     ('junk', whole + b'junk')])


CODERS = {'gzip': gzip_of, 'x-gzip': gzip_of, 'deflate': deflate_of, 'br': brotli_of, 'zstd': zstd_of,
          'identity': lambda r, data: data}


def names_of(r, names):
    """Returns the value of Content-Encoding or Transfer-Encoding, perhaps in an unusual form."""
    text = ', '.join(names)
    if r.odd(0.4):
        text = r.choose('names',
                        [('upper', text.upper()), ('no-blank', ','.join(names)),
                         ('blanks', '  ' + ' ,  '.join(names) + ' '), ('tab', '\t' + text),
                         ('unknown-before', 'foo, ' + text),
                                  ('unknown-behind', text + ', foo'), ('comma', text + ','), ('commas', ',,' + text),
                                  ('identity', 'identity, ' + text), ('identity-behind', text + ', identity'),
                                  ('quoted', f'"{text}"'), ('parameter', text + ';q=1'), ('x', 'x-' + names[0]),
                                  ('none', 'none, ' + text), ('semicolon', '; '.join(names)), ('x-behind', text + 'x'),
                                  ('nul', text + '\0'), ('dash', text + '-'), ('vt', '\x0b' + text)])
    return text.encode('latin-1')


def header_line(r, name, value):
    if not r.odd(0.25):
        return name + b': ' + value
    cut_at = max(1, len(value) // 2)
    return r.choose('form',
                    [('lower', name.lower() + b': ' + value), ('upper', name.upper() + b': ' + value),
                     ('no-blank', name + b':' + value), ('tab', name + b':\t' + value),
                     ('blanks', name + b':   ' + value + b'  '),
                             ('space-colon', name + b' : ' + value), ('tab-colon', name + b'\t:' + value),
                             ('fold', name + b':{e} ' + value), ('fold-tab', name + b':{e}\t' + value),
                             ('space-before', b' ' + name + b': ' + value),
                             ('fold-inside', name + b': ' + value[:cut_at] + b'{e} ' + value[cut_at:]),
                             ('nul-name', name + b'\0: ' + value),
                             ('nul-value', name + b': ' + value[:cut_at] + b'\0' + value[cut_at:]),
                             ('twice', name + b': ' + value + b'{e}' + name + b': ' + value),
                             ('no-colon', name + b' ' + value), ('vt', name + b':\x0b' + value),
                             ('colon', name + b':: ' + value),
                             ('cr-inside', name + b':\r' + value),
                             ('empty-before', name + b':{e}' + name + b': ' + value),
                             ('fold-nul', name + b':{e}\0' + value)])


def encoded(r, data):
    """Returns the header lines of the content encoding, and the encoded body."""
    if not r.odd(0.7):
        return [], data
    names = [r.rng.choice(('gzip', 'gzip', 'gzip', 'deflate', 'deflate', 'br', 'zstd', 'x-gzip', 'identity'))]
    if r.odd(0.25):
        names.append(r.rng.choice(tuple(CODERS)))
        if r.odd(0.3):
            names.append(r.rng.choice(tuple(CODERS)))
    r.use('content:' + '+'.join(names), None)
    for name in names:
        data = CODERS[name](r, data)
    if r.odd(0.12):  # the header names another encoding
        names = r.use('content:wrong', [r.rng.choice(('gzip', 'deflate', 'br', 'foo', 'identity', 'zstd', 'compress'))])
    if r.odd(0.06):
        return [r.use('content:no-header', b'X-E: v')], data
    if len(names) > 1 and r.odd(0.3):
        return [header_line(r, b'Content-Encoding', r.use('content:lines', name.encode())) for name in names], data
    return [header_line(r, b'Content-Encoding', names_of(r, names))], data


# --- Framing

LENGTHS = [('plus', b'+%d'), ('minus', b'-%d'), ('minus-one', b'-1'), ('zeros', b'000%d'), ('list', b'%d, %d'),
           ('list-other', b'%d, 3'), ('list-other-before', b'3, %d'), ('extra', b'%d x'), ('dot', b'%d.0'),
           ('hex', b'0x%x'),
           ('small', b'3'), ('zero', b'0'), ('large', b'99999'), ('huge', b'99999999999999999999999'),
           ('wrap', b'18446744073709551619'), ('empty', b''), ('word', b'abc'), ('twice', b'%d{e}Content-Length: %d'),
           ('twice-other', b'%d{e}Content-Length: 3'),
           ('twice-other-before', b'3{e}Content-Length: %d'), ('blank', b'%d '), ('blank-inside', b'1 %d'),
           ('comma', b'%d,'), ('comma-before', b',%d'), ('one-less', b'%m'), ('one-more', b'%p'), ('quoted', b'"%d"')]
SIZES = [('upper', b'%X'), ('zeros', b'0000%x'), ('zeros-many', b'0' * 40 + b'%x'), ('blank-behind', b'%x '),
         ('blanks-behind', b'%x    '), ('blank-before', b' %x'), ('tab', b'%x\t'), ('extension', b'%x;a=b'),
         ('extension-quoted', b'%x;a="b;c"'),
         ('extension-blank', b'%x ; a'), ('0x', b'0x%x'), ('plus', b'+%x'), ('minus', b'-%x'),
         ('extension-long', b'%x;' + b'e' * 900), ('semicolon', b'%x;'), ('comma', b'%x,'), ('word', b'%x foo'),
         ('cr', b'%x\r'), ('nul', b'%x\0'), ('dot', b'%x.0'),
         ('colon', b'%x:'), ('lf-before', b'\n%x'), ('crlf-before', b'\r\n%x'), ('extension-lf', b'%x;a\n')]


def number_in(template, length):
    return template.replace(b'%d', b'%d' % length).replace(b'%x', b'%x' % length) \
        .replace(b'%m', b'%d' % max(0, length - 1)).replace(b'%p', b'%d' % (length + 1))


def chunked(r, data):
    rng, out, at = r.rng, [], 0
    template = r.choose('size', SIZES) if r.odd(0.4) else b'%x'
    once = r.odd(0.4)
    end = r.choose('chunk-end', [('lf', b'\n'), ('cr', b'\r'), ('none', b''),
                                 ('crcrlf', b'\r\r\n')]) if r.odd(0.15) else b'\r\n'
    many = r.odd(0.3)
    while at < len(data):
        size = rng.randint(1, max(1, min(len(data) - at, 7 if many else 4000)))
        if len(out) > 400:
            size = len(data) - at
        form = template if not once or at == 0 else b'%x'
        out.append(form.replace(b'%x', b'%x' % size).replace(b'%X', b'%X' % size) + (end or b'\r\n') +
                   data[at:at + size] + end)
        at += size
    last = r.choose('last', [('zeros', b'000'), ('extension', b'0;x'), ('blank', b'0 '), ('0x', b'0x0'),
                             ('minus', b'-0'), ('none', None), ('empty', b'')]) if r.odd(0.2) else b'0'
    if last is None:
        return b''.join(out)
    trailer = r.choose('trailer', [('one', b'X-T: v\r\n'), ('word', b'X-T: ' + r.word('header') + b'\r\n'),
                                   ('no-colon', b'trailer\r\n'), ('lf', b'X: y\n'),
                                   ('length', b'Content-Length: 3\r\n')]) if r.odd(0.2) else b''
    close = b'' if r.odd(0.08) and r.use('no-final-line', True) else (end or b'\r\n')
    return b''.join(out) + last + (end or b'\r\n') + trailer + close


def framed(r, data):
    """Returns the header lines with the framing of the body, and the bytes of the body."""
    kind = r.rng.random()
    if kind < 0.4:
        template = r.choose('length', LENGTHS) if r.odd(0.35) else b'%d'
        lines = [header_line(r, b'Content-Length', number_in(template, len(data)))]
        if r.odd(0.1):
            data = r.choose('behind',
                            [('junk', data + b'junk'), ('crlf', data + b'\r\n'),
                             ('response', data + b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
                             ('word', data + r.word('body'))])
        return lines, data
    if kind < 0.65:
        return [], data  # the body ends with the connection
    names = ['chunked']
    if r.odd(0.4):
        before = r.rng.choice((['gzip'], ['deflate'], ['x-gzip'], ['identity'], ['gzip', 'gzip'], ['deflate', 'gzip'],
                               ['chunked'], ['br']))
        r.use('transfer:' + '+'.join(before), None)
        for name in before:
            data = chunked(r, data) if name == 'chunked' else CODERS[name](r, data)
        if r.odd(0.3) and before != ['chunked']:  # announce no chunks, or send chunks in the wrong order of codings
            if r.odd(0.5):
                lines = [header_line(r, b'Transfer-Encoding', names_of(r, before))]
                return r.use('transfer:unchunked', lines), data
            return [header_line(r, b'Transfer-Encoding',
                                names_of(r, ['chunked', *before]))], r.use('transfer:chunked-first', chunked(r, data))
        names = [*before, 'chunked']
    wire = chunked(r, data)
    if len(names) > 1 and r.odd(0.3):
        lines = [header_line(r, b'Transfer-Encoding', r.use('transfer:lines', name.encode())) for name in names]
    else:
        lines = [header_line(r, b'Transfer-Encoding', names_of(r, names))]
    if r.odd(0.06):
        lines = r.use('transfer:no-header', [])
    if r.odd(0.08):
        lines, wire = r.use('transfer:not-chunked', lines), data
    if r.odd(0.2):
        length = b'Content-Length: %d' % r.rng.choice((0, 3, len(data), len(wire), 99999))
        lines.insert(r.rng.randint(0, len(lines)), r.use('length-and-coding', length))
    return lines, wire


# --- The head

VERSIONS = [('1.0', b'HTTP/1.0'), ('1.9', b'HTTP/1.9'), ('1.2', b'HTTP/1.2'), ('2', b'HTTP/2'), ('2.0', b'HTTP/2.0'),
            ('0.9', b'HTTP/0.9'), ('lower', b'http/1.1'), ('mixed', b'HtTp/1.1'), ('icy', b'ICY'), ('none', b'HTTP'),
            ('slash', b'HTTP/'),
            ('3', b'HTTP/3'), ('1.10', b'HTTP/1.10'), ('01.1', b'HTTP/01.1'), ('1', b'HTTP/1'), ('1.', b'HTTP/1.'),
            ('1.1x', b'HTTP/1.1x'), ('blank', b'HTTP /1.1'), ('shttp', b'SHTTP/1.1'), ('rtsp', b'RTSP/1.0'),
            ('4.7', b'HTTP/4.7'), ('1.1.1', b'HTTP/1.1.1'),
            ('blank-1.1', b'HTTP/ 1.1'), ('minus', b'HTTP/-1.1')]
STATUSES = [('201', b'201'), ('203', b'203'), ('206', b'206'), ('404', b'404'), ('500', b'500'), ('999', b'999'),
            ('099', b'099'), ('20', b'20'), ('2000', b'2000'), ('0200', b'0200'), ('+200', b'+200'), ('word', b'abc'),
            ('204', b'204'), ('304', b'304'), ('205', b'205'),
            ('100', b'100'), ('101', b'101'), ('102', b'102'), ('103', b'103'), ('104', b'104'), ('199', b'199'),
            ('299', b'299'), ('600', b'600'), ('200x', b'200x'), ('200.', b'200.'), ('minus', b'-200'),
            ('hex', b'0xc8'), ('416', b'416'), ('401', b'401'),
            ('000', b'000'), ('-', b'')]
BEFORE = [('100', b'HTTP/1.1 100 Continue\r\n\r\n'), ('100-lf', b'HTTP/1.1 100 Continue\n\n'),
          ('100-headers', b'HTTP/1.1 100 Continue\r\nX: y\r\n\r\n'),
          ('100-length', b'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n'),
          ('102', b'HTTP/1.1 102 Processing\r\n\r\n'),
          ('103', b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), ('104', b'HTTP/1.1 104 X\r\n\r\n'),
          ('150', b'HTTP/1.1 150 X\r\n\r\n'), ('199', b'HTTP/1.1 199 X\r\n\r\n'),
          ('several', b'HTTP/1.1 100 Continue\r\n\r\n' * 5), ('101', b'HTTP/1.1 101 Switching\r\n\r\n'),
          ('101-upgrade', b'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
          ('103-length', b'HTTP/1.1 103 Early\r\nContent-Length: 3\r\n\r\n'),
          ('100-old', b'HTTP/1.0 100 Continue\r\n\r\n'),
          ('101-h2c', b'HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
          ('100-chunked', b'HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n')]
LEADING = [('crlf', b'\r\n'), ('crlfs', b'\r\n\r\n'), ('lf', b'\n'), ('blank', b' '), ('tab', b'\t'),
           ('line', b'junk\r\n'), ('junk', b'junk'), ('short', b'abc'), ('header', b'X: y\r\n'), ('nul', b'\0'),
           ('lines', b'a line\r\nanother line\r\n'), ('h', b'H\r\n'), ('http', b'HTTP\r\n')]
ENDS = [('lf', b'\n'), ('cr', b'\r'), ('lfcr', b'\n\r'), ('crcrlf', b'\r\r\n'), ('crlfcr', b'\r\n\r'), ('mixed', None),
        ('mixed-all', None)]
FINALS = [('lf', b'\n'), ('cr', b'\r'), ('blank', b' \r\n'), ('blank-crlf', b' \r\n\r\n'), ('lfcr', b'\n\r'),
          ('crcrlf', b'\r\r\n'), ('tab', b'\t\r\n\r\n'), ('lfcrlf', b'\n\r\n'), ('nul', b'\0\r\n\r\n'),
          ('crlf-lf', b'\r\n\n'), ('cr-blank', b'\r \n'),
          ('vt', b'\x0b\r\n\r\n'), ('cr-lf', b'\r\r\n\n'), ('none', b'')]
OTHERS = [('no-colon', b'nocolon'), ('empty-name', b': v'), ('empty-value', b'X-E:'), ('blank-name', b'X Y: v'),
          ('many', b'{e}'.join(b'X-%d: v' % n for n in range(90))), ('long', b'X-L: ' + b'v' * 7000),
          ('high', b'X\xe9: \xff'), ('control', b'X\x01: \x02'),
          ('upgrade', b'Upgrade: h2c{e}Connection: Upgrade'), ('connection', b'Connection: keep-alive'),
          ('type-odd', b'Content-Type: text/html; charset=utf-16'), ('range', b'Content-Range: bytes 0-10/100'),
          ('nul', b'X\0Y: v'), ('status-line', b'HTTP/1.1 200 OK'),
          ('charset-7', b'Content-Type: text/html; charset=utf-7'), ('te-odd', b'Transfer-Encoding : chunkedx'),
          ('cl-odd', b'Content_Length: 3'), ('trailer', b'Trailer: X-T'), ('twice', b'X: a{e}X: b'),
          ('huge', b'X-H: ' + b'v' * 20000), ('fold-first', b' X: y')]


def disposition(r):
    name = r.word('name') + b'.exe'
    plain = b'attachment; filename="' + name + b'"'
    if not r.odd(0.7):
        return plain
    half = name[:4], name[4:]
    return r.choose('disposition', [
        ('token', b'attachment; filename=' + name), ('upper', b'Attachment; FileName="' + name + b'"'),
        ('blanks', b'attachment ; filename = "' + name + b'" '), ('no-blank', b'attachment;filename="' + name + b'"'),
        ('inline', b'inline; filename="' + name + b'"'),
        ('star', b"attachment; filename*=UTF-8''" + name),
        ('star-percent', b"attachment; filename*=UTF-8''" + b''.join(b'%%%02x' % c for c in name)),
        ('star-both', b'attachment; filename="a.txt"; filename*=UTF-8\'\'' + name),
        ('star-before', b"attachment; filename*=UTF-8''" + name + b'; filename="a.txt"'),
        ('parts', b'attachment; filename*0="' + half[0] + b'"; filename*1="' + half[1] + b'"'),
        ('single', b"attachment; filename='" + name + b"'"),
        ('escaped', b'attachment; filename="z\\qvnam.exe"' if r.place == 'name' else plain),
        ('twice', b'attachment; filename="a.txt"; filename="' + name + b'"'),
        ('twice-before', b'attachment; filename="' + name + b'"; filename="a.txt"'),
        ('only', b'filename="' + name + b'"'), ('path', b'attachment; filename="/tmp/x/' + name + b'"'),
        ('backslash', b'attachment; filename="C:\\\\x\\\\' + name + b'"'),
        ('other-before', b'attachment; x="filename=a.txt"; filename="' + name + b'"'),
        ('unclosed', b'attachment; filename="' + name), ('comma', b'attachment, filename="' + name + b'"'),
        ('percent', b'attachment; filename="' + b''.join(b'%%%02x' % c for c in name) + b'"'),
        ('iso', b"attachment; filename*=ISO-8859-1'en'" + name), ('name', b'attachment; name="' + name + b'"'),
        ('semicolon', b'attachment; filename="a;b' + name + b'"')])


def content_of(r):
    word = next((r.word(place) for place in ('body', 'file', 'raw') if r.place == place), b'benign')
    data = b'some text ' + word + b' more text ' + BENIGN
    if r.odd(0.3):
        data = r.choose('data',
                        [('long', b'x' * 20000 + data),
                         ('random', bytes(r.rng.randrange(256) for _ in range(3000)) + data),
                         ('begin', word + b' ' + BENIGN), ('long-behind', data + b'y' * 30000 + BENIGN),
                         ('html', b'<html><body>' + data + b'</body></html>'),
                                 ('multipart',
                                  b'--XbX\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-9/100\r\n\r\n' + data +
                                  b'\r\n--XbX--\r\n'), ('gzip-magic', b'\x1f\x8b' + data),
                         ('status', b'HTTP/1.1 200 OK\r\n\r\n' + data), ('lines', b'a\r\n\r\nb\n\nc\r\r' + data)])
    return data


def status_line(r, end):
    version = r.choose('version', VERSIONS) if r.odd(0.2) else b'HTTP/1.1'
    status = WORDS['status'] if r.place == 'status' else b'200'
    if r.place == 'status':
        status = r.choose('status', [('0x', b'0477'), ('more', b'477x'), ('plus', b'+477'),
                                     ('dot', b'477.0')]) if r.odd(0.15) else status
    elif r.odd(0.2):
        status = r.choose('status', STATUSES)
    reason = b' ' + (r.word('reason') if r.place == 'reason' else b'OK')
    if r.odd(0.15):
        reason = r.choose('reason',
                          [('blanks', b'   ' + reason), ('tab',
                                                         b'\t' + reason[1:]), ('high',
                                                                               reason + b'\xff'),
                           ('nul', reason + b'\0'), ('cr', b' a\rb' + reason), ('long', b' ' + b'r' * 3000 + reason),
                           ('behind', reason + b'   ')] +
                          ([('none', b''), ('blank', b' ')] if r.place != 'reason' else []))
    blank = r.choose('blank', [('two', b'  '), ('tab', b'\t'), ('none', b''), ('nul', b'\0'),
                               ('vt', b'\x0b')]) if r.odd(0.08) else b' '
    return version + blank + status + reason + end


def head_of(r, lines):
    """Returns the bytes of status line, headers and empty line."""
    name, end = r.choose('line-end', ENDS) if False else (None, b'\r\n')
    if r.odd(0.15):
        name, end = r.rng.choice(ENDS)
        r.use('line-end:' + name, None)
    choices = (b'\r\n', b'\n') if name == 'mixed' else (b'\r\n', b'\n', b'\r', b'\n\r', b'\r\r\n')
    pick = (lambda: r.rng.choice(choices)) if end is None else (lambda: end)
    out = status_line(r, pick())
    for line in lines:
        out += line.replace(b'{e}', pick()) + pick()
    return out + (r.choose('final', FINALS) if r.odd(0.12) else pick())


def response(r):
    if r.place not in ('status', 'reason', 'header', 'cookie', 'name') and r.odd(0.02):
        return r.use('no-head', content_of(r))
    data = content_of(r)
    content_lines, data = encoded(r, data) if r.place != 'raw' else ([], data)
    if r.place == 'raw':
        r.headers = [b'Content-Length: %d' % len(data)] if r.rng.random() < 0.5 else []
        body = data
        frame_lines = r.headers
    else:
        frame_lines, body = framed(r, data)
    lines = [*content_lines, *frame_lines]
    if r.rng.random() < 0.7 or r.place == 'file':
        kind = b'multipart/byteranges; boundary=XbX' if 'data:multipart' in r.features \
            else r.rng.choice((b'text/html', b'text/plain', b'application/octet-stream'))
        lines.append(header_line(r, b'Content-Type', kind))
    if r.place == 'header':
        lines.append(header_line(r, b'X-M', WORDS['header']))
    if r.place == 'cookie':
        lines.append(header_line(r, b'Set-Cookie', b'a=' + WORDS['cookie']))
    if r.place == 'name' or r.odd(0.1):
        lines.append(header_line(r, b'Content-Disposition', disposition(r)))
    for _ in range(r.rng.choice((0, 0, 1, 2)) if r.odd(0.4) else 0):
        lines.append(r.choose('other', OTHERS))
    r.rng.shuffle(lines)
    lead = r.choose('leading', LEADING) if r.odd(0.08) else b''
    lead += r.choose('before', BEFORE) if r.odd(0.12) else b''
    if r.odd(0.03):
        body = r.use('closed-early', body[:r.rng.randint(0, len(body))])
    return lead + head_of(r, lines) + body


def place_is_in_head(place):
    return place in ('header', 'cookie', 'reason', 'status', 'name')


def generate(number, seed):
    """Returns message NUMBER of the run with this seed."""
    rng = random.Random(f'{seed}/response/{number}')
    r = Request(rng, rng.choice(PLACES), rng.choice((0.0, 0.1, 0.2, 0.3, 0.3, 0.5, 0.8)))
    r.word = lambda place: WORDS[place] if place == r.place else b'benign'
    wire = response(r)
    last = wire[max(0, wire.upper().rfind(b'HTTP/')):]  # without interim responses
    unfinished = r.place and WORDS[r.place] in last[last.rfind(b'\n'):]
    if (place_is_in_head(r.place) or unfinished) and b'\n\r\n' not in last and b'\n\n' not in last:
        r.use('ends-with-close', None)
    return message(number, seed, cut(r, wire), r.place, r.features, from_client=False,
                   opening=OPENING % (b'%d' % number))


# The word in the named header or its continuation lines; clients that print the headers print all lines.
HEADERS = {place: re.compile(rb'^[\s\0]*(?:%s)[\s\0]*:[^\n]*(?:\n[ \t\0][^\n]*)*%s' % (names, WORDS[place]),
                             re.IGNORECASE | re.MULTILINE)
           for place, names in (('header', b'x-m|x-t'), ('cookie', b'set-cookie'))}


def understood(m, result):
    """Returns whether the client delivered the word at its place, or the whole body of a benign message without an
    error."""
    if result is None:
        return False
    if m.place is None:
        return result.good and BENIGN in result.body
    if m.place in ('body', 'file', 'raw'):
        return WORDS[m.place] in result.body
    if m.place == 'status':
        return result.status == WORDS['status']
    if m.place == 'reason':
        return WORDS['reason'] in result.reason
    if m.place == 'name':
        return WORDS['name'] in result.name
    return bool(HEADERS[m.place].search(result.headers))


def limit_of(m):
    """Return the limit in docs/security.md that explains a finding, or None."""
    features = set(m.features)
    layers = sum(f.count('+') + 1 for f in features if f.startswith(('content:', 'transfer:'))
                 and f.split(':')[1].split('+')[0] in CODERS)
    coded = ' '.join(f for f in features if f.startswith(('content:', 'transfer:')))
    if layers > 2 or features & {'deflate:twice'} and layers > 1:
        return 'more than two encodings (too_many_encoding_layers)'
    if features & {'deflate:raw-cut', 'zstd:cut', 'gzip:truncated-trailer', 'br:cut-long'} or 'deflate' in coded and \
            features & {'closed-early', 'final:crlf-lf'} or 'zstd' in coded and 'closed-early' in features:
        return 'a compressed body that ends before a block is complete'
    if m.place == 'name' and any(f.startswith(('content:wrong', 'transfer:', 'final:', 'line-end:', 'form:cr',
                                               'closed')) for f in features):
        return 'the file name of a response without content, or with another oddity'
    return None
