# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTTP servers as endpoints. Each answers a request with the parts that it has read, in lines "TAG=<...>"
(http_requests.TAGS)."""
import os
import shutil
import subprocess

from core import HERE, Endpoint, Unavailable, endpoints_folder
from exchange import exchange


class Server(Endpoint):
    port = None
    quiet = 0.4  # seconds without data after which an answer is complete
    files = ()   # files of endpoints/ that start() copies into the folder

    def start(self):
        for name in self.files:
            shutil.copy(f'{HERE}/endpoints/{name}', self.folder)
        self.configure()
        self.spawn(*self.arguments())
        self.wait_port(self.port)

    def configure(self):
        pass

    def exchange(self, messages, address='127.0.0.1'):
        return exchange((address, self.port), messages, self.quiet)


class Nginx(Server):
    name, program, port = 'nginx', '/usr/sbin/nginx', 8001

    def configure(self):
        self.write('nginx.conf', '''
daemon off; user root; worker_processes 2; pid /endpoint/pid; error_log /endpoint/error;
events { worker_connections 4096; }
http {
  access_log off; client_body_temp_path /endpoint/body; proxy_temp_path /endpoint/proxy; fastcgi_temp_path /endpoint/f; uwsgi_temp_path /endpoint/u; scgi_temp_path /endpoint/s;
  client_body_buffer_size 1m; client_body_in_single_buffer on; large_client_header_buffers 8 64k; proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 256k;
  server { listen unix:/endpoint/up; return 200 "S=<served>\\n"; }
  server { listen 8001 backlog=1024; merge_slashes on;
    add_header X-U "U=<$request_uri $uri $args>"; add_header X-M "M=<$request_method>"; add_header X-H "H=<$http_x_m>"; add_header X-C "C=<$http_cookie>";
    add_header X-A "A=<$http_user_agent>"; add_header X-B "B=<$request_body>";
    location / { proxy_pass http://unix:/endpoint/up:/; proxy_set_header Connection close; } }
}
''')

    def arguments(self):
        return 'nginx', '-c', '/endpoint/nginx.conf', '-e', '/endpoint/error'


class Apache(Server):
    name, groups, program, port = 'apache2', ('http',), '/usr/sbin/apache2', 8002
    files = ('echo.lua',)

    def configure(self):
        modules = 'mpm_event authz_core lua'.split()
        load = '\n'.join(f'LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so' for m in modules)
        self.write('apache.conf', load + '''
Listen 8002
ServerName h.example
DefaultRuntimeDir /endpoint
PidFile /endpoint/pid
ErrorLog /endpoint/error
LogLevel crit
KeepAliveTimeout 2
LimitRequestFieldSize 65536
LimitRequestLine 65536
User www-data
Group www-data
LuaMapHandler ^/ /endpoint/echo.lua handle
LuaMapHandler .* /endpoint/echo.lua handle
LuaScope thread
<Directory />
  Require all granted
</Directory>
DocumentRoot /endpoint
AllowEncodedSlashes On
''')

    def arguments(self):
        return 'apache2', '-DFOREGROUND', '-f', '/endpoint/apache.conf'


class Lighttpd(Server):
    name, groups, program, port = 'lighttpd', ('http',), '/usr/sbin/lighttpd', 8003
    files = ('echo.py',)

    def configure(self):
        self.write('lighttpd.conf', '''
server.modules = ("mod_scgi")
server.document-root = "/endpoint"
server.port = 8003
server.errorlog = "/endpoint/error"
server.upload-dirs = ("/tmp")
server.max-request-field-size = 65536
scgi.server = ("/" => (("host" => "127.0.0.1", "port" => 8013, "check-local" => "disable")))
''')

    def arguments(self):
        return 'sh', '-c', 'python3 /endpoint/echo.py scgi 8013 & exec lighttpd -D -f /endpoint/lighttpd.conf'


class Node(Server):
    name, program, port, lenient = 'node', '/usr/bin/node', 8004, 'strict'
    files = ('echo.js',)

    def arguments(self):
        return 'node', '/endpoint/echo.js', str(self.port), self.lenient


class NodeLenient(Node):
    name, port, lenient = 'node-lenient', 8005, 'lenient'


def build_go(folder, name):
    """Compiles endpoints/NAME.go with the downloaded Go or that of this machine."""
    source, program = f'{HERE}/endpoints/{name}.go', os.path.join(endpoints_folder(), 'go-' + name)
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        class Compiler(Endpoint):
            program = None
        Compiler.name = 'go-build-' + name
        for groups, path in ((('nightly-go',), '/usr/lib/go/bin/go'), (('/',), '/usr/local/go/bin/go'),
                             (('/',), '/usr/bin/go')):
            Compiler.groups, Compiler.program = groups, path
            try:
                compiler = Compiler(folder)
                break
            except Unavailable:
                continue
        else:
            raise Unavailable('Go is not installed and not downloaded (tests/differential/fetch-endpoints '
                              'nightly-go)')
        shutil.copy(source, compiler.folder)
        subprocess.run(compiler.command('sh', '-c',
                                        'cd /endpoint && GOFLAGS=-buildvcs=false CGO_ENABLED=0 GO111MODULE=off '
                                        'GOPATH=/endpoint/path GOTOOLCHAIN=local '
                                        f'GOCACHE=/endpoint/cache exec {compiler.program} build -o program {name}.go'),
                                        check=True)
        os.makedirs(endpoints_folder(), exist_ok=True)
        shutil.copy(compiler.folder + '/program', program)
        shutil.rmtree(compiler.folder, ignore_errors=True)
    return program


class Go(Server):
    name, groups, program, port = 'go', ('/',), '/bin/sh', 8006

    def __init__(self, folder):
        super().__init__(folder)
        self.built = build_go(folder, 'echo')

    def configure(self):
        shutil.copy(self.built, self.folder + '/server')

    def arguments(self):
        return '/endpoint/server', str(self.port)


class Python(Server):
    name, program, port, kind = 'python', '/usr/bin/python3', 8007, 'http'
    files = ('echo.py',)

    def arguments(self):
        return '/usr/bin/python3', '/endpoint/echo.py', self.kind, str(self.port)


class Wsgiref(Python):
    name, port, kind = 'wsgiref', 8008, 'wsgi'


class Gunicorn(Server):
    name, groups, program, port = 'gunicorn', ('http',), '/usr/bin/gunicorn', 8009
    files = ('echo.py',)

    def arguments(self):
        return ('/usr/bin/gunicorn', '--chdir', '/endpoint', '-b', '0.0.0.0:8009', '-w', '2', '-k', 'gthread',
                '--threads', '16', '--keep-alive', '1',
                '--limit-request-line', '0', '--limit-request-field_size', '0', 'echo:application')


class Php(Server):
    name, groups, program, port = 'php', ('http',), '/usr/bin/php8.2', 8010
    files = ('echo.php',)

    def arguments(self):
        return ('env', 'PHP_CLI_SERVER_WORKERS=8', 'php8.2', '-d', 'display_errors=0', '-S', '0.0.0.0:8010',
                '/endpoint/echo.php')


SERVERS = (Nginx, Apache, Lighttpd, Node, NodeLenient, Go, Python, Wsgiref, Gunicorn, Php)
