/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a ruleset: signatures; groups of rules by traffic, ports and direction; indexes by address and event; the
 * state map. Immutable after ruleset_new().
 */
#ifndef SLUICE_DETECT_RULESET_PRIV_H
#define SLUICE_DETECT_RULESET_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/detect.h"
#include "sluice/keyword.h"
#include "literal.h"
#include "signature.h"

struct address_index;
struct evaluation;
struct prefilter;
struct transaction_group;
struct filter;
struct frame_group;

/* Kinds of traffic, for each of which rules are grouped separately, so that UDP is not searched for literals of TCP
 * rules. */
enum traffic { TRAFFIC_TCP, TRAFFIC_UDP, TRAFFIC_OTHER, TRAFFIC_COUNT };

struct signature_list {
    uint32_t *index; /* indices into ruleset.signatures, ascending; NULL: empty */
    uint32_t count, capacity;
};

/* A rule without a literal, which is a candidate for every packet of its group that meets `needs`. The needs are copied
 * to an adjacent array, so that the check of a rule reads no other memory. */
struct unfiltered {
    struct packet_needs needs;
    uint32_t signature;
    bool needs_variables;  /* the rule cannot match in a flow without variables */
    uint64_t applications; /* copy of signature.applications */
};
struct unfiltered_list {
    struct unfiltered *entries; /* ascending by signature */
    uint32_t count, capacity;
};

/* A packet buffer other than the payload, with its own prefilter. */
struct buffer_prefilter {
    const struct keyword *buffer;
    struct prefilter *prefilter;
};

/* The rules of a group for one direction. */
struct group_side {
    struct prefilter *prefilter;                          /* NULL if no rule has a literal in the payload */
    struct unfiltered_list unfiltered, stream_unfiltered; /* rules without a literal, for packets; `stream_unfiltered`:
                                                             rules without a literal, for stream chunks */
};

/* Rules for the same traffic and ports, by direction. A rule that `flow` does not restrict to a direction is in both
 * sides. If both sides have the same rules (mostly in UDP), they share one prefilter. */
struct rule_group {
    struct group_side to[FLOW_DIRECTIONS];
};

enum { PORT_TRAFFICS = 2 /* TCP and UDP */, GROUPS_PER_PACKET = 3 };
enum port_end { PORT_DESTINATION, PORT_SOURCE, PORT_ENDS };

enum { RULESET_MAX_BUFFERS = 64, RULESET_MAX_EVENTS = PACKET_EVENT_WORDS * 64 };

/* SIGNATURE_NONE: this ruleset does not contain the rule. */
enum { SIGNATURE_NONE = UINT32_MAX };
struct state_map {
    uint32_t *signatures; /* new index by index in the previous ruleset; NULL: no previous ruleset */
    uint32_t count;
    unsigned generation; /* generation of the previous ruleset */
};

struct ruleset {
    struct rule_list *rules;
    unsigned generation;
    uint64_t loaded_ns;
    struct state_map state_map;
    struct filter *filter;        /* firewall rules; NULL: they are not evaluated */
    struct signature *signatures; /* in evaluation order; firewall rules come first, in the order of the files */
    uint32_t signature_count;

    struct rule_group generic[TRAFFIC_COUNT]; /* rules for any port, by traffic */
    struct rule_group *groups;                /* rules for specific ports; the first group is empty */
    uint32_t group_count;
    uint16_t *group_of;                                 /* index into groups by [traffic][end][port] */
    struct signature_list ip_only[TRAFFIC_COUNT];       /* address-only rules */
    struct address_index *ip_only_index[TRAFFIC_COUNT]; /* index of ip_only by address */
    struct signature_list early[FILTER_PACKET_HOOKS];   /* rules with the hook pre_flow or pre_stream, without those of
                                                           the firewall */
    struct signature_list without_ip;                   /* rules that match packets without an IP header */
    struct arena *arena;                                /* memory of transaction plans */
    struct transaction_group *transactions;             /* [protocol id][direction] */
    struct signature_list *by_event;                    /* per packet event: the rules that require the event */
    struct buffer_prefilter buffers[RULESET_MAX_BUFFERS];
    uint32_t buffer_count;
    bool needs_checksums;                        /* some rule tests checksums */
    unsigned file_needs;                         /* union of all rules' needs: RULE_FILE_* */
    struct frame_group *frames;                  /* by [protocol id][type]; NULL: no rule selects frames */
    uint16_t frame_types[APP_MAX_PROTOCOLS + 1]; /* types of frames that rules select, by protocol id */
    bool needs_conntrack;                        /* some rule tests conntrack data */
    struct ruleset_databases databases;
    struct signature_list acknowledgment_rules; /* rules that need acknowledgments */
    uint32_t search_count;                      /* number of searches (searches.c) */
    bool scans_packets; /* some TCP rule with a literal inspects packets, so payload that is in the stream is scanned
                           for packets, too */
};

/* --- ruleset.c ------------------------------------------------------------------------------------ */

/* Returns whether the rule is in groups of this kind of traffic. */
bool signature_admits_traffic(const struct signature *signature, enum traffic traffic);
/* Returns the packet event that the rule requires, or -1 if it requires none. */
int rule_required_event(const struct rule *rule);

/* --- acknowledgment.c ----------------------------------------------------------------------------- */

