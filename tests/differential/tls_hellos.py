# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual ClientHellos that some server answers with a ServerHello. The rules must stop those with a
forbidden server name, ALPN protocol, version or fingerprint."""
import random
import struct

from core import message

GOOD, EVIL, PROTOCOL = b'good.example', b'zqvsni.example', b'http/0.9'
CIPHER = 0x5a5b  # an unassigned cipher suite, which the rule on the JA3 string matches
RULES = '''
drop tls any any -> any any (msg:"server name"; flow:to_server; tls.sni; content:"zqvsni.example"; nocase; bsize:<20; sid:1;)
drop tls any any -> any any (msg:"protocol"; flow:to_server; tls.alpn; content:"http/0.9"; bsize:8; sid:2;)
drop tls any any -> any any (msg:"version"; flow:to_server; ssl_version:tls1.0; sid:3;)
drop tls any any -> any any (msg:"fingerprint"; ja3.string; content:"-23131-"; sid:4;)
drop tcp any any -> any any (msg:"raw"; flow:to_server; content:"zqvraw"; sid:5;)
drop tls any any -> any any (msg:"random"; flow:to_server; tls.random; content:"zqvrandom"; sid:6;)
'''
PLACES = ('name', 'name', 'name', 'name', 'alpn', 'alpn', 'version', 'ja3', 'random', 'raw', None, None)
ALERT, CHANGE_CIPHER_SPEC, HANDSHAKE, APPLICATION, HEARTBEAT = 21, 20, 22, 23, 24
SERVER_NAME, GROUPS, ALPN, VERSIONS, KEY_SHARE = 0, 10, 16, 43, 51


class Hello:
    """The random choices for a ClientHello. odd(share) decides whether to use an oddity; use() records its name."""

    def __init__(self, rng, place, oddness):
        self.rng, self.place, self.oddness, self.features = rng, place, oddness, []

    def odd(self, share=1.0):
        return self.rng.random() < self.oddness * share

    def use(self, name, value):
        self.features.append(name)
        return value

    def choose(self, kind, choices):
        name, value = self.rng.choice(choices)
        return self.use(f'{kind}:{name}', value)


def vector(size, data, more=0):
    """Returns the data behind a length field of SIZE bytes. MORE is added to the length, to make it wrong."""
    return max(0, len(data) + more).to_bytes(size, 'big') + data


def extension(kind, body, more=0):
    return struct.pack('!H', kind) + vector(2, body, more)


def entry(name, kind=0):
    return bytes([kind]) + vector(2, name)


# --- Extensions

def name_forms(name):
    mixed = bytes(c ^ 0x20 if n % 2 and 97 <= c <= 122 else c for n, c in enumerate(name))
    return [('upper', vector(2, entry(name.upper()))), ('mixed', vector(2, entry(mixed))),
            ('dot', vector(2, entry(name + b'.'))), ('two', vector(2, entry(name) + entry(GOOD))),
            ('second', vector(2, entry(GOOD) + entry(name))),
            ('type-first', vector(2, entry(b'x', 1) + entry(name))),
            ('type-last', vector(2, entry(name) + entry(b'x', 1))), ('nul', vector(2, entry(name + b'\0'))),
            ('nul-first', vector(2, entry(b'\0' + name))), ('port', vector(2, entry(name + b':443'))),
            ('space', vector(2, entry(name + b' '))), ('space-first', vector(2, entry(b' ' + name))),
            ('long', vector(2, entry(b'a' * 260 + b'.' + name))),
            ('list-short', vector(2, entry(name), -1)), ('list-long', vector(2, entry(name), 1)),
            ('behind', vector(2, entry(name)) + b'x'), ('empty-first', vector(2, entry(b'') + entry(name))),
            ('twice', vector(2, entry(name) * 2)),
            ('name-short', vector(2, b'\0' + vector(2, name, -1))),
            ('name-long', vector(2, b'\0' + vector(2, name, 1))), ('no-list', entry(name)),
            ('sub', vector(2, entry(b'www.' + name))), ('high', vector(2, entry(b'\xff' + name))),
            ('list-zero', b'\0\0' + entry(name)), ('unknown-cut', vector(2, entry(name) + b'\x05'))]


def server_name(r):
    name = EVIL if r.place == 'name' else GOOD
    forms = name_forms(name)
    if r.place != 'name':  # servers find no name and serve the default host
        forms.append(('type-only', vector(2, entry(name, 1))))
    if r.odd(0.5):
        return extension(SERVER_NAME, r.choose('sni', forms))
    return extension(SERVER_NAME, vector(2, entry(name)))


def alpn(r):
    word = vector(1, PROTOCOL) if r.place == 'alpn' else vector(1, b'http/1.1')
    if not r.odd(0.5):
        return extension(ALPN, vector(2, word))
    return extension(ALPN,
                     r.choose('alpn',
                              [('first', vector(2, word + vector(1, b'h9'))),
                               ('last', vector(2, vector(1, b'h9') + word)),
                               ('many', vector(2, vector(1, b'x') * 200 + word)),
                               ('long-first', vector(2, vector(1, b'y' * 255) + word)),
                                             ('empty-first', vector(2, b'\0' + word)),
                                             ('empty-last', vector(2, word + b'\0')),
                                             ('list-short', vector(2, word, -1)), ('list-long', vector(2, word, 1)),
                                             ('behind', vector(2, word) + b'x'),
                                             ('cut', vector(2, word + b'\x09ab')), ('twice', vector(2, word * 2)),
                                             ('grease', vector(2, vector(1, b'\x1a\x1a') + word)),
                                             ('very-many',
                                              vector(2, b''.join(vector(1, b'%04d' % n) for n in range(700)) + word))]))


GROUP_LIST = struct.pack('!HHHH', 29, 23, 24, 25)
SIGNATURES = struct.pack('!HHHHHHHHH', 0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201)
OTHERS = [('unknown', extension(0x1234, b'abc')), ('grease', extension(0x2a2a, b'')),
          ('grease-twice', extension(0x2a2a, b'') + extension(0x3a3a, b'\0')), ('padding', extension(21, bytes(300))),
          ('padding-long', extension(21, bytes(20000))),
          ('padding-huge', extension(21, bytes(50000))),
          ('ech-grease', extension(0xfe0d, b'\0\0\x01\0\x01\x07\0\x20' + bytes(range(32)) + b'\0\x90' + bytes(144))),
          ('ticket', extension(35, b'')), ('ticket-data', extension(35, bytes(192))),
          ('status', extension(5, b'\x01\0\0\0\0')),
          ('sct', extension(18, b'')), ('master-secret', extension(23, b'')), ('encrypt-mac', extension(22, b'')),
          ('npn', extension(13172, b'')), ('renegotiation', extension(0xff01, b'\0')),
          ('heartbeat', extension(15, b'\x01')),
          ('record-limit', extension(28, b'\x40\x01')), ('fragment', extension(1, b'\x04')),
          ('fragment-512', extension(1, b'\x01')), ('psk-modes', extension(45, b'\x01\x01')),
          ('early-data', extension(42, b'')), ('compress', extension(27, b'\x02\0\x02')),
          ('alps', extension(17513, b'\0\x03\x02h2')), ('srp', extension(12, b'\x01u')),
          ('many', b''.join(extension(0x4000 + n, b'') for n in range(150))),
          ('tokens', extension(24, b'\0\x0a\x03\x02\0\x01')), ('cookie', extension(44, b'\0\x02ab')),
          ('unknown-twice', extension(0x1234, b'') * 2), ('transport', extension(57, b'\x01\x02\x40\x64')),
          ('authorities', extension(47, b'\0\x05\0\x03abc')), ('post-auth', extension(49, b''))]


def extensions_of(r, modern, old):
    names = [server_name(r)] if r.place == 'name' or r.rng.random() < 0.8 else []
    parts = [extension(GROUPS, vector(2, GROUP_LIST)), extension(11, b'\x01\0'), extension(13, vector(2, SIGNATURES)),
             extension(0xff01, b'\0'), *names]
    if r.place == 'alpn' or r.odd(0.3):
        parts.append(alpn(r))
    if modern:
        parts.append(extension(VERSIONS, vector(1, struct.pack('!HH', 0x0304, 0x0303))) if not r.odd(0.2) else
                     extension(VERSIONS,
                               r.choose('versions',
                                        [('grease', vector(1, b'\x7a\x7a\x03\x04')), ('only', vector(1, b'\x03\x04')),
                                         ('many', vector(1, b'\x03\x04\x03\x03\x03\x02\x03\x01\x03\0')),
                                         ('low-first', vector(1, b'\x03\x03\x03\x04')),
                                         ('twelve', vector(1, b'\x03\x03')),
                                                               ('future', vector(1, b'\x03\x05\x03\x04'))])))
        share = struct.pack('!HH', 29, 32) + bytes(r.rng.randrange(256) for _ in range(32))
        parts.append(extension(KEY_SHARE, vector(2, share)) if not r.odd(0.15) else
                     extension(KEY_SHARE,
                               r.choose('share',
                                        [('grease', vector(2, b'\x1a\x1a\0\x01\0' + share)), ('none', b'\0\0'),
                                         ('unknown', vector(2, b'\x11\xec\x04\xc0' + bytes(1216) + share))])))
        parts.append(extension(45, b'\x01\x01'))
    if r.odd(0.4):
        for _ in range(r.rng.randint(1, 3)):
            more = r.choose('extension', OTHERS)
            if sum(map(len, parts)) + len(more) < 60000:
                parts.append(more)
    if r.odd(0.5):
        r.rng.shuffle(parts)
    if r.odd(0.05) and names:
        parts.insert(r.rng.randint(0, len(parts)),
                     r.use('sni:extension-twice', extension(SERVER_NAME, vector(2, entry(GOOD)))))
    if r.odd(0.03):
        parts.append(r.use('sni:empty-extension', extension(SERVER_NAME, b'')))
    more = r.use('extensions-length', r.rng.choice((-1, 1, 4))) if r.odd(0.03) else 0
    behind = r.choose('behind', [('byte', b'\0'), ('more', b'abcdef')]) if r.odd(0.03) else b''
    return vector(2, b''.join(parts), more) + behind


# --- The hello

def hello(r):
    """Returns the handshake message."""
    rng = r.rng
    old = r.place == 'version'
    modern = not old and rng.random() < 0.5
    version = 0x0301 if old else 0x0303
    if r.odd(0.1) and not old:
        version = r.choose('hello-version',
                           [('0304', 0x0304), ('0305', 0x0305), ('03ff', 0x03ff), ('0400', 0x0400), ('ffff', 0xffff),
                            ('7f12', 0x7f12), ('1303', 0x1303)])
    nonce = bytes(rng.randrange(256) for _ in range(32))
    if r.place == 'random':
        nonce = nonce[:6] + b'zqvrandom' + nonce[15:]
    session = bytes(rng.choice((0, 0, 32))) if not r.odd(0.1) else r.choose('session',
                                                                            [('1', b'x'), ('31', b'x' * 31),
                                                                             ('33', b'x' * 33), ('16', bytes(16))])
    if r.place == 'raw':
        session = b'zqvraw' * 4
    suites = [0x1301, 0x1302, 0x1303] if modern else []
    suites += [0xc02f, 0xc02b, 0xc030, 0xc02c, 0xc013, 0xc014, 0xc009, 0xc00a, 0x009c, 0x002f, 0x0035]
    if r.place == 'ja3':
        suites.insert(1, CIPHER)
    if r.odd(0.2):
        suites += r.choose('suites',
                           [('scsv', [0x00ff]), ('fallback', [0x5600]), ('grease', [0x8a8a]),
                            ('many', list(range(0x6000, 0x6000 + 900))), ('twice', suites), ('ssl2', [0x0700])])
    ciphers = vector(2, b''.join(struct.pack('!H', suite) for suite in suites))
    if r.odd(0.02):
        ciphers = r.use('suites:odd-length', vector(2, ciphers[2:] + b'\0'))
    compression = b'\x01\0' if not r.odd(0.1) else r.choose('compression',
                                                            [('two', b'\x02\x01\0'), ('many', b'\x05\0\1\2\3\4'),
                                                             ('none-last', b'\x02\x40\0')])
    body = struct.pack('!H', version) + nonce + vector(1, session) + ciphers + compression
    if not (old and r.place == 'version' and r.odd(0.1) and r.use('no-extensions', True)):
        body += extensions_of(r, modern, old)
    more = r.use('message-length', rng.choice((-1, 1, 100))) if r.odd(0.02) else 0
    return b'\x01' + vector(3, body, more)


# --- Records

def record(r, data, kind=HANDSHAKE):
    version = 0x0301 if not r.odd(0.25) else r.choose('record',
                                                      [('0300', 0x0300), ('0302', 0x0302), ('0303', 0x0303),
                                                       ('0304', 0x0304), ('0305', 0x0305), ('03ff', 0x03ff),
                                                       ('0200', 0x0200), ('0400', 0x0400), ('0000', 0),
                                                       ('fefd', 0xfefd)])
    return struct.pack('!BHH', kind, version, len(data)) + data


BETWEEN = [('empty', HANDSHAKE, b''), ('ccs', CHANGE_CIPHER_SPEC, b'\x01'),
           ('ccs-two', CHANGE_CIPHER_SPEC, b'\x01\x01'), ('ccs-empty', CHANGE_CIPHER_SPEC, b''),
           ('warning', ALERT, b'\x01\x70'), ('close', ALERT, b'\x01\0'), ('no-renegotiation', ALERT, b'\x01\x64'),
           ('fatal', ALERT, b'\x02\x28'), ('alert-level', ALERT, b'\x05\x28'), ('alert-short', ALERT, b'\x01'),
           ('alert-empty', ALERT, b''), ('application', APPLICATION, b'x' * 20),
           ('application-empty', APPLICATION, b''), ('heartbeat', HEARTBEAT, b'\x01\0\x03abc' + bytes(16)),
           ('unknown', 99, b'abc'), ('unknown-empty', 25, b''), ('request', HANDSHAKE, b'\0\0\0\0'),
           ('unknown-message', HANDSHAKE, b'\x63\0\0\x03abc'), ('key-update', HANDSHAKE, b'\x18\0\0\x01\0'),
           ('warnings', ALERT, b'\x01\x70\x01\x70'), ('finished', HANDSHAKE, b'\x14\0\0\x0c' + bytes(12))]


def records_of(r, data):
    rng, out, at = r.rng, [], 0
    cuts = r.place != 'raw'  # a record header inside the word would hide it from the rule on raw bytes
    size = r.choose('records', [('bytes', 1), ('twos', 2), ('threes', 3), ('header', 4), ('few', 5), ('tens', 60),
                                ('hundreds', 300)]) if cuts and r.odd(0.35) else 16384
    varied = cuts and r.odd(0.15) and r.use('records:varied', True)
    before = r.odd(0.15)
    while at < len(data):
        if (before and at == 0) or (len(out) < 40 and r.odd(0.02)):
            name, kind, body = rng.choice(BETWEEN)
            out.append(r.use(('first:' if at == 0 else 'between:') + name,
                             record(r, body, kind)) * (rng.choice((2, 6, 40)) if r.odd(0.1) and r.use('repeated', True)
                                                       else 1))
        take = rng.choice((1, 5, 40, 200, 16384)) if varied else min(size, 16384)
        if len(out) > 300:
            take = 16384
        out.append(record(r, data[at:at + take]))
        at += take
    if r.odd(0.08):
        name, kind, body = rng.choice(BETWEEN)
        out.append(r.use('last:' + name, record(r, body, kind)))
    return b''.join(out)


def ssl2_hello(r):
    """Returns a ClientHello in SSLv2 format. It has no extensions, so it is used for the rule on the version only."""
    suites = b''.join(b'\0' + struct.pack('!H', suite) for suite in (0xc013, 0xc014, 0x002f, 0x0035, 0x00ff))
    challenge = bytes(r.rng.randrange(256) for _ in range(r.rng.choice((16, 32))))
    body = b'\x01' + struct.pack('!HHHH', 0x0301, len(suites), 0, len(challenge)) + suites + challenge
    return struct.pack('!H', 0x8000 | len(body)) + body


def cut(r, data):
    choice = r.choose('segments', [('bytes', 1), ('two', 2), ('some', 5)]) if r.odd(0.4) else 0
    if choice == 0 or len(data) > 9000:
        return [data]
    if choice == 1:
        first = min(len(data), r.rng.randint(1, 60))
        return [data[n:n + 1] for n in range(first)] + ([data[first:]] if first < len(data) else [])
    places = sorted({r.rng.randint(1, len(data) - 1) for _ in range(choice)})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


def generate(number, seed):
    """Returns message NUMBER of the run with this seed."""
    rng = random.Random(f'{seed}/{number}')
    place = rng.choice(PLACES)
    r = Hello(rng, place, rng.choice((0.15, 0.3, 0.3, 0.5, 0.8)))
    data = r.use('ssl2', ssl2_hello(r)) if place == 'version' and r.odd(0.4) else records_of(r, hello(r))
    port = 443 if rng.random() < 0.8 else r.use('port:other', rng.choice((8443, 9999, 25, 21, 80, 110, 53)))
    return message(number, seed, cut(r, data), place, r.features, port=port)


def limit(m):
    """Returns the documented limit that explains a drop, or None."""
    if m.place is None and any(feature.startswith('last:') for feature in m.features):
        return 'an unexpected record after the hello; the server ends the connection, too'
    return None


def understood(_m, received):
    """Returns whether the server answered with a ServerHello. Servers refuse names other than EVIL and GOOD, and
    protocols other than PROTOCOL and http/1.1."""
    at, messages = 0, b''
    while received and at + 5 <= len(received) and received[at] in (ALERT, CHANGE_CIPHER_SPEC, HANDSHAKE):
        length = struct.unpack_from('!H', received, at + 3)[0]
        if received[at] == HANDSHAKE:
            messages += received[at + 5:at + 5 + length]
        at += 5 + length
    return messages[:1] == b'\x02'
