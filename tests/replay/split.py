#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that protocol events and alerts do not depend on the segmentation of TCP.

    split.py SLUICE SOURCE SHARED [--share N] [--largest BYTES] [--rules FILE] [--seed N] [--first BYTES] [-j N]
             [PART OF A PATH...]

Each capture of SHARED with TCP payload (--share, --largest, PART: as for captures.py) is replayed unchanged, cut at
every byte, cut at random, and joined to 64 kB (recut.py); half of the captures with --ips. Events are compared without
their order. The tables below list fields, keywords and captures that are not compared, with the reason. --rules adds a
rule file, such as all of ET Open.
"""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import captures
import recut
import replaying

WAYS = ('byte', 'random', 'join')
CONFIG = """%YAML 1.1
---
packet-alert-max: 255
exception-policy: ignore # which bytes a drop affects depends on the packet boundaries
replay: {checksum-checks: no}
app-layer: {protocols: {tls: {ja3-fingerprints: yes, ja4-fingerprints: yes}}} # auto depends on rules
eve:
  types:
    alert: yes
    anomaly: {types: {applayer: yes}}
    flow: yes
    files: {force-hash: [md5, sha256]}
    http: {extended: yes}
    dns: yes
    tls: {extended: yes}
    smtp: {extended: yes}
    ftp: yes
    ssh: yes
    smb: yes
    dcerpc: yes
    nfs: yes
    ike: yes
    krb5: yes
    dhcp: {extended: yes}
    mdns: yes
    llmnr: yes
    dnp3: yes
    enip: yes
    bittorrent-dht: yes
    rdp: yes
    modbus: yes
    ldap: yes
    mqtt: yes
    pgsql: yes
    pop3: yes
    doh2: yes
    websocket: yes
    sip: yes
    rtsp: yes
    s7comm: yes
    s7commplus: yes
    opcua: yes
    iec104: yes
    stats: yes
