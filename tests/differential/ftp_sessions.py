# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates unusual FTP sessions. The rules must stop those with a forbidden word. File names of a session contain its
number: WORD.nNUMBERn.

Sessions for the rule on bounces use port 2121, because in the capture the client has another address than in the test.
"""
from dialogue import WAIT, Oddities, cut, seeded, session

WORDS = {'command': b'zqvcmd', 'argument': b'zqvarg', 'file': b'zqvfile', 'name': b'zqvname', 'raw': b'zqvraw',
         'bounce': b'zqvbounce', 'user': b'zqvuser'}
RULES = '''
drop ftp any any -> any any (msg:"command"; flow:to_server; ftp.command; content:"DELE"; nocase; bsize:4; ftp.command_data; content:"zqvcmd"; sid:1;)
drop ftp any any -> any any (msg:"argument"; flow:to_server; ftp.command_data; content:"zqvarg"; sid:2;)
drop ftp-data any any -> any any (msg:"file"; file.data; content:"zqvfile"; sid:3;)
drop ftp-data any any -> any any (msg:"name"; file.name; content:"zqvname"; sid:4;)
drop tcp any any -> any any (msg:"raw"; flow:to_server; content:"zqvraw"; sid:5;)
drop ftp any any -> any 2121 (msg:"bounce"; ftpbounce; sid:6;)
'''
PLACES = ('command', 'command', 'argument', 'argument', 'argument', 'file', 'file', 'file', 'name', 'name', 'raw',
          'bounce', None, None)

TELNET = [('nop', b'\xff\xf1'), ('ip-dm', b'\xff\xf4\xff\xf2'), ('dm', b'\xff\xf2'), ('ga', b'\xff\xf9'),
          ('will', b'\xff\xfb\x01'), ('wont', b'\xff\xfc\x06'), ('do', b'\xff\xfd\x06'), ('dont', b'\xff\xfe\x18'),
          ('iac', b'\xff\xff'), ('sb', b'\xff\xfa\x18\x01\xff\xf0'),
          ('eof', b'\xff\xec'), ('ec', b'\xff\xf7'), ('el', b'\xff\xf8'), ('ayt', b'\xff\xf6'),
          ('unknown', b'\xff\x41'), ('nul', b'\0'), ('do-iac', b'\xff\xfd\xff'), ('two', b'\xff\xf1\xff\xf1'),
          ('se', b'\xff\xf0'), ('do-letter', b'\xff\xfdz'), ('bell', b'\x07'), ('bs', b'\x08'), ('cr-nul', b'\r\0'),
          ('high', b'\xfe')]
SEPARATORS = [('two', b'  '), ('many', b' ' * 20), ('tab', b'\t'), ('tab-space', b'\t '), ('space-tab', b' \t')]
ENDS = [('lf', b'\n'), ('crcrlf', b'\r\r\n'), ('cr-nul-lf', b'\r\0\n'), ('space', b' \r\n'), ('spaces', b'   \r\n'),
        ('tab', b'\t\r\n'), ('cr', b'\r'), ('lfcr', b'\n\r'), ('crlfs', b'\r\n\r\n'), ('nul', b'\0\r\n'),
        ('cr-nul', b'\r\0'), ('lflf', b'\n\n')]
LEADING = [('space', b' '), ('spaces', b'   '), ('tab', b'\t'), ('crlf', b'\r\n'), ('lf', b'\n'), ('cr', b'\r'),
           ('nul', b'\0')]
ARGUMENTS = [('path', b'/pub/%s'), ('dot', b'./%s'), ('dots', b'x/../%s'), ('long', b'./' * 200 + b'%s'),
             ('longer', b'./' * 700 + b'%s'), ('longest', b'./' * 2200 + b'%s'), ('blank-inside', b'a b %s'),
             ('quotes', b'"%s"'), ('high', b'\xe9%s'), ('upper-before', b'A%s'), ('slashes', b'//pub//%s'),
             ('escaped', b'a\\%s'), ('star', b'%s*'), ('after', b'%s x'),
             ('dash', b'-%s'), ('percent', b'a%%20%s'), ('control', b'\x01%s'), ('tilde', b'~%s'),
             ('two-blanks', b'a  %s'), ('tab-inside', b'a\t%s'), ('cr-inside', b'a\r%s')]
BETWEEN = [('noop', b'NOOP'), ('syst', b'SYST'), ('feat', b'FEAT'), ('foo', b'FOO bar'), ('empty', b''),
           ('type-a', b'TYPE A'), ('type-lower', b'type i'), ('type-l8', b'TYPE L 8'), ('mode', b'MODE S'),
           ('stru', b'STRU F'), ('mode-b', b'MODE B'), ('rest-0', b'REST 0'), ('opts', b'OPTS UTF8 ON'),
           ('auth', b'AUTH TLS'), ('auth-ssl', b'AUTH SSL'), ('pbsz', b'PBSZ 0'), ('prot', b'PROT C'),
           ('allo', b'ALLO 100'), ('cwd', b'CWD /pub'), ('pwd', b'PWD'), ('long', b'NOOP ' + b'x' * 1000),
           ('longer', b'NOOP ' + b'x' * 6000), ('help', b'HELP'), ('stat', b'STAT'), ('site', b'SITE HELP'),
           ('abor', b'\xff\xf4\xff\xf2ABOR'), ('abor-plain', b'ABOR'), ('rein', b'HOST h.example'),
           ('get', b'GET / HTTP/1.1'), ('high', b'\xe9\xff'), ('clnt', b'CLNT x'),
           ('many', b'\r\n'.join([b'NOOP'] * 40)), ('blank', b'   '), ('user', b'USER anonymous')]


class Ftp(Oddities):
    def word(self, place):
        return WORDS[place] if place == self.place else b'benign'


def case_of(r, command):
    if not r.odd(0.3):
        return command
    return r.choose('case',
                    [('lower', command.lower()), ('title', command.title()),
                     ('mixed', bytes(c ^ 32 if r.rng.random() < 0.5 and chr(c).isalpha() else c for c in command))])


def command(r, name, argument=None, odd=True):
    """Returns the line of a command."""
    data = case_of(r, name)
    if argument is not None:
        data += (r.choose('separator', SEPARATORS) if odd and r.odd(0.15) else b' ') + argument
    if odd and r.odd(0.3):
        kind, code = r.rng.choice(TELNET)
        where, at = r.rng.choice([('begin', 0), ('command', 2), ('after', len(name)),
                                  ('before', min(len(name) + 1, len(data))),
                                  ('argument', min(len(name) + 4, len(data))), ('end', len(data))])
        data = r.use(f'telnet:{kind}-{where}', data[:at] + code + data[at:])
    if odd and r.odd(0.12):
        data = r.choose('leading', LEADING) + data
    return data + (r.choose('end', ENDS) if odd and r.odd(0.15) else b'\r\n')


def between(r, steps):
    while r.odd(0.25):
        add(r, steps, r.choose('between', BETWEEN) + b'\r\n')


def add(r, steps, data):
    """Adds a command to the steps. A pipelined command is sent together with the previous one, without WAIT."""
    if r.pipelined and steps and isinstance(steps[-1], bytes):
        steps[-1] += data
    elif r.pipelined:
        steps.append(data)
    else:
        steps.extend([data, WAIT])


def passive(r, steps):
    """Adds the commands that open a passive data connection."""
    name = r.rng.choice((b'PASV', b'PASV', b'EPSV'))
    line = r.choose('passive', [('epsv-1', command(r, b'EPSV', b'1', False)),
                                ('pasv-argument', command(r, b'PASV', b'x', False)), ('twice', b'PASV\r\n'),
                                ('epsv-after', b'PASV\r\n')]) if r.odd(0.15) else command(r, name)
    if 'passive:twice' in r.features or 'passive:epsv-after' in r.features:
        steps.extend([line, WAIT])
        line = b'EPSV\r\n' if 'passive:epsv-after' in r.features else b'PASV\r\n'
    steps.extend([line, WAIT])


def active(r, steps, port):
    high, low = port >> 8, port & 255
    kind, name, argument = r.rng.choice([('port', b'PORT', b'127,0,0,1,%d,%d' % (high, low)),
                                         ('eprt', b'EPRT', b'|1|127.0.0.1|%d|' % port)])
    if r.odd(0.3):
        name, argument = r.choose('active', [
            ('spaces', (b'PORT', b'127, 0, 0, 1, %d, %d' % (high, low))),
            ('zeros', (b'PORT', b'127,000,00,1,%03d,%03d' % (high, low))),
            ('more', (b'PORT', b'127,0,0,1,%d,%d,5' % (high, low))),
            ('parentheses', (b'PORT', b'(127,0,0,1,%d,%d)' % (high, low))),
            ('delimiter', (b'EPRT', b'!1!127.0.0.1!%d!' % port)),
            ('plus', (b'PORT', b'+127,0,0,1,+%d,%d' % (high, low))),
            ('eprt-zeros', (b'EPRT', b'|1|127.0.0.1|0%d|' % port)),
            ('eprt-no-end', (b'EPRT', b'|1|127.0.0.1|%d' % port)),
            ('eprt-space', (b'EPRT', b' |1|127.0.0.1|%d|' % port)),
            ('text', (b'PORT', b'127,0,0,1,%d,%d text' % (high, low))),
            ('big', (b'PORT', b'127,0,0,1,%d,%d' % (high - 1, low + 256))),
            ('port-dots', (b'PORT', b'127.0.0.1,%d,%d' % (high, low))),
            ('eprt-mapped', (b'EPRT', b'|2|::ffff:127.0.0.1|%d|' % port)),
            ('eprt-digit', (b'EPRT', b'a1a127.0.0.1a%da' % port)),
            ('eprt-big', (b'EPRT', b'|1|127.0.0.1|%d|' % (port + 65536)))])
    r.use('active:' + kind, None)
    steps.extend([('listen', port), command(r, name, argument), WAIT])


def transfer(r, steps, number):
    """Adds the steps of an upload or download; returns the index of the step that completes the file."""
    content = b'The content: ' + r.word('file') + b' of it\r\n'
    name = r.word('name') + b'.n%dn' % number
    if r.rng.random() < 0.3:
        add(r, steps, b'TYPE I\r\n')
    r.pipelined = False
    port = 10000 + number % 20000
    is_active = r.rng.random() < 0.35
    between(r, steps)
    if r.place == 'file' and r.rng.random() < 0.3:
        # The server already has a file word.txt that contains the word.
        name = b'word.txt'
        verb, goes_up = r.use('retr', b'RETR'), False
    else:
        verb, goes_up = r.rng.choice((b'STOR', b'STOR', b'APPE')), True
        if r.odd(0.15):
            verb = r.use('stou', b'STOU')
    (active(r, steps, port) if is_active else passive(r, steps))
    if r.odd(0.15):
        steps.extend([r.choose('middle',
                               [('noop', b'NOOP\r\n'), ('rest', b'REST 3\r\n'), ('rest-0', b'REST 0\r\n'),
                                ('type', b'TYPE I\r\n'), ('stor-bad', b'STOR\r\n'), ('mode', b'MODE S\r\n'),
                                ('retr-bad', b'RETR none.txt\r\n'), ('allo', b'ALLO 9\r\n'),
                                ('list-bad', b'LIST none\r\n'), ('cwd-bad', b'CWD none\r\n'), ('foo', b'FOO\r\n')]),
                                WAIT])
    argument = r.choose('argument', ARGUMENTS[:3] + [('quotes', b'"%s"')]).replace(b'%s', name) if r.odd(0.15) else name
    steps.append(command(r, verb, argument))
    if is_active:
        steps.append(('accept',))
    else:
        steps.append(('connect',))
    steps.append(('put', content) if goes_up else ('get',))
    deadline = len(steps) - 1
    steps.append(WAIT)
    return deadline


def bounce(r, steps):
    address = r.rng.choice([(b'PORT', b'192,0,2,77,20,20'), (b'EPRT', b'|1|192.0.2.77|5140|')])
    if r.odd(0.4):
        address = r.choose('bounce',
                           [('spaces', (b'PORT', b'192, 0, 2, 77, 20, 20')),
                            ('zeros', (b'PORT', b'192,000,002,077,020,020')),
                            ('text', (b'PORT', b'192,0,2,77,20,20 x')),
                            ('delimiter', (b'EPRT', b'!1!192.0.2.77!5140!')),
                            ('eprt-6', (b'EPRT', b'|2|2001:db8::1|5140|')), ('more', (b'PORT', b'192,0,2,77,20,20,1')),
                            ('parentheses', (b'PORT', b'(192,0,2,77,20,20)')),
                            ('no-end', (b'EPRT', b'|1|192.0.2.77|5140'))])
    add(r, steps, command(r, *address))


def generate(number, seed):
    """Returns session NUMBER of the run with this seed."""
    rng = seeded(number, seed)
    place = rng.choice(PLACES)
    r = Ftp(rng, place, rng.choice((0.1, 0.2, 0.3, 0.5, 0.8)))
    r.pipelined = False
    steps = [WAIT] if rng.random() < 0.9 else [r.use('no-greeting', b'')]
    if r.odd(0.2):
        between(r, steps)
    r.pipelined = place not in ('file', 'name') and r.odd(0.3) and r.use('pipelined', True)
    add(r, steps, command(r, b'USER', b'anonymous', r.odd(0.2)))
    between(r, steps)
    add(r, steps, command(r, b'PASS', b'a@h.example', r.odd(0.2)))
    add(r, steps, b'CWD pub\r\n')
    between(r, steps)
    deadline = None
    if place in ('file', 'name') or (place is None and rng.random() < 0.4):
        deadline = transfer(r, steps, number)
    elif place == 'bounce':
        bounce(r, steps)
    else:
        name = r.word({'command': 'command', 'raw': 'raw'}.get(place, 'argument')) + b'.n%dn' % number
        argument = r.choose('argument', ARGUMENTS).replace(b'%%', b'%').replace(b'%s', name) if r.odd(0.3) else name
        verb = b'DELE' if place == 'command' else rng.choice((b'DELE', b'CWD', b'SIZE', b'MKD', b'RMD', b'RNFR',
                                                              b'MDTM', b'XMKD', b'STOR', b'RETR'))
        add(r, steps, command(r, verb, argument))
        if r.odd(0.1):
            add(r, steps, b'QUIT\r\n')
    steps = [piece for step in steps if step != b'' for piece in (cut(r, step) if isinstance(step, bytes) else [step])]
    if deadline is not None:
        deadline = max(n for n, step in enumerate(steps) if isinstance(step, tuple))
    port = 2121 if place == 'bounce' else 21 if rng.random() < 0.8 else rng.choice((2100, 12345))
    return session(number, seed, port, steps, place, r.features, deadline)
