/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object `http` in EVE events. */
#include "http_priv.h"

#include <string.h>

enum { LOG_NAME_MAX = 255, LOG_VALUE_MAX = 2047 };

/* Headers that eve.types.http.custom may list. The index is the bit in http_settings.custom. */
static const struct {
    const char *name, *header;
} custom_fields[] = {
    { "accept", "accept" },
    { "accept_charset", "accept-charset" },
    { "accept_encoding", "accept-encoding" },
    { "accept_language", "accept-language" },
    { "accept_datetime", "accept-datetime" },
    { "authorization", "authorization" },
    { "cache_control", "cache-control" },
    { "cookie", "cookie" },
    { "from", "from" },
    { "max_forwards", "max-forwards" },
    { "origin", "origin" },
    { "pragma", "pragma" },
    { "proxy_authorization", "proxy-authorization" },
    { "range", "range" },
    { "te", "te" },
    { "via", "via" },
    { "x_requested_with", "x-requested-with" },
    { "dnt", "dnt" },
    { "x_forwarded_proto", "x-forwarded-proto" },
    { "x_authenticated_user", "x-authenticated-user" },
    { "x_flash_version", "x-flash-version" },
    { "accept_range", "accept-range" },
    { "age", "age" },
    { "allow", "allow" },
    { "connection", "connection" },
    { "content_encoding", "content-encoding" },
    { "content_language", "content-language" },
    { "content_length", "content-length" },
    { "content_location", "content-location" },
    { "content_md5", "content-md5" },
    { "content_range", "content-range" },
    { "content_type", "content-type" },
    { "date", "date" },
    { "etag", "etags" },
    { "expires", "expires" },
    { "last_modified", "last-modified" },
    { "link", "link" },
    { "location", "location" },
    { "proxy_authenticate", "proxy-authenticate" },
    { "referer", "referer" },
    { "refresh", "refresh" },
    { "retry_after", "retry-after" },
    { "server", "server" },
    { "set_cookie", "set-cookie" },
    { "trailer", "trailer" },
    { "transfer_encoding", "transfer-encoding" },
    { "upgrade", "upgrade" },
    { "vary", "vary" },
    { "warning", "warning" },
    { "www_authenticate", "www-authenticate" },
    { "true_client_ip", "true-client-ip" },
    { "org_src_ip", "org-src-ip" },
    { "x_bluecoat_via", "x-bluecoat-via" },
};

enum { CUSTOM_FIELDS = sizeof(custom_fields) / sizeof(custom_fields[0]) };
_Static_assert(CUSTOM_FIELDS <= 64, "http_settings.custom has a bit for each field");

int http_log_field(const char *name)
{
    for (int i = 0; i < CUSTOM_FIELDS; i++) {
        if (http_equal_nocase((const uint8_t *)name, (uint32_t)strlen(name), custom_fields[i].name))
            return i;
    }
    return -1;
}

static void log_text(struct fields *out, const char *key, const struct http_message *message,
                     const struct http_text *text)
{
    if (text->is_set)
        fields_bytes(out, key, text->length > 0 ? (const void *)http_text_bytes(message, text) : "", text->length);
}

static void log_header(struct fields *out, const char *key, const struct http_message *message, enum http_known known)
{
    const uint8_t *value;
    uint32_t length;

    if (http_header_value(message, known, &value, &length))
        fields_bytes(out, key, value, length);
}

static void log_range(struct fields *out, const struct http_message *message)
{
    struct http_range range;
    const uint8_t *value;
    uint32_t length;

    if (!http_header_value(message, HTTP_CONTENT_RANGE, &value, &length))
        return;
    fields_object_open(out, "content_range");
    fields_bytes(out, "raw", value, length);
    if (http_parse_range(value, length, &range)) {
        if (range.start >= 0)
            fields_uint(out, "start", (uint64_t)range.start);
        if (range.end >= 0)
            fields_uint(out, "end", (uint64_t)range.end);
        if (range.size >= 0)
            fields_uint(out, "size", (uint64_t)range.size);
    }
    fields_object_close(out);
}

