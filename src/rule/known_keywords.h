/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of the keywords of Suricata and Snort that Sluice does not support; see known_keywords.c.
 */
#ifndef SLUICE_RULE_KNOWN_KEYWORDS_H
#define SLUICE_RULE_KNOWN_KEYWORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/text.h"

/* --- Keywords of Suricata and Snort --------------------------------------------------------------- */

enum known_kind {
    KNOWN_OTHER,   /* meta keywords, conditions on packets and flows, transforms */
    KNOWN_BUFFER,  /* selects a buffer for the following conditions */
    KNOWN_CONTENT, /* a content, which may have modifiers */
};
struct known_keyword {
    const char *name;
    enum known_kind kind;
};
const struct known_keyword *known_keyword_find(struct span name);
const char *known_keyword_nearest(struct span name);
size_t known_keyword_count(void);
const struct known_keyword *known_keyword_get(size_t index);

#endif
