# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `sluice replay` over a capture of any kind, and says what a run must never do. Used by captures.py and
broken.py."""
import json
import os
import re
import subprocess

SANITIZER_EXIT = 99


def environment():
    """Reports of the sanitizers get an exit code that the program itself never has."""
    env = dict(os.environ)
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS'):
        env[name] = ':'.join(filter(None, [env.get(name), f'exitcode={SANITIZER_EXIT}']))
    return env


def without_link_warning(text):
    """The text without the warning about a link type that is not supported: it is expected for some captures."""
    return re.sub(r'(?m)^sluice: warning: .*: link type \d+ \(.*\) is not supported: \d+ packets not inspected\n', '',
                  text)


# A capture that ends in the middle of a packet is judged as far as it goes.
CUT = re.compile(r'sluice: warning: .*: after packet \d+: .*; the rest of the file is skipped\n')


class Run:
    """One run: its exit code, what it said, and the lines of its eve.json."""

    def __init__(self, sluice, arguments, captures, folder, timeout):
        os.makedirs(folder, exist_ok=True)
        command = [sluice, 'replay', '--no-console', '--log-dir', folder, *arguments, *captures]
        try:
            run = subprocess.run(command, capture_output=True, timeout=timeout, env=environment())
            self.code, self.said = run.returncode, without_link_warning(run.stderr.decode(errors='replace'))
        except subprocess.TimeoutExpired:
            self.code, self.said = None, ''
        path = folder + '/eve.json'
        self.lines = []
        if os.path.exists(path):
            with open(path, 'rb') as f:
                self.lines = f.read().splitlines()
            os.unlink(path)

    def events(self):
        return [json.loads(line) for line in self.lines]

    def lines_without_stats(self):
        return [line for line in self.lines if b'"event_type":"stats"' not in line]

    def stats(self):
        return json.loads(self.lines[-1])['stats']

    def problem(self, may_fail):
        """What is wrong with the run, or None. `may_fail`: a file that libpcap refuses or that is cut may end it, with
        one line that says so."""
        if self.code is None:
            return 'does not end'
        if self.code == 1 and may_fail:
            if self.said.count('\n') != 1 or not self.said.startswith('sluice'):
                return 'exit code 1 without one line that says why: ' + self.said
        elif self.code == 0 and may_fail and CUT.fullmatch(self.said):
            pass
        elif self.code != 0 or self.said:
            return f'exit code {self.code}: {self.said}'
        return self.wrong_events()

    def wrong_events(self):
        try:
            events = self.events()
        except ValueError as error:
            return f'eve.json is no JSON: {error}'
        if not events:
            return None if self.code else 'no events, not even statistics'
        if events[-1].get('event_type') != 'stats':
            return 'the last event is not the statistics'
        return self.wrong_sums(events)

    def wrong_sums(self, events):
        stats = events[-1]['stats']
        captured, ips = stats['capture']['kernel_packets'], stats['ips']
        if captured != ips['accepted'] + ips['blocked']:
            return f"{captured} packets, but {ips['accepted']} accepted and {ips['blocked']} blocked"
        if ips['blocked'] != sum(ips['drop_reason'].values()):
            return f"{ips['blocked']} blocked, but the reasons are {ips['drop_reason']}"
        for kind, counts in stats['output'].items():
            if isinstance(counts, dict) and counts['lost']:
                return f"{counts['lost']} events of type {kind} lost"
        return None


def default_arguments(source):
    """All the rules there are to go through: the shipped ones, and every keyword."""
    rules = [source + '/rules/decoder-events.rules', source + '/rules/sluice.rules',
             source + '/tests/replay/captures/keywords.rules']
    return [word for path in rules for word in ('--rules', path)] + default_settings(source)


def default_settings(source):
    """What the rules of the tests need besides."""
    settings = {'classification-file': 'rules/classification.config',
                'reference-config-file': 'rules/reference.config',
                'reputation.categories': 'tests/replay/captures/categories.txt',
                'reputation.files': 'tests/replay/captures/reputations.list',
                'geoip-database': 'tests/replay/captures/countries.mmdb'}
    return [word for name, path in settings.items() for word in ('--set', f'{name}={source}/{path}')]


def cache_settings(folder):
    """Runs with the same rules compile their pattern databases once. cached.py tests that a database of the cache gives
    the same events."""
    return ['--set', 'detect.sgh-mpm-caching=yes', '--set', f'detect.sgh-mpm-caching-path={folder}/sgh']


def decoder_events(stats):
    """How many decoder events were counted, of all names."""
    def total(node):
        return sum(map(total, node.values())) if isinstance(node, dict) else node
    return total(stats['decoder']['event'])
