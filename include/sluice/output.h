/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output: events as EVE JSON in a file or socket, and as lines on a terminal.
 *
 * A worker copies the data of an event into its ring and continues; the output thread formats and writes it. Each
 * worker has a lock-free ring. When the ring is full, the event is lost and counted by kind; in lossless mode (replay)
 * the worker waits instead.
 *
 * EVE: field names are Suricata's (docs.suricata.io, "EVE JSON Format"). One object exists only in Sluice: "queue", for
 * packets from NFQUEUE, with number, id, mark, hook, in_iface, out_iface, in_physical, out_physical, verdict, ruleset
 * (the generation), and set_mark and set_mask if a rule sets the mark. The common header of these events also has
 * "in_iface". Drop reasons are those of output_drop_reason_name(). Events of packets that belong to a flow have
 * "flow_id". Flow and netflow events of captures have the time of the last packet of the flow.
 *
 * Threads:   output_packet(), output_transaction(), output_file() and output_flow() are called by the worker that owns
 *            the port, the other functions by the main thread.
 * Ownership: events point at rules. A ruleset may be freed when output_drained() returns true for a ticket that was
 *            taken after its last event.
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
#include "sluice/replay_order.h"

enum output_event {
    OUTPUT_ALERT,
    OUTPUT_DROP,
    OUTPUT_WOULD_DROP, /* alert-only: a packet passed that mode drop would have dropped */
    OUTPUT_ANOMALY,
    OUTPUT_STATS,
    OUTPUT_FLOW,     /* a flow ended */
    OUTPUT_NETFLOW,  /* a flow ended: one event for each direction */
    OUTPUT_PACKET,   /* a packet that the keyword tag selects */
    OUTPUT_METADATA, /* a packet from which a rule captured a variable (pcre with pkt:NAME) */
    OUTPUT_STREAM,   /* a TCP segment with the state of its session */
    OUTPUT_IGMP,     /* an IGMP or RGMP message */
    OUTPUT_ARP,      /* an ARP message */
    OUTPUT_APP,      /* a transaction of an application protocol */
    OUTPUT_FILE,     /* a file in a transaction */
    OUTPUT_FRAME,    /* a frame of an application protocol */
    OUTPUT_FIREWALL, /* the sluice table was changed, or a host was blocked */
    OUTPUT_ENGINE,   /* an engine died, a packet was quarantined, rules were left out, or the mode changed */
    OUTPUT_OVERLOAD, /* a queue is overloaded, packets were lost, or rules exceeded their budget */
    OUTPUT_EVENT_COUNT,
};

/* Options for the client's address that a proxy reports in a header: it is written as member "xff" or, with
 * `overwrite`, in place of the address of the proxy. */
struct xff_options {
    bool enabled, overwrite;
    bool first;         /* true: use the first of several addresses; false: the last */
    const char *header; /* name of the header; borrowed */
    bool is_set;        /* the event type has its own xff section in the configuration */
};

