/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of the output thread that format a record as EVE JSON or for the console.
 */
#ifndef SLUICE_OUTPUT_EVE_H
#define SLUICE_OUTPUT_EVE_H

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

/* --- Names ---------------------------------------------------------------------------------------- */

/* "TCP"; NULL where the protocol has no name of its own. */
const char *protocol_name(uint8_t protocol);
bool protocol_has_ports(uint8_t protocol);

struct interface_name {
    uint32_t index;
    uint64_t read_ns; /* monotonic */
    char name[IF_NAMESIZE];
};

/* Names by index, read again after some seconds: interfaces come, go and are renamed. */
struct interface_cache {
    uint64_t now_ns; /* monotonic, as of the last look at the clock: events are many, and names change seldom */
    struct interface_name names[INTERFACE_CACHE_SIZE];
};
/* NULL for index 0 and for an interface that is gone. */
const char *interface_name(struct interface_cache *cache, uint32_t index);

/* --- Text ----------------------------------------------------------------------------------------- */

enum { COMMUNITY_ID_SIZE = 31 }; /* "1:", 28 letters and NUL */
enum { EVE_SECOND_SIZE = 20 };   /* "2026-01-01T00:00:00." */

/* Community ID version 1. */
void community_id(const struct endpoints *ends, uint8_t icmp_type, uint8_t icmp_code, uint16_t seed,
                  char out[COMMUNITY_ID_SIZE]);

struct eve {
    const struct output_options *options;
    struct interface_cache interfaces;
    const struct record_client *client; /* whose address the event under way has in place of the client's; NULL */
    struct text scratch, stream;
    struct output_stat *previous; /* of the last stats event, for deltas */
    size_t previous_count;
    unsigned generation;               /* of the rules; 0: not known */
    uint64_t second;                   /* since 1970, that second_text is */
    char second_text[EVE_SECOND_SIZE]; /* without a NUL; "": nothing yet */
};

/* One event, without the newline. */
void eve_alert(struct eve *eve, struct text *out, const struct packet_record *record, const struct alert *alert);
void eve_drop(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_anomaly(struct eve *eve, struct text *out, const struct packet_record *record, unsigned event);
void eve_packet_metadata(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_stream(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_tagged_packet(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_flow(struct eve *eve, struct text *out, const struct flow_record *record);
void eve_netflow(struct eve *eve, struct text *out, const struct flow_record *record, enum flow_direction direction);
void eve_app(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_stats(struct eve *eve, struct text *out, const struct stats_record *record);
void eve_firewall(struct eve *eve, struct text *out, const struct output_firewall *event);

/* --- eve_engine.c --------------------------------------------------------------------------------- */

void eve_engine(struct eve *eve, struct text *out, const struct output_engine *event);
const char *output_engine_action_name(enum output_engine_action action);
/* --- eve_overload.c ------------------------------------------------------------------------------- */

void eve_overload(struct eve *eve, struct text *out, const struct output_overload *event);

/* app_proto and its kin, of a flow. */
void eve_application(struct text *out, uint32_t application);

/* The headers of the packet, as drop and stream_tcp events have them. */
void eve_packet_headers(struct text *out, const struct packet_record *record);
/* "to_server" or "to_client" of the packet's flow. */
void eve_direction(struct text *out, const struct packet_record *record);
/* Parts that the events share: everything up to the event's own object, which stays open; and the packet's bytes. */
void eve_header(struct eve *eve, struct text *out, const struct packet_record *record, const char *event_type);
void eve_event_time(struct eve *eve, struct text *out, uint64_t time_ns); /* "timestamp" */
void eve_timestamp(struct text *out, const char *key, uint64_t time_ns);
void eve_address(struct eve *eve, struct text *out, const char *key, const struct address *value, int version);
/* One end of the packet, with eve->client in place of the client. */
void eve_end_address(struct eve *eve, struct text *out, const char *key, const struct packet_record *record,
                     bool of_source);
void eve_protocol(struct text *out, uint8_t number);
void eve_vlans(struct text *out, const uint16_t *ids, unsigned count);
void eve_mac(struct text *out, const char *key, const uint8_t *bytes);
const char *eve_hook_name(uint8_t hook); /* NULL: no name */
/* What flow and alert events both say of a flow; the object stays open. */
void eve_flow_counts(struct text *out, const struct flow_facts *flow);
/* The objects "traffic" and "metadata". */
struct eve_state {
    const struct rule_names *names; /* NULL: nothing is written */
    const struct record_variable *variables;
    const struct rule_capture *texts;
    uint32_t variable_count, text_count;
};
void eve_metadata(struct text *out, const struct eve_state *state);
/* A text as a member or, without key, an element; what can't be printed is a dot. */
void eve_text(struct text *out, const char *key, const struct rule_capture *text);
void eve_end(struct eve *eve, struct text *out);
void eve_packet(struct text *out, const struct packet_record *record, uint32_t length);
void eve_tunnel(struct eve *eve, struct text *out, const struct packet_record *record);
/* {ip, port} of one end. */
void eve_endpoint(struct eve *eve, struct text *out, const char *key, const struct packet_record *record,
                  bool of_source);

/* The same for people; with the newline. */
void console_packet(struct text *out, const struct output_options *options, const struct packet_record *record);
void console_firewall(struct text *out, const struct output_options *options, const struct output_firewall *event);
void console_engine(struct text *out, const struct output_options *options, const struct output_engine *event);
void console_overload(struct text *out, const struct output_options *options, const struct output_overload *event);
void console_stats(struct text *out, const struct stats_record *record);

#endif
