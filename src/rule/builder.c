/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that keywords call while their rule is parsed: errors, conditions, buffers, values.
 *
 * A content condition is added to the buffer that was selected last, or to the payload if none was selected. While no
 * buffer is selected, a relative condition is added to the buffer of the previous content condition, also if a modifier
 * moved that condition there: `content:"a"; http_uri; isdataat:1,relative;`.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rule_priv.h"

enum { MAX_SHOWN = 60 };

struct span span_shown(struct span span)
{
    if (span.length > MAX_SHOWN)
        span.length = MAX_SHOWN;
    return span;
}

struct rule *rule_parser_rule(struct rule_parser *parser)
{
    return parser->rule;
}

struct span rule_parser_rule_span(const struct rule_parser *parser)
{
    return parser->statement->text;
}

struct arena *rule_parser_arena(struct rule_parser *parser)
{
    return parser->list->arena;
}

struct arena *rule_parser_text_arena(struct rule_parser *parser)
{
    return parser->list->texts;
}

const struct keyword *rule_parser_keyword(const struct rule_parser *parser)
{
    return parser->keyword;
}

void rule_parser_set_keyword(struct rule_parser *parser, const struct keyword *keyword)
{
    parser->keyword = keyword;
}

bool rule_parser_is_negated(const struct rule_parser *parser)
{
    return parser->negated;
}

int rule_parser_parse_as(struct rule_parser *parser, const struct keyword *keyword, struct span value)
{
    const struct keyword *own = parser->keyword;
    int err = 0;

    parser->keyword = keyword;
    if (keyword->parse)
        err = keyword->parse(parser, value);
    else if (keyword->kind == KEYWORD_BUFFER)
        err = rule_parser_select_buffer(parser, keyword);
    else if (keyword->kind == KEYWORD_MODIFIER)
        err = rule_parser_move_last_content(parser, keyword->moves_to);
    parser->keyword = own;
    return err;
}

/* --- Mistakes ------------------------------------------------------------------------------------- */

static void report(struct rule_parser *parser, struct span where, enum diag_severity severity, const char *tag,
                   const char *format, va_list args)
{
    char message[512];

    vsnprintf(message, sizeof(message), format, args);
    if ((severity == DIAG_ERROR && parser->mistakes == 0) ||
        (severity == DIAG_UNSUPPORTED && parser->mistakes + parser->unsupported == 0))
        snprintf(parser->reason, sizeof(parser->reason), "%.*s", RULE_REASON_SIZE - 1, message);
    /* A diag stores a limited number of entries. When half of them are used, each rule gets one only, so that many
     * broken rules do not hide the last ones. */
    if (parser->mistakes + parser->unsupported > 0 && diag_count(parser->diag) >= DIAG_MAX_ENTRIES / 2)
        return;
    diag_report(parser->diag, severity, statement_position(parser->statement, where), tag, "%s", message);
}

int rule_parser_error(struct rule_parser *parser, struct span where, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(parser, where, DIAG_ERROR, NULL, format, args);
    va_end(args);
    parser->mistakes++;
    return -EINVAL;
}

void rule_parser_warning(struct rule_parser *parser, struct span where, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(parser, where, DIAG_WARNING, NULL, format, args);
    va_end(args);
}

struct missing *rule_list_missing(struct rule_list *list, const char *tag, bool *fresh)
{
    struct missing *missing = map_get(&list->missing, span_of(tag));

    *fresh = !missing;
    if (missing)
        return missing;
    missing = arena_alloc(list->arena, sizeof(*missing));
    if (!missing)
        return NULL;
    missing->tag = arena_strdup(list->arena, tag);
    if (!missing->tag || map_put(&list->missing, span_of(missing->tag), missing))
        return NULL;
    return missing;
}

/* Counts the current rule for the tag of an unsupported feature. Returns false if the tag was counted for this rule
 * before. */
static bool count_missing(struct rule_parser *parser, const char *tag)
{
    struct rule_list *list = parser->list;
    bool fresh;
    struct missing *missing = rule_list_missing(list, tag, &fresh);

    if (!missing)
        return true;
    if (missing->last_statement == list->statements)
        return false;
    missing->last_statement = list->statements;
    missing->rules++;
    return true;
}

int rule_parser_unsupported(struct rule_parser *parser, struct span where, const char *tag, const char *format, ...)
{
    va_list args;

    if (count_missing(parser, tag)) {
        va_start(args, format);
        report(parser, where, DIAG_UNSUPPORTED, tag, format, args);
        va_end(args);
    }
    parser->unsupported++;
    return -EINVAL;
}

int rule_parser_unknown(struct rule_parser *parser, struct span where, const char *tag, const char *format, ...)
{
    va_list args;

    if (count_missing(parser, tag)) {
        va_start(args, format);
        report(parser, where, DIAG_ERROR, tag, format, args);
        va_end(args);
    }
    parser->mistakes++;
    return -EINVAL;
}

