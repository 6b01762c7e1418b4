/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside detect: the parts of a ruleset and of a detector.
 *
 *   ruleset.c    builds the snapshot: choice of literals, groups;  check.c  the checks and their order
 *   group.c      rules by the ports they ask for;  compile.c  their databases, by several threads
 *   cache.c      compiled databases on disk;  cache_file.c  the form of its files
 *   address_index.c  rules by their addresses
 *   literal.c    which literal of a rule the prefilter looks for;  shorten.c  which part of it
 *   prefilter.c  literals by whether their place is known, and the scan that yields candidates
 *   matcher.c    a Hyperscan database over literals;  anchored.c  literals that can be at one place only
 *   grams.c      the same over short buffers;  gram_counts.c  which of their bytes are rare
 *   pairs.c      literals of two bytes in long ones;  follow.c  what follows such a one in its rule
 *   detect.c     the detector, and a packet's way through it
 *   collect.c    a packet's candidates
 *   evaluate.c   whether a candidate matches
 *   transaction_groups.c, transaction.c  rules on transactions of application protocols
 *   waiting.c    candidates that wait for more of their stream
 *   inspect.c    the conditions on one buffer
 */
#ifndef SLUICE_DETECT_PRIV_H
#define SLUICE_DETECT_PRIV_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/detect.h"
#include "sluice/keyword.h"
#include "sluice/pair_places.h"
#include "sluice/pool.h"
#include "sluice/stream.h"

/* Where contents without a buffer keyword are looked for, in TCP. */
enum payload_scope {
    SCOPE_STREAM, /* the stream; the packet when it is not part of one */
    SCOPE_PACKET,
    SCOPE_BOTH, /* either: the rule has offset or depth, which count from the start of both */
};

/*
 * The type of a rule as Suricata derives it from its keywords (`suricata --engine-analysis`). It decides whether drop
 * and pass apply to the packet or to its flow.
 */
enum rule_type {
    RULE_TYPE_IP_ONLY,           /* addresses and ports: flow */
    RULE_TYPE_LIKE_IP_ONLY,      /* the same with negated addresses: flow */
    RULE_TYPE_PROTOCOL_DETECTED, /* app-layer-protocol: packets on which the detection of the protocol finished; flow */
    RULE_TYPE_PACKET,            /* conditions on the packet, decoder events: packet */
    RULE_TYPE_PACKET_STREAM,     /* contents with offset or depth: flow when they match in the stream, else packet */
    RULE_TYPE_STREAM,            /* contents: the same */
    RULE_TYPE_APP_LAYER,         /* an application protocol alone: flow */
    RULE_TYPE_TRANSACTION,       /* transactions of an application protocol: flow */
};

/* What the evaluation of a candidate reads; NULL sets are `any`. */
struct check {
    struct packet_needs needs;
    const struct rule *rule;
    const struct address_set *source, *destination;
    const struct port_set *source_port, *destination_port;
    const struct condition *conditions;
    const struct rule_buffer *buffers;
    uint8_t protocol;  /* IPPROTO_*, when one_protocol */
    bool one_protocol; /* otherwise rule->protocol.ip_protocols is asked */
    bool any_protocol;
    bool bidirectional;
    bool any_ends; /* no address and no port is asked for */
    bool ipv4, ipv6;
    bool any_packet;       /* packets without an IP header too */
    uint8_t scope;         /* enum payload_scope */
    bool has_payload;      /* conditions on the payload */
    bool has_literal;      /* found by a literal in the payload; otherwise evaluated for every view of a stream */
    uint8_t type;          /* enum rule_type */
    bool of_transaction;   /* asked for transactions, by its plans, and not for packets */
    bool transactional;    /* =>: asked in packets to the client; its header is that of packets to the server */
    uint64_t applications; /* bits of ids, one of which is the flow's; 0: any */
    struct transaction_plan *plans;
    bool may_wait;   /* its literal may come before the rest of it */
    bool by_payload; /* of transactions: asked when its literal was seen in the payload */
};

/* Traffic is divided by transport, so that UDP is not searched for TCP rules. */
enum traffic { TRAFFIC_TCP, TRAFFIC_UDP, TRAFFIC_OTHER, TRAFFIC_COUNT };

struct check_list {
    uint32_t *index; /* into ruleset.checks, ascending */
    uint32_t count, capacity;
};

