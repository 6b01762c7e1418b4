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

/* The bytes in which contents without a buffer keyword are matched, in TCP. */
enum payload_scope {
    SCOPE_STREAM, /* the stream; the packet if it is not part of one */
    SCOPE_PACKET,
    SCOPE_BOTH, /* both: the rule has offset or depth, which count from the start of either */
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

/* The compiled form of a rule: the data that the evaluation of a candidate reads. A NULL set is `any`. */
struct check {
    struct packet_needs needs;
    const struct rule *rule;
    const struct address_set *source, *destination;
    const struct port_set *source_port, *destination_port;
    const struct condition *conditions;
    const struct rule_buffer *buffers;
    uint8_t protocol;  /* IPPROTO_*, when one_protocol */
    bool one_protocol; /* if false, see rule->protocol.ip_protocols */
    bool any_protocol;
    bool bidirectional;
    bool any_ends; /* the rule restricts neither addresses nor ports */
    bool ipv4, ipv6;
    bool any_packet;  /* also matches packets without an IP header */
    uint8_t scope;    /* enum payload_scope */
    bool has_payload; /* conditions on the payload */
    bool has_literal; /* is found by a literal in the payload; if false, it is evaluated for every chunk of a stream */
    uint8_t type;     /* enum rule_type */
    bool of_transaction;   /* is evaluated on transactions, by its plans, not on packets */
    bool transactional;    /* `=>`: is evaluated in packets to the client; its header describes packets to the server */
    uint64_t applications; /* bits of protocol ids, one of which must be the flow's; 0: any */
    struct transaction_plan *plans;
    bool may_wait;   /* the literal may arrive in an earlier segment than the rest of the match */
    bool by_payload; /* transaction rule that is evaluated when its literal was found in the payload */
};

/* Rules are grouped by transport protocol, so that UDP is not searched for literals of TCP rules. */
enum traffic { TRAFFIC_TCP, TRAFFIC_UDP, TRAFFIC_OTHER, TRAFFIC_COUNT };

struct check_list {
    uint32_t *index; /* indices into ruleset.signatures, ascending */
    uint32_t count, capacity;
};

/* A rule that is evaluated for every packet of a group. The packet needs of all these rules are stored side by side, so
 * that skipping one costs a few comparisons. */
struct unfiltered {
    struct packet_needs needs;
    uint32_t check;
    uint64_t applications; /* copy of signature.applications */
};
struct unfiltered_list {
    struct unfiltered *entries; /* ascending */
    uint32_t count, capacity;
};

struct cache;
struct prefilter;
struct hs_scratch;

/* A buffer other than the payload, with its separate prefilter. */
struct buffer_prefilter {
    const struct keyword *buffer;
    struct prefilter *prefilter;
};

/* The rules of a group for one direction. */
struct group_side {
    struct prefilter *prefilter; /* NULL if no rule has a literal in the payload */
    struct unfiltered_list unfiltered,
        stream_unfiltered; /* rules without a literal; the subset of them that inspects the stream */
};

/* Rules of the same traffic and ports. A rule without a direction is in both sides. If both sides have the same rules
 * (mostly in UDP), they share one prefilter. */
struct rule_group {
    struct group_side to[FLOW_DIRECTIONS];
};

/* --- Transactions --------------------------------------------------------------------------------- */

enum {
    TRANSACTION_BUFFERS = 128,   /* buffers with literals, per protocol and direction */
    TRANSACTION_VALUES = 1024,   /* values of a buffer with multiple values */
    TRANSACTION_CANDIDATES = 24, /* that one block of transaction state stores, per direction */
    TRANSACTION_PIECES = 8,
    TRANSACTION_GROWN = 6, /* growing values whose scan position is stored */
};

/*
 * How a rule is evaluated on transactions of one protocol, in one direction.
 *
 * A transactional rule (`=>`) is evaluated in the direction to the client, when the buffers of the other direction
 * still exist, except for growing ones. A rule that uses a growing buffer of the direction to the server has a second
 * plan, the half plan, with all conditions of that direction. A match of the half plan is stored for the direction to
 * the client.
 */
struct transaction_plan {
    struct transaction_plan *next;
    bool half;
    uint8_t proto, direction;         /* protocol id */
    uint8_t progress;                 /* lowest progress at which all buffers that do not grow can be read */
    bool grows, files, events;        /* the rule uses growing buffers, files or events, which may arrive at any time */
    bool on_event;                    /* the rule requires an event */
    bool packet_buffers;              /* some buffers of the rule are not transaction buffers */
    const struct app_buffer **access; /* per buffer of the rule; NULL for packet buffers */
    uint8_t *condition_progress;      /* per condition on the transaction: its lowest progress */
};

struct transaction_buffer {
    const struct app_buffer *access;
    const struct condition *transforms;
    struct prefilter *prefilter; /* separate, or that of the group */
};
struct transaction_unfiltered {
    uint32_t check;
    uint8_t progress;
    bool always; /* evaluate at every transaction scan */
};
struct transaction_group {
    bool has_rules;
    struct transaction_buffer *buffers;
    uint32_t buffer_count;
    struct prefilter
        *growing; /* shared by all growing buffers, which mostly hold the same bytes: http.response_body, file.data */
    uint32_t joined_buffer;   /* the first growing buffer */
    struct prefilter *joined; /* the literals of `growing` and of any TCP stream; NULL for most groups */
    struct transaction_unfiltered *unfiltered;
    uint32_t unfiltered_count, unfiltered_capacity;
    uint32_t unfiltered_always; /* number of leading entries that need no event; the others are evaluated only if the
                                   transaction has one */
    struct check_list by_payload;
};

/* Detection state of a transaction in one direction: one candidate. */
struct transaction_candidate {
    uint32_t check;
    uint32_t matched; /* bits: buffers of the rule that matched */
    uint16_t
        files; /* number of files of the direction that are evaluated; the rule may match again with a later file */
    bool done; /* has matched; kept so that it does not match again */
    bool files_hold; /* the conditions of a transactional rule on files to the server hold */
};
struct transaction_grown {
    uint64_t to; /* offset in the buffer up to which it was scanned */
    uint16_t index;
    uint8_t buffer;
};
struct app_detection {
    struct app_detection *more; /* next block of candidates; only its `count` and `more` are used besides the list */
    uint32_t generation, count, grown_count;
    uint8_t progress; /* progress at the last scan */
    bool asked, rescan;
    uint64_t scanned[TRANSACTION_BUFFERS / 64];
    struct transaction_grown grown[TRANSACTION_GROWN];
    struct transaction_candidate list[TRANSACTION_CANDIDATES];
};

enum { PORT_TRAFFICS = 2 /* TCP and UDP */, GROUPS_PER_PACKET = 3 };
enum port_end { PORT_DESTINATION, PORT_SOURCE, PORT_ENDS };

enum { RULESET_MAX_BUFFERS = 64, RULESET_MAX_EVENTS = PACKET_EVENT_WORDS * 64 };

/* Maps the signatures of the previous ruleset to those of this one. */
enum { CARRIED_NOWHERE = UINT32_MAX };
struct carried {
    uint32_t *to; /* by index in the previous ruleset; NULL: there was no previous ruleset */
    uint32_t count;
    unsigned generation; /* of the previous ruleset */
};

struct ruleset {
    struct rule_list *rules;
    unsigned generation;
    struct carried carried;
    struct check *checks; /* in evaluation order */
    uint32_t check_count;

