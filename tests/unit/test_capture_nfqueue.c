/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NFQUEUE capture without a kernel queue: the packets that it returns, and the verdicts that it sends. */
#include "nfqueue_rig.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

/* --- verdicts ------------------------------------------------------------------------------------- */

enum { MAX_ITEMS = 10 };

enum action { END, PASS, DROP, REPLACE, REPLACE_EMPTY, REPLACE_TOO_LONG, MARK, MARK_DROP };

struct item {
    enum action action;
    uint32_t mark; /* mark of the packet */
    uint32_t set_mark, set_mask;
};

static const struct {
    enum queue_verdict_mode mode;
    uint32_t mark, mask;
    uint16_t route_to;
    bool bypass;
    struct item items[MAX_ITEMS];
    const char *sent;
} verdict_cases[] = {
    { .items = { { PASS } }, .sent = "single 1 accept" },
    { .items = { { PASS }, { PASS }, { PASS } }, .sent = "batch 3 accept" },
    { .items = { { DROP } }, .sent = "single 1 drop" },
    { .items = { { DROP }, { DROP }, { DROP } }, .sent = "single 1 drop; single 2 drop; single 3 drop" },
    /* drops are sent before the batch verdict that would accept them */
    { .items = { { PASS }, { DROP }, { PASS }, { PASS } }, .sent = "single 2 drop; batch 4 accept" },
    { .items = { { PASS }, { DROP } }, .sent = "single 2 drop; single 1 accept" },
    { .items = { { DROP }, { PASS }, { DROP }, { PASS }, { DROP } },
      .sent = "single 1 drop; single 3 drop; single 5 drop; batch 4 accept" },
    /* a changed payload ends the batch, so that the order of packets is kept */
    { .items = { { PASS }, { PASS }, { REPLACE }, { PASS }, { PASS } },
      .sent = "batch 2 accept; single 3 accept payload 5 'hello'; batch 5 accept" },
    { .items = { { REPLACE }, { REPLACE } },
      .sent = "single 1 accept payload 5 'hello'; single 2 accept payload 5 'hello'" },
    { .items = { { PASS }, { REPLACE_EMPTY } }, .sent = "batch 2 accept" },
    { .items = { { REPLACE_TOO_LONG }, { PASS } }, .sent = "single 1 drop; single 2 accept" },
    /* unchanged marks need no attribute */
    { .items = { { PASS, 7 }, { PASS, 0xffffffff }, { PASS } }, .sent = "batch 3 accept" },
    { .mark = 0x25,
      .mask = 0xf0,
      .items = { { PASS, 0x1 }, { PASS, 0x21 }, { PASS, 0xf1 } },
      .sent = "batch 3 accept mark 0x21" },
    { .mark = 0x25,
      .mask = 0xf0,
      .items = { { PASS, 0x21 }, { PASS, 0x22 }, { PASS, 0x2 } },
      .sent = "batch 2 accept; single 3 accept mark 0x22" },
    { .mark = 0, .mask = 0xffffffff, .items = { { PASS, 0xffffffff } }, .sent = "single 1 accept mark 0x0" },
    { .mark = 0xffffffff,
      .mask = 0xffffffff,
      .items = { { PASS, 5 }, { DROP, 5 }, { PASS } },
      .sent = "single 2 drop; batch 3 accept mark 0xffffffff" },
    /* a rule's mark */
    { .items = { { PASS, 1 }, { MARK, 0x100, 0xffff, 0x0f }, { PASS } },
      .sent = "single 1 accept; single 2 accept mark 0x10f; single 3 accept" },
    { .items = { { MARK, 0xffffffff, 0, 0xffffffff } }, .sent = "single 1 accept mark 0x0" },
    { .items = { { MARK_DROP, 0, 1, 1 } }, .sent = "single 1 drop" },
    /* repeat */
    { QUEUE_REPEAT, 1, 1, .items = { { PASS }, { PASS }, { PASS } }, .sent = "batch 3 repeat mark 0x1" },
    { QUEUE_REPEAT, 1, 1, .items = { { PASS }, { PASS, 0x10 }, { PASS, 0x10 }, { PASS } },
      .sent = "single 1 repeat mark 0x1; batch 3 repeat mark 0x11; single 4 repeat mark 0x1" },
    { QUEUE_REPEAT, 1, 1, .items = { { PASS }, { DROP, 0x20 }, { PASS } },
      .sent = "single 2 drop; batch 3 repeat mark 0x1" },
    { QUEUE_REPEAT, 0xffffffff, 0xffffffff, .items = { { PASS }, { PASS, 6 } },
      .sent = "batch 2 repeat mark 0xffffffff" },
    { QUEUE_REPEAT, 0, 1, .items = { { PASS, 0xffffffff } }, .sent = "single 1 repeat mark 0xfffffffe" },
    { QUEUE_REPEAT, 0xff02, 0x03, .items = { { PASS, 0x11 } }, .sent = "single 1 repeat mark 0x12" },
    /* a packet that comes back with the mark is not repeated */
    { QUEUE_REPEAT, 1, 1, .items = { { PASS, 0 }, { PASS, 3 }, { PASS, 0 } },
      .sent = "single 1 repeat mark 0x1; single 2 accept; single 3 repeat mark 0x1" },
    { QUEUE_REPEAT, 1, 1, .items = { { DROP, 1 } }, .sent = "single 1 drop" },
    /* a rule cannot take the repeat mark away */
    { QUEUE_REPEAT, 1, 1, .items = { { MARK, 8, 0, 0xffffffff } }, .sent = "single 1 repeat mark 0x1" },
    { QUEUE_REPEAT, 1, 1, .items = { { PASS }, { REPLACE }, { PASS } },
      .sent = "single 1 repeat mark 0x1; single 2 repeat mark 0x1 payload 5 'hello'; single 3 repeat mark 0x1" },
    /* route */
    { QUEUE_ROUTE, .route_to = 5, .items = { { PASS } }, .sent = "single 1 0x00050003" },
    { QUEUE_ROUTE, .route_to = 5, .bypass = true, .items = { { PASS }, { PASS } }, .sent = "batch 2 0x00058003" },
    { QUEUE_ROUTE, .route_to = 0xffff, .bypass = true, .items = { { PASS }, { DROP }, { PASS } },
      .sent = "single 2 drop; batch 3 0xffff8003" },
    { QUEUE_ROUTE, 1, 1, .items = { { PASS } }, .sent = "single 1 0x00000003 mark 0x1" },
};

