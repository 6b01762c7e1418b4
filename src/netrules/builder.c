/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule being built: its text, and its effects in their order. */
#include "netrules_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 2048 };

void rule_builder_start(struct rule_builder *builder, struct netrules *ruleset, struct netrules_rule *rule)
{
    *builder = (struct rule_builder){
        .ruleset = ruleset, .rule = rule, .last_mark = &rule->marks, .last_branch = &rule->branches
    };
    text_init(&builder->text);
}

int rule_builder_end(struct rule_builder *builder)
{
    const char *text = NULL;

    if (!builder->text.failed)
        text = arena_strndup(builder->ruleset->arena, builder->text.bytes ? builder->text.bytes : "",
                             builder->text.length);
    text_clear(&builder->text);
    builder->rule->text = text ? text : "";
    return builder->failed || !text ? -ENOMEM : 0;
}

void rule_word(struct rule_builder *builder, const char *format, ...)
{
    char word[WORD_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    if (builder->text.length)
        text_puts(&builder->text, " ");
    text_printable(&builder->text, word, strlen(word));
}

const char *rule_string(struct rule_builder *builder, const char *bytes, size_t length)
{
    const char *copy = arena_strndup(builder->ruleset->arena, bytes ? bytes : "", bytes ? strnlen(bytes, length) : 0);

    builder->failed |= !copy;
    return copy ? copy : "?";
}

void rule_mark(struct rule_builder *builder, struct netrules_mark mark)
{
    struct netrules_mark *copy = arena_copy(builder->ruleset->arena, &mark, sizeof(mark));

    if (!copy) {
        builder->failed = true;
        return;
    }
    *builder->last_mark = copy;
    builder->last_mark = &copy->next;
    if (mark.kind == NETRULES_CONNECTION_MARK && mark.use == NETRULES_MARK_MATCH)
        builder->rule->matches_connection_mark = true;
}

void rule_queue(struct rule_builder *builder, struct netrules_queue queue)
{
    builder->rule->verdict = NETRULES_QUEUE;
    builder->rule->queue = queue;
    builder->rule->counted = builder->counted;
    builder->rule->packets = builder->packets;
}

void rule_branch(struct rule_builder *builder, struct netrules_branch branch)
{
    struct netrules_branch *copy = arena_copy(builder->ruleset->arena, &branch, sizeof(branch));

    if (!copy) {
        builder->failed = true;
        return;
    }
    *builder->last_branch = copy;
    builder->last_branch = &copy->next;
}
