/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform_scratch_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "sluice/keyword.h"
#include "sluice/pcre_scratch.h"

/* PCRE2's limits for pcrexform: Suricata's defaults for pcre */
enum { MATCH_LIMIT = 3500, DEPTH_LIMIT = 1500 };

struct transform_scratch *transform_scratch_new(void)
{
    const struct pcre_limits limits = { MATCH_LIMIT, DEPTH_LIMIT };
    struct transform_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->block = malloc(TRANSFORM_SCRATCH_SIZE);
    scratch->pcre = pcre_scratch_new(&limits);
    if (!scratch->block || !scratch->pcre) {
        transform_scratch_free(scratch);
        return NULL;
    }
    return scratch;
}

void transform_scratch_free(struct transform_scratch *scratch)
{
    if (!scratch)
        return;
    pcre_scratch_free(scratch->pcre);
    free(scratch->block);
    free(scratch);
}

void transform_scratch_set_scripts(struct transform_scratch *scratch, struct script_states *scripts)
{
    scratch->scripts = scripts;
}

void transform_scratch_reset(struct transform_scratch *scratch)
{
    scratch->used = 0;
    scratch->exhausted = false;
}

uint32_t transform_scratch_mark(const struct transform_scratch *scratch)
{
    return scratch->used;
}

void transform_scratch_rewind(struct transform_scratch *scratch, uint32_t mark)
{
    assert(mark <= scratch->used);
    scratch->used = mark;
}

uint32_t transform_scratch_available(const struct transform_scratch *scratch)
{
    return TRANSFORM_SCRATCH_SIZE - scratch->used;
}

/* The size is rounded up to 16, so that the next allocation is aligned, as zlib's state requires. */
uint8_t *transform_output(struct transform_scratch *scratch, uint32_t size)
{
    uint64_t rounded = ((uint64_t)size + 15) & ~UINT64_C(15);
    uint8_t *output = scratch->block + scratch->used;

    if (rounded > transform_scratch_available(scratch)) {
        scratch->exhausted = true;
        return NULL;
    }
    scratch->used += (uint32_t)rounded;
    return output;
}

enum transform_result transforms_apply(struct transform_scratch *scratch, const struct condition *transforms,
                                       const uint8_t **bytes, uint32_t *length)
{
    const uint8_t *at = *bytes;
    uint32_t size = *length;

    for (const struct condition *t = transforms; t; t = t->next) {
        const struct transform_keyword_ops *ops = &t->keyword->transform;

        /* The result of the previous transform is not used any more: write over it. */
        if (ops->in_place && at >= scratch->block && at < scratch->block + scratch->used)
            transform_scratch_rewind(scratch, (uint32_t)(at - scratch->block) & ~UINT32_C(15));
        if (!ops->apply(scratch, at, size, t->data, &at, &size))
            return scratch->exhausted ? TRANSFORM_NO_MEMORY : TRANSFORM_ABSENT;
    }
    *bytes = at;
    *length = size;
    return TRANSFORM_DONE;
}
