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

/* Returns the kinds of events to record for the packet, a subset of `wanted` (bits 1 << enum output_event). */
uint32_t record_kinds(uint32_t wanted, const struct eve_options *eve, const struct packet *pkt,
                      const struct decision *decision);
/* Returns the number of events of this kind that the packet has. */
uint64_t record_event_count(enum output_event kind, const struct eve_options *eve, const struct packet *pkt,
                            const struct decision *decision);
/* Returns the flow flag which says that a drop event was written for the packet's direction: FLOW_DROP_LOGGED or
 * FLOW_DROP_LOGGED_TO_CLIENT. */
uint16_t record_drop_flag(const struct packet *pkt);
/* A record is written in three steps: record_collect() collects the parts of variable length in `scratch`,
 * record_size() returns the size to reserve in the ring, record_write() writes the record to `out`. */
void record_collect(struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                    const struct packet *pkt, const struct decision *decision);
size_t record_size(const struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                   const struct packet *pkt, const struct decision *decision);
void record_write(struct packet_record *out, const struct record_scratch *scratch, const struct eve_options *eve,
                  uint32_t kinds, const struct packet *pkt, const struct decision *decision, unsigned generation);

/* Copies the fields of the packet that events of all kinds have. */
void record_copy_packet(struct packet_record *out, const struct packet *pkt);
/* Copies a part that follows a record to `at`. Returns the address of the next part. */
uint8_t *record_append(uint8_t *at, const void *bytes, size_t size);

/* Write an event of a transaction or file as a struct packet_record; its fields are the members of the event. */
void app_record_write(struct packet_record *out, const struct record_scratch *scratch, uint32_t kind, const char *type,
                      const struct packet *pkt, const struct flow *flow, const struct app_tx *tx, unsigned generation);
size_t app_record_size(const struct record_scratch *scratch);
void app_alert_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct packet *pkt,
                       const struct decision *decision);

void flow_facts_copy(struct flow_facts *out, const struct flow *flow);
/* Collects the texts that rules captured in the packet, and the variables of the flow, in `scratch`. `texts` and `flow`
 * may be NULL. */
void flow_variables_collect(struct record_scratch *scratch, const struct rule_captures *texts, const struct flow *flow);
uint64_t flow_record_event_count(enum output_event kind, const struct flow *flow);
void flow_record_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct flow *flow);
size_t flow_record_size(const struct record_scratch *scratch);
void flow_record_write(struct flow_record *out, const struct record_scratch *scratch, uint32_t kinds,
                       const struct flow *flow, enum flow_end reason, unsigned generation);

/* --- Writing records to a port (output.c) --------------------------------------------------------- */

void *output_reserve(struct output_port *port, size_t size); /* returns space for a record; NULL: the ring is full */
void output_commit(struct output_port *port);
void output_count_lost(struct output_port *port, enum output_event kind);
uint32_t output_wanted(const struct output_port *port); /* enabled events: bits 1 << enum output_event */
const struct eve_options *output_eve(const struct output_port *port);
struct record_scratch *output_scratch(struct output_port *port);

#endif
