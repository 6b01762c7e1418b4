/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What transforms share. Each is a pure function of its input and of what the rule says; the result is part of the
 * input or lies in the scratch. As in the field an empty buffer stays as it is, except where a transform says so, and a
 * transform that fails leaves the buffer as it was.
 */
#ifndef SLUICE_KEYWORD_TRANSFORM_H
#define SLUICE_KEYWORD_TRANSFORM_H

#include "sluice/keyword.h"
#include "sluice/transform.h"

/* parse() of a transform without a value. */
int transform_parse(struct rule_parser *parser, struct span value, bool negated);

static inline bool transform_is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline uint8_t transform_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

/* The input as it is. */
static inline bool transform_keep(const uint8_t *bytes, uint32_t length, const uint8_t **out, uint32_t *out_length)
{
    *out = bytes;
    *out_length = length;
    return true;
}

#endif
