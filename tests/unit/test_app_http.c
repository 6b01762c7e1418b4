/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP/1: transactions and buffers must be the same however the bytes are cut. */
#include <check.h>

#include "app_rig.h"

#define CLIENT(text)                                                                                                   \
    {                                                                                                                  \
        FLOW_TO_SERVER, text, sizeof(text) - 1                                                                         \
    }
#define SERVER(text)                                                                                                   \
    {                                                                                                                  \
        FLOW_TO_CLIENT, text, sizeof(text) - 1                                                                         \
    }
#define END_OF_SERVER                                                                                                  \
    {                                                                                                                  \
        FLOW_TO_CLIENT, NULL, 0                                                                                        \
    }

enum { MAX_PIECES = 8, MAX_WANTED = 8 };

struct piece {
    enum flow_direction direction;
    const char *bytes; /* NULL: the direction ends */
    size_t length;
};

struct wanted {
    uint64_t id;
    const char *keyword;
    enum flow_direction direction;
    unsigned index;
    const char *bytes; /* NULL: the buffer does not exist */
};

struct http_case {
    const char *name, *settings;
    struct piece pieces[MAX_PIECES];
    const char *json[4]; /* by transaction; NULL: not checked */
    struct wanted wanted[MAX_WANTED];
    unsigned transactions; /* 0: not checked */
    bool fails;
};

#define TO_SERVER FLOW_TO_SERVER
#define TO_CLIENT FLOW_TO_CLIENT
#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define GET_A "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

