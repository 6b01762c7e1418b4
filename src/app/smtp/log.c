/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EVE objects of SMTP: "smtp" with the envelope, and "email" with the message.
 */
#include <nettle/md5.h>
#include <string.h>

#include "smtp_priv.h"

/* Value of a field: the first header of that name, an array of all headers of that name, or an array of the addresses
 * in the first one. */
enum field_kind { FIELD_TEXT, FIELD_ALL, FIELD_ADDRESSES };

/* Fields that eve.types.smtp.custom may list; `extended`: eve.types.smtp.extended adds them, too. */
static const struct {
    const char *name, *header;
    enum field_kind kind;
    bool extended;
} email_fields[] = {
    { "reply_to", "reply-to", FIELD_TEXT, false },       { "bcc", "bcc", FIELD_ADDRESSES, true },
    { "message_id", "message-id", FIELD_TEXT, true },    { "subject", "subject", FIELD_TEXT, true },
    { "x_mailer", "x-mailer", FIELD_TEXT, true },        { "user_agent", "user-agent", FIELD_TEXT, true },
    { "received", "received", FIELD_ALL, false },        { "x_originating_ip", "x-originating-ip", FIELD_TEXT, false },
    { "in_reply_to", "in-reply-to", FIELD_TEXT, false }, { "references", "references", FIELD_TEXT, false },
    { "importance", "importance", FIELD_TEXT, false },   { "priority", "priority", FIELD_TEXT, false },
    { "sensitivity", "sensitivity", FIELD_TEXT, false }, { "organization", "organization", FIELD_TEXT, false },
    { "content_md5", "content-md5", FIELD_TEXT, false }, { "date", "date", FIELD_TEXT, false },
};
enum { FIELDS = sizeof(email_fields) / sizeof(email_fields[0]) };

uint32_t smtp_log_field(const char *name)
{
    for (unsigned i = 0; i < FIELDS; i++)
        if (mime_equal_nocase((const uint8_t *)name, (uint32_t)strlen(name), email_fields[i].name) ||
            mime_equal_nocase((const uint8_t *)name, (uint32_t)strlen(name), email_fields[i].header))
            return 1u << i;
    return 0;
}

static const void *text_or_empty(const uint8_t *bytes, uint32_t length)
{
    return length > 0 ? (const void *)bytes : "";
}

void smtp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct smtp_tx *smtp = (const struct smtp_tx *)tx;

    (void)settings;
    if (smtp->has_helo)
        fields_bytes(out, "helo", text_or_empty(smtp->helo.bytes, smtp->helo.length), smtp->helo.length);
    if (smtp->has_mail_from)
        fields_bytes(out, "mail_from", text_or_empty(smtp->mail_from.bytes, smtp->mail_from.length),
                     smtp->mail_from.length);
    if (smtp->recipient_count == 0)
        return;
    fields_array_open(out, "rcpt_to");
    for (uint32_t i = 0; i < smtp->recipient_count; i++)
        fields_bytes(
            out, NULL,
            text_or_empty(buffer_at(&smtp->recipient_text, smtp->recipients[i].at), smtp->recipients[i].length),
            smtp->recipients[i].length);
    fields_array_close(out);
}

/* --- Message -------------------------------------------------------------------------------------- */

static const uint8_t *header_value(const struct mime *mime, const struct mime_header *header)
{
    return text_or_empty(buffer_at(&mime->main.text, header->value), header->value_length);
}

static void log_first_header(const struct mime *mime, const char *key, const char *name, struct fields *out)
{
    const struct mime_header *header = mime_headers_find(&mime->main, name, 0);

    if (header)
        fields_bytes(out, key, header_value(mime, header), header->value_length);
}

static void log_all_headers(const struct mime *mime, const char *key, const char *name, struct fields *out)
{
    const struct mime_header *header = mime_headers_find(&mime->main, name, 0);

    if (!header)
        return;
    fields_array_open(out, key);
    for (uint32_t i = 0; i < mime->main.count; i++) {
        header = &mime->main.list[i];
        if (mime_equal_nocase(buffer_at(&mime->main.text, header->name), header->name_length, name))
            fields_bytes(out, NULL, header_value(mime, header), header->value_length);
    }
    fields_array_close(out);
}

