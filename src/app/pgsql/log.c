/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PostgreSQL in EVE events. */
#include <stdio.h>

#include "pgsql_priv.h"
#include "sluice/bytes.h"

static void log_text(const struct buffer *buffer, const char *key, const struct pgsql_text *text, struct fields *out)
{
    if (text->is_present)
        fields_bytes(out, key, text->length > 0 ? (const char *)buffer->bytes + text->at : "", text->length);
}

static struct cursor next_string(struct cursor *cur)
{
    size_t left = cursor_remaining(cur);
    const uint8_t *text = cursor_peek(cur, left), *end = left > 0 ? memchr(text, 0, left) : NULL;
    struct cursor out = cursor_of(text, end ? (size_t)(end - text) : left);

    cursor_skip(cur, end ? (size_t)(end - text) + 1 : left);
    return out;
}

static bool is_name(const struct cursor *name, const char *expected)
{
    size_t length = strlen(expected);

    return cursor_remaining(name) == length && (length == 0 || memcmp(name->at, expected, length) == 0);
}

/* Writes an element of an array of parameters: an object with one member. */
static void log_parameter(const struct cursor *name, const struct cursor *value, struct fields *out)
{
    static const char *const names[][2] = { { "DateStyle", "date_style" },
                                            { "IntervalStyle", "interval_style" },
                                            { "TimeZone", "time_zone" } };

    fields_object_open(out, NULL);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!is_name(name, names[i][0]))
            continue;
        fields_bytes(out, names[i][1], value->at, cursor_remaining(value));
        fields_object_close(out);
        return;
    }
    fields_bytes_named(out, name->at, cursor_remaining(name), value->at, cursor_remaining(value));
    fields_object_close(out);
}

static void log_startup(const struct pgsql_tx *tx, struct fields *out)
{
    char version[16];
    struct cursor all = cursor_of(tx->request_text.bytes, tx->request_text.length), cur = all;
    bool open = false;

    snprintf(version, sizeof(version), "%u.%u", tx->major, tx->minor);
    fields_string(out, "protocol_version", version);
    fields_object_open(out, "startup_parameters");
    while (cursor_remaining(&cur) > 1) {
        struct cursor name = next_string(&cur), value = next_string(&cur);

        if (is_name(&name, "user"))
            fields_bytes(out, "user", value.at, cursor_remaining(&value));
    }
    for (cur = all; cursor_remaining(&cur) > 1;) {
        struct cursor name = next_string(&cur), value = next_string(&cur);

        if (is_name(&name, "user") || is_name(&name, ""))
            continue;
        if (!open)
            fields_array_open(out, "optional_parameters");
        open = true;
        log_parameter(&name, &value, out);
    }
    if (open)
        fields_array_close(out);
    fields_object_close(out);
}

static void log_mechanism(const struct pgsql_tx *tx, struct fields *out)
{
    const struct cursor name = cursor_of(tx->request_text.bytes, tx->mechanism.length);

    if (is_name(&name, "SCRAM-SHA-256"))
        fields_string(out, "sasl_authentication_mechanism", "scram_SHA256");
    else if (is_name(&name, "SCRAM-SHA-256-PLUS"))
        fields_string(out, "sasl_authentication_mechanism", "scram_SHA256_plus");
    else
        log_text(&tx->request_text, "sasl_authentication_mechanism", &tx->mechanism, out);
}

static void log_copy(const struct pgsql_tx *tx, struct fields *out)
{
    fields_object_open(out, "copy_data_in");
    fields_uint(out, "msg_count", tx->copied_in);
    fields_uint(out, "data_size", tx->copied_in_size);
    fields_object_close(out);
    if (tx->tx.progress[FLOW_TO_SERVER] == PGSQL_COMPLETE)
        fields_string(out, "message", tx->copy_failed ? "copy_fail" : "copy_done");
}

