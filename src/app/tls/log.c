/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EVE object "tls". Settings select the fields; fields without a value in the session are omitted.
 */
#include <stdio.h>
#include <string.h>

#include "tls_priv.h"

/* --- Versions ------------------------------------------------------------------------------------- */

void tls_version_text(uint16_t version, char out[TLS_VERSION_TEXT_MAX])
{
    static const char *const names[] = { "SSLv3", "TLSv1", "TLS 1.1", "TLS 1.2", "TLS 1.3" };

    if (version == TLS_VERSION_NONE)
        snprintf(out, TLS_VERSION_TEXT_MAX, "UNDETERMINED");
    else if (version == TLS_SSL2)
        snprintf(out, TLS_VERSION_TEXT_MAX, "SSLv2");
    else if (version >= TLS_SSL3 && version <= TLS_13)
        snprintf(out, TLS_VERSION_TEXT_MAX, "%s", names[version - TLS_SSL3]);
    else if (version == TLS_13_EARLY_DRAFT)
        snprintf(out, TLS_VERSION_TEXT_MAX, "TLS 1.3 draft-<16");
    else if (tls_version_is_draft(version))
        snprintf(out, TLS_VERSION_TEXT_MAX, "TLS 1.3 draft-%u%s", version & 0xff, version >> 8 == 0xfb ? "-fb" : "");
    else
        snprintf(out, TLS_VERSION_TEXT_MAX, "%u", version); /* as in Suricata */
}

static void log_version(struct fields *out, const char *key, uint16_t version)
{
    char text[TLS_VERSION_TEXT_MAX];

    tls_version_text(version, text);
    fields_string(out, key, text);
}

/* --- Certificates --------------------------------------------------------------------------------- */

static void log_text(struct fields *out, const char *key, const struct tls_certificates *certificates,
                     struct tls_piece piece)
{
    if (certificates->decoded)
        fields_bytes(out, key, certificates->text + piece.at, piece.length);
}

static void log_der(struct fields *out, const char *key, const struct tls_certificates *certificates, uint32_t index)
{
    struct cursor bytes = tls_piece_cursor(&certificates->chain, certificates->certs[index]);

    fields_base64(out, key, bytes.at, cursor_remaining(&bytes));
}

static void log_certificate(struct fields *out, const struct tls_certificates *certificates)
{
    if (certificates->count > 0)
        log_der(out, "certificate", certificates, 0);
}

static void log_chain(struct fields *out, const struct tls_certificates *certificates)
{
    if (certificates->count == 0)
        return;
    fields_array_open(out, "chain");
    for (uint32_t i = 0; i < certificates->count; i++)
        log_der(out, NULL, certificates, i);
    fields_array_close(out);
}

static void log_fingerprint(struct fields *out, const struct tls_certificates *certificates)
{
    if (certificates->decoded)
        fields_bytes(out, "fingerprint", certificates->fingerprint, sizeof(certificates->fingerprint));
}

static void log_time(struct fields *out, const char *key, const struct tls_certificates *certificates, int64_t seconds)
{
    if (certificates->decoded && seconds != 0)
        fields_time(out, key, seconds);
}

static void log_alternatives(struct fields *out, const struct tls_certificates *certificates)
{
    if (!certificates->decoded || certificates->name_count == 0)
        return;
    fields_array_open(out, "subjectaltname");
    for (uint32_t i = 0; i < certificates->name_count; i++)
        log_text(out, NULL, certificates, certificates->names[i]);
    fields_array_close(out);
}

static void log_client(struct fields *out, const struct tls_certificates *certificates, unsigned fields)
{
    if (!certificates->decoded)
        return;
    fields_object_open(out, "client");
    log_text(out, "subject", certificates, certificates->subject);
    log_text(out, "issuerdn", certificates, certificates->issuer);
    log_fingerprint(out, certificates);
    log_text(out, "serial", certificates, certificates->serial);
    log_time(out, "notbefore", certificates, certificates->not_before);
    log_time(out, "notafter", certificates, certificates->not_after);
    if (fields & TLS_FIELD_ALTERNATIVES)
        log_alternatives(out, certificates);
    if (fields & TLS_FIELD_CLIENT_CERTIFICATE)
        log_certificate(out, certificates);
    if (fields & TLS_FIELD_CLIENT_CHAIN)
        log_chain(out, certificates);
    fields_object_close(out);
}

