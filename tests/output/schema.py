#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates every event against Suricata's EVE schema, after removing the object "sluice", which has all additions.

    schema.py MAKE_EVENTS SHARED_DIR
"""
import collections
import json
import os
import subprocess
import sys
import tempfile


def main():
    program, shared = sys.argv[1:3]
    schema_path = os.path.join(shared, 'verify/etc/eve-schema.json')
    if not os.path.exists(schema_path):
        print(f'SKIP: {schema_path} does not exist (set SLUICE_SHARED)')
        return 77
    import jsonschema
    with open(schema_path, encoding='utf-8') as file:
        schema = json.load(file)
    validator = jsonschema.validators.validator_for(schema)(schema)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'eve.json')
        subprocess.run([program, path], check=True)
        with open(path, encoding='utf-8') as file:
            events = [json.loads(line) for line in file]

    kinds, bad = collections.Counter(), 0
    for event in events:
        kinds[event['event_type']] += 1
        for name, value in event.pop('sluice', {}).items():
            kinds[f'sluice.{name}'] += 1
            if name != 'would_drop' and not value:
                print(f'empty sluice.{name} in {event}', file=sys.stderr)
                bad += 1
        for error in validator.iter_errors(event):
            print('/'.join(str(part) for part in error.absolute_path) or 'event', error.message, file=sys.stderr)
            bad += 1
    print(', '.join(f'{kind}: {count}' for kind, count in sorted(kinds.items())))
    missing = {'alert', 'drop', 'would_drop', 'anomaly', 'stats', 'flow', 'netflow', 'packet', 'engine', 'firewall',
               'overload', 'sluice.queue', 'sluice.would_drop', 'sluice.engine', 'sluice.firewall', 'sluice.overload',
               'sluice.stats'} - set(kinds)
    if missing:
        print('make_events wrote no events of these kinds:', ', '.join(sorted(missing)), file=sys.stderr)
    return 1 if bad or missing else 0


if __name__ == '__main__':
    sys.exit(main())
