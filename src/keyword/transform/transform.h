/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of the transforms. Each is a pure function of its input and the rule's options; the result is part of the
 * input or lies in the scratch memory. As in Suricata, a buffer that is empty or cannot be transformed stays unchanged,
 * except where a transform says otherwise. apply() returns false only if the scratch memory is exhausted.
 */
#ifndef SLUICE_KEYWORD_TRANSFORM_H
#define SLUICE_KEYWORD_TRANSFORM_H

#include "sluice/keyword.h"
#include "sluice/transform.h"

/* The parse() function of a transform without a value. */
int transform_parse(struct rule_parser *parser, struct span value);

static inline bool transform_is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline uint8_t transform_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

/* Sets the result to `bytes`. Returns true, for use in a return statement. */
static inline bool transform_keep(const uint8_t *bytes, uint32_t length, const uint8_t **out, uint32_t *out_length)
{
    *out = bytes;
    *out_length = length;
    return true;
}

#endif
