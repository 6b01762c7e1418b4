/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each scan builds a new list of the files that are in the folder, sorted by path, and copies the states of the files
 * of the previous list. So memory is only needed for the files that are in the folder now, not for all that have been
 * there.
 *
 * The folder is polled: inotify does not report files that another host writes to a network file system.
 */
#include "capture_folder.h"

#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/log.h"

enum { MAX_FILES = 1 << 20 };

enum file_state {
    FILE_NEW,    /* may still be written */
    FILE_QUEUED, /* capture_folder_next() will return it */
    FILE_DONE,   /* was returned, or is skipped */
};

struct file {
    char *path;
    const char *name; /* last component of `path` */
    enum file_state state;
    bool is_logged; /* a message about the file was logged */
    struct stat status;
    uint64_t since_ns; /* monotonic time at which the last change was noticed */
    uint64_t first_ns; /* time of the first packet; 0: none */
};

struct capture_folder {
    struct capture_folder_options options;
    struct file *files; /* sorted by path */
    size_t count, room;
    struct file **queue; /* files of `files` in the order in which they are returned */
    size_t queued, returned;
    bool is_full; /* the limit was reported */
    char path[];
};

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct file *)left)->path, ((const struct file *)right)->path);
}

static int by_time(const void *left, const void *right)
{
    const struct file *a = *(const struct file *const *)left, *b = *(const struct file *const *)right;

    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void free_files(struct file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].path);
    free(files);
}

/* --- Files ------------------------------------------------------------------------------------------ */

