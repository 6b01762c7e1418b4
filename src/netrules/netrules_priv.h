/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the netrules module: lists in the arena, expressions of nf_tables, matches and targets of xtables, names
 * of values. */
#ifndef SLUICE_NETRULES_PRIV_H
#define SLUICE_NETRULES_PRIV_H

#include "sluice/arena.h"
#include "sluice/bytes.h"
#include "sluice/netlink.h"
#include "sluice/netrules.h"
#include "sluice/text.h"

enum {
    NETRULES_MEMORY = 512 << 20, /* larger rulesets are rejected: -E2BIG */
    NETRULES_ELEMENTS = 4096,    /* maximum of elements kept for a set */
    ALL_BITS = 0xffffffff,
};

/* Returns 0, or -E2BIG when the arena exceeds its limit. */
int netrules_check_size(const struct netrules *ruleset);

struct netrules_table *netrules_find_table(const struct netrules *ruleset, uint32_t family, bool legacy,
                                           const char *name);
const struct netrules_set *netrules_find_set(const struct netrules_table *table, const char *name);

/* Add an element at the end of its list. All return NULL when out of memory. */
struct netrules_table *netrules_add_table(struct netrules *ruleset, uint32_t family, bool legacy, const char *name);
struct netrules_chain *netrules_add_chain(struct netrules *ruleset, struct netrules_table *table, const char *name);
struct netrules_rule *netrules_add_rule(struct netrules *ruleset, struct netrules_chain *chain);

/* --- Attributes (message.c) ------------------------------------------------------------------------- */

/* Returns one attribute of a nest by its type: an empty cursor (at NULL) when it is missing. */
struct cursor netrules_attribute(struct cursor nest, uint16_t type);
uint32_t netrules_be32(struct cursor value, uint32_t otherwise);
uint64_t netrules_be64(struct cursor value, uint64_t otherwise);
/* Returns a copy that ends with a NUL; "" when the value is missing, NULL when out of memory. */
const char *netrules_string(struct arena *arena, struct cursor value);
/* Reads a verdict and its chain from NFTA_DATA_VERDICT. */
int netrules_read_verdict(struct arena *arena, struct cursor data, enum netrules_verdict *verdict, const char **target);

/* --- Rule builder (expression.c, xt.c) -------------------------------------------------------------- */

/* The kind of value in a register, and its text format. */
enum value_kind {
    VALUE_HEX,
    VALUE_NUMBER, /* in network order */
    VALUE_HOST,   /* in host order */
    VALUE_MARK,   /* in host order, hexadecimal */
    VALUE_ADDRESS4,
    VALUE_ADDRESS6,
    VALUE_ETHER,
    VALUE_PORT,
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
    ORIGIN_IN,
    ORIGIN_OUT,
    ORIGIN_CPU,
    ORIGIN_SYMHASH,
    ORIGIN_ORIGINAL_TUPLE, /* conntrack's original tuple: the same for both directions */
    ORIGIN_JHASH,          /* of any other fields */
    ORIGIN_ORIGINAL_JHASH,
    ORIGIN_MAP,
};

struct operand {
    enum origin origin;
    enum value_kind kind;
    const char *text;      /* in the arena; NULL: unknown register */
    uint32_t length;       /* of the field, in bytes; only a prefix of it may have been loaded */
    uint32_t mask, toggle; /* of marks: (value & mask) ^ toggle */
    const uint8_t *masked; /* bytes of a mask, in the order of the value; NULL: none */
    size_t masked_count;
    const uint8_t *bytes; /* of an immediate */
    size_t byte_count;
    uint32_t modulus, offset; /* of hashes */
};

enum { REGISTERS = 16 }; /* of four bytes; without the verdict register */

struct rule_builder {
    struct netrules *ruleset;
    const struct netrules_table *table;
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

/* Appends words to the text, separated by a space. */
void rule_word(struct rule_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rule_condition(struct rule_builder *builder); /* adds a condition */
void rule_mark(struct rule_builder *builder, struct netrules_mark mark);
void rule_verdict(struct rule_builder *builder, enum netrules_verdict verdict, const char *target);
void rule_queue(struct rule_builder *builder, struct netrules_queue queue);
void rule_branch(struct rule_builder *builder, struct netrules_branch branch);

/* Stores the value that an expression loads in the register that its attribute names. */
void rule_load(struct rule_builder *builder, struct cursor destination, struct operand operand);
/* Returns the content of the register that the attribute names; never NULL: an unknown register has no text. */
const struct operand *rule_operand(const struct rule_builder *builder, struct cursor source);
/* Returns the texts of `length` bytes of registers from there, joined by " . "; in the arena. */
const char *rule_operands(struct rule_builder *builder, struct cursor source, uint32_t length);
/* Adds a condition that is omitted from the text when what follows implies it. */
void rule_dependency(struct rule_builder *builder, enum origin origin, const char *text);

/* Handles expressions that load a register (load.c); false when it is none of these. */
bool rule_load_expression(struct rule_builder *builder, const char *name, struct cursor data);

/* Handles one expression of nf_tables by its name. */
void rule_expression(struct rule_builder *builder, const char *name, struct cursor data);

/* Handles a match or target of xtables: decodes known ones, and writes all in the syntax of iptables, as far as that is
 * short. */
void rule_xt_match(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);
void rule_xt_target(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data);

/* --- Values (value.c) ------------------------------------------------------------------------------- */

/* Writes `bytes` as a value of this kind; `field` is the length of the whole field. */
void value_write(struct text *out, enum value_kind kind, struct cursor bytes, size_t field);
const char *value_protocol(unsigned protocol); /* "tcp", or NULL */

#endif
