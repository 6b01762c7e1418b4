/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The detector (the memory that a worker needs to evaluate rules), and the evaluation of a packet.
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
#include "budget.h"
#include "candidates.h"
#include "pending.h"
#include "ruleset_priv.h"
#include "search.h"
#include "transaction_priv.h"

/* The memory of a detector whose size depends on the ruleset: allocated before a reload, and moved to the fields of
 * struct detector with the same names. */
enum { DETECT_MORE_HITS = 256 }; /* hits in further transactions of a packet, in addition to one hit per rule */
struct detector_memory {
    const struct ruleset *prepared_for;
    struct hs_scratch *scratch;
    struct candidates candidates;
    uint32_t *hit_signatures;
    struct hit *hits;
    uint32_t capacity;
    struct script_states *scripts;
};

/* Result of a scan with the merged database: matches in the growing buffer whose new bytes are also the last bytes of
 * the stream chunk. */
enum { MERGED_MAX = 256 };
struct merged_match {
    uint32_t signature, reach, end; /* see struct pattern_target; `end`: offset in `bytes` at which the literal ends */
};
struct merged_scan {
    const struct prefilter *growing; /* prefilter of the growing buffer; NULL: there was no merged scan, or it had more
                                        than MERGED_MAX matches */
    const uint8_t *bytes;            /* new bytes of the growing buffer */
    uint32_t length;
    uint32_t skip;   /* number of bytes of the chunk before `bytes` */
    bool has_border; /* the border between old and new bytes of the buffer is that of the chunk, and was searched */
    uint32_t count;
    struct merged_match found[MERGED_MAX];
};

/* The properties of a packet that are compared with struct packet_needs. */
struct packet_facts {
    uint64_t properties;
    uint32_t payload_length;
    uint8_t protocol;
};

/* Result of the last comparison of the packet's addresses and ports with the sets of a signature. */
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
    struct header_match header_matches[2]; /* last results; index 1: source and destination swapped */
    const struct stream_chunk *chunk;      /* NULL: no new stream data */
    bool chunk_only;  /* only stream data is evaluated: the packet was evaluated before, or is a pseudo packet */
    bool is_reversed; /* a datagram of ambiguous direction is evaluated for the second direction */
    bool is_filtered; /* firewall rules are not evaluated any more: they accepted the packet or the flow */
    bool is_passed;   /* no rules but firewall rules are evaluated */
    bool is_refused;  /* firewall rules drop the packet: no other rules are evaluated */
    bool is_rescan;   /* candidates may have matched before: a match counts only if it includes bytes of the chunk */
};

enum { PAYLOAD_SEEN = 64, LIMITED_MAX = 16, DEFERRED_MAX = 32 };

/* FRAME_WINDOW: bytes before the new ones of a frame that are inspected again, as in Suricata. FRAME_PIECE_MAX: maximum
 * number of bytes of a frame that are inspected at once. FRAME_HITS: frames of a packet for which hits have
 * struct frame_facts. FRAME_PAYLOADS: bytes of all payloads of these. */
enum { FRAME_WINDOW = 2500, FRAME_PIECE_MAX = 64 << 10, FRAME_HITS = 256, FRAME_PAYLOADS = 64 << 10 };

struct detector {
    struct evaluation evaluation; /* of the current packet; valid from detect_packet() to detect_finish() */
    struct hs_scratch *scratch;
    struct pcre_scratch *pcre;
    struct inspect_limits limits; /* limits of the rule that is being evaluated */
    bool limits_match; /* true (detect.limit-policy: match): in drop and reject rules, a buffer in which a limit is
                          reached counts as matched; false: it does not match in any rule */
    const struct rule *limited[LIMITED_MAX]; /* rules that reached a limit in the current packet */
    uint32_t limited_count;
    const struct ruleset *prepared_for;
    struct candidates candidates;
    struct hit *hits;
    uint32_t *hit_signatures; /* signature index of each hit */
    uint32_t hit_count;
    uint32_t capacity;                      /* size of the arrays hits and hit_signatures */
    struct pool *pending;                   /* of struct flow_detection */
    struct pool *transactions;              /* of struct app_detection */
    struct app_detection transaction_state; /* state of a transaction that has no stored state yet */
    struct transform_scratch *transforms;
    struct script_states *scripts;         /* NULL: no rule has a script */
    struct script_reports *script_reports; /* errors and messages of the scripts */
    uint32_t payload_seen[PAYLOAD_SEEN];   /* signatures of transaction rules whose literal is in the packet or in the
                                              stream's inspection window */
    uint32_t payload_seen_count;
    uint32_t deferred[DEFERRED_MAX]; /* rules that become candidates if a candidate may set a variable of the flow */
    uint32_t deferred_count;
    bool payload_seen_more;        /* true: the list overflowed, so all rules of by_payload are candidates */
    struct rule_captures captured; /* texts captured by the current rule, which may still fail to match */
    struct rule_captures texts;    /* texts captured by rules that matched the packet */
    uint32_t stream_inspection_window[FLOW_DIRECTIONS]; /* length of the window that rules inspect, in bytes */
    bool guess_transactions;                            /* detect.guess-applayer-tx */
    uint8_t guess_limit;                                /* detect.stream-tx-log-limit: alerts per transaction */
    const uint8_t *payload;                             /* payload of the current packet */
    uint32_t payload_length;
    struct detect_counters counters;
    struct budget *budget;         /* NULL: rules are not timed */
    struct merged_scan merged;     /* result for the current chunk */
    struct filter_decision filter; /* decision of the firewall rules about the current packet */
    const struct packet *begun;    /* packet for which detect_hook() was called; NULL: none */
    uint8_t *frame_bytes;          /* FRAME_PIECE_MAX bytes: the part of a frame that is inspected */
    uint8_t *frame_payloads;       /* FRAME_PAYLOADS bytes: payloads of the entries of `frames` */
    uint32_t frame_payloads_length;
    uint32_t frame_count;                  /* number of entries of `frames` in use */
    struct frame_facts frames[FRAME_HITS]; /* frames of the current packet in which rules matched */
};

