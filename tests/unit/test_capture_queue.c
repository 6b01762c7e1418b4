/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions around a queue: damaged messages, opening and adopting, the status file, the owner of a queue. */
#include "capture/queue_owner.h"
#include "nfqueue_rig.h"

#include <errno.h>
#include <stdlib.h>

/* --- messages ------------------------------------------------------------------------------------- */

static const struct {
    uint32_t info, flags;
} info_cases[] = {
    { 0, 0 },
    { NFQA_SKB_CSUMNOTREADY, PACKET_CHECKSUM_NOT_READY },
    { NFQA_SKB_GSO, PACKET_GSO },
    { NFQA_SKB_CSUM_NOTVERIFIED, PACKET_CHECKSUM_UNVERIFIED },
    { 0xffffffff, PACKET_CHECKSUM_NOT_READY | PACKET_GSO | PACKET_CHECKSUM_UNVERIFIED },
};

START_TEST(skb_info)
{
    struct nfqueue_result result;
    struct packet pkt;
    struct message m;

    packet_start(&m, NFPROTO_IPV4, 1, 0x0800);
    add_u32(&m, NFQA_SKB_INFO, info_cases[_i].info);
    message_finish(&m);
    ck_assert_int_eq(nfqueue_message_read(m.bytes, m.length, QUEUE, &pkt, &result), NFQUEUE_PACKET);
    ck_assert_uint_eq(pkt.flags, info_cases[_i].flags);
}
END_TEST

static const struct {
    uint8_t family;
    uint16_t protocol;
    enum link_type link;
} link_cases[] = {
    { NFPROTO_IPV4, 0x0800, LINK_RAW },      { NFPROTO_IPV6, 0x86dd, LINK_RAW },
    { NFPROTO_INET, 0, LINK_RAW },           { NFPROTO_BRIDGE, 0x0800, LINK_BRIDGE },
    { NFPROTO_BRIDGE, 0x86dd, LINK_BRIDGE }, { NFPROTO_BRIDGE, 0x0806, LINK_BRIDGE },
};

START_TEST(link_types)
{
    struct nfqueue_result result;
    struct packet pkt;
    struct message m;

    packet_start(&m, link_cases[_i].family, 1, link_cases[_i].protocol);
    message_finish(&m);
    ck_assert_int_eq(nfqueue_message_read(m.bytes, m.length, QUEUE, &pkt, &result), NFQUEUE_PACKET);
    ck_assert_int_eq(pkt.link, link_cases[_i].link);
}
END_TEST

/* An attribute after the packet header: its length field, its type, and the bytes that follow. */
static const struct {
    const char *name;
    uint16_t says, type;
    size_t follow;
    uint8_t bytes[16];
    enum nfqueue_message_kind kind;
} damage_cases[] = {
    { "length 0", 0, NFQA_MARK, 4, { 0 }, NFQUEUE_DAMAGED },
    { "length 3", 3, NFQA_MARK, 4, { 0 }, NFQUEUE_DAMAGED },
    { "one byte longer than the message", 9, NFQA_PAYLOAD, 4, "data", NFQUEUE_DAMAGED },
    { "far longer", 0xffff, NFQA_PAYLOAD, 4, "data", NFQUEUE_DAMAGED },
    { "short mark", 7, NFQA_MARK, 4, { 0 }, NFQUEUE_DAMAGED },
    { "short time", 12, NFQA_TIMESTAMP, 8, { 0 }, NFQUEUE_DAMAGED },
    { "short interface", 6, NFQA_IFINDEX_INDEV, 2, { 0 }, NFQUEUE_DAMAGED },
    { "short second header", 8, NFQA_PACKET_HDR, 4, { 9, 9, 9, 9 }, NFQUEUE_DAMAGED },
    { "short address", 8, NFQA_HWADDR, 4, { 0, 6 }, NFQUEUE_DAMAGED },
    { "long address", 20, NFQA_HWADDR, 16, { 0, 9 }, NFQUEUE_DAMAGED },
    { "short conntrack info", 7, NFQA_CT_INFO, 4, { 0 }, NFQUEUE_DAMAGED },
    { "conntrack longer than the message", 9, NFQA_CT, 4, { 0 }, NFQUEUE_DAMAGED },
    { "conntrack without content", 4, NFQA_CT, 0, { 0 }, NFQUEUE_PACKET },
    { "conntrack that makes no sense", 8, NFQA_CT, 4, { 0xff, 0xff, 0xff, 0xff }, NFQUEUE_PACKET },
    { "vlan without content", 8, NFQA_VLAN, 4, { 0 }, NFQUEUE_DAMAGED },
    { "vlan too short", 7, NFQA_VLAN, 4, { 0 }, NFQUEUE_DAMAGED },
    { "no skb info", 4, NFQA_SKB_INFO, 0, { 0 }, NFQUEUE_DAMAGED },
    { "half an attribute after it", 8, NFQA_MARK, 6, { 0 }, NFQUEUE_DAMAGED },
    { "payload without padding", 5, NFQA_PAYLOAD, 1, "x", NFQUEUE_PACKET },
    { "empty payload", 4, NFQA_PAYLOAD, 0, { 0 }, NFQUEUE_PACKET },
    { "empty vlan", 4, NFQA_VLAN, 0, { 0 }, NFQUEUE_PACKET },
    { "unknown attribute", 8, 0x3fff, 4, { 0 }, NFQUEUE_PACKET },
};

