#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates events against EVE's own JSON schema.

    schema.py SCHEMA EVE_FILE...

Every member that the schema does not have must be in the object "sluice" of the event, which is removed before. The
schema refuses all other members. run.py validates with it the events of the conformance cases that verify.py keeps, and
tests/netns/eve_schema.sh those of a daemon.
"""
import collections
import json
import os
import sys


class Validator:
    """One for all cases. None of its modules is needed to import this file."""

    def __init__(self, path):
        import fastjsonschema
        with open(path, encoding='utf-8') as f:
            self.valid = fastjsonschema.compile(json.load(f))
        self.error = fastjsonschema.JsonSchemaException
        self.kinds, self.wrong = collections.Counter(), collections.Counter()

    def check_file(self, case, path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                event = json.loads(line)
                self.kinds[event.get('event_type')] += 1
                event.pop('sluice', None)
                try:
                    self.valid(event)
                except self.error as error:
                    problem = f'{event.get("event_type")}: {error.message}'
                    if not self.wrong[problem]:
                        print(f'SCHEMA {case}: {problem}: {line[:400]}')
                    self.wrong[problem] += 1

    def check_folder(self, folder):
        for base, _, names in sorted(os.walk(folder)):
            if 'eve.json' in names:
                self.check_file(os.path.relpath(base, folder), os.path.join(base, 'eve.json'))

    def report(self):
        """True when every event is valid; says how many there were of each type."""
        print('events validated: ' + ', '.join(f'{count} {kind}' for kind, count in self.kinds.most_common()))
        for problem, count in self.wrong.most_common():
            print(f'SCHEMA {count} times: {problem}')
        return not self.wrong and sum(self.kinds.values()) > 0


def main():
    schema, *paths = sys.argv[1:]
    validator = Validator(schema)
    for path in paths:
        validator.check_file(path, path)
    return 0 if validator.report() else 1


if __name__ == '__main__':
    sys.exit(main())
