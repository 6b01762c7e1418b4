/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders that the program keeps its files in. Threads: no state. */
#ifndef SLUICE_FOLDER_H
#define SLUICE_FOLDER_H

/* Makes a folder and those above it where they are missing, for ourselves and our group (0750). 0, or -errno; -ENAMETOOLONG also for an
 * empty path. What is there already is left as it is, be it a folder or not. */
int folder_make(const char *path);

#endif
