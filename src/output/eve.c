/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common header of EVE's packet events, and the packet's bytes. Names, order and conditions of the fields are
 * Suricata's. All members that exist only in Sluice are in the object "sluice", so that every event without it is valid
 * against Suricata's schema.
 */
#include <linux/netfilter/nf_conntrack_common.h>
#include <netinet/in.h>
#include <string.h>

#include "community_id.h"
#include "output_priv.h"
#include "sluice/bytes.h"
#include "sluice/clock.h"
#include "sluice/hex.h"
#include "sluice/json.h"
#include "sluice/rule.h"

static const char *const packet_sources[] = {
    [PACKET_SOURCE_WIRE] = "wire/pcap",
    [PACKET_SOURCE_GRE] = "gre tunnel",
    [PACKET_SOURCE_IPV4] = "ipv4 tunnel",
    [PACKET_SOURCE_IPV6] = "ipv6 tunnel",
    [PACKET_SOURCE_TEREDO] = "teredo tunnel",
    [PACKET_SOURCE_DEFRAG] = "defrag",
    [PACKET_SOURCE_ERSPAN] = "gre tunnel", /* GRE carries ERSPAN and Ethernet */
    [PACKET_SOURCE_VXLAN] = "vxlan encapsulation",
    [PACKET_SOURCE_GENEVE] = "geneve encapsulation",
    [PACKET_SOURCE_GTP] = "gtp encapsulation",
    [PACKET_SOURCE_ETHERNET] = "gre tunnel",
    [PACKET_SOURCE_STREAM_TIMEOUT] = "stream (flow timeout)",
};

/* Numbers and names of the link types as EVE reports them (libpcap's DLT_*). */
static const struct {
    uint16_t number;
    const char *name;
} link_types[] = {
    [LINK_RAW] = { 12, "RAW" },
    [LINK_ETHERNET] = { 1, "EN10MB" },
    [LINK_LINUX_SLL] = { 113, "LINUX_SLL" },
    [LINK_LINUX_SLL2] = { 276, "LINUX_SLL2" },
    [LINK_NULL] = { 0, "NULL" },
    [LINK_LOOP] = { 108, "LOOP" },
    [LINK_PPP] = { 9, "PPP" },
    [LINK_IPV4] = { 228, "IPv4" },
    [LINK_IPV6] = { 229, "IPv6" },
    [LINK_CHDLC] = { 104, "C_HDLC" },
    [LINK_BRIDGE] = { 12, "RAW" },
    [LINK_UNSUPPORTED] = { 0, NULL },
};

/* Writes the Gregorian date of a day, counted from 1970-01-01. Years are counted from the first of March, in eras of
 * 400 years, so that the leap day is the last day of a year. */
static char *put_date(char *at, uint64_t day_of_1970)
{
    uint64_t day = day_of_1970 + 719468, era = day / 146097;
    unsigned day_of_era = (unsigned)(day % 146097);
    unsigned year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* counted from March: 0 to 11 */

    year += (unsigned)(era * 400) + (month >= 10);
    at = text_write_two_digits(text_write_two_digits(at, year / 100 % 100), year % 100);
    *at++ = '-';
    at = text_write_two_digits(at, month < 10 ? month + 3 : month - 9);
    *at++ = '-';
    return text_write_two_digits(at, day_of_year - (153 * month + 2) / 5 + 1);
}

/* Writes date and time in UTC as "2026-01-01T00:00:00.", without a NUL. */
static void put_second(char out[EVE_SECOND_SIZE], uint64_t seconds)
{
    unsigned in_day = (unsigned)(seconds % 86400);
    char *at = put_date(out, seconds / 86400);

    *at++ = 'T';
    at = text_write_two_digits(at, in_day / 3600);
    *at++ = ':';
    at = text_write_two_digits(at, in_day / 60 % 60);
    *at++ = ':';
    at = text_write_two_digits(at, in_day % 60);
    *at = '.';
}