static void act(struct packet *pkt, const struct item *item)
{
    static uint8_t data[NFQUEUE_MAX_COPY + 1] = "hello";

    if (item->action == DROP || item->action == MARK_DROP)
        pkt->verdict = VERDICT_DROP;
    if (item->action == REPLACE || item->action == REPLACE_EMPTY || item->action == REPLACE_TOO_LONG) {
        pkt->new_data = data;
        pkt->new_length = item->action == REPLACE ? 5 : item->action == REPLACE_EMPTY ? 0 : NFQUEUE_MAX_COPY + 1;
    }
    if (item->action == MARK || item->action == MARK_DROP) {
        pkt->mark_set = true;
        pkt->mark_value = item->set_mark;
        pkt->mark_mask = item->set_mask;
    }
}

START_TEST(verdicts_of_a_batch)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;
    int count = 0;

    options.mode = verdict_cases[_i].mode;
    options.mark = verdict_cases[_i].mark;
    options.mark_mask = verdict_cases[_i].mask;
    options.route_to = verdict_cases[_i].route_to;
    options.route_bypass = verdict_cases[_i].bypass;
    queue_rig_open_with(&rig, options, 0);
    for (; count < MAX_ITEMS && verdict_cases[_i].items[count].action != END; count++)
        queue_rig_send_packet(&rig, (uint32_t)count + 1, verdict_cases[_i].items[count].mark);
    ck_assert_int_eq(queue_rig_receive(&rig), count);
    for (int i = 0; i < count; i++)
        act(rig.batch[i], &verdict_cases[_i].items[i]);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, (size_t)count), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, verdict_cases[_i].sent);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* With single verdicts only, an error is reported for each packet that the kernel has dropped meanwhile. */
