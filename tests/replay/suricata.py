#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the alerts of `sluice replay` with those of Suricata 8.

    suricata.py SLUICE --rules RULES [--ips] [--set KEY=VALUE]... CAPTURE...      one comparison by hand
    suricata.py SLUICE --suite FOLDER SHARED [--share N]                          the rules of FOLDER over the captures of SHARED

An alert is compared by its packet, rule, action and transaction; with --ips the dropped packets are compared, too. Suricata is the
program `suricata`, or that of a chroot when SLUICE_SURICATA_ROOT names one. Without Suricata 8 the exit code is 77.

FOLDER of a suite has NAME.rules. Comments of the rule file say how it is run:

    #! ips                    both with and without dropping
    #! set KEY=VALUE          a setting of Sluice
    #! captures GLOB...       of SHARED/pcaps; without it those of the suite
    #! differs SID: REASON    a difference that is documented

The exit code is 1 when an alert differs.
"""
import argparse
import collections
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

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
SETTINGS = ('stream.checksum-validation=no', 'replay.checksum-checks=no', 'eve.types.alert.tagged-packets=no', 'eve.types.drop.flows=all')


class Suricata:
    def __init__(self):
        self.root = os.environ.get('SLUICE_SURICATA_ROOT', '')
        self.command = ['chroot', self.root, 'suricata'] if self.root else ['suricata']
        try:
            text = subprocess.run([*self.command, '-V'], capture_output=True, text=True).stdout
        except OSError:
            text = ''
        if not re.search(r'version [89]\.', text):
            print('needs Suricata 8 as `suricata`, or in the chroot that SLUICE_SURICATA_ROOT names')
            sys.exit(77)

    def run(self, rules, capture, ips, settings):
        with tempfile.TemporaryDirectory(dir=self.root + '/tmp') as folder:
            inside = folder[len(self.root):]
            shutil.copy(capture, folder + '/x.pcap')
            shutil.copy(rules, folder + '/x.rules')
            with open(folder + '/x.yaml', 'w') as f:
                f.write(CONFIG)
            options = [o for s in settings for o in ('--set', s)] + (['--simulate-ips'] if ips else [])
            run = subprocess.run([*self.command, '-c', inside + '/x.yaml', '-k', 'none', '-r', inside + '/x.pcap', '-S', inside + '/x.rules',
                                  '-l', inside, '--set', 'classification-file=/etc/suricata/classification.config',
                                  '--set', 'reference-config-file=/etc/suricata/reference.config', '--set', 'unix-command.enabled=no',
                                  '--runmode', 'single', *options],
                                 capture_output=True, text=True, timeout=300)
            if not os.path.exists(folder + '/eve.json'):
                sys.exit(f'Suricata failed: {run.stdout}{run.stderr}')
            refused = re.findall(r'error parsing signature "(.*?)" from', run.stdout + run.stderr)
            return events_of(folder), [m[1] for text in refused if (m := re.search(r'sid:\s*(\d+)', text))]


def run_sluice(sluice, rules, capture, ips, settings):
    with tempfile.TemporaryDirectory() as folder:
        options = [o for s in (*SETTINGS, *settings) for o in ('--set', s)] + (['--ips'] if ips else [])
        run = subprocess.run([sluice, 'replay', '--rules', rules, '--log-dir', folder, '--no-console', *options, capture],
                             capture_output=True, text=True, timeout=300)
        if run.returncode:
            sys.exit(f'sluice failed with exit code {run.returncode}: {run.stderr}')
        refused = {int(m[1]) for m in re.finditer(r'^.*error:.*\n.*?sid:\s*(\d+)', run.stderr, re.M)}
        return events_of(folder), refused


def events_of(folder):
    with open(folder + '/eve.json', encoding='utf-8', errors='replace') as f:
        return [json.loads(line) for line in f]


def compared(events, ips):
    """The events as a multiset, by the rule's number."""
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
        more, less, refused, total = differences(options.sluice, suricata, options.rules, capture, options.ips, options.set, options.peer_set)
        if refused:
            print(f'  Suricata refuses the rules {" ".join(refused)}')
        print(f'{os.path.basename(capture)}: {total} alerts of Suricata; {sum(more.values())} more, {sum(less.values())} missing')
        show(more, '+')
        show(less, '-')
        status |= bool(more or less)
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice')
    parser.add_argument('--rules')
    parser.add_argument('--ips', action='store_true')
    parser.add_argument('--set', action='append', default=[])
    parser.add_argument('--peer-set', action='append', default=[], help='a setting of Suricata')
    parser.add_argument('paths', nargs='+')
    options = parser.parse_args()
    options.sluice = os.path.abspath(options.sluice)
    sys.exit(by_hand(options, Suricata()))


if __name__ == '__main__':
    main()