static const struct http_case cases[] = {
    { .name = "a request and its response",
      .pieces = { CLIENT("GET /index.html?a=1 HTTP/1.1\r\nHost: www.Example.com:8080\r\nUser-Agent: curl/8\r\n"
                         "Referer: http://r/\r\n\r\n"),
                  SERVER("HTTP/1.1 404 Not Found\r\nServer: s\r\nContent-Type: text/html; charset=x\r\n"
                         "Content-Length: 5\r\n\r\nhello") },
      .json = { "{\"hostname\":\"www.example.com\",\"http_port\":8080,\"url\":\"/index.html?a=1\",\"http_user_agent\":"
                "\"curl/8\",\"http_content_type\":\"text/html\",\"http_refer\":\"http://r/\",\"http_method\":\"GET\","
                "\"protocol\":\"HTTP/1.1\",\"status\":404,\"length\":5}" },
      .transactions = 1,
      .wanted = { { 0, "http.method", TO_SERVER, 0, "GET" },
                  { 0, "http.uri", TO_SERVER, 0, "/index.html?a=1" },
                  { 0, "http.host", TO_SERVER, 0, "www.example.com" },
                  { 0, "http.host.raw", TO_SERVER, 0, "www.Example.com:8080" },
                  { 0, "http.stat_code", TO_CLIENT, 0, "404" },
                  { 0, "http.stat_msg", TO_CLIENT, 0, "Not Found" },
                  { 0, "http.response_body", TO_CLIENT, 0, "hello" },
                  { 0, "file.data", TO_CLIENT, 0, "hello" } } },
    { .name = "texts of the request",
      .pieces = { CLIENT("POST /x HTTP/1.0\r\nHost: h\r\nCookie: a=b\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc") },
      .wanted = { { 0, "http.request_line", TO_SERVER, 0, "POST /x HTTP/1.0" },
                  { 0, "http.protocol", TO_SERVER, 0, "HTTP/1.0" },
                  { 0, "http.header", TO_SERVER, 0, "Host: h\r\nAccept: */*\r\nContent-Length: 3\r\n" },
                  { 0, "http.header.raw", TO_SERVER, 0,
                    "Host: h\r\nCookie: a=b\r\nAccept: */*\r\nContent-Length: 3\r\n\r\n" },
                  { 0, "http.header_names", TO_SERVER, 0, "\r\nHost\r\nCookie\r\nAccept\r\nContent-Length\r\n\r\n" },
                  { 0, "http.start", TO_SERVER, 0,
                    "POST /x HTTP/1.0\r\nHost: h\r\nCookie: a=b\r\nAccept: */*\r\nContent-Length: 3\r\n\r\n" },
                  { 0, "http.cookie", TO_SERVER, 0, "a=b" },
                  { 0, "http.request_body", TO_SERVER, 0, "abc" } } },
    { .name = "texts of headers that are not written regularly",
      .pieces = { CLIENT("GET / HTTP/1.1\nHost:h\nX-A:  one \r\n\ttwo\nX-a: three\nno colon\nE:\n\n") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"length\":0,"
                "\"events\":[\"REQUEST_FIELD_MISSING_COLON\",\"REQUEST_HEADER_REPETITION\"]}" },
      .wanted = { { 0, "http.header", TO_SERVER, 0, "Host: h\r\nX-A: one \ttwo, three\r\n: no colon\r\nE: \r\n" },
                  { 0, "http.header_names", TO_SERVER, 0, "\r\nHost\r\nX-A\r\n\r\nE\r\n\r\n" },
                  { 0, "http.request_header", TO_SERVER, 1, "X-A: one \ttwo, three" },
                  { 0, "http.request_header", TO_SERVER, 3, "E: " },
                  { 0, "http.request_header", TO_SERVER, 4, NULL },
                  { 0, "http.start", TO_SERVER, 0,
                    "GET / HTTP/1.1\r\nHost: h\r\nX-A: one \ttwo, three\r\n: no colon\r\nE: \r\n\r\n" } } },
    { .name = "odd lines behind plain ones",
      .pieces = { CLIENT("GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-B: 2\r\n\tmore\r\nX-C: 3\nhost: i\r\nX-D: a\rb\r\n"
                         "X-E : 5\r\nX-F: 6\r\n\r\n") },
      .json = { "{\"hostname\":\"h, i\",\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"length\":0,"
                "\"events\":[\"REQUEST_HEADER_HOST_INVALID\",\"REQUEST_HEADER_REPETITION\",\"REQUEST_AMBIGUOUS\"]}" },
      .wanted = { { 0, "http.header", TO_SERVER, 0,
                    "Host: h, i\r\nX-A: 1\r\nX-B: 2\tmore\r\nX-C: 3\r\nX-D: a\rb\r\nX-E: 5\r\nX-F: 6\r\n" },
                  { 0, "http.header_names", TO_SERVER, 0,
                    "\r\nHost\r\nX-A\r\nX-B\r\nX-C\r\nX-D\r\nX-E\r\nX-F\r\n\r\n" } } },
    { .name = "odd lines of a response behind plain ones",
      .pieces = { CLIENT(GET_A),
                  SERVER("HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\rX-C: 3\r\r\nX-D: 4\r\nContent-Length: 5\r\n"
                         " \nhello") },
      .wanted = { { 0, "http.header_names", TO_CLIENT, 0, "\r\nX-A\r\nX-B\r\nX-C\r\nX-D\r\nContent-Length\r\n\r\n" },
                  { 0, "http.response_header", TO_CLIENT, 2, "X-C: 3" },
                  { 0, "http.response_body", TO_CLIENT, 0, "hello" } } },
    { .name = "names that are known, however they are written",
      .pieces = { CLIENT("GET / HTTP/1.1\r\nACCEPT: 1\r\naccept-encoding: 2\r\nAccept-LANGUAGE: 3\r\ncOnnection: 4\r\n"
                         "Content-length: 0\r\ncontent-Type: 6\r\nrEfereR: 7\r\nUser-Agenu: 8\r\nUsss-sssst: 9\r\n"
                         "user_agent: a\r\nuSER-aGENT: b\r\n\r\n") },
      .wanted = { { 0, "http.accept", TO_SERVER, 0, "1" },
                  { 0, "http.accept_enc", TO_SERVER, 0, "2" },
                  { 0, "http.accept_lang", TO_SERVER, 0, "3" },
                  { 0, "http.connection", TO_SERVER, 0, "4" },
                  { 0, "http.content_len", TO_SERVER, 0, "0" },
                  { 0, "http.content_type", TO_SERVER, 0, "6" },
                  { 0, "http.referer", TO_SERVER, 0, "7" },
                  { 0, "http.user_agent", TO_SERVER, 0, "b" } } },
    { .name = "names that differ in case or in a byte 0",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 200 OK\r\nSERVER: a\r\nServe\0r: b\r\nserver: c\r\nserve\0R: d\r\n"
                                        "Etag: e\r\nETAG: f\r\nserver^: g\r\nContent-Length: 0\r\n\r\n") },
      .wanted = { { 0, "http.response_header", TO_CLIENT, 0, "SERVER: a, c" },
                  { 0, "http.response_header", TO_CLIENT, 2, "Etag: e, f" },
                  { 0, "http.response_header", TO_CLIENT, 3, "server^: g" },
                  { 0, "http.server", TO_CLIENT, 0, "b, d" } } },
    { .name = "cookies at the end and at the start",
      .pieces = { CLIENT("GET / HTTP/1.1\r\nHost: h\r\nCookie: c\r\n\r\n"),
                  SERVER("HTTP/1.1 200 OK\r\nSet-Cookie: d\r\nServer: s\r\nContent-Length: 0\r\n\r\n") },
      .wanted = { { 0, "http.header", TO_SERVER, 0, "Host: h\r\n" },
                  { 0, "http.header", TO_CLIENT, 0, "Server: s\r\nContent-Length: 0\r\n" },
                  { 0, "http.cookie", TO_CLIENT, 0, "d" },
                  { 0, "http.start", TO_CLIENT, 0,
                    "HTTP/1.1 200 OK\r\nSet-Cookie: d\r\nServer: s\r\nContent-Length: 0\r\n\r\n" },
                  { 0, "http.server", TO_CLIENT, 0, "s" } } },
    { .name = "two cookies of a response",
      .pieces = { CLIENT("GET / HTTP/1.0\r\n\r\n"),
                  SERVER("HTTP/1.0 302 Found\r\nSet-Cookie: d\r\nLocation: /l\r\nSet-Cookie: e\r\n\r\nbody"),
                  END_OF_SERVER },
      .json = { "{\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.0\",\"status\":302,\"redirect\":\"/l\","
                "\"length\":4,\"events\":[\"RESPONSE_HEADER_REPETITION\"]}" },
      .wanted = { { 0, "http.header", TO_CLIENT, 0, "Location: /l\r\n" },
                  { 0, "http.cookie", TO_CLIENT, 0, "d, e" },
                  { 0, "http.header", TO_SERVER, 0, NULL },
                  { 0, "http.header_names", TO_SERVER, 0, NULL },
                  { 0, "http.response_body", TO_CLIENT, 0, "body" } } },
    { .name = "chunks, an extension, trailers",
      .pieces = { CLIENT("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
                  SERVER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "5\r\nhello\r\n0006;x=y\r\n world\r\n0\r\nX-T: t\r\n\r\n" HELLO) },
      .json = { "{\"hostname\":\"h\",\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":31,\"events\":[\"RESPONSE_CHUNK_EXTENSION\"]}",
                "{\"url\":\"/libhtp::request_uri_not_seen\",\"status\":200,\"length\":5,\"events\":[\"UNABLE_TO_MATCH_"
                "RESPONSE_TO_REQUEST\"]}" },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, "hello world" },
                  { 0, "http.header", TO_CLIENT, 0, "Transfer-Encoding: chunked\r\nX-T: t\r\n" },
                  { 0, "http.header.raw", TO_CLIENT, 0, "Transfer-Encoding: chunked\r\n\r\nX-T: t\r\n\r\n" },
                  { 0, "http.start", TO_CLIENT, 0,
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-T: t\r\n\r\n" } },
      .transactions = 2 },
    { .name = "chunks of a request",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" GET_A),
                  SERVER(HELLO HELLO) },
      .wanted = { { 0, "http.request_body", TO_SERVER, 0, "abc" }, { 1, "http.uri", TO_SERVER, 0, "/a" } },
      .transactions = 2 },
    { .name = "a chunk without a length",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nplain text\r\nmore") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":16,\"events\":[\"INVALID_RESPONSE_CHUNK_LEN\"]}" },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, "plain text\r\nmore" } } },
    { .name = "a chunk of a request without a length",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n") },
      .fails = true },
    { .name = "pipelining",
      .pieces = { CLIENT(
                      GET_A
                      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxyGET /c HTTP/1.1\r\nHost: h\r\n\r\n"),
                  SERVER(HELLO "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n") },
      .wanted = { { 0, "http.uri", TO_SERVER, 0, "/a" },
                  { 1, "http.uri", TO_SERVER, 0, "/b" },
                  { 1, "http.request_body", TO_SERVER, 0, "xy" },
                  { 2, "http.uri", TO_SERVER, 0, "/c" },
                  { 1, "http.stat_code", TO_CLIENT, 0, "204" },
                  { 2, "http.stat_code", TO_CLIENT, 0, "304" } },
      .transactions = 3 },
    { .name = "100 Continue",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
                  SERVER("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"), CLIENT("ok"), SERVER(HELLO) },
      .wanted = { { 0, "http.stat_code", TO_CLIENT, 0, "200" },
                  { 0, "http.header", TO_CLIENT, 0, "Content-Length: 5\r\n" },
                  { 0, "http.request_body", TO_SERVER, 0, "ok" },
                  { 0, "http.response_body", TO_CLIENT, 0, "hello" } },
      .transactions = 1 },
    { .name = "a refused expectation",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
                  SERVER("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"), CLIENT(GET_A), SERVER(HELLO) },
      .wanted = { { 1, "http.uri", TO_SERVER, 0, "/a" }, { 1, "http.stat_code", TO_CLIENT, 0, "200" } },
      .transactions = 2 },
    { .name = "HEAD has no body",
      .pieces = { CLIENT("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" GET_A),
                  SERVER("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" HELLO) },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, NULL }, { 1, "http.response_body", TO_CLIENT, 0, "hello" } },
      .transactions = 2 },
    { .name = "HTTP/0.9",
      .pieces = { CLIENT("GET /old\r\n"), SERVER("<html>\nHTTP/1.1 200 OK\r\n"), END_OF_SERVER },
      .json = { "{\"url\":\"/old\",\"http_method\":\"GET\",\"length\":24}" },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, "<html>\nHTTP/1.1 200 OK\r\n" },
                  { 0, "http.uri", TO_SERVER, 0, "/old" } },
      .transactions = 1 },
    { .name = "a request line without protocol",
      .pieces = { CLIENT("GET /old\r\nHost: h\r\n\r\n"), SERVER(HELLO) },
      .json = { "{\"hostname\":\"h\",\"url\":\"/old\",\"http_method\":\"GET\",\"status\":200,\"length\":5,\"events\":["
                "\"REQUEST_LINE_MISSING_PROTOCOL\"]}" },
      .transactions = 1 },
    { .name = "a body without an end",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 is a protocol"), END_OF_SERVER },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, "HTTP/1.1 is a protocol" } },
      .transactions = 1 },
    { .name = "a response without a status line",
      .pieces = { CLIENT(GET_A), SERVER("<html>hello</html>\nmore\n"), END_OF_SERVER },
      .wanted = { { 0, "http.response_body", TO_CLIENT, 0, "<html>hello</html>\nmore\n" } },
      .transactions = 1 },
    { .name = "too much behind a response",
      .pieces = { CLIENT(GET_A GET_A), SERVER(HELLO "junk\r\n" HELLO) },
      .json = { NULL,
                "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":5,\"events\":[\"RESPONSE_BODY_UNEXPECTED\"]}" },
      .transactions = 2 },
    { .name = "too much behind a request",
      .pieces = { CLIENT("POST /p HTTP/1.1\r\nHost: h\r\n\r\na=b&c=d\r\n" GET_A), SERVER(HELLO HELLO) },
      .json = { "{\"hostname\":\"h\",\"url\":\"/p\",\"http_method\":\"POST\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":5,\"events\":[\"REQUEST_BODY_UNEXPECTED\"]}" },
      .wanted = { { 0, "http.request_body", TO_SERVER, 0, "a=b&c=d\r\n" }, { 1, "http.uri", TO_SERVER, 0, "/a" } },
      .transactions = 2 },
    { .name = "line ends of a response",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 200 OK\nA: b\rC: d\r\n\nbody"), END_OF_SERVER },
      .wanted = { { 0, "http.header", TO_CLIENT, 0, "A: b\r\nC: d\r\n" },
                  { 0, "http.response_body", TO_CLIENT, 0, "body" } } },
    { .name = "folded lines of a response",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n D: e\r\nContent-Length: 0\r\n\r\n") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":0,\"events\":[\"INVALID_RESPONSE_FIELD_FOLDING\",\"RESPONSE_AMBIGUOUS\"]}" },
      .wanted = { { 0, "http.header", TO_CLIENT, 0, "A: b c\r\nD: e\r\nContent-Length: 0\r\n" } } },
    { .name = "CONNECT that is refused",
      .pieces = { CLIENT("CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n"),
                  SERVER("HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n"), CLIENT(GET_A), SERVER(HELLO) },
      .json = { "{\"hostname\":\"host\",\"http_port\":443,\"url\":\"host:443\",\"http_method\":\"CONNECT\","
                "\"protocol\":"
                "\"HTTP/1.1\",\"status\":407,\"length\":0}" },
      .wanted = { { 0, "http.uri", TO_SERVER, 0, "host:443" },
                  { 0, "http.uri.raw", TO_SERVER, 0, "host:443" },
                  { 1, "http.uri", TO_SERVER, 0, "/a" } },
      .transactions = 2 },
    { .name = "a request behind CONNECT before the response",
      .pieces = { CLIENT("CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n" GET_A) },
      .wanted = { { 0, "http.uri", TO_SERVER, 0, "host:443" }, { 1, "http.uri", TO_SERVER, 0, "/a" } },
      .transactions = 2 },
    { .name = "a request behind CONNECT with a body",
      .pieces = { CLIENT("CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\nContent-Length: 4\r\n\r\nbody" GET_A),
                  SERVER("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"), SERVER(HELLO) },
      .wanted = { { 0, "http.uri", TO_SERVER, 0, "host:443" },
                  { 1, "http.request_body", TO_SERVER, 0, "body" },
                  { 2, "http.method", TO_SERVER, 0, "bodyGET" },
                  { 3, "http.method", TO_SERVER, 0, "GET" } },
      .transactions = 4 },
    { .name = "a later request with a method in lower case and tabs",
      .pieces = { CLIENT(GET_A), SERVER(HELLO), CLIENT("get\t/evil\tHTTP/1.1\r\nHost: h\r\n\r\n"), SERVER(HELLO) },
      .wanted = { { 1, "http.method", TO_SERVER, 0, "get" }, { 1, "http.uri", TO_SERVER, 0, "/evil" } },
      .transactions = 2 },
    { .name = "a later request with the separators of Python",
      .pieces = { CLIENT(GET_A), SERVER(HELLO), CLIENT("GET\x1c/evil\xa0HTTP/1.1\r\nHost: h\r\n\r\n"), SERVER(HELLO) },
      .wanted = { { 1, "http.method", TO_SERVER, 0, "GET" }, { 1, "http.uri", TO_SERVER, 0, "/evil" } },
      .transactions = 2 },
    { .name = "CONNECT to something that speaks HTTP",
      .pieces = { CLIENT("CONNECT host:80 HTTP/1.1\r\nHost: host:80\r\n\r\n"), SERVER("HTTP/1.1 200 OK\r\n\r\n"),
                  CLIENT(GET_A), SERVER(HELLO) },
      .wanted = { { 0, "http.stat_code", TO_CLIENT, 0, "200" }, { 1, "http.uri", TO_SERVER, 0, "/a" } },
      .transactions = 2 },
    { .name = "101 with a length goes on",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/1.1 101 S\r\nContent-Length: 5\r\n\r\nhello") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":101,"
                "\"length\":5,\"events\":[\"RESPONSE_BODY_UNEXPECTED\",\"SWITCHING_PROTO_WITH_CONTENT_LENGTH\","
                "\"RESPONSE_AMBIGUOUS\"]}" } },
    { .name = "what is wrong with a request",
      .pieces = { CLIENT(GET_A
                         " GET\t/a b HTTP/1.1\r\n Host: h\r\nb@d: x\r\nContent-Length: 1x\r\nContent-Length: 2\r\n"
                         "Authorization: Foo\r\n\r\nx") },
      .json = { NULL,
                "{\"hostname\":\"h\",\"url\":\"/a b\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"length\":0,"
                "\"events\":[\"DUPLICATE_CONTENT_LENGTH_FIELD_IN_REQUEST\",\"REQUEST_HEADER_INVALID\","
                "\"INVALID_REQUEST_FIELD_FOLDING\",\"METHOD_DELIM_NON_COMPLIANT\",\"REQUEST_LINE_LEADING_WHITESPACE\","
                "\"REQUEST_AUTH_UNRECOGNIZED\",\"REQUEST_HEADER_REPETITION\",\"CONTENT_LENGTH_EXTRA_DATA_END\","
                "\"REQUEST_AMBIGUOUS\"]}" },
      .wanted = { { 1, "http.request_body", TO_SERVER, 0, "x" } } },
    { .name = "hosts",
      .pieces = { CLIENT("GET http://A.b:81/ HTTP/1.1\r\nHost: c\r\n\r\nGET / HTTP/1.1\r\n\r\n"
                         "GET / HTTP/1.1\r\nHost: a..b\r\n\r\nGET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n") },
      .json = { "{\"hostname\":\"a.b\",\"http_port\":81,\"url\":\"http://A.b:81/"
                "\",\"http_method\":\"GET\",\"protocol\":"
                "\"HTTP/1.1\",\"length\":0,\"events\":[\"HOST_HEADER_AMBIGUOUS\"]}",
                "{\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/"
                "1.1\",\"length\":0,\"events\":[\"MISSING_HOST_"
                "HEADER\"]}",
                "{\"hostname\":\"a..b\",\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"length\":0,"
                "\"events\":[\"REQUEST_HEADER_HOST_INVALID\"]}",
                "{\"hostname\":\"[::1]\",\"http_port\":80,\"url\":\"/\",\"http_method\":\"GET\",\"protocol\":\"HTTP/"
                "1.1\","
                "\"length\":0}" },
      .wanted = { { 0, "http.uri", TO_SERVER, 0, "/" }, { 0, "http.host.raw", TO_SERVER, 0, "a.b" } } },
    { .name = "what is wrong with a response",
      .pieces = { CLIENT(GET_A), SERVER("HTTP/7 2000 x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/"
                "1.1\",\"status_string\":"
                "\"2000\",\"length\":3,\"events\":[\"RESPONSE_ABNORMAL_TRANSFER_ENCODING\",\"RESPONSE_CHUNKED_OLD_"
                "PROTO\","
                "\"RESPONSE_INVALID_PROTOCOL\",\"RESPONSE_INVALID_STATUS\",\"RESPONSE_AMBIGUOUS\"]}" } },
    { .name = "a response without a request",
      .pieces = { SERVER(HELLO) },
      .json = { "{\"url\":\"/libhtp::request_uri_not_seen\",\"status\":200,\"length\":5,\"events\":[\"UNABLE_TO_MATCH_"
                "RESPONSE_TO_REQUEST\"]}" } },
    { .name = "all headers in the log",
      .settings = "eve: { types: { http: { dump-all-headers: both, extended: no } } }",
      .pieces = { CLIENT(GET_A), SERVER(HELLO) },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"request_headers\":[{\"name\":\"Host\",\"value\":\"h\"}],"
                "\"response_headers\":[{\"name\":\"Content-Length\",\"value\":\"5\"}]}" } },
    { .name = "chosen headers in the log",
      .settings = "eve: { types: { http: { extended: yes, custom: [content_length, server] } } }",
      .pieces = { CLIENT(GET_A), SERVER(HELLO) },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":200,"
                "\"length\":5,\"response_headers\":[{\"name\":\"Content-Length\",\"value\":\"5\"}]}" } },
    { .name = "a range",
      .pieces = { CLIENT(GET_A),
                  SERVER("HTTP/1.1 206 P\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nhello") },
      .json = { "{\"hostname\":\"h\",\"url\":\"/a\",\"content_range\":{\"raw\":\"bytes 0-4/10\",\"start\":0,\"end\":4,"
                "\"size\":10},\"http_method\":\"GET\",\"protocol\":\"HTTP/1.1\",\"status\":206,\"length\":5}" } },
    { .name = "limits of bodies",
      .settings = "app-layer: { http: { request-body-limit: 4, response-body-limit: 3 } }",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789" GET_A),
                  SERVER(HELLO HELLO) },
      .wanted = { { 0, "http.request_body", TO_SERVER, 0, "0123" },
                  { 0, "http.response_body", TO_CLIENT, 0, "hel" },
                  { 1, "http.response_body", TO_CLIENT, 0, "hel" } } },
    { .name = "a line that is too long",
      .settings = "app-layer: { protocols: { http: { libhtp: { default-config: { meta-field-limit: 256 } } } } }",
      .pieces = { CLIENT(
          "GET /" /* 260 bytes */
          "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
          "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
          "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123") },
      .fails = true },
    { .name = "too many headers",
      .settings = "app-layer: { http: { headers-limit: 2 } }",
      .pieces = { CLIENT("GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n") },
      .fails = true },
    { .name = "too many headers with those behind the last chunk",
      .settings = "app-layer: { http: { headers-limit: 6 } }",
      .pieces = { CLIENT("POST / HTTP/1.1\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
                  CLIENT("A-Trailer-With-A-Long-Name: 1\r\nAnother-Trailer-With-A-Long-Name: 2\r\nC: 3\r\nD: 4\r\n"
                         "E: 5\r\n\r\n") },
      .wanted = { { 0, "http.header_names", TO_SERVER, 0,
                    "\r\nA\r\nTransfer-Encoding\r\nA-Trailer-With-A-Long-Name\r\n"
                    "Another-Trailer-With-A-Long-Name\r\nC\r\nD\r\n\r\n" } },
      .fails = true },
};

