/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields such as "type limit, track by_src, count 1, seconds 60", which the threshold and detection_filter keywords and
 * the lines of threshold.config share. struct form defines the required and optional fields and the values of `track`
 * for the keywords and each kind of line; field_table defines how each field is parsed. Fields may be in any order.
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"

enum field {
    FIELD_TYPE = 1 << 0,
    FIELD_TRACK = 1 << 1,
    FIELD_COUNT = 1 << 2,
    FIELD_SECONDS = 1 << 3,
    FIELD_MULTIPLIER = 1 << 4,
    FIELD_UNIQUE = 1 << 5,
    FIELD_NEW_ACTION = 1 << 6,
    FIELD_TIMEOUT = 1 << 7,
    FIELD_IP = 1 << 8,
};

/* the four fields of the keyword threshold */
enum { ALL_FIELDS = FIELD_TYPE | FIELD_TRACK | FIELD_COUNT | FIELD_SECONDS };

#define TRACKS(a) (1u << (a))
static const unsigned tracks_of_rules =
    TRACKS(TRACK_SOURCE) | TRACKS(TRACK_DESTINATION) | TRACKS(TRACK_BOTH) | TRACKS(TRACK_RULE) | TRACKS(TRACK_FLOW);

static const struct form {
    enum threshold_kind kind;
    unsigned required, optional;
    bool either;    /* true (suppress): `track` may be by_src, by_dst or by_either; false: one of tracks_of_rules */
    unsigned least; /* minimum value of count and of seconds */
} forms[] = {
    [THRESHOLD_FORM_EVENT] = { THRESHOLD_LIMIT, FIELD_TYPE | FIELD_TRACK | FIELD_COUNT,
                               FIELD_SECONDS | FIELD_MULTIPLIER, false, 0 },
    [THRESHOLD_FORM_KEYWORD] = { THRESHOLD_LIMIT, FIELD_TYPE | FIELD_TRACK | FIELD_COUNT,
                                 FIELD_SECONDS | FIELD_MULTIPLIER, false, 0 },
    [THRESHOLD_FORM_DETECTION] = { THRESHOLD_DETECTION_FILTER, FIELD_TRACK | FIELD_COUNT | FIELD_SECONDS, FIELD_UNIQUE,
                                   false, 1 },
    [THRESHOLD_FORM_RATE] = { THRESHOLD_RATE_FILTER,
                              FIELD_TRACK | FIELD_COUNT | FIELD_SECONDS | FIELD_NEW_ACTION | FIELD_TIMEOUT, 0, false,
                              1 },
    [THRESHOLD_FORM_SUPPRESS] = { THRESHOLD_SUPPRESS, 0, FIELD_TRACK | FIELD_IP, true, 0 },
};

struct fields {
    struct rule_parser *parser;
    const struct form *form;
    struct threshold threshold;
    unsigned seen;
};

struct word {
    const char *text;
    int value;
};

static bool find_word(const struct word *words, struct span text, int *out)
{
    for (; words->text; words++) {
        if (span_equal_nocase(text, words->text)) {
            *out = words->value;
            return true;
        }
    }
    return false;
}

static int parse_type(struct fields *fields, struct span value)
{
    static const struct word words[] = {
        { "limit", THRESHOLD_LIMIT },
        { "threshold", THRESHOLD_THRESHOLD },
        { "both", THRESHOLD_BOTH },
        { "backoff", THRESHOLD_BACKOFF },
        { NULL, 0 },
    };
    int kind;

    if (!find_word(words, value, &kind))
        return rule_parser_error(fields->parser, value, "the type must be limit, threshold, both or backoff");
    fields->threshold.kind = (enum threshold_kind)kind;
    return 0;
}

static int parse_track(struct fields *fields, struct span value)
{
    static const struct word words[] = {
        { "by_src", TRACK_SOURCE },
        { "by_dst", TRACK_DESTINATION },
        { "by_both", TRACK_BOTH },
        { "by_rule", TRACK_RULE },
        { "by_flow", TRACK_FLOW },
        { "by_either", TRACK_EITHER },
        { NULL, 0 },
    };
    unsigned allowed = tracks_of_rules;
    int track;

    if (fields->form->either)
        allowed = TRACKS(TRACK_SOURCE) | TRACKS(TRACK_DESTINATION) | TRACKS(TRACK_EITHER);
    if (!find_word(words, value, &track) || !(allowed & TRACKS(track)))
        return rule_parser_error(fields->parser, value, "track must be %s",
                                 fields->form->either ? "by_src, by_dst or by_either"
                                                      : "by_src, by_dst, by_both, by_rule or by_flow");
    fields->threshold.track = (enum threshold_track)track;
    fields->threshold.has_track = true;
    return 0;
}

