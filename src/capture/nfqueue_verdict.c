/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdicts: the verdict of each packet, and its encoding in as few messages as possible.
 *
 * All verdicts of a call are sent in one send, or in several if they exceed the send buffer. A send is a sequence of
 * netlink messages that the kernel processes one by one.
 * A run of packets with the same verdict needs only one message, NFQNL_MSG_VERDICT_BATCH with the last id of the run.
 * The kernel applies that message to *every* waiting packet with an id up to this one. Therefore:
 *
 *   - a run contains only packets before the first packet of this receive that has no verdict yet (`prefix` is its
 *     index); packets after it get single verdicts;
 *   - drops within a run are sent before it: a run stays open across them, since the order of drops has no effect;
 *   - any other verdict ends the run, so that packets leave in the order they arrived;
 *   - a super-packet that is to be segmented gets a single verdict; its segments have higher ids than this receive;
 *   - after a failed send there are no batch verdicts any more, because packets of an earlier receive may still wait;
 *   - with `exact` there are no batch verdicts: the kernel does not report packets that it had already dropped within a
 *     batch.
 *
 * libnetfilter_queue builds only the other messages (nfqueue_config.c, nfqueue_recover.c): its functions append one
 * attribute to one message, whereas the verdict messages of a whole batch are copied from a template into one buffer.
 *
 * The mark in a verdict replaces the whole mark of the packet. A run that changes marks therefore consists of packets
 * that all end up with the same mark, and the attribute is omitted where the mark does not change.
 */
#include "nfqueue_priv.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEND_TRIES = 200, /* how often a send is tried, once in a millisecond, while the kernel has no room for it */
    /* The sender thread is woken for at least this number of packets with at least this average length in bytes. Bulk
     * transfers without segmentation offload reach both, even with the acknowledgments among their packets; requests
     * and responses reach both only when all CPUs are busy. */
    SENDER_PACKETS = 32,
    SENDER_BYTES = 800,
    /* Maximum number of small messages that are passed to the sender after a bulk batch; without a limit the sender
     * would never become idle. */
    SENDER_FOLLOWERS = 2,
};

struct answer {
    uint32_t verdict;  /* NF_*, with the queue number of NF_QUEUE in the upper half */
    uint32_t mark;     /* mark of the packet after the verdict, all 32 bits */
    bool changes_mark; /* true: the message needs NFQA_MARK */
    bool drops;        /* true: the packet is dropped, even if the kernel does that by a later rule */
    /* The offload whose mark NFQA_CT sets in the connection; such a verdict is for one packet only. */
    enum packet_offload connection;
    enum packet_offload offload; /* offload by either NFQA_CT or the packet mark */
};

/* A run: packets with equal verdicts, which get one message. */
struct run {
    struct answer answer;
    uint32_t last_id;
    size_t count;
};

/* --- Verdicts of packets ---------------------------------------------------------------------------- */

static bool has_new_payload(const struct packet *pkt)
{
    return pkt->new_data && pkt->new_length > 0;
}

static uint32_t apply_mark(uint32_t old, uint32_t mark, uint32_t mask)
{
    return (old & ~mask) | (mark & mask);
}

/* Returns the verdict of a dropped packet, whose connection may be dropped as well. The mark of a dropped packet is
 * lost with the packet. So without NFQA_CT the packet is accepted with the drop mark, and a rule after the queue saves
 * the mark to the connection and drops the packet. If the packet already had the mark when it was queued, no such rule
 * has dropped it, so it gets a drop verdict. */
static struct answer drop_for(const struct nfqueue *queue, const struct packet *pkt)
{
    const struct nfqueue_options *options = &queue->options;
    struct answer answer = { .verdict = NF_DROP, .drops = true };

