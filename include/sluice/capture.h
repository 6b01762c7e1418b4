/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture: sources of packets and destinations of verdicts, behind one table of operations.
 *
 * Threads:   a capture belongs to one worker after it was opened.
 * Ownership: packets returned by capture_receive() are valid until the next receive or close. Every packet received
 * from a queue must be passed to capture_send_verdicts() exactly once.
 */
#ifndef SLUICE_CAPTURE_H
#define SLUICE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/packet.h"

enum { CAPTURE_MAX_QUEUES = 256, CAPTURE_MAX_BATCH = 256, CAPTURE_ERROR_SIZE = 256 };

/* All counters are written by the worker only. */
struct capture_counters {
    uint64_t packets, bytes;
    uint64_t accepted, dropped, repeated, routed; /* verdicts by kind; with `segmented` they add up to all verdicts */
    uint64_t replaced;                            /* verdicts with a changed payload */
    uint64_t truncated;                 /* packets longer than the copy range: only their first bytes were received */
    uint64_t gso;                       /* super-packets received */
    uint64_t segmented;                 /* super-packets returned to the kernel for segmentation */
    uint64_t receive_calls, send_calls; /* system calls */
    uint64_t given_sends;               /* the part of send_calls that the verdict sender made: nfqueue_add_sender() */
    uint64_t receive_overruns; /* times the socket buffer was full, recognised by ENOBUFS or a gap in the ids */
    uint64_t verdict_lost;   /* ENOENT: packets that the kernel dropped before their verdict arrived (ruleset or device
                                change) */
    uint64_t verdict_errors; /* verdicts that the kernel rejected for other reasons */
    uint64_t malformed_messages; /* netlink messages that could not be parsed completely */
    uint64_t marked;             /* packets that arrived with the repeat mark: enum queue_marked_policy */
    uint64_t looping;            /* packets that came back without the mark more than repeat_limit times */
    uint64_t offload_accept;     /* accept verdicts that also apply to the rest of the connection */
    uint64_t offload_drop;       /* drop verdicts that also apply to the rest of the connection */
    uint64_t conntrack;          /* packets with conntrack data */
    uint64_t full_batches;       /* receives that filled the batch: more packets may have been waiting */
    uint64_t lost; /* packets that never arrived (gaps in the ids, or PACKET_STATISTICS): dropped by the kernel, or with
                      fail-open accepted uninspected */
    uint64_t kernel_packets; /* packets of a ring as the kernel counts them, with those that it dropped; 0: a queue */
    uint64_t ring_full;      /* times the kernel found no free block in the ring */
    uint64_t link_losses;    /* times the interface went down or disappeared */
    uint64_t ring_bytes;     /* memory of the ring now; 0: none */
};

/* Returns the packets that the kernel delivered. For a ring, as in Suricata, that includes the packets that the kernel
 * dropped because the ring was full. */
static inline uint64_t capture_kernel_packets(const struct capture_counters *counters)
{
    return counters->kernel_packets > 0 ? counters->kernel_packets : counters->packets;
}

/* The kernel's status of a queue: /proc/net/netfilter/nfnetlink_queue. */
struct queue_status {
    uint32_t queue, port_id, waiting, copy_mode,
        copy_range;         /* port_id: netlink port of the reader; waiting: number of packets in the queue */
    uint32_t queue_dropped; /* packets dropped because the queue was full */
    uint32_t user_dropped;  /* packets dropped because the socket buffer was full */
    uint32_t id_sequence;   /* id of the last packet: the number of packets enqueued */
};

/* Fill level and capacity of a queue. */
struct queue_level {
    uint32_t waiting, length;  /* waiting: packets in the queue, including received ones without a verdict. length:
                                  maximum number of packets */
    uint32_t buffered, buffer; /* buffered: bytes in the socket's receive buffer. buffer: size of this buffer */
    bool has_sequence;         /* id_sequence is known */
    uint32_t id_sequence;      /* the id of the last packet that was queued */
};

struct capture;

struct capture_ops {
    const char *name;
    int (*receive)(struct capture *capture, struct packet **batch, size_t max, int wait_ms);
    int (*send_verdicts)(struct capture *capture, struct packet *const *batch, size_t count);
    const struct capture_counters *(*counters)(const struct capture *capture);
    int (*status)(struct capture *capture, struct queue_status *out);
    int (*level)(struct capture *capture, struct queue_level *out); /* NULL: a source without a queue */
    void (*close)(struct capture *capture);
};