static void play(struct app_rig *rig, const struct http_case *c)
{
    for (unsigned i = 0; i < MAX_PIECES; i++) {
        const struct piece *piece = &c->pieces[i];

        if (piece->bytes)
            app_rig_send(rig, piece->direction, piece->bytes, piece->length);
        else if (piece->direction == FLOW_TO_CLIENT)
            app_rig_end(rig, piece->direction);
    }
    app_rig_close(rig);
}

static void check_buffer(const struct app_rig *rig, const struct http_case *c, const struct wanted *wanted)
{
    struct app_bytes bytes;
    bool there = app_rig_buffer(rig, wanted->id, wanted->keyword, wanted->direction, wanted->index, &bytes);

    ck_assert_msg(there == (wanted->bytes != NULL), "%s, cut %d: %s is %sthere", c->name, rig->cut, wanted->keyword,
                  there ? "" : "not ");
    if (there)
        ck_assert_msg(bytes.length == strlen(wanted->bytes) && memcmp(bytes.bytes, wanted->bytes, bytes.length) == 0,
                      "%s, cut %d: %s is \"%.*s\"", c->name, rig->cut, wanted->keyword, (int)bytes.length,
                      (const char *)bytes.bytes);
}

static void run_case(const struct http_case *c, int cut)
{
    struct app_rig *rig =
        app_rig_new("http", c->settings ? c->settings : "eve: { types: { http: { extended: yes } } }");

    rig->cut = cut;
    play(rig, c);
    ck_assert_msg(rig->failed == c->fails, "%s, cut %d: %s", c->name, cut, rig->failed ? "failed" : "did not fail");
    for (unsigned i = 0; i < 4; i++) {
        const char *json = app_rig_json(rig, i);

        if (c->json[i])
            ck_assert_msg(json && strcmp(json, c->json[i]) == 0, "%s, cut %d: %s", c->name, cut, json ? json : "none");
    }
    for (unsigned i = 0; i < MAX_WANTED && c->wanted[i].keyword; i++)
        check_buffer(rig, c, &c->wanted[i]);
    if (c->transactions > 0)
        ck_assert_msg(app_rig_tx(rig, c->transactions - 1) && !app_rig_tx(rig, c->transactions),
                      "%s, cut %d: not %u transactions", c->name, cut, c->transactions);
    app_rig_free(rig);
}

