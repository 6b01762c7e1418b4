/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow table, internal: the key of a packet, the timer wheel, and the table itself.
 */
#ifndef SLUICE_FLOW_PRIV_H
#define SLUICE_FLOW_PRIV_H

#include "sluice/flow.h"

struct bucket; /* bucket.h */
struct pool;

/* --- key.c: the key of a packet, with the sender as source ---------------------------------------- */

enum { ICMP_NO_ANSWER = 0xffff }; /* in place of an ICMP type: no type answers this one */

struct flow_key {
    struct address source, destination;
    uint16_t source_port, destination_port; /* ICMP: type of the packet; type that answers it, or ICMP_NO_ANSWER */
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count, ip_version, protocol, tunnel_depth;
};

static inline bool protocol_is_icmp(uint8_t protocol)
{
    return protocol == 1 || protocol == 58;
}

enum { KEY_SECRETS = 6 };

struct key_secret {
    uint64_t words[KEY_SECRETS];
};
void key_secret_init(struct key_secret *secret, uint64_t seed);

/* Builds the key of a packet. Returns false if the packet belongs to no flow. */
bool key_of_packet(struct flow_key *key, const struct packet *pkt);
/* Clears VLAN tags and tunnel level if the options exclude them from the comparison of keys. */
void key_mask(struct flow_key *key, const struct flow_options *options);
/* Returns the hash of the key, which is equal for both directions of a flow. */
uint32_t key_hash(const struct flow_key *key, const struct key_secret *secret);
/* Returns the identifier of a flow: at most 53 bits, never 0. `number` distinguishes flows with the same key and start.
 */
uint64_t key_flow_id(const struct flow_key *key, uint64_t start_ns, uint64_t number);
/* Returns whether a packet with this key belongs to the flow; if so, sets *direction to the direction of the packet. */
bool key_matches(const struct flow_key *key, const struct flow *flow, const struct flow_options *options,
                 enum flow_direction *direction);

/* --- icmp.c --------------------------------------------------------------------------------------- */

/* Returns the ICMP type that is the reply to a type, or the request for a reply; or ICMP_NO_ANSWER. */
uint16_t icmp_answer(uint8_t protocol, uint8_t type);
bool icmp_is_error(const struct packet *pkt);
/* Builds the key of the packet that an ICMP error quotes. Returns false if the quoted part is too short. */
bool icmp_quoted_key(struct flow_key *key, const struct packet *error);

/* --- wheel.c -------------------------------------------------------------------------------------- */

enum {
    WHEEL_TICK_SHIFT = 27, /* a tick is 2^27 ns, 134 ms */
    WHEEL_SLOTS = 8192,    /* a turn: 18 minutes; flows that expire later are added again after it */
};

struct wheel {
    uint64_t tick;        /* tick of the slot that was emptied last */
    unsigned sweep_left;  /* number of slots that are still to be searched after timeouts became shorter; 0: none */
    struct flow *pending; /* list of flows of emptied slots that were not visited yet */
    uint64_t used[WHEEL_SLOTS / 64]; /* a bit for each slot that may contain flows */
    struct flow *slots[WHEEL_SLOTS];
};

void wheel_add(struct flow_table *table, struct flow *flow);
void wheel_remove(struct flow *flow); /* does nothing if the flow is not in the wheel */
/* Returns a flow that has expired at now_ns, without removing it from the wheel. Decrements *visits for each visited
 * flow; returns NULL when no flow has expired or *visits is 0. */
struct flow *wheel_next_expired(struct flow_table *table, uint64_t now_ns, size_t *visits);
/* Sets the time of a wheel that has none yet. */
void wheel_set_start(struct flow_table *table, uint64_t now_ns);
/* Removes all flows from the wheel and returns them, linked by wheel_next. */
struct flow *wheel_remove_all(struct wheel *wheel);

/* --- table.c -------------------------------------------------------------------------------------- */

