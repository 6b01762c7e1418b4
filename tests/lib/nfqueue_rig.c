/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "default_options.h"
#include "nfqueue_rig.h"

void append_text(char text[TEXT_SIZE], const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, TEXT_SIZE - used, format, args);
    va_end(args);
}

void message_start(struct message *m, uint16_t type, uint32_t sequence)
{
    struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_seq = sequence };

    m->length = sizeof(head);
    memcpy(m->bytes, &head, sizeof(head));
}

void message_add(struct message *m, const void *bytes, size_t length)
{
    ck_assert_uint_le(m->length + length, sizeof(m->bytes));
    if (length)
        memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

void add_attribute(struct message *m, uint16_t type, const void *value, size_t length)
{
    struct nlattr attribute = { (uint16_t)(NLA_HDRLEN + length), type };

    message_add(m, &attribute, sizeof(attribute));
    message_add(m, value, length);
    message_add(m, "\0\0\0", NLA_ALIGN(length) - length);
}

void add_u32(struct message *m, uint16_t type, uint32_t value)
{
    value = htonl(value);
    add_attribute(m, type, &value, sizeof(value));
}

void message_finish(struct message *m)
{
    uint32_t length = (uint32_t)m->length;

    memcpy(m->bytes, &length, sizeof(length));
}

void packet_start(struct message *m, uint8_t family, uint32_t id, uint16_t protocol)
{
    struct nfgenmsg netfilter = { .nfgen_family = family, .res_id = htons(QUEUE) };
    struct nfqnl_msg_packet_hdr header = { htonl(id), htons(protocol), NF_INET_FORWARD };

    message_start(m, NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET, 0);
    message_add(m, &netfilter, sizeof(netfilter));
    add_attribute(m, NFQA_PACKET_HDR, &header, sizeof(header));
}

void packet_message(struct message *m, uint32_t id, uint32_t mark, const void *payload, size_t length)
{
    packet_start(m, NFPROTO_IPV4, id, 0x0800);
    if (mark)
        add_u32(m, NFQA_MARK, mark);
    add_attribute(m, NFQA_PAYLOAD, payload, length);
    message_finish(m);
}

static void error_message(struct message *m, int error, uint32_t sequence)
{
    struct nlmsghdr original = { .nlmsg_len = 32, .nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_VERDICT };

    message_start(m, NLMSG_ERROR, sequence);
    message_add(m, &error, sizeof(error));
    message_add(m, &original, sizeof(original));
    message_finish(m);
}

struct nfqueue_options options_for(int fd)
{
    struct nfqueue_options options;

    nfqueue_options_default(&options);
    options.queue = QUEUE;
    options.inherited_fd = fd;
    return options;
}

void queue_rig_open_with(struct rig *rig, struct nfqueue_options options, int send_buffer)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    int pair[2], plenty = 200000;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &plenty, sizeof(plenty));
    if (send_buffer)
        ck_assert_int_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer)), 0);
    options.inherited_fd = pair[0];
    rig->kernel = pair[1];
    ck_assert_msg(nfqueue_open(&rig->capture, &options, error) == 0, "%s", error);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &plenty, sizeof(plenty));
}

void queue_rig_open(struct rig *rig)
{
    queue_rig_open_with(rig, options_for(-1), 0);
}

void queue_rig_close(struct rig *rig)
{
    capture_close(rig->capture);
    close(rig->kernel);
}

void queue_rig_send(struct rig *rig, const struct message *m)
{
    ck_assert_int_eq(send(rig->kernel, m->bytes, m->length, 0), (ssize_t)m->length);
}

void queue_rig_send_packet(struct rig *rig, uint32_t id, uint32_t mark)
{
    struct message m;

    packet_message(&m, id, mark, "data", 4);
    queue_rig_send(rig, &m);
}

void queue_rig_send_error(struct rig *rig, int error, uint32_t sequence)
{
    struct message m;

    error_message(&m, error, sequence);
    queue_rig_send(rig, &m);
}

int queue_rig_receive(struct rig *rig)
{
    return capture_receive(rig->capture, rig->batch, CAPTURE_MAX_BATCH, 0);
}

static void describe_verdict(char text[TEXT_SIZE], uint32_t verdict)
{
    if (verdict == NF_DROP)
        append_text(text, " drop");
    else if (verdict == NF_ACCEPT)
        append_text(text, " accept");
    else if (verdict == NF_REPEAT)
        append_text(text, " repeat");
    else
        append_text(text, " 0x%08x", verdict);
}

