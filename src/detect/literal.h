/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Literals: the byte strings by which the prefilter finds rules. literal.c chooses them, trim.c shortens them, and
 * precheck.c evaluates the conditions that follow a two-byte literal.
 */
#ifndef SLUICE_DETECT_LITERAL_H
#define SLUICE_DETECT_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/flow.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/stream.h"

/* --- literal.c ------------------------------------------------------------------------------------ */

/* Longer literals are cut to this length: to find a literal across two chunks, only so many bytes before the second
 * one are available. */
enum { LITERAL_MAX = STREAM_BEFORE_MAX };

/* LITERAL_NEAR: a literal with a fixed offset that ends within this many bytes of the payload is looked up at the
 * offset instead of searched. */
enum { LITERAL_ANYWHERE = UINT32_MAX, LITERAL_NEAR = 128 };

/* Longer literals of streams are cut to this length. */
enum { LITERAL_STREAM_PART = 16 };

enum { LITERAL_STRONG = 18 /* strength of six letters: seldom found by chance */ };

/* The conditions after a literal that its position alone decides. */
struct precheck {
    const struct condition *first;
    uint32_t count;
};

struct literal {
    const uint8_t *bytes;
    size_t length;
    bool nocase;
    bool is_part;   /* of a longer content */
    bool is_whole;  /* the searched buffer is complete (not a stream) */
    bool grows;     /* the searched buffer arrives in parts */
    uint32_t at;    /* offset in its buffer, or LITERAL_ANYWHERE */
    uint32_t reach; /* the literal ends within this many bytes of the buffer; LITERAL_ANYWHERE if unknown */
    const struct keyword *buffer; /* NULL: payload */
    const struct rule_buffer *rule_buffer;
    const struct condition *condition; /* the content condition */
    struct precheck precheck;          /* for the payload of a packet; used for literals of two bytes */
    unsigned strength;                 /* how rarely the literal occurs by chance */
    bool is_chosen;                    /* by fast_pattern */
};

/* Chooses the literal by which the prefilter finds the rule: the one marked fast_pattern, otherwise the strongest one,
 * in a transaction buffer (`of_transaction`) or a packet buffer. For a transactional rule the buffer must belong to one
 * of the directions (bits). Returns false if the rule has no such literal. */
enum { LITERAL_BOTH_WAYS = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT };
bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out);
/* Whether a transaction rule is better found by a literal in the payload, which is scanned in any case. */
bool literal_choose_payload(const struct rule *rule, struct literal *out);
/* Whether the bytes equal the literal; reads literal->length bytes. */
bool literal_equal(const struct literal *literal, const uint8_t *bytes);
/* Converts an ASCII letter to lower case if `nocase`; Hyperscan's caseless literals fold no other letters. */
uint8_t literal_fold(uint8_t byte, bool nocase);

/* --- trim.c --------------------------------------------------------------------------------------- */

/* Cuts the long literals of one matcher to a part. Returns 0 or -ENOMEM. */
int literals_trim(struct literal *const *literals, uint32_t count);

/* --- precheck.c ----------------------------------------------------------------------------------- */

enum { PRECHECK_MAX = 8 };
struct precheck precheck_of(const struct condition *literal);
/* False if the adjacent conditions fail for a literal that ends at offset `end` of the whole payload. */
bool precheck_passes(const struct precheck *precheck, const uint8_t *bytes, uint32_t length, uint32_t end);

#endif
