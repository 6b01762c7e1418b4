/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pcre: a Perl-compatible regular expression, matched by PCRE2.
 *
 * Patterns are compiled to machine code where PCRE2 supports it; the others are interpreted. In both cases PCRE2 counts
 * its steps and stops at the limits, whose defaults are Suricata's. The result of a match that stopped is unknown:
 * struct inspect_limits then decides whether the condition matches, also if it is negated. Each worker has its own
 * match state, a struct pcre_scratch.
 *
 * Ownership: release() frees the compiled pattern. If the condition cannot be added to the rule, parse() frees it.
 */
#include "pcre_scratch_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "condition.h"
#include "pcre_compile.h"
#include "sluice/decision.h"

/* A capture group whose text is stored under a name. */
struct pcre_capture {
    uint32_t number; /* number of the name under which the text is stored */
    uint8_t kind;    /* kind of the name: RULE_NAME_* */
    uint8_t group;
};

struct pcre_condition {
    pcre2_code *code;
    bool negated, relative;
    bool retry; /* true: later matches are tried if a condition after this one does not match */
    /* true: the pattern has machine code that accepts any bytes, so pcre2_jit_match() is called, which omits the checks
     * of pcre2_match() */
    bool direct;
    uint8_t capture_count;
    struct pcre_capture captures[PCRE_GROUPS_MAX];
};

/* --- Matching ------------------------------------------------------------------------------------- */

/* Returns the entry for a captured text, or NULL if there is no room. If the rule has already stored a text under this
 * name, the entry is reused. */
static struct rule_capture *text_for(struct rule_captures *texts, const struct pcre_capture *capture)
{
    for (uint32_t i = 0; i < texts->count; i++) {
        if (texts->list[i].kind == capture->kind && texts->list[i].number == capture->number)
            return &texts->list[i];
    }
    return texts->count < RULE_TEXTS_MAX ? &texts->list[texts->count++] : NULL;
}

/* Stores the texts of the capture groups. A group that is not part of the match stores nothing. */
static void take_out(const struct inspection *in, const struct pcre_condition *data, uint32_t base, int groups)
{
    const PCRE2_SIZE *match = pcre2_get_ovector_pointer(in->pcre->match);

    for (unsigned i = 0; i < data->capture_count; i++) {
        const struct pcre_capture *capture = &data->captures[i];
        PCRE2_SIZE start, end;
        struct rule_capture *text;

        if (groups > 0 && capture->group >= groups)
            continue;
        start = match[2 * capture->group];
        end = match[2 * capture->group + 1];
        if (start == PCRE2_UNSET || end < start || end > in->length - base)
            continue;
        text = text_for(in->texts, capture);
        if (!text)
            return;
        text->number = capture->number;
        text->kind = capture->kind;
        text->is_json = false;
        text->length = (uint8_t)(end - start < FLOW_TEXT_MAX ? end - start : FLOW_TEXT_MAX);
        memcpy(text->bytes, in->data + base + start, text->length);
    }
}

static int match(const struct pcre_condition *data, const struct pcre_scratch *scratch, const uint8_t *bytes,
                 PCRE2_SIZE length, PCRE2_SIZE start)
{
    if (data->direct)
        return pcre2_jit_match(data->code, bytes, length, start, 0, scratch->match, scratch->context);
    return pcre2_match(data->code, bytes, length, start, 0, scratch->match, scratch->context);
}

static enum inspect_result pcre_inspect(struct inspection *in, const struct condition *condition,
                                        struct inspect_retry *retry)
{
    const struct pcre_condition *data = condition->data;
    uint32_t base = data->relative ? in->at : 0;
    enum inspect_result no = data->relative || retry->from ? INSPECT_NO : INSPECT_NEVER;
    PCRE2_SIZE start = retry->from ? retry->from - base : 0;

    if (start > in->length - base)
        return no;
    int found = match(data, in->pcre, in->data + base, in->length - base, start);

