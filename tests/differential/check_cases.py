#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays the messages of earlier findings (cases/*.jsonl), without servers and clients.

    check_cases.py SLUICE

A message with a forbidden word must be dropped before its receiver has all of it; a message without one must pass.
Sessions (smtp, ftp) need the replies of a server, so only differential.py runs them."""
import os
import sys
import tempfile

import core
import protocols


def main():
    sluice, wrong, count = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, protocol in protocols.PROTOCOLS.items():
            messages = [] if protocol.dialogue else core.cases(name)
            if not messages:
                continue
            count += len(messages)
            verdicts = core.replay(sluice, messages, protocol.rules, folder, protocol.settings)
            for m, verdict in zip(messages, verdicts):
                if verdict.stopped if m.place is None else not verdict.stopped:
                    wrong += 1
                    print(f'{name}, number {m.number}, seed {m.seed}: '
                          f'{"dropped" if m.place is None else m.place + " not dropped"}: {" + ".join(m.features)}')
    print(f'{count} messages, {wrong} with a wrong verdict')
    return 1 if wrong or not count else 0


if __name__ == '__main__':
    sys.exit(main())
