/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow: the state shared by the packets of one connection, and the table of flows. struct flow is public because the
 * hot path reads its fields.
 *
 * The key is the protocol, both addresses, both ports and, if configured, VLAN tags and the tunnel depth. In place of
 * ports ICMP has its type, where a reply counts as its request, and ESP has its SPI; other protocols have none. Both
 * directions find the same flow, except for ESP. As in Suricata, TCP, UDP, SCTP, ICMP, IGMP and ESP have flows. An ICMP
 * error belongs to the flow of the packet that it quotes, in the direction in which the error travels: back to the
 * sender of that packet. If the quoted packet has no flow, an ICMPv4 error has no flow, and an ICMPv6 error has one of
 * its own.
 *
 * All memory is reserved at the start; a lookup never allocates. A flow expires exactly `timeout` after its last
 * packet: a lookup that finds an expired flow ends it and begins a new one, whether or not flow_table_expire() has run;
 * so the result for a capture file does not depend on budgets, batches or workers. A full table is in emergency: the
 * emergency timeouts apply, and a new flow evicts the oldest flow in state FLOW_NEW; if there is none, one that has
 * been idle for a long time (src/flow/idle.c).
 *
 * Threads:   a table and its flows belong to one worker.
 * Ownership: the table owns the flows. A pointer to a flow is valid until the flow ends; the `end` callback frees the
 *            state that other modules have attached to it.
 */
#ifndef SLUICE_FLOW_H
#define SLUICE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/config.h"
#include "sluice/exception.h"
#include "sluice/packet.h"

/* Timeouts are set per class. */
enum flow_class { FLOW_CLASS_TCP, FLOW_CLASS_UDP, FLOW_CLASS_ICMP, FLOW_CLASS_OTHER, FLOW_CLASS_COUNT };

enum flow_state {
    FLOW_NEW,         /* one direction seen; TCP: no handshake yet */
    FLOW_ESTABLISHED, /* both directions seen; TCP: handshake complete, or picked up midstream */
    FLOW_CLOSED,      /* TCP only */
    FLOW_BYPASSED,    /* its packets are accepted without rules */
    FLOW_STATE_COUNT,
};

enum flow_direction { FLOW_TO_SERVER, FLOW_TO_CLIENT, FLOW_DIRECTIONS };

enum flow_flag {
    FLOW_DROPPED = 1 << 0,   /* every further packet is dropped */
    FLOW_PASSED = 1 << 1,    /* rules are no longer evaluated */
    FLOW_ALERTED = 1 << 2,   /* a rule wrote an alert for it */
    FLOW_SWAPPED = 1 << 3,   /* client and server were exchanged after the first packet */
    FLOW_NO_STREAM = 1 << 4, /* TCP: packets are inspected one by one: there is no session, or reassembly stopped */
    FLOW_ACCEPTED_BY_EXCEPTION = 1 << 5, /* exception policy pass-flow */
    FLOW_BYPASS_REQUESTED = 1 << 6,      /* a rule or policy requests bypass */
    FLOW_ICMP_ERROR_SEEN = 1 << 7,       /* an ICMP error quoted one of its packets */
    FLOW_DROP_LOGGED = 1 << 8,           /* a drop event to the server has been written (eve drop.flows: start) */
    FLOW_SERVER_SEEN = 1 << 9,           /* the server sent a packet; ICMP errors count for neither side */
    FLOW_CLIENT_SEEN = 1 << 10,          /* the client sent a packet */
    FLOW_IP_ONLY_TO_SERVER = 1 << 11,    /* address-only rules have been evaluated for this direction */
    FLOW_IP_ONLY_TO_CLIENT = 1 << 12,    /* as FLOW_IP_ONLY_TO_SERVER, for the other direction */
    FLOW_RESCAN = 1 << 13, /* detect had no memory to store pending candidates: it scans the inspection window again */
    FLOW_DROP_LOGGED_TO_CLIENT = 1 << 14, /* as FLOW_DROP_LOGGED, for packets to the client */
    FLOW_ENCRYPTED = 1 << 15,             /* app_stop_parsing(whole) was called: rules do not inspect the payloads */
};

