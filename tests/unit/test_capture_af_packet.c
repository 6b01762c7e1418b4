/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of a TPACKET_V3 ring, VLAN tags in their frames, and the plan of a sensor's rings. */
#include "capture/af_packet_ring.h"

#include <check.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/setup.h"

enum {
    BLOCK_SIZE = 4096,
    FIRST = 48, /* offset of the first frame */
    HEADER = TPACKET_ALIGN(sizeof(struct tpacket3_hdr)) + sizeof(struct sockaddr_ll),
    MAC = HEADER + 16, /* offset of the link header in a frame */
    STEP = 256,        /* offset of the next frame */
};

/* A block with `count` frames; frame number i has 60 + i bytes of the value i + 1. */
struct block {
    _Alignas(16) uint8_t bytes[BLOCK_SIZE];
};

static struct tpacket_block_desc *head_of(struct block *block)
{
    return (struct tpacket_block_desc *)block->bytes;
}

static struct tpacket3_hdr *frame_of(struct block *block, unsigned number)
{
    return (struct tpacket3_hdr *)(block->bytes + FIRST + number * STEP);
}

static void fill(struct block *block, unsigned count)
{
    memset(block, 0, sizeof(*block));
    *head_of(block) = (struct tpacket_block_desc){
        .version = 1,
        .hdr.bh1 = { .block_status = TP_STATUS_USER,
                     .num_pkts = count,
                     .offset_to_first_pkt = FIRST,
                     .blk_len = FIRST + count * STEP },
    };
    for (unsigned i = 0; i < count; i++) {
        *frame_of(block, i) = (struct tpacket3_hdr){
            .tp_next_offset = i + 1 < count ? STEP : 0,
            .tp_sec = 100 + i,
            .tp_nsec = 7,
            .tp_snaplen = 60 + i,
            .tp_len = 60 + i,
            .tp_status = TP_STATUS_USER,
            .tp_mac = MAC,
            .tp_net = MAC + ETH_HLEN,
        };
        memset((uint8_t *)frame_of(block, i) + MAC, (int)i + 1, 60 + i);
    }
}

static struct ring_block open_filled(struct block *block)
{
    struct ring_block reading;

    ring_block_open(&reading, block->bytes, BLOCK_SIZE);
    return reading;
}

START_TEST(frames_of_a_block)
{
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;

    fill(&block, 3);
    frame_of(&block, 1)->tp_len = 1500; /* truncated */
    reading = open_filled(&block);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(ring_block_next(&reading, &frame));
        ck_assert_uint_eq(frame.length, 60 + i);
        ck_assert_uint_eq(frame.wire_length, i == 1 ? 1500 : 60 + i);
        ck_assert_uint_eq(frame.time_ns, (100 + i) * NS_PER_SECOND + 7);
        ck_assert_uint_eq(frame.data[0], i + 1);
        ck_assert_uint_eq(frame.data[frame.length - 1], i + 1);
    }
    ck_assert(!ring_block_next(&reading, &frame));
    ck_assert(!reading.malformed);
}
END_TEST

START_TEST(empty_block)
{
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;

    fill(&block, 0);
    reading = open_filled(&block);
    ck_assert(!ring_block_next(&reading, &frame));
    ck_assert(!reading.malformed);
}
END_TEST

static void long_block(struct block *block)
{
    head_of(block)->hdr.bh1.blk_len = BLOCK_SIZE + 1;
}

static void first_behind_end(struct block *block)
{
    head_of(block)->hdr.bh1.offset_to_first_pkt = head_of(block)->hdr.bh1.blk_len + 1;
}

static void first_at_end(struct block *block)
{
    head_of(block)->hdr.bh1.offset_to_first_pkt = head_of(block)->hdr.bh1.blk_len - HEADER + 1;
}

static void mac_in_header(struct block *block)
{
    frame_of(block, 1)->tp_mac = HEADER - 1;
}

static void mac_behind_block(struct block *block)
{
    frame_of(block, 1)->tp_mac = UINT16_MAX;
}

static void long_frame(struct block *block)
{
    frame_of(block, 1)->tp_snaplen = BLOCK_SIZE;
}

static void huge_frame(struct block *block)
{
    frame_of(block, 1)->tp_snaplen = UINT32_MAX;
}

static void next_in_header(struct block *block)
{
    frame_of(block, 1)->tp_next_offset = HEADER - 1;
}

static void next_is_same(struct block *block)
{
    frame_of(block, 1)->tp_next_offset = 0;
}

static void next_behind_block(struct block *block)
{
    frame_of(block, 1)->tp_next_offset = UINT32_MAX;
}

static void more_frames_than_fit(struct block *block)
{
    head_of(block)->hdr.bh1.num_pkts = UINT32_MAX;
    frame_of(block, 2)->tp_next_offset = STEP;
}

