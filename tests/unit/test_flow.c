/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flow table: keys, directions, ICMP, states, variables. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "conntrack_bytes.h"
#include "flow_rig.h"
#include "packet_text.h"

/* --- Keys ----------------------------------------------------------------------------------------- */

static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };

START_TEST(both_directions_are_one_flow)
{
    struct packet there = flow_rig_request(protocols[_i]), back = flow_rig_answer(protocols[_i]);
    struct flow *flow = flow_rig_see(&there);

    ck_assert(!flow_rig_to_client(&there));
    ck_assert_ptr_eq(flow_rig_see(&back), flow);
    ck_assert(flow_rig_to_client(&back));
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 1);
    ck_assert_uint_eq(flow->side[FLOW_TO_CLIENT].packets, 1);
    ck_assert_uint_eq(flow->side[FLOW_TO_CLIENT].bytes, 100);
    ck_assert_mem_eq(&flow->client, &there.source_address, sizeof(flow->client));
    ck_assert_uint_eq(flow->server_port, 80);
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 1);
    ck_assert_uint_eq(flow_rig_spread(&there), flow_rig_spread(&back));
}
END_TEST

/* An ESP security association has one direction. The opposite one has another SPI, and is a separate flow. */
START_TEST(esp_flows_have_one_spi)
{
    struct packet there = flow_rig_request(IPPROTO_ESP), back = flow_rig_answer(IPPROTO_ESP);

    there.esp.spi = 0x12345678;
    back.esp.spi = 0x87654321;

    struct flow *flow = flow_rig_see(&there), *opposite = flow_rig_see(&back);

    ck_assert_ptr_ne(flow, opposite);
    ck_assert(!flow_rig_to_client(&back));
    ck_assert_ptr_eq(flow_rig_see(&there), flow);
    ck_assert_uint_eq(flow->client_port, 0x1234);
    ck_assert_uint_eq(flow->server_port, 0x5678);
    /* Both are assigned to the same worker. */
    ck_assert_uint_eq(flow_rig_spread(&there), flow_rig_spread(&back));
    there.esp.spi++;
    ck_assert_ptr_ne(flow_rig_see(&there), flow);
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 3);
}
END_TEST

/* Changes one part of the key of flow_rig_request(IPPROTO_TCP). */
static void differ(struct packet *pkt, int part)
{
    switch (part) {
    case 0:
        pkt->source_port++;
        break;
    case 1:
        pkt->destination_port++;
        break;
    case 2:
        pkt->source_address.bytes[3]++;
        break;
    case 3:
        pkt->destination_address.bytes[0]++;
        break;
    case 4:
        pkt->protocol = IPPROTO_UDP;
        break;
    case 5:
        pkt->ip_version = 6;
        break;
    case 6:
        pkt->vlan_count = 1;
        pkt->vlan_id[0] = 5;
        break;
    case 7:
        pkt->vlan_count = 1; /* VLAN 0 differs from no VLAN */
        break;
    case 8:
        pkt->tunnel_depth = 1;
        break;
    case 9: /* ports swapped */
        pkt->source_port = 80;
        pkt->destination_port = 12345;
        break;
    }
}
enum { PARTS = 10, FIRST_VLAN_PART = 6, FIRST_TUNNEL_PART = 8 };

START_TEST(every_part_of_the_key_counts)
{
    struct packet one = flow_rig_request(IPPROTO_TCP), other = flow_rig_request(IPPROTO_TCP),
                  again = flow_rig_request(IPPROTO_TCP);
    struct flow *flow = flow_rig_see(&one);

    differ(&other, _i);
    ck_assert_ptr_ne(flow_rig_see(&other), flow);
    ck_assert(!flow_rig_to_client(&other));
    ck_assert_ptr_eq(flow_rig_see(&again), flow);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 2);
}
END_TEST

START_TEST(vlans_and_tunnels_only_when_tracked)
{
    struct packet one = flow_rig_request(IPPROTO_TCP);

    flow_rig.options.vlan_tracking = flow_rig.options.tunnel_level_tracking = false;
    flow_rig_reopen();
    one.vlan_count = 2;
    one.vlan_id[1] = 7;
    struct flow *flow = flow_rig_see(&one);

    for (int part = FIRST_VLAN_PART; part <= FIRST_TUNNEL_PART; part++) {
        struct packet other = flow_rig_request(IPPROTO_TCP);

        differ(&other, part);
        ck_assert_ptr_eq(flow_rig_see(&other), flow);
        ck_assert_uint_eq(flow_rig_spread(&other), flow_rig_spread(&one));
    }
    ck_assert_uint_eq(flow->vlan_id[1], 7);
    ck_assert_uint_eq(flow->vlan_count, 2);
}
END_TEST