static bool is_marker(const struct capture_folder *folder, const char *name)
{
    const char *suffix = folder->options.done_marker;
    size_t length = strlen(name), suffix_length = suffix ? strlen(suffix) : 0;

    return suffix && length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* Adds a file to the list. Returns 0 or -ENOMEM. */
static int add_file(struct capture_folder *folder, const FTSENT *entry, const struct stat *status)
{
    struct file file = { .status = *status, .since_ns = clock_monotonic_ns() };

    if (folder->count == MAX_FILES) {
        if (!folder->is_full)
            log_warning("folder %s has more than %d files; the others are ignored", folder->path, MAX_FILES);
        folder->is_full = true;
        return 0;
    }
    if (folder->count == folder->room) {
        size_t room = folder->room ? 2 * folder->room : 64;
        struct file *more = realloc(folder->files, room * sizeof(*more));

        if (!more)
            return -ENOMEM;
        folder->files = more;
        folder->room = room;
    }
    file.path = strdup(entry->fts_path);
    if (!file.path)
        return -ENOMEM;
    file.name = file.path + (entry->fts_pathlen - entry->fts_namelen);
    folder->files[folder->count++] = file;
    return 0;
}

/* Lists the files of the folder. Links to files are followed, links to folders are not. */
static int list_files(struct capture_folder *folder)
{
    char *const paths[] = { folder->path, NULL };
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int err = fts ? 0 : -errno;

    while (!err && (entry = fts_read(fts))) {
        struct stat status;

        if (entry->fts_level == FTS_ROOTLEVEL) {
            if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
                err = -entry->fts_errno;
            else if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
                err = -ENOTDIR;
            continue;
        }
        if (entry->fts_name[0] == '.' || (entry->fts_info == FTS_D && !folder->options.recursive))
            fts_set(fts, entry, FTS_SKIP);
        else if ((entry->fts_info == FTS_F || entry->fts_info == FTS_SL) && stat(entry->fts_path, &status) == 0 &&
                 S_ISREG(status.st_mode))
            err = add_file(folder, entry, &status);
    }
    if (fts)
        fts_close(fts);
    if (folder->count > 0)
        qsort(folder->files, folder->count, sizeof(*folder->files), by_path);
    return err;
}

static bool is_unchanged(const struct stat *before, const struct stat *now)
{
    return before->st_size == now->st_size && before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
           before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

/* Copies the state that the file had in the previous scan. A file that replaced it is a new one. */
static void copy_state(struct file *file, const struct file *before)
{
    bool unchanged = is_unchanged(&before->status, &file->status);

    if (before->status.st_ino != file->status.st_ino || before->status.st_dev != file->status.st_dev)
        return;
    file->state = before->state;
    file->is_logged = before->is_logged;
    if (unchanged)
        file->since_ns = before->since_ns;
    if (!unchanged && file->state == FILE_DONE && !file->is_logged) {
        log_warning("%s changed after it was inspected; the change is not inspected. Write a file "
                    "under a name that begins with a dot, and rename it when it is complete",
                    file->path);
        file->is_logged = true;
    }
}

/* Returns whether the file is complete. */
static bool is_ready(const struct capture_folder *folder, const struct file *file)
{
    uint64_t delay_ns = folder->options.delay_seconds * NS_PER_SECOND;
    const char *suffix = folder->options.done_marker;

    if (suffix) {
        char marker[4096];
        int length = snprintf(marker, sizeof(marker), "%s%s", file->path, suffix);

        return length > 0 && (size_t)length < sizeof(marker) && access(marker, F_OK) == 0;
    }
    /* The modification time may be that of another host's clock, so a file that does not change is ready as well. */
    return clock_monotonic_ns() - file->since_ns >= delay_ns ||
           time(NULL) - file->status.st_mtim.tv_sec > (time_t)folder->options.delay_seconds;
}

/* Reads the time of the first packet. Returns whether the file is a capture; logs a message if it is none. */
static bool open_file(struct file *file)
{
    char cause[CAPTURE_ERROR_SIZE];
    struct capture *capture = NULL;
    struct packet *pkt;
    int err = pcap_file_open(&capture, file->path, 0, cause);

    if (err) {
        log_info("%s; the file is skipped", cause);
        file->is_logged = true;
        return false;
    }
    if (capture_receive(capture, &pkt, 1, 0) == 1)
        file->first_ns = pkt->time_ns;
    capture_close(capture);
    return true;
}

/* --- Scan ------------------------------------------------------------------------------------------- */

int capture_folder_scan(struct capture_folder *folder)
{
    struct file *before = folder->files;
    size_t before_count = folder->count, next = 0;
    int err;

    folder->files = NULL;
    folder->count = folder->room = folder->queued = folder->returned = 0;
    free(folder->queue);
    folder->queue = NULL;
    err = list_files(folder);
    if (!err && folder->count > 0 && !(folder->queue = calloc(folder->count, sizeof(struct file *))))
        err = -ENOMEM;
    if (err) { /* keep the states for the next scan */
        free_files(folder->files, folder->count);
        folder->files = before;
        folder->count = folder->room = before_count;
        return err;
    }
    for (size_t i = 0; i < folder->count; i++) {
        struct file *file = &folder->files[i];

        while (next < before_count && strcmp(before[next].path, file->path) < 0)
            next++;
        if (next < before_count && strcmp(before[next].path, file->path) == 0)
            copy_state(file, &before[next]);
        if (file->state == FILE_QUEUED) /* the user has not called capture_folder_next() for it */
            file->state = FILE_NEW;
        if (file->state != FILE_NEW || is_marker(folder, file->name) || !is_ready(folder, file))
            continue;
        file->state = FILE_DONE;
        if (!folder->options.opens_files || open_file(file)) {
            file->state = FILE_QUEUED;
            folder->queue[folder->queued++] = file;
        }
    }
    if (folder->options.opens_files && folder->queued > 0)
        qsort(folder->queue, folder->queued, sizeof(*folder->queue), by_time);
    free_files(before, before_count);
    return 0;
}

const char *capture_folder_next(struct capture_folder *folder)
{
    if (folder->returned == folder->queued)
        return NULL;

    struct file *file = folder->queue[folder->returned++];

    file->state = FILE_DONE;
    return file->path;
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

int capture_folder_new(struct capture_folder **out, const char *path, const struct capture_folder_options *options)
{
    size_t length = strlen(path);
    struct capture_folder *folder;

    while (length > 1 && path[length - 1] == '/')
        length--;
    folder = calloc(1, sizeof(*folder) + length + 1);
    if (!folder)
        return -ENOMEM;
    folder->options = *options;
    memcpy(folder->path, path, length);
    *out = folder;
    return 0;
}

void capture_folder_free(struct capture_folder *folder)
{
    if (!folder)
        return;
    free_files(folder->files, folder->count);
    free(folder->queue);
    free(folder);
}
