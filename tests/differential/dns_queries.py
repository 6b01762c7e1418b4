# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual DNS queries that some server answers. The rules must stop a forbidden name, type or opcode."""
import random
import struct

from core import WAIT, message

WORDS = {'query': b'zqvqry', 'old': b'zqvold', 'name': b'zqvnam', 'raw': b'zqvraw'}
RULES = '''
drop dns any any -> any any (msg:"query"; dns.query; content:"zqvqry.test"; nocase; endswith; sid:1;)
drop dns any any -> any any (msg:"old query"; dns_query; content:"zqvold"; nocase; sid:2;)
drop dns any any -> any any (msg:"query name"; flow:to_server; dns.query.name; dotprefix; content:".zqvnam.test"; nocase; endswith; sid:3;)
drop udp any any -> any any (msg:"raw"; content:"zqvraw"; nocase; sid:4;)
drop tcp any any -> any any (msg:"raw"; flow:to_server; content:"zqvraw"; nocase; sid:5;)
drop dns any any -> any any (msg:"type"; flow:to_server; dns.rrtype:33; sid:6;)
drop dns any any -> any any (msg:"opcode"; flow:to_server; dns.opcode:4; sid:7;)
'''
PLACES = ('query', 'query', 'query', 'query', 'old', 'name', 'name', 'raw', 'type', 'opcode', None, None)
# The query with the forbidden word has this ID; other queries of the message have OTHER_ID and above.
WORD_ID, OTHER_ID = 0x5afe, 0x6000
A, NS, SOA, TXT, MX, AAAA, SRV, OPT, IXFR, AXFR, ANY = 1, 2, 6, 16, 15, 28, 33, 41, 251, 252, 255
RD, RA, Z, AD, CD, TC, AA, QR = 0x100, 0x80, 0x40, 0x20, 0x10, 0x200, 0x400, 0x8000


class Query:
    """The random choices for a query. odd(share) decides whether to use an oddity; use() records its name."""

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


def labels_of(*labels):
    return b''.join(bytes([len(label)]) + label for label in labels)


def pointer(target):
    return struct.pack('!H', 0xc000 | target)


def record(name, kind, data=b'', rclass=1, ttl=0, length=None):
    return name + struct.pack('!HHIH', kind, rclass, ttl, len(data) if length is None else length) + data


# --- Names

def mixed_case(r, label):
    return bytes(c ^ 0x20 if 97 <= c <= 122 and r.rng.random() < 0.5 else c for c in label)


PREFIXES = [('long', (b'a' * 63,)), ('many', (b'a',) * 100), ('longest', (b'b' * 63, b'c' * 63, b'd' * 63)),
            ('dot', (b'a.b',)), ('nul', (b'a\0b',)), ('high', (b'\xff\xfe',)), ('space', (b'a b',)),
            ('backslash', (b'a\\b',)), ('control', (b'\x01\x7f',)), ('star', (b'*',)), ('underscore', (b'_x', b'_tcp')),
            ('dash', (b'-',)), ('utf8', ('é'.encode(),)), ('digits', (b'1', b'2')),
            ('good', (b'good', b'test')), ('quote', (b'"',)), ('slash', (b'a/b',)), ('at', (b'a@b',)),
            ('percent', (b'%00',)), ('only-dot', (b'.',))]


def labels_for(r):
    """Returns the labels of the queried name."""
    labels = [WORDS.get(r.place, b'type' if r.place == 'type' else b'good'), b'test']
    if r.odd(0.35) and r.place != 'type':
        prefix = r.choose('prefix', PREFIXES) if r.odd(0.7) else (b'www',)
        labels = [*prefix, *labels]
    if r.odd(0.4):
        labels = r.use('case', [mixed_case(r, label) for label in labels])
    return labels


def place_name(r, labels, at, later):
    """Returns the encoded name for offset AT. LATER collects (offset of a pointer, labels, kind); the caller writes
    these labels behind the question."""
    if not r.odd(0.3):
        return labels_of(*labels) + b'\0'
    cut = r.rng.randint(0, len(labels) - 1)
    kind = r.rng.choice(('behind', 'behind', 'chain', 'header', 'root-pointer'))
    first = labels_of(*labels[:cut])
    if kind in ('behind', 'chain'):
        later.append((at + len(first), labels[cut:], r.use('pointer:' + kind, kind)))
        return first + b'\xc0\0'
    if kind == 'header':  # offset 11 is the low byte of ARCOUNT; 0 is the root label
        r.use('pointer:header', None)
        return labels_of(*labels) + pointer(11)
    return r.use('pointer:root', labels_of(*labels) + pointer(4 if r.rng.random() < 0.5 else 10))


