#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the members of events with Suricata's EVE schema: each is written, or docs/eve-fields.md says why not.

    fields.py SLUICE MAKE_EVENTS SOURCE SHARED [--missing | --select]

Events are those of make_events, of the conformance cases in cases/fields.py, and of the captures that
fields/captures lists, with the rules and options of fields/. Fails when a member of the schema is neither seen nor
listed in docs/eve-fields.md, and when a member that is seen, or that the schema does not have, is listed there. The
events must be valid, too.
--missing prints the members that are not seen. --select chooses captures of SHARED for fields/captures: for each
member one that shows it.

A line of the tables has members in its first column: PATH is the member and all below it, `*` stands for any text
without a dot, and `a.{b,c}` for `a.b` and `a.c`. Elements of an array have the path of the array with `[]`.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.path.join(os.path.dirname(HERE), 'conformance')
sys.path.insert(0, CONFORMANCE)
import own  # noqa: E402
import schema as strict  # noqa: E402

validator = None  # set by main()
LARGEST = 300_000  # bytes of a capture that --select considers
# Options that exclude others: the captures are replayed without and with these.
SECOND = ('--ips', '--set', 'eve.types.dns.version=2', '--set', 'eve.types.tls.custom=[certificate, chain, client, '
          'client_certificate, client_chain, client_handshake, server_handshake, subjectaltname]')


def schema_members(schema):
    """The paths of all members, in the order of the schema."""
    paths = []

    def walk(node, path):
        while '$ref' in node:
            name = node['$ref'].removeprefix('#/$defs/')
            node = schema['$defs'][name]
        if node.get('type') == 'array' and 'properties' in node:  # the schema means the elements
            path += '[]'
        for key, below in node.get('properties', {}).items():
            paths.append(f'{path}.{key}' if path else key)
            walk(below, paths[-1])
        if isinstance(node.get('items'), dict):
            walk(node['items'], path + '[]')

    walk(schema, '')
    return paths


def add_members(value, path, seen):
    if isinstance(value, dict):
        for key, below in value.items():
            seen.add(f'{path}.{key}' if path else key)
            add_members(below, f'{path}.{key}' if path else key, seen)
    elif isinstance(value, list):
        for below in value:
            add_members(below, path + '[]', seen)


def members_of(path):
    seen = set()
    if validator:
        validator.check_file(os.path.basename(os.path.dirname(path)), path)
    with open(path, encoding='utf-8') as f:
        for line in f:
            event = json.loads(line)
            event.pop('sluice', None)
            add_members(event, '', seen)
    return seen


def replay(sluice, captures, folder, *options):
    run = subprocess.run([sluice, 'replay', '--no-console', '--config', HERE + '/fields/sluice.yaml', '--rules',
                          HERE + '/fields/all.rules', '--log-dir', folder, '--set', f'file-store.dir={folder}/files',
                          *options, *captures],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f'exit code {run.returncode}: {run.stderr}')
    return members_of(folder + '/eve.json')


def own_cases(sluice, folder):
    packets = folder + '/own.pcap'
    seen = set()
    for name, case in own.load_cases('fields').items():
        own.write_capture(case.packets, packets, own.LINK_ETHERNET if case.ethernet else own.LINK_RAW)
        for number, options in enumerate([(), SECOND]):
            seen |= replay(sluice, [packets], f'{folder}/{name}{number}', *options, *case.options)
    for name, case in own.load_cases('firewall').items():
        os.mkdir(f'{folder}/{name}')
        own.replay(sluice, case, f'{folder}/{name}')
        seen |= members_of(f'{folder}/{name}/log/eve.json')
    return seen


def base_members(options, folder):
    """Members of the events that need no captures."""
    events = folder + '/made.json'
    subprocess.run([options.make_events, events], check=True)
    return members_of(events) | own_cases(options.sluice, folder)


def listed_captures(options):
    with open(HERE + '/fields/captures', encoding='utf-8') as f:
        return [os.path.join(options.shared, line.strip()) for line in f if line.strip() and line[0] != '#']


