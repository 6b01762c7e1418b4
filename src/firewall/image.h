/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of the installed tables: what the kernel reports of them, in parts that are compared with a later image; and
 * changes by other programs.
 */
#ifndef SLUICE_FIREWALL_IMAGE_H
#define SLUICE_FIREWALL_IMAGE_H

#include "firewall_priv.h"

/* In the order of enum firewall_damage. */
enum image_part { IMAGE_TABLE, IMAGE_CHAINS, IMAGE_RULES, IMAGE_SETS, IMAGE_PARTS };

struct image {
    struct text parts[IMAGE_PARTS];
    bool drops; /* the policy of a base chain is drop */
    uint64_t blocked_packets, blocked_bytes;
    struct offload_counts offload;
};
int nft_image_read(struct image *out, struct session *session, const char *table, const uint32_t *families,
                   unsigned count);
void nft_image_clear(struct image *image);
/* Adds one object as the kernel reports it; the message is complete. */
void nft_image_add(struct image *image, enum image_part part, const char *table, const struct nlmsghdr *message);
/* Returns the parts that differ, as bits 1 << enum image_part. */
unsigned nft_image_differs(const struct image *a, const struct image *b);

/* --- Changes by other programs (notification.c) ---------------------------------------------------------- */

struct notifications {
    const struct firewall_options *options;
    const struct image *image;       /* the sluice table as installed */
    uint32_t own_port;               /* netlink port of this process's own transactions */
    struct firewall_change *pending; /* of the transaction being received; kept from one receive to the next */
    uint32_t *generation;            /* generation up to which all transactions, including own ones, were received */
};
/* Reads received messages, one after the other. Complete transactions are added to *out. */
void nft_read_notifications(const struct notifications *notifications, const uint8_t *bytes, size_t length,
                            struct firewall_change *out);

#endif
