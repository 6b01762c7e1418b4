/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pcre: a Perl-compatible regular expression, by PCRE2.
 *
 * Patterns are compiled to machine code where PCRE2 can; the rest is interpreted. Both count their steps and stop at
 * Suricata's default limits, and a pattern that was stopped does not match, negated or not. What a worker needs to match
 * is its struct pcre_scratch.
 *
 * Ownership: PCRE2's code is in the list's arena; machine code is not, and goes by release().
 */
#include "pcre_scratch_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "condition.h"
#include "pcre_compile.h"

struct pcre_condition {
    pcre2_code *code;
    bool negated, relative;
    bool retry; /* further matches are tried */
};

/* --- Matching ----------------------------------------------------------------------------------------------------- */

static enum inspect_result pcre_inspect(struct inspection *in, const struct condition *condition,
                                        struct inspect_retry *retry)
{
    const struct pcre_condition *data = condition->data;
    uint32_t base = data->relative ? in->at : 0;
    enum inspect_result no = data->relative || retry->from ? INSPECT_NO : INSPECT_GIVE_UP;
    PCRE2_SIZE start = retry->from ? retry->from - base : 0;

    if (start > in->length - base)
        return no;
    int found =
        pcre2_match(data->code, in->data + base, in->length - base, start, 0, in->pcre->match, in->pcre->context);

    if (found == PCRE2_ERROR_NOMATCH)
        return data->negated ? INSPECT_YES : no;
    if (found < 0 || data->negated)
        return no;
    const PCRE2_SIZE *match = pcre2_get_ovector_pointer(in->pcre->match);

    if (match[1] > in->length - base || match[0] > match[1])
        return no; /* \K in a lookahead can make a match end before its start */
    in->at = base + (uint32_t)match[1];
    *retry = (struct inspect_retry){ .from = base + (uint32_t)match[0] + 1, .more = data->retry };
    return INSPECT_YES;
}

/* --- Parsing ------------------------------------------------------------------------------------------------------ */

static const struct {
    char letter;
    uint32_t option;
} options[] = {
    { 'i', PCRE2_CASELESS }, { 's', PCRE2_DOTALL },         { 'm', PCRE2_MULTILINE }, { 'x', PCRE2_EXTENDED },
    { 'A', PCRE2_ANCHORED }, { 'E', PCRE2_DOLLAR_ENDONLY }, { 'G', PCRE2_UNGREEDY },
};

/* Letters that choose a buffer. */
static const struct {
    char letter;
    const char *buffer, *tag;
} buffers[] = {
    { 'U', "http_uri", "pcre /U" },      { 'I', "http_raw_uri", "pcre /I" },    { 'P', "http_client_body", "pcre /P" },
    { 'Q', "file_data", "pcre /Q" },     { 'H', "http_header", "pcre /H" },     { 'D', "http_raw_header", "pcre /D" },
    { 'M', "http_method", "pcre /M" },   { 'C', "http_cookie", "pcre /C" },     { 'S', "http_stat_code", "pcre /S" },
    { 'Y', "http_stat_msg", "pcre /Y" }, { 'V', "http_user_agent", "pcre /V" }, { 'W', "http_host", "pcre /W" },
    { 'Z', "http_raw_host", "pcre /Z" },
};

/* The two parts of the value. */
struct pcre_text {
    struct span pattern, flags;
};

static int parse_flag(struct rule_parser *parser, struct span letter, struct pcre_condition *data, uint32_t *flags)
{
    char c = letter.at[0];

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].letter == c) {
            *flags |= options[i].option;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        if (buffers[i].letter == c)
            return rule_parser_missing(parser, letter, buffers[i].tag, "pcre /%c (%s) is not supported yet", c,
                                       buffers[i].buffer);
    if (c == 'R')
        data->relative = true;
    else if (c != 'B' && c != 'O') /* the payload is raw, and the limits can't be configured */
        return rule_parser_error(parser, letter, "unknown pcre modifier '%c'", c);
    return 0;
}

