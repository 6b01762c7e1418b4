/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies all restrictions in the order that their dependencies require. The seccomp filters are built first, because
 * building them allocates memory and opens a file, which the restrictions may forbid. Capabilities are dropped before
 * no_new_privs is set. Landlock and seccomp come last: for users other than root they require no_new_privs.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct sandbox {
    struct sandbox_status status;
    struct filter process, worker;
};

static int fail(char error[SANDBOX_ERROR_SIZE], int err, const char *what)
{
    snprintf(error, SANDBOX_ERROR_SIZE, "sandbox: %s: %s", what, strerror(-err));
    return err;
}

/* Forbids core dumps, which would contain packets, and debuggers. Builds with sanitizers allow both, because the leak
 * sanitizer attaches like a debugger. Returns 0 or -errno. */
static int forbid_tracing(void)
{
    return prctl(PR_SET_DUMPABLE, SANDBOX_HAS_SANITIZER, 0, 0, 0) ? -errno : 0;
}

int sandbox_enter_supervisor(bool seccomp, char error[SANDBOX_ERROR_SIZE])
{
    struct filter filter = { .code = NULL };
    int err = seccomp ? filter_of_supervisor(&filter) : 0;

    if (err)
        return fail(error, err, "filter of the supervisor");
    err = capabilities_drop_of_supervisor();
    if (err)
        fail(error, err, "capabilities of the supervisor");
    if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        err = fail(error, -errno, "no_new_privs");
    if (!err && forbid_tracing())
        err = fail(error, -errno, "dumpable");
    if (!err && seccomp) {
        err = filter_install(&filter, true);
        if (err)
            fail(error, err, "seccomp filter of the supervisor");
    }
    free(filter.code);
    return err;
}

int sandbox_drop_capabilities(void)
{
    return capabilities_drop(false);
}

int sandbox_enter(struct sandbox **out, const struct sandbox_options *options, char error[SANDBOX_ERROR_SIZE])
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    const char *step = "seccomp filters";
    int err = sandbox ? 0 : -ENOMEM;

    if (!err && options->seccomp)
        err = filter_of_process(&sandbox->process, options->unix_clients, options->packet_sockets);
    if (!err && options->seccomp)
        err = filter_of_worker(&sandbox->worker, options->packet_sockets);
    if (!err) {
        step = "capabilities";
        err = capabilities_drop(options->packet_sockets);
    }
    if (!err) {
        step = "no_new_privs";
        sandbox->status.net_admin_only = !options->packet_sockets;
        sandbox->status.net_raw_only = options->packet_sockets;
        err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
    }
    if (!err) {
        step = "dumpable";
        err = forbid_tracing();
    }
    if (err) {
        sandbox_free(sandbox);
        return fail(error, err, step);
    }
    if (options->landlock)
        sandbox->status.landlock = landlock_enter(options->paths, options->path_count);
    if (options->seccomp) {
        err = filter_install(&sandbox->process, true);
        sandbox->status.seccomp = err ? err : 1;
    }
    *out = sandbox;
    return 0;
}

const struct sandbox_status *sandbox_status(const struct sandbox *sandbox)
{
    return &sandbox->status;
}

int sandbox_enter_worker(const struct sandbox *sandbox)
{
    return sandbox && sandbox->status.seccomp > 0 ? filter_install(&sandbox->worker, false) : 0;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    free(sandbox->process.code);
    free(sandbox->worker.code);
    free(sandbox);
}