    struct rule_group generic[TRAFFIC_COUNT]; /* rules for any port, by traffic */
    struct rule_group *groups;                /* rules for specific ports; the first group is empty */
    uint32_t group_count;
    uint16_t *group_of; /* [traffic][end][port]: index into groups */
    struct check_list ip_only[TRAFFIC_COUNT];
    struct address_index *ip_only_index[TRAFFIC_COUNT]; /* of ip_only */
    struct check_list without_ip;                       /* rules that match packets without an IP header */
    struct arena *arena;                                /* memory of transaction plans */
    struct transaction_group *transactions;             /* [protocol id][direction] */
    struct check_list *by_event;                        /* per packet event: rules that require it */
    struct buffer_prefilter buffers[RULESET_MAX_BUFFERS];
    uint32_t buffer_count;
    bool needs_checksums;
    unsigned file_needs; /* of all rules: RULE_FILE_* */
    bool needs_conntrack;
    struct ruleset_databases databases;
    bool scans_packets; /* TCP: some rule with a literal matches in the packet, not only in the stream */
};

/* The part of a detector that depends on the ruleset; the fields correspond to those of struct detector. */
struct detector_room {
    const struct ruleset *prepared_for;
    struct hs_scratch *scratch;
    uint32_t *candidates, *seen, *hit_checks;
    struct hit *hits;
    uint32_t capacity;
};

/* Result of a scan with the merged pattern database for the growing buffer whose new bytes are the end of the stream
 * chunk. */
enum { JOINED_MOST = 256 };
struct joined_found {
    uint32_t check, reach, end; /* copies of the matcher's values; offset in the bytes at which the literal ends */
};
struct joined_scan {
    const struct prefilter
        *growing;         /* prefilter of the literals; NULL: no such scan, or more matches than the list holds */
    const uint8_t *bytes; /* of the buffer */
    uint32_t length;
    uint32_t skip; /* bytes of the chunk that precede them */
    uint32_t count;
    struct joined_found found[JOINED_MOST];
};

enum { PAYLOAD_SEEN = 64, LIMITED_MAX = 16 };

struct detector {
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
    uint32_t *hit_checks; /* signature index of each hit */
    uint32_t hit_count;
    uint32_t capacity;           /* capacity of the arrays, in signatures */
    struct pool *waiting;        /* struct flow_detection */
    struct pool *transactions;   /* struct app_detection */
    struct app_detection memory; /* of the current transaction */
    struct transform_scratch *transforms;
    uint32_t payload_seen[PAYLOAD_SEEN]; /* signatures of transaction rules whose literal is in the packet or in the
                                            stream's inspection window */
    uint32_t payload_seen_count;
    bool payload_seen_more;     /* the list overflowed */
    struct rule_captures taken; /* captured by the current rule, which may still fail */
    struct rule_captures texts; /* captured by the rules that matched the packet */
    uint32_t stream_window[FLOW_DIRECTIONS];
    bool guess_transactions; /* detect.guess-applayer-tx */
    uint8_t guess_limit;
    struct pair_places pairs; /* in the payload of the current packet */
    struct detect_counters counters;
    struct budget *budget;     /* NULL: rules are not timed */
    struct joined_scan joined; /* of the current chunk */
    struct scan_memo *memo;
    bool is_noting; /* candidates are also recorded in the scan cache */
};

/* The properties of a packet that struct packet_needs restricts. */
struct packet_facts {
    uint32_t flags, payload_length;
    uint8_t protocol, tcp_flags;
};

/* Result of the last comparison of the packet's addresses and ports with those of a signature. */
struct asked_ends {
    const struct check *by; /* NULL: none was compared yet */
    bool match;
};

/* The evaluation of a packet or of a chunk of its stream. */
struct evaluation {
    struct detector *detector;
    const struct ruleset *ruleset;
    const struct detect_input *input;
    struct match_input match;
    struct packet_facts facts;
    enum flow_direction direction;
    struct asked_ends asked_ends[2]; /* the last results; index 1: source and destination swapped */
    const struct stream_view *view;  /* NULL: no new stream data */
    bool view_only;                  /* the packet itself is already evaluated, or there is none */
    bool turned;                     /* a datagram is evaluated for its opposite direction */
    bool again; /* the literals of the candidates precede the chunk: only a match that the chunk completes is new */
};

/* --- check.c -------------------------------------------------------------------------------------- */

/* Creates one signature per rule, in evaluation order. Returns 0 or -ENOMEM. */
int checks_make(struct ruleset *ruleset, const struct ruleset_options *options);

/* --- carry.c -------------------------------------------------------------------------------------- */

/* Maps the signatures of the previous ruleset; called after signatures_new(). Returns 0 or -ENOMEM. */
int carry_make(struct ruleset *ruleset, const struct ruleset *before);
/* Whether detection state of that generation can be mapped to this ruleset. */
bool carry_knows(const struct ruleset *ruleset, uint32_t generation);
uint32_t carry_check(const struct ruleset *ruleset, uint32_t check);

/* --- literal.c ------------------------------------------------------------------------------------ */

enum { LITERAL_MAX = STREAM_BEFORE_MAX }; /* at most the bytes that a chunk provides before its start */

/* LITERAL_NEAR: a literal with a fixed offset that ends within this many bytes of the payload is looked up at the
 * offset instead of searched. */
enum { LITERAL_ANYWHERE = UINT32_MAX, LITERAL_NEAR = 128 };

enum { LITERAL_STRONG = 18 /* strength of six letters: seldom found by chance */ };

/* The conditions after a literal that its position alone decides. */
struct follow {
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
    bool may_share; /* fewer patterns are worth more candidates, because this buffer is searched often */
    uint32_t at;    /* offset in its buffer, or LITERAL_ANYWHERE */
    uint32_t reach; /* the literal ends within this many bytes of the buffer; LITERAL_ANYWHERE if unknown */
    const struct keyword *buffer; /* NULL: payload */
    const struct rule_buffer *rule_buffer;
    const struct condition *condition; /* the content condition */
    struct follow follow;              /* for the payload of a packet; used for literals of two bytes */
    unsigned strength;                 /* how rarely the literal occurs by chance */
    bool is_chosen;                    /* by fast_pattern */
};

/* Chooses the literal by which the prefilter finds the rule: the one marked fast_pattern, otherwise the strongest one,
 * in a transaction buffer (`of_transaction`) or a packet buffer. For a transactional rule the buffer must belong to one
 * of the directions (bits). Returns false if the rule has no such literal. */
enum { LITERAL_BOTH_WAYS = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT };
bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out);
/* Whether a transaction rule is better found by a literal in the payload, which is scanned in any case. */
bool literal_prefers_payload(const struct rule *rule, struct literal *out);
/* Whether the bytes equal the literal; reads literal->length bytes. */
bool literal_equal(const struct literal *literal, const uint8_t *bytes);
/* Converts an ASCII letter to lower case if `nocase`; Hyperscan's caseless literals fold no other letters. */
uint8_t literal_fold(uint8_t byte, bool nocase);

