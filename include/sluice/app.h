/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application protocols above TCP and UDP. A protocol is one folder, src/app/NAME/, which exports one constant
 *
 *     const struct app_proto app_NAME = { .name = "NAME", ... };
 *
 * CMake collects these constants into the table app_list; no other code names a protocol. The folder also contains the
 * protocol's keywords (constants keyword_NAME, collected by CMake as well), its events, its settings and its manual
 * page (src/app/NAME/NAME.md).
 *
 * The framework (the files in src/app/) detects the protocol of a flow, feeds the bytes to its parser, keeps the
 * transactions, and frees a transaction when both directions are complete, inspected and logged. A parser uses its
 * input, its state and the functions below; it has no access to rules, packets or output.
 *
 * A transaction is a request with its response, an e-mail, or a handshake. Each direction of a transaction has a
 * progress: a number defined by the protocol that only grows. A buffer is available from a certain progress on and does
 * not change afterwards, except growing buffers (bodies).
 *
 * Threads:   a struct app belongs to one worker; struct app_proto and protocol settings are shared and read-only.
 * Ownership: parser states and transactions are allocated from the worker's heap and are freed with their flow at the
 *            latest.
 * Units:     lengths and offsets are bytes; names that end in _ns are nanoseconds; progress is defined by the protocol.
 */
#ifndef SLUICE_APP_H
#define SLUICE_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/decision.h"
#include "sluice/diag.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/flow.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/stream_event.h"

struct app;
struct app_context; /* argument of all parser functions: the worker and the flow; valid during the call */
struct app_flow;    /* application state of a flow: flow->app */
struct transfer;
struct script_library;

/* Bit sets of directions: 1 << FLOW_TO_SERVER, 1 << FLOW_TO_CLIENT. */
enum { APP_TO_SERVER = 1 << FLOW_TO_SERVER, APP_TO_CLIENT = 1 << FLOW_TO_CLIENT, APP_BOTH = 3 };
enum { APP_TCP = 1, APP_UDP = 2 }; /* bit set of transports */
enum {
    APP_EVENT_WORDS = 2,
    APP_MAX_EVENTS = APP_EVENT_WORDS * 64, /* maximum number of events of one protocol */
    APP_MAX_PROTOCOLS = 48,
};

/* Anomalies found by protocol detection: events of the packet, numbered after the events of the stream module. */
enum app_layer_event {
    APP_LAYER_EVENT_FIRST = STREAM_EVENT_END,
    APP_LAYER_MISMATCH = APP_LAYER_EVENT_FIRST, /* the two directions speak different protocols */
    APP_LAYER_WRONG_DIRECTION,                  /* the server sent first, but in this protocol the client does */
    APP_LAYER_ONE_DIRECTION, /* the protocol was detected in one direction; the other direction has bytes of no known
                                protocol */
    APP_LAYER_SKIPPED,       /* never set: exists so that Suricata's rules with it load */
    APP_LAYER_NO_TLS,        /* no TLS after STARTTLS */
    APP_LAYER_UNEXPECTED,    /* the protocol differs from the announced one */
    APP_LAYER_EVICTED,       /* the parser's state was evicted: app_evict() */
    APP_LAYER_LIMIT,         /* the evaluation of a rule reached a work limit; set by detect */
    APP_LAYER_EVENT_END,
};
_Static_assert((int)APP_LAYER_EVENT_END <= PACKET_EVENT_WORDS * 64, "a packet has no room for all events");
const char *app_layer_event_name(enum app_layer_event event); /* the name in app-layer-event */

/* --- Transactions -------------------------------------------------------------------------------- */

struct app_detection; /* defined by detect */

/*
 * Lists of transactions that need work. A flow may have thousands of open transactions, of which a packet changes one;
 * the lists keep the cost of a packet independent of the number of open transactions. Each list is ordered by the start
 * of the transactions.
 */
enum app_tx_list {
    APP_TX_OPEN,        /* not complete in all directions */
    APP_TX_CHANGED,     /* changed since the last app_free_completed() */
    APP_TX_UNINSPECTED, /* has data that rules have not inspected; one list per direction: APP_TX_UNINSPECTED + enum
                           flow_direction */
    APP_TX_LISTS = APP_TX_UNINSPECTED + FLOW_DIRECTIONS,
};

struct app_tx_link {
    struct app_tx *next, *previous;
};

/* How far the firewall rules have accepted a direction of a transaction. */
enum { APP_FILTER_RULES = 4 };
struct app_filter_state {
    uint8_t hook;  /* number of hooks that are accepted and over; the next one is the current hook */
    bool accepted; /* the current hook is accepted, and may still get data */
    uint8_t count; /* number of rules that accepted the current hook: app_tx.filter_rules */
};

/* The first member of a protocol's transaction type. A parser may write directions, sub_state, log_never and tentative,
 * may read all fields, and calls app_tx_advance() and app_tx_mark_changed(); the framework writes the other fields. A
 * transaction that is complete in both directions may have been freed before the next call of the parser, so a parser
 * state must not keep a pointer to it. */