    if (pkt->offload == OFFLOAD_QUEUE && queue->offload == QUEUE_OFFLOAD_CONNECTION)
        answer.connection = OFFLOAD_QUEUE;
    if (pkt->offload != OFFLOAD_DROP || pkt->verdict != VERDICT_DROP)
        return answer;
    if (queue->offload == QUEUE_OFFLOAD_CONNECTION) {
        answer.connection = answer.offload = OFFLOAD_DROP;
    } else if (queue->offload == QUEUE_OFFLOAD_PACKET_MARK && options->offload_drop_by_rule &&
               (pkt->meta.mark & options->offload_drop_mask) != options->offload_drop) {
        answer.verdict = NF_ACCEPT;
        answer.mark = apply_mark(pkt->meta.mark, options->offload_drop, options->offload_drop_mask);
        answer.changes_mark = true;
        answer.offload = OFFLOAD_DROP;
    }
    return answer;
}

/* Returns the verdict of a packet. The mark of the queue is applied after the mark of a rule, because a repeated packet
 * without the queue's mark would be queued again in a loop. To prevent loops, packets that arrived with the mark
 * (PACKET_MARKED) and looping packets (PACKET_LOOPING) are accepted instead of repeated. A packet whose replacement
 * payload exceeds NFQUEUE_MAX_COPY is dropped, because the original payload must not pass. */
static struct answer answer_for(const struct nfqueue *queue, const struct packet *pkt)
{
    const struct nfqueue_options *options = &queue->options;
    bool accepts_flow = queue->offload != QUEUE_OFFLOAD_NONE && pkt->offload == OFFLOAD_ACCEPT;
    bool by_connection = queue->offload == QUEUE_OFFLOAD_CONNECTION &&
                         (accepts_flow || pkt->offload == OFFLOAD_ACKNOWLEDGMENTS || pkt->offload == OFFLOAD_QUEUE);
    enum packet_offload offload = accepts_flow ? OFFLOAD_ACCEPT : OFFLOAD_NONE;
    uint32_t mark = pkt->meta.mark;

    if (pkt->verdict == VERDICT_SEGMENT)
        return (struct answer){ .verdict = NF_REPEAT };
    if (pkt->verdict == VERDICT_DROP || (has_new_payload(pkt) && pkt->new_length > NFQUEUE_MAX_COPY))
        return drop_for(queue, pkt);
    if (offload && queue->offload == QUEUE_OFFLOAD_PACKET_MARK)
        mark = apply_mark(mark, options->offload_accept, options->offload_accept_mask);
    if (pkt->mark_set)
        mark = apply_mark(mark, pkt->mark_value, pkt->mark_mask);
    mark = apply_mark(mark, options->mark, options->mark_mask);
    return (struct answer){
        .verdict = pkt->flags & (PACKET_MARKED | PACKET_LOOPING) ? NF_ACCEPT : queue->accept_verdict,
        .mark = mark,
        .changes_mark = mark != pkt->meta.mark,
        .connection = by_connection ? pkt->offload : OFFLOAD_NONE,
        .offload = offload,
    };
}

static void count_answer(struct capture_counters *counters, const struct packet *pkt, const struct answer *answer)
{
    counters->offload_accept += answer->offload == OFFLOAD_ACCEPT;
    counters->offload_drop += answer->offload == OFFLOAD_DROP;
    if (answer->drops) {
        counters->dropped++;
        return;
    }
    if (pkt->verdict == VERDICT_SEGMENT) {
        counters->segmented++;
        return;
    }
    switch (answer->verdict & NF_VERDICT_MASK) {
    case NF_REPEAT:
        counters->repeated++;
        break;
    case NF_QUEUE:
        counters->routed++;
        break;
    default:
        counters->accepted++;
    }
    if (has_new_payload(pkt))
        counters->replaced++;
}

/* --- Messages --------------------------------------------------------------------------------------- */

/* Allocates for one message per packet, and two vectors per packet: the message and its payload. */
int verdict_writer_init(struct verdict_writer *writer, size_t batch)
{
    *writer = (struct verdict_writer){
        .bytes = malloc(batch * (size_t)(NFQUEUE_ATTRIBUTES_SIZE + NFQUEUE_PAYLOAD_SIZE)),
        .vectors = calloc(2 * batch + 1, sizeof(struct iovec)),
        .accepts_only = true,
    };
    if (writer->bytes && writer->vectors)
        return 0;
    verdict_writer_clear(writer);
    return -ENOMEM;
}

