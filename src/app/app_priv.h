/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside app:
 *
 *   app.c        the worker's engine, counters
 *   identify.c   which protocol the first bytes speak
 *   feed.c       bytes of streams to parsers: what was not consumed, changes of protocol, gaps, the end
 *   datagram.c   datagrams to parsers
 *   reading.c    readings of a flow as several protocols
 *   tx.c         transactions
 *   memory.c     which flow gives memory back when the memcap is nearly used up
 *   expect.c     flows that were announced by another one
 *   byterange.c  reassembly of files from byte ranges of several transactions
 *   transfer.c   flows for another process
 *   registry.c   the table of protocols
 *   options.c    settings that all of them have
 */
#ifndef APP_PRIV_H
#define APP_PRIV_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/rule.h"
#include "sluice/turn.h"

enum {
    DEFAULT_PENDING_MAX = 64 << 10,
    APP_DEFAULT_TX_MAX = 512,
    UNKNOWN_URGENT_MAX = 3, /* urgent bytes before the protocol is known; each doubles the readings */
    READINGS_MAX = 12,      /* of a flow, besides the main one: no more than there are protocols over UDP */
    CANDIDATE_MAX = 1024,   /* bytes of a direction after which a reading that is not certain is given up */
    COMPARED_MAX =
        128, /* first bytes of a direction that are probed again when the protocol of the other one is known */
    ANNOUNCED_MAX = 512, /* flows that are expected, of all workers */
    DATAGRAM_HEADS_MAX = APP_HEADS_MAX * APP_MAX_PROTOCOLS,
    APP_SIZE_CLASSES = 8, /* lists of flows by the memory that they hold: below 2 KiB, 8 KiB, 32 KiB ... 8 MiB, above */
};

/* One direction of a flow. */
struct app_side {
    struct buffer pending; /* not consumed, or not known yet what it is */
    uint64_t offset;       /* of pending.bytes[0], or of what comes next */
    uint32_t seen;         /* bytes of pending that the parser, or the patterns, have had before them already */
    uint32_t needed;       /* the parser is not called before so many are there */
    uint64_t excluded;     /* protocols (by index) that it is not: APP_MAX_PROTOCOLS bits */
    uint8_t datagrams;     /* that were looked at in vain */
    bool failed, ended, has_begun;
    bool truncated; /* ended at the stream's depth: transactions are complete in it from their begin */
    bool foreign;   /* its first bytes are of another protocol: if the parser fails on them, it still parses the other
                       direction */
    bool unparsed;  /* the parser failed in this direction and still parses the other one */
    bool comparing; /* the other direction said which protocol it is: the first bytes are asked, too */
    struct buffer compared; /* those that were not enough */
};

/* A byte that the receiver may read in the stream or not (stream.urgent-policy both). */
struct urgent_byte {
    enum flow_direction direction;
    uint64_t place;
};

/*
 * One reading of a flow: its bytes as one protocol. A flow has one reading as long as there is no doubt. Where an
 * endpoint may read the bytes as another protocol, each protocol has its own reading, and all are inspected. flow->app
 * is the main reading: the flow's protocol, and the owner of the transactions of all readings.
 */
struct app_flow {
    struct flow *flow;
    struct app_flow *main;         /* the flow's main reading; itself in that one */
    struct app_flow *next_reading; /* in the main reading: the first of the others */
    const struct app_proto *proto; /* whose parser is fed; NULL while it is looked for */
    uint8_t protocol;              /* its id, and after a change the last one's */
    void *state;
    struct app_side side[FLOW_DIRECTIONS];
    uint32_t open_count, tx_count; /* transactions of this reading */
    /* The main reading has these for all readings. */
    struct app_tx *first, *last;
    struct app_tx_link
        lists[APP_TX_LISTS]; /* next: the first of it; previous: the last. APP_TX_OPEN: of this reading */
    uint8_t unsorted;        /* bits of them */
    uint8_t detected; /* bits of directions in which detection finished; cleared by the direction's next packet */
    uint64_t next_tx;
    struct heap *heap; /* main reading: the worker's */
    bool has_beside;   /* main reading: app_tx_new_beside() has made transactions */
    uint64_t first_tx; /* main reading: id of the first transaction since the protocol changed */
    uint32_t next_file;
    bool stopped;    /* nothing is parsed any more */
    uint8_t without; /* a further reading of the stream without these urgent bytes: bits of main->urgent */
    struct urgent_byte urgent[UNKNOWN_URGENT_MAX]; /* main reading: those that came before the protocol was known */
    uint8_t urgent_count;
    bool urgent_unread; /* main reading: urgent bytes have no readings, because their direction was of no protocol */
    bool stop_stream;   /* and nobody needs the bytes: app_no_more(whole) */
    bool bypass;        /* nor the packets */
    bool change_wanted, change_optional; /* app_change(): what comes next is another protocol */
    bool changing;                       /* it is being looked for; `old` goes on when there is none */
    uint8_t change_to;                   /* id, or 0: any */
    uint8_t old;                         /* id of the one before; 0 */
    const struct app_proto *fallback;    /* of an optional change; its state is kept */
    void *fallback_state;
    void *tag; /* of the expectation that it fulfils */
    uint32_t tag_length;
    struct app_flow *newer, *older; /* main reading: in the list of its size class */
    size_t held;                    /* main reading: bytes of the heap, of all readings */
    uint64_t used_ns;               /* main reading: time of the last packet that was fed */
    uint8_t size_class;
    uint8_t ports;       /* UDP: bits of PORTS_..., 0: not looked at since they were swapped */
    uint8_t candidate;   /* another reading: id of its protocol, which is certain when there is a parser */
    bool failed;         /* stopped because the parser, or memory, failed */
    bool doubted;        /* main reading: the client's bytes are parsed as another protocol, too, and the server has not
                            confirmed this one; see app_stream() */
    bool drop_ambiguous; /* main reading: app_drop_ambiguous() of any reading */
    bool resumed;        /* the parser was restarted after app_evict() */
    bool keep_files[FLOW_DIRECTIONS]; /* main reading: filestore for the whole flow, and the rule that asked for it */
    uint32_t keep_sid[FLOW_DIRECTIONS];
};