# --- Records after the question

OPTIONS = [('none', b''), ('cookie', b'\0\x0a\0\x08abcdefgh'), ('nsid', b'\0\x03\0\0'),
           ('subnet', b'\0\x08\0\x07\0\x01\x18\0\xc0\0\x02'), ('padding', b'\0\x0c\0\x20' + bytes(32)),
           ('unknown', b'\xff\x01\0\x02xx'),
           ('cut', b'\0\x0a\0\x20ab'), ('half', b'\0'), ('many', b'\xff\x02\0\0' * 30),
           ('bad-subnet', b'\0\x08\0\x01\0'), ('keepalive', b'\0\x0b\0\0'), ('long', b'\xff\x03\x01\0' + bytes(256))]


def edns(r):
    name = b'\0' if not r.odd(0.1) else r.choose('opt-name',
                                                 [('name', labels_of(b'x') + b'\0'), ('pointer', pointer(12))])
    version = r.choose('opt-version', [('1', 1), ('255', 255)]) if r.odd(0.1) else 0
    size = r.rng.choice((512, 1232, 4096, 0, 65535))
    flags = r.choose('opt-flags', [('do', 0x8000), ('all', 0xffff), ('z', 0x4000)]) if r.odd(0.3) else 0
    data = r.choose('option', OPTIONS) if r.odd(0.5) else b''
    length = len(data) + r.rng.choice((1, -1, 100)) if r.odd(0.08) and r.use('opt-length', True) else len(data)
    return record(name, OPT, data, size, version << 16 | flags, max(0, length))


EXTRA = [('a', record(pointer(12), A, b'\x01\x02\x03\x04')), ('soa', record(pointer(12), SOA, b'\0\0' + bytes(20))),
         ('tsig', record(labels_of(b'key') + b'\0', 250, bytes(20), 255)), ('sig0', record(b'\0', 24, bytes(30), 255)),
         ('broken-name', b'\x3fabc'), ('cut', record(pointer(12), A, b'\x01\x02', length=4)), ('loop', b'\xc0\x0c\xc0'),
         ('unknown', record(pointer(12), 65280, b'x')), ('bad-ns', record(pointer(12), NS, b'\x80x')),
         ('self', record(pointer(12), NS, pointer(12))), ('txt', record(pointer(12), TXT, b'\x09abc')),
         ('root-a', record(b'\0', A, b'\x01\x02\x03\x04')), ('extended-label', b'\x41x\0\0\0')]


def sections_of(r):
    """Returns ([counts of the answer, authority and additional sections], their bytes)."""
    counts, parts = [0, 0, 0], [b'', b'', b'']
    if r.odd(0.5):
        counts[2] += 1
        parts[2] += r.use('edns', edns(r))
        if r.odd(0.1):
            counts[2] += 1
            parts[2] += r.use('edns:twice', edns(r))
    if r.odd(0.2):
        where = r.rng.randint(0, 2)
        counts[where] += 1
        parts[where] += r.choose(f'record-{"an ns ar".split()[where]}', EXTRA)
    if r.odd(0.15):
        where = r.rng.randint(0, 2)
        counts[where] = r.use(f'count-{"an ns ar".split()[where]}', r.rng.choice((counts[where] + 1, 0, 2, 255, 65535)))
    return counts, b''.join(parts)


# --- Query

TYPES = [('aaaa', AAAA), ('txt', TXT), ('mx', MX), ('any', ANY), ('axfr', AXFR), ('ixfr', IXFR), ('soa', SOA),
         ('ns', NS), ('unknown', 65280), ('zero', 0), ('last', 65535), ('opt', OPT), ('https', 65), ('ptr', 12)]
CLASSES = [('any', 255), ('ch', 3), ('hs', 4), ('none', 254), ('zero', 0), ('mdns', 0x8001), ('unknown', 1000)]
FLAGS = [('z', Z), ('ad', AD), ('cd', CD), ('tc', TC), ('aa', AA), ('ra', RA), ('all', Z | AD | CD | TC | AA | RA),
         ('rcode', 3), ('rcode-15', 15)]