/* Options of EVE's event types, with Suricata's names. */
struct eve_options {
    const char *sensor_name; /* value of the member "host" of all events; borrowed; NULL: none */
    bool suricata_version;   /* add the member "suricata_version", RULE_SURICATA_VERSION */
    bool enabled[OUTPUT_EVENT_COUNT];
    bool ethernet, community_id, pcap_file, metadata, ipv6_compress;
    uint16_t community_id_seed;
    struct {
        struct xff_options alert, http, files;
        struct xff_options common; /* for event types without a separate section */
    } xff;
    bool types;                 /* false: eve.types is `no`, so the default event types are written */
    const char *pcap_file_name; /* value of pcap_filename in events, written if pcap_file is true; NULL: none */
    struct {
        bool payload, payload_printable, payload_length, packet, verdict, reference, rule_raw, rule_metadata;
        bool tagged_packets, flow, app_layer;
        bool metadata; /* false: rule_raw, rule_metadata, flow and app_layer are false, too */
        uint32_t payload_buffer_size;
    } alert;
    struct {
        bool alerts, verdict;
        bool all_flows;      /* drop.flows. true (all): one event for each dropped packet; false (start): one for each
                                direction of a dropped flow */
        uint32_t rate_limit; /* maximum events per second and worker for drops that no rule caused; 0: no limit */
    } drop;
    uint32_t flow_rate_limit; /* maximum number of flows per second and worker whose events are written; applies only to
                                 flows without alert that were unanswered, half-open or refused. 0: no limit */
    struct {
        bool decode, stream, application, packet_header;
    } anomaly;
    struct {
        bool all;
        uint16_t triggers; /* bits of enum packet_stream_flag: a segment with one of these flags has an event */
        bool event_set, state_update, spurious_retransmission; /* settings from which `triggers` is computed */
    } stream;
    bool app[APP_MAX_PROTOCOLS]; /* whether transactions of a protocol have events, by index in app_list */
    struct {
        bool totals, threads, deltas, null_values;
    } stats;
};

/* The type of the event file (eve.filetype), or of a further output (outputs.*.filetype). For the event file the engine
 * itself writes the first three types. For further outputs it writes only regular files, and sluice-ship all other
 * types. */
enum output_file_type {
    OUTPUT_FILE_REGULAR,
    OUTPUT_FILE_UNIX_STREAM,
    OUTPUT_FILE_UNIX_DATAGRAM,
    OUTPUT_FILE_SYSLOG,
    OUTPUT_FILE_REDIS,
    OUTPUT_FILE_KAFKA,
};

/* The lines of a further output: events as JSON, alerts as in Suricata's fast.log, counters as in its stats.log. */
enum output_format { OUTPUT_EVE, OUTPUT_FAST, OUTPUT_COUNTERS };

/* Conditions for a rotation, which renames a regular file to PATH.YYYYmmdd-HHMMSS and begins a new file. */
struct output_rotation {
    uint64_t interval_seconds; /* a new file begins at multiples of this interval in local time; 0: never */
    uint64_t max_size;         /* in bytes; 0: no limit */
    uint32_t max_files;        /* renamed files that are kept; 0: all */
};

/* Settings of the event file. */
struct log_options {
    const char *dir; /* log-dir */
    bool eve;        /* write EVE JSON */
    const char *eve_name;
    enum output_file_type eve_type;
    const char *rotate_interval; /* as output_rotation_interval() reads it; NULL: never */
    uint64_t max_size;           /* as in struct output_rotation */
    uint32_t max_files;
    size_t ring_size;        /* bytes per worker, as output_options.ring_size */
    const char *ship_socket; /* path of the socket of sluice-ship */
};
extern const struct setting output_settings[]; /* of struct log_options */
extern const struct setting eve_settings[];    /* of struct eve_options */

/* Reads a rotation interval: "minute", "hour", "day", or a number with s, m, h, d or w. Returns false for another
 * format. */
bool output_rotation_interval(const char *value, uint64_t *seconds);

/* Settings of a further output (outputs.NAME). The engine reads the settings for event selection and files, sluice-ship
 * the settings of servers. Strings are borrowed from the configuration. */
struct output_settings {
    bool enabled;
    enum output_file_type type;
    enum output_format format;
    const char *filename; /* NULL: the default of the type */
    const char *const *types;
    uint32_t severity;
    size_t buffer_size;
    const char *prefix; /* NULL: none */
    const char *rotate_interval;
    uint64_t max_size;
    uint32_t max_files;
    struct {
        const char *identity, *socket;
        unsigned facility, level; /* index in the choices of the setting: the codes of RFC 5424 */
        bool old_format;          /* RFC 3164 */
    } syslog;
    struct {
        const char *server, *socket, *key, *username, *password;
        uint16_t port;
        uint32_t database, batch_size;
        uint64_t max_length; /* XADD: MAXLEN; 0: no limit */
        unsigned mode;       /* index in the choices of the setting */
    } redis;
    struct {
        const char *const *brokers, *topic;
        const char *const *properties; /* of librdkafka, NAME=VALUE */
    } kafka;
};
extern const struct setting destination_settings[]; /* of struct output_settings */

