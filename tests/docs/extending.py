#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""extending.py SOURCE BUILD: build the keyword and the protocol that docs/architecture.md shows, and use them in rules.

Each ```c block that begins with a comment that names a file is a source. The sources are compiled, and their constants
are added to copies of the two generated tables of BUILD, as CMake would do. Both are linked with the objects of BUILD.
BUILD and SOURCE are not changed.
"""
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile

RULES = """alert udp any any -> any 514 (msg:"keyword"; empty_payload; sid:1;)
alert syslog any any -> any any (msg:"buffer"; syslog.message; content:"failure"; sid:2;)
alert syslog any any -> any any (msg:"no match"; syslog.message; content:"success"; sid:3;)
"""


def blocks(document):
    """Yields (path, text) of each C source in the document."""
    with open(document) as f:
        for text in re.findall(r'^```c\n(.*?)^```$', f.read(), re.S | re.M):
            match = re.match(r'/\* (src/[\w/]+\.c) \*/\n', text)
            if match:
                yield match[1], text


def commands(build, target):
    return subprocess.run(['ninja', '-C', build, '-t', 'commands',
                           target], check=True, capture_output=True, text=True).stdout.splitlines()


def compile_as(command, source, output, build):
    """Compiles SOURCE to OUTPUT with the compile command of another source."""
    words = shlex.split(command)
    for option, value in (('-o', output), ('-c', source), ('-MF', output + '.d'), ('-MT', output)):
        if option in words:
            words[words.index(option) + 1] = value
    subprocess.run(words, cwd=build, check=True)


def add_constants(table, kind, names):
    """Adds the constants to a generated table, in order of their names."""
    for name in names:
        entry = f'    &{name},\n'
        rows = re.findall(r'^    &\w+,\n', table, re.M)
        after = next((row for row in rows if row > entry), None)
        at = table.index(after) if after else table.index(rows[-1]) + len(rows[-1])
        table = table[:at] + entry + table[at:]
        first = table.index(f'extern const struct {kind} ')
        table = table[:first] + f'extern const struct {kind} {name};\n' + table[first:]
    return table


def packet(text, source_port):
    udp = struct.pack('>HHHH', source_port, 514, 8 + len(text), 0) + text
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]),
                     bytes([192, 0, 2, 2]))
    total = sum(struct.unpack('>10H', ip))
    total = ~((total & 0xffff) + (total >> 16)) & 0xffff
    return ip[:10] + struct.pack('>H', total) + ip[12:] + udp


def main():
    source, build = map(os.path.abspath, sys.argv[1:])
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        print('SKIP: the build folder does not use Ninja')
        return 77
    sources = dict(blocks(os.path.join(source, 'docs/architecture.md')))
    assert len(sources) == 2, f'docs/architecture.md: expected two C sources, found {sorted(sources)}'
    every = commands(build, 'sluice')
    link = shlex.split(every[-1].split('&&')[1])
    example = next(line for line in every if line.endswith('/src/keyword/header/ttl.c'))
    with tempfile.TemporaryDirectory() as folder:
        objects = []

        def add(name, text):
            path = os.path.join(folder, name)
            with open(path, 'w') as f:
                f.write(text)
            compile_as(example, path, path + '.o', build)
            objects.append(path + '.o')

        for path, text in sources.items():
            add(os.path.basename(path), text)
        for name, kind, prefix in (('keyword_table.c', 'keyword', 'keyword_'), ('app_table.c', 'app_proto', 'app_')):
            constants = re.findall(rf'^const struct {kind} ({prefix}\w+) = ', '\n'.join(sources.values()), re.M)
            with open(os.path.join(build, name)) as f:
                add(name, add_constants(f.read(), kind, constants))
        sluice = os.path.join(folder, 'sluice')
        link[link.index('-o') + 1] = sluice
        at = next(i for i, word in enumerate(link) if word.endswith('libsluice_core.a'))
        # The objects have machine code, too, so the slow link-time optimisation can be left out.
        link = ['-fno-lto' if word.startswith('-flto') else word for word in link[:at] + objects + link[at:]]
        subprocess.run(link, cwd=build, check=True)

        listed = subprocess.run([sluice, 'keywords'], check=True, capture_output=True, text=True).stdout
        for name in 'empty_payload', 'syslog.message':
            assert re.search(rf'^{re.escape(name)}\b', listed, re.M), f'sluice keywords does not list {name}'
        with open(os.path.join(folder, 'rules'), 'w') as f:
            f.write(RULES)
        with open(os.path.join(folder, 'capture.pcap'), 'wb') as f:
            f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
            for text, port in (b'', 1001), (b'<34>su: authentication failure', 1002):
                data = packet(text, port)
                f.write(struct.pack('<IIII', 1, 0, len(data), len(data)) + data)
        subprocess.run([sluice, 'replay', '--no-console', '--rules', 'rules', '--log-dir', folder, 'capture.pcap'],
                       cwd=folder, check=True, capture_output=True, text=True)
        with open(os.path.join(folder, 'eve.json')) as f:
            events = [json.loads(line) for line in f]
        found = [event['alert']['signature'] for event in events if event['event_type'] == 'alert']
        assert found == ['keyword', 'buffer'], f'expected the alerts keyword and buffer, got {found}'
    return 0


if __name__ == '__main__':
    sys.exit(main())
