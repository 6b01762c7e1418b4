/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pipeline: the path of a packet from a queue or a capture file to its verdict and events (pipeline.c), and all state
 * that it needs.
 *
 * Threads:   each worker has one pipeline; struct pipeline_shared is used by all pipelines and must outlive them.
 * Ownership: pipeline_init() allocates all modules, pipeline_clear() frees them. Memory for packets, flows and streams
 *            comes from pools: pipeline_packet() allocates nothing.
 */
#ifndef SLUICE_PIPELINE_H
#define SLUICE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/capture.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/edit.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/host_os_table.h"
#include "sluice/inject.h"
#include "sluice/offload.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/policy.h"
#include "sluice/stream.h"

struct block_port;
struct ended_flows;
struct file_store;
struct transferred_counters;
struct replay_order;
struct worker_heartbeat;

enum { REWRITE_SLOTS = CAPTURE_MAX_BATCH, REWRITE_SLOT_SIZE = 128 * 1024 };

/* Memory for the packets of a batch that are forwarded with changed bytes (rewrite.c): REWRITE_SLOTS slots of
 * REWRITE_SLOT_SIZE bytes. */
struct rewriter {
    uint8_t *slots;
    unsigned next;
    struct packet_edits edits; /* edits of the current packet */
};

/* --- Counters ------------------------------------------------------------------------------------- */

struct pipeline_counters {
    uint64_t drop_reason[DROP_REASON_COUNT];
    uint64_t accepted, blocked, rejected; /* blocked and rejected: not by firewall rules */
    /* With firewall rules: packets that they accepted, dropped and rejected. */
    uint64_t firewall_accepted, firewall_blocked, firewall_rejected;
    /* Alert-only: packets (part of `accepted`) that would be dropped, rejected or rewritten in mode drop. */
    uint64_t would_drop, would_reject, would_replace, would_drop_reason[DROP_REASON_COUNT];
    uint64_t marked;          /* packets that arrived with the mark of inspected packets */
    uint64_t looping;         /* packets that arrived repeatedly without the mark of inspected packets */
    uint64_t segmented_large; /* super-packets longer than the kernel copies, queued again in segments */
    uint64_t segmented_udp;   /* super-packets of several UDP datagrams, queued again in segments */
    uint64_t unsegmented_udp; /* super-packets of UDP that could not be segmented: inspected as one datagram */
    uint64_t replace_refused; /* truncated packets in which rules could not replace bytes: forwarded unchanged */
    /* Accepted without inspection, by reason. */
    uint64_t uninspected_marked;
    uint64_t uninspected_link;      /* packets of unsupported link types; only pkthdr rules were evaluated */
    uint64_t uninspected_fragments; /* fragments that could not be reassembled; their headers were inspected */
    uint64_t offloaded_accept, offloaded_drop; /* flows that were offloaded: the kernel accepts or drops them */
    uint64_t offloaded_acknowledgments;        /* flows whose acknowledgments were offloaded */
    uint64_t skipped_packets, skipped_bytes;   /* replay: acknowledgments that the kernel would not queue */
    uint64_t captured_packets, captured_bytes; /* packets of offloaded flows that arrived in the queue nevertheless */
    uint64_t local_packets, local_bytes;       /* packets of flows that only the daemon bypasses */
    uint64_t shed[SHED_CLASSES];               /* flows that were shed because of overload, by class */
};

enum checksum_checks {
    CHECKSUMS_CHECK,
    CHECKSUMS_IGNORE,
    CHECKSUMS_AUTO, /* ignore checksums if more than a tenth of the first 1,000 packets have a wrong one: the packets
                       were captured before the network card computed them */
};

/* For CHECKSUMS_AUTO: number of packets checked so far, and number of packets with a wrong checksum. The workers of a
 * replay share the sample and access it in the replay order. */
struct checksum_sample {
    uint32_t seen, wrong;
};

/* --- Pipeline ------------------------------------------------------------------------------------- */

