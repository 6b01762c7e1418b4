#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes N rules that inspect packet payload and never match the benchmark's traffic.

    payload_rules.py 10000 >payload.rules
    payload_rules.py 1000 1000 >mixed.rules         and 1,000 rules on buffers of HTTP, TLS and DNS
    payload_rules.py 1000 1000 60 >mixed.rules      and 60 rules whose fast pattern occurs in the traffic

The rules resemble public ones: half TCP, half UDP, any port. Most have two contents of 6 to 16 bytes (one in four with
nocase), some a short content, a pcre or a byte_test after the literal. Equal arguments give equal rules.
"""
import random
import sys

WORDS = ('login admin shell exec select union passwd config update upload token session cookie script bridge remote '
         'kernel driver buffer system binary socket server client report status beacon payload loader dropper').split()


def text(rng, length):
    out = ''
    while len(out) < length:
        out += rng.choice(WORDS)[:rng.randint(2, 7)] + rng.choice(['', '_', '/', '=', '.', '%d' % rng.randint(0, 99)])
    return out[:length]


def content(rng):
    if rng.random() < 0.3:
        return '|%s|' % ' '.join('%02x' % rng.randrange(256) for _ in range(rng.randint(6, 14)))
    return text(rng, rng.randint(6, 16))


BUFFERS = (('http', 'http.uri', 'to_server', 10), ('http', 'http.header', 'to_server', 3),
           ('http', 'http.user_agent', 'to_server', 3),
           ('http', 'http.host', 'to_server', 2), ('http', 'http.request_body', 'to_server', 2),
           ('http', 'file.data', 'to_client', 4),
           ('tls', 'tls.sni', 'to_server', 4), ('dns', 'dns.query', 'to_server', 6))


def buffer_rules(count):
    """Prints rules on buffers. As in public rulesets, most inspect the URI of a request, often with its method."""
    rng = random.Random(count)
    for i in range(count):
        proto, name, direction, _ = rng.choices(BUFFERS, [weight for *_, weight in BUFFERS])[0]
        options = ['msg:"bench buffer %d"' % i, 'flow:established,%s' % direction] if proto != 'dns' \
            else ['msg:"bench buffer %d"' % i]
        if name == 'http.uri' and rng.random() < 0.6:
            options += ['http.method', 'content:"%s"' % rng.choice(['GET', 'POST'])]
        options += [name, 'content:"%s"' % (rng.choice(['/', '.', '']) + text(rng, rng.randint(6, 16)))]
        if rng.random() < 0.3:
            options += ['content:"%s"' % text(rng, rng.randint(3, 8)), 'distance:0']
        sides = ('$EXTERNAL_NET', '$HOME_NET') if direction == 'to_client' else ('$HOME_NET', '$EXTERNAL_NET')
        print('alert %s %s any -> %s any (%s; sid:%d; rev:1;)' % (proto, *sides, '; '.join(options), 8100000 + i))


# Contents that occur in the captures of the benchmarks: direction, buffer, content.
PRESENT = (('to_server', 'http.method', 'GET'), ('to_server', 'http.uri', '.html'),
           ('to_server', 'http.host', '10.88.2'),
           ('to_server', 'http.header', 'Host|3a|'), ('to_server', 'http.header_names', '|0d 0a|Host|0d 0a|'),
           ('to_server', 'http.protocol', 'HTTP/1.1'), ('to_server', '', 'GET /'),
           ('to_server', '', ' HTTP/1.1|0d 0a|Host'),
           ('to_client', 'http.stat_code', '200'), ('to_client', 'http.header', 'text/html'),
           ('to_client', 'http.header', 'nginx/1.22'),
           ('to_client', 'http.server', 'nginx'), ('to_client', 'http.content_type', 'text/html'),
           ('to_client', '', 'HTTP/1.1 200'),
           ('to_client', '', 'Content-Type|3a 20|text/html'), ('to_client', '', 'ETag|3a|'))
SHORT = ('|00 9c|', '|4b 1f|', '|c7 60|', '|ff d8|')


def absent(rng, direction, name):
    """Returns a condition, of a kind that is usual in public rules, that the traffic does not fulfil."""
    word, sticky = text(rng, rng.randint(3, 12)), ('pkt_data' if not name else name) + '; '
    kinds = ['content:"%s"; distance:0' % word, 'content:"%s"; nocase' % word, 'content:"%s"; within:60' % word,
             'pcre:"/%s[0-9]{3,8}[a-f]+/"' % word[:3].replace('/', 'x').replace('.', 'x'),
             'flowbits:isset,%s' % word[:3].strip('/=.%_')]
    kinds += ['http.uri; ' + 'content:"%s"' % word, 'urilen:>90', 'http.header_names; content:"Referer"',
              'http.cookie; content:"%s"' % word,
              'http.request_body; content:"%s"' % word, 'http.user_agent; content:"%s"' % word,
              'http.accept; content:"%s"; startswith' % word,
              'http.method; content:"POST"'] if direction == 'to_server' else \
             ['file.data; content:"%s"' % word,
              'file.data; content:"|0d 0a|"; within:30; content:"%s"; distance:4' % word,
              'http.stat_code; content:"302"', 'http.cookie; content:"%s"' % word]
    if not name:
        kinds += ['byte_test:2,>,65000,2', 'content:"%s"; offset:4; depth:40' % word, 'isdataat:4000,relative']
    kind = rng.choice(kinds)
    return ('' if kind.startswith(('http.', 'file.', 'urilen', 'flowbits', 'byte_test', 'isdataat')) else sticky) + kind


def candidate_rules(count):
    """Prints rules whose fast pattern occurs in the traffic but that do not match, as is usual for public rules."""
    rng = random.Random(count)
    for i in range(count):
        options = ['msg:"bench candidate %d"' % i]
        if i % 8 == 7:
            tail = rng.choice(['content:"%s"; distance:0' % text(rng, 8),
                               'byte_jump:2,4,relative; content:"%s"; within:9' % text(rng, 4)])
            proto, word = rng.choice([('udp', 'xxxxxx'), ('tcp', rng.choice(SHORT))])
            direction = 'to_server'
            options += ['flow:established,to_server'] if proto == 'tcp' else ['dsize:<300']
            options += ['content:"%s"' % word, tail]
        else:
            direction, name, word = PRESENT[i % len(PRESENT)]
            options += ['flow:established,%s' % direction] + ([name] if name else [])
            options += ['content:"%s"; fast_pattern' % word, absent(rng, direction, name)]
            if rng.random() < 0.3:
                options += ['http.header_names; content:!"User-Agent"' if direction == 'to_server'
                            else 'http.stat_msg; content:"OK"']
            proto = 'http' if name else 'tcp'
        sides = ('$EXTERNAL_NET', '$HOME_NET') if direction == 'to_client' else ('$HOME_NET', '$EXTERNAL_NET')
        print('alert %s %s any -> %s any (%s; sid:%d; rev:1;)' % (proto, *sides, '; '.join(options), 8200000 + i))


def payload_rules(count):
    rng = random.Random(count)
    for i in range(count):
        proto = ('tcp', 'udp')[i % 2]
        options = ['msg:"bench %d"' % i]
        for k in range(rng.choice((1, 2, 2, 3))):
            options.append('content:"%s"' % content(rng))
            if rng.random() < 0.25:
                options.append('nocase')
            if k > 0 and rng.random() < 0.5:
                options.append('distance:0')
        if rng.random() < 0.15:
            options.append('pcre:"/%s\\d{3,8}[a-f]+/%s"' % (text(rng, 5).replace('/', '.').replace('.', '\\.'),
                                                            rng.choice(['', 'i'])))
        if rng.random() < 0.1:
            options.append('byte_test:2,>,%d,%d' % (rng.randint(1, 60000), rng.randint(0, 20)))
        options.append('sid:%d' % (8000000 + i))
        print('alert %s any any -> any any (%s; rev:1;)' % (proto, '; '.join(options)))


def main():
    payload_rules(int(sys.argv[1]))
    if len(sys.argv) > 2:
        buffer_rules(int(sys.argv[2]))
    if len(sys.argv) > 3:
        candidate_rules(int(sys.argv[3]))


if __name__ == '__main__':
    main()
