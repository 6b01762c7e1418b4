/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * App: protocols above TCP and UDP. A protocol is one folder, src/app/NAME/, which exports one constant
 *
 *     const struct app_proto app_NAME = { .name = "NAME", ... };
 *
 * CMake collects the constants into a table; nothing else names a protocol. With it come its keywords (constants
 * keyword_NAME in the same folder, which CMake collects too), events, settings and its page of the manual
 * (src/app/NAME/NAME.md).
 *
 * The framework (src/app/ itself) finds out which protocol a flow speaks, feeds the parser, keeps the transactions, and
 * gives them back when both directions are complete and everybody has seen them. A protocol's code sees bytes, its own
 * state, and the functions below; it knows no rules, no packets and no output.
 *
 * A transaction is what the field means by it: a request with its response, an e-mail, a handshake. Each of its
 * directions has a progress, a number of the protocol's own that only grows. A buffer is available from a progress on
 * and does not change any more, except those that grow (bodies).
 *
 * Threads:   a struct app belongs to one worker; struct app_proto and prepared settings are shared, read only.
 * Ownership: state and transactions live in the worker's heap and end with their flow at the latest.
 */
#ifndef SLUICE_APP_H
#define SLUICE_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/flow.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"
#include "sluice/stream_event.h"

struct app;
struct app_context; /* what a parser is called with: the worker's, for one flow */
struct app_flow;    /* a flow's application state; flow->app */
struct transfer;

/* Bit sets of directions: 1 << FLOW_TO_SERVER, 1 << FLOW_TO_CLIENT. */
enum { APP_TO_SERVER = 1 << FLOW_TO_SERVER, APP_TO_CLIENT = 1 << FLOW_TO_CLIENT, APP_BOTH = 3 };
enum { APP_TCP = 1, APP_UDP = 2 }; /* bit set of transports */
enum {
    APP_EVENT_WORDS = 2,
    APP_MAX_EVENTS = APP_EVENT_WORDS * 64, /* of one protocol */
    APP_MAX_PROTOCOLS = 48,
};

/* What the search for a protocol finds wrong: events of the packet, numbered behind those of streams. */
enum app_layer_event {
    APP_LAYER_EVENT_FIRST = STREAM_EVENT_END,
    APP_LAYER_MISMATCH = APP_LAYER_EVENT_FIRST, /* the two directions speak different protocols */
    APP_LAYER_WRONG_DIRECTION,                  /* the server began, and should not have */
    APP_LAYER_ONE_DIRECTION,
    APP_LAYER_SKIPPED,
    APP_LAYER_NO_TLS,     /* after STARTTLS */
    APP_LAYER_UNEXPECTED, /* another protocol than the one that was announced */
    APP_LAYER_EVICTED,    /* the parser's state was evicted: app_evict() */
    APP_LAYER_LIMIT,      /* the evaluation of a rule reached a limit of work: detect's */
    APP_LAYER_EVENT_END,
};
_Static_assert((int)APP_LAYER_EVENT_END <= PACKET_EVENT_WORDS * 64, "a packet has no room for all events");
const char *app_layer_event_name(enum app_layer_event event); /* as app-layer-event has it */

/* --- A transaction -------------------------------------------------------------------------------- */

struct app_detection; /* detect's */

/*
 * A flow may have thousands of open transactions, and a packet changes one of them. So that it costs no more than that
 * one, those that something is to be done about are in lists besides, each in the order of their begin.
 */
enum app_tx_list {
    APP_TX_OPEN,    /* not complete in all its directions */
    APP_TX_CHANGED, /* since app_tidy() */
    APP_TX_UNSEEN,  /* + direction: something came that rules were not asked about yet */
    APP_TX_LISTS = APP_TX_UNSEEN + FLOW_DIRECTIONS,
};

struct app_tx_link {
    struct app_tx *next, *previous;
};

