/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow: what the packets of one connection share, and the table that finds it. struct flow is public because the hot
 * path reads its fields.
 *
 * The key is protocol, both addresses and ports (ICMP: the type, a reply's being that of its request; other protocols:
 * none), VLAN tags, and the level of tunnels; the last two as configured. Both directions find the same flow. As in the
 * field, TCP, UDP, SCTP, ICMP, IGMP and ESP have flows. An ICMP error belongs to the flow of the packet that it quotes,
 * in the direction that it travels itself: back to where that packet came from. Without such a flow, an ICMPv4 error
 * has none and an ICMPv6 error its own.
 *
 * All memory is reserved at the start; a look-up never allocates. A flow expires `timeout` after its last packet,
 * exactly: one that is found later is ended and a new one begins, whether or not flow_table_expire() came by; so what a
 * capture gives does not depend on budgets, batches or workers. When the table is full it is in emergency: timeouts are
 * the emergency ones, and the oldest flow that is still new gives way; when there is none, one that has been idle for
 * long (idle.c).
 *
 * Threads:   a table and its flows belong to one worker.
 * Ownership: flows are lent until they end; the `end` callback is the last to see one and gives back what hangs on it.
 */
#ifndef SLUICE_FLOW_H
#define SLUICE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/exception.h"
#include "sluice/packet.h"

/* Timeouts are by class. */
enum flow_class { FLOW_CLASS_TCP, FLOW_CLASS_UDP, FLOW_CLASS_ICMP, FLOW_CLASS_OTHER, FLOW_CLASS_COUNT };

enum flow_state {
    FLOW_NEW,         /* one direction seen; TCP: no handshake yet */
    FLOW_ESTABLISHED, /* both directions seen; TCP: handshake complete, or picked up midstream */
    FLOW_CLOSED,      /* TCP only */
    FLOW_BYPASSED,
    FLOW_STATE_COUNT,
};

enum flow_direction { FLOW_TO_SERVER, FLOW_TO_CLIENT, FLOW_DIRECTIONS };

enum flow_flag {
    FLOW_DROPPED = 1 << 0,            /* every further packet is dropped */
    FLOW_PASSED = 1 << 1,             /* no more rules are asked */
    FLOW_ALERTED = 1 << 2,            /* a rule reported something of it */
    FLOW_SWAPPED = 1 << 3,            /* client and server were exchanged after the first packet */
    FLOW_NO_STREAM = 1 << 4,          /* TCP: no session, or it gave up: packets are inspected one by one */
    FLOW_ACCEPTED_WHOLE = 1 << 5,     /* exception policy pass-flow */
    FLOW_BYPASS_WANTED = 1 << 6,      /* a rule or policy asks for bypass */
    FLOW_ICMP_ERROR_SEEN = 1 << 7,    /* an ICMP error quoted a packet of it */
    FLOW_DROP_LOGGED = 1 << 8,        /* a drop event to the server has been written (eve drop.flows: start) */
    FLOW_SERVER_SEEN = 1 << 9,        /* the server sent a packet; ICMP errors are nobody's */
    FLOW_CLIENT_SEEN = 1 << 10,       /* the client did */
    FLOW_IP_ONLY_TO_SERVER = 1 << 11, /* rules on addresses alone were asked for the first packet to the server */
    FLOW_IP_ONLY_TO_CLIENT = 1 << 12,
    FLOW_RESCAN = 1 << 13, /* detect ran out of memory for what it would look at again: it scans its window anew */
    FLOW_DROP_LOGGED_TO_CLIENT = 1 << 14,
    FLOW_ENCRYPTED =
        1 << 15, /* its protocol said that payloads are of no use to anybody: rules do not look into them */
};

/* A flow that alert-only lets pass although it is to be dropped. Mode drop evaluates it again, unless an alert-only
 * rule is the reason. */
enum flow_would_drop { FLOW_WOULD_DROP_NO, FLOW_WOULD_DROP_BY_MODE, FLOW_WOULD_DROP_BY_RULE };

/* Why a flow ended, EVE's flow.reason. */
enum flow_end {
    FLOW_END_TIMEOUT,
    FLOW_END_FORCED,   /* gave way in emergency */
    FLOW_END_SHUTDOWN, /* the program, or the capture, ended */
    FLOW_END_REUSED,   /* TCP: its ports began a new connection */
};

struct flow_side {
    uint64_t packets, bytes; /* seen in this direction; bytes as captured, link header included */
    uint8_t ttl_low, ttl_high;
};

/* The MAC addresses of both ends, each once, in the order in which they were seen; [FLOW_TO_SERVER] are the client's.
 */
