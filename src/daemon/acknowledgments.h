/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Acknowledgments that the kernel does not queue (nft.offload.acknowledgments): which rules prevent that, and the share
 * of traffic that never reaches a queue. */
#ifndef SLUICE_ACKNOWLEDGMENTS_H
#define SLUICE_ACKNOWLEDGMENTS_H

#include <stdint.h>

#include "sluice/text.h"

struct attachment;
struct ruleset;

/* In all functions `attachment` may be NULL: there is no sluice table. Then they do nothing. */

/* Called when all workers use the ruleset, at the start and after a reload: if rules need acknowledgments, removes the
 * mark from all connections, which a previous ruleset or engine may have left, so that the kernel queues their next
 * acknowledgments. Logs whether acknowledgments are offloaded, and the rules that prevent it. */
void acknowledgments_apply(const struct attachment *attachment, const struct ruleset *ruleset);
/* Writes the member `offload`: the packets and bytes that the kernel handled without queueing them, and the state of
 * acknowledgments. Writes nothing if nothing is offloaded. */
void acknowledgments_json(struct text *out, const struct attachment *attachment, const struct ruleset *ruleset,
                          uint64_t queued_packets, uint64_t queued_bytes);

#endif