/* --- Hellos --------------------------------------------------------------------------------------- */

static void log_alpns(struct fields *out, const char *key, const struct tls_side *side)
{
    struct cursor name;

    if (!tls_alpn_at(side, 0, &name))
        return;
    fields_array_open(out, key);
    for (unsigned i = 0; tls_alpn_at(side, i, &name); i++)
        fields_bytes(out, NULL, name.at, cursor_remaining(&name));
    fields_array_close(out);
}

static void log_ja3(struct fields *out, const char *key, const struct tls_fingerprints *fingerprints)
{
    if (!fingerprints)
        return;
    fields_object_open(out, key);
    fields_bytes(out, "hash", fingerprints->ja3_hash, sizeof(fingerprints->ja3_hash));
    fields_bytes(out, "string", fingerprints->ja3.bytes, fingerprints->ja3.length);
    fields_object_close(out);
}

static void log_numbers(struct fields *out, const char *key, const struct tls_hello *hello, struct tls_piece piece,
                        bool are_extensions)
{
    struct cursor list = tls_piece_cursor(&hello->body, piece);
    uint16_t number, length;
    bool is_open = false;

    while (cursor_be16(&list, &number)) {
        if (are_extensions && (!cursor_be16(&list, &length) || !cursor_skip(&list, length)))
            break;
        if (tls_is_grease(number))
            continue;
        if (!is_open)
            fields_array_open(out, key);
        is_open = true;
        fields_uint(out, NULL, number);
    }
    if (is_open)
        fields_array_close(out);
}

static void log_client_handshake(struct fields *out, const struct tls_hello *hello)
{
    if (!hello->body.bytes)
        return;
    fields_object_open(out, "client_handshake");
    log_version(out, "version", hello->offered);
    log_numbers(out, "ciphers", hello, hello->ciphers, false);
    log_numbers(out, "exts", hello, hello->extensions, true);
    log_numbers(out, "sig_algs", hello, hello->algorithms, false);
    fields_object_close(out);
}

static void log_server_handshake(struct fields *out, const struct tls_hello *hello)
{
    struct cursor cipher = tls_piece_cursor(&hello->body, hello->ciphers);
    uint16_t number;

    if (!hello->body.bytes)
        return;
    fields_object_open(out, "server_handshake");
    log_version(out, "version", hello->offered);
    if (cursor_be16(&cipher, &number))
        fields_uint(out, "cipher", number);
    log_numbers(out, "exts", hello, hello->extensions, true);
    fields_object_close(out);
}

/* --- EVE object ----------------------------------------------------------------------------------- */

/* Logs the fields of the session and of the server's certificate, in Suricata's order. */
static void log_session(struct fields *out, const struct tls_tx *tx, unsigned fields)
{
    const struct tls_side *client = &tx->side[FLOW_TO_SERVER], *server = &tx->side[FLOW_TO_CLIENT];
    const struct tls_certificates *certificates = &server->certificates;
    const bool is_resumed = (tx->flags & TLS_RESUMES) && !certificates->decoded && (tx->flags & TLS_SAW_SERVER_HELLO) &&
                            !(tx->flags & TLS_NO_CERTIFICATE);

    if (fields & TLS_FIELD_SUBJECT)
        log_text(out, "subject", certificates, certificates->subject);
    if (fields & TLS_FIELD_ISSUER)
        log_text(out, "issuerdn", certificates, certificates->issuer);
    if (fields & TLS_FIELD_ALTERNATIVES)
        log_alternatives(out, certificates);
    if (fields & TLS_FIELD_SESSION_RESUMED && is_resumed)
        fields_bool(out, "session_resumed", true);
    if (fields & TLS_FIELD_SERIAL)
        log_text(out, "serial", certificates, certificates->serial);
    if (fields & TLS_FIELD_FINGERPRINT)
        log_fingerprint(out, certificates);
    if (fields & TLS_FIELD_SNI && client->hello.sni.length > 0) {
        struct cursor sni = tls_piece_cursor(&client->hello.body, client->hello.sni);

        fields_bytes(out, "sni", sni.at, cursor_remaining(&sni));
    }
    if (fields & TLS_FIELD_VERSION) /* selected by the server; offered by the client if the server did not answer */
        log_version(out, "version", server->version != TLS_VERSION_NONE ? server->version : client->version);
    if (fields & TLS_FIELD_NOT_BEFORE)
        log_time(out, "notbefore", certificates, certificates->not_before);
    if (fields & TLS_FIELD_NOT_AFTER)
        log_time(out, "notafter", certificates, certificates->not_after);
    if (fields & TLS_FIELD_CERTIFICATE)
        log_certificate(out, certificates);
    if (fields & TLS_FIELD_CHAIN)
        log_chain(out, certificates);
}

