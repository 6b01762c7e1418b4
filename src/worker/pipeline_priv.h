/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the pipeline that have separate files. */
#ifndef SLUICE_PIPELINE_PRIV_H
#define SLUICE_PIPELINE_PRIV_H

#include "sluice/pipeline.h"

/* --- pipeline.c ----------------------------------------------------------------------------------- */

/* A flow_end_function; `user` is the pipeline: inspects and logs the rest of a flow that ends, and frees its state. */
void pipeline_end_flow(struct flow *flow, enum flow_end reason, void *user);

/* --- rewrite.c ------------------------------------------------------------------------------------ */

int rewriter_init(struct rewriter *rewriter); /* 0 or -ENOMEM */
void rewriter_clear(struct rewriter *rewriter);
/* Allows rules to replace bytes of the packet until rewriter_finish(). */
void rewriter_begin(struct rewriter *rewriter, struct packet *pkt);
/* Sets pkt->new_data to the packet with the bytes that rules and the stream replaced, lent until the end of the batch.
 * False: the packet is forwarded without the bytes that rules replaced. */
bool rewriter_finish(struct rewriter *rewriter, struct packet *pkt);
/* Calls rewriter_finish() unless alert-only forbids changes, and counts. */
void pipeline_finish_rewriting(struct pipeline *pipeline, struct packet *pkt);
/* Removes URG from an inspected packet if the stream is not parsed both with and without its urgent byte
 * (stream.urgent-policy both). */
void pipeline_settle_urgent(struct pipeline *pipeline, struct packet *pkt);

/* --- pseudo_packet.c ------------------------------------------------------------------------------ */

/* Returns a packet of the flow without data, with which the rest of a flow is inspected and logged. */
struct packet pseudo_packet(struct flow *flow, uint64_t now_ns, enum flow_direction direction);

/* --- transactions.c ------------------------------------------------------------------------------- */

/* Writes the events of a transaction and of its files that are due. `pkt` is the packet that completed it. */
void transaction_log(struct pipeline *pipeline, const struct packet *pkt, const struct flow *flow, struct app_tx *tx,
                     bool flow_ends);
/* Writes the events that are due of all transactions that the packet changed, and frees complete transactions. */
void transactions_tidy(struct pipeline *pipeline, const struct packet *pkt);

/* --- packet_policy.c ------------------------------------------------------------------------------ */

/* Decides about marked and looping packets (queue.marked-packets, queue.looping-packets). True: the verdict is set, and
 * the packet is not inspected. */
bool packet_policy_decides(struct pipeline *pipeline, struct packet *pkt);
/* Whether the kernel must segment the packet before it can be inspected. */
bool packet_needs_segments(struct pipeline *pipeline, const struct decoded_packet *decoded, const struct packet *pkt);

/* --- app_eviction.c ------------------------------------------------------------------------------- */

/* Frees parser memory of idle flows when app-layer.memcap is nearly reached. Not while a flow is inspected. */
void evict_app_memory(struct pipeline *pipeline);

/* --- load_shedding.c ------------------------------------------------------------------------------ */

/* Bypasses the flow of an inspected packet if it belongs to a class that is shed now. */
void shed_flow(struct pipeline *pipeline, struct flow *flow);

#endif
