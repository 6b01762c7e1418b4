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
 * A keyword has two parts. parse() reads the value and adds conditions to the rule, while a list is built. The
 * operations of the keyword's kind (struct packet_keyword_ops and so on) evaluate these conditions on traffic. Optional
 * struct prefilter_hints let the prefilter evaluate fewer rules; they never change whether a rule matches.
 *
 * Threads:   parse runs while a list is built; the operations run on workers and access only their arguments.
 * Ownership: parsed data lives in the list's arena (rule_parser_arena).
 */
#ifndef SLUICE_KEYWORD_H
#define SLUICE_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/rule.h"
#include "sluice/replay_order.h"

struct app_tx;
struct datasets;
struct file;
struct file_engine;
struct geoip;
struct heap;
struct host_table;
struct reputation;
struct rule_parser;
struct rule_captures;
struct script;
struct script_load;
struct script_states;

enum keyword_kind {
    KEYWORD_META,        /* describes the rule: msg, sid, threshold */
    KEYWORD_PACKET,      /* a condition on the packet: ttl, tcp.flags */
    KEYWORD_CONTENT,     /* a condition on the contents of the current buffer: content, pcre, byte_test */
    KEYWORD_MODIFIER,    /* changes the last content: nocase, depth */
    KEYWORD_BUFFER,      /* selects the buffer of the conditions that follow: tcp.hdr, http.uri */
    KEYWORD_TRANSACTION, /* a condition on a transaction of an application protocol: dns.opcode */
    KEYWORD_FILE, /* a condition on a file in a transaction: filesize. All such conditions of a rule must match the same
                     file */
    KEYWORD_TRANSFORM, /* changes the contents of the selected buffer: to_lowercase */
};

enum keyword_flag {
    /* Flags for the parser. */
    KEYWORD_NO_VALUE = 1 << 0,         /* the keyword has no value: `name;` */
    KEYWORD_OPTIONAL_VALUE = 1 << 1,   /* the value is optional: `name;` or `name:value;` */
    KEYWORD_NEGATABLE = 1 << 2,        /* the value may be negated: `name:!value;`; the parser removes the `!`, and
                                          rule_parser_is_negated() reports it */
    KEYWORD_QUOTED = 1 << 3,           /* the value may be in double quotes, which the parser removes */
    KEYWORD_QUOTES_REQUIRED = 1 << 4,  /* with KEYWORD_QUOTED: a value without quotes is an error */
    KEYWORD_ONCE = 1 << 5,             /* using the keyword twice in a rule is an error */
    KEYWORD_PARSES_DIRECTION = 1 << 6, /* KEYWORD_FILE: parse() itself reads `to_server` and `to_client` */

    /* Conditions on packets. A condition without KEYWORD_STATE restricts the contents of its rule to the packet's
     * payload; with the flag they are still searched in the stream. As in Suricata (SIG_FLAG_REQUIRE_PACKET), flow,
     * events and checksums have the flag; headers, sizes and flow.age do not. */
    KEYWORD_STATE = 1 << 7,
    KEYWORD_NEEDS_CHECKSUMS = 1 << 8, /* tests PACKET_BAD_L3_CHECKSUM or PACKET_BAD_L4_CHECKSUM */
    KEYWORD_IP_ONLY = 1 << 9, /* allowed in an address-only rule, which is evaluated once per flow and direction */
    /* A rule whose conditions all have this flag, apart from its direction, is evaluated when protocol detection has
     * finished. */
    KEYWORD_PROTOCOL_DETECTED = 1 << 10,

    /* KEYWORD_BUFFER. KEYWORD_NESTED: a condition in another buffer of the rule produces this buffer, and evaluates the
     * conditions on it (rule->nested); neither absent nor transforms are supported. KEYWORD_MULTI: a transaction may
     * have several values of the buffer; each selection in a rule may match a different one. */
    KEYWORD_NESTED = 1 << 11,
    KEYWORD_MULTI = 1 << 12,

    /* KEYWORD_TRANSACTION: the condition may become true as long as the direction is not complete, so it is evaluated
     * again whenever the transaction has changed. */
    KEYWORD_GROWS = 1 << 13,

    /* KEYWORD_TRANSACTION: the condition belongs to no protocol. It is evaluated when the transaction reaches the hook
     * of the rule. */
    KEYWORD_AT_HOOK = 1 << 14,

