/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture: where packets come from and verdicts go to, behind one table of operations.
 *
 * Threads:   a capture belongs to one worker after it was opened.
 * Ownership: packets lent by capture_receive() are valid until the next receive or close. Every packet received from a
 *            queue must be given to capture_send_verdicts() exactly once.
 */
#ifndef SLUICE_CAPTURE_H
#define SLUICE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

enum { CAPTURE_MAX_BATCH = 256, CAPTURE_ERROR_SIZE = 256 };

/* All counters are written by the worker only. */
struct capture_counters {
    uint64_t packets, bytes;
    uint64_t accepted, dropped, repeated, routed; /* with `segmented`: all packets that got a verdict */
    uint64_t replaced;                            /* verdicts that carried another payload */
    uint64_t truncated;                           /* packets whose bytes were not all copied */
    uint64_t gso;                                 /* super-packets */
    uint64_t segmented;                           /* super-packets sent back to be segmented */
    uint64_t receive_calls, send_calls;
    uint64_t given_sends;        /* of send_calls: by another thread, see nfqueue_add_sender() */
    uint64_t receive_overruns;   /* times the kernel ran out of socket buffer: a gap in the ids, or ENOBUFS */
    uint64_t verdict_lost;       /* ENOENT: packets that the kernel had dropped before (ruleset or device change) */
    uint64_t verdict_errors;     /* other refused verdicts */
    uint64_t malformed_messages; /* netlink messages that were not (or not wholly) understood */
    uint64_t marked;             /* packets that came back marked */
    uint64_t looping;            /* packets that came back unmarked too often */
    uint64_t offload_accept;     /* verdicts that also said it for the rest of the connection */
    uint64_t offload_drop;
    uint64_t conntrack;    /* packets that came with what conntrack says of them */
    uint64_t full_batches; /* receives that filled the batch: there may have been more */
    uint64_t lost;         /* packet ids that never arrived (gaps): dropped, or with fail-open passed on uninspected */
};

/* What the kernel says of a queue: /proc/net/netfilter/nfnetlink_queue. */
struct queue_status {
    uint32_t queue, port_id, waiting, copy_mode, copy_range;
    uint32_t queue_dropped; /* the queue was full */
    uint32_t user_dropped;  /* the socket buffer was full */
    uint32_t id_sequence;   /* packets enqueued */
};

/* How much waits, of how much can. */
struct queue_level {
    uint32_t waiting, length;  /* packets, those that were received and not judged included */
    uint32_t buffered, buffer; /* bytes of the socket */
    bool has_sequence;
    uint32_t id_sequence; /* the id of the last packet that was queued */
};

struct capture;

struct capture_ops {
    const char *name;
    int (*receive)(struct capture *capture, struct packet **batch, size_t max, int wait_ms);
    int (*send_verdicts)(struct capture *capture, struct packet *const *batch, size_t count);
    const struct capture_counters *(*counters)(const struct capture *capture);
    int (*status)(struct capture *capture, struct queue_status *out);
    int (*level)(struct capture *capture, struct queue_level *out); /* NULL: nothing waits there */
    void (*close)(struct capture *capture);
};

/* First member of every implementation's own struct. */
struct capture {
    const struct capture_ops *ops;
};

/*
 * Waits up to `wait_ms` (-1: for ever, 0: not at all) and lends up to `max` packets. Returns their number, 0 when the
 * time passed or a signal came, -ENODATA at the end of a file, -ENOBUFS when the kernel dropped packets (counted; go
 * on), another -errno when the source is gone.
 */
static inline int capture_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    return capture->ops->receive(capture, batch, max, wait_ms);
}

/* Sends what packet->verdict (and mark, new_data) says for the packets of one receive, in any number of calls.
 * 0, or -errno when the source is gone. */
static inline int capture_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    return capture->ops->send_verdicts(capture, batch, count);
}

static inline const struct capture_counters *capture_counters(const struct capture *capture)
{
    return capture->ops->counters(capture);
}

/* 0, or -ENOTSUP for sources without a kernel queue. */
static inline int capture_status(struct capture *capture, struct queue_status *out)
{
    return capture->ops->status ? capture->ops->status(capture, out) : -95;
}

