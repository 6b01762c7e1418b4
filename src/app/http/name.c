/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header names. This code runs for each header of each message, and processes eight bytes at a time. */
#include "http_priv.h"

#include <string.h>

enum { WORD = 8, SLOTS = 64 };

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

/* A perfect hash of the known names, by their length, first and last letter. */
#define SLOT(length, first, last) (((length)*5 + ((first)&31) * 3 + ((last)&31)) % SLOTS)
#define NAME(known, length, first, last) [SLOT(length, first, last)] = { (known) + 1, length }

static const struct {
    uint8_t known; /* enum http_known + 1; 0: none */
    uint8_t length;
} slots[SLOTS] = {
    NAME(HTTP_ACCEPT, 6, 'a', 't'),
    NAME(HTTP_ACCEPT_ENCODING, 15, 'a', 'g'),
    NAME(HTTP_ACCEPT_LANGUAGE, 15, 'a', 'e'),
    NAME(HTTP_AUTHORIZATION, 13, 'a', 'n'),
    NAME(HTTP_CONNECTION, 10, 'c', 'n'),
    NAME(HTTP_CONTENT_DISPOSITION, 19, 'c', 'n'),
    NAME(HTTP_CONTENT_ENCODING, 16, 'c', 'g'),
    NAME(HTTP_CONTENT_LENGTH, 14, 'c', 'h'),
    NAME(HTTP_CONTENT_RANGE, 13, 'c', 'e'),
    NAME(HTTP_CONTENT_TYPE, 12, 'c', 'e'),
    NAME(HTTP_COOKIE, 6, 'c', 'e'),
    NAME(HTTP_EXPECT, 6, 'e', 't'),
    NAME(HTTP_HOST, 4, 'h', 't'),
    NAME(HTTP_LOCATION, 8, 'l', 'n'),
    NAME(HTTP_REFERER, 7, 'r', 'r'),
    NAME(HTTP_SERVER, 6, 's', 'r'),
    NAME(HTTP_SET_COOKIE, 10, 's', 'e'),
    NAME(HTTP_TRANSFER_ENCODING, 17, 't', 'g'),
    NAME(HTTP_UPGRADE, 7, 'u', 'e'),
    NAME(HTTP_USER_AGENT, 10, 'u', 't'),
    NAME(HTTP_X_FORWARDED_FOR, 15, 'x', 'r'),
};

/* Converts A to Z to lower case in each byte. */
static uint64_t to_lower(uint64_t word)
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

/* Combines fewer than eight bytes into a number. Different byte strings of the same length have different numbers. */
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
        hash = (hash ^ to_lower(read_word(name + at))) * factor;
        hash ^= hash >> 32;
    }
    if (at < length) {
        hash ^= to_lower(length > WORD ? read_word(name + length - WORD) : read_short(name, length));
        hash *= factor;
    }
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

bool http_name_equal(const uint8_t *a, const uint8_t *b, uint32_t length)
{
    uint64_t different = 0;

    if (length < WORD)
        return to_lower(read_short(a, length)) == to_lower(read_short(b, length));
    for (uint32_t at = 0; length - at >= WORD && !different; at += WORD)
        different = to_lower(read_word(a + at)) ^ to_lower(read_word(b + at));
    return !different && to_lower(read_word(a + length - WORD)) == to_lower(read_word(b + length - WORD));
}

/* Whether a token equals a known name, ignoring case. Setting bit 0x20 of each byte converts the token to lower case:
 * known names contain only letters and '-', and the bit converts no other token character into one of these. */
static bool token_equals(const uint8_t *token, const uint8_t *word, uint32_t length)
{
    const uint64_t case_bits = UINT64_C(0x2020202020202020);

    if (length < WORD)
        return (read_short(token, length) | case_bits) == read_short(word, length);
    for (uint32_t at = 0; length - at >= WORD; at += WORD) {
        if ((read_word(token + at) | case_bits) != read_word(word + at))
            return false;
    }
    return (read_word(token + length - WORD) | case_bits) == read_word(word + length - WORD);
}

enum http_known http_find_known(const uint8_t *name, uint32_t length, bool is_token)
{
    if (!is_token && memchr(name, 0, length)) { /* some servers ignore NUL bytes in names */
        for (unsigned i = 0; i < HTTP_KNOWN_COUNT; i++) {
            if (http_equal_nocase(name, length, known_names[i]))
                return i;
        }
    }
    if (!is_token || length == 0)
        return HTTP_NOT_KNOWN;
    unsigned slot = SLOT(length, name[0], name[length - 1]);
    unsigned known = slots[slot].known - 1u;

    if (slots[slot].length != length || !token_equals(name, (const uint8_t *)known_names[known], length))
        return HTTP_NOT_KNOWN;
    return known;
}
