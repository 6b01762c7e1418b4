/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of the worker that write records into its ring.
 */
#ifndef SLUICE_OUTPUT_COLLECT_H
#define SLUICE_OUTPUT_COLLECT_H

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/app.h"
#include "sluice/output.h"
#include "sluice/stream.h"
#include "sluice/text.h"

#include "record.h"
#include "flow_record.h"

/* Which events the packet gives, of those wanted; 0: none. */
uint32_t record_kinds(uint32_t wanted, const struct eve_options *eve, const struct packet *pkt,
                      const struct decision *decision);
/* How many of one kind. */
uint64_t record_event_count(enum output_event kind, const struct eve_options *eve, const struct packet *pkt,
                            const struct decision *decision);
/* FLOW_DROP_LOGGED of the packet's direction. */
uint16_t record_drop_flag(const struct packet *pkt);
/* A record is made in three steps: what has no fixed size is collected, the size asked for, the record written to
 * `out`. */
void record_collect(struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                    const struct packet *pkt, const struct decision *decision);
size_t record_size(const struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                   const struct packet *pkt, const struct decision *decision);
void record_write(struct packet_record *out, const struct record_scratch *scratch, const struct eve_options *eve,
                  uint32_t kinds, const struct packet *pkt, const struct decision *decision, unsigned generation);

/* What events of all kinds say of their packet. */
void record_copy_packet(struct packet_record *out, const struct packet *pkt);
/* Puts what lies behind a record in its place; where the next goes. */
uint8_t *record_append(uint8_t *at, const void *bytes, size_t size);

/* An event of a transaction: as a packet's record, whose fields are the event's own members. */
void app_record_write(struct packet_record *out, const struct record_scratch *scratch, uint32_t kind, const char *type,
                      const struct packet *pkt, const struct flow *flow, const struct app_tx *tx, unsigned generation);
size_t app_record_size(const struct record_scratch *scratch);
void app_alert_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct packet *pkt,
                       const struct decision *decision);

/* The client of a transaction, or of the first of a flow's that tells one. Not known when the options do not ask. */
struct record_client client_of_tx(const struct xff_options *options, const struct app_tx *tx);
struct record_client client_of_flow(const struct xff_options *options, const struct flow *flow);
/* "192.0.2.1, [2001:db8::1]:80" */
struct record_client client_parse(const uint8_t *bytes, uint32_t length, bool first);

/* The same for flows. */
void flow_facts_copy(struct flow_facts *out, const struct flow *flow);
/* Of the packet, which has `texts`, and of its flow; NULL for either. */
void flow_variables_collect(struct record_scratch *scratch, const struct rule_captures *texts, const struct flow *flow);
uint64_t flow_record_event_count(enum output_event kind, const struct flow *flow);
void flow_record_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct flow *flow);
size_t flow_record_size(const struct record_scratch *scratch);
void flow_record_write(struct flow_record *out, const struct record_scratch *scratch, uint32_t kinds,
                       const struct flow *flow, enum flow_end reason, unsigned generation);

/* --- A port, for those who write records (output.c) ----------------------------------------------- */

void *output_reserve(struct output_port *port, size_t size); /* NULL: the ring is full */
void output_commit(struct output_port *port);
void output_lose(struct output_port *port, enum output_event kind);
uint32_t output_wanted(const struct output_port *port); /* bits 1 << enum output_event */
const struct eve_options *output_eve(const struct output_port *port);
struct record_scratch *output_scratch(struct output_port *port);

#endif
