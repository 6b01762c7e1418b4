/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that are forwarded with changed bytes (keyword replace, overlapping stream data, urgent bytes).
 *
 * The rewriter (struct rewriter, sluice/pipeline.h) collects the edits of one packet at a time: rewriter_begin(), then
 * the inspection, whose rules record edits in pkt->edits, then rewriter_finish(). It copies the packet, applies the
 * edits and updates the checksums; the received packet is not changed.
 *
 * Threads:   a rewriter belongs to one worker.
 * Ownership: the new bytes of a packet are valid until the end of the batch: a slot is used again after REWRITE_SLOTS
 *            packets.
 */
#ifndef SLUICE_REWRITE_H
#define SLUICE_REWRITE_H

#include <stdbool.h>

struct packet;
struct pipeline;
struct rewriter;

int rewriter_init(struct rewriter *rewriter); /* allocates the slots; 0 or -ENOMEM */
void rewriter_clear(struct rewriter *rewriter);
/* Called before the packet is inspected: lets rules replace bytes of the packet until rewriter_finish(). */
void rewriter_begin(struct rewriter *rewriter, struct packet *pkt);
/* Sets pkt->new_data to a copy of the packet with the bytes that rules and the stream replaced; the rewriter owns it,
 * and it is valid until the end of the batch. Returns false if the replacements of rules could not be applied. */
bool rewriter_finish(struct rewriter *rewriter, struct packet *pkt);

/* Calls rewriter_finish() unless the mode is alert-only, and counts replacements. */
void pipeline_finish_rewriting(struct pipeline *pipeline, struct packet *pkt);
/* Called after inspection: clears URG in the packet, so that the receiver reads the same bytes as the parsers. Does
 * nothing if the parsers have parsed the stream both with and without the urgent byte (stream.urgent-policy: both). */
void pipeline_settle_urgent(struct pipeline *pipeline, struct packet *pkt);

#endif
