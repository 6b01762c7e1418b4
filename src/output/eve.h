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
#include "sluice/json.h"
#include "sluice/output.h"
#include "sluice/stream.h"
#include "sluice/text.h"

#include "record.h"
#include "flow_record.h"

/* --- Names ---------------------------------------------------------------------------------------- */

/* Returns a name like "TCP"; NULL for a protocol without a name. */
const char *protocol_name(uint8_t protocol);
bool protocol_has_ports(uint8_t protocol);

enum { MAX_FILE_INTERFACES = 1024 };

struct interface_name {
    uint32_t index;
    uint64_t read_ns; /* monotonic time at which the name was read */
    char name[IF_NAMESIZE];
};

/* Cache of interface names by index. A name is read again after some seconds, because interfaces are added, removed and
 * renamed. */
struct interface_cache {
    uint64_t now_ns; /* current monotonic time, up to RECORDS_PER_CLOCK records old */
    struct interface_name names[INTERFACE_CACHE_SIZE];
    /* Interfaces that capture files name; number i + 1 is file_names[i]. */
    char *file_names[MAX_FILE_INTERFACES];
    uint32_t file_name_count;
};
/* Returns the name of the interface, valid until the next call; NULL for index 0 and for an interface that no longer
 * exists. */
const char *interface_name(struct interface_cache *cache, uint32_t index);

/* --- Text ----------------------------------------------------------------------------------------- */

enum { EVE_SECOND_SIZE = 20 }; /* "2026-01-01T00:00:00." */

struct pcap_log;
struct eve {
    const struct output_options *options;
    const struct pcap_log *pcap; /* names the capture files of alerts; NULL: packets are not logged */
    struct interface_cache interfaces;
    const struct record_client *client; /* replaces the client's address in the current event; NULL: none */
    const uint8_t *own;                 /* fields for the object "sluice" of the current event */
    uint32_t own_length;
    bool would_drop; /* true: the packet of the current event passes only because the mode is alert-only */
    struct text scratch, stream;
    struct output_stat *previous; /* counters of the last stats event, for deltas */
    size_t previous_count;
    unsigned generation;               /* generation of the rules; 0: unknown */
    uint64_t second;                   /* time in seconds since 1970 to which second_text belongs */
    char second_text[EVE_SECOND_SIZE]; /* date and time of `second`, without a NUL; begins with a NUL: not set yet */
};

/* Each function formats one event, without the newline. */
void eve_alert(struct eve *eve, struct text *out, const struct packet_record *record, const struct alert *alert);
void eve_drop(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_anomaly(struct eve *eve, struct text *out, const struct packet_record *record, unsigned event);
void eve_packet_metadata(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_stream(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_igmp(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_arp(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_tagged_packet(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_flow(struct eve *eve, struct text *out, const struct flow_record *record);
void eve_netflow(struct eve *eve, struct text *out, const struct flow_record *record, enum flow_direction direction);
void eve_app(struct eve *eve, struct text *out, const struct packet_record *record);
void eve_stats(struct eve *eve, struct text *out, const struct stats_record *record);
void eve_firewall(struct eve *eve, struct text *out, const struct output_firewall *event);

/* --- eve_engine.c --------------------------------------------------------------------------------- */

void eve_engine(struct eve *eve, struct text *out, const struct output_engine *event);
/* Describes the event in one sentence without a newline, for engine.message and for the console. Bytes of names and
 * reasons are not escaped. */
void engine_message(struct text *out, const struct output_engine *event);
const char *output_engine_action_name(enum output_engine_action action);
/* --- eve_overload.c ------------------------------------------------------------------------------- */

void eve_overload(struct eve *eve, struct text *out, const struct output_overload *event);

/* Writes app_proto, app_proto_ts, app_proto_tc and app_proto_orig of a flow. */
void eve_application(struct text *out, uint32_t application);

/* Writes the headers of the packet, for drop and stream_tcp events. */
void eve_packet_headers(struct text *out, const struct packet_record *record);
/* Writes the direction of the packet in its flow: "to_server" or "to_client". */
void eve_direction(struct text *out, const struct packet_record *record);
/* Functions that write parts which several events have. eve_header() opens the event's object and writes the members
 * that all events have. */
void eve_header(struct eve *eve, struct text *out, const struct packet_record *record, const char *event_type);
/* Writes flow_id, and parent_id for a flow that another one announced. */
void eve_flow_id(struct text *out, const struct flow_facts *flow);
void eve_event_time(struct eve *eve, struct text *out, uint64_t time_ns); /* writes "timestamp" */
void eve_timestamp(struct text *out, const char *key, uint64_t time_ns);
void eve_address_value(struct eve *eve, struct text *out, const struct address *value, int version);
JSON_INLINE void eve_address(struct eve *eve, struct text *out, const char *key, const struct address *value,
                             int version)
{
    json_member(out, key);
    eve_address_value(eve, out, value, version);
}
/* Writes the source (of_source) or destination address of the packet. If eve->client is set, it is written in place of
 * the client's address. */
void eve_end_address_value(struct eve *eve, struct text *out, const struct packet_record *record, bool of_source);
JSON_INLINE void eve_end_address(struct eve *eve, struct text *out, const char *key, const struct packet_record *record,
                                 bool of_source)
{
    json_member(out, key);
    eve_end_address_value(eve, out, record, of_source);
}
void eve_protocol(struct text *out, uint8_t number);
void eve_vlans(struct text *out, const uint16_t *ids, unsigned count);
void eve_mac(struct text *out, const char *key, const uint8_t *bytes);
const char *eve_hook_name(uint8_t hook); /* returns NULL for a hook without a name */
/* Opens the object "flow" and writes the members that flow and alert events have; the caller closes the object. */
void eve_flow_counts(struct text *out, const struct flow_facts *flow);
/* The variables of a flow or packet, for the objects "traffic" and "metadata". */
struct eve_state {
    const struct rule_names *names; /* NULL: write nothing */
    const struct record_variable *variables;
    const struct rule_capture *texts;
    uint32_t variable_count, text_count;
};
void eve_metadata(struct text *out, const struct eve_state *state);
/* Writes a captured text as member `key`, or as an array element if `key` is NULL. Unprintable bytes are replaced by
 * dots. */
void eve_text(struct text *out, const char *key, const struct rule_capture *text);
void eve_end(struct eve *eve, struct text *out);
void eve_packet(struct text *out, const struct packet_record *record, uint32_t length);
void eve_tunnel(struct eve *eve, struct text *out, const struct packet_record *record);
/* Writes the object {ip, port} of the source (of_source) or destination of the packet. */
void eve_endpoint(struct eve *eve, struct text *out, const char *key, const struct packet_record *record,
                  bool of_source);

/* Each function formats one event for the console, with the newline. */
void console_packet(struct text *out, const struct output_options *options, const struct packet_record *record);
void console_firewall(struct text *out, const struct output_options *options, const struct output_firewall *event);
void console_engine(struct text *out, const struct output_options *options, const struct output_engine *event);
void console_overload(struct text *out, const struct output_options *options, const struct output_overload *event);
void console_stats(struct text *out, const struct stats_record *record);

#endif
