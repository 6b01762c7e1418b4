/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that parse records and handshake messages, by file.
 */
#ifndef SLUICE_APP_TLS_PARSE_H
#define SLUICE_APP_TLS_PARSE_H

#include "sluice/app.h"
#include "sluice/bytes.h"

#include "state.h"

/* --- record.c ------------------------------------------------------------------------------------- */

struct app_result tls_feed(struct app_context *context, void *state, const struct app_input *in);
/* Returns the current transaction; creates it if the flow has had none. Returns NULL if the transaction has been freed.
 * Without memory returns NULL and sets *err to -ENOMEM; otherwise leaves *err unchanged. */
struct tls_tx *tls_transaction(struct app_context *context, struct tls_state *state, int *err);
/* Creates a transaction, which becomes the current one; NULL without memory. */
struct tls_tx *tls_new_transaction(struct app_context *context);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void tls_transfer(struct app_context *context, void *data, struct transfer *t);

/* --- handshake.c ---------------------------------------------------------------------------------- */

/* Parses the content of a handshake record. Returns 0, or -errno if parsing of the flow must end. */
int tls_handshake_bytes(struct tls_parser *parser, struct cursor bytes);

/* --- hello.c, certificate.c ----------------------------------------------------------------------- */

/* Whether the body of another ClientHello has the same version, random, cipher suites and extensions as the first one,
 * except padding, pre_shared_key and key_share: rules would then match the same in both hellos. */
bool tls_hello_is_equal(const struct tls_hello *before, struct cursor body);
/* Parse the body of a message. Return 0, -ENOMEM, or -EMSGSIZE if a hello exceeds a limit. */
int tls_parse_hello(const struct tls_parser *parser, struct cursor body);
int tls_parse_certificates(const struct tls_parser *parser, struct cursor body);
void tls_free_hello(struct heap *heap, struct tls_hello *hello);
void tls_free_certificates(struct heap *heap, struct tls_certificates *certificates);

/* Set *name to the ALPN protocol name or server name number `index`, counted from 0. Return false if there is none. A
 * ClientHello may have several server names, and servers differ in which one they use. */
bool tls_alpn_at(const struct tls_side *side, unsigned index, struct cursor *name);
bool tls_server_name_at(const struct tls_hello *hello, unsigned index, struct cursor *name);

static inline bool tls_is_grease(uint16_t value) /* RFC 8701 */
{
    return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff);
}

/* --- fingerprint.c -------------------------------------------------------------------------------- */

/* Allocates memory for the JA3 text of a parsed hello. Returns 0 or -ENOMEM. */
int tls_reserve_ja3(struct tls_tx *tx, enum flow_direction direction);
/* Return the fingerprints of a hello: tls_ja3() with JA3 (client) or JA3S (server), tls_ja4() with JA4, computed on
 * first use. Return NULL if there is no hello (tls_ja3(): if tls_hello.whole is false), or if the settings disable this
 * fingerprint. */
const struct tls_fingerprints *tls_ja3(const struct tls_tx *tx, enum flow_direction direction);
const struct tls_fingerprints *tls_ja4(const struct tls_tx *tx);
void tls_free_fingerprints(struct heap *heap, struct tls_fingerprints *fingerprints);

#endif
