/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of headers. Each one of each message is looked at here, so eight bytes are taken at once.
 */
#include "http_priv.h"

#include <string.h>

enum { WORD = 8, KNOWN_LENGTHS = 20, KNOWN_OF_A_LENGTH = 4 };

static const char *const known_names[HTTP_KNOWN_COUNT] = {
    [HTTP_ACCEPT] = "accept",
    [HTTP_ACCEPT_ENCODING] = "accept-encoding",
    [HTTP_ACCEPT_LANGUAGE] = "accept-language",
    [HTTP_AUTHORIZATION] = "authorization",
    [HTTP_CONNECTION] = "connection",
    [HTTP_CONTENT_DISPOSITION] = "content-disposition",
    [HTTP_CONTENT_ENCODING] = "content-encoding",
    [HTTP_CONTENT_LENGTH] = "content-length",
    [HTTP_CONTENT_RANGE] = "content-range",
    [HTTP_CONTENT_TYPE] = "content-type",
    [HTTP_COOKIE] = "cookie",
    [HTTP_EXPECT] = "expect",
    [HTTP_HOST] = "host",
    [HTTP_LOCATION] = "location",
    [HTTP_REFERER] = "referer",
    [HTTP_SERVER] = "server",
    [HTTP_SET_COOKIE] = "set-cookie",
    [HTTP_TRANSFER_ENCODING] = "transfer-encoding",
    [HTTP_UPGRADE] = "upgrade",
    [HTTP_USER_AGENT] = "user-agent",
    [HTTP_X_FORWARDED_FOR] = "x-forwarded-for",
};

/* The names above by their length; 1 is added, 0 is none. */
static const uint8_t known_of_length[KNOWN_LENGTHS][KNOWN_OF_A_LENGTH] = {
    [4] = { HTTP_HOST + 1 },
    [6] = { HTTP_ACCEPT + 1, HTTP_COOKIE + 1, HTTP_EXPECT + 1, HTTP_SERVER + 1 },
    [7] = { HTTP_REFERER + 1, HTTP_UPGRADE + 1 },
    [8] = { HTTP_LOCATION + 1 },
    [10] = { HTTP_CONNECTION + 1, HTTP_SET_COOKIE + 1, HTTP_USER_AGENT + 1 },
    [12] = { HTTP_CONTENT_TYPE + 1 },
    [13] = { HTTP_AUTHORIZATION + 1, HTTP_CONTENT_RANGE + 1 },
    [14] = { HTTP_CONTENT_LENGTH + 1 },
    [15] = { HTTP_ACCEPT_ENCODING + 1, HTTP_ACCEPT_LANGUAGE + 1, HTTP_X_FORWARDED_FOR + 1 },
    [16] = { HTTP_CONTENT_ENCODING + 1 },
    [17] = { HTTP_TRANSFER_ENCODING + 1 },
    [19] = { HTTP_CONTENT_DISPOSITION + 1 },
};

/* Of every byte alone: A to Z as a to z. */
static uint64_t lower_of(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 0x80 * ones;
    uint64_t low_bits = word & ~high;
    uint64_t from_a = low_bits + (0x80 - 'A') * ones, above_z = low_bits + (0x7f - 'Z') * ones;

    return word | (((from_a ^ above_z) & ~word & high) >> 2);
}

static uint64_t read_word(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

/* All of fewer than eight bytes, in an order of their own. */
static uint64_t read_short(const uint8_t *at, uint32_t length)
{
    uint32_t first, last;

    if (length == 0)
        return 0;
    if (length < sizeof(first))
        return at[0] | (uint32_t)at[length / 2] << 8 | (uint32_t)at[length - 1] << 16;
    memcpy(&first, at, sizeof(first));
    memcpy(&last, at + length - sizeof(last), sizeof(last));
    return first | (uint64_t)last << 32;
}

uint32_t http_name_hash(const uint8_t *name, uint32_t length, uint64_t factor)
{
    uint64_t hash = length;
    uint32_t at = 0;

    for (; length - at >= WORD; at += WORD) {
        hash = (hash ^ lower_of(read_word(name + at))) * factor;
        hash ^= hash >> 32;
    }
    if (at < length) {
        hash ^= lower_of(length > WORD ? read_word(name + length - WORD) : read_short(name, length));
        hash *= factor;
    }
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

bool http_name_equal(const uint8_t *a, const uint8_t *b, uint32_t length)
{
    uint64_t different = 0;

    if (length < WORD)
        return lower_of(read_short(a, length)) == lower_of(read_short(b, length));
    for (uint32_t at = 0; length - at >= WORD && !different; at += WORD)
        different = lower_of(read_word(a + at)) ^ lower_of(read_word(b + at));
    return !different && lower_of(read_word(a + length - WORD)) == lower_of(read_word(b + length - WORD));
}

/* Bytes 0 in it do not count for some servers: see http_equal_nocase(). */
static enum http_known known_with_zeros(const uint8_t *name, uint32_t length)
{
    for (unsigned i = 0; i < HTTP_KNOWN_COUNT; i++) {
        if (http_equal_nocase(name, length, known_names[i]))
            return i;
    }
    return HTTP_NOT_KNOWN;
}

/* Letters and '-' are all that known names have, and of the bytes of a token only letters become another one's by the bit of the case. */
static bool token_is(const uint8_t *token, const uint8_t *word, uint32_t length)
{
    const uint64_t spaces = UINT64_C(0x2020202020202020);

    if (length < WORD)
        return (read_short(token, length) | spaces) == read_short(word, length);
    for (uint32_t at = 0; length - at >= WORD; at += WORD) {
        if ((read_word(token + at) | spaces) != read_word(word + at))
            return false;
    }
    return (read_word(token + length - WORD) | spaces) == read_word(word + length - WORD);
}

enum http_known http_known_of(const uint8_t *name, uint32_t length, bool is_token)
{
    if (!is_token)
        return memchr(name, 0, length) ? known_with_zeros(name, length) : HTTP_NOT_KNOWN;
    for (unsigned i = 0; length < KNOWN_LENGTHS && i < KNOWN_OF_A_LENGTH && known_of_length[length][i]; i++) {
        unsigned known = known_of_length[length][i] - 1u;

        if (token_is(name, (const uint8_t *)known_names[known], length))
            return known;
    }
    return HTTP_NOT_KNOWN;
}
