#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the configurations of docs/guide/siem-wazuh.md and siem-splunk.md to events of every type.

    pages.py SLUICE MAKE_EVENTS

Neither program can be installed here. For Wazuh this file has an interpreter of what its rules use (decoded_as, if_sid,
field, description), and the conditions of Wazuh's own rules 86600 to 86604; for Splunk it applies time stamp settings
and checks that the fields which aliases and calculations name exist. What is tested: each event is decoded within the
limits of the program, the intended rule is the one that matches, and descriptions have no empty fields.
"""
import collections
import configparser
import datetime
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import events as source

problems = []

# --- Wazuh

# Limits of analysisd: fields of a decoded event (analysisd.decoder_order_size), and bytes of a message (OS_MAXSTR).
WAZUH_FIELDS, WAZUH_BYTES = 256, 65536
# Rules of ruleset/rules/0475-suricata_rules.xml: id, level, parent, field and expression.
WAZUH_RULES = '''<group>
  <rule id="86600" level="0"><decoded_as>json</decoded_as><field name="timestamp">\\.+</field>
    <field name="event_type">\\.+</field><description>Suricata messages.</description></rule>
  <rule id="86601" level="3"><if_sid>86600</if_sid><field name="event_type">^alert$</field>
    <description>Suricata: Alert - $(alert.signature).</description></rule>
  <rule id="86602" level="0"><if_sid>86600</if_sid><field name="event_type">^http$</field>
    <description>Suricata: HTTP.</description></rule>
  <rule id="86603" level="0"><if_sid>86600</if_sid><field name="event_type">^dns$</field>
    <description>Suricata: DNS.</description></rule>
  <rule id="86604" level="0"><if_sid>86600</if_sid><field name="event_type">^tls$</field>
    <description>Suricata: TLS.</description></rule>
</group>'''


def wazuh_fields(value, path, fields):
    """The dynamic fields of Wazuh's JSON decoder: dotted names; an array is one field."""
    for key, below in value.items():
        name = f'{path}.{key}' if path else key
        if isinstance(below, dict):
            wazuh_fields(below, name, fields)
        elif isinstance(below, list):
            fields[name] = ','.join(json.dumps(one) for one in below)
        else:
            fields[name] = str(below).lower() if isinstance(below, bool) else str(below)
    return fields


def os_regex(text):
    """An expression of Wazuh's OS_Regex: backslash and a dot for any character, | between alternatives."""
    return re.compile('|'.join(re.escape(part).replace('\\\\\\.', '.').replace('\\^', '^').replace('\\$', '$')
                               .replace('\\+', '+') for part in text.split('|')))


class WazuhRules:
    def __init__(self, *documents):
        self.children, self.ids = collections.defaultdict(list), set()
        for document in documents:
            for rule in ElementTree.fromstring(document).iter('rule'):
                if rule.get('id') in self.ids:
                    sys.exit(f'Wazuh: rule {rule.get("id")} twice')
                parent = rule.findtext('if_sid')
                if parent is not None and parent not in self.ids:
                    sys.exit(f'Wazuh: rule {rule.get("id")} refers to rule {parent}, which is not above it')
                self.ids.add(rule.get('id'))
                self.children[parent].append(rule)
        for rules in self.children.values():  # level 0 first, then the highest level
            rules.sort(key=lambda rule: -1000 if rule.get('level') == '0' else -int(rule.get('level')))

    def match(self, fields, parent=None):
        for rule in self.children[parent]:
            if all(field.get('name') in fields and os_regex(field.text).search(fields[field.get('name')])
                   for field in rule.findall('field')):
                return self.match(fields, rule.get('id')) or rule
        return None