/* First member of every implementation's own struct. */
struct capture {
    const struct capture_ops *ops;
};

/* Waits up to `wait_ms` (-1: no limit, 0: not at all) and returns up to `max` packets. Returns their number, 0 when the
 * time passed or a signal arrived, -ENODATA at the end of a file, -ENOBUFS when the kernel dropped packets (counted;
 * continue), another -errno when the source has failed. */
static inline int capture_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    return capture->ops->receive(capture, batch, max, wait_ms);
}

/* Sends packet->verdict (with mark and new_data) for the packets of one receive, in any number of calls. Returns 0, or
 * -errno when the source has failed. */
static inline int capture_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    return capture->ops->send_verdicts(capture, batch, count);
}

static inline const struct capture_counters *capture_counters(const struct capture *capture)
{
    return capture->ops->counters(capture);
}

/* Reads the kernel's status of the queue. Returns 0, -ENOTSUP for sources without a kernel queue, or another -errno. */
static inline int capture_status(struct capture *capture, struct queue_status *out)
{
    return capture->ops->status ? capture->ops->status(capture, out) : -95;
}

/* Reads how full the queue is, which takes some microseconds; called by the worker between two batches. Returns 0,
 * -ENOTSUP for sources without a queue, or another -errno. */
static inline int capture_level(struct capture *capture, struct queue_level *out)
{
    return capture->ops->level ? capture->ops->level(capture, out) : -95;
}

static inline void capture_close(struct capture *capture)
{
    if (capture)
        capture->ops->close(capture);
}

/* --- NFQUEUE ---------------------------------------------------------------------------------------- */

/* The verdict of an accepted packet. */
enum queue_verdict_mode {
    QUEUE_ACCEPT, /* NF_ACCEPT: the packet continues with the next chain on the hook */
    QUEUE_REPEAT, /* NF_REPEAT with the mark set under the mask: the packet traverses the same chain again */
    QUEUE_ROUTE,  /* NF_QUEUE: the packet goes to another queue */
};

/* Policy for a packet that arrives with the repeat mark already set (it should not have been queued). Capture flags
 * such packets PACKET_MARKED and counts them; the pipeline evaluates the policy. If the packet is accepted, its verdict
 * is plain NF_ACCEPT, because NF_REPEAT would queue it again in a loop. */
enum queue_marked_policy { QUEUE_MARKED_ACCEPT, QUEUE_MARKED_INSPECT, QUEUE_MARKED_DROP };

/* QUEUE_REPEAT: a packet whose mark is cleared by another rule comes back from every repeat, in a loop. When the same
 * bytes come back more than `repeat_limit` times, the packet is flagged PACKET_LOOPING and counted. If it is accepted,
 * its verdict is NF_ACCEPT: the rules after the queue rule in the same base chain do not see it. */
enum queue_looping_policy { QUEUE_LOOPING_DROP, QUEUE_LOOPING_ACCEPT };

/* Policy for a packet that is longer than the copy range (65531 bytes) and that the kernel cannot segment. */
enum queue_truncated_policy { QUEUE_TRUNCATED_INSPECT, QUEUE_TRUNCATED_DROP };

/* Super-packets (NFQA_CFG_F_GSO) are flagged PACKET_CAN_SEGMENT. For VERDICT_SEGMENT the capture clears NFQA_CFG_F_GSO
 * of the queue and then repeats the packet: the kernel runs the same chain again, segments the packet, and queues each
 * segment. The capture sets NFQA_CFG_F_GSO again QUEUE_SEGMENT_SECONDS after the last such verdict. Super-packets that
 * were queued before the change still arrive; the capture repeats as many as the queue and a batch can hold. Later
 * super-packets do not get PACKET_CAN_SEGMENT: the kernel does not segment them, so repeated packets would loop. */
enum { QUEUE_SEGMENT_SECONDS = 10 };

