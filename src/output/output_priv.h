/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of src/output/ share: the records in the rings, and what turns them into text. */
#ifndef OUTPUT_PRIV_H
#define OUTPUT_PRIV_H

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

enum {
    RING_MIN_SIZE = 2 << 20,
    RECORD_MAX_ALERTS = 1024,
    RECORD_MAX_PAYLOAD = 64 << 10,
    RECORD_MAX_PACKET = 96 << 10,
    RECORD_MAX_VARIABLES = 256,
    RECORD_MAX_GAPS = 64,
    RECORD_MAX_TEXTS = RULE_TEXTS_MAX + FLOW_TEXTS_MAX,
    RECORD_MAX_FIELDS = 96 << 10, /* of transactions */
    ANOMALY_PACKET_SIZE = 32,     /* what Suricata's packethdr gives */
    ETHERNET_HEADER_SIZE = 14,
    INTERFACE_CACHE_SIZE = 64,
};

/* --- Records -------------------------------------------------------------------------------------- */

/* Who talks to whom: of the packet, and of the one that carries it through a tunnel. */
struct endpoints {
    struct address source, destination;
    uint16_t source_port, destination_port;
    uint8_t ip_version; /* 0: no IP */
    uint8_t protocol;
    uint8_t packet_source; /* enum packet_source */
};

/* A flow as it was when the event was recorded. */
struct flow_facts {
    uint64_t id, start_ns;
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint32_t application; /* as in struct flow */
    struct endpoints
        ends; /* the client is the source; for ICMP the ports are type and code, for ESP the halves of the SPI */
};

/* A flow bit or integer, by the number of its name. */
struct record_variable {
    uint32_t number, value;
    bool is_bit;
};

/* Bytes of a stream that are not there, before the byte `at` of those copied. */
struct record_gap {
    uint64_t missing;
    uint32_t at;
};

/* The address that a proxy told of its client. */
struct record_client {
    struct address address;
    uint8_t ip_version; /* 0: not known */
};

/* What is said of an alert's transaction: a part of the record's fields. */
struct record_transaction {
    uint64_t id;
    uint32_t at, length;
    bool is_there;
    struct record_client client; /* also of alerts without a transaction */
};

/* What a worker collects before it knows how large the record will be. */
struct record_scratch {
    uint8_t *stream; /* stream_size bytes */
    uint32_t stream_size, stream_length;
    uint32_t gap_count, variable_count, text_count;
    bool has_transactions;       /* an alert has one */
    struct record_client client; /* of an event of a protocol, to stand in place of the flow's */
    struct fields fields;
    uint8_t field_bytes[RECORD_MAX_FIELDS];
    struct record_transaction transactions[RECORD_MAX_ALERTS]; /* by alert, when has_transactions */
    struct record_gap gaps[RECORD_MAX_GAPS];
    struct record_variable variables[RECORD_MAX_VARIABLES];
    struct rule_capture texts[RECORD_MAX_TEXTS]; /* first the packet's, whose places alerts know */
};

/* A TCP segment for stream_tcp. Lies behind a record at any address: copied out before it is read. */
struct record_segment {
    uint16_t flags; /* enum packet_stream_flag */
    bool has_session;
    uint8_t event_count, events[PACKET_MAX_EVENTS]; /* of the stream */
    struct tcp_session_facts session;
};

/*
 * A packet with all that happened to it. Behind it in the ring: alert_count times struct alert, then as many struct
 * record_transaction if has_transactions, gap_count times struct
 * record_gap, variable_count times struct record_variable, text_count times struct rule_capture, payload_copied bytes
 * of payload, stream_copied bytes of the stream, packet_copied bytes of the packet, fields_copied bytes of fields,
 * struct record_segment if OUTPUT_STREAM is among the kinds.
 */
struct packet_record {
    uint32_t kinds; /* bits 1 << enum output_event */
    uint32_t alert_count, gap_count, variable_count, text_count;
    uint32_t payload_length, payload_copied, stream_copied, packet_copied, fields_copied;
    uint32_t generation;
    uint64_t time_ns, number;
    uint8_t event_count, event_list[PACKET_MAX_EVENTS]; /* those that are wanted */
    const struct rule *drop_rule;   /* or the rule that drops in mode drop, of OUTPUT_WOULD_DROP; so is drop_reason */
    const struct rule_names *names; /* of the variables; NULL: those of the options */
    struct flow_facts flow;         /* when has_flow */
    struct endpoints endpoints, root;
    struct queue_meta meta;

