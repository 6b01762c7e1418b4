/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rule_text.h. */
#include "rule_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"

static int select_test_buffer(struct rule_parser *parser, struct span value);

static const struct keyword test_buffer = {
    .name = "test.buffer",
    .help = "a buffer of the tests",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = select_test_buffer,
};

static const struct keyword test_uri = {
    .name = "http.uri",
    .help = "a buffer of the tests",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = select_test_buffer,
};

static int select_test_buffer(struct rule_parser *parser, struct span value)
{
    return rule_parser_select_buffer(parser, value.at[-1] == 'i' ? &test_uri : &test_buffer);
}

static bool rule_text_has(const char *name)
{
    for (size_t i = 0; i < keyword_list_count; i++) {
        if (strcmp(keyword_list[i]->name, name) == 0)
            return true;
    }
    return false;
}

/* Aborts if memory is short. */
static void rule_text_tables(struct rule_text *text)
{
    const struct keyword **keywords = malloc((keyword_list_count + 2) * sizeof(*keywords));
    struct rule_list_options options = { 0 };

    if (!keywords)
        abort();
    memcpy(keywords, keyword_list, keyword_list_count * sizeof(*keywords));
    keywords[keyword_list_count] = &test_buffer;
    keywords[keyword_list_count + 1] = &test_uri;
    text->table = keyword_table_new(keywords, keyword_list_count + (rule_text_has("http.uri") ? 1 : 2));
    text->variables = rule_variables_new();
    text->diag = diag_new();
    options.keywords = text->table;
    options.variables = text->variables;
    options.datasets = datasets_new_default(NULL);
    options.owns_datasets = true;
    if (!text->table || !text->variables || !text->diag || rule_list_new(&text->list, &options, text->diag))
        abort();
    free(keywords);
}

void rule_text_open(struct rule_text *text, const char *options, size_t length)
{
    static const char start[] = "alert ip any any -> any any (", end[] = " sid:1;)";
    char *bytes = malloc(sizeof(start) + length + sizeof(end));

    *text = (struct rule_text){ .message = "" };
    if (!bytes)
        abort();
    rule_text_tables(text);
    memcpy(bytes, start, sizeof(start) - 1);
    memcpy(bytes + sizeof(start) - 1, options, length);
    memcpy(bytes + sizeof(start) - 1 + length, end, sizeof(end) - 1);
    rule_list_parse(text->list, "test.rules", bytes, sizeof(start) + length + sizeof(end) - 2, text->diag);
    free(bytes);
    if (rule_list_finish(text->list, text->diag))
        abort();
    text->errors = diag_errors(text->diag) + diag_unsupported(text->diag);
    for (size_t i = 0; i < diag_count(text->diag); i++) {
        const struct diag_entry *entry = diag_get(text->diag, i);

        if (entry->severity < DIAG_UNSUPPORTED)
            continue;
        text->message = entry->message;
        text->at = entry->column - sizeof(start);
        return;
    }
    if (rule_list_count(text->list) == 1)
        text->rule = rule_list_get(text->list, 0);
}

void rule_text_close(struct rule_text *text)
{
    rule_list_free(text->list);
    rule_variables_free(text->variables);
    keyword_table_free(text->table);
    diag_free(text->diag);
}
