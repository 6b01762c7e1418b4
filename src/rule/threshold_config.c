/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threshold.config: lines of
 *
 *     event_filter gen_id 1, sig_id 1000, type limit, track by_src, count 1, seconds 60   (or: threshold gen_id ...)
 *     rate_filter gen_id 1, sig_id 1000, track by_src, count 10, seconds 60, new_action drop, timeout 300
 *     suppress gen_id 1, sig_id 1000, track by_src, ip [192.0.2.1, $HOME_NET]
 *
 * The lines are read before the rules and attached to the rules after the last rule was read. As in Suricata an
 * event_filter replaces the threshold or detection_filter of the rule it names, a rate_filter does not, and
 * suppressions add up. Unlike Suricata, gen_id 0 and sig_id 0 each stand for all IDs, together or alone. Such an
 * event_filter or rate_filter is attached to each rule that has no threshold of its own and that no other line names.
 * Each rule then has its own state. Suppressions with sig_id 0 are stored separately, in one list per gid, which ends
 * in the list for all gids.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/array.h"

#include "rule_priv.h"

/* --- Reading -------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum threshold_form form;
} line_kinds[] = {
    { "event_filter", THRESHOLD_FORM_EVENT },
    { "threshold", THRESHOLD_FORM_EVENT },
    { "rate_filter", THRESHOLD_FORM_RATE },
    { "suppress", THRESHOLD_FORM_SUPPRESS },
};
enum { LINE_KINDS = sizeof(line_kinds) / sizeof(line_kinds[0]) };

static struct span read_word(struct span *rest)
{
    struct span word = *rest;

    for (word.length = 0; word.length < rest->length && !strchr(" \t,", rest->at[word.length]);)
        word.length++;
    rest->at += word.length;
    rest->length -= word.length;
    *rest = span_trim(*rest);
    return word;
}

/* Parses `gen_id N` or `sig_id N`; with `comma`, also the comma before it. Returns 0 or -errno. */
static int read_id(struct rule_parser *parser, struct span *rest, const char *name, bool comma, uint32_t *out)
{
    uint64_t number;

    if (comma && rest->length > 0 && rest->at[0] == ',')
        *rest = span_trim((struct span){ rest->at + 1, rest->length - 1 });
    else if (comma)
        return rule_parser_error(parser, *rest, "expected ', %s'", name);

    struct span word = read_word(rest);

    if (!span_equal_nocase(word, name))
        return rule_parser_error(parser, word, "expected '%s'", name);

    struct span value = read_word(rest);

    if (!span_to_uint(value, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "'%s' needs a number, got '" SPAN_FORMAT "'", name,
                                 SPAN_ARGS(span_shown(value)));
    *out = (uint32_t)number;
    return 0;
}

static int parse_line(struct rule_parser *parser, struct threshold_line *out)
{
    struct span rest = parser->statement->text;
    struct span word = read_word(&rest);
    size_t kind = 0;
    int err;

    while (kind < LINE_KINDS && !span_equal_nocase(word, line_kinds[kind].word))
        kind++;
    if (kind == LINE_KINDS)
        return rule_parser_error(parser, word,
                                 "a line must begin with event_filter, threshold, rate_filter or suppress");
    err = read_id(parser, &rest, "gen_id", false, &out->gid);
    if (!err)
        err = read_id(parser, &rest, "sig_id", true, &out->sid);
    if (err)
        return err;
    if (rest.length > 0 && rest.at[0] != ',')
        return rule_parser_error(parser, rest, "expected a ','");
    if (rest.length > 0) {
        rest.at++;
        rest.length--;
        if (span_trim(rest).length == 0)
            return rule_parser_error(parser, rest, "an argument is missing");
    }
    return rule_parser_threshold(parser, rest, line_kinds[kind].form, &out->threshold);
}

int threshold_config_parse(struct rule_list *list, const struct source *source, struct threshold_lines *lines,
                           struct diag *diag)
{
    struct statement statement;
    struct scanner scanner;
    int more;

    scanner_init(&scanner, source);
    while ((more = scanner_next(&scanner, list->arena, &statement)) > 0) {
        struct statement *kept = arena_copy(list->arena, &statement, sizeof(statement));
        struct threshold_line line = { .statement = kept };
        struct rule_parser parser;

        if (!kept)
            return -ENOMEM;
        rule_parser_init(&parser, list, kept, diag);
        if (parse_line(&parser, &line) == 0) {
            line.order = (uint32_t)lines->count;
            if (array_grow(&lines->line, lines->count, &lines->capacity, sizeof(line)))
                return -ENOMEM;
            lines->line[lines->count++] = line;
        }
        if (parser.out_of_memory)
            return -ENOMEM;
    }
    return more;
}

/* --- Attaching ------------------------------------------------------------------------------------ */

static int attach(struct rule_list *list, struct rule *rule, const struct threshold *threshold)
{
    struct threshold *copy = arena_copy(list->arena, threshold, sizeof(*threshold));
    struct threshold **link = &rule->thresholds;

    if (!copy)
        return -ENOMEM;
    copy->index = (uint32_t)list->threshold_count++;
    copy->next = NULL;
    while (*link)
        link = &(*link)->next;
    *link = copy;
    return 0;
}

/* Returns the link to the rule's threshold that is not a suppression; a rule has at most one. Returns the link at the
 * end of the list if there is none. */
static struct threshold **find_threshold(struct rule *rule)
{
    struct threshold **link = &rule->thresholds;

    while (*link && (*link)->kind == THRESHOLD_SUPPRESS)
        link = &(*link)->next;
    return link;
}

/* Attaches the threshold of a line to the rule that the line names, or, with gen_id 0, to the rules of its sid in all
 * gids. Returns 0 or -ENOMEM. */
static int apply_to_rule(struct rule_list *list, const struct threshold_line *line, struct diag *diag)
{
    size_t low = 0, high = list->count;
    bool found = false;

    while (low < high) { /* the first rule in list->by_sid with this sid */
        size_t middle = low + (high - low) / 2;

        if (list->by_sid[middle]->sid < line->sid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->count && list->by_sid[low]->sid == line->sid; low++) {
        struct rule *rule = list->by_sid[low];
        struct threshold **existing = find_threshold(rule);

        if (line->gid != 0 && rule->gid != line->gid)
            continue;
        found = true;
        if (*existing && line->threshold.kind == THRESHOLD_RATE_FILTER) {
            diag_warning(diag, statement_position(line->statement, line->statement->text),
                         "rule %u:%u has a threshold, which takes precedence; this rate_filter is ignored", rule->gid,
                         rule->sid);
            continue;
        }
        if (*existing && line->threshold.kind != THRESHOLD_SUPPRESS)
            *existing = (*existing)->next;
        if (attach(list, rule, &line->threshold))
            return -ENOMEM;
    }
    if (!found)
        diag_warning(diag, statement_position(line->statement, line->statement->text),
                     "there is no rule %u:%u: the line has no effect", line->gid, line->sid);
    return 0;
}

static int by_gid(const void *a, const void *b)
{
    const struct threshold_line *left = a, *right = b;

    if (left->gid != right->gid)
        return left->gid < right->gid ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Returns the gid's first line in the file, which is the one that applies; NULL: the gid has no line. */
static const struct threshold_line *first_of(const struct threshold_line *lines, size_t count, uint32_t gid)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lines[middle].gid < gid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && lines[low].gid == gid ? &lines[low] : NULL;
}

/* Builds one list of suppressions per gid, which ends in the list for all gids. `lines` are sorted by gid, so that the
 * list for all gids (gid 0) is built first. Returns 0 or -ENOMEM. */
static int build_suppressions(struct rule_list *list, const struct threshold_line *lines, size_t count)
{
    struct threshold **tail = NULL;

    list->suppressions = arena_alloc(list->arena, (count + 1) * sizeof(*list->suppressions));
    if (!list->suppressions)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct threshold *copy = arena_copy(list->arena, &lines[i].threshold, sizeof(*copy));

        if (!copy)
            return -ENOMEM;
        copy->index = (uint32_t)list->threshold_count++;
        if (i == 0 || lines[i].gid != lines[i - 1].gid) {
            if (lines[i].gid == 0) {
                tail = &list->suppressions_for_all;
            } else {
                list->suppressions[list->suppression_count].gid = lines[i].gid;
                tail = &list->suppressions[list->suppression_count++].first;
            }
        }
        copy->next = lines[i].gid ? list->suppressions_for_all : NULL;
        *tail = copy;
        tail = &copy->next;
    }
    return 0;
}

int threshold_config_apply(struct rule_list *list, struct diag *diag)
{
    size_t all = list->threshold_lines.count, suppressions = 0, others = 0;
    /* Lines with sig_id 0: suppressions from the start of the array, event_filter and rate_filter from its middle. */
    struct threshold_line *global = calloc(2 * all + 1, sizeof(*global)), *global_others = global + all;
    int err = 0;

    if (!global)
        return -ENOMEM;
    for (size_t i = 0; !err && i < all; i++) {
        const struct threshold_line *line = &list->threshold_lines.line[i];

        if (line->sid != 0)
            err = apply_to_rule(list, line, diag);
        else if (line->threshold.kind == THRESHOLD_SUPPRESS)
            global[suppressions++] = *line;
        else
            global_others[others++] = *line;
    }
    qsort(global, suppressions, sizeof(*global), by_gid);
    qsort(global_others, others, sizeof(*global), by_gid);

    const struct threshold_line *for_all = first_of(global_others, others, 0);

    for (size_t i = 0; !err && others > 0 && i < list->count; i++) {
        struct rule *rule = list->entries[i].rule;
        const struct threshold_line *line = rule->gid ? first_of(global_others, others, rule->gid) : NULL;

        if (for_all && (!line || for_all->order < line->order))
            line = for_all;
        if (line && !*find_threshold(rule))
            err = attach(list, rule, &line->threshold);
    }
    if (!err)
        err = build_suppressions(list, global, suppressions);
    free(global);
    return err;
}

const struct threshold *rule_list_global_thresholds(const struct rule_list *list, uint32_t gid)
{
    size_t low = 0, high = list->suppression_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->suppressions[middle].gid < gid)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < list->suppression_count && list->suppressions[low].gid == gid)
        return list->suppressions[low].first;
    return list->suppressions_for_all;
}