struct app_tx {
    struct app_tx *next, *previous;
    struct app_flow *flow;
    struct app_tx_link link[APP_TX_LISTS];
    const struct app_proto *proto;
    uint64_t id;     /* counts from 0 in each flow */
    uint64_t number; /* tx_id in EVE: like id, but restarts at 0 when the protocol of the flow changes */
    /* The small members are adjacent: a flood of transactions needs memory for the gaps of each of them. */
    uint8_t listed;   /* lists that contain it: 1 << enum app_tx_list */
    uint8_t protocol; /* id of the protocol */
    uint8_t progress[FLOW_DIRECTIONS];
    uint8_t inspected[FLOW_DIRECTIONS]; /* progress at the last inspection by rules */
    bool fresh[FLOW_DIRECTIONS]; /* a buffer has grown, or an event or file was added, since the last inspection */
    uint8_t directions;          /* directions that the transaction has; initially APP_BOTH */
    bool logged;                 /* the event of the transaction has been written */
    uint8_t guessed; /* number of alerts that got this transaction although their rule has no transaction conditions */
    bool log_never;  /* exclude from the log */
    uint8_t
        store_chains;  /* directions whose certificate chain has to be stored (tls.store): 1 << enum flow_direction */
    bool beside;       /* created by app_tx_new_alternative() */
    bool only_events;  /* created only to carry an event of the protocol: logged as an anomaly event only */
    bool moved;        /* transferred to another process (engine hand-over), which continues it */
    uint8_t sub_state; /* number of the sub-state, from 1 on; 0: the protocol has none */
    bool tentative;    /* not inspected until app_tx_confirm(): it may turn out not to be a message */
    bool settled[FLOW_DIRECTIONS];                   /* set by detect: rules have inspected the complete direction */
    struct app_filter_state filter[FLOW_DIRECTIONS]; /* set by detect */
    bool accepted;         /* set by detect: firewall rules have accepted all of the transaction (accept:tx) */
    struct buffer matches; /* rules that have matched in any reading of the message, as uint64_t: direction << 63 | gid
                              << 32 | sid */
    struct tx_bits *bits;  /* bits that rules have set (xbits with track tx); NULL: none */
    uint64_t events[APP_EVENT_WORDS];
    struct file_list files[FLOW_DIRECTIONS];
    uint64_t settled_events[FLOW_DIRECTIONS][APP_EVENT_WORDS]; /* `events` when `settled` was set */
    struct app_detection *detection[FLOW_DIRECTIONS];          /* owned by detect; NULL if none */
    uint64_t begin_ns;                                         /* time of the packet that began it */
    /* set by detect: the rules of `filter`, as gid << 32 | sid */
    uint64_t filter_rules[FLOW_DIRECTIONS][APP_FILTER_RULES];
};

static inline bool app_tx_needs_inspection(const struct app_tx *tx, enum flow_direction direction)
{
    return tx->directions >> direction & 1 && !tx->tentative &&
           (tx->fresh[direction] || tx->progress[direction] != tx->inspected[direction]);
}

static inline bool app_tx_has_event(const struct app_tx *tx, unsigned event)
{
    return tx->events[event / 64] >> (event % 64) & 1;
}

/* --- Protocol detection --------------------------------------------------------------------------- */

/* A literal in the first bytes of a direction that identifies the protocol. */
struct app_pattern {
    const char *bytes;
    uint8_t length;
    uint8_t offset; /* lowest position at which the literal may start */
    uint8_t depth;  /* position at which the literal must have ended; 0: the literal starts exactly at `offset` */
    bool nocase;
    enum flow_direction direction;
};

enum app_probe_result {
    APP_NO,     /* not this protocol */
    APP_UNSURE, /* more bytes are needed */
    APP_YES,
    APP_REVERSED, /* yes, but client and server are swapped */
};

/* Input of app_proto.probe. */
struct app_probe {
    const uint8_t *bytes; /* the first bytes of the direction, or a datagram */
    uint32_t length;
    enum flow_direction direction;
    unsigned transport; /* APP_TCP or APP_UDP */
    uint16_t client_port, server_port;
    bool port_hint; /* the server's port is a port of the protocol: a weaker test is sufficient */
};

/* How messages of the protocol start: their first 8 bytes, read in network byte order, satisfy (bytes & mask) ==
 * value. */
struct app_message_start {
    uint64_t mask, value;
};
enum { APP_MESSAGE_STARTS_MAX = 2 };

/* --- Parser input and result ---------------------------------------------------------------------- */

/* Consecutive bytes of one direction, or one datagram. */
struct app_input {
    enum flow_direction direction;
    unsigned transport;
    const uint8_t *bytes; /* bytes not consumed by the previous call, followed by the new ones, contiguous; valid during
                             the call */
    uint32_t length;
    uint32_t seen;   /* number of leading bytes that the previous call has seen, so that a search can resume there */
    uint64_t offset; /* offset of bytes[0] in the stream of the direction */
    uint64_t gap; /* number of bytes before bytes[0] that the parser does not get: lost bytes, and the unconsumed bytes
                     before them; non-zero only with accepts_gaps */
    bool end;     /* the direction has ended (FIN or end of the flow); may be set without bytes */
};

enum app_status {
    APP_OK,    /* `consumed` bytes are done. The remaining bytes are passed again, followed by new ones, when at least
                  `needed` bytes are available (0: at least one more than now). */
    APP_ERROR, /* not this protocol, or damaged beyond recovery: parsing of the flow stops, and an error is counted */
};
struct app_result {
    enum app_status status;
    uint32_t consumed, needed;
};

/* --- Protocol descriptor -------------------------------------------------------------------------- */

struct app_event {
    const char *name; /* name in app-layer-event:PROTO.NAME, e.g. "request_field_missing_colon" */
    const char *help; /* one line for the manual */
};

struct app_bytes {
    const uint8_t *bytes; /* not NULL if the buffer exists, even when it is empty */
    uint32_t length;
    uint64_t offset; /* growing buffers: offset of bytes[0] in the whole buffer */
    bool partial;    /* more bytes may follow */
    bool little;     /* numbers in the buffer are little-endian, for byte_test:...,dce and similar keywords */
};

/* Selects one value of a buffer in a transaction. */
struct app_selector {
    enum flow_direction direction;
    unsigned index; /* index of the value, for a keyword with KEYWORD_MULTI (multi-buffer); otherwise 0 */
    int part;       /* app_buffer.part */
};