/* Which events an output gets. */
struct output_filter {
    uint32_t kinds;              /* bits 1 << enum output_event */
    bool app[APP_MAX_PROTOCOLS]; /* OUTPUT_APP: only transactions of these protocols, by index in app_list */
    uint8_t severity; /* OUTPUT_ALERT: only alerts of rules with this priority or a lower number (more important) */
};

/* A further output. Strings are borrowed until output_open() returns. */
struct output_destination {
    const char *name;
    enum output_file_type type;
    enum output_format format;
    const char *path; /* regular files only */
    struct output_rotation rotation;
    size_t buffer_size; /* types other than regular files: bytes of the spool (sluice/spool.h) */
    struct output_filter filter;
};
enum { OUTPUT_MAX_DESTINATIONS = 16 };
/* Enables the event types that are written if no configuration file sets eve.types. */
void eve_enable_default_types(struct eve_options *options);

/* Packets in capture files (pcap-log). */
enum pcap_log_conditional { PCAP_LOG_ALL, PCAP_LOG_ALERTS, PCAP_LOG_TAG };
enum pcap_log_compression { PCAP_LOG_NONE, PCAP_LOG_ZSTD, PCAP_LOG_LZ4 };
enum pcap_log_mode { PCAP_LOG_NORMAL, PCAP_LOG_MULTI };
struct pcap_log_options {
    bool enabled;
    const char *dir; /* folder; NULL in the settings: the log folder */
    const char
        *filename; /* template: %t seconds since 1970, %n worker, %i thread id; .%t is appended if it is missing */
    enum pcap_log_mode mode;
    uint64_t limit;     /* bytes of packets after which the next file begins; 0: none; in multi: of each worker */
    uint32_t max_files; /* files that are kept; 0: all; in multi: of each worker */
    enum pcap_log_conditional conditional;
    enum pcap_log_compression compression;
    uint32_t lz4_level;
    bool lz4_checksum;
    size_t buffer_size; /* bytes per worker of packets that are not written yet */
};
extern const struct setting pcap_log_settings[]; /* of struct pcap_log_options */

/* Certificate chains in files (tls-store). */
struct tls_store_options {
    bool enabled;
    const char *dir;     /* folder */
    uint32_t max_files;  /* chains in the folder beyond which no more are written; 0: no limit */
    uint32_t rate_limit; /* chains that a worker stores per second; 0: no limit */
};
extern const struct setting tls_store_settings[]; /* of struct tls_store_options */

struct output_options {
    const char *eve_path; /* NULL: no EVE file */
    enum output_file_type eve_type;
    struct output_rotation eve_rotation;
    struct output_filter eve_filter; /* events that the event file gets. kinds 0: all events that `eve` enables. `eve`
                                        enables the events of all outputs together */
    const struct output_destination *destinations; /* further outputs */
    size_t destination_count;
    const char *ship_socket; /* path of the socket of sluice-ship, if an output needs it */
    struct pcap_log_options pcap_log;
    struct tls_store_options tls_store;
    bool eve_truncate; /* true: start with an empty file (replay); false: append */
    FILE *console;     /* the terminal; NULL: none */
    bool console_colour;
    bool console_stats; /* also print a line for each stats event */
    bool lossless; /* true: workers wait while their ring is full, so that no event is lost; requires output_start() */
    bool inline_mode;   /* true: drops take effect (IPS); false: IDS */
    bool queue_fields;  /* true: packets are from a live capture, so their events have `in_iface` and the object "queue"
                         */
    bool ring_fields;   /* with queue_fields: packets are from a ring of an interface: "ring" in place of "queue" */
    bool recent_alerts; /* keep the last alerts in memory, for output_recent_alerts() */
    size_t ring_size;   /* bytes per worker; rounded up to a power of two of at least 2 MiB */
    const struct rule_names *names; /* names of flow bits and integers; must outlive the output; NULL: flow bits and
                                       integers are not written */
    struct eve_options eve;
};