/* Rules that are looked at for every packet of a group: what each needs lies here side by side, so that passing one
 * over costs a few compares. */
struct unfiltered {
    struct packet_needs needs;
    uint32_t check;
    uint64_t applications; /* as the check's */
};
struct unfiltered_list {
    struct unfiltered *entries; /* ascending */
    uint32_t count, capacity;
};

struct cache;
struct prefilter;
struct hs_scratch;

/* A buffer other than the payload with a prefilter of its own. */
struct buffer_prefilter {
    const struct keyword *buffer;
    struct prefilter *prefilter;
};

/* Rules that are looked at for the same packets: those of one direction. */
struct group_side {
    struct prefilter *prefilter;                          /* NULL where no rule has a literal in the payload */
    struct unfiltered_list unfiltered, stream_unfiltered; /* without one; of them those that look into the stream */
};

/* A rule without a direction is in both. Where neither has rules of its own (UDP, mostly) the prefilter is one for
 * both. */
struct rule_group {
    struct group_side to[FLOW_DIRECTIONS];
};

/* --- Transactions --------------------------------------------------------------------------------- */

enum {
    TRANSACTION_BUFFERS = 128,   /* kinds with literals, of a protocol and direction */
    TRANSACTION_VALUES = 1024,   /* of a buffer of which there are several */
    TRANSACTION_CANDIDATES = 24, /* that a transaction remembers in one piece of memory, by direction */
    TRANSACTION_PIECES = 8,
    TRANSACTION_GROWN = 6, /* values that grow */
};

/*
 * How a rule is decided in transactions of one protocol, in one direction.
 *
 * A transactional rule (=>) is decided in the direction to the client, where what lies in the other one is still there,
 * except for what grows. A rule that looks for that has a second plan, a half: all that it asks of the direction to the
 * server. Where that holds it is remembered for the other one.
 */
struct transaction_plan {
    struct transaction_plan *next;
    bool half;
    uint8_t proto, direction;         /* id of the protocol */
    uint8_t progress;                 /* from which on all that does not grow can be read */
    bool grows, files, events;        /* it asks for what may come at any time */
    bool on_event;                    /* it asks for an event to be there */
    bool packet_buffers;              /* some of its buffers have no access */
    const struct app_buffer **access; /* by buffer of the rule; NULL for those of packets */
    uint8_t *condition_progress;      /* by condition on the transaction */
};

struct transaction_buffer {
    const struct app_buffer *access;
    const struct condition *transforms;
    struct prefilter *prefilter; /* its own, or that of the group */
};
struct transaction_unfiltered {
    uint32_t check;
    uint8_t progress;
    bool always; /* whenever the transaction is looked at */
};
struct transaction_group {
    bool has_rules;
    struct transaction_buffer *buffers;
    uint32_t buffer_count;
    struct prefilter
        *growing; /* one for all that grow, as they have the same bytes mostly: http.response_body, file.data */
    uint32_t joined_buffer;   /* the first of those */
    struct prefilter *joined; /* the literals of `growing` and those of any TCP stream; NULL for most */
    struct transaction_unfiltered *unfiltered;
    uint32_t unfiltered_count, unfiltered_capacity;
    uint32_t unfiltered_always; /* the first so many; the others only when the transaction has an event */
    struct check_list by_payload;
};

/* What is remembered of a transaction in one direction. */
struct transaction_candidate {
    uint32_t check;
    uint32_t matched; /* bits: buffers that hold */
    uint16_t files;   /* of the direction, with which it is done: it may match again with one that comes */
    bool done;        /* it matched; kept so that it does not match again */
    bool files_hold;  /* what a transactional rule asks of the files to the server */
};
struct transaction_grown {
    uint64_t to; /* place in the buffer up to which it was scanned */
    uint16_t index;
    uint8_t buffer;
};
struct app_detection {
    struct app_detection *more; /* whose list goes on; of the others only `count` and `more` are used */
    uint32_t generation, count, grown_count;
    uint8_t progress; /* when it was looked at last */
    bool asked, rescan;
    uint64_t scanned[TRANSACTION_BUFFERS / 64];
    struct transaction_grown grown[TRANSACTION_GROWN];
    struct transaction_candidate list[TRANSACTION_CANDIDATES];
};

enum { PORT_TRAFFICS = 2 /* TCP and UDP */, GROUPS_PER_PACKET = 3 };
enum port_end { PORT_DESTINATION, PORT_SOURCE, PORT_ENDS };

