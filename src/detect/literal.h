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

/* Maximum length of a literal; longer ones are cut to it. It is limited because only STREAM_BEFORE_MAX bytes before a
 * chunk are available to find a literal that begins in the previous chunk. */
enum { LITERAL_MAX = STREAM_BEFORE_MAX };

/* LITERAL_NEAR: a literal with a fixed offset that ends within the first LITERAL_NEAR bytes of the payload is compared
 * at its offset (anchored.c) instead of searched. LITERAL_ANYWHERE: offset or reach is unknown. */
enum { LITERAL_ANYWHERE = UINT32_MAX, LITERAL_NEAR = 128 };

/* Length to which pattern trimming cuts longer literals of streams and growing buffers, in bytes. */
enum { LITERAL_STREAM_PART = 16 };

enum { LITERAL_STRONG = 18 /* a literal with this strength (six letters) is seldom found by chance */ };

/* The adjacent conditions after a literal that can be decided from its position (precheck.c). */
struct precheck {
    const struct condition *first;
    uint32_t count;
};

/* The conditions on a complete buffer that are evaluated as soon as the literal is found in it (precheck.c). */
struct buffer_precheck {
    const struct condition *content; /* the literal's content, if it is longer or its position is limited; NULL: none */
    const struct condition *size;    /* a condition on the size of the buffer; NULL: none */
};

struct literal {
    const uint8_t *bytes;
    size_t length;
    bool nocase;
    bool is_part;   /* true: a part of a longer content */
    bool is_whole;  /* true: the searched buffer is always complete; false: it is a stream or grows */
    bool grows;     /* true: the searched buffer grows (a body, for example) */
    uint32_t at;    /* fixed offset in its buffer; LITERAL_ANYWHERE: none */
    uint32_t reach; /* the literal ends within the first `reach` bytes of the buffer; LITERAL_ANYWHERE: unknown */
    const struct keyword *buffer; /* NULL: payload */
    const struct rule_buffer *rule_buffer;
    const struct condition *condition; /* the content condition */
    struct precheck precheck;          /* used for literals of two bytes in a packet's payload */
    unsigned strength;                 /* the higher, the rarer the literal occurs by chance */
    bool is_chosen;                    /* true: chosen by fast_pattern */
};

/* Chooses the literal by which the prefilter finds the rule: the one marked fast_pattern, unless it is weak or its
 * buffer has few values; otherwise the strongest one. If `of_transaction`, only literals in transaction buffers are
 * considered, otherwise only literals in packet buffers. For a transactional rule, the buffer must belong to one of the
 * `directions` (bits 1 << enum flow_direction). Returns false if the rule has no such literal. */
enum { LITERAL_BOTH_WAYS = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT };
bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out);
/* Chooses a literal in the payload, which is scanned in any case, for a transaction rule. Returns false if the payload
 * has no sufficiently rare literal, or a literal of a transaction buffer is preferred. */
bool literal_choose_payload(const struct rule *rule, struct literal *out);
/* Returns whether literal->length bytes from `bytes` on equal the literal, ignoring case if literal->nocase. */
bool literal_equal(const struct literal *literal, const uint8_t *bytes);
/* Converts an ASCII letter to lower case if `nocase`; Hyperscan's caseless literals fold no other letters. */
uint8_t literal_fold(uint8_t byte, bool nocase);

/* --- trim.c --------------------------------------------------------------------------------------- */

/* Replaces the long literals of a matcher by parts of them. Returns 0 or -ENOMEM. */
int literals_trim(struct literal *const *literals, uint32_t count);

/* --- precheck.c ----------------------------------------------------------------------------------- */

enum { PRECHECK_MAX = 8 };
/* Returns the precheck for a literal of this content condition. Its `count` is 0 if no condition after the literal can
 * be prechecked. */
struct precheck precheck_of(const struct condition *literal);
/* Returns false if a condition of the precheck fails for a literal that ends at offset `end` of the payload (`bytes`,
 * `length`). */
bool precheck_passes(const struct precheck *precheck, const uint8_t *bytes, uint32_t length, uint32_t end);
/* Returns the precheck for a literal, after trimming, of a transaction buffer that is complete when it is scanned. */
struct buffer_precheck buffer_precheck_of(const struct literal *literal);
/* Returns false if a condition of the precheck fails in the buffer. */
bool buffer_precheck_passes(const struct buffer_precheck *precheck, const uint8_t *bytes, uint32_t length);

#endif
