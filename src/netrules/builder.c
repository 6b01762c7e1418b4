/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule being built: its text, its registers, and its effects in their order. */
#include "netrules_priv.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <stdarg.h>
#include <stdio.h>

enum { WORD_SIZE = 2048 };

void rule_builder_start(struct rule_builder *builder, struct netrules *ruleset, struct netrules_rule *rule)
{
    *builder = (struct rule_builder){ .ruleset = ruleset, .table = rule->chain->table, .rule = rule };
    text_init(&builder->text);
    builder->last_mark = &rule->marks;
    builder->last_branch = &rule->branches;
}

static void flush_dependency(struct rule_builder *builder)
{
    const char *dependency = builder->dependency;

    builder->dependency = NULL;
    if (dependency)
        rule_word(builder, "%s", dependency);
}

int rule_builder_end(struct rule_builder *builder)
{
    flush_dependency(builder);
    if (builder->text.bytes)
        builder->rule->text = arena_strndup(builder->ruleset->arena, builder->text.bytes, builder->text.length);

    bool failed = builder->failed || builder->text.failed || !builder->rule->text;

    text_clear(&builder->text);
    if (!builder->rule->text)
        builder->rule->text = "";
    return failed ? -ENOMEM : 0;
}

void rule_word(struct rule_builder *builder, const char *format, ...)
{
    char word[WORD_SIZE];
    va_list args;
    int length;

    flush_dependency(builder);
    va_start(args, format);
    length = vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    if (length <= 0)
        return;
    if (builder->text.length)
        text_puts(&builder->text, " ");
    text_printable(&builder->text, word, (size_t)length < sizeof(word) ? (size_t)length : sizeof(word) - 1);
}

void rule_dependency(struct rule_builder *builder, enum origin origin, const char *text)
{
    flush_dependency(builder);
    builder->dependency = text;
    builder->dependency_of = origin;
}

void rule_condition(struct rule_builder *builder)
{
    builder->rule->conditional = true;
}

/* --- Registers -------------------------------------------------------------------------------------- */

/* Registers of 16 bytes, and of 4 bytes in the same place (enum nft_registers). Returns -1 for the verdict register, or
 * none. */
static int slot_of(struct cursor attribute)
{
    uint32_t number = netrules_be32(attribute, NFT_REG_VERDICT);

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

void rule_load(struct rule_builder *builder, struct cursor destination, struct operand operand)
{
    static const struct operand nothing = { .origin = ORIGIN_OTHER };
    int slot = slot_of(destination), count = slots_of(operand.length);

    if (slot < 0)
        return;
    if (!operand.text)
        builder->failed = true;
    for (int i = 1; i < count && slot + i < REGISTERS; i++)
        builder->registers[slot + i] = nothing;
    builder->registers[slot] = operand;
}

const struct operand *rule_operand(const struct rule_builder *builder, struct cursor source)
{
    static const struct operand nothing = { .origin = ORIGIN_OTHER, .text = "?", .mask = ALL_BITS };
    int slot = slot_of(source);

    return slot >= 0 && builder->registers[slot].text ? &builder->registers[slot] : &nothing;
}

const char *rule_operands(struct rule_builder *builder, struct cursor source, uint32_t length)
{
    int slot = slot_of(source), end = slot + slots_of(length);
    const char *all = NULL;

    for (int at = slot; slot >= 0 && at < end && at < REGISTERS;) {
        const struct operand *operand = &builder->registers[at];
        const char *text = operand->text ? operand->text : "?";

        all = all ? arena_printf(builder->ruleset->arena, "%s . %s", all, text) : text;
        if (!all)
            break;
        at += slots_of(operand->length);
    }
    if (!all)
        builder->failed = slot >= 0;
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
    copy->next = NULL;
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
    copy->next = NULL;
    *builder->last_branch = copy;
    builder->last_branch = &copy->next;
}
