#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays public captures with and without acknowledgments (nft.offload.acknowledgments), and compares the events.

    acknowledgments.py SLUICE SOURCE SHARED [--share N] [--largest BYTES] [--timeout S] [-j N] [PART OF A PATH...]

With the setting, `sluice replay --ips` skips the acknowledgments that the kernel would not queue. Alerts, drops, events
of application protocols and files must be the same. The rules are the shipped ones and captures/keywords.rules, without
those that need acknowledgments, as `sluice check --json` lists them. With these, nothing may be skipped.

The events may differ in the packets and bytes that were counted for their flow. An alert that was written for an
acknowledgment may be written for the next packet of its direction instead: it has a transaction that was complete
before. There may be more alerts, because data that is not acknowledged is kept longer, so that a match may begin
earlier. The events of the captures in EXCEPTIONS differ for the reason given there.
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
import replaying

OFFLOAD = ['--set', 'nft.offload.acknowledgments=auto', '--set', 'nft.offload.acknowledgment-packets=0']
# Types of events that count packets or report the state of streams; their number or contents depend on acknowledgments.
UNCOMPARED = ('stats', 'flow', 'netflow', 'anomaly')
EXCEPTIONS = {
    'pcaps/zeek/redis/oss-fuzz-473580107.pcap':
        'data beyond the window of its receiver is inspected and passes, because windows are not known exactly',
    'pcaps/zeek/ipv6-http-atomic-frag.pcap':
        'a segment beyond the window of its receiver is inspected and passes, because windows are not known exactly',
    **dict.fromkeys(
        ('pcaps/trex/delay_email_pop_1.pcap', 'pcaps/trex/delay_email_pop_2.pcap', 'pcaps/trex/delay_https_0.pcap',
         'verify/cases/smb2-01/smb2-peter.pcap',
         'verify/cases/smb2-frames-gap-payload-logging-02/smb2-peter-minus-p191-p192.pcap'),
        'a retransmission is compared with the data that is kept; after an acknowledgment it is inspected as a packet'),
    **dict.fromkeys(
        ('pcaps/zeek/dce-rpc/20-fids-no-close.pcap', 'pcaps/zeek/ftp/bigtransfer.pcap',
         'pcaps/zeek/ftp/cwd-navigation.pcap', 'verify/cases/bug-5392/TPWhite-carved-out-7787-s1.pcap'),
        'packets are missing in the capture: only an acknowledgment shows that, one packet later'),
}
# Members of events that contain numbers of packets and bytes of the flow so far.
COUNTS = re.compile(rb'"(pkts|bytes)_to(server|client)":\d+')


def needed_rules(sluice, arguments):
    """Returns the (gid, sid) of the rules that need acknowledgments."""
    run = subprocess.run([sluice, 'check', '--json', '--compile', *arguments], capture_output=True)
    return {(rule['gid'], rule['sid']) for rule in json.loads(run.stdout)['acknowledgment_rules']}


def comparable(run):
    """Returns the events to compare, with their number."""
    kept = [COUNTS.sub(rb'"\1_to\2":0', line) for line in run.lines
            if not any(b'"event_type":"%s"' % kind.encode() in line for kind in UNCOMPARED)]
    return collections.Counter(kept)


def without_packet(events):
    """Returns the events without what depends on the packet for which they were written."""
    kept = collections.Counter()
    for line, count in events.items():
        event = json.loads(line)
        alert = event.get('alert', {})
        kept[event['event_type'], event['flow_id'], alert.get('gid'), alert.get('signature_id'),
             event.get('tx_id'), event.get('direction')] += count
    return kept


def is_later(before, after):
    """Returns whether the events, which differ, are alerts of complete transactions, written for a later packet."""
    events = [json.loads(line) for line in [*before, *after]]
    return all(event['event_type'] == 'alert' and 'tx_id' in event and 'pcap_cnt' in event for event in events) and \
        without_packet(before) == without_packet(after) and \
        sum(json.loads(event)['pcap_cnt'] for event in before) < sum(json.loads(event)['pcap_cnt'] for event in after)


def skipped_packets(run):
    offload = run.own_stats().get('firewall', {}).get('offload', {})
    return offload.get('acknowledgment_packets', 0)


def check(args, arguments, path):
    """Returns (problem or None, number of packets, number of skipped packets, number of events)."""
    file = [os.path.join(args.shared, path)]
    with tempfile.TemporaryDirectory() as folder:
        plain = replaying.Run(args.sluice, arguments, file, folder, args.timeout)
        problem = plain.problem(may_fail=True)
        if problem or not plain.lines:
            return problem, 0, 0, 0
        other = replaying.Run(args.sluice, arguments + OFFLOAD, file, folder, args.timeout)
        problem = other.problem(may_fail=True)
        if problem:
            return problem, 0, 0, 0
    before, after = comparable(plain), comparable(other)
    if before != after and path not in EXCEPTIONS and not is_later(before - after, after - before) and \
            (before - after or any(b'"event_type":"alert"' not in line for line in after - before)):
        lost, new = list((before - after).elements()), list((after - before).elements())
        problem = f'{len(lost)} events differ or are missing, {len(new)} are new: ' + \
            ' '.join(line.decode(errors='replace')[:600] for line in lost[:1] + new[:1])
    return problem, plain.stats()['capture']['kernel_packets'], skipped_packets(other), sum(before.values())


def main():
    args = captures.argument_parser(__doc__, timeout=120).parse_args()
    args.sluice, args.source = os.path.abspath(args.sluice), os.path.abspath(args.source)
    found = captures.chosen_captures(args)
    arguments = replaying.default_arguments(args.source)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        needed = needed_rules(args.sluice, arguments)
        with open(folder + '/disable.conf', 'w') as out:
            out.writelines(f'{gid}:{sid}\n' for gid, sid in sorted(needed))
        all_rules = arguments + replaying.cache_settings(folder) + ['--ips']
        arguments = all_rules + ['--set', f'rule-policy.disable-file={folder}/disable.conf']
        results = list(pool.map(lambda path: (path, *check(args, arguments, path)), found))
        # With all rules, no acknowledgment is skipped.
        most = max(results, key=lambda result: result[3])[0]
        everything = replaying.Run(args.sluice, all_rules + OFFLOAD, [os.path.join(args.shared, most)],
                                   folder + '/all', args.timeout)
    failed = [(path, problem) for path, problem, *_ in results if problem]
    packets, skipped, events = (sum(result[i] for result in results) for i in (2, 3, 4))
    if skipped == 0 or events == 0:
        failed.append(('', 'no acknowledgment was skipped, or no event was written'))
    if not needed or skipped_packets(everything) > 0:
        failed.append((most, 'acknowledgments were skipped although rules need them'))
    for path, problem in failed:
        print(f'{path}: {problem}')
    print(f'{len(found)} captures, {packets} packets, {skipped} acknowledgments skipped, {events} events, '
          f'{len(needed)} rules need acknowledgments, {len(failed)} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
