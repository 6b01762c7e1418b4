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
 *   frame.c      frames, and the keyword frame (frame.h)
 *   byterange.c  reassembly of files from byte ranges of several transactions
 *   transfer.c   transfer of flows to another process
 *   registry.c   the table of protocols
 *   options.c    settings common to all protocols
 */
#ifndef APP_PRIV_H
#define APP_PRIV_H

#include <netinet/in.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/rule.h"
#include "sluice/replay_order.h"

#include "expect.h"
#include "identify.h"

enum {
    DEFAULT_PENDING_MAX = 64 << 10, /* used for protocols whose app_proto.pending_max is 0, in bytes */
    APP_DEFAULT_TX_MAX = 512,       /* used for protocols whose app_proto.tx_max is 0 */
    UNKNOWN_URGENT_MAX = 3,         /* urgent bytes before the protocol is known; each doubles the number of readings */
    READINGS_MAX = 12, /* maximum number of readings of a flow, without the main one and those that omit urgent bytes */
    CANDIDATE_MAX = 1024, /* bytes of a direction after which a reading is dropped if its protocol is still uncertain */
    COMPARED_MAX = 128,   /* first bytes of a direction that feed_compare_directions() probes */
    APP_SIZE_CLASSES = 8, /* lists of flows by the memory they use: below 2 KiB, 8 KiB, 32 KiB ... 8 MiB, above */
};

/* State of one direction of a reading. */
struct app_side {
    struct buffer pending; /* bytes that were not consumed, or whose protocol is not known yet */
    uint64_t offset;       /* stream offset of pending.bytes[0], or of the next byte if nothing is pending */
    uint32_t seen;         /* leading bytes of `pending` that the parser has already seen */
    uint32_t needed;       /* the parser is not called before this number of bytes is pending or the direction ends; 0:
                              any number */
    uint64_t excluded;     /* bit set of protocol indices whose probe returned APP_NO (APP_MAX_PROTOCOLS bits) */
    uint8_t datagrams;     /* number of datagrams in which no protocol was identified */
    /* failed: protocol detection found no protocol in this direction. ended: the parser gets no more bytes (FIN, end of
     * the flow, or stream depth reached). has_begun: bytes of this direction have been received. */
    bool failed, ended, has_begun;
    bool truncated; /* stream depth reached, or `unparsed`: new transactions start complete in this direction */
    bool foreign;   /* the first bytes may belong to another protocol than the reading's: if the parser fails on this
                       direction, it continues with the other direction */
    bool unparsed;  /* the parser has failed in this direction and continues with the other one */
    bool comparing; /* the protocol was detected in the other direction, and feed_compare_directions() still probes the
                       first bytes of this direction */
    struct buffer compared; /* with `comparing`: the first bytes, kept while the probes need more of them */
};

/* A byte that the receiver may or may not read in the stream (stream.urgent-policy both). */
struct urgent_byte {
    enum flow_direction direction;
    uint64_t place; /* offset in the stream of the direction */
};

/* One reading of a flow: its bytes parsed as one protocol. A flow has one reading as long as its protocol is
 * unambiguous. Where an endpoint may interpret the bytes as another protocol, each protocol has a separate reading, and
 * all are inspected. flow->app is the main reading: it has the flow's protocol and owns all readings' transactions. */
