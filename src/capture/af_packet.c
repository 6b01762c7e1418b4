/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of an interface, from a TPACKET_V3 ring. The kernel fills blocks of the ring; a block belongs to the program
 * from the time that its status says so until the program resets the status. Packets are delivered in place, so a block
 * is returned with the receive after its last packet.
 *
 * The frames are delivered as they were on the wire: the VLAN tag that the kernel has removed is put back. Frames
 * larger than the MTU allows are super-packets (GRO, TSO), which the kernel merged before they reached the socket.
 *
 * A ring checks its interface once a second, and at each error of the socket. When the interface is down, the kernel
 * keeps the socket and continues when it is up again. When it was removed or moved to another network namespace, the
 * socket receives no more packets: it is closed after the last ones, and a new one is opened when there is an interface
 * with the configured name.
 *
 * Threads: the worker. Its state and the counters of the kernel are atomic, because the main thread reads them.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sluice/capture.h"
#include "sluice/clock.h"

#include "af_packet_ring.h"
#include "af_packet_socket.h"

#ifndef TP_STATUS_GSO_TCP
#define TP_STATUS_GSO_TCP (1 << 8) /* Linux 5.14 */
#endif

#define CHECK_INTERVAL_NS NS_PER_SECOND
#define REOPEN_INTERVAL_NS (NS_PER_SECOND / 2)
#define NS_PER_MS UINT64_C(1000000)

enum {
    LINK_HEADERS = ETH_HLEN + 3 * RING_VLAN_SIZE, /* bytes of a frame that the MTU does not include */
    LAST_TIMEOUTS = 4, /* block timeouts after which the kernel has certainly delivered the last block */
};

struct af_packet {
    struct capture base; /* first member: a struct capture * points to it */
    struct capture_counters counters;
    struct af_packet_interface *interface;
    uint16_t number; /* of the ring, among those of all interfaces */
    struct ring_socket socket;
    uint32_t block; /* index of the block that is read or comes next */
    bool reading;   /* `frames` is at a block that was not returned to the kernel yet */
    struct ring_block frames;
    uint32_t largest_frame; /* of a packet of the MTU; larger ones are super-packets. 0: unknown */
    uint64_t check_ns;      /* when the interface is to be checked next (clock_monotonic_ns()) */
    uint64_t close_ns;      /* when to close the socket of an interface that is gone; 0: no close is due */

    _Atomic uint32_t state, error, ifindex;
    _Atomic uint64_t kernel_packets, kernel_drops, link_losses;
    struct packet packets[CAPTURE_MAX_BATCH];
};

/* --- Interface ------------------------------------------------------------------------------------ */

static void set_state(struct af_packet *ring, enum af_packet_state state, int error)
{
    if (atomic_load_explicit(&ring->state, memory_order_relaxed) == AF_PACKET_CAPTURING &&
        state != AF_PACKET_CAPTURING) {
        ring->counters.link_losses++;
        atomic_store_explicit(&ring->link_losses, ring->counters.link_losses, memory_order_relaxed);
    }
    atomic_store_explicit(&ring->error, (uint32_t)-error, memory_order_relaxed);
    atomic_store_explicit(&ring->ifindex, (uint32_t)ring->socket.ifindex, memory_order_relaxed);
    atomic_store_explicit(&ring->state, (uint32_t)state, memory_order_release);
}

/* Adds the kernel's counters; the kernel resets them when they are read. */
static void read_statistics(struct af_packet *ring)
{
    struct tpacket_stats_v3 statistics;
    socklen_t size = sizeof(statistics);

    if (getsockopt(ring->socket.fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &size))
        return;
    ring->counters.kernel_packets += statistics.tp_packets; /* includes tp_drops */
    ring->counters.lost += statistics.tp_drops;
    ring->counters.ring_full += statistics.tp_freeze_q_cnt;
    atomic_store_explicit(&ring->kernel_packets, ring->counters.kernel_packets, memory_order_relaxed);
    atomic_store_explicit(&ring->kernel_drops, ring->counters.lost, memory_order_relaxed);
}

static void open_again(struct af_packet *ring)
{
    char error[CAPTURE_ERROR_SIZE];
    int err = ring_socket_open(&ring->socket, ring->interface, error);

    if (!err) {
        err = ring_socket_start(&ring->socket, ring->interface, error);
        if (err)
            ring_socket_close(&ring->socket);
    }
    ring->counters.ring_bytes = ring->socket.map_size;
    ring->block = 0;
    ring->reading = false;
    ring->close_ns = 0;
    set_state(ring,
              !err               ? AF_PACKET_CAPTURING
              : err == -ENODEV   ? AF_PACKET_GONE
              : err == -ENETDOWN ? AF_PACKET_DOWN
                                 : AF_PACKET_FAILED,
              err);
}

