/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detect: which rules match a packet.
 *
 * A ruleset is an immutable snapshot built from a rule_list: Hyperscan databases over each rule's best literal by
 * buffer and protocol, and lists of the rules that have no literal. A detector is a worker's scratch for it.
 *
 * One pass over a buffer yields the candidates; a candidate's header, packet conditions and buffers are then evaluated,
 * cheapest first. A rule that did not become a candidate costs nothing.
 *
 * Threads:   a ruleset is shared by all workers, read only; a detector belongs to one worker.
 * Ownership: the ruleset owns its rule_list. Hits are lent until the detector's next packet.
 */
#ifndef SLUICE_DETECT_H
#define SLUICE_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/decision.h"
#include "sluice/diag.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/rule.h"

struct host_table;
struct ruleset;
struct detector;
struct stream;
struct stream_view;
struct transfer;
struct turn;

struct ruleset_options {
    enum rule_action action_order[4]; /* default: pass, drop, reject, alert; ACTION_REJECT stands for all three */
    unsigned generation;              /* of the reload, for events */
    /* The ruleset whose place it takes, of another generation: what flows remember of rules that are in both goes on.
     * Lent until ruleset_new() returns. NULL: none. */
    const struct ruleset *before;
    /* A folder of databases that were compiled before; NULL for none. What is wrong with it is a warning. */
    const char *cache_path;
    uint64_t cache_max_age_seconds; /* a file that nobody used for so long is removed; 0: never */
    uint64_t cache_max_bytes;       /* of all files; 0: any */
};
void ruleset_options_default(struct ruleset_options *options);

/* Builds the snapshot; `rules` is finished and is owned by the ruleset on success. 0, -ENOMEM, -EINVAL with `diag`. */
int ruleset_new(struct ruleset **out, struct rule_list *rules, const struct ruleset_options *options,
                struct diag *diag);
void ruleset_free(struct ruleset *ruleset);
const struct rule_list *ruleset_rules(const struct ruleset *ruleset);
unsigned ruleset_generation(const struct ruleset *ruleset);
/* How many databases it has, and how many of them were read from the cache. */
struct ruleset_databases {
    unsigned count, cached;
};
struct ruleset_databases ruleset_databases(const struct ruleset *ruleset);
/* What its rules want to know of files and messages: RULE_FILE_..., RULE_MESSAGE_MD5 */
unsigned ruleset_file_needs(const struct ruleset *ruleset);
/* Whether a rule asks what the kernel's connection tracking says of packets (ctmark, ctstate). */
bool ruleset_needs_conntrack(const struct ruleset *ruleset);
/* Whether a rule asks for checksums (tcpv4-csum and kin): then decode_check_checksums() is called before detection. */
bool ruleset_needs_checksums(const struct ruleset *ruleset);

/* What the evaluation of a rule may cost. Nothing is timed without. */
enum budget_suspend {
    SUSPEND_NONE,
    SUSPEND_ALERTS, /* rules that do no more than alert */
    SUSPEND_ALL,
};
struct budget_options {
    bool measure;     /* time the rules in any case */
    uint64_t rule_ns; /* 0: any */
    enum budget_suspend suspend;
    uint32_t
        suspend_count; /* evaluations over the budget in window_ns, after which a rule is not asked for suspend_ns */
    uint64_t window_ns, suspend_ns;
    uint64_t (*clock)(void); /* NULL: clock_monotonic_ns */
};

/* Scratch for one worker; made anew, or grown, for each ruleset. 0 or -ENOMEM. */
struct detector_options {
    uint32_t pcre_match_limit, pcre_depth_limit;
    bool limits_match; /* a drop or reject rule whose evaluation reaches a limit of work matches */
    uint32_t stream_window[FLOW_DIRECTIONS]; /* bytes of history that the stream keeps, as there */
    bool guess_transactions;                 /* for alerts of rules that name no protocol, too */
    uint8_t guess_limit;                     /* alerts of such rules that one transaction is added to */
    size_t flow_memcap;                      /* bytes for candidates that wait for more of their stream */
    size_t transaction_memcap;               /* bytes for what is remembered of transactions */
    struct budget_options budget;
};
void detector_options_default(struct detector_options *options);
int detector_new(struct detector **out, const struct detector_options *options);
int detector_prepare(struct detector *detector, const struct ruleset *ruleset);
/* The same made aside, by any thread: what a detector needs for a ruleset. 0 or -ENOMEM. */
struct detector_room;
int detector_room_new(struct detector_room **out, const struct ruleset *ruleset);
void detector_room_free(struct detector_room *room); /* NULL is allowed */
/* Between two packets; takes no memory. What the detector had before is in the room now, for its owner to free. */
void detector_move(struct detector *detector, struct detector_room *room);
void detector_free(struct detector *detector);