static void put_time(struct text *out, const char second[EVE_SECOND_SIZE], uint64_t time_ns)
{
    static const char zone[] = "+0000\"";
    unsigned micros = (unsigned)(time_ns % NS_PER_SECOND / 1000);
    char *at = json_reserve(out, sizeof("\"2026-01-01T00:00:00.000000+0000\""));

    if (!at)
        return;
    *at++ = '"';
    memcpy(at, second, EVE_SECOND_SIZE);
    at += EVE_SECOND_SIZE;
    at = text_write_two_digits(text_write_two_digits(text_write_two_digits(at, micros / 10000), micros / 100 % 100),
                               micros % 100);
    memcpy(at, zone, sizeof(zone) - 1);
    json_commit(out, at + sizeof(zone) - 1);
    out->need_comma = true;
}

/* Formats the time without strftime(), which would take a fifth of the time to format an event: each event has one
 * time, a flow event three. */
void eve_timestamp(struct text *out, const char *key, uint64_t time_ns)
{
    char second[EVE_SECOND_SIZE];

    put_second(second, time_ns / NS_PER_SECOND);
    json_member(out, key);
    put_time(out, second, time_ns);
}

/* Writes "timestamp". Consecutive events mostly have the same second, so its text is kept in eve->second_text. */
void eve_event_time(struct eve *eve, struct text *out, uint64_t time_ns)
{
    uint64_t seconds = time_ns / NS_PER_SECOND;

    if (eve->second != seconds || eve->second_text[0] == '\0')
        put_second(eve->second_text, seconds);
    eve->second = seconds;
    json_member(out, "timestamp");
    put_time(out, eve->second_text, time_ns);
}

void eve_flow_id(struct text *out, const struct flow_facts *flow)
{
    json_member_uint(out, "flow_id", flow->id);
    if (flow->parent_id != 0)
        json_member_uint(out, "parent_id", flow->parent_id);
}

void eve_address_value(struct eve *eve, struct text *out, const struct address *value, int version)
{
    char *at = json_reserve(out, ADDRESS_TEXT_SIZE + 2);

    if (!at)
        return;
    *at++ = '"';
    at = address_format(value, version, !eve->options->eve.ipv6_compress, at);
    *at++ = '"';
    json_commit(out, at);
    out->need_comma = true;
}

void eve_end_address_value(struct eve *eve, struct text *out, const struct packet_record *record, bool of_source)
{
    const struct endpoints *ends = &record->endpoints;

    if (eve->client && of_source != record->to_client)
        eve_address_value(eve, out, &eve->client->address, eve->client->ip_version);
    else
        eve_address_value(eve, out, of_source ? &ends->source : &ends->destination, ends->ip_version);
}

void eve_protocol(struct text *out, uint8_t number)
{
    const char *name = protocol_name(number);

    if (name)
        json_member_string(out, "proto", name);
    else
        json_printf(out, "proto", "%u", number);
}

void eve_vlans(struct text *out, const uint16_t *ids, unsigned count)
{
    if (count == 0)
        return;
    json_array_open(out, "vlan");
    for (unsigned i = 0; i < count; i++)
        json_uint(out, NULL, ids[i]);
    json_array_close(out);
}

static void endpoints(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const struct endpoints *ends = &record->endpoints;
    bool has_ports = protocol_has_ports(ends->protocol);

    if (ends->ip_version == 0)
        return;
    eve_end_address(eve, out, "src_ip", record, true);
    if (has_ports)
        json_member_uint(out, "src_port", ends->source_port);
    eve_end_address(eve, out, "dest_ip", record, false);
    if (has_ports)
        json_member_uint(out, "dest_port", ends->destination_port);
    eve_protocol(out, ends->protocol);
    json_member_uint(out, "ip_v", ends->ip_version);
    if (record->has_transport && (ends->protocol == IPPROTO_ICMP || ends->protocol == IPPROTO_ICMPV6)) {
        json_member_uint(out, "icmp_type", record->icmp_type);
        json_member_uint(out, "icmp_code", record->icmp_code);
    } else if (record->has_transport && ends->protocol == IPPROTO_ESP) {
        json_member_uint(out, "spi", record->esp_spi);
    }
}

