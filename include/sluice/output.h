/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output: events to EVE JSON and to the terminal, from one thread of its own, fed by one lock-free ring per worker.
 *
 * A worker copies what an event needs into its ring and goes on; formatting and writing happen in the output thread. A
 * full ring loses the event, which is counted by kind; in lossless mode (replay) the worker waits instead.
 *
 * EVE: field names are Suricata's (docs.suricata.io, "EVE JSON Format"), plus one object of our own, "queue", for
 * packets from NFQUEUE: number, id, mark, hook, in_iface, out_iface, in_physical, out_physical, verdict, ruleset (the
 * generation), set_mark and set_mask when a rule asks for a mark. "in_iface" of the common header is there too. Reasons
 * of drops are those of output_drop_reason_name(). Events of packets that belong to a flow carry "flow_id", flow and
 * netflow events of captures the time of the flow's last packet.
 *
 * Threads:   output_packet() by the worker that owns the port; the rest by the main thread.
 * Ownership: events point at rules: a ruleset may be freed when output_drained() says that everything written before
 * has been formatted.
 */
#ifndef SLUICE_OUTPUT_H
#define SLUICE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/decision.h"
#include "sluice/firewall_watch.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/turn.h"

enum output_event {
    OUTPUT_ALERT,
    OUTPUT_DROP,
    OUTPUT_WOULD_DROP, /* alert-only: a packet passed that mode drop drops */
    OUTPUT_ANOMALY,
    OUTPUT_STATS,
    OUTPUT_FLOW,     /* a flow ended */
    OUTPUT_NETFLOW,  /* the same, one event a direction */
    OUTPUT_PACKET,   /* a tagged packet */
    OUTPUT_METADATA, /* a packet out of which a rule took a text for it (pcre's pkt:NAME) */
    OUTPUT_STREAM,   /* a TCP segment with the state of its session */
    OUTPUT_APP,      /* a transaction of an application protocol */
    OUTPUT_FILE,     /* a file in one */
    OUTPUT_FIREWALL, /* the own table, and the hosts that it blocks */
    OUTPUT_ENGINE,   /* an engine that died, and packets on which engines die */
    OUTPUT_OVERLOAD, /* packets come faster than they are judged */
    OUTPUT_EVENT_COUNT,
};

/* What a proxy told of its client: "xff" in an event, or (overwrite) the address in place of the client's. */
struct xff_options {
    bool enabled, overwrite;
    bool first;         /* of several addresses; otherwise the last */
    const char *header; /* lent */
    bool is_set;        /* the event type has a separate section */
};

/* Options of EVE's event types, with Suricata's names. */
struct eve_options {
    bool enabled[OUTPUT_EVENT_COUNT];
    bool ethernet, community_id, pcap_file, metadata, ipv6_compress;
    uint16_t community_id_seed;
    struct {
        struct xff_options alert, http, files;
        struct xff_options common; /* for event types without a separate section */
    } xff;
    bool types;                 /* the configuration selects the event types */
    const char *pcap_file_name; /* EVE's pcap_filename when pcap_file; or NULL */
    struct {
        bool payload, payload_printable, payload_length, packet, verdict, reference, rule_raw, rule_metadata;
        bool tagged_packets, flow, app_layer;
        bool metadata; /* false: neither rule_raw nor rule_metadata, flow and app_layer */
        uint32_t payload_buffer_size;
    } alert;
    struct {
        bool alerts, verdict;
        bool all_flows;      /* drop.flows: all; otherwise one event for each direction of a dropped flow */
        uint32_t rate_limit; /* drops without a rule, in a second of a worker; 0: all */
    } drop;
    uint32_t flow_rate_limit; /* ends of flows that nobody answered, in a second of a worker; 0: all */
    struct {
        bool decode, stream, application, packet_header;
    } anomaly;
    struct {
        bool all;
        uint16_t triggers;                                     /* enum packet_stream_flag: segments with one of them */
        bool event_set, state_update, spurious_retransmission; /* the settings from which `triggers` are made */
    } stream;
    bool app[APP_MAX_PROTOCOLS]; /* events of protocols, by index in app_list */
    struct {
        bool totals, threads, deltas, null_values;
    } stats;
};
void eve_options_default(struct eve_options *options); /* what Suricata's shipped configuration writes, and drops */

