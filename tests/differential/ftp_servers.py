# SPDX-License-Identifier: GPL-2.0-or-later
"""The FTP servers as endpoints. Their logs have the commands that they understood. /endpoint/files is the root folder
of the anonymous user, where uploaded files are found."""
import asyncio
import json
import os
import re
import shutil

from core import HERE, Endpoint, Unavailable, root_of
from dialogue import Talk, talk
from ftp_sessions import WORDS

WORD_FILE = b'The content: ' + WORDS['file'] + b' of it\r\n'


class FtpTalk(Talk):
    """Performs the steps on data connections: ('listen', port), ('accept',), ('connect',), ('put', data), ('get',)."""

    def __init__(self, address, s):
        super().__init__(address, s)
        self.listener = self.data = self.number = None
        self.got, self.accepted = b'', asyncio.Queue()

    async def perform(self, number, step):
        kind = step[0]
        try:
            if kind == 'listen':
                self.listener = await asyncio.start_server(lambda *streams: self.accepted.put_nowait(streams),
                                                           '127.0.0.1', step[1], reuse_address=True)
                self.port = step[1]
            elif kind == 'accept':
                self.data = await asyncio.wait_for(self.accepted.get(), 1.5)
                self.number = self.record.open(1, self.port, 20)
            elif kind == 'connect':
                port = passive_port(bytes(self.record.received))
                self.data = await asyncio.wait_for(asyncio.open_connection('127.0.0.1', port), 2) if port else None
                self.number = self.record.open(0, 45000, port) if port else None
            elif self.data and kind == 'put':
                await self.read_reply(0.1)
                self.data[1].write(step[1])
                await asyncio.wait_for(self.data[1].drain(), 2)
                self.record.send(self.number, 0, step[1], number)
                self.end_data(0)
            elif self.data and kind == 'get':
                await self.get(number)
        except (OSError, asyncio.TimeoutError):
            pass

    async def get(self, number):
        while data := await asyncio.wait_for(self.data[0].read(65536), 1.5):
            self.got += data
            self.record.send(self.number, 1, data, number)
        self.end_data(1)

    def end_data(self, side):
        self.data[1].close()
        self.record.close(self.number, side)
        self.data = None

    async def end(self):
        if self.data:
            self.end_data(0)
        if self.listener:
            self.listener.close()
        self.record.got = self.got


def passive_port(received):
    """Returns the port of the last reply 227 or 229, or None."""
    port = None
    for line in received.split(b'\n'):
        if match := re.match(rb'227 .*?(\d+),(\d+),(\d+),(\d+),(\d+),(\d+)', line):
            port = int(match[5]) * 256 + int(match[6])
        elif match := re.match(rb'229 .*\|\|\|(\d+)\|', line):
            port = int(match[1])
    return port


class FtpServer(Endpoint):
    port = None

    def start(self):
        files = self.folder + '/files/pub'  # vsftpd refuses a root folder that is writable for the user
        os.makedirs(files, exist_ok=True)
        os.chmod(files, 0o777)
        with open(files + '/word.txt', 'wb') as f:
            f.write(WORD_FILE)
        for name in 'commands', 'log':
            open(f'{self.folder}/{name}', 'w').close()
            os.chmod(f'{self.folder}/{name}', 0o666)
        self.configure()
        self.spawn(*self.arguments())
        self.wait_port(self.port, 60)

    def configure(self):
        pass

    def commands(self):
        """Returns (command, argument) of each command that the server understood, as bytes."""
        raise NotImplementedError

    def understand(self, sessions):
        records = talk(FtpTalk, ('127.0.0.1', self.port), sessions)
        commands, stored = {}, {}
        for command, argument in self.commands():
            for number in re.findall(rb'\.n(\d+)n', argument):
                commands.setdefault(int(number), []).append((command, argument))
        for folder, _, names in os.walk(os.fsencode(self.folder) + b'/files'):
            for name in names:
                match = re.search(rb'\.n(\d+)n', name)
                if match:
                    with open(os.path.join(folder, name), 'rb') as f:
                        stored.setdefault(int(match[1]), []).append((name, f.read()))
                    os.remove(os.path.join(folder, name))
        return records, [bool(record) and understood(s, record, commands.get(s.number, ()), stored.get(s.number, ()))
                         for s, record in zip(sessions, records)]


def understood(s, record, commands, stored):
    if s.place is None:
        return bool(commands)
    word = WORDS.get(s.place)
    if s.place == 'file':
        return word in record.got or any(word in content for _, content in stored)
    if s.place == 'name':
        # Rules on file names match only files with content.
        return any(word in name and content for name, content in stored)
    if s.place == 'bounce':
        return bool(re.search(rb'(?m)^200 ',
                              bytes(record.received[record.received.find(b'230'):]))) and \
                              b'PORT' in bytes(record.received).upper() or b'EPRT' in bytes(record.received) \
                              .upper() and b'200 ' in bytes(record.received)
    if s.place == 'command':
        return any(word in argument and command.upper() == b'DELE' for command, argument in commands)
    return any(word in argument for _, argument in commands) and (s.place != 'raw'
                                                                  or
                                                                  word in b''.join(step for step in s.steps
                                                                                   if isinstance(step, bytes)))


