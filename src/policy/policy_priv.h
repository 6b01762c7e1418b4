/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside policy: the state of thresholds (threshold_table.c), and what they decide (threshold.c). */
#ifndef SLUICE_POLICY_PRIV_H
#define SLUICE_POLICY_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/policy.h"
#include "sluice/shared_table.h"

/* What a count belongs to. Unused fields are zero; the rule's ids make it survive a reload. */
struct threshold_key {
    uint32_t gid, sid;
    uint8_t kind;
    uint8_t ip_version;
    uint8_t track;
    uint8_t protocol; /* with the ports: by_flow, where the flow's start and VLANs are added to the addresses */
    uint16_t first_port, second_port;
    struct address first, second;
};

struct threshold_state {
    struct shared_entry entry; /* expires_ns: the end of the window, or of what counts longer */
    struct threshold_key key;
    uint64_t start_ns;   /* of the window */
    uint64_t timeout_ns; /* rate_filter: when the new action began, 0 while it has not */
    uint32_t count;
    uint32_t next_count; /* backoff */
    uint32_t seen_block; /* unique_on: the first block of seen ports, 0 for none */
};

/* --- threshold_table.c ---------------------------------------------------------------------------- */

struct threshold_table;
int threshold_table_new(struct threshold_table **out, size_t memcap, uint64_t seed);
void threshold_table_free(struct threshold_table *table);
uint64_t threshold_table_evicted(const struct threshold_table *table); /* states that gave way to others */
size_t threshold_table_memory(const struct threshold_table *table);

/* Locks the shard of the key. */
struct shared_shard *threshold_table_lock(struct threshold_table *table, const struct threshold_key *key);
/* Marks a port as seen for the state. The cost grows with the ports that it has. */
enum port_seen { PORT_OLD, PORT_NEW, PORT_NO_MEMORY };
enum port_seen threshold_table_see_port(struct threshold_table *table, const struct shared_shard *shard,
                                        struct threshold_state *state, uint16_t port);
/* All states, but those that expired before now_ns. */
void threshold_table_transfer(struct transfer *t, struct threshold_table *table, uint64_t now_ns);
/* Forgets the ports seen. */
void threshold_table_forget_ports(struct threshold_table *table, const struct shared_shard *shard,
                                  struct threshold_state *state);

/* --- threshold.c ---------------------------------------------------------------------------------- */

enum threshold_outcome {
    OUTCOME_NOTHING, /* as if the rule had not matched */
    OUTCOME_REPORT,  /* alert and act */
    OUTCOME_SILENT,  /* act, but don't alert */
};

/* `*action` is changed by a rate_filter. `*memcap_hits` counts states that could not be made. */
enum threshold_outcome threshold_apply(struct threshold_table *table, const struct threshold *threshold,
                                       const struct rule *rule, const struct packet *pkt, enum rule_action *action,
                                       uint64_t *memcap_hits);

/* --- history.c ------------------------------------------------------------------------------------ */

void tally_match(struct rule_tally *tallies, const struct rule *rule, const struct packet *pkt);
void tally_alert(struct rule_tally *tallies, const struct rule *rule);
void tally_drop(struct rule_tally *tallies, const struct rule *rule);
void tally_would_drop(struct rule_tally *tallies, const struct rule *rule);
void tally_limit(struct rule_tally *tallies, const struct rule *rule);
void tally_transfer(struct transfer *t, struct rule_tally *tallies, struct rule_names *names);

struct history_match {
    const struct rule *rule;
    enum rule_action action;
    bool reported, blocked, would_drop, silenced;
};
struct pool;
/* What became of a match, kept with the flow as long as there is memory. */
void history_note(struct pool *pool, struct flow *flow, const struct packet *pkt, const struct history_match *match);
/* Of a flow that has one, when it is written. */
void history_transfer(struct transfer *t, struct pool *pool, struct flow *flow);

/* --- tag.c ---------------------------------------------------------------------------------------- */

struct host_tags; /* shared */
struct turn;
int host_tags_new(struct host_tags **out, size_t memcap, uint64_t seed);
void host_tags_free(struct host_tags *tags);
/* A pool for the tags of a worker's flows. */
int flow_tags_new(struct pool **out, size_t memcap);

/* The tags of a rule that matched. */
void tag_add(struct pool *pool, struct host_tags *hosts, struct turn *turn, struct packet *pkt,
             const struct rule *rule);
/* Counts a packet to the tags of its flow and hosts; true when one wants it written. `has_host_tags`: a rule has one.
 */
bool tag_use(struct host_tags *hosts, bool has_host_tags, struct turn *turn, struct packet *pkt);
/* Of a flow that has some, when it is written; and those of all hosts. */
void tag_transfer_flow(struct transfer *t, struct pool *pool, struct flow *flow);
void host_tags_transfer(struct transfer *t, struct host_tags *tags);

#endif
