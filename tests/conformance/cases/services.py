# SPDX-License-Identifier: GPL-2.0-or-later
"""Services of a network other than the web, mail and files: databases, directories, remote desktops, peers."""
import struct

from build import client, client_hello, server, tcp


def rule(options, protocol='pgsql'):
    return f'alert {protocol} any any -> any any ({options})'


# --- PostgreSQL: queries of both protocols, events, TLS after a request for it

def message(kind, body=b''):
    return kind + struct.pack('!I', 4 + len(body)) + body


def untyped(code, body=b''):
    return struct.pack('!II', 8 + len(body), code) + body


SSL_REQUEST = untyped(80877103)
STARTUP = client(untyped(0x30000, b'user\0bob\0\0')), server(message(b'R', bytes(4)) + message(b'Z', b'I'))

queries = tcp(5432, *STARTUP,
              client(message(b'Q', b"SELECT name FROM users WHERE id = '' OR 1=1\0")),
              server(message(b'C', b'SELECT 1\0') + message(b'Z', b'I')),
              client(message(b'P', b'one\0DELETE FROM users\0\0\0') + message(b'S')),
              server(message(b'1') + message(b'C', b'DELETE 4\0') + message(b'Z', b'I')))
query_rules = [
    (1, rule("pgsql.query; content:\"' OR 1=1\"; endswith;")),
    (1, rule('pgsql.query; content:"SELECT name"; startswith; bsize:43;')),
    (1, rule('pgsql.query; content:"DELETE FROM users"; bsize:17;')),
    (0, rule('pgsql.query; content:"DELETE 4";')),
    (0, rule('pgsql.query; content:"bob";')),
    (0, rule('pgsql.query; content:"one";')),
    (0, rule('app-layer-event:pgsql.malformed_request;')),
    (0, rule('app-layer-event:pgsql.malformed_response;')),
    (0, rule('app-layer-event:pgsql.invalid_length;')),
]

broken = tcp(5432, *STARTUP, client(message(b'Q', b'no end')), server(message(b'R', b'\0')),
             client(b'Q' + struct.pack('!I', 3)))
broken_rules = [
    (1, rule('app-layer-event:pgsql.malformed_request; flow:to_server;')),
    (1, rule('app-layer-event:pgsql.malformed_response; flow:to_client;')),
    (1, rule('app-layer-event:pgsql.invalid_length;')),
    (0, rule('app-layer-event:pgsql.too_many_transactions;')),
    (0, rule('pgsql.query; content:"no end";')),
]

flood = tcp(5432, *STARTUP, client(b''.join(message(b'Q', b'SELECT 1\0') for _ in range(1025))))
encrypted = tcp(5432, client(SSL_REQUEST), server(b'S'), client(client_hello('db.example.org')))
refused = tcp(9999, client(SSL_REQUEST), server(b'N'), client(untyped(0x30000, b'user\0bob\0\0')),
              client(message(b'Q', b'SELECT 2\0')))

cases = {
    'pgsql': (queries, query_rules),
    'pgsql_in_pieces': (tcp(5432, *STARTUP, client(message(b'Q', b'SELECT 1\0')), cut=1), [
        (1, rule('pgsql.query; content:"SELECT 1"; bsize:8;')), (0, rule('pgsql.query; content:"SELECT 2";'))]),
    'pgsql_broken': (broken, broken_rules),
    'pgsql_flood': (flood, [(1, rule('app-layer-event:pgsql.too_many_transactions;')),
                            (0, rule('app-layer-event:pgsql.invalid_length;'))]),
    'pgsql_tls': (encrypted, [(1, 'alert tls any any -> any any (tls.sni; content:"db.example.org";)'),
                              (0, rule('pgsql.query; bsize:>0;'))]),
    'pgsql_refused_tls': (refused, [(1, rule('pgsql.query; content:"SELECT 2";')),
                                    (0, 'alert tls any any -> any any (tls.sni; bsize:>0;)')]),
}
