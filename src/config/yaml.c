/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses YAML into a tree, from the events of libyaml.
 *
 * libyaml's document loader is not used, because it has no limits and hides duplicate keys. libyaml counts lines and
 * columns from 0, in characters; to find the text of a line, reader.lines holds the starts of all lines, split at the
 * same line breaks as by libyaml.
 *
 * An alias is replaced by a copy of its node, which counts towards the limit of nodes. In YAML a value that begins with
 * `!` is a tag, and one that begins with `*` an alias. Users often write such values for rule variables (`!$HOME_NET`),
 * so the error messages for both suggest quotes.
 */
#include "config_priv.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

enum { MAX_ANCHORS = 256 };

struct anchor {
    const char *name;
    const struct node *node;
    struct anchor *next;
};

struct reader {
    struct config *config;
    struct diag *diag;
    const char *name;
    const char *text;
    size_t length;
    const char **lines; /* start of each line of the text */
    size_t line_count;
    struct anchor *anchors;
    size_t anchor_count;
    unsigned depth;
    yaml_parser_t parser;
};

/* --- Positions ------------------------------------------------------------------------------------ */

/* Returns the length of the line break at `at`, or 0. The line breaks are those of libyaml: CR LF, CR, LF, NEL, LS, PS.
 */
static size_t line_break(const char *at, const char *end)
{
    size_t left = (size_t)(end - at);

    if (*at == '\r')
        return left > 1 && at[1] == '\n' ? 2 : 1;
    if (*at == '\n')
        return 1;
    if (left > 1 && memcmp(at, "\xC2\x85", 2) == 0)
        return 2;
    if (left > 2 && (memcmp(at, "\xE2\x80\xA8", 3) == 0 || memcmp(at, "\xE2\x80\xA9", 3) == 0))
        return 3;
    return 0;
}

static size_t find_lines(const char *text, size_t length, const char **lines)
{
    const char *end = text + length;
    size_t count = 1;

    if (lines)
        lines[0] = text;
    for (const char *at = text; at < end;) {
        size_t step = line_break(at, end);

        at += step ? step : 1;
        if (step && lines)
            lines[count] = at;
        count += step > 0;
    }
    return count;
}

static int index_lines(struct reader *reader)
{
    reader->line_count = find_lines(reader->text, reader->length, NULL);
    reader->lines = arena_alloc(reader->config->arena, reader->line_count * sizeof(*reader->lines));
    if (!reader->lines)
        return -ENOMEM;
    find_lines(reader->text, reader->length, reader->lines);
    return 0;
}

static struct position position_of(const struct reader *reader, yaml_mark_t start, yaml_mark_t end)
{
    struct position at = { .file = reader->name,
                           .line = (uint32_t)start.line + 1,
                           .column = (uint32_t)start.column + 1 };

    if (start.line >= reader->line_count) { /* libyaml reports the end of the text in the line after the last one */
        at.line = (uint32_t)reader->line_count;
        at.column = (uint32_t)strlen(reader->lines[reader->line_count - 1]) + 1;
    }
    at.line_text = reader->lines[at.line - 1];
    if (end.line == start.line && end.column > start.column)
        at.width = (uint32_t)(end.column - start.column);
    return at;
}

static struct position event_position(const struct reader *reader, const yaml_event_t *event)
{
    return position_of(reader, event->start_mark, event->end_mark);
}

/* --- Reports -------------------------------------------------------------------------------------- */

static int report_parser(const struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    struct position at = position_of(reader, parser->problem_mark, parser->problem_mark);

    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (parser->error == YAML_READER_ERROR) {
        at = (struct position){ .file = reader->name };
        diag_error(reader->diag, at, "not YAML in UTF-8: %s at byte %zu",
                   parser->problem ? parser->problem : "wrong character", parser->problem_offset);
        return -EINVAL;
    }
    bool alias = parser->context && strstr(parser->context, "scanning an alias");

    diag_error(reader->diag, at, "YAML: %s%s%s%s", parser->problem ? parser->problem : "not understood",
               parser->context ? ", " : "", parser->context ? parser->context : "",
               alias ? " (a value that begins with * must be in quotes)" : "");
    return -EINVAL;
}

static int report_limit(const struct reader *reader, struct position at)
{
    if (reader->config->nodes < CONFIG_MAX_NODES)
        return -ENOMEM;
    diag_error(reader->diag, at, "more than %d values in the configuration", CONFIG_MAX_NODES);
    return -EINVAL;
}

/* --- Nodes ---------------------------------------------------------------------------------------- */

static int next_event(struct reader *reader, yaml_event_t *event)
{
    return yaml_parser_parse(&reader->parser, event) ? 0 : report_parser(reader);
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct node **out);

/* Reports a tag as an error, except a bare `!`, which means a plain string, and YAML's standard tags (!!str). Parsing
 * continues, to report further mistakes. */