struct output;
struct output_port; /* interface through which one worker records its events */

/* Opens the file and allocates a ring for each of `ports` workers. Returns 0 or -errno, with a line in `error`. */
int output_open(struct output **out, const struct output_options *options, unsigned ports, char error[256]);
/* Starts the thread, with the caller's CPU affinity and all signals blocked. Returns 0 or -errno. */
int output_start(struct output *output);
/* Writes all recorded events, flushes the file and joins the thread. The ports must not be used afterwards. Without
 * output_start() the caller's thread writes the events here. */
void output_stop(struct output *output);
void output_close(struct output *output); /* also stops the output thread; NULL is allowed */

struct output_port *output_port(struct output *output, unsigned worker);

/*
 * Replay order. After output_set_progress() the events of all ports are written in the order of their positions; at
 * equal positions the event of the port with the lower number is first. output_set_progress() must be called before the
 * first event is recorded.
 *
 * The output thread calls `progress` for each port. `progress` sets *out to a position before which the port has
 * recorded all its events.
 */
typedef void output_progress_function(void *user, unsigned port, struct replay_position *out);
void output_set_progress(struct output *output, output_progress_function *progress, void *user);
/* Sets the position of the events that are recorded next. It must not be less than the previous position. */
void output_port_set_position(struct output_port *port, const struct replay_position *position);

/* Records the enabled events of a packet: an alert per alert, a drop, an anomaly per decoder and stream event, and a
 * packet event if it is tagged. Returns quickly if there are none. `decision` is NULL if no rules were evaluated;
 * `generation` is the generation of the ruleset. Sets a flag in the packet's flow if a drop event was recorded. */
void output_packet(struct output_port *port, const struct packet *pkt, const struct decision *decision,
                   unsigned generation);

/* Stores the certificate chains that rules with tls.store have selected (app_tx.store_chains), if there are any. */
void output_chains(struct output_port *port, const struct packet *pkt, const struct flow *flow, struct app_tx *tx);
/* Records the enabled events of a transaction: the event of its protocol, and an anomaly per event of its parser. `pkt`
 * is the packet that completed the transaction. */
void output_transaction(struct output_port *port, const struct packet *pkt, const struct flow *flow,
                        const struct app *app, const struct app_tx *tx, unsigned generation);

/* Records a fileinfo event for a file of a transaction, if enabled. */
void output_file(struct output_port *port, const struct packet *pkt, const struct flow *flow, const struct app *app,
                 const struct app_tx *tx, const struct file *file, enum flow_direction direction, unsigned generation);

/* Records a frame event for a frame of the packet's direction. To be called only if output_wants_frames(). */
void output_frame(struct output_port *port, const struct packet *pkt, const struct frame_facts *frame,
                  unsigned generation);
bool output_wants_frames(const struct output_port *port); /* whether the event type frame is enabled */

/* Records the flow and netflow events of a flow that ended, if enabled. To be called before stream_end(), because the
 * events report the TCP session. */
void output_flow(struct output_port *port, const struct flow *flow, enum flow_end reason, unsigned generation);

/* Records a stats event. Names are paths: "decoder.pkts" is member "pkts" of the object "decoder", and "engines[0].x"
 * is in an array with one element; the value of "last_reload" is a time in nanoseconds. Counters below "threads."
 * belong to one worker and are written if stats.threads is set. All other counters are written if stats.totals is set.
 * Names must remain valid until the program ends. */
struct output_stat {
    const char *name;
    uint64_t value;
};
void output_stats(struct output *output, const struct output_stat *stats, size_t count, uint64_t uptime_seconds,
                  uint64_t time_ns);
