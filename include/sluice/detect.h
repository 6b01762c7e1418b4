/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detect: finds the rules that match a packet.
 *
 * A ruleset is an immutable snapshot built from a rule_list: Hyperscan databases over the best literal of each rule by
 * buffer and protocol, and lists of the rules that have no literal. A detector is a worker's scratch memory for
 * evaluating a ruleset.
 *
 * One scan of a buffer yields the candidates; the header, packet conditions and buffers of a candidate are then
 * evaluated, cheapest first. A rule that is no candidate costs nothing.
 *
 * Threads:   a ruleset is shared by all workers, read-only; a detector belongs to one worker.
 * Ownership: the ruleset owns its rule_list. Hits are valid until the detector's next packet.
 */
#ifndef SLUICE_DETECT_H
#define SLUICE_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/decision.h"
#include "sluice/diag.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/rule.h"

struct host_table;
struct ruleset;
struct detector;
struct stream;
struct stream_chunk;
struct transfer;
struct replay_order;

/* The default policies of the firewall rules: what happens to a packet or transaction that no rule accepts. */
enum filter_packet_hook { FILTER_PRE_FLOW, FILTER_PRE_STREAM, FILTER_PACKET, FILTER_PACKET_HOOKS };
enum { FILTER_APP_HOOKS = 16 }; /* maximum number of hooks of a direction: APP_MAX_HOOKS */
struct filter_policies {
    struct filter_policy packet[FILTER_PACKET_HOOKS];
    struct filter_policy (*app)[FLOW_DIRECTIONS][FILTER_APP_HOOKS]; /* by id of the protocol */
};

struct ruleset_options {
    enum rule_action action_order[4]; /* ACTION_REJECT stands for the three reject actions */
    unsigned generation;              /* counts reloads; written in events */
    /* The previous ruleset, of another generation: detection state of flows is kept for rules that are in both. Must
     * stay valid until ruleset_new() returns. NULL: none. */
    const struct ruleset *before;
    /* Folder of compiled databases; NULL: none. Errors of the cache are warnings. */
    const char *cache_path;
    uint64_t cache_max_age_seconds; /* unused files are removed after this time; 0: never */
    uint64_t cache_max_bytes;       /* limit for all files; 0: unlimited */
    /* Evaluate the firewall rules, with these default policies, which are copied; NULL: firewall rules are ignored. */
    const struct filter_policies *firewall;
    bool no_databases; /* do not compile databases; for ruleset_analyse() only */
};

/* Builds the ruleset from `rules`, a finished rule_list, which the ruleset owns on success. Returns 0, -ENOMEM, or
 * -EINVAL with `diag`. */
int ruleset_new(struct ruleset **out, struct rule_list *rules, const struct ruleset_options *options,
                struct diag *diag);
void ruleset_free(struct ruleset *ruleset);
const struct rule_list *ruleset_rules(const struct ruleset *ruleset);
unsigned ruleset_generation(const struct ruleset *ruleset);
uint64_t ruleset_loaded_ns(const struct ruleset *ruleset); /* realtime at which the ruleset was built */
/* Number of Hyperscan databases, and how many of them were read from the cache. */
struct ruleset_databases {
    unsigned count, cached;
};
struct ruleset_databases ruleset_databases(const struct ruleset *ruleset);
/* Returns what the rules need to know of files and messages, as bits RULE_FILE_*, RULE_MESSAGE_MD5, RULE_TX_START. */
unsigned ruleset_file_needs(const struct ruleset *ruleset);
/* Returns the types of frames that rules select, for the protocol with this id: a bit set for app_set_frames(). */
uint16_t ruleset_frame_types(const struct ruleset *ruleset, unsigned protocol);
/* Whether a rule uses conntrack data of packets (ctmark, ctstate). */
bool ruleset_needs_conntrack(const struct ruleset *ruleset);
/* Whether a rule uses checksums (tcpv4-csum etc.): decode_check_checksums() must then be called before detection. */
bool ruleset_needs_checksums(const struct ruleset *ruleset);