/* What a packet is inspected with; all but the packet may be NULL. */
struct detect_input {
    struct packet *packet;
    struct stream *stream;    /* the packet's flow has its session here */
    struct flow_table *flows; /* where the flow's variables live */
    struct host_table *hosts;
    struct turn *turn;
    struct file_engine *files; /* of the application protocols; NULL without them */
    /* Optional: is given each view of the stream before its rules are asked, so that the transactions know what they
     * are asked about. */
    void (*on_view)(void *user, const struct stream_view *view);
    void *user;
    bool flow_ends; /* the packet stands for the end of its flow: the stream gives all that is left */
};

/*
 * The rules that match, in order of evaluation: by action order, then writers of flow bits and kin before readers, then
 * priority, then position. At most as many as the ruleset has. Takes from the stream what there is to inspect in the
 * packet's direction. Actions of rules that matched (flowbits:set) are done. Thresholds, suppressions and noalert are
 * policy's business, not looked at here.
 */
size_t detect_packet(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                     const struct hit **hits);
/* The rules whose evaluation reached a limit of work in the packet; how many (16 at most). Lent until the detector's
 * next packet. */
size_t detector_limited(const struct detector *detector, const struct rule *const **rules);
/* What rules that matched took out of the packet; NULL for nothing. Lent until the detector's next packet. */
const struct rule_captures *detector_texts(const struct detector *detector);
struct app_detection;
/* For app_tidy() and app_end(): gives back what was remembered of a transaction; `user` is the detector. */
void detect_release_transaction(void *user, struct app_detection *detection);
/* Forgets what was remembered of a flow that ends. */
void detect_flow_end(struct detector *detector, struct flow *flow);

/* To another process (sluice/transfer.h): what is remembered of rules, by their ids and texts. `checks` is made once
 * for many. */
struct app_tx;
struct detect_checks;
int detect_checks_new(struct detect_checks **out, const struct ruleset *ruleset); /* 0 or -ENOMEM */
void detect_checks_free(struct detect_checks *checks);                            /* NULL is allowed */
void detect_transfer_flow(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                          struct flow *flow);
/* Reading: of a transaction that was made again, with the same buffers. */
void detect_transfer_transaction(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                                 struct app_tx *tx);

struct detect_counters {
    uint64_t scans, bytes_scanned;
    uint64_t scans_recalled; /* of short buffers that were like one before */
    uint64_t candidates, evaluations, matches;
    uint64_t waiting;                  /* candidates that were put off until more of the stream is there */
    uint64_t flow_memcap_hits;         /* there was no memory for it: the stream is scanned again instead */
    uint64_t pcre_limits;              /* rules and packets, in which a pcre reached a limit of PCRE2 */
    uint64_t step_limits;              /* the same for the steps of the walk over contents */
    uint64_t limit_matches;            /* those that counted as a match */
    uint32_t limited_gid, limited_sid; /* the last of these rules */
    uint64_t over_budget;              /* evaluations that took longer than the budget of a rule */
    uint64_t suspended;                /* rules, times */
};
const struct detect_counters *detector_counters(const struct detector *detector);

/* What rules cost, by their numbers; written by the worker, read by anybody. */
enum { BUDGET_MAX_RULES = 1 << 18 };
struct rule_cost {
    _Atomic uint64_t evaluations, total_ns, max_ns, over;
    _Atomic uint64_t suspended_until_ns; /* by the budget's clock; 0: never */
    uint64_t window_ns;                  /* the worker's, as the next one */
    uint32_t window_count;
};
/* NULL for rules that are not timed: without a budget all, otherwise number 0 and those past BUDGET_MAX_RULES. */
const struct rule_cost *detector_cost(const struct detector *detector, uint32_t number);
bool detector_is_timed(const struct detector *detector);
/* For one other thread: the rules that were suspended, one after the other. */
struct rule_suspension {
    uint32_t gid, sid, number;
    uint64_t until_ns;
};
bool detector_next_suspension(struct detector *detector, struct rule_suspension *out);

#endif
