/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of the transforms gunzip and zlib_deflate. */
#ifndef SLUICE_KEYWORD_DECOMPRESS_H
#define SLUICE_KEYWORD_DECOMPRESS_H

#include "transform.h"

enum decompress_format { DECOMPRESS_ZLIB, DECOMPRESS_GZIP };

/* The function parse() of gunzip and zlib_deflate; the value is [max-size SIZE]. */
int decompress_parse(struct rule_parser *parser, struct span value);

/* Decompresses the input to at most max-size bytes (`data` is what decompress_parse() stored). The result is empty if
 * the input is malformed. Returns false if the scratch memory is exhausted. */
bool decompress(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                enum decompress_format format, const uint8_t **out, uint32_t *out_length);

#endif
