/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule being built: its text, its registers, and its effects in their order. */
#include "netrules_priv.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <stdarg.h>
#include <stdio.h>

enum { WORD_SIZE = 2048 };

/* --- Text ------------------------------------------------------------------------------------------- */

static void append_word(struct rule_builder *builder, const char *format, va_list args)
{
    char word[WORD_SIZE];
    int length = vsnprintf(word, sizeof(word), format, args);

    if (length <= 0)
        return;
    if (builder->text.length)
        text_puts(&builder->text, " ");
    text_printable(&builder->text, word, (size_t)length < sizeof(word) ? (size_t)length : sizeof(word) - 1);
}

void rule_word(struct rule_builder *builder, const char *format, ...)
{
    va_list args;

    rule_dependency(builder, ORIGIN_OTHER, NULL);
    va_start(args, format);
    append_word(builder, format, args);
    va_end(args);
}

void rule_condition(struct rule_builder *builder, const char *format, ...)
{
    va_list args;

    builder->rule->conditional = true;
    rule_dependency(builder, ORIGIN_OTHER, NULL);
    va_start(args, format);
    append_word(builder, format, args);
    va_end(args);
}

void rule_dependency(struct rule_builder *builder, enum origin origin, const char *text)
{
    const char *previous = builder->dependency;

    builder->dependency = NULL;
    if (previous)
        rule_word(builder, "%s", previous);
    builder->dependency = text;
    builder->dependency_of = origin;
}

const char *rule_text(struct rule_builder *builder, const char *format, ...)
{
    char text[WORD_SIZE];
    const char *copy;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    copy = arena_strdup(builder->ruleset->arena, text);
    builder->failed |= !copy;
    return copy ? copy : "?";
}

const char *rule_value(struct rule_builder *builder, enum value_kind kind, struct cursor bytes, size_t field)
{
    const char *copy;
    struct text text;

    text_init(&text);
    value_write(&text, kind, bytes, field);
    copy = text.bytes ? arena_strndup(builder->ruleset->arena, text.bytes, text.length) : NULL;
    text_clear(&text);
    builder->failed |= !copy;
    return copy ? copy : "?";
}

const char *rule_string(struct rule_builder *builder, struct cursor bytes)
{
    return rule_text(builder, "%.*s", (int)cursor_remaining(&bytes), bytes.at ? (const char *)bytes.at : "");
}

struct cursor rule_bytes(struct rule_builder *builder, struct cursor bytes)
{
    const void *copy = arena_copy(builder->ruleset->arena, bytes.at, cursor_remaining(&bytes));

    builder->failed |= !copy;
    return cursor_of(copy, copy ? cursor_remaining(&bytes) : 0);
}

void rule_builder_start(struct rule_builder *builder, struct netrules *ruleset, struct netrules_rule *rule)
{
    *builder = (struct rule_builder){ .ruleset = ruleset, .rule = rule };
    text_init(&builder->text);
    builder->last_mark = &rule->marks;
    builder->last_branch = &rule->branches;
}

int rule_builder_end(struct rule_builder *builder)
{
    const char *text = NULL;

    rule_dependency(builder, ORIGIN_OTHER, NULL);
    if (!builder->text.failed)
        text = arena_strndup(builder->ruleset->arena, builder->text.bytes ? builder->text.bytes : "",
                             builder->text.length);
    text_clear(&builder->text);
    builder->rule->text = text ? text : "";
    return builder->failed || !text ? -ENOMEM : 0;
}

/* --- Registers -------------------------------------------------------------------------------------- */

/* Registers of 16 bytes, and of 4 bytes in the same place (enum nft_registers). Returns -1 for the verdict register, or
 * none. */
static int slot_of(uint32_t number)
{
    if (number >= NFT_REG_1 && number <= NFT_REG_4)
        return (int)(number - NFT_REG_1) * 4;
    if (number >= NFT_REG32_00 && number <= NFT_REG32_15)
        return (int)(number - NFT_REG32_00);
    return -1;
}

static int slots_of(uint32_t length)
{
    return length > 4 ? (int)((length > 64 ? 64 : length) + 3) / 4 : 1;
}

void rule_load(struct rule_builder *builder, uint32_t destination, struct operand operand)
{
    int slot = slot_of(destination), count = slots_of(operand.length);

    if (slot < 0)
        return;
    for (int i = 1; i < count && slot + i < REGISTERS; i++)
        builder->registers[slot + i] = (struct operand){ .text = NULL };
    builder->registers[slot] = operand;
}

const struct operand *rule_operand(const struct rule_builder *builder, uint32_t source)
{
    static const struct operand unknown = { .text = "?", .mask = ALL_BITS };
    int slot = slot_of(source);

    return slot >= 0 && builder->registers[slot].text ? &builder->registers[slot] : &unknown;
}

const char *rule_operands(struct rule_builder *builder, uint32_t source, uint32_t length)
{
    int at = slot_of(source), end = at + slots_of(length);
    const char *all = NULL;

    while (at >= 0 && at < end && at < REGISTERS) {
        const struct operand *operand = &builder->registers[at];
        const char *text = operand->text ? operand->text : "?";

        all = all ? rule_text(builder, "%s . %s", all, text) : text;
        at += slots_of(operand->length);
    }
    return all ? all : "?";
}

/* --- Effects ---------------------------------------------------------------------------------------- */

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

void rule_verdict(struct rule_builder *builder, enum netrules_verdict verdict, const char *target)
{
    builder->rule->verdict = verdict;
    builder->rule->target = target;
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