START_TEST(a_flow_with_itself)
{
    struct packet one = flow_rig_packet(IPPROTO_UDP, CLIENT, 1000, CLIENT, 2000);
    struct packet back = flow_rig_packet(IPPROTO_UDP, CLIENT, 2000, CLIENT, 1000);
    struct packet same = flow_rig_packet(IPPROTO_UDP, CLIENT, 53, CLIENT, 53);
    struct flow *flow = flow_rig_see(&one);

    ck_assert_ptr_eq(flow_rig_see(&back), flow);
    ck_assert(flow_rig_to_client(&back));
    flow_rig_see(&same);
    ck_assert_ptr_ne(flow_rig_see(&same), flow);
    ck_assert(!flow_rig_to_client(&same));
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 2);
}
END_TEST

static void make_flowless(struct packet *pkt, int way)
{
    if (way == 0)
        pkt->ip_version = pkt->protocol = 0;
    else if (way == 1)
        pkt->flags |= PACKET_FRAGMENT;
    else if (way == 2)
        pkt->flags |= PACKET_MALFORMED;
    if (way < 3)
        pkt->transport = NULL;
    else
        pkt->protocol = IPPROTO_GRE;
}

START_TEST(some_have_none)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP);

    make_flowless(&pkt, _i);
    ck_assert_ptr_null(flow_rig_get(&pkt));
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 0);
}
END_TEST

START_TEST(flow_id_is_of_key_and_start)
{
    struct packet one = flow_rig_request(IPPROTO_TCP), later = flow_rig_request(IPPROTO_TCP),
                  other = flow_rig_answer(IPPROTO_UDP);
    uint64_t id = flow_rig_see(&one)->id;

    ck_assert_uint_gt(id, 0);
    ck_assert_uint_lt(id, UINT64_C(1) << 53);
    ck_assert_uint_ne(flow_rig_see(&other)->id, id);
    flow_rig.options.seed = 43;
    flow_rig_reopen();
    ck_assert_uint_eq(flow_rig_see(&one)->id, id);
    flow_rig_reopen();
    later.time_ns++;
    ck_assert_uint_ne(flow_rig_see(&later)->id, id);
    flow_rig_reopen();
    later = flow_rig_request(IPPROTO_TCP);
    later.number++; /* ports reused within the resolution of the clock */
    ck_assert_uint_ne(flow_rig_see(&later)->id, id);
}
END_TEST

START_TEST(fragments_spread_by_addresses)
{
    struct packet whole = flow_rig_request(IPPROTO_UDP), fragment = flow_rig_answer(IPPROTO_FRAGMENT),
                  other = flow_rig_request(IPPROTO_UDP);

    fragment.flags |= PACKET_FRAGMENT;
    fragment.transport = NULL;
    other.source_port++;
    ck_assert_uint_eq(flow_packet_hash(&whole, 7, true), flow_rig_spread(&fragment));
    ck_assert_uint_eq(flow_packet_hash(&whole, 7, true), flow_packet_hash(&other, 7, true));
    ck_assert_uint_ne(flow_rig_spread(&whole), flow_rig_spread(&other));
    ck_assert_uint_ne(flow_packet_hash(&whole, 7, true), flow_packet_hash(&whole, 8, true));
    whole.ip_version = 0;
    ck_assert_uint_eq(flow_rig_spread(&whole), 0);
}
END_TEST

/* --- ICMP ----------------------------------------------------------------------------------------- */

static const struct {
    uint8_t protocol, type, answer;
} pairs[] = {
    { IPPROTO_ICMP, 8, 0 },       { IPPROTO_ICMP, 13, 14 },     { IPPROTO_ICMP, 15, 16 },
    { IPPROTO_ICMP, 10, 9 },      { IPPROTO_ICMP, 17, 18 },     { IPPROTO_ICMPV6, 128, 129 },
    { IPPROTO_ICMPV6, 133, 134 }, { IPPROTO_ICMPV6, 135, 136 }, { IPPROTO_ICMPV6, 130, 131 },
    { IPPROTO_ICMPV6, 139, 140 }, { IPPROTO_ICMPV6, 144, 145 },
};

