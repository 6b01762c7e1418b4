/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the engine:
 *
 *   pipeline.c   the packet's whole path, one function;  rewrite.c  packets that go on with other bytes
 *   packet_policy.c  policies for whole packets, before any rule
 *   worker.c     the thread that owns a queue;  overload.h  how long packets wait there, and what is shed when it is
 * too long affinity.c   which CPU a thread runs on host_os.c    how hosts treat what overlaps, as configured options.c
 * from the configuration to the options of the modules;  options_flow.c  of flows and streams load.c       from rule
 * files to a ruleset;  reload.c  other rules and settings while it runs never_blocked.c  the addresses that are never
 * blocked files.c      files out of the traffic: options, and the store datasets.c   sets that rules share, from the
 * configuration and back to their files stats.c      from counters to a stats event cost.c       what rules cost
 *   offload.c    which flows are handed to the kernel;  follower.c  what becomes of them there
 *   service.c    the control socket;  explain.c  what it tells of flows and rules
 *   attachment.c the own table while the daemon runs: watched, put back, fed with hosts to block
 *   confine.c    who the daemon is, and what it may still do
 *   mode.c       drop or alert-only, by queue and by time
 *   crash.c      whose fault it is when the engine dies
 *   drain.c      waits until queues are empty
 *   succession.c what one engine gives to the next
 *   run.c        the daemon        replay.c   capture files        replay_workers.c   their threads
 */
#ifndef SLUICE_ENGINE_PRIV_H
#define SLUICE_ENGINE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/edit.h"
#include "sluice/engine.h"
#include "sluice/firewall.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/host_os.h"
#include "sluice/inject.h"
#include "sluice/lifeline.h"
#include "sluice/file_store.h"
#include "sluice/output.h"
#include "sluice/policy.h"
#include "sluice/sandbox.h"
#include "sluice/stream.h"
#include "sluice/turn.h"

#include "overload.h"

/* --- drain.c -------------------------------------------------------------------------------------- */

/* All queues of the network namespace; `fd` as of nfqueue_read_status(), negative: nothing is waited for. */
void engine_drain(int fd);

/* --- options.c ------------------------------------------------------------------------------------ */

enum { ENGINE_MAX_CPUS = 1024 };

struct pipeline_options;

/* The queues of a configuration with the options of each. -errno with a line in `error`. */
int engine_queue_options(const struct config *config, struct nfqueue_options *out, size_t max, size_t *count,
                         char error[ENGINE_ERROR_SIZE]);
/* The mode of a queue, by its range in `queues` or else by ips.mode. */
struct queue_mode {
    enum ips_mode mode;
    bool of_range;
};
void engine_queue_mode(const struct config *config, uint16_t queue, struct queue_mode *out);
/* queue.conntrack is no. */
bool engine_conntrack_refused(const struct config *config, uint16_t queue);
/* For how long after the start a queue that asks for conntrack's word has use for it; 0: always. */
int64_t engine_conntrack_seconds(const struct config *config, uint16_t queue);
int engine_decode_options(const struct config *config, struct decode_options *out, struct diag *diag);
/* For one of `workers`, which share the memcaps. All but the checksums, which differ between run and replay. */
/* Protocols and files; mistakes are in `diag`. What it makes goes to pipeline_shared_init(), or app_options_clear(). */
int engine_app_options(const struct config *config, unsigned workers, struct app_options *out, struct diag *diag);
void engine_app_events(const struct config *config, struct eve_options *out);
/* --- files.c -------------------------------------------------------------------------------------- */

void engine_file_options(const struct config *config, struct file_options *out);
void engine_file_depth(const struct config *config, struct stream_options *stream);
/* The file store, to be started; *out is NULL when none is configured. 0 or -errno with `error`; *out is to be freed
 * also then. */
int engine_open_file_store(struct file_store **out, const struct config *config, const char *log_dir, unsigned workers,
                           bool lossless, char error[ENGINE_ERROR_SIZE]);

int engine_pipeline_options(const struct config *config, unsigned workers, bool inline_mode,
                            struct pipeline_options *out, struct diag *diag);
/* The same for a daemon; prints mistakes. */
int engine_inline_options(const struct config *config, unsigned workers, struct pipeline_options *out,
                          char error[ENGINE_ERROR_SIZE]);
void engine_flow_options(const struct config *config, unsigned workers, struct flow_options *out);
void engine_stream_options(const struct config *config, unsigned workers, bool inline_mode, struct stream_options *out);
void engine_exception_policies(const struct config *config, bool inline_mode,
                               enum exception_policy out[EXCEPTION_COUNT]);
