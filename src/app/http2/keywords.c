/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords: the http2.* ones, and the table of all buffers, most of which are those of HTTP/1. */
#include "app/http/keywords.h"
#include "http2_priv.h"
#include "sluice/arena.h"
#include "sluice/number_range.h"
#include "sluice/text.h"

#include <errno.h>
#include <string.h>

static const char *const applications[] = { "http2", "doh2", NULL };
static const uint8_t nothing[1];

static const struct http2_tx *to_http2_tx(const struct app_tx *tx)
{
    return (const struct http2_tx *)tx;
}

/* --- Buffers of HTTP/1 ---------------------------------------------------------------------------- */

extern const struct keyword keyword_http_method, keyword_http_host, keyword_http_host_raw, keyword_http_header,
    keyword_http_header_raw, keyword_http_header_names, keyword_http_request_line, keyword_http_response_line,
    keyword_http_request_header, keyword_http_response_header, keyword_http_request_body, keyword_http_response_body,
    keyword_http_user_agent, keyword_http_referer, keyword_http_cookie, keyword_http_accept, keyword_http_accept_lang,
    keyword_http_accept_enc, keyword_http_connection, keyword_http_content_type, keyword_http_content_len,
    keyword_http_protocol, keyword_http_server, keyword_http_location, keyword_http_stat_code, keyword_http_stat_msg;

static bool get_host_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct http2_tx *http2 = to_http2_tx(tx);

    if (!http2->authority.is_set)
        return http_get_known(tx, FLOW_TO_SERVER, HTTP_HOST, out);
    (void)which;
    *out = (struct app_bytes){
        .bytes = http_text_bytes(&http2->http.message[FLOW_TO_SERVER], &http2->authority),
        .length = http2->authority.length,
    };
    return true;
}

static bool get_known(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return http_get_known(tx, which.direction, (enum http_known)which.part, out);
}

static bool get_cookie(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return http_get_known(tx, which.direction, which.direction == FLOW_TO_SERVER ? HTTP_COOKIE : HTTP_SET_COOKIE, out);
}

static bool get_protocol(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const char protocol[] = "HTTP/2";

    if (!to_http2_tx(tx)->side[which.direction].has_headers)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)protocol, .length = sizeof(protocol) - 1 };
    return true;
}

/* HTTP/2 has no reason phrase; the buffer is empty. */
static bool get_status_message(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    if (!to_http2_tx(tx)->side[which.direction].has_headers)
        return false;
    *out = (struct app_bytes){ .bytes = nothing };
    return true;
}

/* --- Headers one by one --------------------------------------------------------------------------- */

/* Returns the field of this index in the headers; NULL if there are fewer. */
static const struct http_field *get_field(const struct app_tx *tx, struct app_selector which, const uint8_t **text)
{
    const struct http2_side *side = &to_http2_tx(tx)->side[which.direction];

    if (which.index >= side->end_of_headers - side->first_header)
        return NULL;
    *text = to_http2_tx(tx)->http.message[which.direction].head.bytes;
    return http2_get_field(side, side->first_header + which.index);
}

static bool get_each_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const uint8_t *text;
    const struct http_field *field = get_field(tx, which, &text);

    if (!field)
        return false;
    *out = (struct app_bytes){ .bytes = text + field->at, .length = field->name_length + 2 + field->value_length };
    return true;
}

static bool get_header_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const uint8_t *text;
    const struct http_field *field = get_field(tx, which, &text);

    if (!field)
        return false;
    *out = (struct app_bytes){ .bytes = text + field->at, .length = field->name_length };
    return true;
}

const struct keyword keyword_http2_header_name = {
    .name = "http2.header_name",
    .help = "selects the name of a header: user-agent, :path",
    .manual = "Each header has a separate buffer.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct keyword keyword_http2_header = {
    .name = "http2.header",
    .help = "selects a header: \"name: value\"",
    .manual =
        "Each header has a separate buffer. Use http.request_header or http.response_header to match HTTP/1, too.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
    .hints = &(const struct prefilter_hints){ .common = http_common_headers },
};

