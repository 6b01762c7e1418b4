/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capture files of a folder, and those that are added to it: `sluice replay FOLDER` and the pcap-file commands of
 * `sluice replay --unix-socket`.
 *
 * Files whose names begin with a dot are ignored, because programs that copy files name temporary files so.
 *
 * Threads:   one.
 * Ownership: paths are valid until the next scan.
 */
#ifndef SLUICE_CAPTURE_FOLDER_H
#define SLUICE_CAPTURE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct capture_folder_options {
    bool recursive;
    /* true: files are ordered by the time of their first packet, and files that are not captures are skipped with a
     * log line; false: all files, by name */
    bool opens_files;
    /* A file is ready when it has not changed for this number of seconds; 0: at once. */
    unsigned delay_seconds;
    /* A file is ready when its marker exists: a file with its name and this suffix, which is not a capture. NULL:
     * delay_seconds decides. */
    const char *done_marker;
};

struct capture_folder;

/* Returns 0 or -ENOMEM. The options are copied, and `done_marker` is borrowed. */
int capture_folder_new(struct capture_folder **out, const char *path, const struct capture_folder_options *options);
void capture_folder_free(struct capture_folder *folder); /* NULL is allowed */

/* Finds files that are ready and were not returned before. Returns 0, or -errno if the folder cannot be read. */
int capture_folder_scan(struct capture_folder *folder);
/* Returns the path of the next file that the last scan found; NULL: none. */
const char *capture_folder_next(struct capture_folder *folder);

#endif