/* --- shorten.c ------------------------------------------------------------------------------------ */

/* Trims the literals of one matcher: a literal that is searched in complete buffers is cut to a part, or replaced by
 * another literal that it contains. Returns 0 or -ENOMEM. */
int literals_shorten(struct literal *const *literals, uint32_t count);

/* --- group.c -------------------------------------------------------------------------------------- */

int check_list_add(struct check_list *list, uint32_t check); /* 0 or -ENOMEM */

/* A rule that is being added to a group. */
struct group_entry {
    uint32_t check;
    struct packet_needs needs;
    uint64_t applications; /* copy of signature.applications; checked first for rules without a literal */
    bool has_literal, has_payload, in_stream;
    struct literal literal;
};
int group_add(struct rule_group *group, const struct group_entry *entry); /* 0 or -ENOMEM */
void group_share(
    struct rule_group *group); /* Shares equal prefilters between both directions; called after the last rule. */
void group_clear(struct rule_group *group);
/* Lists the prefilters of a group; NULL for a missing one. */
enum { GROUP_PREFILTERS = FLOW_DIRECTIONS };
void group_prefilters(const struct rule_group *group, struct prefilter *out[GROUP_PREFILTERS]);

/* Collects the rules of a ruleset by port; rules for many ports go into the generic group at once. */
struct group_keys;
int group_keys_new(struct group_keys **out);
void group_keys_free(struct group_keys *keys);
int group_keys_add(struct group_keys *keys, struct ruleset *ruleset, enum traffic traffic,
                   const struct group_entry *entry);