/* The first member of a protocol's own transaction. A parser writes directions, log_never and tentative, calls
 * app_tx_advance() and app_tx_touch(), and reads; the rest is the framework's. One that is complete in both directions
 * may be gone when the parser is called next: a state keeps no pointer to it. */
struct app_tx {
    struct app_tx *next, *previous;
    struct app_flow *flow;
    struct app_tx_link link[APP_TX_LISTS];
    uint8_t listed; /* 1 << enum app_tx_list */
    const struct app_proto *proto;
    uint8_t protocol; /* its id */
    uint64_t id;      /* from 0 on in each flow */
    uint64_t number;  /* EVE's tx_id: the same, but it begins anew when the protocol of the flow changes */
    uint8_t progress[FLOW_DIRECTIONS];
    uint8_t inspected[FLOW_DIRECTIONS]; /* progress up to which rules were asked */
    bool fresh[FLOW_DIRECTIONS];        /* a buffer has grown, or an event or file came, since it was inspected last */
    uint8_t directions;                 /* those that it will ever have; APP_BOTH at first */
    bool logged;
    uint8_t guessed;       /* alerts with this transaction whose rules have no condition on transactions */
    bool log_never;        /* not worth an event */
    bool beside;           /* app_tx_new_beside() made it */
    struct buffer matches; /* rules that have matched in any reading of the message: uint64_t: direction << 63 | gid <<
                              32 | sid */
    bool only_events;      /* made to report a protocol's event: it has an anomaly event only */
    bool moved;            /* another process continues it */
    bool tentative;        /* rules do not inspect it before app_tx_confirm(): it may turn out to be no message */
    uint64_t events[APP_EVENT_WORDS];
    struct file_list files[FLOW_DIRECTIONS];
    bool settled[FLOW_DIRECTIONS]; /* for detect: rules were asked when the direction was complete, */
    uint64_t settled_events[FLOW_DIRECTIONS][APP_EVENT_WORDS]; /* and these were its events then */
    struct app_detection *detection[FLOW_DIRECTIONS];          /* owned by detect; NULL */
    uint64_t begin_ns;
};

static inline bool app_tx_wants_inspection(const struct app_tx *tx, enum flow_direction direction)
{
    return tx->directions >> direction & 1 && !tx->tentative &&
           (tx->fresh[direction] || tx->progress[direction] != tx->inspected[direction]);
}

static inline bool app_tx_has_event(const struct app_tx *tx, unsigned event)
{
    return tx->events[event / 64] >> (event % 64) & 1;
}

/* --- Finding the protocol ------------------------------------------------------------------------- */

/* A literal by which a direction's first bytes are known. */
struct app_pattern {
    const char *bytes;
    uint8_t length;
    uint8_t offset; /* first place where it may begin */
    uint8_t depth;  /* it ends at this place at the latest; 0: it is at `offset` exactly */
    bool nocase;
    enum flow_direction direction;
};

enum app_guess {
    APP_NO,
    APP_UNSURE, /* more bytes would tell */
    APP_YES,
    APP_REVERSED, /* yes, but what was taken for the client is the server */
};

/* One line of what a protocol is probed with. */
struct app_probe {
    const uint8_t *bytes; /* the first ones of the direction, or a datagram */
    uint32_t length;
    enum flow_direction direction;
    unsigned transport; /* APP_TCP or APP_UDP */
    uint16_t client_port, server_port;
    bool port_hint; /* the server's port is one of the protocol's: a weaker probe will do */
};

/* A way in which messages of a protocol begin: (the first 8 bytes in network byte order & mask) == value. */
struct app_head {
    uint64_t mask, value;
};
enum { APP_HEADS_MAX = 2 };

/* --- Feeding -------------------------------------------------------------------------------------- */