/* Formats the counters as one JSON object, for a client of the control socket. */
struct text;
void output_stats_json(const struct output_stat *stats, size_t count, uint64_t uptime_seconds, struct text *out);

/* Changes of the sluice table that have a firewall event. */
enum output_firewall_action {
    OUTPUT_FIREWALL_ALTERED,    /* another process changed the table, which is not restored (nft.monitor: report) */
    OUTPUT_FIREWALL_REASSERTED, /* Sluice restored the table after a change */
    OUTPUT_FIREWALL_RESTORED,   /* another process reverted its change */
    OUTPUT_FIREWALL_FAILED,     /* Sluice could not restore the table yet */
    OUTPUT_FIREWALL_MISPLACED,  /* a chain of another table has a priority on the wrong side of Sluice's chain */
    OUTPUT_FIREWALL_MOVED, /* Sluice changed the priority of its chain because of a misplaced chain of another table */
    OUTPUT_FIREWALL_FLUSHED,     /* the kernel dropped packets that waited in the queues */
    OUTPUT_FIREWALL_BLOCKED,     /* a host was added to the blocklist */
    OUTPUT_FIREWALL_NO_LISTENER, /* packets reached the queue rules while no daemon listened */
    OUTPUT_FIREWALL_ACTIONS,
};

struct output_firewall {
    uint64_t time_ns;
    enum output_firewall_action action;
    char table[FIREWALL_NAME_SIZE];
    /* what was changed, as bits 1 << enum firewall_damage. If 0, only the event no_listener has the members
     * `uninspected` and `dropped` */
    unsigned damage;
    bool uninspected, dropped; /* packets may have passed without inspection; packets may have been dropped */
    bool lost; /* notifications of the kernel about changes were lost, so that changes may have gone unnoticed */
    bool has_duration;
    /* time since the change was detected; time since the last check that found the table intact */
    uint64_t duration_ns, at_most_ns;
    uint32_t generation, pid; /* nf_tables generation of the change, and id of the process that made it; 0: unknown */
    char process[FIREWALL_PROCESS_SIZE];
    uint64_t packets;                         /* flushed, no_listener: number of packets */
    struct firewall_misplaced_chain intruder; /* misplaced, moved: the chain of another table */
    struct address host;                      /* blocked: address of the host */
    uint8_t host_version;
    uint64_t host_seconds;           /* how long the host is blocked; 0: without limit */
    uint32_t gid, sid;               /* blocked: the rule that requested the block; 0: none */
    char error[FIREWALL_ERROR_SIZE]; /* failed: the reason */
};
void output_firewall(struct output *output, const struct output_firewall *event);
const char *output_firewall_action_name(enum output_firewall_action action);
/* Events of the engine: the end of the previous engine, rules that were not loaded, changes of the mode, and of the
 * interfaces of a sensor. */
