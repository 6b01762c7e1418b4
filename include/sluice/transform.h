/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transform: the memory in which transforms make their results (keyword.h, transform_output()), and what they need
 * besides.
 *
 * The memory is one block, used like a stack and emptied as a whole. When it is used up a transform's buffer is not
 * there.
 *
 * Threads:   a scratch belongs to one worker; nothing here takes memory from the system after transform_scratch_new().
 * Ownership: results live until the next transform_scratch_reset(), or until the scratch goes back to a mark before
 * them.
 */
#ifndef SLUICE_TRANSFORM_H
#define SLUICE_TRANSFORM_H

#include <stdint.h>

enum {
    TRANSFORM_SCRATCH_SIZE = 4 * 1024 * 1024, /* address space; backed when it is used */
};

struct transform_scratch;
struct transform_scratch *transform_scratch_new(void);           /* NULL when out of memory */
void transform_scratch_free(struct transform_scratch *scratch);  /* NULL is allowed */
void transform_scratch_reset(struct transform_scratch *scratch); /* all results are over */

/* What is used so far, and back to it: results made since then are over. */
uint32_t transform_scratch_mark(const struct transform_scratch *scratch);
void transform_scratch_return(struct transform_scratch *scratch, uint32_t mark);
uint32_t transform_scratch_room(const struct transform_scratch *scratch);

#endif
