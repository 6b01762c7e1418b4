/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE objects of POP3: "pop3" with the command and the response, and "email" with the message. */
#include <string.h>

#include "pop3_priv.h"

/* Whether the words after the keyword contain a password, or a response computed from it. */
static bool has_secret(const struct pop3_tx *tx)
{
    return tx->command == POP3_PASS || tx->command == POP3_APOP || tx->command == POP3_AUTH;
}

static void log_request(const struct pop3_tx *tx, const struct pop3_settings *settings, struct fields *out)
{
    uint32_t at = 0, length = 0;
    const uint8_t *word = pop3_next_word(&tx->request, &at, &length);
    char keyword[16];

    fields_object_open(out, "request");
    if (word && length <= sizeof(keyword)) {
        for (uint32_t i = 0; i < length; i++)
            keyword[i] = (char)(word[i] >= 'a' && word[i] <= 'z' ? word[i] - 'a' + 'A' : word[i]);
        fields_bytes(out, "command", keyword, length);
    } else if (word) {
        fields_bytes(out, "command", word, length);
    }
    fields_array_open(out, "args");
    while ((settings->passwords || !has_secret(tx)) && (word = pop3_next_word(&tx->request, &at, &length)))
        fields_bytes(out, NULL, word, length);
    fields_array_close(out);
    fields_object_close(out);
}

static void log_response(const struct pop3_tx *tx, struct fields *out)
{
    const uint8_t *at = tx->data.bytes, *limit = buffer_at(&tx->data, tx->data.length), *end;

    fields_object_open(out, "response");
    fields_bool(out, "success", tx->success);
    fields_string(out, "status", tx->success ? "OK" : "ERR");
    fields_bytes(out, "header", tx->header.length > 0 ? (const void *)tx->header.bytes : "", tx->header.length);
    fields_array_open(out, "data");
    for (; at < limit && (end = memchr(at, '\n', (size_t)(limit - at))); at = end + 1)
        fields_bytes(out, NULL, at, (uint32_t)(end - at));
    fields_array_close(out);
    fields_object_close(out);
}

void pop3_log(const struct app_tx *base, const void *settings, struct fields *out)
{
    const struct pop3_tx *tx = (const struct pop3_tx *)base;

    if (tx->command != POP3_NONE)
        log_request(tx, settings, out);
    if (tx->has_response)
        log_response(tx, out);
}

void pop3_log_email(const struct app_tx *base, const void *settings, struct fields *out)
{
    const struct pop3_tx *tx = (const struct pop3_tx *)base;

    (void)settings;
    mail_log(&tx->mail, base, out);
}