enum { RULESET_MAX_BUFFERS = 64, RULESET_MAX_EVENTS = PACKET_EVENT_WORDS * 64 };

/* Where the checks of the ruleset before have gone. */
enum { CARRIED_NOWHERE = UINT32_MAX };
struct carried {
    uint32_t *to; /* by the number of the check there; NULL: there was no ruleset before */
    uint32_t count;
    unsigned generation; /* of the ruleset before */
};

struct ruleset {
    struct rule_list *rules;
    unsigned generation;
    struct carried carried;
    struct check *checks; /* in the order of evaluation */
    uint32_t check_count;

    struct rule_group generic[TRAFFIC_COUNT]; /* rules for any port, by the traffic they admit */
    struct rule_group *groups;                /* rules for some ports; the first is empty */
    uint32_t group_count;
    uint16_t *group_of; /* [traffic][end][port]: index into groups */
    struct check_list ip_only[TRAFFIC_COUNT];
    struct address_index *ip_only_index[TRAFFIC_COUNT]; /* over ip_only */
    struct check_list without_ip;                       /* rules that admit packets without an IP header */
    struct arena *arena;                                /* of plans */
    struct transaction_group *transactions;             /* [id of protocol][direction] */
    struct check_list *by_event;                        /* per event of a packet: rules that need it */
    struct buffer_prefilter buffers[RULESET_MAX_BUFFERS];
    uint32_t buffer_count;
    bool needs_checksums;
    unsigned file_needs; /* of all rules: RULE_FILE_... */
    bool needs_conntrack;
    struct ruleset_databases databases;
    bool scans_packets; /* TCP: a rule with a literal looks at the packet and not only at the stream */
};

/* What of a detector is for one ruleset; the fields are the detector's of that name. */
struct detector_room {
    const struct ruleset *prepared_for;
    struct hs_scratch *scratch;
    uint32_t *candidates, *seen, *hit_checks;
    struct hit *hits;
    uint32_t capacity;
};

/* What a joined scan of a view found for the buffer that has grown by the view's end. */
enum { JOINED_MOST = 256 };
struct joined_found {
    uint32_t check, reach, end; /* as the matcher's; where in the bytes its literal ends */
};
struct joined_scan {
    const struct prefilter *growing; /* whose literals they are; NULL: no such scan, or it found more than finds room */
    const uint8_t *bytes;            /* of the buffer */
    uint32_t length;
    uint32_t skip; /* so much of the view comes before them */
    uint32_t count;
    struct joined_found found[JOINED_MOST];
};

enum { PAYLOAD_SEEN = 64, LIMITED_MAX = 16 };

struct detector {
    struct hs_scratch *scratch;
    struct pcre_scratch *pcre;
    struct inspect_limits limits;            /* of the rule that is evaluated */
    bool limits_match;                       /* detect.limit-policy: rules that drop match at a limit */
    const struct rule *limited[LIMITED_MAX]; /* rules that reached a limit in the current packet */
    uint32_t limited_count;
    const struct ruleset *prepared_for;
    uint32_t *candidates; /* indices into checks */
    uint32_t candidate_count;
    uint32_t *seen; /* per check: the packet serial in which it became a candidate */
    uint32_t serial;
    struct hit *hits;
    uint32_t *hit_checks; /* index of each hit */
    uint32_t hit_count;
    uint32_t capacity;           /* checks that the arrays have room for */
    struct pool *waiting;        /* struct flow_detection */
    struct pool *transactions;   /* struct app_detection */
    struct app_detection memory; /* of the transaction at hand */
    struct transform_scratch *transforms;
    uint32_t payload_seen[PAYLOAD_SEEN]; /* checks of transactions whose literal is in the packet, or in the stream's
                                            window */
    uint32_t payload_seen_count;
    bool payload_seen_more;     /* than there was room for */
    struct rule_captures taken; /* by the rule at hand, which may yet fail */
    struct rule_captures texts; /* of the packet and its hits */
    uint32_t stream_window[FLOW_DIRECTIONS];
    bool guess_transactions; /* for all rules */
    uint8_t guess_limit;
    struct pair_places pairs; /* in the payload of the packet at hand */
    struct detect_counters counters;
    struct budget *budget;     /* NULL: nothing is timed */
    struct joined_scan joined; /* of the view at hand */
    struct scan_memo *memo;
    bool is_noting; /* candidates are put down in it, too */
};

