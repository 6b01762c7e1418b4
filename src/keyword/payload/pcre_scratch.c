/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pcre_scratch_priv.h"

#include <stdlib.h>

enum {
    /* limit of the memory for the interpreter's frames, which PCRE2 doubles when needed and does not release */
    HEAP_LIMIT_KB = 512,
    BLOCK_SIZE = 2 * 1024 * 1024, /* bytes; enough for all sizes that the frames have while they grow */
    PAIRS = PCRE_GROUPS_MAX + 1,  /* number of offset pairs: for the whole match and for each capture group */
    STACK_START = 32 * 1024,
    STACK_MAX = 512 * 1024,
};

static void *block_take(size_t size, void *user)
{
    struct pcre_scratch *scratch = user;
    size_t rounded = (size + 15) & ~(size_t)15;

    if (rounded < size || rounded > BLOCK_SIZE - scratch->used)
        return NULL;
    scratch->used += rounded;
    return scratch->block + scratch->used - rounded;
}

/* Does nothing: the block, which contains all allocations, is freed as a whole. */
static void block_give_back(void *memory, void *user)
{
    (void)memory;
    (void)user;
}

struct pcre_scratch *pcre_scratch_new(const struct pcre_limits *limits)
{
    struct pcre_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->block = malloc(BLOCK_SIZE);
    if (scratch->block)
        scratch->memory = pcre2_general_context_create(block_take, block_give_back, scratch);
    if (scratch->memory) {
        scratch->match = pcre2_match_data_create(PAIRS, scratch->memory);
        scratch->context = pcre2_match_context_create(scratch->memory);
        scratch->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, NULL);
    }
    if (!scratch->match || !scratch->context) {
        pcre_scratch_free(scratch);
        return NULL;
    }
    pcre2_set_match_limit(scratch->context, limits->match);
    pcre2_set_depth_limit(scratch->context, limits->depth);
    pcre2_set_heap_limit(scratch->context, HEAP_LIMIT_KB);
    if (scratch->stack) /* NULL if PCRE2 is built without JIT */
        pcre2_jit_stack_assign(scratch->context, NULL, scratch->stack);
    return scratch;
}

void pcre_scratch_free(struct pcre_scratch *scratch)
{
    if (!scratch)
        return;
    if (scratch->stack)
        pcre2_jit_stack_free(scratch->stack);
    free(scratch->block);
    free(scratch);
}