    if (found == PCRE2_ERROR_NOMATCH)
        return data->negated ? INSPECT_YES : no;
    if (found < 0) /* a limit of PCRE2 was reached, or the JIT stack was too small */
        return inspection_record_limit(in, INSPECT_LIMIT_PCRE) ? INSPECT_YES : no;
    if (data->negated)
        return no;
    const PCRE2_SIZE *match = pcre2_get_ovector_pointer(in->pcre->match);

    if (match[1] > in->length - base || match[0] > match[1])
        return no; /* with \K in a lookahead, a match may start after its end */
    if (data->capture_count > 0 && in->texts)
        take_out(in, data, base, found);
    in->at = base + (uint32_t)match[1];
    *retry = (struct inspect_retry){ .from = base + (uint32_t)match[0] + 1, .more = data->retry };
    return INSPECT_YES;
}

/* --- Parsing -------------------------------------------------------------------------------------- */

static const struct {
    char letter;
    uint32_t option;
} options[] = {
    { 'i', PCRE2_CASELESS }, { 's', PCRE2_DOTALL },         { 'm', PCRE2_MULTILINE }, { 'x', PCRE2_EXTENDED },
    { 'A', PCRE2_ANCHORED }, { 'E', PCRE2_DOLLAR_ENDONLY }, { 'G', PCRE2_UNGREEDY },
};

/* Flags that select a buffer of HTTP/1, or file.data (`Q`). */
static const struct buffer_letter {
    char letter;
    const char *buffer, *tag;
} buffers[] = {
    { 'U', "http.uri", "pcre /U" },      { 'I', "http.uri.raw", "pcre /I" },    { 'P', "http.request_body", "pcre /P" },
    { 'Q', "file.data", "pcre /Q" },     { 'H', "http.header", "pcre /H" },     { 'D', "http.header.raw", "pcre /D" },
    { 'M', "http.method", "pcre /M" },   { 'C', "http.cookie", "pcre /C" },     { 'S', "http.stat_code", "pcre /S" },
    { 'Y', "http.stat_msg", "pcre /Y" }, { 'V', "http.user_agent", "pcre /V" }, { 'W', "http.host", "pcre /W" },
    { 'Z', "http.host.raw", "pcre /Z" },
};

/* The parsed flags, except `R`, which is in pcre_condition.relative. */
struct pcre_flags {
    uint32_t options;
    const struct buffer_letter *letter; /* flag that selects a buffer; NULL: the current buffer is used */
    const struct keyword *buffer;       /* the buffer that the flag selects, or NULL */
    bool rawbytes;
};

/* The parts of a value /PATTERN/FLAGS,NAMES. */
struct pcre_text {
    struct span pattern, flags;
    struct span names; /* names under which the texts of groups are stored; may be empty */
};

static int parse_flags(struct rule_parser *parser, struct span text, struct pcre_condition *data,
                       struct pcre_flags *flags)
{
    for (size_t at = 0; at < text.length; at++) {
        struct span where = { .at = text.at + at, .length = 1 };
        char c = text.at[at];
        const struct buffer_letter *letter = NULL;
        uint32_t option = 0;

        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
            option |= options[i].letter == c ? options[i].option : 0;
        for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
            letter = buffers[i].letter == c ? &buffers[i] : letter;
        flags->options |= option;
        data->relative |= c == 'R';
        flags->rawbytes |= c == 'B';
        if (!letter) {
            /* `O` is accepted and ignored: in Snort it overrides the configured limits. */
            if (option == 0 && (c == '\0' || !strchr("RBO", c)))
                return rule_parser_error(parser, where, "unknown pcre modifier '%c'", c);
            continue;
        }
        if (flags->letter)
            return rule_parser_error(parser, where, "/%c and /%c select different buffers", flags->letter->letter, c);
        flags->letter = letter;
        flags->buffer = rule_parser_find_keyword(parser, letter->buffer);
        if (!flags->buffer)
            return rule_parser_unsupported(parser, where, letter->tag, "pcre /%c: '%s' is not supported", c,
                                           letter->buffer);
    }
    return 0;
}

