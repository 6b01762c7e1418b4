/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in memory, for functions that read a file by its path. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <stddef.h>

enum { MEMORY_FILE_PATH = 32 };

/* Creates a file with these bytes and writes its path, which is valid until the returned descriptor is closed. */
int memory_file_open(const void *bytes, size_t length, char path[MEMORY_FILE_PATH]);

#endif
