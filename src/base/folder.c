/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0750 };

/* Changes the owner through a descriptor opened with O_NOFOLLOW: a process with write access to the parent could
 * replace the new folder by a symbolic link. */
static int change_owner(const char *path, uid_t owner, gid_t group)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

    if (fd < 0)
        return -errno;
    err = fchown(fd, owner, group) ? -errno : 0;
    close(fd);
    return err;
}

static int create_folder(const char *path, uid_t owner, gid_t group)
{
    if (mkdir(path, FOLDER_MODE))
        return errno == EEXIST ? 0 : -errno;
    return owner == geteuid() && group == getegid() ? 0 : change_owner(path, owner, group);
}

int folder_create(const char *path)
{
    return folder_create_for_owner(path, geteuid(), getegid());
}

int folder_create_for_owner(const char *path, uid_t owner, gid_t group)
{
    char copy[PATH_MAX];
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof(copy))
        return -ENAMETOOLONG;
    memcpy(copy, path, length + 1);
    for (char *at = copy + 1;; at++) {
        char end = *at;

        if (end != '/' && end != '\0')
            continue;
        *at = '\0';

        int err = create_folder(copy, owner, group);

        if (err || end == '\0')
            return err;
        *at = end;
    }
}
