# SPDX-License-Identifier: GPL-2.0-or-later
"""Services of a network other than the web, mail and files: databases, directories, remote desktops, peers."""
import struct

from build import client, client_hello, der, der_number, sequence, server, tcp, udp


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

# --- LDAP: a search with its results, a failed bind, changes, StartTLS, responses without a request

def text(value, tag=4):
    return der(tag, value)


def enumerated(value):
    return der(10, bytes([value]))


def ldap(number, kind, *parts):
    return sequence(der_number(number), der(kind, *parts))


def result(number, kind, code, message=b''):
    return ldap(number, kind, enumerated(code), text(b'dc=example'), text(message))


def attribute(name, *values):
    return sequence(text(name), der(0x31, *[text(value) for value in values]))


SEARCH = ldap(1, 0x63, text(b'dc=example'), enumerated(2), enumerated(0), der_number(0), der_number(0),
              der(1, b'\0'), text(b'objectClass', 0x87), sequence(text(b'cn'), text(b'userPassword')))
ENTRY = ldap(1, 0x64, text(b'cn=alice,dc=example'), sequence(attribute(b'cn', b'alice'), attribute(b'userPassword')))
START_TLS = ldap(5, 0x77, text(b'1.3.6.1.4.1.1466.20037', 0x80))
directory = tcp(389, client(SEARCH), server(ENTRY), server(result(1, 0x65, 0)),
                client(ldap(2, 0x60, der_number(3), text(b'cn=admin'), text(b'guess', 0x80))),
                server(result(2, 0x61, 49, b'wrong password')),
                client(ldap(3, 0x4a, b'cn=bob,dc=example')), server(result(3, 0x6b, 0)),
                client(ldap(4, 0x66, text(b'cn=carol'), sequence(sequence(enumerated(0), attribute(b'mail', b'c@d'))))),
                server(result(4, 0x67, 50)))
directory_rules = [
    (1, rule('ldap.request.operation:search_request;', 'ldap')),
    (1, rule('ldap.request.operation:10;', 'ldap')),
    (0, rule('ldap.request.operation:add_request;', 'ldap')),
    (1, rule('ldap.request.dn; content:"cn=admin"; bsize:8;', 'ldap')),
    (1, rule('ldap.request.dn; content:"cn=bob"; startswith; ldap.request.operation:del_request;', 'ldap')),
    (0, rule('ldap.request.dn; content:"cn=alice";', 'ldap')),
    (1, rule('ldap.request.attribute_type; content:"userPassword"; bsize:12;', 'ldap')),
    (1, rule('ldap.request.attribute_type; content:"mail"; bsize:4;', 'ldap')),
    (0, rule('ldap.request.attribute_type; content:"objectClass";', 'ldap')),
    (1, rule('ldap.responses.attribute_type; content:"userPassword";', 'ldap')),
    (0, rule('ldap.responses.attribute_type; content:"mail";', 'ldap')),
    (1, rule('ldap.responses.dn; content:"cn=alice,dc=example"; bsize:19;', 'ldap')),
    (0, rule('ldap.responses.dn; content:"cn=bob";', 'ldap')),
    (1, rule('ldap.responses.message; content:"wrong password";', 'ldap')),
    (0, rule('ldap.responses.message; content:"cn=";', 'ldap')),
    (1, rule('ldap.responses.operation:search_result_entry;', 'ldap')),
    (1, rule('ldap.responses.operation:search_result_done,-1;', 'ldap')),
    (0, rule('ldap.responses.operation:search_result_done,0;', 'ldap')),
    (1, rule('ldap.responses.result_code:invalid_credentials;', 'ldap')),
    (1, rule('ldap.responses.result_code:50; ldap.responses.operation:modify_response;', 'ldap')),
    (0, rule('ldap.responses.result_code:32;', 'ldap')),
    (1, rule('ldap.responses.count:2;', 'ldap')),
    (0, rule('ldap.responses.count:>2;', 'ldap')),
    (0, rule('app-layer-event:ldap.invalid_data;', 'ldap')),
    (0, rule('app-layer-event:ldap.request_not_found;', 'ldap')),
    (1, rule('app-layer-protocol:ldap; content:"userPassword"; flow:to_server;', 'tcp')),
]
cldap = udp(389, client(SEARCH), server(ENTRY + result(1, 0x65, 0)))
odd = tcp(389, client(SEARCH), server(result(9, 0x65, 0)), client(ldap(2, 0x63, text(b'x'))), client(b'\0\1\2\3'))
many = tcp(389, client(SEARCH), server(ENTRY * 501), client(b''.join(ldap(i % 100 + 2, 0x4a, b'cn=x')
                                                                      for i in range(256))))