START_TEST(damaged_attributes)
{
    struct nlattr attribute = { damage_cases[_i].says, damage_cases[_i].type };
    struct nfqueue_result result;
    struct packet pkt;
    struct message m;

    packet_start(&m, NFPROTO_IPV4, 77, 0x0800);
    message_add(&m, &attribute, sizeof(attribute));
    message_add(&m, damage_cases[_i].bytes, damage_cases[_i].follow);
    message_finish(&m);

    enum nfqueue_message_kind kind = nfqueue_message_read(m.bytes, m.length, QUEUE, &pkt, &result);

    ck_assert_msg(kind == damage_cases[_i].kind, "%s: %d", damage_cases[_i].name, kind);
    ck_assert_uint_eq(pkt.meta.id, 77);
    ck_assert_uint_le(pkt.length, pkt.wire_length);
    ck_assert(pkt.data >= m.bytes && pkt.data + pkt.length <= m.bytes + m.length);
}
END_TEST

/* A truncated message is read within its bounds; the packet id is returned if the message contains it. */
START_TEST(cut_messages)
{
    size_t id_known = NLMSG_HDRLEN + sizeof(struct nfgenmsg) + NLA_HDRLEN + sizeof(struct nfqnl_msg_packet_hdr);
    struct message m;

    packet_message(&m, 5, 1, "abcdefgh", 8);
    for (size_t length = 0; length <= m.length; length++) {
        enum nfqueue_message_kind kind, expected = NFQUEUE_DAMAGED;
        uint8_t *copy = malloc(length ? length : 1); /* of exact size, so that a sanitizer detects reads past the end */
        struct nfqueue_result result;
        struct packet pkt;

        memcpy(copy, m.bytes, length);
        kind = nfqueue_message_read(copy, length, QUEUE, &pkt, &result);
        if (length < NLMSG_HDRLEN)
            expected = NFQUEUE_UNKNOWN;
        else if (length < id_known)
            expected = NFQUEUE_NO_ID;
        else if (length == m.length)
            expected = NFQUEUE_PACKET;
        ck_assert_msg(kind == expected, "%zu bytes: %d, not %d", length, kind, expected);
        free(copy);
    }
}
END_TEST

/* --- opening -------------------------------------------------------------------------------------- */

static const struct {
    struct nfqueue_options options;
    const char *error;
} option_cases[] = {
    { { .length = 1, .batch = 0, .inherited_fd = -1 }, "batch" },
    { { .length = 1, .batch = CAPTURE_MAX_BATCH + 1, .inherited_fd = -1 }, "batch" },
    { { .length = 0, .batch = 1, .inherited_fd = -1 }, "length" },
    { { .length = 1, .batch = 1, .inherited_fd = -1, .mode = QUEUE_REPEAT, .mark = 1 }, "mask" },
    { { .length = 1, .batch = 1, .inherited_fd = -1, .mode = QUEUE_ROUTE, .queue = 3, .route_to = 3 }, "same queue" },
};

START_TEST(options_that_contradict)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;

    ck_assert_int_eq(nfqueue_open(&capture, &option_cases[_i].options, error), -EINVAL);
    ck_assert_ptr_null(capture);
    ck_assert_msg(strstr(error, option_cases[_i].error) != NULL, "%s", error);
}
END_TEST

START_TEST(adopting_no_socket_leaves_it_alone)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;
    int pair[2];

    ck_assert_int_eq(pipe(pair), 0);

    struct nfqueue_options options = options_for(pair[0]);

    ck_assert_int_eq(nfqueue_open(&capture, &options, error), -ENOTSOCK);
    ck_assert_ptr_null(capture);
    ck_assert_msg(strstr(error, "not a socket") != NULL, "%s", error);
    ck_assert_int_eq(close(pair[0]), 0); /* the descriptor is still open */
    close(pair[1]);
}
END_TEST

START_TEST(binding_without_privilege_says_what_is_missing)
{
    struct nfqueue_options options = options_for(-1);
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;

    if (geteuid() == 0)
        ck_assert_int_eq(setresuid(65534, 65534, 65534), 0); /* affects only this test, which has its own process */

    int err = nfqueue_open(&capture, &options, error);

    ck_assert_ptr_null(capture);
    if (err == -EPROTONOSUPPORT)
        return; /* a kernel without nfnetlink */
    ck_assert_int_eq(err, -EPERM);
    ck_assert_msg(strstr(error, "CAP_NET_ADMIN") != NULL, "%s", error);
}
END_TEST