void verdict_writer_clear(struct verdict_writer *writer)
{
    free(writer->bytes);
    free(writer->vectors);
    *writer = (struct verdict_writer){ 0 };
}

static void put_bytes(struct verdict_writer *writer, const void *bytes, size_t length)
{
    memcpy(writer->bytes + writer->used, bytes, length);
    writer->used += length;
    writer->total += length;
}

/* Adds the part of `bytes` written since the last payload to `vectors`. */
static void close_piece(struct verdict_writer *writer)
{
    if (writer->used == writer->start)
        return;
    writer->vectors[writer->vector_count++] = (struct iovec){
        .iov_base = writer->bytes + writer->start,
        .iov_len = writer->used - writer->start,
    };
    writer->start = writer->used;
}

/* Adds NFQA_CT with CTA_MARK and CTA_MARK_MASK: the other bits of the connection's mark are kept. */
static void put_connection(struct nfqueue *queue, enum packet_offload offload)
{
    const struct nfqueue_options *options = &queue->options;
    const struct {
        uint32_t mark, mask;
    } bits[] = {
        [OFFLOAD_ACCEPT] = { options->offload_accept, options->offload_accept_mask },
        [OFFLOAD_DROP] = { options->offload_drop, options->offload_drop_mask },
        [OFFLOAD_ACKNOWLEDGMENTS] = { options->offload_acknowledge, options->offload_acknowledge_mask },
        [OFFLOAD_QUEUE] = { 0, options->offload_acknowledge_mask },
    };
    struct {
        struct nlattr nest, mark_head;
        uint32_t mark;
        struct nlattr mask_head;
        uint32_t mask;
    } attribute = {
        .nest = { sizeof(attribute), NFQA_CT | NLA_F_NESTED },
        .mark_head = { NLA_HDRLEN + sizeof(uint32_t), CTA_MARK },
        .mark = htonl(bits[offload].mark),
        .mask_head = { NLA_HDRLEN + sizeof(uint32_t), CTA_MARK_MASK },
        .mask = htonl(bits[offload].mask),
    };

    static_assert(sizeof(attribute) == NFQUEUE_CONNECTION_SIZE, "no holes between the attributes");
    put_bytes(&queue->writer, &attribute, sizeof(attribute));
}

static void put_message(struct nfqueue *queue, int type, uint32_t id, const struct answer *answer, uint32_t sequence,
                        uint32_t payload)
{
    struct {
        struct nlmsghdr netlink;
        struct nfgenmsg netfilter;
        struct nlattr attribute;
        struct nfqnl_msg_verdict_hdr verdict;
    } head = {
        .netlink.nlmsg_len = NFQUEUE_VERDICT_SIZE + (answer->changes_mark ? NFQUEUE_MARK_SIZE : 0) +
                             (answer->connection ? NFQUEUE_CONNECTION_SIZE : 0) +
                             (payload ? NLA_HDRLEN + NLA_ALIGN(payload) : 0),
        .netlink.nlmsg_type = (uint16_t)(NFNL_SUBSYS_QUEUE << 8 | type),
        .netlink.nlmsg_flags = NLM_F_REQUEST,
        .netlink.nlmsg_seq = sequence,
        .netfilter.version = NFNETLINK_V0,
        .netfilter.res_id = htons(queue->options.queue),
        .attribute = { sizeof(head.attribute) + sizeof(head.verdict), NFQA_VERDICT_HDR },
        .verdict = { htonl(answer->verdict), htonl(id) },
    };

    static_assert(sizeof(head) == NFQUEUE_VERDICT_SIZE, "no holes between the headers");
    put_bytes(&queue->writer, &head, sizeof(head));
    queue->writer.message_count++;
    queue->writer.accepts_only &= !answer->drops && !answer->connection && !payload;
    if (answer->changes_mark) {
        struct nlattr attribute = { NFQUEUE_MARK_SIZE, NFQA_MARK };
        uint32_t mark = htonl(answer->mark);

        put_bytes(&queue->writer, &attribute, sizeof(attribute));
        put_bytes(&queue->writer, &mark, sizeof(mark));
    }
    if (answer->connection)
        put_connection(queue, answer->connection);
}