/* A buffer of this protocol's transactions. Directions with the same progress and getter share a row. */
struct app_buffer {
    const struct keyword *keyword;
    unsigned directions; /* APP_TO_SERVER, APP_TO_CLIENT, APP_BOTH */
    uint8_t progress;    /* progress of the direction from which on the buffer is available */
    /* Returns false if there is no such value. The bytes are valid until the transaction is fed again. */
    bool (*get)(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
    int part;   /* argument of a getter that is shared by several rows */
    bool grows; /* evaluated from `progress` on whenever tx->fresh is set, until it is no longer partial */
};

/* The progress from which on a KEYWORD_TRANSACTION condition may be evaluated; the members are as in struct
 * app_buffer. */
struct app_condition {
    const struct keyword *keyword;
    unsigned directions;
    uint8_t progress;
};

/* Hooks of a protocol, in the order in which a transaction reaches them. */
enum { APP_MAX_HOOKS = 16, APP_MAX_SUB_STATES = 2 }; /* maximum numbers of hooks of a direction, and of sub-states */
struct app_hook {
    const char *name;  /* "request_line"; "stream:request_headers" in a sub-state */
    uint8_t progress;  /* progress from which on the hook is evaluated */
    uint8_t sub_state; /* number of the sub-state, from 1 on; 0: the protocol has none */
};

/* A certificate chain, valid until the transaction is fed again. */
struct app_chain {
    const uint8_t *bytes; /* DER-encoded certificates, each preceded by its length in 3 bytes */
    uint32_t length;
    bool from_client;
    struct span subject, issuer, fingerprint; /* of the first valid certificate; length 0: none is valid */
};

/* A value for scripts: text, or a number. */
enum { APP_SCRIPT_TEXT = 64 };
struct app_script_value {
    bool is_number;
    int64_t number;
    struct app_bytes bytes;     /* the text, which may be in `text` */
    char text[APP_SCRIPT_TEXT]; /* memory for a text that the protocol has to format */
};

struct app_proto {
    const char *name;                  /* app_proto in EVE and protocol name in rules, e.g. "tls" */
    const char *const *words;          /* aliases in rules, NULL-terminated, e.g. { "ssl", NULL }; NULL for none */
    const char *help;                  /* one line for the manual */
    unsigned transports;               /* APP_TCP, APP_UDP */
    const char *tcp_ports, *udp_ports; /* default ports for probing, e.g. "80,8080"; NULL for none */

    /* Detection. Patterns and probe are both optional; a protocol without either is reached by app_change_protocol()
     * and app_expect() only. */
    const struct app_pattern *patterns;
    size_t pattern_count;
    enum app_probe_result (*probe)(const struct app_probe *in);
    bool probe_any_port;     /* the probe is strict enough for every port */
    bool default_ports_only; /* with probe_any_port: the probe accepts the ports in udp_ports only, regardless of the
                            settings */
    /*
     * UDP, with probe_any_port and without default_ports_only: the starts of datagrams that the probe accepts on ports
     * other than those of the protocol. The probe rejects all other datagrams, and those shorter than 8 bytes, so it is
     * not called for them. The probe is called for every datagram if this is NULL, if there are more than
     * APP_MESSAGE_STARTS_MAX heads, or if the protocol has patterns, but no heads; with heads, patterns are for TCP
     * only.
     */
    const struct app_message_start *heads;
    size_t head_count;
    /* TCP: servers of this protocol answer unreadable input with an error and continue to read, so all bytes on its
     * ports are parsed as this protocol. */
    bool continues_after_errors;
    /* TCP: if another protocol was detected and the probe accepts the bytes too, they are parsed as both protocols. */
    bool parsed_alongside;
    bool is_text; /* with parsed_alongside: bytes of another protocol are parsed as this one only if their first word is
                     text */

    /* Parser state: `state_size` zeroed bytes for each flow. start and stop may be NULL. start returns 0 or a negative
     * errno. stop frees memory owned by the state, but not the transactions. */
    size_t state_size;
    int (*start)(struct app_context *context, void *state);
    void (*stop)(struct app_context *context, void *state);
    struct app_result (*feed)(struct app_context *context, void *state, const struct app_input *in);
    bool accepts_gaps; /* feed is called after lost bytes (app_input.gap); false: a gap ends the parsing of the
                          direction */
    /* Optional: writes the state for another process, or reads it into a state that has just been started
     * (sluice/transfer.h describes `t`). The transactions for which app_transfer_tx() is called are transferred too;
     * all others end with the process. Without this function the parser restarts at the current position. */
    void (*transfer)(struct app_context *context, void *state, struct transfer *t);
    uint32_t
        pending_max; /* maximum number of unconsumed bytes in a direction; exceeding it is a parser error; 0: 64 KiB */

    /* Transactions: `tx_size` bytes that start with struct app_tx. tx_free frees memory owned by the transaction except
     * its files; it may be called after stop and must not use the parser state. */
    size_t tx_size;
    void (*tx_free)(struct app_context *context, struct app_tx *tx);
    uint8_t complete[FLOW_DIRECTIONS]; /* progress of a complete direction; 0 means 1 */
    uint32_t tx_max; /* maximum number of live transactions of this protocol in a reading; exceeding it is a parser
                        error; 0: 512 */
    /* Names of the progress values, which rules use as hooks ("request_line"), NULL-terminated; the index is the
     * progress. "" for a value without a hook. NULL: the two hooks request_started and request_complete, or
     * response_started and response_complete, which every protocol has. */
    const char *const *steps[FLOW_DIRECTIONS];
    /* Optional, instead of `steps`: sub-states, kinds of transactions with separate hooks
     * (http2:stream:request_headers). The parser sets app_tx.sub_state. `hooks` contains the hooks of all sub-states,
     * ordered by sub-state, terminated by one without a name. */
    const char *const *sub_states; /* names of the sub-states, NULL-terminated; NULL: none */
    const struct app_hook *hooks[FLOW_DIRECTIONS];

    /* Names of the types of frames ("pdu", "hdr"), NULL-terminated; the index is the argument of app_frame(). NULL: the
     * protocol has no frames. */
    const char *const *frames;

    const struct app_event *events;
    size_t event_count;
    const char *const *event_aliases; /* pairs of former event name and current name, NULL-terminated; or NULL */
    const struct app_buffer *buffers;
    size_t buffer_count;
    const struct app_condition *conditions;
    size_t condition_count;
    /* Optional: the protocol that app_refine_protocol() refines to this one, whose buffers and conditions this one has,
     * too. */
    const struct app_proto *extends;
    /* Optional: the transaction of another protocol that a direction of the transaction contains, as for DNS over
     * HTTP. Returns NULL if there is none. */
    const struct app_tx *(*inner)(const struct app_tx *tx, enum flow_direction direction);
    /* With inner: the protocol of the inner transactions. The parser sets the events of this protocol on the outer
     * transaction, with numbers that follow those of `events`. */
    const struct app_proto *inner_proto;
    bool grows_at_segment_end; /* growing buffers usually grow by the last bytes of a segment, so that one scan can
                                  search the stream and the buffer (merged database) */