static int no_memory(struct rule_parser *parser)
{
    parser->out_of_memory = true;
    return -ENOMEM;
}

/* --- Conditions ----------------------------------------------------------------------------------- */

static struct condition *new_condition(struct rule_parser *parser, enum keyword_kind kind, const void *data)
{
    assert(parser->keyword->kind == kind);
    (void)kind; /* only asserted */

    struct condition *condition = arena_alloc(parser->list->arena, sizeof(*condition));

    if (!condition) {
        no_memory(parser);
        return NULL;
    }
    condition->keyword = parser->keyword;
    condition->data = data;
    return condition;
}

static void append_condition(struct rule_buffer *buffer, struct condition *condition)
{
    condition->next = NULL;
    if (buffer->last)
        buffer->last->next = condition;
    else
        buffer->conditions = condition;
    buffer->last = condition;
}

int rule_parser_add_packet_condition(struct rule_parser *parser, const void *data, bool negated)
{
    struct condition *condition;
    int err = applications_take(parser, parser->keyword);

    if (err)
        return err;
    condition = new_condition(parser, KEYWORD_PACKET, data);
    if (!condition)
        return -ENOMEM;
    condition->negated = negated;
    if (parser->last_packet_condition)
        parser->last_packet_condition->next = condition;
    else
        parser->rule->packet_conditions = condition;
    parser->last_packet_condition = condition;
    return 0;
}

int rule_parser_add_action(struct rule_parser *parser, match_action_function *act, const void *data, bool each_packet)
{
    struct match_action *action = arena_alloc(parser->list->arena, sizeof(*action));
    struct match_action **link = &parser->rule->actions;

    if (!action)
        return no_memory(parser);
    *action = (struct match_action){ .keyword = parser->keyword, .act = act, .data = data, .each_packet = each_packet };
    while (*link)
        link = &(*link)->next;
    *link = action;
    return 0;
}

uint32_t rule_parser_state(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use)
{
    uint32_t number = rule_names_number(parser->list->names, kind, name);

    if (number == 0)
        no_memory(parser);
    parser->rule->state_use[kind] |= (uint8_t)use;
    return number;
}

static int add_to_list(struct rule_parser *parser, struct condition **link, enum keyword_kind kind, const void *data,
                       bool negated)
{
    struct condition *condition;
    int err = applications_take(parser, parser->keyword);

    if (err)
        return err;
    condition = new_condition(parser, kind, data);
    if (!condition)
        return -ENOMEM;
    condition->negated = negated;
    condition->directions = applications_directions(parser, parser->keyword);
    while (*link)
        link = &(*link)->next;
    *link = condition;
    return 0;
}

int rule_parser_add_transaction_condition(struct rule_parser *parser, const void *data, bool negated)
{
    return add_to_list(parser, &parser->rule->transaction_conditions, KEYWORD_TRANSACTION, data, negated);
}

int rule_parser_add_file_condition(struct rule_parser *parser, const void *data, bool negated)
{
    return add_to_list(parser, &parser->rule->file_conditions, KEYWORD_FILE, data, negated);
}

static struct rule_buffer *new_buffer(struct rule_parser *parser, const struct keyword *keyword)
{
    struct rule_buffer **link = &parser->rule->buffers;
    struct rule_buffer *buffer = arena_alloc(parser->list->arena, sizeof(*buffer));

    assert(!keyword || keyword->kind == KEYWORD_BUFFER);
    if (!buffer) {
        no_memory(parser);
        return NULL;
    }
    buffer->keyword = keyword;
    buffer->directions = applications_directions(parser, keyword);
    while (*link)
        link = &(*link)->next;
    *link = buffer;
    return buffer;
}

/* Returns the rule's buffer for the keyword without transforms, created at first use; NULL if memory is exhausted. */
static struct rule_buffer *get_buffer(struct rule_parser *parser, const struct keyword *keyword)
{
    for (struct rule_buffer *buffer = parser->rule->buffers; buffer; buffer = buffer->next) {
        if (buffer->keyword == keyword && !buffer->transforms &&
            buffer->directions == applications_directions(parser, keyword))
            return buffer;
    }
    return new_buffer(parser, keyword);
}

static bool same_transforms(const struct condition *a, const struct condition *b)
{
    for (; a && b; a = a->next, b = b->next) {
        struct span left = ((const struct transform *)a)->value, right = ((const struct transform *)b)->value;

        if (a->keyword != b->keyword || left.length != right.length || memcmp(left.at, right.at, left.length) != 0)
            return false;
    }
    return !a && !b;
}

/* Returns the buffer to which conditions are added. Each selection of a buffer creates a new one, because the
 * transforms that follow are not known yet. While the new buffer has no conditions, an earlier buffer with the same
 * keyword and transforms is returned instead. */