static int parse_flags(struct rule_parser *parser, struct span text, struct pcre_condition *data, uint32_t *flags)
{
    for (size_t i = 0; i < text.length; i++) {
        struct span letter = { .at = text.at + i, .length = 1 };

        if (text.at[i] == ',' || text.at[i] == ' ')
            return rule_parser_missing(parser, (struct span){ .at = letter.at, .length = text.length - i },
                                       "pcre capture",
                                       "variables captured by pcre (pkt:, flow:) are not supported yet");
        int err = parse_flag(parser, letter, data, flags);

        if (err)
            return err;
    }
    return 0;
}

/* /PATTERN/FLAGS: the first slash, and the last one that has no single backslash before it. Names of variables may
 * follow a comma, and have no slash. */
static int split(struct rule_parser *parser, struct span value, struct pcre_text *out)
{
    size_t start = value.length > 1 && value.at[0] == 'm' && value.at[1] == '/' ? 1 : 0;

    if (value.length == 0 || value.at[start] != '/')
        return rule_parser_error(parser, value, "a pcre is written /PATTERN/FLAGS");
    for (size_t i = value.length - 1; i > start; i--) {
        bool escaped = value.at[i - 1] == '\\' && !(i - 1 > start && value.at[i - 2] == '\\');

        if (value.at[i] != '/' || escaped)
            continue;
        out->pattern = (struct span){ .at = value.at + start + 1, .length = i - start - 1 };
        out->flags = (struct span){ .at = value.at + i + 1, .length = value.length - i - 1 };
        return 0;
    }
    return rule_parser_error(parser, value, "the closing slash is missing");
}

/* Groups named (?P<flow_NAME>) set a variable. */
static int refuse_captures(struct rule_parser *parser, struct span pattern)
{
    static const char *const prefixes[] = { "(?P<flow_", "(?P<pkt_", "(?P<alert_" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const char *found = memmem(pattern.at, pattern.length, prefixes[i], strlen(prefixes[i]));

        if (found)
            return rule_parser_missing(parser, (struct span){ .at = found, .length = strlen(prefixes[i]) },
                                       "pcre capture",
                                       "variables captured by pcre (pkt_, flow_, alert_) are not supported yet");
    }
    return 0;
}

static int pcre_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct pcre_condition *data = arena_alloc(rule_parser_arena(parser), sizeof(*data));
    struct pcre_text text = { .pattern = value };
    uint32_t flags = 0;

    if (!data)
        return -ENOMEM;
    data->negated = negated;
    int err = split(parser, value, &text);

    if (!err)
        err = parse_flags(parser, text.flags, data, &flags);
    if (!err)
        err = refuse_captures(parser, text.pattern);
    if (!err && data->relative && !rule_parser_current_buffer(parser) && !condition_has_pattern(parser))
        err = rule_parser_error(parser, text.flags, "pcre /R needs a content or pcre before it in the payload");
    if (!err)
        err = pcre_compile(parser, text.pattern, flags | PCRE2_NO_AUTO_CAPTURE, &data->code);
    if (err)
        return err;
    return rule_parser_add_content_condition(parser, data, data->relative && rule_parser_has_previous(parser));
}

/* Machine code is made only for rules that are kept; where PCRE2 can't make it, the pattern is interpreted. */
static int pcre_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct pcre_condition *data = (struct pcre_condition *)condition->data;

    data->retry = !data->negated && condition_needs_retry(parser, condition);
    pcre2_jit_compile(data->code, PCRE2_JIT_COMPLETE);
    return 0;
}

static void pcre_release(const struct condition *condition)
{
    const struct pcre_condition *data = condition->data;

    pcre2_code_free(data->code);
}

const struct keyword keyword_pcre = {
    .name = "pcre",
    .value = "[!]\"/PATTERN/FLAGS\"",
    .help = "a regular expression matches in the buffer",
    .manual =
        "Flags: i no case, s dot is any byte, m lines, x blanks and comments in the pattern, A at the start, E dollar\n"
        "is the very end, G not greedy, R after the match before, B and O accepted.",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE | KEYWORD_QUOTED,
    .parse = pcre_parse,
    .inspect = pcre_inspect,
    .finish = pcre_finish,
    .release = pcre_release,
};