START_TEST(icmp_answers_belong_to_their_request)
{
    struct packet there = flow_rig_icmp(pairs[_i].type, 9, CLIENT, SERVER),
                  back = flow_rig_icmp(pairs[_i].answer, 0, SERVER, CLIENT);
    struct packet reverse = flow_rig_icmp(pairs[_i].type, 0, SERVER, CLIENT);

    there.protocol = back.protocol = reverse.protocol = pairs[_i].protocol;
    struct flow *flow = flow_rig_see(&there);

    ck_assert_uint_eq(flow->client_port, pairs[_i].type);
    ck_assert_uint_eq(flow->server_port, 9);
    ck_assert_ptr_eq(flow_rig_see(&back), flow);
    ck_assert(flow_rig_to_client(&back) && (back.flags & PACKET_ESTABLISHED));
    ck_assert_uint_eq(flow_rig_spread(&there), flow_rig_spread(&back));
    ck_assert_ptr_ne(flow_rig_see(&reverse), flow);
    ck_assert_uint_eq(flow_rig_counter(pairs[_i].protocol == IPPROTO_ICMP ? "flow.icmpv4" : "flow.icmpv6"), 2);
}
END_TEST

START_TEST(icmp_without_answer_is_one_way)
{
    struct packet one = flow_rig_icmp(200, 1, CLIENT, SERVER), back = flow_rig_icmp(200, 1, SERVER, CLIENT),
                  again = one;
    struct flow *flow = flow_rig_see(&one);

    ck_assert_ptr_ne(flow_rig_see(&back), flow);
    ck_assert_ptr_eq(flow_rig_see(&again), flow);
    ck_assert_int_eq(flow->state, FLOW_NEW);
}
END_TEST

#define QUOTED_UDP "4500 0020 0001 0000 0111 0000 0a000001 0a000002 3039 0050 000c 0000"
#define QUOTED_ECHO "4500 0020 0001 0000 0101 0000 0a000001 0a000002 0800 0000 0001 0001"
#define QUOTED_OPTIONS "4600 0024 0001 0000 0111 0000 0a000001 0a000002 01010100 3039 0050"
#define IP4_BACK(protocol) "{445 00 0000 1234 4000 40" protocol "0000 0a000002 0a000001"
#define IP4_ROUTER(protocol) "{445 00 0000 1234 4000 40" protocol "0000 0afffffe 0a000001"
#define IP6_BACK "{6 60000000 0000 3a 40" IP6_TO IP6_FROM
#define QUOTED6(next) "60000000 0010" next "01" IP6_FROM IP6_TO

/* A packet, and an ICMP error that quotes it. */
static const struct {
    const char *packet, *error;
    bool found, server_sent;
} errors[] = {
    { IP4("11") UDP, IP4_BACK("01") "0303 0000 00000000" QUOTED_UDP, true, false },
    { IP4("11") UDP, IP4_ROUTER("01") "0b00 0000 00000000" QUOTED_UDP, true, false },
    { IP4("11") UDP, IP4_ROUTER("01") "0304 0000 00000500" QUOTED_OPTIONS, true, false },
    { IP4("11") UDP, IP4_ROUTER("01") "0400 0000 00000000" QUOTED_UDP, true, false },
    { IP4("11") UDP, IP4_ROUTER("01") "0501 0000 0a0000fe" QUOTED_UDP, true, false },
    { IP4("11") UDP, IP4_ROUTER("01") "0c00 0000 00000000" QUOTED_UDP, true, false },
    { IP4("06") TCP,
      IP4_BACK("01") "0303 0000 00000000 4500 0028 0001 0000 0106 0000 0a000001 0a000002 3039 0050 00000001", true,
      false },
    { IP4("01") "0800 0000 0001 0001", IP4_ROUTER("01") "0b00 0000 00000000" QUOTED_ECHO, true, false },
    { IP6("11") UDP, IP6_BACK "0104 0000 00000000" QUOTED6("11") "3039 0050 0010 0000", true, false },
    { IP6("11") UDP, IP6_BACK "0200 0000 00000500" QUOTED6("11") "3039 0050", true, false },
    { IP6("11") UDP, IP6_BACK "0300 0000 00000000" QUOTED6("00") "1100 0000 0000 0000 3039 0050", true, false },
    { IP6("11") UDP, IP6_BACK "0301 0000 00000000" QUOTED6("2c") "1100 0001 0000 0001 3039 0050", true, false },
    { IP6("06") TCP, IP6_BACK "0101 0000 00000000" QUOTED6("06") "3039 0050 00000001", true, false },
    /* quotes a packet of the server */
    { IP4("11") UDP,
      "{445 00 0000 1234 4000 4001 0000 0a000001 0a000002"
      "0303 0000 00000000"
      "4500 0020 0001 0000 0111 0000 0a000002 0a000001 0050 3039 000c 0000",
      true, true },
    /* quotes other ports; a truncated packet; a later fragment; an ICMP error */
    { IP4("11") UDP,
      IP4_BACK("01") "0303 0000 00000000 4500 0020 0001 0000 0111 0000 0a000001 0a000002 303a 0050 000c 0000", false,
      false },
    { IP4("11") UDP, IP4_BACK("01") "0303 0000 00000000 4500 0020 0001 0000 0111 0000 0a000001 0a000002 3039 00", false,
      false },
    { IP4("11") UDP, IP4_BACK("01") "0303 0000 00000000 4500 0020 0001 0001 0111 0000 0a000001 0a000002 3039 0050",
      false, false },
    { IP4("01") "0800 0000 0001 0001",
      IP4_BACK("01") "0303 0000 00000000 4500 0020 0001 0000 0101 0000 0a000001 0a000002 0301", false, false },
};