START_TEST(exact_verdicts_are_single)
{
    static const char *const sent[] = { "single 1 accept; single 2 accept; single 3 drop; single 4 accept",
                                        "single 7 drop; batch 8 accept" };
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open_with(&rig, options_for(-1), 0);
    for (unsigned round = 0; round < 2; round++) {
        nfqueue_set_exact(rig.capture, round == 0);
        for (uint32_t i = 1; i <= 4; i++)
            queue_rig_send_packet(&rig, round * 4 + i, 0);
        ck_assert_int_eq(queue_rig_receive(&rig), 4);
        rig.batch[2]->verdict = VERDICT_DROP;
        ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 4), 0);
        queue_rig_sent(&rig, text);
        ck_assert_str_eq(text, sent[round]);
    }
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* Compares the bytes of a verdict. Headers of messages and attributes are in host byte order. */
START_TEST(verdict_bytes)
{
    static const uint8_t expected[] = {
        0, 0, 0,    0,    0,   0,   1,   0,    0,    0,    0,    0,    0, 0, 0, 0, /* netlink; length and type below */
        0, 0, 0x12, 0x34,                                                          /* queue */
        0, 0, 0,    0,    0,   0,   0,   1,    0xff, 0xff, 0xff, 0xfe,             /* accept, id */
        0, 0, 0,    0,    0,   0,   0,   0x2a,                                     /* mark */
        0, 0, 0,    0,    'h', 'e', 'l', 'l',  'o',  0,    0,    0,                /* payload, padding */
    };
    static const struct {
        size_t at;
        uint16_t value;
    } host_order[] = {
        { 0, sizeof(expected) },
        { 4, 0x0301 },
        { 6, NLM_F_REQUEST },
        { 20, 12 },
        { 22, 2 },
        { 32, 8 },
        { 34, 3 },
        { 40, 9 },
        { 42, 10 },
        { 8, 1 },
    };
    struct nfqueue_options options = options_for(-1);
    struct item item = { REPLACE, 0, 0, 0 };
    uint8_t bytes[256], wanted[sizeof(expected)];
    struct rig rig;

    memcpy(wanted, expected, sizeof(wanted));
    for (size_t i = 0; i < sizeof(host_order) / sizeof(host_order[0]); i++)
        memcpy(wanted + host_order[i].at, &host_order[i].value, sizeof(uint16_t));
    options.mark = 0x2a;
    options.mark_mask = 0xff;
    queue_rig_open_with(&rig, options, 0);
    queue_rig_send_packet(&rig, 0xfffffffe, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_int_eq(recv(rig.kernel, bytes, sizeof(bytes), 0), 32); /* adopting a socket repeats earlier packets */
    act(rig.batch[0], &item);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_int_eq(recv(rig.kernel, bytes, sizeof(bytes), 0), sizeof(wanted));
    ck_assert_mem_eq(bytes, wanted, sizeof(wanted));
    ck_assert_uint_eq(capture_counters(rig.capture)->replaced, 1);
    queue_rig_close(&rig);
}
END_TEST

/* Several calls for the packets of one receive: a batch verdict must not include packets without verdict. */
static const struct {
    const char *verdicts; /* 'd' or 'a' for each packet */
    const char *calls;    /* numbers of packets; a space ends a call */
    const char *sent;     /* expected messages; | separates calls */
} partial_cases[] = {
    { "aaaa", "12 34", "batch 2 accept|batch 4 accept" },
    { "aaaa", "34 12", "single 3 accept; single 4 accept|batch 2 accept" },
    { "aaaa", "2 1 34", "single 2 accept|single 1 accept|batch 4 accept" },
    { "aaaaa", "245 13", "single 2 accept; single 4 accept; single 5 accept|batch 3 accept" },
    { "aaaaa", "1245 3", "batch 2 accept; single 4 accept; single 5 accept|single 3 accept" },
    { "adaad", "2 1345", "single 2 drop|single 5 drop; batch 4 accept" },
    { "adada", "135 24", "single 1 accept; single 3 accept; single 5 accept|single 2 drop; single 4 drop" },
    { "aaaa", "4321", "batch 4 accept" },
};

START_TEST(verdicts_in_several_calls)
{
    char text[TEXT_SIZE], all[TEXT_SIZE] = "";
    struct packet *part[MAX_ITEMS];
    size_t count = strlen(partial_cases[_i].verdicts), parts = 0;
    struct rig rig;

    queue_rig_open(&rig);
    for (size_t i = 0; i < count; i++)
        queue_rig_send_packet(&rig, (uint32_t)i + 1, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), (int)count);
    for (size_t i = 0; i < count; i++)
        rig.batch[i]->verdict = partial_cases[_i].verdicts[i] == 'd' ? VERDICT_DROP : VERDICT_ACCEPT;
    for (const char *c = partial_cases[_i].calls;; c++) {
        if (*c >= '1' && *c <= '9') {
            part[parts++] = rig.batch[*c - '1'];
            continue;
        }
        ck_assert_int_eq(capture_send_verdicts(rig.capture, part, parts), 0);
        ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
        append_text(all, "%s%s", *all ? "|" : "", text);
        parts = 0;
        if (!*c)
            break;
    }
    ck_assert_str_eq(all, partial_cases[_i].sent);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* Changed payloads that exceed the send buffer are sent in several calls, in order. */
START_TEST(large_payloads_are_split)
{
    static uint8_t data[8000] = "replaced";
    char text[TEXT_SIZE], expected[TEXT_SIZE] = "";
    struct rig rig;

    queue_rig_open_with(&rig, options_for(-1),
                        10000); /* the kernel doubles it to 20000, which is enough for two payloads */
    for (uint32_t id = 1; id <= 9; id++) {
        queue_rig_send_packet(&rig, id, 0);
        append_text(expected, "%ssingle %u accept payload 8000 'replaced'", id > 1 ? "; " : "", id);
    }
    ck_assert_int_eq(queue_rig_receive(&rig), 9);
    for (int i = 0; i < 9; i++) {
        rig.batch[i]->new_data = data;
        rig.batch[i]->new_length = sizeof(data);
    }
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 9), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 5);
    ck_assert_uint_eq(capture_counters(rig.capture)->send_calls, 5);
    ck_assert_str_eq(text, expected);
    queue_rig_close(&rig);
}
END_TEST

