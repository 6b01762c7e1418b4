/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searching for one literal, with or without regard to case. */
#ifndef SLUICE_KEYWORD_SEARCH_H
#define SLUICE_KEYWORD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/rule.h"

/* ASCII only: other letters have no case in the rule language. */
static inline uint8_t search_lower(uint8_t c)
{
    return (uint8_t)(c - 'A') < 26 ? (uint8_t)(c | 0x20) : c;
}

/* The first occurrence of the content's bytes (in lower case when it is nocase), or NULL. */
const uint8_t *search_first(const struct content *content, const uint8_t *bytes, size_t length);

/* Whether the content's bytes stand at `bytes`, which has at least content->length bytes. */
bool search_equal(const struct content *content, const uint8_t *bytes);

#endif