struct app_flow {
    struct flow *flow;
    struct app_flow *main;         /* main reading of the flow; points to itself in the main reading */
    struct app_flow *next_reading; /* list of the other readings, which starts in the main reading; NULL: last */
    const struct app_proto *proto; /* protocol of the parser; NULL while no protocol is detected, also after a change */
    uint8_t protocol;              /* id of `proto`; during a change the id of the previous protocol */
    void *state;                   /* parser state of `proto`, owned; NULL without a parser */
    struct app_side side[FLOW_DIRECTIONS];
    uint32_t open_count, tx_count; /* numbers of open and of all live transactions of this reading */
    struct app_tx *first, *last;   /* main reading: the live transactions of all readings, in order of their start */
    struct app_tx_link lists[APP_TX_LISTS]; /* heads of the lists: `next` is the first transaction, `previous` the last.
                                               APP_TX_OPEN: the open transactions of this reading. The other lists are
                                               used in the main reading only, for the transactions of all readings */
    uint8_t unsorted;                       /* bit set of `lists` that are not in order of transaction ids */
    uint8_t detected;        /* bit set of directions in which detection has finished; the next packet of the direction
                                clears its bit */
    uint64_t next_tx;        /* main reading: id of the next transaction */
    struct heap *heap;       /* main reading: the worker's heap */
    bool has_alternative_tx; /* main reading: app_tx_new_alternative() has created transactions */
    uint64_t first_tx;       /* main reading: id of the first transaction since the last protocol change */
    uint32_t next_file;      /* main reading: id of the next file */
    bool stopped;            /* the reading is not parsed any more; feed.c lists the reasons */
    uint8_t omitted_urgent;  /* urgent bytes that this reading omits: bit set of indices in main->urgent */
    struct urgent_byte urgent[UNKNOWN_URGENT_MAX]; /* main reading: urgent bytes before the protocol was known */
    uint8_t urgent_count;                          /* main reading: number of entries in `urgent` */
    bool urgent_unread; /* main reading: an urgent byte arrived after the detection of a protocol had failed in its
                           direction, so no reading that omits it was created; see app_misses_readings() */
    bool stop_stream;   /* the parser called app_stop_parsing(whole): rules on raw bytes do not need the rest either */
    bool bypass;        /* the flow may be bypassed */
    /* change_wanted: app_change_protocol() was called; the change has not begun. change_optional: the call had the
     * argument `optional`, so if no protocol is detected, the current one continues. */
    bool change_wanted, change_optional;
    bool changing;                    /* detection of the new protocol is running; if it fails, `fallback` continues */
    uint8_t change_to;                /* id of the announced protocol; 0: any */
    uint8_t previous_protocol;        /* id of the protocol before the change; 0 for none */
    const struct app_proto *fallback; /* during an optional change: the previous protocol; otherwise NULL */
    void *fallback_state;             /* parser state of `fallback`, owned */
    void *tag;                        /* tag of the expectation that the flow fulfils, owned; NULL for none */
    uint32_t tag_length;
    uint64_t parent_id;             /* main reading: flow.id of the flow that announced this one; 0 for none */
    struct app_flow *newer, *older; /* main reading: links in the list of its size class */
    size_t memory_used;             /* main reading: heap bytes of all readings */
    uint64_t used_ns;               /* main reading: time of the last packet that was fed */
    uint8_t size_class;             /* main reading: index in app.classes of the list that contains the flow */
    uint8_t ports;     /* UDP: bits PORTS_... (datagram.c); 0: not computed since the directions were swapped */
    uint8_t candidate; /* other readings, started by app_reading_add_candidate(): id of the protocol, which is uncertain
                          as long as `proto` is NULL; 0: the protocol was certain from the start */
    bool failed;       /* parsing has stopped because the parser failed, bytes are missing or memory ran out */
    bool ambiguous; /* main reading: the client's bytes are also parsed as another protocol, and the server's bytes have
                       not confirmed the protocol of the main reading; see app_feed_stream() */
    bool drop_ambiguous; /* main reading: app_drop_ambiguous() was called in any reading during the current packet */
    bool resumed;        /* the parser was restarted after app_evict() */
    bool keep_files[FLOW_DIRECTIONS];           /* main reading: a rule with filestore:...,flow stores all files */
    uint32_t store_sid[FLOW_DIRECTIONS];        /* with keep_files: sid of that rule */
    struct app_frames *frames[FLOW_DIRECTIONS]; /* frames that are not inspected completely; NULL: there were none */
};

/* Counters of a protocol: flows, transactions, and errors (parser failures, failed allocations, gaps in the stream). */
enum app_count { COUNT_FLOW, COUNT_TX, COUNT_PARSER, COUNT_ALLOC, COUNT_GAP, COUNT_KINDS };

struct app_frames; /* frame.c */

struct app_shared {
    struct expected_flows expected;
    struct arena *arena;
    const char **names; /* names of the counters; the strings are in `arena` */
    size_t name_count;
};

