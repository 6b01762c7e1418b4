/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting until queues are empty. */
#ifndef SLUICE_DRAIN_H
#define SLUICE_DRAIN_H

/* Waits, for a limited time, until all queues of the network namespace are empty. `fd`: of nfqueue_open_status(); if it
 * is negative, returns at once. */
void drain_queues(int fd);

#endif
