/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers of TLS: their contents, their keywords, and the progress at which they are complete.
 */
#include "tls_priv.h"

static bool set_bytes(struct cursor bytes, struct app_bytes *out)
{
    if (!bytes.at)
        return false;
    *out = (struct app_bytes){ .bytes = bytes.at, .length = (uint32_t)cursor_remaining(&bytes) };
    return true;
}

static const struct tls_hello *hello_of(const struct app_tx *tx, enum flow_direction direction)
{
    return &tls_tx_of(tx)->side[direction].hello;
}

/* --- Hellos --------------------------------------------------------------------------------------- */

static bool get_sni(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    struct cursor name;

    return tls_server_name_at(hello_of(tx, which.direction), which.index, &name) && set_bytes(name, out);
}

static bool get_alpn(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    struct cursor name;

    return tls_alpn_at(&tls_tx_of(tx)->side[which.direction], which.index, &name) && set_bytes(name, out);
}

static bool get_random_part(const struct app_tx *tx, enum flow_direction direction, uint32_t at, uint32_t length,
                            struct app_bytes *out)
{
    const struct tls_hello *hello = hello_of(tx, direction);
    struct tls_piece piece = { hello->random.at + at, length };

    return hello->random.length > 0 && set_bytes(tls_piece_cursor(&hello->body, piece), out);
}

static bool get_random(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_random_part(tx, which.direction, 0, TLS_RANDOM_LENGTH, out);
}

static bool get_random_time(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_random_part(tx, which.direction, 0, 4, out);
}

static bool get_random_bytes(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_random_part(tx, which.direction, 4, TLS_RANDOM_LENGTH - 4, out);
}

/* --- Fingerprints --------------------------------------------------------------------------------- */

bool tls_get_ja3_hash(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_fingerprints *fingerprints = tls_ja3(tls_tx_of(tx), which.direction);

    return fingerprints && set_bytes(cursor_of(fingerprints->ja3_hash, sizeof(fingerprints->ja3_hash)), out);
}

bool tls_get_ja3_string(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_fingerprints *fingerprints = tls_ja3(tls_tx_of(tx), which.direction);

    return fingerprints && set_bytes(cursor_of(fingerprints->ja3.bytes, fingerprints->ja3.length), out);
}

bool tls_get_ja4(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_fingerprints *fingerprints = tls_ja4(tls_tx_of(tx));

    (void)which;
    return fingerprints && set_bytes(cursor_of(fingerprints->ja4, sizeof(fingerprints->ja4)), out);
}

/* --- Certificates --------------------------------------------------------------------------------- */

static const struct tls_certificates *certificates_of(const struct app_tx *tx, enum flow_direction direction)
{
    return &tls_tx_of(tx)->side[direction].certificates;
}

static bool set_text(const struct tls_certificates *certificates, struct tls_piece piece, struct app_bytes *out)
{
    return certificates->decoded && set_bytes(cursor_of(certificates->text + piece.at, piece.length), out);
}

static bool get_subject(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return set_text(certificates, certificates->subject, out);
}

static bool get_issuer(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return set_text(certificates, certificates->issuer, out);
}

static bool get_serial(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return set_text(certificates, certificates->serial, out);
}

static bool get_fingerprint(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return certificates->decoded &&
           set_bytes(cursor_of(certificates->fingerprint, sizeof(certificates->fingerprint)), out);
}

static bool get_certificate(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return which.index < certificates->count &&
           set_bytes(tls_piece_cursor(&certificates->chain, certificates->certs[which.index]), out);
}

static bool get_alternative(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct tls_certificates *certificates = certificates_of(tx, which.direction);

    return certificates->decoded && which.index < certificates->name_count &&
           set_text(certificates, certificates->names[which.index], out);
}

/* --- Keywords ------------------------------------------------------------------------------------- */

static const char *const fingerprint_applications[] = { "tls", "quic", NULL };

const struct keyword keyword_tls_sni = {
    .name = "tls.sni",
    .aliases = { "tls_sni" },
    .help = "server name indication (SNI) of the ClientHello",
    .manual = "A ClientHello may have several names; each is inspected separately.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { tls_applications, APP_TO_SERVER },
};

