/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to capture: sockets of AF_PACKET with a TPACKET_V3 ring, and the interface that their group captures from. */
#ifndef SLUICE_AF_PACKET_SOCKET_H
#define SLUICE_AF_PACKET_SOCKET_H

#include <linux/filter.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/capture.h"

/* fanout_id: the number of the group, plus FANOUT_CHOSEN; 0: the kernel has not chosen one yet. */
enum { FANOUT_CHOSEN = 1 << 16 };

struct af_packet_interface {
    struct af_packet_options options;
    char name[IFNAMSIZ];
    struct sock_fprog filter; /* without instructions: all packets, whole */
    _Atomic uint32_t fanout_id;
    bool missing; /* the interface may be missing */
};

struct ring_socket {
    int fd; /* -1: the interface is down or missing */
    uint8_t *map;
    uint64_t map_size;
    uint32_t block_size, block_count;
    int ifindex;
    enum link_type link;
};

/* Opens a socket with a ring, bound to the interface, in the fanout group, and with a filter that drops all packets.
 * Returns 0; -ENODEV or -ENETDOWN if the interface is missing or down; or another -errno. `error` gets a line. */
int ring_socket_open(struct ring_socket *out, struct af_packet_interface *interface, char error[CAPTURE_ERROR_SIZE]);
/* Replaces the filter that drops all packets by that of the interface. Returns 0 or -errno with a line in `error`. */
int ring_socket_start(const struct ring_socket *socket, const struct af_packet_interface *interface,
                      char error[CAPTURE_ERROR_SIZE]);
void ring_socket_close(struct ring_socket *socket);

#endif