static void check_tag(const struct reader *reader, const char *tag, struct position at)
{
    if (tag && tag[0] == '!' && tag[1] != '\0')
        diag_error(reader->diag, at, "'%s' is a tag in YAML: a value that begins with ! must be in quotes", tag);
}

static int add_anchor(struct reader *reader, const char *name, const struct node *node)
{
    if (!name)
        return 0;
    if (reader->anchor_count >= MAX_ANCHORS) {
        diag_error(reader->diag, node->at, "more than %d anchors in one file", MAX_ANCHORS);
        return -EINVAL;
    }
    struct anchor *anchor = arena_alloc(reader->config->arena, sizeof(*anchor));

    if (!anchor)
        return -ENOMEM;
    anchor->name = arena_strdup(reader->config->arena, name);
    anchor->node = node;
    anchor->next = reader->anchors;
    reader->anchors = anchor;
    reader->anchor_count++;
    return anchor->name ? 0 : -ENOMEM;
}

static struct node *copy_node(struct reader *reader, const struct node *from, unsigned depth)
{
    struct node *copy = depth < CONFIG_MAX_DEPTH ? node_new(reader->config, from->kind) : NULL;

    if (!copy)
        return NULL;
    *copy = *from;
    copy->first = copy->last = copy->next = NULL;
    copy->count = 0;
    for (const struct node *child = from->first; child; child = child->next) {
        struct node *copied = copy_node(reader, child, depth + 1);

        if (!copied)
            return NULL;
        node_add(copy, copied);
    }
    return copy;
}

static int read_alias(struct reader *reader, const yaml_event_t *event, struct node **out)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct position at = event_position(reader, event);

    for (const struct anchor *anchor = reader->anchors; anchor; anchor = anchor->next) {
        if (strcmp(anchor->name, name) != 0)
            continue;
        *out = copy_node(reader, anchor->node, reader->depth);
        if (*out)
            return 0;
        if (reader->config->nodes >= CONFIG_MAX_NODES)
            return report_limit(reader, at);
        diag_error(reader->diag, at, "alias '*%s' exceeds %d levels of nesting", name, CONFIG_MAX_DEPTH);
        return -EINVAL;
    }
    diag_error(reader->diag, at, "no anchor '&%s' before this alias (a value that begins with * must be in quotes)",
               name);
    *out = node_new(reader->config, NODE_NULL); /* continue with an empty value, to report further mistakes */
    if (!*out)
        return report_limit(reader, at);
    (*out)->at = at;
    return 0;
}

static bool is_null(const char *value, yaml_scalar_style_t style)
{
    return style == YAML_PLAIN_SCALAR_STYLE &&
           (value[0] == '\0' || strcmp(value, "~") == 0 || strcmp(value, "null") == 0 || strcmp(value, "Null") == 0 ||
            strcmp(value, "NULL") == 0);
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, struct node *node)
{
    const char *value = (const char *)event->data.scalar.value;
    yaml_scalar_style_t style = event->data.scalar.style;

    if (strlen(value) != event->data.scalar.length) {
        diag_error(reader->diag, node->at, "a value can't contain a NUL");
        return -EINVAL;
    }
    if (is_null(value, style))
        return 0;
    node->kind = NODE_SCALAR;
    node->quoted = style != YAML_PLAIN_SCALAR_STYLE;
    node->value = arena_strdup(reader->config->arena, value);
    return node->value ? 0 : -ENOMEM;
}

static int read_list(struct reader *reader, struct node *list)
{
    int err = 0;

    for (bool more = true; more && !err;) {
        yaml_event_t event;
        struct node *item = NULL;

        err = next_event(reader, &event);
        if (err)
            return err;
        more = event.type != YAML_SEQUENCE_END_EVENT;
        if (more)
            err = read_node(reader, &event, &item);
        yaml_event_delete(&event);
        if (more && !err)
            node_add(list, item);
    }
    return err;
}

static int check_key(const struct reader *reader, const struct node *map, const yaml_event_t *event)
{
    struct position at = event_position(reader, event);

    if (event->type != YAML_SCALAR_EVENT) {
        diag_error(reader->diag, at, "a key must be a plain name");
        return -EINVAL;
    }
    const char *key = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;

    if (length == 0 || length > CONFIG_MAX_KEY || strlen(key) != length) {
        diag_error(reader->diag, at, "a key must have 1 to %d characters", CONFIG_MAX_KEY);
        return -EINVAL;
    }
    if (strcmp(key, "<<") == 0) {
        diag_error(reader->diag, at, "merge keys (<<) are not supported: write the settings out");
        return -EINVAL;
    }
    const struct node *same = node_member(map, key, length);

    if (same && !reader->config->keeps_duplicates) {
        diag_error(reader->diag, at, "'%s' is set twice, first in line %u", key, same->key_at.line);
        return -EINVAL;
    }
    if (map->count >= CONFIG_MAX_MEMBERS) {
        diag_error(reader->diag, at, "more than %d members in one mapping", CONFIG_MAX_MEMBERS);
        return -EINVAL;
    }
    return 0;
}