    /* KEYWORD_PACKET: whether the condition matches depends on how many packets of the flow came before. */
    KEYWORD_COUNTS_PACKETS = 1 << 15,
};

/* Bits of a transaction (xbits with track tx), allocated from a heap. */
enum { TX_MAX_BITS = 64 };
struct tx_bits {
    uint32_t count;
    uint32_t numbers[]; /* numbers of the names of the bits that are set */
};
bool tx_bits_has(const struct tx_bits *bits, uint32_t number); /* `bits` NULL: none is set */
/* Sets a bit. Without memory, or if the transaction has TX_MAX_BITS, it stays unset. */
void tx_bits_set(struct heap *heap, struct tx_bits **bits, uint32_t number);

/* Input of conditions and actions. The packet's flow is packet->flow (NULL for none). */
struct match_input {
    const struct packet *packet;
    struct flow_table *flows;   /* storage of flow variables; NULL when packet->flow is NULL */
    struct host_table *hosts;   /* shared between workers: call replay_order_wait(order) before each access */
    struct replay_order *order; /* order of access to shared state in a replay; NULL in a daemon */
    bool in_stream;             /* true: contents are searched in a stream chunk; false: in the packet's payload */
    struct file_engine *files;  /* the worker's file engine; NULL without application protocols */
    struct app_tx *transaction; /* KEYWORD_TRANSACTION: the transaction that the condition is evaluated on; actions: the
                                   one in which the rule has matched; otherwise NULL */
    enum flow_direction direction; /* direction of `transaction` in which the condition is evaluated */
    struct tx_bits **bits;         /* with `transaction`: its bits */
    struct heap *heap;             /* actions, with `transaction`: the heap of the bits */
    bool *untracked; /* set to true by an action of a rule with the hook pre_flow: the packet gets no flow */
    /* texts that pcre conditions have captured from the packet so far; NULL for none */
    const struct rule_captures *texts;
    struct script_states *scripts; /* the worker's states of the scripts of the rules; NULL: there are none */
};

/* Memory of the worker that struct inspection refers to. */
struct pcre_scratch;
struct transform_scratch;

/* Result of earlier searches for a condition: it has no match that begins at an offset in [from, until). An evaluation
 * that reaches the condition again, after another match of the previous condition, need not search these bytes
 * again. */
struct inspect_search {
    const struct condition *condition;
    uint32_t from, until;
};

/* Maximum number of searches stored per evaluation of a buffer. When all are in use, further conditions search the
 * bytes again. */
enum { INSPECT_MAX_SEARCHES = 16 };

/*
 * Limits on the work of one evaluation: PCRE2's limits (steps, depth, heap, JIT stack) the number of evaluation steps,
 * and the scratch memory of transforms. Crafted traffic can make an evaluation reach a limit; then it is unknown
 * whether the buffer matches.
 */
enum inspect_limit { INSPECT_LIMIT_PCRE, INSPECT_LIMIT_STEPS, INSPECT_LIMIT_TRANSFORM, INSPECT_LIMITS };
struct inspect_limits {
    uint8_t reached; /* bits: 1 << enum inspect_limit */
    bool match;      /* true: a buffer whose evaluation reached a limit counts as matched; false: as not matched */
};

struct inspection {
    const struct match_input *input;
    const uint8_t *data; /* the whole buffer */
    uint32_t length;
    uint32_t at;                   /* end of the previous match: relative conditions count from here; initially 0 */
    bool start_is_cut, end_is_cut; /* the stream or message has bytes before, or after, this buffer */
    bool little; /* byte order that the protocol parser found, for `dce` of byte_test etc.; true: little endian */
    uint32_t steps_left; /* remaining steps for this rule and buffer; at 0 nothing matches */
    struct inspect_limits
        *limits;               /* NULL: reached limits are not reported, and the buffer then counts as not matched */
    struct pcre_scratch *pcre; /* the worker's match data and JIT stack */
    struct transform_scratch *transforms; /* the worker's scratch memory for results of transforms and decoded data */
    struct rule_captures *texts; /* destination of texts captured by pcre, which are kept only if the rule matches;
                                    NULL: capture nothing */
    /* Evaluates the conditions from `first` on in other bytes, for keywords that decode a part of the buffer. `in` is a
     * copy of the inspection, with `data` and `length` of the decoded bytes. Returns whether they match. */
    bool (*walk)(struct inspection *in, const struct condition *first);
    uint64_t values[RULE_MAX_VALUES];
    uint32_t search_count; /* number of entries of `searches` in use */
    struct inspect_search searches[INSPECT_MAX_SEARCHES];
};

