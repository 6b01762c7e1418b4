/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the user of the engine and changes to it. A configured user must exist. The default user is used only if it
 * exists, so that the same configuration works in a container without users.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int refuse(char error[SANDBOX_ERROR_SIZE], int err, const char *setting, const char *name, const char *what)
{
    snprintf(error, SANDBOX_ERROR_SIZE, "%s: %.64s: %s", setting, name, what);
    return err;
}

int sandbox_find_user(struct sandbox_user *out, const char *user, const char *group, char error[SANDBOX_ERROR_SIZE])
{
    struct sandbox_user found = { .uid = geteuid(), .gid = getegid() };
    const struct passwd *entry = getpwuid(found.uid);
    const struct group *named_group = group ? getgrnam(group) : NULL;

    if (entry)
        snprintf(found.name, sizeof(found.name), "%s", entry->pw_name);
    else
        snprintf(found.name, sizeof(found.name), "%u", (unsigned)found.uid);
    entry = user || geteuid() == 0 ? getpwnam(user ? user : SANDBOX_DEFAULT_USER) : NULL;
    if (user && !entry)
        return refuse(error, -ENOENT, "run-as.user", user, "user not found: create it, or set another user");
    found.missing = !entry && geteuid() == 0;
    if (entry) {
        found.uid = entry->pw_uid;
        found.gid = entry->pw_gid;
        snprintf(found.name, sizeof(found.name), "%s", entry->pw_name);
    }
    if (group && !named_group)
        return refuse(error, -ENOENT, "run-as.group", group, "group not found: create it, or set another group");
    if (named_group)
        found.gid = named_group->gr_gid;
    found.change = found.uid != geteuid() || found.gid != getegid();
    if (found.change && geteuid() != 0)
        return refuse(error, -EPERM, user ? "run-as.user" : "run-as.group", user ? user : group,
                      "only root can change the user: start as that user, or as root");
    *out = found;
    return 0;
}

int sandbox_change_user(const struct sandbox_user *user, char error[SANDBOX_ERROR_SIZE])
{
    int err;

    if (!user->change)
        return 0;
    err = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ? -errno : 0;
    if (!err && user->uid != geteuid() && initgroups(user->name, user->gid))
        err = -errno;
    if (!err && setresgid(user->gid, user->gid, user->gid))
        err = -errno;
    if (!err && setresuid(user->uid, user->uid, user->uid))
        err = -errno;
    if (!err)
        err = capabilities_raise();
    if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) && !err)
        err = -errno;
    return err ? refuse(error, err, "run-as.user", user->name, strerror(-err)) : 0;
}
