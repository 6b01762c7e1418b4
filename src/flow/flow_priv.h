/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow table, internal: the key of a packet, the timer wheel, and the table itself.
 */
#ifndef SLUICE_FLOW_PRIV_H
#define SLUICE_FLOW_PRIV_H

#include "sluice/flow.h"

struct bucket; /* bucket.h */
struct pool;

/* --- key.c: a packet's key, from sender to receiver ----------------------------------------------- */

enum { ICMP_NO_ANSWER = 0xffff }; /* not an ICMP type */

struct flow_key {
    struct address source, destination;
    uint16_t source_port, destination_port; /* ICMP: the type, and the type that answers it or ICMP_NO_ANSWER */
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

/* Builds the key; false when the packet has no flow. */
bool key_of_packet(struct flow_key *key, const struct packet *pkt);
void key_mask(struct flow_key *key, const struct flow_options *options);
/* Returns the hash, which is the same for both directions. */
uint32_t key_hash(const struct flow_key *key, const struct key_secret *secret);
uint64_t key_flow_id(const struct flow_key *key, uint64_t start_ns, uint64_t number);
/* Whether the key is the flow's, and in which direction. */
bool key_matches(const struct flow_key *key, const struct flow *flow, const struct flow_options *options,
                 enum flow_direction *direction);

/* --- icmp.c --------------------------------------------------------------------------------------- */

uint16_t icmp_answer(uint8_t protocol, uint8_t type);
bool icmp_is_error(const struct packet *pkt);
/* Builds the key of the packet that an error quotes; false when the quoted part is too short. */
bool icmp_quoted_key(struct flow_key *key, const struct packet *error);

/* --- wheel.c -------------------------------------------------------------------------------------- */

enum {
    WHEEL_TICK_SHIFT = 27, /* 134 ms */
    WHEEL_SLOTS = 8192,    /* 18 minutes; flows that expire later are added again then */
};

struct wheel {
    uint64_t tick;                   /* tick of the slot emptied last */
    unsigned sweep_left;             /* slots still to be searched because timeouts have become shorter */
    struct flow *pending;            /* flows of emptied slots, not visited yet */
    uint64_t used[WHEEL_SLOTS / 64]; /* a bit for each slot that may contain flows */
    struct flow *slots[WHEEL_SLOTS];
};

void wheel_add(struct flow_table *table, struct flow *flow);
void wheel_remove(struct flow *flow); /* does nothing when it is in no slot */
/* Returns the next flow that has expired at now_ns, still in the wheel; NULL when there is none or *visits, counted
 * down, is 0. */
struct flow *wheel_next_expired(struct flow_table *table, uint64_t now_ns, size_t *visits);
/* Sets the time of a wheel that has not started yet. */
void wheel_set_start(struct flow_table *table, uint64_t now_ns);
/* Removes all flows and returns them as a list by wheel_next. */
struct flow *wheel_remove_all(struct wheel *wheel);

/* --- table.c -------------------------------------------------------------------------------------- */

enum flow_counter {
    FLOW_COUNTER_MEMCAP,
    FLOW_COUNTER_TOTAL,
    FLOW_COUNTER_ACTIVE, /* a gauge */
    FLOW_COUNTER_TCP,
    FLOW_COUNTER_UDP,
    FLOW_COUNTER_ICMPV4,
    FLOW_COUNTER_ICMPV6,
    FLOW_COUNTER_TCP_REUSE,
    FLOW_COUNTER_GET_USED,
    FLOW_COUNTER_GET_USED_EVAL,
    FLOW_COUNTER_GET_USED_FAILED,
    FLOW_COUNTER_EVICTED, /* of those, flows that were no longer new */
    FLOW_COUNTER_EMERGENCY_ENTERED,
    FLOW_COUNTER_EMERGENCY_OVER,
    FLOW_COUNTER_SPARE,  /* a gauge */
    FLOW_COUNTER_MEMUSE, /* a gauge */
    FLOW_COUNTER_VARIABLE_MEMCAP,
    FLOW_COUNTER_CONNTRACK_REPLY, /* the first packet was the server's, according to conntrack */
    FLOW_COUNTER_END_STATE,       /* one counter per state */
    FLOW_COUNTER_END_CAPTURED = FLOW_COUNTER_END_STATE + FLOW_STATE_COUNT,
    FLOW_COUNTER_BYPASSED_CLOSED, /* ended together with their connections */
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
    struct pool *flows, *variables, *texts, *kernels, *macs;    /* macs: NULL unless options.mac_addresses */
    struct flow *newest, *oldest;                               /* flows in state FLOW_NEW, by their start */
    struct flow_list settled[2];                                /* all other flows, [1]: TCP */
    uint64_t timeout_ns[2][FLOW_CLASS_COUNT][FLOW_STATE_COUNT]; /* [1]: emergency */
    struct flow_options options;
    struct key_secret secret;
    flow_end_function *end;
    void *user;
    struct pool *bucket_pool;
    size_t leave_emergency_at; /* number of flows in use at which the emergency ends */
    uint64_t counters[FLOW_COUNTER_COUNT];
    struct wheel wheel;
};

static inline uint64_t flow_timeout_ns(const struct flow_table *table, const struct flow *flow)
{
    return table->timeout_ns[table->emergency][flow->class][flow->state];
}

/* Whether the flow has expired. Time may go back: then it has not. */
static inline bool flow_has_expired(const struct flow_table *table, const struct flow *flow, uint64_t now_ns)
{
    return now_ns > flow->last_ns && now_ns - flow->last_ns > flow_timeout_ns(table, flow);
}

/* In idle.c: flows that are not FLOW_NEW, evicted when a full table has no new flows. */
void settled_add(struct flow_table *table, struct flow *flow);
void settled_remove(struct flow_table *table, struct flow *flow);
struct flow *find_idle_flow(struct flow_table *table, uint64_t now_ns); /* NULL when none may be evicted */

/* In table.c: adds a flow of another process, whose key hash is set, to the table. */
void flow_add_transferred(struct flow_table *table, struct flow *flow);

/* --- mac.c ---------------------------------------------------------------------------------------- */

/* Adds the MAC addresses of a packet to its flow's; does nothing when there is no memory, or a side has FLOW_MACS_MAX
 * of them. */
void macs_record(struct flow_table *table, struct flow *flow, const struct packet *pkt, enum flow_direction direction);
void macs_swap(struct flow *flow);
void macs_free(struct flow_table *table, struct flow *flow);

/* --- report.c ------------------------------------------------------------------------------------- */

void kernel_counts_free(struct flow_table *table, struct flow *flow);
/* In table.c: returns the flow with this key, expired or not. */
struct flow *flow_find_key(struct flow_table *table, const struct flow_key *key, enum flow_direction *direction);

/* --- variable.c ----------------------------------------------------------------------------------- */

size_t variable_size(void);
size_t variable_text_size(void);
void variables_free(struct flow_table *table, struct flow *flow);

#endif