"""

# Fields that depend on packets, and are therefore not compared.
PACKET_FIELDS = ('timestamp', 'pcap_cnt', 'packet', 'packet_info', 'payload', 'payload_printable', 'stream', 'pkt_src',
                 'flow_id', 'in_iface', # cut captures have no interfaces
                 'traffic', 'metadata', 'tcp')
FLOW_FIELDS = ('state', 'reason', 'alerted', 'tx_cnt')  # the only fields of a flow that are compared
# Alerts are compared by rule and these fields. Other fields show the transaction at the packet with which the rule
# matched. Alerts without a transaction can repeat with later packets, and alerts on files are raised once for all files
# that end in the same packet, so the number of such alerts is not compared.
ALERT_FIELDS = ('src_ip', 'src_port', 'dest_ip', 'dest_port', 'tx_id')

# Keywords on packets (sizes, headers, packet counts, time). Rules with them are left out.
PACKET_KEYWORDS = ('dsize', 'flags', 'tcp.flags', 'seq', 'tcp.seq', 'ack', 'tcp.ack', 'window', 'tcp.window', 'tcp.hdr',
                   'ipv4.hdr', 'ipv6.hdr',
                   'stream_size', 'stream-event', 'threshold', 'detection_filter', 'tcpv4-csum', 'tcpv6-csum', 'tag',
                   'pkt_data', 'replace',
                   'flow.pkts', 'flow.pkts_toserver', 'flow.pkts_toclient', 'flow.bytes', 'flow.bytes_toserver',
                   'flow.bytes_toclient', 'flow.age')
# Modifiers that tie a content of the raw stream to the begin or end of a packet or stream chunk. Rules with them are
# left out.
PLACES = ('offset', 'depth', 'startswith', 'endswith', 'isdataat', 'byte_test', 'byte_jump', 'byte_extract',
          'byte_math', 'pcre', 'bsize')
PROTOCOLS = ('http', 'http1', 'tls', 'dns', 'smtp', 'ftp', 'ftp-data', 'ssh', 'smb', 'dcerpc', 'nfs', 'ike', 'krb5',
             'dhcp', 'ntp', 'mdns', 'llmnr', 'websocket', 'sip', 'rtsp', 'iec104', 's7comm', 's7commplus', 'opcua',
             'snmp', 'pgsql', 'rfb', 'mqtt', 'ldap', 'modbus', 'rdp', 'bittorrent-dht', 'enip', 'dnp3', 'pop3',
             'imap', 'telnet', 'doh2')


def names_of_transactions(sluice):
    """Returns keywords on transactions and files, buffers other than those of packets, and the old HTTP modifiers."""
    of_packets = ('pkt_data', 'base64_data', 'ip.src', 'ip.dst', 'sctp.chunk_data')
    found = set()
    for keyword in json.loads(subprocess.check_output([sluice, 'keywords', '--json'])):
        name = keyword['name']
        if keyword['kind'] in ('transaction', 'file') or name.startswith('http_') or \
                keyword['kind'] == 'buffer' and name not in of_packets and not name.endswith('.hdr'):
            found |= {name, *keyword['aliases']}
    return found | {'uricontent', 'urilen', 'filename', 'fileext'}


# Captures whose events depend on the segmentation, with the reason.
SURPLUS = 'bytes after a message, in the same packet, are parsed as part of its body, as in browsers and Suricata'
WINDOW = 'the window is full: a whole segment is refused, but a small piece of it fits into the window'
UNSEEN = 'the capture lacks acknowledged data: it depends on the segmentation whether this is reported as a gap'
RESET = 'data after a RST is not part of a stream, and is inspected packet by packet'
GIVEN_UP = 'protocol detection gives up at the first byte that is not TLS'
CLOCK = 'the time stamps of the capture jump by hours; without some of the packets they do not'
OPEN = 'the reason is unknown'
DIFFERENT = {r'http-evader-(2(39|4\d|5\d)|415)/': SURPLUS, r'trex/http_manual_': SURPLUS,
             r'http-request-invalid/': SURPLUS,
             r'http/206_example_b': WINDOW, r'bug-5392/': UNSEEN, r'modbus-and-non-modbus-p502': RESET,
             r'tls/ssl-to-http-server': GIVEN_UP, r'transform-base64-7296/': CLOCK,
             r'http-mime-truncated/': OPEN}


def options_of(rule):
    """Returns the options of a rule as (name, value), in their order."""
    body = rule[rule.index('(') + 1:rule.rindex(')')]
    return [(name.strip(), value) for name,
            value in re.findall(r'([^:;]+)(?::((?:\\.|"(?:\\.|[^"\\])*"|[^;"\\])*))?;', body)]


def denies_a_body(options):
    """Returns whether a rule has a negated content or pcre on a body. Such a rule can match the first part of a body,
    which depends on the segmentation."""
    bodies, last = ('http.request_body', 'http.response_body', 'file.data', 'file_data', 'http_client_body',
                    'http_server_body'), None
    for name, value in options:
        if name == 'content' or name == 'pcre':
            denied = value.startswith('!')
            if denied and last in bodies:
                return True
        elif name in ('http_client_body', 'http_server_body') and denied:
            return True
        elif '.' in name or name in bodies or name == 'absent':
            last = last if name == 'absent' else name
    return False


def asks_the_stream(rule, of_transactions):
    """Returns whether the result of a rule must not depend on the segmentation."""
    options = options_of(rule)
    names = [name for name, _ in options]
    if any(name in PACKET_KEYWORDS for name in names) or denies_a_body(options):
        return False
    protocol = rule.split('(', 1)[0].split()[1]
    if protocol in PROTOCOLS or any(name in of_transactions for name in names):
        return True
    contents = [value for name, value in options if name == 'content']
    return protocol == 'tcp' and bool(contents) and not any(value.startswith('!') for value in contents) and \
        not any(name in PLACES for name in names)


def write_rules(paths, out, of_transactions):
    """Writes the rules that must not depend on the segmentation; returns the sids of those with file keywords."""
    of_files = set()
    with open(out, 'w', encoding='utf-8') as f:
        for path in paths:
            with open(path, encoding='utf-8', errors='replace') as rules:
                for line in rules:
                    if re.match('[a-z]', line) and asks_the_stream(line, of_transactions):
                        f.write(line)
                        if re.search(r'[ (;](file[a-z0-9]+|file\.(name|magic))[:;]', line):
                            of_files.add(int(re.search(r'[ (;]sid:\s*(\d+)', line).group(1)))
    return of_files


def flow_ends(events):
    """Returns the addresses and ports of each flow, by its id, which depends on the packets."""
    return {event['flow_id']: [event[name] for name in ('src_ip', 'src_port', 'dest_ip', 'dest_port') if name in event]
            for event in events if event['event_type'] == 'flow'}


def identity(event, flows):
    """Returns the compared fields of an event as text, or None for an event that is not compared."""
    kind = event['event_type']
    if 'parent_id' in event:
        event = {**event, 'parent_id': flows.get(event['parent_id'], 'no flow')}
    if kind == 'alert':
        alert = event['alert']
        kept = {name: event[name] for name in ALERT_FIELDS if name in event}
        kept['sid'] = [alert['gid'], alert['signature_id']]
    elif kind == 'flow':
        kept = {name: value for name, value in event.items() if name not in PACKET_FIELDS}
        kept['flow'] = {name: event['flow'].get(name) for name in FLOW_FIELDS}
    elif kind in ('stats', 'packet'):
        return None
    else:
        kept = {name: value for name, value in event.items() if name not in PACKET_FIELDS}
        if kind == 'fileinfo': # status and length depend on the packet in which the file ended
            for about, name in (('email', 'status'), ('http', 'length')):
                kept[about] = {key: value for key, value in kept.get(about, {}).items() if key != name}
    if kind == 'anomaly': # the packet that raises it, and so its direction, can differ
        kept.update(zip(('src', 'dest'),
                        sorted((kept.pop(f'{end}_ip', ''), kept.pop(f'{end}_port', 0)) for end in ('src', 'dest'))))
    return json.dumps([kind, kept], sort_keys=True)


def compared(run, of_files):
    events = list(run.events())
    flows = flow_ends(events)
    found = collections.Counter(identity(event, flows) for event in events)
    del found[None]
    for text in found:
        if text.startswith('["alert"') and ('"tx_id"' not in text or json.loads(text)[1]['sid'][1] in of_files):
            found[text] = 1
    return found


def differing(one, other):
    """Returns the part of the second text from 60 characters before the first difference."""
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return other[max(0, at - 60):at + 200]


def difference(whole, cut):
    """Returns the first events that only one side has, as text. For a missing event the most similar new one is shown
    from where it differs."""
    lost, new, lines = whole - cut, cut - whole, []
    for text, count in sorted(lost.items())[:4]:
        lines.append(f'  only whole: {count} x {text[:600]}')
        like = [other for other in new if other[:20] == text[:20]]
        if like:
            lines.append('    like: ...'
                         f'{differing(text, max(like, key=lambda other: len(os.path.commonprefix([text, other]))))}')
    lines += [f'  only cut: {count} x {text[:600]}' for text, count in sorted(new.items())[:4]]
    return '\n'.join(lines)


class Test:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        source = os.path.abspath(args.source)
        self.sluice = os.path.abspath(args.sluice)
        rules = [source + '/tests/replay/captures/keywords.rules', source + '/tests/replay/captures/split.rules',
                 *args.rules]
        self.of_files = write_rules(rules, folder + '/split.rules', names_of_transactions(self.sluice))
        self.arguments = ['--config', folder + '/sluice.yaml', '--rules', folder + '/split.rules',
                          *replaying.default_settings(source),
                          *replaying.cache_settings(folder)]

    def replay(self, capture, arguments, folder):
        return replaying.Run(self.sluice, self.arguments + arguments, [capture], folder, self.args.timeout)

    def check(self, path):
        """Returns (problems, number of events compared), or None if the capture is not suitable."""
        capture = os.path.join(self.args.shared, path)
        found = recut.read_capture(capture)
        if not found or not recut.payload_bytes(*found):
            return None
        arguments = ['--ips'] if captures.number_of(path) % 2 else []
        problems = []
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            whole = self.replay(capture, arguments, folder)
            if whole.code != 0:
                return [], 0
            if whole.stats()['tcp']['overlap_diff_data']: # which bytes of overlaps win depends on segments
                return None
            events = compared(whole, self.of_files)
            for way in self.args.way:
                name = f'{folder}/{way}.pcap'
                recut.write_pcap(name, found[0], recut.recut(*found, way, self.args.seed, self.args.first))
                run = self.replay(name, arguments, folder)
                os.unlink(name)
                wrong = f'exit code {run.code} {run.said}' if run.code != 0 \
                    else difference(events, compared(run, self.of_files))
                if wrong:
                    problems.append(f'{path} {" ".join(arguments)} {way}:\n{wrong}')
        return problems, sum(events.values())


def main():
    parser = captures.argument_parser(__doc__, timeout=600)
    parser.add_argument('--rules', action='append', default=[])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=1 << 18)
    parser.add_argument('--way', action='append', choices=WAYS)
    args = parser.parse_args()
    args.way = args.way or WAYS

    found = captures.chosen_captures(args)
    if not args.part:
        found = [path for path in found if not any(re.search(pattern, path) for pattern in DIFFERENT)]
    cut = failed = total = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        with open(folder + '/sluice.yaml', 'w') as f:
            f.write(CONFIG)
        for result in pool.map(Test(args, folder).check, found):
            if result is None:
                continue
            problems, count = result
            cut, total, failed = cut + 1, total + count, failed + bool(problems)
            for problem in problems:
                print(problem, flush=True)
    print(f'{cut} captures with changed segmentation, {total} events, {failed} failed')
    sys.exit(1 if failed or total == 0 else 0)


if __name__ == '__main__':
    main()