/* Of a packet: what rules ask for in struct packet_needs. */
struct packet_facts {
    uint32_t flags, payload_length;
    uint8_t protocol, tcp_flags;
};

/* Whether the packet has the ends that a check asks for, with its ends swapped or not. */
struct asked_ends {
    const struct check *by; /* NULL: none was asked yet */
    bool match;
};

/* A packet, or a view of its stream, being evaluated. */
struct evaluation {
    struct detector *detector;
    const struct ruleset *ruleset;
    const struct detect_input *input;
    struct match_input match;
    struct packet_facts facts;
    enum flow_direction direction;
    struct asked_ends asked_ends[2]; /* the last ones; by whether they were swapped */
    const struct stream_view *view;  /* NULL: nothing new in the stream */
    bool view_only;                  /* the packet itself was evaluated already, or there is none */
    bool turned;                     /* this is the evaluation of a datagram for its other direction */
    bool again; /* the candidates' literals lie before the view: only what the view completes is new */
};

/* --- check.c -------------------------------------------------------------------------------------- */

/* A check per rule, in the order of evaluation. 0 or -ENOMEM. */
int checks_make(struct ruleset *ruleset, const struct ruleset_options *options);

/* --- carry.c -------------------------------------------------------------------------------------- */

/* When the checks are there. 0 or -ENOMEM. */
int carry_make(struct ruleset *ruleset, const struct ruleset *before);
/* Whether what was remembered with that generation can be carried over; and where a check of it is now, or
 * CARRIED_NOWHERE. */
bool carry_knows(const struct ruleset *ruleset, uint32_t generation);
uint32_t carry_check(const struct ruleset *ruleset, uint32_t check);

/* --- literal.c ------------------------------------------------------------------------------------ */

enum { LITERAL_MAX = STREAM_BEFORE_MAX }; /* so that a stream's border needs no more bytes than a view lends */

/* LITERAL_NEAR: what can be at one place, and ends within so many bytes of the payload, is looked up and not searched.
 */
enum { LITERAL_ANYWHERE = UINT32_MAX, LITERAL_NEAR = 128 };

enum { LITERAL_STRONG = 18 /* strength, of six letters: seldom found by chance */ };

/* The conditions after a literal, as far as they are decided by its place. */
struct follow {
    const struct condition *first;
    uint32_t count;
};

struct literal {
    const uint8_t *bytes;
    size_t length;
    bool nocase;
    bool is_part;   /* of a longer content */
    bool is_whole;  /* what it is searched in is there as a whole, or not at all: no stream */
    bool grows;     /* what it is searched in comes in parts */
    bool may_share; /* and is searched so often that fewer patterns are worth more candidates */
    uint32_t at;    /* in its buffer, or LITERAL_ANYWHERE */
    uint32_t reach; /* it ends within so many bytes of its buffer; LITERAL_ANYWHERE when that is not known */
    const struct keyword *buffer; /* NULL: payload */
    const struct rule_buffer *rule_buffer;
    const struct condition *condition; /* that it is the content of */
    struct follow follow;              /* in the payload of a packet; asked of literals of two bytes */
    unsigned strength;                 /* how much it says */
    bool is_chosen;                    /* by the rule's author */
};

/* The literal by which the rule is found: the one marked fast_pattern, otherwise the strongest; in a buffer of a
 * transaction, or in one of packets. Of a transactional rule, one that is read in one of the directions (bits). False:
 * it has none. */
enum { LITERAL_BOTH_WAYS = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT };
bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out);
/* Whether a rule on transactions is found better by a literal in the payload, which is scanned anyway. */
bool literal_prefers_payload(const struct rule *rule, struct literal *out);
/* Whether the bytes, as many as it has, are the literal. */
bool literal_equal(const struct literal *literal, const uint8_t *bytes);
/* ASCII only: Hyperscan's caseless literals fold no other letters. */
uint8_t literal_fold(uint8_t byte, bool nocase);

/* --- shorten.c ------------------------------------------------------------------------------------ */

/* Of the literals of one matcher those that are looked for in something whole are cut to a part, or become another one
 * that lies within them. 0 or -ENOMEM. */
int literals_shorten(struct literal *const *literals, uint32_t count);

