/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside detect: the parts of a ruleset and of a detector.
 *
 *   ruleset.c    builds the snapshot: order of rules, choice of literals, groups
 *   literal.c    which literal of a rule the prefilter looks for
 *   prefilter.c  a Hyperscan database over literals, and the scan that yields candidates
 *   detect.c     a packet's candidates and their evaluation
 *   inspect.c    the conditions on one buffer
 */
#ifndef SLUICE_DETECT_PRIV_H
#define SLUICE_DETECT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/detect.h"
#include "sluice/keyword.h"

/* What the evaluation of a candidate reads, in one cache line; NULL sets are `any`. */
struct check {
    const struct rule *rule;
    const struct address_set *source, *destination;
    const struct port_set *source_port, *destination_port;
    const struct condition *conditions;
    const struct rule_buffer *buffers;
    uint8_t protocol;  /* IPPROTO_*, when one_protocol */
    bool one_protocol; /* otherwise rule->protocol.ip_protocols is asked */
    bool any_protocol;
    bool bidirectional;
    bool ipv4, ipv6;
    bool any_packet; /* packets without an IP header too */
};

/* Traffic is divided by transport, so that UDP is not searched for TCP rules. */
enum traffic { TRAFFIC_TCP, TRAFFIC_UDP, TRAFFIC_OTHER, TRAFFIC_COUNT };

struct check_list {
    uint32_t *index; /* into ruleset.checks, ascending */
    uint32_t count, capacity;
};

struct prefilter;
struct hs_scratch;

/* A buffer other than the payload with a prefilter of its own. */
struct buffer_prefilter {
    const struct keyword *buffer;
    struct prefilter *prefilter;
};

enum { RULESET_MAX_BUFFERS = 64 };

struct ruleset {
    struct rule_list *rules;
    unsigned generation;
    struct check *checks; /* in the order of evaluation */
    uint32_t check_count;

    struct prefilter *payload[TRAFFIC_COUNT];    /* NULL where no rule has a literal */
    struct check_list unfiltered[TRAFFIC_COUNT]; /* rules without a literal, by the traffic they admit */
    struct check_list without_ip;                /* rules that admit packets without an IP header */
    struct check_list *by_event;                 /* per enum decode_event and stream_event: rules that need it */
    struct buffer_prefilter buffers[RULESET_MAX_BUFFERS];
    uint32_t buffer_count;
    bool needs_checksums;
};

struct detector {
    struct hs_scratch *scratch;
    struct pcre_scratch *pcre;
    const struct ruleset *prepared_for;
    uint32_t *candidates; /* indices into checks */
    uint32_t candidate_count;
    uint32_t *seen; /* per check: the packet serial in which it became a candidate */
    uint32_t serial;
    struct hit *hits;
    uint32_t capacity; /* checks that the arrays have room for */
    struct detect_counters counters;
};

/* --- literal.c ----------------------------------------------------------------------------------------------------------- */

struct literal {
    const uint8_t *bytes;
    size_t length;
    bool nocase;
    const struct keyword *buffer; /* NULL: payload */
};

/* The literal by which the rule is found: the one marked fast_pattern, otherwise the strongest. False: it has none. */
bool literal_choose(const struct rule *rule, struct literal *out);

/* --- prefilter.c --------------------------------------------------------------------------------------------------------- */

/* Collects literals, then is compiled once; shared read-only afterwards. */
int prefilter_new(struct prefilter **out);
void prefilter_free(struct prefilter *prefilter);
int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t check);
/* Threads: different prefilters may be compiled at the same time. 0, -ENOMEM, or -EINVAL with the cause in `error`. */
int prefilter_compile(struct prefilter *prefilter, char error[256]);
int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch);
/* Adds to the detector's candidates all checks whose literal occurs in the bytes. */
void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                    uint32_t length);

/* --- detect.c ------------------------------------------------------------------------------------------------------------ */

static inline void detector_add_candidate(struct detector *detector, uint32_t check)
{
    if (detector->seen[check] == detector->serial)
        return;
    detector->seen[check] = detector->serial;
    detector->candidates[detector->candidate_count++] = check;
}

#endif