    /* EVE: `log` writes the members of the object `log_key` in an event of type `log_type`; both are NULL if
     * transactions are not logged. A transaction is logged once, when its progress has reached log_progress in all
     * directions (0: complete) or when its flow ends. `log` also describes the transaction in alerts. */
    const char *log_type, *log_key;
    const char *log_setting; /* name in eve.types that enables the event; NULL: log_type */
    uint8_t log_progress[FLOW_DIRECTIONS];
    void (*log)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: replaces `log` in alerts and file events. */
    void (*describe)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: additional members in alerts, written after those of `describe` or `log`. */
    void (*describe_alert)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: further top-level objects of the event. */
    void (*log_top_level)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Writes members that Suricata's schema of events does not have, for the object "sluice" of the event; NULL: none
     */
    void (*log_own)(const struct app_tx *tx, struct fields *out);
    /* Optional: returns false if the transaction must not be logged, such as a TLS session without certificate. */
    bool (*wants_log)(const struct app_tx *tx, const void *settings);
    /* Optional: returns the protocol as which the transaction is logged: this one, or the one that it extends. */
    const struct app_proto *(*logs_as)(const struct app_tx *tx);
    /* Optional: returns true if the event has the direction from server to client, like the message that it describes
     * (a DNS response); false: from client to server. */
    bool (*logs_from_server)(const struct app_tx *tx, const void *settings);
    /* Optional: gets the certificate chain of a direction. Returns false if it has not been received. */
    bool (*get_chain)(const struct app_tx *tx, enum flow_direction direction, struct app_chain *out);
    /* Optional: the value of a header sent by the client, by its case-insensitive name; used for the headers in which
     * proxies report the client's address. Returns false if the header has not been received. The bytes are valid until
     * the transaction is fed again. */
    bool (*header)(const struct app_tx *tx, const char *name, struct app_bytes *out);

    /* Settings of the protocol below "app-layer.protocols.NAME." and "eve.types.TYPE.", terminated by a row without a
     * name; or NULL. The framework provides "app-layer.protocols.NAME.enabled". It fills an object of settings_size
     * bytes from the rows, which app_get_settings() returns; strings in it are valid only in `configure`. */
    const struct setting *settings;
    size_t settings_size; /* 0: no row has a field */
    /* Optional: completes the object of settings. Returns 0 or -ENOMEM. */
    int (*configure)(const struct config *config, void *settings);
    void (*unconfigure)(void *settings); /* optional: frees what configure allocated */

    /* Optional: a value of the transaction, by its name, for scripts (src/app/script_transaction.c), if no buffer has
     * it. `index` is the number of the value if there are several, otherwise 0. Returns false if there is none. */
    bool (*script_value)(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                         struct app_script_value *out);

