# SPDX-License-Identifier: GPL-2.0-or-later
# Words that rules find, far from each other in a transfer to the server tcp-echo of traffic.py. Sourced by tests that
# have set WORDS, the number of words.

# words ADDRESS: 8 MB, each word once and far from the others; prints how many bytes came back.
words() {
	client python3 - "$1" $WORDS <<'PY'
import socket
import sys
import threading
sock = socket.create_connection((sys.argv[1], 7001), timeout=20)
sock.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)  # SO_SNDBUFFORCE
data = b''.join((b'WORD%02d' % word).rjust(400000, b'.') for word in range(1, int(sys.argv[2]) + 1))
def send():
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
got = 0
while part := sock.recv(262144):
    got += len(part)
print(got)
PY
}
# words_found NAME: number of rules that have matched.
words_found() { grep -o '"signature_id":[0-9]*,' "$WORK/$1/eve.json" | sort -u | grep -c .; }