const struct app_buffer http2_buffers[HTTP2_BUFFERS] = {
    { &keyword_http_method, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_method },
    { &keyword_http_uri, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_uri },
    { &keyword_http_uri_raw, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_uri_raw },
    { &keyword_http_host, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_host },
    { &keyword_http_host_raw, APP_TO_SERVER, HTTP_HEADERS, .get = get_host_raw },
    { &keyword_http_header, APP_BOTH, HTTP_HEADERS, .get = http_get_concatenation, .part = HTTP_CONCATENATION_HEADER },
    { &keyword_http_header_raw, APP_BOTH, HTTP_HEADERS, .get = http_get_header_raw },
    { &keyword_http_header_names, APP_BOTH, HTTP_HEADERS, .get = http_get_concatenation,
      .part = HTTP_CONCATENATION_NAMES },
    { &keyword_http_request_line, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_line },
    { &keyword_http_response_line, APP_TO_CLIENT, HTTP_HEADERS, .get = http_get_line },
    { &keyword_http_request_header, APP_TO_SERVER, HTTP_HEADERS, .get = get_each_header },
    { &keyword_http_response_header, APP_TO_CLIENT, HTTP_HEADERS, .get = get_each_header },
    { &keyword_http_request_body, APP_TO_SERVER, HTTP_HEADERS, .get = http_get_body, .grows = true },
    { &keyword_http_response_body, APP_TO_CLIENT, HTTP_HEADERS, .get = http_get_body, .grows = true },
    { &keyword_http_user_agent, APP_TO_SERVER, HTTP_HEADERS, .get = get_known, .part = HTTP_USER_AGENT },
    { &keyword_http_referer, APP_TO_SERVER, HTTP_HEADERS, .get = get_known, .part = HTTP_REFERER },
    { &keyword_http_cookie, APP_BOTH, HTTP_HEADERS, .get = get_cookie },
    { &keyword_http_accept, APP_TO_SERVER, HTTP_HEADERS, .get = get_known, .part = HTTP_ACCEPT },
    { &keyword_http_accept_lang, APP_TO_SERVER, HTTP_HEADERS, .get = get_known, .part = HTTP_ACCEPT_LANGUAGE },
    { &keyword_http_accept_enc, APP_TO_SERVER, HTTP_HEADERS, .get = get_known, .part = HTTP_ACCEPT_ENCODING },
    { &keyword_http_connection, APP_BOTH, HTTP_HEADERS, .get = get_known, .part = HTTP_CONNECTION },
    { &keyword_http_content_type, APP_BOTH, HTTP_HEADERS, .get = get_known, .part = HTTP_CONTENT_TYPE },
    { &keyword_http_content_len, APP_BOTH, HTTP_HEADERS, .get = get_known, .part = HTTP_CONTENT_LENGTH },
    { &keyword_http_protocol, APP_BOTH, HTTP_HEADERS, .get = get_protocol },
    { &keyword_http_server, APP_TO_CLIENT, HTTP_HEADERS, .get = get_known, .part = HTTP_SERVER },
    { &keyword_http_location, APP_TO_CLIENT, HTTP_HEADERS, .get = get_known, .part = HTTP_LOCATION },
    { &keyword_http_stat_code, APP_TO_CLIENT, HTTP_HEADERS, .get = http_get_status },
    { &keyword_http_stat_msg, APP_TO_CLIENT, HTTP_HEADERS, .get = get_status_message },
    { &keyword_http2_header_name, APP_BOTH, HTTP_HEADERS, .get = get_header_name },
    { &keyword_http2_header, APP_BOTH, HTTP_HEADERS, .get = get_each_header },
    { &keyword_file_data, APP_BOTH, HTTP_HEADERS, .get = app_file_data, .grows = true },
};

/* --- Values in frames ----------------------------------------------------------------------------- */

static const struct number_name frame_names[] = {
    { "DATA", HTTP2_DATA },
    { "HEADERS", HTTP2_HEADERS },
    { "PRIORITY", HTTP2_PRIORITY },
    { "RSTSTREAM", HTTP2_RST_STREAM },
    { "RST_STREAM", HTTP2_RST_STREAM },
    { "SETTINGS", HTTP2_SETTINGS },
    { "PUSHPROMISE", HTTP2_PUSH_PROMISE },
    { "PUSH_PROMISE", HTTP2_PUSH_PROMISE },
    { "PING", HTTP2_PING },
    { "GOAWAY", HTTP2_GOAWAY },
    { "WINDOWUPDATE", HTTP2_WINDOW_UPDATE },
    { "WINDOW_UPDATE", HTTP2_WINDOW_UPDATE },
    { "CONTINUATION", HTTP2_CONTINUATION },
    { NULL, 0 },
};

