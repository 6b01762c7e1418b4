# SPDX-License-Identifier: GPL-2.0-or-later
"""SMTP servers of Python: mail.py smtpd|aiosmtpd PORT. Appends each mail as a line to /endpoint/mails."""
import json
import sys
import warnings

mails = open('/endpoint/mails', 'a', buffering=1)


def deliver(hello, sender, recipients, content):
    def text(value):
        if isinstance(value, bytes):
            value = value.decode('latin-1')
        return (value or '').encode('utf-8', 'surrogateescape').decode('latin-1')
    mails.write(json.dumps([text(hello), text(sender), [text(r) for r in recipients],
                            content.decode('latin-1')]) + '\n')


def run_smtpd(port):
    warnings.simplefilter('ignore')
    import asyncore
    import smtpd

    class Server(smtpd.SMTPServer):
        def process_message(self, peer, mailfrom, rcpttos, data, **more):
            return None

    class Channel(smtpd.SMTPChannel):
        def smtp_RCPT(self, arg):
            if arg and 'refused.example' in arg:
                self.push('550 refused')
            else:
                super().smtp_RCPT(arg)

        def found_terminator(self):
            if self.smtp_state == self.DATA:
                content = b''.join(self.received_lines)
                content = b'\r\n'.join(line[1:] if line.startswith(b'.') else line for line in content.split(b'\r\n'))
                deliver(self.seen_greeting, self.mailfrom, self.rcpttos, content)
            super().found_terminator()

    Server.channel_class = Channel
    Server(('127.0.0.1', port), None, decode_data=False, enable_SMTPUTF8=False)
    asyncore.loop(timeout=30)


def run_aiosmtpd(port):
    import asyncio
    from aiosmtpd.smtp import SMTP

    class Handler:
        async def handle_RCPT(self, server, session, envelope, address, options):
            if 'refused.example' in address:
                return '550 refused'
            envelope.rcpt_tos.append(address)
            return '250 OK'

        async def handle_DATA(self, server, session, envelope):
            deliver(session.host_name, envelope.mail_from, envelope.rcpt_tos, envelope.content)
            return '250 OK'

    async def serve():
        server = await asyncio.get_running_loop().create_server(lambda: SMTP(Handler(), enable_SMTPUTF8=True),
                                                                '127.0.0.1', port, backlog=512)
        await server.serve_forever()
    asyncio.run(serve())


{'smtpd': run_smtpd, 'aiosmtpd': run_aiosmtpd}[sys.argv[1]](int(sys.argv[2]))
