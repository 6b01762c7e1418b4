/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datarep:NAME,>,200,load FILE,type string; compares the reputation that a dataset stores for the content of the
 * buffer. */
#include <errno.h>

#include "dataset_option.h"

struct datarep {
    struct dataset *set;
    char sign;
    uint16_t value;
};

static enum inspect_result datarep_inspect(struct inspection *in, const struct condition *condition,
                                           struct inspect_retry *retry)
{
    const struct datarep *rep = condition->data;
    uint16_t value;
    bool holds;

    (void)retry;
    replay_order_wait(in->input->order);
    if (!dataset_value(rep->set, in->data, in->length, &value))
        return INSPECT_NEVER;
    holds = rep->sign == '<' ? value < rep->value : rep->sign == '>' ? value > rep->value : value == rep->value;
    return holds ? INSPECT_YES : INSPECT_NEVER;
}

static int parse_comparison(struct rule_parser *parser, struct span *rest, struct span value, struct datarep *rep)
{
    struct span sign = { value.at, 0 }, number = { value.at, 0 };
    int64_t parsed = 0;

    if (!span_next(rest, ',', &sign) ||
        !(span_equal(sign, "<") || span_equal(sign, ">") || span_equal(sign, "=") || span_equal(sign, "==")))
        return rule_parser_error(parser, sign, "'<', '>' or '==' must follow the name");
    rep->sign = sign.at[0];
    if (!span_next(rest, ',', &number))
        return rule_parser_error(parser, value, "a number must follow the sign");
    int err = option_number(parser, number, "a reputation", 0, UINT16_MAX, &parsed);

    rep->value = (uint16_t)parsed;
    return err;
}

static int datarep_parse(struct rule_parser *parser, struct span value)
{
    struct datarep *rep = arena_alloc(rule_parser_arena(parser), sizeof(*rep));
    struct span rest = value, name = value;

    if (!rep)
        return -ENOMEM;
    span_next(&rest, ',', &name);
    int err = parse_comparison(parser, &rest, value, rep);

    if (!err)
        err = dataset_option_get(parser, value, name, rest, NULL, &rep->set);
    return err ? err : rule_parser_add_content_condition(parser, rep, false);
}

const struct keyword keyword_datarep = {
    .name = "datarep",
    .value = "NAME,<|>|==,NUMBER[,load FILE][,type string|md5|sha256|ipv4|ip][,memcap SIZE]",
    .help = "reputation of the buffer's value in a dataset (0 to 65535)",
    .manual = "Each line of the file has the form VALUE,NUMBER with numbers up to 65535. A buffer that is "
              "not in the set never matches. The other options are those of dataset.",
    .kind = KEYWORD_CONTENT,
    .parse = datarep_parse,
    .content = { .inspect = datarep_inspect },
};