/* How a verdict applies to the rest of a connection (packet->offload). */
enum queue_offload {
    QUEUE_OFFLOAD_NONE,
    QUEUE_OFFLOAD_AUTO,        /* by the connection mark where the kernel supports it, otherwise by the packet mark */
    QUEUE_OFFLOAD_CONNECTION,  /* NFQA_CT in the verdict */
    QUEUE_OFFLOAD_PACKET_MARK, /* bits in the packet mark, which a rule after the queue saves to the connection mark */
};

struct nfqueue_options {
    uint16_t queue;
    enum queue_verdict_mode mode;
    uint32_t mark, mark_mask; /* QUEUE_REPEAT: required; otherwise set on accepted packets when mask is not 0 */
    uint16_t route_to;        /* QUEUE_ROUTE: number of the queue that accepted packets go to */
    bool route_bypass; /* QUEUE_ROUTE: continue with the next chain on the hook when that queue has no listener */
    enum queue_marked_policy marked_policy;
    enum queue_looping_policy looping_policy;
    enum queue_truncated_policy truncated_policy;
    uint32_t repeat_limit; /* QUEUE_REPEAT: see enum queue_looping_policy; 0: no limit */
    bool fail_open;        /* NFQA_CFG_F_FAIL_OPEN: full queues let packets pass */
    bool gso;              /* NFQA_CFG_F_GSO */
    enum queue_offload offload;
    uint32_t offload_accept, offload_accept_mask, offload_drop, offload_drop_mask; /* bits of the connection mark */
    /* Bits of OFFLOAD_ACKNOWLEDGMENTS, which OFFLOAD_QUEUE clears; only with QUEUE_OFFLOAD_CONNECTION. */
    uint32_t offload_acknowledge, offload_acknowledge_mask;
    /* QUEUE_OFFLOAD_PACKET_MARK: the rule that saves the drop mark also drops the packet, so the verdict for this
     * packet is accept. False: drops are not offloaded. */
    bool offload_drop_by_rule;
    bool conntrack;          /* NFQA_CFG_F_CONNTRACK: each packet carries its conntrack data (packet->conntrack) */
    uint32_t length;         /* maximum number of packets in the queue */
    uint32_t receive_buffer; /* bytes; 0: derived from `length` */
    uint32_t batch;          /* packets per receive, at most CAPTURE_MAX_BATCH */
    int inherited_fd;        /* a bound socket to adopt, or -1 to open one */
    /* Another process (the supervisor) keeps inherited_fd. That process binds the queue, perhaps only after
     * nfqueue_open(), and repeats the packets that a previous reader received without a verdict; then
     * nfqueue_confirm_bound() must be called. False: the inherited socket is bound, and the capture repeats such
     * packets. */
    bool kept;
    void *slots; /* memory to receive into, nfqueue_slots_size() bytes, owned by the caller; NULL: the capture allocates
                    it */
};

enum queue_conntrack { QUEUE_CONNTRACK_AUTO, QUEUE_CONNTRACK_ALWAYS, QUEUE_CONNTRACK_NO };

/* Settings of queues. */
struct queue_options {
    const char *numbers;
    struct nfqueue_options nfqueue;
    bool has_route; /* queue.route-to is set */
    enum queue_conntrack conntrack;
};
extern const struct setting queue_settings[];
/* Reads queue.*, then queues.RANGE.*, which overrides it for the queues in `range`; NULL: queue.* only. */
void queue_options_read(const struct config *config, const char *range, struct queue_options *out);

size_t nfqueue_slots_size(const struct nfqueue_options *options);

/* Opens a socket, binds the queue and configures it; or adopts options->inherited_fd with its settings. An adopted
 * descriptor belongs to the capture on success, and stays the caller's on failure. Unless options->kept is set, packets
 * that its previous reader received without a verdict are queued again (NF_REPEAT) when the first packet arrives.
 * Returns 0, or -errno with one line for the administrator in `error`: what failed and what to do (queue in use by
 * process X, no CAP_NET_ADMIN, kernel lacks a flag). */
int nfqueue_open(struct capture **out, const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);

/* Tells a capture with options->kept that its queue is bound with these NFQA_CFG_F_* flags. `again`: the queue was
 * already bound for a previous reader, which may have changed flags, so the capture sets them again. */
void nfqueue_confirm_bound(struct capture *capture, uint32_t flags, bool again);