int group_keys_build(struct ruleset *ruleset, const struct group_keys *keys);

/* Writes the groups that apply to the packet and its direction; returns their number. */
unsigned groups_of_packet(const struct evaluation *ev, enum traffic traffic,
                          const struct group_side *out[GROUPS_PER_PACKET]);

/* --- address_index.c ------------------------------------------------------------------------------ */

/* Builds the index over the addresses of the signatures. Returns 0 or -ENOMEM. */
struct address_index;
int address_index_new(struct address_index **out, const struct ruleset *ruleset, const struct check_list *checks);
void address_index_free(struct address_index *index);
/* Adds all signatures whose addresses may match the packet to the candidates. The packet has an IP header. */
void address_index_find(const struct address_index *index, struct detector *detector, const struct packet *pkt);

/* --- compile.c ------------------------------------------------------------------------------------ */

/* Compiles all pattern databases. Returns 0, -ENOMEM, or -EINVAL with the cause in `diag`. */
int ruleset_compile(struct ruleset *ruleset, const struct ruleset_options *options, struct diag *diag);

/* --- prefilter.c ---------------------------------------------------------------------------------- */

/* A prefilter collects literals, is compiled once, and is then shared read-only. */
int prefilter_new(struct prefilter **out);
void prefilter_free(struct prefilter *prefilter);
int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t check);
/* Whether both contain the same literals for the same signatures; NULL is an empty prefilter. */
bool prefilter_equal(const struct prefilter *a, const struct prefilter *b);
/* Compiles the prefilter. `cache` holds databases of earlier runs; NULL: no cache. Different prefilters may be compiled
 * by several threads at the same time. Returns 0, -ENOMEM, or -EINVAL with the cause in `error`. */
