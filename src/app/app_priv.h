/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of the application framework:
 *
 *   app.c        the engine of a worker, counters
 *   identify.c   detection of the protocol by the first bytes
 *   feed.c       feeding of stream bytes to parsers: unconsumed bytes, protocol changes, gaps, the end
 *   feed_unknown.c  detection of the protocol by the first bytes of a stream
 *   datagram.c   feeding of datagrams to parsers
 *   reading.c    readings of a flow as several protocols
 *   tx.c         transactions
 *   memory.c     selection of the flow that frees memory when the memcap is nearly used up
 *   expect.c     flows announced by another flow
 *   byterange.c  reassembly of files from byte ranges of several transactions
 *   transfer.c   transfer of flows to another process
 *   registry.c   the table of protocols
 *   options.c    settings common to all protocols
 */
#ifndef APP_PRIV_H
#define APP_PRIV_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/rule.h"
#include "sluice/replay_order.h"

#include "identify.h"

enum {
    DEFAULT_PENDING_MAX = 64 << 10,
    APP_DEFAULT_TX_MAX = 512,
    UNKNOWN_URGENT_MAX = 3, /* urgent bytes before the protocol is known; each doubles the number of readings */
    READINGS_MAX = 12,      /* readings of a flow besides the main one: no more than there are protocols over UDP */
    CANDIDATE_MAX = 1024, /* bytes of a direction after which a reading is dropped if its protocol is still uncertain */
    COMPARED_MAX =
        128, /* first bytes of a direction that are probed again when the protocol of the other direction is known */
    EXPECTED_FLOWS_MAX = 512, /* expected flows of all workers */
    APP_SIZE_CLASSES = 8,     /* lists of flows by the memory they use: below 2 KiB, 8 KiB, 32 KiB ... 8 MiB, above */
};

/* State of one direction of a flow. */
struct app_side {
    struct buffer pending; /* bytes that were not consumed, or whose protocol is not known yet */
    uint64_t offset;       /* stream offset of pending.bytes[0], or of the next byte if nothing is pending */
    uint32_t seen;         /* leading bytes of `pending` that the parser, or the pattern search, has already seen */
    uint32_t needed;       /* the parser is not called before this number of bytes is pending */
    uint64_t excluded;     /* bit set of protocol indices that are ruled out (APP_MAX_PROTOCOLS bits) */
    uint8_t datagrams;     /* datagrams that no protocol was identified in */
    bool failed, ended, has_begun;
    bool truncated; /* ended at the stream depth: new transactions start complete in this direction */
    bool foreign;  /* the first bytes belong to another protocol: if the parser fails on them, it still parses the other
                      direction */
    bool unparsed; /* the parser failed in this direction and still parses the other one */
    bool comparing; /* the protocol is known from the other direction; the first bytes of this one are still probed */
    struct buffer compared; /* the first bytes, as long as they are too few for the probes */
};

/* A byte that the receiver may or may not read in the stream (stream.urgent-policy both). */
struct urgent_byte {
    enum flow_direction direction;
    uint64_t place;
};

/*
 * One reading of a flow: its bytes parsed as one protocol. A flow has one reading as long as its protocol is
 * unambiguous. Where an endpoint may interpret the bytes as another protocol, each protocol has a separate reading, and
 * all of them are inspected. flow->app is the main reading: it has the flow's protocol and owns the transactions of all
 * readings.
 */
