// SPDX-License-Identifier: GPL-2.0-or-later
// Answers each request with the parts that Node.js has read. Arguments: port, and "lenient" for the tolerant parser.
const http = require('http');

function decode(text) {
  try { return decodeURIComponent(text); } catch { return unescape(text); }
}

const server = http.createServer({ insecureHTTPParser: process.argv[3] === 'lenient', maxHeaderSize: 65536 }, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('error', () => {});
  request.on('end', () => {
    const h = request.headers;
    response.end(Buffer.from(`S=<served>\nU=<${request.url} ${decode(request.url)}>\nM=<${request.method}>\nH=<${h['x-m']}>\nC=<${h.cookie}>\n` +
      `A=<${h['user-agent']}>\nB=<${Buffer.concat(chunks).toString('latin1')}>\n`, 'latin1'));
  });
});
server.on('clientError', (error, socket) => socket.destroy());
// A CONNECT is served like any other request.
server.on('connect', (request, socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nS=<served>\nU=<${request.url}>\nM=<CONNECT>\n`));
server.keepAliveTimeout = 2000;
server.listen(Number(process.argv[2]));
