/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that are common in the HTTP traffic of current browsers, tools and servers. If a content of a rule is part of
 * one of these texts, the prefilter prefers another content of the rule (struct prefilter_hints.common). The texts
 * affect performance only.
 */
#include "keywords.h"

const char *const http_common_uris[] = {
    "/index.php?id=", "/index.html", "/images/", "/api/", "/js/", "/css/", "/static/", "/wp-content/", ".html",
    ".php",           ".js?v=",      ".css",     ".png",  ".jpg", ".gif",  ".aspx",    "&page=",       NULL,
};

const char *const http_common_hosts[] = { "www.", ".com", ".net", ".org", "http://", "https://", NULL };

const char *const http_common_agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1",
    "Safari/537.36 Edg/1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:1",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 1",
    "Mozilla/4.0 (compatible; MSIE ",
    "Gecko/20100101 Firefox/1",
    "curl/",
    NULL,
};

/* Includes texts for http.header_names, in which each header name is on a separate line. */
const char *const http_common_headers[] = {
    " HTTP/1.1\r\nHost: ",
    "HTTP/1.1 200 OK\r\nServer: ",
    "HTTP/1.1 200 OK\r\nDate: ",
    "GET / HTTP/1.1\r\n",
    "POST / HTTP/1.1\r\n",
    "\r\nHost: www.",
    "\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1",
    " Safari/537.36\r\n",
    "\r\nUser-Agent: Mozilla/4.0 (compatible; MSIE ",
    "\r\nUser-Agent: curl/",
    "\r\nAccept: */*\r\n",
    "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n",
    "\r\nAccept-Language: en-US,en;q=0.9\r\n",
    "\r\nAccept-Encoding: gzip, deflate, br\r\n",
    "\r\nConnection: keep-alive\r\n",
    "\r\nConnection: close\r\n",
    "\r\nCache-Control: no-cache\r\n",
    "\r\nCache-Control: max-age=0\r\n",
    "\r\nPragma: no-cache\r\n",
    "\r\nReferer: http://www.",
    "\r\nReferer: https://www.",
    "\r\nCookie: ",
    "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
    "\r\nContent-Type: application/json; charset=utf-8\r\n",
    "\r\nContent-Type: application/octet-stream\r\n",
    "\r\nContent-Type: text/html; charset=utf-8\r\n",
    "\r\nContent-Type: text/html\r\n",
    "\r\nContent-Type: text/plain\r\n",
    "\r\nContent-Type: multipart/form-data; boundary=",
    "\r\nContent-Length: 1",
    "\r\nServer: nginx\r\n",
    "\r\nServer: Apache/2.4.",
    "\r\nLast-Modified: Mon, ",
    "\r\nTransfer-Encoding: chunked\r\n",
    "\r\nContent-Encoding: gzip\r\n",
    "\r\nSet-Cookie: ",
    "\r\nExpires: Thu, ",
    "\r\nVary: Accept-Encoding\r\n",
    "\r\nETag: \"",
    "\r\nDate: Mon, ",
    " GMT\r\n",
    "\r\nHost\r\nUser-Agent\r\nAccept\r\nAccept-Language\r\nAccept-Encoding\r\nConnection\r\n",
    "\r\nHost\r\nConnection\r\nCache-Control\r\nUser-Agent\r\nAccept\r\n",
    "\r\nHost\r\n\r\n",
    "\r\nHost\r\nAccept\r\n",
    "\r\nReferer\r\nCookie\r\n",
    "\r\nContent-Type\r\nContent-Length\r\n",
    "\r\nUser-Agent\r\nHost\r\n",
    "\r\nServer\r\nDate\r\nContent-Type\r\nContent-Length\r\nLast-Modified\r\nConnection\r\n",
    "\r\nAccept-Encoding\r\n\r\n",
    "\r\nConnection\r\n\r\n",
    "\r\nContent-Length\r\n\r\n",
    NULL,
};
