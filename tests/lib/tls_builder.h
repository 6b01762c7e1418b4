/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds TLS messages and records for tests. The length of a vector is set by close_vector():
 *
 *     size_t message = open_vector(&b, 3);
 *     put_u16(&b, 0x0303);
 *     close_vector(&b, message, 3);
 */
#ifndef TLS_BUILDER_H
#define TLS_BUILDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUILDER_MAX = 300 << 10 };

struct bytes {
    uint8_t at[BUILDER_MAX];
    size_t length;
};

void put_bytes(struct bytes *out, const void *bytes, size_t length);
void put_u8(struct bytes *out, unsigned value);
void put_u16(struct bytes *out, unsigned value);
size_t open_vector(struct bytes *out, unsigned width);
void close_vector(struct bytes *out, size_t at, unsigned width);
void put_vector(struct bytes *out, unsigned width, const void *bytes, size_t length);

/* Writes numbers of two bytes, given in hexadecimal as "1301,1302". */
void put_numbers(struct bytes *out, const char *list);

void put_extension(struct bytes *out, unsigned type, const void *body, size_t length);
void put_sni(struct bytes *out, const char *name);

/* Writes an ALPN extension; names are separated by commas ("h2,http/1.1"). */
void put_alpn(struct bytes *out, const char *names);

/* Writes an extension that is a list of 16-bit numbers: supported groups (10), signature algorithms (13). */
void put_number_extension(struct bytes *out, unsigned type, const char *numbers);

/* Writes a ClientHello. Without `extensions` (NULL) it ends before the length of the extensions. */
void put_client_hello(struct bytes *out, unsigned version, const char *ciphers, const struct bytes *extensions);

void put_server_hello(struct bytes *out, unsigned version, const char *session, unsigned cipher,
                      const struct bytes *extensions);

void put_message(struct bytes *out, unsigned type, const void *body, size_t length);

/* A certificate of a chain; the last one of the array has bytes == NULL. */
struct certificate_bytes {
    const void *bytes;
    size_t length;
};

void put_certificates(struct bytes *out, const struct certificate_bytes *chain);

/* Writes the content in records of at most `limit` bytes. */
void put_records(struct bytes *out, unsigned type, unsigned version, const struct bytes *content, size_t limit);

#endif