/* The first name of a number is the one in events. */
const struct number_name http2_error_names[] = {
    { "NOERROR", 0 },
    { "PROTOCOLERROR", 1 },
    { "INTERNALERROR", 2 },
    { "FLOWCONTROLERROR", 3 },
    { "SETTINGSTIMEOUT", 4 },
    { "STREAMCLOSED", 5 },
    { "FRAMESIZEERROR", 6 },
    { "REFUSEDSTREAM", 7 },
    { "CANCEL", 8 },
    { "COMPRESSIONERROR", 9 },
    { "CONNECTERROR", 10 },
    { "ENHANCEYOURCALM", 11 },
    { "INADEQUATESECURITY", 12 },
    { "HTTP11REQUIRED", 13 },
    { "NO_ERROR", 0 },
    { "PROTOCOL_ERROR", 1 },
    { "INTERNAL_ERROR", 2 },
    { "FLOW_CONTROL_ERROR", 3 },
    { "SETTINGS_TIMEOUT", 4 },
    { "STREAM_CLOSED", 5 },
    { "FRAME_SIZE_ERROR", 6 },
    { "REFUSED_STREAM", 7 },
    { "COMPRESSION_ERROR", 9 },
    { "CONNECT_ERROR", 10 },
    { "ENHANCE_YOUR_CALM", 11 },
    { "INADEQUATE_SECURITY", 12 },
    { "HTTP_1_1_REQUIRED", 13 },
    { NULL, 0 },
};

const struct number_name http2_setting_names[] = {
    { "SETTINGSHEADERTABLESIZE", 1 },
    { "SETTINGSENABLEPUSH", 2 },
    { "SETTINGSMAXCONCURRENTSTREAMS", 3 },
    { "SETTINGSINITIALWINDOWSIZE", 4 },
    { "SETTINGSMAXFRAMESIZE", 5 },
    { "SETTINGSMAXHEADERLISTSIZE", 6 },
    { "SETTINGSENABLECONNECTPROTOCOL", 8 },
    { "SETTINGSNORFC7540PRIORITIES", 9 },
    { "SETTINGS_HEADER_TABLE_SIZE", 1 },
    { "SETTINGS_ENABLE_PUSH", 2 },
    { "SETTINGS_MAX_CONCURRENT_STREAMS", 3 },
    { "SETTINGS_INITIAL_WINDOW_SIZE", 4 },
    { "SETTINGS_MAX_FRAME_SIZE", 5 },
    { "SETTINGS_MAX_HEADER_LIST_SIZE", 6 },
    { "SETTINGS_ENABLE_CONNECT_PROTOCOL", 8 },
    { "SETTINGS_NO_RFC7540_PRIORITIES", 9 },
    { NULL, 0 },
};

static const struct http2_side *side_of(const struct match_input *in)
{
    return &to_http2_tx(in->transaction)->side[in->direction];
}

/* Whether a value of this kind is in the range. */
static bool match_record(const struct match_input *in, enum http2_record_kind kind, const struct number_range *range)
{
    const struct http2_side *side = side_of(in);

    for (uint32_t i = 0; i < http2_record_count(side); i++) {
        const struct http2_record *record = http2_get_record(side, i);

        if (record->kind == kind && number_range_has(range, record->value))
            return true;
    }
    return false;
}

static bool frametype_match(const struct match_input *in, const void *data)
{
    const struct http2_side *side = side_of(in);

    for (unsigned type = 0; type < HTTP2_TYPES; type++) {
        if (side->types[type / 32] >> (type % 32) & 1 && number_range_has(data, type))
            return true;
    }
    return false;
}

static int frametype_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, frame_names);
}

const struct keyword keyword_http2_frametype = {
    .name = "http2.frametype",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "type of a frame by number or name: 6 or PING",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = frametype_parse,
    .transaction = { .match = frametype_match },
};