const struct keyword keyword_tls_alpn = {
    .name = "tls.alpn",
    .help = "each protocol name of the ALPN extension: those offered by the client, the one selected by the server",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_random = {
    .name = "tls.random",
    .help = "the 32 random bytes of the hello message",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_random_time = {
    .name = "tls.random_time",
    .help = "the first 4 random bytes, a timestamp in old TLS versions",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_random_bytes = {
    .name = "tls.random_bytes",
    .help = "the last 28 random bytes",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_ja3_hash = {
    .name = "ja3.hash",
    .aliases = { "ja3_hash" },
    .help = "JA3 hash of the client: MD5 as 32 hexadecimal digits",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .scope = { fingerprint_applications, APP_TO_SERVER },
    .finish = tls_finish_ja3,
};

const struct keyword keyword_ja3_string = {
    .name = "ja3.string",
    .aliases = { "ja3_string" },
    .help = "JA3 string of the client, before hashing: \"771,4865-4866,0-23,29-23,0\"",
    .kind = KEYWORD_BUFFER,
    .scope = { fingerprint_applications, APP_TO_SERVER },
};

const struct keyword keyword_ja3s_hash = {
    .name = "ja3s.hash",
    .help = "JA3S hash of the server: MD5 as 32 hexadecimal digits",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .scope = { fingerprint_applications, APP_TO_CLIENT },
    .finish = tls_finish_ja3,
};

const struct keyword keyword_ja3s_string = {
    .name = "ja3s.string",
    .help = "JA3S string of the server, before hashing: \"771,49200,65281-11\"",
    .kind = KEYWORD_BUFFER,
    .scope = { fingerprint_applications, APP_TO_CLIENT },
};

const struct keyword keyword_ja4_hash = {
    .name = "ja4.hash",
    .help = "JA4 fingerprint of the client: \"t13d1516h2_8daaf6152771_02713d6af862\"",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .scope = { fingerprint_applications, APP_TO_SERVER },
    .finish = tls_finish_ja4,
};

const struct keyword keyword_tls_cert_subject = {
    .name = "tls.cert_subject",
    .aliases = { "tls_cert_subject" },
    .help = "subject of the certificate: \"C=US, O=Example, CN=www.example.com\"",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_cert_issuer = {
    .name = "tls.cert_issuer",
    .aliases = { "tls_cert_issuer" },
    .help = "issuer of the certificate",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_cert_serial = {
    .name = "tls.cert_serial",
    .aliases = { "tls_cert_serial" },
    .help = "serial number of the certificate: \"5C:19:B7:B1\"",
    .manual = "Contents are converted to upper case.",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
    .finish = tls_finish_serial,
};

const struct keyword keyword_tls_cert_fingerprint = {
    .name = "tls.cert_fingerprint",
    .aliases = { "tls_cert_fingerprint" },
    .help = "SHA-1 fingerprint of the certificate: \"4a:a3:66:...\"",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .scope = { tls_applications, APP_BOTH },
    .finish = tls_finish_fingerprint,
};

const struct keyword keyword_tls_certs = {
    .name = "tls.certs",
    .help = "each certificate of the chain, DER-encoded as sent",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { tls_applications, APP_BOTH },
};

const struct keyword keyword_tls_subjectaltname = {
    .name = "tls.subjectaltname",
    .help = "each subject alternative name of the server's certificate",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { tls_applications, APP_TO_CLIENT },
};

/* --- Buffer table --------------------------------------------------------------------------------- */

const struct app_buffer tls_buffers[TLS_BUFFER_COUNT] = {
    { &keyword_tls_sni, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = get_sni },
    { &keyword_tls_alpn, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = get_alpn },
    { &keyword_tls_alpn, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = get_alpn },
    { &keyword_tls_random, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = get_random },
    { &keyword_tls_random, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = get_random },
    { &keyword_tls_random_time, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = get_random_time },
    { &keyword_tls_random_time, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = get_random_time },
    { &keyword_tls_random_bytes, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = get_random_bytes },
    { &keyword_tls_random_bytes, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = get_random_bytes },
    { &keyword_ja3_hash, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = tls_get_ja3_hash },
    { &keyword_ja3_string, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = tls_get_ja3_string },
    { &keyword_ja3s_hash, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = tls_get_ja3_hash },
    { &keyword_ja3s_string, APP_TO_CLIENT, TLS_SERVER_HELLO, .get = tls_get_ja3_string },
    { &keyword_ja4_hash, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE, .get = tls_get_ja4 },
    { &keyword_tls_cert_subject, APP_TO_SERVER, TLS_CLIENT_CERT_DONE, .get = get_subject },
    { &keyword_tls_cert_subject, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_subject },
    { &keyword_tls_cert_issuer, APP_TO_SERVER, TLS_CLIENT_CERT_DONE, .get = get_issuer },
    { &keyword_tls_cert_issuer, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_issuer },
    { &keyword_tls_cert_serial, APP_TO_SERVER, TLS_CLIENT_CERT_DONE, .get = get_serial },
    { &keyword_tls_cert_serial, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_serial },
    { &keyword_tls_cert_fingerprint, APP_TO_SERVER, TLS_CLIENT_CERT_DONE, .get = get_fingerprint },
    { &keyword_tls_cert_fingerprint, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_fingerprint },
    { &keyword_tls_certs, APP_TO_SERVER, TLS_CLIENT_CERT_DONE, .get = get_certificate },
    { &keyword_tls_certs, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_certificate },
    { &keyword_tls_subjectaltname, APP_TO_CLIENT, TLS_SERVER_CERT_DONE, .get = get_alternative },
};