/* Bytes of one direction, in order, or one datagram. */
struct app_input {
    enum flow_direction direction;
    unsigned transport;
    const uint8_t *bytes; /* what was not consumed before, and the new ones behind it, in one piece */
    uint32_t length;
    uint32_t seen;   /* the first so many were there in the call before, too: a search need not begin anew */
    uint64_t offset; /* of bytes[0] in the direction */
    uint64_t gap; /* so many bytes before bytes[0] are lost (what was not consumed is, too): only with accepts_gaps */
    bool end;     /* nothing will follow: FIN, or the flow's end; may come alone, without bytes */
};

enum app_status {
    APP_OK, /* `consumed` bytes are done; the rest comes again, in front of what follows, when there are `needed` bytes
             * in all (0: any more than now) */
    APP_ERROR, /* not this protocol, or broken beyond repair: no more of this flow is parsed, and it is counted */
};
struct app_result {
    enum app_status status;
    uint32_t consumed, needed;
};

/* --- A protocol ----------------------------------------------------------------------------------- */

struct app_event {
    const char *name; /* as app-layer-event:PROTO.NAME has it: "request_field_missing_colon" */
    const char *help; /* one line for the manual */
};

struct app_bytes {
    const uint8_t *bytes; /* not NULL when the buffer is there, even when it is empty */
    uint32_t length;
    uint64_t offset; /* buffers that grow: of bytes[0] in the whole */
    bool partial;    /* more may follow behind these */
    bool little;     /* numbers in it stand in this order: for byte_test:...,dce and its like */
};

/*
 * How a buffer keyword reads a transaction of this protocol; one row a direction. `index` counts the buffers of a
 * keyword with KEYWORD_MULTI; otherwise it is 0. False: there is no (further) such buffer. The bytes are lent until the
 * transaction is fed again.
 */
struct app_buffer {
    const struct keyword *keyword;
    enum flow_direction direction;
    uint8_t progress; /* of the direction, from which on it is available */
    bool grows;       /* asked whenever tx->fresh, from `progress` on, until it is not partial */
    bool (*get)(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
};

/* From when on a KEYWORD_TRANSACTION may be asked, by direction. */
struct app_condition {
    const struct keyword *keyword;
    enum flow_direction direction;
    uint8_t progress;
};

struct app_proto {
    const char *name;                  /* EVE's app_proto, and the word in rules: "tls" */
    const char *const *words;          /* other words for rules: { "ssl", NULL }; NULL for none */
    const char *help;                  /* one line */
    unsigned transports;               /* APP_TCP, APP_UDP */
    const char *tcp_ports, *udp_ports; /* "80,8080": hints for probing; NULL */

    /* Detection. Either may be missing; without both it is reached by app_change() and app_expect() alone. */
    const struct app_pattern *patterns;
    size_t pattern_count;
    enum app_guess (*probe)(const struct app_probe *in);
    bool probe_any_port; /* the probe is strict enough to be asked for any port */
    bool own_ports_only; /* with it: the probe accepts the ports of udp_ports only, whatever the settings name */
    /*
     * UDP: the beginnings of datagrams that the probe accepts on ports other than those of the protocol. The probe
     * refuses all other datagrams, and those of fewer than 8 bytes, so it is not called for them. NULL, or more than
     * APP_HEADS_MAX: it is called for all.
     */
    const struct app_head *heads;
    size_t head_count;
    /* TCP: its servers answer what they can't read with an error, and read on: on its ports all bytes are parsed as
     * this protocol. */
    bool survives_junk;
    /* TCP: where another protocol was found and the probe takes the bytes too, they are parsed as both. */
    bool joins_others;
    bool is_text; /* with joins_others: its first word is text when another protocol takes the bytes */

