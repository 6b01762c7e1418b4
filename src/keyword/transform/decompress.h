/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of the transforms gunzip and zlib_deflate. */
#ifndef SLUICE_KEYWORD_DECOMPRESS_H
#define SLUICE_KEYWORD_DECOMPRESS_H

#include "transform.h"

enum decompress_format { DECOMPRESS_ZLIB, DECOMPRESS_GZIP };

/* parse() of both keywords: [max-size SIZE]. */
int decompress_parse(struct rule_parser *parser, struct span value);

/* Decompresses at most the number of bytes set in `data` (see decompress_parse()); the result is empty when the input
 * is malformed. False when out of memory. */
bool decompress(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                enum decompress_format format, const uint8_t **out, uint32_t *out_length);

#endif