/* Returns how many rules need acknowledgments: they can match a TCP segment of an established connection without
 * payload and with no flag but ACK, or depend on the number of such segments. Firewall rules are not included: they are
 * evaluated for each packet of a flow that they have not accepted. */
size_t ruleset_acknowledgment_count(const struct ruleset *ruleset);
/* Returns one of these rules; `number` is less than their count. */
const struct rule *ruleset_acknowledgment_rule(const struct ruleset *ruleset, size_t number);

/* Whether firewall rules are evaluated, and whether the hook has rules or a policy other than accept:hook. */
bool ruleset_has_firewall(const struct ruleset *ruleset);
bool ruleset_filters(const struct ruleset *ruleset, enum filter_packet_hook hook);
/* Returns the hooks for which detect_hook() has rules to evaluate, as bits 1 << enum filter_packet_hook. `firewall`:
 * the firewall rules are evaluated. */
unsigned ruleset_hooks(const struct ruleset *ruleset, bool firewall);

/* Writes how a rule of the ruleset is compiled as members of the open JSON object, for `sluice analyse`. */
struct text;
void ruleset_analyse(const struct ruleset *ruleset, const struct rule *rule, struct text *out);

/* Time limits for the evaluation of rules. Rules are timed only if rule_ns or `measure` is set. */
enum budget_suspend {
    SUSPEND_NONE,
    SUSPEND_ALERTS, /* rules that only alert */
    SUSPEND_ALL,
};
struct budget_options {
    bool measure;       /* time the rules even if rule_ns is 0 */
    uint64_t packet_ns; /* for all rules on one packet, checked by the worker; 0: unlimited */
    uint64_t rule_ns;   /* for one evaluation of a rule; 0: unlimited */
    enum budget_suspend suspend;
    uint32_t suspend_count; /* evaluations over the budget within window_ns that suspend a rule for suspend_ns */
    uint64_t window_ns, suspend_ns;
    uint64_t (*clock)(void); /* NULL: clock_monotonic_ns */
};

/* Options of a detector, which is the scratch memory of one worker. */
struct detector_options {
    uint32_t pcre_match_limit, pcre_depth_limit;
    bool limits_match; /* a drop or reject rule whose evaluation reaches a work limit matches */
    uint32_t stream_inspection_window[FLOW_DIRECTIONS]; /* bytes before a chunk that stream keeps for the inspection
                                                           window; must be stream's value */
    bool guess_transactions;   /* alerts of rules without transaction conditions (except address-only rules) get the
                                  current transaction; false: only over UDP, for rules of an application protocol */
    uint8_t guess_limit;       /* maximum number of alerts that guess_transactions gives the same transaction */
    size_t flow_memcap;        /* bytes for pending candidates */
    size_t transaction_memcap; /* bytes for detection state of transactions */
    struct budget_options budget;
};
extern const struct setting detector_settings[]; /* for struct detector_options */
/* detector_new() creates a detector, detector_prepare() allocates its scratch memory for a ruleset. Return 0 or
 * -ENOMEM. */
int detector_new(struct detector **out, const struct detector_options *options);
int detector_prepare(struct detector *detector, const struct ruleset *ruleset);
/* Allocates the scratch memory that a detector needs for a ruleset, for detector_switch(); may be called by any thread.
 * Returns 0 or -ENOMEM. */
struct detector_memory;
int detector_memory_new(struct detector_memory **out, const struct ruleset *ruleset);
void detector_memory_free(struct detector_memory *room); /* NULL is allowed */
/* Switches the detector to the ruleset of `room`, between two packets; allocates nothing. `room` then holds the
 * detector's previous memory, which the caller frees. */
void detector_switch(struct detector *detector, struct detector_memory *room);
void detector_trim(
    struct detector *detector); /* gives memory that is no longer in use back to the kernel: pool_trim() */
void detector_free(struct detector *detector);

/* How firewall rules are evaluated. */
enum detect_filter {
    DETECT_FILTER_OFF,
    DETECT_FILTER_ENFORCE,
    DETECT_FILTER_OBSERVE, /* a decision to drop is recorded, and the evaluation continues (alert-only) */
};

