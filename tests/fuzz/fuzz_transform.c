/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transforms. The first line is a chain of transforms as in a rule; the rest is the input. The contract: each result is
 * part of its input or in the scratch memory, and not longer than the transform allows; the same input gives the same
 * result; after a reset all scratch memory is available again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/rule_text.h"
#include "sluice/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_CHAIN = 512 };

struct bytes {
    const uint8_t *at;
    uint32_t length;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool lies_in(struct bytes part, const uint8_t *whole, uint32_t length)
{
    return part.at >= whole && part.at <= whole + length && part.length <= (size_t)(whole + length - part.at);
}

static uint64_t largest_result(const char *name, uint32_t length)
{
    if (strcmp(name, "dotprefix") == 0)
        return (uint64_t)length + 1;
    if (strncmp(name, "to_md5", 6) == 0 || strncmp(name, "to_sha", 6) == 0)
        return 32;
    if (strcmp(name, "gunzip") == 0 || strcmp(name, "zlib_deflate") == 0)
        return TRANSFORM_SCRATCH_SIZE;
    return length;
}

static bool apply(struct transform_scratch *scratch, const struct condition *chain, struct bytes *bytes)
{
    transform_scratch_reset(scratch);

    const uint8_t *results = transform_output(scratch, 0); /* where the first result will lie */

    for (const struct condition *t = chain; t; t = t->next) {
        struct bytes in = *bytes;

        if (!t->keyword->transform.apply(scratch, in.at, in.length, t->data, &bytes->at, &bytes->length))
            return false;
        require(lies_in(*bytes, in.at, in.length) || lies_in(*bytes, results, transform_scratch_mark(scratch)));
        require(bytes->length <= largest_result(t->keyword->name, in.length));
    }
    return true;
}

static struct transform_scratch *scratch_once(void)
{
    static struct transform_scratch *scratch; /* never freed */

    if (!scratch)
        scratch = transform_scratch_new();
    require(scratch);
    return scratch;
}

static void run(const struct condition *chain, struct bytes in)
{
    struct transform_scratch *scratch = scratch_once();
    struct bytes first = in, second = in;
    uint8_t *kept;
    bool there;

    there = apply(scratch, chain, &first);
    if (!there) {
        transform_scratch_reset(scratch);
        require(transforms_apply(scratch, chain, &second.at, &second.length) != TRANSFORM_DONE ||
                in.length >= TRANSFORM_SCRATCH_SIZE / 4);
    } else {
        kept = malloc(first.length + 1);
        require(kept);
        memcpy(kept, first.at, first.length);
        require(apply(scratch, chain, &second));
        require(second.length == first.length && memcmp(kept, second.at, second.length) == 0);
        /* Transforms that write over the result of the previous one have the same result. */
        second = in;
        transform_scratch_reset(scratch);
        require(transforms_apply(scratch, chain, &second.at, &second.length) == TRANSFORM_DONE);
        require(second.length >= first.length && memcmp(kept, second.at, first.length) == 0);
        free(kept);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t length = end ? (size_t)(end - data) : 0;
    char options[MAX_CHAIN + 64];
    struct rule_text text;

    if (!end || length > MAX_CHAIN || size > UINT16_MAX)
        return 0;
    int used = snprintf(options, sizeof(options), "test.buffer; %.*s bsize:>=0;", (int)length, (const char *)data);

    rule_text_open(&text, options, (size_t)used);
    for (const struct rule_buffer *buffer = text.rule ? text.rule->buffers : NULL; buffer; buffer = buffer->next)
        run(buffer->transforms, (struct bytes){ end + 1, (uint32_t)(size - length - 1) });
    rule_text_close(&text);
    return 0;
}