enum { FLOW_MACS_MAX = 10, MAC_SIZE = 6 };
struct flow_macs {
    uint8_t count[FLOW_DIRECTIONS];
    uint8_t address[FLOW_DIRECTIONS][FLOW_MACS_MAX][MAC_SIZE];
};

/* What the kernel said of the first packet. */
struct flow_origin {
    uint32_t in_ifindex, out_ifindex; /* 0 */
    uint32_t in_physical_ifindex, out_physical_ifindex;
    uint32_t mark;
    uint32_t conntrack_id, conntrack_mark; /* when has_conntrack */
    uint16_t queue;
    uint8_t hook; /* enum nf_inet_hooks */
    bool has_conntrack;
};

struct app_flow;       /* app's */
struct tcp_session;    /* stream's */
struct flow_detection; /* detect's */
struct flow_tag;       /* policy's, as the next */
struct flow_history;
struct flow_variable; /* in src/flow/variable.c */
struct transfer;

/* What the kernel has counted of a flow that it handles alone: all packets of the connection, those that were queued
 * too. */
struct flow_kernel {
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint64_t until_ns; /* when its connection would be forgotten */
};

/* Five cache lines, of which a packet touches the first two; keep it so. */
struct flow {
    /* --- what a look-up reads --------------------------------------------------------------------- */
    struct flow *next; /* in a bucket that overflows */
    uint32_t hash;
    uint16_t client_port,
        server_port; /* ICMP: type and code as the first packet had them; ESP: the halves of the SPI */
    struct address client, server;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count, ip_version, protocol, tunnel_depth;
    uint8_t class, state; /* enum flow_class, enum flow_state */
    uint16_t flags;       /* enum flow_flag */
    uint8_t would_drop;   /* enum flow_would_drop */
    uint64_t last_ns;     /* time of the last packet; never goes back */

    /* --- what a packet updates -------------------------------------------------------------------- */
    struct flow_side side[FLOW_DIRECTIONS];
    struct tcp_session *tcp; /* owned by stream; NULL */

    /* --- what rules touch ------------------------------------------------------------------------- */
    struct flow_variable *variables;
    struct flow_detection *detection[FLOW_DIRECTIONS]; /* owned by detect; NULL */
    struct app_flow *app;                              /* owned by app; NULL */
    struct flow_tag *tag;                              /* owned by policy; NULL, as the next */
    struct flow_history *history;
    struct flow_kernel *kernel; /* owned by the table; NULL */
    struct flow_macs *macs;     /* owned by the table; NULL unless flow_options.mac_addresses */

    /* --- cold ------------------------------------------------------------------------------------- */
    uint64_t id; /* EVE's flow_id: of the key and the start, so the same in every run; at most 53 bits */
    uint64_t start_ns;
    uint64_t first_number;       /* number of the first packet */
    uint32_t application;        /* of the protocol found; 0: none (yet) */
    uint32_t drop_sid, drop_gid; /* the rule that dropped it; 0 */
    struct flow_origin origin;
    uint8_t exceptions[EXCEPTION_COUNT]; /* enum exception_policy used for the cause, + 1; 0: not met */
    bool emergency;                      /* began while the table was full */
    bool drop_by_exception;              /* an exception policy dropped the flow (or would_drop), not a rule */
    uint8_t drop_reason;                 /* enum drop_reason: why it is dropped (or would_drop) */
    uint8_t app_evicted;                 /* app's: its parser's state was released for lack of memory */
    uint8_t offload;                     /* enum packet_offload: what the kernel was asked to do with the rest of it */
    uint32_t visit;                      /* see flow_is_visit() */

    /* --- the table's own: expiry ------------------------------------------------------------------ */
    struct flow *newer, *older;            /* among the new ones, or among all others */
    struct flow *wheel_next, **wheel_link; /* in a slot of the timer wheel */
};

/* Seconds. */
struct flow_timeouts {
    uint32_t seconds[FLOW_STATE_COUNT];
};

struct flow_options {
    size_t memcap; /* bytes of flows, buckets and variables, of this table (one worker's share) */
    struct flow_timeouts timeouts[FLOW_CLASS_COUNT], emergency[FLOW_CLASS_COUNT];
    bool vlan_tracking, tunnel_level_tracking;
    bool mac_addresses; /* record the MAC addresses of flows */
    uint64_t seed;      /* of the hash; the same for all workers */
};
/* The defaults of Suricata's configuration; memcap 128 MiB. */
void flow_options_default(struct flow_options *options);

struct flow_table;