/* What is at the path: eve.filetype. */
enum output_file_type { OUTPUT_FILE_REGULAR, OUTPUT_FILE_UNIX_STREAM, OUTPUT_FILE_UNIX_DATAGRAM };

/* Settings of the event file. */
struct log_options {
    const char *dir; /* log-dir */
    bool eve;        /* write it */
    const char *eve_name;
    enum output_file_type eve_type;
    size_t ring_size; /* as in struct output_options */
};
extern const struct setting output_settings[]; /* of struct log_options */
extern const struct setting eve_settings[];    /* of struct eve_options */

struct output_options {
    const char *eve_path; /* NULL: no EVE file */
    enum output_file_type eve_type;
    bool eve_truncate; /* start with an empty file (replay) instead of appending */
    FILE *console;     /* readable lines; NULL: none */
    bool console_colour;
    bool console_stats;             /* a line for stats events too */
    bool lossless;                  /* a full ring blocks: only with the thread started */
    bool inline_mode;               /* drops take effect */
    bool queue_fields;              /* packets come from NFQUEUE: add "queue" */
    size_t ring_size;               /* bytes per worker; rounded up to a power of two of at least 1 MiB */
    const struct rule_names *names; /* of flow bits and integers, outlives the output; NULL: they are not written */
    struct eve_options eve;
};
void output_options_default(struct output_options *options);

struct output;
struct output_port; /* a worker's end */

/* Opens the files and makes `ports` rings; -errno with the path in `error` when a file can't be written. */
int output_open(struct output **out, const struct output_options *options, unsigned ports, char error[256]);
/* Starts the thread, which has the caller's CPU affinity and no signals. 0 or -errno. */
int output_start(struct output *output);
/* Writes what is left, flushes, joins the thread. Nobody writes to a port from here on; without output_start() the
 * caller does the writing. */
void output_stop(struct output *output);
void output_close(struct output *output); /* ends the thread too; NULL is allowed */

struct output_port *output_port(struct output *output, unsigned worker);

/*
 * From here on events of all ports are written in the order of their places, of equal ones the first port's first.
 * `progress` is asked by the output thread: all of the port's that is before that place has been recorded. Before
 * anything is recorded.
 */
typedef void output_progress_function(void *user, unsigned port, struct replay_position *out);
void output_set_progress(struct output *output, output_progress_function *progress, void *user);
/* The place of what is recorded from now on; never before the last. */
void output_port_place(struct output_port *port, const struct replay_position *place);

/* Everything there is to say of a packet: an alert event per alert, a drop event, an anomaly event per event of decoder
 * and stream, as far as enabled, a packet event when it is tagged. Cheap when there is nothing. `decision` may be NULL
 * when no rule was asked; `generation` is that of the ruleset. Notes in the packet's flow that its drop has been told.
 */
void output_packet(struct output_port *port, const struct packet *pkt, const struct decision *decision,
                   unsigned generation);

/* A transaction of an application protocol: the event of its protocol, and those of its anomalies, as far as enabled.
 * `pkt` is the packet that completed it. */
void output_transaction(struct output_port *port, const struct packet *pkt, const struct flow *flow,
                        const struct app *app, const struct app_tx *tx, unsigned generation);

/* A file of one: a fileinfo event, when enabled. */
void output_file(struct output_port *port, const struct packet *pkt, const struct flow *flow, const struct app *app,
                 const struct app_tx *tx, const struct file *file, enum flow_direction direction, unsigned generation);

/* A flow that ended: flow and netflow events, as far as enabled. To be called before stream_end(). */
void output_flow(struct output_port *port, const struct flow *flow, enum flow_end reason, unsigned generation);

/* One stats event. Names are paths ("decoder.pkts", "queue.0.waiting"); dots nest, "engines[0].x" is in an array of
 * one. Those below "threads." are of one worker and are written when stats.threads is set, the others when stats.totals
 * is. Names are lent for good. Called by one thread. */
struct output_stat {
    const char *name;
    uint64_t value;
};
void output_stats(struct output *output, const struct output_stat *stats, size_t count, uint64_t uptime_seconds,
                  uint64_t time_ns);
/* The same as one JSON object, for who asks. */
struct text;
void output_stats_json(const struct output_stat *stats, size_t count, uint64_t uptime_seconds, struct text *out);

