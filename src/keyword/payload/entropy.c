/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entropy:[bytes N,][offset N,]value COMPARISON; the Shannon entropy of the buffer's bytes in bits per byte, 0 to 8. As
 * in Suricata 8 the events of the flow have the last value in metadata.entropy, whether the condition matches or not.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "keyword/meta/option.h"
#include "sluice/flow.h"

struct entropy {
    uint32_t bytes, offset; /* bytes 0: up to the end of the buffer */
    double low, high;       /* limits of the range; each is part of it if the matching member below is true */
    bool low_included, high_included;
    bool negated; /* true: the value must be outside of the range */
    bool has_value, has_bytes, has_offset;
    uint32_t name; /* name of the flow's variable with the value */
};

static double entropy_of(const uint8_t *bytes, uint32_t length)
{
    uint32_t counts[256] = { 0 };
    double entropy = 0;

    for (uint32_t i = 0; i < length; i++)
        counts[bytes[i]]++;
    for (unsigned i = 0; i < 256; i++) {
        double share = (double)counts[i] / length;

        if (counts[i] > 0)
            entropy -= share * log2(share);
    }
    return entropy;
}

static enum inspect_result entropy_inspect(struct inspection *in, const struct condition *condition,
                                           struct inspect_retry *retry)
{
    const struct entropy *want = condition->data;
    const struct match_input *input = in->input;
    uint32_t length;
    double value;

    (void)retry;
    if (want->offset >= in->length || want->bytes > in->length - want->offset)
        return INSPECT_NEVER;
    length = want->bytes > 0 ? want->bytes : in->length - want->offset;
    value = entropy_of(in->data + want->offset, length);
    if (input->flows && input->packet->flow)
        flow_text_set(input->flows, input->packet->flow, want->name, (const uint8_t *)&value, sizeof(value));
    bool holds = (want->low_included ? value >= want->low : value > want->low) &&
                 (want->high_included ? value <= want->high : value < want->high);

    return holds != want->negated ? INSPECT_YES : INSPECT_NEVER;
}

enum { OPTION_BYTES, OPTION_OFFSET };

static int set_number(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct entropy *want = data;
    bool *given = argument == OPTION_BYTES ? &want->has_bytes : &want->has_offset;
    int64_t number = 0;

    if (*given)
        return rule_parser_error(parser, value, "the option was given before");
    *given = true;
    int err = option_number(parser, value, "the number of bytes", 0, UINT32_MAX, &number);

    *(argument == OPTION_BYTES ? &want->bytes : &want->offset) = (uint32_t)number;
    return err;
}

/* Parses an entropy, a decimal number from 0 to 8. */
static int parse_entropy(struct rule_parser *parser, struct span text, double *out)
{
    char copy[32], *end = copy;

    text = span_trim(text);
    if (text.length > 0 && text.length < sizeof(copy) && strchr("0123456789.", text.at[0])) {
        memcpy(copy, text.at, text.length);
        copy[text.length] = '\0';
        *out = strtod(copy, &end);
    }
    if (end == copy || *end != '\0' || !(*out >= 0 && *out <= 8))
        return rule_parser_error(parser, text, "an entropy is a number from 0 to 8, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(text));
    return 0;
}

static int set_value(struct rule_parser *parser, struct span value, void *data, int argument)
{
    static const struct {
        const char *sign;
        bool below, equal, above, negated;
    } signs[] = { { "<=", true, true, false, false }, { ">=", false, true, true, false },
                  { "!=", false, true, false, true }, { "==", false, true, false, false },
                  { "<", true, false, false, false }, { ">", false, false, true, false },
                  { "=", false, true, false, false }, { "!", false, true, false, true },
                  { "", false, true, false, false } };
    struct entropy *want = data;
    const char *dash;
    size_t row = 0;
    double number = 0;
    int err;

    (void)argument;
    if (want->has_value)
        return rule_parser_error(parser, value, "'value' was given before");
    want->has_value = true;
    while (value.length < strlen(signs[row].sign) || memcmp(value.at, signs[row].sign, strlen(signs[row].sign)) != 0)
        row++;
    value.at += strlen(signs[row].sign);
    value.length -= strlen(signs[row].sign);
    want->negated = signs[row].negated;
    dash = memchr(value.at, '-', value.length);
    if (dash && signs[row].equal && !signs[row].below && !signs[row].above) {
        want->low_included = want->high_included = true;
        err = parse_entropy(parser, (struct span){ value.at, (size_t)(dash - value.at) }, &want->low);
        if (!err)
            err = parse_entropy(parser, (struct span){ dash + 1, value.length - (size_t)(dash - value.at) - 1 },
                                &want->high);
        return err || want->low <= want->high ? err : rule_parser_error(parser, value, "the range is empty");
    }
    err = parse_entropy(parser, value, &number);
    want->low = signs[row].below ? 0 : number;
    want->high = signs[row].above ? 8 : number;
    want->low_included = signs[row].below || signs[row].equal;
    want->high_included = signs[row].above || signs[row].equal;
    return err;
}

static int entropy_parse(struct rule_parser *parser, struct span value)
{
    static const struct option options[] = {
        { "bytes", set_number, OPTION_BYTES, true },
        { "offset", set_number, OPTION_OFFSET, true },
        { "value", set_value, 0, true },
    };
    struct entropy *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    const struct keyword *buffer = rule_parser_current_buffer(parser);
    char name[80];
    int err;

    if (!want)
        return -ENOMEM;
    err = option_list(parser, value, options, sizeof(options) / sizeof(options[0]), want);
    if (!err && !want->has_value)
        err = rule_parser_error(parser, value, "entropy needs 'value', as in entropy:value >= 7.5");
    if (err)
        return err;
    /* The prefix makes the name different from those of pcre, and eve_metadata() recognises it. */
    snprintf(name, sizeof(name), RULE_ENTROPY_PREFIX "%s", buffer ? buffer->name : "content");
    want->name = rule_parser_state(parser, RULE_NAME_FLOW_TEXT, span_of(name), RULE_STATE_WRITES);
    return want->name == 0 ? -ENOMEM : rule_parser_add_content_condition(parser, want, false);
}

const struct keyword keyword_entropy = {
    .name = "entropy",
    .value = "[bytes NUMBER,][offset NUMBER,]value [<|>|<=|>=|=|!=]ENTROPY or value [!]LOW-HIGH",
    .help = "Shannon entropy of the buffer's bytes, in bits per byte: entropy:value >= 7.5",
    .manual =
        "Compressed and encrypted data has nearly 8, text 4 to 5. Without bytes (or with 0) the bytes from offset "
        "to the end of the buffer count; a buffer that is shorter does not match. Both ends belong to a range. "
        "The events of the flow have the last value in metadata.entropy, under the name of the buffer, "
        "or content for the payload.",
    .kind = KEYWORD_CONTENT,
    .parse = entropy_parse,
    .content = { .inspect = entropy_inspect },
};