/* What packets and rules may cost; of a daemon, as a replay's events must not depend on the clock. */
void engine_budget_options(const struct config *config, struct budget_options *out);
int engine_action_order(const struct config *config, enum rule_action order[4], char error[ENGINE_ERROR_SIZE]);
void engine_policy_options(const struct config *config, struct policy_options *out);
enum output_file_type engine_eve_type(const struct config *config);
int engine_eve_path(const struct config *config, const char *log_dir, char *out, size_t size,
                    char error[ENGINE_ERROR_SIZE]);
void engine_eve_options(const struct config *config, struct eve_options *out);

/* --- load.c --------------------------------------------------------------------------------------- */

/* Rules on top of those of a running engine, or without that the first ones. */
struct load_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    struct rule_names *names;     /* numbers of what outlives a ruleset; NULL: the ruleset has its own */
    const struct ruleset *before; /* whose place the new one will take; NULL: none */
    bool after_death;             /* of an engine: engine.init-failure-fatal does not apply, packets wait */
    bool needs_rules;             /* -EINVAL when rules or files were left out and no rule is left */
};
/* Leaves out rules and files that cannot be loaded; with engine.init-failure-fatal it fails instead. 0 or -errno with
 * a line in `error`; mistakes are in `diag`. */
int engine_load(struct ruleset **out, const struct load_options *load, struct diag *diag,
                char error[ENGINE_ERROR_SIZE]);

/* Logs how many rules and files were left out, and where to see them; nothing when none was. */
void engine_log_left_out(const struct rule_list *rules);
/* Writes engine events: one of the counts and one for each rule or file that was left out, the first 1,000. */
void engine_report_left_out(const struct rule_list *rules, struct output *output);

/* The first errors, then the first warnings, then the first unsupported features, each with its notes; returns how many
 * it wrote to `out`. */
enum {
    ENGINE_PICKED_SEVERITIES = 3,
    ENGINE_PICKED_EACH = 20,
    ENGINE_PICKED_DIAGNOSTICS = ENGINE_PICKED_SEVERITIES * ENGINE_PICKED_EACH,
};
size_t engine_pick_diagnostics(const struct diag *diag, const struct diag_entry *out[ENGINE_PICKED_DIAGNOSTICS]);
/* Prints them to stderr. */
void engine_print_mistakes(const struct diag *diag);

/* The variables of rules, as configured; to be freed. 0 or -ENOMEM. */
struct rule_variables;
int engine_rule_variables(struct rule_variables **out, const struct config *config);

/* --- datasets.c ----------------------------------------------------------------------------------- */

/* The registry with the sets of the configuration, and what has come while the ruleset before was used (NULL: none);
 * mistakes are in `diag`. 0 or -ENOMEM. */
struct datasets;
int engine_open_datasets(struct datasets **out, const struct config *config, const struct ruleset *before,
                         struct diag *diag);
/* Writes the sets that have a file for it, when no worker runs any more; logs what fails, and returns the first -errno.
 * NULL is allowed. */
int engine_save_datasets(const struct ruleset *ruleset);

/* --- host_os.c ------------------------------------------------------------------------------------ */

enum { HOST_OS_MAX_NETWORKS = 1024 };

struct host_network {
    struct address network;
    uint8_t version, prefix;
    uint8_t os; /* enum host_os */
};

struct host_os_table {
    size_t count;
    struct host_network networks[HOST_OS_MAX_NETWORKS];
};

/* host-os-policy of a configuration; -EINVAL after a report. */
int host_os_table_read(struct host_os_table *out, const struct config *config, struct diag *diag);
/* The table must live as long, where it is. */
struct host_os_policy host_os_table_policy(const struct host_os_table *table);

/* --- affinity.c ----------------------------------------------------------------------------------- */

enum affinity_mode { AFFINITY_NONE, AFFINITY_EXCLUSIVE, AFFINITY_BALANCED };

/* Which CPUs each kind of thread may use. */
struct affinity {
    enum affinity_mode mode;
    uint16_t worker_count, management_count, output_count, sender_count; /* no senders: there is not one CPU for each */
    uint16_t worker[ENGINE_MAX_CPUS], management[ENGINE_MAX_CPUS], output[ENGINE_MAX_CPUS], sender[ENGINE_MAX_CPUS];
};

/* As configured; what is not configured is chosen by the machine's topology for `workers` threads: no two on siblings
 * of a core, none on the first core while there are others. -errno with a line in `error`. */
int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE]);
/* Pins the calling thread. 0 or -errno. */
int affinity_apply_worker(const struct affinity *affinity, unsigned worker);
int affinity_apply_sender(const struct affinity *affinity);
int affinity_apply_management(const struct affinity *affinity);
int affinity_apply_output(const struct affinity *affinity);
/* "worker 0 on CPU 1, ..." for the log. */
void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size);

/* --- attachment.c --------------------------------------------------------------------------------- */