enum app_count { COUNT_FLOW, COUNT_TX, COUNT_PARSER, COUNT_ALLOC, COUNT_GAP, COUNT_KINDS };

struct announced {
    struct app_expectation what;
    uint64_t until_ns;
    void *tag; /* of malloc: it goes from one worker to another */
    uint32_t tag_length;
    uint8_t proto; /* id */
};

struct app_shared {
    pthread_mutex_t lock;
    atomic_uint count; /* looked at without the lock: most flows are expected by nobody */
    struct announced announced[ANNOUNCED_MAX];
    struct arena *arena;
    const char **names; /* of the counters */
    size_t name_count;
};

/* Flows whose memory is of about the same size, in no certain order: oldest and newest are by when they came here. */
struct app_size_class {
    struct app_flow *oldest, *newest;
    size_t bytes; /* held by all of them */
};

/* Computed once, so that no probe is called for most datagrams. */
struct datagram_head {
    struct app_head head;
    unsigned index; /* of the protocol */
};
struct datagram_table {
    struct datagram_head heads[DATAGRAM_HEADS_MAX]; /* of protocols that may be on any port */
    unsigned head_count;
    unsigned protocol_count;
    uint8_t protocols[APP_MAX_PROTOCOLS];      /* indices of those that UDP may carry */
    struct app_ports own[APP_MAX_PROTOCOLS];   /* a protocol's own ports, whichever the settings name */
    uint64_t services[UINT16_MAX / 64 + 1];    /* a bit for each port at which a protocol is expected */
    uint64_t known_ports[UINT16_MAX / 64 + 1]; /* and for each that is one of the own ports besides */
};

struct app {
    struct app_options options;
    struct heap *heap;
    struct file_engine *files;
    struct app_shared *shared;
    struct turn *turn;
    struct app_ports ports[APP_MAX_PROTOCOLS][2]; /* at which a protocol is expected: of the settings, or its own */
    struct datagram_table datagrams;
    /* Bits of the indices of protocols with a pattern that may begin with the byte. */
    uint64_t beginnings[FLOW_DIRECTIONS][UINT8_MAX + 1];
    uint64_t reads_others; /* bits of those that may be read beside another: survives_junk, joins_others */
    unsigned wanted;       /* what the loaded rules need: RULE_FILE_..., RULE_MESSAGE_MD5 */
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

/* What a parser is called with; lives for the call. */
struct app_context {
    struct app *app;
    struct app_flow *af;
    uint64_t now_ns;
    bool no_memory, stop_stream, either_direction;
    const struct app_transfer_options *moving; /* NULL unless the flow is written or read */
};

/* Its place in app_list, of which it is one. */
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

/* Adds the ports of a text like "80,8080"; NULL: none. */
void app_list_ports(struct app_ports *ports, const char *text);

/* --- options.c ------------------------------------------------------------------------------------ */

extern const struct setting app_setting_rows[];
int app_options_read(struct app_options *options, const struct config *config, struct diag *diag);

/* --- identify.c ----------------------------------------------------------------------------------- */

/* The id of what the bytes at the start of a direction speak; 0: none of those that are left; *unsure: more bytes may
 * tell. *reversed: the other way round. `only`: no other protocol than this id is asked; 0: all. */
unsigned app_identify(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                      bool *unsure, bool *reversed);

/* By patterns alone. */
unsigned app_identify_by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe);

/* Whether the protocol with this index is enabled, and the port is one of its. */
bool app_is_expected_at(const struct app *app, size_t index, unsigned transport, uint16_t port);

/* Fills app->beginnings and app->datagrams; app->ports is there. */
void app_init_identification(struct app *app);
/* Whether one of the ports of a UDP flow is a port of a protocol. When none is, app_is_no_message() recognises most
 * datagrams that no probe accepts. */