int prefilter_compile(struct prefilter *prefilter, struct cache *cache, char error[256]);
/* Number of matchers of a prefilter; prefilter_matcher() returns NULL for a missing one. */
enum { PREFILTER_MATCHERS = 2 };
/* Creates a prefilter with the literals of a stream's prefilter and of one for growing buffers, so that both are
 * searched in one scan; *out is NULL if either has none. Neither may be compiled yet. Returns 0 or -ENOMEM. */
int prefilter_join(struct prefilter **out, struct prefilter *of_stream, struct prefilter *growing);
const struct matcher *prefilter_matcher(const struct prefilter *prefilter, unsigned number);
/* NULL is allowed. */
int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch);
/* Adds all signatures whose literal occurs in the bytes to the candidates. The bytes are a whole buffer (a packet's
 * payload, for example), or the new bytes of a growing buffer from offset `base` on; literals with a fixed offset then
 * may be missing. */
void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes, uint32_t length,
                    uint64_t base);

/* As prefilter_scan() for a whole buffer; uses the scan cache. */
void prefilter_scan_whole(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length);

/* As prefilter_scan() for a growing buffer from offset `base` on: `before` old bytes and then new ones, which a scan
 * with the merged pattern database may have covered already. */
void prefilter_scan_grown(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length, uint32_t before, uint64_t base);

/* A stream from its first byte to the end of a chunk. `bytes` is NULL if the first byte is no longer stored or the
 * chunk is past LITERAL_NEAR. */
struct stream_start {
    const uint8_t *bytes;
    uint32_t length, view_at;
};
/* Adds signatures whose literal ends in the chunk, and those of the packet if the chunk is its payload. `joined`: NULL,
 * or the merged pattern database of this prefilter and detector->joined.growing; its matches are written to
 * detector->joined. */