START_TEST(messages)
{
    run_case(&cases[_i], 0);
    run_case(&cases[_i], 1);
    run_case(&cases[_i], 7);
    run_case(&cases[_i], -1);
}
END_TEST

/* --- URIs ----------------------------------------------------------------------------------------- */

static const struct {
    const char *raw, *normalised, *settings;
} uris[] = {
    { "/", "/", NULL },
    { "/a/b?c=d", "/a/b?c=d", NULL },
    { "/%61bc", "/abc", NULL },
    { "//a///b", "/a/b", NULL },
    { "/a/./b/../c", "/a/c", NULL },
    { "/../../etc/passwd", "/etc/passwd", NULL },
    { "/a/..", "/", NULL },
    { "/a/.", "/a/", NULL },
    { "/a\\b\\..\\c", "/a/c", NULL },
    { "/a%2fb%5cc", "/a/b/c", NULL },
    { "/%2e%2e/x", "/x", NULL },
    { "/a%zzb%4", "/a%zzb%4", NULL },
    { "/%u0041%u00e9", "/A\xe9", NULL },
    { "/%uff21", "/A", NULL },
    { "/caf\xc3\xa9", "/caf\xe9", NULL },
    { "/a?q=%41%20+b%2541", "/a?q=A +b%41", NULL },
    { "/a?q=../b//c", "/a?q=../b//c", NULL },
    { "/a#frag%41", "/a#fragA", NULL },
    { "/AbC", "/AbC", NULL },
    { "/%2541", "/%41", NULL },
    { "http://host/a/../b?c", "/b?c", NULL },
    { "http://user:pw@host:80", NULL, NULL },
    { "*", "*", NULL },
    { "/a%00b", NULL, NULL }, /* checked below */
    { "/%2541", "/A", "app-layer: { http: { double-decode-path: yes } }" },
    { "/?%2541", "/?A", "app-layer: { http: { double-decode-query: yes } }" },
    { "/a%2fb//c\\d", "/a%2fb/c\\d", "app-layer: { http: { personality: Apache_2 } }" },
    { "/a%2fb//c\\d", "/a%2fb//c\\d", "app-layer: { http: { personality: Minimal } }" },
    { "/AbC", "/abc", "app-layer: { http: { path-convert-lowercase: yes } }" },
    { "/?a+b", "/?a b", "app-layer: { http: { query-plusspace-decode: yes } }" },
    { "/a%zz", "/azz", "app-layer: { http: { path-url-encoding-invalid-handling: remove_percent } }" },
    { "http://h/a", "http://h/a", "app-layer: { http: { uri-include-all: yes } }" },
};

