/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for the process that keeps the socket of a queue (the supervisor) after the reader of the queue has died.
 */
#include "nfqueue_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Makes a file like /proc/net/netfilter/nfnetlink_queue, with one line for the queue. */
static int status_file(unsigned waiting, unsigned sequence)
{
    int fd = memfd_create("status", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    dprintf(fd, "%5d  12345 %5u 2 65531     0     0 %8u  1\n", QUEUE, waiting, sequence);
    return fd;
}

static int open_pair(struct rig *rig)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    rig->kernel = pair[1];
    rig->capture = NULL;
    return pair[0];
}

/* Expects a configuration message that sets the length of the queue. */
static void expect_length(struct rig *rig, uint32_t length)
{
    struct {
        struct nlmsghdr netlink;
        struct nfgenmsg netfilter;
        struct nlattr attribute;
        uint32_t value;
    } message;

    ck_assert_int_eq(recv(rig->kernel, &message, sizeof(message), MSG_DONTWAIT), sizeof(message));
    ck_assert_uint_eq(message.netlink.nlmsg_type, NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_CONFIG);
    ck_assert_uint_eq(message.netlink.nlmsg_flags, NLM_F_REQUEST);
    ck_assert_uint_eq(ntohs(message.netfilter.res_id), QUEUE);
    ck_assert_uint_eq(message.attribute.nla_type, NFQA_CFG_QUEUE_MAXLEN);
    ck_assert_uint_eq(ntohl(message.value), length);
}

static const struct {
    unsigned waiting, sequence;
    uint32_t unread[3]; /* packet ids in the socket; 0: an error message for the dead reader */
    size_t unread_count;
    uint32_t last_id, taken;
} surveys[] = {
    { 0, 0, { 0 }, 0, 0, 0 },
    { 3, 10, { 0 }, 0, 10, 3 },          /* the dead reader had received all */
    { 5, 10, { 9, 10 }, 2, 8, 3 },       /* it had not received the last two */
    { 5, 10, { 0, 0, 9 }, 3, 8, 4 - 1 }, /* packets after error messages */
    { 2, 10, { 9, 10 }, 2, 8, 0 },       /* it had issued verdicts for all that it received */
    { 4, 10, { 11 }, 1, 10, 4 },         /* a packet arrived after the status was read */
    { 3, 10, { 13 }, 1, 12, 3 }, /* a packet arrived after the status was read, and earlier ones were received */
    { 9, 2, { 0xffffffff, 1 }, 2, 0xfffffffe, 5 }, /* ids wrap around */
};

START_TEST(surveys_what_is_left)
{
    struct nfqueue_backlog backlog;
    struct rig rig;
    char bytes[MESSAGE_SIZE];
    int fd = open_pair(&rig), status = status_file(surveys[_i].waiting, surveys[_i].sequence);

    for (size_t i = 0; i < surveys[_i].unread_count; i++) {
        if (surveys[_i].unread[i] > 0)
            queue_rig_send_packet(&rig, surveys[_i].unread[i], 0);
        else
            queue_rig_send_error(&rig, -ENOENT, 3);
    }
    ck_assert_int_eq(nfqueue_read_backlog(fd, status, QUEUE, 999, &backlog), 0);
    ck_assert_uint_eq(backlog.last_id, surveys[_i].last_id);
    ck_assert_uint_eq(backlog.waiting, surveys[_i].waiting);
    ck_assert_uint_eq(backlog.taken, surveys[_i].taken);
    expect_length(&rig, 999);
    /* The packets are still in the socket, for the next reader. */
    for (size_t i = 0; i < surveys[_i].unread_count; i++)
        if (surveys[_i].unread[i] > 0)
            ck_assert_int_gt(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), 0);
    ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
    close(fd);
    close(rig.kernel);
    close(status);
}
END_TEST

START_TEST(a_long_packet_is_no_shorter_for_looking)
{
    static char payload[60000], bytes[MESSAGE_SIZE];
    struct nfqueue_backlog backlog;
    struct message m;
    struct rig rig;
    int fd = open_pair(&rig), status = status_file(1, 7), plenty = 400000;

    setsockopt(rig.kernel, SOL_SOCKET, SO_SNDBUF, &plenty, sizeof(plenty));
    packet_message(&m, 5, 0, payload, sizeof(payload));
    queue_rig_send(&rig, &m);
    ck_assert_int_eq(nfqueue_read_backlog(fd, status, QUEUE, 1, &backlog), 0);
    ck_assert_uint_eq(backlog.last_id, 4);
    ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), (ssize_t)m.length);
    close(fd);
    close(rig.kernel);
    close(status);
}
END_TEST