    /* State: `state_size` zeroed bytes a flow. start and stop may be NULL. stop gives back what the state itself holds,
     * not its transactions. */
    size_t state_size;
    int (*start)(struct app_context *context, void *state);
    void (*stop)(struct app_context *context, void *state);
    struct app_result (*feed)(struct app_context *context, void *state, const struct app_input *in);
    bool accepts_gaps;
    /* Optional: the state goes to another process, or comes from one into a state that has just been started
     * (sluice/transfer.h, which says what `t` is). With it go the transactions that app_transfer_tx() is called for;
     * others end with the process. Without it the parser begins anew where this one stopped. */
    void (*transfer)(struct app_context *context, void *state, struct transfer *t);
    uint32_t pending_max; /* bytes that may stay unconsumed in a direction; more is an error; 0: 64 KiB */

    /* Transactions: `tx_size` bytes that begin with struct app_tx. tx_free gives back what it holds besides its files;
     * it may be called after stop, and does not look at the state. */
    size_t tx_size;
    void (*tx_free)(struct app_context *context, struct app_tx *tx);
    uint8_t complete[FLOW_DIRECTIONS]; /* the progress at which nothing more will come; 0: 1 */
    uint32_t tx_max;                   /* live ones of this protocol in a reading; more is an error; 0: 512 */
    const char *const
        *steps[FLOW_DIRECTIONS]; /* names of the progress values, NULL-terminated: "request_line" ...; or NULL */

    const struct app_event *events;
    size_t event_count;
    const char *const *old_events; /* pairs of what rules called an event before and its name, then NULL; or NULL */
    const struct app_buffer *buffers;
    size_t buffer_count;
    const struct app_condition *conditions;
    size_t condition_count;
    bool sends_as_is; /* its growing buffers grow by what segments end with, mostly: one search does for both */

    /* EVE: members of the object `log_key` of an event of type `log_type`; both NULL: not logged. A transaction is
     * logged once, when its progress has reached log_progress in all its directions (0: complete), or its flow ends.
     * `log` also describes it in alerts. */
    const char *log_type, *log_key;
    const char *log_switch; /* the name in eve.types by which it is chosen; NULL: log_type */
    uint8_t log_progress[FLOW_DIRECTIONS];
    void (*log)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: what alerts and events of files say of it, where that is not what `log` writes. */
    void (*describe)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: members that it has in alerts besides, behind those. */
    void (*describe_alert)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: objects that stand beside it in the event. */
    void (*log_more)(const struct app_tx *tx, const void *settings, struct fields *out);
    /* Optional: whether this one is worth an event (tls sessions that never got to a certificate...). */
    bool (*wants_log)(const struct app_tx *tx, const void *settings);
    /* Optional: whether the event goes from the server to the client, as what it tells of does (a response of DNS);
     * otherwise it is the flow's, from the client to the server. */
    bool (*logs_from_server)(const struct app_tx *tx, const void *settings);
    /* Optional: the value of a header that the client sent, by its name in any case, for what proxies tell of a client.
     * False: it is not there (yet). Lent until the transaction is fed again. */
    bool (*header)(const struct app_tx *tx, const char *name, struct app_bytes *out);

    /* Settings of the protocol below "app-layer.protocols.NAME." and "eve.types.TYPE."; ends with a row without a name;
     * or NULL. "app-layer.protocols.NAME.enabled" is there for all. configure makes what is lent as app_settings(); 0,
     * -ENOMEM, or -EINVAL with diag. */
    const struct setting *settings;
    int (*configure)(const struct config *config, struct diag *diag, void **out);
    void (*unconfigure)(void *settings);