enum output_engine_action {
    OUTPUT_ENGINE_RESTARTED,      /* the previous engine died, and this one replaces it */
    OUTPUT_ENGINE_QUARANTINED,    /* a packet that crashed two engines was dropped */
    OUTPUT_ENGINE_HANDED_OVER,    /* the previous engine handed over its flows and packets */
    OUTPUT_ENGINE_RULES_LEFT_OUT, /* number of rules that were left out at a start or reload */
    OUTPUT_ENGINE_RULE_LEFT_OUT,  /* one rule that was left out */
    OUTPUT_ENGINE_MODE,           /* the mode of a queue changed */
    OUTPUT_ENGINE_INTERFACE,      /* the state or the name of an interface of a sensor changed */
    OUTPUT_ENGINE_ACTIONS,
};
enum { OUTPUT_ENGINE_PATH_SIZE = 256, OUTPUT_ENGINE_REASON_SIZE = 256 };
struct output_engine {
    uint64_t time_ns;
    uint64_t number; /* serial number of an event about the previous engine, from 1; the same if the event is written
                        again; 0: the event is not about the previous engine */
    enum output_engine_action action;
    int signal, code; /* restarted: the signal that killed the engine; 0: the engine exited with `code` */
    bool hung;        /* restarted: the supervisor killed the engine because a worker hung */
    uint64_t packets; /* restarted: packets that were queued again */
    unsigned queue;   /* quarantined: queue of the packet */
    uint32_t length;  /* quarantined: length of the packet in bytes */
    char path[OUTPUT_ENGINE_PATH_SIZE]; /* quarantined: file with the packet; rule_left_out: rule file; "": none */
    uint64_t rules_loaded, rules_failed, rules_skipped, rule_files_failed; /* rules_left_out */
    const char *kind;                                                      /* rule_left_out: a constant */
    uint32_t line;                                                         /* rule_left_out; 0: the whole file */
    uint32_t gid, sid;                                                     /* rule_left_out; sid 0: unknown */
    char reason[OUTPUT_ENGINE_REASON_SIZE];                                /* rule_left_out */
    const char *mode;   /* mode: "drop", "alert-only", or "mixed" if queues differ; NULL is written as "configured" */
    const char *cause;  /* mode: a constant that names what changed the mode */
    uint64_t until_ns;  /* mode: realtime at which the configured mode returns; 0: no time limit */
    char interface[16]; /* interface: the configured name */
    char renamed[16];   /* interface: its current name, if that differs from the configured one */
    const char *state;  /* interface: a constant: "capturing", "down", "gone" or "failed" */
    bool is_lost;       /* interface: no packets are captured from it */
};
void output_engine(struct output *output, const struct output_engine *event);

/* Events of overload: of a queue, of lost packets, and of rules that exceed their budget. */
enum output_overload_action {
    OUTPUT_OVERLOAD_ENTERED,     /* a queue is in overload */
    OUTPUT_OVERLOAD_WIDENED,     /* the overload continues: one more class of flows is bypassed */
    OUTPUT_OVERLOAD_LEFT,        /* the overload has ended */
    OUTPUT_OVERLOAD_LOST,        /* the kernel dropped packets, or let them pass (fail-open) */
    OUTPUT_OVERLOAD_SLOW,        /* packets or rules exceeded their budget */
    OUTPUT_OVERLOAD_SUSPENDED,   /* a rule is suspended */
    OUTPUT_OVERLOAD_RESUMED,     /* a suspended rule is evaluated again */
    OUTPUT_OVERLOAD_NO_LISTENER, /* the queue of the next consumer (queue.route-to) has no listener */
    OUTPUT_OVERLOAD_LISTENER,    /* the queue of the next consumer has a listener again */
    OUTPUT_OVERLOAD_EVICTED,     /* a memcap was reached: idle entries were evicted for new ones */
    OUTPUT_OVERLOAD_ACTIONS,
};

enum { OUTPUT_OVERLOAD_CLASSES = 8, OUTPUT_OVERLOAD_RULES = 5 };
struct output_overload_class {
    const char *name; /* a constant */
    bool shed;        /* flows of this class are bypassed now */
    uint64_t flows;   /* number of flows of this class that were bypassed since the overload began */
};
struct output_overload_rule {
    uint32_t gid, sid;
    uint64_t evaluations, over_budget; /* number of evaluations; number of evaluations that exceeded the budget */
    uint64_t total_us, max_us;         /* time of all evaluations; time of the longest evaluation */
    uint64_t seconds;                  /* how long the rule is suspended; 0: the rule is not suspended */
};
struct output_overload {
    uint64_t time_ns;
    enum output_overload_action action;
    bool has_queue;
    uint16_t queue;
    unsigned fill_permille; /* entered, widened, left: level of the queue in thousandths */
    uint64_t age_us;        /* entered, widened, left: age of the oldest packet */
    uint64_t duration_us;   /* widened, left: time since the overload began; listener: time without a listener */
    unsigned class_count;   /* entered, widened, left */
    struct output_overload_class classes[OUTPUT_OVERLOAD_CLASSES];
    uint64_t queue_dropped, user_dropped; /* lost: packets dropped because the queue, or the socket, was full */
    uint64_t missing;   /* lost: packet ids that the worker did not receive, found by gaps in the ids */
    uint64_t fail_open; /* lost: packets that passed because a queue was full */
    uint64_t unqueued;  /* lost: packets that the kernel dropped without counting them */
    bool passed;        /* the packets were not dropped but passed. lost: fail-open is on; no_listener, listener:
                           queue.route-bypass is on */
    uint64_t packets;   /* slow: packets over their budget; listener: packets routed while no program listened */
    unsigned rule_count;
    struct output_overload_rule rules[OUTPUT_OVERLOAD_RULES];
    const char *setting; /* evicted: name of the memcap's setting */
    uint64_t evicted;    /* evicted: number of entries since the last event */
};
void output_overload(struct output *output, const struct output_overload *event);
const char *output_overload_action_name(enum output_overload_action action);