/* Splits /PATTERN/FLAGS,NAMES at the first slash and at the last one that is not escaped by a backslash. Returns 0 or
 * -EINVAL. */
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
        /* An unmatched quote ends the flags, because published rules have one. */
        if (memchr(out->flags.at, '"', out->flags.length))
            out->flags.length = (size_t)((const char *)memchr(out->flags.at, '"', out->flags.length) - out->flags.at);
        size_t length = 0;

        /* The flags end at a comma or blank. */
        while (length < out->flags.length && out->flags.at[length] != ',' && out->flags.at[length] != ' ')
            length++;
        out->names = span_trim((struct span){ .at = out->flags.at + length, .length = out->flags.length - length });
        if (out->names.length > 0 && out->names.at[0] == ',')
            out->names = span_trim((struct span){ .at = out->names.at + 1, .length = out->names.length - 1 });
        out->flags.length = length;
        return 0;
    }
    return rule_parser_error(parser, value, "the closing slash is missing");
}

/* --- Captured texts ------------------------------------------------------------------------------- */

/* Scopes of captured texts. The scope precedes the name: "flow:user" in the list after the flags, "flow_user" as the
 * name of a group. */
static const struct {
    const char *word;
    enum rule_name_kind kind;
} owners[] = {
    { "flow", RULE_NAME_FLOW_TEXT },
    { "pkt", RULE_NAME_PACKET_TEXT },
    { "alert", RULE_NAME_ALERT_TEXT },
};

/* Removes the scope and the separator from the name and sets *kind. Returns false if the name does not begin with a
 * scope. */
static bool cut_owner(struct span *name, char separator, enum rule_name_kind *kind)
{
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        size_t length = strlen(owners[i].word);

        if (name->length <= length + 1 || memcmp(name->at, owners[i].word, length) != 0 ||
            name->at[length] != separator)
            continue;
        *name = (struct span){ .at = name->at + length + 1, .length = name->length - length - 1 };
        *kind = owners[i].kind;
        return true;
    }
    return false;
}

static int add_capture(struct rule_parser *parser, struct span name, enum rule_name_kind kind, uint32_t group,
                       struct pcre_condition *data)
{
    struct pcre_capture *capture = &data->captures[data->capture_count];

    if (group > PCRE_GROUPS_MAX || data->capture_count == PCRE_GROUPS_MAX)
        return rule_parser_error(parser, name, "pcre can capture the text of the first %d groups only",
                                 PCRE_GROUPS_MAX);
    *capture = (struct pcre_capture){ .kind = (uint8_t)kind, .group = (uint8_t)group };
    capture->number = rule_parser_state(parser, kind, name, RULE_STATE_WRITES);
    if (capture->number == 0)
        return -ENOMEM;
    data->capture_count++;
    rule_parser_rule(parser)->captures_text = true;
    return 0;
}

/* Parses the list after the flags, such as "flow:NAME, pkt:NAME". Its first name is for the first capture group, and so
 * on. Returns 0 or -errno. */