/* List of flows that use about the same amount of memory, in the order in which they were added to the list. */
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
    struct app_ports ports[APP_MAX_PROTOCOLS][2]; /* by transport (TCP, UDP): ports on which a protocol is expected */
    struct datagram_table datagrams;
    /* For each value of the first byte of a direction: bit set of the indices of protocols with a pattern that may
     * match bytes that start with it. */
    uint64_t first_bytes[FLOW_DIRECTIONS][UINT8_MAX + 1];
    uint64_t alongside_protocols; /* bit set of protocol indices with continues_after_errors or parsed_alongside */
    unsigned wanted;              /* needs of the loaded rules: RULE_FILE_..., RULE_MESSAGE_MD5, RULE_TX_START */
    uint64_t counters[APP_MAX_PROTOCOLS][2][COUNT_KINDS]; /* by protocol index, transport (TCP, UDP) and kind */
    uint64_t failed_flows[2];   /* flows in which no protocol was found, by transport: TCP, UDP */
    uint64_t other_readings[2]; /* readings besides the main ones, by transport: TCP, UDP */
    struct app_size_class classes[APP_SIZE_CLASSES];
    size_t reserve; /* bytes of the memcap that only the current packet may use */
    uint64_t shed_flows, shed_bytes, evicted_flows, evicted_bytes, resumed_flows; /* see struct app_memory_counts */
    struct byterange_table *byteranges;          /* files being reassembled; NULL before the first range */
    size_t byterange_memory;                     /* heap bytes of `byteranges`, which belong to no flow */
    uint64_t reassembled_files, abandoned_files; /* counters of byterange.c */
    uint16_t frame_types[APP_MAX_PROTOCOLS];     /* types of frames that are used, by protocol index */
    uint64_t lost_frames;                        /* frames that were not listed because the list was full */
};

/* Argument of parser functions; valid during the call. */
struct app_context {
    struct app *app;
    struct app_flow *af; /* the reading whose parser is called */
    uint64_t now_ns;     /* time of the current packet */
    /* Results of the call. no_memory: a transaction could not be allocated. stop_stream: the parser called
     * app_stop_parsing(whole). either_direction: it called app_report_ambiguous_direction(). */
    bool no_memory, stop_stream, either_direction;
    const struct app_transfer_options *moving; /* NULL unless the flow is being transferred */
};

/* Returns the index of a protocol in app_list, which must contain it. */
static inline unsigned app_index(const struct app_proto *proto)
{
    unsigned index = 0;

    while (index < app_list_count - 1 && app_list[index] != proto)
        index++;
    return index;
}

/* Increments a counter of the reading's protocol; af->protocol must not be 0. */
static inline void app_count(struct app *app, const struct app_flow *af, enum app_count what)
{
    app->counters[af->protocol - 1][af->flow->protocol == IPPROTO_UDP][what]++;
}

/* Appends the port numbers in a text such as "80,8080" to *ports; `text` NULL: none. */
void app_parse_ports(struct app_ports *ports, const char *text);

/* --- options.c ------------------------------------------------------------------------------------ */

extern const struct setting app_setting_rows[];
/* Reads the settings common to all protocols. Returns 0, or a negative errno with a message in `diag`. */
int app_options_read(struct app_options *options, const struct config *config, struct diag *diag);

/* --- memory.c ------------------------------------------------------------------------------------- */

/* Returns the number of bytes of the heap's memcap that are reserved for the current packet. */
size_t app_memory_reserve(const struct heap *heap);
/* Adds a new flow to the list of the smallest flows. */
void app_memory_add(struct app *app, struct app_flow *af);
/* Updates the memory use of a flow after a call that allocated or freed memory of this flow only; `before` is
 * app_flow_memory() before that call. */
void app_memory_update(struct app *app, struct app_flow *af, size_t before);
void app_memory_remove(struct app *app, struct app_flow *af);
/* Counts `size` bytes as memory of the flow `to` instead of the flow `from`. `to` NULL: the bytes then belong to no
 * flow. */
void app_memory_move(struct app *app, struct app_flow *from, struct app_flow *to, size_t size);
/* Returns the heap bytes used by all flows, that is, without those of the byte-range table. */
static inline size_t app_flow_memory(const struct app *app)
{
    return heap_memory(app->heap) - app->byterange_memory;
}

/* --- tx.c ----------------------------------------------------------------------------------------- */

/* Complete all transactions of the reading, or one direction of them: no more data will come. */
void app_tx_complete_all(struct app_flow *af);
void app_tx_complete_direction(struct app_flow *af, enum flow_direction direction);
/* Frees a transaction; `release` is called with each app_detection that detect has attached. */
void app_tx_release(struct app *app, struct app_tx *tx, app_release_function *release, void *user);

/* --- byterange.c ---------------------------------------------------------------------------------- */

/* Removes incomplete files of byterange.c from tx->files; the table keeps them until their next range, or abandons them
 * if it has no room. Called before the files of a transaction are freed. */
void app_byterange_detach_files(struct app *app, struct app_tx *tx, enum flow_direction direction);

#endif
