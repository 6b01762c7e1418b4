#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes N rules that inspect packet payload and never match the benchmark's traffic.

    payload_rules.py 10000 >payload.rules

Half TCP, half UDP, any port, like the packet rules of the public rulesets: most have two contents of 6 to 16 bytes (one in
four without regard to case), some a short one, a pcre or a byte_test behind the literal. The same N gives the same rules.
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


def main():
    count = int(sys.argv[1])
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
            options.append('pcre:"/%s\\d{3,8}[a-f]+/%s"' % (text(rng, 5).replace('/', '.').replace('.', '\\.'), rng.choice(['', 'i'])))
        if rng.random() < 0.1:
            options.append('byte_test:2,>,%d,%d' % (rng.randint(1, 60000), rng.randint(0, 20)))
        options.append('sid:%d' % (8000000 + i))
        print('alert %s any any -> any any (%s; rev:1;)' % (proto, '; '.join(options)))


if __name__ == '__main__':
    main()