void prefilter_scan_view(const struct prefilter *prefilter, const struct prefilter *joined, struct detector *detector,
                         const struct stream_view *view, const struct stream_start *start);
/* As prefilter_scan() for the whole inspection window of a stream, which begins at stream offset `offset`. */
void prefilter_scan_window(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                           uint32_t length, uint64_t offset);

/* --- scan_memo.c ---------------------------------------------------------------------------------- */

struct scan_memo;
/* Identifies the prefilter of a cached scan by its address. The salt selects the position in the table; it need not be
 * unique. It depends on the rules alone, so that two runs behave alike. */
struct scan_memo_owner {
    uint32_t salt;
};
enum { SCAN_MEMO_LENGTH = 2048 };             /* longest buffer whose scan is cached */
int scan_memo_new(struct scan_memo **out);    /* 0 or -ENOMEM */
void scan_memo_free(struct scan_memo *memo);  /* NULL is allowed */
void scan_memo_clear(struct scan_memo *memo); /* signature numbers or owners have changed */
/* Looks up the scan of equal bytes by the same owner. True: its results were added to the candidates. False: candidates
 * that are added from now on are recorded until scan_cache_end(); for a long buffer only if a buffer with the same hash
 * was seen before. */
bool scan_memo_recall(struct detector *detector, const struct scan_memo_owner *owner, const uint8_t *bytes,
                      uint32_t length);
void scan_memo_note(struct detector *detector, uint32_t check);
void scan_memo_keep(struct detector *detector);

/* --- matcher.c ------------------------------------------------------------------------------------ */

/* A matcher collects literals, is compiled once, and is then shared read-only. */
struct matcher;
int matcher_new(struct matcher **out);
void matcher_free(struct matcher *matcher);
int matcher_add(struct matcher *matcher, const struct literal *literal, uint32_t check);
bool matcher_equal(const struct matcher *a, const struct matcher *b);
/* As prefilter_join(). Matches of matcher_scan() in the growing buffer are written to detector->joined; only for more
 * than GRAMS_LENGTH bytes. */
int matcher_join(struct matcher **out, struct matcher *of_stream, struct matcher *growing);
int matcher_compile(struct matcher *matcher, struct cache *cache, char error[256]);
bool matcher_is_cached(const struct matcher *matcher); /* its databases were read from the cache */
int matcher_grow_scratch(const struct matcher *matcher, struct hs_scratch **scratch);
/* Returns the number of bytes from the buffer's start within which all literals end; LITERAL_ANYWHERE: unlimited. */
uint32_t matcher_reach(const struct matcher *matcher);
/* Scans bytes that begin at offset `base` of their buffer or later; bytes past the reach are not scanned. */
void matcher_scan(const struct matcher *matcher, struct detector *detector, const uint8_t *bytes, uint32_t length,
                  uint64_t base);
/* Finds literals that begin in the bytes before those of matcher_scan() and end in them. */
void matcher_scan_border(const struct matcher *matcher, struct detector *detector, const uint8_t *before,
                         uint32_t before_length, const uint8_t *bytes, uint32_t length);

/* --- grams.c -------------------------------------------------------------------------------------- */

enum { GRAMS_LENGTH = 32 }; /* longest buffer for the gram table; Hyperscan is faster for longer ones */
/* Longer literals of streams are cut to this length: at a segment border, two times this length less one byte is
 * searched. */
enum { LITERAL_STREAM_PART = GRAMS_LENGTH / 2 + 1 };

/* Builds the table. `literals` (any number) are the sample for byte frequencies; `patterns` are searched, have at least
 * one byte each, and stay the caller's. Returns 0 or -ENOMEM. */
struct grams;
int grams_new(struct grams **out, struct literal *const *literals, uint32_t count, const struct literal *patterns,
              uint32_t pattern_count);
