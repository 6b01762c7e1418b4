/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Search for one literal, case-sensitive or not. */
#ifndef SLUICE_KEYWORD_SEARCH_H
#define SLUICE_KEYWORD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/rule.h"

/* Returns the letter in lower case. ASCII only: in the rule language, nocase ignores the case of ASCII letters only. */
static inline uint8_t search_lower(uint8_t c)
{
    return (uint8_t)(c - 'A') < 26 ? (uint8_t)(c | 0x20) : c;
}

/* Returns the first occurrence of the content in `bytes`, or NULL. If the content is nocase, content->bytes must be in
 * lower case. */
const uint8_t *search_first(const struct content *content, const uint8_t *bytes, size_t length);

/* Returns whether the content matches at the start of `bytes`, which must have at least content->length bytes. */
bool search_equal(const struct content *content, const uint8_t *bytes);

#endif