/* `frames`: how many are read before the damage. */
static const struct {
    const char *name;
    void (*damage)(struct block *block);
    unsigned frames;
} damages[] = {
    { "block longer than its memory", long_block, 0 },
    { "first frame behind the block", first_behind_end, 0 },
    { "first frame without room for its header", first_at_end, 0 },
    { "link header inside of the frame header", mac_in_header, 1 },
    { "link header behind the block", mac_behind_block, 1 },
    { "frame longer than the block", long_frame, 1 },
    { "frame of 4 GiB", huge_frame, 1 },
    { "next frame inside of this header", next_in_header, 2 },
    { "next frame is this one", next_is_same, 2 },
    { "next frame behind the block", next_behind_block, 2 },
    { "more frames than fit", more_frames_than_fit, 3 },
};

START_TEST(damaged_blocks)
{
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;
    unsigned count = 0;

    fill(&block, 3);
    damages[_i].damage(&block);
    reading = open_filled(&block);
    while (ring_block_next(&reading, &frame))
        count++;
    ck_assert_msg(count == damages[_i].frames, "%s: %u frames", damages[_i].name, count);
    ck_assert_msg(reading.malformed, "%s", damages[_i].name);
    ck_assert_uint_eq(reading.left, 0);
}
END_TEST

/* Whatever the headers say, a frame lies within the block, and the number of frames is bounded. */
START_TEST(random_headers)
{
    unsigned seed = 1;

    for (int round = 0; round < 20000; round++) {
        struct block block;
        struct ring_block reading;
        struct ring_frame frame;
        unsigned count = 0;

        fill(&block, 4);
        for (int change = 0; change < 3; change++) {
            unsigned at = (unsigned)rand_r(&seed) % (FIRST + 4 * STEP);

            block.bytes[at] = (uint8_t)rand_r(&seed);
        }
        reading = open_filled(&block);
        while (ring_block_next(&reading, &frame)) {
            ck_assert(frame.data >= block.bytes + frame.headroom);
            ck_assert_uint_le((uint32_t)(frame.data - block.bytes) + frame.length, BLOCK_SIZE);
            (void)ring_frame_restore_vlan(&frame);
            ck_assert_uint_le((uint32_t)(frame.data - block.bytes) + frame.length, BLOCK_SIZE);
            ck_assert_uint_le(++count, BLOCK_SIZE / HEADER + 1);
        }
    }
}
END_TEST

/* --- VLAN tags ------------------------------------------------------------------------------------ */

static const struct {
    uint32_t status;
    uint16_t tci, protocol;
    uint32_t tag; /* the tag that is restored; 0: none */
} tags[] = {
    { TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID, 100, ETH_P_8021Q, 0x81000064 },
    { TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID, 0xe007, ETH_P_8021AD, 0x88a8e007 },
    { TP_STATUS_VLAN_VALID, 100, 0x1234, 0x81000064 }, /* a kernel that reports no protocol */
    { TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID, 0, ETH_P_8021Q, 0x81000000 }, /* priority tag */
    { TP_STATUS_VLAN_TPID_VALID, 100, ETH_P_8021Q, 0 },
    { 0, 100, ETH_P_8021Q, 0 },
};

START_TEST(vlan_tags)
{
    static const uint8_t addresses[2 * ETH_ALEN] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;
    uint32_t added = tags[_i].tag ? RING_VLAN_SIZE : 0;

    fill(&block, 1);
    memcpy((uint8_t *)frame_of(&block, 0) + MAC, addresses, sizeof(addresses));
    store_be16((uint8_t *)frame_of(&block, 0) + MAC + sizeof(addresses), ETH_P_IP);
    frame_of(&block, 0)->tp_status |= tags[_i].status;
    frame_of(&block, 0)->hv1.tp_vlan_tci = tags[_i].tci;
    frame_of(&block, 0)->hv1.tp_vlan_tpid = tags[_i].protocol;
    reading = open_filled(&block);
    ck_assert(ring_block_next(&reading, &frame));
    ck_assert(ring_frame_restore_vlan(&frame));
    ck_assert_uint_eq(frame.length, 60 + added);
    ck_assert_uint_eq(frame.wire_length, 60 + added);
    ck_assert_mem_eq(frame.data, addresses, sizeof(addresses));
    if (added)
        ck_assert_uint_eq(load_be32(frame.data + sizeof(addresses)), tags[_i].tag);
    ck_assert_uint_eq(load_be16(frame.data + sizeof(addresses) + added), ETH_P_IP);
}
END_TEST

