/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on a list of numbers (Suricata: "Multi-integers"): a condition on one number, the numbers of the list
 * that must match, and the part of the list to inspect:
 *
 *     NUMBER[,WHICH[,FROM:TO]]              WHICH is one of
 *         any, all, all_or_absent, or_absent
 *         INDEX, oob_or INDEX               one element; oob_or: also matches if the list has no such element
 *         nb NUMBERS                        how many elements match NUMBER
 *     count NUMBERS                         how many elements the list has
 *
 * FROM:TO is the part of the list that is inspected, without element TO. A negative index counts from the end.
 */
#ifndef SLUICE_NUMBER_LIST_H
#define SLUICE_NUMBER_LIST_H

#include "sluice/number_range.h"

enum number_list_mode {
    NUMBER_LIST_ANY,
    NUMBER_LIST_ALL,
    NUMBER_LIST_ALL_OR_ABSENT,
    NUMBER_LIST_ANY_OR_ABSENT,
    NUMBER_LIST_INDEX,
    NUMBER_LIST_INDEX_OR_OUTSIDE, /* also matches if the list has no such index */
    NUMBER_LIST_MATCHES,          /* condition `count` on the number of matching elements */
    NUMBER_LIST_COUNT,            /* condition `count` on the number of elements */
};

struct number_list {
    enum number_list_mode mode;
    struct number_range number;
    struct number_range count; /* for NUMBER_LIST_MATCHES and NUMBER_LIST_COUNT */
    int32_t index;             /* for NUMBER_LIST_INDEX and NUMBER_LIST_INDEX_OR_OUTSIDE */
    /* the part to inspect, without element `to`; negative: from the end of the list; to == 0: up to its end. */
    int32_t from, to;
};

/* Form of the value, for `value` in struct keyword. */
#define NUMBER_LIST_FORM NUMBER_RANGE_FORM "[,WHICH[,FROM:TO]], or count NUMBER"

/* Parses a list condition on numbers from 0 to `limit`; `names` may be NULL. Indices are in [-max_count, max_count).
 * Returns 0, or -EINVAL after reporting an error; *out is written only on success. */
int number_list_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                      unsigned max_count, struct number_list *out);

/* Returns element `index` (from 0) of the list `of`, for number_list_match(). */
typedef uint64_t number_list_get(const void *of, unsigned index);
bool number_list_match(const struct number_list *list, number_list_get *number, const void *of, unsigned count);

#endif