/* Called for each flow that ends, before it is forgotten. */
typedef void flow_end_function(struct flow *flow, enum flow_end reason, void *user);

/* 0 or -ENOMEM. */
int flow_table_new(struct flow_table **out, const struct flow_options *options, flow_end_function *end, void *user);
/* Other timeouts from now on, for the flows that there are, too. */
void flow_table_set_timeouts(struct flow_table *table, const struct flow_options *options);
/* Does not call `end`: flow_table_end_all() does. NULL is allowed. */
void flow_table_free(struct flow_table *table);

/*
 * The packet's flow, made when there is none: then the sender is the client, unless conntrack knows better. Sets
 * PACKET_TO_CLIENT by the flow's direction. NULL for a packet that belongs to none (no IP, a fragment, malformed
 * headers), or that found no room: then *exception is EXCEPTION_FLOW_MEMCAP, otherwise EXCEPTION_NONE. The packet is
 * not counted yet. It may end an expired flow.
 */
struct flow *flow_table_get(struct flow_table *table, struct packet *pkt, enum exception_cause *exception);

/* Asks for the memory where the look-up of this packet will begin, a little before; the packet is decoded, and stays as
 * it is. */
void flow_table_prefetch(const struct flow_table *table, struct packet *pkt);

/* Counts the packet to its flow: last_ns, sides, and for all but TCP the state; sets PACKET_ESTABLISHED (for TCP when
 * stream said before that the flow is established, or both directions have been seen, as the field has it). */
void flow_update(struct flow_table *table, struct flow *flow, struct packet *pkt);

/* To another state: its timeout counts from now on. */
void flow_set_state(struct flow_table *table, struct flow *flow, enum flow_state state);
/* Client and server change places (the first packet seen was the server's). Clears nothing but exchanges the sides; the
 * packet at hand (NULL is allowed) changes PACKET_TO_CLIENT. Nothing for ICMP, where the type tells who asks. */
void flow_swap(struct flow *flow, struct packet *pkt);

/* What is known of a connection that the kernel handles alone. */
struct flow_report {
    struct address client, server;
    uint16_t client_port, server_port;
    uint8_t ip_version, protocol;
    bool ended;
    bool has_counts;
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint32_t timeout_seconds; /* until it is forgotten, should nothing more come */
};
/* Keeps the numbers with the flow, if it is one that was offloaded; it lives on when something has moved since the last
 * report. One that is accepted ends with its connection; one that is dropped is so for its own time, whatever the
 * kernel has forgotten. False when there is no such flow. */
bool flow_table_report(struct flow_table *table, const struct flow_report *report, uint64_t now_ns);

/* Flows that gave way because the table was full, new ones too. */
uint64_t flow_table_evicted(const struct flow_table *table);
/* A TCP connection that may give way to another one because nothing came of it for a while; NULL when none is found at
 * once. */
struct flow *flow_table_find_idle_tcp(struct flow_table *table, uint64_t now_ns);
/* Ends one flow now. */
void flow_table_end(struct flow_table *table, struct flow *flow, enum flow_end reason);
/* Ends at most `budget` flows of those whose time is over at now_ns; how many. Cost is by what expires, not by what is
 * there: a flow is looked at once in its timeout, an eighth of a second late at most. */
size_t flow_table_expire(struct flow_table *table, uint64_t now_ns, size_t budget);
/* Ends all whose time is over, the oldest (by start, then by first packet) first. */
void flow_table_expire_all(struct flow_table *table, uint64_t now_ns);
/* Ends all, the oldest (by start, then by first packet) first. */
void flow_table_end_all(struct flow_table *table, enum flow_end reason);

/* For who asks what there is: the flows of the buckets from *cursor on, until `max` flows or so many buckets were seen;
 * how many flows. *cursor is where to go on, 0 past the last. No flow is told twice, as long as it lives. */
size_t flow_table_page(struct flow_table *table, size_t *cursor, size_t buckets, const struct flow **out, size_t max);
/* The flow of two ends, whichever is the client, outside of tunnels; its VLANs are those given. NULL. */
struct flow_ends {
    uint8_t protocol, ip_version, vlan_count;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    struct address address[2];
    uint16_t port[2];
};
const struct flow *flow_table_find(struct flow_table *table, const struct flow_ends *ends);
/* The flow with an id among so many buckets from *cursor on; NULL. *cursor is where to go on: 0 when it was found, and
 * past the last. */
const struct flow *flow_table_find_id(const struct flow_table *table, uint64_t id, size_t *cursor, size_t buckets);

