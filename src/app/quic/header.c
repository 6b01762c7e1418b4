/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Long headers (RFC 8999, RFC 9000 §17.2, RFC 9369 §3.2) and those of Google's QUIC from Q044 on. */
#include "quic_priv.h"

enum { FORM_LONG = 0x80, VERSION_AT = 1 };

/* Salts: RFC 9001 §5.2, RFC 9369 §3.3.1, draft-ietf-quic-tls-23 to -34 §5.2. Keys of Retry: §5.8 of the same. */
static const struct quic_version versions[] = {
    { .first = 1,
      .last = 1,
      .salt = "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
      .retry_key = "\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e",
      .retry_nonce = "\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb" },
    { .first = 0x6b3343cf,
      .last = 0x6b3343cf,
      .salt = "\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
      .retry_key = "\x8f\xb4\xb0\x1b\x56\xac\x48\xe2\x60\xfb\xcb\xce\xad\x7c\xcc\x92",
      .retry_nonce = "\xd8\x69\x69\xbc\x2d\x7c\x6d\x99\x90\xef\xb0\x4a",
      .is_second = true },
    { .first = 0xff000021,
      .last = 0xff000022,
      .salt = "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
      .retry_key = "\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e",
      .retry_nonce = "\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb" },
    { .first = 0xff00001d,
      .last = 0xff000020,
      .salt = "\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99",
      .retry_key = "\xcc\xce\x18\x7e\xd0\x9a\x09\xd0\x57\x28\x15\x5a\x6c\xb9\x6b\xe1",
      .retry_nonce = "\xe5\x49\x30\xf9\x7f\x21\x36\xf0\x53\x0a\x8c\x1c" },
    { .first = 0xff000019,
      .last = 0xff00001c,
      .salt = "\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02",
      .retry_key = "\x4d\x32\xec\xdb\x2a\x21\x33\xc8\x41\xe4\x04\x3d\xf2\x7d\x44\x30",
      .retry_nonce = "\x4d\x16\x11\xd0\x55\x13\xa5\x52\xc5\x87\xd5\x75" },
    { .first = 0xff000017,
      .last = 0xff000018,
      .salt = "\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02" },
};

const struct quic_version *quic_version_find(uint32_t version)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (version >= versions[i].first && version <= versions[i].last)
            return &versions[i];
    return NULL;
}

unsigned quic_google_version(uint32_t version)
{
    unsigned tens = (version >> 8 & 0xff) - '0', ones = (version & 0xff) - '0';

    return version >> 16 == ('Q' << 8 | '0') && tens <= 9 && ones <= 9 ? tens * 10 + ones : 0;
}

bool quic_read_integer(struct cursor *cur, uint64_t *out)
{
    const uint8_t *first = cursor_peek(cur, 1);
    size_t length = first ? (size_t)1 << (*first >> 6) : 1;
    const uint8_t *bytes = cursor_read(cur, length);

    if (!bytes)
        return false;
    *out = bytes[0] & 0x3f;
    for (size_t i = 1; i < length; i++)
        *out = *out << 8 | bytes[i];
    return true;
}

static bool read_id(struct cursor *cur, size_t length, bool is_known, struct quic_id *out)
{
    const uint8_t *bytes = cursor_read(cur, length);

    if (!bytes || (is_known && length > QUIC_ID_MAX))
        return false;
    out->length = is_known ? (uint8_t)length : 0;
    memcpy(out->bytes, bytes, out->length);
    return true;
}

/* The connection IDs of Google's QUIC have their lengths in one byte: 0, or 4 to 18 bytes, minus 3. */
static bool read_google_ids(struct cursor *cur, struct quic_packet *out)
{
    uint8_t lengths;

    if (!cursor_u8(cur, &lengths))
        return false;
    return read_id(cur, lengths >> 4 ? (lengths >> 4) + 3u : 0, true, &out->destination) &&
           read_id(cur, lengths & 15 ? (lengths & 15) + 3u : 0, true, &out->source);
}

/* Returns false if the first byte is invalid in the version. */
static bool find_type(struct quic_packet *packet, const struct quic_version *known, unsigned google)
{
    /* By the type bits; version 2 counts from Retry on (RFC 9369 §3.2). */
    static const enum quic_type types[] = { QUIC_INITIAL, QUIC_ZERO_RTT, QUIC_HANDSHAKE, QUIC_RETRY };
    static const enum quic_type early_google[] = { QUIC_ZERO_RTT, QUIC_HANDSHAKE, QUIC_RETRY, QUIC_INITIAL };
    uint8_t first = packet->bytes[0];

    if (packet->version == 0) {
        packet->type = QUIC_VERSION_NEGOTIATION;
    } else if (google == 44 || google == 45) { /* 0xff: Initial ... 0xfc: 0-RTT */
        packet->type = early_google[first & 3];
        return first >= 0xfc;
    } else {
        packet->type = types[((first >> 4 & 3) + (known && known->is_second ? 3 : 0)) % 4];
    }
    return true;
}

bool quic_read_packet(struct cursor *cur, struct quic_packet *out)
{
    struct cursor at = *cur;
    const uint8_t *start = cursor_peek(&at, 5);
    uint8_t length;
    uint64_t number;

    if (!start || !(start[0] & FORM_LONG))
        return false;
    *out = (struct quic_packet){ .bytes = start, .version = load_be32(start + VERSION_AT) };
    cursor_skip(&at, 5);

    const struct quic_version *known = quic_version_find(out->version);
    unsigned google = quic_google_version(out->version);

    if (!find_type(out, known, google))
        return false;
    if (google >= 44 && google <= 46) {
        if (!read_google_ids(&at, out))
            return false;
        out->number_at = (size_t)(at.at - start);
    } else {
        if (!cursor_u8(&at, &length) || !read_id(&at, length, known != NULL, &out->destination) ||
            !cursor_u8(&at, &length) || !read_id(&at, length, known != NULL, &out->source))
            return false;
        if (known && out->type == QUIC_INITIAL &&
            (!quic_read_integer(&at, &number) || number > cursor_remaining(&at) || !cursor_skip(&at, (size_t)number)))
            return false;
        if (known && out->type != QUIC_RETRY) {
            if (!quic_read_integer(&at, &number) || number > cursor_remaining(&at))
                return false;
            out->number_at = (size_t)(at.at - start);
            at.end = at.at + number;
        } else {
            out->number_at = (size_t)(at.at - start);
        }
    }
    out->length = (size_t)(at.end - start);
    return cursor_skip(cur, out->length);
}