static bool errorcode_match(const struct match_input *in, const void *data)
{
    return match_record(in, HTTP2_RECORD_ERROR_CODE, data);
}

static int errorcode_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, http2_error_names);
}

const struct keyword keyword_http2_errorcode = {
    .name = "http2.errorcode",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "error code of RST_STREAM or GOAWAY by number or name: 8 or CANCEL",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = errorcode_parse,
    .transaction = { .match = errorcode_match },
};

static bool priority_match(const struct match_input *in, const void *data)
{
    return match_record(in, HTTP2_RECORD_PRIORITY, data);
}

static int priority_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_http2_priority = {
    .name = "http2.priority",
    .value = NUMBER_RANGE_FORM,
    .help = "weight in HEADERS or PRIORITY, as sent: 0 to 255",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = priority_parse,
    .transaction = { .match = priority_match },
};

static bool window_match(const struct match_input *in, const void *data)
{
    const struct buffer *windows = &side_of(in)->windows;
    const uint32_t *increments = (const uint32_t *)windows->bytes;

    for (uint32_t i = 0; i < windows->length / sizeof(*increments); i++) {
        if (number_range_has(data, increments[i]))
            return true;
    }
    return false;
}

static int number_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_http2_window = {
    .name = "http2.window",
    .value = NUMBER_RANGE_FORM,
    .help = "increment in WINDOW_UPDATE",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = number_parse,
    .transaction = { .match = window_match },
};

static bool size_update_match(const struct match_input *in, const void *data)
{
    return match_record(in, HTTP2_RECORD_SIZE_UPDATE, data);
}

const struct keyword keyword_http2_size_update = {
    .name = "http2.size_update",
    .value = NUMBER_RANGE_FORM,
    .help = "size in a dynamic table size update of a header block",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = number_parse,
    .transaction = { .match = size_update_match },
};

/* --- http2.settings ------------------------------------------------------------------------------- */

struct setting_condition {
    uint16_t id;
    bool any_value;
    struct number_range range;
};

static bool settings_match(const struct match_input *in, const void *data)
{
    const struct setting_condition *condition = data;
    const struct http2_side *side = side_of(in);

    for (uint32_t i = 0; i < http2_record_count(side); i++) {
        const struct http2_record *record = http2_get_record(side, i);

        if (record->kind == HTTP2_RECORD_SETTING && record->id == condition->id &&
            (condition->any_value || number_range_has(&condition->range, record->value)))
            return true;
    }
    return false;
}

/* NAME, or NAME followed by a range of its value: SETTINGS_ENABLE_PUSH=0. */
static int settings_parse(struct rule_parser *parser, struct span value)
{
    struct setting_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    const struct number_name *name = http2_setting_names;
    size_t length = 0;
    uint64_t id = 0;
    int err = 0;

    if (!condition)
        return -ENOMEM;
    while (length < value.length && !memchr("=<>! ", value.at[length], 5))
        length++;
    const struct span word = { value.at, length };
    const struct span range = span_trim((struct span){ value.at + length, value.length - length });

    while (name->name && !span_equal_nocase(word, name->name))
        name++;
    if (name->name)
        id = name->value;
    else if (!span_to_uint(word, 0, UINT16_MAX, &id))
        return rule_parser_error(parser, word, "expected the name or number of a setting");
    condition->id = (uint16_t)id;
    condition->any_value = range.length == 0;
    if (!condition->any_value)
        err = number_range_parse(parser, range, UINT32_MAX, NULL, &condition->range);
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_http2_settings = {
    .name = "http2.settings",
    .value = "NAME[RANGE]",
    .help = "setting in SETTINGS by name, with a range of its value: SETTINGS_ENABLE_PUSH=0",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, 0 },
    .parse = settings_parse,
    .transaction = { .match = settings_match },
};

const struct app_condition http2_conditions[HTTP2_CONDITIONS] = {
    { &keyword_http2_frametype, APP_BOTH, 0 },   { &keyword_http2_errorcode, APP_BOTH, 0 },
    { &keyword_http2_priority, APP_BOTH, 0 },    { &keyword_http2_window, APP_BOTH, 0 },
    { &keyword_http2_size_update, APP_BOTH, 0 }, { &keyword_http2_settings, APP_BOTH, 0 },
};
