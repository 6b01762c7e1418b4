/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the netrules module: lists in the arena, and the rule builder. */
#ifndef SLUICE_NETRULES_PRIV_H
#define SLUICE_NETRULES_PRIV_H

#include <stdio.h> /* libnftnl needs FILE */

#include <libnftnl/expr.h>

#include "sluice/arena.h"
#include "sluice/bytes.h"
#include "sluice/netrules.h"
#include "sluice/text.h"

enum {
    NETRULES_MEMORY = 512 << 20, /* larger rulesets are rejected: -E2BIG */
    NETRULES_ELEMENTS = 4096,    /* maximum of elements kept for a set */
    ALL_BITS = 0xffffffff,
};

struct netrules_element {
    struct netrules_element *next;
    const uint8_t *key;
    size_t key_length;
    bool has_verdict;
    enum netrules_verdict verdict;
    const char *target;
};

struct netrules_set {
    struct netrules_set *next;
    const struct netrules_table *table;
    const char *name;
    bool anonymous, verdict_map, interval;
    uint32_t key_length;
    size_t element_count;
    struct netrules_element *elements; /* of anonymous sets and verdict maps; at most NETRULES_ELEMENTS */
};

/* Returns 0, or -E2BIG when the arena exceeds its limit. */
int netrules_check_size(const struct netrules *ruleset);

struct netrules_set *netrules_find_set(const struct netrules_table *table, const char *name);

/* Add an element at the end of its list. All return NULL when out of memory. */
struct netrules_table *netrules_add_table(struct netrules *ruleset, uint32_t family, bool legacy, const char *name);
struct netrules_chain *netrules_add_chain(struct netrules *ruleset, struct netrules_table *table, const char *name);
struct netrules_rule *netrules_add_rule(struct netrules *ruleset, struct netrules_chain *chain);

/* Translates the code of a verdict (NF_*, NFT_*); false when it is unknown. */
bool netrules_verdict_of(uint32_t code, enum netrules_verdict *out);

/* --- Rule builder (builder.c) ----------------------------------------------------------------------- */

struct rule_builder {
    struct netrules *ruleset;
    struct netrules_rule *rule;
    struct text text;
    struct netrules_mark **last_mark;
    struct netrules_branch **last_branch;
    bool counted; /* the last statement was a counter, which counts packets of the next statement */
    uint64_t packets;
    bool failed; /* out of memory */
};

void rule_builder_start(struct rule_builder *builder, struct netrules *ruleset, struct netrules_rule *rule);
/* Stores the text in the rule. Returns 0 or -ENOMEM. */
int rule_builder_end(struct rule_builder *builder);

/* Appends a part of the text after a space. */
void rule_word(struct rule_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns a copy of the text up to a NUL, or of all `length` bytes, in the arena; "?" when out of memory. */
const char *rule_string(struct rule_builder *builder, const char *bytes, size_t length);

/* Add an effect. */
void rule_mark(struct rule_builder *builder, struct netrules_mark mark);
void rule_queue(struct rule_builder *builder, struct netrules_queue queue);
void rule_branch(struct rule_builder *builder, struct netrules_branch branch);

/* --- Expressions (expression.c) --------------------------------------------------------------------- */

/* The source of a value. */
enum origin {
    ORIGIN_OTHER,
    ORIGIN_IMMEDIATE, /* of four bytes */
    ORIGIN_PACKET_MARK,
    ORIGIN_CONNECTION_MARK,
    ORIGIN_STATE,
    ORIGIN_NFPROTO,
    ORIGIN_ETHERTYPE,
    ORIGIN_INTERFACE, /* its index */
    ORIGIN_INTERFACE_NAME,
    ORIGIN_CPU,
    ORIGIN_ORIGINAL_TUPLE, /* conntrack's original tuple: the same for both directions */
    ORIGIN_SYMMETRIC_HASH, /* symhash, or a hash of the original tuple */
};

/* The content of a register. */
struct operand {
    enum origin origin;
    uint32_t mask, toggle;    /* of marks and states: (value & mask) ^ toggle */
    uint32_t value;           /* of an immediate */
    uint32_t modulus, offset; /* of hashes */
};

enum { REGISTERS = 16 }; /* of four bytes; without the verdict register */

struct rule_reader {
    struct rule_builder builder;
    struct operand registers[REGISTERS];
};

/* Handles one expression of nf_tables; NULL when libnftnl cannot parse it. An unknown expression is a condition, so
 * that the rule does not appear to match every packet. */
void rule_expression(struct rule_reader *reader, const char *name, const struct nftnl_expr *expression);

/* --- xtables ---------------------------------------------------------------------------------------- */

/* Handles a match or target of xtables (xt.c): decodes known ones, and writes all in the syntax of iptables, as far as
 * that is short. */
void rule_xt_match(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);
void rule_xt_target(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);

#endif
