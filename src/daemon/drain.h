/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until queues are empty. */
#ifndef SLUICE_DRAIN_H
#define SLUICE_DRAIN_H

/* Waits, for a limited time, until all queues of the network namespace are empty. `fd`: from nfqueue_open_status();
 * returns at once if it is negative. */
void drain_queues(int fd);

#endif
