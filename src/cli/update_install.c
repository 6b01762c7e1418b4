/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Installs the files of an update. The folder of the rules is not replaced, because Landlock permits the engine to read
 * this folder only, not a new folder with the same path. Each file in it is exchanged with the new file
 * (RENAME_EXCHANGE), so a daemon that starts meanwhile finds the old or the new file. The old files are kept, so that
 * the exchange can be reversed.
 */
#include "update_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 64 << 10, OPEN_FOLDERS = 16 };

void update_path(char out[UPDATE_PATH_SIZE], const char *folder, const char *name)
{
    snprintf(out, UPDATE_PATH_SIZE, "%.*s/%.*s", UPDATE_PATH_SIZE / 2, folder, UPDATE_PATH_SIZE / 2 - 2, name);
}

int update_read_file(const char *path, struct text *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
    ssize_t n = 1;

    if (fd < 0)
        return -errno;
    while (!err && n > 0) {
        char *room = text_reserve(out, PIECE);

        n = room ? read(fd, room, PIECE) : 0;
        err = !room ? -ENOMEM : n < 0 ? -errno : 0;
        if (room)
            text_commit(out, n > 0 ? (size_t)n : 0); /* also ends an empty text with NUL */
    }
    close(fd);
    return err;
}

int update_copy_file(const char *from, const char *to)
{
    struct text content;
    int fd, err;

    text_init(&content);
    err = update_read_file(from, &content);
    fd = err ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (!err && fd < 0)
        err = -errno;
    for (size_t at = 0; !err && at < content.length;) {
        ssize_t n = write(fd, content.bytes + at, content.length - at);

        err = n < 0 ? -errno : 0;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && close(fd) && !err)
        err = -errno;
    text_clear(&content);
    return err;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status;
    (void)kind;
    (void)ftw;
    return remove(path) ? -errno : 0;
}

int update_remove_tree(const char *path)
{
    struct stat status;

    if (lstat(path, &status))
        return errno == ENOENT ? 0 : -errno;
    return nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

static bool same_file(const char *one, const char *other)
{
    struct text a, b;
    bool same;

    text_init(&a);
    text_init(&b);
    same = update_read_file(one, &a) == 0 && update_read_file(other, &b) == 0 && a.length == b.length &&
           (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
    text_clear(&a);
    text_clear(&b);
    return same;
}

bool update_same_tree(const char *one, const char *other)
{
    struct stat status, other_status;
    struct dirent **entries;
    bool same = true;
    int count;

    if (stat(one, &status) || stat(other, &other_status))
        return false;
    if (!S_ISDIR(status.st_mode))
        return S_ISREG(other_status.st_mode) && same_file(one, other);
    count = scandir(one, &entries, is_entry, alphasort);
    if (count < 0)
        return false;
    for (int i = 0; same && i < count; i++) {
        char below[UPDATE_PATH_SIZE], other_below[UPDATE_PATH_SIZE];

        update_path(below, one, entries[i]->d_name);
        update_path(other_below, other, entries[i]->d_name);
        same = update_same_tree(below, other_below);
    }
    free_entries(entries, count);
    return same;
}

/* Exchanges two names. On a file system without RENAME_EXCHANGE (NFS) the name in `live` is missing for a moment. */
static int exchange(const char *staged, const char *live)
{
    char aside[UPDATE_PATH_SIZE];

    if (renameat2(AT_FDCWD, staged, AT_FDCWD, live, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (snprintf(aside, sizeof(aside), "%s.aside", staged) >= (int)sizeof(aside))
        return -ENAMETOOLONG;
    if (rename(live, aside))
        return -errno;
    if (rename(staged, live)) {
        int err = -errno;

        return rename(aside, live) ? -errno : err;
    }
    return rename(aside, staged) ? -errno : 0;
}

/* Sorts the rule file last: the files that it names are in place before it. */
static int rule_file_last(const struct dirent **one, const struct dirent **other)
{
    bool a = strcmp((*one)->d_name, UPDATE_RULE_FILE) == 0, b = strcmp((*other)->d_name, UPDATE_RULE_FILE) == 0;

    return a != b ? a - b : strcmp((*one)->d_name, (*other)->d_name);
}

int update_swap(struct update *update)
{
    char staged[UPDATE_PATH_SIZE], live[UPDATE_PATH_SIZE];
    struct stat status;
    int err = 0;

    update->entry_count = scandir(update->staging, &update->entries, is_entry, rule_file_last);
    update->swapped = 0;
    if (update->entry_count < 0)
        return -errno;
    if (update->entry_count > UPDATE_MAX_SOURCES)
        err = -E2BIG;
    for (int i = 0; !err && i < update->entry_count; i++) {
        update_path(staged, update->staging, update->entries[i]->d_name);
        update_path(live, update->live, update->entries[i]->d_name);
        update->created[i] = lstat(live, &status) != 0;
        if (update->created[i])
            err = rename(staged, live) ? -errno : 0;
        else
            err = exchange(staged, live);
        if (!err)
            update->swapped++;
    }
    if (err)
        update_swap_back(update);
    return err;
}

int update_swap_back(struct update *update)
{
    char staged[UPDATE_PATH_SIZE], live[UPDATE_PATH_SIZE];
    int first = 0;

    while (update->swapped > 0) {
        int i = --update->swapped, err;

        update_path(staged, update->staging, update->entries[i]->d_name);
        update_path(live, update->live, update->entries[i]->d_name);
        err = update->created[i] ? (rename(live, staged) ? -errno : 0) : exchange(staged, live);
        first = first ? first : err;
    }
    update_swap_finish(update);
    return first;
}

void update_swap_finish(struct update *update)
{
    free_entries(update->entries, update->entry_count);
    update->entries = NULL;
    update->entry_count = update->swapped = 0;
}