    /* Optional: releases bodies of the transaction that are not in its files, and that rules have seen. */
    void (*shed)(struct app_context *context, struct app_tx *tx);
};

/* All protocols of the build, ordered by name, made by CMake. An id is an index in it + 1; 0 is none. */
extern const struct app_proto *const app_list[];
extern const size_t app_list_count;
/* By name or by one of its words; 0 for none. */
unsigned app_find(const char *name);
/* The tables of the protocols' settings, for config_new(); how many (at most app_list_count). */
size_t app_setting_tables(const struct setting **out);
/* The words that rules may use, NULL-terminated; how many. At most `max` - 1 are written. */
size_t app_words(const char **out, size_t max);
const struct app_proto *app_by_id(unsigned id); /* NULL for 0 */

/* --- For parsers ---------------------------------------------------------------------------------- */

struct heap *app_heap(struct app_context *context);
struct file_engine *app_files(struct app_context *context);
const void *app_settings(const struct app_context *context); /* what configure made; NULL without one */
const struct flow *app_context_flow(const struct app_context *context);
uint64_t app_now_ns(const struct app_context *context); /* the packet's time */
unsigned app_wanted(const struct app_context *context); /* what app_want() was told */
/* Numbers for file_open(), from 0 on. */
uint32_t app_next_file_id(struct app_context *context);

/* A byte range of a file; other transactions carry the other ranges. See src/app/byterange.c. */
struct app_byterange {
    uint64_t serial; /* 0: none */
    uint64_t offset; /* of the next byte in the file */
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

/* A new transaction behind the last; NULL when there is no memory, or too many are open: return APP_ERROR then. */
struct app_tx *app_tx_new(struct app_context *context);
/* Adds a transaction with the existing id `id`: another reading of the same bytes. Rules inspect it; it is neither
 * logged nor counted. */
struct app_tx *app_tx_new_beside(struct app_context *context, uint64_t id);
struct app_tx *
app_tx_first(const struct app_context *context); /* the oldest that is kept, of this protocol; NULL for none */
struct app_tx *app_tx_last(const struct app_context *context);
/* The oldest and the newest that is not complete in all its directions, and how many are not. */
struct app_tx *app_tx_first_open(const struct app_context *context);
struct app_tx *app_tx_last_open(const struct app_context *context);
uint32_t app_tx_open_count(const struct app_context *context);
static inline struct app_tx *app_tx_next_open(const struct app_tx *tx)
{
    return tx->link[APP_TX_OPEN].next;
}
/* The progress of a direction is this now. */
void app_tx_advance(struct app_tx *tx, enum flow_direction direction, uint8_t progress);
/* Rules inspect a transaction that was marked as tentative from now on. A tentative one that is never confirmed is
 * released without inspection. */
void app_tx_confirm(struct app_tx *tx);
/*
 * Notes that the rule has matched in the direction, for all readings of the message (app_tx_new_beside()). False when
 * it had matched already: then it has its alert. Without memory it may have an alert in each reading.
 */
bool app_tx_note_match(struct app_tx *tx, enum flow_direction direction, uint32_t gid, uint32_t sid);
/* A buffer of a direction has grown, or a file of it came, grew or ended; a new progress need not be told so. */
void app_tx_touch(struct app_tx *tx, enum flow_direction direction);
/* An event (index in proto->events) on a transaction; NULL: on the last one, made if there is none. */
void app_event(struct app_context *context, struct app_tx *tx, unsigned event);

/* A datagram says by its content that it goes the other way than its flow: rules of both directions are evaluated. */
void app_doubt_direction(struct app_context *context);

/* Endpoints read the message in different ways, and the setting of the protocol is to drop it: inline the flow is
 * dropped. */
void app_drop_ambiguous(struct app_context *context);

/* Behind the bytes that this call consumes another protocol speaks, in both directions: the named one, or any (NULL: it
 * is looked for anew). The state and its transactions stay until the new one is known. `optional`: when none is found,
 * this one goes on. */
void app_change(struct app_context *context, const char *name, bool optional);
/* What follows is of no use to anybody (encrypted): `whole` also for rules on raw bytes, and the flow may be bypassed
 * when the settings say so. */
void app_no_more(struct app_context *context, bool whole);
/* After app_no_more(whole): the flow may be bypassed, whatever the settings say. */
void app_bypass(struct app_context *context);

/* A flow that will come (ftp-data): from any port of one host to a port of the other. `tag` is lent to the new flow's
 * parser by app_expected(); freed with heap rules of the framework: a copy of `tag_length` bytes is made. False when it
 * can't be kept. */
struct app_expectation {
    struct address client, server;
    int ip_version;
    uint16_t server_port;
    const char *proto;
};
bool app_expect(struct app_context *context, const struct app_expectation *what, const void *tag, uint32_t tag_length);
const void *app_expected(const struct app_context *context, uint32_t *tag_length); /* NULL for none */

/* For app_proto.transfer. Reading: of a transaction that the parser has made again; all that was found in doing so is
 * known already. */
void app_transfer_tx(struct app_context *context, struct transfer *t, struct app_tx *tx);
/* Whether it is worth it: it is not complete, or rules have not seen all of it. */
bool app_tx_is_pending(const struct app_tx *tx);
void app_transfer_buffer(struct app_context *context, struct transfer *t, struct buffer *buffer);

/* The buffer of the content of files, and a getter for it, for the buffer tables of protocols that carry files: the
 * window of file `index`, which grows. */
extern const struct keyword keyword_file_data;
bool app_file_data(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
/* file.name and file.magic: every protocol with file.data has them. NULL for other keywords. */
extern const struct keyword keyword_file_name, keyword_file_magic;
extern const char *const app_file_protocols[]; /* words */
extern const char *const app_common_bodies[];  /* struct keyword.common of what they carry */
const struct app_buffer *app_file_buffer(const struct keyword *keyword, enum flow_direction direction);
/* All files of the flow's direction are to be stored, those that come, too (filestore:...,flow). */
void app_keep_files(struct flow *flow, struct file_engine *files, enum flow_direction direction, uint32_t sid);

/* --- For the pipeline ----------------------------------------------------------------------------- */

/* Ports at which a protocol is probed for, where the configuration names some. */
enum { APP_PORTS_MAX = 64 };
struct app_ports {
    bool set, any;
    unsigned count;
    uint16_t port[APP_PORTS_MAX];
};

struct app_options {
    size_t memcap; /* bytes of heap, of this worker */
    struct file_options files;
    bool enabled[APP_MAX_PROTOCOLS];              /* by index in app_list */
    uint8_t transports[APP_MAX_PROTOCOLS];        /* over which it is looked for: APP_TCP, APP_UDP */
    struct app_ports ports[APP_MAX_PROTOCOLS][2]; /* for TCP, UDP */
    void *settings[APP_MAX_PROTOCOLS];
    bool bypass_encrypted;        /* app_no_more(whole) asks for bypass */
    uint32_t detect_limit;        /* bytes of a direction after which a protocol is not looked for any more */
    uint32_t expectation_seconds; /* how long an announced flow is waited for */
};
void app_options_default(struct app_options *options);
/* Reads what all protocols have, and asks each for its own settings. 0, -ENOMEM, or -EINVAL with diag; then nothing is
 * kept. */
int app_options_configure(struct app_options *options, const struct config *config, struct diag *diag);
void app_options_clear(struct app_options *options); /* gives back what configure made */

struct app_shared; /* expectations of all workers, names of counters */
int app_shared_new(struct app_shared **out);
void app_shared_free(struct app_shared *shared);

int app_new(struct app **out, const struct app_options *options, struct app_shared *shared); /* 0 or -ENOMEM */
void app_free(struct app *app);
struct file_engine *app_file_engine(const struct app *app);
/* What the rules at hand ask for: RULE_FILE_..., RULE_MESSAGE_MD5. Between packets. */
void app_want(struct app *app, unsigned needs);
void app_set_turn(struct app *app, struct turn *turn); /* for expectations; NULL in a daemon */

typedef void app_release_function(void *user, struct app_detection *detection);

/* What came of it. */
struct app_verdict {
    enum exception_cause exception; /* EXCEPTION_APP_ERROR, _MEMCAP, _AMBIGUOUS or EXCEPTION_NONE */
    uint8_t events;                 /* bits: enum app_layer_event - APP_LAYER_EVENT_FIRST */
    bool reversed;                  /* the datagram's flow was swapped: the packet goes the other way */
    bool either_direction;          /* the datagram may go either way: rules of both directions are evaluated */
    bool stop_stream; /* app_no_more(whole): nobody needs the bytes that follow; told again with further pieces */
};

/* Bytes of a TCP stream, in order. The flow's state may ask for FLOW_BYPASS_WANTED. */
struct app_stream_bytes {
    const uint8_t *bytes;
    uint32_t length;
    uint64_t offset; /* of bytes[0] in the direction: what lies between it and the bytes before was lost */
    bool end;
    const int64_t *urgent; /* offsets of bytes that the receiver may not read in the stream (stream_urgent_places()) */
    unsigned urgent_count;
};
void app_stream(struct app *app, struct flow *flow, enum flow_direction direction, const struct app_stream_bytes *in,
                uint64_t now_ns, struct app_verdict *verdict);
/*
 * Whether the protocols of the flow are parsed with and without the urgent byte at `place`, one of `places`: there is
 * no parser, or the flow has readings without that byte, which begin when the protocol is not known yet. is_data_mark:
 * the byte is DM behind IAC, as it comes with Telnet's Synch (RFC 854).
 */
bool app_inspects_without(const struct flow *flow, enum flow_direction direction, uint64_t place, const int64_t *places,
                          unsigned count, bool is_data_mark);
/* Identifies and parses a datagram. False: nothing in the flow has changed, and the verdict is empty. */
bool app_datagram(struct app *app, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                  uint32_t length, uint64_t now_ns, struct app_verdict *verdict);
/* Whether protocol detection finished in the direction, and no later packet of the direction has been seen. As in
 * Suricata it is true for the packet on which it finished, when that goes the same way, and for the next one; `next`
 * ends it. */
bool app_is_just_detected(struct flow *flow, enum flow_direction direction, bool next);
/* The flow is over: nothing more will come; what is open is closed. */
void app_finish(struct app *app, struct flow *flow);
/* Gives back all there is of a flow; flow->app is NULL afterwards. `release` as for app_tidy(). */
void app_end(struct app *app, struct flow *flow, app_release_function *release, void *user);

/*
 * When app_is_short_of_memory(), before a packet is inspected: app_find_idle() returns a flow that is to give memory
 * back; NULL: there is none. Its files and bodies are released first: what comes of them later is inspected, but no
 * match goes across that place. False when there are none; then app_evict() releases its parser and transactions, after
 * they were inspected and logged. From then on the flow's bytes are inspected as a stream alone, until a message of its
 * protocol begins.
 */
bool app_is_short_of_memory(const struct app *app);
struct flow *app_find_idle(struct app *app);
bool app_shed_files(struct app *app, struct flow *flow);
bool app_is_within_message(const struct flow *flow); /* before app_finish(): a message is not complete */
void app_evict(struct app *app, struct flow *flow, bool within_message, app_release_function *release, void *user);
/* flow->app_evicted */
enum { APP_EVICTED_BETWEEN_MESSAGES = 1, APP_EVICTED_WITHIN_MESSAGE, APP_EVICTED_REPORTED };

struct app_memory_counts {
    uint64_t memcap, used;                 /* bytes */
    uint64_t shed_flows, shed_bytes;       /* by app_shed_files() */
    uint64_t evicted_flows, evicted_bytes; /* by app_evict() */
    uint64_t resumed_flows;                /* evicted flows whose parser started again */
};
void app_count_memory(const struct app *app, struct app_memory_counts *out);
/* Abandons all files that are being reassembled. */
void app_byterange_clear(struct app *app);

/* To another process (sluice/transfer.h). Ids of protocols are those of the build: what the writer's are here. */
struct app_numbers {
    uint8_t here[256];
};
void app_numbers_write(struct transfer *t);
int app_numbers_read(struct transfer *t, const struct app *app, struct app_numbers *out); /* 0 or -EBADMSG */
uint32_t app_application_here(const struct app_numbers *numbers, uint32_t application);   /* flow->application */
struct app_transfer_options {
    const struct app_numbers *numbers;                                  /* reading */
    void (*each_tx)(struct transfer *t, struct app_tx *tx, void *user); /* what others hang on a transaction */
    void *user;
};
/* Of a flow that has an app, when it is written. Reading: without memory it has none afterwards. */
void app_transfer(struct transfer *t, struct app *app, struct flow *flow, const struct app_transfer_options *options);
/* Flows that are expected. */
void app_shared_transfer(struct transfer *t, struct app_shared *shared);

/* The protocol: 0 not known (yet); APP_FAILED when it was given up. flow->application holds all of them. */
enum { APP_FAILED = 255 };
static inline unsigned app_of_flow(const struct flow *flow)
{
    return flow->application & 0xff;
}
static inline unsigned app_of_direction(const struct flow *flow, enum flow_direction direction)
{
    return flow->application >> (direction == FLOW_TO_SERVER ? 8 : 16) & 0xff;
}
/* What it was before a change; 0. */
static inline unsigned app_original(const struct flow *flow)
{
    return flow->application >> 24;
}
const char *app_name_of_id(unsigned id); /* "failed" for APP_FAILED, NULL for 0 */
/* Gives the open transactions of a reading of the flow (0: the main one), linked by link[APP_TX_OPEN]. False when there
 * is no such reading. */
bool app_open_transactions(const struct flow *flow, unsigned reading, const struct app_tx **first);
/* Bits of the ids of the protocols that the flow is parsed as besides its own. */
uint64_t app_other_protocols(const struct flow *flow);
/* Bits of all of them. */
static inline uint64_t app_protocols(const struct flow *flow)
{
    unsigned id = app_of_flow(flow);

    return (id > 0 && id < APP_FAILED ? UINT64_C(1) << id : 0) | (flow->app ? app_other_protocols(flow) : 0);
}

/* The transactions of a flow, oldest first. */
struct app_tx *app_transactions(const struct flow *flow);
/* Those in one of the lists, oldest first: the next is tx->link[list].next. */
struct app_tx *app_transactions_in(const struct flow *flow, enum app_tx_list list);
/* Rules have been asked about all there is of the direction. */
void app_tx_note_inspected(struct app_tx *tx, enum flow_direction direction);
/* No rule will be asked: all of them are as if. */
void app_skip_inspection(const struct flow *flow);
/* Its event has been written. */
void app_tx_note_logged(struct app_tx *tx);
/* Number of transactions that the flow has begun, released ones included. app_tx_begun(): of all its protocols, so also
 * the id of the next transaction; app_tx_count(): of its last protocol. */
uint64_t app_tx_begun(const struct flow *flow);
uint64_t app_tx_count(const struct flow *flow);
bool app_tx_is_complete(const struct app_tx *tx, enum flow_direction direction);
/* Whether its event should be written now. `flow_ends`: nothing more will come. */
bool app_tx_wants_log(const struct app *app, const struct app_tx *tx, bool flow_ends);
const void *app_proto_settings(const struct app *app, const struct app_proto *proto);
/* app_bypass() was called for it. */
bool app_wants_bypass(const struct flow *flow);
/* Frees what is complete, inspected and logged (or not to be): `release` is called with what detect left on it. */
void app_tidy(struct app *app, struct flow *flow, app_release_function *release, void *user);

/* "app_layer.flow.http", "app_layer.tx.http", "app_layer.error.http.parser"...; a protocol of both transports has
 * "dns_tcp" and "dns_udp". Names live as long as `shared`. */
size_t app_counter_count(void);
const char *app_counter_name(const struct app_shared *shared, size_t index);
uint64_t app_counter_value(const struct app *app, size_t index);

#endif