    uint8_t ethernet[ETHERNET_HEADER_SIZE];
    bool has_flow_macs; /* `ethernet` has the first MAC address of each end of the flow, but no type */
    bool link_turned;   /* the packet went the other way: what is known of its sender is the receiver's */
    bool has_ethernet, is_tunneled, has_transport, has_flow, passed, has_transactions;
    bool to_client;             /* the client is the destination */
    const char *app_event_type; /* of an event of a protocol */
    uint64_t app_tx_id;
    struct record_client client; /* of an event of a protocol, when it is to stand in place of the flow's */
    uint8_t tunnel_depth, link, vlan_count;
    uint8_t verdict, drop_reason, reject;
    uint16_t vlan_id[PACKET_MAX_VLANS];

    bool mark_set;
    uint32_t mark_value, mark_mask;

    bool has_conntrack; /* what the kernel's connection tracking says of the packet from capture */
    uint32_t conntrack_id, conntrack_mark, conntrack_info;

    /* for drop events */
    uint32_t flow_drop_gid, flow_drop_sid; /* the rule that dropped the flow before; 0 */
    uint8_t tos, ttl;
    uint16_t ip_length; /* as the header has it */
    uint32_t ip_id, flow_label;
    uint8_t tcp_flags, tcp_reserved;
    uint16_t tcp_window, tcp_urgent, udp_length;
    uint32_t tcp_sequence, tcp_acknowledgment;
    uint8_t icmp_type, icmp_code;
    uint16_t icmp_id, icmp_sequence;
    uint32_t esp_spi;
    struct sctp_info sctp;
    struct igmp_info igmp;
};

_Static_assert(sizeof(struct packet_record) + RECORD_MAX_ALERTS * sizeof(struct alert) +
                       RECORD_MAX_GAPS * sizeof(struct record_gap) +
                       RECORD_MAX_VARIABLES * sizeof(struct record_variable) +
                       RECORD_MAX_TEXTS * sizeof(struct rule_capture) + 2 * RECORD_MAX_PAYLOAD +
                       RECORD_MAX_ALERTS * sizeof(struct record_transaction) + RECORD_MAX_FIELDS + RECORD_MAX_PACKET +
                       sizeof(struct record_segment) <
                   RING_MIN_SIZE / 4,
               "the largest record must fit into the smallest ring");

static inline const struct alert *record_alerts(const struct packet_record *record)
{
    return (const struct alert *)(record + 1);
}

static inline const struct record_transaction *record_transactions(const struct packet_record *record)
{
    return (const struct record_transaction *)(record_alerts(record) + record->alert_count);
}

static inline const struct record_gap *record_gaps(const struct packet_record *record)
{
    return (const struct record_gap *)(record_transactions(record) +
                                       (record->has_transactions ? record->alert_count : 0));
}

static inline const struct record_variable *record_variables(const struct packet_record *record)
{
    return (const struct record_variable *)(record_gaps(record) + record->gap_count);
}

static inline const struct rule_capture *record_texts(const struct packet_record *record)
{
    return (const struct rule_capture *)(record_variables(record) + record->variable_count);
}

static inline const uint8_t *record_payload(const struct packet_record *record)
{
    return (const uint8_t *)(record_texts(record) + record->text_count);
}

static inline const uint8_t *record_stream(const struct packet_record *record)
{
    return record_payload(record) + record->payload_copied;
}

static inline const uint8_t *record_packet(const struct packet_record *record)
{
    return record_stream(record) + record->stream_copied;
}

static inline const uint8_t *record_fields(const struct packet_record *record)
{
    return record_packet(record) + record->packet_copied;
}

/* Copies the segment of a record whose kinds include OUTPUT_STREAM. */
void record_get_segment(const struct packet_record *record, struct record_segment *out);

/* A flow that ended. Begins as a packet_record does. Behind it: variable_count times struct record_variable, text_count
 * times struct rule_capture. */
