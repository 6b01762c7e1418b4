/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds QUIC packets for tests: encrypted Initial packets, and frames.
 *
 *     struct bytes frames = { .length = 0 };
 *     struct quic_initial initial = { .version = 1, .destination = "12345678", .key_id = "12345678" };
 *
 *     put_crypto(&frames, 0, hello.at, hello.length);
 *     put_initial(&datagram, &initial, &frames);
 */
#ifndef QUIC_BUILDER_H
#define QUIC_BUILDER_H

#include <stdbool.h>

#include "tls_builder.h"

struct quic_initial {
    uint32_t version;
    const char *destination, *source; /* connection IDs; NULL: empty */
    const char *key_id;               /* the ID from which the keys derive; NULL: destination */
    bool from_server;
    uint64_t number;        /* packet number */
    unsigned number_length; /* its length in bytes; 0: 4 */
};

void put_varint(struct bytes *out, uint64_t value);
/* Writes a CRYPTO frame. */
void put_crypto(struct bytes *out, uint64_t offset, const void *bytes, size_t length);
/* Writes an encrypted Initial packet with these frames. Frames of less than 4 bytes are padded. The version must be
 * one whose keys are known. */
void put_initial(struct bytes *out, const struct quic_initial *initial, const struct bytes *frames);

#endif
