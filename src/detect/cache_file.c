/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Format of a cache file; numbers are little-endian:
 *
 *     magic[8] version[4] zero[4] key[32] length[8] digest[32] bytes[length]
 *
 * The digest is the SHA-256 of all preceding fields and of the bytes. Hyperscan trusts the content of a database (its
 * check is a CRC), so only bytes that equal the written ones may reach it. This protects against accidents only: anyone
 * who may write to the folder can create a file with a valid digest.
 */
#include <nettle/sha2.h>
#include <string.h>

#include "cache.h"

enum { AT_VERSION = 8, AT_KEY = 16, AT_LENGTH = AT_KEY + CACHE_KEY_SIZE, AT_DIGEST = AT_LENGTH + 8, VERSION = 1 };

static const uint8_t magic[8] = { 'S', 'L', 'U', 'I', 'C', 'E', 'D', 'B' };

static void write_number(uint8_t *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t read_number(const uint8_t *in, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)in[i] << 8 * i;
    return number;
}

static void compute_digest(uint8_t out[SHA256_DIGEST_SIZE], const uint8_t *header, const void *bytes, size_t length)
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
    write_number(out + AT_VERSION, VERSION, 4);
    memcpy(out + AT_KEY, key->bytes, CACHE_KEY_SIZE);
    write_number(out + AT_LENGTH, length, 8);
    compute_digest(out + AT_DIGEST, out, bytes, length);
}

const char *cache_file_check(const struct cache_key *key, const uint8_t *file, size_t size)
{
    uint8_t digest[SHA256_DIGEST_SIZE];

    if (size < CACHE_FILE_HEADER)
        return "truncated";
    if (memcmp(file, magic, sizeof(magic)) != 0)
        return "not a cache file";
    if (read_number(file + AT_VERSION, 4) != VERSION || read_number(file + AT_VERSION + 4, 4) != 0)
        return "written by another version";
    if (memcmp(file + AT_KEY, key->bytes, CACHE_KEY_SIZE) != 0)
        return "key does not match the file name";
    if (read_number(file + AT_LENGTH, 8) != size - CACHE_FILE_HEADER)
        return "wrong length";
    compute_digest(digest, file, file + CACHE_FILE_HEADER, size - CACHE_FILE_HEADER);
    return memcmp(digest, file + AT_DIGEST, sizeof(digest)) == 0 ? NULL : "digest mismatch";
}