/* Input of the inspection of a packet; all members except the packet may be NULL. */
struct detect_input {
    struct packet *packet;
    struct stream *stream;    /* holds the TCP session of the packet's flow; read for the bytes before a chunk */
    struct flow_table *flows; /* holds the flow's variables */
    struct host_table *hosts;
    struct replay_order *order;
    struct file_engine *files; /* file engine of the application protocols; NULL: none */
    enum detect_filter filter;
    bool filter_only; /* evaluate the firewall rules only: the flow was passed */
    bool is_inline;   /* streams are inspected before they are forwarded: stream_options.inline_mode */
    bool at_end;      /* no more bytes of the stream will come */
    /* Counts a match of a firewall rule with detection_filter; returns whether the rule takes effect. NULL: all do. */
    bool (*reaches_filter)(void *user, const struct rule *rule, const struct packet *packet);
    void *filter_user;
};

/*
 * Inspects a packet: detect_packet(), then detect_chunk() for each further chunk of its stream, each chunk followed by
 * detect_reading() for its alternative readings, then detect_finish(). Before each call, the application parser must
 * have parsed the chunk, so that the flow's transactions are up to date; the direction is that of the packet's flags at
 * the call.
 *
 * Rules that match execute their actions (flowbits:set) at once. Thresholds, suppressions and noalert are applied by
 * the policy module.
 */
/* Evaluates the rules of a hook that precedes detect_packet(), FILTER_PRE_FLOW or FILTER_PRE_STREAM. Returns false if
 * firewall rules decide that the packet is to be dropped: then detect_packet() must not be called. */
bool detect_hook(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                 enum filter_packet_hook hook);
/* Evaluates the rules for the packet and the first chunk of its stream (NULL: no new stream data). `in` must be valid
 * until detect_finish(). A pseudo packet (PACKET_PSEUDO) is not evaluated itself, only the chunk and transactions. */
void detect_packet(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                   const struct stream_chunk *chunk);
void detect_chunk(struct detector *detector, const struct stream_chunk *chunk);
/* Evaluates the inspection window of the last chunk as another receiver reads it (stream_next_reading()). */
void detect_reading(struct detector *detector, const struct stream_chunk *reading);
/* Returns the number of hits: at most the number of rules and 256 more, for rules that match in several transactions.
 * Hits of an earlier chunk come first. The hits of
 * one chunk are in evaluation order: by action order, then writers of flow bits and other state before readers, then
 * priority, then position. */
size_t detect_finish(struct detector *detector, const struct hit **hits);
/* Returns the number (16 at most) of the rules whose evaluation reached a work limit in the packet. The list is valid
 * until the detector's next packet. */
size_t detector_limited_rules(const struct detector *detector, const struct rule *const **rules);
/* Ends the inspection of a packet after detect_hook(), without detect_packet(): its hits are discarded. */
void detect_abandon(struct detector *detector);
/* Returns the decision of the firewall rules about the packet. */
const struct filter_decision *detector_filter(const struct detector *detector);
/* Returns the texts that matching rules captured in the packet; NULL: none. Valid until the detector's next packet. */
const struct rule_captures *detector_captures(const struct detector *detector);
struct app_detection;
/* Frees the detection state of a transaction, for app_free_completed() and app_flow_free(); `user` is the detector. */
void detect_release_transaction(void *user, struct app_detection *detection);
/* Frees the detection state of a flow that ends. */
void detect_flow_end(struct detector *detector, struct flow *flow);

/* Transfers detection state to another process (sluice/transfer.h); rules are identified by their ids and a digest of
 * their text. `checks`, the signatures of the ruleset, is created once for many flows. */
struct app_tx;
struct detect_signatures;
int detect_signatures_new(struct detect_signatures **out, const struct ruleset *ruleset); /* 0 or -ENOMEM */
void detect_signatures_free(struct detect_signatures *checks);                            /* NULL is allowed */
void detect_transfer_flow(struct transfer *t, struct detector *detector, const struct detect_signatures *checks,
                          struct flow *flow);