static void log_request(const struct pgsql_tx *tx, const struct pgsql_settings *settings, struct fields *out)
{
    switch (tx->request) {
    case PGSQL_SSL_REQUEST:
        fields_string(out, "message", "SSL Request");
        break;
    case PGSQL_GSSENC_REQUEST:
        fields_string(out, "message", "GSSENC Request");
        break;
    case PGSQL_STARTUP:
        log_startup(tx, out);
        break;
    case PGSQL_CANCEL:
        fields_string(out, "message", "cancel_request");
        fields_uint(out, "process_id", tx->process_id);
        fields_uint(out, "secret_key", tx->secret_key);
        break;
    case PGSQL_PASSWORD:
        if (settings->passwords)
            log_text(&tx->request_text, "password", &tx->text, out);
        else
            fields_bool(out, "password_redacted", true);
        break;
    case PGSQL_SASL_INITIAL:
        log_mechanism(tx, out);
        log_text(&tx->request_text, "sasl_param", &tx->text, out);
        break;
    case PGSQL_SASL_RESPONSE:
        log_text(&tx->request_text, "sasl_response", &tx->text, out);
        break;
    case PGSQL_QUERY:
        log_text(&tx->request_text, "simple_query", &tx->text, out);
        break;
    case PGSQL_EXTENDED:
        fields_string(out, "message", "extended_query");
        break;
    case PGSQL_COPY:
        log_copy(tx, out);
        break;
    case PGSQL_TERMINATE:
        fields_string(out, "message", "termination_message");
        break;
    default:
        break;
    }
}

/* Writes the known fields of errors and notices. Of a field that occurs twice, the first is written. */
static void log_error(const struct pgsql_tx *tx, struct fields *out)
{
    static const struct {
        char letter;
        const char *key;
    } keys[] = {
        { 'S', "severity_localizable" },
        { 'V', "severity_non_localizable" },
        { 'C', "code" },
        { 'M', "message" },
        { 'F', "file" },
        { 'L', "line" },
        { 'R', "routine" },
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct cursor cur = cursor_of(tx->error.bytes, tx->error.length);
        uint8_t letter;

        while (cursor_u8(&cur, &letter)) {
            struct cursor text = letter ? next_string(&cur) : cur;

            if (letter != (uint8_t)keys[i].letter)
                continue;
            fields_bytes(out, keys[i].key, text.at, cursor_remaining(&text));
            break;
        }
    }
}

static void log_copied(const char *key, const char *member, uint64_t value, struct fields *out)
{
    fields_object_open(out, key);
    fields_uint(out, member, value);
    fields_object_close(out);
}

static void log_response(const struct pgsql_tx *tx, struct fields *out)
{
    struct cursor cur = cursor_of(tx->parameters.bytes, tx->parameters.length);

    if (tx->ssl_answered)
        fields_bool(out, "ssl_accepted", tx->ssl_accepted);
    log_text(&tx->response_text, "authentication_md5_password", &tx->salt, out);
    log_text(&tx->response_text, "authentication_sasl_final", &tx->sasl_final, out);
    if (tx->error.length == 0)
        fields_string(out, "message", tx->authentication);
    if (cursor_remaining(&cur) > 0) {
        fields_array_open(out, "parameter_status");
        while (cursor_remaining(&cur) > 0) {
            struct cursor name = next_string(&cur), value = next_string(&cur);

            log_parameter(&name, &value, out);
        }
        fields_array_close(out);
    }
    if (tx->has_key) {
        fields_uint(out, "process_id", tx->backend_process_id);
        fields_uint(out, "secret_key", tx->backend_secret_key);
    }
    if (tx->has_field_count)
        fields_uint(out, "field_count", tx->field_count);
    if (tx->rows > 0) {
        fields_uint(out, "data_rows", tx->rows);
        fields_uint(out, "data_size", tx->rows_size);
    }
    if (tx->has_copy_in)
        log_copied("copy_in_response", "columns", tx->copy_in_columns, out);
    if (tx->has_copy_out)
        log_copied("copy_out_response", "columns", tx->copy_out_columns, out);
    if (tx->copied_out > 0) {
        fields_object_open(out, "copy_data_out");
        fields_uint(out, "row_count", tx->copied_out);
        fields_uint(out, "data_size", tx->copied_out_size);
        fields_object_close(out);
    }
    log_text(&tx->response_text, "command_completed", &tx->command, out);
    log_error(tx, out);
}

void pgsql_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct pgsql_tx *pgsql = (const struct pgsql_tx *)tx;

    if (pgsql->sequence > 0)
        fields_uint(out, "tx_id", pgsql->sequence);
    if (pgsql->request != PGSQL_NO_REQUEST) {
        fields_object_open(out, "request");
        log_request(pgsql, settings, out);
        fields_object_close(out);
    }
    if (pgsql->ssl_answered || pgsql->authentication || pgsql->parameters.length > 0 || pgsql->error.length > 0 ||
        pgsql->has_key || pgsql->has_field_count || pgsql->rows > 0 || pgsql->has_copy_in || pgsql->has_copy_out ||
        pgsql->copied_out > 0 || pgsql->command.is_present || pgsql->salt.is_present || pgsql->sasl_final.is_present) {
        fields_object_open(out, "response");
        log_response(pgsql, out);
        fields_object_close(out);
    }
}
