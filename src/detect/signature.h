/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signature: the compiled form of a rule.
 *
 * Threads:   immutable after its creation; shared by all workers.
 * Ownership: a signature points to its rule, whose rule_list must outlive it.
 */
#ifndef SLUICE_DETECT_SIGNATURE_H
#define SLUICE_DETECT_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/keyword.h"
#include "sluice/rule.h"

struct ruleset;
struct ruleset_options;
struct transaction_plan;

/* For TCP: the bytes in which contents without a buffer keyword are matched. */
enum payload_scope {
    SCOPE_STREAM, /* the stream; for a packet that is not in a stream, the packet */
    SCOPE_PACKET, /* the packet's payload */
    SCOPE_BOTH,   /* the stream and the packet: offset and depth of the rule count from the start of each */
};

/*
 * The type of a rule as Suricata derives it from its keywords (`suricata --engine-analysis`). It decides whether drop
 * and pass apply to the packet or to its flow: see the text after each colon.
 */
enum rule_type {
    RULE_TYPE_IP_ONLY,           /* only addresses and ports: the flow */
    RULE_TYPE_LIKE_IP_ONLY,      /* only addresses, some negated, and ports: the flow */
    RULE_TYPE_PROTOCOL_DETECTED, /* app-layer-protocol, evaluated when the protocol detection finishes: the flow */
    RULE_TYPE_PACKET,            /* conditions on the packet, decoder events: the packet */
    RULE_TYPE_PACKET_STREAM, /* contents with offset or depth: the flow if they match in the stream, else the packet */
    RULE_TYPE_STREAM,        /* other contents: the flow if they match in the stream, else the packet */
    RULE_TYPE_APP_LAYER,     /* only an application protocol: the flow */
    RULE_TYPE_TRANSACTION,   /* transactions of an application protocol: the flow */
    RULE_TYPE_FRAME,         /* frames of an application protocol: the flow */
};

/* The compiled form of a rule: the data that the evaluation of a candidate reads. A NULL set is `any`. */
struct signature {
    struct packet_needs needs;
    const struct rule *rule;
    const struct address_set *source, *destination;
    const struct port_set *source_port, *destination_port;
    const struct condition *conditions;
    const struct rule_buffer *buffers;
    uint8_t protocol;  /* IPPROTO_*, if one_protocol */
    bool one_protocol; /* false: see any_protocol and rule->protocol.ip_protocols */
    bool any_protocol;
    bool bidirectional;
    bool any_ends; /* the rule restricts neither addresses nor ports */
    bool ipv4, ipv6;
    bool any_packet;  /* the rule also matches packets without an IP header */
    uint8_t scope;    /* enum payload_scope */
    bool has_payload; /* the rule has conditions on the payload */
    bool has_literal; /* the prefilter finds the rule by a literal in the payload. A rule on the stream without such a
                         literal is evaluated for every chunk */
    uint8_t type;     /* enum rule_type */
    bool of_transaction;         /* true: evaluated on transactions, by its plans; false: on packets */
    bool of_frame;               /* true: evaluated on frames */
    bool frame_start, frame_end; /* of_frame: a condition refers to the start, or the end, of the frame */
    bool transactional;    /* the rule uses `=>`: evaluated for packets to the client, although its header describes
                              packets to the server */
    uint64_t applications; /* bits by application protocol id: the flow must have one of these protocols; 0: any */
    struct transaction_plan *plans;
    bool may_span_segments; /* the literal may arrive in an earlier segment than the rest of the match */
    bool by_payload;        /* transaction rule that is evaluated only after its literal was found in the payload */
};

/* Compiles a finished rule; the members that depend on the other rules (has_literal, plans, by_payload) are set
 * when the rule is added to a group. */
void signature_compile(struct signature *signature, const struct rule *rule);
/* Creates one signature per rule of ruleset->rules, in evaluation order. Returns 0 or -ENOMEM. */
int signatures_new(struct ruleset *ruleset, const struct ruleset_options *options);

#endif
