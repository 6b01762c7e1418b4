/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keywords of Suricata and Snort that Sluice does not support: rules with them are skipped without counting as
 * mistakes. The table is constant and ordered by name.
 */
#ifndef SLUICE_RULE_KNOWN_KEYWORDS_H
#define SLUICE_RULE_KNOWN_KEYWORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/text.h"

enum known_kind {
    KNOWN_OTHER,   /* meta keywords, conditions on packets and flows, transforms */
    KNOWN_BUFFER,  /* selects a buffer for the following conditions */
    KNOWN_CONTENT, /* a content, which may have modifiers */
};
struct known_keyword {
    const char *name;
    enum known_kind kind;
};
const struct known_keyword *known_keyword_find(struct span name); /* NULL: the table does not have the name */
const char *known_keyword_nearest(struct span name);              /* the most similar name; NULL: none is similar */
size_t known_keyword_count(void);
const struct known_keyword *known_keyword_get(size_t index);

#endif