BEHIND = [('nul', b'\0'), ('junk', b'\xde\xad\xbe\xef' * 3), ('nuls', bytes(200)), ('text', b'GET / HTTP/1.0\r\n\r\n'),
          ('long', b'x' * 900), ('header', struct.pack('!HHHHHH', OTHER_ID, RD, 1, 0, 0, 0))]


def query(r, number):
    """Returns the bytes of a query."""
    flags = 0 if r.odd(0.2) else RD
    if r.odd(0.25):
        flags |= r.choose('flag', FLAGS)
    if r.place == 'opcode':
        flags |= 4 << 11
    elif r.odd(0.06):
        flags |= r.use('opcode', r.rng.choice((1, 2, 3, 5, 6, 7, 15))) << 11
    counts, rest = sections_of(r)
    kind = SRV if r.place == 'type' else SOA if r.place == 'opcode' else r.choose('type', TYPES) if r.odd(0.3) else A
    rclass = r.choose('class', CLASSES) if r.odd(0.12) else 1
    questions, later, count = b'', [], 1
    names = [(labels_for(r), kind)]
    if r.odd(0.12):
        other = [(labels, A)
                 for labels in r.rng.choice(([[b'good', b'test']], [[b'www', b'good', b'test']], [[b'x']],
                                             [[b'good', b'test']] * 3))]
        names = other + names if r.rng.random() < 0.6 else names + other
        r.use('questions', None)
        count = len(names)
    for labels, number_of_type in names:
        at = 12 + len(questions)
        written = place_name(r, labels, at, later)
        questions += written + struct.pack('!HH', number_of_type, rclass)
    if r.odd(0.05):
        count = r.use('count-qd', r.rng.choice((0, count + 1, 2, 65535)))
    data = bytearray(struct.pack('!HHHHHH', WORD_ID if number is None else OTHER_ID + number, flags, count, *counts) +
                     questions + rest)
    for at, labels, how in later:
        target = len(data)
        if how == 'chain':
            data += b''.join(pointer(target + 2 * n + 2) for n in range(r.rng.choice((1, 5, 50, 130, 260))))
            data += labels_of(*labels) + b'\0'
        else:
            data += labels_of(*labels) + b'\0'
        data[at:at + 2] = pointer(target)
    if r.odd(0.1):
        data += r.choose('behind', BEHIND)
    return bytes(data)


JUNK = [('byte', b'\0'), ('short', b'\x12\x34\x01\0'), ('nuls', bytes(12)), ('text', b'hello world, this is no DNS'),
        ('ff', b'\xff' * 40),
        ('response', struct.pack('!HHHHHH', 1, QR | RA, 1, 0, 0, 0) + labels_of(b'good', b'test') + b'\0\0\x01\0\x01'),
        ('header', struct.pack('!HHHHHH', 1, RD, 1, 0, 0, 0)), ('sip', b'OPTIONS sip:a@b SIP/2.0\r\n\r\n'),
        ('ntp', b'\x23' + bytes(47)), ('tftp', b'\0\x01file\0octet\0'), ('snmp', b'\x30\x26\x02\x01\x01\x04\x06public'),
        ('quic', b'\xc3\0\0\0\x01\x08' + bytes(60)), ('stun', b'\0\x01\0\0\x21\x12\xa4\x42' + bytes(12)),
        ('dhcp', b'\x01\x01\x06\0' + bytes(236) + b'\x63\x82\x53\x63\x35\x01\x01\xff'), ('rtp', b'\x80\0' + bytes(30)),
        ('random', bytes(range(7, 250, 3)))]


def framed(r, data):
    length = len(data)
    if r.odd(0.04):
        length = r.use('tcp-length', max(0, length + r.rng.choice((-1, 1, 20))))
    return struct.pack('!H', length) + data


TCP_BEFORE = [('zero', b'\0\0'), ('zeros', b'\0\0' * 5), ('byte', b'\0\x01x'), ('short', b'\0\x0b' + bytes(11)),
              ('junk', b'\0\x10' + b'\xff' * 16), ('header', b'\0\x0c' + struct.pack('!HHHHHH', 1, RD, 1, 0, 0, 0)),
              ('nul', b'\0'),
              ('text', b'\0\x20' + b'GET / HTTP/1.1\r\nHost: localhost\r\n'[:32]), ('long', b'\x01\0' + bytes(256))]


