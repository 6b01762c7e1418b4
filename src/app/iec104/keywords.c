/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IEC 60870-5-104 keywords, with the names and values of Snort 3. */
#include <errno.h>

#include "iec104_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "iec104", NULL };

/* Adds the value of a keyword as a condition. */
static int add_condition(struct rule_parser *parser, uint8_t value)
{
    uint8_t *stored = arena_alloc(rule_parser_arena(parser), sizeof(*stored));

    if (!stored)
        return -ENOMEM;
    *stored = value;
    return rule_parser_add_transaction_condition(parser, stored, false);
}

/* --- Format ------------------------------------------------------------------------------------------ */

static bool format_match(const struct match_input *in, const void *data)
{
    const struct iec104_tx *message = (const struct iec104_tx *)in->transaction;

    return message->is_parsed && message->format == *(const uint8_t *)data;
}

static int format_parse(struct rule_parser *parser, struct span value)
{
    static const struct {
        const char *name, *letter;
    } formats[] = {
        [IEC104_I] = { "information_transfer_format", "i" },
        [IEC104_S] = { "numbered_supervisory_function", "s" },
        [IEC104_U] = { "unnumbered_control_function", "u" },
    };
    struct span text = span_trim(value);

    for (uint8_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (span_equal_nocase(text, formats[i].name) || span_equal_nocase(text, formats[i].letter))
            return add_condition(parser, i);
    return rule_parser_error(parser, text, "expected u, s or i, or the name of one of these formats");
}

const struct keyword keyword_iec104_apci_type = {
    .name = "iec104_apci_type",
    .value = "u|s|i",
    .help =
        "format of an IEC 60870-5-104 message: u (unnumbered_control_function), s (numbered_supervisory_function) or "
        "i (information_transfer_format)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = format_parse,
    .transaction = { .match = format_match },
};

/* --- Type of the ASDU -------------------------------------------------------------------------------- */

static bool type_match(const struct match_input *in, const void *data)
{
    const struct iec104_tx *message = (const struct iec104_tx *)in->transaction;

    return message->has_asdu && message->type == *(const uint8_t *)data;
}

static int type_parse(struct rule_parser *parser, struct span value)
{
    struct span text = span_trim(value);
    int64_t number = iec104_find_type(text.at, text.length);

    if (number == 0 && !span_to_int(text, 0, UINT8_MAX, &number))
        return rule_parser_error(parser, text, "expected the name or number of a type of ASDU: C_SC_NA_1 or 45");
    return add_condition(parser, (uint8_t)number);
}

const struct keyword keyword_iec104_asdu_func = {
    .name = "iec104_asdu_func",
    .value = "NAME|NUMBER",
    .help = "type of the ASDU of an IEC 60870-5-104 message: C_SC_NA_1 or 45",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = type_parse,
    .transaction = { .match = type_match },
};

const struct app_condition iec104_conditions[IEC104_CONDITIONS] = {
    { &keyword_iec104_apci_type, APP_BOTH, IEC104_COMPLETE },
    { &keyword_iec104_asdu_func, APP_BOTH, IEC104_COMPLETE },
};