/* The packets that decode_packet() found in one packet of the queue: the inner packets of tunnels first, the packet
 * itself last. */
struct decoded_packet {
    const struct packet *of; /* the packet of the queue; NULL: the entry is unused */
    size_t count;
    struct packet *found[DECODE_MAX_PACKETS];
};

struct pipeline {
    /* Modules, in the order of the path. */
    struct decoder *decoder;
    struct defrag *defrag;
    struct flow_table *flows;
    struct stream *stream;
    struct app *app;
    struct detector *detector;
    struct policy *policy;
    struct output_port *output; /* borrowed */
    struct rewriter rewriter;
    struct injector *injector; /* NULL: no reject packets are sent (replay) */

    /* Shared with other workers; borrowed. */
    struct host_table *hosts;
    struct memcap_state *memcaps;  /* PIPELINE_MEMCAPS; NULL: memcaps do not change (replay) */
    struct file_store *file_store; /* NULL: none */
    const struct offload_options *offload;
    struct block_port *blocks;          /* NULL: no hosts are blocked */
    struct replay_order *order;         /* NULL: a daemon, or a replay with one worker */
    struct worker_heartbeat *heartbeat; /* in the engine memory: the worker publishes its current packet here for the
                                           supervisor; NULL: not published */
    const uint8_t *slots; /* memory into which the capture receives the packets of the queue; offsets in the heartbeat
                             count from here */

    /* Settings. */
    const struct ruleset *ruleset; /* ruleset of the current packet */
    enum queue_marked_policy marked_policy;
    enum queue_looping_policy looping_policy;
    enum queue_truncated_policy truncated_policy;
    enum checksum_checks checksums;
    struct checksum_sample *checksum_sample; /* borrowed; for CHECKSUMS_AUTO */
    bool drop_undecodable;
    bool has_frames;       /* rules or outputs use frames of application protocols */
    bool logs_frames;      /* frames have events */
    bool filters;          /* the ruleset has firewall rules, and inline_mode is true */
    uint8_t hooks;         /* ruleset_hooks() */
    bool inline_mode;      /* true: verdicts have effect (IPS); false: passive (IDS, replay without --ips) */
    enum ips_mode mode;    /* with inline_mode only; alert-only: no packet is dropped or changed */
    bool stream_inline;    /* true: stream chunks are inspected before they are forwarded; false: after the receiver has
                              acknowledged them */
    bool stream_checksums; /* segments with a wrong checksum are not part of their stream */
    bool kernel_checksums; /* the kernel reports packets whose checksums it did not verify */
    bool bypass_at_depth;  /* bypass a flow when both directions have reached stream.depth */
    struct host_os_table host_os;
    struct shed_limits shed_limits;

    /* State. */
    unsigned shedding;                /* bits 1 << enum shed_class: classes that are shed now */
    bool discards_flows;              /* pipeline_discard_flows() is running: flows end without events */
    struct ended_flows *ended;        /* copies of flows that ended recently; owned; NULL: none */
    struct decoded_packet decoded[2]; /* the current packet and the next one; the index alternates with each packet */
    unsigned current;                 /* index in `decoded` of the current packet */
    uint64_t now_ns;                  /* time of the current packet or, when flows end, the time at which they end */
    struct pipeline_counters counters;
};

struct pipeline_options {
    struct decode_options decode;
    struct flow_options flow;
    struct stream_options stream;
    struct app_options app;
    struct defrag_options defrag; /* its inline mode and host OS table are taken from policy and host_os below */
    struct host_os_table host_os;
    struct detector_options detector;
    struct policy_options policy;
    enum checksum_checks checksums;
    struct checksum_sample *checksum_sample; /* borrowed; for CHECKSUMS_AUTO */
    size_t host_memcap;                      /* bytes of the host table, which all workers share */
    bool drop_undecodable;
    bool kernel_checksums;
    bool bypass_at_depth;
    struct offload_options offload;
    struct overload_options overload;
};