/* Why a flow passes although it is to be dropped. BY_MODE: the mode is alert-only; when it changes to drop, the flow is
 * evaluated again. BY_RULE: the rule is alert-only. */
enum flow_would_drop { FLOW_WOULD_DROP_NO, FLOW_WOULD_DROP_BY_MODE, FLOW_WOULD_DROP_BY_RULE };

/* Why a flow ended, EVE's flow.reason. */
enum flow_end {
    FLOW_END_TIMEOUT,
    FLOW_END_FORCED,   /* evicted in emergency */
    FLOW_END_SHUTDOWN, /* the program, or the capture, ended */
    FLOW_END_REUSED,   /* TCP: a new connection uses its ports */
};

struct flow_side {
    uint64_t packets, bytes;   /* packets of this direction; bytes as captured, link header included */
    uint8_t ttl_low, ttl_high; /* lowest and highest TTL or hop limit */
};

/* The MAC addresses of both ends, each once, in the order in which they were seen. Index FLOW_TO_SERVER has the
 * addresses of the client. */
enum { FLOW_MACS_MAX = 10, MAC_SIZE = 6 };
struct flow_macs {
    uint8_t count[FLOW_DIRECTIONS];
    uint8_t address[FLOW_DIRECTIONS][FLOW_MACS_MAX][MAC_SIZE];
};

/* What the kernel reported with the first packet. */
struct flow_origin {
    uint32_t in_ifindex, out_ifindex; /* 0: unknown */
    uint32_t in_physical_ifindex, out_physical_ifindex;
    uint32_t mark;
    uint32_t conntrack_id, conntrack_mark; /* valid if has_conntrack */
    uint16_t queue;
    uint8_t hook; /* enum nf_inet_hooks */
    bool has_conntrack;
};

struct app_flow;       /* owned by app */
struct tcp_session;    /* owned by stream */
struct flow_detection; /* owned by detect */
struct flow_tag;       /* owned by policy */
struct flow_history;   /* owned by policy */
struct flow_variable;  /* defined in src/flow/variable.c */
struct transfer;

/* The kernel's counts of an offloaded flow: all packets of the connection, including those that were queued. */
struct flow_kernel_counts {
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint64_t until_ns; /* time at which the connection expires without further packets */
};

/* Occupies five cache lines. For most packets only the first two are accessed, so keep the order of the members. */
struct flow {
    /* --- read by a lookup ------------------------------------------------------------------------- */
    struct flow *next; /* next flow in the chain of an overflowing bucket */
    uint32_t hash;
    uint16_t client_port,
        server_port; /* ICMP: type and code as the first packet had them; ESP: the halves of the SPI */
    struct address client, server;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count, ip_version, protocol, tunnel_depth;
    uint8_t class, state; /* enum flow_class, enum flow_state */
    uint16_t flags;       /* enum flow_flag */
    uint8_t would_drop;   /* enum flow_would_drop */
    bool accepted;        /* by a firewall rule with accept:flow: firewall rules are no longer evaluated */
    uint64_t last_ns;     /* time of the last packet; never decreases */

    /* --- updated by a packet ---------------------------------------------------------------------- */
    struct flow_side side[FLOW_DIRECTIONS];
    struct tcp_session *tcp; /* owned by stream; NULL: none */

    /* --- used by rules ---------------------------------------------------------------------------- */
    struct flow_variable *variables;
    struct flow_detection *detection[FLOW_DIRECTIONS]; /* owned by detect; NULL: none */
    struct app_flow *app;                              /* owned by app; NULL: none */
    struct flow_tag *tag;                              /* owned by policy; NULL: none */
    struct flow_history *history;                      /* owned by policy; NULL: none */
    struct flow_kernel_counts *kernel;                 /* owned by the table; NULL: not offloaded, or no counts yet */
    struct flow_macs *macs;                            /* owned by the table; NULL unless flow_options.mac_addresses */