/* Whether a fingerprint is logged: the settings select it, and either request its computation, or a rule has computed
 * it. */
static bool is_fingerprint_logged(const struct tls_settings *settings, unsigned field, bool is_computed)
{
    return (settings->fields & field) && ((settings->computed & field) || is_computed);
}

static bool ja3_is_computed(const struct tls_side *side)
{
    return side->fingerprints && side->fingerprints->ja3_computed;
}

static void log_fingerprints(struct fields *out, const struct tls_tx *tx, const struct tls_settings *settings)
{
    const struct tls_side *client = &tx->side[FLOW_TO_SERVER], *server = &tx->side[FLOW_TO_CLIENT];

    if (is_fingerprint_logged(settings, TLS_FIELD_JA3, ja3_is_computed(client)))
        log_ja3(out, "ja3", tls_ja3(tx, FLOW_TO_SERVER));
    if (is_fingerprint_logged(settings, TLS_FIELD_JA3S, ja3_is_computed(server)))
        log_ja3(out, "ja3s", tls_ja3(tx, FLOW_TO_CLIENT));
    if (is_fingerprint_logged(settings, TLS_FIELD_JA4, client->fingerprints && client->fingerprints->ja4_computed)) {
        const struct tls_fingerprints *fingerprints = tls_ja4(tx);

        if (fingerprints)
            fields_bytes(out, "ja4", fingerprints->ja4, sizeof(fingerprints->ja4));
    }
}

void tls_log(const struct app_tx *base, const void *data, struct fields *out)
{
    const struct tls_tx *tx = tls_tx_of(base);
    const struct tls_settings *settings = data;
    const struct tls_side *client = &tx->side[FLOW_TO_SERVER], *server = &tx->side[FLOW_TO_CLIENT];
    unsigned fields = settings->fields;

    log_session(out, tx, fields);
    log_fingerprints(out, tx, settings);
    if (fields & TLS_FIELD_CLIENT_ALPNS)
        log_alpns(out, "client_alpns", client);
    if (fields & TLS_FIELD_SERVER_ALPNS)
        log_alpns(out, "server_alpns", server);
    if (fields & TLS_FIELD_CLIENT_HANDSHAKE)
        log_client_handshake(out, &client->hello);
    if (fields & TLS_FIELD_SERVER_HANDSHAKE)
        log_server_handshake(out, &server->hello);
    if (fields & TLS_FIELD_CLIENT)
        log_client(out, &client->certificates, fields);
    if (tx->from_proto)
        fields_string(out, "from_proto", app_name_by_id(tx->from_proto));
}

/* Whether the session is logged. Sessions without a certificate are logged only if their certificate is encrypted (TLS
 * 1.3) or, with session-resumption, if they resume another session. */
bool tls_is_logged(const struct app_tx *base, const void *data)
{
    const struct tls_tx *tx = tls_tx_of(base);
    const struct tls_settings *settings = data;

    return tx->side[FLOW_TO_CLIENT].certificates.decoded || (tx->flags & TLS_NO_CERTIFICATE) ||
           ((tx->flags & TLS_RESUMES) && settings->log_resumed);
}
