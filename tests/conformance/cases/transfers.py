# SPDX-License-Identifier: GPL-2.0-or-later
"""Files over HTTP, SMB and NFS: rules inspect their names and content in the direction of the transfer."""
import gzip
import struct

from build import Case, client, nfs_call, nfs_reply, request, response, rpc_record, server, smb2_file, tcp, udp, xdr


def rule(protocol, options):
    return f'alert {protocol} any any -> any any ({options})'


# --- HTTP: an upload with two parts, a compressed and chunked response

FORM = b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nnot a file\r\n' \
       b'--b\r\nContent-Disposition: form-data; name="f"; filename="up.bin"\r\n' \
       b'Content-Type: application/octet-stream\r\n\r\nUPLOADED-CONTENT\r\n--b--\r\n'
PACKED = gzip.compress(b'DOWNLOADED-CONTENT' * 20, mtime=0)
CHUNKS = b'%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n' % (10, PACKED[:10], len(PACKED) - 10, PACKED[10:])
http = tcp(80, request('POST /up HTTP/1.1', FORM, Content_Type='multipart/form-data; boundary=b'), response(b''),
           request('GET /down.html HTTP/1.1'),
           server(b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n' + CHUNKS))
http_rules = [
    (1, rule('http', 'file.name; content:"up.bin"; flow:to_server;')),
    (1, rule('http', 'file.data; content:"UPLOADED-CONTENT"; startswith; flow:to_server;')),
    (0, rule('http', 'file.data; content:"not a file"; flow:to_server;')),
    (0, rule('http', 'file.data; content:"UPLOADED"; flow:to_client;')),
    (1, rule('http', 'filename:"up.bin"; filesize:16;')),
    (0, rule('http', 'filename:"up.bin"; filesize:17;')),
    (1, rule('http', 'file.data; content:"DOWNLOADED-CONTENTDOWNLOADED"; startswith; flow:to_client;')),
    (1, rule('http', 'http.response_body; content:"DOWNLOADED"; startswith;')),
    (0, rule('http', 'file.data; content:"|1f 8b|"; startswith; flow:to_client;')),
    (1, rule('http', 'file.name; content:"down.html"; flow:to_client; filesize:360;')),
    (0, rule('http', 'file.name; content:"down.html"; filesize:<360;')),
]

# --- SMB 2: a file that is written and read

smb = tcp(445, *smb2_file('\\\\SRV\\DATA', 'plans.txt', b'WRITTEN-CONTENT', b'READ-CONTENT'))
smb_rules = [
    (1, rule('smb', 'file.data; content:"WRITTEN-CONTENT"; startswith; flow:to_server;')),
    (1, rule('smb', 'file.data; content:"READ-CONTENT"; startswith; flow:to_client;')),
    (0, rule('smb', 'file.data; content:"READ-CONTENT"; flow:to_server;')),
    (1, rule('smb', 'file.name; content:"plans.txt"; flow:to_server;')),
    (0, rule('smb', 'file.name; content:"DATA";')),
    (1, rule('smb', 'filename:"plans.txt"; filesize:15; flow:to_server;')),
]

# --- NFS 3 over UDP and TCP: a file that is looked up, read in two parts, and written; NFS 2: a file that is read

LOOKUP, READ, WRITE, COMMIT = 3, 6, 7, 21


def nfs_file(frame):
    """Calls and replies that read and write the file plans.txt, with the handle `file`."""
    def read_reply(number, data, is_end):
        return server(frame(nfs_reply(number, struct.pack('!IIII', 0, 0, len(data), is_end) + xdr(data))))

    def write(number, offset, data, stable):
        return client(frame(nfs_call(WRITE, xdr(b'file') + struct.pack('!QII', offset, len(data), stable) + xdr(data),
                                     number)))
    return [client(frame(nfs_call(LOOKUP, xdr(b'dir') + xdr(b'plans.txt')))),
            server(frame(nfs_reply(1, bytes(4) + xdr(b'file')))),
            client(frame(nfs_call(READ, xdr(b'file') + struct.pack('!QI', 0, 5), 2))), read_reply(2, b'READ-', 0),
            client(frame(nfs_call(READ, xdr(b'file') + struct.pack('!QI', 5, 90), 3))), read_reply(3, b'CONTENT', 1),
            write(4, 0, b'WRITTEN-', 0), server(frame(nfs_reply(4, bytes(20)))),
            write(5, 8, b'CONTENT', 0), server(frame(nfs_reply(5, bytes(20)))),
            client(frame(nfs_call(COMMIT, xdr(b'file') + bytes(12), 6))), server(frame(nfs_reply(6)))]


nfs = tcp(2049, *nfs_file(rpc_record)) + udp(2049, *nfs_file(bytes))
nfs_rules = [
    (2, rule('nfs', 'file.data; content:"READ-CONTENT"; startswith; flow:to_client;')),
    (2, rule('nfs', 'file.data; content:"WRITTEN-CONTENT"; startswith; flow:to_server;')),
    (0, rule('nfs', 'file.data; content:"WRITTEN"; flow:to_client;')),
    (0, rule('nfs', 'file.data; content:"READ"; flow:to_server;')),
    (2, rule('nfs', 'filename:"plans.txt"; filesize:12; flow:to_client;')),
    (2, rule('nfs', 'file.name; content:"plans.txt"; flow:to_server;')),
    (0, rule('nfs', 'file.name; content:"dir";')),
    (2, rule('nfs', 'nfs_procedure:read;')),
    (2, rule('nfs', 'nfs_procedure:write;')),
    (2, rule('nfs', 'nfs_procedure:commit;')),
    (0, rule('nfs', 'nfs_procedure:remove;')),
]
nfs_events = ['2 event_type=nfs nfs.procedure=READ nfs.file_tx=true nfs.read.chunks=2 nfs.filename=plans.txt',
              '2 event_type=nfs nfs.procedure=WRITE nfs.file_tx=true nfs.write.chunks=2 nfs.write.last=true',
              '2 event_type=fileinfo fileinfo.filename=plans.txt fileinfo.size=12 fileinfo.state=CLOSED',
              '2 event_type=fileinfo fileinfo.filename=plans.txt fileinfo.size=15 fileinfo.state=CLOSED']
HANDLE = b'handle of 32 bytes in version 2.'
nfs_2 = udp(2049, client(nfs_call(READ, HANDLE + struct.pack('!III', 0, 90, 0), version=2)),
            server(nfs_reply(1, bytes(4) + bytes(20) + struct.pack('!I', 12) + bytes(44) + xdr(b'READ-CONTENT'))))
nfs_2_rules = [
    (1, rule('nfs', 'nfs_procedure:read; nfs.version:2;')),
    (0, rule('nfs', 'nfs_procedure:write;')),
    (0, rule('nfs', 'nfs.version:3;')),
    (1, rule('nfs', 'file.data; content:"READ-CONTENT"; startswith; filesize:12; flow:to_client;')),
]

cases = {
    'http': Case(http, http_rules, events=['1 event_type=fileinfo fileinfo.filename=up.bin fileinfo.size=16',
                                           '1 event_type=fileinfo fileinfo.filename=/down.html fileinfo.size=360']),
    'smb': (smb, smb_rules),
    'nfs': Case(nfs, nfs_rules, events=nfs_events),
    'nfs_2': Case(nfs_2, nfs_2_rules, events=['1 event_type=fileinfo fileinfo.size=12 fileinfo.state=CLOSED']),
}
