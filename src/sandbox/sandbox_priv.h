/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private declarations of the sandbox module (sluice/sandbox.h). */
#ifndef SANDBOX_PRIV_H
#define SANDBOX_PRIV_H

#include <linux/filter.h>

#include "sluice/sandbox.h"

/* The leak sanitizer stops the process by ptrace() from another process, so builds with sanitizers must allow ptrace()
 * and core dumps. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANDBOX_HAS_SANITIZER = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANDBOX_HAS_SANITIZER = 1 };
#else
enum { SANDBOX_HAS_SANITIZER = 0 };
#endif
#else
enum { SANDBOX_HAS_SANITIZER = 0 };
#endif

/* --- capabilities.c ------------------------------------------------------------------------------- */

/* Makes the permitted capabilities effective again; a change of the user has removed them from the effective set. 0 or
 * -errno. */
int capabilities_raise(void);
/* Drops all capabilities except CAP_NET_ADMIN, also for programs that are executed later. 0 or -errno. */
int capabilities_drop(void);
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
int filter_of_process(struct filter *out, bool unix_clients);
int filter_of_worker(struct filter *out);
int filter_of_supervisor(struct filter *out);
/* Installs the filter for the calling thread or, with `all_threads`, for all threads of the process. Returns 0 or
 * -errno. */
int filter_install(const struct filter *filter, bool all_threads);

#endif