/* Records that a limit was reached. Returns whether the buffer counts as matched. */
static inline bool inspection_record_limit(struct inspection *in, enum inspect_limit limit)
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

/* Result of evaluating a condition. */
enum inspect_result {
    INSPECT_NO,    /* no match from in->at on; the condition may match after a later match of the previous condition */
    INSPECT_NEVER, /* no match, wherever the previous conditions match */
    INSPECT_YES,
};

/* For conditions that can match at more than one position. */
struct inspect_retry {
    uint32_t from; /* in: 0 in the first call, then the value that the previous call stored. out: offset at which to
                      search next */
    bool more;     /* out: a following condition depends on the position of this match: if that condition returns
                      INSPECT_NO, call again */
    bool alone; /* out: no following condition depends on the position of this match: if one fails, another match cannot
                   help */
};

enum file_match { FILE_MATCH_NO, FILE_MATCH_YES, FILE_MATCH_LATER };

/* Returns memory for the result of a transform, valid until the buffer's rules have been evaluated; NULL when the
 * scratch memory is exhausted. */
uint8_t *transform_output(struct transform_scratch *scratch, uint32_t size);

/* --- Operations of each kind ---------------------------------------------------------------------- */

/* `data` is what parse() passed to rule_parser_add_..._condition(). The operations for packets, transactions and files
 * ignore negation: their caller applies condition->negated. */

/* KEYWORD_PACKET */
struct packet_keyword_ops {
    /* Whether the condition matches. */
    bool (*match)(const struct match_input *in, const void *data);
    unsigned cost; /* conditions are evaluated in ascending order of cost; 0 is a comparison of header fields */
    /* Optional: returns true if the rule's header could express the condition, too (a direction). Such a condition does
     * not affect whether the rule is an address-only, packet or stream rule. */
    bool (*is_header)(const void *data);
};

/* KEYWORD_CONTENT */
struct content_keyword_ops {
    /* Searches the buffer for the condition; on INSPECT_YES it sets in->at to the end of the match and may fill *retry
     * (all zero before). The function handles negation itself: the engine ignores condition->negated. */
    enum inspect_result (*inspect)(struct inspection *in, const struct condition *condition,
                                   struct inspect_retry *retry);
    /* The condition's data starts with a struct content, which modifiers change and for which the prefilter searches
     * (condition_content()). */
    bool is_literal;
};

/* KEYWORD_BUFFER. `get` is NULL for a buffer of transactions: its getter is in the protocol's table of struct
 * app_buffer (app.h). */
struct buffer_keyword_ops {
    /* Returns the buffer of this packet, valid while the packet is processed; NULL when the packet has no such buffer;
     * then the rule does not match, not even with negated contents. An empty buffer is not NULL. */
    const uint8_t *(*get)(const struct match_input *in, uint32_t *length);
};

/* KEYWORD_TRANSACTION */
struct transaction_keyword_ops {
    /* Returns whether in->transaction matches. Called when the transaction has reached, in the direction in->direction,
     * the progress that the keyword requires. */
    bool (*match)(const struct match_input *in, const void *data);
    bool needs_event; /* the condition cannot match in a transaction without protocol events */
    bool is_state; /* tests what earlier rules did: a firewall rule whose condition does not match is not undecided */
};

/* KEYWORD_FILE */
struct file_keyword_ops {
    /* Returns whether the condition matches the part of the file that has arrived. FILE_MATCH_LATER: undecided; the
     * condition is evaluated again when more of the file has arrived. */
    enum file_match (*match)(const struct file *file, const void *data);
};

/* KEYWORD_TRANSFORM */
struct transform_keyword_ops {
    /* Transforms a buffer. *out is part of the input or was returned by transform_output(). Returns false if there is
     * no result; the rule then treats the buffer as one that does not exist. */
    bool (*apply)(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                  const uint8_t **out, uint32_t *out_length);
    /* The transform writes each byte of its output behind the bytes of the input that it still reads, so the output may
     * overwrite the input. */
    bool in_place;
    /* Optional: returns whether the output of the transform can contain this content. A rule with a content that the
     * output cannot contain is rejected. */
    bool (*admits)(const struct content *content);
};