struct app_flow {
    struct flow *flow;
    struct app_flow *main;         /* main reading of the flow; points to itself in the main reading */
    struct app_flow *next_reading; /* list of the other readings; the main reading points to the first */
    const struct app_proto *proto; /* protocol of the parser; NULL during detection */
    uint8_t protocol;              /* id of `proto`; during a change the id of the previous protocol */
    void *state;
    struct app_side side[FLOW_DIRECTIONS];
    uint32_t open_count, tx_count; /* numbers of open and of all live transactions of this reading */
    /* main reading: the transactions of all readings */
    struct app_tx *first, *last;
    struct app_tx_link lists[APP_TX_LISTS]; /* next: the first transaction of the list; previous: the last. APP_TX_OPEN:
                                               those of this reading only */
    uint8_t unsorted;                       /* bit set of lists that need sorting */
    uint8_t detected; /* bit set of directions in which detection has finished; the next packet of the direction clears
                         the bit */
    uint64_t next_tx;
    struct heap *heap;       /* main reading: the worker's heap */
    bool has_alternative_tx; /* main reading: app_tx_new_alternative() has created transactions */
    uint64_t first_tx;       /* main reading: id of the first transaction since the last protocol change */
    uint32_t next_file;
    bool stopped;           /* parsing has stopped */
    uint8_t omitted_urgent; /* another reading that omits these urgent bytes of the stream: bits of main->urgent */
    struct urgent_byte urgent[UNKNOWN_URGENT_MAX]; /* main reading: urgent bytes before the protocol was known */
    uint8_t urgent_count;
    bool urgent_unread; /* main reading: urgent bytes have no readings, because no protocol was detected in their
                           direction */
    bool stop_stream;   /* app_stop_parsing(whole): rules on raw bytes do not need the rest either */
    bool bypass;        /* the flow may be bypassed */
    bool change_wanted, change_optional; /* app_change_protocol(): another protocol follows */
    bool changing;                    /* detection of the new protocol is running; if it fails, `fallback` continues */
    uint8_t change_to;                /* id of the announced protocol; 0: any */
    uint8_t previous_protocol;        /* id of the protocol before the change; 0 for none */
    const struct app_proto *fallback; /* previous protocol of an optional change; its state is kept */
    void *fallback_state;
    void *tag; /* tag of the expectation that the flow fulfils */
    uint32_t tag_length;
    struct app_flow *newer, *older; /* main reading: links in the list of its size class */
    size_t memory_used;             /* main reading: heap bytes of all readings */
    uint64_t used_ns;               /* main reading: time of the last packet that was fed */
    uint8_t size_class;
    uint8_t ports;       /* UDP: bits PORTS_...; 0: not computed since the directions were swapped */
    uint8_t candidate;   /* another reading: id of its protocol, which is certain once the reading has a parser */
    bool failed;         /* stopped because the parser failed or memory ran out */
    bool ambiguous;      /* main reading: the client's bytes are also parsed as another protocol, and the server has not
                          confirmed this one; see app_feed_stream() */
    bool drop_ambiguous; /* main reading: app_drop_ambiguous() was called in any reading */
    bool resumed;        /* the parser was restarted after app_evict() */
    bool keep_files[FLOW_DIRECTIONS]; /* main reading: filestore applies to the whole flow, and the sid of the rule */
    uint32_t store_sid[FLOW_DIRECTIONS];
};

enum app_count { COUNT_FLOW, COUNT_TX, COUNT_PARSER, COUNT_ALLOC, COUNT_GAP, COUNT_KINDS };

struct expected_flow {
    struct app_expectation what;
    uint64_t until_ns;
    void *tag; /* allocated with malloc(), because it moves from one worker to another */
    uint32_t tag_length;
    uint8_t proto; /* id of the protocol */
};

struct app_shared {
    pthread_mutex_t lock;
    atomic_uint count; /* read without the lock: most of the time there are no expectations */
    struct expected_flow expected_flows[EXPECTED_FLOWS_MAX];
    struct arena *arena;
    const char **names; /* names of the counters */
    size_t name_count;
};

/* Flows that use about the same amount of memory. `oldest` and `newest` refer to the time of entry into the list. */
struct app_size_class {
    struct app_flow *oldest, *newest;
    size_t bytes; /* total memory of these flows */
};