def check_wazuh(lines):
    page = 'siem-wazuh.md'
    agent = ElementTree.fromstring(source.page_block(page, '<localfile>'))
    ignored = re.compile(agent.findtext('ignore'))
    rules = WazuhRules(WAZUH_RULES, source.page_block(page, '<group'))
    matched, passed = collections.Counter(), 0
    for line in lines:
        if ignored.search(line):
            continue
        passed += 1
        event = json.loads(line)
        fields = wazuh_fields(event, '', {})
        if len(fields) > WAZUH_FIELDS or len(line) > WAZUH_BYTES:
            problems.append(f'Wazuh: {event["event_type"]} has {len(fields)} fields, {len(line)} bytes')
        rule = rules.match(fields)
        if rule is None:
            problems.append(f'Wazuh: no rule matches {line[:200]}')
            continue
        matched[rule.get('id')] += 1
        for name in re.findall(r'\$\(([^)]*)\)', rule.findtext('description')):
            if name not in fields:
                problems.append(f'Wazuh: rule {rule.get("id")} describes {name}, which is not in {line[:200]}')
        expected = {'alert': {'86601', '100200', '100201'}, 'drop': {'100202'}, 'would_drop': {'100203'},
                    'engine': {'100210', '100211', '100212'}, 'firewall': {'100220', '100221'}, 'overload': {'100230'},
                    'http': {'86602'}, 'dns': {'86603'}, 'tls': {'86604'}}.get(event['event_type'], {'86600'})
        if rule.get('id') not in expected:
            problems.append(f'Wazuh: rule {rule.get("id")} matches an event of type {event["event_type"]}')
    problems.extend(f'Wazuh: rule {rule} matches no event' for rule in sorted(rules.ids - set(matched)))
    print(f'Wazuh: {passed} of {len(lines)} events pass the agent; by rule: ' +
          ', '.join(f'{rule}: {count}' for rule, count in sorted(matched.items())))


# --- Splunk

def check_splunk(lines):
    config = configparser.RawConfigParser(delimiters=('=',))
    config.optionxform = str
    config.read_string(source.page_block('siem-splunk.md', '[suricata]'))
    props = config['suricata']
    prefix, lookahead = re.compile(props['TIME_PREFIX']), int(props['MAX_TIMESTAMP_LOOKAHEAD'])
    time_format = props['TIME_FORMAT'].replace('%6N', '%f')
    members, counts = set(), collections.Counter()
    aliases = [re.findall(r'(\S+) AS (\S+)', props[key]) for key in props if key.startswith('FIELDALIAS-')]
    for line in lines:
        event = json.loads(line)
        fields = wazuh_fields(event, '', {})
        members |= set(fields)
        start = prefix.search(line)
        text = line[start.end():start.end() + lookahead].split('"')[0] if start else ''
        try:
            if datetime.datetime.strptime(text, time_format).tzinfo is None:
                raise ValueError('no time zone')
        except ValueError as error:
            problems.append(f'Splunk: no time stamp in {line[:100]}: {error}')
        for alias, name in [pair for pairs in aliases for pair in pairs]:
            counts[name] += alias in fields
    for pairs in aliases:
        if not pairs:
            problems.append('Splunk: a field alias that is not FIELD AS FIELD')
    problems.extend(f'Splunk: no event has the field for {name}' for name, count in counts.items() if not count)
    for key in props:
        if not key.startswith('EVAL-'):
            continue
        text = re.sub(r'"[^"]*"', '', props[key])
        names = set(re.findall(r"'([^']+)'", text)) | \
            set(re.findall(r'(?<![\w.\'])([a-z_]+)(?![\w(\'.])', re.sub(r"'[^']+'", '', text)))
        problems.extend(f'Splunk: {key} uses {name}, which no event has' for name in names - members)
    print('Splunk: events with each field: ' + ', '.join(f'{name}: {count}' for name, count in sorted(counts.items())))


def main():
    sluice, make_events = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        source.write_events(sluice, make_events, folder + '/eve.json')
        with open(folder + '/eve.json', encoding='utf-8') as f:
            lines = f.read().splitlines()
    check_wazuh(lines)
    check_splunk(lines)
    for problem in problems[:30]:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
