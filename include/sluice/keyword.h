/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A keyword of the rule language: one file in a subfolder of src/keyword/ (or a protocol's folder) that ends in one
 * constant
 *
 *     const struct keyword keyword_dsize = { .name = "dsize", .help = "...", .kind = KEYWORD_PACKET, ... };
 *
 * CMake collects the constants into one table; nothing else names a keyword. `sluice keywords` and the manual are
 * printed from the same fields.
 *
 * Threads:   parse runs while a list is built; match, inspect and buffer run on workers and touch only what they are
 * given. Ownership: parsed data lives in the list's arena (rule_parser_arena).
 */
#ifndef SLUICE_KEYWORD_H
#define SLUICE_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/rule.h"
#include "sluice/turn.h"

struct app_tx;
struct datasets;
struct file;
struct file_engine;
struct geoip;
struct host_table;
struct reputation;
struct rule_parser;
struct rule_captures;

enum keyword_kind {
    KEYWORD_META,        /* describes the rule: msg, sid, threshold */
    KEYWORD_PACKET,      /* a condition on the packet: ttl, tcp.flags */
    KEYWORD_CONTENT,     /* a condition inside the current buffer: content, pcre, byte_test */
    KEYWORD_MODIFIER,    /* changes the last content: nocase, depth */
    KEYWORD_BUFFER,      /* selects the buffer of the conditions that follow: tcp.hdr, http.uri */
    KEYWORD_TRANSACTION, /* a condition on a transaction of an application protocol: dns.opcode */
    KEYWORD_FILE, /* a condition on a file in a transaction: filename. Those of a rule hold for one and the same file */
    KEYWORD_TRANSFORM, /* changes what the selected buffer yields: to_lowercase */
};

enum keyword_flag {
    KEYWORD_NO_VALUE = 1 << 0,        /* `name;` only */
    KEYWORD_OPTIONAL_VALUE = 1 << 1,  /* `name;` or `name:value;` */
    KEYWORD_NEGATABLE = 1 << 2,       /* `name:!value;`; the parser strips the ! and tells parse() by its argument */
    KEYWORD_QUOTED = 1 << 3,          /* value may stand in double quotes, which the parser strips */
    KEYWORD_ONCE = 1 << 4,            /* a second one in a rule is an error */
    KEYWORD_QUOTES_REQUIRED = 1 << 6, /* with KEYWORD_QUOTED: a value without quotes is an error */
    KEYWORD_NEEDS_CHECKSUMS = 1 << 5, /* looks at PACKET_BAD_L3_CHECKSUM or PACKET_BAD_L4_CHECKSUM */
    KEYWORD_STATE = 1 << 7,           /* KEYWORD_PACKET: contents of a rule that has it are looked for in the stream
                                       * nevertheless; without it they are looked for in this packet's payload. The
                                       * field draws the line (SIG_FLAG_REQUIRE_PACKET): flow, events, checksums have
                                       * it, headers, sizes and flow.age have not */
    KEYWORD_IP_ONLY = 1 << 8, /* may stand in a rule on addresses alone, which is asked once a flow and direction */
    KEYWORD_PROTOCOL_DETECTED =
        1 << 12, /* a rule with no other condition is evaluated when protocol detection finished */
    KEYWORD_EACH_PACKET =
        1 << 13, /* its action is for each packet: a rule on addresses alone that has it is evaluated for each one */
    KEYWORD_NESTED = 1 << 10, /* KEYWORD_BUFFER: what a condition in another buffer of the rule makes; that one asks its
                               * conditions (rule->nested). Nothing is absent from it, and it has no transforms */
    KEYWORD_COMMON_VALUES =
        1 << 11, /* KEYWORD_BUFFER: it has one of few values in nearly all traffic, so a literal in it says little */
    KEYWORD_MULTI =
        1 << 9, /* KEYWORD_BUFFER: a transaction may have several; each selection in a rule asks for one of its own */
};

/* What a condition may look at, and an action change. The packet's flow is packet->flow (NULL for none). */
struct match_input {
    const struct packet *packet;
    struct flow_table *flows; /* where the flow's variables live; NULL when packet->flow is */
    struct host_table *hosts; /* shared with other workers: turn_wait(turn) first */
    struct turn *turn;        /* NULL in a daemon */
    bool in_stream; /* contents are looked for in the stream: the buffer under inspection is not the packet's payload */
    struct file_engine *files;  /* the worker's; NULL where there are no application protocols */
    struct app_tx *transaction; /* that the rule has matched in; NULL for other rules. For act() */
    enum flow_direction direction;
    const struct rule_captures *texts; /* those that rules took out of the packet so far; NULL for none */
};

/* What a packet must have for a rule to match, as far as a few compares tell: asked before anything else of the rule is
 * looked at. At first everything is allowed; conditions narrow it, and go on deciding themselves. */
struct packet_needs {
    uint32_t flags_mask, flags;          /* of packet->flags */
    uint32_t payload_low, payload_high;  /* packet->payload_length; both belong to it */
    uint8_t protocol_low, protocol_high; /* packet->protocol */
    uint8_t tcp_flags_mask, tcp_flags;   /* of packet->tcp.flags; only where the protocol is narrowed to TCP */
};

static inline void packet_needs_flags(struct packet_needs *needs, uint32_t mask, uint32_t flags)
{
    needs->flags_mask |= mask;
    needs->flags = (needs->flags & ~mask) | flags;
}

static inline void packet_needs_protocols(struct packet_needs *needs, uint8_t low, uint8_t high)
{
    needs->protocol_low = low > needs->protocol_low ? low : needs->protocol_low;
    needs->protocol_high = high < needs->protocol_high ? high : needs->protocol_high;
}

/* A buffer under inspection; see src/detect/inspect.c for how the conditions of a buffer are walked. */
struct pair_places;
struct pcre_scratch;
struct transform_scratch;

/* What searches for a condition have told: it begins nowhere from `from` up to `until`. A walk that comes to it again
 * and again, from many places of what is before it, goes over those bytes once. */
struct inspect_search {
    const struct condition *condition;
    uint32_t from, until;
};

enum { INSPECT_SEARCHES = 16 }; /* remembered of one buffer; what finds no room is searched for anew */

/*
 * Limits on the work of one evaluation: those of PCRE2 (steps, depth, heap, JIT stack) and the steps of the walk. An
 * evaluation that reaches one has no result; traffic that an attacker prepares can cause that.
 */
enum inspect_limit { INSPECT_LIMIT_PCRE, INSPECT_LIMIT_STEPS, INSPECT_LIMITS };
struct inspect_limits {
    uint8_t reached; /* bits: enum inspect_limit */
    bool match;      /* the buffer then counts as matched; otherwise as not matched */
};

struct inspection {
    const struct match_input *input;
    const uint8_t *data; /* the whole buffer */
    uint32_t length;
    uint32_t at;                   /* where the last match ended: relative conditions count from here; 0 at first */
    bool start_is_cut, end_is_cut; /* bytes before or after the buffer exist that are not in it */
    bool little;                   /* the order of numbers that the protocol says: for `dce` */
    uint32_t steps_left;           /* work that may still be done for this packet and rule; at 0 nothing matches */
    struct inspect_limits *limits; /* NULL: nobody asks which limits were reached, and then nothing matches */
    struct pcre_scratch *pcre;     /* the worker's match data and JIT stack */
    struct transform_scratch *transforms; /* the worker's memory for what is decoded on the way */
    struct rule_captures *texts;     /* where pcre puts what it takes out, kept when the rule matches; NULL: nowhere */
    const struct pair_places *pairs; /* where they stand in a buffer, perhaps this one; NULL: nothing is known of any */
    /* Walks other conditions, over other bytes: for what decodes a part of the buffer. `in` is a copy. */
    bool (*walk)(struct inspection *in, const struct condition *first);
    uint64_t values[RULE_MAX_VALUES];
    uint32_t search_count; /* of this walk */
    struct inspect_search searches[INSPECT_SEARCHES];
};

/* Notes that a limit was reached. Whether the buffer counts as matched. */
static inline bool inspection_reaches_limit(struct inspection *in, enum inspect_limit limit)
{
    if (!in->limits)
        return false;
    in->limits->reached |= (uint8_t)(1u << limit);
    return in->limits->match;
}

static inline bool inspection_has_reached_limit(const struct inspection *in)
{
    return in->limits && in->limits->reached && in->limits->match;
}

/* What became of a condition. */
enum inspect_result {
    INSPECT_NO,      /* not here; where an earlier condition matched elsewhere it may still hold */
    INSPECT_GIVE_UP, /* nor anywhere: no other place of an earlier condition can help */
    INSPECT_YES,
};

/* For a condition that can match at more than one place. */
struct inspect_retry {
    uint32_t from; /* in: 0 at first, then what the keyword left here. out: where the next try would begin */
    bool more;     /* out: something that follows depends on the place; try again when the rest fails with INSPECT_NO */
    bool alone;    /* out: nothing depends on the place; when the rest fails, it fails for good */
};

enum file_match { FILE_MATCH_NO, FILE_MATCH_YES, FILE_MATCH_LATER };

/* Memory for a transform's result, valid until the buffer's rules have been evaluated; NULL when there is not so much.
 */
struct transform_scratch;
uint8_t *transform_output(struct transform_scratch *scratch, uint32_t size);

struct keyword {
    const char *name;
    const char *aliases[4]; /* other spellings, also Snort 2.9's; NULL-terminated unless full */
    const char *value;      /* form of the value for the manual: "[<|>]NUMBER or LOW<>HIGH"; NULL without one */
    const char *help;       /* one line */
    const char *manual;     /* more, plain text of some lines; or NULL */
    enum keyword_kind kind;
    unsigned flags; /* enum keyword_flag */
    unsigned cost;  /* KEYWORD_PACKET: conditions are evaluated in this order; 0 is a compare of header fields */

    /* KEYWORD_BUFFER and KEYWORD_TRANSACTION of application protocols: words of the protocols whose transactions have
     * it (NULL-terminated; NULL: it is a packet's), and bits 1 << enum flow_direction where they have it. How it is
     * read stands in the protocols' own tables (app.h). */
    const char *const *applications;
    unsigned directions;

    /* KEYWORD_BUFFER, optional: what it has in much of the traffic (NULL-terminated; letters of either case). A literal
     * that lies in one of these texts says little. */
    const char *const *common;

    /* 0, or -errno after rule_parser_error(). `value` is trimmed and without quotes and `!`; value.at is never NULL. */
    int (*parse)(struct rule_parser *parser, struct span value, bool negated);

    /* KEYWORD_PACKET: whether the condition holds. condition->negated is applied by the caller. */
    bool (*match)(const struct match_input *in, const void *data);

    /* KEYWORD_CONTENT: looks for the condition in the buffer; on INSPECT_YES moves in->at and may fill retry (zero
     * before). Negation is the keyword's own business: condition->negated is not looked at by the engine. */
    enum inspect_result (*inspect)(struct inspection *in, const struct condition *condition,
                                   struct inspect_retry *retry);

    /* KEYWORD_CONTENT, optional: whether inspect() reads nothing but the buffer and in->at, which takes it no longer in
     * a long buffer. The prefilter may ask it then, of the place where it found a literal. */
    bool (*decided_by_place)(const struct condition *condition);

    /* KEYWORD_BUFFER: the buffer in this packet, lent for the packet's time; NULL when there is none (no match, not
     * even for negated contents). An empty buffer is not NULL. */
    const uint8_t *(*buffer)(const struct match_input *in, uint32_t *length);

    /* KEYWORD_TRANSACTION: whether it holds, in a direction whose progress has come far enough. condition->negated is
     * applied by the caller. */
    bool (*match_transaction)(const struct match_input *in, const struct app_tx *tx, enum flow_direction direction,
                              const void *data);

    /* KEYWORD_FILE. Negation as above. KEYWORD_FILE conditions of a rule are asked anew while the file grows;
     * FILE_MATCH_LATER: not before more of it is there. */
    enum file_match (*match_file)(const struct match_input *in, const struct file *file, const void *data);

    /* KEYWORD_TRANSFORM: what a buffer becomes. *out is lent: part of the input, or what transform_output() gave.
     * False: the buffer is not there. */
    bool (*transform)(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                      const uint8_t **out, uint32_t *out_length);

    /* KEYWORD_TRANSFORM, optional: whether a content can be in what it yields; a rule that looks for another one is a
     * mistake. */
    bool (*admits)(const struct content *content);

    /* Optional: what the rule does once all its conditions hold, before thresholds are asked; for conditions added by
     * rule_parser_add_action(). */
    void (*act)(const struct match_input *in, const void *data);

    /* Optional: the literal by which the prefilter may find the condition; NULL when it has none or is negated.
     * content has one; pcre and others do not. The data of a keyword with this function is a struct content, allocated
     * in the list's arena: that is what modifiers change. */
    const struct content *(*literal)(const struct condition *condition);

    /* Optional: the decoder or stream event without which the condition can't hold; -1 for none. Rules about events are
     * looked at only when the packet has the event. */
    int (*event)(const void *data);

    /* Optional, KEYWORD_PACKET: narrows what the packet must have; not called for a negated condition. */
    void (*narrow)(const void *data, struct packet_needs *needs);
    /* Optional, KEYWORD_PACKET: whether the condition only repeats what a header could say (a direction), so that the
     * rule's type does not depend on it. */
    bool (*is_header)(const void *data);

    /* Optional: after all options were read; reports contradictions. 0 or -errno. KEYWORD_BUFFER: called with the first
     * of the conditions of each selection of the buffer. */
    int (*finish)(struct rule_parser *parser, const struct condition *condition);

    /* Optional: gives back what the parsed data holds outside of the arena (compiled code). Called once for every
     * condition that was added, by keyword_release(), before the arena goes. */
    void (*release)(const struct condition *condition);
};

static inline void keyword_release_all(const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next)
        if (c->keyword->release)
            c->keyword->release(c);
}