static int parse_number(struct fields *fields, struct span value, unsigned least, uint32_t *out)
{
    uint64_t number;

    if (!span_to_uint(value, least, UINT32_MAX, &number))
        return rule_parser_error(fields->parser, value, "'" SPAN_FORMAT "' is not a number from %u to %u",
                                 SPAN_ARGS(span_shown(value)), least, (unsigned)UINT32_MAX);
    *out = (uint32_t)number;
    return 0;
}

static int parse_count(struct fields *fields, struct span value)
{
    return parse_number(fields, value, fields->form->least, &fields->threshold.count);
}

static int parse_seconds(struct fields *fields, struct span value)
{
    return parse_number(fields, value, fields->form->least, &fields->threshold.seconds);
}

static int parse_multiplier(struct fields *fields, struct span value)
{
    return parse_number(fields, value, 1, &fields->threshold.multiplier);
}

static int parse_timeout(struct fields *fields, struct span value)
{
    return parse_number(fields, value, 0, &fields->threshold.timeout);
}

static int parse_unique(struct fields *fields, struct span value)
{
    static const struct word words[] = {
        { "src_port", UNIQUE_SOURCE_PORT },
        { "dst_port", UNIQUE_DESTINATION_PORT },
        { NULL, 0 },
    };
    int unique;

    if (!find_word(words, value, &unique))
        return rule_parser_error(fields->parser, value, "unique_on must be src_port or dst_port");
    fields->threshold.unique = (enum threshold_unique)unique;
    return 0;
}

static int parse_new_action(struct fields *fields, struct span value)
{
    const char *hint;

    if (action_parse(value, &fields->threshold.new_action, &hint) || fields->threshold.new_action == ACTION_ACCEPT)
        return rule_parser_error(fields->parser, value, "new_action must be alert, drop, pass or reject");
    return 0;
}

static int parse_ip(struct fields *fields, struct span value)
{
    fields->threshold.addresses = rule_parser_addresses(fields->parser, value);
    return fields->threshold.addresses ? 0 : -EINVAL;
}

static const struct {
    const char *name;
    enum field field;
    int (*parse)(struct fields *fields, struct span value);
} field_table[] = {
    { "type", FIELD_TYPE, parse_type },
    { "track", FIELD_TRACK, parse_track },
    { "count", FIELD_COUNT, parse_count },
    { "seconds", FIELD_SECONDS, parse_seconds },
    { "multiplier", FIELD_MULTIPLIER, parse_multiplier },
    { "unique_on", FIELD_UNIQUE, parse_unique },
    { "new_action", FIELD_NEW_ACTION, parse_new_action },
    { "timeout", FIELD_TIMEOUT, parse_timeout },
    { "ip", FIELD_IP, parse_ip },
};

enum { FIELD_COUNT_ALL = sizeof(field_table) / sizeof(field_table[0]) };

/* --- Text after the last field ------------------------------------------------------------------- */

/* Returns whether the text contains the name of one of ALL_FIELDS. */
static bool names_a_field(struct span text)
{
    for (size_t i = 0; i < FIELD_COUNT_ALL; i++) {
        size_t length = strlen(field_table[i].name);

        for (size_t at = 0; field_table[i].field & ALL_FIELDS && at + length <= text.length; at++) {
            if (strncasecmp(text.at + at, field_table[i].name, length) == 0)
                return true;
        }
    }
    return false;
}

/* Removes text after the fourth field of a threshold keyword, with a warning. Suricata ignores such text, also within
 * the last word, and published rules have it: "seconds 60s". */