START_TEST(icmp_errors_belong_to_what_they_quote)
{
    struct decoding first, second;

    decoding_open(&first, NULL);
    decoding_open(&second, NULL);
    decoding_text(&first, LINK_RAW, errors[_i].packet);
    decoding_text(&second, LINK_RAW, errors[_i].error);
    struct packet *pkt = &first.packet, *error = &second.packet;

    ck_assert_ptr_nonnull(pkt->transport);
    struct flow *flow = flow_rig_see(pkt), *found;

    found = flow_rig_get(error);
    if (errors[_i].found) {
        ck_assert_ptr_eq(found, flow);
        ck_assert_int_eq(flow_rig_to_client(error), !errors[_i].server_sent);
        flow_update(flow_rig.table, flow, error);
        ck_assert(flow->flags & FLOW_ICMP_ERROR_SEEN);
        ck_assert_int_eq(flow->state, FLOW_NEW);
        ck_assert_uint_eq(flow->side[!errors[_i].server_sent].packets, errors[_i].server_sent ? 2 : 1);
        ck_assert_uint_eq(flow_rig_spread(error), flow_rig_spread(pkt));
        ck_assert_uint_eq(flow_packet_hash(error, 7, true), flow_packet_hash(pkt, 7, true));
    } else {
        ck_assert_ptr_null(found);
    }
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 1);
    decoding_close(&first);
    decoding_close(&second);
}
END_TEST

/* As in Suricata. */
START_TEST(a_strange_icmpv6_error_has_its_own_flow)
{
    struct decoding error;

    decoding_open(&error, NULL);
    decoding_text(&error, LINK_RAW, IP6_BACK "0104 0000 00000000" QUOTED6("11") "3039 0050 0010 0000");
    struct flow *flow = flow_rig_see(&error.packet);

    ck_assert_int_eq(flow->protocol, IPPROTO_ICMPV6);
    ck_assert_uint_eq(flow->client_port, 1);
    ck_assert_uint_eq(flow->server_port, 4);
    ck_assert_uint_eq(flow->flags & FLOW_ICMP_ERROR_SEEN, 0);
    decoding_close(&error);
}
END_TEST

/* --- Packets -------------------------------------------------------------------------------------- */

START_TEST(both_directions_establish_udp)
{
    struct packet there = flow_rig_request(IPPROTO_UDP), back = flow_rig_answer(IPPROTO_UDP),
                  again = flow_rig_request(IPPROTO_UDP);
    struct flow *flow = flow_rig_see(&there);

    ck_assert_int_eq(flow->state, FLOW_NEW);
    ck_assert(!(there.flags & PACKET_ESTABLISHED));
    flow_rig_see(&back);
    ck_assert_int_eq(flow->state, FLOW_ESTABLISHED);
    ck_assert(back.flags & PACKET_ESTABLISHED);
    flow_rig_see(&again);
    ck_assert(again.flags & PACKET_ESTABLISHED);
}
END_TEST