START_TEST(normalised_uris)
{
    struct app_rig *rig = app_rig_new("http", uris[_i].settings);
    struct app_bytes bytes;
    char request[256];

    snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", uris[_i].raw);
    app_rig_text(rig, FLOW_TO_SERVER, request);
    ck_assert(app_rig_buffer(rig, 0, "http.uri.raw", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_int_eq(bytes.length, strlen(uris[_i].raw));
    bool there = app_rig_buffer(rig, 0, "http.uri", FLOW_TO_SERVER, 0, &bytes);

    if (strcmp(uris[_i].raw, "/a%00b") == 0)
        ck_assert(there && bytes.length == 4 && memcmp(bytes.bytes, "/a\0b", 4) == 0);
    else
        ck_assert_msg(there == (uris[_i].normalised != NULL) &&
                          (!there || (bytes.length == strlen(uris[_i].normalised) &&
                                      memcmp(bytes.bytes, uris[_i].normalised, bytes.length) == 0)),
                      "%s: %.*s", uris[_i].raw, there ? (int)bytes.length : 5,
                      there ? (const char *)bytes.bytes : "(no)");
    app_rig_free(rig);
}
END_TEST

/* --- When ----------------------------------------------------------------------------------------- */

/* A buffer is available with the packet that completes it, so that a rule can drop this packet. */
START_TEST(buffers_are_there_at_once)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    struct app_bytes bytes;

    app_rig_text(rig, FLOW_TO_SERVER, "GET /a HTTP/1.1\r");
    ck_assert(!app_rig_buffer(rig, 0, "http.uri", FLOW_TO_SERVER, 0, &bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "\n");
    ck_assert(app_rig_buffer(rig, 0, "http.uri", FLOW_TO_SERVER, 0, &bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "Host: h\r\nContent-Length: 6\r\n\r");
    ck_assert(!app_rig_buffer(rig, 0, "http.host", FLOW_TO_SERVER, 0, &bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "\n");
    ck_assert(app_rig_buffer(rig, 0, "http.host", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(!app_rig_buffer(rig, 0, "http.request_body", FLOW_TO_SERVER, 0, &bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "abc");
    ck_assert(app_rig_buffer(rig, 0, "http.request_body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.partial && bytes.length == 3);
    app_rig_text(rig, FLOW_TO_SERVER, "def");
    ck_assert(app_rig_buffer(rig, 0, "http.request_body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(!bytes.partial && bytes.length == 6);
    app_rig_free(rig);
}
END_TEST

START_TEST(other_protocols_follow)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    app_rig_text(rig, FLOW_TO_SERVER, "CONNECT h:22 HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-OpenSSH_9\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-PuTTY\r\n");
    ck_assert_str_eq(app_rig_protocol(rig), "ssh");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    app_rig_free(rig);
}
END_TEST

/* The client need not wait for the response to CONNECT. Bytes that it sends before the response are parsed after it. */
START_TEST(tunnels_begin_early)
{
    static const int cuts[] = { 0, 1, 7 };
    static const char hello[] = "\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03"
                                "0123456789abcdef0123456789abcdef\x00\x00\x02\x13\x01\x01\x00\x00\x00";

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct app_rig *rig = app_rig_new("http", NULL);

        rig->cut = cuts[i];
        app_rig_text(rig, FLOW_TO_SERVER, "CONNECT h:22 HTTP/1.1\r\nHost: h\r\n\r\nSSH-2.0-PuTTY\r\n");
        app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-OpenSSH_9\r\n");
        ck_assert_str_eq(app_rig_protocol(rig), "ssh");
        app_rig_free(rig);
        rig = app_rig_new("http", NULL);
        rig->cut = cuts[i];
        app_rig_text(rig, FLOW_TO_SERVER, "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n");
        app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello) - 1);
        app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\n\r\n");
        ck_assert_str_eq(app_rig_protocol(rig), "tls");
        ck_assert(!rig->failed);
        app_rig_free(rig);
    }
}
END_TEST

/* After a refused CONNECT the connection continues as HTTP. */
START_TEST(refused_tunnels_are_http)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    struct app_bytes bytes;

    app_rig_text(rig, FLOW_TO_SERVER, "CONNECT h:22 HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 407 Authenticate\r\nContent-Length: 0\r\n\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, "FOO /evil HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\ntext");
    app_rig_text(rig, FLOW_TO_CLIENT, HELLO);
    app_rig_text(rig, FLOW_TO_SERVER, "CONNECT h:22 HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-OpenSSH_9\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-PuTTY\r\n");
    ck_assert(app_rig_buffer(rig, 1, "http.uri", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.length == 5 && memcmp(bytes.bytes, "/evil", 5) == 0);
    ck_assert(app_rig_buffer(rig, 1, "http.request_body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.length == 4 && memcmp(bytes.bytes, "text", 4) == 0);
    ck_assert(app_rig_buffer(rig, 1, "http.stat_code", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert_str_eq(app_rig_protocol(rig), "ssh");
    app_rig_free(rig);
}
END_TEST

/* First requests that servers answer with a response; on port 80 unless stated otherwise. */
START_TEST(first_requests_are_identified)
{
    static const struct {
        const char *request;
        uint16_t port;
    } firsts[] = {
        { "FOO /evil HTTP/1.1\r\nHost: h\r\n\r\n", 8000 },
        { "get /evil HTTP/1.1\r\nHost: h\r\n\r\n", 8000 },
        { "\r\n\r\nGET /evil HTTP/1.1\r\nHost: h\r\n\r\n", 8000 },
        { "\r\nSEARCH\t/evil\tHTTP/1.0\r\n\r\n", 8000 },
        { "GET\v/evil\fHTTP/1.1\r\nHost: h\r\n\r\n", 8000 },
        { "QUIT /evil HTTP/1.1\r\nHost: h\r\n\r\n", 8000 },
        { "EHLO /evil HTTP/1.1\r\nHost: h\r\n\r\n", 80 },
        { "FOO /evil\r\n", 80 },
        { "\x01\xff\xfe /evil HTTP/1.1\r\n\r\n", 8000 },
        { "!#GET /evil HTTP/1.1\r\n\r\n", 8000 },
        { "0123456789012345678901234567890123456789012345678901234567890123456789 /evil HTTP/1.1\r\n\r\n", 8000 },
        { "GET /evil HTTP 1.1\r\n\r\n", 8000 },
        { "PRI * HTTP/2.0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n", 8000 },
    };

    for (size_t i = 0; i < 2 * sizeof(firsts) / sizeof(firsts[0]); i++) {
        struct app_rig *rig = app_rig_new("http", NULL);

        rig->cut = (int)(i % 2); /* 1: one byte per piece */
        rig->flow.server_port = firsts[i / 2].port;
        app_rig_text(rig, FLOW_TO_SERVER, firsts[i / 2].request);
        bool is_http = app_flow_protocol(&rig->flow) == app_id_by_name("http");

        ck_assert_msg(is_http || app_other_protocols(&rig->flow) >> app_id_by_name("http") & 1, "%s",
                      firsts[i / 2].request);
        app_rig_text(rig, FLOW_TO_CLIENT, HELLO);
        /* It is no error that the server does not speak the other protocol. */
        ck_assert_msg(!rig->failed, "%s", firsts[i / 2].request);
        app_rig_free(rig);
    }
}
END_TEST

/* The first request is also a valid command of SMTP; the second cannot be parsed as HTTP. Only the server's answer
 * shows which protocol it speaks. */
START_TEST(failures_beside_another_protocol)
{
    static const char first[] = "EHLO /a HTTP/1.1\r\nHost: h\r\n\r\n",
                      broken[] =
                          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nGET /evil HTTP/1.1\r\n\r\n";
    static const struct {
        const char *before, *answer;
        bool fails;
    } servers[] = {
        { NULL, NULL, true },
        { NULL, HELLO, true },
        { NULL, "220 h ESMTP\r\n250 h\r\n", false },
        { "220 h ESMTP\r\n", "250 h\r\n", false },
    };

    for (size_t i = 0; i < 2 * sizeof(servers) / sizeof(servers[0]); i++) {
        struct app_rig *rig = app_rig_new("http", NULL);

        rig->cut = (int)(i % 2); /* 1: one byte per piece */
        rig->flow.server_port = 8000;
        if (servers[i / 2].before)
            app_rig_text(rig, FLOW_TO_CLIENT, servers[i / 2].before);
        app_rig_text(rig, FLOW_TO_SERVER, first);
        if (servers[i / 2].answer)
            app_rig_text(rig, FLOW_TO_CLIENT, servers[i / 2].answer);
        ck_assert_msg(!rig->failed, "case %zu", i);
        app_rig_text(rig, FLOW_TO_SERVER, broken);
        ck_assert_msg(rig->failed == servers[i / 2].fails, "case %zu", i);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(long_blanks_and_lines_are_identified)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    static char text[3000];

    rig->flow.server_port = 8000;
    memset(text, '\n', 2000);
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert_uint_eq(app_flow_protocol(&rig->flow), app_id_by_name("http"));
    app_rig_free(rig);
    rig = app_rig_new("http", NULL);
    rig->flow.server_port = 8000;
    memset(text, 'a', 2000);
    memcpy(text, "FOO /", 5);
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert_uint_eq(app_flow_protocol(&rig->flow), app_id_by_name("http"));
    app_rig_free(rig);
}
END_TEST

/* The server's response identifies earlier bytes of the client as a request. */
START_TEST(responses_identify_requests)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    rig->flow.server_port = 8000;
    app_rig_text(rig, FLOW_TO_SERVER, "FOO /evil\r\n");
    ck_assert_uint_eq(app_flow_protocol(&rig->flow), 0);
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    ck_assert_uint_eq(app_flow_protocol(&rig->flow), app_id_by_name("http"));
    ck_assert_uint_eq(app_tx_count(&rig->flow), 1);
    app_rig_text(rig, FLOW_TO_SERVER, GET_A);
    ck_assert_uint_eq(app_tx_count(&rig->flow), 2);
    app_rig_free(rig);
}
END_TEST

START_TEST(all_equal_headers_are_joined)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    static char text[16384];
    size_t used = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\n");
    struct app_bytes bytes;

    for (unsigned i = 0; i < 500; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "Cookie: a%u\r\n", i);
    snprintf(text + used, sizeof(text) - used, "\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert(app_rig_buffer(rig, 0, "http.cookie", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(memcmp(bytes.bytes, "a0, a1, ", 8) == 0);
    ck_assert(memcmp(bytes.bytes + bytes.length - 6, ", a499", 6) == 0);
    app_rig_free(rig);
}
END_TEST

/* --- Floods --------------------------------------------------------------------------------------- */

START_TEST(many_requests)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    rig->tidy = true;
    for (unsigned i = 0; i < 2000; i++) {
        app_rig_text(rig, FLOW_TO_SERVER, GET_A);
        app_rig_text(rig, FLOW_TO_CLIENT, HELLO);
    }
    ck_assert(!rig->failed);
    ck_assert(!app_transactions(&rig->flow));
    for (unsigned i = 0; i < 10000 && !rig->failed; i++)
        app_rig_text(rig, FLOW_TO_SERVER, GET_A);
    ck_assert(rig->failed); /* no response */
    app_rig_free(rig);
}
END_TEST

START_TEST(endless_extensions)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    static char line[300 << 10];

    app_rig_text(rig, FLOW_TO_SERVER, GET_A);
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    memset(line, 'x', sizeof(line));
    app_rig_send(rig, FLOW_TO_CLIENT, line, sizeof(line));
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 0, "response_field_too_long"));
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http");
    TCase *tcase = tcase_create("http");
    SRunner *runner;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, messages, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(tcase, normalised_uris, 0, sizeof(uris) / sizeof(uris[0]));
    tcase_add_test(tcase, buffers_are_there_at_once);
    tcase_add_test(tcase, other_protocols_follow);
    tcase_add_test(tcase, tunnels_begin_early);
    tcase_add_test(tcase, refused_tunnels_are_http);
    tcase_add_test(tcase, first_requests_are_identified);
    tcase_add_test(tcase, failures_beside_another_protocol);
    tcase_add_test(tcase, long_blanks_and_lines_are_identified);
    tcase_add_test(tcase, responses_identify_requests);
    tcase_add_test(tcase, all_equal_headers_are_joined);
    tcase_add_test(tcase, many_requests);
    tcase_add_test(tcase, endless_extensions);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