/* Returns the length of the first address: up to a comma outside of quotes. */
static uint32_t address_length(const uint8_t *bytes, uint32_t length)
{
    bool quoted = false;
    uint32_t at;

    for (at = 0; at < length && (quoted || bytes[at] != ','); at++) {
        if (bytes[at] == '\\' && quoted && at + 1 < length)
            at++;
        else if (bytes[at] == '"')
            quoted = !quoted;
    }
    return at;
}

static void log_addresses(const struct mime *mime, const char *key, const char *name, struct fields *out)
{
    const struct mime_header *header = mime_headers_find(&mime->main, name, 0);
    const uint8_t *bytes;
    uint32_t left, length;

    if (!header)
        return;
    bytes = header_value(mime, header);
    left = header->value_length;
    fields_array_open(out, key);
    do {
        while (left > 0 && (*bytes == ' ' || *bytes == '\t'))
            bytes++, left--;
        length = address_length(bytes, left);
        fields_bytes(out, NULL, text_or_empty(bytes, length), length);
        length += length < left;
        bytes += length;
        left -= length;
    } while (left > 0);
    fields_array_close(out);
}

/* Logs the fields that eve.types.smtp.custom and eve.types.smtp.extended add. */
static void log_added_fields(const struct mime *mime, const struct smtp_settings *settings, struct fields *out)
{
    for (unsigned i = 0; i < FIELDS; i++) {
        if (!(settings->log_fields >> i & 1) && !(settings->log_extended && email_fields[i].extended))
            continue;
        if (email_fields[i].kind == FIELD_ALL)
            log_all_headers(mime, email_fields[i].name, email_fields[i].header, out);
        else if (email_fields[i].kind == FIELD_ADDRESSES)
            log_addresses(mime, email_fields[i].name, email_fields[i].header, out);
        else
            log_first_header(mime, email_fields[i].name, email_fields[i].header, out);
    }
}

void smtp_log_email(const struct app_tx *tx, const void *settings, struct fields *out)
{
    smtp_log_message(((const struct smtp_tx *)tx)->mime, &tx->files[FLOW_TO_SERVER], settings, out);
}

void smtp_log_message(const struct mime *mime, const struct file_list *files, const struct smtp_settings *settings,
                      struct fields *out)
{
    const struct mime_header *subject;

    if (!mime || (mime->main.count == 0 && !mime->main_complete))
        return;
    fields_object_open(out, "email");
    log_first_header(mime, "from", "from", out);
    log_addresses(mime, "to", "to", out);
    log_addresses(mime, "cc", "cc", out);
    fields_string(out, "status", mime->ended ? "PARSE_DONE" : mime->main_complete ? "BODY_STARTED" : "HEADER_STARTED");
    if (files->first) {
        fields_array_open(out, "attachment");
        for (const struct file *file = files->first; file; file = file->next)
            fields_bytes(out, NULL, text_or_empty(file->name.bytes, file->name.length), file->name.length);
        fields_array_close(out);
    }
    if (mime->urls.count > 0) {
        fields_array_open(out, "url");
        for (uint32_t i = mime->urls.count; i-- > 0;) { /* in reverse order, as in Suricata */
            const struct mime_text *url = &mime->urls.list[i];

            fields_bytes(out, NULL, text_or_empty(buffer_at(&mime->urls.text, url->at), url->length), url->length);
        }
        fields_array_close(out);
    }
    if (settings->log_fields || settings->log_extended)
        log_added_fields(mime, settings, out);
    if (settings->log_subject_md5 && (subject = mime_headers_find(&mime->main, "subject", 0))) {
        uint8_t digest[MD5_DIGEST_SIZE];
        struct md5_ctx md5;

        md5_init(&md5);
        md5_update(&md5, subject->value_length, header_value(mime, subject));
        md5_digest(&md5, sizeof(digest), digest);
        fields_hex(out, "subject_md5", digest, sizeof(digest));
    }
    if (settings->log_body_md5 && mime->md5_done)
        fields_bytes(out, "body_md5", mime->md5_text, sizeof(mime->md5_text));
    fields_object_close(out);
}