START_TEST(stream_establishes_tcp)
{
    struct packet there = flow_rig_request(IPPROTO_TCP), back = flow_rig_answer(IPPROTO_TCP),
                  third = flow_rig_request(IPPROTO_TCP);
    struct packet fourth = flow_rig_answer(IPPROTO_TCP), fifth = flow_rig_answer(IPPROTO_TCP);
    struct flow *flow = flow_rig_see(&there);

    flow_rig_see(&back);
    flow_rig_see(&third);
    ck_assert_int_eq(flow->state, FLOW_NEW);
    ck_assert(!(third.flags & PACKET_ESTABLISHED));
    flow_set_state(flow_rig.table, flow, FLOW_ESTABLISHED);
    flow_rig_see(&fourth);
    ck_assert(fourth.flags & PACKET_ESTABLISHED);
    flow_set_state(flow_rig.table, flow, FLOW_CLOSED);
    flow_rig_see(&fifth);
    ck_assert(fifth.flags & PACKET_ESTABLISHED);
    ck_assert_int_eq(flow->state, FLOW_CLOSED);
}
END_TEST

START_TEST(a_bypassed_flow_stays_so)
{
    struct packet there = flow_rig_request(IPPROTO_UDP), back = flow_rig_answer(IPPROTO_UDP);
    struct flow *flow = flow_rig_see(&there);

    flow_set_state(flow_rig.table, flow, FLOW_BYPASSED);
    flow_rig_see(&back);
    ck_assert_int_eq(flow->state, FLOW_BYPASSED);
}
END_TEST

START_TEST(sides_are_counted)
{
    static const uint8_t ethernet[] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0 };
    static const uint8_t ttls[] = { 64, 60, 70, 65 };
    struct flow *flow = NULL;

    for (int i = 0; i < 4; i++) {
        struct packet pkt = flow_rig_request(IPPROTO_TCP);

        pkt.ttl = ttls[i];
        pkt.length = 100 + (uint32_t)i;
        pkt.ethernet = ethernet;
        pkt.meta.in_ifindex = 3 + (uint32_t)i;
        flow = flow_rig_see(&pkt);
    }
    struct packet back = flow_rig_answer(IPPROTO_TCP);

    back.meta.hardware_address_length = 6;
    memset(back.meta.hardware_address, 9, 6);
    flow_rig_see(&back);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 4);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].bytes, 406);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].ttl_low, 60);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].ttl_high, 70);
    ck_assert_uint_eq(flow->side[FLOW_TO_CLIENT].ttl_low, 64);
    ck_assert_ptr_null(flow->macs);
    ck_assert_uint_eq(flow->origin.in_ifindex, 3);
}
END_TEST

static struct packet framed(struct packet pkt, uint8_t frame[14], uint8_t source, uint8_t destination)
{
    memset(frame, 0, 14);
    frame[5] = destination;
    frame[11] = source;
    pkt.ethernet = frame;
    return pkt;
}

START_TEST(mac_addresses_are_recorded_once)
{
    uint8_t frame[14];

    flow_rig.options.mac_addresses = true;
    flow_rig_reopen();

    struct packet pkt = framed(flow_rig_request(IPPROTO_UDP), frame, 1, 2);
    struct flow *flow = flow_rig_see(&pkt);

    flow_rig_see(&pkt);
    pkt = framed(flow_rig_answer(IPPROTO_UDP), frame, 3, 1);
    flow_rig_see(&pkt);
    ck_assert_uint_eq(flow->macs->count[FLOW_TO_SERVER], 1);
    ck_assert_uint_eq(flow->macs->address[FLOW_TO_SERVER][0][5], 1);
    ck_assert_uint_eq(flow->macs->count[FLOW_TO_CLIENT], 2);
    ck_assert_uint_eq(flow->macs->address[FLOW_TO_CLIENT][0][5], 2);
    ck_assert_uint_eq(flow->macs->address[FLOW_TO_CLIENT][1][5], 3);

    /* From a queue only the sender's MAC address is known. */
    pkt = flow_rig_answer(IPPROTO_UDP);
    pkt.meta.hardware_address_length = MAC_SIZE;
    pkt.meta.hardware_address[5] = 4;
    flow_rig_see(&pkt);
    ck_assert_uint_eq(flow->macs->count[FLOW_TO_SERVER], 1);
    ck_assert_uint_eq(flow->macs->address[FLOW_TO_CLIENT][2][5], 4);

    flow_swap(flow, NULL);
    ck_assert_uint_eq(flow->macs->count[FLOW_TO_SERVER], 3);
    ck_assert_uint_eq(flow->macs->address[FLOW_TO_CLIENT][0][5], 1);
    for (uint8_t i = 0; i < 2 * FLOW_MACS_MAX; i++) {
        pkt = framed(flow_rig_request(IPPROTO_UDP), frame, (uint8_t)(10 + i), 2);
        flow_rig_see(&pkt);
    }
    ck_assert_uint_le(flow->macs->count[FLOW_TO_SERVER], FLOW_MACS_MAX);
    ck_assert_uint_eq(flow->macs->count[FLOW_TO_CLIENT], FLOW_MACS_MAX);
}
END_TEST