/* Some microseconds; for the worker, between two batches. 0, or -ENOTSUP, or -errno. */
static inline int capture_level(struct capture *capture, struct queue_level *out)
{
    return capture->ops->level ? capture->ops->level(capture, out) : -95;
}

static inline void capture_close(struct capture *capture)
{
    if (capture)
        capture->ops->close(capture);
}

/* --- NFQUEUE -------------------------------------------------------------------------------------- */

/* How an accepted packet goes on. */
enum queue_verdict_mode {
    QUEUE_ACCEPT, /* NF_ACCEPT: the next hook entry */
    QUEUE_REPEAT, /* NF_REPEAT with the mark set under the mask: the same chain again */
    QUEUE_ROUTE,  /* NF_QUEUE to another queue */
};

/*
 * What to do with a packet that arrives with the repeat mark already set (it should not have been queued). Capture
 * flags such packets PACKET_MARKED, counts them, and answers an accepted one with plain NF_ACCEPT, since repeating it
 * would queue it again for ever; whether it is inspected or dropped is for the reader of the policy to decide.
 */
enum queue_marked_policy { QUEUE_MARKED_ACCEPT, QUEUE_MARKED_INSPECT, QUEUE_MARKED_DROP };

/*
 * QUEUE_REPEAT: a packet whose mark is taken off again comes back from every repeat, for ever. The same bytes that keep
 * coming back more than `repeat_limit` times are flagged PACKET_LOOPING and counted; an accepted one is answered with
 * NF_ACCEPT, which skips the rest of its chain.
 */
enum queue_looping_policy { QUEUE_LOOPING_DROP, QUEUE_LOOPING_ACCEPT };

/* Policy for a packet that is longer than the copy range (65531 bytes) and that the kernel cannot segment. */
enum queue_truncated_policy { QUEUE_TRUNCATED_INSPECT, QUEUE_TRUNCATED_DROP };

/*
 * Super-packets (NFQA_CFG_F_GSO) are flagged PACKET_CAN_SEGMENT. The answer to VERDICT_SEGMENT is to clear the flag of
 * the queue and then to repeat the packet: the kernel runs the same chain again, segments the packet, and queues each
 * segment. The flag is set again QUEUE_SEGMENT_SECONDS after the last such verdict. As many super-packets as may have
 * waited when the flag was cleared can be segmented so; further ones do not get PACKET_CAN_SEGMENT, so that a packet
 * that the kernel does not segment does not circle.
 */
enum { QUEUE_SEGMENT_SECONDS = 10 };

/* How a verdict says what is to become of the rest of a connection (packet->offload). */
enum queue_offload {
    QUEUE_OFFLOAD_NONE,
    QUEUE_OFFLOAD_AUTO,        /* by the connection's mark where the kernel can, otherwise by the packet's */
    QUEUE_OFFLOAD_CONNECTION,  /* NFQA_CT in the verdict */
    QUEUE_OFFLOAD_PACKET_MARK, /* the same bits on the packet, which somebody behind the queue saves */
};

struct nfqueue_options {
    uint16_t queue;
    enum queue_verdict_mode mode;
    uint32_t mark, mark_mask; /* QUEUE_REPEAT: required; otherwise set on accepted packets when mask is not 0 */
    uint16_t route_to;        /* QUEUE_ROUTE */
    bool route_bypass;        /* QUEUE_ROUTE: go on with the next hook entry when nobody listens there */
    enum queue_marked_policy marked_policy;
    enum queue_looping_policy looping_policy;
    enum queue_truncated_policy truncated_policy;
    uint32_t repeat_limit; /* 0: none */
    bool fail_open;        /* NFQA_CFG_F_FAIL_OPEN: full queues let packets pass */
    bool gso;              /* NFQA_CFG_F_GSO */
    enum queue_offload offload;
    uint32_t offload_accept, offload_accept_mask, offload_drop, offload_drop_mask;
    /* QUEUE_OFFLOAD_PACKET_MARK: who saves the mark drops the packet, too, so that it goes there; otherwise drops are
     * not offloaded */
    bool offload_drops_behind;
    bool conntrack;          /* NFQA_CFG_F_CONNTRACK: each packet says what conntrack knows of it (packet->conntrack) */
    uint32_t length;         /* packets the kernel keeps */
    uint32_t receive_buffer; /* bytes; 0 sizes it from `length` */
    uint32_t batch;          /* packets per receive, at most CAPTURE_MAX_BATCH */
    int inherited_fd;        /* a bound socket to adopt, or -1 to open one */
    /* The socket to adopt is kept by somebody who binds it, perhaps only now, and who has repeated what a former reader
     * took and did not judge: nfqueue_begin() says when. */
    bool kept;
    void *slots; /* memory to receive into, nfqueue_slots_size() bytes, lent; NULL: the capture's own */
};
void nfqueue_options_default(struct nfqueue_options *options);
size_t nfqueue_slots_size(const struct nfqueue_options *options);