void grams_free(struct grams *grams);
/* Calls `found` with the number and end offset of each occurrence of a pattern in the bytes; at most GRAMS_LENGTH
 * bytes. */
typedef void grams_found(void *user, uint32_t pattern, uint32_t end);
void grams_search(const struct grams *grams, const uint8_t *bytes, uint32_t length, grams_found *found, void *user);
/* As above for patterns that begin before the border and end behind it. May report others, too. */
void grams_search_border(const struct grams *grams, const uint8_t *bytes, uint32_t length, uint32_t border,
                         grams_found *found, void *user);

/* --- pairs.c -------------------------------------------------------------------------------------- */

/* Whether this processor (AVX2) finds two-byte literals faster than Hyperscan does; on others, do not create a two-byte
 * matcher. */
bool pairs_are_fast(void);
/* Builds a matcher for the literals at the indices `patterns`: up to PAIRS_MOST, two bytes each. Returns 0 or -ENOMEM.
 */
struct pairs;
enum { PAIRS_MOST = 128 };
int pairs_new(struct pairs **out, const struct literal *literals, const unsigned *patterns, uint32_t count);
void pairs_free(struct pairs *pairs);
/* As gram_table_search(), for buffers of any length. */
void pairs_search(const struct pairs *pairs, const uint8_t *bytes, uint32_t length, grams_found *found, void *user);

/* --- follow.c ------------------------------------------------------------------------------------- */

enum { FOLLOW_MOST = 8 };
struct follow follow_of(const struct condition *literal);
/* False if the adjacent conditions fail for a literal that ends at offset `end` of the whole payload. */
bool follow_may_hold(const struct follow *follow, const uint8_t *bytes, uint32_t length, uint32_t end);

/* --- anchored.c ----------------------------------------------------------------------------------- */

struct anchored;
bool anchored_takes(const struct literal *literal); /* the others go into a matcher */
int anchored_new(struct anchored **out);
void anchored_free(struct anchored *anchored);
int anchored_add(struct anchored *anchored, const struct literal *literal, uint32_t check);
bool anchored_equal(const struct anchored *a, const struct anchored *b);
int anchored_build(struct anchored *anchored); /* called after the last literal; returns 0 or -ENOMEM */
/* Adds the signatures whose literal is at its offset and ends behind the first `from` bytes to the candidates. */
void anchored_scan(const struct anchored *anchored, struct detector *detector, const uint8_t *bytes, uint32_t length,
                   uint32_t from);

/* --- budget.c ------------------------------------------------------------------------------------- */

struct budget;
/* *out is NULL if rules are not timed. Returns 0 or -ENOMEM. */
int budget_new(struct budget **out, const struct budget_options *options);
void budget_free(struct budget *budget); /* NULL is allowed */
/* Starts the timer of the first candidate; budget_book() books the elapsed time on a rule and restarts the timer. */
void budget_begin(struct budget *budget);
bool budget_allows(const struct budget *budget, const struct rule *rule);
void budget_book(struct detector *detector, const struct rule_list *rules, const struct rule *rule);

/* --- collect.c ------------------------------------------------------------------------------------ */

void collect_packet(struct evaluation *ev);
/* Adds the rules that require one event. */
void collect_event(struct evaluation *ev, unsigned event);
void collect_view(struct evaluation *ev);
/* Adds candidates of the whole inspection window that are not collected yet, for a flow whose pending candidates could
 * not be stored. */
void collect_window(struct evaluation *ev);
void collect_reading(struct evaluation *ev); /* for a chunk with is_reading */

/* --- evaluate.c ----------------------------------------------------------------------------------- */

/* Evaluates the candidates in order; those that match become hits, and their actions are executed. */
void evaluate_candidates(struct evaluation *ev);

/* Functions that transaction rules use as well. */
bool evaluate_header(struct evaluation *ev, const struct check *check);
/* Prepares the inspection of a rule's buffers. */
void inspection_begin(struct inspection *inspection, const struct evaluation *ev);
bool evaluate_packet_conditions(struct evaluation *ev, const struct check *check);
bool evaluate_payload(struct evaluation *ev, const struct check *check, struct inspection *inspection,
                      const struct condition *conditions);