/* Sets the generation of the rules in use, for events that belong to no packet. */
void output_set_generation(struct output *output, unsigned generation);

/* Requests that the output thread reopen the event file and the files of further outputs by their paths (log rotation).
 * If opening fails, the thread continues with the old file. */
void output_reopen(struct output *output);
/* Returns the error of the last write to the file or socket (-errno), or 0. */
int output_error(const struct output *output);
/* Returns true once after the permission to open the file was denied: the caller asks the supervisor to open it, and
 * passes the descriptor to output_set_file(); the output then owns the descriptor. */
bool output_needs_file(struct output *output);
void output_set_file(struct output *output, int fd);

/* Returns a ticket for all events that the ports have recorded so far, for output_drained() and output_is_written(). */
uint64_t output_ticket(struct output *output);
/* Returns whether all events of a ticket have been formatted, so that the output thread no longer reads their rules. */
bool output_drained(struct output *output, uint64_t ticket);
/* Returns whether all events of a ticket have been written to the file; true if no thread was started. */
bool output_is_written(const struct output *output, uint64_t ticket);

/* Waits until all events that the ports have recorded are written and counted, so that counters read afterwards do not
 * depend on the progress of the thread. For replay. No port may record events until it returns. */
void output_settle(struct output *output);
/* Sets `pcap_filename` of all further events, after those that were recorded before are written. For replay, as
 * output_settle(). Returns 0 or -ENOMEM. */
int output_set_pcap_file(struct output *output, const char *path);

/* Returns the in_ifindex of packets of an interface that a capture file names, for `in_iface` of their events; 0 if
 * there are too many names, or without memory. For replay; only one thread may call it. */
uint32_t output_add_file_interface(struct output *output, const char *name);

/* Events written and lost, by kind. Any thread may read the counters. */
struct output_counters {
    uint64_t written[OUTPUT_EVENT_COUNT], lost[OUTPUT_EVENT_COUNT];
    uint64_t limited[OUTPUT_EVENT_COUNT]; /* events not written because of a rate limit */
    uint64_t write_errors;
};
void output_counters(const struct output *output, struct output_counters *out);

/* --- Recent alerts -------------------------------------------------------------------------------- */

/* The last alerts, which the output thread keeps in memory for clients of the control socket. An alert has the number
 * of the previous one plus 1; the first number of an engine is its start in microseconds since 1970, so that numbers
 * increase from engine to engine. Longer texts are cut. */
enum { OUTPUT_RECENT_ALERTS = 1024, OUTPUT_RECENT_MESSAGE = 192, OUTPUT_RECENT_CATEGORY = 80 };
struct output_recent_alert {
    uint64_t number, time_ns, flow_id; /* flow_id 0: the packet has no flow */
    uint32_t gid, sid, revision;
    uint8_t severity;
    uint8_t rule_action; /* enum rule_action */
    bool blocked, would_drop;
    bool has_queue;
    uint16_t queue;
    uint8_t ip_version; /* 0: the packet has no IP header, and no addresses */
    uint8_t protocol;
    uint16_t source_port, destination_port;
    struct address source, destination;
    uint32_t application; /* of the flow, for app_name_by_id(); 0: unknown */
    char message[OUTPUT_RECENT_MESSAGE], category[OUTPUT_RECENT_CATEGORY];
};
/* Copies alerts with a number greater than `after`, oldest first: the newest `max` of them. Returns their number. Any
 * thread may call it; returns 0 if the alerts are not kept. */
