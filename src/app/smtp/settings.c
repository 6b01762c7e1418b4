/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the SMTP parser and of its EVE events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smtp_priv.h"
#include "sluice/text.h"

static const char *const md5_choices[] = { "body", "subject", NULL };
static const char files_rule[] =
    "Accepted without effect: the first 100 KiB of a file are inspected as a whole, the rest in a sliding window";

static const char *check_field(const char *value)
{
    return smtp_log_field(value) ? NULL
                                 : "the name of a header such as subject, received, x_mailer, message_id or date";
}

const struct setting smtp_setting_rows[] = {
    { .name = "app-layer.protocols.smtp.raw-extraction",
      SETTING_FIELD(smtp_settings, raw),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Treat each undecoded message as one file named rawmsg; requires decode-mime: no" },
    { .name = "app-layer.protocols.smtp.mime.decode-mime",
      SETTING_FIELD(smtp_settings, decode),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Parse messages: headers, files, URLs" },
    { .name = "app-layer.protocols.smtp.mime.decode-base64",
      SETTING_FIELD(smtp_settings, mime.decode_base64),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode base64 files; if off, such files are empty" },
    { .name = "app-layer.protocols.smtp.mime.decode-quoted-printable",
      SETTING_FIELD(smtp_settings, mime.decode_quoted),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode quoted-printable files; if off, such files are empty" },
    { .name = "app-layer.protocols.smtp.mime.header-value-depth",
      SETTING_FIELD(smtp_settings, mime.value_depth),
      .type = SETTING_SIZE,
      .default_value = "2000",
      .low = 0,
      .high = 65536,
      .help = "Length of a header value, in bytes, above which the event mime_long_header_value is set" },
    { .name = "app-layer.protocols.smtp.mime.extract-urls",
      SETTING_FIELD(smtp_settings, mime.extract_urls),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Extract URLs from the text of messages and from their files" },
    { .name = "app-layer.protocols.smtp.mime.extract-urls-schemes",
      SETTING_FIELD(smtp_settings, scheme_names),
      .type = SETTING_LIST,
      .default_value = "http",
      .help = "URL schemes to extract, such as http, https, ftp" },
    { .name = "app-layer.protocols.smtp.mime.log-url-scheme",
      SETTING_FIELD(smtp_settings, mime.keep_scheme),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Include the scheme in URLs, in events and for email.url" },
    { .name = "app-layer.protocols.smtp.mime.body-md5",
      SETTING_FIELD(smtp_settings, body_md5),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Compute the MD5 of message bodies: no, yes, auto (when a rule or eve.types.smtp.md5 needs it)" },
    { .name = "app-layer.protocols.smtp.inspected-tracker.content-limit", .type = SETTING_SIZE, .help = files_rule },
    { .name = "app-layer.protocols.smtp.inspected-tracker.content-inspect-min-size",
      .type = SETTING_SIZE,
      .help = files_rule },
    { .name = "app-layer.protocols.smtp.inspected-tracker.content-inspect-window",
      .type = SETTING_SIZE,
      .help = files_rule },
    { .name = "eve.types.smtp", .type = SETTING_SECTION, .help = "Event type smtp: an SMTP message with its envelope" },
    { .name = "eve.types.smtp.extended",
      SETTING_FIELD(smtp_settings, log_extended),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add bcc, message_id, subject, x_mailer and user_agent" },
    { .name = "eve.types.smtp.custom",
      SETTING_FIELD(smtp_settings, custom),
      .type = SETTING_LIST,
      .check = check_field,
      .help = "Message headers to add, such as subject, received, date" },
    { .name = "eve.types.smtp.md5",
      SETTING_FIELD(smtp_settings, digests),
      .type = SETTING_LIST,
      .choices = md5_choices,
      .help = "MD5 digests to add: body, subject" },
    { .name = NULL },
};

int smtp_configure(const struct config *config, void *data)
{
    struct smtp_settings *settings = data;
    size_t count = 0;

    (void)config;
    while (settings->scheme_names[count])
        count++;
    settings->schemes = calloc(count + 1, sizeof(*settings->schemes));
    if (!settings->schemes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (asprintf(&settings->schemes[i], "%s://", settings->scheme_names[i]) < 0) {
            settings->schemes[i] = NULL;
            return -ENOMEM;
        }
    }
    settings->mime.schemes = (const char *const *)settings->schemes;
    settings->raw = settings->raw && !settings->decode;
    for (const char *const *name = settings->custom; *name; name++)
        settings->log_fields |= smtp_log_field(*name);
    for (const char *const *digest = settings->digests; *digest; digest++) {
        settings->log_body_md5 |= strcmp(*digest, "body") == 0;
        settings->log_subject_md5 |= strcmp(*digest, "subject") == 0;
    }
    return 0;
}

void smtp_unconfigure(void *data)
{
    struct smtp_settings *settings = data;

    for (char **scheme = settings->schemes; scheme && *scheme; scheme++)
        free(*scheme);
    free(settings->schemes);
}