/* --- group.c -------------------------------------------------------------------------------------- */

int check_list_add(struct check_list *list, uint32_t check); /* 0 or -ENOMEM */

/* A rule on its way into a group. */
struct group_entry {
    uint32_t check;
    struct packet_needs needs;
    uint64_t applications; /* as the check's; those of rules without a literal are asked first */
    bool has_literal, has_payload, in_stream;
    struct literal literal;
};
int group_add(struct rule_group *group, const struct group_entry *entry); /* 0 or -ENOMEM */
void group_share(struct rule_group *group); /* after the last rule: what is the same in both directions is there once */
void group_clear(struct rule_group *group);
/* For each of a group's prefilters; NULL for what it has not. */
enum { GROUP_PREFILTERS = FLOW_DIRECTIONS };
void group_prefilters(const struct rule_group *group, struct prefilter *out[GROUP_PREFILTERS]);

/* Collects the rules of a ruleset and puts them into the groups of their ports, or into the generic one at once. */
struct group_keys;
int group_keys_new(struct group_keys **out);
void group_keys_free(struct group_keys *keys);
int group_keys_add(struct group_keys *keys, struct ruleset *ruleset, enum traffic traffic,
                   const struct group_entry *entry);
int group_keys_build(struct ruleset *ruleset, const struct group_keys *keys);

/* The groups that a packet meets, of its direction; how many. */
unsigned groups_of_packet(const struct evaluation *ev, enum traffic traffic,
                          const struct group_side *out[GROUPS_PER_PACKET]);

/* --- address_index.c ------------------------------------------------------------------------------ */

/* Over the addresses of the checks. 0 or -ENOMEM. */
struct address_index;
int address_index_new(struct address_index **out, const struct ruleset *ruleset, const struct check_list *checks);
void address_index_free(struct address_index *index);
/* Adds to the detector's candidates all checks whose addresses may be those of the packet, which has an IP header. */
void address_index_find(const struct address_index *index, struct detector *detector, const struct packet *pkt);

/* --- compile.c ------------------------------------------------------------------------------------ */

/* 0, -ENOMEM, or -EINVAL with the cause in `diag`. */
int ruleset_compile(struct ruleset *ruleset, const struct ruleset_options *options, struct diag *diag);

/* --- prefilter.c ---------------------------------------------------------------------------------- */

/* Collects literals, then is compiled once; shared read-only afterwards. */
int prefilter_new(struct prefilter **out);
void prefilter_free(struct prefilter *prefilter);
int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t check);
/* Whether both have the same literals for the same checks, so far; NULL has none. */
bool prefilter_equal(const struct prefilter *a, const struct prefilter *b);
/* `cache` has databases that were compiled before; NULL for none. Threads: different prefilters may be compiled at the
 * same time. 0, -ENOMEM, or -EINVAL with the cause in `error`. */
int prefilter_compile(struct prefilter *prefilter, struct cache *cache, char error[256]);
/* By number, to PREFILTER_MATCHERS; NULL where there is none. */
enum { PREFILTER_MATCHERS = 2 };
/* *out has the literals of a stream's prefilter and of one for what grows, so that both are searched at once; NULL when
 * either has none. Neither is compiled yet. 0 or -ENOMEM. */
int prefilter_join(struct prefilter **out, struct prefilter *of_stream, struct prefilter *growing);
const struct matcher *prefilter_matcher(const struct prefilter *prefilter, unsigned number);
/* NULL is allowed. */
int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch);
/* Adds to the detector's candidates all checks whose literal occurs in the bytes, which are a packet's payload or
 * another whole buffer; or, from `base` of it on, what is new of one that grows: then there may be nothing at a known
 * place in it. */
void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes, uint32_t length,
                    uint64_t base);

/* prefilter_scan() of a whole buffer that may well be like one before. */
void prefilter_scan_whole(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length);

/* prefilter_scan() of one that grows, from `base` of it on: `bytes` are `before` old ones and then new ones, which a
 * joined scan may have gone over already. */
void prefilter_scan_grown(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length, uint32_t before, uint64_t base);

/* A stream from its first byte to the end of a view; no bytes where the first one is not kept any more, or the view
 * lies past LITERAL_NEAR. */
struct stream_start {
    const uint8_t *bytes;
    uint32_t length, view_at;
};
/* The same for literals that end in the view, and for the packet whose payload the view is. `joined`: NULL, or what has
 * the literals of the prefilter and of detector->joined.growing, for which it puts down what it found. */