/* If a drop cannot be sent, its packet stays in the queue, so no later batch verdict may include it. */
START_TEST(no_batches_after_a_failed_send)
{
    static uint8_t data[60000];
    char text[TEXT_SIZE];
    struct rig rig;
    int least = 1;

    queue_rig_open(&rig);
    ck_assert_int_eq(setsockopt(nfqueue_fd(rig.capture), SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
    queue_rig_send_packet(&rig, 1, 0);
    queue_rig_send_packet(&rig, 2, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    rig.batch[0]->verdict = VERDICT_DROP;
    rig.batch[1]->new_data = data;
    rig.batch[1]->new_length = sizeof(data);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), -EMSGSIZE);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 1);
    queue_rig_send_packet(&rig, 3, 0);
    queue_rig_send_packet(&rig, 4, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, "single 3 accept; single 4 accept");
    queue_rig_close(&rig);
}
END_TEST

/* The kernel returns the sequence number, which is the number of packets, with an error. */
START_TEST(sequence_counts_the_packets)
{
    struct nlmsghdr head;
    struct rig rig;

    queue_rig_open(&rig);
    for (uint32_t id = 1; id <= 5; id++)
        queue_rig_send_packet(&rig, id, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 5);
    rig.batch[4]->verdict = VERDICT_DROP;
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 4), 0);
    ck_assert_int_eq(recv(rig.kernel, &head, sizeof(head), 0), sizeof(head));
    ck_assert_uint_eq(head.nlmsg_seq, 4);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch + 4, 1), 0);
    ck_assert_int_eq(recv(rig.kernel, &head, sizeof(head), 0), sizeof(head));
    ck_assert_uint_eq(head.nlmsg_seq, 1);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(nothing_to_judge_sends_nothing)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);
    ck_assert_int_eq(queue_rig_receive(&rig), 0);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 0), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_close(&rig);
}
END_TEST

/* --- receiving ------------------------------------------------------------------------------------ */

static void build_full_message(struct message *m)
{
    struct nfqnl_msg_packet_timestamp time = { htobe64(1700000000), htobe64(123456) };
    struct nfqnl_msg_packet_hw hardware = { htons(6), 0, { 1, 2, 3, 4, 5, 6 } };
    struct message vlan = { .length = 0 };

    add_attribute(&vlan, NFQA_VLAN_PROTO, "\x81\x00", 2);
    add_attribute(&vlan, NFQA_VLAN_TCI, "\x20\x64", 2);
    packet_start(m, NFPROTO_IPV4, 1, 0x0800);
    add_u32(m, NFQA_MARK, 0xffffffff);
    add_attribute(m, NFQA_TIMESTAMP, &time, sizeof(time));
    add_u32(m, NFQA_IFINDEX_INDEV, 3);
    add_u32(m, NFQA_IFINDEX_OUTDEV, 4);
    add_u32(m, NFQA_IFINDEX_PHYSINDEV, 5);
    add_u32(m, NFQA_IFINDEX_PHYSOUTDEV, 6);
    add_attribute(m, NFQA_HWADDR, &hardware, sizeof(hardware));
    add_attribute(m, NFQA_VLAN | NLA_F_NESTED, vlan.bytes, vlan.length);
    add_attribute(m, NFQA_L2HDR, "the frame's head", 14);
    add_u32(m, NFQA_CAP_LEN, 70000);
    add_u32(m, NFQA_SKB_INFO, NFQA_SKB_CSUMNOTREADY | NFQA_SKB_GSO);
    add_attribute(m, NFQA_CT | NLA_F_NESTED, "conntrack's", 11);
    add_u32(m, NFQA_CT_INFO, 4);
    add_u32(m, 99, 1); /* an attribute of a newer kernel */
    add_attribute(m, NFQA_PAYLOAD, "payload", 7);
    message_finish(m);
}

