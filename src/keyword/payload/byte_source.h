/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The position and format of a number in a buffer, shared by byte_test, byte_jump, byte_extract and byte_math.
 */
#ifndef SLUICE_KEYWORD_BYTE_SOURCE_H
#define SLUICE_KEYWORD_BYTE_SOURCE_H

#include <stdint.h>

#include "keyword/meta/option.h"

enum {
    BYTE_SOURCE_MAX_BINARY = 8, /* maximum width of a binary number in bytes */
    BYTE_SOURCE_MAX_STRING = 23 /* maximum number of digits: 2^64-1 in octal with a leading 0 */
};

struct byte_source {
    int32_t offset;
    uint8_t width;
    /* index in inspection.values of the variable to use instead of `offset` or `width`; -1: none */
    int8_t offset_value, width_value;
    uint8_t base; /* base of a number in text form: 8, 10, 16, or 0 to detect it by the prefix */
    bool relative, string, little;
    bool dce; /* true: the byte order is the one that the DCE/RPC parser reports */
    bool has_endian;
    bool may_be_empty; /* true (byte_jump): a relative number of width 0 may be at the end of the buffer */
};

/* Result of reading a number. */
struct byte_number {
    uint64_t value;
    uint32_t at;    /* offset of the number in the buffer */
    uint32_t taken; /* length of the number in bytes, without characters after its digits */
};

void byte_source_init(struct byte_source *source);

/* Returns true if the position and format of the number are the same for all traffic: they depend neither on a variable
 * nor on the byte order that the DCE/RPC parser reports. */
bool byte_source_is_constant(const struct byte_source *source);

/* Handlers (struct option) of options that byte_test, byte_jump, byte_extract and byte_math share; `data` begins with a
 * struct byte_source. */
int byte_source_set_relative(struct rule_parser *parser, struct span value, void *data, int unused);
int byte_source_set_string(struct rule_parser *parser, struct span value, void *data, int unused);
int byte_source_set_base(struct rule_parser *parser, struct span value, void *data, int base);
int byte_source_set_little(struct rule_parser *parser, struct span value, void *data, int little);
int byte_source_set_dce(struct rule_parser *parser, struct span value, void *data, int unused);

/* Table rows (struct option) for these options; `set_base` is the handler of hex, dec and oct. */
#define BYTE_SOURCE_OPTIONS(set_base)                                                                                  \
    { "relative", byte_source_set_relative, 0, false }, { "string", byte_source_set_string, 0, false },                \
        { "hex", set_base, 16, false }, { "dec", set_base, 10, false }, { "oct", set_base, 8, false },                 \
        { "big", byte_source_set_little, false, false }, { "little", byte_source_set_little, true, false },            \
    {                                                                                                                  \
        "dce", byte_source_set_dce, 0, false                                                                           \
    }

/* Checks that the options fit together: a base needs `string`, and the width is limited. Returns 0, or -EINVAL after an
 * error was reported. */
int byte_source_check(struct rule_parser *parser, struct span value, const struct byte_source *source);

/* Parses a mask of at most 32 bits, and sets *shift to the number of its trailing zeros, by which the masked value is
 * shifted right. `hexadecimal`: a number without 0x is hexadecimal, too. Returns 0, or -EINVAL after an error was
 * reported. */
int byte_source_mask(struct rule_parser *parser, struct span text, bool hexadecimal, uint32_t *mask, uint8_t *shift);

/* Reads the number into *out. Returns false if the buffer has no number there, or the number is too large. */
bool byte_source_read(const struct inspection *in, const struct byte_source *source, struct byte_number *out);

/* Returns the argument `relative` for rule_parser_add_content_condition(). It is false for a relative number that is
 * the first condition of its buffer, whose offset then counts from the start of the buffer. */
bool byte_source_is_relative(struct rule_parser *parser, const struct byte_source *source);

#endif
