/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting until queues are empty.
 */
#ifndef SLUICE_DRAIN_H
#define SLUICE_DRAIN_H

/* All queues of the network namespace; `fd` as of nfqueue_read_status(), negative: nothing is waited for. */
void drain_queues(int fd);

#endif
