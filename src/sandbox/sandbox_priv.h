/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private declarations of the sandbox module (sluice/sandbox.h). */
#ifndef SANDBOX_PRIV_H
#define SANDBOX_PRIV_H

#include <linux/filter.h>

#include "sluice/sandbox.h"

#include "sanitizer.h"

/* --- capabilities.c ------------------------------------------------------------------------------- */

/* Makes the permitted capabilities effective again; a change of the user has removed them from the effective set. 0 or
 * -errno. */
int capabilities_raise(void);
/* Drops all capabilities except CAP_NET_ADMIN or, with `packet_sockets`, CAP_NET_RAW, also for programs that are
 * executed later. 0 or -errno. */
int capabilities_drop(bool packet_sockets);
/* Drops all capabilities except those that the supervisor and the start of its engines require. 0 or -errno. */
int capabilities_drop_of_supervisor(void);

/* --- landlock.c ----------------------------------------------------------------------------------- */

/* Restricts the process to the paths. Returns the version of the Landlock interface, or -errno: -ENOSYS or -EOPNOTSUPP
 * if the kernel does not support Landlock. */
int landlock_enter(const struct sandbox_path *paths, size_t count);

/* --- seccomp.c ------------------------------------------------------------------------------------ */

/* A BPF program for the kernel; the owner frees `code`. */
struct filter {
    struct sock_filter *code;
    unsigned short length;
};

/* Build the filters: for an engine, for its workers, and for the supervisor. Return 0 or -errno. */
int filter_of_process(struct filter *out, bool unix_clients, bool packet_sockets);
int filter_of_worker(struct filter *out, bool packet_sockets);
int filter_of_supervisor(struct filter *out);
/* Installs the filter for the calling thread or, with `all_threads`, for all threads of the process. Returns 0 or
 * -errno. */
int filter_install(const struct filter *filter, bool all_threads);

#endif