bool app_knows_ports(const struct app *app, uint16_t one, uint16_t other);
bool app_is_no_message(const struct app *app, const uint8_t *bytes, uint32_t length);

/* A protocol that a datagram may be a message of. */
struct app_claim {
    uint8_t id;
    bool reversed; /* the message goes the other way than the packet's flow says */
};
/* All of them but `except` (an id, or 0), those first that the ports hint at; how many. */
unsigned app_identify_datagram(const struct app *app, const struct app_probe *probe, unsigned except,
                               struct app_claim claims[APP_MAX_PROTOCOLS]);

/* --- memory.c ------------------------------------------------------------------------------------- */

size_t app_memory_reserve(const struct heap *heap);
/* Into the lists, when the flow is made. */
void app_memory_add(struct app *app, struct app_flow *af);
/* Updates the memory use of a flow after a call that allocated or freed memory of this flow only; `before` is
 * app_flow_memory() before that call. */
void app_memory_update(struct app *app, struct app_flow *af, size_t before);
void app_memory_remove(struct app *app, struct app_flow *af);
/* Moves `size` bytes from the account of the flow to app->byterange_memory. */
void app_memory_move_to_byteranges(struct app *app, struct app_flow *af, size_t size);
/* Heap bytes that belong to flows. */
static inline size_t app_flow_memory(const struct app *app)
{
    return heap_memory(app->heap) - app->byterange_memory;
}

/* --- feed.c --------------------------------------------------------------------------------------- */

/* Bytes on their way to the parser of a reading. */
struct feeding {
    struct app *app;
    struct app_flow *af;
    struct app_verdict *verdict;
    uint64_t now_ns;
    unsigned transport;
};

/* The flow's main reading, made if need be; NULL for a flow that was given up, or without memory (verdict->exception).
 */
struct app_flow *app_get_flow(struct app *app, struct flow *flow, struct app_verdict *verdict);
bool app_start_parser(struct feeding *f, unsigned id);
/* Bytes at their place in what a further reading reads; it may have had some of them. */
void app_feed_other(struct feeding *f, enum flow_direction direction, struct app_stream_bytes in);
void app_note_direction(struct app_flow *af, enum flow_direction direction, unsigned id);
void app_note_flow(struct app_flow *af, unsigned id);
void app_note_detected(struct app_flow *af, enum flow_direction direction); /* detection finished in the direction */

/* --- reading.c ------------------------------------------------------------------------------------ */

/* One more reading of the flow, as protocol `id`; NULL when there is one already, when there are too many, or without
 * memory. */
struct app_flow *app_reading_add(struct feeding *f, unsigned id);
/* The same; the protocol is not certain, and the parser is started later. */
struct app_flow *app_reading_add_candidate(struct feeding *f, unsigned id);
struct app_flow *app_reading_find(struct app_flow *main, unsigned id); /* NULL for none */
bool app_has_other_readings(const struct app_flow *main);              /* that go on */
/* Before the main reading gets the bytes: begins readings without the urgent bytes of the direction, as long as the
 * protocol is not known. */
void app_read_urgent(struct feeding *f, enum flow_direction direction, const struct app_stream_bytes *in);
/* With urgent_unread: whether the flow has a parser after all, so that readings of its bytes are missing. True once. */
bool app_misses_readings(struct app_flow *main);
/* Bytes of the stream to a further reading, without the urgent bytes that it does not have. */
void app_feed_reading(struct feeding *f, enum flow_direction direction, const struct app_stream_bytes *in);
bool app_is_read_otherwise(const struct app_flow *main); /* a protocol that joins others takes the bytes, too */
/* Whether the client's bytes are also a message of the protocol: "QUIT /path HTTP/1.1" begins like FTP. */
enum app_guess app_reading_guess(const struct feeding *f, const struct app_proto *proto, const struct app_side *side);
/* Client and server of the flow change places, in all readings. */
void app_swap_directions(struct feeding *f);

/* --- tx.c ----------------------------------------------------------------------------------------- */

/* No more will come for any of the flow's transactions. */
void app_tx_complete_all(struct app_flow *af);
/* The same for one direction. */
void app_tx_complete_direction(struct app_flow *af, enum flow_direction direction);
void app_tx_release(struct app *app, struct app_tx *tx, app_release_function *release, void *user);

/* --- byterange.c ---------------------------------------------------------------------------------- */

/* Removes incomplete files of byterange.c from tx->files; the table keeps them until their next range. Called before
 * the files of a transaction are freed. */
void app_byterange_detach_files(struct app *app, struct app_tx *tx, enum flow_direction direction);

/* --- expect.c ------------------------------------------------------------------------------------- */

/* The id of the protocol of a flow that was announced, 0 otherwise; its tag goes to `af`. Forgets it. */
unsigned app_take_expected(struct app *app, struct app_flow *af, uint64_t now_ns);

#endif