    /* --- cold ------------------------------------------------------------------------------------- */
    uint64_t id; /* EVE's flow_id: computed from key and start, so it is the same in every run; at most 53 bits */
    uint64_t start_ns;
    uint64_t first_number;       /* number of the first packet */
    uint32_t application;        /* ids of the detected protocols, see app_flow_protocol(); 0: none (yet) */
    uint32_t drop_sid, drop_gid; /* the rule that dropped it; 0: none */
    struct flow_origin origin;
    uint8_t exceptions[EXCEPTION_COUNT]; /* indexed by enum exception_cause: 0 if the exception did not occur, otherwise
                                            1 + the enum exception_policy that was applied */
    bool emergency;                      /* began while the table was full */
    bool
        drop_by_exception; /* the flow is dropped (or would be, see would_drop) by an exception policy, not by a rule */
    uint8_t drop_reason;   /* enum drop_reason: why it is dropped, or would be */
    uint8_t app_evicted;   /* set by app: the parser's state was freed because memory was short, APP_EVICTED_*; 0: no */
    uint8_t offload;       /* enum packet_offload: the offload requested from the kernel */
    uint32_t closed_txs;   /* set by app_release_closed(): app_tx_count() of the freed state */
    uint32_t visit;        /* used by flow_set_duplicate() and flow_is_duplicate() */

    /* --- the table's: expiry ---------------------------------------------------------------------- */
    struct flow *newer, *older;            /* neighbours in one of two lists: flows in FLOW_NEW, or all other flows */
    struct flow *wheel_next, **wheel_link; /* links of a slot of the timer wheel */
};

/* Timeouts in seconds of one class, by enum flow_state. */
struct flow_timeouts {
    uint32_t seconds[FLOW_STATE_COUNT];
};

struct flow_options {
    size_t memcap; /* bytes for flows, buckets and variables of this table (one worker's share) */
    struct flow_timeouts timeouts[FLOW_CLASS_COUNT], emergency[FLOW_CLASS_COUNT];
    bool vlan_tracking, tunnel_level_tracking;
    bool mac_addresses; /* record the MAC addresses of flows */
    uint64_t seed;      /* seed of the hash; the same for all workers */
};
extern const struct setting flow_settings[]; /* of struct flow_options; the memcap is that of all workers */

struct flow_table;

/* Called for each flow that ends, before it is freed. */
typedef void flow_end_function(struct flow *flow, enum flow_end reason, void *user);

/* Creates a table, which calls `end` for each flow that ends. Returns 0 or -ENOMEM. */
int flow_table_new(struct flow_table **out, const struct flow_options *options, flow_end_function *end, void *user);
/* Sets the timeouts, also for existing flows. */
void flow_table_set_timeouts(struct flow_table *table, const struct flow_options *options);
/* Changes the memcap of the table (one worker's share) while it is used. The hash table keeps its size. Returns 0, or
 * as pool_set_memcap(); after an error other than -ENOMEM nothing has changed. */
int flow_table_set_memcap(struct flow_table *table, size_t memcap);
/* Frees the table without calling `end` for its flows; flow_table_end_all() calls it. NULL is allowed. */
void flow_table_free(struct flow_table *table);

/*
 * Returns the packet's flow, and creates it when there is none: then the sender is the client, unless conntrack data
 * says otherwise. Sets PACKET_TO_CLIENT by the flow's direction. Returns NULL for a packet without a flow (no IP, a
 * fragment, malformed headers), or when there is no memory: then *exception is EXCEPTION_FLOW_MEMCAP, otherwise
 * EXCEPTION_NONE. The packet is not counted yet. May end an expired flow.
 */
struct flow *flow_table_get(struct flow_table *table, struct packet *pkt, enum exception_cause *exception);

/* Prefetches the memory where the lookup of this decoded packet will begin. Does not change the packet. */
void flow_table_prefetch(const struct flow_table *table, struct packet *pkt);

/* Counts the packet in its flow: updates last_ns, the sides, and, except for TCP, the state. Sets PACKET_ESTABLISHED if
 * the flow is established or closed: both sides have sent packets or, for TCP, stream has set the state. */
void flow_update(struct flow_table *table, struct flow *flow, struct packet *pkt);

/* Sets the state: its timeout applies from now on. */
void flow_set_state(struct flow_table *table, struct flow *flow, enum flow_state state);
/* Exchanges client and server, because the first packet seen was the server's. The data of both sides is exchanged, and
 * PACKET_TO_CLIENT of the current packet is inverted (NULL is allowed). Does nothing for ICMP, whose type shows which
 * side sends the request. */
