/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A packet for every event of the decoder: all its events in order, and whether the packet is invalid. */
#include <stdio.h>

#include "packet_text.h"

#define ZERO8 "0000000000000000"
#define ZERO20 ZERO8 ZERO8 "00000000"
#define INNER_TCP4 IP4("06") TCP
#define BACKBONE ETH("88e7") "00000000" /* IEEE 802.1ah */
#define BACKBONE4 BACKBONE BACKBONE BACKBONE BACKBONE

static const struct {
    enum link_type link;
    const char *text;
    const char *events; /* names of events, separated by blanks */
    bool invalid;
    uint8_t ip_version;
} rows[] = {
    /* --- link ------------------------------------------------------------------------------------- */
    { LINK_ETHERNET, "020000000002 0200000000", "ethernet.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("88cc") "0000", "ethernet.unknown_ethertype", false, 0 },
    { LINK_LINUX_SLL, "0000 0001 0006 020000000001 0000", "sll.pkt_too_small", true, 0 },
    { LINK_LINUX_SLL2, "0800 0000 00000001 0001 00 06 0200", "sll2.pkt_too_small", true, 0 },
    { LINK_CHDLC, "0f0008", "chdlc.pkt_too_small", true, 0 },
    { LINK_NULL, "020000", "ltnull.pkt_too_small", true, 0 },
    { LINK_LOOP, "000000", "ltnull.pkt_too_small", true, 0 },
    { LINK_NULL, "63000000", "ltnull.unsupported_type", false, 0 },
    { LINK_RAW, "50000014" ZERO8 ZERO8, "ipraw.invalid_ip_version", false, 0 },
    { LINK_RAW, "4500", "ipv4.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8100") "0001", "vlan.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8100") "0001 88cc", "ethernet.unknown_ethertype vlan.unknown_type", true, 0 },
    { LINK_ETHERNET, ETH("88a8") "0001 8100 0002 8100 0003 8100 0004 0800" INNER_TCP4, "vlan.too_many_layers", false,
      0 },
    { LINK_ETHERNET, ETH("88e7") "00000000 020000000004", "ieee8021ah.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8926") "00000000", "vntag.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8926") "00000000 88cc", "ethernet.unknown_ethertype vntag.unknown_type", true, 0 },
    { LINK_ETHERNET, ETH("893f") "00000000", "etag.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("893f") "000000000000 88cc", "ethernet.unknown_ethertype etag.unknown_type", true, 0 },
    { LINK_ETHERNET, ETH("8903") "0000" ZERO8, "dce.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0604", "arp.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0002 0800 0604 0001", "arp.unsupported_hardware", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 86dd 0604 0001", "arp.unsupported_protocol", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0604 0001 0000", "arp.invalid_pkt", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0704 0001" ZERO20, "arp.invalid_hardware_size", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0605 0001" ZERO20, "arp.invalid_protocol_size", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0604 0005" ZERO20, "arp.unsupported_opcode", true, 0 },
    { LINK_ETHERNET, ETH("0806") "0001 0800 0604 0004" ZERO20, "", false, 0 },

    /* --- MPLS, NSH, PPP --------------------------------------------------------------------------- */
    { LINK_ETHERNET, ETH("8847") "0001", "mpls.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8847") "00010000 000200", "mpls.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8847") "000151ff 450102", "mpls.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8847") "000011ff" INNER_TCP4, "mpls.bad_label_router_alert", false, 0 },
    { LINK_ETHERNET, ETH("8847") "000031ff" INNER_TCP4, "mpls.bad_label_implicit_null", false, 0 },
    { LINK_ETHERNET, ETH("8847") "000051ff" INNER_TCP4, "mpls.bad_label_reserved", false, 0 },
    { LINK_ETHERNET, ETH("8847") "000151ff 15000000", "mpls.unknown_payload_type", true, 0 },
    { LINK_ETHERNET, ETH("894f") "00060101", "nsh.header_too_small", true, 0 },
    { LINK_ETHERNET, ETH("894f") "40020201 00000000" INNER_TCP4, "nsh.unsupported_version", false, 0 },
    { LINK_ETHERNET, ETH("894f") "00020201 00000000", "nsh.bad_header_length", true, 0 },
    { LINK_ETHERNET, ETH("894f") "00020101 00000000" INNER_TCP4, "nsh.bad_header_length", true, 0 },
    { LINK_ETHERNET, ETH("894f") "00020f01 00000000" INNER_TCP4, "nsh.reserved_type", false, 0 },
    { LINK_ETHERNET, ETH("894f") "00020301 00000000" INNER_TCP4, "nsh.unsupported_type", false, 0 },
    { LINK_ETHERNET, ETH("894f") "00020204 00000000" INNER_TCP4, "nsh.unknown_payload", false, 0 },
    { LINK_PPP, "", "ppp.pkt_too_small", true, 0 },
    { LINK_PPP, "ff03", "ppp.pkt_too_small", true, 0 },
    { LINK_PPP, "ff0300", "ppp.pkt_too_small", true, 0 },
    { LINK_PPP, "ff030021 4500", "ppp.ip4_pkt_too_small", true, 0 },
    { LINK_PPP, "21 4500", "ppp.vju_pkt_too_small", true, 0 },
    { LINK_PPP, "ff03002f 4500", "ppp.vju_pkt_too_small", true, 0 },
    { LINK_PPP, "ff030057 6000", "ppp.ip6_pkt_too_small", true, 0 },
    { LINK_PPP, "ff0300ff 4500", "ppp.wrong_type", true, 0 },
    { LINK_PPP, "ff03002b 4500", "ppp.unsup_proto", false, 0 },
    { LINK_PPP, "2b 4500", "ppp.unsup_proto", false, 0 },
    { LINK_PPP, "ff03c021 4500", "", false, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001", "pppoe.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0002 00", "pppoe.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0000 00", "", false, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0002 c021", "", false, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0002 80fd", "", false, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0002 8031", "ppp.wrong_type", true, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0002 8027", "ppp.unsup_proto", false, 0 },
    { LINK_ETHERNET, ETH("8864") "1100 0001 0004 0021 4500", "ppp.ip4_pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8863") "1109 0000", "pppoe.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("8863") "1108 0000 0000", "pppoe.wrong_code", true, 0 },
    { LINK_ETHERNET, ETH("8863") "1109 0000 0005 01010000", "pppoe.malformed_tags", true, 0 },
    { LINK_ETHERNET, ETH("8863") "1109 0000 0004 01010000", "", false, 0 },

    /* --- IPv4 ------------------------------------------------------------------------------------- */
    { LINK_ETHERNET, ETH("0800") "45000014", "ipv4.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("0800") IP4_OPTIONS("65", "06") TCP, "ipv4.wrong_ip_version", true, 0 },
    { LINK_RAW, IP4_OPTIONS("44", "06") TCP, "ipv4.hlen_too_small", true, 0 },
    { LINK_RAW, "45000013 12344000 40060000 0a000001 0a000002", "ipv4.iplen_smaller_than_hlen", true, 0 },
    { LINK_RAW, "45000015 12344000 40060000 0a000001 0a000002", "ipv4.trunc_pkt", true, 0 },
    { LINK_RAW, IP4("3a") "8000000000000000", "ipv4.icmpv6", true, 4 },
    { LINK_RAW, IP4("fd") "00", "ipv4.unknown_protocol", false, 4 },
    { LINK_RAW, IP4_OPTIONS("46", "00") "00000000", "ipv4.opt_pad_required", false, 4 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "01010101 01010107", "ipv4.opt_eol_required", false, 4 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "1e040000 00000000", "ipv4.opt_invalid", false, 4 },
    { LINK_RAW, IP4_OPTIONS("48", "11") "8202f135 0000dead beefaa00",
      "ipv4.opt_pad_required ipv4.opt_invalid_len ipv4.opt_invalid_len", true, 0 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "0701 0000 00000000", "ipv4.opt_invalid_len", true, 0 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "94030094 04000000", "ipv4.opt_invalid_len", true, 4 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "07070500 00000000", "ipv4.opt_malformed", true, 4 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "44080600 00000000", "ipv4.opt_malformed", true, 4 },
    { LINK_RAW, IP4_OPTIONS("48", "00") "860a0000 00010003 00000000", "ipv4.opt_pad_required ipv4.opt_malformed", true,
      4 },
    { LINK_RAW, IP4_OPTIONS("47", "00") "94040000 94040000", "ipv4.opt_duplicate", false, 4 },
    { LINK_RAW, IP4("01") "08000000", "icmpv4.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("01") "0a00000000000000", "icmpv4.unknown_type", false, 4 },
    { LINK_RAW, IP4("01") "0801000000000000", "icmpv4.unknown_code", false, 4 },
    { LINK_RAW, IP4("01") "0310000000000000", "icmpv4.unknown_code", false, 4 },
    { LINK_RAW, IP4("01") "030f000000000000", "", false, 4 },
    { LINK_RAW, IP4("01") "0400000000000000", "icmpv4.ipv4_trunc_pkt", true, 4 },
    { LINK_RAW, IP4("01") "0b00000000000000 45", "icmpv4.ipv4_trunc_pkt", true, 4 },
    { LINK_RAW, IP4("01") "0d00000000000000 00", "icmpv4.ipv4_trunc_pkt", false, 4 },
    { LINK_RAW, IP4("01") "0900000002020000" ZERO8, "icmpv4.ipv4_trunc_pkt", false, 4 },
    { LINK_RAW, IP4("01") "0b00000000000000 60" ZERO20, "icmpv4.ipv4_unknown_ver", true, 4 },
    { LINK_RAW, IP4("02") "11000000", "igmp.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("02") "11000000 e0000001 0000 0002 0a000001", "igmp.v3_pkt_too_small", true, 4 },
    { LINK_RAW, IP4("02") "22000000 0000 0002 01000000 e0000001", "igmp.v3_pkt_too_small", true, 4 },
    { LINK_RAW, IP4("02") "22000000 0000 0001 01010000 e0000001", "igmp.malformed", true, 4 },
    { LINK_RAW, IP4("02") "11000000 e0000001 0000 ffff", "igmp.malformed", true, 4 },

    /* --- IPv6 ------------------------------------------------------------------------------------- */
    { LINK_RAW, "60000000 0000 3b40" ZERO20, "ipv6.pkt_too_small", true, 0 },
    { LINK_ETHERNET, ETH("86dd") "40000000 0000 3b40" IP6_FROM IP6_TO, "ipv6.wrong_ip_version", true, 0 },
    { LINK_RAW, "60000000 0001 3b40" IP6_FROM IP6_TO, "ipv6.trunc_pkt", true, 0 },
    { LINK_RAW, IP6("01") "0800000000000000", "ipv6.icmpv4", false, 6 },
    { LINK_RAW, IP6("fd") "00", "ipv6.unknown_next_header", false, 6 },
    { LINK_RAW, IP6("3b") "00", "ipv6.data_after_none_header", false, 6 },
    { LINK_RAW, IP6("3b"), "", false, 6 },
    { LINK_RAW, IP6("00") "3b", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("00") "3b01000000000000", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("2c") "3b000000000000", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("33") "3b05000000000000", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("8b") "3b01000000000000", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("32") "3b", "ipv6.trunc_exthdr", true, 6 },
    { LINK_RAW, IP6("32") "00000001", "esp.pkt_too_small", true, 6 },
    { LINK_RAW, IP6("2b") "3b00000000000000", "ipv6.rh_type_0", false, 6 },
    { LINK_RAW, IP6("2b") "2b00020000000000 3b00000000000000", "ipv6.exthdr_dupl_rh", false, 6 },
    { LINK_RAW, IP6("00") "0000050200000000 3b00010400000000", "ipv6.exthdr_dupl_hh", false, 6 },
    { LINK_RAW, IP6("3c") "3c001e0400000000 3c001e0400000000 3b00000000000000",
      "ipv6.dstopts_unknown_opt ipv6.dstopts_unknown_opt ipv6.exthdr_dupl_dh", false, 6 },
    { LINK_RAW, IP6("33") "33010000 00000001 00000001 3b010000 00000001 00000002", "ipv6.exthdr_dupl_ah", false, 6 },
    { LINK_RAW, IP6("33") "3b010001 00000001 00000001", "ipv6.exthdr_ah_res_not_null", false, 6 },
    { LINK_RAW, IP6("00") "3b00010400000000", "ipv6.hopopts_only_padding", false, 6 },
    { LINK_RAW, IP6("3c") "3b00000000000000", "ipv6.dstopts_only_padding", false, 6 },
    { LINK_RAW, IP6("00") "3b00010005020000", "ipv6.zero_len_padn", false, 6 },
    { LINK_RAW, IP6("00") "3b00 01020000 0100", "ipv6.zero_len_padn ipv6.hopopts_only_padding", false, 6 },
    { LINK_RAW, IP6("00") "3b001e0400000000", "ipv6.hopopts_unknown_opt", false, 6 },
    { LINK_RAW, IP6("00") "3b00050100000000", "ipv6.exthdr_invalid_optlen", true, 6 },
    { LINK_RAW, IP6("00") "3b00050600000000", "ipv6.exthdr_invalid_optlen", true, 6 },
    { LINK_RAW, IP6("00") "3b00050500000000", "", false, 6 }, /* one byte too long: accepted, as in Suricata */
    { LINK_RAW, IP6("00") "3b00c20400010000", "", false, 6 },
    { LINK_RAW, IP6("3c") "3b00c90400000000", "ipv6.exthdr_invalid_optlen", true, 6 },
    { LINK_RAW, IP6("2c") "3b01000000000001", "ipv6.fh_non_zero_reserved_field ipv6.exthdr_useless_fh", false, 6 },
    { LINK_RAW, IP6("2c") "2c00000000000001 3b00000000000001", "ipv6.exthdr_useless_fh ipv6.exthdr_dupl_fh", false, 6 },
    { LINK_RAW, IP6("2c") "1100000100000001 0000", "ipv6.frag_invalid_length", false, 6 },
    { LINK_RAW, IP6("2c") "1100000800000001 0000", "", false, 6 },
    { LINK_RAW, IP6("04") "4500", "ipv6.ipv4_in_ipv6_too_small", true, 6 },
    { LINK_RAW, IP6("04") IP4_OPTIONS("55", "06") TCP, "ipv6.ipv4_in_ipv6_wrong_version", true, 6 },
    { LINK_RAW, IP6("29") "6000", "ipv6.ipv6_in_ipv6_too_small", true, 6 },
    { LINK_RAW, IP6("29") "70000000 0000 3b40" IP6_FROM IP6_TO, "ipv6.ipv6_in_ipv6_wrong_version", true, 6 },
    { LINK_RAW, IP6("3a") "80000000", "icmpv6.pkt_too_small", true, 6 },
    { LINK_RAW, IP6("3a") "8001000000000000", "icmpv6.unknown_code", false, 6 },
    { LINK_RAW, IP6("3a") "0107000000000000", "icmpv6.unknown_code", false, 6 },
    { LINK_RAW, IP6("3a") "8a03000000000000", "icmpv6.unknown_code", false, 6 },
    { LINK_RAW, IP6("3a") "8aff000000000000", "", false, 6 },
    { LINK_RAW, IP6("3a") "9b04000000000000", "icmpv6.unknown_code", false, 6 },
    { LINK_RAW, IP6("3a") "9b85000000000000", "icmpv6.unknown_code", false, 6 },
    { LINK_RAW, IP6("3a") "9b84000000000000", "", false, 6 },
    { LINK_RAW, IP6("3a") "0000000000000000", "icmpv6.unknown_type", false, 6 },
    { LINK_RAW, IP6("3a") "7f00000000000000", "icmpv6.unknown_type", false, 6 },
    { LINK_RAW, IP6("3a") "0500000000000000", "icmpv6.unassigned_type", false, 6 },
    { LINK_RAW, IP6("3a") "ff00000000000000", "icmpv6.unassigned_type", false, 6 },
    { LINK_RAW, IP6("3a") "6400000000000000", "icmpv6.experimentation_type", false, 6 },
    { LINK_RAW, IP6("3a") "c900000000000000", "icmpv6.experimentation_type", false, 6 },
    { LINK_RAW, IP6("3a") "8200000000000000" ZERO8 ZERO8, "icmpv6.mld_message_with_invalid_hl", false, 6 },
    { LINK_RAW, IP6("3a") "0100000000000000", "icmpv6.ipv6_trunc_pkt", true, 6 },
    { LINK_RAW, IP6("3a") "0200000000000000 40" ZERO20 ZERO20, "icmpv6.ipv6_unknown_version", true, 6 },

    /* --- transport -------------------------------------------------------------------------------- */
    { LINK_RAW, IP4("06") "30390050", "tcp.pkt_too_small", true, 4 },
    { LINK_RAW, IP6("06") "30390050", "tcp.pkt_too_small", true, 6 },
    { LINK_RAW, IP4("06") TCP_HEADER("60"), "tcp.hlen_too_small", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("40"), "tcp.invalid_optlen", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "02050000", "tcp.opt_invalid_len", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "02010000", "tcp.opt_invalid_len", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "02030000", "tcp.opt_invalid_len", false, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "13020000", "tcp.opt_invalid_len", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "1d020000", "tcp.opt_invalid_len", true, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "22030000", "tcp.opt_invalid_len", false, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "fe030000", "tcp.opt_invalid_len", false, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("60") "05020000", "", false, 4 }, /* SACK without blocks */
    { LINK_RAW, IP4("06") TCP_HEADER("60") "04020402", "tcp.opt_duplicate", false, 4 },
    { LINK_RAW, IP4("06") TCP_HEADER("70") "fd04f989 22020000", "tcp.opt_duplicate", false, 4 },
    { LINK_RAW, IP4("11") "30390050", "udp.hlen_too_small", true, 4 },
    { LINK_RAW, IP4("11") "30390050 0009 0000", "udp.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("11") "30390050 0007 0000", "udp.len_invalid", true, 4 },
    { LINK_RAW, IP4("32") "00000001", "esp.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001", "sctp.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001 00000000 0000", "sctp.chunk_too_small", true, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001 00000000 03000003", "sctp.chunk_len_invalid", true, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001 00000000 03000005", "sctp.chunk_len_invalid", true, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001 00000000 01000004", "sctp.init_with_non_zero_vtag", false, 4 },
    { LINK_RAW, IP4("84") "30390050 00000000 00000000 00000004", "sctp.data_with_zero_vtag", false, 4 },
    { LINK_RAW, IP4("84") "30390050 00000001 00000000 02000004 03000004", "sctp.init_chunk_bundled", false, 4 },
    { LINK_RAW,
      IP4("84") "30390050 00000001 00000000 03000004 03000004 03000004 03000004 03000004 03000004 03000004 03000004"
                "03000004 03000004 03000004 03000004 03000004 03000004 03000004 03000004 03000004",
      "sctp.too_many_chunks", false, 4 },
    { LINK_RAW,
      IP4("84") "30390050 00000001 00000000 00000004 00000004 00000004 00000004 00000004 00000004 00000004 00000004"
                "00000004",
      "sctp.too_many_data_chunks", false, 4 },

    /* --- tunnels ---------------------------------------------------------------------------------- */
    { LINK_RAW, IP4("2f") "0000", "gre.pkt_too_small", true, 4 },
    { LINK_RAW, IP4("2f") "00020800", "gre.wrong_version", true, 4 },
    { LINK_RAW, IP4("2f") "01000800", "gre.version0_recur", true, 4 },
    { LINK_RAW, IP4("2f") "00080800", "gre.version0_flags", true, 4 },
    { LINK_RAW, IP4("2f") "b0000800" ZERO8, "gre.version0_hdr_too_big", true, 4 },
    { LINK_RAW, IP4("2f") "40000800 00000000 000000", "gre.version0_malformed_sre_hdr", true, 4 },
    { LINK_RAW, IP4("2f") "40000800 00000000 0800 0005 00000000", "gre.version0_malformed_sre_hdr", true, 4 },
    { LINK_RAW, IP4("2f") "8001880b", "gre.version1_chksum", true, 4 },
    { LINK_RAW, IP4("2f") "4001880b", "gre.version1_route", true, 4 },
    { LINK_RAW, IP4("2f") "0801880b", "gre.version1_ssr", true, 4 },
    { LINK_RAW, IP4("2f") "0101880b", "gre.version1_recur", true, 4 },
    { LINK_RAW, IP4("2f") "0009880b", "gre.version1_flags", true, 4 },
    { LINK_RAW, IP4("2f") "20010800", "gre.version1_wrong_protocol", true, 4 },
    { LINK_RAW, IP4("2f") "0001880b", "gre.version1_no_key", true, 4 },
    { LINK_RAW, IP4("2f") "3081880b" ZERO8, "gre.version1_hdr_too_big", true, 4 },
    { LINK_RAW, IP4("2f") "100088be 00000001 1000 0000", "erspan.header_too_small", false, 4 },
    { LINK_RAW, IP4("2f") "100022eb 00000001 20000000 00000000 0000", "erspan.header_too_small", false, 4 },
    { LINK_RAW, IP4("2f") "100088be 00000001 30000000 00000000", "erspan.unsupported_version", false, 4 },
    { LINK_RAW, IP4("11") UDP_PORTS("3039", "12b5") "08000000 00000100" ETH("88cc"), "vxlan.unknown_payload_type", true,
      4 },
    { LINK_RAW, IP4("11") UDP_PORTS("3039", "17c1") "0000 88cc 00000100", "geneve.unknown_payload_type", true, 4 },
    { LINK_ETHERNET, BACKBONE4 BACKBONE4 BACKBONE4 BACKBONE4 ETH("0800") INNER_TCP4, "too_many_layers", true, 0 },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

/* Events that another module sets, or that never occur and exist only for rules, as in Suricata. */
static const enum decode_event elsewhere[] = {
    DECODE_EVENT_AFPACKET_TRUNC_PKT,
    DECODE_EVENT_ERSPAN_TOO_MANY_VLAN_LAYERS, /* a mirrored frame begins without VLAN tags */
    DECODE_EVENT_GRE_VERSION1_MALFORMED_SRE_HDR,
    DECODE_EVENT_IPV4_FRAG_IGNORED,
    DECODE_EVENT_IPV4_FRAG_OVERLAP,
    DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE,
    DECODE_EVENT_IPV4_OPT_UNKNOWN,
    DECODE_EVENT_IPV6_EXTHDR_DUPL_EH,
    DECODE_EVENT_IPV6_FRAG_IGNORED,
    DECODE_EVENT_IPV6_FRAG_OVERLAP,
    DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE,
};

static void join_events(const struct packet *pkt, char *out)
{
    *out = '\0';
    for (unsigned i = 0; i < pkt->event_count; i++) {
        if (i > 0)
            strcat(out, " ");
        strcat(out, decode_event_name((enum decode_event)pkt->event_list[i]));
    }
}

/* The event bits, the event list and the counters of a packet must agree. */
static void check_record(const struct decoding *decoding)
{
    unsigned wanted[DECODE_EVENT_COUNT] = { 0 };

    for (unsigned i = 0; i < decoding->packet.event_count; i++)
        wanted[decoding->packet.event_list[i]]++;
    for (unsigned event = 0; event < DECODE_EVENT_COUNT; event++) {
        char name[80];

        snprintf(name, sizeof(name), "event.%s", decode_event_name((enum decode_event)event));
        ck_assert_uint_eq(packet_has_event(&decoding->packet, event), wanted[event] > 0);
        ck_assert_uint_eq(decoding_counter(decoding, name), wanted[event]);
    }
}

START_TEST(gives_its_events)
{
    char got[PACKET_MAX_EVENTS * 64];
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, rows[_i].link, rows[_i].text);
    join_events(&decoding.packet, got);
    ck_assert_msg(strcmp(got, rows[_i].events) == 0, "row %d, %s: want '%s', got '%s'", _i, rows[_i].text,
                  rows[_i].events, got);
    ck_assert_msg(!!(decoding.packet.flags & PACKET_MALFORMED) == rows[_i].invalid, "row %d, %s", _i, rows[_i].events);
    ck_assert_msg(decoding.packet.ip_version == rows[_i].ip_version, "row %d, %s", _i, rows[_i].events);
    ck_assert_uint_eq(decoding_counter(&decoding, "invalid"), rows[_i].invalid);
    check_record(&decoding);
    if (decoding.packet.ip_version == 0) {
        static const struct address none;

        ck_assert_ptr_null(decoding.packet.ip);
        ck_assert(address_equal(&decoding.packet.source_address, &none));
        ck_assert_uint_eq(decoding.packet.protocol, 0);
    }
    decoding_close(&decoding);
}
END_TEST

START_TEST(every_event_has_a_row)
{
    bool seen[DECODE_EVENT_COUNT] = { false };
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    for (int row = 0; row < ROW_COUNT; row++) {
        decoding_text(&decoding, rows[row].link, rows[row].text);
        for (unsigned i = 0; i < decoding.packet.event_count; i++)
            seen[decoding.packet.event_list[i]] = true;
    }
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        ck_assert_msg(!seen[elsewhere[i]], "%s has a row after all", decode_event_name(elsewhere[i]));
        seen[elsewhere[i]] = true;
    }
    for (unsigned event = 0; event < DECODE_EVENT_COUNT; event++)
        ck_assert_msg(seen[event], "no row has %s", decode_event_name((enum decode_event)event));
    decoding_close(&decoding);
}
END_TEST

START_TEST(survives_being_cut)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    for (int row = 0; row < ROW_COUNT; row++) {
        size_t length = packet_from_text(rows[row].text, bytes);

        for (size_t cut = 0; cut <= length; cut++) {
            decoding_bytes(&decoding, rows[row].link, bytes, cut);
            ck_assert_uint_ge(decoding.count, 1);
            ck_assert_ptr_eq(decoding.found[decoding.count - 1], &decoding.packet);
        }
    }
    decoding_close(&decoding);
}
END_TEST

START_TEST(keeps_only_so_many)
{
    struct decoding decoding;
    char text[PACKET_TEXT_MAX] = IP6("33");

    for (int i = 0; i < 20; i++)
        strcat(text, "33010001 00000001 00000001");
    strcat(text, "3b010001 00000001 00000001");
    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, text);
    ck_assert_uint_eq(decoding.packet.event_count, PACKET_MAX_EVENTS);
    ck_assert_uint_eq(decoding_counter(&decoding, "event.ipv6.exthdr_ah_res_not_null") +
                          decoding_counter(&decoding, "event.ipv6.exthdr_dupl_ah"),
                      PACKET_MAX_EVENTS);
    decoding_close(&decoding);
}
END_TEST

START_TEST(later_stages_add_events)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, IP4("11") UDP);
    for (int i = 0; i < PACKET_MAX_EVENTS + 1; i++)
        decode_count_event(decoding.decoder, &decoding.packet, DECODE_EVENT_IPV4_FRAG_OVERLAP);
    ck_assert(packet_has_event(&decoding.packet, DECODE_EVENT_IPV4_FRAG_OVERLAP));
    ck_assert_uint_eq(decoding_counter(&decoding, "event.ipv4.frag_overlap"), PACKET_MAX_EVENTS);
    decoding_close(&decoding);
}
END_TEST

START_TEST(names_go_both_ways)
{
    enum decode_event found;

    for (unsigned event = 0; event < DECODE_EVENT_COUNT; event++) {
        const char *name = decode_event_name((enum decode_event)event);

        ck_assert(decode_event_find(name, strlen(name), &found));
        ck_assert_uint_eq(found, event);
    }
    ck_assert(decode_event_find("udp.hlen_invalid", strlen("udp.hlen_invalid"), &found));
    ck_assert_uint_eq(found, DECODE_EVENT_UDP_LEN_INVALID);
    ck_assert(!decode_event_find("udp.nonsense", strlen("udp.nonsense"), &found));
    ck_assert(!decode_event_find("udp.len_invalid", strlen("udp.len"), &found));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode events");
    TCase *tcase = tcase_create("events");
    SRunner *runner;

    tcase_add_loop_test(tcase, gives_its_events, 0, ROW_COUNT);
    tcase_add_test(tcase, survives_being_cut);
    tcase_add_test(tcase, every_event_has_a_row);
    tcase_add_test(tcase, keeps_only_so_many);
    tcase_add_test(tcase, later_stages_add_events);
    tcase_add_test(tcase, names_go_both_ways);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