def select(options, members, seen, folder):
    """Chooses captures greedily: that with the most new members first, a smaller one before a larger one."""
    found = {}
    for root, _, names in os.walk(options.shared):
        for name in names:
            path = os.path.join(root, name)
            if name.endswith(('.pcap', '.pcapng', '.cap')) and os.path.getsize(path) <= LARGEST:
                found[path] = set()
    for path in sorted(found):
        try:
            found[path] = (replay(options.sluice, [path], folder + '/log') |
                           replay(options.sluice, [path], folder + '/log', *SECOND)) & members
        except SystemExit:  # a capture that cannot be read
            pass
    chosen = []
    while True:
        best = max(sorted(found, key=os.path.getsize), key=lambda path: len(found[path] - seen))
        if not found[best] - seen:
            break
        print(f'{os.path.relpath(best, options.shared)}: {len(found[best] - seen)}')
        chosen.append(os.path.relpath(best, options.shared))
        seen = seen | found[best]
    with open(HERE + '/fields/captures', 'w', encoding='utf-8') as f:
        f.write('# Captures of SLUICE_SHARED whose events show members of the schema: see fields.py --select.\n')
        f.write(''.join(name + '\n' for name in sorted(chosen)))


def expand(pattern):
    braces = re.search(r'\{([^}]*)\}', pattern)
    if not braces:
        return [pattern]
    return [one for choice in braces[1].split(',')
            for one in expand(pattern[:braces.start()] + choice + pattern[braces.end():])]


def table_patterns(path):
    """The patterns of the tables, each with the number of its line."""
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            cells = line.split('|')
            if len(cells) < 4 or not cells[1].strip().startswith('`'):
                continue
            if not cells[2].strip():
                sys.exit(f'{path}:{number}: no reason')
            for code in re.findall(r'`([^`]+)`', cells[1]):
                for pattern in expand(code):
                    yield number, pattern


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('sluice', 'make_events', 'source', 'shared'):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument('--missing', action='store_true')
    parser.add_argument('--select', action='store_true')
    options = parser.parse_args()
    schema_path = os.path.join(options.shared, 'verify/etc/eve-schema.json')
    if not os.path.exists(schema_path):
        print(f'SKIP: {schema_path} does not exist (set SLUICE_SHARED)')
        return 77
    with open(schema_path, encoding='utf-8') as file:
        members = schema_members(json.load(file))
    try:
        global validator
        validator = strict.Validator(schema_path)
    except ImportError as error:
        print(f'SKIP: {error}')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        seen = base_members(options, folder)
        if options.select:
            return select(options, set(members), seen, folder)
        captures = listed_captures(options)
        seen |= replay(options.sluice, captures, folder + '/first') | \
            replay(options.sluice, captures, folder + '/second', *SECOND)
    missing = [path for path in members if path not in seen]
    if options.missing:
        print('\n'.join(missing))
        return 0
    wrong, listed = [], set()
    document = options.source + '/docs/eve-fields.md'
    for number, pattern in table_patterns(document):
        plain = re.escape(pattern).replace(r'\*', r'[^.]*')
        matches = re.compile(plain + r'(\[\])*(\..*)?$')
        found = [path for path in members if matches.match(path)]
        written = [path for path in found if path in seen]
        listed.update(found)
        if not found:
            wrong.append(f'{document}:{number}: the schema has no {pattern}')
        elif written:
            wrong.append(f'{document}:{number}: {pattern} is listed as not written, but {written[0]} is in events')
    wrong += [f'{path} is in no event, and {document} does not list it' for path in missing if path not in listed]
    print('\n'.join(wrong[:40]))
    print(f'{len(members)} members in the schema: {len(members) - len(missing)} in events, '
          f'{len([path for path in missing if path in listed])} listed with a reason, {len(wrong)} problems')
    return 1 if not validator.report() or wrong else 0


if __name__ == '__main__':
    sys.exit(main())
