# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates the events of every case against EVE's own JSON schema; used by run.py on the folders that verify.py keeps.

What we write on purpose and the schema has no name for is listed below, as short as can be: what is listed and not
written fails. All of these places forbid names that they do not know. Events out of a queue have the object "queue"
besides; no case has a queue.
"""
import collections
import json
import os

OURS = {
    # Statistics of what the field has not: rings to the writer, files, verdicts of an inline engine, the kernel's
    # conntrack.
    'stats': {'files', 'output'},
    'stats.app_layer': {'byterange', 'memcap', 'memuse'},
    'stats.app_layer.flow': {'also_tcp', 'also_udp'},
    'stats.defrag': {'contradictions', 'dropped_fragments', 'evicted', 'evicted_fragments', 'repeated_fragments'},
    'stats.detect': {'candidates', 'dataset_memcap', 'evaluations', 'flow_memcap', 'host_evicted', 'host_memcap',
                     'limit_matches', 'pcre_limits', 'rule_files_failed', 'scans', 'step_limits', 'threshold_evicted',
                     'threshold_memcap', 'waiting'},
    'stats.file_store': {'files', 'refused'},
    'stats.flow': {'conntrack_reply', 'evicted', 'variable_memcap'},
    'stats.ips': {'exception', 'flow_drops', 'looping', 'marked', 'memcap', 'offload', 'reject_packets_failed',
                  'reject_packets_sent', 'reload', 'replace_refused', 'rules_loaded_at', 'rules_modified_at', 'ruleset',
                  'segmented', 'uninspected', 'unsegmented_udp', 'would_drop', 'would_drop_reason', 'would_reject',
                  'would_replace'},
    'stats.ips.drop_reason': {'applayer_ambiguous', 'applayer_memcap', 'marked', 'overload', 'repeat_loop',
                              'truncated'},
    'stats.tcp': {'conntrack_queries', 'conntrack_undecided', 'midstream_conntrack', 'pseudo_failed',
                  'reassembly_evicted', 'ssn_ended_early', 'ssn_evicted', 'ssn_restored', 'urgent_cleared'},
    # Every decoder event is counted below `event`; the schema has this one beside it only, where it is counted too.
    'stats.decoder.event': {'too_many_layers'},
}


def without_ours(event):
    """Takes out what is ours, and says what was there."""
    found = set()
    for place, names in OURS.items():
        node = event
        for part in place.split('.'):
            node = node.get(part) if isinstance(node, dict) else None
        for name in names:
            if isinstance(node, dict) and node.pop(name, None) is not None:
                found.add(f'{place}.{name}')
    return found


class Validator:
    """One for all cases. None of its modules is needed to import this file."""

    def __init__(self, path):
        import fastjsonschema
        with open(path, encoding='utf-8') as f:
            self.valid = fastjsonschema.compile(json.load(f))
        self.error = fastjsonschema.JsonSchemaException
        self.kinds, self.ours, self.wrong = collections.Counter(), set(), collections.Counter()

    def check_file(self, case, path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                event = json.loads(line)
                self.kinds[event.get('event_type')] += 1
                self.ours |= without_ours(event)
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
        unused = {f'{place}.{name}' for place, names in OURS.items() for name in names} - self.ours
        if unused:
            print('SCHEMA: listed as ours, and not written by any case: ' + ', '.join(sorted(unused)))
        return not self.wrong and not unused and sum(self.kinds.values()) > 0