/* Describes the attributes after the verdict header. */
static void describe_rest(char text[TEXT_SIZE], const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        struct nlattr attribute;
        uint32_t mark;

        ck_assert_int_ge(end - at, NLA_HDRLEN);
        memcpy(&attribute, at, sizeof(attribute));
        ck_assert_int_ge(end - at, NLA_ALIGN(attribute.nla_len));
        if (attribute.nla_type == NFQA_MARK) {
            ck_assert_uint_eq(attribute.nla_len, 8);
            memcpy(&mark, at + NLA_HDRLEN, sizeof(mark));
            append_text(text, " mark 0x%x", ntohl(mark));
        } else if ((attribute.nla_type & NLA_TYPE_MASK) == NFQA_CT) {
            uint32_t words[5]; /* the nest, a mark and its mask */

            ck_assert_uint_eq(attribute.nla_len, sizeof(words));
            memcpy(words, at, sizeof(words));
            append_text(text, " connection 0x%x/0x%x", ntohl(words[2]), ntohl(words[4]));
        } else {
            ck_assert_uint_eq(attribute.nla_type, NFQA_PAYLOAD);
            append_text(text, " payload %d '%.8s'", attribute.nla_len - NLA_HDRLEN, (const char *)at + NLA_HDRLEN);
            for (size_t i = attribute.nla_len; i < (size_t)NLA_ALIGN(attribute.nla_len); i++)
                ck_assert_uint_eq(at[i], 0);
        }
        at += NLA_ALIGN(attribute.nla_len);
    }
}

size_t describe_message(char text[TEXT_SIZE], const uint8_t *bytes, size_t left)
{
    struct {
        struct nlmsghdr netlink;
        struct nfgenmsg netfilter;
        struct nlattr attribute;
        struct nfqnl_msg_verdict_hdr verdict;
    } head;

    ck_assert_uint_ge(left, sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    ck_assert_uint_ge(head.netlink.nlmsg_len, sizeof(head));
    ck_assert_uint_le(head.netlink.nlmsg_len, left);
    ck_assert_uint_eq(head.netlink.nlmsg_flags, NLM_F_REQUEST);
    ck_assert_uint_eq(head.netlink.nlmsg_pid, 0);
    ck_assert_uint_eq(head.netfilter.nfgen_family, AF_UNSPEC);
    ck_assert_uint_eq(head.netfilter.version, NFNETLINK_V0);
    ck_assert_uint_eq(ntohs(head.netfilter.res_id), QUEUE);
    ck_assert_uint_eq(head.attribute.nla_type, NFQA_VERDICT_HDR);
    ck_assert_uint_eq(head.attribute.nla_len, 12);
    ck_assert_uint_eq(head.netlink.nlmsg_type >> 8, NFNL_SUBSYS_QUEUE);

    bool batch = (head.netlink.nlmsg_type & 0xff) == NFQNL_MSG_VERDICT_BATCH;

    ck_assert(batch || (head.netlink.nlmsg_type & 0xff) == NFQNL_MSG_VERDICT);
    /* The sequence number is the number of packets, so that an error message shows how many verdicts failed. */
    if (head.netlink.nlmsg_seq != SEQUENCE_REPEAT_UNJUDGED)
        ck_assert(batch ? head.netlink.nlmsg_seq > 1 : head.netlink.nlmsg_seq == 1);
    append_text(text, "%s%s %u", *text ? "; " : "", batch ? "batch" : "single", ntohl(head.verdict.id));
    describe_verdict(text, ntohl(head.verdict.verdict));
    describe_rest(text, bytes + sizeof(head), bytes + head.netlink.nlmsg_len);
    return NLMSG_ALIGN(head.netlink.nlmsg_len);
}

size_t queue_rig_sent(struct rig *rig, char text[TEXT_SIZE])
{
    static uint8_t bytes[1 << 20];
    size_t sends = 0;
    ssize_t n;

    *text = '\0';
    while ((n = recv(rig->kernel, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        size_t at = 0;

        sends++;
        while (at < (size_t)n)
            at += describe_message(text, bytes + at, (size_t)n - at);
        ck_assert_uint_eq(at, (size_t)n);
    }
    return sends;
}

void expect_config(struct rig *rig, enum nfqueue_sequence sequence, uint32_t flags, uint32_t mask)
{
    struct {
        struct nlmsghdr netlink;
        struct nfgenmsg netfilter;
        struct nlattr first;
        uint32_t first_value;
        struct nlattr second;
        uint32_t second_value;
    } got;

    ck_assert_int_eq(recv(rig->kernel, &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
    ck_assert_uint_eq(got.netlink.nlmsg_len, sizeof(got));
    ck_assert_uint_eq(got.netlink.nlmsg_type, NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_CONFIG);
    ck_assert_uint_eq(got.netlink.nlmsg_flags, NLM_F_REQUEST);
    ck_assert_uint_eq(got.netlink.nlmsg_seq, sequence);
    ck_assert_uint_eq(ntohs(got.netfilter.res_id), QUEUE);
    ck_assert_uint_eq(got.first.nla_type, NFQA_CFG_FLAGS);
    ck_assert_uint_eq(ntohl(got.first_value), flags);
    ck_assert_uint_eq(got.second.nla_type, NFQA_CFG_MASK);
    ck_assert_uint_eq(ntohl(got.second_value), mask);
}

void check_accounts(const struct rig *rig)
{
    const struct capture_counters *c = capture_counters(rig->capture);

    ck_assert_uint_eq(c->packets, c->accepted + c->dropped + c->repeated + c->routed + c->segmented);
}
