/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of the sandbox: see sluice/sandbox.h. */
#ifndef SANDBOX_PRIV_H
#define SANDBOX_PRIV_H

#include <linux/filter.h>

#include "sluice/sandbox.h"

/* The leak checker stops the process it runs in, by a tracer that is no thread: builds with it forbid a little less. */
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

/* Makes those that are permitted effective again, which a change of the user takes away. 0 or -errno. */
int capabilities_raise(void);
/* Leaves CAP_NET_ADMIN, for good and for what is started later. 0 or -errno. */
int capabilities_drop(void);
/* Leaves what the keeper needs: for the queues and the table, to start engines as another user, and to signal them. 0
 * or -errno. */
int capabilities_drop_of_keeper(void);

/* --- landlock.c ----------------------------------------------------------------------------------- */

/* The version of the interface that is in force now, or -errno: -ENOSYS and -EOPNOTSUPP where the kernel has it not. */
int landlock_enter(const struct sandbox_path *paths, size_t count);

/* --- seccomp.c ------------------------------------------------------------------------------------ */

/* A program of the kernel's filter machine; `code` is the owner's to free. */
struct filter {
    struct sock_filter *code;
    unsigned short length;
};

/* 0 or -errno. */
int filter_of_process(struct filter *out, bool unix_clients);
int filter_of_worker(struct filter *out);
int filter_of_keeper(struct filter *out);
/* Of this thread, or of all. 0 or -errno. */
int filter_install(const struct filter *filter, bool all_threads);

#endif
