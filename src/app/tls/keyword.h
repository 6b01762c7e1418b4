/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for logs, settings, buffers and keywords.
 */
#ifndef SLUICE_APP_TLS_KEYWORD_H
#define SLUICE_APP_TLS_KEYWORD_H

#include "sluice/app.h"
#include "sluice/bytes.h"

#include "state.h"

/* --- log.c, settings.c ---------------------------------------------------------------------------- */

enum { TLS_VERSION_TEXT_MAX = 24 };
/* Writes the name of a version, such as "TLS 1.2". */
void tls_version_text(uint16_t version, char out[TLS_VERSION_TEXT_MAX]);

bool tls_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                      struct app_script_value *out); /* script.c */

/* Fields of the EVE object "tls", a bit set. */
enum {
    TLS_FIELD_VERSION = 1 << 0,
    TLS_FIELD_SUBJECT = 1 << 1,
    TLS_FIELD_ISSUER = 1 << 2,
    TLS_FIELD_SERIAL = 1 << 3,
    TLS_FIELD_FINGERPRINT = 1 << 4,
    TLS_FIELD_NOT_BEFORE = 1 << 5,
    TLS_FIELD_NOT_AFTER = 1 << 6,
    TLS_FIELD_SNI = 1 << 7,
    TLS_FIELD_CERTIFICATE = 1 << 8,
    TLS_FIELD_CHAIN = 1 << 9,
    TLS_FIELD_SESSION_RESUMED = 1 << 10,
    TLS_FIELD_JA3 = 1 << 11,
    TLS_FIELD_JA3S = 1 << 12,
    TLS_FIELD_CLIENT = 1 << 13,
    TLS_FIELD_CLIENT_CERTIFICATE = 1 << 14,
    TLS_FIELD_CLIENT_CHAIN = 1 << 15,
    TLS_FIELD_JA4 = 1 << 16,
    TLS_FIELD_ALTERNATIVES = 1 << 17,
    TLS_FIELD_CLIENT_ALPNS = 1 << 18,
    TLS_FIELD_SERVER_ALPNS = 1 << 19,
    TLS_FIELD_CLIENT_HANDSHAKE = 1 << 20,
    TLS_FIELD_SERVER_HANDSHAKE = 1 << 21,
};

/* Values of the setting encryption-handling. */
enum tls_encrypted {
    TLS_ENCRYPTED_TRACK,  /* do not inspect encrypted data */
    TLS_ENCRYPTED_BYPASS, /* bypass the flow when encrypted data starts */
    TLS_ENCRYPTED_FULL,   /* inspect encrypted data */
};
/* In the order of setting_auto_choices. */
enum tls_fingerprint_mode { TLS_FINGERPRINT_AUTO, TLS_FINGERPRINT_ALWAYS, TLS_FINGERPRINT_NEVER };

struct tls_settings {
    enum tls_encrypted encrypted;
    enum tls_fingerprint_mode ja3, ja4;
    unsigned fields;   /* TLS_FIELD_* bits of the fields to log */
    unsigned computed; /* TLS_FIELD_* bits of the fingerprints that are computed even if no rule uses them */
    /* Settings below eve.types.tls. log_resumed: log sessions without certificate that resume another session. log_ja4
     * and extended select `fields`. */
    bool log_resumed, log_ja4, extended;
    const char *const *custom; /* names of the fields to log, from which `fields` is set */
};

extern const struct setting tls_settings_table[];
int tls_configure(const struct config *config, void *settings);
void tls_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool tls_is_logged(const struct app_tx *tx, const void *settings);

/* --- buffers.c ------------------------------------------------------------------------------------ */

enum { TLS_BUFFER_COUNT = 25 };
extern const struct app_buffer tls_buffers[TLS_BUFFER_COUNT];

/* Getters of fingerprints, which QUIC has as well. */
bool tls_get_ja3_hash(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool tls_get_ja3_string(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool tls_get_ja4(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
extern const struct keyword keyword_ja3_hash, keyword_ja3_string, keyword_ja3s_hash, keyword_ja3s_string,
    keyword_ja4_hash;

/* --- contents.c: keyword.finish of buffers -------------------------------------------------------- */

int tls_finish_ja3(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_ja4(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_fingerprint(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_serial(struct rule_parser *parser, const struct condition *conditions);

/* --- keyword_store.c: app_proto.get_chain --------------------------------------------------------- */

bool tls_get_chain(const struct app_tx *tx, enum flow_direction direction, struct app_chain *out);

/* --- keywords ------------------------------------------------------------------------------------- */

extern const char *const tls_applications[]; /* keyword.scope.applications */

extern const struct keyword keyword_tls_version, keyword_ssl_version, keyword_ssl_state;
extern const struct keyword keyword_tls_subject, keyword_tls_issuerdn, keyword_tls_fingerprint,
    keyword_tls_cert_chain_len, keyword_tls_cert_notbefore, keyword_tls_cert_notafter, keyword_tls_cert_expired,
    keyword_tls_cert_valid;
extern const struct keyword keyword_tls_store;

#endif