    /* Optional: frees bodies of the transaction that are not in its files and that rules have inspected. */
    void (*shed)(struct app_context *context, struct app_tx *tx);
};

/* Returns an event of the protocol's transactions by its number; NULL: there is none. */
static inline const struct app_event *app_get_event(const struct app_proto *proto, unsigned event)
{
    if (event < proto->event_count)
        return &proto->events[event];
    return proto->inner_proto && event - proto->event_count < proto->inner_proto->event_count
               ? &proto->inner_proto->events[event - proto->event_count]
               : NULL;
}

/* All protocols of the build, sorted by name; generated by CMake. The id of a protocol is its index + 1; id 0 means
 * none. */
extern const struct app_proto *const app_list[];
extern const size_t app_list_count;
/* Returns the id of the protocol with this name or alias (case-insensitive); 0 for none. */
unsigned app_id_by_name(const char *name);
/* Writes the protocols' settings tables for config_new() and returns their number (at most app_list_count). */
size_t app_setting_tables(const struct setting **out);
/* Writes the names and aliases of all protocols, NULL-terminated, at most `max` - 1 of them, and returns their
 * number. */
size_t app_list_names(const char **out, size_t max);
const struct app_proto *app_proto_by_id(unsigned id); /* NULL for id 0 and unknown ids */

/* Returns the number of hooks of a direction. */
unsigned app_hook_count(const struct app_proto *proto, enum flow_direction direction);
/* Returns the hook with this number, which is less than app_hook_count(). */
struct app_hook app_get_hook(const struct app_proto *proto, enum flow_direction direction, unsigned index);
/* Returns the name of the transaction's sub-state; NULL: it has none. */
const char *app_tx_sub_state_name(const struct app_tx *tx);
extern const struct rule_hook_names app_hook_names;        /* for the parser of rules */
extern const struct script_library app_script_libraries[]; /* libraries of scripts: packets, flows, transactions */

/* --- Functions for parsers ------------------------------------------------------------------------ */

struct heap *app_heap(struct app_context *context);
struct file_engine *app_files(struct app_context *context);
const void *app_get_settings(const struct app_context *context); /* the settings; NULL if settings_size is 0 */
/* Returns the settings of another protocol, whose code the parser uses. */
const void *app_get_settings_of(const struct app_context *context, const struct app_proto *proto);
const struct flow *app_context_flow(const struct app_context *context);
uint64_t app_packet_time_ns(const struct app_context *context); /* time of the current packet */
unsigned app_get_needs(const struct app_context *context); /* needs of the loaded rules, as passed to app_set_needs() */
/* Returns an id for file_open(); ids count from 0 in each flow. */
uint32_t app_next_file_id(struct app_context *context);

/* A byte range of a file; other transactions carry the other ranges. See src/app/byterange.c. */
struct app_byterange {
    uint64_t serial; /* 0: none */
    uint64_t offset; /* offset of the next byte in the file */
    uint32_t entry;
};
struct app_byterange_info {
    const void *key; /* identifies the file: equal for all its ranges */
    uint32_t key_length, name_length;
    const void *name;
    uint64_t start, total; /* offset of the range; size of the whole file */
    uint64_t timeout_ns;   /* the file is abandoned after this time without new data */
};
/* Starts a range. Returns false and clears *range if there is no memory or no free table entry. */
bool app_byterange_start(struct app_context *context, struct app_byterange *range,
                         const struct app_byterange_info *info);
/* Adds the next bytes of the range to the file; the file may be added to tx->files. For bytes that were lost the caller
 * adds their number to range->offset. Returns false when this call abandons the file; bytes for a file that is complete
 * or was abandoned earlier are ignored (true). */
bool app_byterange_add(struct app_context *context, struct app_byterange *range, struct app_tx *tx,
                       enum flow_direction direction, const uint8_t *bytes, uint32_t length);

/* Adds a transaction. Returns NULL if there is no memory or too many transactions are open; the parser must return
 * APP_ERROR then. */
struct app_tx *app_tx_new(struct app_context *context);
/* Adds a transaction with the existing id `id`: another reading of the same bytes. Rules inspect it; it is neither
 * logged nor counted. Returns NULL as app_tx_new(). */
struct app_tx *app_tx_new_alternative(struct app_context *context, uint64_t id);
struct app_tx *app_tx_first(
    const struct app_context *context); /* the oldest transaction of this protocol that is not freed; or NULL */
struct app_tx *app_tx_last(const struct app_context *context);
/* Return the oldest and the newest transaction that is not complete in all directions (NULL for none), and the number
 * of such transactions. */
struct app_tx *app_tx_first_open(const struct app_context *context);
struct app_tx *app_tx_last_open(const struct app_context *context);
uint32_t app_tx_open_count(const struct app_context *context);
static inline struct app_tx *app_tx_next_open(const struct app_tx *tx)
{
    return tx->link[APP_TX_OPEN].next;
}
/* Sets the progress of a direction. */
void app_tx_advance(struct app_tx *tx, enum flow_direction direction, uint8_t progress);
/* Ends the tentative state: rules inspect the transaction from now on. A tentative transaction that is never confirmed
 * is freed without inspection. */
void app_tx_confirm(struct app_tx *tx);
/*
 * Records that a rule has matched in the direction, for all readings of the message (app_tx_new_alternative()). Returns
 * false if the flow has alternative transactions and the rule had matched already, so its alert exists. Without memory
 * each reading may produce an alert.
 */
bool app_tx_record_match(struct app_tx *tx, enum flow_direction direction, uint32_t gid, uint32_t sid);
/* Returns the heap that memory of the transaction belongs to. */
struct heap *app_tx_heap(const struct app_tx *tx);
/* Reports that a buffer of the direction has grown, or that a file was added, has grown or has ended. Not needed after
 * app_tx_advance(). */
void app_tx_mark_changed(struct app_tx *tx, enum flow_direction direction);
/* Sets an event (index in proto->events) on a transaction. tx == NULL: on the newest one, which is created if there is
 * none. */
void app_event(struct app_context *context, struct app_tx *tx, unsigned event);

/* Reports that the content of a datagram contradicts the direction of its flow: rules of both directions are
 * evaluated. */
void app_report_ambiguous_direction(struct app_context *context);

/* Reports that endpoints may interpret the message in different ways and that the protocol's setting is to drop it. In
 * inline mode the flow is dropped. */
void app_drop_ambiguous(struct app_context *context);

/* Frames: messages, or parts of them, as ranges of the stream of a direction, or of a datagram. See src/app/frame.c. */
enum {
    APP_FRAME_TYPES = 16,  /* maximum number of types of a protocol, with APP_FRAME_STREAM */
    APP_FRAME_STREAM = 15, /* type of the frame with all bytes of a direction of a TCP stream */
    APP_FRAME_MATCHES = 4, /* number of rules whose match in a frame is stored with it */
    APP_FRAMES_MAX = 1024, /* maximum number of frames of a direction that are not inspected completely */
};
#define APP_FRAME_UNKNOWN UINT64_MAX /* length of a frame whose end is not known yet */
/* Whether a loaded rule or an output uses frames of this type. */
bool app_wants_frame(const struct app_context *context, unsigned type);
/* Whether a loaded rule or an output uses frames of the protocol. */
bool app_wants_frames(const struct app_context *context);
/* Announces the frame of `length` bytes (APP_FRAME_UNKNOWN: not known yet) that begins at index `at` of the input. A
 * frame that was announced before is not added again; its length is set. `tx`: the transaction of the frame; NULL: not
 * known (yet). */
void app_frame_add(struct app_context *context, const struct app_input *in, uint32_t at, uint64_t length, unsigned type,
                   const struct app_tx *tx);
static inline void app_frame(struct app_context *context, const struct app_input *in, uint32_t at, uint64_t length,
                             unsigned type, const struct app_tx *tx)
{
    if (app_wants_frame(context, type))
        app_frame_add(context, in, at, length, type, tx);
}
/* Ends the newest frame of the type, if its length is not known, before index `at` of the input. */
void app_frame_end(struct app_context *context, const struct app_input *in, uint32_t at, unsigned type);
/* Sets the transaction of the newest frame of the type, unless it has one. */
void app_frame_set_tx(struct app_context *context, enum flow_direction direction, unsigned type,
                      const struct app_tx *tx);

/* Announces that another protocol follows in both directions, after the bytes consumed by this call. `name` is that
 * protocol; NULL: any, so detection restarts. The state and its transactions are kept until the new protocol is known.
 * `optional`: if no protocol is detected, the current one continues. If the named protocol is disabled or does not
 * exist and the change is not optional, parsing stops like after app_stop_parsing(context, false), without an event. */
void app_change_protocol(struct app_context *context, const char *name, bool optional);
/* Passes bytes to the parser of the protocol that follows after app_change_protocol(), which reads them with
 * app_expectation_tag(). Returns false for more than APP_TAG_MAX bytes, and without memory. */
enum { APP_TAG_MAX = 32 << 10 };
bool app_set_tag(struct app_context *context, const void *bytes, uint32_t length);
/* Continues the flow, and its transactions that rules have not inspected, as a protocol that extends the current one
 * (app_proto.extends): it has the same parser, state and transactions, and further buffers. Returns false if that
 * protocol is disabled. */
bool app_refine_protocol(struct app_context *context, const struct app_proto *proto);
/* Stops parsing the flow, because the following bytes are encrypted. `whole`: rules do not inspect the following bytes
 * as raw bytes either. */
void app_stop_parsing(struct app_context *context, bool whole);
/* After app_stop_parsing(whole): allows bypassing the flow regardless of the settings. */
void app_allow_bypass(struct app_context *context);

/* An expected flow (ftp-data), from any port of the client to `server_port` of the server. app_expect() copies the
 * `tag_length` bytes of `tag`; the copy belongs to the framework. app_expectation_tag() returns it to the parser of the
 * new flow, valid as long as that flow. app_expect() returns false if the expectation cannot be stored. */
struct app_expectation {
    struct address client, server;
    int ip_version;
    uint16_t server_port;
    const char *proto;
    uint64_t parent_id; /* flow.id of the flow that announces it; set by app_expect() */
};
bool app_expect(struct app_context *context, const struct app_expectation *what, const void *tag, uint32_t tag_length);
const void *app_expectation_tag(const struct app_context *context, uint32_t *tag_length); /* NULL for none */
/* Returns flow.id of the flow that announced this one, as EVE's parent_id; 0 if no flow did. */
uint64_t app_flow_parent(const struct flow *flow);

/* For app_proto.transfer: writes or reads the framework's part of a transaction. When reading, the parser calls it for
 * a transaction that it has recreated; events and changes recorded while recreating it do not count as new. */
void app_transfer_tx(struct app_context *context, struct transfer *t, struct app_tx *tx);
/* Whether the transaction needs to be transferred: it is incomplete, or rules have not inspected all of it. */
bool app_tx_is_pending(const struct app_tx *tx);
/* Writes a buffer, or reads it into memory of the worker's heap. */
void app_transfer_buffer(struct app_context *context, struct transfer *t, struct buffer *buffer);

/* The keyword frame. Its parse() selects a copy of it for each type of frames. */
struct app_frame_keyword {
    struct keyword keyword;
    uint8_t protocol, type; /* id of the protocol, index in its `frames` */
};
extern const struct keyword keyword_frame;
/* Returns the buffer keyword of a rule as the keyword of a type of frames; NULL: it is another buffer. */
static inline const struct app_frame_keyword *app_frame_keyword(const struct keyword *keyword)
{
    return keyword && keyword->kind == KEYWORD_BUFFER && keyword->parse == keyword_frame.parse
               ? (const struct app_frame_keyword *)keyword
               : NULL;
}

/* The keyword file.data and its getter, for the buffer tables of protocols that carry files: the inspection window of
 * file `index`, which grows. */
extern const struct keyword keyword_file_data;
bool app_file_data(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
extern const struct keyword keyword_file_name, keyword_file_magic;
extern const char *const app_file_protocols[]; /* names of the protocols that carry files */
extern const char
    *const app_common_bodies[]; /* value of prefilter_hints.common for the keywords of bodies with files */
/* Returns the buffer row of file.name or file.magic, which every protocol with file.data has; NULL for other keywords.
 */
const struct app_buffer *app_file_buffer(const struct keyword *keyword);
/* Stores all present and future files of a direction of the flow (filestore:...,flow). */
void app_store_files(struct flow *flow, struct file_engine *files, enum flow_direction direction, uint32_t sid);

/* --- Functions for the pipeline ------------------------------------------------------------------- */

/* Configured ports on which a protocol is probed. */
enum { APP_PORTS_MAX = 64 };
struct app_ports {
    bool set, any; /* set: the configuration has ports for the protocol; any: it is probed on all ports */
    unsigned count;
    uint16_t port[APP_PORTS_MAX];
};

struct app_options {
    size_t memcap; /* bytes of heap for this worker */
    struct file_options files;
    bool enabled[APP_MAX_PROTOCOLS];              /* by index in app_list */
    uint8_t transports[APP_MAX_PROTOCOLS];        /* transports on which the protocol is detected: APP_TCP, APP_UDP */
    struct app_ports ports[APP_MAX_PROTOCOLS][2]; /* for TCP, UDP */
    void *settings[APP_MAX_PROTOCOLS];            /* objects of the protocols' settings, owned; NULL: none */
};
/* Reads the settings common to all protocols and those of each protocol; clears the other options. Returns 0, -ENOMEM,
 * or -EINVAL with a message in `diag`; on failure nothing is allocated. */
int app_options_configure(struct app_options *options, const struct config *config, struct diag *diag);
void app_options_clear(struct app_options *options); /* frees the settings */

struct app_shared; /* shared by all workers: expectations and counter names */
int app_shared_new(struct app_shared **out);
void app_shared_free(struct app_shared *shared);

int app_new(struct app **out, const struct app_options *options, struct app_shared *shared); /* 0 or -ENOMEM */
/* Changes the memcap (one worker's share) while parsers use memory, as heap_set_memcap(). */
int app_set_memcap(struct app *app, size_t memcap);
void app_free(struct app *app);
struct file_engine *app_file_engine(const struct app *app);
/* Sets the needs of the loaded rules: RULE_FILE_..., RULE_MESSAGE_MD5, RULE_TX_START. Call between packets only. */
void app_set_needs(struct app *app, unsigned needs);
/* Sets the types of frames that rules or outputs use: a bit set for each protocol, by index in app_list. Call between
 * packets only. */
void app_set_frames(struct app *app, const uint16_t types[APP_MAX_PROTOCOLS]);
void app_set_replay_order(struct app *app,
                          struct replay_order *order); /* replay ordering for expectations; NULL in the daemon */

typedef void app_release_function(void *user, struct app_detection *detection);

/* Result of app_feed_stream() and app_feed_datagram(). */
struct app_verdict {
    enum exception_cause exception; /* EXCEPTION_APP_ERROR, _MEMCAP, _AMBIGUOUS or EXCEPTION_NONE */
    uint8_t events;                 /* bits: enum app_layer_event - APP_LAYER_EVENT_FIRST */
    bool reversed;                  /* the flow of the datagram was swapped, so the packet has the other direction */
    bool either_direction;          /* the datagram may have either direction: rules of both are evaluated */
    bool stop_stream; /* app_stop_parsing(whole): the following bytes are not needed; reported again with every later
                         chunk */
};

/* Consecutive bytes of a TCP stream. */
struct app_stream_chunk {
    const uint8_t *bytes;
    uint32_t length;
    uint64_t offset; /* offset of bytes[0] in the stream; bytes between the previous chunk and this offset were lost */
    bool end;        /* the direction has ended */
    const int64_t *urgent; /* offsets of bytes that the receiver possibly does not read in the stream
                              (stream_get_urgent_offsets()) */
    unsigned urgent_count;
};
void app_feed_stream(struct app *app, struct flow *flow, enum flow_direction direction,
                     const struct app_stream_chunk *in, uint64_t now_ns, struct app_verdict *verdict);
/*
 * Returns true if a receiver may read the stream with or without the urgent byte at `place`, one of the `count` offsets
 * in `places`, without hiding data from the parsers. This is so if no parser runs, if the flow has a reading without
 * that byte, or if such a reading can still be created because the protocol is unknown. is_data_mark: the byte is DM
 * after IAC, as sent by Telnet's Synch (RFC 854).
 */
bool app_parses_without_urgent_byte(const struct flow *flow, enum flow_direction direction, uint64_t place,
                                    const int64_t *places, unsigned count, bool is_data_mark);
/* Identifies and parses a datagram. Returns true if the flow's protocol state has changed, or if *verdict is not empty.
 */
bool app_feed_datagram(struct app *app, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                       uint32_t length, uint64_t now_ns, struct app_verdict *verdict);
/* Whether protocol detection has just finished in the direction. As in Suricata this is true for the packet that
 * completed detection, if it has this direction, and for the next packet of the direction. `next`: the call is for that
 * next packet; later calls return false. */
bool app_is_just_detected(struct flow *flow, enum flow_direction direction, bool next);
/* Completes all open transactions at the end of the flow: no more data will come. */
void app_flow_finish(struct app *app, struct flow *flow);
/* Frees the application state of the flow and sets flow->app to NULL. `release` as for app_free_completed(). */
void app_flow_free(struct app *app, struct flow *flow, app_release_function *release, void *user);
/* Frees the application state of a closed connection whose data has been parsed completely. If events or rules may
 * still need the state, it is kept until the end of the flow. app_tx_count() returns the same number afterwards. */
void app_release_closed(struct app *app, struct flow *flow);

/*
 * Functions that free memory. While app_is_memory_low() is true, the caller takes the following steps before it
 * inspects a packet. app_find_idle_flow() returns the flow whose memory is to be freed; NULL: there is none. First
 * app_shed_files() frees the files and bodies of this flow, and returns false if there was nothing to free. Later data
 * of these files and bodies is inspected, but no match spans the freed part. Then app_evict() frees the parser and the
 * transactions, which must have been inspected and logged. `within_message` is the result of
 * app_has_incomplete_message(). From then on the bytes of a TCP flow are inspected as a stream only, until a message of
 * its protocol starts.
 */
bool app_is_memory_low(const struct app *app);
struct flow *app_find_idle_flow(struct app *app);
bool app_shed_files(struct app *app, struct flow *flow);
bool app_has_incomplete_message(
    const struct flow *flow); /* to be called before app_flow_finish(), which completes all messages */
void app_evict(struct app *app, struct flow *flow, bool within_message, app_release_function *release, void *user);
/* values of flow->app_evicted */
enum { APP_EVICTED_BETWEEN_MESSAGES = 1, APP_EVICTED_WITHIN_MESSAGE, APP_EVICTED_REPORTED };

struct app_memory_counts {
    uint64_t memcap, used;                 /* bytes */
    uint64_t shed_flows, shed_bytes;       /* by app_shed_files() */
    uint64_t evicted_flows, evicted_bytes; /* by app_evict() */
    uint64_t resumed_flows;                /* evicted flows whose parser was restarted */
};
void app_get_memory_counts(const struct app *app, struct app_memory_counts *out);
/* Abandons all files that are being reassembled from byte ranges: app_byterange_start(). */
void app_byterange_clear(struct app *app);

/* Transfer to another process (sluice/transfer.h). Protocol ids depend on the build: here[] maps an id of the writer to
 * the id in this process. */
struct app_id_map {
    uint8_t here[256];
};
void app_id_map_write(struct transfer *t);
int app_id_map_read(struct transfer *t, const struct app *app, struct app_id_map *out); /* 0 or -EBADMSG */
uint32_t app_map_application(const struct app_id_map *numbers,
                             uint32_t application); /* maps a value of flow->application */
struct app_transfer_options {
    const struct app_id_map *numbers; /* used only when reading */
    void (*each_tx)(struct transfer *t, struct app_tx *tx,
                    void *user); /* transfers data that other modules attach to a transaction */
    void *user;
};
/* Writes or reads the application state of a flow. When writing, flow->app must not be NULL. When reading, flow->app is
 * NULL afterwards if there is no memory. */
void app_transfer_flow(struct transfer *t, struct app *app, struct flow *flow,
                       const struct app_transfer_options *options);
/* Transfers the bits of the transactions (app_tx.bits), after app_transfer_flow(). When reading, `numbers` maps the
 * writer's numbers of their names, which are less than `count`; bits with other numbers are omitted. */
bool app_has_bits(const struct flow *flow); /* whether a transaction of the flow has bits */
void app_transfer_bits(struct transfer *t, struct flow *flow, const uint32_t *numbers, uint32_t count);
/* Transfers the expectations. */
void app_shared_transfer(struct transfer *t, struct app_shared *shared);

/* Return the id of the protocol of the flow, or of one direction: 0 if it is not known (yet), APP_FAILED if detection
 * failed. flow->application holds the ids of the flow, of both directions and of the original protocol. */
enum { APP_FAILED = 255 };
static inline unsigned app_flow_protocol(const struct flow *flow)
{
    return flow->application & 0xff;
}
static inline unsigned app_direction_protocol(const struct flow *flow, enum flow_direction direction)
{
    return flow->application >> (direction == FLOW_TO_SERVER ? 8 : 16) & 0xff;
}
/* Returns the id of the protocol before app_change_protocol(); 0 for none. */
static inline unsigned app_original_protocol(const struct flow *flow)
{
    return flow->application >> 24;
}
const char *app_name_by_id(unsigned id); /* "failed" for APP_FAILED, NULL for 0 */
/* Sets *first to the open transactions of a parser instance of the flow, linked by link[APP_TX_OPEN]. `reading` is the
 * number of the instance, 0 for the first. Returns false if the flow has no instance of this number. */
bool app_get_open_transactions(const struct flow *flow, unsigned reading, const struct app_tx **first);
/* Returns the bit set of the ids of the protocols other than app_flow_protocol() as which the flow is parsed. */
uint64_t app_other_protocols(const struct flow *flow);
/* Returns the bit set of the ids of all protocols as which the flow is parsed. */
static inline uint64_t app_protocols(const struct flow *flow)
{
    unsigned id = app_flow_protocol(flow);

    return (id > 0 && id < APP_FAILED ? UINT64_C(1) << id : 0) | (flow->app ? app_other_protocols(flow) : 0);
}

/* A rule that has matched in a frame: gid << 32 | sid, and the offset before which it was evaluated. */
struct app_frame_match {
    uint64_t rule, end;
};

/* A frame in the list of its direction. Offsets are those of the stream or, over UDP, of the datagram. */
struct app_frame {
    uint64_t id;               /* counts from 1 in each direction of a reading */
    uint64_t offset, length;   /* length: APP_FRAME_UNKNOWN until the end is known */
    uint64_t inspected;        /* set by detect: offset before which rules have inspected the frame */
    uint64_t tx_id, tx_number; /* valid if has_tx: the members `id` and `number` of its transaction */
    uint8_t type, protocol;
    bool has_tx;
    uint8_t match_count; /* number of entries in use of `matches`, which detect sets */
    struct app_frame_match matches[APP_FRAME_MATCHES];
    bool logged; /* set by the pipeline: the event of the frame has been written */
};
/* Describes a frame of the packet's direction. `edge`: offset before which the bytes of the stream are inspected. */
void app_frame_describe(const struct app_frame *frame, const struct packet *pkt, uint64_t edge,
                        struct frame_facts *out);
/* Copies the first bytes of a frame of the packet's flow to `out`, with a note in place of each gap, as in Suricata.
 * Returns their number, at most `size`. */
uint32_t app_frame_copy(const struct frame_facts *frame, const struct packet *pkt, uint8_t *out, uint32_t size);
/* Gets the frames of a direction that are not inspected completely, as announced by a parser instance of the flow;
 * `reading` as for app_get_open_transactions(). The list is valid until the flow is fed again. */
bool app_get_frames(const struct flow *flow, unsigned reading, enum flow_direction direction, struct app_frame **list,
                    uint32_t *count);
/* Whether app_get_frames() yields a frame for any reading. */
bool app_has_frames(const struct flow *flow, enum flow_direction direction);
/* Removes the frames of a direction that end at or before the offset `until`; UINT64_MAX: all. */
void app_remove_frames(const struct flow *flow, enum flow_direction direction, uint64_t until);

/* Returns the oldest transaction of the flow; the following ones are linked by tx->next. */
struct app_tx *app_transactions(const struct flow *flow);
/* Returns the oldest transaction in one of the lists; the following ones are linked by tx->link[list].next. */
struct app_tx *app_transaction_list(const struct flow *flow, enum app_tx_list list);
/* Records that rules have inspected all present data of the direction. */
void app_tx_set_inspected(struct app_tx *tx, enum flow_direction direction);
/* Marks all transactions as inspected without evaluating rules. */
void app_skip_inspection(const struct flow *flow);
/* Records that the event of the transaction has been written. */
void app_tx_set_logged(struct app_tx *tx);
/* Return the number of transactions that the flow has started, including freed ones. app_tx_total() counts the
 * transactions of all protocols that the flow had, so it is the id of the next transaction. app_tx_count() counts the
 * transactions since the last change of the protocol. */
uint64_t app_tx_total(const struct flow *flow);
uint64_t app_tx_count(const struct flow *flow);
bool app_tx_is_complete(const struct app_tx *tx, enum flow_direction direction);
/* Returns the id of the protocol as which the transaction is logged (app_proto.logs_as). */
unsigned app_tx_log_protocol(const struct app_tx *tx);
/* Whether the event of the transaction is to be written now. `flow_ends`: no more data will come. */
bool app_tx_needs_log(const struct app *app, const struct app_tx *tx, bool flow_ends);
const void *app_proto_settings(const struct app *app, const struct app_proto *proto);
/* Whether the flow may be bypassed: its parser called app_allow_bypass(), and the flow has no other readings. */
bool app_may_bypass(const struct flow *flow);
/* Frees the transactions that are complete, inspected and logged (or excluded from the log). `release` is called with
 * each app_detection that detect has attached. */
void app_free_completed(struct app *app, struct flow *flow, app_release_function *release, void *user);

/* Counters: "app_layer.flow.http", "app_layer.tx.http", "app_layer.error.http.parser" and so on; a protocol with both
 * transports has "dns_tcp" and "dns_udp". Names are valid as long as `shared`. */
size_t app_counter_count(void);
const char *app_counter_name(const struct app_shared *shared, size_t index);
uint64_t app_counter_value(const struct app *app, size_t index);

#endif