/* --- Hints for the prefilter ---------------------------------------------------------------------- */

/* Properties that a packet must have for a rule to match, as far as a few comparisons can decide. They are tested
 * before all other conditions of the rule. Initially every packet satisfies them; conditions narrow them and are still
 * evaluated themselves. */
struct packet_needs {
    uint64_t properties_mask, properties; /* the packet's properties must have the value `properties` under the mask */
    uint32_t payload_low, payload_high;   /* range of packet->payload_length, inclusive */
    uint8_t protocol_low, protocol_high;  /* range of packet->protocol, inclusive */
};

/* Properties of a packet in one number, so that one comparison tests them all: packet->flags in the lower 32 bits, then
 * the protocol, the TCP flags (0 without a TCP header), and single bits for properties that few packets have. */
enum { PACKET_PROPERTY_PROTOCOL = 32, PACKET_PROPERTY_TCP_FLAGS = 40 };
#define PACKET_PROPERTY_IP_OPTIONS (UINT64_C(1) << 48)     /* ip_options_seen is not 0 */
#define PACKET_PROPERTY_RESERVED_BIT (UINT64_C(1) << 49)   /* reserved_fragment_bit */
#define PACKET_PROPERTY_SAME_ADDRESSES (UINT64_C(1) << 50) /* source and destination address are equal */

static inline void packet_needs_properties(struct packet_needs *needs, uint64_t mask, uint64_t properties)
{
    needs->properties_mask |= mask;
    needs->properties = (needs->properties & ~mask) | properties;
}

static inline void packet_needs_protocols(struct packet_needs *needs, uint8_t low, uint8_t high)
{
    needs->protocol_low = low > needs->protocol_low ? low : needs->protocol_low;
    needs->protocol_high = high < needs->protocol_high ? high : needs->protocol_high;
    if (needs->protocol_low == needs->protocol_high)
        packet_needs_properties(needs, UINT64_C(0xff) << PACKET_PROPERTY_PROTOCOL,
                                (uint64_t)needs->protocol_low << PACKET_PROPERTY_PROTOCOL);
}

/* Hints say which packets a condition excludes, and how selective literals in a buffer are. Without hints a keyword
 * works the same, but its rules are evaluated more often. */
struct prefilter_hints {
    /* KEYWORD_PACKET: narrows the properties that a packet must have; not called for a negated condition. */
    void (*narrow)(const void *data, struct packet_needs *needs);
    /* KEYWORD_PACKET: returns the decoder or stream event without which the condition cannot match. Event rules are
     * evaluated only for packets with the event. */
    int (*event)(const void *data);
    /* KEYWORD_PACKET: returns whether the condition cannot match in a flow without variables. Rules without a literal
     * that have such a condition are evaluated only if the flow has variables or may get some. */
    bool (*needs_variables)(const void *data);
    /* KEYWORD_CONTENT: returns whether inspect() depends only on the buffer and in->at, and takes constant time
     * regardless of the buffer's length. The prefilter then evaluates the condition at the position of a literal. */
    bool (*decided_by_place)(const struct condition *condition);
    bool decided_by_size; /* KEYWORD_CONTENT: inspect() depends only on the length of the buffer */
    /* KEYWORD_BUFFER: values found in much of the traffic (NULL-terminated; case-insensitive). A literal that occurs in
     * one of them is not selective. */
    const char *const *common;
    bool few_values; /* KEYWORD_BUFFER: in nearly all traffic the buffer has one of a few values, so that no literal in
                        it is selective */
};

/* --- Keyword -------------------------------------------------------------------------------------- */

/* The application protocols that have the keyword (names, NULL-terminated; NULL: it belongs to packets), and the
 * directions (bits 1 << enum flow_direction; 0: both). */
struct keyword_scope {
    const char *const *applications;
    unsigned directions;
};

struct keyword {
    const char *name;
    /* other names of the keyword, including those of Snort 2.9; NULL-terminated if fewer than four */
    const char *aliases[4];
    /* form of the value for the manual: "[<|>]NUMBER or LOW<>HIGH"; NULL: the keyword has no value */
    const char *value;
    const char *help;   /* one line */
    const char *manual; /* longer description in plain text, or NULL */
    enum keyword_kind kind;
    unsigned flags; /* enum keyword_flag */
    struct keyword_scope scope;

