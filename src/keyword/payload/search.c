/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search compares two bytes of the content at 64 positions at once, and the whole content only where both match.
 * The C library's memmem() advances byte by byte, which is too slow for super-packets (GRO): they have up to 64 KiB, in
 * which every two-byte literal occurs by chance, so every rule with such a literal is evaluated.
 *
 * The two bytes are the first byte of the content and the last byte that differs from it. In a run of zeros with one
 * other byte, for example, the second one is that byte.
 *
 * Contents longer than LONG_CONTENT are searched with memmem(), which is linear in the worst case. Long contents with
 * nocase are an exception, because memmem() cannot ignore case: memchr() finds their first byte, and the whole content
 * is compared there. Shorter contents are searched in the same way if there are fewer than 64 positions.
 */
#include "search.h"

#include <string.h>

enum {
    LONG_CONTENT = 256,
    BLOCK = 16,
    BLOCKS = 4,
    STRIDE = BLOCK * BLOCKS,
};

typedef uint8_t block __attribute__((vector_size(BLOCK)));

bool search_equal(const struct content *content, const uint8_t *bytes)
{
    if (!content->nocase)
        return memcmp(content->bytes, bytes, content->length) == 0;
    for (uint16_t i = 0; i < content->length; i++)
        if (search_lower(bytes[i]) != content->bytes[i])
            return false;
    return true;
}

/* --- Fewer positions than a block ----------------------------------------------------------------- */

static const uint8_t *find_byte(const uint8_t *at, const uint8_t *end, uint8_t byte)
{
    const uint8_t *found = at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;

    return found ? found : end;
}

/* Compares the content at each position of its first byte. Returns the first occurrence or NULL. at_lower and at_upper
 * are the next occurrences of the first byte in each letter case, so that memchr() scans the buffer only once per
 * case. */
static const uint8_t *search_few(const struct content *content, const uint8_t *bytes, size_t length)
{
    const uint8_t *end = bytes + (length - content->length) + 1; /* end of the positions at which a match can start */
    uint8_t lower = content->bytes[0];
    uint8_t upper = content->nocase && (uint8_t)(lower - 'a') < 26 ? (uint8_t)(lower & ~0x20) : lower;
    const uint8_t *at_lower = find_byte(bytes, end, lower);
    const uint8_t *at_upper = upper != lower ? find_byte(bytes, end, upper) : end;

    for (;;) {
        const uint8_t *at = at_lower < at_upper ? at_lower : at_upper;

        if (at == end)
            return NULL;
        if (search_equal(content, at))
            return at;
        if (at == at_lower)
            at_lower = find_byte(at + 1, end, lower);
        else
            at_upper = find_byte(at + 1, end, upper);
    }
}

/* --- Blocks of positions -------------------------------------------------------------------------- */

/* A byte of the content, `at` bytes after its start, that is compared at all positions of a block. */
struct probe {
    block byte;
    block fold; /* 0x20 if the case of the letter is ignored, otherwise 0 */
    size_t at;
};

static struct probe probe_of(const struct content *content, size_t at)
{
    uint8_t byte = content->bytes[at];
    uint8_t fold = content->nocase && (uint8_t)(byte - 'a') < 26 ? 0x20 : 0;

    return (struct probe){ .byte = byte - (block){ 0 }, .fold = fold - (block){ 0 }, .at = at };
}

static size_t second_probe(const struct content *content)
{
    size_t at = content->length - 1U;

    while (at > 0 && content->bytes[at] == content->bytes[0])
        at--;
    return at > 0 ? at : content->length - 1U;
}

/* Returns a block whose bytes are 0xff at the positions where the probe's byte matches, otherwise 0. */
static inline block stands_at(const struct probe *probe, const uint8_t *places)
{
    block bytes;

    memcpy(&bytes, places + probe->at, sizeof(bytes));
    return (block)((bytes | probe->fold) == probe->byte);
}

static const uint8_t *confirm(const struct content *content, const uint8_t *places, const block *hits)
{
    const uint8_t *hit = (const uint8_t *)hits;

    for (size_t at = 0; at < STRIDE; at += sizeof(uint64_t)) {
        uint64_t eight;

        memcpy(&eight, hit + at, sizeof(eight));
        for (size_t i = at; eight != 0 && i < at + sizeof(eight); i++) {
            if (hit[i] && search_equal(content, places + i))
                return places + i;
        }
    }
    return NULL;
}

static inline bool is_any(block hits)
{
    uint64_t words[BLOCK / sizeof(uint64_t)];

    memcpy(words, &hits, sizeof(words));
    return (words[0] | words[1]) != 0;
}

/* Searches `count` start positions (STRIDE or more) in blocks of STRIDE. The last block may overlap the one before it.
 * Returns the first occurrence or NULL. */
static const uint8_t *search_blocks(const struct content *content, const uint8_t *places, size_t count)
{
    const struct probe first = probe_of(content, 0), second = probe_of(content, second_probe(content));
    const uint8_t *last = places + (count - STRIDE);

    for (;;) {
        const uint8_t *found = NULL;
        block hits[BLOCKS], any = { 0 };

        for (size_t i = 0; i < BLOCKS; i++) {
            hits[i] = stands_at(&first, places + i * BLOCK) & stands_at(&second, places + i * BLOCK);
            any |= hits[i];
        }
        if (is_any(any))
            found = confirm(content, places, hits);
        if (found || places == last)
            return found;
        places = (size_t)(last - places) > STRIDE ? places + STRIDE : last;
    }
}

const uint8_t *search_first(const struct content *content, const uint8_t *bytes, size_t length)
{
    if (content->length > length)
        return NULL;
    if (content->length == length)
        return search_equal(content, bytes) ? bytes : NULL;
    if (content->length > 0 && content->length <= LONG_CONTENT)
        return length - content->length + 1 >= STRIDE ? search_blocks(content, bytes, length - content->length + 1)
                                                      : search_few(content, bytes, length);
    if (content->nocase && content->length > 0)
        return search_few(content, bytes, length);
    return memmem(bytes, length, content->bytes, content->length);
}
