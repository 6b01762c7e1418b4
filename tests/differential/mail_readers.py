# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads delivered mails with several programs, and collects the file names, files and headers that they find."""
import email
import email.header
import email.policy
import os
import re
import subprocess

from core import Endpoint, Unavailable


class Found:
    """Names, files and headers that the readers found in a mail."""

    def __init__(self):
        self.names, self.files, self.subject, self.to = [], [], b'', b''


def text_bytes(value):
    return str(value).encode('utf-8', 'surrogateescape')


def read_part(part, found):
    name = part.get_filename()
    if not name:
        return
    found.names.append(text_bytes(name))
    payload = part.get_payload(decode=True)
    if payload is None:
        payload = b''.join(inner.as_bytes() if not isinstance(inner, str) else text_bytes(inner)
                           for inner in part.get_payload() or [])
    found.files.append(payload)


def read_python(content):
    """Reads a mail with Python's email package."""
    found = Found()
    message = email.message_from_bytes(content)
    for name in 'subject', 'to':
        value = str(message[name] or '')
        if '=?' in value:
            try:
                value = str(email.header.make_header(email.header.decode_header(value)))
            except (ValueError, LookupError, email.errors.HeaderParseError):
                pass
        setattr(found, name, text_bytes(value))
    for part in message.walk():
        try:
            read_part(part, found)
        except (ValueError, LookupError, TypeError, AttributeError, IndexError,
                KeyError):  # bugs of the package; it cannot read this part
            continue
    return found


SCRIPT = r'''
cd /endpoint/mails && for mail in *; do
  for reader in munpack ripmime; do mkdir -p /endpoint/out/$mail/$reader; done
  (cd /endpoint/out/$mail/munpack && timeout 5 munpack -q -f /endpoint/mails/$mail >/dev/null 2>&1 </dev/null)
  timeout 5 ripmime -i /endpoint/mails/$mail -d /endpoint/out/$mail/ripmime --no-nameless --overwrite >/dev/null 2>&1 </dev/null
done; true
'''


class Programs(Endpoint):
    """The mail readers munpack and ripmime."""
    name, groups, program = 'mail-readers', ('nightly-mail-readers', '/'), '/usr/bin/munpack'
    runs = 0

    def read(self, mails):
        """Returns the files that the programs find: {number of mail: [(reader, name, content)]}."""
        Programs.runs += 1
        work = f'{self.folder}/{Programs.runs}'
        os.makedirs(work + '/mails')
        os.makedirs(work + '/out')
        for number, content in enumerate(mails):
            with open(f'{work}/mails/{number}', 'wb') as f:
                f.write(content)
        subprocess.run([*self.command('sh', '-c', SCRIPT)[:2], work, 'sh', '-c', SCRIPT], check=True)
        out = {}
        for folder, _, names in os.walk(os.fsencode(work) + b'/out'):
            number, _, reader = folder.partition(b'/out/')[2].partition(b'/')
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, 'rb') as f:
                        out.setdefault(int(number), []).append((reader.split(b'/')[0].decode(), name, f.read()))
        return out


def programs(folder):
    try:
        return Programs(folder)
    except Unavailable:
        return None


def read_all(mails, readers):
    """Returns what all readers found in each mail, as a list of Found."""
    found = [read_python(content) for content in mails]
    more = readers.read(mails) if readers and mails else {}
    for number, files in more.items():
        for _, name, content in files:
            found[number].names.append(name)
            found[number].files.append(content)
    return found


def received(content):
    """Returns the Received headers, which contain the name of the client."""
    head = re.split(rb'\r?\n\r?\n', content, maxsplit=1)[0]
    return b'\n'.join(re.findall(rb'(?im)^received:.*(?:\r?\n[ \t].*)*', head))