/* Matches a buffer of the packet after its transforms, including its absence condition. */
bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer);
/* Called before and after the evaluation of a rule's buffers. */
void evaluate_begin_limits(struct detector *detector, const struct rule *rule);
void evaluate_end_limits(struct detector *detector, const struct rule *rule);
void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx);
void evaluate_sort(struct detector *detector);
/* Prefetches the data that the evaluation of the candidates reads first, for all candidates at once. */
void evaluate_fetch(const struct evaluation *ev);

/* --- transaction_groups.c ------------------------------------------------------------------------- */

bool rule_is_of_transaction(const struct rule *rule);
/* Returns the ids of the rule's application protocols as bits; 0: any. */
uint64_t rule_application_mask(const struct rule *rule);
static inline size_t transaction_group_count(void)
{
    return (app_list_count + 1) * FLOW_DIRECTIONS;
}
static inline uint32_t transaction_prefilter_count(const struct transaction_group *group)
{
    return group->buffer_count + 2;
}
/* Returns a prefilter of a group by number; NULL for a number without a separate one. */
static inline struct prefilter *transaction_prefilter(const struct transaction_group *group, uint32_t number)
{
    if (number >= group->buffer_count)
        return number == group->buffer_count ? group->growing : group->joined;
    return group->buffers[number].prefilter == group->growing ? NULL : group->buffers[number].prefilter;
}
int transaction_rule_add(struct ruleset *ruleset, uint32_t index); /* 0 or -ENOMEM */
int transaction_groups_join(struct ruleset *ruleset); /* called after the last rule; returns 0 or -ENOMEM */
void transaction_groups_clear(struct ruleset *ruleset);

/* --- transaction.c -------------------------------------------------------------------------------- */

/* Evaluates transactions with data that rules have not inspected yet in the packet's direction, from `first` on. */
void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first);
static inline void detect_transactions(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    struct app_tx *first = flow && flow->app ? app_transactions_in(flow, APP_TX_UNSEEN + ev->direction) : NULL;

    if (first) /* most packets have none */
        detect_unseen_transactions(ev, first);
}
/* Returns the prefilter with which to search the packet's chunk if the chunk ends with the new bytes of a growing
 * transaction buffer, and writes these bytes to detector->joined. Otherwise NULL. */
const struct prefilter *transaction_joined(const struct evaluation *ev);
/* Maps the state of a transaction (NULL: none) to this ruleset. */
void transaction_bring_up_to_date(struct detector *detector, const struct ruleset *ruleset,
                                  struct app_detection *memory);
/* Adds a candidate to the state at *slot, which may be NULL; does nothing if memory is exhausted. */
void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate);

/* --- waiting.c ------------------------------------------------------------------------------------ */

enum { WAITING_MAX = 20 };

/* State per flow and direction: candidates whose literal was found and whose other conditions are still pending; and
 * rules without a literal that matched bytes still in the inspection window (muted), so that the same bytes do not
 * match twice. */
struct waiting {
    uint64_t until; /* stream offset at which the entry expires */
    uint32_t check;
    bool muted;
};
struct flow_detection {
    uint32_t generation, count;
    struct waiting list[WAITING_MAX];
};

/* Maps the pending candidates of a flow's direction to this ruleset. */
void waiting_bring_up_to_date(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset);
/* Called before and after the scan of a chunk. */
void waiting_expire(struct evaluation *ev);
void waiting_add_candidates(struct evaluation *ev);
/* Stores a candidate of the chunk. */
void waiting_put(struct evaluation *ev, uint32_t check, bool muted);
void waiting_remove(struct evaluation *ev, uint32_t check);
bool waiting_is_muted(const struct evaluation *ev, uint32_t check);

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
