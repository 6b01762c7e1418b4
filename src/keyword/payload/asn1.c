/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asn1: decodes BER values (X.690) from a position in the buffer and matches when one of them is too long, or its
 * content is invalid in a way that exploits use (is_wanted()).
 *
 * The walk is iterative: a stack holds the ends of the open constructed values. A value that is incomplete or cannot be
 * decoded ends the walk. Matches in the same outermost value do not count then; outermost values before it have been
 * checked. Nesting depth and the number of outermost values are limited as in Suricata (asn1-max-frames, 30).
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "sluice/der.h"
#include "sluice/keyword.h"

enum {
    FRAMES_MAX = 30,
    BYTES_A_STEP = 256, /* one step of inspection.steps_left is consumed per this number of bytes */
    CLASS_BITS = 0xc0,
    CONSTRUCTED = 0x20,
    TAG_BIT_STRING = 3,
    TAG_REAL = 9,
    REAL_MAX = 256, /* double_overflow: a longer REAL in decimal form overflows the buffer of a vulnerable library */
};

struct asn1 {
    bool bitstring_overflow, double_overflow, has_oversize, relative, absolute;
    uint32_t oversize;
    int32_t offset;
};

static bool is_wanted(const struct asn1 *asn1, const struct der_header *value, const uint8_t *content)
{
    if (asn1->has_oversize && value->length > asn1->oversize)
        return true;
    /* the other options apply only to primitive values of class universal that are not empty */
    if (value->identifier & (CLASS_BITS | CONSTRUCTED) || value->length == 0)
        return false;
    if (asn1->bitstring_overflow && value->number == TAG_BIT_STRING)
        return content[0] > value->length * 8;
    return asn1->double_overflow && value->number == TAG_REAL && (content[0] & 0xc0) == 0 && value->length > REAL_MAX;
}

/* A constructed value whose end has not been reached. */
struct frame {
    const uint8_t *end; /* end of the value; if its length is indefinite, the end of the enclosing value */
    bool indefinite;    /* true: end-of-contents octets terminate the value; false: `end` does */
};

struct walk {
    struct frame open[FRAMES_MAX];
    unsigned depth;
    bool found;
};

/* Removes the constructed values that end at `at` from the stack. */
static void close_values(struct walk *walk, const uint8_t *at)
{
    while (walk->depth > 0 && !walk->open[walk->depth - 1].indefinite && walk->open[walk->depth - 1].end == at)
        walk->depth--;
}

/* Reads one primitive value, the header of a constructed one, or the end-of-contents octets of one. Sets walk->found if
 * the value matches. Returns false if it cannot be decoded or is nested too deeply. */
static bool walk_value(struct walk *walk, struct cursor *cur, const struct asn1 *asn1)
{
    const struct frame *around = walk->depth > 0 ? &walk->open[walk->depth - 1] : NULL;
    struct cursor inside = *cur;
    struct der_header value;

    if (around)
        inside.end = around->end;
    if (around && around->indefinite && cursor_remaining(&inside) >= 2 && load_be16(inside.at) == 0) {
        cur->at += 2;
        walk->depth--;
        close_values(walk, cur->at);
        return true;
    }
    if (der_read_header(&inside, DER_ANY, &value) != DER_OK || value.length > cursor_remaining(&inside))
        return false;
    walk->found |= is_wanted(asn1, &value, inside.at);
    cur->at = inside.at;
    if (!(value.identifier & CONSTRUCTED))
        cur->at += value.length;
    else if (walk->depth == FRAMES_MAX)
        return false;
    else
        walk->open[walk->depth++] = (struct frame){
            .end = value.indefinite ? inside.end : inside.at + value.length,
            .indefinite = value.indefinite,
        };
    close_values(walk, cur->at);
    return true;
}

/* Returns whether one of the outermost values contains a match. Each outermost value is walked to its end first: if a
 * part of it cannot be decoded, matches in it do not count. */
static bool has_match(const struct asn1 *asn1, const uint8_t *bytes, uint32_t length)
{
    struct cursor cur = cursor_of(bytes, length);

    for (unsigned i = 0; i < FRAMES_MAX && cursor_remaining(&cur) > 0; i++) {
        struct walk walk = { .depth = 0 };

        do {
            if (!walk_value(&walk, &cur, asn1))
                return false;
        } while (walk.depth > 0);
        if (walk.found)
            return true;
    }
    return false;
}

