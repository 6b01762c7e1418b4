/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets of the queues, and the packets that wait in them while no engine runs.
 */
#ifndef SLUICE_SUPERVISOR_QUEUES_H
#define SLUICE_SUPERVISOR_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/supervisor_channel.h"

#include "engine_process.h"

struct supervisor;

struct supervised_queue {
    struct nfqueue_options options;
    int fd;
    bool bound;
    bool adopted;    /* systemd stored the socket: a previous supervisor bound the queue */
    bool raised;     /* length and buffer are larger than configured, for packets that arrive while no engine runs */
    uint32_t buffer; /* configured size of the receive buffer, bytes */
};

/* Opens a socket for each queue. Returns 0, or -errno with a line in `error`. */
int queues_open(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
/* Adopts the queues of a previous supervisor, and queues again the packets that its engine left without a verdict.
 * Returns 0, or -errno with a line in `error`. */
int queues_resume(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct supervisor *supervisor, char error[CHANNEL_TEXT_SIZE]);
bool queues_are_bound(const struct supervisor *supervisor); /* whether any queue is bound */
/* Queues again the packets that a dead engine has left without a verdict, except a packet that is quarantined.
 * Returns their number. */
uint32_t queues_repeat(struct supervisor *supervisor, const struct engine_death *death);
/* Restores the configured lengths and buffers of queues whose backlog has been inspected. */
void queues_restore_limits(struct supervisor *supervisor);
/* Accepts all packets that wait in the queues. Returns their number. */
uint64_t queues_accept(struct supervisor *supervisor);
/* Makes full queues drop packets instead of accepting them. */
void queues_disable_fail_open(struct supervisor *supervisor);
/* Raises lengths and buffers of the queues for a time without engine. */
void queues_raise(struct supervisor *supervisor);
void queues_close(struct supervisor *supervisor);

#endif
