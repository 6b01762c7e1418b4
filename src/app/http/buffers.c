/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The progress from which on each buffer is available: the parts of the first line when the line is complete, the
 * others at the end of the headers; bodies from then on, as they grow.
 */
#include "http_priv.h"

#include "keywords.h"

/* Defines the getter of a keyword for a single header. */
#define HEADER_GETTER(function, known)                                                                                 \
    static bool function(const struct app_tx *tx, enum flow_direction direction, unsigned index,                       \
                         struct app_bytes *out)                                                                        \
    {                                                                                                                  \
        return index == 0 && http_get_known(tx, direction, known, out);                                                \
    }

HEADER_GETTER(get_user_agent, HTTP_USER_AGENT)
HEADER_GETTER(get_referer, HTTP_REFERER)
HEADER_GETTER(get_accept, HTTP_ACCEPT)
HEADER_GETTER(get_accept_lang, HTTP_ACCEPT_LANGUAGE)
HEADER_GETTER(get_accept_enc, HTTP_ACCEPT_ENCODING)
HEADER_GETTER(get_connection, HTTP_CONNECTION)
HEADER_GETTER(get_content_type, HTTP_CONTENT_TYPE)
HEADER_GETTER(get_content_len, HTTP_CONTENT_LENGTH)
HEADER_GETTER(get_server, HTTP_SERVER)
HEADER_GETTER(get_location, HTTP_LOCATION)

static bool get_cookie(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    return index == 0 &&
           http_get_known(tx, direction, direction == FLOW_TO_SERVER ? HTTP_COOKIE : HTTP_SET_COOKIE, out);
}

const struct app_buffer http_buffer_table[HTTP_BUFFERS] = {
    { &keyword_http_method, FLOW_TO_SERVER, HTTP_LINE, false, http_get_method },
    { &keyword_http_uri, FLOW_TO_SERVER, HTTP_LINE, false, http_get_uri },
    { &keyword_http_uri_raw, FLOW_TO_SERVER, HTTP_LINE, false, http_get_uri_raw },
    { &keyword_http_host, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_host },
    { &keyword_http_host_raw, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_host_raw },
    { &keyword_http_header, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_header },
    { &keyword_http_header, FLOW_TO_CLIENT, HTTP_HEADERS, false, http_get_header },
    { &keyword_http_header_raw, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_header_raw },
    { &keyword_http_header_raw, FLOW_TO_CLIENT, HTTP_HEADERS, false, http_get_header_raw },
    { &keyword_http_header_names, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_header_names },
    { &keyword_http_header_names, FLOW_TO_CLIENT, HTTP_HEADERS, false, http_get_header_names },
    { &keyword_http_start, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_start },
    { &keyword_http_start, FLOW_TO_CLIENT, HTTP_HEADERS, false, http_get_start },
    { &keyword_http_request_line, FLOW_TO_SERVER, HTTP_LINE, false, http_get_line },
    { &keyword_http_response_line, FLOW_TO_CLIENT, HTTP_LINE, false, http_get_line },
    { &keyword_http_request_header, FLOW_TO_SERVER, HTTP_HEADERS, false, http_get_each_header },
    { &keyword_http_response_header, FLOW_TO_CLIENT, HTTP_HEADERS, false, http_get_each_header },
    { &keyword_http_request_body, FLOW_TO_SERVER, HTTP_HEADERS, true, http_get_body },
    { &keyword_http_response_body, FLOW_TO_CLIENT, HTTP_HEADERS, true, http_get_body },
    { &keyword_http_user_agent, FLOW_TO_SERVER, HTTP_HEADERS, false, get_user_agent },
    { &keyword_http_referer, FLOW_TO_SERVER, HTTP_HEADERS, false, get_referer },
    { &keyword_http_cookie, FLOW_TO_SERVER, HTTP_HEADERS, false, get_cookie },
    { &keyword_http_cookie, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_cookie },
    { &keyword_http_accept, FLOW_TO_SERVER, HTTP_HEADERS, false, get_accept },
    { &keyword_http_accept_lang, FLOW_TO_SERVER, HTTP_HEADERS, false, get_accept_lang },
    { &keyword_http_accept_enc, FLOW_TO_SERVER, HTTP_HEADERS, false, get_accept_enc },
    { &keyword_http_connection, FLOW_TO_SERVER, HTTP_HEADERS, false, get_connection },
    { &keyword_http_connection, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_connection },
    { &keyword_http_content_type, FLOW_TO_SERVER, HTTP_HEADERS, false, get_content_type },
    { &keyword_http_content_type, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_content_type },
    { &keyword_http_content_len, FLOW_TO_SERVER, HTTP_HEADERS, false, get_content_len },
    { &keyword_http_content_len, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_content_len },
    { &keyword_http_protocol, FLOW_TO_SERVER, HTTP_LINE, false, http_get_protocol },
    { &keyword_http_protocol, FLOW_TO_CLIENT, HTTP_LINE, false, http_get_protocol },
    { &keyword_http_server, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_server },
    { &keyword_http_location, FLOW_TO_CLIENT, HTTP_HEADERS, false, get_location },
    { &keyword_http_stat_code, FLOW_TO_CLIENT, HTTP_LINE, false, http_get_status },
    { &keyword_http_stat_msg, FLOW_TO_CLIENT, HTTP_LINE, false, http_get_status_message },
    { &keyword_file_data, FLOW_TO_SERVER, HTTP_HEADERS, true, app_file_data },
    { &keyword_file_data, FLOW_TO_CLIENT, HTTP_HEADERS, true, app_file_data },
};
