/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Supervisor: the main process of the daemon. It holds the sockets of the queues, so that packets wait in them when the
 * engine dies; it starts the engine, forwards signals, and replaces an engine that dies or hangs.
 *
 * Threads: one; the supervisor must not start further threads, because it forks.
 */
#ifndef SLUICE_SUPERVISOR_H
#define SLUICE_SUPERVISOR_H

#include "sluice/daemon.h"

/* Runs the daemon until SIGTERM or SIGINT, and writes the log. Returns 0, or -errno with a line in `error`. */
int supervisor_run(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

/* Returns whether the pid file of the configuration (pid-file) can be written: 0, or -errno with a line in `error`. */
int pid_file_check(const struct config *config, char error[ENGINE_ERROR_SIZE]);

/* For a service that systemd starts as another user: opens the sockets that require CAP_NET_RAW and stores them with
 * systemd (FDSTORE), which passes them to supervisor_run(). Called as root before the service starts (ExecStartPre=).
 * 0, or -errno with a line in `error`. */
int supervisor_preopen_sockets(char error[ENGINE_ERROR_SIZE]);

/* For ExecStopPost=, after the supervisor has exited: removes the sluice table if the supervisor left it for a restart
 * but systemd stops the service. Needs CAP_NET_ADMIN and the system bus. 0, also if there is nothing to remove, or
 * -errno with a line in `error`. */
int supervisor_remove_left_table(const struct config *config, char error[ENGINE_ERROR_SIZE]);

#endif