/* The hash by which both directions of a packet's flow agree, and an ICMP error with what it quotes; for spreading
 * packets over workers. VLANs and tunnels have no part in it. Fragments hash by addresses alone, and so do all packets
 * when `addresses_only`: the protocol of an IPv6 fragment is not always known. 0 without IP. */
uint32_t flow_packet_hash(const struct packet *pkt, uint64_t seed, bool addresses_only);

/* --- Variables: flow bits, integers and texts, by the number of their name ------------------------ */

/* A bit and an integer of the same number are different things. set: false when there is no memory (counted). */
bool flow_bit_is_set(const struct flow *flow, uint32_t number);
bool flow_bit_set(struct flow_table *table, struct flow *flow, uint32_t number);
void flow_bit_clear(struct flow_table *table, struct flow *flow, uint32_t number);
/* False when the integer has no value. */
bool flow_integer_get(const struct flow *flow, uint32_t number, uint32_t *value);
bool flow_integer_set(struct flow_table *table, struct flow *flow, uint32_t number, uint32_t value);
/* Calls `each` for all of a flow, in the order of their numbers. */
void flow_each_variable(const struct flow *flow, void (*each)(uint32_t number, bool is_bit, uint32_t value, void *user),
                        void *user);

/* Texts that rules took out of packets (pcre's flow:NAME), cut to FLOW_TEXT_MAX bytes; a flow has FLOW_TEXTS_MAX of
 * them. set: false when there is no memory or no room (counted). */
enum { FLOW_TEXT_MAX = 112, FLOW_TEXTS_MAX = 16 };
bool flow_text_set(struct flow_table *table, struct flow *flow, uint32_t number, const uint8_t *bytes, uint32_t length);
/* Lent until it is set again; NULL when it has no value. */
const uint8_t *flow_text_get(const struct flow *flow, uint32_t number, uint32_t *length);
void flow_each_text(const struct flow *flow,
                    void (*each)(uint32_t number, const uint8_t *bytes, uint32_t length, void *user), void *user);

/* The type that answers an ICMP or ICMPv6 message of this type, in both directions; false when there is none. */
bool flow_icmp_answer(uint8_t protocol, uint8_t type, uint8_t *answer);

/* --- To another process (sluice/transfer.h) ------------------------------------------------------- */

/* The flow's own fields; nothing that others hang on it. */
void flow_transfer(struct transfer *t, struct flow *flow);
/* Numbers of names, as the writer has them, and what they are here: 0 for those that have none. */
struct flow_numbers {
    const uint32_t *bits, *integers, *texts; /* by the writer's number */
    uint32_t bit_count, integer_count, text_count;
};
/* Its variables; `numbers` for reading. Those for which there is no memory are left. */
void flow_transfer_variables(struct transfer *t, struct flow_table *table, struct flow *flow,
                             const struct flow_numbers *numbers);
/* What the kernel has counted of it. */
void flow_transfer_kernel(struct transfer *t, struct flow_table *table, struct flow *flow);
/* Transfers the seed of the flow hash. When reading, a table without flows adopts the seed. False when the table has a
 * different seed. */
bool flow_table_transfer_seed(struct transfer *t, struct flow_table *table);
/* A flow as it was read comes into the table, without what others hung on it. NULL when there is no room, or a flow of
 * that key. */
struct flow *flow_table_adopt(struct flow_table *table, const struct flow *from);
/* Calls `each` for all flows, those that give way to others last, the oldest of them first. */
typedef void flow_each_function(struct flow *flow, void *user);
void flow_table_each(struct flow_table *table, flow_each_function *each, void *user);
size_t flow_table_count(const struct flow_table *table);
/* A flow that another worker has, too, who tells of it should none of its packets come here: true until one comes. */
void flow_set_visit(struct flow *flow);
bool flow_is_visit(const struct flow *flow);

/* --- Names ---------------------------------------------------------------------------------------- */

const char *flow_state_name(enum flow_state state); /* "new", "established", "closed", "bypassed" */
const char *flow_end_name(enum flow_end reason);    /* "timeout", "forced", "shutdown", "tcp_reuse" */

/* Counters: names are EVE's below stats ("flow.total", "flow.tcp", "flow.active", "flow.memuse",
 * "flow.end.state.new"...), and "flow.variable_memcap" for variables that found no room, "flow.conntrack_reply" for
 * flows of which the server's packet came first, as conntrack knew. Those that are a level and not a sum over time are
 * summed over workers all the same. */
size_t flow_counter_count(void);
const char *flow_counter_name(size_t index);
uint64_t flow_counter_value(const struct flow_table *table, size_t index);

#endif