/* What happened to the own table. Called by one thread. */
enum output_firewall_action {
    OUTPUT_FIREWALL_ALTERED,     /* by another process; not restored (nft.monitor: report) */
    OUTPUT_FIREWALL_REASSERTED,  /* it had been altered, and Sluice restored it */
    OUTPUT_FIREWALL_RESTORED,    /* it had been altered, and another process undid that */
    OUTPUT_FIREWALL_FAILED,      /* Sluice could not restore it yet */
    OUTPUT_FIREWALL_MISPLACED,   /* a chain of another table is on the wrong side of Sluice's */
    OUTPUT_FIREWALL_MOVED,       /* because of such a chain Sluice moved its own */
    OUTPUT_FIREWALL_FLUSHED,     /* the kernel dropped packets that waited in the queues */
    OUTPUT_FIREWALL_BLOCKED,     /* a host was put on the blocklist */
    OUTPUT_FIREWALL_NO_LISTENER, /* packets reached the queue rules while no daemon listened */
    OUTPUT_FIREWALL_ACTIONS,
};

struct output_firewall {
    uint64_t time_ns;
    enum output_firewall_action action;
    char table[FIREWALL_NAME_SIZE];
    unsigned damage;           /* enum firewall_damage; 0: the next three are not written */
    bool uninspected, dropped; /* what could happen to packets meanwhile */
    bool lost;                 /* the kernel could not tell of all changes */
    bool has_duration;
    uint64_t duration_ns, at_most_ns; /* since it was noticed; since it was last known to be right */
    uint32_t generation, pid;         /* who; 0: not known */
    char process[FIREWALL_PROCESS_SIZE];
    uint64_t packets;                         /* flushed, no_listener */
    struct firewall_misplaced_chain intruder; /* misplaced, moved */
    struct address host;                      /* blocked */
    uint8_t host_version;
    uint64_t host_seconds;           /* 0: for good */
    uint32_t gid, sid;               /* of the rule; 0: none */
    char error[FIREWALL_ERROR_SIZE]; /* failed */
};
void output_firewall(struct output *output, const struct output_firewall *event);
const char *output_firewall_action_name(enum output_firewall_action action);
/* The end of the previous engine, rules that this one could not load, and changes of the mode. Called by one thread. */
enum output_engine_action {
    OUTPUT_ENGINE_RESTARTED,      /* the previous engine died, and this one replaces it */
    OUTPUT_ENGINE_QUARANTINED,    /* a packet that crashed two engines was dropped */
    OUTPUT_ENGINE_HANDED_OVER,    /* the previous engine handed over its flows and packets */
    OUTPUT_ENGINE_RULES_LEFT_OUT, /* at a start or reload: the number of rules */
    OUTPUT_ENGINE_RULE_LEFT_OUT,  /* one of them */
    OUTPUT_ENGINE_MODE,           /* the mode changed to alert-only or drop */
    OUTPUT_ENGINE_ACTIONS,
};
enum { OUTPUT_ENGINE_PATH_SIZE = 256, OUTPUT_ENGINE_REASON_SIZE = 256 };
struct output_engine {
    uint64_t time_ns;
    uint64_t number; /* of an event of the previous engine, from 1: an event that is repeated has the same; 0: none */
    enum output_engine_action action;
    int signal, code; /* that ended it, or its exit code */
    bool hung;        /* a worker stood still */
    uint64_t packets; /* that are judged anew */
    unsigned queue;   /* of the packet, as the next two */
    uint32_t length;
    char path[OUTPUT_ENGINE_PATH_SIZE]; /* of its file, or the rule file; "": none */
    uint64_t rules_loaded, rules_failed, rules_skipped, rule_files_failed;
    const char *kind;  /* of a rule that was left out; lent for good */
    uint32_t line;     /* 0: the whole file */
    uint32_t gid, sid; /* sid 0: not known */
    char reason[OUTPUT_ENGINE_REASON_SIZE];
    const char *mode;  /* OUTPUT_ENGINE_MODE: a constant; NULL: as configured, by queue */
    const char *cause; /* a constant: what changed the mode */
    uint64_t until_ns; /* realtime when the configured mode returns; 0: no time limit */
};
void output_engine(struct output *output, const struct output_engine *event);

/* What became of packets because there were too many of them, or of rules because they took too long. Called by one
 * thread. */
