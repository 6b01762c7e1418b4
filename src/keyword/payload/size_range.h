/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes in the forms of dsize and bsize: N, <N, >N, <=N, >=N, !N and N<>M (between, exclusive), with kb, mb or gb. */
#ifndef SLUICE_KEYWORD_SIZE_RANGE_H
#define SLUICE_KEYWORD_SIZE_RANGE_H

#include <stdint.h>

#include "sluice/keyword.h"

struct size_range {
    uint64_t low, high; /* inclusive bounds */
    bool outside;       /* true: sizes outside the bounds match; false: sizes within them */
    struct span text;   /* the text of the rule, for error messages */
};

/* Parses a condition on a size; `limit` is the largest number. Returns 0, or -EINVAL after an error was reported. */
int size_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *out);

/* For finish(): reports an error if the contents of the condition's buffer need more bytes than the largest size that
 * matches. `condition` NULL: the payload. Returns 0 or -EINVAL. */
int size_range_check_contents(struct rule_parser *parser, const struct size_range *range,
                              const struct condition *condition);

static inline bool size_range_has(const struct size_range *range, uint64_t size)
{
    return (size >= range->low && size <= range->high) != range->outside;
}

#endif
