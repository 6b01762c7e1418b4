/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the transforms gunzip and zlib_deflate share. */
#ifndef SLUICE_KEYWORD_DECOMPRESS_H
#define SLUICE_KEYWORD_DECOMPRESS_H

#include "transform.h"

enum decompress_format { DECOMPRESS_ZLIB, DECOMPRESS_GZIP };

/* parse(): [max-size SIZE]. */
int decompress_parse(struct rule_parser *parser, struct span value, bool negated);

/* At most as many bytes as `data` of decompress_parse() says; none when it is broken. False: no memory. */
bool decompress(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                enum decompress_format format, const uint8_t **out, uint32_t *out_length);

#endif
