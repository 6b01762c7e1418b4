/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keywords of HTTP, defined in keywords.c. */
#ifndef APP_HTTP_KEYWORDS_H
#define APP_HTTP_KEYWORDS_H

#include "sluice/keyword.h"

extern const struct keyword keyword_http_method, keyword_http_uri, keyword_http_uri_raw, keyword_http_host,
    keyword_http_host_raw, keyword_http_header, keyword_http_header_raw, keyword_http_header_names, keyword_http_start,
    keyword_http_request_line, keyword_http_response_line, keyword_http_request_header, keyword_http_response_header,
    keyword_http_request_body, keyword_http_response_body, keyword_http_user_agent, keyword_http_referer,
    keyword_http_cookie, keyword_http_accept, keyword_http_accept_lang, keyword_http_accept_enc,
    keyword_http_connection, keyword_http_content_type, keyword_http_content_len, keyword_http_protocol,
    keyword_http_server, keyword_http_location, keyword_http_stat_code, keyword_http_stat_msg;

/* common.c: for struct keyword.common. */
extern const char *const http_common_uris[], *const http_common_hosts[], *const http_common_agents[],
                                                                             *const http_common_headers[];

#endif