struct flow_record {
    uint32_t kinds; /* bits 1 << enum output_event */
    uint32_t variable_count, text_count;
    uint32_t generation;
    uint16_t flags;        /* enum flow_flag */
    uint8_t state, reason; /* enum flow_state, enum flow_end */
    uint64_t time_ns, end_ns;
    uint64_t tx_count; /* transactions of its protocol */
    struct flow_facts flow;
    struct tcp_summary tcp; /* when has_session */
    struct flow_origin origin;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count;
    uint8_t ttl_low[FLOW_DIRECTIONS], ttl_high[FLOW_DIRECTIONS];
    struct flow_macs macs;
    bool has_session, emergency;
    uint8_t offload; /* enum packet_offload */
    bool has_kernel, would_drop;
    uint64_t kernel_packets[FLOW_DIRECTIONS], kernel_bytes[FLOW_DIRECTIONS]; /* that never came to us; in `flow`, too */
    uint8_t exceptions[EXCEPTION_COUNT];                                     /* enum exception_policy + 1; 0 */
};

static inline const struct record_variable *flow_record_variables(const struct flow_record *record)
{
    return (const struct record_variable *)(record + 1);
}

static inline const struct rule_capture *flow_record_texts(const struct flow_record *record)
{
    return (const struct rule_capture *)(flow_record_variables(record) + record->variable_count);
}

enum { APP_RECORD_KINDS = 1 << OUTPUT_APP | 1 << OUTPUT_FILE };
enum { FLOW_RECORD_KINDS = 1 << OUTPUT_FLOW | 1 << OUTPUT_NETFLOW };

/* Behind it: count times struct output_stat. */
struct stats_record {
    uint64_t time_ns, uptime_seconds;
    size_t count;
};

static inline const struct output_stat *record_stats(const struct stats_record *record)
{
    return (const struct output_stat *)(record + 1);
}

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

/* --- The file ------------------------------------------------------------------------------------- */

/* Counters as several threads see them: each has one writer. */
struct event_counters {
    _Atomic uint64_t written[OUTPUT_EVENT_COUNT], lost[OUTPUT_EVENT_COUNT];
    _Atomic uint64_t write_errors;
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

/* --- Limits in floods, limit.c -------------------------------------------------------------------- */

struct event_limit {
    uint64_t second;
    uint32_t count;
};

/* Of a port. */
struct event_limits {
    struct event_limit drop, flow;
    _Atomic uint64_t left_out[OUTPUT_EVENT_COUNT];
};

/* record_kinds() without a drop that no rule asked for, when there were too many in this second. */
uint32_t event_limit_packet(struct event_limits *limits, uint32_t wanted, const struct eve_options *eve,
                            const struct packet *pkt, const struct decision *decision);
void event_limits_count(const struct event_limits *limits, struct output_counters *out);
/* Whether the events of a flow that nobody answered are left out. */
bool event_limit_flow(struct event_limits *limits, const struct eve_options *eve, uint32_t kinds,
                      const struct flow *flow);

struct sink_mark {
    size_t end;
    enum output_event kind;
};

enum { SINK_MAX_MARKS = 8192, SINK_MAX_BYTES = 1 << 18 };

/* What of a file was written and is not yet on its way to the disk; see write_out.c. All zero: nothing. */
struct write_out {
    size_t waiting; /* bytes */
    unsigned windows_left_alone;
};

/* So many bytes more were appended to the file. */
void write_out_note(struct write_out *out, int fd, size_t written);

/* A file or socket for lines, that knows which of them have reached it; see sink.c. */
struct sink {
    char *path; /* NULL: none */
    enum output_file_type type;
    int fd;            /* -1: it has gone, or has not come yet */
    uint64_t tried_ns; /* monotonic: when it was looked after last */
    bool cut;          /* the file ends within the line that `buffer` begins with */
    struct text buffer;
    struct sink_mark *marks;
    size_t mark_count;
    struct write_out write_out;
    struct event_counters *counters;
    _Atomic int trouble;   /* -errno of the last write or opening that failed; 0: all is well. Read by others, as... */
    _Atomic bool shut_out; /* ... it was not allowed to open the file */
};

/* 0 or -errno; of a socket nobody need listen yet. */
int sink_open(struct sink *sink, const char *path, enum output_file_type type, bool truncate,
              struct event_counters *counters);
bool sink_is_open(const struct sink *sink);
void sink_close(struct sink *sink);
/* The line since the last call is complete: an event of this kind. */
void sink_end_event(struct sink *sink, enum output_event kind);
bool sink_is_full(const struct sink *sink);
void sink_flush(struct sink *sink);
void sink_finish(struct sink *sink); /* the last flush: what does not go is lost */
void sink_reopen(struct sink *sink);
void sink_take(struct sink *sink, int fd); /* a file that somebody else has opened, its own from now on */

#endif
