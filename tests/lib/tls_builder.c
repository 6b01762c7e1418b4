/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_builder.h"

void put_bytes(struct bytes *out, const void *bytes, size_t length)
{
    if (length > BUILDER_MAX - out->length) {
        fprintf(stderr, "tls_builder: too many bytes\n");
        abort();
    }
    memcpy(out->at + out->length, bytes, length);
    out->length += length;
}

void put_u8(struct bytes *out, unsigned value)
{
    const uint8_t byte = (uint8_t)value;

    put_bytes(out, &byte, 1);
}

void put_u16(struct bytes *out, unsigned value)
{
    put_u8(out, value >> 8);
    put_u8(out, value & 0xff);
}

size_t open_vector(struct bytes *out, unsigned width)
{
    size_t at = out->length;

    put_bytes(out, "\0\0\0", width);
    return at;
}

void close_vector(struct bytes *out, size_t at, unsigned width)
{
    size_t length = out->length - at - width;

    for (unsigned i = 0; i < width; i++)
        out->at[at + i] = (uint8_t)(length >> 8 * (width - 1 - i));
}

void put_vector(struct bytes *out, unsigned width, const void *bytes, size_t length)
{
    size_t at = open_vector(out, width);

    put_bytes(out, bytes, length);
    close_vector(out, at, width);
}

void put_numbers(struct bytes *out, const char *list)
{
    char *end = NULL;

    for (const char *at = list; *at; at = *end ? end + 1 : end)
        put_u16(out, (unsigned)strtoul(at, &end, 16));
}

void put_extension(struct bytes *out, unsigned type, const void *body, size_t length)
{
    put_u16(out, type);
    put_vector(out, 2, body, length);
}

void put_sni(struct bytes *out, const char *name)
{
    put_u16(out, 0);
    size_t extension = open_vector(out, 2), list = open_vector(out, 2);

    put_u8(out, 0);
    put_vector(out, 2, name, strlen(name));
    close_vector(out, list, 2);
    close_vector(out, extension, 2);
}

void put_alpn(struct bytes *out, const char *names)
{
    put_u16(out, 16);
    size_t extension = open_vector(out, 2), list = open_vector(out, 2);

    while (*names) {
        size_t length = strcspn(names, ",");

        put_vector(out, 1, names, length);
        names += length + (names[length] == ',');
    }
    close_vector(out, list, 2);
    close_vector(out, extension, 2);
}

void put_number_extension(struct bytes *out, unsigned type, const char *numbers)
{
    put_u16(out, type);
    size_t extension = open_vector(out, 2), list = open_vector(out, 2);

    put_numbers(out, numbers);
    close_vector(out, list, 2);
    close_vector(out, extension, 2);
}

/* Writes the 32 bytes 0x40 to 0x5f as random. */
static void put_random(struct bytes *out)
{
    for (unsigned i = 0; i < 32; i++)
        put_u8(out, 0x40 + i);
}

void put_client_hello(struct bytes *out, unsigned version, const char *ciphers, const struct bytes *extensions)
{
    put_u8(out, 1);
    size_t message = open_vector(out, 3), list;

    put_u16(out, version);
    put_random(out);
    put_vector(out, 1, "session", 7);
    list = open_vector(out, 2);
    put_numbers(out, ciphers);
    close_vector(out, list, 2);
    put_vector(out, 1, "", 1); /* compression method null */
    if (extensions)
        put_vector(out, 2, extensions->at, extensions->length);
    close_vector(out, message, 3);
}

void put_server_hello(struct bytes *out, unsigned version, const char *session, unsigned cipher,
                      const struct bytes *extensions)
{
    put_u8(out, 2);
    size_t message = open_vector(out, 3);

    put_u16(out, version);
    put_random(out);
    put_vector(out, 1, session, strlen(session));
    put_u16(out, cipher);
    put_u8(out, 0);
    if (extensions)
        put_vector(out, 2, extensions->at, extensions->length);
    close_vector(out, message, 3);
}

void put_message(struct bytes *out, unsigned type, const void *body, size_t length)
{
    put_u8(out, type);
    put_vector(out, 3, body, length);
}

void put_certificates(struct bytes *out, const struct certificate_bytes *chain)
{
    put_u8(out, 11);
    size_t message = open_vector(out, 3), list = open_vector(out, 3);

    for (; chain->bytes; chain++)
        put_vector(out, 3, chain->bytes, chain->length);
    close_vector(out, list, 3);
    close_vector(out, message, 3);
}

void put_records(struct bytes *out, unsigned type, unsigned version, const struct bytes *content, size_t limit)
{
    for (size_t at = 0; at < content->length; at += limit) {
        put_u8(out, type);
        put_u16(out, version);
        put_vector(out, 2, content->at + at, content->length - at < limit ? content->length - at : limit);
    }
}
