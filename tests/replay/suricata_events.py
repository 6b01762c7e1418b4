#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the flows and events of `sluice replay` with those of Suricata 8, without rules.

    suricata_events.py SLUICE [--cache DIR] [--types LIST] [--examples N] PATH...

PATH is a capture, or a folder that is searched for captures; identical captures are compared once. Suricata is the
program `suricata`, in the chroot SLUICE_SURICATA_ROOT if that is set. Without Suricata 8 the exit code is 77.

--cache: keep Suricata's events in DIR, one file for each capture, so that the next run starts Suricata only for new
captures.

The first part of the report compares `app_proto` of the flows that at least one of the programs identifies. Flows are
paired by addresses, ports and start time. The second part compares the members of events. Events of the same flow and
type are paired in this order: equal events for the same packet and sender, other events for the same packet and sender,
and the remaining events by their order. For each member that is not always equal, the report has the number of events
in which it is equal, different, only in Suricata's event or only in Sluice's; and for each type the number of events
that only one program writes.

The exit code is 1 if the programs differ in `app_proto` of more than 1 % of the flows that Suricata identifies. Flows
that only Sluice identifies do not count, because it supports more protocols and ports.
"""
import argparse
import collections
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import suricata as peer

TYPES = """
        - anomaly: {types: {decode: no, stream: no, applayer: yes}}
        - http: {extended: yes}
        - dns
        - mdns
        - tls: {extended: yes, session-resumption: yes}
        - files: {force-magic: no, force-hash: [md5]}
        - smtp: {extended: yes}
        - websocket
        - ftp
        - rdp
        - nfs
        - smb
        - tftp
        - ike
        - dcerpc
        - krb5
        - bittorrent-dht
        - snmp
        - rfb
        - sip
        - quic
        - ldap
        - pop3
        - arp: {enabled: yes}
        - dhcp: {enabled: yes, extended: yes}
        - ssh
        - mqtt
        - http2
        - doh2
        - pgsql: {enabled: yes}
        - modbus
        - dnp3
        - enip
        - flow