/* --- Sending ---------------------------------------------------------------------------------------- */

int nfqueue_send(int fd, struct iovec *vectors, size_t count)
{
    const struct msghdr message = { .msg_iov = vectors, .msg_iovlen = count };

    for (int tries = 0;;) {
        if (sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno == EINTR)
            continue;
        if ((errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) || ++tries == SEND_TRIES)
            return -errno;
        poll(NULL, 0, 1);
    }
}

/* Counts a failed send and ends batch verdicts, because packets that should have been dropped may still wait in the
 * kernel. */
static void record_failure(struct nfqueue *queue, int err)
{
    if (!err)
        return;
    queue->counters.verdict_errors++;
    queue->may_batch = false;
}

/* Waits until the sender thread has sent all messages. Returns 0, or -errno of a send. */
static int settle_sender(struct nfqueue *queue)
{
    if (!queue->sender_used)
        return 0;
    queue->sender_used = false;
    return verdict_sender_settle(queue->sender);
}

int nfqueue_wait_sent(struct capture *capture)
{
    struct nfqueue *queue = (struct nfqueue *)capture;
    int err = settle_sender(queue);

    record_failure(queue, err);
    return err;
}

/* Sends the collected messages, or passes them to the sender thread (verdict_sender.c). Returns 0 or -errno. */
static int send_verdicts(struct nfqueue *queue)
{
    struct verdict_writer *writer = &queue->writer;
    bool for_sender = queue->sender && writer->message_count == 1 && writer->accepts_only;
    int err;

    close_piece(writer);
    if (writer->vector_count == 0)
        return 0;
    if (for_sender && !writer->is_bulk)
        for_sender = queue->sender_used && queue->followers < SENDER_FOLLOWERS && verdict_sender_is_busy(queue->sender);
    if (for_sender) {
        queue->sender_used = true;
        queue->followers = writer->is_bulk ? 0 : queue->followers + 1;
        queue->counters.given_sends++;
        err = verdict_sender_queue(queue->sender, writer->bytes, writer->used);
    } else {
        int before = settle_sender(queue);

        err = nfqueue_send(queue->fd, writer->vectors, writer->vector_count);
        err = before ? before : err;
    }
    queue->counters.send_calls++;
    record_failure(queue, err);
    writer->used = writer->start = writer->total = writer->vector_count = writer->message_count = 0;
    writer->accepts_only = true;
    return err;
}

/* Sends the collected messages if `length` more bytes would exceed the limit of one send. Returns 0 or -errno. */
static int make_room(struct nfqueue *queue, size_t length)
{
    return queue->writer.total + length > queue->writer.limit ? send_verdicts(queue) : 0;
}

/* Writes the message of a run. A run of one packet gets a single verdict, for which the kernel looks up the packet by
 * its id. Returns 0 or -errno. */
static int put_run(struct nfqueue *queue, struct run *run)
{
    int type = run->count > 1 ? NFQNL_MSG_VERDICT_BATCH : NFQNL_MSG_VERDICT;

    if (run->count == 0)
        return 0;

    int err = make_room(queue, NFQUEUE_ATTRIBUTES_SIZE);

    put_message(queue, type, run->last_id, &run->answer, (uint32_t)run->count, 0);
    run->count = 0;
    return err;
}