/*
 * Opens a socket, binds the queue and sets it up; or adopts options->inherited_fd (and with it all that was set).
 * An adopted descriptor belongs to the capture when this succeeds, and stays the caller's when it fails. Packets that
 * its former reader took and never judged are queued again (NF_REPEAT) when the first packet arrives. 0 or -errno, with
 * one line for the user in `error`: what failed and what to do (queue taken by process X, no CAP_NET_ADMIN, kernel
 * lacks a flag).
 */
int nfqueue_open(struct capture **out, const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);

/* A queue with options->kept has been bound with these NFQA_CFG_F_* flags; `again`: for a previous reader. */
void nfqueue_begin(struct capture *capture, uint32_t flags, bool again);

/* Of the worker, between two batches: each verdict is a message of its own, so that each packet that the kernel had
 * dropped before is counted. A message for several says nothing of those that were lost among them. */
void nfqueue_set_exact(struct capture *capture, bool exact);

/*
 * Another thread sends the verdicts of bulk in place of the worker, so that what they set off in the kernel happens on
 * another CPU. Before the worker starts: adds it; 0 or -ENOMEM. That thread runs it until the worker has ended and
 * somebody stops it.
 */
int nfqueue_add_sender(struct capture *capture);
void nfqueue_run_sender(struct capture *capture);
void nfqueue_stop_sender(struct capture *capture);
/* Of the worker: all verdicts are with the kernel when it returns. 0 or -errno of a send. */
int nfqueue_settle(struct capture *capture);

/* The socket; stays owned by the capture. A keeper dups it before close so that the queue lives on. */
int nfqueue_fd(const struct capture *capture);
/* As read back from the kernel: twice what was asked for, since it counts its own overhead too. */
uint32_t nfqueue_receive_buffer(const struct capture *capture);
/* NFQA_CFG_F_* that the kernel took; fewer than asked for when it lacks one. Of an adopted queue: those of `options`.
 */
uint32_t nfqueue_flags(const struct capture *capture);
/* How offloads are said: what was asked for, or what AUTO came to; QUEUE_OFFLOAD_NONE where it is not possible. */
enum queue_offload nfqueue_offload(const struct capture *capture);
/* Takes NFQA_CFG_F_CONNTRACK away from the bound queue: it costs the kernel work for every packet. Those that wait
 * already still bring it. 0 or -errno of the send; what the kernel says comes later, and a refusal changes nothing. */
int nfqueue_stop_conntrack(struct capture *capture);
int nfqueue_start_conntrack(struct capture *capture); /* the other way round */

/* --- A queue whose socket outlives its reader ----------------------------------------------------- */

/* Whether nobody has bound the queue, as far as `status_fd` tells. 0, or -EBUSY with a line in `error` that says who
 * has. */
int nfqueue_is_free(int status_fd, uint16_t queue, char error[CAPTURE_ERROR_SIZE]);
/* A socket as nfqueue_open() makes it, bound to no queue yet. Its descriptor, or -errno with a line in `error`. */
int nfqueue_socket(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);
/* Binds it; or, of one that is `bound`, sets anew what is set with that. 0 with the flags that the kernel took, or
 * -errno with a line in `error`. */
int nfqueue_bind(int fd, const struct nfqueue_options *options, bool bound, uint32_t *flags,
                 char error[CAPTURE_ERROR_SIZE]);

/* Probes whether the kernel supports these NFQA_CFG_F_* flags, without changing the queue, which may be bound. 0,
 * -EOPNOTSUPP, or another -errno when the probe failed. */
int nfqueue_probe_flags(uint16_t queue, uint32_t flags);

