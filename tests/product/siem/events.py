# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of every type for the tests of SIEM programs: those of make_events, and of the conformance cases that own.py
replays."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, SOURCE + '/tests/conformance')
import own  # noqa: E402

MODULES = 'applications', 'protocols', 'transfers', 'fields'
TYPES = {'alert', 'drop', 'would_drop', 'anomaly', 'flow', 'netflow', 'packet', 'stats', 'engine', 'firewall',
         'overload',
         'http', 'dns', 'tls', 'smtp', 'ftp', 'ftp_data', 'fileinfo', 'ssh', 'smb', 'dcerpc', 'krb5', 'nfs', 'tftp',
         'dhcp', 'ike'}


def write_events(sluice, make_events, path):
    """Writes one line per event to the file, and returns the events."""
    subprocess.run([make_events, path], check=True)
    with open(path, 'a', encoding='utf-8') as out:
        for module in MODULES:
            for name, case in own.load_cases(module).items():
                with tempfile.TemporaryDirectory() as folder:
                    events, error = own.replay(sluice, case, folder)
                if error:
                    sys.exit(f'{module}.{name}: {error}')
                out.write(''.join(json.dumps(event, separators=(',', ':')) + '\n' for event in events))
    with open(path, encoding='utf-8') as f:
        events = [json.loads(line) for line in f]
    missing = TYPES - {event['event_type'] for event in events}
    if missing:
        sys.exit(f'no events of the types {", ".join(sorted(missing))}')
    return events


def page_block(page, beginning):
    """The fenced block of a page of the guide that begins with this text, so that a test runs what the page shows."""
    with open(f'{SOURCE}/docs/guide/{page}', encoding='utf-8') as f:
        blocks = re.findall(r'^```\w+\n(.*?)^```$', f.read(), re.DOTALL | re.MULTILINE)
    found = [block for block in blocks if block.startswith(beginning)]
    if len(found) != 1:
        sys.exit(f'{page}: {len(found)} blocks begin with {beginning!r}')
    return found[0]