const char *eve_hook_name(uint8_t hook)
{
    static const char *const hooks[] = { "prerouting", "input", "forward", "output", "postrouting", "ingress" };

    return hook < sizeof(hooks) / sizeof(hooks[0]) ? hooks[hook] : NULL;
}

void eve_mac(struct text *out, const char *key, const uint8_t *bytes)
{
    enum { MAC_LENGTH = 6 };
    char text[3 * MAC_LENGTH - 1];

    hex_write_colons(text, bytes, MAC_LENGTH);
    json_stringn(out, key, text, sizeof(text));
}

static void queue(struct eve *eve, struct text *out, const struct packet_record *record)
{
    static const char *const conntrack_states[] = { [IP_CT_ESTABLISHED] = "established",
                                                    [IP_CT_RELATED] = "related",
                                                    [IP_CT_NEW] = "new",
                                                    [IP_CT_ESTABLISHED_REPLY] = "established",
                                                    [IP_CT_RELATED_REPLY] = "related" };
    const struct queue_meta *meta = &record->meta;
    struct interface_cache *names = &eve->interfaces;
    uint32_t state = record->conntrack_info; /* enum ip_conntrack_info */

    json_member_object(out, "queue");
    json_member_uint(out, "number", meta->queue);
    json_member_uint(out, "id", meta->id);
    json_member_uint(out, "mark", meta->mark);
    json_member_string(out, "hook", eve_hook_name(meta->hook));
    json_member_string(out, "in_iface", interface_name(names, meta->in_ifindex));
    json_member_string(out, "out_iface", interface_name(names, meta->out_ifindex));
    json_member_string(out, "in_physical", interface_name(names, meta->in_physical_ifindex));
    json_member_string(out, "out_physical", interface_name(names, meta->out_physical_ifindex));
    if (record->has_conntrack) {
        json_member_uint(out, "ct_id", record->conntrack_id);
        json_member_uint(out, "ct_mark", record->conntrack_mark);
        json_member_string(out, "ct_state",
                           state < sizeof(conntrack_states) / sizeof(conntrack_states[0]) ? conntrack_states[state]
                                                                                          : NULL);
    }
    json_member_string(out, "verdict", record->verdict == VERDICT_DROP ? "drop" : "accept");
    json_member_uint(out, "ruleset", record->generation);
    if (record->mark_set) {
        json_member_uint(out, "set_mark", record->mark_value);
        json_member_uint(out, "set_mask", record->mark_mask);
    }
    json_object_close(out);
}

