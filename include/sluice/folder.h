/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders of the program's files. Threads: no state. */
#ifndef SLUICE_FOLDER_H
#define SLUICE_FOLDER_H

#include <sys/types.h>

/* Creates a folder and its missing parents with mode 0750. Returns 0 or -errno; -ENAMETOOLONG also for an empty path.
 * An existing path is left unchanged, whether it is a folder or not. */
int folder_create(const char *path);
/* Creates folders like folder_create(), and sets the owner and group of the folders that it has created. */
int folder_create_for_owner(const char *path, uid_t owner, gid_t group);

#endif
