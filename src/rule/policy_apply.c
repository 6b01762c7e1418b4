/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the rule policy to one rule. The lines that match the rule change its state (enabled or not), its text and
 * its flag `alert_only`, in their order; a later line overrides an earlier one, and is matched against the text as
 * changed by the earlier ones.
 *
 * Lines that name ids are found by a binary search, so a policy of thousands of ids costs no more than one of ten.
 * Lines with any other matcher are compared with every rule.
 *
 * As in suricata-update, a rule that is commented out (`# alert tcp ...`) is a disabled rule, and `drop` and `reject`
 * do not change rules with noalert: these only set state for other rules, and would drop without an event. Unlike
 * suricata-update, a line changes the action of a pass rule only if it names the rule by its id, because pass rules are
 * exceptions that an administrator wrote.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/array.h"

#include "policy_priv.h"

enum {
    MAX_TEXT = 64 * 1024, /* maximum length of a rule's text, in bytes; no further lines are applied to a longer one */
    MATCH_LIMIT = 100000,
    DEPTH_LIMIT = 10000,
    HEAP_LIMIT_KB = 20000,
    STACK_START = 32 * 1024,
    STACK_MAX = 512 * 1024,
    MAX_OVER_LIMIT = 100, /* a line that exceeds the match limit in this many rules is not applied any more */
};

/* --- Text of a rule ------------------------------------------------------------------------------- */

/* The parts of a rule's text that matchers read. find_fields() searches them without parsing the rule. */
struct fields {
    struct span action, options, message, class_name;
    struct span metadata; /* the rule's options from the first `metadata` on */
    uint32_t gid, sid, revision;
    bool noalert;
};

/* As in parser.c an option ends at a `;` that no backslash precedes. */
bool policy_next_option(struct span *rest, struct span *name, struct span *value)
{
    const char *end, *stop = rest->at;

    if (rest->length == 0) /* rest->at may be NULL */
        return false;
    end = rest->at + rest->length;
    while ((stop = memchr(stop, ';', (size_t)(end - stop))) && stop > rest->at && stop[-1] == '\\')
        stop++;

    struct span option = span_trim((struct span){ rest->at, (size_t)((stop ? stop : end) - rest->at) });
    const char *colon = option.length > 0 ? memchr(option.at, ':', option.length) : NULL;

    *name = option;
    *value = (struct span){ .at = option.at + option.length };
    if (colon) {
        *name = span_trim((struct span){ option.at, (size_t)(colon - option.at) });
        *value = span_trim((struct span){ colon + 1, option.length - (size_t)(colon - option.at) - 1 });
    }
    rest->at = stop ? stop + 1 : end;
    rest->length = (size_t)(end - rest->at);
    return true;
}

static void read_id(struct span value, uint32_t *id)
{
    uint64_t number;

    if (span_to_uint(value, 0, UINT32_MAX, &number))
        *id = (uint32_t)number;
}

static void find_fields(struct span text, struct fields *fields)
{
    const char *open = text.length > 0 ? memchr(text.at, '(', text.length) : NULL;
    struct span rest = { text.at, 0 }, name, value;

    *fields = (struct fields){ .gid = 1, .action = { text.at, 0 } };
    /* Without scope and further actions: `drop` of `drop:flow,alert`. */
    while (fields->action.length < text.length && !strchr(" \t:,", text.at[fields->action.length]))
        fields->action.length++;
    if (open)
        rest = (struct span){ open + 1, text.length - (size_t)(open + 1 - text.at) };
    while (rest.length > 0 && strchr(" \t\r)", rest.at[rest.length - 1]))
        rest.length--;
    fields->options = rest;
    for (struct span here = rest; policy_next_option(&rest, &name, &value); here = rest) {
        if (span_equal_nocase(name, "sid"))
            read_id(value, &fields->sid);
        else if (span_equal_nocase(name, "gid"))
            read_id(value, &fields->gid);
        else if (span_equal_nocase(name, "rev"))
            read_id(value, &fields->revision);
        else if (span_equal_nocase(name, "msg"))
            fields->message = value.length >= 2 && value.at[0] == '"' && value.at[value.length - 1] == '"'
                                  ? (struct span){ value.at + 1, value.length - 2 }
                                  : value;
        else if (span_equal_nocase(name, "classtype"))
            fields->class_name = value;
        else if (span_equal_nocase(name, "metadata") && !fields->metadata.at)
            fields->metadata = here;
        else if (span_equal_nocase(name, "noalert") ||
                 (span_equal_nocase(name, "flowbits") && span_equal_nocase(value, "noalert")))
            fields->noalert = true;
    }
}

