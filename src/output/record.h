/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a packet, or of an event of a protocol, in the ring of a worker: fixed fields, followed by parts of
 * variable length, each with an accessor.
 */
#ifndef SLUICE_OUTPUT_RECORD_H
#define SLUICE_OUTPUT_RECORD_H

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
    RECORD_MAX_FIELDS = 96 << 10, /* bytes of the fields of all transactions in a record */
    ANOMALY_PACKET_SIZE = 32,     /* bytes of packethdr in anomaly events, as in Suricata */
    ETHERNET_HEADER_SIZE = 14,
    INTERFACE_CACHE_SIZE = 64,
};

/* --- Records -------------------------------------------------------------------------------------- */

/* Addresses, ports and protocol of a packet, or of its outer packet. */
struct endpoints {
    struct address source, destination;
    uint16_t source_port, destination_port;
    uint8_t ip_version; /* 4 or 6; 0: no IP header */
    uint8_t protocol;
    uint8_t packet_source; /* enum packet_source */
};

/* State of a flow at the time of the event. */
struct flow_facts {
    uint64_t id, parent_id, start_ns; /* parent_id: id of the flow that announced this one (ftp-data); 0: none */
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    uint32_t application; /* value of `application` in struct flow */
    /* the client is the source; in place of ports, ICMP has type and code, and ESP the two halves of its SPI */
    struct endpoints ends;
};

/* A flow bit or flow integer; `number` is the number of its name in struct rule_names. */
struct record_variable {
    uint32_t number, value;
    bool is_bit;
};

/* A gap in a stream: `missing` bytes are missing before byte `at` of the copied stream bytes. */
struct record_gap {
    uint64_t missing;
    uint32_t at;
};

/* The client's address that a proxy reports (X-Forwarded-For). */
struct record_client {
    struct address address;
    uint8_t ip_version; /* 4 or 6; 0: no address is known */
};

/* The transaction of an alert: its members are `length` bytes from `at` in the fields of the record. */
struct record_transaction {
    uint64_t id;
    const char *sub_state; /* name of its sub-state; NULL: none */
    uint32_t at, length;
    uint32_t own_length;             /* number of bytes behind these members: members of the object "sluice" */
    uint32_t frame_at, frame_length; /* the object "frame" of the alert, in the fields; length 0: none */
    bool is_present;
    struct record_client client; /* valid also if is_present is false */
};

/* Parts of variable length of a record, which a worker collects to know the size of the record before it reserves
 * space. */
struct record_scratch {
    uint8_t *stream; /* buffer of stream_size bytes, of which stream_length are used */
    uint32_t stream_size, stream_length;
    uint32_t gap_count, variable_count, text_count;
    bool has_transactions;       /* at least one alert has a transaction */
    struct record_client client; /* protocol events: replaces the flow's client address */
    uint32_t own_at;             /* protocol events: where the members of the object "sluice" begin in `fields` */
    struct fields fields;
    uint8_t field_bytes[RECORD_MAX_FIELDS];
    struct record_transaction transactions[RECORD_MAX_ALERTS]; /* one for each alert; valid if has_transactions */
    struct record_gap gaps[RECORD_MAX_GAPS];
    struct record_variable variables[RECORD_MAX_VARIABLES];
    struct rule_capture texts[RECORD_MAX_TEXTS]; /* first the texts of the packet, to which alerts refer by index, then
                                                    those of the flow */
};

/* A TCP segment for stream_tcp events. It follows a record without alignment: read it with record_get_segment(). */
struct record_segment {
    uint16_t flags; /* enum packet_stream_flag */
    bool has_session;
    uint8_t event_count, events[PACKET_MAX_EVENTS]; /* stream events of the segment, in order */
    struct tcp_session_facts session;
};

/*
 * A packet and its events. It is followed in the ring by alert_count times struct alert, alert_count times struct
 * record_transaction if has_transactions, gap_count times struct record_gap, variable_count times struct
 * record_variable, text_count times struct rule_capture, payload_copied bytes of payload, stream_copied bytes of the
 * stream, packet_copied bytes of the packet, fields_copied bytes of fields, and a struct record_segment if `kinds` has
 * OUTPUT_STREAM.
 */
struct packet_record {
    uint32_t kinds; /* bits 1 << enum output_event */
    uint32_t alert_count, gap_count, variable_count, text_count;
    uint32_t payload_length, payload_copied, stream_copied, packet_copied, fields_copied;
    uint32_t generation;
    uint64_t time_ns, number;
    uint64_t capture_file; /* number of the capture file with the packet, for pcap_log_path(); 0: none */
    uint8_t event_count, event_list[PACKET_MAX_EVENTS]; /* events of the packet that are enabled in eve.types.anomaly */
    const struct rule *drop_rule;   /* the rule that drops the packet or, with OUTPUT_WOULD_DROP, would drop it in mode
                                       drop; NULL: none. drop_reason says in both cases why */
    const struct rule_names *names; /* names of the variables; NULL: use output_options.names */
    struct flow_facts flow;         /* valid if has_flow */
    struct endpoints endpoints, root;
    struct queue_meta meta;

    uint8_t ethernet[ETHERNET_HEADER_SIZE];
    bool has_flow_macs; /* `ethernet` contains the first MAC addresses seen in the flow (destination, source), without
                           an EtherType */
    bool link_reversed; /* the packet's direction is opposite to that of the event: the sender of the packet is the
                           event's destination */
    bool has_ethernet, is_tunneled, has_transport, has_flow, passed, has_transactions;
    bool filtered;                   /* firewall rules were evaluated: alerts name their engine */
    struct filter_match drop_filter; /* as in struct decision */
    bool to_client;                  /* true: the client is the destination of the packet */
    const char *app_event_type;      /* event_type of a transaction or file event */
    uint64_t app_tx_id;
    uint32_t own_at;             /* protocol events: where the members of the object "sluice" begin in the fields */
    struct record_client client; /* protocol events: replaces the flow's client address */
    uint8_t tunnel_depth, link, vlan_count;
    uint8_t verdict, drop_reason, reject;
    uint16_t vlan_id[PACKET_MAX_VLANS];

    bool mark_set;
    uint32_t mark_value, mark_mask;

    bool has_conntrack; /* the conntrack_ members are valid: the packet from NFQUEUE had conntrack data */
    uint32_t conntrack_id, conntrack_mark, conntrack_info;

    /* The following members are for drop events. */
    uint32_t flow_drop_gid, flow_drop_sid; /* the rule that dropped the flow earlier; 0: none */
    uint8_t tos, ttl;
    uint16_t ip_length; /* total length in the IP header */
    uint32_t ip_id, flow_label;
    uint8_t tcp_flags, tcp_reserved;
    uint16_t tcp_window, tcp_urgent, udp_length;
    uint32_t tcp_sequence, tcp_acknowledgment;
    uint8_t icmp_type, icmp_code;
    uint16_t icmp_id, icmp_sequence;
    uint32_t esp_spi;
    struct sctp_info sctp;
    struct igmp_info igmp;
    uint8_t arp[28]; /* kinds has OUTPUT_ARP: the message (RFC 826) */
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

#endif
