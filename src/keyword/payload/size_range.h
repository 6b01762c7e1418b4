/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes as dsize and bsize write them: N, <N, >N, <=N, >=N, !N and N<>M (between, without either), with kb, mb or gb.
 */
#ifndef SLUICE_KEYWORD_SIZE_RANGE_H
#define SLUICE_KEYWORD_SIZE_RANGE_H

#include <stdint.h>

#include "sluice/keyword.h"

struct size_range {
    uint64_t low, high; /* both belong to it */
    bool outside;       /* sizes that are not in it match */
    struct span text;   /* as written, for messages while the rule is parsed */
};

/* 0 or -EINVAL after an error; `limit` is the largest number. */
int size_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *out);

/* For finish(): an error when the contents of the condition's buffer (NULL: the payload) need more bytes than any size
 * that matches. */
int size_range_check_contents(struct rule_parser *parser, const struct size_range *range,
                              const struct condition *condition);

static inline bool size_range_has(const struct size_range *range, uint64_t size)
{
    return (size >= range->low && size <= range->high) != range->outside;
}

#endif