START_TEST(what_was_read_back)
{
    struct queue_status status;
    struct rig rig;

    queue_rig_open(&rig);
    ck_assert_uint_gt(nfqueue_receive_buffer(rig.capture), 0);
    ck_assert_int_ge(nfqueue_fd(rig.capture), 0);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_GSO);
    ck_assert_int_lt(capture_status(rig.capture, &status), 0); /* the queue is not bound, or the file is not readable */
    queue_rig_close(&rig);
}
END_TEST

/* --- status --------------------------------------------------------------------------------------- */

static int temporary_file(const char *text)
{
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fflush(file);

    int fd = dup(fileno(file));

    fclose(file);
    return fd;
}

START_TEST(status_of_queues)
{
    int fd = temporary_file("    0  31621     3 2 65531     7     8       99  1\n"
                            "nonsense\n"
                            "    5 4294967295 0 1     0 4294967295 0 4294967295 1\n"
                            "    6 4294967296 0 1     0 0 0 0 1\n"
                            "    7 -1 0 1     0 0 0 0 1\n"
                            "65535 1 2 2 3 4 5 6 1\n");
    struct queue_status status[4], found;

    ck_assert_int_eq(nfqueue_read_status(fd, status, 4), 3);
    ck_assert_uint_eq(status[0].queue, 0);
    ck_assert_uint_eq(status[0].port_id, 31621);
    ck_assert_uint_eq(status[0].waiting, 3);
    ck_assert_uint_eq(status[0].copy_mode, 2);
    ck_assert_uint_eq(status[0].copy_range, 65531);
    ck_assert_uint_eq(status[0].queue_dropped, 7);
    ck_assert_uint_eq(status[0].user_dropped, 8);
    ck_assert_uint_eq(status[0].id_sequence, 99);
    ck_assert_uint_eq(status[1].port_id, UINT32_MAX);
    ck_assert_uint_eq(status[1].id_sequence, UINT32_MAX);
    ck_assert_int_eq(nfqueue_read_status(fd, status, 1), 1); /* the file is read from its start again */
    ck_assert_int_eq(nfqueue_read_status(fd, status, 0), 0);
    ck_assert_int_eq(nfqueue_find_status(fd, 65535, &found), 0);
    ck_assert_uint_eq(found.id_sequence, 6);
    ck_assert_int_eq(nfqueue_find_status(fd, 6, &found), -ENOENT);
    close(fd);
    ck_assert_int_eq(nfqueue_read_status(fd, status, 4), -EBADF);
}
END_TEST

/* More lines than fit into one read, and a line without an end. */
START_TEST(status_of_many_queues)
{
    static char text[300 * 64];
    static struct queue_status status[512];
    size_t used = 0;

    for (unsigned i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%5u %6u %5u 2 65531 %5u %5u %8u  1\n", i, i + 1,
                                 i + 2, i + 3, i + 4, i + 5);

    int fd = temporary_file(text);

    ck_assert_int_eq(nfqueue_read_status(fd, status, 512), 300);
    for (unsigned i = 0; i < 300; i++) {
        ck_assert_uint_eq(status[i].queue, i);
        ck_assert_uint_eq(status[i].id_sequence, i + 5);
    }
    close(fd);

    memset(text, '1', sizeof(text) - 1);
    fd = temporary_file(text);
    ck_assert_int_eq(nfqueue_read_status(fd, status, 512), -EBADMSG);
    close(fd);
}
END_TEST

START_TEST(owner_of_a_port)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    socklen_t length = sizeof(address);
    char owner[QUEUE_OWNER_SIZE], expected[QUEUE_OWNER_SIZE];
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);

    queue_owner_describe(0xfffffff0, owner);
    ck_assert_str_eq(owner, "another process (netlink port id 4294967280)");
    if (fd < 0)
        return; /* a kernel without nfnetlink */
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    queue_owner_describe(address.nl_pid, owner);
    snprintf(expected, sizeof(expected), "process %d (", (int)getpid());
    ck_assert_msg(strncmp(owner, expected, strlen(expected)) == 0, "%s", owner);
    close(fd);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

static Suite *make_suite(void)
{
    Suite *suite = suite_create("capture_queue");
    TCase *messages = tcase_create("messages");
    TCase *opening = tcase_create("opening");

    tcase_add_loop_test(messages, skb_info, 0, COUNT(info_cases));
    tcase_add_loop_test(messages, link_types, 0, COUNT(link_cases));
    tcase_add_loop_test(messages, damaged_attributes, 0, COUNT(damage_cases));
    tcase_add_test(messages, cut_messages);
    suite_add_tcase(suite, messages);

    tcase_add_loop_test(opening, options_that_contradict, 0, COUNT(option_cases));
    tcase_add_test(opening, adopting_no_socket_leaves_it_alone);
    tcase_add_test(opening, binding_without_privilege_says_what_is_missing);
    tcase_add_test(opening, what_was_read_back);
    tcase_add_test(opening, status_of_queues);
    tcase_add_test(opening, status_of_many_queues);
    tcase_add_test(opening, owner_of_a_port);
    suite_add_tcase(suite, opening);
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
