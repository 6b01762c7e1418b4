/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flag_letters.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct flags {
    uint16_t wanted, ignored;
    char modifier; /* one of + * ! - =; 0: none */
    bool none;     /* true: the value has the character 0, which stands for "no flag set" */
};

static struct span one(struct span text, size_t at)
{
    return (struct span){ .at = text.at + at, .length = 1 };
}

static bool find_letter(const struct flag_letter *letters, char letter, uint16_t *bits)
{
    for (; letters->letter; letters++) {
        if (letters->letter == toupper((unsigned char)letter)) {
            *bits = letters->bits;
            return true;
        }
    }
    return false;
}

static int parse_wanted(struct rule_parser *parser, struct span text, const struct flag_letter *letters,
                        struct flags *flags)
{
    uint16_t bits;

    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        if (find_letter(letters, c, &bits)) {
            flags->wanted |= bits;
            flags->none |= bits == 0;
        } else if (strchr("+*!-=", c)) {
            if (flags->modifier)
                return rule_parser_error(parser, one(text, i), "only one of + * ! - and = may be used");
            flags->modifier = c;
        } else if (c != ' ') {
            return rule_parser_error(parser, one(text, i), "unknown flag '%c'", c);
        }
    }
    if (flags->wanted == 0 && !flags->none)
        return rule_parser_error(parser, text, "expected at least one flag");
    if (flags->none && (flags->wanted || (flags->modifier && !strchr("!-=", flags->modifier))))
        return rule_parser_error(parser, text, "0 means that no flag is set and can't be combined with flags");
    return 0;
}

static int parse_ignored(struct rule_parser *parser, struct span text, const struct flag_letter *letters,
                         struct flags *flags)
{
    uint16_t bits;

    if (text.length == 0)
        return rule_parser_error(parser, text, "expected the flags to ignore after ','");
    for (size_t i = 0; i < text.length; i++) {
        if (!find_letter(letters, text.at[i], &bits) || bits == 0)
            return rule_parser_error(parser, one(text, i), "flag '%c' can't be ignored", text.at[i]);
        if (flags->wanted & bits)
            return rule_parser_error(parser, one(text, i), "'%c' is both required and ignored", text.at[i]);
        flags->ignored |= bits;
    }
    return 0;
}

static struct number_range to_range(const struct flags *flags, uint16_t all)
{
    uint16_t seen = (uint16_t)(all & ~flags->ignored);

    switch (flags->modifier) {
    case '+':
        return (struct number_range){ .mask = flags->wanted, .low = flags->wanted };
    case '*':
        return (struct number_range){ .mask = flags->wanted, .low = 0, .negated = true };
    case '!':
    case '-':
        return (struct number_range){
            .mask = flags->none ? seen : flags->wanted,
            .low = flags->wanted,
            .negated = true,
        };
    default:
        return (struct number_range){ .mask = seen, .low = flags->wanted };
    }
}

int flag_letters_parse(struct rule_parser *parser, struct span text, const struct flag_letter *letters, uint16_t all,
                       struct number_range *out)
{
    struct flags flags = { 0 };
    struct span rest = text, wanted, ignored;

    span_next(&rest, ',', &wanted);
    int err = parse_wanted(parser, wanted, letters, &flags);

    if (!err && span_next(&rest, ',', &ignored))
        err = parse_ignored(parser, ignored, letters, &flags);
    if (!err && rest.at)
        err = rule_parser_error(parser, rest, "only one ',' may be used");
    if (!err)
        *out = to_range(&flags, all);
    return err;
}
