/* SPDX-License-Identifier: GPL-2.0-or-later */
/* urilen, the size of a URI; and uricontent, an old word for a content in it. */
#include <errno.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/number_range.h"

#include "keywords.h"

extern const struct keyword keyword_content;

static enum inspect_result urilen_inspect(struct inspection *in, const struct condition *condition,
                                          struct inspect_retry *retry)
{
    (void)retry;
    return number_range_has(condition->data, in->length) ? INSPECT_YES : INSPECT_GIVE_UP;
}

/* A condition of http.uri, or http.uri.raw, whatever buffer is selected. */
static int urilen_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));
    const struct keyword *selected = rule_parser_current_buffer(parser), *buffer = &keyword_http_uri;
    struct span rest = value, size, form = { 0 };
    int err;

    (void)negated;
    if (!range)
        return -ENOMEM;
    span_next(&rest, ',', &size);
    if (rest.at) {
        form = span_trim(rest);
        if (!span_equal_nocase(form, "raw") && !span_equal_nocase(form, "norm"))
            return rule_parser_error(parser, form, "'urilen' counts 'raw' or 'norm'");
        if (span_equal_nocase(form, "raw"))
            buffer = &keyword_http_uri_raw;
    }
    err = number_range_parse(parser, size, UINT16_MAX, NULL, range);
    if (!err)
        err = rule_parser_select_buffer(parser, buffer);
    if (!err)
        err = rule_parser_add_content_condition(parser, range, false);
    return err ? err : rule_parser_select_buffer(parser, selected);
}

const struct keyword keyword_urilen = {
    .name = "urilen",
    .value = NUMBER_RANGE_FORM "[,raw|norm]",
    .help = "the size of the URI: of http.uri, or with `raw` of http.uri.raw",
    .manual = "A<>B is between the two, without either.",
    .kind = KEYWORD_CONTENT,
    .parse = urilen_parse,
    .inspect = urilen_inspect,
};

static int uricontent_parse(struct rule_parser *parser, struct span value, bool negated)
{
    int err;

    if (rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "'uricontent' can't follow the keyword of a buffer");
    err = rule_parser_parse_as(parser, &keyword_content, value, negated);
    return err ? err : rule_parser_move_last_content(parser, &keyword_http_uri);
}

const struct keyword keyword_uricontent = {
    .name = "uricontent",
    .value = "[!]\"BYTES\"",
    .help = "an old word for a content in http.uri",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .parse = uricontent_parse,
};