/* Finds the rules that need acknowledgments: ruleset_needs_acknowledgments(). */
bool signature_needs_acknowledgments(const struct signature *signature);
int acknowledgment_rules_find(struct ruleset *ruleset); /* 0 or -ENOMEM */

/* --- state_map.c ---------------------------------------------------------------------------------- */

/* Maps the signatures of the previous ruleset; called after signatures_new(). Returns 0 or -ENOMEM. */
int state_map_new(struct ruleset *ruleset, const struct ruleset *before);
/* Returns whether detection state of a ruleset with this generation can be mapped to `ruleset`. */
bool state_map_covers(const struct ruleset *ruleset, uint32_t generation);
/* Returns the new index of a signature of the previous ruleset, or SIGNATURE_NONE. */
uint32_t state_map_signature(const struct ruleset *ruleset, uint32_t signature);

/* --- group.c -------------------------------------------------------------------------------------- */

int signature_list_add(struct signature_list *list, uint32_t signature); /* 0 or -ENOMEM */

/* A rule that is being added to a group. */
struct group_entry {
    uint32_t signature;
    struct packet_needs needs;
    uint64_t applications; /* copy of signature.applications; checked first for rules without a literal */
    bool has_literal, has_payload, in_stream, needs_variables;
    struct literal literal;
};
int group_add(struct rule_group *group, const struct group_entry *entry); /* 0 or -ENOMEM */
/* Lets both directions share one prefilter if theirs are equal; called after the last rule. */
void group_share(struct rule_group *group);
void group_clear(struct rule_group *group);
/* Writes the prefilters of both directions to `out`; NULL for a missing or shared one. */
enum { GROUP_PREFILTERS = FLOW_DIRECTIONS };
void group_prefilters(const struct rule_group *group, struct prefilter *out[GROUP_PREFILTERS]);

/* Collects the rules of a ruleset by port; rules for many ports go into the generic group at once. */
struct group_builder;
int group_builder_new(struct group_builder **out);
void group_builder_free(struct group_builder *builder);
int group_builder_add(struct group_builder *builder, struct ruleset *ruleset, enum traffic traffic,
                      const struct group_entry *entry);
/* Returns the ports in whose groups the rule is, and sets *end to the end (source or destination) of these ports.
 * Returns NULL if the rule is in the generic group. `literal` is NULL for a rule without a literal. */
const struct port_set *group_ports(const struct signature *signature, enum traffic traffic,
                                   const struct literal *literal, enum port_end *end);
int group_builder_finish(struct ruleset *ruleset, const struct group_builder *builder);

/* Writes the groups that apply to the packet and its direction; returns their number. */
unsigned groups_of_packet(const struct evaluation *ev, enum traffic traffic,
                          const struct group_side *out[GROUPS_PER_PACKET]);

/* --- address_index.c ------------------------------------------------------------------------------ */

/* Builds the index over the addresses of the signatures. Returns 0 or -ENOMEM. */
struct address_index;
int address_index_new(struct address_index **out, const struct ruleset *ruleset,
                      const struct signature_list *signatures);
void address_index_free(struct address_index *index);
/* Adds all signatures whose addresses may match the packet to the candidates. The packet has an IP header. */
void address_index_find(const struct address_index *index, struct detector *detector, const struct packet *pkt);

/* --- frame.c -------------------------------------------------------------------------------------- */

bool rule_is_of_frame(const struct rule *rule);
int frame_rule_add(struct ruleset *ruleset, uint32_t index); /* 0 or -ENOMEM */
/* Number of groups of frames, and the prefilter of one of them; NULL: it has none. */
size_t frame_group_count(const struct ruleset *ruleset);
struct prefilter *frame_prefilter(const struct ruleset *ruleset, size_t number);
void frame_groups_clear(struct ruleset *ruleset);

/* --- searches.c ----------------------------------------------------------------------------------- */

/* A prefilter of a ruleset, and what it searches. */
struct prefilter_use {
    struct prefilter *prefilter;
    enum {
        PREFILTER_OF_TRAFFIC, /* payloads with any port; index: enum traffic, number: direction */
        PREFILTER_OF_PORTS,   /* payloads with the ports of a group; index: into ruleset.groups, number: direction */
        PREFILTER_OF_BUFFER,  /* index: into ruleset.buffers */
        PREFILTER_OF_FRAME,   /* index: of the group of frames */
        PREFILTER_OF_TRANSACTION, /* index: into ruleset.transactions, number: see transaction_prefilter() */
    } of;
    uint32_t index, number;
};
/* Returns 0 to continue with the next prefilter. */
typedef int prefilter_visitor(void *user, const struct prefilter_use *use);
/* Calls `visit` for each prefilter of the ruleset, the largest ones first, until it returns another value than 0, which
 * is returned. */
int ruleset_visit_prefilters(const struct ruleset *ruleset, prefilter_visitor *visit, void *user);
/* Gives each search its number; called after the last rule. */
void ruleset_number_searches(struct ruleset *ruleset);

/* --- compile.c ------------------------------------------------------------------------------------ */

/* Compiles all pattern databases. Returns 0, -ENOMEM, or -EINVAL with the cause in `diag`. */
int ruleset_compile(struct ruleset *ruleset, const struct ruleset_options *options, struct diag *diag);

#endif