void prefilter_scan_view(const struct prefilter *prefilter, const struct prefilter *joined, struct detector *detector,
                         const struct stream_view *view, const struct stream_start *start);
/* The same for all of a stream's window, which begins at `offset` of the stream. */
void prefilter_scan_window(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                           uint32_t length, uint64_t offset);

/* --- scan_memo.c ---------------------------------------------------------------------------------- */

struct scan_memo;
/* What was searched with. Its address says which; the salt, which need not be the only one of its kind, where in the
 * table its buffers lie: by rules alone, so that two runs do the same. */
struct scan_memo_owner {
    uint32_t salt;
};
enum { SCAN_MEMO_LENGTH = 2048 };             /* of the longest buffer that is remembered */
int scan_memo_new(struct scan_memo **out);    /* 0 or -ENOMEM */
void scan_memo_free(struct scan_memo *memo);  /* NULL is allowed */
void scan_memo_clear(struct scan_memo *memo); /* checks have other numbers now, or owners may be others */
/* Whether what the owner found in bytes like these is remembered; then it has been added to the candidates. If not,
 * what is added from now on is remembered, until scan_memo_keep(); of a long buffer only when it may have come before.
 */
bool scan_memo_recall(struct detector *detector, const struct scan_memo_owner *owner, const uint8_t *bytes,
                      uint32_t length);
void scan_memo_note(struct detector *detector, uint32_t check);
void scan_memo_keep(struct detector *detector);

/* --- matcher.c ------------------------------------------------------------------------------------ */

/* As a prefilter: collects, is compiled once, and then shared read-only. */
struct matcher;
int matcher_new(struct matcher **out);
void matcher_free(struct matcher *matcher);
int matcher_add(struct matcher *matcher, const struct literal *literal, uint32_t check);
bool matcher_equal(const struct matcher *a, const struct matcher *b);
/* As prefilter_join(). What matcher_scan() finds of the growing buffer is put down in detector->joined; for more than
 * GRAMS_LENGTH bytes. */
int matcher_join(struct matcher **out, struct matcher *of_stream, struct matcher *growing);
int matcher_compile(struct matcher *matcher, struct cache *cache, char error[256]);
bool matcher_is_cached(const struct matcher *matcher); /* its database was not compiled but read */
int matcher_grow_scratch(const struct matcher *matcher, struct hs_scratch **scratch);
/* Within how many bytes of the buffer all its literals end; LITERAL_ANYWHERE. */
uint32_t matcher_reach(const struct matcher *matcher);
/* The bytes begin at `base` of their buffer, or behind it: past the reach they are not looked at. */
void matcher_scan(const struct matcher *matcher, struct detector *detector, const uint8_t *bytes, uint32_t length,
                  uint64_t base);
/* The same for literals that begin in the bytes before those of matcher_scan() and end in them. */
void matcher_scan_border(const struct matcher *matcher, struct detector *detector, const uint8_t *before,
                         uint32_t before_length, const uint8_t *bytes, uint32_t length);

/* --- grams.c -------------------------------------------------------------------------------------- */

enum { GRAMS_LENGTH = 32 }; /* buffers up to here; longer ones Hyperscan does faster */
/* Longer ones of streams are cut: two of one byte less are searched where segments meet. */
enum { LITERAL_STREAM_PART = GRAMS_LENGTH / 2 + 1 };

/* `literals`, of any number, say what is common; the `patterns` are looked for, have one byte or more each, and stay
 * the caller's. 0 or -ENOMEM. */
struct grams;
int grams_new(struct grams **out, struct literal *const *literals, uint32_t count, const struct literal *patterns,
              uint32_t pattern_count);
void grams_free(struct grams *grams);
/* Calls `found` with the number of each pattern that occurs in the bytes, up to GRAMS_LENGTH, and where it ends; for
 * each place where it is. */
typedef void grams_found(void *user, uint32_t pattern, uint32_t end);
void grams_search(const struct grams *grams, const uint8_t *bytes, uint32_t length, grams_found *found, void *user);
/* The same for those that lie across a border: that begin before it and end behind it. Others may be told, too. */
void grams_search_border(const struct grams *grams, const uint8_t *bytes, uint32_t length, uint32_t border,
                         grams_found *found, void *user);

