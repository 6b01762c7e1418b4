# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `sluice replay` and checks what must be true for every run. Used by the other scripts of this folder."""
import json
import os
import re
import subprocess

SANITIZER_EXIT = 99


def environment():
    """Returns an environment in which reports of the sanitizers end the program with a special exit code."""
    env = dict(os.environ)
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS'):
        env[name] = ':'.join(filter(None, [env.get(name), f'exitcode={SANITIZER_EXIT}']))
    return env


def without_link_warning(text):
    """Removes the warning about an unsupported link type, which is expected for some captures."""
    return re.sub(r'(?m)^sluice: warning: .*: link type \d+ \(.*\) is not supported: \d+ packets not inspected\n', '',
                  text)


# Warning for a capture that ends in the middle of a packet; the packets before are inspected.
CUT = re.compile(r'sluice: warning: .*: after packet \d+: .*; the rest of the file is skipped\n')


class Run:
    """One run of `sluice replay`: its exit code, its output, and the lines of its eve.json."""

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

    def is_complete(self):
        """Returns whether all files were read to their end, without a warning."""
        return self.code == 0 and not self.said

    def events(self):
        return [json.loads(line) for line in self.lines]

    def lines_without_stats(self):
        return [line for line in self.lines if b'"event_type":"stats"' not in line]

    def stats(self):
        return json.loads(self.lines[-1])['stats']

    def own_stats(self):
        """Counters that Suricata does not have."""
        return json.loads(self.lines[-1])['sluice']['stats']

    def problem(self, may_fail):
        """Returns what is wrong with the run, or None. may_fail: libpcap may refuse the file, or it may be truncated;
        then the output must be one line."""
        if self.code is None:
            return 'timeout'
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
            return 'the last event is not of type stats'
        return self.wrong_sums(events)

    def wrong_sums(self, events):
        stats = events[-1]['stats']
        captured, ips = stats['capture']['kernel_packets'], stats['ips']
        if captured != ips['accepted'] + ips['blocked']:
            return f"{captured} packets, but {ips['accepted']} accepted and {ips['blocked']} blocked"
        own = events[-1]['sluice']['stats']
        reasons = {**ips['drop_reason'], **own['ips']['drop_reason']}
        if ips['blocked'] != sum(reasons.values()):
            return f"{ips['blocked']} blocked, but the reasons are {reasons}"
        for kind, counts in own['output'].items():
            if isinstance(counts, dict) and counts['lost']:
                return f"{counts['lost']} events of type {kind} lost"
        return None


def default_arguments(source):
    """Returns options for the shipped rules and a file with every keyword."""
    rules = [source + '/rules/decoder-events.rules', source + '/rules/sluice.rules',
             source + '/tests/replay/captures/keywords.rules']
    return [word for path in rules for word in ('--rules', path)] + default_settings(source)


def default_settings(source):
    """Returns options for the files that the rules need."""
    settings = {'classification-file': 'rules/classification.config',
                'reference-config-file': 'rules/reference.config',
                'reputation.categories': 'tests/replay/captures/categories.txt',
                'reputation.files': 'tests/replay/captures/reputations.list',
                'geoip-database': 'tests/replay/captures/countries.mmdb',
                'default-rule-path': 'tests/replay/captures'}
    return [word for name, path in settings.items() for word in ('--set', f'{name}={source}/{path}')] + \
        ['--set', 'security.lua.allow-rules=yes', '--set', 'security.lua.max-bytes=64 MiB',
         '--set', 'security.lua.max-instructions=1000000000']


def cache_settings(folder):
    """Returns options for a database cache, so that runs with equal rules compile their databases once. cached.py tests
    that cached databases give the same events."""
    return ['--set', 'detect.sgh-mpm-caching=yes', '--set', f'detect.sgh-mpm-caching-path={folder}/sgh']


def decoder_events(stats):
    """Returns the sum of all decoder event counters."""
    def total(node):
        return sum(map(total, node.values())) if isinstance(node, dict) else node
    return total(stats['decoder']['event'])