/* Returns whether the text of a comment is a rule: it begins with an action, contains an arrow, and its options contain
 * a sid. */
static bool is_rule(struct span text, const struct fields *fields)
{
    static const char *const arrows[] = { " -> ", " <> ", " => " };
    struct span header = { text.at, (size_t)(fields->options.at - text.at) };
    enum rule_action action;
    const char *hint;

    if (fields->sid == 0 || action_parse(fields->action, &action, &hint))
        return false;
    for (size_t i = 0; i < sizeof(arrows) / sizeof(arrows[0]); i++) {
        if (memmem(header.at, header.length, arrows[i], strlen(arrows[i])))
            return true;
    }
    return false;
}

/* --- Matchers ------------------------------------------------------------------------------------- */

static bool search(struct rule_policy *policy, struct policy_line *line, const pcre2_code *code, struct span text,
                   size_t start)
{
    int result = pcre2_match(code, (PCRE2_SPTR)text.at, text.length, start, 0, policy->match, policy->limits);

    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
        line->over_limit++;
    return result > 0;
}

/* Matches a glob as suricata-update does: `*` also matches `/`, and a backslash matches itself. */
static bool matches_glob(const char *glob, const char *text)
{
    return fnmatch(glob, text, FNM_NOESCAPE) == 0;
}

static bool matches_metadata(const struct policy_line *line, struct span options)
{
    struct span name, value, entry;

    while (policy_next_option(&options, &name, &value)) {
        if (!span_equal_nocase(name, "metadata"))
            continue;
        while (span_next(&value, ',', &entry)) {
            const char *space = entry.length > 0 ? memchr(entry.at, ' ', entry.length) : NULL;
            size_t length = space ? (size_t)(space - entry.at) : entry.length;
            struct span rest = { entry.at + length, entry.length - length };

            if (space && span_equal_nocase((struct span){ entry.at, length }, line->name) &&
                span_equal_nocase(span_trim(rest), line->value))
                return true;
        }
    }
    return false;
}

static bool matches(struct rule_policy *policy, struct policy_line *line, struct span text, const struct fields *fields,
                    const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    char stem[256];
    bool found;

    if (line->over_limit >= MAX_OVER_LIMIT)
        return false;
    switch (line->match) {
    case POLICY_MATCH_ALL:
        return true;
    case POLICY_MATCH_IDS:
        return false;
    case POLICY_MATCH_TEXT:
        return search(policy, line, line->pattern, text, 0);
    case POLICY_MATCH_MESSAGE:
        return fields->message.length > 0 && search(policy, line, line->pattern, fields->message, 0);
    case POLICY_MATCH_CLASS:
        return span_equal_nocase(fields->class_name, line->name);
    case POLICY_MATCH_PATH:
        /* The glob may match the whole path, or its end after any slash: `rules/x.rules` matches
         * /etc/sluice/rules/x.rules. */
        found = matches_glob(line->name, path);
        for (slash = strchr(path, '/'); !found && slash; slash = strchr(slash + 1, '/'))
            found = matches_glob(line->name, slash + 1);
        return found;
    case POLICY_MATCH_GROUP:
        /* The glob may match the file name with or without its extension. */
        if (matches_glob(line->name, name))
            return true;
        if (!dot || dot == name || (size_t)(dot - name) >= sizeof(stem))
            return false;
        memcpy(stem, name, (size_t)(dot - name));
        stem[dot - name] = '\0';
        return matches_glob(line->name, stem);
    case POLICY_MATCH_METADATA:
        return matches_metadata(line, fields->metadata);
    }
    return false;
}

