/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scratch memory for the results of transforms (keyword.h, transform_output()).
 *
 * The memory is one block, used like a stack and reset as a whole. When it is exhausted, the result of the
 * evaluation is unknown (INSPECT_LIMIT_TRANSFORM).
 *
 * Threads:   a scratch belongs to one worker; nothing here allocates memory after transform_scratch_new().
 * Ownership: results are valid until the next transform_scratch_reset(), or until the scratch returns to an earlier
 * mark.
 */
#ifndef SLUICE_TRANSFORM_H
#define SLUICE_TRANSFORM_H

#include <stdint.h>

enum {
    TRANSFORM_SCRATCH_SIZE = 4 * 1024 * 1024, /* address space; pages are allocated on first use */
};

struct condition;
struct transform_scratch;
struct transform_scratch *transform_scratch_new(void);          /* NULL when out of memory */
void transform_scratch_free(struct transform_scratch *scratch); /* NULL is allowed */
/* Sets the worker's states of scripts, for luaxform; NULL: there are none. They must outlive the scratch, or the next
 * call. */
struct script_states;
void transform_scratch_set_scripts(struct transform_scratch *scratch, struct script_states *scripts);
void transform_scratch_reset(struct transform_scratch *scratch); /* frees all results */

/* Returns the current fill level as a mark; transform_scratch_rewind() invalidates the results made since the mark. */
uint32_t transform_scratch_mark(const struct transform_scratch *scratch);
void transform_scratch_rewind(struct transform_scratch *scratch, uint32_t mark);
uint32_t transform_scratch_available(const struct transform_scratch *scratch);

enum transform_result {
    TRANSFORM_DONE,
    TRANSFORM_ABSENT,    /* a transform has no result for its input: the buffer does not exist */
    TRANSFORM_NO_MEMORY, /* the scratch memory is exhausted: the result is unknown */
};
/* Applies the transforms of a buffer in their order to *bytes, *length. They are changed only if the result is
 * TRANSFORM_DONE. */
enum transform_result transforms_apply(struct transform_scratch *scratch, const struct condition *transforms,
                                       const uint8_t **bytes, uint32_t *length);

#endif
