/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of rules: one arena for all of them and for the texts they point to. The memory of a rejected rule stays in
 * the arena: the size of the files limits it, and freeing it would take a second pass over the files.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/array.h"
#include "sluice/clock.h"

#include "rule_priv.h"

enum { ARENA_BLOCK = 1 << 20 };

/* Reads the files of the options that rules refer to. source_read() reports a file that cannot be read; the rules can
 * be parsed without it. Returns 0 or -ENOMEM. */
static int load_configuration(struct rule_list *list, struct diag *diag)
{
    const struct rule_list_options *options = &list->options;
    const struct source *source;
    int err = 0;

    if (options->classification_file) {
        err = source_read(list->arena, options->classification_file, &source, diag);
        if (!err)
            err = class_config_parse(list, source, &list->classes, diag);
    }
    if (options->reference_file && err != -ENOMEM) {
        err = source_read(list->arena, options->reference_file, &source, diag);
        if (!err)
            err = reference_config_parse(list, source, &list->references, diag);
    }
    if (options->threshold_file && err != -ENOMEM) {
        err = source_read(list->arena, options->threshold_file, &source, diag);
        if (!err)
            err = threshold_config_parse(list, source, &list->threshold_lines, diag);
    }
    return err == -ENOMEM ? err : 0;
}

int rule_list_new(struct rule_list **out, const struct rule_list_options *options, struct diag *diag)
{
    struct rule_list *list = calloc(1, sizeof(*list));
    int err;

    if (!list)
        return -ENOMEM;
    list->options = *options;
    list->started = (int64_t)(clock_realtime_ns() / NS_PER_SECOND);
    map_init(&list->classes, true);
    map_init(&list->references, true);
    map_init(&list->missing, false);
    set_cache_init(&list->address_sets);
    set_cache_init(&list->port_sets);
    list->arena = arena_new(ARENA_BLOCK);
    list->texts = arena_new_cold(ARENA_BLOCK);
    list->own_names = !options->names;
    list->names = options->names ? options->names : rule_names_new();
    err = list->arena && list->texts && list->names ? 0 : -ENOMEM;
    if (!err)
        err = load_configuration(list, diag);
    if (err || rule_policy_new(&list->policy, list, diag) || rule_resources_open(list, diag)) {
        rule_list_free(list);
        return -ENOMEM;
    }
    *out = list;
    return 0;
}

void rule_list_free(struct rule_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].rule)
            keyword_release(list->entries[i].rule);
    }
    map_clear(&list->classes);
    map_clear(&list->references);
    map_clear(&list->missing);
    set_cache_clear(&list->address_sets);
    set_cache_clear(&list->port_sets);
    free(list->threshold_lines.line);
    free(list->entries);
    free(list->files);
    free(list->failures);
    if (list->own_names)
        rule_names_free(list->names);
    rule_resources_close(list);
    rule_policy_free(list->policy);
    arena_free(list->texts);
    arena_free(list->arena);
    free(list);
}

int rule_list_add_failure(struct rule_list *list, const struct rule_failure *failure)
{
    list->failed += failure->kind == RULE_FAILURE_MISTAKE;
    list->skipped += failure->kind == RULE_FAILURE_UNSUPPORTED || failure->kind == RULE_FAILURE_UNMET;
    list->unmet += failure->kind == RULE_FAILURE_UNMET;
    list->unread_files += failure->kind == RULE_FAILURE_UNREAD_FILE;
    if (list->failure_count == RULE_MAX_FAILURES)
        return 0;
    if (array_grow(&list->failures, list->failure_count, &list->failure_capacity, sizeof(*list->failures)))
        return -ENOMEM;

    struct rule_failure *kept = &list->failures[list->failure_count];

    *kept = *failure;
    kept->reason = arena_strdup(list->arena, failure->reason);
    if (!kept->reason)
        return -ENOMEM;
    list->failure_count++;
    return 0;
}

/* Returns the sid in the text of a rule whose parsing ended before its sid option; 0 if there is none. */
static uint32_t find_sid(struct span text)
{
    static const char name[] = "sid:";
    uint32_t sid = 0;

    for (size_t i = 1; i + sizeof(name) - 1 < text.length; i++) {
        if (memcmp(text.at + i, name, sizeof(name) - 1) != 0 || !strchr("; (", text.at[i - 1]))
            continue;
        i += sizeof(name) - 1;
        while (i < text.length && text.at[i] == ' ')
            i++;
        while (i < text.length && text.at[i] >= '0' && text.at[i] <= '9' && sid < UINT32_MAX / 10 - 1)
            sid = sid * 10 + (uint32_t)(text.at[i++] - '0');
        return sid;
    }
    return 0;
}

