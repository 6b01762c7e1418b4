/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal interfaces of policy: threshold state and evaluation, match statistics, tags. */
#ifndef SLUICE_POLICY_PRIV_H
#define SLUICE_POLICY_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/policy.h"
#include "sluice/shared_table.h"

/* Key of a threshold state. Unused fields are zero. The rule is identified by gid and sid and not by a pointer, so that
 * the state remains valid after a reload. */
struct threshold_key {
    uint32_t gid, sid;
    uint8_t kind;
    uint8_t ip_version;
    uint8_t track;
    uint8_t protocol; /* protocol and ports are set for by_flow only; then start time and VLANs of the flow are also
                         mixed into the addresses */
    uint16_t first_port, second_port;
    struct address first, second;
};

struct threshold_state {
    /* entry.expires_ns: end of the window, of the rate_filter's timeout, or of the backoff */
    struct shared_entry entry;
    struct threshold_key key;
    uint64_t start_ns;   /* start of the window */
    uint64_t timeout_ns; /* rate_filter: time at which the new action took effect; 0: it is not in effect */
    uint32_t count;
    uint32_t next_count; /* backoff: the value of `count` at which the next match is reported */
    uint32_t seen_block; /* unique_on: index of the first block of seen ports; 0: none */
};

/* --- threshold_table.c ---------------------------------------------------------------------------- */

struct threshold_table;
int threshold_table_new(struct threshold_table **out, size_t memcap, uint64_t seed);
void threshold_table_free(struct threshold_table *table);
/* number of states evicted because of the memcap */
uint64_t threshold_table_evicted(const struct threshold_table *table);
size_t threshold_table_memory(const struct threshold_table *table);

/* Locks and returns the shard of the key. */
struct shared_shard *threshold_table_lock(struct threshold_table *table, const struct threshold_key *key);
/* Adds a port to the seen ports of a state (unique_on). PORT_KNOWN: it was added before; PORT_NO_MEMORY: it could not
 * be stored. The cost is linear in the number of ports. */
enum port_status { PORT_KNOWN, PORT_NEW, PORT_NO_MEMORY };
enum port_status threshold_table_add_port(struct threshold_table *table, const struct shared_shard *shard,
                                          struct threshold_state *state, uint16_t port);
/* Transfers all states that have not expired before now_ns. */
void threshold_table_transfer(struct transfer *t, struct threshold_table *table, uint64_t now_ns);
/* Frees the seen ports of a state. */
void threshold_table_clear_ports(struct threshold_table *table, const struct shared_shard *shard,
                                 struct threshold_state *state);

/* --- threshold.c ---------------------------------------------------------------------------------- */

enum threshold_outcome {
    OUTCOME_IGNORE, /* treat the match as if the rule had not matched */
    OUTCOME_REPORT, /* alert and apply the action */
    OUTCOME_SILENT, /* apply the action without an alert */
};

/* Counts a match for the threshold and returns what to do with it. A rate_filter may change *action. Increments
 * *memcap_hits for a state or port that could not be allocated. */
enum threshold_outcome threshold_apply(struct threshold_table *table, const struct threshold *threshold,
                                       const struct rule *rule, const struct packet *pkt, enum rule_action *action,
                                       uint64_t *memcap_hits);

/* --- history.c ------------------------------------------------------------------------------------ */

void count_rule_match(struct rule_tally *tallies, const struct rule *rule, const struct packet *pkt);
void count_rule_alert(struct rule_tally *tallies, const struct rule *rule);
void count_rule_drop(struct rule_tally *tallies, const struct rule *rule);
void count_rule_would_drop(struct rule_tally *tallies, const struct rule *rule);
void count_rule_limit(struct rule_tally *tallies, const struct rule *rule);
void rule_tallies_transfer(struct transfer *t, struct rule_tally *tallies, struct rule_names *names);

struct history_match {
    const struct rule *rule;
    enum rule_action action;
    bool reported, blocked, would_drop, silenced;
};
struct pool;
/* Records a match in the history of the flow; does nothing if a history cannot be allocated. */
void history_record_match(struct pool *pool, struct flow *flow, const struct packet *pkt,
                          const struct history_match *match);
/* Transfers the history of a flow; the writer's flow must have one. */
void history_transfer(struct transfer *t, struct pool *pool, struct flow *flow);

/* --- tag.c ---------------------------------------------------------------------------------------- */

struct host_tags; /* table of the tags of hosts, which all workers share */
struct replay_order;
int host_tags_new(struct host_tags **out, size_t memcap, uint64_t seed);
void host_tags_free(struct host_tags *tags);
/* Creates the pool for the flow tags of a worker. Returns 0 or -ENOMEM. */
int flow_tags_new(struct pool **out, size_t memcap);

/* Adds the tags of a rule that matched to the packet's flow, or to its source or destination host. */
void tag_add(struct pool *pool, struct host_tags *hosts, struct replay_order *order, struct packet *pkt,
             const struct rule *rule);
/* Counts a packet for the tags of its flow and hosts. Returns true if one of the tags requests that the packet be
 * logged. `has_host_tags` is true if a loaded rule tags hosts. */
bool tag_count_packet(struct host_tags *hosts, bool has_host_tags, struct replay_order *order, struct packet *pkt);
/* Transfer the tags of a flow (the writer's flow must have tags), and the tags of all hosts. */
void tag_transfer_flow(struct transfer *t, struct pool *pool, struct flow *flow);
void host_tags_transfer(struct transfer *t, struct host_tags *tags);

#endif