/* Checks whether the socket still has its interface, and whether it is up; reads the MTU, which may have changed. */
static void check_interface(struct af_packet *ring, uint64_t now_ns)
{
    struct sockaddr_ll address = { .sll_ifindex = 0 };
    socklen_t size = sizeof(address);
    struct ifreq request = { .ifr_ifindex = ring->socket.ifindex };

    /* When an interface is removed, the kernel unbinds the sockets that are bound to it. */
    if (getsockname(ring->socket.fd, (struct sockaddr *)&address, &size) ||
        address.sll_ifindex != ring->socket.ifindex || ioctl(ring->socket.fd, SIOCGIFNAME, &request)) {
        if (ring->close_ns == 0)
            ring->close_ns = now_ns + LAST_TIMEOUTS * ring->interface->options.block_timeout_ms * NS_PER_MS;
        set_state(ring, AF_PACKET_GONE, -ENODEV);
        return;
    }
    /* `request` has the current name, which differs from the configured one when the interface was renamed. */
    if (ioctl(ring->socket.fd, SIOCGIFFLAGS, &request) == 0) {
        if (request.ifr_flags & IFF_UP)
            set_state(ring, AF_PACKET_CAPTURING, 0);
        else
            set_state(ring, AF_PACKET_DOWN, -ENETDOWN);
    }
    if (ioctl(ring->socket.fd, SIOCGIFMTU, &request) == 0)
        ring->largest_frame = request.ifr_mtu > 0 ? (uint32_t)request.ifr_mtu + LINK_HEADERS : 0;
}

static void check(struct af_packet *ring, uint64_t now_ns)
{
    if (ring->socket.fd >= 0) {
        read_statistics(ring);
        check_interface(ring, now_ns);
    } else {
        open_again(ring);
    }
    ring->check_ns = now_ns + (ring->socket.fd >= 0 && ring->close_ns == 0 ? CHECK_INTERVAL_NS : REOPEN_INTERVAL_NS);
    if (ring->close_ns > 0 && ring->close_ns < ring->check_ns)
        ring->check_ns = ring->close_ns;
}

/* --- Receiving ------------------------------------------------------------------------------------ */

static uint8_t *block_at(const struct af_packet *ring, uint32_t index)
{
    return ring->socket.map + (uint64_t)index * ring->socket.block_size;
}

static uint32_t *block_status(const struct af_packet *ring, uint32_t index)
{
    return &((struct tpacket_block_desc *)block_at(ring, index))->hdr.bh1.block_status;
}

