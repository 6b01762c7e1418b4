/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HASSH (github.com/salesforce/hassh): the MD5 of the algorithms that a side offers for key exchange, and for
 * encryption, MAC and compression of its own direction. KEXINIT contains them in ten name lists (RFC 4253 §7.1).
 */
#include <errno.h>
#include <nettle/md5.h>

#include "sluice/bytes.h"
#include "sluice/hex.h"
#include "ssh_priv.h"

enum { COOKIE = 16, LISTS = 10, PARTS = 4, HASSH_MAX = 65536 };

static bool read_lists(struct cursor *cur, struct cursor lists[LISTS])
{
    if (!cursor_skip(cur, COOKIE))
        return false;
    for (unsigned i = 0; i < LISTS; i++) {
        uint32_t length;

        if (!cursor_be32(cur, &length))
            return false;
        const uint8_t *list = cursor_read(cur, length);

        if (!list)
            return false;
        lists[i] = cursor_of(list, length);
    }
    return cursor_skip(cur, 5); /* skips first_kex_packet_follows and a reserved 32-bit word */
}

int ssh_hassh(struct heap *heap, struct ssh_side *side, enum flow_direction direction, const uint8_t *bytes,
              uint32_t length)
{
    static const uint8_t list_indexes[FLOW_DIRECTIONS][PARTS] = {
        [FLOW_TO_SERVER] = { 0, 2, 4, 6 }, [FLOW_TO_CLIENT] = { 0, 3, 5, 7 }
    };
    struct cursor cur = cursor_of(bytes, length), lists[LISTS];
    uint8_t digest[MD5_DIGEST_SIZE];
    struct md5_ctx md5;

    if (side->hassh_string.length || !read_lists(&cur, lists))
        return 0;
    for (unsigned i = 0; i < PARTS; i++) {
        const struct cursor *list = &lists[list_indexes[direction][i]];
        uint32_t size = (uint32_t)cursor_remaining(list);

        if ((i > 0 && buffer_append(heap, &side->hassh_string, ";", 1, HASSH_MAX) < 1) ||
            buffer_append(heap, &side->hassh_string, list->at, size, HASSH_MAX) < size) {
            buffer_clear(heap, &side->hassh_string); /* the MD5 of an incomplete string would be a wrong fingerprint */
            return -ENOMEM;
        }
    }
    md5_init(&md5);
    md5_update(&md5, side->hassh_string.length, side->hassh_string.bytes);
    md5_digest(&md5, MD5_DIGEST_SIZE, digest);
    hex_write(side->hassh, digest, sizeof(digest));
    return 0;
}
