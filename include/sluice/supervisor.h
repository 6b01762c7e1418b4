/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeper: the daemon's parent process. It has the sockets of the queues, so that packets wait there whatever becomes of
 * the engine that judges them; it starts the engine, passes signals on, and starts another one when that dies or stands
 * still.
 *
 * Threads: one; it must not have any, because it forks.
 */
#ifndef SLUICE_KEEPER_H
#define SLUICE_KEEPER_H

#include <sys/types.h>

#include "sluice/daemon.h"

/* The daemon, until SIGTERM or SIGINT. 0, or -errno with a line in `error`. Prints its own log. */
int supervisor_run(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

/* For a service that systemd starts as another user: opens, as root and before it, the sockets that need CAP_NET_RAW,
 * and leaves them with systemd, which gives them to supervisor_run(). 0, or -errno with a line in `error`. */
int supervisor_preopen_sockets(char error[ENGINE_ERROR_SIZE]);

/* While systemd stops the service of the keeper `pid`: tells that when another one is to follow. As root, or as
 * systemd's bus lets one ask. 0, also when it is a plain stop, or -errno with a line in `error`. */
int supervisor_announce_restart(pid_t pid, char error[ENGINE_ERROR_SIZE]);

/* When that keeper has ended: removes the own table, should it have been left and the stop be a plain one all the same.
 * As that. */
int supervisor_remove_left_table(const struct config *config, char error[ENGINE_ERROR_SIZE]);

#endif
