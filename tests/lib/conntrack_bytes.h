/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the attributes of NFQA_CT as the kernel does, for tests. */
#ifndef TEST_CONNTRACK_BYTES_H
#define TEST_CONNTRACK_BYTES_H

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>

struct conntrack_bytes {
    uint8_t bytes[512];
    size_t length;
};

struct conntrack_text {
    const char *client, *server; /* original tuple: IPv4 addresses, or IPv6 addresses (with a colon) */
    uint16_t client_port, server_port;
    const char *after_client, *after_server; /* addresses after NAT; NULL: unchanged */
    uint16_t after_client_port, after_server_port;
    uint8_t protocol;
    uint32_t status;
    int tcp_state; /* -1: no CTA_PROTOINFO */
    uint8_t scale[2], flags[2];
    uint64_t packets[2], bytes[2]; /* no counters if all are 0 */
};

void ct_attribute(struct conntrack_bytes *ct, uint16_t type, const void *value, size_t length);
void ct_u32(struct conntrack_bytes *ct, uint16_t type, uint32_t value);
size_t ct_begin(struct conntrack_bytes *ct, uint16_t type);
void ct_end(struct conntrack_bytes *ct, size_t at);

/* Adds all attributes, in the kernel's order. */
void ct_build(struct conntrack_bytes *ct, const struct conntrack_text *text);

#endif