/* The own table, watched and fed with hosts to block by a thread of its own. */
struct attachment;
struct attachment_options {
    const struct config *config;
    const struct firewall_options *firewall; /* lent for good, as the next two */
    struct output *output;
    struct worker *workers;
    unsigned worker_count;
    bool after_death; /* packets wait that came while there was no engine */
};
/* The memory for what workers ask for; they may be started from then on. *out is NULL when there is nothing to watch.
 */
int attachment_new(struct attachment **out, const struct attachment_options *options, char error[ENGINE_ERROR_SIZE]);
/* Installs the table, and starts the thread. */
int attachment_start(struct attachment *attachment, char error[ENGINE_ERROR_SIZE]);
/* Ends the thread, when it has seen everything that happened to the table. NULL is allowed, as in the next one. */
void attachment_stop(struct attachment *attachment);
void attachment_free(struct attachment *attachment);

struct attachment_counters {
    uint64_t changes;                        /* transactions of others */
    uint64_t reasserted, failed;             /* times that the table was put back, and could not be */
    uint64_t moved;                          /* times that it got another place, because of somebody's chain */
    uint64_t uninspected_us;                 /* for how long packets could pass uninspected */
    uint64_t flushed;                        /* packets that the kernel dropped from our queues with somebody's chain */
    uint64_t notifications_lost;             /* times */
    uint64_t hosts;                          /* blocked now */
    uint64_t added, refused, full, lost;     /* hosts that were asked for */
    uint64_t blocked_packets, blocked_bytes; /* dropped by the kernel */
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes; /* by the kernel, of offloaded flows */
};
void attachment_counters(const struct attachment *attachment, struct attachment_counters *out);

/* A worker's end; NULL when no hosts are blocked. */
struct block_port;
struct block_port *attachment_port(struct attachment *attachment, unsigned worker);
/* On the packet's path: the rule that dropped the packet wants a host of it blocked. */
void block_port_ask(struct block_port *port, const struct packet *pkt, const struct rule *rule);

/* --- offload.c ------------------------------------------------------------------------------------ */

struct offload_options {
    bool accept, drop;
    bool passed; /* flows that were passed are accepted, too */
    bool has_ports;
    uint64_t ports[65536 / 64]; /* of servers whose flows are bypassed, a bit each */
};
/* As configured; nothing is handed over where drops have no effect. */
void engine_offload_options(const struct config *config, bool inline_mode, struct offload_options *out);
void engine_offload_queue(const struct config *config, const struct firewall_options *firewall,
                          struct nfqueue_options *out);
/* When the queues are bound: what the kernel can do. Logs it. */
struct worker;
void engine_settle_offload(const struct worker *workers, unsigned worker_count, struct firewall_offload *table,
                           struct offload_options *out);
bool offload_port_is_bypassed(const struct offload_options *options, const struct flow *flow);
/* Of a packet of the queue that has its verdict. */
enum packet_offload offload_of(const struct offload_options *options, const struct packet *pkt);

/* --- follower.c ----------------------------------------------------------------------------------- */

/* A thread that follows the connections that the kernel handles, and tells the workers of them. */
struct follower;
/* *out is NULL when there is nothing to follow, or nobody to ask (logged). 0 or -ENOMEM. */
int follower_new(struct follower **out, const struct config *config, const struct firewall_options *firewall,
                 unsigned workers);
int follower_start(struct follower *follower); /* 0 or -errno. NULL is allowed here and below */
/* Looks a last time, tells, and ends the thread. */
void follower_stop(struct follower *follower);
void follower_free(struct follower *follower);

struct follower_counters {
    uint64_t reports, lost;
};
void follower_counters(const struct follower *follower, struct follower_counters *out);
/* A worker's end; NULL when nobody follows. */
struct ring *follower_port(struct follower *follower, unsigned worker);

/* --- rewrite.c ------------------------------------------------------------------------------------ */

enum { REWRITE_SLOTS = CAPTURE_MAX_BATCH, REWRITE_SLOT_SIZE = 128 * 1024 };

/* A worker's packets that go on with other bytes. */
struct rewriter {
    uint8_t *slots;
    unsigned next;
    struct packet_edits edits; /* of the packet at hand */
};
int rewriter_init(struct rewriter *rewriter); /* 0 or -ENOMEM */
void rewriter_clear(struct rewriter *rewriter);
/* Rules may replace bytes of this packet from here on... */
void rewriter_begin(struct rewriter *rewriter, struct packet *pkt);
/* ... until here: makes pkt->new_data, of what rules replaced and of what the stream made of it, lent as long as a
 * batch. False when the packet goes on without what rules replaced. */
bool rewriter_finish(struct rewriter *rewriter, struct packet *pkt);
struct pipeline;
void pipeline_finish_rewriting(struct pipeline *pipeline, struct packet *pkt);
/* Removes URG from an inspected packet if the stream is not parsed both with and without its urgent byte
 * (stream.urgent-policy both). */
