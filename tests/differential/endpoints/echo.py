# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP server that answers each request with the parts that it has read. As a program: `echo.py http PORT`
(http.server), `echo.py wsgi PORT` (wsgiref), `echo.py scgi PORT` (SCGI behind a web server). As a module it has the
WSGI application `application`."""
import http.server
import socket
import socketserver
import sys
import urllib.parse
import wsgiref.simple_server


def answer(uri, method, word, cookie, agent, body):
    decoded = urllib.parse.unquote_plus(uri, 'latin-1')
    text = f'S=<served>\nU=<{uri} {decoded}>\nM=<{method}>\nH=<{word}>\nC=<{cookie}>\nA=<{agent}>\nB=<'
    return text.encode('latin-1', 'replace') + body + b'>\n'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 2

    def __getattr__(self, name):
        if name.startswith('do_'):
            return self.serve
        raise AttributeError(name)

    def serve(self):
        length = self.headers.get('Content-Length', '0') if self.request_version != 'HTTP/0.9' else '0'
        body = self.rfile.read(int(length))
        get = (lambda name: self.headers.get_all(name)) if self.request_version != 'HTTP/0.9' else lambda name: None
        data = answer(self.path, self.command, get('X-M'), get('Cookie'), get('User-Agent'), body)
        if self.request_version != 'HTTP/0.9':
            self.send_response(200)
            self.send_header('Content-Length', str(len(data)))
            self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Threading(socketserver.ThreadingMixIn):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        pass


class Server(Threading, http.server.HTTPServer):
    pass


class WsgiServer(Threading, wsgiref.simple_server.WSGIServer):
    pass


class QuietHandler(wsgiref.simple_server.WSGIRequestHandler):
    timeout = 2

    def log_message(self, *_):
        pass


def application(environ, start_response):
    """The WSGI application. Text in the environment is decoded as Latin-1 (PEP 3333)."""
    length = environ.get('CONTENT_LENGTH') or '0'
    stream = environ['wsgi.input']
    body = stream.read(int(length)) if not environ.get('wsgi.input_terminated') else stream.read()
    uri = environ.get('RAW_URI', '') + ' ' + environ.get('PATH_INFO', '') + '?' + environ.get('QUERY_STRING', '')
    data = answer(uri, environ['REQUEST_METHOD'], environ.get('HTTP_X_M'), environ.get('HTTP_COOKIE'),
                  environ.get('HTTP_USER_AGENT'), body)
    start_response('200 OK', [('Content-Length', str(len(data)))])
    return [data]


class ScgiHandler(socketserver.StreamRequestHandler):
    def handle(self):
        length = b''
        while (c := self.rfile.read(1)).isdigit():
            length += c
        fields = self.rfile.read(int(length)).split(b'\0')
        self.rfile.read(1)
        e = {k.decode('latin-1'): v.decode('latin-1') for k, v in zip(fields[::2], fields[1::2])}
        body = self.rfile.read(int(e.get('CONTENT_LENGTH') or 0))
        data = answer(e.get('REQUEST_URI', ''), e.get('REQUEST_METHOD'), e.get('HTTP_X_M'), e.get('HTTP_COOKIE'),
                      e.get('HTTP_USER_AGENT'), body)
        self.wfile.write(b'Status: 200 OK\r\nContent-Type: text/plain\r\n\r\n' + data)


class ScgiServer(Threading, socketserver.TCPServer):
    allow_reuse_address = True


def main(kind, port):
    if kind == 'http':
        server = Server(('', port), Handler)
    elif kind == 'wsgi':
        server = WsgiServer(('', port), QuietHandler)
        server.set_app(application)
    else:
        server = ScgiServer(('', port), ScgiHandler)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.serve_forever()


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
