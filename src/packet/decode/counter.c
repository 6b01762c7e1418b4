/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters and their names: first those of headers, then one per decoder event. */
#include "decode_priv.h"

static const char *const names[COUNTER_COUNT] = {
    [COUNTER_PKTS] = "pkts",
    [COUNTER_BYTES] = "bytes",
    [COUNTER_INVALID] = "invalid",
    [COUNTER_IPV4] = "ipv4",
    [COUNTER_IPV6] = "ipv6",
    [COUNTER_ETHERNET] = "ethernet",
    [COUNTER_ARP] = "arp",
    [COUNTER_UNKNOWN_ETHERTYPE] = "unknown_ethertype",
    [COUNTER_CHDLC] = "chdlc",
    [COUNTER_RAW] = "raw",
    [COUNTER_NULL] = "null",
    [COUNTER_SLL] = "sll",
    [COUNTER_SLL2] = "sll2",
    [COUNTER_TCP] = "tcp",
    [COUNTER_UDP] = "udp",
    [COUNTER_SCTP] = "sctp",
    [COUNTER_ESP] = "esp",
    [COUNTER_ICMPV4] = "icmpv4",
    [COUNTER_ICMPV6] = "icmpv6",
    [COUNTER_IGMP] = "igmp",
    [COUNTER_PPP] = "ppp",
    [COUNTER_PPPOE] = "pppoe",
    [COUNTER_GENEVE] = "geneve",
    [COUNTER_GTP] = "gtp",
    [COUNTER_GRE] = "gre",
    [COUNTER_VLAN] = "vlan",
    [COUNTER_VLAN_QINQ] = "vlan_qinq",
    [COUNTER_VLAN_QINQINQ] = "vlan_qinqinq",
    [COUNTER_VXLAN] = "vxlan",
    [COUNTER_VNTAG] = "vntag",
    [COUNTER_ETAG] = "etag",
    [COUNTER_IEEE8021AH] = "ieee8021ah",
    [COUNTER_TEREDO] = "teredo",
    [COUNTER_IPV4_IN_IPV4] = "ipv4_in_ipv4",
    [COUNTER_IPV6_IN_IPV4] = "ipv6_in_ipv4",
    [COUNTER_IPV4_IN_IPV6] = "ipv4_in_ipv6",
    [COUNTER_IPV6_IN_IPV6] = "ipv6_in_ipv6",
    [COUNTER_MPLS] = "mpls",
    [COUNTER_AVG_PKT_SIZE] = "avg_pkt_size",
    [COUNTER_MAX_PKT_SIZE] = "max_pkt_size",
    [COUNTER_MAX_MAC_ADDRS_SRC] = "max_mac_addrs_src",
    [COUNTER_MAX_MAC_ADDRS_DST] = "max_mac_addrs_dst",
    [COUNTER_ERSPAN] = "erspan",
    [COUNTER_NSH] = "nsh",
    [COUNTER_TOO_MANY_LAYERS] = "too_many_layers",
};

size_t decode_counter_count(void)
{
    return COUNTER_COUNT + DECODE_EVENT_COUNT;
}

const char *decode_counter_name(size_t index)
{
    if (index < COUNTER_COUNT)
        return names[index];
    return index < decode_counter_count() ? decode_event_counter_name((enum decode_event)(index - COUNTER_COUNT)) : "";
}

uint64_t decode_counter_value(const struct decoder *decoder, size_t index)
{
    if (index == COUNTER_AVG_PKT_SIZE) {
        uint64_t packets = decoder->counters[COUNTER_PKTS];

        return packets ? decoder->counters[COUNTER_BYTES] / packets : 0;
    }
    if (index < COUNTER_COUNT)
        return decoder->counters[index];
    return index < decode_counter_count() ? decoder->event_counters[index - COUNTER_COUNT] : 0;
}
