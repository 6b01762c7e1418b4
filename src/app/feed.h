/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of stream bytes to the readings of a flow: the functions of feed.c (known protocol), feed_unknown.c (protocol
 * detection) and reading.c (readings as several protocols). f->af is the reading to which the bytes are fed;
 * `direction` is the direction of the bytes.
 */
#ifndef SLUICE_APP_FEED_H
#define SLUICE_APP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/flow.h"

#include "app_priv.h"

/* --- feed.c --------------------------------------------------------------------------------------- */

/* Context for feeding bytes to the parser of a reading. */
struct feeding {
    struct app *app;
    struct app_flow *af;
    struct app_verdict *verdict; /* out; for streams, only the verdict of the main reading is used */
    uint64_t now_ns;             /* time of the current packet */
    unsigned transport;          /* APP_TCP or APP_UDP */
};

/* Returns the main reading of the flow and creates it if necessary. Returns NULL without memory (verdict->exception is
 * set), or if detection has failed in a TCP flow that has no reading. */
struct app_flow *app_get_flow(struct app *app, struct flow *flow, struct app_verdict *verdict);
/* Starts the parser of a protocol for the reading. Returns false without memory; parsing has stopped then. */
bool app_start_parser(struct feeding *f, unsigned id);
/* Feeds bytes with their stream offset to a reading besides the main one. Bytes that were already fed to this reading
 * are skipped. */
void app_feed_other(struct feeding *f, enum flow_direction direction, struct app_stream_chunk in);
/* Set the protocol of a direction, or of the flow, in flow->application; no effect for readings besides the main one.
 */
void app_set_direction_protocol(struct app_flow *af, enum flow_direction direction, unsigned id);
void app_set_flow_protocol(struct app_flow *af, unsigned id);
/* Records that detection has finished in the direction. */
void app_set_detected(struct app_flow *af, enum flow_direction direction);

/* Stops parsing of the reading and completes its transactions. */
void feed_stop(struct feeding *f);
/* Counts a failure, sets verdict->exception unless the failure is a gap (COUNT_GAP), and stops parsing of the
 * reading. */
void feed_fail(struct feeding *f, enum app_count why);
/* Adds an event of protocol detection to the verdict. */
void feed_set_event(struct feeding *f, enum app_layer_event event);
/* Feeds all buffered bytes of a direction to the parser. */
void feed_pending(struct feeding *f, enum flow_direction direction);
/* Feeds new bytes to the parser; bytes that it does not consume are buffered. */
void feed_known(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);
/* Returns the number of bytes that are missing between the previous bytes of the direction and `bytes`. */
uint64_t feed_gap_before(const struct app_side *side, const struct app_stream_chunk *bytes);

/* --- feed_unknown.c ------------------------------------------------------------------------------- */

/* Buffers new bytes of a direction, and detects the protocol by all buffered bytes. */
void feed_unknown(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);
/* Detects the protocol by the buffered bytes of a direction and starts its parser. Ends detection if no protocol can be
 * found. */
void feed_detect_protocol(struct feeding *f, enum flow_direction direction);
/* Starts the parser of a protocol and feeds the buffered bytes to it, those of `direction` last. */
void feed_start_protocol(struct feeding *f, unsigned id, enum flow_direction direction);
/* Probes the first bytes of a direction after the protocol was detected in the other one. If they belong to another
 * protocol or to none, sets an event. The flow keeps the protocol that was detected first, and the other protocol gets
 * another reading. */
void feed_compare_directions(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);

/* --- reading.c ------------------------------------------------------------------------------------ */

/* Adds a reading of the flow as protocol `id`. Returns NULL if the flow already has a reading as this protocol (TCP:
 * one that has not stopped), if it already has READINGS_MAX, or without memory. */
struct app_flow *app_reading_add(struct feeding *f, unsigned id);
/* Like app_reading_add(), for a protocol that is not certain: the parser is started later. */
struct app_flow *app_reading_add_candidate(struct feeding *f, unsigned id);
/* Returns the flow's reading as protocol `id` that has all urgent bytes; NULL for none. */
struct app_flow *app_reading_find(struct app_flow *main, unsigned id);
/* Whether the flow has readings besides the main one that have not stopped. */
bool app_has_other_readings(const struct app_flow *main);
/* Creates readings that omit the urgent bytes in `in`, as long as the protocol is unknown. Called before the main
 * reading gets these bytes. */
void app_add_urgent_readings(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in);
/* Returns true, and clears main->urgent_unread, if any reading has a protocol. The flow then lacks the readings that
 * omit the urgent byte: when the byte arrived, no protocol could be detected in its direction. Called only while
 * urgent_unread is set. */
bool app_misses_readings(struct app_flow *main);
/* Feeds stream bytes to a reading besides the main one, without the urgent bytes that this reading omits. */
void app_feed_reading(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in);
/* Whether the flow has a reading besides the main one whose protocol has parsed_alongside and whose parser has not
 * failed. */
bool app_has_joined_reading(const struct app_flow *main);
/* Probes the client's bytes in `side` for a protocol with parsed_alongside, because bytes may look like two protocols:
 * "QUIT /path HTTP/1.1" starts like FTP. Returns APP_NO for a protocol without parsed_alongside, without bytes, and for
 * binary bytes if app_proto.is_text is set. */
enum app_probe_result app_reading_guess(const struct feeding *f, const struct app_proto *proto,
                                        const struct app_side *side);
/* Swaps client and server of the flow in all readings. */
void app_swap_directions(struct feeding *f);

#endif