void pipeline_settle_urgent(struct pipeline *pipeline, struct packet *pkt);

/* --- pipeline.c ----------------------------------------------------------------------------------- */

struct pipeline_counters {
    uint64_t drop_reason[DROP_REASON_COUNT];
    uint64_t accepted, blocked, rejected;
    /* Alert-only: packets (part of `accepted`) that mode drop drops, answers with reject packets, or rewrites. */
    uint64_t would_drop, would_reject, would_replace, would_drop_reason[DROP_REASON_COUNT];
    uint64_t marked;  /* arrived with the mark of inspected packets */
    uint64_t looping; /* came back again and again without the mark */
    uint64_t
        segmented_large;    /* super-packets that were queued again in segments: longer than what the kernel copies, */
    uint64_t segmented_udp; /* or of several UDP datagrams */
    uint64_t unsegmented_udp; /* super-packets of UDP that could not be segmented, inspected as one datagram */
    uint64_t replace_refused; /* a rule replaced bytes, and they went on as they were: a packet that was cut */
    /* Accepted without inspection, by reason. */
    uint64_t uninspected_marked;
    uint64_t uninspected_link;      /* of a link type that is not supported; only rules for any packet saw it */
    uint64_t uninspected_fragments; /* that defragmentation had no use or no room for; headers were inspected */
    /* Flows handed to the kernel, and what came nevertheless; packets of flows that are bypassed here alone. */
    uint64_t offloaded_accept, offloaded_drop;
    uint64_t captured_packets, captured_bytes, local_packets, local_bytes;
    uint64_t shed[SHED_CLASSES]; /* flows, in overload */
};

enum checksum_checks {
    CHECKSUMS_CHECK,
    CHECKSUMS_IGNORE,
    CHECKSUMS_AUTO, /* until over a tenth of the first thousand packets were wrong: a capture made where they are filled
                     * in later */
};

/* What CHECKSUMS_AUTO has seen; all workers of a replay have one, and touch it in their turns. */
struct checksum_sample {
    uint32_t seen, wrong;
};

/* What decode made of a packet. */
struct decoded_packet {
    const struct packet *of; /* NULL: nothing yet */
    size_t count;
    struct packet *found[DECODE_MAX_PACKETS];
};

/* All that one packet's path needs; owned by one worker. */
struct ended_flows; /* ended.c */

struct pipeline {
    struct lifeline_worker *hand; /* where the keeper sees which packet is inspected; NULL: nobody looks */
    const uint8_t *slots;         /* that packets of the queue lie in */
    struct decoder *decoder;
    struct defrag *defrag;
    struct flow_table *flows;
    struct stream *stream;
    struct app *app;
    struct detector *detector;
    struct policy *policy;
    struct output_port *output;    /* lent, as the next three */
    struct host_table *hosts;      /* shared */
    struct turn *turn;             /* NULL unless several workers replay */
    const struct ruleset *ruleset; /* of the packet at hand, and of the last one */
    struct block_port *blocks;     /* lent; NULL: no hosts are blocked */
    struct injector *injector;     /* NULL: rejects are not answered (replay) */
    enum queue_marked_policy marked_policy;
    enum queue_looping_policy looping_policy;
    enum queue_truncated_policy truncated_policy;
    enum checksum_checks checksums;
    struct checksum_sample *checksum_sample; /* lent; CHECKSUMS_AUTO */
    bool drop_undecodable;
    bool inline_mode;                      /* what rules replace goes on so */
    enum ips_mode mode;                    /* with inline_mode: alert-only changes and drops nothing */
    bool stream_inline;                    /* streams are looked at before they are forwarded */
    bool stream_checksums;                 /* segments with a wrong checksum are not part of their stream */
    bool kernel_checksums;                 /* the kernel says which checksums it did not verify */
    bool bypass_at_depth;                  /* of both directions of a stream */
    bool forgets;                          /* flows end, and nobody is told */
    const struct offload_options *offload; /* shared by all workers, outlives them */
    struct file_store *file_store;         /* all workers'; NULL: none */
    struct host_os_table host_os;
    unsigned shedding; /* bits 1 << enum shed_class: what is shed now */
    struct shed_limits shed_limits;
    struct rewriter rewriter;
    struct ended_flows *ended;        /* the pipeline's; NULL: nobody asks for flows that are over */
    struct decoded_packet decoded[2]; /* the packet at hand and the next one, in turn */
    unsigned at_hand;                 /* which of them */
    uint64_t now_ns;                  /* time of the packet that is being inspected, or at which flows are ended */
    struct pipeline_counters counters;
};

