/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of the database cache. If the first byte is odd, the digest is corrected first, so that later checks are
 * reached. The contract: an accepted file has exactly the header that Sluice would write for its content.
 */
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "detect/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AT_KEY = 16, AT_DIGEST = CACHE_FILE_HEADER - SHA256_DIGEST_SIZE };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void mend_digest(uint8_t *file, size_t size)
{
    struct sha256_ctx sha256;

    sha256_init(&sha256);
    sha256_update(&sha256, AT_DIGEST, file);
    sha256_update(&sha256, size - CACHE_FILE_HEADER, file + CACHE_FILE_HEADER);
    sha256_digest(&sha256, SHA256_DIGEST_SIZE, file + AT_DIGEST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t header[CACHE_FILE_HEADER];
    struct cache_key key = { { 0 } };

    if (size == 0)
        return 0;
    size_t length = size - 1;
    uint8_t *file = malloc(length ? length : 1);

    require(file != NULL);
    memcpy(file, data + 1, length);
    if (data[0] & 1 && length >= CACHE_FILE_HEADER)
        mend_digest(file, length);
    if (length >= AT_KEY + CACHE_KEY_SIZE)
        memcpy(key.bytes, file + AT_KEY, CACHE_KEY_SIZE);
    if (!cache_file_check(&key, file, length)) {
        require(length >= CACHE_FILE_HEADER);
        cache_file_header(header, &key, file + CACHE_FILE_HEADER, length - CACHE_FILE_HEADER);
        require(memcmp(header, file, CACHE_FILE_HEADER) == 0);
        key.bytes[0] ^= 1;
        require(cache_file_check(&key, file, length) != NULL);
    }
    free(file);
    return 0;
}