/* Metadata of the queued packet, which may contain this one in a tunnel. Only the first packet of the flow counts. */
START_TEST(origin_is_of_the_first_packet)
{
    static const struct conntrack_text text = { .client = "10.0.0.1", .server = "10.0.0.2", .protocol = IPPROTO_TCP };
    struct packet carrier = flow_rig_request(IPPROTO_UDP), pkt = flow_rig_request(IPPROTO_TCP),
                  later = flow_rig_request(IPPROTO_TCP);
    struct conntrack_bytes ct;

    ct_build(&ct, &text);
    ct_u32(&ct, CTA_ID, 77);
    ct_u32(&ct, CTA_MARK, 88);
    carrier.meta = (struct queue_meta){ .id = 1, .queue = 5, .hook = 2, .mark = 9, .out_ifindex = 4 };
    carrier.meta.in_physical_ifindex = 6;
    carrier.meta.out_physical_ifindex = 7;
    carrier.conntrack = (struct packet_conntrack){ ct.bytes, (uint32_t)ct.length, IP_CT_NEW };
    carrier.root = pkt.root = &carrier;
    later.meta.mark = 10;
    flow_rig_see(&pkt);

    const struct flow_origin *origin = &flow_rig_see(&later)->origin;

    ck_assert_uint_eq(origin->queue, 5);
    ck_assert_uint_eq(origin->hook, 2);
    ck_assert_uint_eq(origin->mark, 9);
    ck_assert_uint_eq(origin->out_ifindex, 4);
    ck_assert_uint_eq(origin->in_physical_ifindex, 6);
    ck_assert_uint_eq(origin->out_physical_ifindex, 7);
    ck_assert(origin->has_conntrack);
    ck_assert_uint_eq(origin->conntrack_id, 77);
    ck_assert_uint_eq(origin->conntrack_mark, 88);
}
END_TEST

START_TEST(swap_exchanges_the_ends)
{
    struct packet first = flow_rig_answer(IPPROTO_TCP), there = flow_rig_request(IPPROTO_TCP),
                  back = flow_rig_answer(IPPROTO_TCP);
    struct flow *flow = flow_rig_see(&first);

    flow->detection[0] = (struct flow_detection *)&flow_rig;
    flow_swap(flow, &first);
    ck_assert(flow_rig_to_client(&first));
    ck_assert(flow->flags & FLOW_SWAPPED);
    ck_assert_uint_eq(flow->server_port, 80);
    ck_assert_uint_eq(flow->client_port, 12345);
    ck_assert_mem_eq(&flow->server, &first.source_address, sizeof(flow->server));
    ck_assert_uint_eq(flow->side[FLOW_TO_CLIENT].packets, 1);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 0);
    ck_assert(flow->flags & FLOW_SERVER_SEEN);
    ck_assert(!(flow->flags & FLOW_CLIENT_SEEN));
    ck_assert_ptr_null(flow->detection[0]);
    ck_assert_ptr_eq(flow->detection[1], (struct flow_detection *)&flow_rig);
    ck_assert_ptr_eq(flow_rig_see(&there), flow);
    ck_assert(!flow_rig_to_client(&there));
    ck_assert_ptr_eq(flow_rig_see(&back), flow);
    ck_assert(flow_rig_to_client(&back));
    flow_swap(flow, NULL);
    ck_assert(!(flow->flags & FLOW_SWAPPED));
}
END_TEST

/* --- Variables ------------------------------------------------------------------------------------ */

struct listing {
    char text[256];
};