/* Parses a rule and adds it to the list. If it is rejected, adds the reason to list->failures. Returns 0 or -ENOMEM. */
static int parse_statement(struct rule_list *list, const struct statement *text, struct diag *diag)
{
    struct rule_decision decision;
    struct rule_parser parser;
    struct statement *statement;
    struct rule *rule = NULL;
    int err = 0;

    if (list->loads_firewall)
        decision = (struct rule_decision){ .statement = *text, .enabled = !text->commented };
    else
        err = rule_policy_apply(list->policy, text, &decision, diag);
    if (err || decision.comment || !decision.enabled)
        return err;
    list->statements++;
    rule_parser_init(&parser, list, &decision.statement, diag);
    err = rule_parse(&parser, &rule);
    if (!err) {
        statement = arena_copy(list->texts, parser.statement, sizeof(*statement));
        if (!statement || array_grow(&list->entries, list->count, &list->capacity, sizeof(*list->entries)))
            err = -ENOMEM;
    }
    if (!err) {
        rule->alert_only = decision.alert_only;
        rule->changes = decision.changes;
        list->entries[list->count++] = (struct rule_entry){ rule, statement, parser.sid_text };
        for (const struct rule_tag *tag = rule->tag; tag; tag = tag->next)
            list->has_host_tags |= tag->scope == TAG_HOST;
        return 0;
    }
    if (err == -EINVAL) {
        const struct rule_failure failure = {
            .kind = parser.unmet          ? RULE_FAILURE_UNMET
                    : parser.mistakes > 0 ? RULE_FAILURE_MISTAKE
                                          : RULE_FAILURE_UNSUPPORTED,
            .file = parser.statement->source->name,
            .line = parser.statement->line,
            .gid = parser.rule ? parser.rule->gid : 1,
            .sid = parser.rule && parser.rule->sid ? parser.rule->sid : find_sid(parser.statement->text),
            .reason = parser.reason,
            .text = parser.statement->text,
            .changes = decision.changes,
        };

        for (const struct rule_change *change = decision.changes; change && !parser.unmet; change = change->next)
            diag_note(diag, change->at, "the rule policy changed the rule here");
        err = rule_list_add_failure(list, &failure);
    }
    if (parser.rule)
        keyword_release(parser.rule);
    return err;
}

static int parse_source(struct rule_list *list, const struct source *source, struct diag *diag)
{
    struct statement statement;
    struct scanner scanner;
    int more, err = 0;

    scanner_init(&scanner, source);
    scanner.comments = true;
    while (!err && (more = scanner_next(&scanner, list->texts, &statement)) != 0) {
        err = more < 0 ? more : parse_statement(list, &statement, diag);
        diag_progress(diag, source->name, (size_t)(scanner.at - source->text), source->length);
    }
    return err;
}

int rule_list_load(struct rule_list *list, const char *path, struct diag *diag)
{
    const struct source *source;
    char real_path[PATH_MAX];
    bool resolved = realpath(path, real_path) != NULL; /* false for a pipe, which has no real path */
    const char *name;
    int err;

    for (size_t i = 0; resolved && i < list->file_count; i++) {
        if (strcmp(list->files[i], real_path) != 0)
            continue;
        diag_note(diag, (struct position){ .file = path }, "this file is listed twice and is loaded once");
        return 0;
    }
    err = source_read(list->texts, path, &source, diag);
    if (err && err != -ENOMEM) {
        const struct rule_failure failure = {
            .kind = RULE_FAILURE_UNREAD_FILE,
            .file = arena_strdup(list->arena, path),
            .reason = strerror(-err),
        };

        return failure.file && rule_list_add_failure(list, &failure) == 0 ? err : -ENOMEM;
    }
    if (err)
        return err;
    name = arena_strdup(list->arena, resolved ? real_path : path);
    if (!name || array_grow(&list->files, list->file_count, &list->file_capacity, sizeof(*list->files)))
        return -ENOMEM;
    list->files[list->file_count++] = name;
    if (source->modified > list->modified)
        list->modified = source->modified;
    return parse_source(list, source, diag);
}