START_TEST(no_room_for_a_tag)
{
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;

    fill(&block, 1);
    frame_of(&block, 0)->tp_status |= TP_STATUS_VLAN_VALID;
    frame_of(&block, 0)->tp_mac = HEADER + RING_VLAN_SIZE - 1;
    reading = open_filled(&block);
    ck_assert(ring_block_next(&reading, &frame));
    ck_assert(!ring_frame_restore_vlan(&frame));
    ck_assert_uint_eq(frame.length, 60);
}
END_TEST

START_TEST(short_frame_keeps_no_tag)
{
    struct block block;
    struct ring_block reading;
    struct ring_frame frame;

    fill(&block, 1);
    frame_of(&block, 0)->tp_status |= TP_STATUS_VLAN_VALID;
    frame_of(&block, 0)->tp_snaplen = 2 * ETH_ALEN - 1;
    reading = open_filled(&block);
    ck_assert(ring_block_next(&reading, &frame));
    ck_assert(ring_frame_restore_vlan(&frame));
    ck_assert_uint_eq(frame.length, 2 * ETH_ALEN - 1);
}
END_TEST

/* --- Plan ----------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t rings;        /* 0: an error */
    const char *message; /* part of the error */
} plans[] = {
    { "interfaces: [eth1]", 1, NULL },
    { "interfaces: eth1", 1, NULL },
    { "interfaces: [eth1, eth2], workers: 3", 6, NULL },
    { "interfaces: [eth1], threads: 4", 4, NULL },
    { "interfaces: [eth1, eth2], workers: 128, ring-size: 4 MiB", 256, NULL },
    { "interfaces: [eth1, eth2, eth3], workers: 128, ring-size: 4 MiB", 0, "more than 256 workers" },
    { "workers: 2", 0, "no interface to capture from" },
    { "interfaces: []", 0, "no interface to capture from" },
    { "interfaces: [eth1, eth1]", 0, "names eth1 twice" },
    { "interfaces: [averylonginterfacename]", 0, "is not the name of an interface" },
    { "interfaces: [eth1], ring-size: 1 MiB", 0, "two blocks at least" },
    { "interfaces: [eth1], ring-size: 1 MiB, block-size: 512 KiB", 1, NULL },
    { "interfaces: [eth1], workers: 3, memcap: 64 MiB", 0,
      "the rings need 96 MiB, more than af-packet.memcap (64 MiB)" },
};

START_TEST(plan)
{
    struct nfqueue_options rings[CAPTURE_MAX_QUEUES];
    struct firewall_options firewall;
    char text[256], error[ENGINE_ERROR_SIZE] = "", cause[FIREWALL_ERROR_SIZE];
    struct diag *diag = diag_new();
    struct config *config;
    size_t count = 0;
    int err;

    snprintf(text, sizeof(text),
             "capture: {method: af-packet}\nnft: {attach: after, offload: {flows: accepted}}\n"
             "af-packet: {%s}\n",
             plans[_i].text);
    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_parse(config, "test.yaml", text, strlen(text), CONFIG_STRICT, diag), 0);
    ck_assert_msg(diag_errors(diag) == 0, "%s", diag_errors(diag) ? diag_get(diag, 0)->message : "");
    ck_assert(setup_is_sensor(config));
    ck_assert_int_eq(setup_firewall_options(config, &firewall, cause), 0);
    ck_assert_int_eq(firewall.mode, ATTACH_NONE);
    ck_assert(!firewall.offload.accept && !firewall.offload.drop);
    err = setup_plan_queues(config, &firewall, rings, &count, error);
    ck_assert_msg((err == 0) == (plans[_i].rings > 0), "%s: %s", plans[_i].text, error);
    if (err)
        ck_assert_msg(strstr(error, plans[_i].message), "%s", error);
    else
        ck_assert_uint_eq(count, plans[_i].rings);
    for (size_t i = 0; !err && i < count; i++) {
        ck_assert_uint_eq(rings[i].queue, i);
        ck_assert_uint_eq(rings[i].batch, 64);
        ck_assert_int_eq(rings[i].inherited_fd, -1);
    }
    config_free(config);
    diag_free(diag);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

int main(void)
{
    Suite *suite = suite_create("capture_af_packet");
    TCase *blocks = tcase_create("blocks"), *vlan = tcase_create("vlan"), *rings = tcase_create("rings");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(blocks, frames_of_a_block);
    tcase_add_test(blocks, empty_block);
    tcase_add_loop_test(blocks, damaged_blocks, 0, COUNT(damages));
    tcase_add_test(blocks, random_headers);
    suite_add_tcase(suite, blocks);
    tcase_add_loop_test(vlan, vlan_tags, 0, COUNT(tags));
    tcase_add_test(vlan, no_room_for_a_tag);
    tcase_add_test(vlan, short_frame_keeps_no_tag);
    suite_add_tcase(suite, vlan);
    tcase_add_loop_test(rings, plan, 0, COUNT(plans));
    suite_add_tcase(suite, rings);
    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