static enum inspect_result asn1_inspect(struct inspection *in, const struct condition *condition,
                                        struct inspect_retry *retry)
{
    const struct asn1 *asn1 = condition->data;
    int64_t at = asn1->relative ? (int64_t)in->at + asn1->offset : asn1->offset;

    (void)retry;
    if (at < 0 || at >= in->length)
        return INSPECT_NO;
    uint32_t steps = (in->length - (uint32_t)at) / BYTES_A_STEP;

    in->steps_left -= steps < in->steps_left ? steps : in->steps_left;
    return has_match(asn1, in->data + at, in->length - (uint32_t)at) ? INSPECT_YES : INSPECT_NO;
}

/* --- Parsing -------------------------------------------------------------------------------------- */

static bool take_word(struct span *rest, struct span *word)
{
    while (rest->length > 0 && strchr(", \t", rest->at[0]))
        rest->at++, rest->length--;
    *word = (struct span){ .at = rest->at };
    while (word->length < rest->length && !strchr(", \t", rest->at[word->length]))
        word->length++;
    rest->at += word->length;
    rest->length -= word->length;
    return word->length > 0;
}

static int take_number(struct rule_parser *parser, struct span *rest, struct span name, int64_t low, int64_t high,
                       int64_t *out)
{
    struct span word;

    if (!take_word(rest, &word) || !span_to_int(word, low, high, out))
        return rule_parser_error(parser, word.length > 0 ? word : name, SPAN_FORMAT " needs a number from %lld to %lld",
                                 SPAN_ARGS(name), (long long)low, (long long)high);
    return 0;
}

static int parse_option(struct rule_parser *parser, struct span word, struct span *rest, struct asn1 *asn1)
{
    int64_t number = 0;
    int err = 0;

    if (span_equal(word, "bitstring_overflow")) {
        asn1->bitstring_overflow = true;
    } else if (span_equal(word, "double_overflow")) {
        asn1->double_overflow = true;
    } else if (span_equal(word, "oversize_length")) {
        err = take_number(parser, rest, word, 0, UINT32_MAX, &number);
        asn1->oversize = (uint32_t)number;
        asn1->has_oversize = true;
    } else if (span_equal(word, "absolute_offset")) {
        err = take_number(parser, rest, word, 0, UINT16_MAX, &number);
        asn1->offset = (int32_t)number;
        asn1->absolute = true;
    } else if (span_equal(word, "relative_offset")) {
        err = take_number(parser, rest, word, -(int64_t)UINT16_MAX, UINT16_MAX, &number);
        asn1->offset = (int32_t)number;
        asn1->relative = true;
    } else {
        err = rule_parser_error(
            parser, word,
            "asn1 takes bitstring_overflow, double_overflow, oversize_length N, absolute_offset N and "
            "relative_offset N, not '" SPAN_FORMAT "'",
            SPAN_ARGS(word));
    }
    return err;
}

static int asn1_parse(struct rule_parser *parser, struct span value)
{
    struct asn1 asn1 = { 0 };
    struct span rest = value, word;

    while (take_word(&rest, &word)) {
        int err = parse_option(parser, word, &rest, &asn1);

        if (err)
            return err;
    }
    if (!asn1.bitstring_overflow && !asn1.double_overflow && !asn1.has_oversize)
        return rule_parser_error(parser, value, "asn1 needs a condition, such as oversize_length 1024");
    if (asn1.absolute && asn1.relative)
        return rule_parser_error(parser, value, "absolute_offset and relative_offset exclude each other");
    const void *copy = arena_copy(rule_parser_arena(parser), &asn1, sizeof(asn1));

    if (!copy)
        return -ENOMEM;
    return rule_parser_add_content_condition(parser, copy, asn1.relative && rule_parser_has_previous(parser));
}

const struct keyword keyword_asn1 = {
    .name = "asn1",
    .value = "[bitstring_overflow][,double_overflow][,oversize_length N][,absolute_offset N or relative_offset N]",
    .help = "a BER value (ASN.1) that is malformed or oversized the way exploits need it",
    .manual = "Values are decoded from a position in the buffer: absolute_offset counts from its start, "
              "relative_offset from the end of the previous match. The condition matches when a value has "
              "more than N bytes (oversize_length N), is a bit string with more unused bits than it has "
              "bits (bitstring_overflow), or is a real number in decimal notation of more than 256 bytes "
              "(double_overflow). Incomplete values, and values nested in more than 30 others, are ignored.",
    .kind = KEYWORD_CONTENT,
    .parse = asn1_parse,
    .content = { .inspect = asn1_inspect },
};