/* A memcap that clients of the control socket may change while the engine runs, for all workers together. */
struct memcap_state {
    uint64_t configured, changed; /* in bytes; changed 0: the configured value applies */
};
/* PIPELINE_MEMCAPS: enum worker_memcap, and PIPELINE_MEMCAP_HOST for the table of hosts. A memcap may be raised to
 * MEMCAP_MAX_GROWTH times the configured one. The pools reserve more (POOL_GROWTH), because their shares do not grow in
 * proportion: hash tables keep their size. */
enum { PIPELINE_MEMCAP_HOST = 5, PIPELINE_MEMCAPS = 6, MEMCAP_MAX_GROWTH = 4 };

/* State and options that the pipelines of all workers share. */
struct pipeline_shared {
    struct policy_shared *policy;
    struct file_store *files; /* NULL: none. Set before pipeline_init(); owned */
    struct app_shared *apps;
    enum exception_policy exceptions[EXCEPTION_COUNT]; /* the configured policies */
    struct app_options app_options;                    /* owned, including the settings of protocols */
    struct host_table *hosts;
    struct offload_options offload;
    struct overload_options overload;
    uint64_t mode_override; /* override of the mode by `sluice mode`, encoded by mode.c; 0: none */
    struct memcap_state memcaps[PIPELINE_MEMCAPS]; /* used by the main thread */
    uint64_t capture_file; /* number of the newest file of pcap-log, while the state is transferred; 0: none */
    struct transferred_counters *counters; /* counters of previous engines; owned; NULL: none */
};
/* Takes ownership of options->app.settings, also when it fails. 0 or -ENOMEM. */
int pipeline_shared_init(struct pipeline_shared *shared, const struct pipeline_options *options);
void pipeline_shared_clear(struct pipeline_shared *shared);

/* 0 or -ENOMEM. */
int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                  const struct pipeline_shared *shared, unsigned worker, struct output_port *output);
void pipeline_clear(struct pipeline *pipeline);

/* Sets the ruleset of the packets that follow, and enables the file properties that it needs. libmagic reads its
 * database here, so call it before the first packet. */
void pipeline_set_ruleset(struct pipeline *pipeline, const struct ruleset *ruleset);
/* Sets the mode of the packets that follow. */
void pipeline_set_mode(struct pipeline *pipeline, enum ips_mode mode);
/* Sets the order in which the workers of a replay access shared state. `order` must outlive the pipeline. */
void pipeline_set_replay_order(struct pipeline *pipeline, struct replay_order *order);

/* Inspects a packet of the capture: sets its verdict and writes its events. `next` is the packet of the next call, or
 * NULL if that is not known: it is decoded ahead, and its flow is prefetched into the cache. */
void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt, struct packet *next);

/* --- Flows ---------------------------------------------------------------------------------------- */

/* Updates an offloaded flow from a conntrack report of the kernel. */
void pipeline_update_offloaded(struct pipeline *pipeline, const struct ruleset *ruleset,
                               const struct flow_report *report, uint64_t now_ns);
/* Ends at most `budget` flows and at most `budget` incomplete datagrams that have timed out. */
void pipeline_expire(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns, size_t budget);
/* Gives memory that flows no longer use back to the kernel. For a call every second or so. */
void pipeline_trim(struct pipeline *pipeline);
/* Ends all flows that have timed out, in the order in which they started. */
void pipeline_expire_all(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns);
/* Ends all flows, at the end of the program or of the captures. */
void pipeline_finish(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns);
/* Removes all flows without inspecting their remaining data and without writing events. */
void pipeline_discard_flows(struct pipeline *pipeline);
/* Evaluates the rules for the parts of a flow's transactions that were not inspected yet. The flow does not end. */
void pipeline_inspect_unseen(struct pipeline *pipeline, struct flow *flow);
/* Writes the events of all transactions of the flow except those that the next engine gets. */
void pipeline_log_remaining(struct pipeline *pipeline, struct flow *flow);

#endif
