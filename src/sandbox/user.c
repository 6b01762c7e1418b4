/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which user, and becoming it. A user that somebody named must be there; one that nobody named is taken if it is there,
 * so that the same configuration works in a container that has no users.
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

static int find_group(struct sandbox_user *user, const char *name, char error[SANDBOX_ERROR_SIZE])
{
    const struct group *group = name ? getgrnam(name) : NULL;

    if (!name)
        return 0;
    if (!group)
        return refuse(error, -ENOENT, "run-as.group", name, "there is no such group");
    user->gid = group->gr_gid;
    return 0;
}

static void stay(struct sandbox_user *out)
{
    const struct passwd *self = getpwuid(geteuid());

    *out = (struct sandbox_user){ .uid = geteuid(), .gid = getegid() };
    if (self)
        snprintf(out->name, sizeof(out->name), "%s", self->pw_name);
    else
        snprintf(out->name, sizeof(out->name), "%u", (unsigned)out->uid);
}

int sandbox_find_user(struct sandbox_user *out, const char *user, const char *group, char error[SANDBOX_ERROR_SIZE])
{
    struct sandbox_user found;
    const struct passwd *entry;
    int err;

    stay(&found);
    entry = user || geteuid() == 0 ? getpwnam(user ? user : SANDBOX_DEFAULT_USER) : NULL;
    if (user && !entry)
        return refuse(error, -ENOENT, "run-as.user", user, "there is no such user: add it, or name another one");
    found.missing = !entry && geteuid() == 0;
    if (entry) {
        found.uid = entry->pw_uid;
        found.gid = entry->pw_gid;
        snprintf(found.name, sizeof(found.name), "%s", entry->pw_name);
    }
    err = find_group(&found, group, error);
    if (err)
        return err;
    found.change = found.uid != geteuid() || found.gid != getegid();
    if (found.change && geteuid() != 0)
        return refuse(error, -EPERM, user ? "run-as.user" : "run-as.group", user ? user : group,
                      "only root can become somebody else: start as that user, or as root");
    *out = found;
    return 0;
}

static int change(const struct sandbox_user *user)
{
    if (user->uid != geteuid() && initgroups(user->name, user->gid))
        return -errno;
    if (setresgid(user->gid, user->gid, user->gid))
        return -errno;
    return setresuid(user->uid, user->uid, user->uid) ? -errno : 0;
}

int sandbox_become(const struct sandbox_user *user, char error[SANDBOX_ERROR_SIZE])
{
    int err;

    if (!user->change)
        return 0;
    err = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ? -errno : change(user);
    if (!err)
        err = capabilities_raise();
    if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) && !err)
        err = -errno;
    return err ? refuse(error, err, "run-as.user", user->name, strerror(-err)) : 0;
}
