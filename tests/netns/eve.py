#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to an EVE file.

    eve.py count FILE KEY=VALUE...         how many events have all these values; a.b walks objects; KEY= asks that it
                                           is absent
    eve.py wait FILE WANTED KEY=VALUE...   the same, as soon as there are that many, or after 60 s
    eve.py stats FILE PATH...              numbers of the last stats event: counters of Suricata or of Sluice alone

With EVE_CUT in the environment lines that are cut are left out: of a writer that was killed.
With EVE_ONCE=PATH events that have the same value there count once.
"""
import _json
import os
import sys
import time

WAIT_SECONDS = 60


class Options:
    """The attributes of json.JSONDecoder that its scanner, which is written in C, reads."""
    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float, parse_int = float, int
    memo = {}


scan = _json.make_scanner(Options)


def loads(line):
    """Does the same as json.loads() without importing json, which also imports re and enum. That import takes half of
    the run time of this program: a third of a second in an emulated machine."""
    try:
        found, end = scan(line, 0)
        if end == len(line):
            return found
    except Exception:
        pass
    import json
    return json.loads(line)  # raises an error with its position


def read(path):
    try:
        with open(path, encoding='utf-8') as f:
            lines = f.read().split('\n')[:-1]   # a last line without its end is still being written
    except FileNotFoundError:
        return []
    return list(whole(lines)) if 'EVE_CUT' in os.environ else [loads(line) for line in lines]


def whole(lines):
    for line in lines:
        try:
            yield loads(line)
        except ValueError:
            pass


def value(event, path):
    for part in path.split('.'):
        if not isinstance(event, dict) or part not in event:
            return None
        event = event[part]
    return event


def text(v):
    return '' if v is None else str(v).lower() if isinstance(v, bool) else str(v)


def count(path, items):
    wanted = [item.split('=', 1) for item in items]
    found = [event for event in read(path) if all(text(value(event, k)) == v for k, v in wanted)]
    return len({value(event, os.environ['EVE_ONCE']) for event in found}) if 'EVE_ONCE' in os.environ else len(found)


def wait(path, number, items):
    """One process that asks again, and not one for each time: under emulation it takes long to start."""
    end = time.monotonic() + WAIT_SECONDS
    while (found := count(path, items)) < number and time.monotonic() < end:
        time.sleep(0.05)
    return found


def main():
    command, path, *rest = sys.argv[1:]
    if command == 'count':
        print(count(path, rest))
    elif command == 'wait':
        print(wait(path, int(rest[0]), rest[1:]))
    elif command == 'stats':
        stats = [event for event in read(path) if event.get('event_type') == 'stats']
        found = [value(last, 'stats.' + name) for last in stats[-1:] for name in rest] or [None]
        found = [value(stats[-1], 'sluice.stats.' + name) if number is None and stats else number
                 for number, name in zip(found, rest)]
        if None in found:
            sys.exit(f'no {rest[found.index(None)]} in {path}')
        print(*found)
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