/* Sets whether each verdict is sent as a separate message, so that verdict_lost counts every packet that the kernel had
 * already dropped: the kernel does not report such packets within a message for several packets. Called by the worker
 * between two batches. */
void nfqueue_set_exact(struct capture *capture, bool exact);

/* Lets another thread send the verdicts of bulk transfers in place of the worker, so that the kernel's processing of
 * the accepted packets runs on another CPU. nfqueue_add_sender() is called before the worker starts and returns 0 or
 * -ENOMEM. The other thread calls nfqueue_run_sender(), which returns after the worker has ended and
 * nfqueue_stop_sender() was called. */
int nfqueue_add_sender(struct capture *capture);
void nfqueue_run_sender(struct capture *capture);
void nfqueue_stop_sender(struct capture *capture);
/* Waits until the verdict sender has sent all verdicts; called by the worker. Returns 0 or the -errno of a send. */
int nfqueue_wait_sent(struct capture *capture);

/* Returns the socket, which stays owned by the capture. The supervisor duplicates it before close to keep the queue. */
int nfqueue_fd(const struct capture *capture);
/* Returns the size of the socket's receive buffer as the kernel reports it: twice the requested size, because it
 * includes the kernel's overhead. */
uint32_t nfqueue_receive_buffer(const struct capture *capture);
/* Returns the NFQA_CFG_F_* flags that the kernel granted; fewer than requested when it lacks one. For an adopted queue
 * they are unknown: returns those that the options request or, with options->kept, those of nfqueue_confirm_bound(). */
uint32_t nfqueue_flags(const struct capture *capture);
/* Returns the offload method: the requested one, or the result of AUTO; QUEUE_OFFLOAD_NONE where it is not possible. */
enum queue_offload nfqueue_offload(const struct capture *capture);
/* Clears NFQA_CFG_F_CONNTRACK of the bound queue: the flag costs the kernel work for every packet. Packets that wait
 * already still carry the data. Returns 0 or -errno of the send; the kernel's answer arrives later, and a rejection
 * changes nothing. */
int nfqueue_stop_conntrack(struct capture *capture);
int nfqueue_start_conntrack(struct capture *capture); /* sets the flag again */

/* --- Queues whose socket outlives its reader -------------------------------------------------------- */

/* Checks by `status_fd` (nfqueue_open_status()) that no process has bound the queue. Returns 0, also if the status
 * cannot be read, or -EBUSY with a line in `error` that names the process. */
int nfqueue_is_free(int status_fd, uint16_t queue, char error[CAPTURE_ERROR_SIZE]);
/* Opens a socket as nfqueue_open() does, not bound to a queue yet. Returns its descriptor, or -errno with a line in
 * `error`. */
int nfqueue_socket(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);
/* Binds the socket to the queue and configures the queue; `bound`: the socket is already bound and only the
 * configuration is repeated. Returns 0 with the granted NFQA_CFG_F_* flags in *flags, or -errno with a line in
 * `error`. */
int nfqueue_bind(int fd, const struct nfqueue_options *options, bool bound, uint32_t *flags,
                 char error[CAPTURE_ERROR_SIZE]);

/* Probes whether the kernel supports these NFQA_CFG_F_* flags, without changing the queue, which may be bound. Returns
 * 0 if it does, -EOPNOTSUPP if it does not, or another -errno when the probe failed. */
int nfqueue_probe_flags(uint16_t queue, uint32_t flags);

/* Whether the queue is bound to the socket `fd`. */
bool nfqueue_owns_queue(int fd, int status_fd, uint16_t queue);
/* Sets the options of the socket and the parameters of its queue again, because a compromised reader may have changed
 * them. Requests no answer from the kernel and does not block. Returns false when the reader has released the queue,
 * which then has to be bound again. */
bool nfqueue_recover(int fd, int status_fd, const struct nfqueue_options *options, bool fail_open);
/* Sets or clears NFQA_CFG_F_FAIL_OPEN. */
void nfqueue_set_fail_open(int fd, uint16_t queue, bool fail_open);