/* For the owner of a rule: to be called once when it is rejected, replaced, or its list is freed. */
static inline void keyword_release(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        keyword_release_all(buffer->transforms);
        keyword_release_all(buffer->conditions);
    }
    for (const struct rule_buffer *buffer = rule->nested; buffer; buffer = buffer->next)
        keyword_release_all(buffer->conditions);
    keyword_release_all(rule->packet_conditions);
    keyword_release_all(rule->transaction_conditions);
    keyword_release_all(rule->file_conditions);
    keyword_release_all(rule->actions);
}

/* --- For parse(): the rule under construction ----------------------------------------------------- */

struct rule *rule_parser_rule(struct rule_parser *parser);
struct span rule_parser_rule_span(const struct rule_parser *parser); /* the whole: where finish() reports */
struct arena *rule_parser_arena(struct rule_parser *parser);
/* The keyword that is being parsed: for a parse() that several share. */
const struct keyword *rule_parser_keyword(const struct rule_parser *parser);
/* Parses the value as that of another keyword: uricontent is a content elsewhere. As keyword->parse. */
int rule_parser_parse_as(struct rule_parser *parser, const struct keyword *keyword, struct span value, bool negated);

/* Reports at `where`, which lies inside the value given to parse() (or is the whole value). Returns -EINVAL. */
int rule_parser_error(struct rule_parser *parser, struct span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for something that Suricata or Snort has and Sluice lacks: the rule is left out, but it is no mistake. `tag`
 * names the feature in summaries ("pcre /U"). */
int rule_parser_unsupported(struct rule_parser *parser, struct span where, const char *tag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether the name is a protocol of Sluice, Suricata or Snort. */
bool rule_parser_knows_protocol(struct span name);
void rule_parser_warning(struct rule_parser *parser, struct span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a condition on the packet for the keyword being parsed. 0 or -ENOMEM. */
int rule_parser_add_packet_condition(struct rule_parser *parser, const void *data, bool negated);

/* Adds an action for the keyword being parsed (keyword->act). 0 or -ENOMEM. */
int rule_parser_add_action(struct rule_parser *parser, const void *data);
/* The number of a name of shared state, and that the rule uses it: RULE_STATE_READS, RULE_STATE_WRITES. 0 when out of
 * memory. */
uint32_t rule_parser_state(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use);

/* Adds a condition to the current buffer. `relative`: it counts from the end of the condition before it; then the
 * caller made sure that there is one (rule_parser_has_previous). 0 or -ENOMEM. */
int rule_parser_add_content_condition(struct rule_parser *parser, const void *data, bool relative);
/* The same to a buffer of the condition's own choice (pcre's /U), which stays without transforms; what is selected
 * stays so. */
int rule_parser_add_content_condition_in(struct rule_parser *parser, const struct keyword *buffer, const void *data,
                                         bool relative);

/* Adds a condition on the transaction, or on a file of it, for the keyword being parsed. 0 or -ENOMEM. */
int rule_parser_add_transaction_condition(struct rule_parser *parser, const void *data, bool negated);
int rule_parser_add_file_condition(struct rule_parser *parser, const void *data, bool negated);
/* What the rule is about besides what its keywords' own tables say: words of protocols (app-layer-event, by its value)
 * and bits of directions (flow). 0, or -errno after a report of what they contradict. */
int rule_parser_require_applications(struct rule_parser *parser, const char *const *words);
int rule_parser_require_directions(struct rule_parser *parser, unsigned directions);
/* For a keyword that says in words of its own in which direction (a bit) lies what it adds next. Others have
 * `to_server` and `to_client`, which the parser cuts off. */
void rule_parser_set_direction(struct rule_parser *parser, unsigned direction);
/* Adds the keyword being parsed to the transforms of the selected buffer; an error when none is selected or it has
 * conditions already. */
int rule_parser_add_transform(struct rule_parser *parser, const void *data);
/* absent: the selected buffer must not be there (or_else: or its conditions hold). 0 or -errno after a report. */
int rule_parser_set_absent(struct rule_parser *parser, bool or_else);
/* A keyword of the build by its name, for those that stand for others (pcre's /U, http_uri); NULL when it is not there.
 */
const struct keyword *rule_parser_find_keyword(const struct rule_parser *parser, const char *name);

/* Whether the current buffer has a condition that a relative one could follow. */
bool rule_parser_has_previous(const struct rule_parser *parser);

/* Makes `relative` of the last content condition true: distance and within come after their content. */
void rule_parser_set_relative(struct rule_parser *parser);

/* The content that a modifier changes: the last one of the current buffer, or NULL. */
struct content *rule_parser_last_content(struct rule_parser *parser);

/* Selects the buffer for the conditions that follow; NULL is the payload (pkt_data). The same buffer again, with the
 * same transforms, continues it, unless it is KEYWORD_MULTI. 0 or -errno. */
int rule_parser_select_buffer(struct rule_parser *parser, const struct keyword *buffer);
const struct keyword *rule_parser_current_buffer(const struct rule_parser *parser);
/* Stands for a buffer that Sluice lacks: nothing after it in the rule is a mistake on its account. */
extern const struct keyword unsupported_buffer;
/* What the conditions that follow go to; NULL: the payload's, and there is none yet. */
const struct rule_buffer *rule_parser_selected(const struct rule_parser *parser);
/* Moves the last content of the current buffer into another one (the http_uri style of modifier). 0 or -errno. */
int rule_parser_move_last_content(struct rule_parser *parser, const struct keyword *buffer);

/* byte_extract and byte_math variables: an index into inspection.values, or -1 (unknown, or all taken). */
int rule_parser_find_value(const struct rule_parser *parser, struct span name);
int rule_parser_add_value(struct rule_parser *parser, struct span name);

/* Addresses or ports in the rule language, with variables and groups. NULL after an error was reported. */
const struct address_set *rule_parser_addresses(struct rule_parser *parser, struct span text);
const struct port_set *rule_parser_ports(struct rule_parser *parser, struct span text);

/* A class: its name as declared, description and priority. False the first time that an unknown name is asked for,
 * which is then a class of priority 3, so that it is told once. */
bool rule_parser_find_class(const struct rule_parser *parser, struct span name, const char **class_name,
                            const char **description, uint8_t *priority);
/* A reference system; its prefix is NULL when it has none. False the first time that an unknown name is asked for. */
bool rule_parser_find_reference(const struct rule_parser *parser, struct span name, const char **system,
                                const char **prefix);

/* What the rules of a list share besides. */
struct datasets *rule_parser_datasets(const struct rule_parser *parser);
const struct reputation *rule_parser_reputation(const struct rule_parser *parser); /* NULL: none is configured */
/* Opens the database at the first call; NULL after an error was reported at `where`. */
const struct geoip *rule_parser_geoip(struct rule_parser *parser, struct span where);
/* The file the rule stands in, as a path; and where mistakes in other files are reported. */
const char *rule_parser_file(const struct rule_parser *parser);
struct diag *rule_parser_diag(struct rule_parser *parser);

/* Parses "type limit, track by_src, ..."; reports. 0 or -errno; the result is not yet added. */
enum threshold_form {
    THRESHOLD_FORM_EVENT,     /* lines: threshold, event_filter */
    THRESHOLD_FORM_KEYWORD,   /* the keyword threshold */
    THRESHOLD_FORM_DETECTION, /* detection_filter */
    THRESHOLD_FORM_RATE,      /* rate_filter */
    THRESHOLD_FORM_SUPPRESS,
};
int rule_parser_threshold(struct rule_parser *parser, struct span text, enum threshold_form form,
                          struct threshold *out);

/* Adds a threshold to the rule (copied). 0 or -errno. */
int rule_parser_add_threshold(struct rule_parser *parser, const struct threshold *threshold);

/* --- The table ------------------------------------------------------------------------------------ */

/* All keywords of the build, ordered by name; made by CMake. */
extern const struct keyword *const keyword_list[];
extern const size_t keyword_list_count;

/* A table for lookup by name; tests make one of a few entries. NULL when out of memory. */
struct keyword_table *keyword_table_new(const struct keyword *const *keywords, size_t count);
void keyword_table_free(struct keyword_table *table);
const struct keyword *keyword_table_find(const struct keyword_table *table, struct span name);
/* For "did you mean": the nearest name, or NULL. */
const char *keyword_table_nearest(const struct keyword_table *table, struct span name);

#endif
