// SPDX-License-Identifier: GPL-2.0-or-later
// Fetches URL/N for each N of a file with http.get or fetch, and writes the results in the format of http_clients.py.
const fs = require('fs');
const http = require('http');
const [kind, base] = process.argv.slice(2);
const numbers = fs.readFileSync('/endpoint/numbers', 'latin1').trim().split('\n');
const out = fs.openSync('/endpoint/results', 'w');
const encode = (value) => Buffer.from(value).subarray(0, 1 << 19).toString('base64');
const write = (n, good, status, reason, headers, body) =>
	fs.writeSync(out, [n, good ? 1 : 0, encode(String(status)), encode(reason || ''), encode(headers), encode(body), ''].join('\t') + '\n');

function byHttp(n) {
	return new Promise((resolve) => {
		const request = http.get(base + n, { insecureHTTPParser: kind === 'lenient', maxHeaderSize: 65536, agent: false, timeout: 5000 }, (response) => {
			const parts = [];
			const end = (good) => {
				write(n, good, response.statusCode, response.statusMessage, response.rawHeaders.join('\n'), Buffer.concat(parts));
				resolve();
			};
			response.on('data', (data) => parts.push(data));
			response.on('end', () => end(response.complete));
			response.on('error', () => end(false));
		});
		request.on('upgrade', (response, socket, head) => {
			write(n, false, response.statusCode, response.statusMessage, response.rawHeaders.join('\n'), head);
			socket.destroy();
			resolve();
		});
		request.on('timeout', () => request.destroy());
		request.on('error', resolve);
		request.on('close', resolve);
	});
}

async function byFetch(n) {
	let response, good = true;
	const parts = [];
	try {
		response = await fetch(base + n, { redirect: 'manual', signal: AbortSignal.timeout(5000) });
	} catch (error) {
		return;
	}
	try {
		for await (const part of response.body || [])
			parts.push(part);
	} catch (error) {
		good = false;
	}
	write(n, good, response.status, response.statusText, [...response.headers].join('\n'), Buffer.concat(parts));
}

async function work() {
	for (let n; (n = numbers.pop()) !== undefined;)
		await (kind === 'fetch' ? byFetch(n) : byHttp(n));
}
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
Promise.all(Array.from({ length: 12 }, work)).then(() => process.exit(0));