    /* Parses the value and adds conditions or properties to the rule. Returns 0, or -errno after rule_parser_error().
     * `value` is trimmed and without quotes and `!`; value.at is never NULL. KEYWORD_BUFFER without parse(): the
     * keyword takes no value and selects the buffer. */
    int (*parse)(struct rule_parser *parser, struct span value);
    /* Optional: called after all options of the rule were parsed, to report contradictions between them. Returns 0 or
     * -errno. KEYWORD_BUFFER: called with the first condition of each selection of the buffer. */
    int (*finish)(struct rule_parser *parser, const struct condition *condition);
    /* Optional: frees what the parsed data holds outside of the arena (compiled code). keyword_release() calls it once
     * for every condition that was added, before the arena is freed. */
    void (*release)(const struct condition *condition);

    /* The member of `kind`. The functions that add to a rule accept only keywords of their kind, so that a list of
     * conditions has operations of one kind. KEYWORD_META has none. */
    union {
        struct packet_keyword_ops packet;
        struct content_keyword_ops content;
        struct buffer_keyword_ops buffer;
        struct transaction_keyword_ops transaction;
        struct file_keyword_ops file;
        struct transform_keyword_ops transform;
        const struct keyword *moves_to; /* KEYWORD_MODIFIER without parse(): the buffer to which it moves the last
                                           content, as http_uri does */
    };
    const struct prefilter_hints *hints; /* NULL: none */
};

/* Returns the content of a condition in a buffer; NULL if it is not a literal (a pcre). */
static inline struct content *condition_content(const struct condition *condition)
{
    return condition->keyword->kind == KEYWORD_CONTENT && condition->keyword->content.is_literal
               ? (struct content *)condition->data
               : NULL;
}

/* Returns whether the content occurs anywhere in the bytes. Of its options only nocase is considered, not offset,
 * negation and so on. */
bool content_occurs(const struct content *content, const uint8_t *bytes, size_t length);

static inline void keyword_release_all(const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next)
        if (c->keyword->release)
            c->keyword->release(c);
}

/* Releases the conditions of a rule; called once by the rule's owner when the rule is rejected or replaced, or its list
 * is freed. */
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
}

/* --- For parse(): the rule under construction ----------------------------------------------------- */

struct rule *rule_parser_rule(struct rule_parser *parser);
/* text of the whole rule: the position of errors that finish() reports */
struct span rule_parser_rule_span(const struct rule_parser *parser);
struct arena *rule_parser_arena(struct rule_parser *parser);
/* Arena for data that is not read while packets are inspected, such as texts of events: see arena_new_cold(). */
struct arena *rule_parser_text_arena(struct rule_parser *parser);
/* Returns the keyword being parsed: for a parse() shared by several keywords. */
const struct keyword *rule_parser_keyword(const struct rule_parser *parser);
/* Returns whether the value was written with a `!` (KEYWORD_NEGATABLE). */
bool rule_parser_is_negated(const struct rule_parser *parser);
/* Parses the value with the parse() of `keyword`, which may be another keyword: uricontent is parsed as a content in
 * another buffer. Arguments and result are those of keyword->parse. */
int rule_parser_parse_as(struct rule_parser *parser, const struct keyword *keyword, struct span value);

/* Conditions that are added from now on belong to `keyword`: for a keyword with forms of several kinds. */
void rule_parser_set_keyword(struct rule_parser *parser, const struct keyword *keyword);

/* Reports an error at `where`, which lies inside the value passed to parse() (or is the whole value). Returns -EINVAL.
 */
