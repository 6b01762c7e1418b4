/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See memory_file.h. */
#include "memory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int memory_file_open(const void *bytes, size_t length, char path[MEMORY_FILE_PATH])
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        abort();
    snprintf(path, MEMORY_FILE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}