"""
OWN_CONFIG = f"""
stream: {{checksum-validation: no, depth: 0}}
replay: {{checksum-checks: no}}
eve:
    types:
{TYPES}
"""
# All protocols of Suricata 8, with the detection ports and limits of its default configuration. Without these, Suricata
# does not detect some protocols, and hashes only 4 KiB of HTTP bodies.
PROTOCOLS = dict.fromkeys(
    ('bittorrent-dht', 'dcerpc', 'dhcp', 'doh2', 'ftp', 'http2', 'ike', 'imap', 'krb5', 'mdns', 'mqtt', 'nfs', 'ntp',
     'pgsql', 'quic', 'rdp', 'sip', 'smtp', 'snmp', 'ssh', 'telnet', 'tftp', 'websocket'), '') | {
    'http': 'libhtp: {default-config: {personality: IDS, request-body-limit: 100kb, response-body-limit: 100kb, '
            'response-body-decompress-layer-limit: 2}}',
    'dnp3': 'detection-ports: {dp: 20000}',
    'enip': 'detection-ports: {dp: 44818, sp: 44818}',
    'modbus': 'detection-ports: {dp: 502}',
    'pop3': 'detection-ports: {dp: 110}',
    'rfb': 'detection-ports: {dp: "5900, 5901, 5902, 5903, 5904, 5905, 5906, 5907, 5908, 5909"}',
    'smb': 'detection-ports: {dp: "139, 445"}',
    'tls': 'detection-ports: {dp: 443}',
    'dns': 'tcp: {enabled: yes, detection-ports: {dp: 53}}, udp: {enabled: yes, detection-ports: {dp: 53}}',
    'ldap': 'tcp: {enabled: yes, detection-ports: {dp: "389, 3268"}}, '
            'udp: {enabled: yes, detection-ports: {dp: "389, 3268"}}',
}
# Members that depend on the engine or on the run, not on the traffic.
IGNORED = {'flow_id', 'pcap_cnt', 'timestamp', 'in_iface', 'sluice', 'suricata_version', 'host'}
UNIDENTIFIED = {None, 'failed', 'unknown'}
NO_FLOW = 'no flow'
NEEDED_SHARE = 0.99


def peer_config():
    protocols = ', '.join(f'{name}: {{enabled: yes, {options}}}' for name, options in PROTOCOLS.items())
    engine = re.sub(r'(?m)^app-layer: .*$', f'app-layer: {{protocols: {{{protocols}}}}}',
                    peer.CONFIG.partition('outputs:')[0])
    engine += 'decoder: {teredo: {enabled: yes, ports: $TEREDO_PORTS}, vxlan: {enabled: yes, ports: $VXLAN_PORTS}, ' \
              'geneve: {enabled: yes, ports: $GENEVE_PORTS}}\n'
    return engine + f"""outputs:
  - eve-log:
      enabled: yes
      filename: eve.json
      types:{TYPES}"""


def find_captures(paths):
    found, config = {}, peer_config().encode()
    for path in paths:
        files = [path] if os.path.isfile(path) else [os.path.join(root, name) for root, _, names in os.walk(path)
                                                     for name in names]
        for file in files:
            if file.endswith(('.pcap', '.pcapng', '.cap', '.trace')):
                with open(file, 'rb') as f:
                    found.setdefault(hashlib.md5(f.read() + config).hexdigest(), file)
    return sorted((file, digest) for digest, file in found.items())


def events_of(folder):
    """Returns the events in a log folder; an empty list if the program could not read the capture."""
    try:
        return peer.events_of(folder)
    except OSError:
        return []


def run_suricata(suricata, capture):
    with tempfile.TemporaryDirectory(dir=suricata.root + '/tmp') as folder:
        inside = folder[len(suricata.root):]
        shutil.copy(capture, folder + '/x.pcap')
        for name, text in ('x.yaml', peer_config()), ('x.rules', ''):
            with open(f'{folder}/{name}', 'w') as f:
                f.write(text)
        subprocess.run([*suricata.command, '-c', inside + '/x.yaml', '-k', 'none', '-r', inside + '/x.pcap', '-S',
                        inside + '/x.rules', '-l', inside, '--runmode', 'single', '--set', 'unix-command.enabled=no'],
                       capture_output=True, timeout=20)
        return events_of(folder)


def cached_events(suricata, capture, digest, cache):
    path = cache and f'{cache}/{digest}.json.gz'
    if path and os.path.exists(path):
        with gzip.open(path, 'rt') as f:
            return json.load(f)
    try:
        events = run_suricata(suricata, capture)
    except subprocess.TimeoutExpired: # Suricata hangs after some captures that it cannot read
        events = []
    if path:
        with gzip.open(path + '.new', 'wt') as f:
            json.dump(events, f)
        os.rename(path + '.new', path)
    return events


def run_sluice(sluice, capture):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/x.yaml', 'w') as f:
            f.write(OWN_CONFIG)
        subprocess.run([sluice, 'replay', '--no-console', '-c', folder + '/x.yaml', '--log-dir', folder, capture],
                       capture_output=True, timeout=60)
        return events_of(folder)


def flow_key(event):
    ends = sorted([(event.get('src_ip', ''), event.get('src_port', 0)), (event.get('dest_ip', ''),
                                                                       event.get('dest_port', 0))])
    return (*ends, str(event.get('proto', '')).lower(), str(event.get('vlan', '')))


def grouped(ours, theirs, key):
    out = collections.defaultdict(lambda: ([], []))
    for side, events in enumerate((ours, theirs)):
        for event in events:
            out[key(event)][side].append(event)
    return out


def pairs_of(ours, theirs, keys):
    """Pairs events with the same first key: first those that agree in all keys, then those that agree in fewer. Events
    with equal keys are paired in their order. Yields (event of Sluice, event of Suricata); None: there is none."""
    for first, second in grouped(ours, theirs, keys[0]).values():
        for depth in range(len(keys), 0, -1):
            rest = [], []
            groups = grouped(first, second, lambda event: repr([key(event) for key in keys[:depth]]))
            for mine, peers in groups.values():
                count = min(len(mine), len(peers))
                yield from zip(mine, peers)
                rest[0].extend(mine[count:])
                rest[1].extend(peers[count:])
            first, second = rest
        yield from ((event, None) for event in first)
        yield from ((None, event) for event in second)


def flows_of(events):
    flows = [e for e in events if e['event_type'] == 'flow' and e.get('proto') in ('TCP', 'UDP')]
    return sorted(flows, key=lambda e: e['flow']['start'])


def start_of(event):
    return event['flow']['start']


def type_key(event):
    return event['event_type'], *flow_key(event)


def packet_key(event):
    return event.get('pcap_cnt'), event.get('src_ip'), event.get('src_port')


def content_key(event):
    return sorted(members_of(event), key=repr)


def members_of(value, path=''):
    """Yields (path, value) for each member; the path of an array element is that of the array with []."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if path or name not in IGNORED:
                yield from members_of(inner, f'{path}.{name}' if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from members_of(inner, path + '[]')
    else:
        yield path, value


class Report:
    def __init__(self):
        self.captures = self.unreadable = self.flows = self.identified = self.by_suricata = self.equal = 0
        self.classes = collections.Counter()
        self.events = collections.defaultdict(collections.Counter)
        self.members = collections.defaultdict(collections.Counter)
        self.examples = collections.defaultdict(list)

    def add(self, capture, ours, theirs):
        self.captures += 1
        for one, other in pairs_of(flows_of(ours), flows_of(theirs), (flow_key, start_of)):
            names = tuple((e or {}).get('app_proto', NO_FLOW if e is None else None) for e in (other, one))
            self.flows += 1
            if all(name in UNIDENTIFIED or name == NO_FLOW for name in names):
                continue
            self.identified += 1
            self.by_suricata += names[0] not in UNIDENTIFIED and names[0] != NO_FLOW
            self.equal += names[0] == names[1]
            if names[0] != names[1]:
                self.classes[names] += 1
                flow = one or other
                self.examples[names].append(f'{capture} {flow["proto"]} {flow["src_port"]} {flow["dest_port"]}')
        ours, theirs = [[e for e in events if e['event_type'] != 'stats'] for events in (ours, theirs)]
        for one, other in pairs_of(ours, theirs, (type_key, packet_key, content_key)):
            self.add_pair(capture, one, other)

    def add_pair(self, capture, one, other):
        kind = (one or other)['event_type']
        if one is None or other is None:
            what = 'only Suricata' if one is None else 'only Sluice'
            self.events[kind][what] += 1
            self.examples[(kind, what)].append(f'{capture} {json.dumps(other if one is None else one)}')
            return
        self.events[kind]['both'] += 1
        found = collections.defaultdict(lambda: ([], []))
        for side, event in enumerate((one, other)):
            for path, value in members_of(event):
                found[path][side].append(value)
        for path, (mine, peers) in found.items():
            what = 'equal' if mine == peers else 'differ' if mine and peers else \
                'only Sluice' if mine else 'only Suricata'
            self.members[(kind, path)][what] += 1
            if what != 'equal':
                self.examples[(kind, path, what)].append(
                    f'{capture} tx {one.get("tx_id", "-")}: Sluice {mine} Suricata {peers}')

    def share(self, of):
        return self.equal / of if of else 1

    def show(self, most, types):
        print(f'{self.captures} captures ({self.unreadable} more without events of Suricata), {self.flows} flows\n'
              f'{self.equal} flows with equal app_proto: {100 * self.share(self.by_suricata):.2f} % of the '
              f'{self.by_suricata} that Suricata identifies, {100 * self.share(self.identified):.2f} % of the '
              f'{self.identified} that at least one program identifies')
        for names, count in self.classes.most_common():
            print(f'{count:6} Suricata {names[0]}, Sluice {names[1]}')
            self.show_examples(names, most)
        for kind in sorted(self.events):
            if types and kind not in types:
                continue
            count = self.events[kind]
            print(f'\n{kind}: {count["both"]} events of both')
            for what in 'only Suricata', 'only Sluice':
                if count[what]:
                    print(f'{count[what]:6} {what}')
                    self.show_examples((kind, what), most)
            for (of, path), values in sorted(self.members.items()):
                if of == kind and values.keys() - {'equal'}:
                    print(f'  {path}: ' + ', '.join(f'{n} {what}' for what, n in values.most_common()))
                    for what in 'differ', 'only Suricata', 'only Sluice':
                        self.show_examples((kind, path, what), most)

    def show_examples(self, key, most):
        for line in self.examples[key][:most]:
            print(f'           {line[:600]}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice', type=os.path.abspath)
    parser.add_argument('--cache', type=os.path.abspath)
    parser.add_argument('--types', default='', help='event types to report, separated by commas (default: all)')
    parser.add_argument('--examples', type=int, default=2, help='examples of each difference (default: 2)')
    parser.add_argument('--largest', type=int, default=30000000, help='skip captures above this size in bytes')
    parser.add_argument('paths', nargs='+')
    options = parser.parse_args()
    suricata, report = peer.Suricata(), Report()
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
    for capture, digest in find_captures(options.paths):
        if os.path.getsize(capture) > options.largest or peer.link_type(capture) not in peer.LINK_TYPES:
            continue
        theirs = cached_events(suricata, capture, digest, options.cache)
        if theirs:
            report.add(os.path.basename(capture), run_sluice(options.sluice, capture), theirs)
        else:
            report.unreadable += 1
    report.show(options.examples, set(filter(None, options.types.split(','))))
    sys.exit(report.share(report.by_suricata) < NEEDED_SHARE)


if __name__ == '__main__':
    main()