start_tls = tcp(389, client(START_TLS), server(result(5, 0x78, 0)), client(client_hello('ldap.example.org')))

# --- RDP: a negotiation, after which TLS follows; BitTorrent DHT

def tpkt(code, negotiation, line=b''):
    content = line + negotiation
    return struct.pack('!BBH', 3, 0, 11 + len(content)) + bytes([6 + len(content), code, 0, 0, 0, 0, 0]) + content


remote = tcp(3389, client(tpkt(0xe0, b'\1\0\x08\0\3\0\0\0', b'Cookie: mstshash=eltons\r\n')),
             server(tpkt(0xd0, b'\2\x1f\x08\0\2\0\0\0')), client(client_hello('desktop.example.org')))
plain = tcp(3389, client(tpkt(0xe0, b'', b'Cookie: mstshash=eltons\r\n')), server(tpkt(0xd0, b'')))
NODE = b'abcdefghij0123456789'
PING = b'd1:ad2:id20:' + NODE + b'e1:q4:ping1:t2:aa1:y1:qe'
peers = udp(6881, client(PING), server(b'd1:rd2:id20:' + NODE + b'e1:t2:aa1:y1:re'))

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
    'ldap': (directory, directory_rules),
    'ldap_udp': (cldap, [(1, rule('app-layer-protocol:ldap; content:"userPassword"; flow:to_server;', 'udp')),
                         (1, rule('ldap.responses.count:2;', 'ldap')), (0, rule('ldap.request.dn; bsize:0;', 'ldap'))]),
    'ldap_odd': (odd, [(1, rule('app-layer-event:ldap.request_not_found;', 'ldap')),
                       (2, rule('app-layer-event:ldap.invalid_data;', 'ldap')),
                       (0, rule('app-layer-event:ldap.too_many_responses;', 'ldap'))]),
    'ldap_many': (many, [(2, rule('app-layer-event:ldap.too_many_responses;', 'ldap')),
                         (1, rule('app-layer-event:ldap.too_many_transactions;', 'ldap')),
                         (0, rule('app-layer-event:ldap.invalid_data;', 'ldap'))]),
    'ldap_tls': (start_tls, [(1, 'alert tls any any -> any any (tls.sni; content:"ldap.example.org";)'),
                             (0, rule('app-layer-event:ldap.invalid_data;', 'ldap'))]),
    'rdp': (plain, [(1, rule('content:"mstshash=eltons"; flow:to_server;', 'rdp')),
                    (0, rule('content:"mstshash=other";', 'rdp'))]),
    'rdp_tls': (remote, [(1, 'alert tls any any -> any any (tls.sni; content:"desktop.example.org";)'),
                         (0, rule('content:"desktop.example.org";', 'rdp'))]),
    'bittorrent_dht': (peers, [(1, rule('content:"ping"; flow:to_server;', 'bittorrent-dht')),
                               (0, rule('content:"find_node";', 'bittorrent-dht')),
                               (0, rule('app-layer-event:bittorrent-dht.malformed_packet;', 'bittorrent-dht'))]),
    'bittorrent_dht_malformed': (udp(6881, client(PING), client(b'd1:ad2:id20:')), [
        (1, rule('app-layer-event:bittorrent-dht.malformed_packet;', 'bittorrent-dht')),
        (0, rule('content:"announce";', 'bittorrent-dht'))]),
}
