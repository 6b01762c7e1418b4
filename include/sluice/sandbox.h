/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sandbox: what a process that looks at hostile packets gives up before the first one. Four walls, one behind the
 * other: a user of its own, no capability but CAP_NET_ADMIN (the kernel asks for it with every verdict), Landlock for
 * files, and lists of system calls. None of them is of any use to what is already open, so descriptors that need more
 * are opened before.
 *
 * Two steps. sandbox_become() at the very start, so that files are made by who will have to open them again;
 * capabilities stay, and what root can read is read. sandbox_enter() when all is open. A worker thread goes behind a
 * fifth wall at its start: it opens nothing.
 *
 * Threads:   sandbox_become() and sandbox_enter() while the process has one thread: capabilities and Landlock are a
 * thread's own, and are handed on to those that it starts. sandbox_enter_worker() is called by the thread itself.
 * Ownership: the sandbox is the caller's; workers read it until it is freed.
 */
#ifndef SLUICE_SANDBOX_H
#define SLUICE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SANDBOX_ERROR_SIZE = 256, SANDBOX_NAME_SIZE = 64 };

#define SANDBOX_DEFAULT_USER "sluice"

/* --- Supervisor ------------------------------------------------------------------------------------ */

/* For the process that starts the others, and executes another version of the program: leaves the capabilities that it
 * needs, sets no_new_privs, and, with `seccomp`, a list of system calls. The processes that it starts have less still.
 * 0, or -errno with a line in `error`; some of it may be in force then. */
int sandbox_enter_supervisor(bool seccomp, char error[SANDBOX_ERROR_SIZE]);

/* --- Who ------------------------------------------------------------------------------------------ */

struct sandbox_user {
    uid_t uid;
    gid_t gid;
    bool change;  /* false: stay who we are */
    bool missing; /* we are root, and stay it for lack of SANDBOX_DEFAULT_USER */
    char name[SANDBOX_NAME_SIZE];
};

/* Whom `user` and `group` name; NULL: SANDBOX_DEFAULT_USER, if we are root and it is there. 0 or -errno with a line in
 * `error`. */
int sandbox_find_user(struct sandbox_user *out, const char *user, const char *group, char error[SANDBOX_ERROR_SIZE]);
/* Becomes that user, with all capabilities that the process has. 0 or -errno with a line in `error`. */
int sandbox_become(const struct sandbox_user *user, char error[SANDBOX_ERROR_SIZE]);

/* The second step for a process that needs no walls: no capability but CAP_NET_ADMIN any more. 0 or -errno. */
int sandbox_give_up(void);

/* --- What may still be done ----------------------------------------------------------------------- */

enum sandbox_right {
    SANDBOX_READ,
    SANDBOX_WRITE, /* read, too, and make, rename and remove files and folders */
};

struct sandbox_path {
    const char *path; /* a folder with all beneath it, or a file; what is not there is passed over */
    enum sandbox_right right;
};

struct sandbox_options {
    bool landlock, seccomp;
    const struct sandbox_path *paths;
    size_t path_count;
    bool unix_clients; /* connects to Unix sockets later */
};

/* What is in force. Of Landlock and system calls: a positive number, or -errno; 0: not asked for. */
struct sandbox_status {
    bool net_admin_only;
    int landlock; /* the version of its interface */
    int seccomp;
};

struct sandbox;

/* Goes behind all walls that the kernel has; `status` says which. 0, or -errno with a line in `error` when capabilities
 * can't be given up or memory is short. */
int sandbox_enter(struct sandbox **out, const struct sandbox_options *options, char error[SANDBOX_ERROR_SIZE]);
const struct sandbox_status *sandbox_status(const struct sandbox *sandbox);
void sandbox_free(struct sandbox *sandbox); /* the walls stay; NULL is allowed */

/* For a thread that judges packets: no file, socket, thread or program any more. NULL is allowed. 0 or -errno. */
int sandbox_enter_worker(const struct sandbox *sandbox);

#endif