/* --- pairs.c -------------------------------------------------------------------------------------- */

/* Whether this processor searches for pairs faster than Hyperscan does; on others nobody may make them. */
bool pairs_are_fast(void);
/* Those of the literals that `patterns`, indices into them, name: up to PAIRS_MOST, of two bytes each. 0 or -ENOMEM. */
struct pairs;
enum { PAIRS_MOST = 128 };
int pairs_new(struct pairs **out, const struct literal *literals, const unsigned *patterns, uint32_t count);
void pairs_free(struct pairs *pairs);
/* As grams_search(), in buffers of any length. */
void pairs_search(const struct pairs *pairs, const uint8_t *bytes, uint32_t length, grams_found *found, void *user);

/* --- follow.c ------------------------------------------------------------------------------------- */

enum { FOLLOW_MOST = 8 };
struct follow follow_of(const struct condition *literal);
/* False: what follows does not hold where the literal ends at `end` of the whole payload. */
bool follow_may_hold(const struct follow *follow, const uint8_t *bytes, uint32_t length, uint32_t end);

/* --- anchored.c ----------------------------------------------------------------------------------- */

struct anchored;
bool anchored_takes(const struct literal *literal); /* the others belong into a matcher */
int anchored_new(struct anchored **out);
void anchored_free(struct anchored *anchored);
int anchored_add(struct anchored *anchored, const struct literal *literal, uint32_t check);
bool anchored_equal(const struct anchored *a, const struct anchored *b);
int anchored_build(struct anchored *anchored); /* after the last one; 0 or -ENOMEM */
/* Candidates are the checks whose literal is at its place and ends behind the first `from` bytes. */
void anchored_scan(const struct anchored *anchored, struct detector *detector, const uint8_t *bytes, uint32_t length,
                   uint32_t from);

/* --- budget.c ------------------------------------------------------------------------------------- */

struct budget;
/* *out is NULL when nothing is to be timed. 0 or -ENOMEM. */
int budget_new(struct budget **out, const struct budget_options *options);
void budget_free(struct budget *budget); /* NULL is allowed */
/* The evaluation of candidates begins; each that is over is booked, and the next one begins. */
void budget_begin(struct budget *budget);
bool budget_allows(const struct budget *budget, const struct rule *rule);
void budget_book(struct detector *detector, const struct rule_list *rules, const struct rule *rule);

/* --- collect.c ------------------------------------------------------------------------------------ */

void collect_packet(struct evaluation *ev);
/* The rules on one event. */
void collect_event(struct evaluation *ev, unsigned event);
void collect_view(struct evaluation *ev);
/* For a flow that had no memory for what waits: what the whole window has, and was not collected already. */
void collect_window(struct evaluation *ev);
void collect_reading(struct evaluation *ev); /* of a view that is_reading */

/* --- evaluate.c ----------------------------------------------------------------------------------- */

/* Evaluates the candidates in order; those that match become hits and have their actions done. */
void evaluate_candidates(struct evaluation *ev);

/* For rules on transactions. */
bool evaluate_header(struct evaluation *ev, const struct check *check);
/* Of a rule: before its first buffer. */
void inspection_begin(struct inspection *inspection, const struct evaluation *ev);
bool evaluate_packet_conditions(struct evaluation *ev, const struct check *check);
bool evaluate_payload(struct evaluation *ev, const struct check *check, struct inspection *inspection,
                      const struct condition *conditions);
/* A buffer of the packet, after its transforms; and whether it is absent as it should be. */
bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer);
/* Around the evaluation of a rule's buffers. */
void evaluate_begin_limits(struct detector *detector, const struct rule *rule);
void evaluate_end_limits(struct detector *detector, const struct rule *rule);
void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx);
void evaluate_sort(struct detector *detector);
/* Has what the candidates' evaluation reads first brought into the cache: that of all at once, not of one after the
 * other. */
void evaluate_fetch(const struct evaluation *ev);

/* --- transaction_groups.c ------------------------------------------------------------------------- */

