/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the decoder events, in the order of enum decode_event. Names of counters have an additional prefix. */
#include "sluice/decode_event.h"

#include <string.h>

#include "decode_priv.h"

enum { PREFIX_LENGTH = sizeof("event.") - 1 };

static const char *const names[DECODE_EVENT_COUNT] = {
    [DECODE_EVENT_AFPACKET_TRUNC_PKT] = "event.afpacket.trunc_pkt",
    [DECODE_EVENT_ARP_INVALID_HARDWARE_SIZE] = "event.arp.invalid_hardware_size",
    [DECODE_EVENT_ARP_INVALID_PKT] = "event.arp.invalid_pkt",
    [DECODE_EVENT_ARP_INVALID_PROTOCOL_SIZE] = "event.arp.invalid_protocol_size",
    [DECODE_EVENT_ARP_PKT_TOO_SMALL] = "event.arp.pkt_too_small",
    [DECODE_EVENT_ARP_UNSUPPORTED_HARDWARE] = "event.arp.unsupported_hardware",
    [DECODE_EVENT_ARP_UNSUPPORTED_OPCODE] = "event.arp.unsupported_opcode",
    [DECODE_EVENT_ARP_UNSUPPORTED_PROTOCOL] = "event.arp.unsupported_protocol",
    [DECODE_EVENT_CHDLC_PKT_TOO_SMALL] = "event.chdlc.pkt_too_small",
    [DECODE_EVENT_DCE_PKT_TOO_SMALL] = "event.dce.pkt_too_small",
    [DECODE_EVENT_ERSPAN_HEADER_TOO_SMALL] = "event.erspan.header_too_small",
    [DECODE_EVENT_ERSPAN_TOO_MANY_VLAN_LAYERS] = "event.erspan.too_many_vlan_layers",
    [DECODE_EVENT_ERSPAN_UNSUPPORTED_VERSION] = "event.erspan.unsupported_version",
    [DECODE_EVENT_ESP_PKT_TOO_SMALL] = "event.esp.pkt_too_small",
    [DECODE_EVENT_ETAG_HEADER_TOO_SMALL] = "event.etag.header_too_small",
    [DECODE_EVENT_ETAG_UNKNOWN_TYPE] = "event.etag.unknown_type",
    [DECODE_EVENT_ETHERNET_PKT_TOO_SMALL] = "event.ethernet.pkt_too_small",
    [DECODE_EVENT_ETHERNET_UNKNOWN_ETHERTYPE] = "event.ethernet.unknown_ethertype",
    [DECODE_EVENT_GENEVE_UNKNOWN_PAYLOAD_TYPE] = "event.geneve.unknown_payload_type",
    [DECODE_EVENT_GRE_PKT_TOO_SMALL] = "event.gre.pkt_too_small",
    [DECODE_EVENT_GRE_VERSION0_FLAGS] = "event.gre.version0_flags",
    [DECODE_EVENT_GRE_VERSION0_HDR_TOO_BIG] = "event.gre.version0_hdr_too_big",
    [DECODE_EVENT_GRE_VERSION0_MALFORMED_SRE_HDR] = "event.gre.version0_malformed_sre_hdr",
    [DECODE_EVENT_GRE_VERSION0_RECUR] = "event.gre.version0_recur",
    [DECODE_EVENT_GRE_VERSION1_CHKSUM] = "event.gre.version1_chksum",
    [DECODE_EVENT_GRE_VERSION1_FLAGS] = "event.gre.version1_flags",
    [DECODE_EVENT_GRE_VERSION1_HDR_TOO_BIG] = "event.gre.version1_hdr_too_big",
    [DECODE_EVENT_GRE_VERSION1_MALFORMED_SRE_HDR] = "event.gre.version1_malformed_sre_hdr",
    [DECODE_EVENT_GRE_VERSION1_NO_KEY] = "event.gre.version1_no_key",
    [DECODE_EVENT_GRE_VERSION1_RECUR] = "event.gre.version1_recur",
    [DECODE_EVENT_GRE_VERSION1_ROUTE] = "event.gre.version1_route",
    [DECODE_EVENT_GRE_VERSION1_SSR] = "event.gre.version1_ssr",
    [DECODE_EVENT_GRE_VERSION1_WRONG_PROTOCOL] = "event.gre.version1_wrong_protocol",
    [DECODE_EVENT_GRE_WRONG_VERSION] = "event.gre.wrong_version",
    [DECODE_EVENT_ICMPV4_IPV4_TRUNC_PKT] = "event.icmpv4.ipv4_trunc_pkt",
    [DECODE_EVENT_ICMPV4_IPV4_UNKNOWN_VER] = "event.icmpv4.ipv4_unknown_ver",
    [DECODE_EVENT_ICMPV4_PKT_TOO_SMALL] = "event.icmpv4.pkt_too_small",
    [DECODE_EVENT_ICMPV4_UNKNOWN_CODE] = "event.icmpv4.unknown_code",
    [DECODE_EVENT_ICMPV4_UNKNOWN_TYPE] = "event.icmpv4.unknown_type",
    [DECODE_EVENT_ICMPV6_EXPERIMENTATION_TYPE] = "event.icmpv6.experimentation_type",
    [DECODE_EVENT_ICMPV6_IPV6_TRUNC_PKT] = "event.icmpv6.ipv6_trunc_pkt",
    [DECODE_EVENT_ICMPV6_IPV6_UNKNOWN_VERSION] = "event.icmpv6.ipv6_unknown_version",
    [DECODE_EVENT_ICMPV6_MLD_MESSAGE_WITH_INVALID_HL] = "event.icmpv6.mld_message_with_invalid_hl",
    [DECODE_EVENT_ICMPV6_PKT_TOO_SMALL] = "event.icmpv6.pkt_too_small",
    [DECODE_EVENT_ICMPV6_UNASSIGNED_TYPE] = "event.icmpv6.unassigned_type",
    [DECODE_EVENT_ICMPV6_UNKNOWN_CODE] = "event.icmpv6.unknown_code",
    [DECODE_EVENT_ICMPV6_UNKNOWN_TYPE] = "event.icmpv6.unknown_type",
    [DECODE_EVENT_IEEE8021AH_HEADER_TOO_SMALL] = "event.ieee8021ah.header_too_small",
    [DECODE_EVENT_IGMP_MALFORMED] = "event.igmp.malformed",
    [DECODE_EVENT_IGMP_PKT_TOO_SMALL] = "event.igmp.pkt_too_small",
    [DECODE_EVENT_IGMP_V3_PKT_TOO_SMALL] = "event.igmp.v3_pkt_too_small",
    [DECODE_EVENT_IPRAW_INVALID_IP_VERSION] = "event.ipraw.invalid_ip_version",
    [DECODE_EVENT_IPV4_FRAG_IGNORED] = "event.ipv4.frag_ignored",
    [DECODE_EVENT_IPV4_FRAG_OVERLAP] = "event.ipv4.frag_overlap",
    [DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE] = "event.ipv4.frag_pkt_too_large",
    [DECODE_EVENT_IPV4_HLEN_TOO_SMALL] = "event.ipv4.hlen_too_small",
    [DECODE_EVENT_IPV4_ICMPV6] = "event.ipv4.icmpv6",
    [DECODE_EVENT_IPV4_IPLEN_SMALLER_THAN_HLEN] = "event.ipv4.iplen_smaller_than_hlen",
    [DECODE_EVENT_IPV4_OPT_DUPLICATE] = "event.ipv4.opt_duplicate",
    [DECODE_EVENT_IPV4_OPT_EOL_REQUIRED] = "event.ipv4.opt_eol_required",
    [DECODE_EVENT_IPV4_OPT_INVALID] = "event.ipv4.opt_invalid",
    [DECODE_EVENT_IPV4_OPT_INVALID_LEN] = "event.ipv4.opt_invalid_len",
    [DECODE_EVENT_IPV4_OPT_MALFORMED] = "event.ipv4.opt_malformed",
    [DECODE_EVENT_IPV4_OPT_PAD_REQUIRED] = "event.ipv4.opt_pad_required",
    [DECODE_EVENT_IPV4_OPT_UNKNOWN] = "event.ipv4.opt_unknown",
    [DECODE_EVENT_IPV4_PKT_TOO_SMALL] = "event.ipv4.pkt_too_small",
    [DECODE_EVENT_IPV4_TRUNC_PKT] = "event.ipv4.trunc_pkt",
    [DECODE_EVENT_IPV4_UNKNOWN_PROTOCOL] = "event.ipv4.unknown_protocol",
    [DECODE_EVENT_IPV4_WRONG_IP_VERSION] = "event.ipv4.wrong_ip_version",
    [DECODE_EVENT_IPV6_DATA_AFTER_NONE_HEADER] = "event.ipv6.data_after_none_header",
    [DECODE_EVENT_IPV6_DSTOPTS_ONLY_PADDING] = "event.ipv6.dstopts_only_padding",
    [DECODE_EVENT_IPV6_DSTOPTS_UNKNOWN_OPT] = "event.ipv6.dstopts_unknown_opt",
    [DECODE_EVENT_IPV6_EXTHDR_AH_RES_NOT_NULL] = "event.ipv6.exthdr_ah_res_not_null",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_AH] = "event.ipv6.exthdr_dupl_ah",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_DH] = "event.ipv6.exthdr_dupl_dh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_EH] = "event.ipv6.exthdr_dupl_eh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_FH] = "event.ipv6.exthdr_dupl_fh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_HH] = "event.ipv6.exthdr_dupl_hh",
    [DECODE_EVENT_IPV6_EXTHDR_DUPL_RH] = "event.ipv6.exthdr_dupl_rh",
    [DECODE_EVENT_IPV6_EXTHDR_INVALID_OPTLEN] = "event.ipv6.exthdr_invalid_optlen",
    [DECODE_EVENT_IPV6_EXTHDR_USELESS_FH] = "event.ipv6.exthdr_useless_fh",
    [DECODE_EVENT_IPV6_FH_NON_ZERO_RESERVED_FIELD] = "event.ipv6.fh_non_zero_reserved_field",
    [DECODE_EVENT_IPV6_FRAG_IGNORED] = "event.ipv6.frag_ignored",
    [DECODE_EVENT_IPV6_FRAG_INVALID_LENGTH] = "event.ipv6.frag_invalid_length",
    [DECODE_EVENT_IPV6_FRAG_OVERLAP] = "event.ipv6.frag_overlap",
    [DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE] = "event.ipv6.frag_pkt_too_large",
    [DECODE_EVENT_IPV6_HOPOPTS_ONLY_PADDING] = "event.ipv6.hopopts_only_padding",
    [DECODE_EVENT_IPV6_HOPOPTS_UNKNOWN_OPT] = "event.ipv6.hopopts_unknown_opt",
    [DECODE_EVENT_IPV6_ICMPV4] = "event.ipv6.icmpv4",
    [DECODE_EVENT_IPV6_IPV4_IN_IPV6_TOO_SMALL] = "event.ipv6.ipv4_in_ipv6_too_small",
    [DECODE_EVENT_IPV6_IPV4_IN_IPV6_WRONG_VERSION] = "event.ipv6.ipv4_in_ipv6_wrong_version",
    [DECODE_EVENT_IPV6_IPV6_IN_IPV6_TOO_SMALL] = "event.ipv6.ipv6_in_ipv6_too_small",
    [DECODE_EVENT_IPV6_IPV6_IN_IPV6_WRONG_VERSION] = "event.ipv6.ipv6_in_ipv6_wrong_version",
    [DECODE_EVENT_IPV6_PKT_TOO_SMALL] = "event.ipv6.pkt_too_small",
    [DECODE_EVENT_IPV6_RH_TYPE_0] = "event.ipv6.rh_type_0",
    [DECODE_EVENT_IPV6_TRUNC_EXTHDR] = "event.ipv6.trunc_exthdr",
    [DECODE_EVENT_IPV6_TRUNC_PKT] = "event.ipv6.trunc_pkt",
    [DECODE_EVENT_IPV6_UNKNOWN_NEXT_HEADER] = "event.ipv6.unknown_next_header",
    [DECODE_EVENT_IPV6_WRONG_IP_VERSION] = "event.ipv6.wrong_ip_version",
    [DECODE_EVENT_IPV6_ZERO_LEN_PADN] = "event.ipv6.zero_len_padn",
    [DECODE_EVENT_LTNULL_PKT_TOO_SMALL] = "event.ltnull.pkt_too_small",
    [DECODE_EVENT_LTNULL_UNSUPPORTED_TYPE] = "event.ltnull.unsupported_type",
    [DECODE_EVENT_MPLS_BAD_LABEL_IMPLICIT_NULL] = "event.mpls.bad_label_implicit_null",
    [DECODE_EVENT_MPLS_BAD_LABEL_RESERVED] = "event.mpls.bad_label_reserved",
    [DECODE_EVENT_MPLS_BAD_LABEL_ROUTER_ALERT] = "event.mpls.bad_label_router_alert",
    [DECODE_EVENT_MPLS_HEADER_TOO_SMALL] = "event.mpls.header_too_small",
    [DECODE_EVENT_MPLS_PKT_TOO_SMALL] = "event.mpls.pkt_too_small",
    [DECODE_EVENT_MPLS_UNKNOWN_PAYLOAD_TYPE] = "event.mpls.unknown_payload_type",
    [DECODE_EVENT_NSH_BAD_HEADER_LENGTH] = "event.nsh.bad_header_length",
    [DECODE_EVENT_NSH_HEADER_TOO_SMALL] = "event.nsh.header_too_small",
    [DECODE_EVENT_NSH_RESERVED_TYPE] = "event.nsh.reserved_type",
    [DECODE_EVENT_NSH_UNKNOWN_PAYLOAD] = "event.nsh.unknown_payload",
    [DECODE_EVENT_NSH_UNSUPPORTED_TYPE] = "event.nsh.unsupported_type",
    [DECODE_EVENT_NSH_UNSUPPORTED_VERSION] = "event.nsh.unsupported_version",
    [DECODE_EVENT_PPP_IP4_PKT_TOO_SMALL] = "event.ppp.ip4_pkt_too_small",
    [DECODE_EVENT_PPP_IP6_PKT_TOO_SMALL] = "event.ppp.ip6_pkt_too_small",
    [DECODE_EVENT_PPP_PKT_TOO_SMALL] = "event.ppp.pkt_too_small",
    [DECODE_EVENT_PPP_UNSUP_PROTO] = "event.ppp.unsup_proto",
    [DECODE_EVENT_PPP_VJU_PKT_TOO_SMALL] = "event.ppp.vju_pkt_too_small",
    [DECODE_EVENT_PPP_WRONG_TYPE] = "event.ppp.wrong_type",
    [DECODE_EVENT_PPPOE_MALFORMED_TAGS] = "event.pppoe.malformed_tags",
    [DECODE_EVENT_PPPOE_PKT_TOO_SMALL] = "event.pppoe.pkt_too_small",
    [DECODE_EVENT_PPPOE_WRONG_CODE] = "event.pppoe.wrong_code",
    [DECODE_EVENT_SCTP_CHUNK_LEN_INVALID] = "event.sctp.chunk_len_invalid",
    [DECODE_EVENT_SCTP_CHUNK_TOO_SMALL] = "event.sctp.chunk_too_small",
    [DECODE_EVENT_SCTP_DATA_WITH_ZERO_VTAG] = "event.sctp.data_with_zero_vtag",
    [DECODE_EVENT_SCTP_INIT_CHUNK_BUNDLED] = "event.sctp.init_chunk_bundled",
    [DECODE_EVENT_SCTP_INIT_WITH_NON_ZERO_VTAG] = "event.sctp.init_with_non_zero_vtag",
    [DECODE_EVENT_SCTP_PKT_TOO_SMALL] = "event.sctp.pkt_too_small",
    [DECODE_EVENT_SCTP_TOO_MANY_CHUNKS] = "event.sctp.too_many_chunks",
    [DECODE_EVENT_SCTP_TOO_MANY_DATA_CHUNKS] = "event.sctp.too_many_data_chunks",
    [DECODE_EVENT_SLL_PKT_TOO_SMALL] = "event.sll.pkt_too_small",
    [DECODE_EVENT_SLL2_PKT_TOO_SMALL] = "event.sll2.pkt_too_small",
    [DECODE_EVENT_TCP_HLEN_TOO_SMALL] = "event.tcp.hlen_too_small",
    [DECODE_EVENT_TCP_INVALID_OPTLEN] = "event.tcp.invalid_optlen",
    [DECODE_EVENT_TCP_OPT_DUPLICATE] = "event.tcp.opt_duplicate",
    [DECODE_EVENT_TCP_OPT_INVALID_LEN] = "event.tcp.opt_invalid_len",
    [DECODE_EVENT_TCP_PKT_TOO_SMALL] = "event.tcp.pkt_too_small",
    [DECODE_EVENT_TOO_MANY_LAYERS] = "event.too_many_layers",
    [DECODE_EVENT_UDP_HLEN_TOO_SMALL] = "event.udp.hlen_too_small",
    [DECODE_EVENT_UDP_LEN_INVALID] = "event.udp.len_invalid",
    [DECODE_EVENT_UDP_PKT_TOO_SMALL] = "event.udp.pkt_too_small",
    [DECODE_EVENT_VLAN_HEADER_TOO_SMALL] = "event.vlan.header_too_small",
    [DECODE_EVENT_VLAN_TOO_MANY_LAYERS] = "event.vlan.too_many_layers",
    [DECODE_EVENT_VLAN_UNKNOWN_TYPE] = "event.vlan.unknown_type",
    [DECODE_EVENT_VNTAG_HEADER_TOO_SMALL] = "event.vntag.header_too_small",
    [DECODE_EVENT_VNTAG_UNKNOWN_TYPE] = "event.vntag.unknown_type",
    [DECODE_EVENT_VXLAN_UNKNOWN_PAYLOAD_TYPE] = "event.vxlan.unknown_payload_type",
};

/* Names that older rulesets use for events. */
static const struct {
    const char *name;
    enum decode_event event;
} old_names[] = {
    { "arp.unsupported_pkt", DECODE_EVENT_ARP_INVALID_PKT },
    { "udp.hlen_invalid", DECODE_EVENT_UDP_LEN_INVALID },
};

const char *decode_event_name(enum decode_event event)
{
    return event < DECODE_EVENT_COUNT ? names[event] + PREFIX_LENGTH : "unknown";
}

const char *decode_event_counter_name(enum decode_event event)
{
    return names[event];
}

static bool equals(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

bool decode_event_find(const char *name, size_t length, enum decode_event *out)
{
    for (size_t i = 0; i < DECODE_EVENT_COUNT; i++) {
        if (equals(names[i] + PREFIX_LENGTH, name, length)) {
            *out = (enum decode_event)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++) {
        if (equals(old_names[i].name, name, length)) {
            *out = old_names[i].event;
            return true;
        }
    }
    return false;
}
