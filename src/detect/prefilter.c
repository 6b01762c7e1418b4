/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prefilter: finds the rules that may match some bytes by their literals. Literals with a fixed offset near the start
 * are looked up there (anchored.c), all others are searched with Hyperscan databases (matcher.c).
 *
 * For growing buffers (mostly bodies), literals that end near the start ("PK", "MZ") are in a separate matcher, which
 * searches only the start of the buffer. Such literals are short: if Hyperscan searches literals of two bytes
 * everywhere, a scan takes 50 % longer. Payloads have no such matcher: nothing would be gained, because each packet has
 * a start of its own.
 *
 * Gain: without the separate matcher, HTTP traffic (W6) takes 1.25 times as many instructions (docs/detection.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "detect_priv.h"

enum { NEAR_REACH = 32 };

struct prefilter {
    struct anchored *anchored; /* NULL: no literals with a fixed offset */
    struct matcher *matcher, *near;
    const struct prefilter *growing; /* in a merged prefilter: the prefilter for growing buffers; otherwise NULL */
};

int prefilter_new(struct prefilter **out)
{
    struct prefilter *prefilter = calloc(1, sizeof(*prefilter));

    if (!prefilter)
        return -ENOMEM;
    *out = prefilter;
    return 0;
}

void prefilter_free(struct prefilter *prefilter)
{
    if (!prefilter)
        return;
    anchored_free(prefilter->anchored);
    matcher_free(prefilter->matcher);
    matcher_free(prefilter->near);
    free(prefilter);
}

static bool is_near(const struct literal *literal)
{
    return literal->grows && literal->reach <= NEAR_REACH;
}

int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t signature)
{
    if (anchored_accepts(literal)) {
        if (!prefilter->anchored && anchored_new(&prefilter->anchored))
            return -ENOMEM;
        return anchored_add(prefilter->anchored, literal, signature);
    }
    struct matcher **matcher = is_near(literal) ? &prefilter->near : &prefilter->matcher;

    if (!*matcher && matcher_new(matcher))
        return -ENOMEM;
    return matcher_add(*matcher, literal, signature);
}

bool prefilter_equal(const struct prefilter *a, const struct prefilter *b)
{
    if (!a || !b)
        return a == b;
    return anchored_equal(a->anchored, b->anchored) && matcher_equal(a->matcher, b->matcher) &&
           matcher_equal(a->near, b->near);
}

int prefilter_merge(struct prefilter **out, struct prefilter *of_stream, struct prefilter *growing)
{
    struct prefilter *merged;
    int err;

    *out = NULL;
    if (!of_stream->matcher || !growing->matcher)
        return 0;
    err = prefilter_new(&merged);
    if (err)
        return err;
    merged->growing = growing;
    *out = merged;
    return matcher_merge(&merged->matcher, of_stream->matcher, growing->matcher);
}

int prefilter_compile(struct prefilter *prefilter, struct database_list *databases, char error[256])
{
    int err;

    if (prefilter->anchored && anchored_build(prefilter->anchored)) {
        snprintf(error, 256, "out of memory for the rules' literals");
        return -ENOMEM;
    }
    err = prefilter->near ? matcher_compile(prefilter->near, databases, error) : 0;
    if (err)
        return err;
    return prefilter->matcher ? matcher_compile(prefilter->matcher, databases, error) : 0;
}

const struct matcher *prefilter_matcher(const struct prefilter *prefilter, unsigned number)
{
    return number == 0 ? prefilter->matcher : prefilter->near;
}

void prefilter_number(struct prefilter *prefilter, uint32_t *next)
{
    if (prefilter->matcher)
        matcher_set_number(prefilter->matcher, (*next)++);
    if (prefilter->near)
        matcher_set_number(prefilter->near, (*next)++);
}

const struct matcher *prefilter_search(const struct prefilter *prefilter, uint32_t number)
{
    for (unsigned i = 0; i < PREFILTER_MATCHERS; i++) {
        const struct matcher *matcher = prefilter_matcher(prefilter, i);

        if (matcher && matcher_number(matcher) == number)
            return matcher;
    }
    return NULL;
}

