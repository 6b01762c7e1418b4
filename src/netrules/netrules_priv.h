/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the netrules module: lists in the arena, the rule builder, and names of values. */
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

/* --- Values (value.c) ------------------------------------------------------------------------------- */

/* The kind of value in a register, and its text format. */
enum value_kind {
    VALUE_HEX,
    VALUE_NUMBER, /* in network order */
    VALUE_HOST,   /* in host order */
    VALUE_MARK,   /* in host order, hexadecimal */
    VALUE_ADDRESS4,
    VALUE_ADDRESS6,
    VALUE_ETHER,
    VALUE_PROTOCOL, /* IP protocol number */
    VALUE_NFPROTO,
    VALUE_ETHERTYPE,
    VALUE_INTERFACE, /* index */
    VALUE_NAME,      /* a string */
    VALUE_STATE,     /* state of a connection */
    VALUE_STATUS,
    VALUE_DIRECTION,
    VALUE_TYPE, /* type of an address: fib */
};

/* Writes `bytes` as a value of this kind; `field` is the length of the whole field. */
void value_write(struct text *out, enum value_kind kind, struct cursor bytes, size_t field);
const char *value_protocol(unsigned protocol); /* "tcp", or NULL */

/* --- Rule builder (builder.c) ----------------------------------------------------------------------- */

/* The source of a value. */
enum origin {
    ORIGIN_OTHER,
    ORIGIN_IMMEDIATE,
    ORIGIN_PACKET_MARK,
    ORIGIN_CONNECTION_MARK,
    ORIGIN_STATE,
    ORIGIN_NFPROTO,
    ORIGIN_L4PROTO,
    ORIGIN_ETHERTYPE,
    ORIGIN_DEVICE,
    ORIGIN_CPU,
    ORIGIN_ORIGINAL_TUPLE, /* conntrack's original tuple: the same for both directions */
    ORIGIN_SYMMETRIC_HASH, /* symhash, or a hash of the original tuple */
};

/* The content of a register. */
struct operand {
    enum origin origin;
    enum value_kind kind;
    const char *text;         /* in the arena; NULL: unknown register */
    uint32_t length;          /* of the field, in bytes; only a prefix of it may have been loaded */
    uint32_t mask, toggle;    /* of marks: (value & mask) ^ toggle */
    struct cursor masked;     /* a mask, in the byte order of the value; empty: none */
    struct cursor bytes;      /* of an immediate */
    uint32_t modulus, offset; /* of hashes */
};

enum { REGISTERS = 16 }; /* of four bytes; without the verdict register */

struct rule_builder {
    struct netrules *ruleset;
    struct netrules_rule *rule;
    struct text text;
    struct operand registers[REGISTERS];
    unsigned protocol;      /* protocol of the transport header, once the rule has matched it; otherwise 0 */
    const char *dependency; /* a condition that is written only if nothing implies it */
    enum origin dependency_of;
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
/* As rule_word() for a condition: the rule does not match every packet. */
void rule_condition(struct rule_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a condition that is omitted from the text when the next condition implies it. */
void rule_dependency(struct rule_builder *builder, enum origin origin, const char *text);

/* Return a text in the arena; "?" when out of memory. */
const char *rule_text(struct rule_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *rule_value(struct rule_builder *builder, enum value_kind kind, struct cursor bytes, size_t field);
const char *rule_string(struct rule_builder *builder, struct cursor bytes); /* up to a NUL */
struct cursor rule_bytes(struct rule_builder *builder, struct cursor bytes);

void rule_mark(struct rule_builder *builder, struct netrules_mark mark);
void rule_verdict(struct rule_builder *builder, enum netrules_verdict verdict, const char *target);
void rule_queue(struct rule_builder *builder, struct netrules_queue queue);
void rule_branch(struct rule_builder *builder, struct netrules_branch branch);

/* Sets a register (NFT_REG_*). */
void rule_load(struct rule_builder *builder, uint32_t destination, struct operand operand);
/* Returns the content of a register; never NULL: an unknown register has the text "?". */
const struct operand *rule_operand(const struct rule_builder *builder, uint32_t source);
/* Returns the texts of `length` bytes of registers from there, joined by " . "; in the arena. */
const char *rule_operands(struct rule_builder *builder, uint32_t source, uint32_t length);

/* --- Expressions ------------------------------------------------------------------------------------ */

/* Handles one expression of nf_tables; NULL when libnftnl cannot parse it. An unknown expression is a condition, so
 * that the rule does not appear to match every packet. */
void rule_expression(struct rule_builder *builder, const char *name, const struct nftnl_expr *expression);
/* Handles expressions that load a register (load.c); false when it is none of these. */
bool rule_load_expression(struct rule_builder *builder, const char *name, const struct nftnl_expr *expression);
struct cursor expression_bytes(const struct nftnl_expr *expression, uint16_t attribute);

/* Handles a match or target of xtables (xt.c): decodes known ones, and writes all in the syntax of iptables, as far as
 * that is short. */
void rule_xt_match(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);
void rule_xt_target(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);

#endif