void flow_swap(struct flow *flow, struct packet *pkt);

/* Kernel data of a connection that was offloaded. */
struct flow_report {
    struct address client, server;
    uint16_t client_port, server_port;
    uint8_t ip_version, protocol;
    bool ended;      /* the connection has ended in the kernel */
    bool has_counts; /* packets and bytes are known */
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint32_t timeout_seconds; /* time until it expires without further packets */
};
/* Stores the counts with the flow, if it is offloaded; the flow's timeout restarts when the counts have changed since
 * the last report. An accepted flow ends with its connection; a dropped flow lasts for its timeout, even if the
 * kernel's connection has expired. Returns false when there is no such flow, or it was not offloaded. */
bool flow_table_update_offloaded(struct flow_table *table, const struct flow_report *report, uint64_t now_ns);

/* Returns the number of flows evicted because the table was full, in any state (the counter flow.get_used). The counter
 * flow.evicted does not count evicted flows in state FLOW_NEW. */
uint64_t flow_table_evicted(const struct flow_table *table);
/* Returns a TCP connection that may be evicted for another one because it has been idle for a while; NULL when a short
 * search finds none. */
struct flow *flow_table_find_idle_tcp(struct flow_table *table, uint64_t now_ns);
/* Ends one flow. */
void flow_table_end(struct flow_table *table, struct flow *flow, enum flow_end reason);
/* Gives memory that is no longer in use back to the kernel: pool_trim(). */
void flow_table_trim(struct flow_table *table);
/* Ends at most `budget` flows that have expired at now_ns; returns how many. The cost depends on the number of flows
 * that expire, not on the number of flows in the table: a flow is visited once per timeout, at most an eighth of a
 * second late. */
size_t flow_table_expire(struct flow_table *table, uint64_t now_ns, size_t budget);
/* Ends all expired flows, the oldest (by start, then by first packet) first. */
void flow_table_expire_all(struct flow_table *table, uint64_t now_ns);
/* Ends all flows, the oldest (by start, then by first packet) first. */
void flow_table_end_all(struct flow_table *table, enum flow_end reason);

/* Lists flows in pages: the flows in the buckets from *cursor on, until `max` flows or `buckets` buckets were read;
 * returns the number of flows. *cursor is set to the next bucket; 0: the list is complete. A flow is listed at most
 * once: it never changes its bucket, and a page has whole buckets. If a bucket has more than `max` flows, only `max` of
 * them are listed. */
size_t flow_table_list(struct flow_table *table, size_t *cursor, size_t buckets, const struct flow **out, size_t max);
/* Finds the flow between two ends, of which either may be the client, outside of tunnels and with the given VLANs.
 * Returns NULL if there is none. */
struct flow_ends {
    uint8_t protocol, ip_version, vlan_count;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    struct address address[2];
    uint16_t port[2];
};
const struct flow *flow_table_find(struct flow_table *table, const struct flow_ends *ends);
/* Finds the flow with an id in the next `buckets` buckets from *cursor on; NULL: not in these. *cursor is set to the
 * next bucket; 0 ends the search: the flow was found, or there are no more buckets. */
const struct flow *flow_table_find_id(const struct flow_table *table, uint64_t id, size_t *cursor, size_t buckets);

/* Returns a hash that is equal for both directions of a packet's flow, and for an ICMP error and the packet it quotes;
 * for spreading packets over workers. VLANs and tunnels are not included. Fragments are hashed by addresses alone,
 * because the protocol of an IPv6 fragment is not always known. `addresses_only`: all packets are hashed by addresses
 * alone. Returns 0 for a packet without IP. */
uint32_t flow_packet_hash(const struct packet *pkt, uint64_t seed, bool addresses_only);

/* --- Variables: flow bits, integers and texts, by the number of their name ------------------------ */

/* A bit and an integer of the same number are independent. flow_bit_set() and flow_integer_set() return false when
 * there is no memory (counted). */
