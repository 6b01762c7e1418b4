/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the texts of rules in a listing of nft by table and handle. */
#include "rule_texts.h"

#include <stdio.h>
#include <string.h>

#include "sluice/arena.h"

enum { LINE_START_SIZE = 512, LINE_END_SIZE = 64 };

/* Searches the listing for the line of the rule in its table: "<tab><tab>TEXT # handle N". Returns the start of TEXT
 * and sets *length, or returns NULL. */
static const char *find_text(const char *listing, const struct netrules_rule *rule, size_t *length)
{
    const struct netrules_table *table = rule->chain->table;
    char start[LINE_START_SIZE], end[LINE_END_SIZE];
    size_t line_length, end_length;
    bool inside = false;

    snprintf(start, sizeof(start), "table %s %s {", netrules_family_name(table->family), table->name);
    end_length = (size_t)snprintf(end, sizeof(end), " # handle %llu", (unsigned long long)rule->handle);
    for (const char *line = listing; *line; line += line_length + (line[line_length] == '\n')) {
        line_length = strcspn(line, "\n");
        if (line_length > 0 && line[0] != '\t')
            inside = strncmp(line, start, strlen(start)) == 0;
        if (!inside || line_length < 2 + end_length || memcmp(line, "\t\t", 2) != 0 ||
            memcmp(line + line_length - end_length, end, end_length) != 0)
            continue;
        *length = line_length - 2 - end_length;
        return line + 2;
    }
    return NULL;
}

void doctor_set_rule_texts(struct doctor_report *report, const char *listing)
{
    for (struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        const char *found, *copy = NULL;
        struct text text;
        size_t length;

        if (!finding->rule || finding->rule->chain->table->legacy)
            continue;
        found = find_text(listing, finding->rule, &length);
        if (!found)
            continue;
        text_init(&text);
        text_printable(&text, found, length);
        if (text.bytes && !text.failed)
            copy = arena_strdup(report->arena, text.bytes);
        text_clear(&text);
        if (copy)
            finding->text = copy;
    }
}