START_TEST(all_that_the_kernel_says)
{
    struct message m;
    struct rig rig;

    build_full_message(&m);
    queue_rig_open(&rig);
    queue_rig_send(&rig, &m);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);

    const struct packet *pkt = rig.batch[0];

    ck_assert_uint_eq(pkt->length, 7);
    ck_assert_mem_eq(pkt->data, "payload", 7);
    ck_assert_uint_eq(pkt->wire_length, 70000);
    ck_assert_uint_eq(pkt->time_ns, UINT64_C(1700000000123456000));
    ck_assert_uint_eq(pkt->number, 1);
    ck_assert_int_eq(pkt->link, LINK_RAW);
    ck_assert_uint_eq(pkt->flags, PACKET_TRUNCATED | PACKET_CHECKSUM_NOT_READY | PACKET_GSO | PACKET_CAN_SEGMENT |
                                      PACKET_KERNEL_TIME);
    ck_assert_uint_eq(pkt->meta.id, 1);
    ck_assert_uint_eq(pkt->meta.mark, 0xffffffff);
    ck_assert_uint_eq(pkt->meta.in_ifindex, 3);
    ck_assert_uint_eq(pkt->meta.out_ifindex, 4);
    ck_assert_uint_eq(pkt->meta.in_physical_ifindex, 5);
    ck_assert_uint_eq(pkt->meta.out_physical_ifindex, 6);
    ck_assert_uint_eq(pkt->meta.queue, QUEUE);
    ck_assert_uint_eq(pkt->meta.hardware_protocol, 0x0800);
    ck_assert_uint_eq(pkt->meta.vlan_tci, 0x2064);
    ck_assert_uint_eq(pkt->meta.vlan_protocol, 0x8100);
    ck_assert_mem_eq(pkt->frame_header, "the frame's head", 14);
    ck_assert_uint_eq(pkt->meta.hook, NF_INET_FORWARD);
    ck_assert_uint_eq(pkt->meta.hardware_address_length, 6);
    ck_assert_mem_eq(pkt->meta.hardware_address, "\1\2\3\4\5\6\0\0", 8);
    ck_assert_uint_eq(pkt->conntrack.length, 11);
    ck_assert_mem_eq(pkt->conntrack.bytes, "conntrack's", 11);
    ck_assert_uint_eq(pkt->conntrack.info, 4);

    const struct capture_counters *c = capture_counters(rig.capture);

    ck_assert_uint_eq(c->packets, 1);
    ck_assert_uint_eq(c->bytes, 70000);
    ck_assert_uint_eq(c->truncated, 1);
    ck_assert_uint_eq(c->gso, 1);
    ck_assert_uint_eq(c->conntrack, 1);
    ck_assert_uint_eq(c->malformed_messages, 0);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