/* The packets without a verdict in a queue whose reader has died. */
struct nfqueue_backlog {
    uint32_t last_id; /* id of the last packet that the dead reader received */
    uint32_t
        taken; /* packets that the dead reader received and sent no verdict for, as far as this can be determined */
    uint32_t waiting; /* all waiting packets, received or not */
};
/* Determines the backlog; no other process may read the socket in the meantime. Discards the kernel's answers to
 * messages of the dead reader. `status_fd`: see nfqueue_read_status(). Also sets the length of the queue to `length`
 * packets. Returns 0 or -errno. */
int nfqueue_read_backlog(int fd, int status_fd, uint16_t queue, uint32_t length, struct nfqueue_backlog *out);
/* Sets the length of the queue in packets, and of the socket buffer in bytes (0: unchanged). Returns 0 or -errno of the
 * send. */
int nfqueue_resize(int fd, uint16_t queue, uint32_t length, uint32_t receive_buffer);
enum queue_backlog_verdict {
    QUEUE_BACKLOG_REPEAT, /* queued again, with another id */
    QUEUE_BACKLOG_ACCEPT, /* accepted as options->mode says: NF_ACCEPT, NF_REPEAT with the mark, or NF_QUEUE */
    QUEUE_BACKLOG_DROP,
};
/* Send a verdict for the packet `id`, or for all waiting packets with an id up to `id`. Return 0 or -errno of the send.
 */
int nfqueue_send_verdict(int fd, const struct nfqueue_options *options, uint32_t id, enum queue_backlog_verdict kind);
int nfqueue_send_verdicts_up_to(int fd, const struct nfqueue_options *options, uint32_t id,
                                enum queue_backlog_verdict kind);
/* Returns the size of the socket's receive buffer as it was requested: half of what SO_RCVBUF reports. */
uint32_t nfqueue_socket_buffer(int fd);

/* Reads the status of all queues of this network namespace. `fd` is an open /proc/net/netfilter/nfnetlink_queue (mode
 * 0440: opened before privileges are dropped). Returns the number of queues written to `out`, or -errno. */
int nfqueue_read_status(int fd, struct queue_status *out, size_t max);
/* Reads the status of one queue. Returns 0, -ENOENT when it is not bound, or another -errno. */
int nfqueue_find_status(int fd, uint16_t queue, struct queue_status *out);
int nfqueue_open_status(
    void); /* opens nfnetlink_queue of this thread's network namespace; returns a descriptor or -errno */

/* --- AF_PACKET -------------------------------------------------------------------------------------- */

enum capture_method { CAPTURE_NFQUEUE, CAPTURE_AF_PACKET };
/* Distribution of the packets of an interface to its rings: by the two addresses (PACKET_FANOUT_CBPF), by addresses and
 * ports (PACKET_FANOUT_HASH), by the CPU that received the packet, or by the receive queue of the network card. */
enum af_packet_cluster {
    AF_PACKET_CLUSTER_ADDRESSES,
    AF_PACKET_CLUSTER_FLOW,
    AF_PACKET_CLUSTER_CPU,
    AF_PACKET_CLUSTER_QM,
};
enum af_packet_checksums {
    AF_PACKET_CHECKSUMS_KERNEL, /* verify those that the kernel has not verified */
    AF_PACKET_CHECKSUMS_YES,
    AF_PACKET_CHECKSUMS_NO,
};

struct af_packet_options {
    enum capture_method method;
    const char *const *interfaces;
    uint32_t workers; /* rings of each interface; each has a worker */
    enum af_packet_cluster cluster;
    uint32_t cluster_id; /* id of the fanout group of the first interface, plus 1 for each further one; 0: the kernel
                            chooses an unused one */
    bool defrag;         /* PACKET_FANOUT_FLAG_DEFRAG; not with AF_PACKET_CLUSTER_ADDRESSES */
    bool rollover;       /* PACKET_FANOUT_FLAG_ROLLOVER */
    bool promiscuous;
    bool locked;        /* MAP_LOCKED */
    uint64_t ring_size; /* bytes of each ring */
    uint64_t memcap;    /* bytes of all rings together */
    uint32_t block_size;
    uint32_t block_timeout_ms; /* a block with packets is delivered after this time, even if it is not full */
    uint32_t snap_length;      /* bytes captured of each packet; 0: all */
    const char *filter;        /* BPF filter in the syntax of libpcap; NULL: all packets */
    enum af_packet_checksums checksums;
};
extern const struct setting af_packet_settings[];
void af_packet_options_read(const struct config *config, struct af_packet_options *out);