START_TEST(a_queue_that_is_not_there_is_told)
{
    struct nfqueue_backlog backlog;
    struct rig rig;
    int fd = open_pair(&rig), status = memfd_create("status", MFD_CLOEXEC);

    ck_assert_int_eq(nfqueue_read_backlog(fd, status, QUEUE, 1, &backlog), -ENOENT);
    close(rig.kernel);
    ck_assert_int_eq(nfqueue_resize(fd, QUEUE, 1, 0), -EPIPE);
    close(fd);
    close(status);
}
END_TEST

static const struct {
    enum queue_verdict_mode mode;
    uint32_t mark, mask;
    uint16_t route_to;
    bool bypass, one;
    enum queue_backlog_verdict judgment;
    const char *sent;
} judgments[] = {
    { QUEUE_ACCEPT, 0, 0, 0, false, false, QUEUE_BACKLOG_REPEAT, "batch 42 repeat" },
    { QUEUE_ACCEPT, 0, 0, 0, false, true, QUEUE_BACKLOG_DROP, "single 42 drop" },
    { QUEUE_ACCEPT, 0, 0, 0, false, false, QUEUE_BACKLOG_ACCEPT, "batch 42 accept" },
    { QUEUE_ACCEPT, 1, 1, 0, false, false, QUEUE_BACKLOG_ACCEPT, "batch 42 accept" }, /* the packets keep their marks */
    { QUEUE_REPEAT, 4, 4, 0, false, false, QUEUE_BACKLOG_REPEAT,
      "batch 42 repeat" }, /* without the mark, so that the packets are queued again */
    { QUEUE_REPEAT, 4, 4, 0, false, false, QUEUE_BACKLOG_ACCEPT, "batch 42 repeat mark 0x4" },
    { QUEUE_REPEAT, 4, 4, 0, false, false, QUEUE_BACKLOG_DROP, "batch 42 drop" },
    { QUEUE_ROUTE, 0, 0, 5, false, false, QUEUE_BACKLOG_ACCEPT, "batch 42 0x00050003" },
    { QUEUE_ROUTE, 0, 0, 5, true, true, QUEUE_BACKLOG_ACCEPT, "single 42 0x00058003" },
};

START_TEST(judges_in_place_of_the_dead)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;
    int fd = open_pair(&rig);

    options.mode = judgments[_i].mode;
    options.mark = judgments[_i].mark;
    options.mark_mask = judgments[_i].mask;
    options.route_to = judgments[_i].route_to;
    options.route_bypass = judgments[_i].bypass;
    if (judgments[_i].one)
        ck_assert_int_eq(nfqueue_send_verdict(fd, &options, 42, judgments[_i].judgment), 0);
    else
        ck_assert_int_eq(nfqueue_send_verdicts_up_to(fd, &options, 42, judgments[_i].judgment), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, judgments[_i].sent);
    close(fd);
    close(rig.kernel);
}
END_TEST

/* A reader whose socket is kept by another process neither repeats packets nor sends a configuration. */
START_TEST(a_held_queue_is_left_to_its_owner)
{
    struct nfqueue_options options = options_for(-1);
    uint8_t *slots = malloc(nfqueue_slots_size(&options));
    char text[TEXT_SIZE];
    struct rig rig;

    options.kept = true;
    options.slots = slots;
    queue_rig_open_with(&rig, options, 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    nfqueue_confirm_bound(rig.capture, NFQA_CFG_F_GSO, false);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_GSO);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_send_packet(&rig, 8, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    ck_assert(rig.batch[0]->data >= slots && rig.batch[0]->data < slots + nfqueue_slots_size(&options));
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_sent(&rig, text);
    ck_assert_str_eq(text, "single 8 accept");
    queue_rig_close(&rig);
    free(slots);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_keep");
    TCase *tcase = tcase_create("keep");

    tcase_add_loop_test(tcase, surveys_what_is_left, 0, (int)(sizeof(surveys) / sizeof(surveys[0])));
    tcase_add_test(tcase, a_long_packet_is_no_shorter_for_looking);
    tcase_add_test(tcase, a_queue_that_is_not_there_is_told);
    tcase_add_loop_test(tcase, judges_in_place_of_the_dead, 0, (int)(sizeof(judgments) / sizeof(judgments[0])));
    tcase_add_test(tcase, a_held_queue_is_left_to_its_owner);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