/* No field of the previous packet in the slot may remain. */
START_TEST(nothing_is_left_from_earlier_packets)
{
    struct item item = { MARK, 0, 0xff, 0xff };
    struct message m;
    struct rig rig;

    build_full_message(&m);
    queue_rig_open(&rig);
    queue_rig_send(&rig, &m);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    act(rig.batch[0], &item);
    rig.batch[0]->verdict = VERDICT_DROP;
    rig.batch[0]->drop_reason = DROP_REASON_RULES;
    rig.batch[0]->reject = REJECT_BOTH;
    rig.batch[0]->new_data = rig.batch[0]->data;
    rig.batch[0]->new_length = 1;
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_send_packet(&rig, 2, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);

    const struct packet *pkt = rig.batch[0];
    struct queue_meta meta = { .id = 2, .queue = QUEUE, .hardware_protocol = 0x0800, .hook = NF_INET_FORWARD };

    ck_assert_mem_eq(&pkt->meta, &meta, sizeof(meta));
    ck_assert_ptr_null(pkt->conntrack.bytes);
    ck_assert_uint_eq(pkt->conntrack.length, 0);
    ck_assert_uint_ge(pkt->conntrack.info, 5); /* an invalid value */
    ck_assert_uint_eq(capture_counters(rig.capture)->conntrack, 1);
    ck_assert_uint_eq(pkt->flags, 0);
    ck_assert_uint_eq(pkt->length, 4);
    ck_assert_uint_eq(pkt->wire_length, 4);
    ck_assert_uint_eq(pkt->number, 2);
    ck_assert_uint_ne(pkt->time_ns, UINT64_C(1700000000123456000)); /* the current time */
    ck_assert_uint_gt(pkt->time_ns, UINT64_C(1500000000000000000));
    ck_assert_int_eq(pkt->verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt->drop_reason, DROP_REASON_NONE);
    ck_assert_int_eq(pkt->reject, REJECT_NONE);
    ck_assert(!pkt->mark_set);
    ck_assert_ptr_null(pkt->new_data);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

static const struct {
    uint32_t mark, mask, packet;
    bool marked;
} marked_cases[] = {
    { 1, 1, 0, false },     { 1, 1, 1, true },           { 1, 1, 0xffffffff, true },
    { 0xff01, 1, 3, true }, { 1, 0xffffffff, 3, false }, { 0xffffffff, 0xffffffff, 0xffffffff, true },
    { 0, 1, 0, true },      { 0, 1, 1, false },
};

START_TEST(marked_packets)
{
    struct nfqueue_options options = options_for(-1);
    struct rig rig;

    options.mode = QUEUE_REPEAT;
    options.mark = marked_cases[_i].mark;
    options.mark_mask = marked_cases[_i].mask;
    queue_rig_open_with(&rig, options, 0);
    queue_rig_send_packet(&rig, 1, marked_cases[_i].packet);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_int_eq((rig.batch[0]->flags & PACKET_MARKED) != 0, marked_cases[_i].marked);
    ck_assert_uint_eq(capture_counters(rig.capture)->marked, marked_cases[_i].marked);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->repeated, !marked_cases[_i].marked);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

static const struct {
    uint32_t ids[5];
    size_t count;
    uint64_t lost, overruns;
} gap_cases[] = {
    { { 1, 2, 3 }, 3, 0, 0 },       { { 1, 2, 5, 6, 10 }, 5, 5, 2 },
    { { 1, 1001 }, 2, 999, 1 },     { { 0xfffffffe, 0xffffffff, 0, 1 }, 4, 0, 0 },
    { { 0xfffffffe, 2 }, 2, 3, 1 }, { { 7, 8 }, 2, 0, 0 }, /* the ids of an adopted queue need not begin at 1 */
    { { 100, 50, 51 }, 3, 0, 0 },                          /* a lower id does not count as a loss */
};

START_TEST(gaps_are_losses)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);
    for (size_t i = 0; i < gap_cases[_i].count; i++)
        queue_rig_send_packet(&rig, gap_cases[_i].ids[i], 0);
    ck_assert_int_eq(queue_rig_receive(&rig), (int)gap_cases[_i].count);
    ck_assert_uint_eq(capture_counters(rig.capture)->lost, gap_cases[_i].lost);
    ck_assert_uint_eq(capture_counters(rig.capture)->receive_overruns, gap_cases[_i].overruns);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, gap_cases[_i].count), 0);
    queue_rig_sent(&rig, text);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* Packets that a previous reader of the socket received without a verdict are queued again, once, before any packet is
 * accepted. */