struct pipeline_options {
    struct decode_options decode;
    struct flow_options flow;
    struct stream_options stream;
    struct app_options app;
    struct defrag_options defrag; /* its inline mode is the policy's, its hosts those of host_os */
    struct host_os_table host_os;
    struct detector_options detector;
    struct policy_options policy;
    enum checksum_checks checksums;
    struct checksum_sample *checksum_sample; /* lent; for CHECKSUMS_AUTO */
    size_t host_memcap;                      /* of the table that all workers share */
    bool drop_undecodable;
    bool kernel_checksums;
    bool bypass_at_depth;
    struct offload_options offload;
    struct overload_options overload;
};

/* What the pipelines of all workers have in common; outlives them. */
struct pipeline_shared {
    struct policy_shared *policy;
    struct file_store *files; /* NULL: none. Set before the pipelines are made, freed with this */
    struct app_shared *apps;
    enum exception_policy exceptions[EXCEPTION_COUNT]; /* as configured */
    struct app_options app_options;                    /* owns the settings of protocols */
    struct host_table *hosts;
    struct offload_options offload;
    struct overload_options overload;
    uint64_t mode_override;            /* of `sluice mode`, packed by mode.c; 0: none */
    struct carried_counters *counters; /* of engines before this one; NULL: none, nor are they handed over */
};
/* Takes over options->app.settings, also when it fails. 0 or -ENOMEM. */
int pipeline_shared_init(struct pipeline_shared *shared, const struct pipeline_options *options);
void pipeline_shared_clear(struct pipeline_shared *shared);

/* 0 or -ENOMEM. */
int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                  const struct pipeline_shared *shared, unsigned worker, struct output_port *output);
void pipeline_clear(struct pipeline *pipeline);
/* The rules of the packets that follow; what they want to know of files is found out from now on. Called before the
 * first packet it is cheap afterwards: libmagic reads its database here. */
void pipeline_use_ruleset(struct pipeline *pipeline, const struct ruleset *ruleset);
/* For the packets that follow. */
void pipeline_set_mode(struct pipeline *pipeline, enum ips_mode mode);
/* What several workers share is touched in this turn; lent. */
void pipeline_set_turn(struct pipeline *pipeline, struct turn *turn);
/* From a packet of capture to its verdict (written into the packet), with its events. */
/* `next`, if it is known already, must be the packet of the next call: it is decoded ahead, so that its flow is on the
 * way to the cache. */
void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt, struct packet *next);
/* What the kernel says of a flow that it handles. */
void pipeline_report(struct pipeline *pipeline, const struct ruleset *ruleset, const struct flow_report *report,
                     uint64_t now_ns);
/* Ends at most `budget` flows whose time is over. */
void pipeline_expire(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns, size_t budget);
/* Ends all flows whose time is over, in the order in which they began. */
void pipeline_expire_all(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns);
/* Flows are gone as if they had never been. */
void pipeline_forget(struct pipeline *pipeline);
/* Evaluates the rules for the parts of a flow's transactions that were not inspected yet. The flow does not end. */
void pipeline_inspect_unseen(struct pipeline *pipeline, struct flow *flow);
/* Writes the events of all transactions of the flow except those that are handed to another process. */
void pipeline_log_left(struct pipeline *pipeline, struct flow *flow);
/* Ends all flows: the program or the capture is over. */
void pipeline_finish(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns);

/* --- pseudo_packet.c ------------------------------------------------------------------------------ */

/* A packet of the flow that was never sent, by which its end is inspected and logged. */
struct packet pseudo_packet(struct flow *flow, uint64_t now_ns, enum flow_direction direction);

/* --- transactions.c ------------------------------------------------------------------------------- */

/* Writes the events of a transaction and of its files that are due. `pkt` is the packet that completed it. */
void transaction_log(struct pipeline *pipeline, const struct packet *pkt, const struct flow *flow, struct app_tx *tx,
                     bool flow_ends);
/* Writes the events that are due of all transactions that changed with the packet, and releases transactions that are
 * complete. */
void transactions_tidy(struct pipeline *pipeline, const struct packet *pkt);

/* --- packet_policy.c ------------------------------------------------------------------------------ */

/* True when the packet is not inspected. Its verdict is set. */
bool packet_policy_decides(struct pipeline *pipeline, struct packet *pkt);
/* True when the kernel must segment the packet before it can be inspected. */
bool packet_needs_segments(struct pipeline *pipeline, const struct decoded_packet *decoded, const struct packet *pkt);

/* --- evictions.c ---------------------------------------------------------------------------------- */

/* Entries of tables that gave way since the start because a memcap was used up. */
void count_evictions(const struct pipeline *pipeline, uint64_t out[EVICTION_TABLES]);
const char *eviction_setting(enum eviction_table table); /* the memcap's */
bool eviction_is_shared(enum eviction_table table);      /* between the workers */

/* --- app_room.c ----------------------------------------------------------------------------------- */

/* Before a packet is inspected, and while no flow is being inspected. */
void make_app_room(struct pipeline *pipeline);

