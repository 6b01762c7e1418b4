/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keyword modbus. */
#include <errno.h>

#include "modbus_priv.h"
#include "sluice/arena.h"
#include "sluice/bytes.h"
#include "sluice/text.h"

static const char *const applications[] = { "modbus", NULL };

enum range_form { RANGE_NONE, RANGE_EQUAL, RANGE_LESS, RANGE_GREATER, RANGE_BETWEEN };

/* N, <N, >N or N<>N, whose bounds are excluded. */
struct range {
    enum range_form form;
    uint16_t low, high;
};

struct modbus_condition {
    struct range unit, address, value;
    uint8_t access, category, function;
    bool negated; /* of `category` */
    bool has_category, has_function, has_subfunction;
    uint16_t subfunction;
};

/* Whether a number of the interval from `first` to `last` is in the range; the forms with < and > compare as Suricata
 * does. */
static bool range_overlaps(const struct range *range, uint32_t first, uint32_t last)
{
    switch (range->form) {
    case RANGE_EQUAL:
        return range->low >= first && range->low <= last;
    case RANGE_LESS:
        return first < range->high;
    case RANGE_GREATER:
        return last > range->low;
    case RANGE_BETWEEN:
        return range->low < last && first < range->high;
    default:
        return true;
    }
}

/* Sets *value to the value that the request writes at the address. Returns false if it writes none. */
static bool get_written(const struct modbus_message *request, uint16_t address, uint16_t *value)
{
    uint32_t offset = (uint32_t)address - request->write_address;
    const uint8_t *data = request->data;

    if (!request->has_write || address < request->write_address || offset >= request->write_quantity)
        return false;
    if (request->access & MODBUS_SINGLE) {
        *value = request->write_value;
        return true;
    }
    if (!(request->access & MODBUS_MULTIPLE))
        return false;
    if (request->access & MODBUS_COILS) {
        if (offset / 8 >= request->data_length)
            return false;
        *value = data[offset / 8] >> offset % 8 & 1;
        return true;
    }
    if (2 * offset + 2 > request->data_length)
        return false;
    *value = load_be16(data + 2 * offset);
    return true;
}

static bool match_access(const struct modbus_condition *condition, const struct modbus_message *request)
{
    const uint8_t kinds = MODBUS_DISCRETES | MODBUS_COILS | MODBUS_INPUT | MODBUS_HOLDING;
    bool reads = condition->access & MODBUS_READ;
    uint32_t first = reads ? request->read_address : request->write_address,
             count = reads ? request->read_quantity : request->write_quantity;
    uint16_t value;

    if (!(request->access & condition->access & (MODBUS_READ | MODBUS_WRITE)))
        return false;
    if (condition->access & kinds && !(request->access & condition->access & kinds))
        return false;
    if (condition->address.form == RANGE_NONE)
        return true;
    if (reads ? !request->has_read : !request->has_write)
        return false;
    if (count == 0 || !range_overlaps(&condition->address, first, first + count - 1))
        return false;
    if (condition->value.form == RANGE_NONE)
        return true;
    return get_written(request, condition->address.low, &value) && range_overlaps(&condition->value, value, value);
}

static bool modbus_match(const struct match_input *in, const void *data)
{
    const struct modbus_message *request = &((const struct modbus_tx *)in->transaction)->request;
    const struct modbus_condition *condition = data;

    if (!request->is_present || !range_overlaps(&condition->unit, request->unit, request->unit))
        return false;
    if (condition->access)
        return match_access(condition, request);
    if (condition->has_category)
        return ((request->category & condition->category) != 0) != condition->negated;
    return (!condition->has_function || request->function == condition->function) &&
           (!condition->has_subfunction ||
            (request->function == MODBUS_DIAGNOSTIC && request->subfunction == condition->subfunction));
}

/* --- Parsing ----------------------------------------------------------------------------------------- */

struct words {
    struct rule_parser *parser;
    struct span text; /* text that is left */
};

/* Removes a word and the blanks after it. Returns false if the text does not begin with it. */
static bool skip_word(struct words *words, const char *word)
{
    size_t length = strlen(word);
    struct span rest;

    if (words->text.length < length || strncasecmp(words->text.at, word, length) != 0)
        return false;
    rest = (struct span){ words->text.at + length, words->text.length - length };
    if (rest.length > 0 && rest.at[0] != ' ' && rest.at[0] != '\t' && rest.at[0] != ',')
        return false;
    words->text = span_trim(rest);
    return true;
}

static bool skip_comma(struct words *words)
{
    if (words->text.length == 0 || words->text.at[0] != ',')
        return false;
    words->text = span_trim((struct span){ words->text.at + 1, words->text.length - 1 });
    return true;
}

/* Removes a number of up to `limit`. */
static int parse_number(struct words *words, uint32_t limit, uint16_t *out)
{
    size_t length = 0;
    int64_t number = 0;

    while (length < words->text.length && words->text.at[length] >= '0' && words->text.at[length] <= '9')
        length++;
    if (length == 0 || !span_to_int((struct span){ words->text.at, length }, 0, limit, &number))
        return rule_parser_error(words->parser, words->text, "expected a number from 0 to %u", limit);
    *out = (uint16_t)number;
    words->text = span_trim((struct span){ words->text.at + length, words->text.length - length });
    return 0;
}