static int put_single(struct nfqueue *queue, const struct packet *pkt, const struct answer *answer)
{
    static const uint8_t zeros[NLA_ALIGNTO];
    struct verdict_writer *writer = &queue->writer;
    uint32_t payload = !answer->drops && has_new_payload(pkt) ? pkt->new_length : 0;
    struct nlattr attribute = { (uint16_t)(NLA_HDRLEN + payload), NFQA_PAYLOAD };
    int err = make_room(queue, NFQUEUE_ATTRIBUTES_SIZE + NFQUEUE_PAYLOAD_SIZE + (size_t)payload);

    put_message(queue, NFQNL_MSG_VERDICT, pkt->meta.id, answer, 1, payload);
    if (payload) { /* the payload is sent from where it is, without a copy */
        put_bytes(writer, &attribute, sizeof(attribute));
        close_piece(writer);
        writer->vectors[writer->vector_count++] =
            (struct iovec){ .iov_base = (void *)pkt->new_data, .iov_len = payload };
        writer->total += payload;
        put_bytes(writer, zeros, NLA_ALIGN(payload) - payload);
    }
    return err;
}

/* Writes the verdict message of the packet in `slot`, or adds the packet to the run. Returns 0, or -errno of a send. */
static int put_answer(struct nfqueue *queue, size_t slot, struct run *run)
{
    const struct packet *pkt = &queue->packets[slot];
    struct answer answer = answer_for(queue, pkt);
    bool fits_run = run->count == 0, single = !queue->may_batch || queue->exact || slot >= queue->prefix ||
                                              has_new_payload(pkt) || answer.connection ||
                                              pkt->verdict == VERDICT_SEGMENT;
    int err = 0;

    if (pkt->verdict == VERDICT_SEGMENT)
        nfqueue_segment(queue);
    count_answer(&queue->counters, pkt, &answer);
    if (answer.verdict == NF_DROP)
        return put_single(queue, pkt, &answer);
    if (run->count > 0 && run->answer.verdict == answer.verdict)
        fits_run = run->answer.changes_mark ? run->answer.mark == answer.mark : !answer.changes_mark;
    if (single || !fits_run)
        err = put_run(queue, run);
    if (single) {
        int failed = put_single(queue, pkt, &answer);

        return err ? err : failed;
    }
    if (run->count++ == 0)
        run->answer = answer;
    run->last_id = pkt->meta.id;
    return err;
}

static bool is_bulk(struct packet *const *batch, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += batch[i]->length;
    return count >= SENDER_PACKETS && bytes >= count * SENDER_BYTES;
}

int nfqueue_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct nfqueue *queue = (struct nfqueue *)capture;
    struct run run = { .count = 0 };
    size_t low = queue->received, high = 0; /* the slots of the batch are from `low` to before `high` */
    int first_error = 0, err;

    for (size_t i = 0; i < count; i++) {
        size_t slot = (size_t)(batch[i] - queue->packets);

        assert(slot < queue->received && queue->states[slot] == SLOT_RECEIVED);
        queue->states[slot] = SLOT_PLANNED;
        low = slot < low ? slot : low;
        high = slot >= high ? slot + 1 : high;
    }
    queue->issued += count;
    while (queue->prefix < queue->received && queue->states[queue->prefix] != SLOT_RECEIVED)
        queue->prefix++;
    queue->writer.is_bulk = queue->sender && is_bulk(batch, count);
    for (size_t slot = low; slot < high; slot++) {
        if (queue->states[slot] != SLOT_PLANNED)
            continue;
        queue->states[slot] = SLOT_ISSUED;
        err = put_answer(queue, slot, &run);
        first_error = first_error ? first_error : err;
    }
    err = put_run(queue, &run);
    first_error = first_error ? first_error : err;
    err = send_verdicts(queue);
    return first_error ? first_error : err;
}

int nfqueue_send_repeat(struct nfqueue *queue, uint32_t id)
{
    const struct answer again = { .verdict = NF_REPEAT };

    put_message(queue, NFQNL_MSG_VERDICT_BATCH, id, &again, SEQUENCE_REPEAT_UNJUDGED, 0);
    return send_verdicts(queue);
}
