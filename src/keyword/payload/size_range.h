/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes in the forms of dsize and bsize: N, <N, >N, <=N, >=N, !N and N<>M (between, exclusive), with kb, mb or gb. */
#ifndef SLUICE_KEYWORD_SIZE_RANGE_H
#define SLUICE_KEYWORD_SIZE_RANGE_H

#include <stdint.h>

#include "sluice/keyword.h"

struct size_range {
    uint64_t low, high; /* inclusive bounds */
    bool outside;       /* sizes outside the bounds match */
    struct span text;   /* the text of the rule, for error messages */
};

/* Parses a size; `limit` is the largest number. 0 or -EINVAL after an error. */
int size_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *out);

/* For finish(): reports an error when the contents of the condition's buffer (NULL: the payload) need more bytes than
 * the largest matching size. */
int size_range_check_contents(struct rule_parser *parser, const struct size_range *range,
                              const struct condition *condition);

static inline bool size_range_has(const struct size_range *range, uint64_t size)
{
    return (size >= range->low && size <= range->high) != range->outside;
}

#endif
