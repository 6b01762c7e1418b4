/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the SMTP parser and of its EVE events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smtp_priv.h"
#include "sluice/text.h"

#define PROTOCOL "app-layer.protocols.smtp."
#define EVENTS "eve.types.smtp."

static const char *const md5_choices[] = { "body", "subject", NULL };
static const char *const digest_choices[] = { "auto", "yes", "no", "true", "false", "on", "off", NULL };
static const char files_rule[] =
    "Accepted without effect: the first 100 KiB of a file are inspected as a whole, the rest in a sliding window";

static const char *check_field(const char *value)
{
    return smtp_log_field(value) ? NULL
                                 : "the name of a header such as subject, received, x_mailer, message_id or date";
}

const struct setting smtp_setting_rows[] = {
    { .name = PROTOCOL "raw-extraction",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Treat each undecoded message as one file named rawmsg; requires decode-mime: no" },
    { .name = PROTOCOL "mime.decode-mime",
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Parse messages: headers, files, URLs" },
    { .name = PROTOCOL "mime.decode-base64",
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode base64 files; if off, such files are empty" },
    { .name = PROTOCOL "mime.decode-quoted-printable",
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Decode quoted-printable files; if off, such files are empty" },
    { .name = PROTOCOL "mime.header-value-depth",
      .type = SETTING_SIZE,
      .default_value = "2000",
      .low = 0,
      .high = 65536,
      .help = "Length of a header value, in bytes, above which the event mime_long_header_value is set" },
    { .name = PROTOCOL "mime.extract-urls",
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Extract URLs from the text of messages and from their files" },
    { .name = PROTOCOL "mime.extract-urls-schemes",
      .type = SETTING_LIST,
      .default_value = "http",
      .help = "URL schemes to extract, such as http, https, ftp" },
    { .name = PROTOCOL "mime.log-url-scheme",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Include the scheme in URLs, in events and for email.url" },
    { .name = PROTOCOL "mime.body-md5",
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = digest_choices,
      .help = "Compute the MD5 of message bodies: no, yes, auto (when a rule or eve.types.smtp.md5 needs it)" },
    { .name = PROTOCOL "inspected-tracker.content-limit", .type = SETTING_SIZE, .help = files_rule },
    { .name = PROTOCOL "inspected-tracker.content-inspect-min-size", .type = SETTING_SIZE, .help = files_rule },
    { .name = PROTOCOL "inspected-tracker.content-inspect-window", .type = SETTING_SIZE, .help = files_rule },
    { .name = "eve.types.smtp", .type = SETTING_SECTION, .help = "Event type smtp: an SMTP message with its envelope" },
    { .name = EVENTS "extended",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add bcc, message_id, subject, x_mailer and user_agent" },
    { .name = EVENTS "custom",
      .type = SETTING_LIST,
      .check = check_field,
      .help = "Message headers to add, such as subject, received, date" },
    { .name = EVENTS "md5", .type = SETTING_LIST, .choices = md5_choices, .help = "MD5 digests to add: body, subject" },
    { .name = NULL },
};

static bool list_has(const struct config *config, const char *name, const char *value)
{
    for (size_t i = 0; i < config_list_count(config, name); i++)
        if (strcmp(config_list_get(config, name, i), value) == 0)
            return true;
    return false;
}

static int read_schemes(struct smtp_settings *settings, const struct config *config)
{
    static const char name[] = PROTOCOL "mime.extract-urls-schemes";
    size_t count = config_list_count(config, name);

    settings->schemes = calloc(count + 1, sizeof(*settings->schemes));
    if (!settings->schemes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *scheme = config_list_get(config, name, i);
        size_t length = strlen(scheme);

        settings->schemes[i] = malloc(length + 4);
        if (!settings->schemes[i])
            return -ENOMEM;
        memcpy(settings->schemes[i], scheme, length);
        memcpy(settings->schemes[i] + length, "://", 4);
    }
    return 0;
}

static void read_mime(struct smtp_settings *settings, const struct config *config)
{
    const char *md5 = config_string(config, PROTOCOL "mime.body-md5");

    if (strcmp(md5, "auto") == 0)
        settings->body_md5 = SMTP_MD5_AUTO;
    else if (strcmp(md5, "no") == 0 || strcmp(md5, "false") == 0 || strcmp(md5, "off") == 0)
        settings->body_md5 = SMTP_MD5_NEVER;
    else
        settings->body_md5 = SMTP_MD5_ALWAYS;
    settings->decode = config_bool(config, PROTOCOL "mime.decode-mime");
    settings->raw = config_bool(config, PROTOCOL "raw-extraction") && !settings->decode;
    settings->mime = (struct mime_options){
        .decode_base64 = config_bool(config, PROTOCOL "mime.decode-base64"),
        .decode_quoted = config_bool(config, PROTOCOL "mime.decode-quoted-printable"),
        .extract_urls = config_bool(config, PROTOCOL "mime.extract-urls"),
        .keep_scheme = config_bool(config, PROTOCOL "mime.log-url-scheme"),
        .value_depth = (uint32_t)config_number(config, PROTOCOL "mime.header-value-depth"),
        .schemes = (const char *const *)settings->schemes,
    };
}

int smtp_configure(const struct config *config, struct diag *diag, void **out)
{
    struct smtp_settings *settings = calloc(1, sizeof(*settings));

    (void)diag;
    if (!settings)
        return -ENOMEM;
    if (read_schemes(settings, config)) {
        smtp_unconfigure(settings);
        return -ENOMEM;
    }
    read_mime(settings, config);
    settings->log_extended = config_bool(config, EVENTS "extended");
    for (size_t i = 0; i < config_list_count(config, EVENTS "custom"); i++)
        settings->log_fields |= smtp_log_field(config_list_get(config, EVENTS "custom", i));
    settings->log_body_md5 = list_has(config, EVENTS "md5", "body");
    settings->log_subject_md5 = list_has(config, EVENTS "md5", "subject");
    *out = settings;
    return 0;
}

void smtp_unconfigure(void *data)
{
    struct smtp_settings *settings = data;

    if (!settings)
        return;
    for (char **scheme = settings->schemes; scheme && *scheme; scheme++)
        free(*scheme);
    free(settings->schemes);
    free(settings);
}