static void log_basic(const struct http_tx *tx, struct fields *out)
{
    const struct http_message *request = &tx->message[FLOW_TO_SERVER], *response = &tx->message[FLOW_TO_CLIENT];
    const uint8_t *value;
    uint32_t length;

    log_text(out, "hostname", request, &tx->host);
    if (tx->port >= 0)
        fields_uint(out, "http_port", (uint64_t)tx->port);
    log_text(out, "url", request, &tx->uri_raw);
    log_header(out, "http_user_agent", request, HTTP_USER_AGENT);
    log_header(out, "xff", request, HTTP_X_FORWARDED_FOR);
    if (http_header_value(response, HTTP_CONTENT_TYPE, &value, &length)) {
        const uint8_t *end = memchr(value, ';', length);

        fields_bytes(out, "http_content_type", value, end ? (size_t)(end - value) : length);
    }
    log_range(out, response);
}

static void log_extended(const struct http_tx *tx, struct fields *out)
{
    const struct http_message *request = &tx->message[FLOW_TO_SERVER], *response = &tx->message[FLOW_TO_CLIENT];

    log_header(out, "http_refer", request, HTTP_REFERER);
    log_text(out, "http_method", request, &tx->method_text);
    log_text(out, "protocol", request, &tx->protocol);
    if (tx->status > 0)
        fields_uint(out, "status", tx->status);
    else
        log_text(out, "status_string", response, &tx->status_text);
    log_header(out, "redirect", response, HTTP_LOCATION);
    fields_uint(out, "length", response->wire_length);
}

static bool is_custom_header(const struct http_settings *settings, const uint8_t *name, uint32_t length)
{
    for (unsigned i = 0; i < CUSTOM_FIELDS; i++) {
        if (settings->custom >> i & 1 && http_equal_nocase(name, length, custom_fields[i].header))
            return true;
    }
    return false;
}

/* Logs the headers listed in the settings; all headers if `all` is true. */
static void log_headers(const struct http_message *message, const struct http_settings *settings, const char *key,
                        bool all, struct fields *out)
{
    bool open = false;

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];
        const uint8_t *text = http_header_text(message, header);
        uint32_t value_at = header->name_length + 2u, length = header->length - value_at;

        if (header->joined || (!all && !is_custom_header(settings, text, header->name_length)))
            continue;
        if (!open)
            fields_array_open(out, key);
        open = true;
        fields_object_open(out, NULL);
        fields_bytes(out, "name", text, header->name_length < LOG_NAME_MAX ? header->name_length : LOG_NAME_MAX);
        fields_bytes(out, "value", text + value_at, length < LOG_VALUE_MAX ? length : LOG_VALUE_MAX);
        fields_object_close(out);
    }
    if (open)
        fields_array_close(out);
}

void http_log(const struct app_tx *base, const void *configured, struct fields *out)
{
    const struct http_tx *tx = (const struct http_tx *)base;
    const struct http_settings *settings = configured;

    log_basic(tx, out);
    if (settings->log_extended)
        log_extended(tx, out);
    if (settings->dump_request_headers || settings->custom)
        log_headers(&tx->message[FLOW_TO_SERVER], settings, "request_headers", settings->dump_request_headers, out);
    if (settings->dump_response_headers || settings->custom)
        log_headers(&tx->message[FLOW_TO_CLIENT], settings, "response_headers", settings->dump_response_headers, out);
}

/* Alerts and fileinfo events have the extended form, regardless of the settings. */
void http_describe(const struct app_tx *base, const void *configured, struct fields *out)
{
    const struct http_tx *tx = (const struct http_tx *)base;

    (void)configured;
    log_basic(tx, out);
    log_extended(tx, out);
}

void http_describe_alert(const struct app_tx *base, const void *configured, struct fields *out)
{
    static const char *const keys[FLOW_DIRECTIONS][2] = {
        [FLOW_TO_SERVER] = { "http_request_body", "http_request_body_printable" },
        [FLOW_TO_CLIENT] = { "http_response_body", "http_response_body_printable" },
    };
    const struct http_settings *settings = configured;

    if (!settings->alert_body && !settings->alert_body_printable)
        return;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_bytes body;

        if (!http_get_body(base, (struct app_selector){ .direction = direction }, &body) || body.length == 0)
            continue;
        size_t length = body.length < FIELDS_VALUE_MAX ? body.length : FIELDS_VALUE_MAX;

        if (settings->alert_body_printable) {
            uint8_t text[FIELDS_VALUE_MAX];

            for (size_t i = 0; i < length; i++) {
                uint8_t c = body.bytes[i];

                text[i] = (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' ? c : '.'; /* like payload_printable */
            }
            fields_bytes(out, keys[direction][1], text, length);
        }
        if (settings->alert_body)
            fields_base64(out, keys[direction][0], body.bytes, length);
    }
}
