/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies all restrictions in the order that their dependencies require. The filters are built first, because that
 * needs memory and a file; capabilities are dropped before no_new_privs is set, which Landlock and seccomp filters of
 * users other than root require.
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

static int make_filters(struct sandbox *sandbox, const struct sandbox_options *options)
{
    int err = options->seccomp ? filter_of_process(&sandbox->process, options->unix_clients) : 0;

    return options->seccomp && !err ? filter_of_worker(&sandbox->worker) : err;
}

/* Forbids debuggers and core dumps, which would contain packets. The leak checker needs to be a debugger. */
static int forbid_looking_in(void)
{
    return prctl(PR_SET_DUMPABLE, SANDBOX_IS_CHECKED, 0, 0, 0) ? -errno : 0;
}

static int give_up_privileges(struct sandbox *sandbox, char error[SANDBOX_ERROR_SIZE])
{
    int err = capabilities_drop();

    if (err)
        return fail(error, err, "capabilities");
    sandbox->status.net_admin_only = true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail(error, -errno, "no_new_privs");
    err = forbid_looking_in();
    return err ? fail(error, err, "dumpable") : 0;
}

/* Capabilities of a user other than root are kept across exec only if they are ambient; a process that got them in this
 * way has them set already. */
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
    if (!err && forbid_looking_in())
        err = fail(error, -errno, "dumpable");
    if (!err && seccomp) {
        err = filter_install(&filter, true);
        if (err)
            fail(error, err, "seccomp filter of the supervisor");
    }
    free(filter.code);
    return err;
}

int sandbox_give_up(void)
{
    return capabilities_drop();
}

int sandbox_enter(struct sandbox **out, const struct sandbox_options *options, char error[SANDBOX_ERROR_SIZE])
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    int err = sandbox ? make_filters(sandbox, options) : -ENOMEM;

    if (err) {
        sandbox_free(sandbox);
        return fail(error, err, "filters");
    }
    err = give_up_privileges(sandbox, error);
    if (err) {
        sandbox_free(sandbox);
        return err;
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
