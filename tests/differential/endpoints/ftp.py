# SPDX-License-Identifier: GPL-2.0-or-later
"""The FTP server of pyftpdlib: ftp.py PORT. Appends each command and its argument to /endpoint/commands."""
import json
import logging
import os
import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

commands = open('/endpoint/commands', 'a', buffering=1)


class Handler(FTPHandler):
    permit_foreign_addresses = True
    permit_privileged_ports = True
    use_encoding = 'latin-1'

    def pre_process_command(self, line, cmd, arg):
        text = json.dumps([cmd, arg.encode('utf-8', 'surrogateescape').decode('latin-1')])
        commands.write(text + '\n')
        super().pre_process_command(line, cmd, arg)


logging.basicConfig(level=logging.CRITICAL)
authorizer = DummyAuthorizer()
authorizer.add_anonymous('/endpoint/files', perm='elradfmwMT')
Handler.authorizer = authorizer
Handler.timeout = 60
os.chdir('/endpoint')
server = FTPServer(('127.0.0.1', int(sys.argv[1])), Handler, backlog=512)
server.max_cons = 2000
server.serve_forever()
