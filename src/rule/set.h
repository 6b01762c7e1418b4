/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of addresses and ports: groups, negation and variables.
 */
#ifndef SLUICE_RULE_SET_H
#define SLUICE_RULE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/ranges.h"
#include "sluice/rule.h"
#include "sluice/text.h"

#include "map.h"

enum { SET_MAX_DEPTH = 64, SET_MAX_ITEMS = 65536 };

enum variable_kind { VARIABLE_ADDRESS, VARIABLE_PORT };

const char *rule_variables_find(const struct rule_variables *variables, enum variable_kind kind, struct span name);

/* State of the evaluation of a set such as `[a, !b, [c, $D]]`. item() is called for every part that is neither a group
 * nor a variable. */
struct set_walk {
    struct rule_parser *parser;
    enum variable_kind kind;
    bool double_negation; /* true (addresses): `!!a` means `a`; false (ports): it means `!a` */
    int (*item)(struct set_walk *walk, struct span item, bool negated);
    int (*merge)(struct set_walk *walk, struct span text);  /* subtracts the negated parts, after the last part */
    void *(*make)(struct set_walk *walk, const char *text); /* creates the set in the list's arena; stores `text` */
    void *user;

    struct text expanded; /* the set's text with variables replaced by their values */
    struct span shown;    /* where mistakes inside a variable are reported: the outermost variable's name in the rule */
    struct span variables[SET_MAX_DEPTH];
    unsigned depth, variable_depth;
    unsigned items;
};
int set_walk(struct set_walk *walk, struct span text);
/* Reports an error and returns -EINVAL. */
int set_walk_error(struct set_walk *walk, struct span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets with equal texts share one object, looked up by the text as written first, then by the text with variables
 * expanded. */
struct set_cache {
    struct map written, expanded;
};
void set_cache_init(struct set_cache *cache);
void set_cache_clear(struct set_cache *cache);
/* Returns the set for a text, from the cache or created by the walk and then added to the cache; NULL after an error
 * was reported. */
void *set_cache_get(struct set_cache *cache, struct set_walk *walk, struct span text);

#endif