/* --- shed.c --------------------------------------------------------------------------------------- */

/* The flow of a packet that was judged: bypasses it if it is of a class that is shed now. */
void shed_flow(struct pipeline *pipeline, struct flow *flow);

/* --- worker.c ------------------------------------------------------------------------------------- */

enum {
    WORKER_WAIT_MS = 200,
    WORKER_IDLE_EXPIRE = 4096,  /* flows that are ended at once when no packets come */
    WORKER_REPORTS = 256,       /* of flows that the kernel handles, taken between two batches */
    WORKER_LAST_BATCHES = 1024, /* judged after it was asked to stop, at most */
};

/* A copy of all counters of a worker, taken by itself between two batches. */
struct worker_snapshot {
    struct capture_counters capture;
    struct pipeline_counters pipeline;
    struct policy_counters policy;
    struct detect_counters detect;
    struct inject_counters inject;
    struct file_counts files;
    struct queue_watch_counters watch;
    uint64_t *decode; /* decode_counter_count() values */
    uint64_t *flow;   /* flow_counter_count() */
    uint64_t *stream; /* stream_counter_count() */
    uint64_t *app;    /* app_counter_count() values */
    uint64_t *defrag; /* defrag_counter_count() values */
};

/* What a worker takes over between two batches. Made aside; the worker does nothing but move pointers. */
struct worker_update {
    const struct ruleset *ruleset;
    struct detector_room *room; /* the detector's for it; afterwards what it had before */
    struct file_magic *magic;   /* NULL: not wanted; afterwards what it had no use for */
    bool has_settings;          /* what follows is to be used */
    struct flow_options flow;   /* the timeouts */
    enum exception_policy exceptions[EXCEPTION_COUNT];
    struct overload_options overload;
};

/* --- carried.c ------------------------------------------------------------------------------------ */

struct carried_counters *carried_new(void); /* NULL: no memory */
void carried_free(struct carried_counters *carried);
/* What a counter of this engine says together with those before; `carried` may be NULL. */
uint64_t carried_with(struct carried_counters *carried, const char *name, uint64_t value);
/* These are what goes to the next engine. 0 or -ENOMEM, then not all do. */
int carried_replace(struct carried_counters *carried, const struct output_stat *values, size_t count);
void carried_transfer(struct transfer *t, struct carried_counters *carried);

/* --- ended.c -------------------------------------------------------------------------------------- */

struct flow_copy;
struct ended_flows *ended_flows_new(void); /* NULL: no memory */
void ended_flows_free(struct ended_flows *ended);
/* A flow that ends; NULL is allowed. */
void ended_flows_keep(struct ended_flows *ended, const struct flow *flow);
/* The newest with these ends, whichever is the client; `ends` NULL: with the id. NULL: none. */
const struct flow_copy *ended_flows_find(const struct ended_flows *ended, const struct flow_ends *ends, uint64_t id);
void flow_copy_take(struct flow_copy *out, const struct flow *flow, bool over);

/* What main asks a worker about its flows. The worker copies, main prints. */
enum { WORKER_FLOWS = 64 };
struct flow_copy {
    struct flow flow; /* its pointers are not to be followed */
    bool over;        /* it has ended */
    bool has_history;
    struct flow_history history;
    struct tcp_summary tcp;
};
enum worker_question {
    WORKER_PAGE,    /* of all flows that live */
    WORKER_BY_ENDS, /* one flow, also one that is over */
    WORKER_BY_ID,   /* the same; no or one flow a page */
};
struct worker_query {
    enum worker_question question;
    struct flow_ends ends;
    uint64_t id;   /* EVE's flow_id */
    size_t cursor; /* where the page begins; then where the next one does, 0: there is none */
    size_t count;
    struct flow_copy flows[WORKER_FLOWS];
};

enum sender_state { SENDER_STARTS, SENDER_RUNS }; /* or -errno: it could not */

