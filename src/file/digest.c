/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes any combination of MD5, SHA-1 and SHA-256 of a file, with nettle. */
#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include "file_priv.h"

struct file_hash {
    unsigned kinds;
    struct md5_ctx md5;
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
};

static bool has_kind(const struct file_hash *hash, enum file_digest kind)
{
    return hash->kinds >> kind & 1;
}

struct file_hash *hash_new(struct heap *heap, unsigned digests)
{
    struct file_hash *hash = heap_alloc_uncleared(heap, sizeof(*hash));

    if (!hash)
        return NULL;
    hash->kinds = digests;
    if (has_kind(hash, FILE_MD5))
        md5_init(&hash->md5);
    if (has_kind(hash, FILE_SHA1))
        sha1_init(&hash->sha1);
    if (has_kind(hash, FILE_SHA256))
        sha256_init(&hash->sha256);
    return hash;
}

unsigned hash_kinds(const struct file_hash *hash)
{
    return hash ? hash->kinds : 0;
}

void hash_update(struct file_hash *hash, const void *bytes, size_t length)
{
    if (has_kind(hash, FILE_MD5))
        md5_update(&hash->md5, length, bytes);
    if (has_kind(hash, FILE_SHA1))
        sha1_update(&hash->sha1, length, bytes);
    if (has_kind(hash, FILE_SHA256))
        sha256_update(&hash->sha256, length, bytes);
}

void hash_digest(struct file_hash *hash, enum file_digest kind, uint8_t *out)
{
    if (kind == FILE_MD5)
        md5_digest(&hash->md5, MD5_DIGEST_SIZE, out);
    else if (kind == FILE_SHA1)
        sha1_digest(&hash->sha1, SHA1_DIGEST_SIZE, out);
    else
        sha256_digest(&hash->sha256, SHA256_DIGEST_SIZE, out);
}
