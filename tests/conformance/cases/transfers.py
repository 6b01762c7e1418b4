# SPDX-License-Identifier: GPL-2.0-or-later
"""Files over HTTP and SMB: rules inspect their names and content in the direction of the transfer."""
import gzip

from build import Case, request, response, server, smb2_file, tcp


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

cases = {
    'http': Case(http, http_rules, events=['1 event_type=fileinfo fileinfo.filename=up.bin fileinfo.size=16',
                                           '1 event_type=fileinfo fileinfo.filename=/down.html fileinfo.size=360']),
    'smb': (smb, smb_rules),
}
