/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIP and SDP in EVE events. */
#include "sip_priv.h"
#include "sluice/text.h"

static void log_text(const struct sip_tx *tx, const char *key, const struct sip_text *text, struct fields *out)
{
    fields_bytes(out, key, text->length > 0 ? (const char *)tx->text.bytes + text->at : "", text->length);
}

/* --- SDP --------------------------------------------------------------------------------------------- */

/* Returns the index of the first line of this type in a description (`media` 0: of the session) from `from` on, or the
 * number of lines. The lines of a description are adjacent. */
static uint32_t find_line(const struct sip_tx *tx, char type, unsigned media, uint32_t from)
{
    uint32_t count = sip_sdp_count(tx);

    for (uint32_t i = from; i < count && sip_get_sdp_line(tx, i)->media <= media; i++) {
        if (sip_get_sdp_line(tx, i)->type == type && sip_get_sdp_line(tx, i)->media == media)
            return i;
    }
    return count;
}

static void log_line(const struct sip_tx *tx, char type, unsigned media, uint32_t from, const char *key,
                     struct fields *out)
{
    uint32_t at = find_line(tx, type, media, from);

    if (at < sip_sdp_count(tx))
        log_text(tx, key, &sip_get_sdp_line(tx, at)->value, out);
}

static void log_lines(const struct sip_tx *tx, char type, unsigned media, uint32_t from, const char *key,
                      struct fields *out)
{
    uint32_t count = sip_sdp_count(tx), at = find_line(tx, type, media, from);

    if (at == count)
        return;
    fields_array_open(out, key);
    for (; at < count; at = find_line(tx, type, media, at + 1))
        log_text(tx, NULL, &sip_get_sdp_line(tx, at)->value, out);
    fields_array_close(out);
}

/* Logs each time description with the repeat time after it. */
static void log_times(const struct sip_tx *tx, struct fields *out)
{
    uint32_t count = sip_sdp_count(tx), at = find_line(tx, 't', 0, 0), next;

    if (at == count)
        return;
    fields_array_open(out, "time_descriptions");
    for (; at < count; at = next) {
        uint32_t repeat = find_line(tx, 'r', 0, at);

        next = find_line(tx, 't', 0, at + 1);
        fields_object_open(out, NULL);
        log_text(tx, "time", &sip_get_sdp_line(tx, at)->value, out);
        if (repeat < next)
            log_text(tx, "repeat_time", &sip_get_sdp_line(tx, repeat)->value, out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_media(const struct sip_tx *tx, struct fields *out)
{
    uint32_t count = sip_sdp_count(tx), at = 0;

    while (at < count && sip_get_sdp_line(tx, at)->media == 0)
        at++;
    if (at == count)
        return;
    fields_array_open(out, "media_descriptions");
    while (at < count) {
        unsigned media = sip_get_sdp_line(tx, at)->media;

        fields_object_open(out, NULL);
        log_line(tx, 'm', media, at, "media", out);
        log_line(tx, 'i', media, at, "media_info", out);
        log_lines(tx, 'b', media, at, "bandwidths", out);
        log_line(tx, 'c', media, at, "connection_data", out);
        log_line(tx, 'k', media, at, "encryption_key", out);
        log_lines(tx, 'a', media, at, "attributes", out);
        fields_object_close(out);
        while (at < count && sip_get_sdp_line(tx, at)->media == media)
            at++;
    }
    fields_array_close(out);
}

static void log_sdp(const struct sip_tx *tx, struct fields *out)
{
    static const struct {
        char type;
        const char *key;
    } before_times[] = { { 'o', "origin" }, { 's', "session_name" }, { 'i', "session_info" },   { 'u', "uri" },
                         { 'e', "email" },  { 'p', "phone_number" }, { 'c', "connection_data" } };
    uint32_t version = find_line(tx, 'v', 0, 0);
    uint64_t number;

    fields_object_open(out, "sdp");
    if (version < sip_sdp_count(tx)) {
        const struct sip_text *text = &sip_get_sdp_line(tx, version)->value;

        if (text->length > 0 &&
            text_to_uint((const char *)tx->text.bytes + text->at, text->length, 0, UINT32_MAX, &number))
            fields_uint(out, "version", number);
    }
    for (size_t i = 0; i < sizeof(before_times) / sizeof(before_times[0]); i++)
        log_line(tx, before_times[i].type, 0, 0, before_times[i].key, out);
    log_lines(tx, 'b', 0, 0, "bandwidths", out);
    log_times(tx, out);
    log_line(tx, 'z', 0, 0, "timezone", out);
    log_line(tx, 'k', 0, 0, "encryption_key", out);
    log_lines(tx, 'a', 0, 0, "attributes", out);
    log_media(tx, out);
    fields_object_close(out);
}

/* --- Messages ---------------------------------------------------------------------------------------- */

void sip_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct sip_tx *sip = (const struct sip_tx *)tx;

    (void)settings;
    if (!sip->is_parsed)
        return;
    if (sip->is_request) {
        log_text(sip, "method", &sip->method, out);
        log_text(sip, "uri", &sip->uri, out);
        log_text(sip, "version", &sip->version, out);
        log_text(sip, "request_line", &sip->start_line, out);
    } else {
        log_text(sip, "version", &sip->version, out);
        log_text(sip, "code", &sip->code, out);
        log_text(sip, "reason", &sip->reason, out);
        log_text(sip, "response_line", &sip->start_line, out);
    }
    if (sip_sdp_count(sip) > 0)
        log_sdp(sip, out);
}