static void list_variable(uint32_t number, bool is_bit, uint32_t value, void *user)
{
    struct listing *listing = user;
    size_t length = strlen(listing->text);

    snprintf(listing->text + length, sizeof(listing->text) - length, "%s%u=%u ", is_bit ? "b" : "i", number, value);
}

START_TEST(variables_by_number)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP), other = flow_rig_request(IPPROTO_UDP);
    struct flow *flow = flow_rig_see(&pkt), *stranger = flow_rig_see(&other);
    struct listing listing = { "" };
    uint32_t value = 99;

    ck_assert(flow_bit_set(flow_rig.table, flow, 5));
    ck_assert(flow_bit_set(flow_rig.table, flow, 5));
    ck_assert(flow_integer_set(flow_rig.table, flow, 5, 0));
    ck_assert(flow_bit_set(flow_rig.table, flow, 2));
    ck_assert(flow_integer_set(flow_rig.table, flow, 9, UINT32_MAX));
    ck_assert(flow_integer_set(flow_rig.table, flow, 1, 7));
    ck_assert(flow_integer_set(flow_rig.table, flow, 1, 8));
    flow_each_variable(flow, list_variable, &listing);
    ck_assert_str_eq(listing.text, "i1=8 b2=1 b5=1 i5=0 i9=4294967295 ");
    ck_assert(flow_bit_is_set(flow, 5) && !flow_bit_is_set(flow, 1) && !flow_bit_is_set(stranger, 5));
    ck_assert(!flow_integer_get(flow, 2, &value));
    ck_assert_uint_eq(value, 99);
    ck_assert(flow_integer_get(flow, 5, &value));
    ck_assert_uint_eq(value, 0);
    flow_bit_clear(flow_rig.table, flow, 5);
    flow_bit_clear(flow_rig.table, flow, 5);
    flow_bit_clear(flow_rig.table, stranger, 2);
    ck_assert(!flow_bit_is_set(flow, 5) && flow_bit_is_set(flow, 2));
    ck_assert(flow_integer_get(flow, 5, &value));
}
END_TEST

START_TEST(variables_have_a_memcap_and_end_with_their_flow)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP);

    flow_rig_open_small();
    uint64_t before = flow_rig_counter("flow.memuse");

    for (int round = 0; round < 3; round++) {
        struct flow *flow = flow_rig_see(&pkt);
        uint32_t count = 0;

        while (count < 100000 && flow_bit_set(flow_rig.table, flow, count))
            count++;
        ck_assert_uint_gt(count, 100);
        ck_assert_uint_lt(count, 1000);
        ck_assert_uint_eq(flow_rig_counter("flow.variable_memcap"), (uint64_t)round + 1);
        ck_assert_uint_le(flow_rig_counter("flow.memuse"), flow_rig.options.memcap);
        ck_assert(flow_bit_is_set(flow, count - 1) && !flow_bit_is_set(flow, count));
        flow_table_end(flow_rig.table, flow, FLOW_END_FORCED);
        ck_assert_uint_eq(flow_rig_counter("flow.memuse"), before);
    }
}
END_TEST

/* --- Names ---------------------------------------------------------------------------------------- */

START_TEST(names)
{
    ck_assert_str_eq(flow_state_name(FLOW_NEW), "new");
    ck_assert_str_eq(flow_state_name(FLOW_BYPASSED), "bypassed");
    ck_assert_str_eq(flow_end_name(FLOW_END_REUSED), "tcp_reuse");
    ck_assert_str_eq(flow_end_name(FLOW_END_TIMEOUT), "timeout");
    for (size_t i = 0; i < flow_counter_count(); i++)
        ck_assert_int_eq(strncmp(flow_counter_name(i), "flow", 4), 0);
    ck_assert_str_eq(flow_counter_name(flow_counter_count()), "");
    ck_assert_uint_eq(flow_counter_value(flow_rig.table, flow_counter_count()), 0);
}
END_TEST

static struct flow_ends ends_of(const struct packet *pkt)
{
    return (struct flow_ends){ .protocol = pkt->protocol,
                               .ip_version = pkt->ip_version,
                               .address = { pkt->source_address, pkt->destination_address },
                               .port = { pkt->source_port, pkt->destination_port } };
}

