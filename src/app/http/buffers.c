/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers of HTTP: the getter of each buffer, the keyword that selects it, and the older form of the keyword, a
 * modifier that moves the preceding content: `content:"a"; http_uri;` equals `http.uri; content:"a";`. The table at the
 * end has the progress from which on a buffer is available: parts of the first line when that line is complete, the
 * others when the headers are complete; bodies grow after that.
 */
#include "http_priv.h"

#include "keywords.h"

/* --- Getters ----------------------------------------------------------------------------------------- */

/* A single header: part is enum http_known. */
static bool get_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return which.index == 0 && http_get_known(tx, which.direction, (enum http_known)which.part, out);
}

static bool get_cookie(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return which.index == 0 &&
           http_get_known(tx, which.direction, which.direction == FLOW_TO_SERVER ? HTTP_COOKIE : HTTP_SET_COOKIE, out);
}

/* --- Keywords ---------------------------------------------------------------------------------------- */

static const char *const applications[] = { "http", "http2", "doh2", NULL };

extern const struct keyword keyword_content;

static const struct content *content_of(const struct condition *condition)
{
    return condition->keyword == &keyword_content ? condition->data : NULL;
}

/* The buffer is in lower case, so a content with upper-case letters never matches. */
static int finish_host(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        const struct content *content = content_of(c);

        if (content && content->nocase)
            rule_parser_warning(parser, rule_parser_rule_span(parser),
                                "'http.host' is lower case: 'nocase' has no effect");
        for (uint16_t i = 0; content && !content->nocase && i < content->length; i++) {
            if (content->bytes[i] >= 'A' && content->bytes[i] <= 'Z')
                return rule_parser_error(parser, rule_parser_rule_span(parser),
                                         "'http.host' is lower case: a content with upper-case letters never matches");
        }
    }
    return 0;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static int finish_method(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        const struct content *content = content_of(c);

        if (content && content->length > 0 &&
            (is_blank(content->bytes[0]) || is_blank(content->bytes[content->length - 1])))
            return rule_parser_error(
                parser, rule_parser_rule_span(parser),
                "'http.method' contains no blanks: a content that starts or ends with a blank never matches");
    }
    return 0;
}

const struct keyword keyword_http_method = {
    .name = "http.method",
    .help = "selects the method of the request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .finish = finish_method,
    .hints = &(const struct prefilter_hints){ .few_values = true },
};

const struct keyword keyword_modifier_http_method = {
    .name = "http_method",
    .help = "moves the preceding content to http.method",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_method,
};

const struct keyword keyword_http_uri = {
    .name = "http.uri",
    .help = "selects the URI of the request, normalised",
    .manual = "Path, query and fragment, decoded, with the dot segments of the path resolved; without scheme and host.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_uris },
};

const struct keyword keyword_modifier_http_uri = {
    .name = "http_uri",
    .help = "moves the preceding content to http.uri",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_uri,
};

const struct keyword keyword_http_uri_raw = {
    .name = "http.uri.raw",
    .help = "selects the URI of the request as sent",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_uris },
};

const struct keyword keyword_modifier_http_raw_uri = {
    .name = "http_raw_uri",
    .help = "moves the preceding content to http.uri.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_uri_raw,
};

const struct keyword keyword_http_host = {
    .name = "http.host",
    .help = "selects the host of the request in lower case, without port",
    .manual = "The host in the URI, or else in the Host header.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .finish = finish_host,
    .hints = &(const struct prefilter_hints){ .common = http_common_hosts },
};

const struct keyword keyword_modifier_http_host = {
    .name = "http_host",
    .help = "moves the preceding content to http.host",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_host,
};

const struct keyword keyword_http_host_raw = {
    .name = "http.host.raw",
    .help = "selects the host of the request as sent",
    .manual = "The host in the URI, or else the Host header.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_hosts },
};

const struct keyword keyword_modifier_http_raw_host = {
    .name = "http_raw_host",
    .help = "moves the preceding content to http.host.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_host_raw,
};

const struct keyword keyword_http_header = {
    .name = "http.header",
    .help = "selects the headers, as \"Name: value\" with CRLF, without cookies",
    .manual = "Folded lines are joined, and the values of headers with the same name are joined by a comma.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_modifier_http_header = {
    .name = "http_header",
    .help = "moves the preceding content to http.header",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_header,
};