class Pyftpdlib(FtpServer):
    name, groups, program, port = 'pyftpdlib', ('ftp', '/'), '/usr/bin/python3', 8031

    def find_root(self):
        for root in (root_of('ftp'), '/'):
            if root and os.path.exists(root.rstrip('/') + '/usr/lib/python3/dist-packages/pyftpdlib'):
                return root
        raise Unavailable('pyftpdlib is not installed and not downloaded (tests/differential/fetch-endpoints ftp)')

    def configure(self):
        shutil.copy(HERE + '/endpoints/ftp.py', self.folder)

    def arguments(self):
        return '/usr/bin/python3', '/endpoint/ftp.py', str(self.port)

    def commands(self):
        with open(self.folder + '/commands') as f:
            lines = [json.loads(line) for line in f]
        os.truncate(self.folder + '/commands', 0)
        return [(command.encode('latin-1', 'replace'), argument.encode('latin-1', 'replace')) for command,
                argument in lines]


class Vsftpd(FtpServer):
    name, groups, program, port = 'vsftpd', ('nightly-vsftpd',), '/usr/sbin/vsftpd', 8032

    def configure(self):
        self.write('vsftpd.conf', '''
listen=YES
listen_port=8032
background=NO
anonymous_enable=YES
local_enable=NO
write_enable=YES
anon_upload_enable=YES
anon_mkdir_write_enable=YES
anon_other_write_enable=YES
anon_umask=022
allow_writeable_chroot=YES
anon_root=/endpoint/files
no_anon_password=NO
log_ftp_protocol=YES
xferlog_enable=YES
xferlog_std_format=NO
vsftpd_log_file=/endpoint/commands
secure_chroot_dir=/var/run/vsftpd/empty
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
max_clients=2000
max_per_ip=2000
connect_from_port_20=NO
pasv_promiscuous=YES
port_promiscuous=YES
delay_failed_login=0
max_login_fails=100
tcp_wrappers=NO
anon_max_rate=0
use_localtime=NO
''')

    def arguments(self):
        return 'sh', '-c', '''
case $(cat /etc/passwd) in *ftp:x*) ;; *) echo 'ftp:x:115:115::/endpoint/files:/bin/false' >>/etc/passwd; echo 'ftp:x:115:' >>/etc/group;; esac
mkdir -p /var/run/vsftpd/empty /run/vsftpd/empty; chmod 755 /endpoint /endpoint/files; chown ftp /endpoint/files/pub; chown root /endpoint/vsftpd.conf; /usr/sbin/vsftpd /endpoint/vsftpd.conf & wait'''  # crashes as PID 1

    def commands(self):
        path = self.folder + '/commands'
        with open(path, 'rb') as f:
            data = f.read()
        os.truncate(path, 0)
        found = []
        for line in data.split(b'\n'):
            if match := re.search(rb'FTP command: Client "[^"]*", "(.*)"$', line, re.DOTALL):
                command, _, argument = match[1].partition(b' ')
                found.append((command, argument))
        return found


class Proftpd(FtpServer):
    name, groups, program, port = 'proftpd', ('nightly-proftpd',), '/usr/sbin/proftpd', 8033

    def configure(self):
        self.write('proftpd.conf', '''
ServerName "proftpd"
ServerType standalone
Port 8033
DefaultAddress 127.0.0.1
UseIPv6 off
User nobody
Group nogroup
MaxInstances 200
UseReverseDNS off

DelayEngine off
AuthOrder mod_auth_file.c mod_auth_unix.c
ScoreboardFile /endpoint/scoreboard
PidFile /endpoint/pid
SystemLog /endpoint/system
TransferLog none
WtmpLog off
AllowForeignAddress on
CommandBufferSize 8192
LogFormat commands "%m|%J"
ExtendedLog /endpoint/commands ALL commands
RequireValidShell off
MaxLoginAttempts 100
TimeoutLinger 0
<Anonymous /endpoint/files>
  User ftp
  Group ftp
  UserAlias anonymous ftp
  AllowOverwrite on
  AllowStoreRestart on
  <Limit ALL>
    AllowAll
  </Limit>
</Anonymous>
''')

    def arguments(self):
        return 'sh', '-c', '''
case $(cat /etc/passwd) in *ftp:x*) ;; *) echo 'ftp:x:115:115::/endpoint/files:/bin/false' >>/etc/passwd; echo 'ftp:x:115:' >>/etc/group;; esac
chmod 755 /endpoint; chmod 777 /endpoint/files /endpoint/files/pub; chown ftp /endpoint/files; mkdir -p /run/proftpd /var/run/proftpd; exec /usr/sbin/proftpd -n -c /endpoint/proftpd.conf'''

    def commands(self):
        path = self.folder + '/commands'
        with open(path, 'rb') as f:
            lines = f.read().split(b'\n')
        os.truncate(path, 0)
        return [(command, argument) for command, tab, argument in (line.partition(b'|') for line in lines) if tab]


LIGHT = (Pyftpdlib,)
SERVERS = (*LIGHT, Vsftpd, Proftpd)
