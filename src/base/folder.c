/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/folder.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int folder_make(const char *path)
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
        if (mkdir(copy, 0750) && errno != EEXIST)
            return -errno;
        if (end == '\0')
            return 0;
        *at = end;
    }
}
