/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sticky buffer keywords of HTTP. buffers.c defines how they are read; modifiers.c has the older form of some of
 * them. */
#include "keywords.h"

#include "sluice/app.h"

static int select_this(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    return rule_parser_select_buffer(parser, rule_parser_keyword(parser));
}

static const char *const applications[] = { "http", "http2", NULL };

extern const struct keyword keyword_content;

static const struct content *content_of(const struct condition *condition)
{
    return condition->keyword == &keyword_content ? condition->data : NULL;
}

/* The buffer is lower case, so a content with upper-case letters cannot match. */
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
    .flags = KEYWORD_NO_VALUE | KEYWORD_COMMON_VALUES,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .parse = select_this,
    .finish = finish_method,
};

const struct keyword keyword_http_uri = {
    .name = "http.uri",
    .help = "selects the URI of the request, normalised",
    .manual = "Path, query and fragment, decoded, with the dot segments of the path resolved; without scheme and host.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_uris,
    .parse = select_this,
};

const struct keyword keyword_http_uri_raw = {
    .name = "http.uri.raw",
    .help = "selects the URI of the request as sent",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_uris,
    .parse = select_this,
};

const struct keyword keyword_http_host = {
    .name = "http.host",
    .help = "selects the host of the request in lower case, without port",
    .manual = "The host in the URI, or else in the Host header.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_hosts,
    .parse = select_this,
    .finish = finish_host,
};

const struct keyword keyword_http_host_raw = {
    .name = "http.host.raw",
    .help = "selects the host of the request as sent",
    .manual = "The host in the URI, or else the Host header.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_hosts,
    .parse = select_this,
};

const struct keyword keyword_http_header = {
    .name = "http.header",
    .help = "selects the headers, as \"Name: value\" with CRLF, without cookies",
    .manual = "Folded lines are joined, and the values of headers with the same name are joined by a comma.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_header_raw = {
    .name = "http.header.raw",
    .help = "selects the headers as sent, with the empty line",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_header_names = {
    .name = "http.header_names",
    .aliases = { "http_header_names" },
    .help = "selects the names of the headers: CRLF Name CRLF Name CRLF CRLF",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_start = {
    .name = "http.start",
    .aliases = { "http_start" },
    .help = "selects the first line, all headers, and the empty line",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_request_line = {
    .name = "http.request_line",
    .aliases = { "http_request_line" },
    .help = "selects the first line of the request",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_response_line = {
    .name = "http.response_line",
    .aliases = { "http_response_line" },
    .help = "selects the first line of the response",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_request_header = {
    .name = "http.request_header",
    .help = "selects a header of the request: \"Name: value\"",
    .manual = "Each use selects one header, which must match all conditions that follow.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_response_header = {
    .name = "http.response_header",
    .help = "selects a header of the response: \"Name: value\"",
    .manual = "Each use selects one header, which must match all conditions that follow.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_request_body = {
    .name = "http.request_body",
    .help = "selects the decoded body of the request",
    .manual = "Inspected as it arrives, without chunked coding and content encoding, up to the configured body limit.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .parse = select_this,
};

const struct keyword keyword_http_response_body = {
    .name = "http.response_body",
    .help = "selects the decoded body of the response",
    .manual = "Inspected as it arrives, without chunked coding and content encoding, up to the configured body limit.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .common = app_common_bodies,
    .parse = select_this,
};

const struct keyword keyword_http_user_agent = {
    .name = "http.user_agent",
    .help = "selects the header User-Agent",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_agents,
    .parse = select_this,
};

const struct keyword keyword_http_referer = {
    .name = "http.referer",
    .aliases = { "http_referer" },
    .help = "selects the header Referer",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_hosts,
    .parse = select_this,
};

const struct keyword keyword_http_cookie = {
    .name = "http.cookie",
    .help = "selects the header Cookie of a request, Set-Cookie of a response",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .parse = select_this,
};

const struct keyword keyword_http_accept = {
    .name = "http.accept",
    .aliases = { "http_accept" },
    .help = "selects the header Accept",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_accept_lang = {
    .name = "http.accept_lang",
    .aliases = { "http_accept_lang" },
    .help = "selects the header Accept-Language",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_accept_enc = {
    .name = "http.accept_enc",
    .aliases = { "http_accept_enc" },
    .help = "selects the header Accept-Encoding",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_SERVER,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_connection = {
    .name = "http.connection",
    .aliases = { "http_connection" },
    .help = "selects the header Connection",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_content_type = {
    .name = "http.content_type",
    .aliases = { "http_content_type" },
    .help = "selects the header Content-Type",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_content_len = {
    .name = "http.content_len",
    .aliases = { "http_content_len" },
    .help = "selects the header Content-Length",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_BOTH,
    .parse = select_this,
};

const struct keyword keyword_http_protocol = {
    .name = "http.protocol",
    .aliases = { "http_protocol" },
    .help = "selects the protocol in the first line: HTTP/1.1",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_COMMON_VALUES,
    .applications = applications,
    .directions = APP_BOTH,
    .parse = select_this,
};

const struct keyword keyword_http_server = {
    .name = "http.server",
    .aliases = { "http_server" },
    .help = "selects the header Server",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .common = http_common_headers,
    .parse = select_this,
};

const struct keyword keyword_http_location = {
    .name = "http.location",
    .aliases = { "http_location" },
    .help = "selects the header Location",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .common = http_common_hosts,
    .parse = select_this,
};

const struct keyword keyword_http_stat_code = {
    .name = "http.stat_code",
    .help = "selects the status code of the response: 404",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_COMMON_VALUES,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .parse = select_this,
};

const struct keyword keyword_http_stat_msg = {
    .name = "http.stat_msg",
    .help = "selects the reason phrase of the response: Not Found",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_COMMON_VALUES,
    .applications = applications,
    .directions = APP_TO_CLIENT,
    .parse = select_this,
};
