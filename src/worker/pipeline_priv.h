/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the files of the pipeline share. */
#ifndef SLUICE_PIPELINE_PRIV_H
#define SLUICE_PIPELINE_PRIV_H

#include "sluice/pipeline.h"

/* --- pipeline.c ----------------------------------------------------------------------------------- */

/* Inspects and logs the rest of a flow that ends, and frees its state. A flow_end_function; `user` is the pipeline. */
void pipeline_end_flow(struct flow *flow, enum flow_end reason, void *user);

/* --- pseudo_packet.c ------------------------------------------------------------------------------ */

/* Returns a pseudo packet of the flow: a packet without data, with which the rest of a flow is inspected and logged. */
struct packet pseudo_packet(struct flow *flow, uint64_t now_ns, enum flow_direction direction);

/* --- transactions.c ------------------------------------------------------------------------------- */

/* Writes the due events of a transaction and of its files. `pkt`: the packet that completed the transaction;
 * `flow_ends`: all remaining events are due. */
void transaction_log(struct pipeline *pipeline, const struct packet *pkt, const struct flow *flow, struct app_tx *tx,
                     bool flow_ends);
/* Writes the due events of all transactions that the packet changed, and frees complete transactions. */
void transactions_tidy(struct pipeline *pipeline, const struct packet *pkt);

/* --- frames.c ------------------------------------------------------------------------------------- */

/* Determines the types of frames that rules and outputs use, after a change of the ruleset. */
void frames_configure(struct pipeline *pipeline);
/* Writes the due events of the frames in the packet's direction, and removes complete frames. `ends`: no more bytes of
 * the stream will come. */
void frames_tidy(struct pipeline *pipeline, const struct packet *pkt, bool ends);

/* --- packet_policy.c ------------------------------------------------------------------------------ */

/* Applies queue.marked-packets, queue.looping-packets and the policy for truncated packets. Returns true if the verdict
 * is set and the packet must not be inspected. */
bool packet_policy_decides(struct pipeline *pipeline, struct packet *pkt);
/* Returns true if the kernel must segment the packet before it can be inspected. */
bool packet_needs_segments(struct pipeline *pipeline, const struct decoded_packet *decoded, const struct packet *pkt);

/* --- app_eviction.c ------------------------------------------------------------------------------- */

/* Frees parser memory of idle flows when app-layer.memcap is nearly reached. Must not be called while a flow is
 * inspected. */
void evict_app_memory(struct pipeline *pipeline);

/* --- load_shedding.c ------------------------------------------------------------------------------ */

/* Bypasses the flow of an inspected packet if the flow belongs to a class that is being shed. */
void shed_flow(struct pipeline *pipeline, struct flow *flow);

#endif
