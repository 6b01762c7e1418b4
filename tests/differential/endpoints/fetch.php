<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Fetches URL/N for each N of a file with the http wrapper, and writes the results in the format of http_clients.py.
// Arguments: URL, number of this process, number of processes.
[, $base, $share, $shares] = $argv;
$out = fopen("/endpoint/results.$share", 'w');
$context = stream_context_create(['http' => ['ignore_errors' => true, 'follow_location' => 0, 'timeout' => 5, 'protocol_version' => 1.1, 'header' => 'Connection: close']]);
foreach (file('/endpoint/numbers', FILE_IGNORE_NEW_LINES) as $index => $n) {
	if ($index % $shares != $share)
		continue;
	$http_response_header = [];
	$stream = @fopen($base . $n, 'r', false, $context);
	if (!$stream)
		continue;
	$body = @stream_get_contents($stream, 1 << 19);
	$headers = $http_response_header;
	$first = $headers[0] ?? '';
	$words = preg_split('/ +/', $first, 3);
	fclose($stream);
	fwrite($out, implode("\t", [$n, $body === false ? 0 : 1, base64_encode($words[1] ?? ''), base64_encode($words[2] ?? ''), base64_encode(implode("\n", $headers)), base64_encode((string)$body), '']) . "\n");
}