START_TEST(a_flow_is_found_by_its_ends)
{
    struct packet there = flow_rig_request(IPPROTO_TCP), back = flow_rig_answer(IPPROTO_TCP),
                  other = flow_rig_request(IPPROTO_TCP);
    struct flow *flow = flow_rig_see(&there);
    struct flow_ends ends = ends_of(&there);

    ck_assert_ptr_eq(flow_table_find(flow_rig.table, &ends), flow);
    ends = ends_of(&back);
    ck_assert_ptr_eq(flow_table_find(flow_rig.table, &ends), flow);
    other.source_port++;
    ends = ends_of(&other);
    ck_assert_ptr_null(flow_table_find(flow_rig.table, &ends));
    ends = ends_of(&there);
    ends.vlan_count = 1;
    ck_assert_ptr_null(flow_table_find(flow_rig.table, &ends));
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 1); /* a lookup creates no flow */
}
END_TEST

START_TEST(a_flow_is_found_by_its_id)
{
    enum { FLOWS = 500 };
    const struct flow *flows[FLOWS], *found;
    size_t cursor, rounds;

    for (unsigned i = 0; i < FLOWS; i++) {
        struct packet pkt = flow_rig_request(IPPROTO_UDP);

        pkt.source_port = (uint16_t)(1000 + i);
        flows[i] = flow_rig_see(&pkt);
    }
    for (unsigned i = 0; i < FLOWS; i++) {
        cursor = rounds = 0;
        do {
            found = flow_table_find_id(flow_rig.table, flows[i]->id, &cursor, 64);
            ck_assert_uint_lt(++rounds, 1 << 20);
        } while (cursor != 0);
        ck_assert_ptr_eq(found, flows[i]);
    }
    cursor = 0;
    ck_assert_ptr_null(flow_table_find_id(flow_rig.table, flows[0]->id ^ 1, &cursor, SIZE_MAX));
    ck_assert_uint_eq(cursor, 0);
}
END_TEST

/* For any page size, each flow is reported once. */
START_TEST(pages_have_all_flows)
{
    enum { FLOWS = 3000, PAGE = 16 };
    static const size_t budgets[] = { 1, 100, SIZE_MAX };
    static bool told[FLOWS];
    const struct flow *page[PAGE];
    size_t cursor = 0, count = 0, rounds = 0;

    memset(told, 0, sizeof(told));
    for (unsigned i = 0; i < FLOWS; i++) {
        struct packet pkt = flow_rig_request(IPPROTO_UDP);

        pkt.source_port = (uint16_t)(1000 + i);
        ck_assert_ptr_nonnull(flow_rig_see(&pkt));
    }
    do {
        size_t got = flow_table_list(flow_rig.table, &cursor, budgets[_i], page, PAGE);

        ck_assert_uint_le(got, PAGE);
        for (size_t i = 0; i < got; i++) {
            ck_assert(!told[page[i]->client_port - 1000]);
            told[page[i]->client_port - 1000] = true;
        }
        count += got;
        ck_assert_uint_lt(++rounds, 1 << 20);
    } while (cursor != 0);
    ck_assert_uint_eq(count, FLOWS);
}
END_TEST

int main(void)
{
    const TTest *const plain[] = {
        vlans_and_tunnels_only_when_tracked,
        a_flow_with_itself,
        flow_id_is_of_key_and_start,
        fragments_spread_by_addresses,
        icmp_without_answer_is_one_way,
        a_strange_icmpv6_error_has_its_own_flow,
        both_directions_establish_udp,
        stream_establishes_tcp,
        a_bypassed_flow_stays_so,
        sides_are_counted,
        mac_addresses_are_recorded_once,
        esp_flows_have_one_spi,
        origin_is_of_the_first_packet,
        swap_exchanges_the_ends,
        variables_by_number,
        variables_have_a_memcap_and_end_with_their_flow,
        names,
        a_flow_is_found_by_its_ends,
        a_flow_is_found_by_its_id,
    };
    Suite *suite = suite_create("flow");

    flow_rig_add_loop(suite, both_directions_are_one_flow, COUNT(protocols));
    flow_rig_add_loop(suite, every_part_of_the_key_counts, PARTS);
    flow_rig_add_loop(suite, some_have_none, 4);
    flow_rig_add_loop(suite, icmp_answers_belong_to_their_request, COUNT(pairs));
    flow_rig_add_loop(suite, icmp_errors_belong_to_what_they_quote, COUNT(errors));
    flow_rig_add_loop(suite, pages_have_all_flows, 3);
    flow_rig_add_tests(suite, "flow", plain, sizeof(plain) / sizeof(plain[0]));
    return flow_rig_run(suite);
}