static struct rule_buffer *current_buffer(const struct rule_parser *parser)
{
    struct rule_buffer *selected = parser->buffer;

    if (!selected || selected->conditions || selected->keyword->flags & KEYWORD_MULTI)
        return selected;
    for (struct rule_buffer *buffer = parser->rule->buffers; buffer != selected; buffer = buffer->next) {
        if (buffer->keyword == selected->keyword && buffer->directions == selected->directions &&
            same_transforms(buffer->transforms, selected->transforms))
            return buffer;
    }
    return selected;
}

void rule_parser_settle_buffer(struct rule_parser *parser)
{
    struct rule_buffer *current = current_buffer(parser);
    struct rule_buffer **link = &parser->rule->buffers;

    if (current == parser->buffer)
        return;
    while (*link != parser->buffer)
        link = &(*link)->next;
    *link = parser->buffer->next;
    keyword_release_all(parser->buffer->transforms);
    parser->buffer = current;
}

static bool buffer_is_selected(const struct rule_parser *parser)
{
    return parser->buffer != NULL;
}

static int add_to_buffer(struct rule_parser *parser, struct rule_buffer *buffer, const void *data, bool relative)
{
    struct condition *condition = buffer ? new_condition(parser, KEYWORD_CONTENT, data) : NULL;

    if (!condition)
        return -ENOMEM;
    condition->relative = relative;
    append_condition(buffer, condition);
    parser->last_condition = condition;
    parser->condition_buffer = buffer;
    if (condition_content(condition)) {
        parser->last_content = condition;
        parser->content_buffer = buffer;
    }
    return 0;
}

int rule_parser_add_content_condition(struct rule_parser *parser, const void *data, bool relative)
{
    struct rule_buffer *buffer;

    rule_parser_settle_buffer(parser);
    if (buffer_is_selected(parser))
        buffer = parser->buffer;
    else if (relative && parser->condition_buffer)
        buffer = parser->condition_buffer;
    else
        buffer = get_buffer(parser, NULL);
    return add_to_buffer(parser, buffer, data, relative);
}

int rule_parser_add_content_condition_in(struct rule_parser *parser, const struct keyword *buffer, const void *data,
                                         bool relative)
{
    int err = applications_take(parser, buffer);

    return err ? err : add_to_buffer(parser, get_buffer(parser, buffer), data, relative);
}

bool rule_parser_has_previous(const struct rule_parser *parser)
{
    if (buffer_is_selected(parser))
        return current_buffer(parser)->conditions != NULL;
    return parser->last_condition != NULL;
}

/* Returns the last content of the selected buffer, or NULL; if no buffer is selected, the last content of the rule. */
static struct condition *find_last_content(const struct rule_parser *parser)
{
    const struct rule_buffer *buffer = current_buffer(parser);
    struct condition *found = NULL;

    if (!buffer || parser->content_buffer == buffer)
        return parser->last_content;
    for (struct condition *condition = buffer->conditions; condition; condition = condition->next) {
        if (condition_content(condition))
            found = condition;
    }
    return found;
}

struct content *rule_parser_last_content(struct rule_parser *parser)
{
    struct condition *condition = find_last_content(parser);

    return condition ? condition_content(condition) : NULL;
}

void rule_parser_set_relative(struct rule_parser *parser)
{
    struct condition *condition = find_last_content(parser);

    if (condition)
        condition->relative = true;
}

/* --- Buffers -------------------------------------------------------------------------------------- */

int rule_parser_select_buffer(struct rule_parser *parser, const struct keyword *keyword)
{
    struct rule_buffer *buffer = NULL;
    int err = applications_take(parser, keyword);

    if (err)
        return err;
    rule_parser_settle_buffer(parser);
    if (keyword) {
        buffer = new_buffer(parser, keyword);
        if (!buffer)
            return -ENOMEM;
    }
    parser->buffer = buffer;
    return 0;
}

static bool is_in_use(const struct rule_buffer *buffer)
{
    return buffer->conditions || buffer->absence != BUFFER_PRESENT;
}

