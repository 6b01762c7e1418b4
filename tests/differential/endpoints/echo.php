<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Router of PHP's built-in server: answers with the parts of the request that PHP has read.
$s = $_SERVER;
$files = '';
foreach ($_FILES as $file) {
    $files .= is_string($file['tmp_name']) && is_file($file['tmp_name']) ? file_get_contents($file['tmp_name']) : '';
}
echo "S=<served>\nU=<", $s['REQUEST_URI'] ?? '', ' ', urldecode($s['REQUEST_URI'] ?? ''), ">\nM=<", $s['REQUEST_METHOD'] ?? '', ">\nH=<", $s['HTTP_X_M'] ?? '',
    ">\nC=<", $s['HTTP_COOKIE'] ?? '', ">\nA=<", $s['HTTP_USER_AGENT'] ?? '', ">\nB=<", file_get_contents('php://input'), ' ', json_encode($_POST), ' ', $files, ">\n";