struct worker {
    unsigned index;
    pthread_t thread, sender;
    bool started, has_sender; /* threads */
    atomic_int sender_state;
    struct capture *capture;
    struct nfqueue_options queue;
    uint64_t conntrack_until_ns; /* then the kernel need not say any more what conntrack knows; 0: it goes on */
    bool conntrack_allowed;      /* rules that come with a reload may have it asked for again */
    struct pipeline pipeline;
    struct connection_query *connections; /* NULL: conntrack's table is not searched */
    bool conntrack_attachable;            /* the kernel can attach conntrack data to packets, and is allowed to */
    bool conntrack_wanted;                /* request it from the next batch on, for a limited time */
    struct queue_watch watch;
    struct ring *reports;           /* lent: of flows that the kernel handles; NULL: nobody tells */
    atomic_bool leave;              /* with stop: at once, and flows stay as they are: the next engine has them */
    struct lifeline_memory *memory; /* lent: heartbeat, and what the worker has in hand; NULL: nobody looks */
    const struct affinity *affinity;
    const struct sandbox *sandbox; /* lent; NULL: none */
    _Atomic(const struct ruleset *) ruleset;
    _Atomic(struct worker_update *) update; /* NULL again as soon as the worker has it */
    atomic_bool stop;
    atomic_uint_fast64_t epoch; /* batches finished */
    atomic_bool snapshot_wanted;
    _Atomic(struct worker_query *) query;            /* NULL again when it is answered */
    _Atomic uint64_t verdict_lost;                   /* the capture's counter, for anybody to read */
    _Atomic uint64_t slow_packets, slow_evaluations; /* over their budgets, the same */
    _Atomic uint64_t evicted[EVICTION_TABLES];       /* entries that gave way because a memcap is used up, the same */
    _Atomic uint64_t missing;                        /* the capture's `lost`, the same */
    _Atomic uint64_t routed;                         /* the capture's counter, the same */
    _Atomic uint64_t exact_until_ns;   /* monotonic: until then each packet gets its own verdict message */
    bool exact;                        /* the worker's: what it last set in capture */
    struct queue_mode configured_mode; /* main's */
    _Atomic uint32_t mode;             /* current enum ips_mode, written by main; read once for each batch */
    atomic_int error;                  /* -errno that ended the thread, 0 while it runs */
    struct worker_snapshot snapshot;   /* written by the worker while snapshot_wanted, read by main after it */
};

int worker_start(struct worker *worker);
/* Waits until it has ended, which it has been asked for. */
void worker_join(struct worker *worker);
/* Asks and waits, at most a second; false when the worker did not answer: then the query is the worker's until it does.
 */
bool worker_ask(struct worker *worker, struct worker_query *query);
bool worker_is_asked(const struct worker *worker); /* and has not answered yet */
/* Gives it to the worker; it is the caller's again when worker_has_update() says no. One at a time. */
void worker_give_update(struct worker *worker, struct worker_update *update);
bool worker_has_update(const struct worker *worker);
/* Asks for a snapshot and waits for it, at most a second; false when the worker did not answer. */
bool worker_take_snapshot(struct worker *worker);
/* The two halves of it, for several workers at once. */
void worker_want_snapshot(struct worker *worker);
bool worker_wait_snapshot(struct worker *worker);
void worker_copy_counters(struct worker *worker); /* by the worker, or by main after it was joined */
int worker_snapshot_init(struct worker *worker);
void worker_snapshot_clear(struct worker *worker);
/* Lets the worker's stream look up connections in conntrack's table (stream.midstream-conntrack). Without ctnetlink,
 * which is logged, connections whose beginning was not seen are left to stream.midstream-policy. */
void worker_open_connections(struct worker *worker, const struct config *config);
void worker_close_connections(struct worker *worker);

/* --- conntrack_data.c ----------------------------------------------------------------------------- */

/* Before the queue is bound: whether the worker's packets are to carry conntrack data, and until when. */
void conntrack_data_plan(struct worker *worker, const struct config *config, const struct ruleset *ruleset);
/* When all queues are bound: logs what the kernel granted. */
void conntrack_data_log(const struct worker *workers, unsigned count, const struct config *config,
                        const struct ruleset *ruleset);
/* After a reload: warns of rules that need conntrack data and cannot have it. */
void conntrack_data_check(const struct worker *workers, unsigned count, const struct ruleset *ruleset);

/* --- crash.c -------------------------------------------------------------------------------------- */

/* Signals that end the engine tell first which worker's thread they hit. 0 or -errno. */
int crash_watch_start(void);
/* Of the thread of a worker, as its end: *stack is to be given to crash_watch_leave(). 0 or -errno. */
int crash_watch_join(struct lifeline_memory *memory, unsigned worker, void **stack);
void crash_watch_leave(void *stack); /* NULL is allowed */

/* --- replay_workers.c ----------------------------------------------------------------------------- */

struct replay_workers;
/* For workers whose pipelines are ready; gives each a turn. All that is passed is lent. 0 or -ENOMEM. */
int replay_workers_new(struct replay_workers **out, struct worker *workers, unsigned count,
                       const struct ruleset *ruleset, const struct decode_options *decode);
void replay_workers_free(struct replay_workers *all); /* finishes, too; NULL is allowed */
/* A packet that will be given later: which pairs of addresses belong together? Before the first is given. */
void replay_workers_survey(struct replay_workers *all, struct packet *pkt);
int replay_workers_start(struct replay_workers *all);
/* Copies the packet for the worker that has its flow; waits while that one has no room. */
void replay_workers_give(struct replay_workers *all, struct packet *pkt);
/* All of them end the flows whose time is over. */
void replay_workers_expire(struct replay_workers *all, uint64_t now_ns);
/* Waits until all is judged, ends all flows and the threads, and copies their counters. */
void replay_workers_finish(struct replay_workers *all, uint64_t now_ns);
/* An output_progress_function; `user` is the struct replay_workers. */
void replay_workers_progress(void *user, unsigned port, struct turn_place *out);

