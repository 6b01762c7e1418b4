/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes frames and header blocks of HTTP/2 into a buffer of fixed size, for tests. */
#ifndef HTTP2_BUILDER_H
#define HTTP2_BUILDER_H

#include <stddef.h>
#include <stdint.h>

enum { H2_ROOM = 256 << 10, H2_MAGIC = 24 };
enum { H2_DATA, H2_HEADERS, H2_PRIORITY, H2_RST, H2_SETTINGS, H2_PUSH, H2_PING, H2_GOAWAY, H2_WINDOW, H2_CONTINUATION };
enum { H2_END_STREAM = 1, H2_END_HEADERS = 4, H2_PADDED = 8, H2_HAS_PRIORITY = 0x20 };

extern const char h2_magic[H2_MAGIC + 1];

struct h2_bytes {
    size_t length;
    uint8_t bytes[H2_ROOM];
};

void h2_add(struct h2_bytes *out, const void *bytes, size_t length);
void h2_frame(struct h2_bytes *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload, size_t length);
/* A literal field that is not added to the table. */
void h2_field(struct h2_bytes *block, const char *name, const char *value);
/* HEADERS with END_HEADERS and more flags. `fields`: names and values in turn, NULL-terminated. */
void h2_headers(struct h2_bytes *out, uint32_t stream, uint8_t flags, const char *const fields[]);
/* GET of a path at www.example.org. */
void h2_get(struct h2_bytes *out, uint32_t stream, const char *path);

#endif
