/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The form of a file in the cache; numbers are little-endian:
 *
 *     magic[8] version[4] zero[4] key[32] length[8] digest[32] bytes[length]
 *
 * The digest is the SHA-256 of all before it and of the bytes. Hyperscan believes what is within a database (its own
 * check is a CRC), so nothing reaches it that is not, bit by bit, what was written. This is against accidents: who may
 * write as we do can put anything there.
 */
#include <nettle/sha2.h>
#include <string.h>

#include "cache.h"

enum { AT_VERSION = 8, AT_KEY = 16, AT_LENGTH = AT_KEY + CACHE_KEY_SIZE, AT_DIGEST = AT_LENGTH + 8, VERSION = 1 };

static const uint8_t magic[8] = { 'S', 'L', 'U', 'I', 'C', 'E', 'D', 'B' };

static void put_number(uint8_t *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_number(const uint8_t *in, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)in[i] << 8 * i;
    return number;
}

static void digest_of(uint8_t out[SHA256_DIGEST_SIZE], const uint8_t *header, const void *bytes, size_t length)
{
    struct sha256_ctx sha256;

    sha256_init(&sha256);
    sha256_update(&sha256, AT_DIGEST, header);
    sha256_update(&sha256, length, bytes);
    sha256_digest(&sha256, SHA256_DIGEST_SIZE, out);
}

void cache_file_header(uint8_t out[CACHE_FILE_HEADER], const struct cache_key *key, const void *bytes, size_t length)
{
    memset(out, 0, CACHE_FILE_HEADER);
    memcpy(out, magic, sizeof(magic));
    put_number(out + AT_VERSION, VERSION, 4);
    memcpy(out + AT_KEY, key->bytes, CACHE_KEY_SIZE);
    put_number(out + AT_LENGTH, length, 8);
    digest_of(out + AT_DIGEST, out, bytes, length);
}

const char *cache_file_check(const struct cache_key *key, const uint8_t *file, size_t size)
{
    uint8_t digest[SHA256_DIGEST_SIZE];

    if (size < CACHE_FILE_HEADER)
        return "it is cut short";
    if (memcmp(file, magic, sizeof(magic)) != 0)
        return "it is something else";
    if (get_number(file + AT_VERSION, 4) != VERSION || get_number(file + AT_VERSION + 4, 4) != 0)
        return "it was written by another version";
    if (memcmp(file + AT_KEY, key->bytes, CACHE_KEY_SIZE) != 0)
        return "it has another name than it was given";
    if (get_number(file + AT_LENGTH, 8) != size - CACHE_FILE_HEADER)
        return "it is cut short or too long";
    digest_of(digest, file, file + CACHE_FILE_HEADER, size - CACHE_FILE_HEADER);
    return memcmp(digest, file + AT_DIGEST, sizeof(digest)) == 0 ? NULL : "its bytes are damaged";
}