struct app {
    struct app_options options;
    struct heap *heap;
    struct file_engine *files;
    struct app_shared *shared;
    struct replay_order *order;
    struct app_ports ports[APP_MAX_PROTOCOLS]
                          [2]; /* ports on which a protocol is expected: those in the settings, or the default ports */
    struct datagram_table datagrams;
    /* For each first byte: bit set of the protocol indices with a pattern that may start with it. */
    uint64_t first_bytes[FLOW_DIRECTIONS][UINT8_MAX + 1];
    uint64_t alongside_protocols; /* bit set of protocol indices with continues_after_errors or parsed_alongside:
                                     possible further readings */
    unsigned wanted;              /* needs of the loaded rules: RULE_FILE_..., RULE_MESSAGE_MD5 */
    uint64_t counters[APP_MAX_PROTOCOLS][2][COUNT_KINDS]; /* by transport: TCP, UDP */
    uint64_t failed_flows[2];                             /* by transport: TCP, UDP */
    uint64_t other_readings[2];
    struct app_size_class classes[APP_SIZE_CLASSES];
    size_t reserve; /* bytes of the memcap that only the current packet may use */
    uint64_t shed_flows, shed_bytes, evicted_flows, evicted_bytes, resumed_flows;
    struct byterange_table *byteranges; /* files being reassembled; allocated for the first range */
    size_t byterange_memory;            /* heap bytes of `byteranges`, which belong to no flow */
    uint64_t reassembled_files, abandoned_files;
};

/* Argument of parser functions; valid during the call. */
struct app_context {
    struct app *app;
    struct app_flow *af;
    uint64_t now_ns;
    bool no_memory, stop_stream, either_direction;
    const struct app_transfer_options *moving; /* NULL unless the flow is being transferred */
};

/* Returns the index in app_list of a protocol, which must be in it. */
static inline unsigned app_index(const struct app_proto *proto)
{
    unsigned index = 0;

    while (index < app_list_count - 1 && app_list[index] != proto)
        index++;
    return index;
}

static inline void app_count(struct app *app, const struct app_flow *af, enum app_count what)
{
    app->counters[af->protocol - 1][af->flow->protocol == IPPROTO_UDP][what]++;
}

/* Adds the ports in a text like "80,8080"; NULL adds none. */
void app_parse_ports(struct app_ports *ports, const char *text);

/* --- options.c ------------------------------------------------------------------------------------ */

extern const struct setting app_setting_rows[];
int app_options_read(struct app_options *options, const struct config *config, struct diag *diag);

/* --- memory.c ------------------------------------------------------------------------------------- */

size_t app_memory_reserve(const struct heap *heap);
/* Adds a new flow to the lists. */
void app_memory_add(struct app *app, struct app_flow *af);
/* Updates the memory use of a flow after a call that allocated or freed memory of this flow only; `before` is
 * app_flow_memory() before that call. */
void app_memory_update(struct app *app, struct app_flow *af, size_t before);
void app_memory_remove(struct app *app, struct app_flow *af);
/* Moves `size` bytes from the account of the flow to app->byterange_memory. */
void app_memory_move_to_byteranges(struct app *app, struct app_flow *af, size_t size);
/* Heap bytes used by flows. */
static inline size_t app_flow_memory(const struct app *app)
{
    return heap_memory(app->heap) - app->byterange_memory;
}

/* --- tx.c ----------------------------------------------------------------------------------------- */

/* Completes all transactions of the reading: no more data will come. */
void app_tx_complete_all(struct app_flow *af);
/* Like app_tx_complete_all(), for one direction. */
void app_tx_complete_direction(struct app_flow *af, enum flow_direction direction);
void app_tx_release(struct app *app, struct app_tx *tx, app_release_function *release, void *user);

/* --- byterange.c ---------------------------------------------------------------------------------- */

/* Removes incomplete files of byterange.c from tx->files; the table keeps them until their next range. Called before
 * the files of a transaction are freed. */
void app_byterange_detach_files(struct app *app, struct app_tx *tx, enum flow_direction direction);

/* --- expect.c ------------------------------------------------------------------------------------- */

/* Returns the id of the protocol of an expected flow, 0 otherwise. Moves the tag to `af` and removes the
 * expectation. */
unsigned app_consume_expectation(struct app *app, struct app_flow *af, uint64_t now_ns);

#endif
