/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The older form of some buffers: a modifier after a content that moves it to the buffer. `content:"a"; http_uri;` is
 * `http.uri; content:"a";`. */
#include <errno.h>

#include "keywords.h"

#include "sluice/app.h"

extern const struct keyword keyword_modifier_http_uri, keyword_modifier_http_raw_uri, keyword_modifier_http_header,
    keyword_modifier_http_raw_header, keyword_modifier_http_method, keyword_modifier_http_cookie,
    keyword_modifier_http_host, keyword_modifier_http_raw_host, keyword_modifier_http_stat_code,
    keyword_modifier_http_stat_msg, keyword_modifier_http_user_agent, keyword_modifier_http_client_body,
    keyword_modifier_http_server_body;

static const struct {
    const struct keyword *modifier, *buffer;
} targets[] = {
    { &keyword_modifier_http_uri, &keyword_http_uri },
    { &keyword_modifier_http_raw_uri, &keyword_http_uri_raw },
    { &keyword_modifier_http_header, &keyword_http_header },
    { &keyword_modifier_http_raw_header, &keyword_http_header_raw },
    { &keyword_modifier_http_method, &keyword_http_method },
    { &keyword_modifier_http_cookie, &keyword_http_cookie },
    { &keyword_modifier_http_host, &keyword_http_host },
    { &keyword_modifier_http_raw_host, &keyword_http_host_raw },
    { &keyword_modifier_http_stat_code, &keyword_http_stat_code },
    { &keyword_modifier_http_stat_msg, &keyword_http_stat_msg },
    { &keyword_modifier_http_user_agent, &keyword_http_user_agent },
    { &keyword_modifier_http_client_body, &keyword_http_request_body },
    { &keyword_modifier_http_server_body, &keyword_http_response_body },
};

static int move_content(struct rule_parser *parser, struct span value, bool negated)
{
    const struct keyword *modifier = rule_parser_keyword(parser);
    struct content *content = rule_parser_last_content(parser);

    (void)negated;
    if (content && content->rawbytes)
        return rule_parser_error(parser, value, "'%s' can't be used with rawbytes for the same content",
                                 modifier->name);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (targets[i].modifier == modifier)
            return rule_parser_move_last_content(parser, targets[i].buffer);
    }
    return -EINVAL;
}

const struct keyword keyword_modifier_http_uri = {
    .name = "http_uri",
    .help = "moves the preceding content to http.uri",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_raw_uri = {
    .name = "http_raw_uri",
    .help = "moves the preceding content to http.uri.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_header = {
    .name = "http_header",
    .help = "moves the preceding content to http.header",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_raw_header = {
    .name = "http_raw_header",
    .help = "moves the preceding content to http.header.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_method = {
    .name = "http_method",
    .help = "moves the preceding content to http.method",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_cookie = {
    .name = "http_cookie",
    .help = "moves the preceding content to http.cookie",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_host = {
    .name = "http_host",
    .help = "moves the preceding content to http.host",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_raw_host = {
    .name = "http_raw_host",
    .help = "moves the preceding content to http.host.raw",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_stat_code = {
    .name = "http_stat_code",
    .help = "moves the preceding content to http.stat_code",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_stat_msg = {
    .name = "http_stat_msg",
    .help = "moves the preceding content to http.stat_msg",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_user_agent = {
    .name = "http_user_agent",
    .help = "moves the preceding content to http.user_agent",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_client_body = {
    .name = "http_client_body",
    .help = "moves the preceding content to http.request_body",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};

const struct keyword keyword_modifier_http_server_body = {
    .name = "http_server_body",
    .help = "moves the preceding content to http.response_body",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = move_content,
};