bool flow_bit_is_set(const struct flow *flow, uint32_t number);
bool flow_bit_set(struct flow_table *table, struct flow *flow, uint32_t number);
void flow_bit_clear(struct flow_table *table, struct flow *flow, uint32_t number);
/* Gets the value of an integer. Returns false when it has none. */
bool flow_integer_get(const struct flow *flow, uint32_t number, uint32_t *value);
bool flow_integer_set(struct flow_table *table, struct flow *flow, uint32_t number, uint32_t value);
/* Calls `each` for all bits and integers of a flow, in the order of their numbers. */
void flow_each_variable(const struct flow *flow, void (*each)(uint32_t number, bool is_bit, uint32_t value, void *user),
                        void *user);

/* Texts that rules extract from packets (pcre's flow:NAME), truncated to FLOW_TEXT_MAX bytes. A flow has at most
 * FLOW_TEXTS_MAX texts. flow_text_set() returns false when there is no memory, or the flow has no room for another text
 * (counted). */
enum { FLOW_TEXT_MAX = 112, FLOW_TEXTS_MAX = 16 };
bool flow_text_set(struct flow_table *table, struct flow *flow, uint32_t number, const uint8_t *bytes, uint32_t length);
/* Returns the text, valid until it is set again; NULL when it has no value. */
const uint8_t *flow_text_get(const struct flow *flow, uint32_t number, uint32_t *length);
void flow_each_text(const struct flow *flow,
                    void (*each)(uint32_t number, const uint8_t *bytes, uint32_t length, void *user), void *user);

/* Gets the type that answers an ICMP or ICMPv6 message of this type, in both directions; false when there is none. */
bool flow_icmp_reply_type(uint8_t protocol, uint8_t type, uint8_t *answer);

/* --- Transfer to another process (sluice/transfer.h) ---------------------------------------------- */

/* Transfers the flow's own fields, without the state that other modules attach to it. */
void flow_transfer(struct transfer *t, struct flow *flow);
/* Maps the writer's numbers of names to the reader's: 0 for names that the reader does not have. */
struct flow_numbers {
    const uint32_t *bits, *integers, *texts; /* indexed by the writer's number */
    uint32_t bit_count, integer_count, text_count;
};
/* Transfers the flow's variables; `numbers` for reading. Variables for which there is no memory are omitted. */
void flow_transfer_variables(struct transfer *t, struct flow_table *table, struct flow *flow,
                             const struct flow_numbers *numbers);
/* Transfers the kernel's counts of the flow. */
void flow_transfer_kernel(struct transfer *t, struct flow_table *table, struct flow *flow);
/* Transfers the seed of the flow hash. When reading, a table without flows adopts the seed. False when the table has a
 * different seed. */
bool flow_table_transfer_seed(struct transfer *t, struct flow_table *table);
/* Adds a copy of `from`, a flow read by flow_transfer(), to the table, without the state attached by other modules.
 * Returns NULL when there is no memory, or the table already has a flow with this key. */
struct flow *flow_table_add_copy(struct flow_table *table, const struct flow *from);
/* Calls `each` for all flows; the flows in FLOW_NEW, which are evicted first, come last, from the oldest to the
 * newest. */
typedef void flow_each_function(struct flow *flow, void *user);
void flow_table_each(struct flow_table *table, flow_each_function *each, void *user);
size_t flow_table_count(const struct flow_table *table);
/* Marks a flow that another worker also has after an engine hand-over. The other worker logs it, unless a packet of the
 * flow arrives at this worker: from then on flow_is_duplicate() returns false. */
void flow_set_duplicate(struct flow *flow);
bool flow_is_duplicate(const struct flow *flow);

/* --- Names ---------------------------------------------------------------------------------------- */

const char *flow_state_name(enum flow_state state); /* "new", "established", "closed", "bypassed" */
const char *flow_end_name(enum flow_end reason);    /* "timeout", "forced", "shutdown", "tcp_reuse" */

/* Counters, named as in EVE below stats ("flow.total", "flow.tcp", "flow.active", "flow.memuse",
 * "flow.end.state.new"...), and "flow.variable_memcap" for variables refused for lack of memory, "flow.conntrack_reply"
 * for flows whose first packet was the server's according to conntrack. Gauges are summed over workers, like
 * counters. */
size_t flow_counter_count(void);
const char *flow_counter_name(size_t index);
uint64_t flow_counter_value(const struct flow_table *table, size_t index);

#endif