/* Transfers the detection state of a transaction. When reading, `tx` must have been restored with its buffers
 * before. */
void detect_transfer_transaction(struct transfer *t, struct detector *detector, const struct detect_signatures *checks,
                                 struct app_tx *tx);

/* Transfers how far firewall rules have accepted a flow and its transactions, which must have been restored before. */
void detect_transfer_filter(struct transfer *t, struct flow *flow);

struct detect_counters {
    uint64_t scans, bytes_scanned; /* by the prefilter */
    uint64_t candidates, evaluations, matches;
    uint64_t waiting;                  /* pending candidates that were stored */
    uint64_t flow_memcap_hits;         /* candidates that could not be stored: the stream is scanned again instead */
    uint64_t pcre_limits;              /* pairs of rule and packet in which a pcre reached a PCRE2 limit */
    uint64_t step_limits;              /* pairs of rule and packet in which the limit of inspection steps was reached */
    uint64_t transform_limits;         /* pairs of rule and packet in which a transform had no scratch memory */
    uint64_t limit_matches;            /* evaluations that counted as a match because of a limit */
    uint32_t limited_gid, limited_sid; /* the last rule that reached a limit */
    uint64_t over_budget;              /* evaluations that exceeded the rule budget */
    uint64_t suspended;                /* number of suspensions */
    struct script_counts scripts;
};
const struct detect_counters *detector_counters(const struct detector *detector);
/* Returns the name of a counter in statistics, and sets *value; NULL: there is no counter of this index. */
const char *detect_counter_get(const struct detect_counters *counters, size_t index, uint64_t *value);
/* Reads the next error or message of a script that was not read yet; false: there is none. Called by one thread other
 * than the worker. */
bool detector_next_script_report(struct detector *detector, struct script_report *out);

/* Evaluation cost of a rule; written by the worker, readable by any thread. Indexed by rule number; rules with numbers
 * from BUDGET_MAX_RULES on are not timed. */
enum { BUDGET_MAX_RULES = 1 << 18 };
struct rule_cost {
    _Atomic uint64_t evaluations, total_ns, max_ns, over; /* over: evaluations that exceeded the rule budget */
    _Atomic uint64_t
        suspended_until_ns; /* time, by budget_options.clock, at which the suspension ends; 0: never suspended */
    uint64_t window_ns;     /* start of the current window; it and window_count are used by the worker only */
    uint32_t window_count;
};
/* Returns the cost of a rule; NULL for rules that are not timed: number 0, numbers from BUDGET_MAX_RULES on, and all
 * rules if rules are not timed (struct budget_options). */
const struct rule_cost *detector_cost(const struct detector *detector, uint32_t number);
/* Cost of a search: of a Hyperscan database in its use for one buffer and group of traffic. Measured with the costs of
 * rules, and written by the worker; any thread may read it. Searches with numbers from BUDGET_MAX_SEARCHES on are not
 * measured. */
enum { BUDGET_MAX_SEARCHES = 4096 };
struct search_cost {
    _Atomic uint64_t scans, bytes, candidates; /* candidates: rules whose literal the search found */
};
/* Returns the cost since the ruleset is in use; NULL: not measured, or the detector uses another ruleset. */
const struct search_cost *detector_search_cost(const struct detector *detector, const struct ruleset *ruleset,
                                               uint32_t number);
/* Number of searches of the ruleset; they are numbered from 0 on. */
uint32_t ruleset_search_count(const struct ruleset *ruleset);
/* Writes what a search searches, for which traffic, and its literals as members of the open JSON object. */
void ruleset_describe_search(const struct ruleset *ruleset, uint32_t number, struct text *out);
bool detector_is_timed(const struct detector *detector);
/* Reads the next rule suspension that was not read yet; false: there is none. Called by one thread other than the
 * worker. */
struct rule_suspension {
    uint32_t gid, sid, number;
    uint64_t until_ns;
};
bool detector_next_suspension(struct detector *detector, struct rule_suspension *out);

#endif