int rule_parser_error(struct rule_parser *parser, struct span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports a feature of Suricata or Snort that Sluice does not support: the rule is skipped without counting as an
 * error. `tag` names the feature in summaries ("pcre /U"). */
int rule_parser_unsupported(struct rule_parser *parser, struct span where, const char *tag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns whether `name` is a protocol of Sluice, Suricata or Snort. */
bool rule_parser_knows_protocol(struct span name);
void rule_parser_warning(struct rule_parser *parser, struct span where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a condition on the packet for the keyword being parsed. `data` is passed to match(). Returns 0 or -ENOMEM. */
int rule_parser_add_packet_condition(struct rule_parser *parser, const void *data, bool negated);

/* Adds an action: `act` is called with `data` once all conditions of the rule match, before thresholds are evaluated.
 * each_packet: a rule that otherwise tests addresses only is evaluated for each packet, not once per flow.
 * Returns 0 or -ENOMEM. */
int rule_parser_add_action(struct rule_parser *parser, match_action_function *act, const void *data, bool each_packet);
/* Rules share state by name, such as a flow bit. Returns the id of the state `name`, and records that the current rule
 * uses this state; `use` is a combination of RULE_STATE_READS and RULE_STATE_WRITES. Returns 0 when out of memory. */
uint32_t rule_parser_state(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use);

/* Adds a condition to the current buffer. `relative`: its position counts from the end of the previous condition's
 * match; the caller must have checked with rule_parser_has_previous() that there is one. Returns 0 or -ENOMEM. */
int rule_parser_add_content_condition(struct rule_parser *parser, const void *data, bool relative);
/* Adds a condition to `buffer`, without transforms, for a value that names its buffer itself (pcre's /U). The selected
 * buffer does not change. Returns 0 or -ENOMEM. */
int rule_parser_add_content_condition_in(struct rule_parser *parser, const struct keyword *buffer, const void *data,
                                         bool relative);

/* Adds a condition on the transaction, or on a file of it, for the keyword being parsed. 0 or -ENOMEM. */
int rule_parser_add_transaction_condition(struct rule_parser *parser, const void *data, bool negated);
int rule_parser_add_file_condition(struct rule_parser *parser, const void *data, bool negated);
/* Restrict the rule further than keyword.scope does: to application protocols, by their names (for app-layer-event), or
 * to directions, by bits 1 << enum flow_direction (for flow). Return 0, or -errno after reporting a contradiction. */
int rule_parser_require_applications(struct rule_parser *parser, const char *const *words);
int rule_parser_require_directions(struct rule_parser *parser, unsigned directions);
/* Restricts the rule to transactions and to one of their directions, like a keyword of an application protocol. Returns
 * 0, or -errno after reporting a contradiction. */
int rule_parser_require_state(struct rule_parser *parser, unsigned direction);
/* Sets the direction (1 << enum flow_direction) of the next condition, for keywords with KEYWORD_PARSES_DIRECTION,
 * whose parse() reads the direction. For other keywords the parser itself reads and removes `to_server` and
 * `to_client`. */
void rule_parser_set_direction(struct rule_parser *parser, unsigned direction);
/* Adds the keyword being parsed to the transforms of the selected buffer. If the buffer has conditions but no
 * transforms, selects it once more, with this transform. Returns 0, or -errno after reporting an error, for example
 * that no buffer is selected, or that the selected buffer already has both transforms and conditions. */
int rule_parser_add_transform(struct rule_parser *parser, const void *data);
/* For the keyword absent: the rule requires that the selected buffer does not exist; with `or_else`, the rule also
 * matches if the conditions on the buffer match. Returns 0, or -errno after reporting an error. */
int rule_parser_set_absent(struct rule_parser *parser, bool or_else);
/* Finds a keyword by its name, for keywords that select the buffer of another one (pcre's /U, http_uri). Returns NULL
 * if this build does not include the keyword. */
const struct keyword *rule_parser_find_keyword(const struct rule_parser *parser, const char *name);

/* Returns whether the current buffer has a condition after which a relative condition is allowed. */
bool rule_parser_has_previous(const struct rule_parser *parser);

/* Makes the last content condition relative. Modifiers call it (distance, within), because they follow their
 * content. */
void rule_parser_set_relative(struct rule_parser *parser);

/* Returns the content that a modifier changes: the last one of the current buffer, or NULL. */
struct content *rule_parser_last_content(struct rule_parser *parser);

/* Selects the buffer for the conditions that follow; NULL is the payload (pkt_data). If the rule selected the same
 * buffer with the same transforms before, the conditions are added to that struct rule_buffer; a KEYWORD_MULTI buffer
 * gets a new one for each selection. Returns 0 or -errno. */
int rule_parser_select_buffer(struct rule_parser *parser, const struct keyword *buffer);
const struct keyword *rule_parser_current_buffer(const struct rule_parser *parser);
/* Selected instead of a buffer that Sluice does not support, so that the parser can check the rest of the rule. */
extern const struct keyword unsupported_buffer;
/* The condition of rules with the hook flow_start: the first packet of a direction of a flow. */
extern const struct keyword flow_start_condition;
/* Returns the buffer of the conditions that follow; NULL for the payload while it has no conditions. */
const struct rule_buffer *rule_parser_selected_buffer(const struct rule_parser *parser);
/* Moves the last content of the current buffer into another one (the http_uri style of modifier). 0 or -errno. */
int rule_parser_move_last_content(struct rule_parser *parser, const struct keyword *buffer);

/* Find or add a variable of byte_extract and byte_math by its name. Return its index in inspection.values. The first
 * returns -1 for an unknown name, the second if all RULE_MAX_VALUES are in use. */
int rule_parser_find_value(const struct rule_parser *parser, struct span name);
int rule_parser_add_value(struct rule_parser *parser, struct span name);

/* Parse addresses or ports in the rule language, with variables and groups. Return NULL after reporting an error. */
const struct address_set *rule_parser_addresses(struct rule_parser *parser, struct span text);
const struct port_set *rule_parser_ports(struct rule_parser *parser, struct span text);

/* Finds a class by name and sets its name as declared, its description and its priority. The first lookup of an unknown
 * name returns false and adds a class of that name with priority 3, so that the name is reported only once. */
bool rule_parser_find_class(const struct rule_parser *parser, struct span name, const char **class_name,
                            const char **description, uint8_t *priority);
/* Finds a reference system by name and sets its name and its URL prefix (NULL: none). Returns false for the first
 * lookup of an unknown name, so that the name is reported only once; true for all names if there is no
 * reference.config. */
bool rule_parser_find_reference(const struct rule_parser *parser, struct span name, const char **system,
                                const char **prefix);

/* Returns the datasets that all rules of the rule_list share; NULL: none. */
struct datasets *rule_parser_datasets(const struct rule_parser *parser);
/* Returns the IP reputation for iprep; NULL: not configured. */
const struct reputation *rule_parser_reputation(const struct rule_parser *parser);
/* Returns the GeoIP database, which the first call opens. Returns NULL after reporting an error at `where`. */
const struct geoip *rule_parser_geoip(struct rule_parser *parser, struct span where);
/* Loads a script, whose path is relative to the folder of the rule file or to default-rule-path; how->path is ignored.
 * Returns 0, -ENOMEM, or -EINVAL after reporting an error at `where`. */
int rule_parser_load_script(struct rule_parser *parser, struct span where, const struct script_load *how,
                            struct script **out);
/* Return the path of the file that contains the rule, and the diag to which errors in other files are reported. */
const char *rule_parser_file(const struct rule_parser *parser);
struct diag *rule_parser_diag(struct rule_parser *parser);

/* Parses "type limit, track by_src, ..." into *out without adding it to the rule. Returns 0, or -errno after reporting
 * an error. */
enum threshold_form {
    THRESHOLD_FORM_EVENT,     /* lines threshold and event_filter of threshold.config */
    THRESHOLD_FORM_KEYWORD,   /* the keyword threshold */
    THRESHOLD_FORM_DETECTION, /* detection_filter */
    THRESHOLD_FORM_RATE,      /* rate_filter */
    THRESHOLD_FORM_SUPPRESS,
};
int rule_parser_threshold(struct rule_parser *parser, struct span text, enum threshold_form form,
                          struct threshold *out);

/* Adds a copy of the threshold to the rule. Returns 0 or -errno. */
int rule_parser_add_threshold(struct rule_parser *parser, const struct threshold *threshold);

/* --- The table ------------------------------------------------------------------------------------ */

/* All keywords of the build, ordered by name; generated by CMake. */
extern const struct keyword *const keyword_list[];
extern const size_t keyword_list_count;

/* Creates a table of keywords for lookup by name; tests create tables with a few keywords. Returns NULL when out of
 * memory. */
struct keyword_table *keyword_table_new(const struct keyword *const *keywords, size_t count);
void keyword_table_free(struct keyword_table *table);
const struct keyword *keyword_table_find(const struct keyword_table *table, struct span name);
/* Returns the keyword name most similar to `name`, for "did you mean"; NULL: none is similar. */
const char *keyword_table_nearest(const struct keyword_table *table, struct span name);

#endif
