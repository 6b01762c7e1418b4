# SPDX-License-Identifier: GPL-2.0-or-later
"""A web server on the loopback interface with the rule sources of the tests.

    sources.py FOLDER URL_FILE     serves the files of a folder until it is killed, and writes its URL to a file; a file
                                   with the content "reset" stands for a connection that the server resets
"""
import http.server
import io
import pathlib
import signal
import socket
import struct
import sys
import tarfile
import threading


def rule(sid, text="", rev=1, action="alert"):
    return f'{action} udp any any -> any 7 (msg:"rule {sid}"; {text}content:"needle {sid}"; sid:{sid}; rev:{rev};)\n'


def archive(files):
    """A tar.gz of {name: text}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            data = text.encode() if isinstance(text, str) else text
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


RESET = object()  # the server resets the connection
CUT = object()    # (CUT, data): the server announces all of the data and sends half of it


class Sources:
    """Serves `files`: path -> bytes or str; RESET; (CUT, data); missing: 404. `requests` has the paths of requests."""

    def __init__(self, address="127.0.0.1"):
        self.files, self.requests = {}, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                content = outer.files.get(self.path)
                if content is RESET:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    return
                cut = isinstance(content, tuple)
                data = content[1] if cut else content
                data = data.encode() if isinstance(data, str) else data
                self.send_response(404 if data is None else 200)
                data = data if data is not None else b"not here\n"
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[:len(data) // 2] if cut else data)

            def finish(self):
                try:
                    super().finish()
                except (OSError, ValueError):
                    pass

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Folder(dict):
    """The files of a folder, read when they are requested."""

    def __init__(self, path):
        super().__init__()
        self.path = pathlib.Path(path)

    def get(self, path, default=None):
        file = self.path / path[1:]
        content = file.read_bytes() if file.is_file() else default
        return RESET if content == b"reset\n" else content


if __name__ == "__main__":
    web = Sources()
    web.files = Folder(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(web.url)
    signal.pause()