/* Counters of a table; their names are in names.c. */
enum flow_counter {
    FLOW_COUNTER_MEMCAP,
    FLOW_COUNTER_TOTAL,
    FLOW_COUNTER_ACTIVE, /* a gauge: flows in the table */
    FLOW_COUNTER_TCP,
    FLOW_COUNTER_UDP,
    FLOW_COUNTER_ICMPV4,
    FLOW_COUNTER_ICMPV6,
    FLOW_COUNTER_TCP_REUSE,
    FLOW_COUNTER_GET_USED,
    FLOW_COUNTER_GET_USED_EVAL,
    FLOW_COUNTER_GET_USED_FAILED,
    FLOW_COUNTER_EVICTED, /* the part of FLOW_COUNTER_GET_USED that was not in state FLOW_NEW */
    FLOW_COUNTER_EMERGENCY_ENTERED,
    FLOW_COUNTER_EMERGENCY_OVER,
    FLOW_COUNTER_SPARE,  /* a gauge */
    FLOW_COUNTER_MEMUSE, /* a gauge */
    FLOW_COUNTER_VARIABLE_MEMCAP,
    FLOW_COUNTER_CONNTRACK_REPLY, /* the first packet was the server's, according to conntrack */
    FLOW_COUNTER_END_STATE,       /* first of one counter per enum flow_state */
    FLOW_COUNTER_END_CAPTURED = FLOW_COUNTER_END_STATE + FLOW_STATE_COUNT,
    FLOW_COUNTER_BYPASSED_CLOSED, /* offloaded flows that ended because the kernel's connection ended */
    FLOW_COUNTER_BYPASSED_PACKETS,
    FLOW_COUNTER_BYPASSED_BYTES,
    FLOW_COUNTER_COUNT,
};

struct flow_list {
    struct flow *oldest, *newest;
};

struct flow_table {
    struct bucket *buckets;
    uint32_t bucket_mask;
    bool emergency;
    struct pool *flows, *variables, *texts, *kernels, *macs; /* macs: NULL unless options.mac_addresses */
    struct flow *newest, *oldest; /* list of the flows in state FLOW_NEW, ordered by their start */
    struct flow_list settled[2];  /* lists of all other flows; [0]: not TCP, [1]: TCP */
    uint64_t timeout_ns[2][FLOW_CLASS_COUNT][FLOW_STATE_COUNT]; /* [0]: normal, [1]: in emergency */
    struct flow_options options;
    struct key_secret secret;
    flow_end_function *end; /* called for each flow that ends; NULL: none */
    void *user;
    struct pool *bucket_pool;
    size_t leave_emergency_at; /* the emergency ends when at most this many flows are in use */
    uint64_t counters[FLOW_COUNTER_COUNT];
    struct wheel wheel;
};

static inline uint64_t flow_timeout_ns(const struct flow_table *table, const struct flow *flow)
{
    return table->timeout_ns[table->emergency][flow->class][flow->state];
}

/* Returns whether the flow has expired. If now_ns is before the flow's last packet, it has not. */
static inline bool flow_has_expired(const struct flow_table *table, const struct flow *flow, uint64_t now_ns)
{
    return now_ns > flow->last_ns && now_ns - flow->last_ns > flow_timeout_ns(table, flow);
}

/* In idle.c: the `settled` lists of flows that are not FLOW_NEW. find_idle_flow() returns the flow to evict when the
 * table is full and contains no new flows, or NULL if none may be evicted. */
void settled_add(struct flow_table *table, struct flow *flow);
void settled_remove(struct flow_table *table, struct flow *flow);
struct flow *find_idle_flow(struct flow_table *table, uint64_t now_ns);

/* In table.c: adds a flow that was read from another process to the table; flow->hash must be set. */
void flow_add_transferred(struct flow_table *table, struct flow *flow);

/* --- mac.c ---------------------------------------------------------------------------------------- */

/* Adds the MAC addresses of a packet to those of its flow. A side that has FLOW_MACS_MAX addresses gets no more. Does
 * nothing if memory is exhausted. */
void macs_record(struct flow_table *table, struct flow *flow, const struct packet *pkt, enum flow_direction direction);
void macs_swap(struct flow *flow);
void macs_free(struct flow_table *table, struct flow *flow);

/* --- report.c ------------------------------------------------------------------------------------- */

void kernel_counts_free(struct flow_table *table, struct flow *flow);
/* In table.c: returns the flow with this key, even if it has expired, or NULL. Sets *direction to the direction of a
 * packet with this key. */
struct flow *flow_find_key(struct flow_table *table, const struct flow_key *key, enum flow_direction *direction);

/* --- variable.c ----------------------------------------------------------------------------------- */

size_t variable_size(void);
size_t variable_text_size(void);
void variables_free(struct flow_table *table, struct flow *flow);

#endif
