/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the kernel for an NFQUEUE capture that uses the other end of a socket pair. Builds netlink messages byte by
 * byte, and parses the verdicts of the capture strictly, into a line of text such as
 * "single 2 drop; batch 4 accept mark 0x1".
 */
#ifndef TEST_NFQUEUE_RIG_H
#define TEST_NFQUEUE_RIG_H

#include <arpa/inet.h>
#include <check.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/nfqueue_message.h"

enum { QUEUE = 0x1234, MESSAGE_SIZE = 70000, TEXT_SIZE = 4096 };

/* --- Messages of the kernel ----------------------------------------------------------------------- */

struct message {
    size_t length;
    uint8_t bytes[MESSAGE_SIZE];
};

void message_start(struct message *m, uint16_t type, uint32_t sequence);
void message_add(struct message *m, const void *bytes, size_t length);
void add_attribute(struct message *m, uint16_t type, const void *value, size_t length);
void add_u32(struct message *m, uint16_t type, uint32_t value);
void message_finish(struct message *m);
void packet_start(struct message *m, uint8_t family, uint32_t id, uint16_t protocol);
void packet_message(struct message *m, uint32_t id, uint32_t mark, const void *payload, size_t length);

/* --- A capture and its kernel --------------------------------------------------------------------- */

struct rig {
    int kernel;
    struct capture *capture;
    struct packet *batch[CAPTURE_MAX_BATCH];
};

struct nfqueue_options options_for(int fd);
void queue_rig_open_with(struct rig *rig, struct nfqueue_options options, int send_buffer);
void queue_rig_open(struct rig *rig);
void queue_rig_close(struct rig *rig);
void queue_rig_send(struct rig *rig, const struct message *m);
void queue_rig_send_packet(struct rig *rig, uint32_t id, uint32_t mark);
void queue_rig_send_error(struct rig *rig, int error, uint32_t sequence);
int queue_rig_receive(struct rig *rig);

/* Appends to `text`, a buffer of TEXT_SIZE bytes. */
__attribute__((format(printf, 2, 3))) void append_text(char text[TEXT_SIZE], const char *format, ...);

/* Appends a description of a netlink message of the capture; returns the length of the message. */
size_t describe_message(char text[TEXT_SIZE], const uint8_t *bytes, size_t left);

/* Describes all messages that the capture sent since the last call; returns the number of send calls. */
size_t queue_rig_sent(struct rig *rig, char text[TEXT_SIZE]);

/* Expects a configuration message that sets the flags of `mask` to `flags`, and nothing else. */
void expect_config(struct rig *rig, enum nfqueue_sequence sequence, uint32_t flags, uint32_t mask);

void check_accounts(const struct rig *rig);

#endif
