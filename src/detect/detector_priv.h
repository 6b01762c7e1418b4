/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The detector, which is the scratch memory of a worker, and the evaluation of a packet with it.
 */
#ifndef SLUICE_DETECT_DETECTOR_PRIV_H
#define SLUICE_DETECT_DETECTOR_PRIV_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/keyword.h"
#include "sluice/pool.h"
#include "sluice/stream.h"
#include "ruleset_priv.h"
#include "search.h"
#include "transaction_priv.h"

struct budget;

/* The part of a detector that depends on the ruleset; the fields correspond to those of struct detector. */
struct detector_memory {
    const struct ruleset *prepared_for;
    struct hs_scratch *scratch;
    uint32_t *candidates, *seen, *hit_signatures;
    struct hit *hits;
    uint32_t capacity;
};

/* Result of a scan with the merged pattern database for the growing buffer whose new bytes are the end of the stream
 * chunk. */
enum { MERGED_MAX = 256 };
struct merged_match {
    uint32_t signature, reach, end; /* copies of the matcher's values; offset in the bytes at which the literal ends */
};
struct merged_scan {
    const struct prefilter
        *growing;         /* prefilter of the literals; NULL: no such scan, or more matches than the list holds */
    const uint8_t *bytes; /* of the buffer */
    uint32_t length;
    uint32_t skip; /* bytes of the chunk that precede them */
    uint32_t count;
    struct merged_match found[MERGED_MAX];
};

/* The properties of a packet that struct packet_needs restricts. */
struct packet_facts {
    uint32_t flags, payload_length;
    uint8_t protocol, tcp_flags;
};

/* Result of the last comparison of the packet's addresses and ports with those of a signature. */
struct header_match {
    const struct signature *signature; /* NULL: none was compared yet */
    bool match;
};

/* The evaluation of a packet, of a chunk of its stream, or of an alternative reading of a chunk. */
struct evaluation {
    struct detector *detector;
    const struct ruleset *ruleset;
    const struct detect_input *input;
    struct match_input match;
    struct packet_facts facts;
    enum flow_direction direction;
    struct header_match header_matches[2]; /* the last results; index 1: source and destination swapped */
    const struct stream_chunk *chunk;      /* NULL: no new stream data */
    bool chunk_only;                       /* the packet itself is already evaluated, or there is none */
    bool is_reversed;                      /* a datagram is evaluated for its opposite direction */
    bool is_rescan; /* the literals of the candidates precede the chunk: only a match that the chunk completes is new */
};

enum { PAYLOAD_SEEN = 64, LIMITED_MAX = 16 };

struct detector {
    struct evaluation evaluation; /* of the current packet: detect_packet() to detect_finish() */
    struct hs_scratch *scratch;
    struct pcre_scratch *pcre;
    struct inspect_limits limits;            /* of the rule being evaluated */
    bool limits_match;                       /* detect.limit-policy: drop rules match when they reach a limit */
    const struct rule *limited[LIMITED_MAX]; /* rules that reached a limit in the current packet */
    uint32_t limited_count;
    const struct ruleset *prepared_for;
    uint32_t *candidates; /* indices into signatures */
    uint32_t candidate_count;
    uint32_t *seen; /* per signature: the packet serial in which it became a candidate */
    uint32_t serial;
    struct hit *hits;
    uint32_t *hit_signatures; /* signature index of each hit */
    uint32_t hit_count;
    uint32_t capacity;                      /* capacity of the arrays, in signatures */
    struct pool *pending;                   /* struct flow_detection */
    struct pool *transactions;              /* struct app_detection */
    struct app_detection transaction_state; /* of the current transaction */
    struct transform_scratch *transforms;
    uint32_t payload_seen[PAYLOAD_SEEN]; /* signatures of transaction rules whose literal is in the packet or in the
                                            stream's inspection window */
    uint32_t payload_seen_count;
    bool payload_seen_more;        /* the list overflowed */
    struct rule_captures captured; /* captured by the current rule, which may still fail */
    struct rule_captures texts;    /* captured by the rules that matched the packet */
    uint32_t stream_inspection_window[FLOW_DIRECTIONS];
    bool guess_transactions; /* detect.guess-applayer-tx */
    uint8_t guess_limit;
    const uint8_t *payload; /* of the current packet */
    uint32_t payload_length;
    struct detect_counters counters;
    struct budget *budget;     /* NULL: rules are not timed */
    struct merged_scan merged; /* of the current chunk */
};

/* --- budget.c ------------------------------------------------------------------------------------- */

struct budget;
/* *out is NULL if rules are not timed. Returns 0 or -ENOMEM. */
int budget_new(struct budget **out, const struct budget_options *options);
void budget_free(struct budget *budget); /* NULL is allowed */
/* Starts the timer of the first candidate; budget_book() books the elapsed time on a rule and restarts the timer. */
void budget_start(struct budget *budget);
bool budget_allows(const struct budget *budget, const struct rule *rule);
void budget_book(struct detector *detector, const struct rule_list *rules, const struct rule *rule);

