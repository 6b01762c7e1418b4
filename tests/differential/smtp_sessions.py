# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual SMTP sessions and mails. The rules must stop those with a forbidden word.

Every recipient is <nNUMBERn@h.example>, so that the session of a delivered mail is known. The servers refuse the domain
refused.example.
"""
import base64
import binascii
import quopri

from dialogue import WAIT, Oddities, cut, seeded, session

WORDS = {'helo': b'zqvhelo', 'from': b'zqvfrom', 'rcpt': b'zqvrcpt', 'subject': b'zqvsubj', 'to': b'zqvto',
         'file': b'zqvfile', 'name': b'zqvname', 'raw': b'zqvraw'}
RULES = '''
drop smtp any any -> any any (msg:"helo"; flow:to_server; smtp.helo; content:"zqvhelo"; sid:1;)
drop smtp any any -> any any (msg:"from"; flow:to_server; smtp.mail_from; content:"zqvfrom"; sid:2;)
drop smtp any any -> any any (msg:"rcpt"; flow:to_server; smtp.rcpt_to; content:"zqvrcpt"; sid:3;)
drop smtp any any -> any any (msg:"subject"; flow:to_server; email.subject; content:"zqvsubj"; sid:4;)
drop smtp any any -> any any (msg:"to"; flow:to_server; email.to; content:"zqvto"; sid:5;)
drop smtp any any -> any any (msg:"file"; flow:to_server; file.data; content:"zqvfile"; sid:6;)
drop smtp any any -> any any (msg:"name"; flow:to_server; file.name; content:"zqvname"; sid:7;)
drop tcp any any -> any any (msg:"raw"; flow:to_server; content:"zqvraw"; sid:8;)
'''
PLACES = ('helo', 'from', 'rcpt', 'subject', 'subject', 'to', 'file', 'file', 'file', 'file', 'file', 'name', 'name',
          'raw', None, None)


class Mail(Oddities):
    def word(self, place):
        return WORDS[place] if place == self.place else b'benign'


# --- Encodings

def lines_of(data, size, end=b'\r\n'):
    return end.join(data[at:at + size] for at in range(0, len(data), size))


def base64_of(r, data):
    rng, code = r.rng, base64.b64encode(data)
    if not r.odd(0.6):
        return lines_of(code, 76)
    half = len(code) // 8 * 4
    junk = bytes(c for n, d in enumerate(code)
                 for c in (([rng.choice(b'!#$%&*.:;?@^~_-')] if n % 7 == 3 else []) + [d]))
    return r.choose('base64', [
        ('no-padding', lines_of(code.rstrip(b'='), 76)), ('more-padding', code + b'==='), ('junk', lines_of(junk, 60)),
        ('short-lines', lines_of(code, rng.choice((1, 2, 3, 4, 5, 7)))),
        ('one-line', code), ('spaces', b' '.join(code[n:n + 3] for n in range(0, len(code), 3))),
        ('tabs', lines_of(code, 12, b'\r\n\t')), ('blank-lines', lines_of(code, 16, b'\r\n\r\n')),
        ('odd-lines', lines_of(code, 77)), ('lf', lines_of(code, 20, b'\n')), ('cr', lines_of(code, 20, b'\r')),
        ('spaces-end', lines_of(code, 20, b'  \r\n')),
        ('joined', base64.b64encode(data[:5]) + b'\r\n' + base64.b64encode(data[5:])),
        ('joined-line', base64.b64encode(data[:5]) + base64.b64encode(data[5:])),
        ('nul', code[:half] + b'\0' + code[half:]), ('high', code[:half] + b'\xe9\xff' + code[half:]),
        ('padding-inside', code[:half] + b'=' + code[half:]),
        ('padding-line', b'=\r\n' + code), ('text-before', b'Some text:\r\n' + code),
        ('dots', lines_of(code, 4, b'\r\n.')), ('long-line', base64.b64encode(b'x' * 3000 + data)),
        ('hyphens', b'-' + lines_of(code, 20)),
        ('text-after', code + b'\r\nno base64, but text.'),
        ('after-end', base64.b64encode(b'abcd') + b'\r\n' + base64.b64encode(data)),
        ('quoted', code.replace(b'=', b'=3D'))])


def quoted_of(r, data):
    rng = r.rng
    code = quopri.encodestring(data).replace(b'\n', b'\r\n')
    if not r.odd(0.6):
        return code
    at = data.find(b'zqv') + 4 if b'zqv' in data else 5
    some = b''.join(b'=%02X' % c if rng.random() < 0.5 else bytes([c]) for c in data)
    return r.choose('qp', [
        ('all', b''.join(b'=%02X' % c for c in data)), ('some', some), ('lower', b''.join(b'=%02x' % c for c in data)),
        ('soft', data[:at] + b'=\r\n' + data[at:]), ('soft-space', data[:at] + b'= \r\n' + data[at:]),
        ('soft-tab', data[:at] + b'=\t \r\n' + data[at:]), ('soft-lf', data[:at] + b'=\n' + data[at:]),
        ('soft-many', b'=\r\n'.join(bytes([c]) for c in data)), ('invalid', b'=ZZ=' + data), ('half', data + b'=4'),
        ('equals-end', data + b'='), ('equals-alone', b'a = b ' + data), ('long', b'x' * 900 + data),
        ('space-end', data + b'   '), ('soft-cr', data[:at] + b'=\r' + data[at:]),
        ('soft-twice', data[:at] + b'=\r\n=\r\n' + data[at:]),
        ('equals-equals', b'==' + data), ('mixed-case', b''.join(b'=%1X%1x' % (c >> 4, c & 15) for c in data)),
        ('dot', data[:at] + b'=\r\n..' + data[at:]), ('invalid-inside', data[:at] + b'=' + data[at:])])


def uuencode_of(r, data, name):
    lines = b''.join(binascii.b2a_uu(data[at:at + 45], backtick=r.rng.random() < 0.5)
                     for at in range(0, len(data), 45)).replace(b'\n', b'\r\n')
    begin, end = b'begin 644 ' + name, b'`\r\nend'
    if r.odd(0.5):
        begin, end = r.choose('uu',
                              [('mode', (b'begin 0777 ' + name, end)), ('no-end', (begin, b'')),
                               ('no-zero', (begin, b'end')), ('blank', (b'\r\n' + begin, end)),
                               ('text', (b'Some text.\r\n' + begin, end)),
                                     ('space-name', (b'begin 644 a b ' + name, end)),
                                     ('short-mode', (b'begin 6 ' + name, end)),
                                     ('spaces', (b'begin  644  ' + name, end)),
                                     ('text-after', (begin, end + b'\r\nMore text.'))])
    if r.odd(0.2):
        lines = r.choose('uu-line',
                         [('trailing', lines.replace(b'\r\n', b' \r\n')),
                          ('checksum', lines.replace(b'\r\n', b'X\r\n')),
                          ('stripped', b'\r\n'.join(line.rstrip(b' `') for line in lines.split(b'\r\n')))])
    return begin + b'\r\n' + lines + end


# --- Parts

NAMES = [
    ('plain', b'Content-Disposition: attachment; filename=%s'),
    ('inline', b'Content-Disposition: inline; filename="%s"'),
    ('type', b'Content-Type: application/octet-stream; name="%s"'),
    ('upper', b'CONTENT-DISPOSITION: ATTACHMENT; FILENAME="%s"'),
    ('no-space', b'Content-Disposition:attachment;filename="%s"'),
    ('spaces', b'Content-Disposition: attachment ; filename = "%s"'),
    ('fold', b'Content-Disposition: attachment;\r\n filename="%s"'),
    ('fold-tab', b'Content-Disposition: attachment;\r\n\tfilename="%s"'),
    ('fold-name', b'Content-Disposition:\r\n attachment; filename="%s"'),
    ('star', b"Content-Disposition: attachment; filename*=utf-8''%s"),
    ('star-none', b"Content-Disposition: attachment; filename*=''%s"),
    ('star-percent', b"Content-Disposition: attachment; filename*=utf-8'en'%p"),
    ('sections', b'Content-Disposition: attachment; filename*0="%a"; filename*1="%b"'),
    ('sections-fold', b'Content-Disposition: attachment;\r\n filename*0="%a";\r\n filename*1="%b"'),
    ('sections-order', b'Content-Disposition: attachment; filename*1="%b"; filename*0="%a"'),
    ('sections-star', b"Content-Disposition: attachment; filename*0*=utf-8''%a; filename*1*=%b"),
    ('sections-mixed', b"Content-Disposition: attachment; filename*0*=utf-8''%a; filename*1=\"%b\""),
    ('type-sections', b'Content-Type: application/x; name*0="%a"; name*1="%b"'),
    ('single', b"Content-Disposition: attachment; filename='%s'"),
    ('no-end-quote', b'Content-Disposition: attachment; filename="%s'),
    ('escaped', b'Content-Disposition: attachment; filename="a\\"%s"'),
    ('escaped-inside', b'Content-Disposition: attachment; filename="%a\\%b"'),
    ('comment', b'Content-Disposition: attachment; (a comment) filename="%s"'),
    ('comment-after', b'Content-Disposition: attachment; filename="%s" (a comment)'),
    ('semicolon', b'Content-Disposition: attachment; filename="%s";'),
    ('semicolons', b'Content-Disposition: attachment;; filename="%s"'),
    ('semicolon-first', b'Content-Disposition: ; filename="%s"'),
    ('no-kind', b'Content-Disposition: filename="%s"'),
    ('other-before', b'Content-Disposition: attachment; size=5; filename="%s"'),
    ('quoted-before', b'Content-Disposition: attachment; x="a;b"; filename="%s"'),
    ('equals-before', b'Content-Disposition: attachment; x=a=b; filename="%s"'),
    ('path', b'Content-Disposition: attachment; filename="/tmp/a/%s"'),
    ('space-name', b'Content-Disposition: attachment; filename=a %s'),
    ('rfc2047', b'Content-Disposition: attachment; filename="=?utf-8?B?%6?="'),
    ('rfc2047-q', b'Content-Disposition: attachment; filename==?utf-8?Q?%s?='),
    ('twice', b'Content-Disposition: attachment; filename="a.txt"\r\nContent-Disposition: attachment; filename="%s"'),
    ('twice-before',
     b'Content-Disposition: attachment; filename="%s"\r\nContent-Disposition: attachment; filename="a.txt"'),
     ('parameter-twice', b'Content-Disposition: attachment; filename="a.txt"; filename="%s"'),
    ('both', b'Content-Type: application/x; name="a.txt"\r\nContent-Disposition: attachment; filename="%s"'),
    ('both-type', b'Content-Disposition: attachment\r\nContent-Type: application/x; name="%s"'),
    ('space-colon', b'Content-Disposition : attachment; filename="%s"'),
    ('tab', b'Content-Disposition:\tattachment;\tfilename="%s"'),
    ('star-and-plain', b"Content-Disposition: attachment; filename=\"a.txt\"; filename*=utf-8''%s"),
    ('comma', b'Content-Disposition: attachment, filename="%s"'),
    ('newline', b'Content-Disposition: attachment; filename="%a\r\n %b"'),
    ('quotes-inside', b'Content-Disposition: attachment; filename="%a""%b"'),
    ('high', b'Content-Disposition: attachment; filename="\xe9%s"'),
    ('long', b'Content-Disposition: attachment; filename="' + b'n' * 230 + b'%s"'),
    ('sections-many',
     b'Content-Disposition: attachment; ' + b'; '.join(b'filename*%d="x"' % n for n in range(30)) +
     b'; filename*30="%s"'), ('cid', b'Content-ID: <a>\r\nContent-Disposition: attachment; filename="%s"')]

ENCODING_LINES = [('upper', b'CONTENT-TRANSFER-ENCODING: %U'), ('no-space', b'Content-Transfer-Encoding:%s'),
                  ('spaces', b'Content-Transfer-Encoding:   %s   '), ('tab', b'Content-Transfer-Encoding:\t%s'),
                  ('fold', b'Content-Transfer-Encoding:\r\n %s'),
                  ('semicolon', b'Content-Transfer-Encoding: %s;'),
                  ('parameter', b'Content-Transfer-Encoding: %s; x=y'), ('quoted', b'Content-Transfer-Encoding: "%s"'),
                  ('comment', b'Content-Transfer-Encoding: %s (comment)'),
                  ('comment-before', b'Content-Transfer-Encoding: (c) %s'),
                  ('space-colon', b'Content-Transfer-Encoding : %s'),
                  ('twice', b'Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: %s'),
                  ('twice-before', b'Content-Transfer-Encoding: %s\r\nContent-Transfer-Encoding: 7bit'),
                  ('mixed', b'Content-transfer-Encoding: %M'),
                  ('dot', b'Content-Transfer-Encoding: %s.'), ('comma', b'Content-Transfer-Encoding: %s, 8bit'),
                  ('more', b'Content-Transfer-Encoding: %s x'), ('x-', b'Content-Transfer-Encoding: x-%s'),
                  ('longer', b'Content-Transfer-Encoding: %sx')]


def fill_name(template, name):
    at = len(name) // 2
    return (template.replace(b'%s', name).replace(b'%a', name[:at]).replace(b'%b', name[at:])
            .replace(b'%p', b''.join(b'%%%02X' % c for c in name)).replace(b'%6', base64.b64encode(name)))


def attachment(r):
    """Returns headers and body of a part that is a file."""
    name = r.word('name') + b'.txt'
    data = b'The content: ' + r.word('file') + r.rng.choice((b'', b'.', b' with more of it\r\n', b'\r\n.\r\n'
                                                             if r.odd(0.1) else b'!'))
    if r.odd(0.1):
        data = r.use('file:long', b'text\r\n' * 3000 + data)
    odd_name = r.odd(0.8 if r.place == 'name' else 0.3)
    headers = [fill_name(r.choose('name', NAMES) if odd_name else b'Content-Disposition: attachment; filename="%s"',
                         name)]
    encoding = r.rng.choice((b'7bit', b'base64', b'base64', b'quoted-printable', b'uuencode' if r.odd(0.6)
                             else b'base64'))
    if encoding == b'7bit':
        body = data
        if r.odd(0.4):
            encoding = r.choose('encoding', [(e.decode(), e) for e in (b'8bit', b'binary', b'x-7bit', b'')])
    elif encoding == b'base64':
        body = base64_of(r, data)
    elif encoding == b'quoted-printable':
        body = quoted_of(r, data)
    else:
        encoding = r.choose('encoding',
                            [(e.decode(), e) for e in (b'x-uuencode', b'uuencode', b'x-uue', b'uue', b'X-UUencode')])
        body = uuencode_of(r, data, name)
    if encoding != b'7bit' or r.odd(0.5):
        line = r.choose('cte', ENCODING_LINES) if r.odd(0.25) else b'Content-Transfer-Encoding: %s'
        headers.append(line.replace(b'%s', encoding).replace(b'%U', encoding.upper()).replace(b'%M', encoding.title()))
    if not any(b'ontent-type' in h.lower() for h in headers):
        headers.append(b'Content-Type: ' + r.rng.choice((b'application/octet-stream', b'text/plain',
                                                         b'application/pdf')))
    r.rng.shuffle(headers)
    return headers, body


BOUNDARIES = [('long', b'-' * 40 + b'b'), ('odd', b"a'b(c)+_,-./:=?"), ('dashes', b'----=_NextPart'), ('space', b'a b'),
              ('short', b'b'), ('digits', b'1'), ('max', b'x' * 70), ('longer', b'x' * 200), ('brackets', b'<b>'),
              ('equals', b'='), ('upper', b'BoUnDaRy')]
TYPES = [('upper', b'Content-Type: MULTIPART/MIXED; BOUNDARY="%s"'),
         ('unquoted', b'Content-Type: multipart/mixed; boundary=%s'),
         ('fold', b'Content-Type: multipart/mixed;\r\n boundary="%s"'),
         ('no-space', b'Content-Type:multipart/mixed;boundary="%s"'),
         ('related', b'Content-Type: multipart/related; type="text/html"; boundary="%s"'),
         ('alternative', b'Content-Type: multipart/alternative; boundary="%s"'),
         ('unknown', b'Content-Type: multipart/x-foo; boundary="%s"'),
         ('spaces', b'Content-Type: multipart/mixed ; boundary = "%s"'),
         ('semicolon', b'Content-Type: multipart/mixed; boundary="%s";'),
         ('comment', b'Content-Type: multipart/mixed (c); boundary="%s"'),
         ('other-before', b'Content-Type: multipart/mixed; charset=utf-8; boundary="%s"'),
         ('single', b"Content-Type: multipart/mixed; boundary='%s'"),
         ('no-end-quote', b'Content-Type: multipart/mixed; boundary="%s'),
         ('star', b'Content-Type: multipart/mixed; boundary*=us-ascii\'\'%s'),
         ('sections', b'Content-Type: multipart/mixed; boundary*0="%a"; boundary*1="%b"'),
         ('twice', b'Content-Type: multipart/mixed; boundary="other"; boundary="%s"'),
         ('header-twice', b'Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary="%s"'),
         ('header-twice-before', b'Content-Type: multipart/mixed; boundary="%s"\r\nContent-Type: text/plain'),
         ('comma', b'Content-Type: multipart/mixed, boundary="%s"'),
         ('space-colon', b'Content-Type : multipart/mixed; boundary="%s"'),
         ('no-semicolon', b'Content-Type: multipart/mixed boundary="%s"'),
         ('space-slash', b'Content-Type: multipart / mixed; boundary="%s"'),
         ('no-sub', b'Content-Type: multipart; boundary="%s"'), ('text', b'Content-Type: text/plain; boundary="%s"'),
         ('escaped', b'Content-Type: multipart/mixed; boundary="%a\\%b"'),
         ('tab', b'Content-Type:\tmultipart/mixed;\tboundary="%s"'),
         ('form', b'Content-Type: multipart/form-data; boundary="%s"'),
         ('digest', b'Content-Type: multipart/digest; boundary="%s"'),
         ('fold-value', b'Content-Type: multipart/mixed; boundary=\r\n "%s"'),
         ('upper-b', b'Content-Type: multipart/mixed; Boundary="%s"'),
         ('trail-space', b'Content-Type: multipart/mixed; boundary="%s "')]


def multipart(r, parts, level=0):
    """Returns headers and body of a multipart with these parts."""
    boundary = (b'b%d' % level + b'X') if not r.odd(0.25) else r.choose('boundary', BOUNDARIES)
    line = r.choose('type', TYPES) if r.odd(0.3) else b'Content-Type: multipart/mixed; boundary="%s"'
    at = len(boundary) // 2
    headers = [line.replace(b'%s', boundary).replace(b'%a', boundary[:at]).replace(b'%b', boundary[at:])]
    end = b'\r\n'
    body = r.use('preamble', b'A preamble.\r\n') if r.odd(0.2) else b''
    for n, (lines, content) in enumerate(parts):
        after = r.choose('delimiter', [('space', b' '), ('tab', b'\t'), ('more', b'more'), ('spaces', b'    '),
                                       ('dash', b'-')]) if r.odd(0.1) else b''
        before = r.choose('before-delimiter', [('space', b' '), ('dash', b'-')]) if r.odd(0.04) else b''
        body += before + b'--' + boundary + after + end + end.join(lines) + end + \
            (end if lines else b'') + content + end
    if r.odd(0.15):
        return headers, body + r.choose('last-delimiter',
                                        [('none', b''), ('no-dashes', b'--' + boundary + end),
                                         ('space', b'--' + boundary + b'-- ' + end),
                                         ('one-dash', b'--' + boundary + b'-' + end)])
    body += b'--' + boundary + b'--' + end
    return headers, body + (r.use('epilogue', b'An epilogue.\r\n') if r.odd(0.2) else b'')


def text_part(r):
    return [b'Content-Type: text/plain'], b'Some ' + r.word('raw') + b' text'


def structure(r):
    """Returns the MIME headers and the body of the mail."""
    if r.place not in ('file', 'name') and r.rng.random() < 0.6:
        return ([], text_part(r)[1]) if r.rng.random() < 0.5 else text_part(r)
    file = attachment(r)
    if r.odd(0.12):
        return r.use('mime:single', file)
    if r.odd(0.12):
        r.use('mime:uu-inline', None)
        return [], b'See below.\r\n\r\n' + \
            uuencode_of(r, b'The content: ' + r.word('file') + b' of it', r.word('name') + b'.txt') + b'\r\n'
    inner = multipart(r, [text_part(r), file] if r.rng.random() < 0.7 else [file, text_part(r)])
    if r.odd(0.2):
        for level in range(1, r.rng.choice((2, 2, 3, 6, 12))):
            inner = multipart(r, [inner, text_part(r)] if r.rng.random() < 0.5 else [text_part(r), inner], level)
        r.use('mime:nested', None)
    if r.odd(0.15):
        message = b'\r\n'.join([b'From: <x@h.example>', b'Subject: inner', b'MIME-Version: 1.0',
                                *inner[0]]) + b'\r\n\r\n' + inner[1]
        inner = multipart(r,
                          [([r.choose('nested-type',
                                      [('plain', b'Content-Type: message/rfc822'),
                                       ('upper', b'Content-Type: MESSAGE/RFC822'),
                                       ('named', b'Content-Type: message/rfc822; name="m.eml"'),
                                       ('news', b'Content-Type: message/news')])], message)], 20)
    return inner


# --- The mail

SUBJECTS = [('no-space', b'Subject:%s'), ('upper', b'SUBJECT: %s'), ('lower', b'subject: %s'),
            ('fold', b'Subject:\r\n %s'), ('fold-tab', b'Subject: a\r\n\t%s'), ('fold-inside', b'Subject: %a\r\n %b'),
            ('space-colon', b'Subject : %s'), ('twice', b'Subject: first\r\nSubject: %s'),
            ('twice-before', b'Subject: %s\r\nSubject: second'),
            ('rfc2047', b'Subject: =?utf-8?B?%6?='), ('rfc2047-q', b'Subject: =?utf-8?Q?%s?='),
            ('long', b'Subject: ' + b's' * 900 + b'%s'), ('long-fold', b'Subject: ' + b'x\r\n ' * 60 + b'%s'),
            ('high', b'Subject: \xe9%s'), ('tab', b'Subject:\t%s'), ('many-blanks', b'Subject:' + b' ' * 70 + b'%s'),
            ('empty-fold', b'Subject: \r\n \r\n %s'), ('longer', b'Subject: ' + b's' * 5000 + b'%s'),
            ('cr', b'Subject: a\rb%s'), ('nul', b'Subject: a\0%s')]
TOS = [('name', b'To: "%s" <a@h.example>'), ('second', b'To: <a@h.example>, <%s@h.example>'),
       ('fold', b'To: <a@h.example>,\r\n <%s@h.example>'), ('group', b'To: g: <%s@h.example>;'),
       ('twice', b'To: <a@h.example>\r\nTo: <%s@h.example>'), ('comment', b'To: (%s) a@h.example'),
       ('upper', b'TO: %s@h.example'), ('space-colon', b'To : %s@h.example')]
OTHER_HEADERS = [('no-colon', b'a line without colon'), ('empty-name', b': v'), ('leading-blank', b' leading'),
                 ('mbox', b'From x@h.example Mon Jan 1 00:00:00 2024'),
                 ('many', b'\r\n'.join(b'X-H%d: v' % n for n in range(100))),
                 ('very-many', b'\r\n'.join(b'X-H%d: v' % n for n in range(700))), ('high-name', b'X\xe9: v'),
                 ('space-name', b'X Y: v'),
                 ('long-name', b'X' * 200 + b': v'), ('long', b'X-L: ' + b'v' * 990),
                 ('longer', b'X-L: ' + b'v' * 9000),
                 ('received', b'Received: from a by b; Mon, 1 Jan 2024 00:00:00 +0000'), ('bcc', b'Bcc: <x@h.example>'),
                 ('mbox-quoted', b'>From x'), ('resent', b'Resent-To: <x@h.example>'),
                 ('blank-fold', b'X-F: a\r\n \r\n b'),
                 ('total', b'\r\n'.join(b'X-T%d: ' % n + b'v' * 900 for n in range(80)))]


def header_line(r, kind, plain, choices, word):
    at = len(word) // 2
    line = r.choose(kind, choices) if r.odd(0.6) else plain
    return line.replace(b'%s', word).replace(b'%a', word[:at]).replace(b'%b', word[at:]) \
        .replace(b'%6', base64.b64encode(word))


def mail(r):
    """Returns the bytes of a mail, before dot-stuffing and without the final dot."""
    headers, body = structure(r)
    lines = [b'From: <a@h.example>', header_line(r, 'to', b'To: <%s@h.example>', TOS, r.word('to')),
             header_line(r, 'subject', b'Subject: %s', SUBJECTS, b'about ' + r.word('subject'))]
    if not r.odd(0.1):
        lines.append(b'MIME-Version: 1.0')
    else:
        r.use('no-mime-version', None)
    if r.odd(0.3):
        lines.insert(r.rng.randint(0, len(lines)), r.choose('header', OTHER_HEADERS))
    lines = [*lines, *headers] if r.rng.random() < 0.7 else [*headers, *lines]
    data = b'\r\n'.join(lines) + b'\r\n\r\n' + body
    if r.odd(0.08):
        data = r.use('lines:lf', data.replace(b'\r\n', b'\n'))
    elif r.odd(0.06):
        data = r.use('lines:some-lf', b''.join(line + r.rng.choice((b'\r\n', b'\n')) for line in data.split(b'\r\n')))
    elif r.odd(0.03):
        data = r.use('lines:crcrlf', data.replace(b'\r\n', b'\r\r\n'))
    elif r.odd(0.03):
        data = r.use('lines:cr', data.replace(b'\r\n', b'\r'))
    return data


def stuffed(r, data):
    out = b'\r\n'.join(b'.' + line if line.startswith(b'.') else line for line in data.split(b'\r\n'))
    if r.odd(0.08):
        out = r.choose('dots',
                       [('one', out.replace(b'\r\n', b'\r\n.', 1)), ('all', b'.' + out.replace(b'\r\n', b'\r\n.')),
                        ('second', out.replace(b'\r\n\r\n', b'\r\n\r\n..\r\n', 1)),
                        ('text', out + b'\r\n.x\r\n. \r\n..')])
    return out


# --- The session

FAKE_ENDS = [('lf.lf', b'\n.\n'), ('lf.crlf', b'\n.\r\n'), ('crlf.lf', b'\r\n.\n'), ('cr.cr', b'\r.\r'),
             ('cr.crlf', b'\r.\r\n'), ('crlf.cr', b'\r\n.\r'), ('lf.cr', b'\n.\r'), ('crcrlf.crlf', b'\r\r\n.\r\n'),
             ('crlf.crcrlf', b'\r\n.\r\r\n'), ('nul', b'\r\n.\0\r\n'), ('space', b'\r\n. \r\n'), ('lfcr', b'\n\r.\n\r')]
HELLOS = [('helo', b'HELO %s'), ('lower', b'ehlo %s'), ('mixed', b'EhLo %s'), ('spaces', b'EHLO   %s'),
          ('tab', b'EHLO\t%s'), ('leading', b' EHLO %s'), ('trailing', b'EHLO %s   '), ('more', b'EHLO a %s'),
          ('more-after', b'EHLO %s b'), ('literal', b'EHLO [127.0.0.1]%s'), ('long', b'EHLO ' + b'h' * 300 + b'%s'),
          ('dot', b'EHLO .%s'), ('twice', b'EHLO first\r\nEHLO %s'), ('helo-ehlo', b'HELO first\r\nEHLO %s'),
          ('high', b'EHLO \xe9%s')]
SENDERS = [('lower', b'mail from:<%s>'), ('space', b'MAIL FROM: <%s>'), ('spaces', b'MAIL  FROM:<%s>'),
           ('space-colon', b'MAIL FROM : <%s>'), ('size', b'MAIL FROM:<%s> SIZE=10000'),
           ('8bit', b'MAIL FROM:<%s> BODY=8BITMIME'), ('no-brackets', b'MAIL FROM:%s'),
           ('route', b'MAIL FROM:<@a.example,@b.example:%s>'), ('tab', b'MAIL FROM:\t<%s>'),
           ('trailing', b'MAIL FROM:<%s>  '), ('name', b'MAIL FROM:a <%s>'),
           ('mixed', b'Mail From:<%s>'), ('quoted', b'MAIL FROM:<"a b"%s>'), ('utf8', b'MAIL FROM:<%s> SMTPUTF8'),
           ('ret', b'MAIL FROM:<%s> RET=HDRS ENVID=QQ'), ('auth', b'MAIL FROM:<%s> AUTH=<>'),
           ('leading', b'  MAIL FROM:<%s>'), ('comment', b'MAIL FROM:(c)<%s>'),
           ('long', b'MAIL FROM:<' + b'@a.example,' * 20 + b'@b.example:%s>'),
           ('twice', b'MAIL FROM:<first@h.example>\r\nRSET\r\nMAIL FROM:<%s>'),
           ('again', b'MAIL FROM:<first@h.example>\r\nMAIL FROM:<%s>'), ('space-in', b'MAIL FROM:< %s >')]
RECIPIENTS = [('lower', b'rcpt to:<%s>'), ('space', b'RCPT TO: <%s>'), ('spaces', b'RCPT   TO:<%s>'),
              ('no-brackets', b'RCPT TO:%s'), ('route', b'RCPT TO:<@a.example:%s>'),
              ('notify', b'RCPT TO:<%s> NOTIFY=NEVER'), ('tab', b'RCPT TO:\t<%s>'), ('mixed', b'Rcpt To:<%s>'),
              ('trailing', b'RCPT TO:<%s>   '), ('leading', b'\tRCPT TO:<%s>'), ('space-colon', b'RCPT TO : <%s>'),
              ('name', b'RCPT TO:a <%s>'), ('quoted', b'RCPT TO:<"%l"@h.example>'),
              ('refused-before', b'RCPT TO:<x@refused.example>\r\nRCPT TO:<%s>'),
              ('refused-after', b'RCPT TO:<%s>\r\nRCPT TO:<x@refused.example>'),
              ('many', b'RCPT TO:<x@refused.example>\r\n' * 20 + b'RCPT TO:<%s>'), ('space-in', b'RCPT TO:< %s >'),
              ('two', b'RCPT TO:<n@h.example>\r\nRCPT TO:<%s>')]
DATAS = [('lower', b'data'), ('space', b'DATA '), ('spaces', b'DATA    '), ('tab', b'DATA\t'), ('leading', b' DATA'),
         ('mixed', b'DaTa'), ('argument', b'DATA x'), ('twice', b'DATA x\r\nDATA')]
BETWEEN = [('noop', b'NOOP'), ('noop-arg', b'NOOP x'), ('rset', b'RSET'), ('vrfy', b'VRFY a'), ('help', b'HELP'),
           ('foo', b'FOO bar'), ('xforward', b'XFORWARD ADDR=192.0.2.1'), ('xclient', b'XCLIENT ADDR=192.0.2.1'),
           ('auth', b'AUTH PLAIN AGEAYg=='), ('auth-none', b'AUTH LOGIN'), ('starttls', b'STARTTLS'), ('empty', b''),
           ('etrn', b'ETRN h'), ('long', b'NOOP ' + b'x' * 600), ('longer', b'NOOP ' + b'x' * 5000),
           ('expn', b'EXPN a'), ('turn', b'TURN'),
           ('get', b'GET / HTTP/1.1'), ('data-early', b'DATA'), ('bdat-bad', b'BDAT x'), ('high', b'\xe9\xff'),
           ('helo', b'HELO again'), ('xforward-name', b'XFORWARD NAME=x'), ('dot', b'.'), ('blank', b'   '),
           ('mail-bad', b'MAIL FROM'), ('rcpt-bad', b'RCPT TO:<>')]


class Lines:
    """Collects commands in `steps`: bytes of one write each, or WAIT. STYLE is wait (for each reply), all (in one
    write) or group (several writes before a WAIT)."""

    def __init__(self, r, style):
        self.r, self.style, self.steps = r, style, []

    def add(self, data, wait=True):
        if self.style == 'all' and self.steps and self.steps[-1] is not WAIT:
            self.steps[-1] += data
        elif self.style == 'group' and self.steps and not wait:
            self.steps.append(data)
        else:
            self.steps.append(data)
        if self.style == 'wait' and wait or (self.style == 'group' and wait == 'always'):
            self.steps.append(WAIT)


def end_of_line(r):
    return r.use('command:lf', b'\n') if r.odd(0.05) else b'\r\n'


def between(r, out):
    if r.odd(0.12):
        out.add(r.choose('between', BETWEEN) + b'\r\n')


def fill(template, value):
    return template.replace(b'%s', value).replace(b'%l', value.split(b'@')[0])


def envelope(r, out, number):
    sender = (r.choose('from', SENDERS) if r.odd(0.4 if r.place == 'from' else 0.15) else b'MAIL FROM:<%s>')
    out.add(fill(sender, r.word('from') + b'@h.example') + end_of_line(r))
    between(r, out)
    to = b'n%dn@h.example' % number
    if r.place == 'rcpt':
        to = WORDS['rcpt'] + b'.' + to
    recipient = r.choose('rcpt', RECIPIENTS) if r.odd(0.4 if r.place == 'rcpt' else 0.15) else b'RCPT TO:<%s>'
    out.add(fill(recipient, to) + end_of_line(r))
    between(r, out)


def chunks(r, out, data):
    """Sends a mail in BDAT chunks."""
    rng, at, last = r.rng, 0, False
    template = r.choose('bdat', [('lower', b'bdat %d%s'), ('spaces', b'BDAT   %d %s'), ('tab', b'BDAT\t%d%s'),
                                 ('trailing', b'BDAT %d%s  '), ('zeros', b'BDAT 000%d%s'),
                                 ('lf', b'BDAT %d%s\n')]) if r.odd(0.3) else b'BDAT %d%s'
    end = b'' if template.endswith(b'\n') else b'\r\n'
    word = r.use('bdat:last-lower', b' last') if r.odd(0.1) else b' LAST'
    while not last:
        size = min(len(data) - at, rng.choice((1, 3, 20, 100, 1000, 20000)) if rng.random() < 0.6 else len(data))
        last = at + size == len(data) and not (r.odd(0.2) and r.use('bdat:empty-last', True))
        out.add(template % (size, word if last else b'') + end + data[at:at + size])
        at += size
        if at == len(data) and not last:
            out.add(b'BDAT 0' + word + b'\r\n')
            last = True
        elif not last and r.odd(0.04):
            out.add(r.use('bdat:noop', b'NOOP\r\n'))
        elif not last and r.odd(0.02):
            out.add(r.use('bdat:data', b'DATA\r\n'))


def deliver(r, out, number, data):
    if r.odd(0.2):
        chunks(r, out, r.use('bdat', data))
        return
    out.add((r.choose('data', DATAS) if r.odd(0.1) else b'DATA') + end_of_line(r), wait=True if out.style == 'wait'
            or r.rng.random() < 0.5 else 'always')
    body = stuffed(r, data)
    if not r.odd(0.05):
        out.add(body + b'\r\n.\r\n')
    else:
        out.add(body + r.choose('end', FAKE_ENDS) + b'\r\n.\r\n')


def quiet(r):
    """Returns random choices for a mail without forbidden word, with few oddities."""
    return Mail(r.rng, None, r.oddness * 0.2)


def smuggled(r, out, number):
    """Adds two mails. The second one begins where only some servers find the end of the first."""
    end = r.choose('smuggle', FAKE_ENDS)
    first = quiet(r)
    inner = Lines(r, 'all')
    if r.rng.random() < 0.6:
        envelope(first, out, number)
        out.add(b'DATA\r\n')
        if r.rng.random() < 0.8:
            envelope(r, inner, number)
            inner.add(b'DATA\r\n' + stuffed(r, mail(r)))
            out.add(stuffed(first, mail(first)) + end + inner.steps[0] + b'\r\n.\r\n')
        else:
            inner.add(stuffed(r, mail(r)))
            out.add(stuffed(first, b'Subject: x\r\n\r\ntext') + end + b'MAIL FROM:<x@h.example>\r\nRCPT '
                                                                      b'TO:<n%dn@h.example>\r\nDATA\r\n' % number +
                    inner.steps[0] + b'\r\n.\r\n')
        return
    # The reverse case: the word is behind bytes that look like an end but are none.
    r.use('smuggle:body', None)
    envelope(r, out, number)
    out.add(b'DATA\r\n')
    data = stuffed(r, mail(r))
    at = data.find(b'\r\n\r\n') if r.rng.random() < 0.5 else data.find(b'\r\n')
    out.add(data[:at] + b'\r\nX-P: v' + end + data[at + 2:] + b'\r\n.\r\n' if r.rng.random() < 0.3
            else b'X-P: v' + end.rstrip(b'\r\n') + b'x: y\r\n' + data + b'\r\n.\r\n' if r.rng.random() < 0.3
            else data[:at + 2] + data[at + 2:].replace(b'\r\n\r\n', b'\r\n' + end + b'\r\n', 1) + b'\r\n.\r\n')


def generate(number, seed):
    """Returns session NUMBER of the run with this seed."""
    rng = seeded(number, seed)
    place = rng.choice(PLACES)
    r = Mail(rng, place, rng.choice((0.1, 0.2, 0.3, 0.5, 0.8)))
    out = Lines(r, rng.choice(('wait', 'wait', 'all', 'group')))
    r.use('pipelined:' + out.style, None)
    hello = r.choose('hello', HELLOS) if r.odd(0.5 if place == 'helo' else 0.15) else b'EHLO %s'
    if place != 'helo' and r.odd(0.08):
        r.use('hello:none', None)
    else:
        out.add(hello.replace(b'%s', r.word('helo') + b'.example') + end_of_line(r), wait='always'
                if rng.random() < 0.8 else True)
    between(r, out)
    if r.odd(0.15):
        before = quiet(r)
        envelope(before, out, number)
        deliver(r.use('second-mail', before), out, number, mail(before))
    if r.odd(0.15):
        smuggled(r, out, number)
    else:
        envelope(r, out, number)
        deliver(r, out, number, mail(r))
    steps = [WAIT] if rng.random() < 0.85 else [r.use('no-greeting', b'')]
    steps += out.steps
    if r.odd(0.15):
        steps[-1 if steps[-1] is not WAIT else -2] += r.use('pipelined-quit', b'QUIT\r\n')
    steps = [piece for step in steps if step != b'' for piece in ([step] if step is WAIT else cut(r, step))]
    deadline = max(n for n, step in enumerate(steps) if step is not WAIT)
    return session(number, seed, 25 if rng.random() < 0.8 else rng.choice((587, 2525, 12345)), steps, place, r.features,
                   deadline)