static int compare_ids(const struct policy_id *left, const struct policy_id *right)
{
    if (left->gid != right->gid)
        return left->gid < right->gid ? -1 : 1;
    if (left->sid != right->sid)
        return left->sid < right->sid ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

static int by_id(const void *a, const void *b)
{
    return compare_ids(a, b);
}

/* Returns the index of the first line, from index `next` on, that names the rule; lines.count if there is none. */
static size_t find_named(const struct rule_policy *policy, const struct fields *fields, size_t next)
{
    const struct policy_id wanted = { .gid = fields->gid, .sid = fields->sid, .line = (uint32_t)next };
    size_t low = 0, high = policy->lines.id_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_ids(&policy->lines.ids[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < policy->lines.id_count; low++) {
        const struct policy_id *id = &policy->lines.ids[low];

        if (id->gid != fields->gid || id->sid != fields->sid)
            break;
        if (!id->has_revision || id->revision == fields->revision)
            return id->line;
    }
    return policy->lines.count;
}

/* --- Changes -------------------------------------------------------------------------------------- */

/* The rule that lines are applied to. */
struct subject {
    struct rule_decision *decision;
    const struct statement *statement;
    struct span text; /* current text of the rule: that of the file, or policy->text after the first change */
    struct fields fields;
    bool modified, text_changed;
};

static struct span text_of(const struct text *text)
{
    return (struct span){ text->bytes, text->length };
}

/* Makes policy->changed the current text of the rule. */
static void use_changed(struct rule_policy *policy, struct subject *subject)
{
    struct text text = policy->text;

    policy->text = policy->changed;
    policy->changed = text;
    subject->text = text_of(&policy->text);
    subject->text_changed = true;
    find_fields(subject->text, &subject->fields);
}

static bool set_action(struct rule_policy *policy, struct policy_line *line, struct subject *subject)
{
    struct rule_decision *decision = subject->decision;
    const struct fields *fields = &subject->fields;
    const char *word = rule_action_name(line->action), *hint;
    bool drops = rule_action_drops(line->action);
    bool was_alert_only = decision->alert_only;
    enum rule_action action = ACTION_ALERT;
    bool known = action_parse(fields->action, &action, &hint) == 0;

    if (known && action == ACTION_PASS && line->match != POLICY_MATCH_IDS)
        return false;
    if (drops && fields->noalert) {
        line->silent++;
        return false;
    }
    decision->alert_only = false;
    if (known && action == line->action)
        return was_alert_only;

    struct span rest = subject->text;

    rest.at += fields->action.length;
    rest.length -= fields->action.length;
    while (line->action == ACTION_ALERT && rest.length > 0 && !strchr(" \t", rest.at[0])) { /* `alert` has no scope */
        rest.at++;
        rest.length--;
    }
    text_reset(&policy->changed);
    text_puts(&policy->changed, word);
    text_append(&policy->changed, rest.at, rest.length);
    use_changed(policy, subject);
    return true;
}

/* Copies `text` to policy->changed and replaces each match of line->from. Returns false if nothing matches. */
static bool substitute(struct rule_policy *policy, struct policy_line *line, struct span text)
{
    struct text *out = &policy->changed;
    const size_t *offsets = pcre2_get_ovector_pointer(policy->match);
    bool found = false;
    size_t at = 0;

    text_reset(out);
    if (!text_reserve(out, text.length + 1))
        return false;
    while (at <= text.length && out->length <= MAX_TEXT && search(policy, line, line->from, text, at)) {
        size_t start = offsets[0], end = offsets[1];

        if (start < at || end < start) /* \K moved the match */
            break;
        found = true;
        text_append(out, text.at + at, start - at);
        for (size_t i = 0; i < line->piece_count && out->length <= MAX_TEXT; i++) {
            const struct policy_piece *piece = &line->to[i];
            size_t group = piece->group;

            if (piece->text.at)
                text_append(out, piece->text.at, piece->text.length);
            else if (group < pcre2_get_ovector_count(policy->match) && offsets[2 * group] != PCRE2_UNSET)
                text_append(out, text.at + offsets[2 * group], offsets[2 * group + 1] - offsets[2 * group]);
        }
        at = end;
        if (start == end) { /* an empty match: continue after the next byte */
            text_append(out, text.at + at, at < text.length);
            at++;
        }
    }
    if (at < text.length)
        text_append(out, text.at + at, text.length - at);
    return found;
}

/* Applies a modify line; returns whether it changed the rule. As in suricata-update the expression is matched against
 * "# alert ..." if the rule is disabled, and a line that removes the "# " enables the rule. */
static bool modify(struct rule_policy *policy, struct policy_line *line, struct subject *subject)
{
    struct rule_decision *decision = subject->decision;
    struct span before = subject->text, after;
    bool was_enabled = decision->enabled;
    bool found = false;

    if (!was_enabled) {
        struct text commented;

        text_init(&commented);
        text_puts(&commented, "# ");
        text_append(&commented, before.at, before.length);
        found = !commented.failed && substitute(policy, line, text_of(&commented));
        policy->changed.failed |= commented.failed;
        text_clear(&commented);
    }
    if (!found && !substitute(policy, line, before))
        return false;
    if (policy->changed.failed)
        return false;
    after = text_of(&policy->changed);

    size_t skipped = 0;

    while (skipped < after.length && strchr(" \t#", after.at[skipped]))
        skipped++;
    decision->enabled = was_enabled || found;
    if (memchr(after.at, '#', skipped))
        decision->enabled = false;
    after = span_trim((struct span){ after.at + skipped, after.length - skipped });
    if (after.length == before.length && memcmp(after.at, before.at, after.length) == 0)
        return decision->enabled != was_enabled;
    memmove(policy->changed.bytes, after.at, after.length);
    policy->changed.length = after.length;
    use_changed(policy, subject);
    return true;
}

static bool apply_line(struct rule_policy *policy, struct policy_line *line, struct subject *subject)
{
    struct rule_decision *decision = subject->decision;
    const struct span text = subject->text, options = subject->fields.options;
    bool changed = false;

    switch (line->verb) {
    case POLICY_DISABLE:
    case POLICY_ENABLE:
        changed = decision->enabled != (line->verb == POLICY_ENABLE);
        decision->enabled = line->verb == POLICY_ENABLE;
        break;
    case POLICY_ACTION:
        changed = set_action(policy, line, subject);
        break;
    case POLICY_ALERT_ONLY:
        changed = !decision->alert_only;
        decision->alert_only = true;
        break;
    case POLICY_MODIFY:
        changed = modify(policy, line, subject);
        subject->modified |= changed;
        break;
    case POLICY_ADD_METADATA:
        if (options.length == 0)
            break;
        text_reset(&policy->changed);
        text_append(&policy->changed, text.at, (size_t)(options.at + options.length - text.at));
        text_puts(&policy->changed, " metadata: ");
        text_puts(&policy->changed, line->metadata);
        text_puts(&policy->changed, ";)");
        use_changed(policy, subject);
        changed = subject->modified = true;
        break;
    }
    return changed;
}

/* --- Application to one rule ---------------------------------------------------------------------- */

static int apply_lines(struct rule_policy *policy, struct subject *subject, struct diag *diag)
{
    const char *path = subject->statement->source->name;
    struct rule_change **link = &subject->decision->changes;
    size_t pattern = 0;

    for (size_t next = 0; next < policy->lines.count && subject->text.length <= MAX_TEXT;) {
        size_t named = find_named(policy, &subject->fields, next);

        while (pattern < policy->pattern_count && policy->patterns[pattern] < next)
            pattern++;

        bool by_pattern = pattern < policy->pattern_count && policy->patterns[pattern] < named;
        size_t index = by_pattern ? policy->patterns[pattern] : named;

        if (index == policy->lines.count)
            break;
        next = index + 1;

        struct policy_line *line = &policy->lines.line[index];

        if (by_pattern && !matches(policy, line, subject->text, &subject->fields, path))
            continue;
        policy->applied[policy->applied_count++] = (uint32_t)index;
        if (line->matched++ == 0)
            line->first = statement_position(subject->statement, subject->statement->text);

        bool was_enabled = subject->decision->enabled;

        if (apply_line(policy, line, subject)) {
            struct rule_change *change = arena_alloc(policy->list->arena, sizeof(*change));

            if (!change)
                return -ENOMEM;
            *change = (struct rule_change){
                .at = statement_position(line->statement, line->statement->text),
                .text = line->statement->text.at,
                .disables = was_enabled && !subject->decision->enabled,
            };
            *link = change;
            link = &change->next;
            line->changed++;
        } else if (line->verb == POLICY_MODIFY && line->match == POLICY_MATCH_IDS) {
            diag_warning(diag, statement_position(line->statement, line->statement->text),
                         "the line changes nothing in rule %u:%u: the expression does not match", subject->fields.gid,
                         subject->fields.sid);
            diag_note(diag, statement_position(subject->statement, subject->statement->text), "the rule is here");
        }
        if (policy->changed.failed)
            return -ENOMEM;
    }
    return 0;
}

int rule_policy_apply(struct rule_policy *policy, const struct statement *statement, struct rule_decision *out,
                      struct diag *diag)
{
    struct subject subject = { .decision = out, .statement = statement, .text = statement->text };
    struct rule_policy_counts *counts = &policy->counts;
    enum rule_action before = ACTION_COUNT, action;
    struct fields written;
    const char *hint;
    char *copy;

    *out = (struct rule_decision){ .statement = *statement, .enabled = !statement->commented };
    if (policy->lines.count == 0 && !statement->commented)
        return 0;
    find_fields(statement->text, &written);
    if (statement->commented && !is_rule(statement->text, &written)) {
        out->comment = true;
        return 0;
    }
    subject.fields = written;
    policy->applied_count = 0;
    if (policy->lines.count > 0) {
        int err = apply_lines(policy, &subject, diag);

        if (err)
            return err;
        /* The rule is counted once, by its final state, even if several lines enable and disable it. */
        if (out->enabled == statement->commented)
            *(out->enabled ? &counts->enabled : &counts->disabled) += 1;
    }
    if (!out->enabled) {
        if (array_grow(&policy->disabled, policy->disabled_count, &policy->disabled_capacity,
                       sizeof(*policy->disabled)))
            return -ENOMEM;
        policy->disabled[policy->disabled_count++] = (struct rule_disabled){
            .gid = written.gid,
            .sid = written.sid,
            .commented = statement->commented,
            .text = statement->text.at,
            .file = statement->source->name,
            .line = statement->line,
            .changes = out->changes,
        };
        return 0;
    }
    for (size_t i = 0; i < policy->applied_count; i++)
        policy->lines.line[policy->applied[i]].loaded++;
    counts->alert_only += out->alert_only;
    counts->modified += subject.modified;
    action_parse(written.action, &before, &hint);
    if (action_parse(subject.fields.action, &action, &hint) == 0 && action != before)
        counts->actions[action]++;
    out->changed = subject.text_changed;
    if (!subject.text_changed)
        return 0;
    copy = arena_strndup(policy->list->texts, policy->text.bytes, policy->text.length);
    if (!copy)
        return -ENOMEM;
    /* Diagnostics report the line number of the rule in its file, but show the changed text. */
    out->statement.text = (struct span){ copy, policy->text.length };
    out->statement.line_start = copy;
    out->statement.segment_count = 0;
    return 0;
}

/* --- Reports after all rules ---------------------------------------------------------------------- */

int rule_policy_new(struct rule_policy **out, struct rule_list *list, struct diag *diag)
{
    struct rule_policy *policy = calloc(1, sizeof(*policy));

    if (!policy)
        return -ENOMEM;
    policy->list = list;
    text_init(&policy->text);
    text_init(&policy->changed);
    if (policy_files_read(list, &list->options.policy, &policy->lines, diag))
        goto fail;
    policy->patterns = calloc(policy->lines.count + 1, sizeof(*policy->patterns));
    policy->applied = calloc(policy->lines.count + 1, sizeof(*policy->applied));
    policy->match = pcre2_match_data_create(POLICY_MAX_GROUPS + 1, NULL);
    policy->limits = pcre2_match_context_create(NULL);
    policy->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, NULL);
    if (!policy->patterns || !policy->applied || !policy->match || !policy->limits)
        goto fail;
    for (size_t i = 0; i < policy->lines.count; i++) {
        if (policy->lines.line[i].match != POLICY_MATCH_IDS)
            policy->patterns[policy->pattern_count++] = (uint32_t)i;
    }
    if (policy->lines.id_count > 0)
        qsort(policy->lines.ids, policy->lines.id_count, sizeof(*policy->lines.ids), by_id);
    pcre2_set_match_limit(policy->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(policy->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(policy->limits, HEAP_LIMIT_KB);
    if (policy->stack)
        pcre2_jit_stack_assign(policy->limits, NULL, policy->stack);
    *out = policy;
    return 0;

fail:
    rule_policy_free(policy);
    return -ENOMEM;
}

void rule_policy_free(struct rule_policy *policy)
{
    if (!policy)
        return;
    policy_lines_clear(&policy->lines);
    pcre2_match_data_free(policy->match);
    pcre2_match_context_free(policy->limits);
    pcre2_jit_stack_free(policy->stack);
    text_clear(&policy->text);
    text_clear(&policy->changed);
    free(policy->patterns);
    free(policy->applied);
    free(policy->disabled);
    free(policy);
}

/* Warns about a line without effect, which is most likely a mistake. */
static void report_line(const struct policy_line *line, struct diag *diag)
{
    struct position at = statement_position(line->statement, line->statement->text);
    const char *plural = line->matched == 1 ? "" : "s";
    bool needs_rules = line->verb != POLICY_DISABLE && line->verb != POLICY_ENABLE;

    if (line->over_limit > 0)
        diag_warning(diag, at,
                     "the regular expression exceeded the match limit in %zu rule%s: the line was not applied to %s",
                     line->over_limit, line->over_limit == 1 ? "" : "s",
                     line->over_limit >= MAX_OVER_LIMIT ? "them, nor to the rules after them" : "them");
    if (line->matched == 0 && line->over_limit > 0)
        return;
    if (line->matched == 0) {
        diag_warning(diag, at, "the line matches no rule");
        return;
    }
    if (needs_rules && line->loaded == 0) {
        diag_warning(diag, at, "the line matches %zu rule%s, all disabled: add an 'enable' line to load them",
                     line->matched, plural);
        diag_note(diag, line->first, "the first rule that it matches");
    } else if (line->silent == line->matched) {
        diag_warning(diag, at, "the line matches only rules with noalert, which it does not change");
        diag_note(diag, line->first, "the first rule that it matches");
    } else if (line->verb == POLICY_MODIFY && line->match != POLICY_MATCH_IDS && line->changed == 0) {
        diag_warning(diag, at, "the line matches %zu rule%s and changes nothing: the expression does not match",
                     line->matched, plural);
        diag_note(diag, line->first, "the first rule that it matches");
    }
}

static int by_disabled(const void *a, const void *b)
{
    const struct rule_disabled *left = a, *right = b;

    if (left->gid != right->gid)
        return left->gid < right->gid ? -1 : 1;
    return left->sid < right->sid ? -1 : left->sid > right->sid;
}

int rule_policy_finish(struct rule_policy *policy, struct diag *diag)
{
    for (size_t i = 0; i < policy->lines.count; i++)
        report_line(&policy->lines.line[i], diag);
    if (policy->disabled_count > 0)
        qsort(policy->disabled, policy->disabled_count, sizeof(*policy->disabled), by_disabled);
    return policy_check_flowbits(policy, diag);
}

const struct rule_policy_counts *rule_list_policy_counts(const struct rule_list *list)
{
    return &list->policy->counts;
}

void rule_policy_counts_print(const struct rule_policy_counts *counts, struct text *out)
{
    const struct {
        size_t count;
        const char *what, *name;
    } parts[] = {
        { counts->enabled, "enabled", "" },
        { counts->disabled, "disabled", "" },
        { counts->actions[ACTION_DROP], "changed to ", rule_action_name(ACTION_DROP) },
        { counts->actions[ACTION_ALERT], "changed to ", rule_action_name(ACTION_ALERT) },
        { counts->actions[ACTION_REJECT], "changed to ", rule_action_name(ACTION_REJECT) },
        { counts->actions[ACTION_REJECT_DESTINATION], "changed to ", rule_action_name(ACTION_REJECT_DESTINATION) },
        { counts->actions[ACTION_REJECT_BOTH], "changed to ", rule_action_name(ACTION_REJECT_BOTH) },
        { counts->actions[ACTION_PASS], "changed to ", rule_action_name(ACTION_PASS) },
        { counts->alert_only, "alert-only", "" },
        { counts->modified, "modified", "" },
    };
    const char *comma = "";

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].count == 0)
            continue;
        text_printf(out, "%s%zu %s%s", comma, parts[i].count, parts[i].what, parts[i].name);
        comma = ", ";
    }
}

const struct rule_disabled *rule_list_find_disabled(const struct rule_list *list, uint32_t gid, uint32_t sid)
{
    const struct rule_disabled wanted = { .gid = gid, .sid = sid };
    const struct rule_policy *policy = list->policy;

    if (!list->finished || policy->disabled_count == 0)
        return NULL;
    return bsearch(&wanted, policy->disabled, policy->disabled_count, sizeof(*policy->disabled), by_disabled);
}