/* Whether the descriptor is the socket that has the queue. */
bool nfqueue_holds(int fd, int status_fd, uint16_t queue);
/* Sets the options of the socket and the parameters of its queue again, which a reader that was taken over may have
 * changed. The kernel does not answer, and nothing waits. False: that reader gave up the queue, and it has to be bound
 * again. */
bool nfqueue_recover(int fd, int status_fd, const struct nfqueue_options *options, bool fail_open);
void nfqueue_set_fail_open(int fd, uint16_t queue, bool fail_open);

/* What a reader that died has left. */
struct nfqueue_backlog {
    uint32_t last_id; /* the last packet that it took */
    uint32_t taken;   /* packets that it took and did not judge, as far as that can be told */
    uint32_t waiting; /* all that wait, taken or not */
};
/*
 * Nobody may read the socket meanwhile. The kernel's answers to what the dead one sent are taken away. `status_fd`: see
 * nfqueue_read_status(). The kernel keeps up to `length` packets from now on. 0 or -errno.
 */
int nfqueue_survey(int fd, int status_fd, uint16_t queue, uint32_t length, struct nfqueue_backlog *out);
/* For how many packets the kernel has room, and bytes in the socket (0: stays). 0 or -errno of the send. */
int nfqueue_resize(int fd, uint16_t queue, uint32_t length, uint32_t receive_buffer);
enum queue_judgment {
    QUEUE_JUDGE_REPEAT, /* queued again, with another id */
    QUEUE_JUDGE_ACCEPT, /* as an accepted packet goes on by `options` */
    QUEUE_JUDGE_DROP,
};
/* One packet; or all that wait and have an id up to that one. 0 or -errno of the send. */
int nfqueue_judge_one(int fd, const struct nfqueue_options *options, uint32_t id, enum queue_judgment judgment);
int nfqueue_judge_up_to(int fd, const struct nfqueue_options *options, uint32_t id, enum queue_judgment judgment);
/* What the socket's receive buffer is, as setting it would say it. */
uint32_t nfqueue_socket_buffer(int fd);

/* Status of all queues of this network namespace. `fd` is an open /proc/net/netfilter/nfnetlink_queue (mode 0440:
 * opened before privileges are dropped). Returns how many were written, or -errno. */
int nfqueue_read_status(int fd, struct queue_status *out, size_t max);
/* Of one queue. 0, or -ENOENT when nobody has bound it, or -errno. */
int nfqueue_find_status(int fd, uint16_t queue, struct queue_status *out);
int nfqueue_open_status(void); /* such a file of this thread's network namespace, or -errno */

/* --- Capture files -------------------------------------------------------------------------------- */

/* pcap or pcapng; what is common of pcap files is read in large pieces, the rest by libpcap. 0 or -errno with a line in
 * `error`. Packets of an unknown link type have LINK_UNSUPPORTED. A file that is damaged or ends in the middle of a
 * packet lends all packets before that place, then -EBADMSG. */
int pcap_file_open(struct capture **out, const char *path, char error[CAPTURE_ERROR_SIZE]);
/* What is wrong with the file when receive has returned -EBADMSG, else NULL. Lives as long as the capture. */
const char *pcap_file_error(const struct capture *capture);

enum { CAPTURE_LINK_SIZE = 128 };
/* The link type of the file for messages: its number, libpcap's name and description, "127 (IEEE802_11_RADIO, ...)". */
void pcap_file_link(const struct capture *capture, char out[CAPTURE_LINK_SIZE]);

/* Packets that are best received at a time: a file answers nobody, and pcap_file_prefetch() is no farther ahead. */
enum { PCAP_FILE_BATCH = 8 };

/*
 * Before a packet of a capture file is looked at: asks for bytes that come some packets later. Large files are read by
 * another thread, so their bytes lie in another core's cache, and packets lie one behind the other; in between two
 * packets is the time to fetch them.
 */
static inline void pcap_file_prefetch(const struct packet *pkt)
{
    enum { AHEAD = PCAP_FILE_BATCH * 1536, CACHE_LINE = 64 };

    for (uint32_t at = 0; at < pkt->length; at += CACHE_LINE)
        __builtin_prefetch(pkt->data + AHEAD + at);
}

#endif