enum output_overload_action {
    OUTPUT_OVERLOAD_ENTERED,     /* a queue is in overload */
    OUTPUT_OVERLOAD_WIDENED,     /* the overload lasts: one more class is shed */
    OUTPUT_OVERLOAD_LEFT,        /* the overload has ended */
    OUTPUT_OVERLOAD_LOST,        /* the kernel dropped packets, or let them pass (fail-open) */
    OUTPUT_OVERLOAD_SLOW,        /* packets or rules exceeded their budget */
    OUTPUT_OVERLOAD_SUSPENDED,   /* a rule is suspended */
    OUTPUT_OVERLOAD_RESUMED,     /* a suspended rule is evaluated again */
    OUTPUT_OVERLOAD_NO_LISTENER, /* the queue of the next consumer (queue.route-to) has no listener */
    OUTPUT_OVERLOAD_LISTENER,    /* it has one again */
    OUTPUT_OVERLOAD_EVICTED,     /* a memcap is used up: idle state gave way to new */
    OUTPUT_OVERLOAD_ACTIONS,
};

enum { OUTPUT_OVERLOAD_CLASSES = 8, OUTPUT_OVERLOAD_RULES = 5 };
struct output_overload_class {
    const char *name; /* lent for good */
    bool shed;        /* now */
    uint64_t flows;   /* since it was entered */
};
struct output_overload_rule {
    uint32_t gid, sid;
    uint64_t evaluations, over_budget; /* times */
    uint64_t total_us, max_us;         /* of all its evaluations; of the longest */
    uint64_t seconds;                  /* suspended: for how long */
};
struct output_overload {
    uint64_t time_ns;
    enum output_overload_action action;
    bool has_queue;
    uint16_t queue;
    unsigned fill_permille;       /* entered, widened, left; as the next four */
    uint64_t age_us, duration_us; /* of the oldest packet; since it was entered */
    unsigned class_count;
    struct output_overload_class classes[OUTPUT_OVERLOAD_CLASSES];
    uint64_t queue_dropped, user_dropped, missing; /* lost: the queue was full, the socket was, ids never arrived */
    uint64_t fail_open;                            /* lost: packets that passed because a queue was full */
    uint64_t unqueued;                             /* lost: packets that the kernel dropped and counted nowhere */
    bool passed;                                   /* lost: fail-open; no_listener, listener: queue.route-bypass */
    uint64_t packets;                              /* slow; listener: routed while no program listened */
    unsigned rule_count;
    struct output_overload_rule rules[OUTPUT_OVERLOAD_RULES];
    const char *setting; /* evicted: the memcap */
    uint64_t evicted;    /* entries of its table, since the last event */
};
void output_overload(struct output *output, const struct output_overload *event);
const char *output_overload_action_name(enum output_overload_action action);

/* The generation of the rules in use, for events that are of no packet. */
void output_set_generation(struct output *output, unsigned generation);

/* Asks the thread to reopen its file by its path (rotation). When that fails the old one is kept. */
void output_reopen(struct output *output);
/* Why events do not reach their file or socket at the moment: -errno; 0: they do. */
int output_trouble(const struct output *output);
/* True once after it was not allowed to open the file: somebody else may give it one, which is the output's from then
 * on. */
bool output_wants_file(struct output *output);
void output_give_file(struct output *output, int fd);

/* A ticket for what has been written up to now by all ports, and whether it has been formatted. */
uint64_t output_ticket(struct output *output);
bool output_drained(struct output *output, uint64_t ticket);
/* Whether it is in the files, too; true when there is no thread that writes. */
bool output_is_written(const struct output *output, uint64_t ticket);

/* Waits until all that the ports have recorded is written and counted, so that numbers taken next do not depend on how
 * far the thread is. For replay; the ports must be silent meanwhile. */
void output_settle(struct output *output);

/* Events written and lost, by kind; written by the output thread and the ports, read by anybody. */
struct output_counters {
    uint64_t written[OUTPUT_EVENT_COUNT], lost[OUTPUT_EVENT_COUNT];
    uint64_t limited[OUTPUT_EVENT_COUNT]; /* left out in a flood */
    uint64_t write_errors;
};
void output_counters(const struct output *output, struct output_counters *out);

const char *output_drop_reason_name(enum drop_reason reason);
const char *output_protocol_name(uint8_t protocol);                    /* "TCP"; NULL for one that has only a number */
void output_time(struct text *out, const char *key, uint64_t time_ns); /* as EVE writes times */

#endif
