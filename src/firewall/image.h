/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of the installed tables: the kernel's description of them, in parts that are compared with a later image. The
 * second part of this header declares the reader of notifications about changes by other programs.
 */
#ifndef SLUICE_FIREWALL_IMAGE_H
#define SLUICE_FIREWALL_IMAGE_H

#include "firewall_priv.h"

/* The parts of an image, in the order of the bits of enum firewall_damage. */
enum image_part { IMAGE_TABLE, IMAGE_CHAINS, IMAGE_RULES, IMAGE_SETS, IMAGE_PARTS };

struct image {
    struct text parts[IMAGE_PARTS];
    bool drops; /* the policy of one of Sluice's base chains is drop */
    uint64_t blocked_packets, blocked_bytes;
    struct offload_counts offload;
};
int nft_image_read(struct image *out, struct session *session, const char *table, const uint32_t *families,
                   unsigned count);
void nft_image_clear(struct image *image);
/* Adds one object to the part of an image. `message`: the kernel's complete netlink message about the object. */
void nft_image_add(struct image *image, enum image_part part, const char *table, const struct nlmsghdr *message);
/* Returns the parts in which the images differ, as bits 1 << enum image_part. */
unsigned nft_image_differs(const struct image *a, const struct image *b);

/* --- Changes by other programs (notification.c) ---------------------------------------------------------- */

struct notifications {
    const struct firewall_options *options;
    const struct image *image;       /* image of the sluice table as installed */
    uint32_t own_port;               /* netlink port that this process sends its own transactions from */
    struct firewall_change *pending; /* the transaction whose notifications are being received; kept between receives */
    /* Last generation whose transaction was received completely, own transactions included. */
    uint32_t *generation;
};
/* Reads received notifications. Adds complete transactions of other programs to *out. */
void nft_read_notifications(const struct notifications *notifications, const uint8_t *bytes, size_t length,
                            struct firewall_change *out);

#endif
