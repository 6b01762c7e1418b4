#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the alerts of `sluice replay` with those of Suricata 8.

    suricata.py SLUICE --rules RULES [--ips] [--set KEY=VALUE]... CAPTURE...      one comparison by hand
    suricata.py SLUICE --nightly SHARED [--suites NAME,NAME] [--captures PATTERN] [--share N]
                                                                                  all suites; --share N: every Nth
                                                                                  capture

Alerts are compared by packet, rule, action and transaction; with --ips also the dropped packets. Suricata is the
program `suricata`, in the chroot SLUICE_SURICATA_ROOT if that is set. Without Suricata 8 the exit code is 77.

The suites of --nightly; all but `repro` use the captures of SHARED/pcaps:

    thresholds     suricata/thresholds.rules
    drops          suricata/drops.rules, inline
    et-open        the rules of ET Open without thresholds (a Suricata that loads rules once would keep the state of
                   thresholds from capture to capture)
    et-open-drop   the same with the action drop, inline
    repro          SHARED/repro with its own rules

suricata/known.txt lists the documented differences, one per line: SUITE SID CAPTURE REASON (* for all). Rules on
Suricata's events (sid 2200000 to 2299999) are left out. Matches at the end of a flow have no packet, and Suricata
evaluates the flows at the end of a capture in random order, so only the number of such matches is compared.

The exit code is 1 if there is a difference that known.txt does not list.
"""
import argparse
import collections
import fnmatch
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = """%YAML 1.1
---
vars:
  address-groups:
    HOME_NET: "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]"
    EXTERNAL_NET: "!$HOME_NET"
    HTTP_SERVERS: "$HOME_NET"
    SMTP_SERVERS: "$HOME_NET"
    SQL_SERVERS: "$HOME_NET"
    DNS_SERVERS: "$HOME_NET"
    TELNET_SERVERS: "$HOME_NET"
    AIM_SERVERS: "$EXTERNAL_NET"
    DC_SERVERS: "$HOME_NET"
  port-groups:
    HTTP_PORTS: "80"
    SHELLCODE_PORTS: "!80"
    ORACLE_PORTS: 1521
    SSH_PORTS: 22
    FILE_DATA_PORTS: "[$HTTP_PORTS,110,143]"
    FTP_PORTS: 21
    GENEVE_PORTS: 6081
    VXLAN_PORTS: 4789
    TEREDO_PORTS: 3544
flow: {hash-size: 4096, prealloc: 100, managers: 1}
stream: {prealloc-sessions: 100, reassembly: {segment-prealloc: 100}}
defrag: {hash-size: 1024, prealloc: yes, trackers: 100, max-frags: 5000}
host: {hash-size: 1024, prealloc: 10}
ippair: {hash-size: 1024, prealloc: 10}
app-layer: {protocols: {http: {libhtp: {default-config: {}}}}}
stats: {enabled: no}
outputs:
  - eve-log:
      enabled: yes
      filename: eve.json
      types:
        - alert:
            tagged-packets: no
        - drop:
            flows: all
