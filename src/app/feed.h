/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of stream bytes to parsers: functions that feed.c (known protocol) and feed_unknown.c (protocol detection)
 * share. `f` is the reading to which the bytes are fed; a direction is that of the bytes.
 */
#ifndef SLUICE_APP_FEED_H
#define SLUICE_APP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/flow.h"

struct feeding;

/* --- feed.c --------------------------------------------------------------------------------------- */

/* Stops parsing of the reading; its transactions are complete. */
void feed_stop(struct feeding *f);
/* The same after a failure, which is counted, and is an exception unless bytes were lost (COUNT_GAP). */
void feed_fail(struct feeding *f, enum app_count why);
void feed_set_event(struct feeding *f, enum app_layer_event event);
/* Feeds all buffered bytes of a direction to the parser. */
void feed_pending(struct feeding *f, enum flow_direction direction);
/* Feeds new bytes to the parser; bytes that it does not consume are buffered. */
void feed_known(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);
/* Returns the number of bytes that are missing between the previous bytes of the direction and these. */
uint64_t feed_gap_before(const struct app_side *side, const struct app_stream_chunk *bytes);

/* --- feed_unknown.c ------------------------------------------------------------------------------- */

/* Buffers new bytes of a direction, and detects the protocol by all that are buffered. */
void feed_unknown(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);
/* Detects the protocol by the buffered bytes of a direction. If there is no protocol to be found, detection ends. */
void feed_detect_protocol(struct feeding *f, enum flow_direction direction);
/* Starts the parser of a protocol and feeds the buffered bytes to it, `direction` last. */
void feed_start_protocol(struct feeding *f, unsigned id, enum flow_direction direction);
/* Probes the first bytes of a direction after the protocol was detected in the other one. If they indicate another
 * protocol, or none, an event is set, and the flow keeps the protocol that was detected first. */
void feed_compare_directions(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);

#endif