/* An interface and its fanout group; its rings share it, so it must outlive them. */
struct af_packet_interface;
/* Checks the interface and compiles the filter. `number`: index in options->interfaces. `missing`: the interface may be
 * missing; its rings then wait for it. Returns 0, or -errno with a line in `error`. */
int af_packet_interface_new(struct af_packet_interface **out, const struct af_packet_options *options, unsigned number,
                            bool missing, char error[CAPTURE_ERROR_SIZE]);
void af_packet_interface_free(struct af_packet_interface *interface); /* NULL is allowed */
const char *af_packet_interface_name(const struct af_packet_interface *interface);

/* Opens a ring that receives no packets yet. If the interface is down, or missing where it may be, the ring waits for
 * it. `number`: number of the ring among those of all interfaces, which its packets have as meta.queue. Returns 0, or
 * -errno with a line in `error`. */
int af_packet_open(struct capture **out, struct af_packet_interface *interface, uint16_t number,
                   char error[CAPTURE_ERROR_SIZE]);
/* Lets the ring receive packets. Called when all rings of the interface are open, because otherwise the first rings
 * would get packets of flows that later belong to another ring. */
int af_packet_start(struct capture *capture, char error[CAPTURE_ERROR_SIZE]);

enum af_packet_state {
    AF_PACKET_CAPTURING,
    AF_PACKET_DOWN,   /* the interface is down */
    AF_PACKET_GONE,   /* no interface has the name: it was removed, or moved to another network namespace */
    AF_PACKET_FAILED, /* the ring could not be opened again: `error` is the -errno */
};
struct af_packet_status {
    enum af_packet_state state;
    int error;
    uint32_t ifindex; /* 0: none */
    uint64_t packets, dropped, link_losses;
};
/* Reads the state of a ring; may be called by any thread. */
void af_packet_status(const struct capture *capture, struct af_packet_status *out);

/* --- Capture files ---------------------------------------------------------------------------------- */

/* Opens a pcap or pcapng file, which may be compressed with gzip, Zstandard or LZ4; "-" is standard input. Common pcap
 * files are read in large pieces, pcapng files with the link type of each interface. When `stop_fd` becomes readable,
 * waiting for a pipe ends, as at the end of the file; 0: none. Returns 0, -ECANCELED if stop_fd ended the wait for the
 * file header, or -errno with a line in `error`. Packets of an unknown link type have LINK_UNSUPPORTED. A file that is
 * damaged or ends in the middle of a packet returns all packets before that place, then -EBADMSG. */
int pcap_file_open(struct capture **out, const char *path, int stop_fd, char error[CAPTURE_ERROR_SIZE]);
/* Returns a description of the file's defect after capture_receive() has returned -EBADMSG, otherwise NULL. Valid until
 * the capture is closed. */
const char *pcap_file_error(const struct capture *capture);

/* Returns the name of the interface that captured the packet, valid until the capture is closed; NULL: the file names
 * none. */
const char *pcap_file_interface_name(const struct capture *capture, const struct packet *pkt);

enum { CAPTURE_LINK_SIZE = 128 };
/* Writes the link type of the file for messages: its number, libpcap's name and description, "127 (IEEE802_11_RADIO,
 * ...)". */
void pcap_file_link(const struct capture *capture, char out[CAPTURE_LINK_SIZE]);

/* Number of packets to receive from a file at once. More have no advantage: verdicts are not sent, and
 * pcap_file_prefetch() prefetches about this number of packets ahead. */
enum { PCAP_FILE_BATCH = 8 };

/* Called before a packet of a capture file is processed: prefetches bytes of a later packet. Large files are read by
 * another thread, so their bytes are in another core's cache; the processing of one packet leaves the time to fetch the
 * bytes of the next ones. The later packet is found by its distance, because packets are contiguous. */
static inline void pcap_file_prefetch(const struct packet *pkt)
{
    enum { AHEAD = PCAP_FILE_BATCH * 1536, CACHE_LINE = 64 };

    for (uint32_t at = 0; at < pkt->length; at += CACHE_LINE)
        __builtin_prefetch(pkt->data + AHEAD + at);
}

#endif