int rule_parser_add_transform(struct rule_parser *parser, const void *data)
{
    const struct rule_buffer *buffer = parser->buffer;
    struct condition **link;
    struct transform *transform;
    unsigned count = 0;

    /* As in Suricata, transforms may also follow conditions on a buffer without transforms: in `http.uri; content:"a";
     * to_md5; content:"b";` to_md5 selects http.uri again, as a separate buffer. */
    if (!buffer || buffer->keyword->flags & KEYWORD_NESTED || (is_in_use(buffer) && buffer->transforms))
        return rule_parser_error(parser, parser->keyword_name, "'%s' must directly follow a buffer keyword",
                                 parser->keyword->name);
    if (is_in_use(buffer)) {
        parser->forced_directions = buffer->directions;

        int err = rule_parser_select_buffer(parser, buffer->keyword);

        if (err)
            return err;
    }
    for (link = &parser->buffer->transforms; *link; link = &(*link)->next)
        count++;
    if (count == PARSER_MAX_TRANSFORMS)
        return rule_parser_error(parser, parser->keyword_name, "a buffer can have only %d transforms",
                                 PARSER_MAX_TRANSFORMS);
    assert(parser->keyword->kind == KEYWORD_TRANSFORM);
    transform = arena_alloc(parser->list->arena, sizeof(*transform));
    if (!transform)
        return no_memory(parser);
    *transform = (struct transform){ { .keyword = parser->keyword, .data = data }, parser->keyword_value };
    *link = &transform->condition;
    return 0;
}

int rule_parser_set_absent(struct rule_parser *parser, bool or_else)
{
    rule_parser_settle_buffer(parser);
    if (!buffer_is_selected(parser) || parser->buffer->keyword->flags & KEYWORD_NESTED)
        return rule_parser_error(parser, parser->keyword_name, "'%s' needs a buffer keyword before it",
                                 parser->keyword->name);
    if (parser->buffer->absence != BUFFER_ABSENT)
        parser->buffer->absence = or_else ? BUFFER_ABSENT_OR_ELSE : BUFFER_ABSENT;
    return 0;
}

const struct keyword *rule_parser_find_keyword(const struct rule_parser *parser, const char *name)
{
    return keyword_table_find(parser->list->options.keywords, span_of(name));
}

const struct keyword *rule_parser_current_buffer(const struct rule_parser *parser)
{
    return parser->buffer ? parser->buffer->keyword : NULL;
}

const struct rule_buffer *rule_parser_selected_buffer(const struct rule_parser *parser)
{
    const struct rule_buffer *buffer = parser->rule->buffers;

    if (buffer_is_selected(parser))
        return current_buffer(parser);
    while (buffer && buffer->keyword)
        buffer = buffer->next;
    return buffer;
}

int rule_parser_move_last_content(struct rule_parser *parser, const struct keyword *keyword)
{
    struct condition *condition = parser->last_content, *before = NULL;
    struct rule_buffer *from = parser->content_buffer, *to;
    const struct content *content = rule_parser_last_content(parser);

    if (content && content->rawbytes)
        return rule_parser_error(parser, parser->keyword_value, "'%s' can't be used with rawbytes for the same content",
                                 parser->keyword->name);
    if (parser->buffer && parser->buffer->keyword == &unsupported_buffer)
        return 0;
    if (buffer_is_selected(parser))
        return rule_parser_error(parser, parser->keyword_name,
                                 "'%s' modifies a content, but '%s' has selected a buffer; 'pkt_data;' ends that",
                                 parser->keyword->name, parser->buffer->keyword->name);
    if (!condition || from->keyword)
        return rule_parser_error(parser, parser->keyword_name, "'%s' needs a content before it", parser->keyword->name);
    int err = applications_take(parser, keyword);

    if (err)
        return err;
    to = get_buffer(parser, keyword);
    if (!to)
        return -ENOMEM;
    for (struct condition *c = from->conditions; c != condition; c = c->next)
        before = c;
    if (before)
        before->next = condition->next;
    else
        from->conditions = condition->next;
    if (from->last == condition)
        from->last = before;
    append_condition(to, condition);
    parser->content_buffer = to;
    if (parser->last_condition == condition)
        parser->condition_buffer = to;
    return 0;
}

/* --- Values --------------------------------------------------------------------------------------- */

int rule_parser_find_value(const struct rule_parser *parser, struct span name)
{
    for (unsigned i = 0; i < parser->value_count; i++) {
        if (parser->values[i].length == name.length && memcmp(parser->values[i].at, name.at, name.length) == 0)
            return (int)i;
    }
    return -1;
}

int rule_parser_add_value(struct rule_parser *parser, struct span name)
{
    int index = rule_parser_find_value(parser, name);

    if (index >= 0)
        return index;
    if (name.length == 0 || parser->value_count == RULE_MAX_VALUES)
        return -1;
    parser->values[parser->value_count] = name;
    parser->rule->extracts_values = true;
    return (int)parser->value_count++;
}

/* --- Thresholds ----------------------------------------------------------------------------------- */

int rule_parser_add_threshold(struct rule_parser *parser, const struct threshold *threshold)
{
    struct threshold *copy = arena_copy(parser->list->arena, threshold, sizeof(*threshold));
    struct threshold **link = &parser->rule->thresholds;

    if (!copy)
        return no_memory(parser);
    copy->index = (uint32_t)parser->list->threshold_count++;
    copy->next = NULL;
    while (*link)
        link = &(*link)->next;
    *link = copy;
    return 0;
}
