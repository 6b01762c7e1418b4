/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the decoder events: one row an event, sorted as in the header. */
#include "sluice/decode_event.h"

#include <string.h>

static const char *const names[DECODE_EVENT_COUNT] = {
    [DECODE_EVENT_AFPACKET_TRUNC_PKT] = "afpacket.trunc_pkt",
    [DECODE_EVENT_ARP_INVALID_HARDWARE_SIZE] = "arp.invalid_hardware_size",
    [DECODE_EVENT_ARP_INVALID_PROTOCOL_SIZE] = "arp.invalid_protocol_size",
    [DECODE_EVENT_ARP_PKT_TOO_SMALL] = "arp.pkt_too_small",
    [DECODE_EVENT_ARP_UNSUPPORTED_HARDWARE] = "arp.unsupported_hardware",
    [DECODE_EVENT_ARP_UNSUPPORTED_OPCODE] = "arp.unsupported_opcode",
    [DECODE_EVENT_ARP_UNSUPPORTED_PKT] = "arp.unsupported_pkt",
    [DECODE_EVENT_ARP_UNSUPPORTED_PROTOCOL] = "arp.unsupported_protocol",
    [DECODE_EVENT_CHDLC_PKT_TOO_SMALL] = "chdlc.pkt_too_small",
    [DECODE_EVENT_DCE_PKT_TOO_SMALL] = "dce.pkt_too_small",
    [DECODE_EVENT_ERSPAN_HEADER_TOO_SMALL] = "erspan.header_too_small",
    [DECODE_EVENT_ERSPAN_TOO_MANY_VLAN_LAYERS] = "erspan.too_many_vlan_layers",
    [DECODE_EVENT_ERSPAN_UNSUPPORTED_VERSION] = "erspan.unsupported_version",
    [DECODE_EVENT_ESP_PKT_TOO_SMALL] = "esp.pkt_too_small",
    [DECODE_EVENT_ETAG_HEADER_TOO_SMALL] = "etag.header_too_small",
    [DECODE_EVENT_ETAG_UNKNOWN_TYPE] = "etag.unknown_type",
    [DECODE_EVENT_ETHERNET_PKT_TOO_SMALL] = "ethernet.pkt_too_small",
    [DECODE_EVENT_ETHERNET_UNKNOWN_ETHERTYPE] = "ethernet.unknown_ethertype",
    [DECODE_EVENT_GENEVE_UNKNOWN_PAYLOAD_TYPE] = "geneve.unknown_payload_type",
    [DECODE_EVENT_GRE_PKT_TOO_SMALL] = "gre.pkt_too_small",
    [DECODE_EVENT_GRE_VERSION0_FLAGS] = "gre.version0_flags",
    [DECODE_EVENT_GRE_VERSION0_HDR_TOO_BIG] = "gre.version0_hdr_too_big",
    [DECODE_EVENT_GRE_VERSION0_RECUR] = "gre.version0_recur",
    [DECODE_EVENT_GRE_VERSION1_CHKSUM] = "gre.version1_chksum",
    [DECODE_EVENT_GRE_VERSION1_FLAGS] = "gre.version1_flags",
    [DECODE_EVENT_GRE_VERSION1_HDR_TOO_BIG] = "gre.version1_hdr_too_big",
    [DECODE_EVENT_GRE_VERSION1_MALFORMED_SRE_HDR] = "gre.version1_malformed_sre_hdr",
    [DECODE_EVENT_GRE_VERSION1_NO_KEY] = "gre.version1_no_key",
    [DECODE_EVENT_GRE_VERSION1_RECUR] = "gre.version1_recur",
    [DECODE_EVENT_GRE_VERSION1_ROUTE] = "gre.version1_route",
    [DECODE_EVENT_GRE_VERSION1_SSR] = "gre.version1_ssr",
    [DECODE_EVENT_GRE_VERSION1_WRONG_PROTOCOL] = "gre.version1_wrong_protocol",
    [DECODE_EVENT_GRE_WRONG_VERSION] = "gre.wrong_version",
    [DECODE_EVENT_ICMPV4_IPV4_TRUNC_PKT] = "icmpv4.ipv4_trunc_pkt",
    [DECODE_EVENT_ICMPV4_IPV4_UNKNOWN_VER] = "icmpv4.ipv4_unknown_ver",
    [DECODE_EVENT_ICMPV4_PKT_TOO_SMALL] = "icmpv4.pkt_too_small",
    [DECODE_EVENT_ICMPV4_UNKNOWN_CODE] = "icmpv4.unknown_code",
    [DECODE_EVENT_ICMPV4_UNKNOWN_TYPE] = "icmpv4.unknown_type",
    [DECODE_EVENT_ICMPV6_EXPERIMENTATION_TYPE] = "icmpv6.experimentation_type",
    [DECODE_EVENT_ICMPV6_IPV6_TRUNC_PKT] = "icmpv6.ipv6_trunc_pkt",
    [DECODE_EVENT_ICMPV6_IPV6_UNKNOWN_VERSION] = "icmpv6.ipv6_unknown_version",
    [DECODE_EVENT_ICMPV6_MLD_MESSAGE_WITH_INVALID_HL] = "icmpv6.mld_message_with_invalid_hl",
    [DECODE_EVENT_ICMPV6_PKT_TOO_SMALL] = "icmpv6.pkt_too_small",
    [DECODE_EVENT_ICMPV6_UNASSIGNED_TYPE] = "icmpv6.unassigned_type",
    [DECODE_EVENT_ICMPV6_UNKNOWN_CODE] = "icmpv6.unknown_code",
    [DECODE_EVENT_ICMPV6_UNKNOWN_TYPE] = "icmpv6.unknown_type",
    [DECODE_EVENT_IEEE8021AH_HEADER_TOO_SMALL] = "ieee8021ah.header_too_small",
    [DECODE_EVENT_IGMP_MALFORMED] = "igmp.malformed",
    [DECODE_EVENT_IGMP_PKT_TOO_SMALL] = "igmp.pkt_too_small",
    [DECODE_EVENT_IGMP_V3_PKT_TOO_SMALL] = "igmp.v3_pkt_too_small",
    [DECODE_EVENT_IPRAW_INVALID_IP_VERSION] = "ipraw.invalid_ip_version",
    [DECODE_EVENT_IPV4_FRAG_IGNORED] = "ipv4.frag_ignored",
    [DECODE_EVENT_IPV4_FRAG_OVERLAP] = "ipv4.frag_overlap",
    [DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE] = "ipv4.frag_pkt_too_large",
    [DECODE_EVENT_IPV4_HLEN_TOO_SMALL] = "ipv4.hlen_too_small",
    [DECODE_EVENT_IPV4_ICMPV6] = "ipv4.icmpv6",
    [DECODE_EVENT_IPV4_IPLEN_SMALLER_THAN_HLEN] = "ipv4.iplen_smaller_than_hlen",
    [DECODE_EVENT_IPV4_OPT_DUPLICATE] = "ipv4.opt_duplicate",
    [DECODE_EVENT_IPV4_OPT_EOL_REQUIRED] = "ipv4.opt_eol_required",
    [DECODE_EVENT_IPV4_OPT_INVALID] = "ipv4.opt_invalid",
    [DECODE_EVENT_IPV4_OPT_INVALID_LEN] = "ipv4.opt_invalid_len",
    [DECODE_EVENT_IPV4_OPT_MALFORMED] = "ipv4.opt_malformed",
    [DECODE_EVENT_IPV4_OPT_PAD_REQUIRED] = "ipv4.opt_pad_required",
    [DECODE_EVENT_IPV4_OPT_UNKNOWN] = "ipv4.opt_unknown",
    [DECODE_EVENT_IPV4_PKT_TOO_SMALL] = "ipv4.pkt_too_small",
    [DECODE_EVENT_IPV4_TRUNC_PKT] = "ipv4.trunc_pkt",
    [DECODE_EVENT_IPV4_UNKNOWN_PROTOCOL] = "ipv4.unknown_protocol",
    [DECODE_EVENT_IPV4_WRONG_IP_VERSION] = "ipv4.wrong_ip_version",
    [DECODE_EVENT_IPV6_DATA_AFTER_NONE_HEADER] = "ipv6.data_after_none_header",
    [DECODE_EVENT_IPV6_DSTOPTS_ONLY_PADDING] = "ipv6.dstopts_only_padding",
    [DECODE_EVENT_IPV6_DSTOPTS_UNKNOWN_OPT] = "ipv6.dstopts_unknown_opt",
    [DECODE_EVENT_IPV6_EXTHDR_AH_RES_NOT_NULL] = "ipv6.exthdr_ah_res_not_null",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_AH] = "ipv6.exthdr_dupl_ah",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_DH] = "ipv6.exthdr_dupl_dh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_EH] = "ipv6.exthdr_dupl_eh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_FH] = "ipv6.exthdr_dupl_fh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_HH] = "ipv6.exthdr_dupl_hh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_RH] = "ipv6.exthdr_dupl_rh",
    [DECODE_EVENT_IPV6_EXTHDR_INVALID_OPTLEN] = "ipv6.exthdr_invalid_optlen",
    [DECODE_EVENT_IPV6_EXTHDR_USELESS_FH] = "ipv6.exthdr_useless_fh",
    [DECODE_EVENT_IPV6_FH_NON_ZERO_RESERVED_FIELD] = "ipv6.fh_non_zero_reserved_field",
    [DECODE_EVENT_IPV6_FRAG_IGNORED] = "ipv6.frag_ignored",
    [DECODE_EVENT_IPV6_FRAG_INVALID_LENGTH] = "ipv6.frag_invalid_length",
    [DECODE_EVENT_IPV6_FRAG_OVERLAP] = "ipv6.frag_overlap",
    [DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE] = "ipv6.frag_pkt_too_large",
    [DECODE_EVENT_IPV6_HOPOPTS_ONLY_PADDING] = "ipv6.hopopts_only_padding",
    [DECODE_EVENT_IPV6_HOPOPTS_UNKNOWN_OPT] = "ipv6.hopopts_unknown_opt",
    [DECODE_EVENT_IPV6_ICMPV4] = "ipv6.icmpv4",
    [DECODE_EVENT_IPV6_IPV4_IN_IPV6_TOO_SMALL] = "ipv6.ipv4_in_ipv6_too_small",
    [DECODE_EVENT_IPV6_IPV4_IN_IPV6_WRONG_VERSION] = "ipv6.ipv4_in_ipv6_wrong_version",
    [DECODE_EVENT_IPV6_IPV6_IN_IPV6_TOO_SMALL] = "ipv6.ipv6_in_ipv6_too_small",
    [DECODE_EVENT_IPV6_IPV6_IN_IPV6_WRONG_VERSION] = "ipv6.ipv6_in_ipv6_wrong_version",
    [DECODE_EVENT_IPV6_PKT_TOO_SMALL] = "ipv6.pkt_too_small",
    [DECODE_EVENT_IPV6_RH_TYPE_0] = "ipv6.rh_type_0",
    [DECODE_EVENT_IPV6_TRUNC_EXTHDR] = "ipv6.trunc_exthdr",
    [DECODE_EVENT_IPV6_TRUNC_PKT] = "ipv6.trunc_pkt",
    [DECODE_EVENT_IPV6_UNKNOWN_NEXT_HEADER] = "ipv6.unknown_next_header",
    [DECODE_EVENT_IPV6_WRONG_IP_VERSION] = "ipv6.wrong_ip_version",
    [DECODE_EVENT_IPV6_ZERO_LEN_PADN] = "ipv6.zero_len_padn",
    [DECODE_EVENT_LTNULL_PKT_TOO_SMALL] = "ltnull.pkt_too_small",
    [DECODE_EVENT_LTNULL_UNSUPPORTED_TYPE] = "ltnull.unsupported_type",
    [DECODE_EVENT_MPLS_BAD_LABEL_IMPLICIT_NULL] = "mpls.bad_label_implicit_null",
    [DECODE_EVENT_MPLS_BAD_LABEL_RESERVED] = "mpls.bad_label_reserved",
    [DECODE_EVENT_MPLS_BAD_LABEL_ROUTER_ALERT] = "mpls.bad_label_router_alert",
    [DECODE_EVENT_MPLS_HEADER_TOO_SMALL] = "mpls.header_too_small",
    [DECODE_EVENT_MPLS_PKT_TOO_SMALL] = "mpls.pkt_too_small",
    [DECODE_EVENT_MPLS_UNKNOWN_PAYLOAD_TYPE] = "mpls.unknown_payload_type",
    [DECODE_EVENT_NSH_BAD_HEADER_LENGTH] = "nsh.bad_header_length",
    [DECODE_EVENT_NSH_HEADER_TOO_SMALL] = "nsh.header_too_small",
    [DECODE_EVENT_NSH_RESERVED_TYPE] = "nsh.reserved_type",
    [DECODE_EVENT_NSH_UNKNOWN_PAYLOAD] = "nsh.unknown_payload",
    [DECODE_EVENT_NSH_UNSUPPORTED_TYPE] = "nsh.unsupported_type",
    [DECODE_EVENT_NSH_UNSUPPORTED_VERSION] = "nsh.unsupported_version",
    [DECODE_EVENT_PPP_IP4_PKT_TOO_SMALL] = "ppp.ip4_pkt_too_small",
    [DECODE_EVENT_PPP_IP6_PKT_TOO_SMALL] = "ppp.ip6_pkt_too_small",
    [DECODE_EVENT_PPP_PKT_TOO_SMALL] = "ppp.pkt_too_small",
    [DECODE_EVENT_PPP_UNSUP_PROTO] = "ppp.unsup_proto",
    [DECODE_EVENT_PPP_VJU_PKT_TOO_SMALL] = "ppp.vju_pkt_too_small",
    [DECODE_EVENT_PPP_WRONG_TYPE] = "ppp.wrong_type",
    [DECODE_EVENT_PPPOE_MALFORMED_TAGS] = "pppoe.malformed_tags",
    [DECODE_EVENT_PPPOE_PKT_TOO_SMALL] = "pppoe.pkt_too_small",
    [DECODE_EVENT_PPPOE_WRONG_CODE] = "pppoe.wrong_code",
    [DECODE_EVENT_SCTP_CHUNK_LEN_INVALID] = "sctp.chunk_len_invalid",
    [DECODE_EVENT_SCTP_CHUNK_TOO_SMALL] = "sctp.chunk_too_small",
    [DECODE_EVENT_SCTP_DATA_WITH_ZERO_VTAG] = "sctp.data_with_zero_vtag",
    [DECODE_EVENT_SCTP_INIT_CHUNK_BUNDLED] = "sctp.init_chunk_bundled",
    [DECODE_EVENT_SCTP_INIT_WITH_NON_ZERO_VTAG] = "sctp.init_with_non_zero_vtag",
    [DECODE_EVENT_SCTP_PKT_TOO_SMALL] = "sctp.pkt_too_small",
    [DECODE_EVENT_SCTP_TOO_MANY_CHUNKS] = "sctp.too_many_chunks",
    [DECODE_EVENT_SCTP_TOO_MANY_DATA_CHUNKS] = "sctp.too_many_data_chunks",
    [DECODE_EVENT_SLL_PKT_TOO_SMALL] = "sll.pkt_too_small",
    [DECODE_EVENT_SLL2_PKT_TOO_SMALL] = "sll2.pkt_too_small",
    [DECODE_EVENT_TCP_HLEN_TOO_SMALL] = "tcp.hlen_too_small",
    [DECODE_EVENT_TCP_INVALID_OPTLEN] = "tcp.invalid_optlen",
    [DECODE_EVENT_TCP_OPT_DUPLICATE] = "tcp.opt_duplicate",
    [DECODE_EVENT_TCP_OPT_INVALID_LEN] = "tcp.opt_invalid_len",
    [DECODE_EVENT_TCP_PKT_TOO_SMALL] = "tcp.pkt_too_small",
    [DECODE_EVENT_TOO_MANY_LAYERS] = "too_many_layers",
    [DECODE_EVENT_UDP_HLEN_TOO_SMALL] = "udp.hlen_too_small",
    [DECODE_EVENT_UDP_LEN_INVALID] = "udp.len_invalid",
    [DECODE_EVENT_UDP_PKT_TOO_SMALL] = "udp.pkt_too_small",
    [DECODE_EVENT_VLAN_HEADER_TOO_SMALL] = "vlan.header_too_small",
    [DECODE_EVENT_VLAN_TOO_MANY_LAYERS] = "vlan.too_many_layers",
    [DECODE_EVENT_VLAN_UNKNOWN_TYPE] = "vlan.unknown_type",
    [DECODE_EVENT_VNTAG_HEADER_TOO_SMALL] = "vntag.header_too_small",
    [DECODE_EVENT_VNTAG_UNKNOWN_TYPE] = "vntag.unknown_type",
    [DECODE_EVENT_VXLAN_UNKNOWN_PAYLOAD_TYPE] = "vxlan.unknown_payload_type",
};

/* Spellings of older rulesets. */
static const struct {
    const char *name;
    enum decode_event event;
} old_names[] = {
    { "udp.hlen_invalid", DECODE_EVENT_UDP_LEN_INVALID },
};

const char *decode_event_name(enum decode_event event)
{
    return event < DECODE_EVENT_COUNT ? names[event] : "unknown";
}

static bool same(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

bool decode_event_find(const char *name, size_t length, enum decode_event *out)
{
    for (size_t i = 0; i < DECODE_EVENT_COUNT; i++) {
        if (same(names[i], name, length)) {
            *out = (enum decode_event)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++) {
        if (same(old_names[i].name, name, length)) {
            *out = old_names[i].event;
            return true;
        }
    }
    return false;
}