void eve_header(struct eve *eve, struct text *out, const struct packet_record *record, const char *event_type)
{
    const struct eve_options *options = &eve->options->eve;
    const struct eve_state state = {
        .names = record->names ? record->names : eve->options->names,
        .variables = record_variables(record),
        .texts = record_texts(record),
        .variable_count = record->variable_count,
        .text_count = record->text_count,
    };
    char id[COMMUNITY_ID_SIZE];

    json_object_open(out, NULL);
    eve_event_time(eve, out, record->time_ns);
    if (record->has_flow)
        eve_flow_id(out, &record->flow);
    if (eve->options->queue_fields || (record->meta.in_ifindex & PACKET_FILE_INTERFACE))
        json_member_string(out, "in_iface", interface_name(&eve->interfaces, record->meta.in_ifindex));
    if (!eve->options->queue_fields && record->number > 0)
        json_member_uint(out, "pcap_cnt", record->number);
    json_member_string(out, "event_type", event_type);
    eve_vlans(out, record->vlan_id, record->vlan_count);
    endpoints(eve, out, record);
    json_member_string(out, "pkt_src", packet_sources[record->endpoints.packet_source]);
    if (options->metadata || strcmp(event_type, "metadata") == 0)
        eve_metadata(out, &state);
    if (options->ethernet && (record->has_ethernet || record->has_flow_macs)) {
        json_member_object(out, "ether");
        if (record->has_ethernet)
            json_member_uint(out, "ether_type", load_be16(record->ethernet + 12));
        eve_mac(out, "src_mac", record->ethernet + 6);
        eve_mac(out, "dest_mac", record->ethernet);
        json_object_close(out);
    } else if (options->ethernet && record->meta.hardware_address_length == 6) {
        /* NFQUEUE delivers IP packets without a link header, but reports the MAC address of the sender in
         * NFQA_HWADDR. */
        json_member_object(out, "ether");
        eve_mac(out, record->link_reversed ? "dest_mac" : "src_mac", record->meta.hardware_address);
        json_object_close(out);
    }
    if (options->community_id &&
        (record->has_transport || (record->has_flow && protocol_has_ports(record->endpoints.protocol)))) {
        community_id(&record->endpoints, record->icmp_type, record->icmp_code, options->community_id_seed, id);
        json_member_string(out, "community_id", id);
    }
    if (eve->options->queue_fields || eve->would_drop || eve->own_length > 0) {
        json_member_object(out, "sluice");
        if (eve->options->ring_fields)
            json_member_uint(out, "ring", record->meta.queue);
        else if (eve->options->queue_fields)
            queue(eve, out, record);
        if (eve->would_drop)
            json_bool(out, "would_drop", true);
        if (eve->own_length > 0 && !fields_render(eve->own, eve->own_length, out))
            out->failed = true;
        json_object_close(out);
    }
}

void eve_end(struct eve *eve, struct text *out)
{
    if (eve->options->eve.pcap_file)
        json_member_string(out, "pcap_filename", eve->options->eve.pcap_file_name);
    json_member_string(out, "host", eve->options->eve.sensor_name);
    if (eve->options->eve.suricata_version)
        json_member_string(out, "suricata_version", RULE_SURICATA_VERSION);
    json_object_close(out);
}

void eve_packet(struct text *out, const struct packet_record *record, uint32_t length)
{
    uint32_t copied = record->packet_copied < length ? record->packet_copied : length;

    json_base64(out, "packet", record_packet(record), copied);
    if (!link_types[record->link].name)
        return;
    json_member_object(out, "packet_info");
    json_member_uint(out, "linktype", link_types[record->link].number);
    json_member_string(out, "linktype_name", link_types[record->link].name);
    json_object_close(out);
}

/* Writes the object "tunnel", which describes the outer packet. A protocol without ports has port 0, as in Suricata. */
void eve_tunnel(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const struct endpoints *root = &record->root;

    if (!record->is_tunneled)
        return;
    json_member_object(out, "tunnel");
    if (root->ip_version != 0) {
        eve_address(eve, out, "src_ip", &root->source, root->ip_version);
        json_member_uint(out, "src_port", protocol_has_ports(root->protocol) ? root->source_port : 0);
        eve_address(eve, out, "dest_ip", &root->destination, root->ip_version);
        json_member_uint(out, "dest_port", protocol_has_ports(root->protocol) ? root->destination_port : 0);
        eve_protocol(out, root->protocol);
    }
    json_member_uint(out, "depth", record->tunnel_depth);
    if (!eve->options->queue_fields && record->number > 0)
        json_member_uint(out, "pcap_cnt", record->number);
    json_member_string(out, "pkt_src", packet_sources[root->packet_source]);
    json_object_close(out);
}

void eve_endpoint(struct eve *eve, struct text *out, const char *key, const struct packet_record *record,
                  bool of_source)
{
    const struct endpoints *ends = &record->endpoints;

    json_object_open(out, key);
    eve_end_address(eve, out, "ip", record, of_source);
    if (protocol_has_ports(ends->protocol))
        json_member_uint(out, "port", of_source ? ends->source_port : ends->destination_port);
    json_object_close(out);
}