static int list_captures(struct rule_parser *parser, struct span names, struct pcre_condition *data)
{
    uint32_t group = 0, groups = 0;

    pcre2_pattern_info(data->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    while (names.length > 0) {
        struct span word = names;
        enum rule_name_kind kind;

        word.length = 0;
        while (word.length < names.length && !strchr(", ", names.at[word.length]))
            word.length++;
        names = (struct span){ .at = names.at + word.length, .length = names.length - word.length };
        while (names.length > 0 && strchr(", ", names.at[0])) {
            names.at++;
            names.length--;
        }
        if (span_equal(word, "pkt:key") || span_equal(word, "pkt:value"))
            return rule_parser_unsupported(parser, word, "pcre pkt:key",
                                           "variable names taken from the packet are not supported");
        if (group++ == groups)
            return rule_parser_error(parser, word, "the pattern has only %u groups whose text can be captured", groups);
        if (!cut_owner(&word, ':', &kind))
            return rule_parser_error(parser, word, "expected flow:NAME, pkt:NAME or alert:NAME, got '" SPAN_FORMAT "'",
                                     SPAN_ARGS(word));
        int err = add_capture(parser, word, kind, group, data);

        if (err)
            return err;
    }
    return 0;
}

/* Adds captures for named groups of the form (?P<flow_NAME>...). Returns 0 or -errno. */
static int named_captures(struct rule_parser *parser, struct span pattern, struct pcre_condition *data)
{
    const char *at = pattern.at, *end = pattern.at + pattern.length;

    while ((at = memmem(at, (size_t)(end - at), "(?P<", 4))) {
        const char *close = memchr(at + 4, '>', (size_t)(end - at) - 4);
        struct span name = { .at = at + 4, .length = close ? (size_t)(close - at) - 4 : 0 };
        enum rule_name_kind kind;
        char whole[64];
        int group;

        at += 4;
        if (name.length == 0 || name.length >= sizeof(whole))
            continue;
        memcpy(whole, name.at, name.length);
        whole[name.length] = '\0';
        group = pcre2_substring_number_from_name(data->code, (PCRE2_SPTR)whole);
        if (group <= 0 || !cut_owner(&name, '_', &kind))
            continue;
        int err = add_capture(parser, name, kind, (uint32_t)group, data);

        if (err)
            return err;
    }
    return 0;
}

/* --- The keyword ---------------------------------------------------------------------------------- */

/* Returns whether the pattern has a capital letter that is not escaped; such a pattern cannot match in http.host, which
 * is normalized to lower case. */
static bool has_capital(struct span pattern)
{
    for (size_t i = 0; i < pattern.length; i++) {
        if (pattern.at[i] == '\\')
            i++;
        else if (pattern.at[i] >= 'A' && pattern.at[i] <= 'Z')
            return true;
    }
    return false;
}

static int check_letter(struct rule_parser *parser, const struct pcre_text *text, const struct pcre_flags *flags)
{
    static const char *const http1[] = { "http1", NULL };
    const struct keyword *buffer = rule_parser_current_buffer(parser);
    char letter = flags->letter->letter;
    /* Response bodies are in file.data and in http.response_body. */
    bool is_same =
        buffer == flags->buffer || (letter == 'Q' && buffer == rule_parser_find_keyword(parser, "http.response_body"));

    if (flags->rawbytes)
        return rule_parser_error(parser, text->flags, "/B is for the payload, and /%c for '%s'", letter,
                                 flags->letter->buffer);
    if (buffer == &unsupported_buffer)
        return 0;
    if (buffer && (!is_same || rule_parser_selected_buffer(parser)->transforms))
        return rule_parser_error(parser, text->flags,
                                 "/%c is for '%s', but '%s' has selected a buffer; 'pkt_data;' ends that", letter,
                                 flags->letter->buffer, buffer->name);
    if (letter == 'W' && !(flags->options & PCRE2_CASELESS) && has_capital(text->pattern))
        return rule_parser_error(parser, text->pattern, "the host is lower case: an upper-case letter never matches");
    return rule_parser_require_applications(parser, http1);
}

static int check_relative(struct rule_parser *parser, const struct pcre_text *text, const struct pcre_flags *flags)
{
    if (rule_parser_current_buffer(parser))
        return 0;
    if (flags->buffer ? condition_has_pattern_in(parser, flags->buffer) : condition_has_pattern(parser))
        return 0;
    return rule_parser_error(parser, text->flags, "pcre /R needs a content or pcre before it in %s",
                             flags->buffer ? "its buffer" : "the payload");
}

static int pcre_parse(struct rule_parser *parser, struct span value)
{
    struct pcre_condition *data = arena_alloc(rule_parser_arena(parser), sizeof(*data));
    struct pcre_text text = { .pattern = value };
    struct pcre_flags flags = { 0 };

    if (!data)
        return -ENOMEM;
    data->negated = rule_parser_is_negated(parser);
    int err = split(parser, value, &text);

    if (!err)
        err = parse_flags(parser, text.flags, data, &flags);
    if (!err && flags.letter)
        err = check_letter(parser, &text, &flags);
    if (!err && data->relative)
        err = check_relative(parser, &text, &flags);
    if (!err)
        err = pcre_compile(parser, text.pattern,
                           flags.options | (text.names.length > 0 ? 0 : (uint32_t)PCRE2_NO_AUTO_CAPTURE), &data->code);
    if (!err && text.names.length > 0)
        err = list_captures(parser, text.names, data);
    if (!err)
        err = named_captures(parser, text.pattern, data);
    if (!err && data->negated && data->capture_count > 0)
        err = rule_parser_error(parser, text.pattern, "a negated pcre has no text to capture");
    if (!err && flags.buffer && !rule_parser_current_buffer(parser))
        err = rule_parser_add_content_condition_in(parser, flags.buffer, data, data->relative);
    else if (!err)
        err = rule_parser_add_content_condition(parser, data, data->relative && rule_parser_has_previous(parser));
    if (err) /* the rule does not have the condition, so pcre_release() is not called */
        pcre2_code_free(data->code);
    return err;
}

/* Generates the machine code, here so that it is not generated for rejected rules. If PCRE2 cannot generate it, the
 * pattern is interpreted. */
static int pcre_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct pcre_condition *data = (struct pcre_condition *)condition->data;
    uint32_t flags = 0;
    size_t size = 0;

    data->retry = !data->negated && condition_needs_retry(parser, condition);
    pcre2_jit_compile(data->code, PCRE2_JIT_COMPLETE);
    /* In UTF-8 mode the text must be validated, which only pcre2_match() does. */
    data->direct = pcre2_pattern_info(data->code, PCRE2_INFO_ALLOPTIONS, &flags) == 0 && !(flags & PCRE2_UTF) &&
                   pcre2_pattern_info(data->code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
    return 0;
}

static void pcre_release(const struct condition *condition)
{
    const struct pcre_condition *data = condition->data;

    pcre2_code_free(data->code);
}

const struct keyword keyword_pcre = {
    .name = "pcre",
    .value = "[!]\"/PATTERN/FLAGS[,flow:NAME|pkt:NAME|alert:NAME...]\"",
    .help = "regular expression (PCRE2) that matches in the buffer",
    .manual = "Flags: i ignore case, s dot matches any byte, m multiple lines, x extended syntax, A anchored at the\n"
              "start, E dollar matches the very end only, G not greedy, R relative to the previous match; B and O\n"
              "are accepted. These flags select a buffer of HTTP/1: U http.uri, I http.uri.raw,\n"
              "P http.request_body, Q file.data, H http.header, D http.header.raw, M http.method, C http.cookie,\n"
              "S http.stat_code, Y http.stat_msg, V http.user_agent, W http.host, Z http.host.raw.\n"
              "The text of a capture group is stored when the rule matches: the first name after the flags belongs\n"
              "to the first group, or a group is named (?P<flow_NAME>...), (?P<pkt_NAME>...) or\n"
              "(?P<alert_NAME>...). EVE logs the texts of flow and packet in metadata (flowvars, pktvars), those of\n"
              "the alert in alert.context. Up to 112 bytes of each text and 16 texts per flow are stored.",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE | KEYWORD_QUOTED,
    .parse = pcre_parse,
    .finish = pcre_finish,
    .release = pcre_release,
    .content = { .inspect = pcre_inspect },
};
