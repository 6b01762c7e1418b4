/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the nftables module: sets, and the reader of a rule's expressions. */
#ifndef SLUICE_NFTABLES_PRIV_H
#define SLUICE_NFTABLES_PRIV_H

#include <stdio.h> /* libnftnl's headers use FILE */

#include <libnftnl/expr.h>

#include "sluice/arena.h"
#include "sluice/bytes.h"
#include "sluice/nftables.h"

enum { NFTABLES_ELEMENTS = 4096 }; /* maximum of elements kept for a set */

struct nftables_element {
    struct nftables_element *next;
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
    bool anonymous, verdict_map;
    size_t element_count;
    struct nftables_element *elements; /* read only for anonymous sets and verdict maps; at most NFTABLES_ELEMENTS */
};

/* Returns the set with this name, or NULL if the table has none. */
struct netrules_set *nftables_find_set(const struct netrules_table *table, const char *name);

/* Translates the code of a verdict (NF_*, NFT_*). Returns false if the code is unknown. */
bool nftables_verdict_of(uint32_t code, enum netrules_verdict *out);

/* --- Expressions (expression.c) --------------------------------------------------------------------- */

/* The source of a value. */
enum origin {
    ORIGIN_OTHER,
    ORIGIN_IMMEDIATE, /* a constant; `value` contains its first four bytes */
    ORIGIN_PACKET_MARK,
    ORIGIN_CONNECTION_MARK,
    ORIGIN_STATE,
    ORIGIN_NFPROTO,
    ORIGIN_ETHERTYPE,
    ORIGIN_INTERFACE, /* index of an interface */
    ORIGIN_INTERFACE_NAME,
    ORIGIN_CPU,
    ORIGIN_ORIGINAL_TUPLE, /* conntrack's original tuple: the same for both directions */
    ORIGIN_SYMMETRIC_HASH, /* symhash, or a hash of the original tuple */
};

/* The content of a register. */
struct operand {
    enum origin origin;
    /* the register contains (value of the origin & mask) ^ toggle; mask UINT32_MAX: unchanged */
    uint32_t mask, toggle;
    uint32_t value;           /* ORIGIN_IMMEDIATE: the constant */
    uint32_t modulus, offset; /* result of a hash: offset + hash % modulus */
};

enum { REGISTERS = 16 }; /* number of 4-byte registers, without the verdict register */

struct rule_reader {
    struct netrules_builder builder;
    struct operand registers[REGISTERS];
};

/* Adds one expression to the rule; `expression` is NULL if libnftnl cannot parse it. An unknown expression makes the
 * rule conditional, so that it does not appear to match every packet. */
void rule_expression(struct rule_reader *reader, const char *name, const struct nftnl_expr *expression);

#endif
