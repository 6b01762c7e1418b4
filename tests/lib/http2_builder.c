/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http2_builder.h"

#include <stdlib.h>
#include <string.h>

const char h2_magic[H2_MAGIC + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

void h2_add(struct h2_bytes *out, const void *bytes, size_t length)
{
    if (length > sizeof(out->bytes) - out->length)
        abort();
    if (length > 0)
        memmove(out->bytes + out->length, bytes, length); /* `bytes` may be a part of `out` */
    out->length += length;
}

void h2_frame(struct h2_bytes *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload, size_t length)
{
    const uint8_t header[] = {
        (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length, type, flags, (uint8_t)(stream >> 24),
        (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream,
    };

    h2_add(out, header, sizeof(header));
    h2_add(out, payload, length);
}

static void add_string(struct h2_bytes *block, const char *text)
{
    size_t length = strlen(text), rest;
    uint8_t bytes[6];
    size_t count = 0;

    bytes[count++] = length < 127 ? (uint8_t)length : 127;
    if (length >= 127) {
        for (rest = length - 127; rest >= 128; rest >>= 7)
            bytes[count++] = (uint8_t)(rest | 0x80);
        bytes[count++] = (uint8_t)rest;
    }
    h2_add(block, bytes, count);
    h2_add(block, text, length);
}

void h2_field(struct h2_bytes *block, const char *name, const char *value)
{
    h2_add(block, "", 1);
    add_string(block, name);
    add_string(block, value);
}

void h2_headers(struct h2_bytes *out, uint32_t stream, uint8_t flags, const char *const fields[])
{
    struct h2_bytes *block = calloc(1, sizeof(*block));

    if (!block)
        abort();
    for (size_t i = 0; fields[i]; i += 2)
        h2_field(block, fields[i], fields[i + 1]);
    h2_frame(out, H2_HEADERS, H2_END_HEADERS | flags, stream, block->bytes, block->length);
    free(block);
}

void h2_get(struct h2_bytes *out, uint32_t stream, const char *path)
{
    h2_headers(out, stream, H2_END_STREAM,
               (const char *const[]){ ":method", "GET", ":path", path, ":scheme", "http", ":authority",
                                      "www.example.org", "user-agent", "test", NULL });
}