/* --- collect.c ------------------------------------------------------------------------------------ */

void collect_packet(struct evaluation *ev);
/* Adds the rules that require one event. */
void collect_event(struct evaluation *ev, unsigned event);
void collect_chunk(struct evaluation *ev);
/* Adds candidates of the whole inspection window that are not collected yet, for a flow whose pending candidates could
 * not be stored. */
void collect_window(struct evaluation *ev);
void collect_reading(struct evaluation *ev); /* for a chunk with is_reading */

/* --- evaluate.c ----------------------------------------------------------------------------------- */

/* Evaluates the candidates in order; those that match become hits, and their actions are executed. */
void evaluate_candidates(struct evaluation *ev);

/* Functions that transaction rules use as well. */
bool evaluate_header(struct evaluation *ev, const struct signature *signature);
/* Prepares the inspection of a rule's buffers. */
void inspection_init(struct inspection *inspection, const struct evaluation *ev);
bool evaluate_packet_conditions(struct evaluation *ev, const struct signature *signature);
bool evaluate_payload(struct evaluation *ev, const struct signature *signature, struct inspection *inspection,
                      const struct condition *conditions);
/* Matches a buffer of the packet after its transforms, including its absence condition. */
bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer);
/* Called before and after the evaluation of a rule's buffers. */
void evaluate_begin_limits(struct detector *detector, const struct rule *rule);
void evaluate_end_limits(struct detector *detector, const struct rule *rule);
void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx);
void evaluate_sort(struct detector *detector);
/* Prefetches the data that the evaluation of the candidates reads first, for all candidates at once. */
void evaluate_prefetch(const struct evaluation *ev);

/* --- transaction.c -------------------------------------------------------------------------------- */

/* Evaluates transactions with data that rules have not inspected yet in the packet's direction, from `first` on. */
void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first);
static inline void detect_transactions(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    struct app_tx *first = flow && flow->app ? app_transaction_list(flow, APP_TX_UNINSPECTED + ev->direction) : NULL;

    if (first) /* most packets have none */
        detect_unseen_transactions(ev, first);
}

/* --- pending.c ------------------------------------------------------------------------------------ */

enum { PENDING_MAX = 20 };

/* State per flow and direction: candidates whose literal was found and whose other conditions are still pending; and
 * rules without a literal that matched bytes still in the inspection window (muted), so that the same bytes do not
 * match twice. */
struct pending_candidate {
    uint64_t until; /* stream offset at which the entry expires */
    uint32_t signature;
    bool muted;
};
struct flow_detection {
    uint32_t generation, count;
    struct pending_candidate list[PENDING_MAX];
};

/* Maps the pending candidates of a flow's direction to this ruleset. */
void pending_update(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset);
/* Called before and after the scan of a chunk. */
void pending_expire(struct evaluation *ev);
void pending_add_candidates(struct evaluation *ev);
/* Stores a candidate of the chunk. */
void pending_add(struct evaluation *ev, uint32_t signature, bool muted);
void pending_remove(struct evaluation *ev, uint32_t signature);
bool pending_is_muted(const struct evaluation *ev, uint32_t signature);

/* --- Packets -------------------------------------------------------------------------------------- */

/*
 * The payload of a tunnel packet is the inner packet, which is inspected separately. UDP tunnels are detected by port
 * and format only, and a program may read the same bytes as another protocol, so their payload is inspected as well.
 * An encrypted payload is not inspected.
 */
static inline bool packet_has_payload(const struct packet *pkt)
{
    if (pkt->payload_length == 0 || (pkt->flags & PACKET_CARRIES_TUNNEL && pkt->protocol != IPPROTO_UDP))
        return false;
    return !pkt->flow || !(pkt->flow->flags & FLOW_ENCRYPTED) || pkt->flow->protocol != pkt->protocol;
}

/* Whether a rule with these needs may match the packet. */
static inline bool needs_met(const struct packet_needs *needs, const struct packet_facts *facts)
{
    return (facts->flags & needs->flags_mask) == needs->flags && facts->payload_length >= needs->payload_low &&
           facts->payload_length <= needs->payload_high && facts->protocol >= needs->protocol_low &&
           facts->protocol <= needs->protocol_high && (facts->tcp_flags & needs->tcp_flags_mask) == needs->tcp_flags;
}

/* --- detect.c ------------------------------------------------------------------------------------- */

/* Clears the candidates. */
void detector_next_serial(struct detector *detector);

/* --- Candidates ----------------------------------------------------------------------------------- */

static inline void detector_add_candidate(struct detector *detector, uint32_t signature)
{
    if (detector->seen[signature] == detector->serial)
        return;
    detector->seen[signature] = detector->serial;
    detector->candidates[detector->candidate_count++] = signature;
}

#endif
