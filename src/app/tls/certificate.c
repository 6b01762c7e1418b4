/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificate message (RFC 5246 §7.4.2). The chain is stored as received; the fields used by rules and events are
 * decoded from the first valid certificate. An invalid certificate sets an event, and the next one of the chain is
 * tried.
 */
#include <errno.h>
#include <nettle/sha1.h>

#include "tls_priv.h"
#include "x509.h"
#include "sluice/hex.h"

/* --- Certificate chain ---------------------------------------------------------------------------- */

static bool read_length24(struct cursor *cur, uint32_t *out)
{
    const uint8_t *p = cursor_read(cur, 3);

    if (!p)
        return false;
    *out = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return true;
}

/* Reads the next certificate of the chain. Returns false at the end of the chain, and if the certificate is truncated.
 */
static bool next_certificate(struct cursor *chain, struct cursor *certificate)
{
    uint32_t length;
    const uint8_t *bytes;

    if (!read_length24(chain, &length))
        return false;
    bytes = cursor_read(chain, length);
    if (!bytes)
        return false;
    *certificate = cursor_of(bytes, length);
    return true;
}

/* --- Certificate fields --------------------------------------------------------------------------- */

static enum tls_event event_for_result(enum x509_result result)
{
    static const enum tls_event events[] = {
        [X509_LENGTH] = TLS_CERTIFICATE_INVALID_LENGTH,
        [X509_BROKEN] = TLS_INVALID_CERTIFICATE,
        [X509_VERSION] = TLS_CERTIFICATE_INVALID_VERSION,
        [X509_SERIAL] = TLS_CERTIFICATE_INVALID_SERIAL,
        [X509_ALGORITHM] = TLS_CERTIFICATE_INVALID_ALGORITHMIDENTIFIER,
        [X509_ISSUER] = TLS_CERTIFICATE_INVALID_X509NAME,
        [X509_DATE] = TLS_CERTIFICATE_INVALID_DATE,
        [X509_SUBJECT] = TLS_CERTIFICATE_INVALID_X509NAME,
        [X509_EXTENSIONS] = TLS_CERTIFICATE_INVALID_EXTENSIONS,
        [X509_DER] = TLS_CERTIFICATE_INVALID_DER,
    };

    return events[result];
}

static struct tls_piece write_name(struct cursor name, struct x509_text *text)
{
    uint32_t at = (uint32_t)text->length;

    x509_name_text(name, text);
    return (struct tls_piece){ at, (uint32_t)text->length - at };
}

/* Writes the text of all fields; returns the number of alternative names. Called twice: first with text->bytes and
 * out->names NULL to compute the size, then to write. */
static uint32_t write_fields(const struct x509 *from, struct tls_certificates *out, struct x509_text *text)
{
    struct cursor alternatives = from->alternatives;
    uint32_t count = 0;

    out->subject = write_name(from->subject, text);
    out->issuer = write_name(from->issuer, text);
    out->serial.at = (uint32_t)text->length;
    x509_serial_text(from->serial, text);
    out->serial.length = (uint32_t)text->length - out->serial.at;
    while (count < TLS_NAMES_MAX && text->length < TLS_NAME_TEXT_MAX) {
        uint32_t at = (uint32_t)text->length;

        if (!x509_alternative_text(&alternatives, text))
            break;
        if (out->names)
            out->names[count] = (struct tls_piece){ at, (uint32_t)text->length - at };
        count++;
    }
    return count;
}

static int store_fields(const struct tls_parser *parser, const struct x509 *from, struct tls_certificates *out)
{
    struct x509_text text = { 0 };

    out->name_count = write_fields(from, out, &text);
    if (out->name_count == TLS_NAMES_MAX)
        tls_event(parser, TLS_TOO_MANY_SUBJECT_ALTERNATIVE_NAMES);
    out->text = heap_alloc_uncleared(parser->tx->heap, text.length > 0 ? text.length : 1);
    out->names = heap_alloc_uncleared(parser->tx->heap, (out->name_count + 1) * sizeof(*out->names));
    if (!out->text || !out->names)
        return -ENOMEM;
    text = (struct x509_text){ .bytes = out->text, .capacity = text.length };
    write_fields(from, out, &text);
    out->not_before = from->not_before;
    out->not_after = from->not_after;
    out->decoded = true;
    return 0;
}

/* --- Certificate message -------------------------------------------------------------------------- */

static int store_chain(const struct tls_parser *parser, struct cursor chain, struct tls_certificates *out)
{
    struct heap *heap = parser->tx->heap;
    uint32_t length = (uint32_t)cursor_remaining(&chain), count = 0;
    struct cursor certificate;

    if (buffer_append(heap, &out->chain, chain.at, length, TLS_MESSAGE_MAX) < length)
        return -ENOMEM;
    while (count < TLS_CERTIFICATES_MAX && cursor_remaining(&chain) > 0 && next_certificate(&chain, &certificate))
        count++;
    if (cursor_remaining(&chain) > 0)
        tls_event(parser, TLS_INVALID_CERTIFICATE);
    out->certs = heap_alloc_uncleared(heap, (count + 1) * sizeof(*out->certs));
    if (!out->certs)
        return -ENOMEM;
    out->count = count; /* set after `certs` is allocated: readers use certs[0] to certs[count - 1] */
    return 0;
}

static int decode_chain(const struct tls_parser *parser, struct tls_certificates *out)
{
    struct cursor chain = cursor_of(out->chain.bytes, out->chain.length), certificate;
    int err = 0;

    /* Set all offsets first: events then contain the whole chain even if memory runs out while fields are decoded. */
    for (uint32_t i = 0; i < out->count && next_certificate(&chain, &certificate); i++)
        out->certs[i] = (struct tls_piece){ (uint32_t)(certificate.at - out->chain.bytes),
                                            (uint32_t)cursor_remaining(&certificate) };
    chain = cursor_of(out->chain.bytes, out->chain.length);
    for (uint32_t i = 0; err == 0 && !out->decoded && i < out->count && next_certificate(&chain, &certificate); i++) {
        struct x509 x509;
        struct sha1_ctx sha1;
        uint8_t digest[SHA1_DIGEST_SIZE];
        enum x509_result result = x509_read(certificate.at, cursor_remaining(&certificate), &x509);

        if (result != X509_OK) {
            tls_event(parser, event_for_result(result));
            continue;
        }
        sha1_init(&sha1);
        sha1_update(&sha1, cursor_remaining(&certificate), certificate.at);
        sha1_digest(&sha1, sizeof(digest), digest);
        hex_write_colons(out->fingerprint, digest, sizeof(digest));
        err = store_fields(parser, &x509, out);
    }
    return err;
}

int tls_parse_certificates(const struct tls_parser *parser, struct cursor body)
{
    struct tls_certificates *out = &tls_side_of(parser)->certificates;
    uint32_t length;

    if (out->chain.bytes) /* the side has sent a chain before (renegotiation): keep the first one */
        return 0;
    if (!read_length24(&body, &length) || length > cursor_remaining(&body)) {
        tls_event(parser, TLS_INVALID_HANDSHAKE_MESSAGE);
        tls_event(parser, TLS_INVALID_CERTIFICATE);
        return 0;
    }
    cursor_limit(&body, length);
    if (length == 0) /* a client without certificate */
        return 0;
    int err = store_chain(parser, body, out);

    return err ? err : decode_chain(parser, out);
}

void tls_free_certificates(struct heap *heap, struct tls_certificates *certificates)
{
    buffer_clear(heap, &certificates->chain);
    heap_release(heap, certificates->certs);
    heap_release(heap, certificates->text);
    heap_release(heap, certificates->names);
}