def cut(r, data):
    choice = r.choose('segments', [('bytes', 1), ('two', 2), ('some', 5)]) if r.odd(0.4) else 0
    if choice == 0:
        return [data]
    if choice == 1:
        first = min(len(data), r.rng.randint(1, 40))
        return [data[n:n + 1] for n in range(first)] + ([data[first:]] if first < len(data) else [])
    places = sorted({r.rng.randint(1, len(data) - 1) for _ in range(choice)})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


def generate(number, seed):
    """Returns message NUMBER of the run with this seed."""
    rng = random.Random(f'{seed}/{number}')
    place = rng.choice(PLACES)
    r = Query(rng, place, rng.choice((0.15, 0.3, 0.3, 0.5, 0.8)))
    udp = rng.random() < 0.6
    others = []
    if r.odd(0.25):
        for n in range(r.use('several', rng.randint(1, 3))):
            quiet = Query(rng, None, r.oddness * 0.3)
            others.append(query(quiet, n))
            r.features += ['other-' + f for f in quiet.features]
    port = 53
    if rng.random() < 0.05:
        port = r.use('port:other', rng.choice((5300, 853, 8053, 137, 1900, 123)))
    word = query(r, None)
    count = 1 + len(others)
    if udp:
        r.use('udp', None)
        before = [r.choose('junk', JUNK) for _ in range(rng.randint(1, 2))] if r.odd(0.3) else []
        steps = [*before, *others, word]
        if r.odd(0.1):
            steps = [word, *others, *before]
        return message(number, seed, steps, place, r.features, port=port, count=count, udp=True)
    r.use('tcp', None)
    before = r.choose('before', TCP_BEFORE) if r.odd(0.2) else b''
    if others and rng.random() < 0.4:
        r.use('waits', None)
        steps = [part for data in others for part in (framed(r, data), WAIT)] + cut(r, before + framed(r, word))
    else:
        parts = [framed(r, data) for data in others]
        parts.insert(rng.randint(0, len(parts)), framed(r, word))
        steps = cut(r, before + b''.join(parts))
    return message(number, seed, steps, place, r.features, port=port, count=count)


# --- Documented limits (src/app/dns/dns.md)

USUAL = ('udp', 'tcp', 'case', 'port:', 'segments', 'waits', 'several', 'edns', 'opt', 'prefix:long', 'prefix:many',
         'prefix:good', 'other-edns', 'other-opt', 'other-case')


def limit(m):
    """Returns the documented limit that explains why no rule matched a message, or None."""
    if m.port == 53:
        return None
    if m.port == 137:
        return 'messages on port 137 are taken for NetBIOS, which has the same format'
    odd = [feature for feature in m.features if not feature.startswith(USUAL)]
    if any(feature.startswith(('junk:', 'before:')) for feature in odd):
        return 'on other ports the first bytes of a flow determine the protocol'
    return 'on other ports messages with several oddities are not identified as DNS' if len(odd) > 1 else None


# --- Answers

SERVED = {0, 3}      # RCODEs of a server that looked up the name: NOERROR, NXDOMAIN
DISPATCHED = {0, 3, 9}  # for opcode NOTIFY also NOTAUTH


def answers_in(m, received):
    """Returns the DNS messages that a server sent."""
    if m.udp:
        return received
    out, at = [], 0
    while at + 2 <= len(received):
        length = struct.unpack_from('!H', received, at)[0]
        out.append(received[at + 2:at + 2 + length])
        at += 2 + length
    return out


def understood(m, received):
    """Returns whether the server answered the query with the forbidden word, or all queries of a benign message."""
    if not received:
        return False
    served = set()
    for answer in answers_in(m, received):
        if len(answer) < 12:
            continue
        number, flags = struct.unpack_from('!HH', answer)
        opt = answer.rfind(b'\0\0\x29')
        if opt >= 12 and answer[opt + 5:opt + 6] not in (b'', b'\0'):
            continue  # extended RCODE such as BADVERS; its lower bits can be those of NOERROR
        if flags & QR and flags & 15 in (DISPATCHED if flags >> 11 & 15 == 4 else SERVED):
            served.add(number)
    return WORD_ID in served if m.place else len(served) >= m.count
