/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sandbox: the restrictions of processes that parse packets, in case a packet exploits a bug. There are four: an
 * unprivileged user, no capabilities except CAP_NET_ADMIN (the kernel checks it for each verdict) or, for a sensor,
 * CAP_NET_RAW (to open a ring again when an interface is back), Landlock for files, and a seccomp filter. They do not
 * restrict descriptors that are already open, so files and sockets that require more rights are opened before
 * sandbox_enter().
 *
 * A process applies them in two steps. sandbox_change_user() is called at the start, so that the files that it creates
 * belong to the user who opens them again later; the process keeps its capabilities until it has read files that only
 * root can read. sandbox_enter() is called when all files and sockets are open. Each worker thread then installs a
 * stricter seccomp filter.
 *
 * Threads:   call sandbox_change_user() and sandbox_enter() while the process has one thread: capabilities and Landlock
 *            apply to the calling thread and to those that it starts. Each worker calls sandbox_enter_worker() itself.
 * Ownership: the caller owns the sandbox; workers read it until it is freed.
 */
#ifndef SLUICE_SANDBOX_H
#define SLUICE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SANDBOX_ERROR_SIZE = 256, SANDBOX_NAME_SIZE = 64 };

#define SANDBOX_DEFAULT_USER "sluice"

/* --- Supervisor ------------------------------------------------------------------------------------ */

/* Restricts the supervisor, which starts engines and executes a new version of the program: keeps the capabilities that
 * this requires, sets no_new_privs, and installs a seccomp filter if `seccomp` is true. Engines inherit the
 * restrictions and add their own. Returns 0, or -errno with a line in `error`; after an error some of the restrictions
 * may be in effect. */
int sandbox_enter_supervisor(bool seccomp, char error[SANDBOX_ERROR_SIZE]);

/* --- User ----------------------------------------------------------------------------------------- */

struct sandbox_user {
    uid_t uid;
    gid_t gid;
    bool change;  /* true: the process must change to this user; false: it runs as this user already */
    bool missing; /* true: the process keeps running as root, because SANDBOX_DEFAULT_USER does not exist */
    char name[SANDBOX_NAME_SIZE];
};

/* Finds the user and group with these names. If `user` is NULL, root changes to SANDBOX_DEFAULT_USER if that user
 * exists; a process of another user keeps its user. 0 or -errno with a line in `error`. */
int sandbox_find_user(struct sandbox_user *out, const char *user, const char *group, char error[SANDBOX_ERROR_SIZE]);
/* Changes to the user and keeps all capabilities. 0 or -errno with a line in `error`. */
int sandbox_change_user(const struct sandbox_user *user, char error[SANDBOX_ERROR_SIZE]);

/* Drops all capabilities except CAP_NET_ADMIN; for a process that does not call sandbox_enter(). 0 or -errno. */
int sandbox_drop_capabilities(void);

/* --- Restrictions --------------------------------------------------------------------------------- */

enum sandbox_right {
    SANDBOX_READ,
    SANDBOX_WRITE, /* read, write, and create, rename and remove files and folders */
};

struct sandbox_path {
    const char *path; /* a folder with everything below it, or a file; skipped if it cannot be opened */
    enum sandbox_right right;
};

struct sandbox_options {
    bool landlock, seccomp;
    const struct sandbox_path *paths;
    size_t path_count;
    bool unix_clients;   /* true: the process may connect to Unix sockets */
    bool packet_sockets; /* true: the process, workers included, may open packet sockets, and keeps CAP_NET_RAW in place
                            of CAP_NET_ADMIN */
};

/* The restrictions in effect. `landlock` and `seccomp` are positive if the restriction is in effect, 0 if it was not
 * requested, and -errno if it failed. */
struct sandbox_status {
    bool net_admin_only, net_raw_only; /* at most one is true: the only capability that the process has kept */
    int landlock;                      /* in effect: version of the kernel's Landlock interface */
    int seccomp;
};

struct sandbox;

/* Applies those requested restrictions that the kernel supports; sandbox_status() returns which are in effect. Returns
 * 0, or -errno with a line in `error` if capabilities cannot be dropped or there is no memory. */
int sandbox_enter(struct sandbox **out, const struct sandbox_options *options, char error[SANDBOX_ERROR_SIZE]);
const struct sandbox_status *sandbox_status(const struct sandbox *sandbox);
void sandbox_free(struct sandbox *sandbox); /* the restrictions stay in effect; NULL is allowed */

/* Restricts the calling worker thread: it can no longer open files or sockets (except packet sockets, if
 * options->packet_sockets was set), or start threads or programs. NULL is allowed. 0 or -errno. */
int sandbox_enter_worker(const struct sandbox *sandbox);

#endif
