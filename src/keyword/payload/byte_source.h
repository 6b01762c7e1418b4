/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number in a buffer: where it stands and how it is written. byte_test, byte_jump, byte_extract and byte_math share
 * it.
 */
#ifndef SLUICE_KEYWORD_BYTE_SOURCE_H
#define SLUICE_KEYWORD_BYTE_SOURCE_H

#include <stdint.h>

#include "keyword/meta/option.h"

enum {
    BYTE_SOURCE_MAX_BINARY = 8, /* bytes of a binary number */
    BYTE_SOURCE_MAX_STRING = 23 /* digits: 2^64-1 in octal with a leading 0 */
};

struct byte_source {
    int32_t offset;
    uint8_t width;
    int8_t offset_value, width_value; /* index into inspection.values, or -1 */
    uint8_t base;                     /* of a string: 8, 10, 16, or 0 for what its prefix says */
    bool relative, string, little;
    bool dce; /* the order that the protocol says */
    bool has_endian;
    bool may_be_empty; /* byte_jump: a relative one of width 0 may stand at the buffer's very end */
};

/* What was read. */
struct byte_number {
    uint64_t value;
    uint32_t at;    /* where it stands */
    uint32_t taken; /* bytes it has; of a string those that belong to the number */
};

void byte_source_init(struct byte_source *source);

/* Whether it is read without a variable, and without asking the protocol. */
bool byte_source_is_constant(const struct byte_source *source);

/* Options of all four keywords; `data` begins with a struct byte_source. */
int byte_source_set_relative(struct rule_parser *parser, struct span value, void *data, int unused);
int byte_source_set_string(struct rule_parser *parser, struct span value, void *data, int unused);
int byte_source_set_base(struct rule_parser *parser, struct span value, void *data, int base);
int byte_source_set_little(struct rule_parser *parser, struct span value, void *data, int little);
int byte_source_set_dce(struct rule_parser *parser, struct span value, void *data, int unused);

/* Their rows, for keywords that separate them by commas; `set_base` takes the three bases. */
#define BYTE_SOURCE_OPTIONS(set_base)                                                                                  \
    { "relative", byte_source_set_relative, 0, false }, { "string", byte_source_set_string, 0, false },                \
        { "hex", set_base, 16, false }, { "dec", set_base, 10, false }, { "oct", set_base, 8, false },                 \
        { "big", byte_source_set_little, false, false }, { "little", byte_source_set_little, true, false },            \
    {                                                                                                                  \
        "dce", byte_source_set_dce, 0, false                                                                           \
    }

/* Whether the options fit together: bases need string, and the width has limits. 0 or -EINVAL after an error. */
int byte_source_check(struct rule_parser *parser, struct span value, const struct byte_source *source);

/* A mask of at most 32 bits and the number of zeros at its end, by which the masked value is shifted. */
int byte_source_mask(struct rule_parser *parser, struct span text, bool hexadecimal, uint32_t *mask, uint8_t *shift);

bool byte_source_read(const struct inspection *in, const struct byte_source *source, struct byte_number *out);

/* `relative` for rule_parser_add_content_condition: a relative one may come first, too, and then counts from the start.
 */
bool byte_source_is_relative(struct rule_parser *parser, const struct byte_source *source);

#endif