START_TEST(adopted_queue_repeats_what_was_left)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 8, 0);
    queue_rig_send_packet(&rig, 9, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, "batch 7 repeat");
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), 0);
    queue_rig_sent(&rig, text);
    ck_assert_str_eq(text, "batch 9 accept");
    queue_rig_send_error(&rig, -ENOENT, SEQUENCE_REPEAT_UNJUDGED); /* no packet was left */
    queue_rig_send_packet(&rig, 10, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_lost, 0);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(refused_verdicts_are_counted)
{
    static const int errors[] = { -ENOENT, -EINVAL, 0, -ENOENT, -EPERM, -EPERM };
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 1, 0);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        queue_rig_send_error(&rig, errors[i], i == 0 ? 64 : 1); /* of a batch verdict, then of single ones */
    queue_rig_send_packet(&rig, 2, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2); /* packets before the error */
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_lost, 65);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 3);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), 0);
    ck_assert_int_eq(queue_rig_receive(&rig), -EPERM); /* then the error (verdicts are not permitted), once */
    ck_assert_int_eq(queue_rig_receive(&rig), 0);
    queue_rig_send_error(&rig, -EPERM, 1);
    ck_assert_int_eq(queue_rig_receive(&rig), 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 4);
    ck_assert_uint_eq(capture_counters(rig.capture)->malformed_messages, 0);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(receive_keeps_to_its_limits)
{
    struct nfqueue_options options = options_for(-1);
    struct rig rig;

    options.batch = 4;
    queue_rig_open_with(&rig, options, 0);
    for (uint32_t id = 1; id <= 6; id++)
        queue_rig_send_packet(&rig, id, 0);
    ck_assert_int_eq(capture_receive(rig.capture, rig.batch, 1, -1), 1);
    ck_assert_uint_eq(rig.batch[0]->meta.id, 1);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_int_eq(capture_receive(rig.capture, rig.batch, CAPTURE_MAX_BATCH, 1000), 4);
    ck_assert_uint_eq(rig.batch[3]->meta.id, 5);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 4), 0);
    ck_assert_int_eq(capture_receive(rig.capture, rig.batch, CAPTURE_MAX_BATCH, 5), 1);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_int_eq(capture_receive(rig.capture, rig.batch, CAPTURE_MAX_BATCH, 5), 0);
    ck_assert_int_eq(capture_receive(rig.capture, rig.batch, CAPTURE_MAX_BATCH, 0), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->receive_calls, 5);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(largest_packet_of_all)
{
    static uint8_t payload[NFQUEUE_MAX_COPY];
    struct message m;
    struct rig rig;

    memset(payload, 0x5a, sizeof(payload));
    queue_rig_open(&rig);
    for (uint32_t id = 1; id <= 2; id++) {
        packet_message(&m, id, 0, payload, sizeof(payload));
        queue_rig_send(&rig, &m);
    }
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(rig.batch[i]->length, sizeof(payload));
        ck_assert_mem_eq(rig.batch[i]->data, payload, sizeof(payload));
    }
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), 0);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(source_is_gone)
{
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 1, 0);
    queue_rig_send_packet(&rig, 2, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    close(rig.kernel);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), -EPIPE);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 1);
    ck_assert_int_eq(queue_rig_receive(&rig), -ECONNRESET);
    capture_close(rig.capture);
}
END_TEST

/* --- conntrack ------------------------------------------------------------------------------------ */

static void expect_flags(struct rig *rig, uint32_t flags)
{
    expect_config(rig, SEQUENCE_CONNTRACK, flags, NFQA_CFG_F_CONNTRACK);
}

START_TEST(conntrack_is_asked_for_and_taken_away)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;

    options.conntrack = true;
    queue_rig_open_with(&rig, options, 0);
    expect_flags(&rig, NFQA_CFG_F_CONNTRACK);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_CONNTRACK | NFQA_CFG_F_GSO);
    ck_assert_int_eq(nfqueue_stop_conntrack(rig.capture), 0);
    expect_flags(&rig, 0);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_GSO);
    ck_assert_int_eq(nfqueue_stop_conntrack(rig.capture), 0); /* the second call does nothing */
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_close(&rig);
}
END_TEST

/* A packet without conntrack data is known to be untracked only after a packet with such data, and while they are
 * requested. */
START_TEST(conntrack_that_knows_no_connection)
{
    static const bool connected[] = { false, true, false };
    struct nfqueue_options options = options_for(-1);
    struct rig rig;

    options.conntrack = true;
    queue_rig_open_with(&rig, options, 0);
    expect_flags(&rig, NFQA_CFG_F_CONNTRACK);
    for (uint32_t id = 1; id <= 3; id++) {
        struct message m;

        packet_start(&m, NFPROTO_IPV4, id, 0x0800);
        if (connected[id - 1]) {
            add_attribute(&m, NFQA_CT | NLA_F_NESTED, "conntrack's", 11);
            add_u32(&m, NFQA_CT_INFO, 2);
        }
        add_attribute(&m, NFQA_PAYLOAD, "payload", 7);
        message_finish(&m);
        queue_rig_send(&rig, &m);
    }
    ck_assert_int_eq(queue_rig_receive(&rig), 3);
    ck_assert_uint_ne(rig.batch[0]->conntrack.info, PACKET_CONNTRACK_NONE);
    ck_assert_uint_eq(rig.batch[1]->conntrack.info, 2);
    ck_assert_uint_eq(rig.batch[2]->conntrack.info, PACKET_CONNTRACK_NONE);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 3), 0);
    ck_assert_int_eq(nfqueue_stop_conntrack(rig.capture), 0);
    queue_rig_send_packet(&rig, 4, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_uint_ne(rig.batch[0]->conntrack.info, PACKET_CONNTRACK_NONE);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

/* A refused configuration is not counted as a refused verdict, and the capture continues. */
START_TEST(conntrack_that_is_refused)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;

    options.conntrack = true;
    queue_rig_open_with(&rig, options, 0);
    expect_flags(&rig, NFQA_CFG_F_CONNTRACK);
    queue_rig_send_error(&rig, -EOPNOTSUPP, SEQUENCE_CONNTRACK);
    queue_rig_send_packet(&rig, 1, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_GSO);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 0);
    ck_assert_int_eq(nfqueue_stop_conntrack(rig.capture), 0);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, "single 1 accept");
    queue_rig_close(&rig);
}
END_TEST

