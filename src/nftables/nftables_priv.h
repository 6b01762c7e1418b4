/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the nftables module: sets, and the reader of a rule's expressions. */
#ifndef SLUICE_NFTABLES_PRIV_H
#define SLUICE_NFTABLES_PRIV_H

#include <stdio.h> /* libnftnl needs FILE */

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
    struct nftables_element *elements; /* of anonymous sets and verdict maps; at most NFTABLES_ELEMENTS */
};

/* Returns NULL when the table has no such set. */
struct netrules_set *nftables_find_set(const struct netrules_table *table, const char *name);

/* Translates the code of a verdict (NF_*, NFT_*); false when it is unknown. */
bool nftables_verdict_of(uint32_t code, enum netrules_verdict *out);

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
    struct netrules_builder builder;
    struct operand registers[REGISTERS];
};

/* Handles one expression of nf_tables; NULL when libnftnl cannot parse it. An unknown expression is a condition, so
 * that the rule does not appear to match every packet. */
void rule_expression(struct rule_reader *reader, const char *name, const struct nftnl_expr *expression);

#endif