bool rule_is_of_transaction(const struct rule *rule);
/* Bits of the ids of protocols that the rule is about; 0: any. */
uint64_t rule_application_mask(const struct rule *rule);
static inline size_t transaction_group_count(void)
{
    return (app_list_count + 1) * FLOW_DIRECTIONS;
}
static inline uint32_t transaction_prefilter_count(const struct transaction_group *group)
{
    return group->buffer_count + 2;
}
/* The prefilters of a group by number; NULL for a number that has none of its own. */
static inline struct prefilter *transaction_prefilter(const struct transaction_group *group, uint32_t number)
{
    if (number >= group->buffer_count)
        return number == group->buffer_count ? group->growing : group->joined;
    return group->buffers[number].prefilter == group->growing ? NULL : group->buffers[number].prefilter;
}
int transaction_rule_add(struct ruleset *ruleset, uint32_t index); /* 0 or -ENOMEM */
int transaction_groups_join(struct ruleset *ruleset);              /* when all rules have been added; 0 or -ENOMEM */
void transaction_groups_clear(struct ruleset *ruleset);

/* --- transaction.c -------------------------------------------------------------------------------- */

/* `first`: of the flow's transactions that rules have not seen in the packet's direction. */
void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first);
static inline void detect_transactions(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    struct app_tx *first = flow && flow->app ? app_transactions_in(flow, APP_TX_UNSEEN + ev->direction) : NULL;

    if (first) /* most packets have none */
        detect_unseen_transactions(ev, first);
}
/* With what the packet's view is to be searched when it ends with what a transaction's buffer has grown by:
 * detector->joined says of which bytes it is then. Otherwise NULL. */
const struct prefilter *transaction_joined(const struct evaluation *ev);
/* What is remembered (NULL: nothing) becomes that of this ruleset. */
void transaction_bring_up_to_date(struct detector *detector, const struct ruleset *ruleset,
                                  struct app_detection *memory);
/* One more at *slot, which may be NULL; nothing when there is no memory. */
void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate);

/* --- waiting.c ------------------------------------------------------------------------------------ */

enum { WAITING_MAX = 20 };

/* Per flow and direction: candidates whose literal was seen and whose rest was not; and rules without a literal that
 * matched in bytes that are still in the window (muted), so that the same bytes do not match twice. */
struct waiting {
    uint64_t until; /* offset in the stream from which on the entry is of no use */
    uint32_t check;
    bool muted;
};
struct flow_detection {
    uint32_t generation, count;
    struct waiting list[WAITING_MAX];
};

/* What waits in a direction of the flow becomes that of this ruleset. */
void waiting_bring_up_to_date(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset);
/* Before and after the view was scanned. */
void waiting_expire(struct evaluation *ev);
void waiting_add_candidates(struct evaluation *ev);
/* What is to be remembered of a candidate of the view. */
void waiting_put(struct evaluation *ev, uint32_t check, bool muted);
void waiting_remove(struct evaluation *ev, uint32_t check);
bool waiting_is_muted(const struct evaluation *ev, uint32_t check);

/*
 * The payload of a carrier is the packet inside, which is inspected by itself. A UDP datagram is a tunnel by its port
 * and form only: a program may read the same bytes as its own protocol, so the payload is inspected as well. An
 * encrypted payload is not inspected.
 */
static inline bool packet_has_payload(const struct packet *pkt)
{
    if (pkt->payload_length == 0 || (pkt->flags & PACKET_CARRIES_TUNNEL && pkt->protocol != IPPROTO_UDP))
        return false;
    return !pkt->flow || !(pkt->flow->flags & FLOW_ENCRYPTED) || pkt->flow->protocol != pkt->protocol;
}

/* Whether a rule that needs this may match a packet. */
static inline bool needs_met(const struct packet_needs *needs, const struct packet_facts *facts)
{
    return (facts->flags & needs->flags_mask) == needs->flags && facts->payload_length >= needs->payload_low &&
           facts->payload_length <= needs->payload_high && facts->protocol >= needs->protocol_low &&
           facts->protocol <= needs->protocol_high && (facts->tcp_flags & needs->tcp_flags_mask) == needs->tcp_flags;
}

/* --- detect.c ------------------------------------------------------------------------------------- */

/* No check is a candidate. */
void detector_next_serial(struct detector *detector);

/* --- for the collectors --------------------------------------------------------------------------- */

static inline void detector_add_candidate(struct detector *detector, uint32_t check)
{
    if (detector->is_noting)
        scan_memo_note(detector, check);
    if (detector->seen[check] == detector->serial)
        return;
    detector->seen[check] = detector->serial;
    detector->candidates[detector->candidate_count++] = check;
}

#endif