START_TEST(conntrack_that_nobody_wants)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);
    ck_assert_int_eq(nfqueue_stop_conntrack(rig.capture), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_close(&rig);
}
END_TEST

/* --- damage --------------------------------------------------------------------------------------- */

/* A damaged packet gets a verdict; messages of other types or queues are ignored. */
START_TEST(damaged_messages_are_counted)
{
    char text[TEXT_SIZE];
    struct message m;
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 1, 0);
    packet_start(&m, NFPROTO_IPV4, 2, 0x0800);
    message_add(&m, "\3", 2);
    message_finish(&m);
    queue_rig_send(&rig, &m);
    message_start(&m, NLMSG_DONE, 0);
    message_finish(&m);
    queue_rig_send(&rig, &m);
    packet_message(&m, 9, 0, "x", 1);
    m.bytes[NLMSG_HDRLEN + offsetof(struct nfgenmsg, res_id)] ^= 1;
    queue_rig_send(&rig, &m);
    queue_rig_send_packet(&rig, 3, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 3);
    ck_assert_uint_eq(capture_counters(rig.capture)->malformed_messages, 3);
    ck_assert_uint_eq(rig.batch[1]->meta.id, 2);
    ck_assert_uint_eq(rig.batch[1]->length, 0);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 3), 0);
    queue_rig_sent(&rig, text);
    ck_assert_str_eq(text, "batch 3 accept");
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* A packet without id cannot get a verdict. It stays in the kernel; a batch verdict for its neighbours must not accept
 * it. */
START_TEST(packet_without_an_id_ends_batches)
{
    char text[TEXT_SIZE];
    struct nlattr other = { 11, 99 };
    struct message m;
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 1, 0);
    packet_message(&m, 2, 0, "x", 1);
    memcpy(m.bytes + NLMSG_HDRLEN + sizeof(struct nfgenmsg), &other, sizeof(other));
    queue_rig_send(&rig, &m);
    queue_rig_send_packet(&rig, 3, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 2);
    ck_assert_uint_eq(capture_counters(rig.capture)->malformed_messages, 1);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 2), 0);
    queue_rig_sent(&rig, text);
    ck_assert_str_eq(text, "single 1 accept; single 3 accept");
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

static Suite *make_suite(void)
{
    Suite *suite = suite_create("capture_nfqueue");
    TCase *verdicts = tcase_create("verdicts");
    TCase *receiving = tcase_create("receiving");

    tcase_add_loop_test(verdicts, verdicts_of_a_batch, 0, COUNT(verdict_cases));
    tcase_add_test(verdicts, exact_verdicts_are_single);
    tcase_add_test(verdicts, verdict_bytes);
    tcase_add_loop_test(verdicts, verdicts_in_several_calls, 0, COUNT(partial_cases));
    tcase_add_test(verdicts, large_payloads_are_split);
    tcase_add_test(verdicts, no_batches_after_a_failed_send);
    tcase_add_test(verdicts, sequence_counts_the_packets);
    tcase_add_test(verdicts, nothing_to_judge_sends_nothing);
    suite_add_tcase(suite, verdicts);

    tcase_add_test(receiving, all_that_the_kernel_says);
    tcase_add_test(receiving, nothing_is_left_from_earlier_packets);
    tcase_add_loop_test(receiving, marked_packets, 0, COUNT(marked_cases));
    tcase_add_loop_test(receiving, gaps_are_losses, 0, COUNT(gap_cases));
    tcase_add_test(receiving, adopted_queue_repeats_what_was_left);
    tcase_add_test(receiving, refused_verdicts_are_counted);
    tcase_add_test(receiving, receive_keeps_to_its_limits);
    tcase_add_test(receiving, largest_packet_of_all);
    tcase_add_test(receiving, source_is_gone);
    tcase_add_test(receiving, conntrack_is_asked_for_and_taken_away);
    tcase_add_test(receiving, conntrack_that_knows_no_connection);
    tcase_add_test(receiving, conntrack_that_is_refused);
    tcase_add_test(receiving, conntrack_that_nobody_wants);
    tcase_add_test(receiving, damaged_messages_are_counted);
    tcase_add_test(receiving, packet_without_an_id_ends_batches);
    suite_add_tcase(suite, receiving);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
