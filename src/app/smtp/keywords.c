/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMTP keywords: envelope and message headers. The buffers of the envelope become available one after another, with
 * their commands; the headers are available together.
 */
#include "smtp_priv.h"

static const char *const smtp_applications[] = { "smtp", NULL };

static const struct smtp_tx *get_smtp_tx(const struct app_tx *tx)
{
    return (const struct smtp_tx *)tx;
}

static bool set_bytes(const uint8_t *bytes, uint32_t length, struct app_bytes *out)
{
    static const uint8_t nothing[1];

    *out = (struct app_bytes){ .bytes = length > 0 ? bytes : nothing, .length = length };
    return true;
}

/* --- Envelope ------------------------------------------------------------------------------------- */

/* Sets *out to text number `index`, counted from 1, of a list of texts that each end with LF. Returns false if there is
 * none. */
static bool get_listed_text(const struct buffer *others, unsigned index, struct app_bytes *out)
{
    const uint8_t *at = others->bytes, *limit, *end;

    if (others->length == 0)
        return false;
    limit = at + others->length;
    while (at < limit && (end = memchr(at, '\n', (size_t)(limit - at)))) {
        if (--index == 0)
            return set_bytes(at, (uint32_t)(end - at), out);
        at = end + 1;
    }
    return false;
}

static bool get_helo(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct smtp_tx *smtp = get_smtp_tx(tx);

    if (which.index > 0)
        return get_listed_text(&smtp->other_helos, which.index, out);
    return smtp->has_helo && set_bytes(smtp->helo.bytes, smtp->helo.length, out);
}

static bool get_mail_from(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct smtp_tx *smtp = get_smtp_tx(tx);

    if (which.index > 0)
        return get_listed_text(&smtp->other_senders, which.index, out);
    return smtp->has_mail_from && set_bytes(smtp->mail_from.bytes, smtp->mail_from.length, out);
}

static bool get_recipient(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct smtp_tx *smtp = get_smtp_tx(tx);

    return which.index < smtp->recipient_count &&
           set_bytes(buffer_at(&smtp->recipient_text, smtp->recipients[which.index].at),
                     smtp->recipients[which.index].length, out);
}

/* --- Message -------------------------------------------------------------------------------------- */

/* Values of app_buffer.part: index in the table of header names. */
enum {
    HEADER_FROM,
    HEADER_TO,
    HEADER_CC,
    HEADER_SUBJECT,
    HEADER_DATE,
    HEADER_MESSAGE_ID,
    HEADER_X_MAILER,
    HEADER_RECEIVED
};
static const char *const header_names[] = {
    "from", "to", "cc", "subject", "date", "message-id", "x-mailer", "received"
};

static bool get_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct mime *mime = get_smtp_tx(tx)->mime;
    const struct mime_header *header =
        mime && mime->main_complete ? mime_headers_find(&mime->main, header_names[which.part], which.index) : NULL;

    return header && set_bytes(buffer_at(&mime->main.text, header->value), header->value_length, out);
}

static bool get_url(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct mime *mime = get_smtp_tx(tx)->mime;

    return mime && which.index < mime->urls.count &&
           set_bytes(buffer_at(&mime->urls.text, mime->urls.list[which.index].at), mime->urls.list[which.index].length,
                     out);
}

/* The MD5 of the body in hexadecimal, as rules specify it. */
static bool get_body_md5(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct mime *mime = get_smtp_tx(tx)->mime;

    (void)which;
    return mime && mime->md5_done && set_bytes(mime->md5_text, sizeof(mime->md5_text), out);
}

/* --- Keyword definitions -------------------------------------------------------------------------- */

const struct keyword keyword_smtp_helo = {
    .name = "smtp.helo",
    .help = "argument of the session's first HELO or EHLO, then each argument of a later one in the transaction that "
            "differs from it",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_smtp_mail_from = {
    .name = "smtp.mail_from",
    .help = "envelope sender (MAIL FROM): <a@example.com>",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_smtp_rcpt_to = {
    .name = "smtp.rcpt_to",
    .help = "each envelope recipient (RCPT TO)",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_from = {
    .name = "email.from",
    .help = "From header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_to = {
    .name = "email.to",
    .help = "To header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_cc = {
    .name = "email.cc",
    .help = "Cc header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_subject = {
    .name = "email.subject",
    .help = "Subject header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_date = {
    .name = "email.date",
    .help = "Date header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_message_id = {
    .name = "email.message_id",
    .help = "Message-ID header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_x_mailer = {
    .name = "email.x_mailer",
    .help = "X-Mailer header of the message",
    .kind = KEYWORD_BUFFER,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_received = {
    .name = "email.received",
    .help = "each Received header of the message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { smtp_applications, APP_TO_SERVER },
};

const struct keyword keyword_email_url = {
    .name = "email.url",
    .help = "each URL in the text of the message (setting mime.extract-urls)",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { smtp_applications, APP_TO_SERVER },
};

static int email_body_md5_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_rule(parser)->file_needs |= RULE_MESSAGE_MD5;
    return rule_parser_select_buffer(parser, &keyword_email_body_md5);
}

const struct keyword keyword_email_body_md5 = {
    .name = "email.body_md5",
    .help = "MD5 of the message body, in hexadecimal",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .scope = { smtp_applications, APP_TO_SERVER },
    .parse = email_body_md5_parse,
};

const struct app_buffer smtp_buffers[SMTP_BUFFERS] = {
    { &keyword_file_data, APP_TO_SERVER, SMTP_DATA, .get = app_file_data, .grows = true },
    { &keyword_smtp_helo, APP_TO_SERVER, SMTP_STARTED, .get = get_helo, .grows = true },
    { &keyword_smtp_mail_from, APP_TO_SERVER, SMTP_STARTED, .get = get_mail_from, .grows = true },
    { &keyword_smtp_rcpt_to, APP_TO_SERVER, SMTP_STARTED, .get = get_recipient, .grows = true },
    { &keyword_email_from, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_FROM },
    { &keyword_email_to, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_TO },
    { &keyword_email_cc, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_CC },
    { &keyword_email_subject, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_SUBJECT },
    { &keyword_email_date, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_DATE },
    { &keyword_email_message_id, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_MESSAGE_ID },
    { &keyword_email_x_mailer, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_X_MAILER },
    { &keyword_email_received, APP_TO_SERVER, SMTP_HEADERS, .get = get_header, .part = HEADER_RECEIVED },
    { &keyword_email_url, APP_TO_SERVER, SMTP_HEADERS, .get = get_url, .grows = true },
    { &keyword_email_body_md5, APP_TO_SERVER, SMTP_COMPLETE, .get = get_body_md5 },
};