/* --- cost.c --------------------------------------------------------------------------------------- */

struct rule_ids {
    uint32_t gid, sid, number;
};
/* What a rule has cost these workers; nothing where rules are not timed. */
struct output_overload_rule cost_of(const struct worker *workers, unsigned count, const struct rule_ids *ids);
/* The `max` rules that have cost most, the first one most of all; how many. */
unsigned cost_ranking(const struct worker *workers, unsigned worker_count, const struct rule_list *rules,
                      struct output_overload_rule *out, unsigned max);

/* --- stats.c -------------------------------------------------------------------------------------- */

/* The last line of the log, of the snapshots that were taken last. */
void stats_summarise(struct worker *const *workers, unsigned count);
/* Sums the snapshots and writes one stats event. `queues` adds what is known of NFQUEUE. */
struct stats;
/* `shared` outlives the stats. */
int stats_new(struct stats **out, unsigned workers, bool queues, const struct config *config,
              const struct pipeline_shared *shared);
/* What is told of the own table; lent. */
void stats_set_attachment(struct stats *stats, const struct attachment *attachment);
void stats_set_lifeline(struct stats *stats, const struct lifeline_memory *memory);
struct queue_monitor;
void stats_set_monitor(struct stats *stats, const struct queue_monitor *monitor);
void stats_set_follower(struct stats *stats, const struct follower *follower);
void stats_free(struct stats *stats);
void stats_write(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                 struct output *output, uint64_t uptime_seconds, uint64_t time_ns);

/* The engine ends, and the next one goes on with its counters: writes them into what workers share. What is told of
 * them afterwards is of this engine alone. By the last snapshots of the workers. 0 or -ENOMEM. */
int stats_hand_over(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                    const struct output *output, uint64_t started_ns);
/* Seconds since the first of the engines that handed their counters on has begun; this one did at `started_ns`
 * (monotonic). */
uint64_t stats_uptime(const struct stats *stats, uint64_t started_ns);
/* A counter of this engine with what those before have counted; of a queue by one of its fields. */
uint64_t stats_whole(const struct stats *stats, const char *name, uint64_t value);
uint64_t stats_whole_of_queue(struct stats *stats, const struct worker *worker, const char *field, uint64_t value);

/* The same numbers as one JSON object. */
struct text;
void stats_json(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                const struct output *output, uint64_t uptime_seconds, struct text *out);

/* --- confine.c ------------------------------------------------------------------------------------ */

struct confinement {
    bool wanted; /* security.sandbox, or run-as alone */
    struct sandbox_user user;
    struct sandbox *sandbox; /* NULL until confinement_enter() */
};
/* Before anything is opened: creates the missing folders of logs, data and cached patterns for the configured user, and
 * becomes that user. A folder that cannot be created is a warning. 0 or -errno with a line in `error`. */
int confinement_become(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE]);
/* When all is open, and before the first thread: gives up the rest, and tells in the log what is in force. What `newer`
 * names is still to be read, too; NULL: no other configuration than that of the options. 0 or -errno with `error`. */
int confinement_enter(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE]);
/* A file of the configuration that may be read by its permissions, but not from behind the walls; NULL: none. */
const char *confinement_shuts_out(const struct config *config);
void confinement_clear(struct confinement *confinement);
struct text;
void confinement_json(const struct confinement *confinement, struct text *out); /* a member `sandbox` */

/* --- trouble.c ------------------------------------------------------------------------------------ */

struct trouble {
    bool told;
    uint64_t next_ns; /* monotonic: not before */
};
/* Main's, now and then. `channel` is the keeper's. */
void trouble_watch(struct trouble *trouble, struct output *output, int channel);

/* --- progress.c ----------------------------------------------------------------------------------- */

enum { PROGRESS_SIZE = 128 };
/* The line to be shown now, and its length; 0 when there is none. */
size_t progress_line(struct engine_progress *progress, uint64_t now_ns, const char *what, size_t done, size_t total,
                     char out[PROGRESS_SIZE]);

/* --- packet_warnings.c ---------------------------------------------------------------------------- */

/* How many of these packets the log has reported. */
struct packet_warnings {
    uint64_t looping;
    uint64_t limits; /* that the evaluation of rules reached: logged when their number has doubled */
    uint64_t large,
        udp; /* super-packets that were segmented: logged first, and then each time that their number has doubled */
};
void packet_warnings_log(struct packet_warnings *logged, struct worker *const *workers, unsigned count);

#endif