/* --- collect.c ------------------------------------------------------------------------------------ */

/* These functions add candidates to the detector. */
void collect_packet(struct evaluation *ev);
/* Adds the rules that require the packet event `event`. */
void collect_event(struct evaluation *ev, unsigned event);
void collect_chunk(struct evaluation *ev);
/* Searches the whole inspection window again, for a flow whose pending candidates could not be stored (FLOW_RESCAN). */
void collect_window(struct evaluation *ev);
/* Adds rules on variables of a flow that has none, if one of the candidates may set some. */
void collect_deferred(struct evaluation *ev);
void collect_reading(struct evaluation *ev); /* ev->chunk is an alternative reading */

/* --- evaluate.c ----------------------------------------------------------------------------------- */

/* Evaluates the candidates in order. A candidate that matches becomes a hit, and its actions are executed. */
void evaluate_candidates(struct evaluation *ev);

/* The following functions are used for packet rules and for transaction rules. The bool functions return whether the
 * conditions hold. */
bool evaluate_header(struct evaluation *ev, const struct signature *signature);
/* Prepares the inspection of a rule's buffers. */
void inspection_init(struct inspection *inspection, const struct evaluation *ev);
bool evaluate_packet_conditions(struct evaluation *ev, const struct signature *signature);
bool evaluate_payload(struct evaluation *ev, const struct signature *signature, struct inspection *inspection,
                      const struct condition *conditions);
/* Returns whether the conditions on a packet buffer hold after its transforms. If the packet does not have the buffer,
 * returns whether the rule accepts its absence. If a transform has no memory, detect.limit-policy decides. */
bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer);
/* Called before and after the evaluation of a rule's buffers: evaluate_begin_limits() clears the set of reached limits,
 * evaluate_end_limits() counts the limits that the rule has reached. */
void evaluate_begin_limits(struct detector *detector, const struct rule *rule);
void evaluate_end_limits(struct detector *detector, const struct rule *rule);
/* Adds a hit of a rule that matched the packet, and executes its actions. Returns false if the rule had a hit. */
bool evaluate_hit(struct evaluation *ev, uint32_t index);
void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx);
/* As evaluate_hit() for a rule that matched in a frame. `edge`: offset before which the stream has arrived. */
void evaluate_frame_hit(struct evaluation *ev, uint32_t index, const struct app_frame *frame, uint64_t edge);
void evaluate_sort(struct detector *detector);
/* Prefetches the data that the evaluation of the first 32 candidates reads first. */
void evaluate_prefetch(const struct evaluation *ev);

/* Sets the transaction on which a condition or an action is evaluated next. */
static inline void match_enter_transaction(struct match_input *in, struct app_tx *tx, enum flow_direction direction)
{
    in->transaction = tx;
    in->direction = direction;
    in->bits = &tx->bits;
}

/* --- transaction.c -------------------------------------------------------------------------------- */

/* Evaluates a rule on a transaction, in the direction of the packet. Returns OUTCOME_LATER if it depends on data that
 * has not arrived. */
enum outcome { OUTCOME_NO, OUTCOME_YES, OUTCOME_LATER };
enum outcome transaction_match(struct evaluation *ev, struct app_tx *tx, uint32_t index);

/* Evaluates the rules on transactions that have new data in the packet's direction. `first`: first entry of the list of
 * these transactions. */
void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first);
static inline void detect_transactions(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    struct app_tx *first = flow && flow->app ? app_transaction_list(flow, APP_TX_UNINSPECTED + ev->direction) : NULL;

    if (first) /* most packets have none */
        detect_unseen_transactions(ev, first);
}

/* --- frame.c -------------------------------------------------------------------------------------- */

/* Evaluates the rules on frames of the packet's direction that have new bytes; ruleset->frames is not NULL. */
void detect_listed_frames(struct evaluation *ev);
static inline void detect_frames(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;

    if (flow && flow->app && app_has_frames(flow, ev->direction))
        detect_listed_frames(ev);
}

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

/* Returns false if the packet cannot match a rule with these needs. */
static inline bool needs_met(const struct packet_needs *needs, const struct packet_facts *facts)
{
    return (facts->properties & needs->properties_mask) == needs->properties &&
           facts->payload_length >= needs->payload_low && facts->payload_length <= needs->payload_high &&
           facts->protocol >= needs->protocol_low && facts->protocol <= needs->protocol_high;
}

#endif
