/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the supervisor; state.h has its state, and most parts have a header of their own name:
 *
 *   supervisor.c        start, signals, messages, end
 *   engine_process.c    one engine: start, supervision, death
 *   queues.c            the sockets of the queues, and the packets that a dead engine leaves
 *   quarantine.c        packets on which engines die
 *   give_up.c           whether traffic passes or is dropped when engines keep dying
 *   memory_shortage.c   whether the kernel killed an engine because of a memory shortage
 *   file_opener.c       opens the event file for a sandboxed engine
 *   engine_handover.c   a new engine replaces a running one
 *   reexec.c            the supervisor executes the installed program
 *   restart_handover.c  a restart of the service: the next supervisor continues
 *   pid_file.c          the pid file
 *   systemd_job.c       queries the job of the unit: a stop or a restart
 *   systemd_notify.c    readiness, watchdog, and the sockets that systemd stores
 *   socket_preopen.c    sockets that root opens for a service of another user
 */
#ifndef SLUICE_SUPERVISOR_PRIV_H
#define SLUICE_SUPERVISOR_PRIV_H

#include <stdbool.h>

#include "sluice/supervisor_channel.h"

#include "engine_handover.h"
#include "engine_process.h"
#include "give_up.h"
#include "quarantine.h"
#include "queues.h"
#include "restart_handover.h"
#include "state.h"
#include "systemd_job.h"

/* --- file_opener.c ------------------------------------------------------------------------------------- */

/* Starts a process that opens the event file and sends it, or the error, to the engine. */
void file_opener_start(struct supervisor *supervisor);
/* Reaps the opener if it has ended; kills it if it takes too long. */
void file_opener_reap(struct supervisor *supervisor);
void file_opener_stop(struct supervisor *supervisor); /* kills the opener, because its engine has died */

/* --- pid_file.c ----------------------------------------------------------------------------------------- */

/* Writes the pid file, if pid-file is set. Returns 0, or -errno with a line in `error`; -EEXIST if the file belongs to
 * another running sluice. */
int pid_file_write(const struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
void pid_file_remove(const struct supervisor *supervisor); /* keeps a file with another process id */

/* --- socket_preopen.c --------------------------------------------------------------------------------------- */

/* Adopts a socket from systemd by its name. Returns false if `sluice lend` does not create a socket of this name, or if
 * the socket is a duplicate. */
bool socket_preopen_accept(struct supervisor *supervisor, const char *name, int fd);

/* --- systemd_notify.c ------------------------------------------------------------------------------------- */

void systemd_start(struct supervisor *supervisor);
void systemd_notify_ready(struct supervisor *supervisor);
void systemd_notify_reloading(void);
void systemd_notify_reloaded(void);
void systemd_notify_restarting(const struct supervisor *supervisor);
void systemd_notify_stopping(void);
void systemd_notify_end(const struct supervisor *supervisor);
void systemd_remove_queue(unsigned number); /* removes the socket of the queue from systemd */
void systemd_notify_watchdog(struct supervisor *supervisor, bool alive);
/* Adopts the descriptors that systemd stored: sockets of queues, the control socket, state files. */
void systemd_get_sockets(struct supervisor *supervisor);

/* --- reexec.c -------------------------------------------------------------------------------------- */

/* Starts a trial of the installed program; when the trial has passed, reexec_poll() executes the program. Returns false
 * if no trial can start, with the reason in `why`. */
bool reexec_start_trial(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
/* Returns a descriptor that is readable when the trial has output; -1: no trial runs. */
int reexec_fd(const struct supervisor *supervisor);
/* Checks a running trial. If the trial has passed, executes the program and does not return. Returns true if the trial
 * has failed, with the reason in `why`. */
bool reexec_poll(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
void reexec_cancel(struct supervisor *supervisor);
/* Returns whether the installed program would start and could bind its queues; if not, the reason is in `why`. */
bool reexec_check_program(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
bool reexec_has_happened(void);
/* Restores the state that the supervisor had before it executed the program. Returns 0 or -errno. */
int reexec_resume(struct supervisor *supervisor);

#endif