const struct keyword keyword_http_header_raw = {
    .name = "http.header.raw",
    .help = "selects the headers as sent, with the empty line",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_modifier_http_raw_header = {
    .name = "http_raw_header",
    .help = "moves the preceding content to http.header.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_header_raw,
};

const struct keyword keyword_http_header_names = {
    .name = "http.header_names",
    .aliases = { "http_header_names" },
    .help = "selects the names of the headers: CRLF Name CRLF Name CRLF CRLF",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_start = {
    .name = "http.start",
    .aliases = { "http_start" },
    .help = "selects the first line, all headers, and the empty line",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_request_line = {
    .name = "http.request_line",
    .aliases = { "http_request_line" },
    .help = "selects the first line of the request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_response_line = {
    .name = "http.response_line",
    .aliases = { "http_response_line" },
    .help = "selects the first line of the response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_request_header = {
    .name = "http.request_header",
    .help = "selects a header of the request: \"Name: value\"",
    .manual = "Each use selects one header, which must match all conditions that follow.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_response_header = {
    .name = "http.response_header",
    .help = "selects a header of the response: \"Name: value\"",
    .manual = "Each use selects one header, which must match all conditions that follow.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_request_body = {
    .name = "http.request_body",
    .help = "selects the decoded body of the request",
    .manual = "Inspected as it arrives, without chunked coding and content encoding, up to the configured body limit.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_modifier_http_client_body = {
    .name = "http_client_body",
    .help = "moves the preceding content to http.request_body",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_request_body,
};

const struct keyword keyword_http_response_body = {
    .name = "http.response_body",
    .help = "selects the decoded body of the response",
    .manual = "Inspected as it arrives, without chunked coding and content encoding, up to the configured body limit.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .common = app_common_bodies },
};

const struct keyword keyword_modifier_http_server_body = {
    .name = "http_server_body",
    .help = "moves the preceding content to http.response_body",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_response_body,
};

const struct keyword keyword_http_user_agent = {
    .name = "http.user_agent",
    .help = "selects the header User-Agent",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_agents },
};

const struct keyword keyword_modifier_http_user_agent = {
    .name = "http_user_agent",
    .help = "moves the preceding content to http.user_agent",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_user_agent,
};

const struct keyword keyword_http_referer = {
    .name = "http.referer",
    .aliases = { "http_referer" },
    .help = "selects the header Referer",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_hosts },
};

const struct keyword keyword_http_cookie = {
    .name = "http.cookie",
    .help = "selects the header Cookie of a request, Set-Cookie of a response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_modifier_http_cookie = {
    .name = "http_cookie",
    .help = "moves the preceding content to http.cookie",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_cookie,
};

const struct keyword keyword_http_accept = {
    .name = "http.accept",
    .aliases = { "http_accept" },
    .help = "selects the header Accept",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_accept_lang = {
    .name = "http.accept_lang",
    .aliases = { "http_accept_lang" },
    .help = "selects the header Accept-Language",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_accept_enc = {
    .name = "http.accept_enc",
    .aliases = { "http_accept_enc" },
    .help = "selects the header Accept-Encoding",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_connection = {
    .name = "http.connection",
    .aliases = { "http_connection" },
    .help = "selects the header Connection",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_content_type = {
    .name = "http.content_type",
    .aliases = { "http_content_type" },
    .help = "selects the header Content-Type",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_content_len = {
    .name = "http.content_len",
    .aliases = { "http_content_len" },
    .help = "selects the header Content-Length",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_http_protocol = {
    .name = "http.protocol",
    .aliases = { "http_protocol" },
    .help = "selects the protocol in the first line: HTTP/1.1",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .few_values = true },
};

const struct keyword keyword_http_server = {
    .name = "http.server",
    .aliases = { "http_server" },
    .help = "selects the header Server",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http_location = {
    .name = "http.location",
    .aliases = { "http_location" },
    .help = "selects the header Location",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .common = http_common_hosts },
};

const struct keyword keyword_http_stat_code = {
    .name = "http.stat_code",
    .help = "selects the status code of the response: 404",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .few_values = true },
};

const struct keyword keyword_modifier_http_stat_code = {
    .name = "http_stat_code",
    .help = "moves the preceding content to http.stat_code",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_stat_code,
};

const struct keyword keyword_http_stat_msg = {
    .name = "http.stat_msg",
    .help = "selects the reason phrase of the response: Not Found",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
    .hints = &(const struct prefilter_hints){ .few_values = true },
};

const struct keyword keyword_modifier_http_stat_msg = {
    .name = "http_stat_msg",
    .help = "moves the preceding content to http.stat_msg",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .moves_to = &keyword_http_stat_msg,
};

/* --- Table ------------------------------------------------------------------------------------------- */

const struct app_buffer http_buffer_table[HTTP_BUFFERS] = {
    { &keyword_http_method, APP_TO_SERVER, HTTP_LINE, .get = http_get_method },
    { &keyword_http_uri, APP_TO_SERVER, HTTP_LINE, .get = http_get_uri },
    { &keyword_http_uri_raw, APP_TO_SERVER, HTTP_LINE, .get = http_get_uri_raw },
    { &keyword_http_host, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_host },
    { &keyword_http_host_raw, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_host_raw },
    { &keyword_http_header, APP_BOTH, HTTP_HEADERS, .get = http_get_concatenation, .part = HTTP_CONCATENATION_HEADER },
    { &keyword_http_header_raw, APP_BOTH, HTTP_HEADERS, .get = http_get_header_raw },
    { &keyword_http_header_names, APP_BOTH, HTTP_HEADERS, .get = http_get_concatenation,
      .part = HTTP_CONCATENATION_NAMES },
    { &keyword_http_start, APP_BOTH, HTTP_HEADERS, .get = http_get_concatenation, .part = HTTP_CONCATENATION_START },
    { &keyword_http_request_line, APP_TO_SERVER, HTTP_LINE, .get = http_get_line },
    { &keyword_http_response_line, APP_TO_CLIENT, HTTP_LINE, .get = http_get_line },
    { &keyword_http_request_header, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_each_header },
    { &keyword_http_response_header, APP_TO_CLIENT, HTTP_HEADERS, .get = http_get_each_header },
    { &keyword_http_request_body, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_body, .grows = true },
    { &keyword_http_response_body, APP_TO_CLIENT, HTTP_HEADERS, .get = http_get_body, .grows = true },
    { &keyword_http_user_agent, APP_TO_SERVER, HTTP_HEADERS, .get = get_header, .part = HTTP_USER_AGENT },
    { &keyword_http_referer, APP_TO_SERVER, HTTP_HEADERS, .get = get_header, .part = HTTP_REFERER },
    { &keyword_http_cookie, APP_BOTH, HTTP_HEADERS, .get = get_cookie },
    { &keyword_http_accept, APP_TO_SERVER, HTTP_HEADERS, .get = get_header, .part = HTTP_ACCEPT },
    { &keyword_http_accept_lang, APP_TO_SERVER, HTTP_HEADERS, .get = get_header, .part = HTTP_ACCEPT_LANGUAGE },
    { &keyword_http_accept_enc, APP_TO_SERVER, HTTP_HEADERS, .get = get_header, .part = HTTP_ACCEPT_ENCODING },
    { &keyword_http_connection, APP_BOTH, HTTP_HEADERS, .get = get_header, .part = HTTP_CONNECTION },
    { &keyword_http_content_type, APP_BOTH, HTTP_HEADERS, .get = get_header, .part = HTTP_CONTENT_TYPE },
    { &keyword_http_content_len, APP_BOTH, HTTP_HEADERS, .get = get_header, .part = HTTP_CONTENT_LENGTH },
    { &keyword_http_protocol, APP_BOTH, HTTP_LINE, .get = http_get_protocol },
    { &keyword_http_server, APP_TO_CLIENT, HTTP_HEADERS, .get = get_header, .part = HTTP_SERVER },
    { &keyword_http_location, APP_TO_CLIENT, HTTP_HEADERS, .get = get_header, .part = HTTP_LOCATION },
    { &keyword_http_stat_code, APP_TO_CLIENT, HTTP_LINE, .get = http_get_status },
    { &keyword_http_stat_msg, APP_TO_CLIENT, HTTP_LINE, .get = http_get_status_message },
    { &keyword_file_data, APP_BOTH, HTTP_HEADERS, .get = app_file_data, .grows = true },
};