static void ignore_rest(struct fields *fields, enum field field, struct span *value, struct span *rest)
{
    static const char *const words[] = { "limit",  "threshold", "both",    "by_src",
                                         "by_dst", "by_both",   "by_rule", "by_flow" };
    bool is_last = field & ALL_FIELDS && ((fields->seen | field) & ALL_FIELDS) == ALL_FIELDS;
    const char *end = rest->at ? rest->at + rest->length : value->at + value->length;
    struct span ignored;
    size_t length = 0; /* length of the word or number at the start of the value */

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && length == 0; i++) {
        if (value->length >= strlen(words[i]) && strncasecmp(value->at, words[i], strlen(words[i])) == 0)
            length = strlen(words[i]);
    }
    while (length < value->length && value->at[length] >= '0' && value->at[length] <= '9')
        length++;
    ignored = (struct span){ .at = value->at + length, .length = (size_t)(end - value->at) - length };
    if (fields->form != &forms[THRESHOLD_FORM_KEYWORD] || !is_last || length == 0 || ignored.length == 0 ||
        names_a_field(ignored))
        return;
    rule_parser_warning(fields->parser, ignored, "'" SPAN_FORMAT "' is ignored",
                        SPAN_ARGS(span_shown(span_trim(ignored))));
    value->length = length;
    rest->at = NULL;
}

static int parse_field(struct fields *fields, struct span *rest)
{
    unsigned allowed = fields->form->required | fields->form->optional;
    struct span whole = span_trim(*rest), name, value;

    /* An address list contains commas, so `ip` extends to the end. */
    if (whole.length > 2 && strncasecmp(whole.at, "ip", 2) == 0 && strchr(" \t", whole.at[2]))
        rest->at = NULL;
    else
        span_next(rest, ',', &whole);
    name = value = whole;
    name.length = 0;
    while (name.length < whole.length && !strchr(" \t", whole.at[name.length]))
        name.length++;
    value = span_trim((struct span){ whole.at + name.length, whole.length - name.length });

    for (size_t i = 0; i < FIELD_COUNT_ALL; i++) {
        if (!span_equal_nocase(name, field_table[i].name) || !(allowed & field_table[i].field))
            continue;
        if (fields->seen & field_table[i].field)
            return rule_parser_error(fields->parser, name, "'%s' is given twice", field_table[i].name);
        if (value.length == 0)
            return rule_parser_error(fields->parser, whole, "'%s' needs a value", field_table[i].name);
        ignore_rest(fields, field_table[i].field, &value, rest);
        fields->seen |= field_table[i].field;
        return field_table[i].parse(fields, value);
    }
    if (name.length == 0)
        return rule_parser_error(fields->parser, whole, "an argument is missing");
    return rule_parser_error(fields->parser, name, "'" SPAN_FORMAT "' is not allowed here",
                             SPAN_ARGS(span_shown(name)));
}

static int check_complete(const struct fields *fields, struct span text)
{
    unsigned missing = fields->form->required & ~fields->seen;

    if (fields->form->kind == THRESHOLD_LIMIT && fields->seen & FIELD_TYPE) {
        bool backoff = fields->threshold.kind == THRESHOLD_BACKOFF;
        unsigned needed = backoff ? FIELD_MULTIPLIER : FIELD_SECONDS;

        missing |= needed & ~fields->seen;
        if (fields->seen & (FIELD_SECONDS | FIELD_MULTIPLIER) & ~needed)
            return rule_parser_error(fields->parser, text,
                                     "type backoff uses 'multiplier', the other types use 'seconds'");
        if (backoff && fields->threshold.track != TRACK_FLOW)
            return rule_parser_error(fields->parser, text, "type backoff needs 'track by_flow'");
    }
    if (fields->seen & (FIELD_TRACK | FIELD_IP) && fields->form->kind == THRESHOLD_SUPPRESS)
        missing |= (FIELD_TRACK | FIELD_IP) & ~fields->seen;
    for (size_t i = 0; i < FIELD_COUNT_ALL; i++) {
        if (missing & field_table[i].field)
            return rule_parser_error(fields->parser, text, "'%s' is missing", field_table[i].name);
    }
    return 0;
}

int rule_parser_threshold(struct rule_parser *parser, struct span text, enum threshold_form form, struct threshold *out)
{
    struct fields fields = { .parser = parser, .form = &forms[form], .threshold = { .kind = forms[form].kind } };
    struct span rest = span_trim(text);
    int err = 0;

    if (rest.length == 0)
        rest.at = NULL;
    while (!err && rest.at)
        err = parse_field(&fields, &rest);
    if (!err)
        err = check_complete(&fields, text);
    if (!err)
        *out = fields.threshold;
    return err;
}