/* Reads the value that follows the key in `key_event` and adds the member to `map`. If the key is invalid, its value is
 * read but not added, so that the rest of the file is checked, too. */
static int read_member(struct reader *reader, const yaml_event_t *key_event, struct node *map)
{
    bool usable = check_key(reader, map, key_event) == 0;
    struct position key_at = event_position(reader, key_event);
    const char *key = usable ? arena_strdup(reader->config->arena, (const char *)key_event->data.scalar.value) : "";
    struct node *value = NULL, *ignored = NULL;
    yaml_event_t event;

    if (!key)
        return -ENOMEM;
    if (key_event->type != YAML_SCALAR_EVENT && key_event->type != YAML_ALIAS_EVENT) {
        int err = read_node(reader, key_event, &ignored); /* the key is a mapping or list: skip it */

        if (err)
            return err;
    }
    int err = next_event(reader, &event);

    if (err)
        return err;
    err = read_node(reader, &event, &value);
    yaml_event_delete(&event);
    if (err)
        return err;
    value->key = key;
    value->key_at = key_at;
    if (usable)
        node_add(map, value);
    return 0;
}

static int read_map(struct reader *reader, struct node *map)
{
    int err = 0;

    for (bool more = true; more && !err;) {
        yaml_event_t event;

        err = next_event(reader, &event);
        if (err)
            return err;
        more = event.type != YAML_MAPPING_END_EVENT;
        if (more)
            err = read_member(reader, &event, map);
        yaml_event_delete(&event);
    }
    return err;
}

/* Reads the members of a mapping or the items of a list. read_node() adds the node's anchor afterwards, so an alias
 * inside the node cannot refer to it. */
static int read_collection(struct reader *reader, const yaml_event_t *event, struct node *node)
{
    if (reader->depth >= CONFIG_MAX_DEPTH) {
        diag_error(reader->diag, node->at, "more than %d levels", CONFIG_MAX_DEPTH);
        return -EINVAL;
    }
    reader->depth++;
    int err = event->type == YAML_MAPPING_START_EVENT ? read_map(reader, node) : read_list(reader, node);

    reader->depth--;
    return err;
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct node **out)
{
    const char *anchor, *tag;
    struct position at = event_position(reader, event);
    struct node *node;
    int err = 0;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(reader, event, out);
    node = node_new(reader->config, NODE_NULL);
    if (!node)
        return report_limit(reader, at);
    node->at = at;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = (const char *)event->data.scalar.anchor;
        tag = (const char *)event->data.scalar.tag;
        err = read_scalar(reader, event, node);
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = (const char *)event->data.mapping_start.anchor;
        tag = (const char *)event->data.mapping_start.tag;
        node->kind = NODE_MAP;
        node->at.width = 0;
        err = read_collection(reader, event, node);
    } else {
        anchor = (const char *)event->data.sequence_start.anchor;
        tag = (const char *)event->data.sequence_start.tag;
        node->kind = NODE_LIST;
        node->at.width = 0;
        err = read_collection(reader, event, node);
    }
    check_tag(reader, tag, at);
    if (!err)
        err = add_anchor(reader, anchor, node);
    if (!err)
        *out = node;
    return err;
}

/* --- The document --------------------------------------------------------------------------------- */

static int read_stream(struct reader *reader, struct node **out)
{
    bool more = true;
    unsigned documents = 0;
    int err = 0;

    while (more && !err) {
        yaml_event_t event;

        err = next_event(reader, &event);
        if (err)
            return err;
        if (event.type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            diag_error(reader->diag, event_position(reader, &event), "a second document: a file may have only one");
            err = -EINVAL;
        } else if (event.type == YAML_ALIAS_EVENT || event.type == YAML_SCALAR_EVENT ||
                   event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT) {
            err = read_node(reader, &event, out);
        }
        more = event.type != YAML_STREAM_END_EVENT && event.type != YAML_NO_EVENT;
        yaml_event_delete(&event);
    }
    return err;
}

int yaml_read(struct config *config, struct node **out, const char *name, const char *text, size_t length,
              struct diag *diag)
{
    struct reader reader = { .config = config, .diag = diag, .name = name, .text = text, .length = length };
    struct node *root = NULL;

    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* skip a UTF-8 byte order mark */
        reader.text += 3;
        reader.length -= 3;
    }
    int err = index_lines(&reader);

    if (err)
        return err;
    if (!yaml_parser_initialize(&reader.parser))
        return -ENOMEM;
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)reader.text, reader.length);
    err = read_stream(&reader, &root);
    yaml_parser_delete(&reader.parser);
    if (!err)
        *out = root;
    return err;
}