int rule_list_load_firewall(struct rule_list *list, const char *path, struct diag *diag)
{
    int err;

    list->loads_firewall = true;
    err = rule_list_load(list, path, diag);
    list->loads_firewall = false;
    return err;
}

int rule_list_parse(struct rule_list *list, const char *name, const char *text, size_t length, struct diag *diag)
{
    const struct source *source;
    int err = source_copy(list->texts, name, text, length, &source);

    return err ? err : parse_source(list, source, diag);
}

int rule_list_parse_firewall(struct rule_list *list, const char *name, const char *text, size_t length,
                             struct diag *diag)
{
    int err;

    list->loads_firewall = true;
    err = rule_list_parse(list, name, text, length, diag);
    list->loads_firewall = false;
    return err;
}

size_t rule_list_count(const struct rule_list *list)
{
    return list->count;
}

const struct rule *rule_list_get(const struct rule_list *list, size_t index)
{
    return index < list->count ? list->entries[index].rule : NULL;
}

size_t rule_list_firewall_count(const struct rule_list *list)
{
    return list->firewall_count;
}

size_t rule_list_files(const struct rule_list *list)
{
    return list->file_count;
}

size_t rule_list_read(const struct rule_list *list)
{
    return list->statements;
}

size_t rule_list_rejected(const struct rule_list *list)
{
    return list->failed + list->skipped;
}

size_t rule_list_failed(const struct rule_list *list)
{
    return list->failed;
}

size_t rule_list_skipped(const struct rule_list *list)
{
    return list->skipped;
}

size_t rule_list_unmet(const struct rule_list *list)
{
    return list->unmet;
}

size_t rule_list_unreadable_files(const struct rule_list *list)
{
    return list->unread_files;
}

int64_t rule_list_started(const struct rule_list *list)
{
    return list->started;
}

int64_t rule_list_modified(const struct rule_list *list)
{
    return list->modified;
}

size_t rule_list_failure_count(const struct rule_list *list)
{
    return list->failure_count;
}

const struct rule_failure *rule_list_find_failure(const struct rule_list *list, uint32_t gid, uint32_t sid)
{
    for (size_t i = 0; i < list->failure_count; i++) {
        if (list->failures[i].sid == sid && list->failures[i].gid == gid)
            return &list->failures[i];
    }
    return NULL;
}

const struct rule_failure *rule_list_failure(const struct rule_list *list, size_t index)
{
    return index < list->failure_count ? &list->failures[index] : NULL;
}

const char *rule_failure_kind_name(enum rule_failure_kind kind)
{
    static const char *const names[] = {
        [RULE_FAILURE_MISTAKE] = "mistake",
        [RULE_FAILURE_UNSUPPORTED] = "unsupported",
        [RULE_FAILURE_UNMET] = "requires",
        [RULE_FAILURE_UNREAD_FILE] = "unread file",
    };

    return names[kind];
}

size_t rule_list_replaced(const struct rule_list *list)
{
    return list->replaced;
}

size_t rule_list_threshold_count(const struct rule_list *list)
{
    return list->threshold_count;
}

bool rule_list_has_host_tags(const struct rule_list *list)
{
    return list->has_host_tags;
}

struct rule_names *rule_list_names(const struct rule_list *list)
{
    return list->names;
}

void rule_list_page_out(const struct rule_list *list)
{
    arena_page_out(list->texts);
}

size_t rule_list_text_memory(const struct rule_list *list)
{
    return arena_reserved(list->texts);
}

struct arena *rule_list_arena(struct rule_list *list)
{
    return list->arena;
}

static int by_rules(const void *a, const void *b)
{
    const struct missing *const *left = a, *const *right = b;

    if ((*left)->rules != (*right)->rules)
        return (*left)->rules < (*right)->rules ? 1 : -1;
    return strcmp((*left)->tag, (*right)->tag);
}

void rule_list_each_missing(const struct rule_list *list, void (*each)(const char *tag, size_t rules, void *user),
                            void *user)
{
    struct missing **sorted = calloc(list->missing.count + 1, sizeof(struct missing *));
    size_t count = 0;

    if (!sorted)
        return;
    for (size_t i = 0; i < list->missing.capacity; i++) {
        if (list->missing.slots[i].value)
            sorted[count++] = list->missing.slots[i].value;
    }
    qsort(sorted, count, sizeof(struct missing *), by_rules);
    for (size_t i = 0; i < count; i++)
        each(sorted[i]->tag, sorted[i]->rules, user);
    free(sorted);
}