"""
SETTINGS = ('stream.checksum-validation=no', 'replay.checksum-checks=no', 'eve.types.alert.tagged-packets=no',
            'eve.types.drop.flows=all')


class Suricata:
    def __init__(self):
        self.root = os.environ.get('SLUICE_SURICATA_ROOT', '')
        self.command = ['chroot', self.root, 'suricata'] if self.root else ['suricata']
        try:
            text = subprocess.run([*self.command, '-V'], capture_output=True, text=True).stdout
        except OSError:
            text = ''
        if not re.search(r'version [89]\.', text):
            print('SKIP: Suricata 8 is not installed, neither here nor in a chroot SLUICE_SURICATA_ROOT')
            sys.exit(77)

    def run(self, rules, capture, ips, settings):
        with tempfile.TemporaryDirectory(dir=self.root + '/tmp') as folder:
            inside = folder[len(self.root):]
            shutil.copy(capture, folder + '/x.pcap')
            shutil.copy(rules, folder + '/x.rules')
            with open(folder + '/x.yaml', 'w') as f:
                f.write(CONFIG)
            options = [o for s in settings for o in ('--set', s)] + (['--simulate-ips'] if ips else [])
            run = subprocess.run([*self.command, '-c', inside + '/x.yaml', '-k', 'none', '-r', inside + '/x.pcap', '-S',
                                  inside + '/x.rules',
                                  '-l', inside, '--set', 'classification-file=/etc/suricata/classification.config',
                                  '--set', 'reference-config-file=/etc/suricata/reference.config', '--set',
                                  'unix-command.enabled=no',
                                  '--runmode', 'single', *options],
                                 capture_output=True, text=True, timeout=300)
            if not os.path.exists(folder + '/eve.json'):
                sys.exit(f'Suricata failed: {run.stdout}{run.stderr}')
            refused = re.findall(r'error parsing signature "(.*?)" from', run.stdout + run.stderr)
            return events_of(folder), [m[1] for text in refused if (m := re.search(r'sid:\s*(\d+)', text))]


class SuricataServer:
    """Suricata in unix socket mode, which loads its rules once for many captures. The state of thresholds is kept from
    one capture to the next."""

    def __init__(self, suricata, rules, ips, load_seconds=900):
        self.folder = tempfile.mkdtemp(dir=suricata.root + '/tmp')
        self.inside, self.count = self.folder[len(suricata.root):], 0
        shutil.copy(rules, self.folder + '/x.rules')
        with open(self.folder + '/x.yaml', 'w') as f:
            f.write(CONFIG + f'runmode: single\nunix-command: {{enabled: yes, filename: {self.inside}/socket}}\n'
                    'classification-file: /etc/suricata/classification.config\nreference-config-file: '
                    '/etc/suricata/reference.config\n')
        self.log = open(self.folder + '/log', 'w+')
        self.process = subprocess.Popen(
            [*suricata.command, '-c', self.inside + '/x.yaml', '-k', 'none', '-S', self.inside + '/x.rules', '-l',
             self.inside,
             '--unix-socket=' + self.inside + '/socket', *(['--simulate-ips'] if ips else [])],
            stdout=self.log, stderr=subprocess.STDOUT)
        end = time.time() + load_seconds
        while not os.path.exists(self.folder + '/socket'):
            if self.process.poll() is not None or time.time() > end:
                self.close()
                sys.exit('Suricata did not open its socket')
            time.sleep(0.2)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(600) # Suricata answers after its engine is set up
        self.socket.connect(self.folder + '/socket')
        self.send({'version': '0.2'})

    def send(self, message):
        self.socket.sendall((json.dumps(message) + '\n').encode())
        answer = b''
        while True:
            part = self.socket.recv(65536)
            if not part:
                raise OSError('Suricata has closed its socket')
            answer += part
            try:
                return json.loads(answer)
            except ValueError:
                continue

    def run(self, capture):
        self.count += 1
        name = f'{self.inside}/{self.count}'
        os.mkdir(f'{self.folder}/{self.count}')
        shutil.copy(capture, f'{self.folder}/{self.count}.pcap')
        self.send({'command': 'pcap-file', 'arguments': {'filename': name + '.pcap', 'output-dir': name}})
        idle = 0
        while idle < 2: # query twice: a capture that is about to start is in neither answer
            time.sleep(0.05)
            waits = self.send({'command': 'pcap-file-number'})['message'] or \
                self.send({'command': 'pcap-current'})['message'] != 'None'
            idle = 0 if waits else idle + 1
        try:
            return events_of(f'{self.folder}/{self.count}')
        except OSError:
            return [] # Suricata cannot read this kind of capture
        finally:
            os.unlink(f'{self.folder}/{self.count}.pcap')
            shutil.rmtree(f'{self.folder}/{self.count}')

    def refused_rules(self):
        with open(self.folder + '/log', encoding='latin-1') as f:
            return {int(m[1]) for m in re.finditer(r'error parsing signature ".*?sid:\s*(\d+)', f.read())}

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_sluice(sluice, rules, capture, ips, settings):
    with tempfile.TemporaryDirectory() as folder:
        options = [o for s in (*SETTINGS, *settings) for o in ('--set', s)] + (['--ips'] if ips else [])
        run = subprocess.run([sluice, 'replay', '--rules', rules, '--log-dir', folder, '--no-console', *options,
                              capture],
                             capture_output=True, text=True, timeout=300)
        if run.returncode:
            sys.exit(f'sluice replay failed with exit code {run.returncode}: {run.stderr}')
        refused = {int(m[1]) for m in re.finditer(r'^.*error:.*\n.*?sid:\s*(\d+)', run.stderr, re.M)}
        return events_of(folder), refused


def events_of(folder):
    with open(folder + '/eve.json', encoding='utf-8', errors='replace') as f:
        return [json.loads(line) for line in f]


def compared(events, ips):
    """Returns a multiset of (sid, packet, action, transaction); a drop has sid 0 and its reason."""
    out = collections.Counter()
    for event in events:
        if event['event_type'] == 'alert':
            alert = event['alert']
            if alert['gid'] == 1:
                out[(alert['signature_id'], event.get('pcap_cnt', 0), alert['action'], event.get('tx_id', '-'))] += 1
        elif event['event_type'] == 'drop' and ips:
            out[(0, event.get('pcap_cnt', 0), event['drop'].get('reason', ''), '')] += 1
    return out


def differences(sluice, suricata, rules, capture, ips, settings, peer_settings=()):
    ours, _ = run_sluice(sluice, rules, capture, ips, settings)
    theirs, refused = suricata.run(rules, capture, ips, peer_settings)
    ours, theirs = compared(ours, ips), compared(theirs, ips)
    return ours - theirs, theirs - ours, refused, sum(theirs.values())


def show(found, sign, most=20):
    for (sid, packet, action, tx), count in sorted(found.items(), key=str)[:most]:
        what = f'rule {sid}' if sid else 'drop'
        print(f'  {sign} packet {packet}: {what}, {action}, tx {tx}' + (f', {count} times' if count > 1 else ''))
    if len(found) > most:
        print(f'  {sign} and {len(found) - most} more')


def by_hand(options, suricata):
    status = 0
    for capture in options.paths:
        more, less, refused, total = differences(options.sluice, suricata, options.rules, capture, options.ips,
                                                 options.set, options.peer_set)
        if refused:
            print(f'  Suricata refuses the rules {" ".join(refused)}')
        print(f'{os.path.basename(capture)}: {total} alerts of Suricata; {sum(more.values())} more, '
              f'{sum(less.values())} missing')
        show(more, '+')
        show(less, '-')
        status |= bool(more or less)
    return status


# --- Nightly ----------------------------------------------------------------------------------------------------------

FOLDER = os.path.dirname(os.path.abspath(__file__)) + '/suricata'
ET_OPEN = '/rules/et-open-2024-03/suricata.rules'
# name: rule file, capture folder, inline
SUITES = {
    'thresholds': (FOLDER + '/thresholds.rules', '/pcaps', False),
    'drops': (FOLDER + '/drops.rules', '/pcaps', True),
    'repro': ('/repro/repro.rules', '/repro', False),
    'et-open': (ET_OPEN, '/pcaps', False),
    'et-open-drop': (ET_OPEN, '/pcaps', True),
}


def rules_of(suite, shared, folder):
    source = SUITES[suite][0]
    if not os.path.exists(source):
        source = shared + source
    path = f'{folder}/{suite}.rules'
    with open(source, encoding='latin-1') as f, open(path, 'w', encoding='latin-1') as out:
        for line in f:
            if re.search(r'sid:\s*22\d{5}\s*;', line):
                continue
            line = re.sub(r'\b(threshold|detection_filter)\s*:[^;]*;', '', line) \
                if suite.startswith('et-open') else line
            out.write(re.sub(r'^alert\b', 'drop', line) if suite == 'et-open-drop' else line)
    return path


# Link types that Suricata reads; after a capture of another type it closes its control socket for a while.
LINK_TYPES = (0, 1, 9, 12, 14, 101, 113, 228, 229)


def link_type(path):
    with open(path, 'rb') as f:
        head = f.read(4096)
    if head[:4] == b'\x0a\x0d\x0d\x0a': # pcapng: the first interface
        order = 'little' if head[8:12] == b'\x4d\x3c\x2b\x1a' else 'big'
        at = int.from_bytes(head[4:8], order)
        return int.from_bytes(head[at + 8:at + 10], order) if int.from_bytes(head[at:at + 4], order) == 1 else -1
    order = 'little' if head[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else 'big'
    return int.from_bytes(head[20:24], order) & 0xffff if len(head) > 24 else -1


def captures_of(suite, shared, share, largest, pattern):
    found = sorted(f for f in glob.glob(shared + SUITES[suite][1] + '/**/*', recursive=True)
                   if f.endswith(('.pcap', '.cap', '.trace', '.pcapng')) and os.path.getsize(f) <= largest
                   and link_type(f) in LINK_TYPES)
    return found if suite == 'repro' else [f for f in found if fnmatch.fnmatch(os.path.basename(f), pattern)][::share]


def known_differences():
    with open(FOLDER + '/known.txt', encoding='utf-8') as f:
        return [line.split(None, 3) for line in f if line.strip() and not line.startswith('#')]


def is_known(known, suite, sid, capture):
    return any(fnmatch.fnmatch(suite, k[0]) and fnmatch.fnmatch(str(sid), k[1]) and fnmatch.fnmatch(capture, k[2])
               for k in known)


def classify(more, less):
    """Pairs differences of the same rule. Returns [(class, sid, event of Sluice or None, of Suricata or None)]."""
    out = []
    more, less = list(more.elements()), list(less.elements())
    for one in list(more):
        same = [o for o in less if o[0] == one[0]]
        if one[0] == 0 or not same:
            continue
        other = next((o for o in same if o[1] == one[1]), same[0])
        what = 'packet' if other[1] != one[1] else 'action' if other[2] != one[2] else 'transaction'
        out.append((what, one[0], one, other))
        more.remove(one)
        less.remove(other)
    out += [('more drops' if o[0] == 0 else 'more', o[0], o, None) for o in more]
    return out + [('missing drops' if o[0] == 0 else 'missing', o[0], None, o) for o in less]


class SuricataRuns:
    """Like SuricataServer, but starts Suricata for each capture."""

    def __init__(self, suricata, rules, ips):
        self.suricata, self.rules, self.ips, self.refused = suricata, rules, ips, ()

    def run(self, capture):
        events, self.refused = self.suricata.run(self.rules, capture, self.ips, ())
        return events

    def refused_rules(self):
        return {int(sid) for sid in self.refused}

    def close(self):
        pass


def refused_by_one(sluice, rules, server, folder):
    """Returns the sids of the rules that Sluice or Suricata did not load."""
    with open(rules, encoding='latin-1') as f:
        known = {int(m[1]) for m in re.finditer(r'^[a-z].*?sid:\s*(\d+)', f.read(), re.M)}
    empty = folder + '/empty.pcap'
    with open(empty, 'wb') as f:
        f.write(b'\xd4\xc3\xb2\xa1\x02\x00\x04\x00' + bytes(8) + b'\xff\xff\x00\x00\x01\x00\x00\x00')
    run = subprocess.run([sluice, 'replay', '--rules', rules, '--log-dir', folder, '--no-console', empty],
                         capture_output=True, text=True,
                         encoding='latin-1', timeout=300)
    ours = {int(m[1]) for m in re.finditer(r'error:.*\n.*?sid:\s*(\d+)', run.stderr)}
    return (ours | server.refused_rules()) & known


def run_suite(options, suricata, suite, folder):
    ips = SUITES[suite][2]
    rules = rules_of(suite, options.nightly, folder)
    captures = captures_of(suite, options.nightly, options.share, options.largest, options.captures)
    known, classes, examples = known_differences(), collections.Counter(), collections.defaultdict(list)
    equal = differing = failed = 0
    kind = SuricataServer if suite.startswith('et-open') else SuricataRuns
    server = kind(suricata, rules, ips)
    try:
        if captures and kind is SuricataRuns:
            server.run(captures[0])
        refused = refused_by_one(options.sluice, rules, server, folder)
        for capture in captures:
            name = os.path.basename(capture)
            try:
                ours = run_sluice(options.sluice, rules, capture, ips, ())[0]
            except SystemExit:
                failed += 1 # link type not supported, or a damaged file
                continue
            try:
                theirs = server.run(capture)
            except (OSError, subprocess.TimeoutExpired):
                failed += 1
                server.close()
                server = kind(suricata, rules, ips)
                continue
            ours, theirs = compared(ours, ips), compared(theirs, ips)
            for events in ours, theirs:
                for key in [k for k in events if k[0] in refused]:
                    del events[key]
            equal += sum((ours & theirs).values())
            found = classify(ours - theirs, theirs - ours)
            unknown = [d for d in found if not is_known(known, suite, d[1], name)]
            classes['known'] += len(found) - len(unknown)
            differing += bool(unknown)
            for what, sid, one, other in unknown:
                classes[what] += 1
                examples[(what, sid)].append(f'{name}: {one or ""} {"<>" if one and other else ""} {other or ""}')
    finally:
        server.close()
    unknown = sum(n for what, n in classes.items() if what != 'known')
    print(f'{suite}: {len(captures)} captures, {failed} unreadable; {equal} alerts and drops equal, {unknown} differ '
          f'in {differing} captures; {len(refused)} rules are not loaded by both')
    for what, number in classes.most_common():
        print(f'  {what}: {number}')
    for (what, sid), lines in sorted(examples.items(), key=lambda item: -len(item[1]))[:options.examples]:
        print(f'    {what}, rule {sid}, {len(lines)} times: {lines[0]}')
    sys.stdout.flush()
    return unknown > 0


def nightly(options, suricata):
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for suite in options.suites.split(','):
            status |= run_suite(options, suricata, suite, folder)
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice')
    parser.add_argument('--rules')
    parser.add_argument('--ips', action='store_true')
    parser.add_argument('--set', action='append', default=[])
    parser.add_argument('--peer-set', action='append', default=[], help='setting for Suricata, KEY=VALUE')
    parser.add_argument('--nightly', metavar='SHARED')
    parser.add_argument('--suites', default=','.join(SUITES))
    parser.add_argument('--share', type=int, default=1)
    parser.add_argument('--largest', type=int, default=3000000, help='skip captures above this size in bytes')
    parser.add_argument('--captures', default='*', help='shell pattern for the names of captures')
    parser.add_argument('--examples', type=int, default=25, help='number of differing rules to print per suite')
    parser.add_argument('paths', nargs='*')
    options = parser.parse_args()
    options.sluice = os.path.abspath(options.sluice)
    sys.exit(nightly(options, Suricata()) if options.nightly else by_hand(options, Suricata()))


if __name__ == '__main__':
    main()
