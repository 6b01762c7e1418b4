/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object `http` of HTTP/2 in EVE events. */
#include <stdio.h>
#include <string.h>

#include "http2_priv.h"
#include "sluice/number_range.h"

/* Logs the fields of all blocks of a direction, with the size updates between them. */
static void log_fields(const struct http2_tx *tx, enum flow_direction direction, const char *key, struct fields *out)
{
    const struct http2_side *side = &tx->side[direction];
    const uint8_t *text = tx->http.message[direction].head.bytes;
    uint32_t fields = http2_field_count(side), records = http2_record_count(side), record = 0;
    bool open = false;

    for (uint32_t i = 0; i <= fields; i++) {
        for (; record < records; record++) {
            const struct http2_record *update = http2_get_record(side, record);

            if (update->kind != HTTP2_RECORD_SIZE_UPDATE)
                continue;
            if (update->id > i)
                break;
            if (!open)
                fields_array_open(out, key);
            open = true;
            fields_object_open(out, NULL);
            fields_uint(out, "table_size_update", update->value);
            fields_object_close(out);
        }
        if (i == fields)
            break;
        const struct http_field *field = http2_get_field(side, i);

        if (!open)
            fields_array_open(out, key);
        open = true;
        fields_object_open(out, NULL);
        fields_bytes(out, "name", text + field->at, field->name_length);
        fields_bytes(out, "value", text + field->at + field->name_length + 2, field->value_length);
        fields_object_close(out);
    }
    if (open)
        fields_array_close(out);
}

static void log_text(struct fields *out, const char *key, const struct http_message *message,
                     const struct http_text *text)
{
    if (text->is_set)
        fields_bytes(out, key, text->length > 0 ? (const void *)http_text_bytes(message, text) : "", text->length);
}

static void log_known(struct fields *out, const char *key, const struct http_message *message, enum http_known known)
{
    const uint8_t *value;
    uint32_t length;

    if (http_header_value(message, known, &value, &length))
        fields_bytes(out, key, value, length);
}

/* Writes the name of a number in a table, or its digits. */
static void log_name(struct fields *out, const char *key, const struct number_name *names, uint32_t number)
{
    char digits[16];

    while (names->name && names->value != number)
        names++;
    if (!names->name)
        snprintf(digits, sizeof(digits), "%u", number);
    fields_string(out, key, names->name ? names->name : digits);
}

static const struct http2_record *next_record(const struct http2_side *side, enum http2_record_kind kind,
                                              uint32_t *from)
{
    for (; *from < http2_record_count(side); ++*from) {
        if (http2_get_record(side, *from)->kind == kind)
            return http2_get_record(side, (*from)++);
    }
    return NULL;
}

/* Logs the values in the frames of a direction. The schema has no priority in frames of the server. */
static void log_frames(const struct http2_tx *tx, enum flow_direction direction, const char *key, struct fields *out)
{
    const struct http2_side *side = &tx->side[direction];
    const struct http2_record *setting, *error, *priority;
    uint32_t settings_from = 0, error_from = 0, priority_from = 0;

    setting = next_record(side, HTTP2_RECORD_SETTING, &settings_from);
    error = next_record(side, HTTP2_RECORD_ERROR_CODE, &error_from);
    priority = direction == FLOW_TO_SERVER ? next_record(side, HTTP2_RECORD_PRIORITY, &priority_from) : NULL;
    if (!setting && !error && !priority)
        return;
    fields_object_open(out, key);
    if (setting) {
        fields_array_open(out, "settings");
        for (; setting; setting = next_record(side, HTTP2_RECORD_SETTING, &settings_from)) {
            fields_object_open(out, NULL);
            log_name(out, "settings_id", http2_setting_names, setting->id);
            fields_uint(out, "settings_value", setting->value);
            fields_object_close(out);
        }
        fields_array_close(out);
    }
    if (error)
        log_name(out, "error_code", http2_error_names, error->value);
    if (priority)
        fields_uint(out, "priority", priority->value);
    if (error && next_record(side, HTTP2_RECORD_ERROR_CODE, &error_from))
        fields_string(out, "has_multiple", "error_code");
    else if (priority && next_record(side, HTTP2_RECORD_PRIORITY, &priority_from))
        fields_string(out, "has_multiple", "priority");
    fields_object_close(out);
}

void http2_log(const struct app_tx *base, const void *settings, struct fields *out)
{
    const struct http2_tx *tx = (const struct http2_tx *)base;
    const struct http_message *request = &tx->http.message[FLOW_TO_SERVER], *response = &tx->http.message[1];
    const uint8_t *value;
    uint32_t length;
    uint64_t number;

    (void)settings;
    fields_string(out, "version", "2");
    log_fields(tx, FLOW_TO_SERVER, "request_headers", out);
    log_fields(tx, FLOW_TO_CLIENT, "response_headers", out);
    log_text(out, "hostname", request, &tx->http.host);
    log_text(out, "http_method", request, &tx->http.method_text);
    log_text(out, "url", request, &tx->http.uri_raw);
    log_known(out, "http_user_agent", request, HTTP_USER_AGENT);
    if (tx->http.status > 0)
        fields_uint(out, "status", tx->http.status);
    if (http_header_value(response, HTTP_CONTENT_LENGTH, &value, &length) && http_parse_length(value, length, &number))
        fields_uint(out, "length", number);
    fields_object_open(out, "http2");
    fields_uint(out, "stream_id", tx->stream_id);
    log_frames(tx, FLOW_TO_SERVER, "request", out);
    log_frames(tx, FLOW_TO_CLIENT, "response", out);
    fields_object_close(out);
}

/* Frames without headers, settings, error code or priority (PING, WINDOW_UPDATE) are not logged. */
bool http2_wants_log(const struct app_tx *base, const void *settings)
{
    const struct http2_tx *tx = (const struct http2_tx *)base;

    (void)settings;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct http2_side *side = &tx->side[direction];

        if (http2_field_count(side) > 0)
            return true;
        for (uint32_t i = 0; i < http2_record_count(side); i++) {
            const struct http2_record *record = http2_get_record(side, i);

            if (record->kind == HTTP2_RECORD_SETTING || record->kind == HTTP2_RECORD_ERROR_CODE ||
                (record->kind == HTTP2_RECORD_PRIORITY && direction == FLOW_TO_SERVER))
                return true;
        }
    }
    return false;
}