int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch)
{
    int err = 0;

    for (unsigned i = 0; i < PREFILTER_MATCHERS && prefilter && !err; i++) {
        const struct matcher *matcher = prefilter_matcher(prefilter, i);

        err = matcher ? matcher_grow_scratch(matcher, scratch) : 0;
    }
    return err;
}

void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes, uint32_t length,
                    uint64_t base)
{
    if (prefilter->anchored)
        anchored_scan(prefilter->anchored, detector, bytes, length, 0);
    if (prefilter->matcher)
        matcher_scan(prefilter->matcher, detector, bytes, length, base);
    if (prefilter->near)
        matcher_scan(prefilter->near, detector, bytes, length, base);
}

/* The merged scan has searched the literals of `matcher` in the new bytes. The literals of `matcher` that cross the
 * border to the old bytes are searched here unless the scan of the chunk's border has found them, and so are the
 * literals of `near`. */
void prefilter_scan_grown(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length, uint32_t before, uint64_t base)
{
    const struct merged_scan *merged = &detector->merged;

    if (merged->growing != prefilter || merged->bytes != bytes + before || merged->length != length - before) {
        prefilter_scan(prefilter, detector, bytes, length, base);
        return;
    }
    if (!merged->has_border && base < matcher_reach(prefilter->matcher))
        matcher_scan_border(prefilter->matcher, detector, bytes, before, bytes + before, merged->length);
    if (prefilter->near)
        matcher_scan(prefilter->near, detector, bytes, length, base);
    for (uint32_t i = 0; i < merged->count; i++) {
        if (base + before + merged->found[i].end <= merged->found[i].reach)
            candidates_add(&detector->candidates, merged->found[i].signature);
    }
}

/* --- Streams -------------------------------------------------------------------------------------- */

/* Returns the number of bytes of the chunk to scan: those within the first `reach` bytes of the stream. A chunk that is
 * the packet's payload is scanned completely, because this scan also serves the packet, whose offsets count from the
 * start of the payload. */
static uint32_t length_in_reach(const struct stream_chunk *chunk, uint32_t reach)
{
    if (reach == LITERAL_ANYWHERE || chunk->is_payload)
        return chunk->length;
    if (chunk->offset >= reach)
        return 0;
    return chunk->length < reach - chunk->offset ? chunk->length : (uint32_t)(reach - chunk->offset);
}

static void search_chunk(const struct prefilter *prefilter, const struct prefilter *merged, struct detector *detector,
                         const struct stream_chunk *chunk)
{
    const struct matcher *matcher = prefilter->matcher;
    uint32_t reach = matcher_reach(matcher), length = length_in_reach(chunk, reach);

    if (length == 0)
        return;
    if (length < chunk->length)
        merged = NULL;
    if (merged) {
        detector->merged.growing = merged->growing;
        detector->merged.count = 0;
    }
    if (merged && detector->merged.has_border)
        matcher_scan_border(merged->matcher, detector, chunk->before, chunk->before_length, chunk->data, length);
    else if (reach == LITERAL_ANYWHERE || chunk->offset < reach)
        matcher_scan_border(matcher, detector, chunk->before, chunk->before_length, chunk->data, length);
    matcher_scan(merged ? merged->matcher : matcher, detector, chunk->data, length, 0);
}

void prefilter_scan_chunk(const struct prefilter *prefilter, const struct prefilter *merged, struct detector *detector,
                          const struct stream_chunk *chunk, const struct stream_start *start)
{
    if (prefilter->anchored && start->bytes)
        anchored_scan(prefilter->anchored, detector, start->bytes, start->length, start->chunk_at);
    if (prefilter->anchored && chunk->is_payload && chunk->offset > 0)
        anchored_scan(prefilter->anchored, detector, chunk->data, chunk->length, 0);
    if (prefilter->matcher)
        search_chunk(prefilter, merged, detector, chunk);
}

void prefilter_scan_window(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                           uint32_t length, uint64_t offset)
{
    if (prefilter->anchored && offset == 0) /* literals with a fixed offset are only at the start of a stream */
        anchored_scan(prefilter->anchored, detector, bytes, length, 0);
    if (prefilter->matcher)
        matcher_scan(prefilter->matcher, detector, bytes, length, 0);
}
