/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the files of the sandbox (sluice/sandbox.h). */
#ifndef SANDBOX_PRIV_H
#define SANDBOX_PRIV_H

#include <linux/filter.h>

#include "sluice/sandbox.h"

/* The leak checker stops its process with a tracer that is a separate process: builds with it forbid less. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANDBOX_IS_CHECKED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANDBOX_IS_CHECKED = 1 };
#else
enum { SANDBOX_IS_CHECKED = 0 };
#endif
#else
enum { SANDBOX_IS_CHECKED = 0 };
#endif

/* --- capabilities.c ------------------------------------------------------------------------------- */

/* Makes the permitted capabilities effective again after a change of the user. 0 or -errno. */
int capabilities_raise(void);
/* Drops all capabilities but CAP_NET_ADMIN, also for programs that are executed later. 0 or -errno. */
int capabilities_drop(void);
/* Drops all capabilities but those of the supervisor: for queues and table, to start engines as another user, and to
 * signal them. 0 or -errno. */
int capabilities_drop_of_supervisor(void);

/* --- landlock.c ----------------------------------------------------------------------------------- */

/* Applies the rules. Returns the version of the interface, or -errno: -ENOSYS and -EOPNOTSUPP if the kernel lacks it.
 */
int landlock_enter(const struct sandbox_path *paths, size_t count);

/* --- seccomp.c ------------------------------------------------------------------------------------ */

/* A BPF program for the kernel; the owner frees `code`. */
struct filter {
    struct sock_filter *code;
    unsigned short length;
};

/* 0 or -errno. */
int filter_of_process(struct filter *out, bool unix_clients);
int filter_of_worker(struct filter *out);
int filter_of_supervisor(struct filter *out);
/* Installs the filter for this thread or for all threads. 0 or -errno. */
int filter_install(const struct filter *filter, bool all_threads);

#endif