size_t output_recent_alerts(struct output *output, uint64_t after, struct output_recent_alert *out, size_t max);

/* Counters of a further output. */
struct output_destination_counters {
    const char *name;
    enum output_file_type type;
    uint64_t events;     /* selected for this output */
    uint64_t delivered;  /* written to the file, or confirmed by the server */
    uint64_t waiting;    /* in the spool; 0 for files */
    uint64_t lost_full;  /* the spool was full: the server is slower than the events, or not available */
    uint64_t lost_error; /* a write to the file failed */
    uint64_t rejected;   /* too long for the spool, or refused by the server for good */
    uint64_t connects;   /* connections to the server */
    bool connected;      /* file: open; server: sluice-ship is connected to it */
    bool is_shipped;     /* sluice-ship has received the spool */
    int error;           /* file: -errno of the last write, 0: none */
};
/* Counters of pcap-log. */
struct output_pcap_counters {
    uint64_t packets; /* selected */
    uint64_t written, bytes, files;
    uint64_t lost; /* the ring was full, the file could not be written, or the packet has another link type */
    uint64_t errors;
    int error; /* -errno of the last write or open that failed; 0: no error since */
};
/* Counters of tls-store. */
struct output_chain_counters {
    uint64_t written;
    uint64_t limited; /* not written because of tls-store.rate-limit */
    uint64_t full;    /* not written because of tls-store.max-files */
    uint64_t lost;    /* the ring was full */
    uint64_t errors;  /* the files could not be written */
    int error;        /* -errno of the last error; 0: none since */
};
/* Returns false if no chains are stored. */
bool output_chain_counters(const struct output *output, struct output_chain_counters *out);
/* Returns false if no packets are logged. */
bool output_pcap_counters(const struct output *output, struct output_pcap_counters *out);
/* Number of the newest capture file, for the next engine (0: none), and its counterpart: the capture files of this
 * engine get higher numbers. Called while no worker runs. */
uint64_t output_pcap_newest(const struct output *output);
void output_pcap_begin_after(struct output *output, uint64_t number);
/*
 * A reload changes the event types and the further outputs without a loss of events. output_change_new() opens the
 * files of new outputs; then each worker calls output_port_change() between two batches; output_change() passes the set
 * of outputs to the output thread, and output_change_end() closes those that are not used any more. Options of event
 * types and of the event file stay as they are.
 */
struct output_change;
/* Reports an output that is not changed, with the cause. */
typedef void output_report(void *user, const char *name, const char *cause);
/* Called by any thread, while no other change is pending. Returns 0 or -ENOMEM. */
int output_change_new(struct output_change **out, const struct output *output, const struct output_options *options,
                      output_report *report, void *user);
void output_change_free(struct output_change *change, const struct output *output); /* not applied; NULL is allowed */
void output_port_change(struct output_port *port, const struct output_change *change); /* the worker of the port */
void output_change(struct output *output, struct output_change *change);               /* takes ownership */
/* Called when output_drained() is true for a ticket that was taken after output_change(). */
void output_change_end(struct output *output);
/* Gets the counters of the further output number `index`. Returns false past the last. */
bool output_destination_counters(const struct output *output, size_t index, struct output_destination_counters *out);

const char *output_drop_reason_name(enum drop_reason reason);
const char *output_protocol_name(uint8_t protocol); /* returns a name like "TCP"; NULL if the protocol has no name */
void output_time(struct text *out, const char *key, uint64_t time_ns); /* writes a time in the format of EVE */

#endif