static bool is_ready(const struct af_packet *ring, uint32_t index)
{
    return __atomic_load_n(block_status(ring, index), __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

/* Opens the next block if the kernel has released it. Returns false if it has not. */
static bool open_block(struct af_packet *ring)
{
    if (ring->socket.fd < 0 || !is_ready(ring, ring->block))
        return false;
    ring_block_open(&ring->frames, block_at(ring, ring->block), ring->socket.block_size);
    ring->reading = true;
    return true;
}

static void return_block(struct af_packet *ring)
{
    __atomic_store_n(block_status(ring, ring->block), TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->block = (ring->block + 1) % ring->socket.block_count;
    ring->reading = false;
}

/* Waits for a block. Returns false if there was none within `wait_ms`. */
static bool wait_for_block(struct af_packet *ring, int wait_ms)
{
    struct pollfd event = { .fd = ring->socket.fd, .events = POLLIN };
    socklen_t size = sizeof(int);
    int error;

    if (open_block(ring))
        return true;
    if (wait_ms == 0)
        return false;
    if (ring->close_ns > 0) {
        event.fd = -1; /* the socket always has an error */
        wait_ms = (int)ring->interface->options.block_timeout_ms;
    }
    ring->counters.receive_calls++;
    if (poll(&event, 1, wait_ms) > 0 && event.revents & POLLERR) {
        /* Reading the error clears it, so that the next poll() waits again. */
        (void)getsockopt(ring->socket.fd, SOL_SOCKET, SO_ERROR, &error, &size);
        ring->check_ns = 0;
    }
    return open_block(ring);
}

static void fill_packet(struct af_packet *ring, struct packet *pkt, struct ring_frame *frame)
{
    const bool tagged = frame->status & TP_STATUS_VLAN_VALID;

    if (ring->socket.link == LINK_ETHERNET && tagged && !ring_frame_restore_vlan(frame))
        ring->counters.malformed_messages++;
    memset(pkt, 0, offsetof(struct packet, outer));
    pkt->data = frame->data;
    pkt->length = frame->length;
    pkt->wire_length = frame->wire_length;
    pkt->time_ns = frame->time_ns;
    pkt->number = ++ring->counters.packets;
    pkt->link = ring->socket.link;
    pkt->flags = PACKET_KERNEL_TIME;
    if (frame->length < frame->wire_length)
        pkt->flags |= PACKET_TRUNCATED;
    if (frame->status & TP_STATUS_CSUMNOTREADY)
        pkt->flags |= PACKET_CHECKSUM_NOT_READY;
    else if (!(frame->status & TP_STATUS_CSUM_VALID))
        pkt->flags |= PACKET_CHECKSUM_UNVERIFIED;
    if (frame->status & TP_STATUS_GSO_TCP || (ring->largest_frame > 0 && frame->wire_length > ring->largest_frame))
        pkt->flags |= PACKET_GSO;
    pkt->meta.queue = ring->number;
    pkt->meta.id = (uint32_t)ring->counters.packets;
    pkt->meta.in_ifindex = (uint32_t)ring->socket.ifindex;
    ring->counters.bytes += frame->wire_length;
    ring->counters.truncated += (pkt->flags & PACKET_TRUNCATED) != 0;
    ring->counters.gso += (pkt->flags & PACKET_GSO) != 0;
}

static int af_packet_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct af_packet *ring = (struct af_packet *)capture;
    const uint64_t now_ns = clock_monotonic_ns();
    struct ring_frame frame;
    size_t count = 0;

    if (ring->reading && ring->frames.left == 0)
        return_block(ring);
    if (now_ns >= ring->check_ns)
        check(ring, now_ns);
    if (!ring->reading && !wait_for_block(ring, wait_ms)) {
        if (ring->close_ns > 0 && now_ns >= ring->close_ns) {
            read_statistics(ring);
            ring_socket_close(&ring->socket);
            ring->counters.ring_bytes = 0;
            ring->close_ns = ring->check_ns = 0;
        }
        return 0;
    }
    while (count < max && count < CAPTURE_MAX_BATCH && ring_block_next(&ring->frames, &frame)) {
        batch[count] = &ring->packets[count];
        fill_packet(ring, batch[count++], &frame);
    }
    if (ring->frames.malformed) {
        ring->counters.malformed_messages++;
        ring->frames.malformed = false;
    }
    ring->counters.full_batches += count == max;
    return (int)count;
}

/* --- Other operations ----------------------------------------------------------------------------- */

/* A ring has no verdicts; they are only counted, so that received = accepted + dropped holds here as well. */
static int af_packet_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct capture_counters *counters = &((struct af_packet *)capture)->counters;

    (void)batch;
    counters->accepted += count;
    return 0;
}

static const struct capture_counters *af_packet_counters(const struct capture *capture)
{
    return &((const struct af_packet *)capture)->counters;
}

static int af_packet_level(struct capture *capture, struct queue_level *out)
{
    const struct af_packet *ring = (const struct af_packet *)capture;
    uint32_t ready = 0;

    if (ring->socket.fd < 0)
        return -ENOTSUP;
    while (ready < ring->socket.block_count && is_ready(ring, (ring->block + ready) % ring->socket.block_count))
        ready++;
    *out = (struct queue_level){ .waiting = ready, .length = ring->socket.block_count };
    return 0;
}

void af_packet_status(const struct capture *capture, struct af_packet_status *out)
{
    const struct af_packet *ring = (const struct af_packet *)capture;

    *out = (struct af_packet_status){
        .state = (enum af_packet_state)atomic_load_explicit(&ring->state, memory_order_acquire),
        .error = -(int)atomic_load_explicit(&ring->error, memory_order_relaxed),
        .ifindex = atomic_load_explicit(&ring->ifindex, memory_order_relaxed),
        .packets = atomic_load_explicit(&ring->kernel_packets, memory_order_relaxed),
        .dropped = atomic_load_explicit(&ring->kernel_drops, memory_order_relaxed),
        .link_losses = atomic_load_explicit(&ring->link_losses, memory_order_relaxed),
    };
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

static void af_packet_close(struct capture *capture)
{
    struct af_packet *ring = (struct af_packet *)capture;

    ring_socket_close(&ring->socket);
    free(ring);
}

static const struct capture_ops af_packet_ops = {
    .name = "af-packet",
    .receive = af_packet_receive,
    .send_verdicts = af_packet_send_verdicts,
    .counters = af_packet_counters,
    .level = af_packet_level,
    .close = af_packet_close,
};

int af_packet_open(struct capture **out, struct af_packet_interface *interface, uint16_t number,
                   char error[CAPTURE_ERROR_SIZE])
{
    struct af_packet *ring = calloc(1, sizeof(*ring));
    int err;

    if (!ring) {
        snprintf(error, CAPTURE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    ring->base.ops = &af_packet_ops;
    ring->interface = interface;
    ring->number = number;
    ring->socket.fd = -1;
    atomic_init(&ring->state, AF_PACKET_DOWN);
    err = ring_socket_open(&ring->socket, interface, error);
    if (err && err != -ENETDOWN && !(err == -ENODEV && interface->missing)) {
        af_packet_close(&ring->base);
        return err;
    }
    ring->counters.ring_bytes = ring->socket.map_size;
    set_state(ring, !err ? AF_PACKET_CAPTURING : err == -ENODEV ? AF_PACKET_GONE : AF_PACKET_DOWN, err);
    *out = &ring->base;
    return 0;
}

int af_packet_start(struct capture *capture, char error[CAPTURE_ERROR_SIZE])
{
    struct af_packet *ring = (struct af_packet *)capture;

    return ring_socket_start(&ring->socket, ring->interface, error);
}