static int parse_range(struct words *words, uint32_t limit, struct range *out)
{
    char first = words->text.length > 0 ? words->text.at[0] : 0;
    int err;

    out->form = first == '<' ? RANGE_LESS : first == '>' ? RANGE_GREATER : RANGE_EQUAL;
    if (out->form != RANGE_EQUAL)
        words->text = span_trim((struct span){ words->text.at + 1, words->text.length - 1 });
    err = parse_number(words, limit, out->form == RANGE_LESS ? &out->high : &out->low);
    if (err || out->form != RANGE_EQUAL || words->text.length < 2 || memcmp(words->text.at, "<>", 2) != 0)
        return err;
    words->text = span_trim((struct span){ words->text.at + 2, words->text.length - 2 });
    err = parse_number(words, limit, &out->high);
    /* As in Suricata, the lowest and the highest number of 16 bits are part of a range that begins or ends with them.
     */
    out->form = out->low == 0 ? RANGE_LESS : out->high == UINT16_MAX ? RANGE_GREATER : RANGE_BETWEEN;
    return err;
}

static int parse_function(struct words *words, struct modbus_condition *out)
{
    static const struct {
        const char *word;
        uint8_t category;
    } categories[] = {
        { "assigned", MODBUS_ASSIGNED }, { "unassigned", MODBUS_UNASSIGNED },
        { "user", MODBUS_USER },         { "public", MODBUS_ASSIGNED | MODBUS_UNASSIGNED },
        { "reserved", MODBUS_RESERVED }, { "all", MODBUS_ASSIGNED | MODBUS_UNASSIGNED | MODBUS_USER | MODBUS_RESERVED },
    };
    struct span place = words->text;
    uint16_t number = 0;
    int err;

    out->negated = words->text.length > 0 && words->text.at[0] == '!';
    if (out->negated)
        words->text = span_trim((struct span){ words->text.at + 1, words->text.length - 1 });
    for (unsigned i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        if (!skip_word(words, categories[i].word))
            continue;
        out->has_category = true;
        out->category = categories[i].category;
        return 0;
    }
    if (out->negated)
        return rule_parser_error(words->parser, place, "expected a category of functions");
    err = parse_number(words, UINT8_MAX, &number);
    if (err)
        return err;
    if (number == 0)
        return rule_parser_error(words->parser, place, "expected a function code from 1 to 255");
    out->has_function = true;
    out->function = (uint8_t)number;
    if (!skip_comma(words))
        return 0;
    out->has_subfunction = true;
    if (!skip_word(words, "subfunction"))
        return rule_parser_error(words->parser, words->text, "expected subfunction");
    return parse_number(words, UINT16_MAX, &out->subfunction);
}

static int parse_access(struct words *words, struct modbus_condition *out)
{
    static const struct {
        const char *word;
        uint8_t access;
    } kinds[] = { { "discretes", MODBUS_DISCRETES },
                  { "coils", MODBUS_COILS },
                  { "input", MODBUS_INPUT },
                  { "holding", MODBUS_HOLDING } };
    struct span place = words->text;
    int err;

    out->access = skip_word(words, "read") ? MODBUS_READ : skip_word(words, "write") ? MODBUS_WRITE : 0;
    if (!out->access)
        return rule_parser_error(words->parser, place, "expected read or write");
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (skip_word(words, kinds[i].word))
            out->access |= kinds[i].access;
    if (out->access & MODBUS_WRITE && out->access & (MODBUS_DISCRETES | MODBUS_INPUT))
        return rule_parser_error(words->parser, place, "discretes and input can only be read");
    if (!skip_comma(words))
        return 0;
    if (!skip_word(words, "address"))
        return rule_parser_error(words->parser, words->text, "expected address");
    err = parse_range(words, UINT16_MAX, &out->address);
    if (err || !skip_comma(words))
        return err;
    if (!skip_word(words, "value"))
        return rule_parser_error(words->parser, words->text, "expected value");
    if (out->address.form != RANGE_EQUAL)
        return rule_parser_error(words->parser, place, "value needs one address");
    if (out->access & MODBUS_READ)
        return rule_parser_error(words->parser, place, "value needs access write");
    return parse_range(words, UINT16_MAX, &out->value);
}

static int parse_words(struct words *words, struct modbus_condition *out)
{
    bool has_unit = skip_word(words, "unit");

    if (has_unit) {
        int err = parse_range(words, UINT8_MAX, &out->unit);

        if (err || !skip_comma(words))
            return err;
    }
    if (skip_word(words, "function"))
        return parse_function(words, out);
    if (skip_word(words, "access"))
        return parse_access(words, out);
    return rule_parser_error(words->parser, words->text,
                             has_unit ? "expected function or access" : "expected unit, function or access");
}

static int modbus_parse(struct rule_parser *parser, struct span value)
{
    struct modbus_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct words words = { parser, span_trim(value) };
    int err;

    if (!condition)
        return -ENOMEM;
    err = parse_words(&words, condition);
    if (!err && words.text.length > 0)
        err = rule_parser_error(parser, words.text, "unexpected text");
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_modbus = {
    .name = "modbus",
    .value = "[unit RANGE,] function ..., or access ...",
    .help = "unit, function or access of a Modbus request: unit 10, access write coils, address 1",
    .manual =
        "function CODE[, subfunction CODE], or function [!]CATEGORY: assigned, unassigned, public (both), user,\n"
        "reserved, or all.\n"
        "access read or access write, [discretes, coils, input or holding], [address RANGE[, value RANGE]]: value is\n"
        "what the request writes at this one address.\n"
        "RANGE is N, <N, >N or N<>N, without its bounds.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { applications, APP_TO_SERVER },
    .parse = modbus_parse,
    .transaction = { .match = modbus_match },
};

const struct app_condition modbus_conditions[MODBUS_CONDITIONS] = {
    { &keyword_modbus, APP_TO_SERVER, MODBUS_COMPLETE },
};
