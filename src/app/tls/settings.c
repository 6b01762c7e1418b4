/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of the TLS parser and of its EVE events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tls_priv.h"

static const char *const encrypted_choices[] = { "track-only", "default", "bypass", "full", NULL };

/* In the order of the bits TLS_FIELD_*. */
static const char *const field_choices[] = {
    "version",
    "subject",
    "issuer",
    "serial",
    "fingerprint",
    "not_before",
    "not_after",
    "sni",
    "certificate",
    "chain",
    "session_resumed",
    "ja3",
    "ja3s",
    "client",
    "client_certificate",
    "client_chain",
    "ja4",
    "subjectaltname",
    "client_alpns",
    "server_alpns",
    "client_handshake",
    "server_handshake",
    NULL,
};

enum {
    BASIC_FIELDS = TLS_FIELD_SUBJECT | TLS_FIELD_ISSUER | TLS_FIELD_ALTERNATIVES,
    EXTENDED_FIELDS = BASIC_FIELDS | TLS_FIELD_VERSION | TLS_FIELD_SERIAL | TLS_FIELD_FINGERPRINT |
                      TLS_FIELD_NOT_BEFORE | TLS_FIELD_NOT_AFTER | TLS_FIELD_JA3 | TLS_FIELD_JA3S | TLS_FIELD_JA4 |
                      TLS_FIELD_CLIENT | TLS_FIELD_CLIENT_ALPNS | TLS_FIELD_SERVER_ALPNS | TLS_FIELD_SNI,
    FINGERPRINT_FIELDS = TLS_FIELD_JA3 | TLS_FIELD_JA3S | TLS_FIELD_JA4,
};

static void store_encryption(const char *value, void *data)
{
    struct tls_settings *settings = data;

    settings->encrypted = strcmp(value, "bypass") == 0 ? TLS_ENCRYPTED_BYPASS
                          : strcmp(value, "full") == 0 ? TLS_ENCRYPTED_FULL
                                                       : TLS_ENCRYPTED_TRACK;
}

const struct setting tls_settings_table[] = {
    { .name = "app-layer.protocols.tls.encryption-handling",
      .store = store_encryption,
      .type = SETTING_ENUM,
      .default_value = "track-only",
      .choices = encrypted_choices,
      .help = "Treatment of a connection after the handshake: track-only or default (encrypted data is not inspected), "
              "bypass (the flow is bypassed), full (encrypted data is inspected)" },
    { .name = "app-layer.protocols.tls.ja3-fingerprints",
      SETTING_FIELD(tls_settings, ja3),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Compute JA3 and JA3S fingerprints: no, yes (also write them in events), auto (when a rule or "
              "eve.types.tls.custom needs them)" },
    { .name = "app-layer.protocols.tls.ja4-fingerprints",
      SETTING_FIELD(tls_settings, ja4),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Compute JA4 fingerprints: no, yes (also write them in events), auto (when a rule or the fields of "
              "eve.types.tls need them, as they do by default)" },
    { .name = "eve.types.tls", .type = SETTING_SECTION, .help = "Event type tls: a TLS handshake" },
    { .name = "eve.types.tls.extended",
      SETTING_FIELD(tls_settings, extended),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Write all usual fields; otherwise subject, issuer and alternative names only" },
    { .name = "eve.types.tls.session-resumption",
      SETTING_FIELD(tls_settings, log_resumed),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Write events of resumed sessions, too, which have no certificate" },
    { .name = "eve.types.tls.custom",
      SETTING_FIELD(tls_settings, custom),
      .type = SETTING_LIST,
      .choices = field_choices,
      .help = "Fields to write, instead of those that extended selects" },
    { .name = "eve.types.tls.ja4",
      SETTING_FIELD(tls_settings, log_ja4),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Write the JA4 fingerprint even if extended is no" },
    { 0 },
};

int tls_configure(const struct config *config, void *data)
{
    struct tls_settings *settings = data;

    (void)config;
    if (*settings->custom) {
        for (const char *const *name = settings->custom; *name; name++)
            for (unsigned i = 0; field_choices[i]; i++)
                if (strcmp(field_choices[i], *name) == 0)
                    settings->fields |= 1u << i;
        if (settings->fields & (TLS_FIELD_CLIENT_CERTIFICATE | TLS_FIELD_CLIENT_CHAIN))
            settings->fields |= TLS_FIELD_CLIENT;
        settings->computed = settings->fields & FINGERPRINT_FIELDS;
    } else {
        settings->fields = settings->extended ? EXTENDED_FIELDS : BASIC_FIELDS;
        if (settings->log_ja4)
            settings->fields |= TLS_FIELD_JA4;
        settings->computed = settings->fields & TLS_FIELD_JA4;
    }
    if (settings->ja3 == TLS_FINGERPRINT_ALWAYS)
        settings->computed |= TLS_FIELD_JA3 | TLS_FIELD_JA3S;
    if (settings->ja4 == TLS_FINGERPRINT_ALWAYS)
        settings->computed |= TLS_FIELD_JA4;
    if (settings->log_resumed)
        settings->fields |= TLS_FIELD_SESSION_RESUMED;
    return 0;
}
