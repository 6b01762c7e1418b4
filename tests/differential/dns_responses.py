# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual DNS responses that some resolver accepts. The rules must stop those with a forbidden name. In each
response a CNAME leads from the name in the question to the forbidden name, which has an address."""
import random
import struct

from core import message
from dns_queries import (A, AAAA, AD, CD, MX, NS, OPT, QR, RA, RD, SOA, TXT, Z, Query, labels_of, mixed_case, pointer,
                         record)

WORDS = {'answer': b'zqvans', 'response': b'zqvrsp', 'raw': b'zqvraw', 'type': b'goodie', None: b'goodie'}
RULES = '''
drop dns any any -> any any (msg:"answer name"; flow:to_client; dns.answer.name; content:"zqvans.test"; nocase; sid:1;)
drop dns any any -> any any (msg:"any name"; dns.response.rrname; content:"zqvrsp.test"; nocase; sid:2;)
drop udp any any -> any any (msg:"raw"; content:"zqvraw"; nocase; sid:3;)
drop dns any any -> any any (msg:"type"; flow:to_client; dns.rrtype:28; sid:4;)
'''
PLACES = ('answer', 'answer', 'answer', 'response', 'response', 'raw', 'type', None, None)
CNAME = 5
ADDRESS, ADDRESS6 = bytes([10, 1, 0, 1]), bytes(15) + b'\x77'
FLAGS = [('z', Z), ('ad', AD), ('cd', CD), ('all', Z | AD | CD), ('aa', 0x400), ('opcode', 2 << 11)]
EXTRA = [('ns', record(pointer(12), NS, pointer(12))), ('soa', record(pointer(12), SOA, b'\0\0' + bytes(20))),
         ('broken-name', b'\x3fabc'), ('cut', record(pointer(12), A, b'\x01', length=9)),
         ('extended-label', b'\x41x\0\0\0'),
         ('unknown', record(pointer(12), 65280, b'xyz')), ('bad-mx', record(pointer(12), MX, b'\0')),
         ('txt', record(pointer(12), TXT, b'\x09ab')), ('loop', record(pointer(12), NS, b'\xc0\x0c')),
         ('root', record(b'\0', A, b'\1\2\3\4')),
         ('class', record(pointer(12), A, b'\1\2\3\4', 77)), ('bad-length', record(pointer(12), A, b'\1\2\3')),
         ('srv', record(pointer(12), 33, b'\0\0')), ('opt', record(b'\0', OPT, b'', 1232))]


def name_in(r, labels, at, later):
    """Returns the encoded name for offset AT. LATER collects labels that the caller writes behind the records."""
    if r.odd(0.4):
        labels = r.use('case', [mixed_case(r, label) for label in labels])
    if not r.odd(0.25):
        return labels_of(*labels) + b'\0'
    cut = r.rng.randint(0, len(labels) - 1)
    later.append((at + len(labels_of(*labels[:cut])), labels[cut:],
                  r.use('pointer:' + r.rng.choice(('behind', 'chain')), r.features)))
    return labels_of(*labels[:cut]) + b'\xc0\0'


def response(r, asked):
    kind = AAAA if r.place == 'type' else A
    flags = QR | RD | RA
    if r.odd(0.3):
        flags |= r.choose('flag', FLAGS)
    target, later = (WORDS[r.place], b'test'), []
    question = labels_of(*asked) + b'\0' + struct.pack('!HH', kind, 1)
    data = bytearray(12) + question
    counts = [1, 2, 0, 0]
    parts = []

    def put(owner, number, content, labels=None):
        """Appends a record. With LABELS its data is that name."""
        head = owner + struct.pack('!HHI', number, 1, 60)
        if labels:
            content = name_in(r, labels, len(data) + len(head) + 2, later)
        data.extend(head + struct.pack('!H', len(content)) + content)

    def put_extra(where):
        if r.odd(0.12):
            data.extend(r.choose(f'record-{where}', EXTRA))
            counts[where] += 1
    links = r.use('chain', r.rng.randint(1, 6)) if r.odd(0.2) else 0
    owner = pointer(12) if not r.odd(0.3) else r.use('owner', labels_of(*asked) + b'\0')
    put_extra(1)
    for n in range(links):
        step = (b'c%d' % n, b'test')
        put(owner, CNAME, b'', step)
        owner = labels_of(*step) + b'\0'
        counts[1] += 1
    put(owner, CNAME, b'', target)
    if r.odd(0.2):
        put_extra(1)
    at = len(data)
    data.extend(name_in(r, target, at, later) +
                struct.pack('!HHIH', kind, 1, 60, len(ADDRESS6 if kind == AAAA else ADDRESS)) +
                (ADDRESS6 if kind == AAAA else ADDRESS))
    put_extra(1)
    put_extra(2)
    put_extra(3)
    if r.odd(0.15):
        where = r.rng.randint(1, 3)
        counts[where] = r.use(f'count-{where}', r.rng.choice((counts[where] + 1, counts[where] + 5, 255, 65535)))
    if r.odd(0.04):
        counts[0] = r.use('count-0', r.rng.choice((0, 2)))
    for place, labels, _ in later:
        target_at = len(data)
        if r.rng.random() < 0.3:
            for n in range(r.rng.choice((1, 5, 40))):
                data.extend(pointer(len(data) + 2))
        data.extend(labels_of(*labels) + b'\0')
        data[place:place + 2] = pointer(target_at)
    if r.odd(0.1):
        data.extend(r.choose('behind', [('nul', b'\0'), ('junk', b'\xde\xad\xbe\xef'), ('long', bytes(300))]))
    data[0:12] = struct.pack('!HHHHHH', 0x1111, flags, *counts)
    return bytes(data)


def generate(number, seed):
    """Returns message NUMBER of the run with this seed."""
    rng = random.Random(f'{seed}/{number}')
    place = rng.choice(PLACES)
    r = Query(rng, place, rng.choice((0.15, 0.3, 0.3, 0.5, 0.8)))
    asked = (b'm%d-%s' % (number, str(seed).encode()), b'ask', b'test')
    steps = [response(r, asked)]
    kind = AAAA if place == 'type' else A
    query = struct.pack('!HHHHHH', 0x1111, RD, 1, 0, 0, 0) + labels_of(*asked) + b'\0' + struct.pack('!HH', kind, 1)
    if r.odd(0.2):
        steps.insert(0,
                     r.choose('before',
                              [('junk', b'\xff' * 30),
                               ('other-id', b'\x99\x99' + response(Query(rng, None, 0), asked)[2:]),
                               ('short', b'\x11\x11\x80'), ('query', b'\x99\x99' + query[2:]),
                               ('header', b'\x99\x99' + bytes(10))]))
    return message(number, seed, steps, place, r.features, from_client=False, port=53, opening=query, udp=True)


def question_of(data):
    """Returns the bytes of the question in lower case, as a key to find the response."""
    end = data.find(b'\0', 12)
    return data[12:end + 5].lower() if end > 0 else b''
