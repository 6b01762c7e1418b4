/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache folder. A file is written under a temporary name and then renamed, so that a reader finds the complete file
 * or none. If two processes write a file, the second one replaces it by the same content. Files are not synced: a file
 * that a crash truncated fails the digest check. A file is read into memory before it is checked, because a mapped file
 * can change under the reader.
 *
 * Only files that belong to this user or root and that no one else can write are accepted: the folder may be in a place
 * where other users can create files. Other files are reported, except to root when they belong to the folder's owner,
 * the user of the daemon.
 *
 * The modification time of a file is the time of its last use.
 *
 * Locks:     cache.lock protects the recorded errors.
 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/folder.h"
#include "sluice/hex.h"

static const char suffix[] = ".database";
static const char temporary[] = ".new-";

enum {
    HEX_SIZE = 2 * CACHE_KEY_SIZE,
    NAME_SIZE = HEX_SIZE + sizeof(suffix),
    TEMPORARY_SIZE = 64,
    REJECTED_MAX = 8,
    /* Files used within this time are not removed: a starting process may be about to read them. */
    SECONDS_IN_USE = 3600,
};

struct rejected {
    char name[NAME_SIZE];
    const char *cause;
};

struct cache {
    struct cache_options options;
    char *path;
    int folder;
    atomic_uint temporaries;
    pthread_mutex_t lock; /* protects the following members */
    struct rejected rejected[REJECTED_MAX];
    unsigned rejected_count; /* number of invalid files; those beyond REJECTED_MAX are counted but not stored */
    int put_error;
};

int cache_open(struct cache **out, const struct cache_options *options)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    int err = -ENOMEM;

    if (!cache)
        return -ENOMEM;
    cache->options = *options;
    cache->path = strdup(options->path);
    if (!cache->path)
        goto free_cache;
    err = folder_create(cache->path);
    if (err)
        goto free_path;
    cache->folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cache->folder < 0) {
        err = -errno;
        goto free_path;
    }
    pthread_mutex_init(&cache->lock, NULL);
    *out = cache;
    return 0;

free_path:
    free(cache->path);
free_cache:
    free(cache);
    return err;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->lock);
    close(cache->folder);
    free(cache->path);
    free(cache);
}

static void format_name(char out[NAME_SIZE], const struct cache_key *key)
{
    memcpy(hex_write(out, key->bytes, CACHE_KEY_SIZE), suffix, sizeof(suffix));
}

void cache_reject(struct cache *cache, const struct cache_key *key, const char *cause)
{
    struct rejected rejected = { .cause = cause };
    bool is_known = false; /* true: this file was recorded before, because two databases may have the same key */

    format_name(rejected.name, key);
    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < cache->rejected_count && i < REJECTED_MAX; i++)
        is_known |= strcmp(cache->rejected[i].name, rejected.name) == 0;
    if (!is_known) {
        if (cache->rejected_count < REJECTED_MAX)
            cache->rejected[cache->rejected_count] = rejected;
        cache->rejected_count++;
    }
    pthread_mutex_unlock(&cache->lock);
}

/* --- Reading -------------------------------------------------------------------------------------- */

/* Reads the item of a key from a file. On success fills *out and returns NULL. Otherwise returns the error text, which
 * is empty for an error that need not be reported. */
static const char *read_item(const struct cache *cache, const struct cache_key *key, int file, struct cache_item *out)
{
    const char *cause;
    uint8_t *memory;
    struct stat st, folder;
    size_t size, done = 0;
    ssize_t got = 1;

    if (fstat(file, &st))
        return "";
    if (!S_ISREG(st.st_mode))
        return "not a regular file";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "another user can write the file";
    /* `sluice check` run by root does not use the files of the daemon's user. As long as the folder is that user's,
     * too, this is no error. */
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return geteuid() == 0 && fstat(cache->folder, &folder) == 0 && folder.st_uid == st.st_uid
                   ? ""
                   : "another user can write the file";
    if (st.st_size < CACHE_FILE_HEADER || st.st_size > CACHE_FILE_MAX)
        return "wrong size";
    size = (size_t)st.st_size;
    memory = malloc(size);
    if (!memory)
        return "";
    while (done < size && (got > 0 || (got < 0 && errno == EINTR))) {
        got = read(file, memory + done, size - done);
        done += got > 0 ? (size_t)got : 0;
    }
    cause = done == size ? cache_file_check(key, memory, size) : "read error";
    if (cause) {
        free(memory);
        return cause;
    }
    futimens(file, NULL); /* Record the time of use. This fails if root owns the file and this process is not root's. */
    *out = (struct cache_item){ memory, memory + CACHE_FILE_HEADER, size - CACHE_FILE_HEADER };
    return NULL;
}

bool cache_get(struct cache *cache, const struct cache_key *key, struct cache_item *out)
{
    char name[NAME_SIZE];
    const char *cause = "";
    int file;

    format_name(name, key);
    file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        cause = read_item(cache, key, file, out);
        close(file);
    } else if (errno == ELOOP) {
        cause = "symbolic link";
    }
    if (cause && *cause)
        cache_reject(cache, key, cause);
    return !cause;
}

/* --- Writing -------------------------------------------------------------------------------------- */

static int write_whole(int file, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t done = write(file, at, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

static int write_item(struct cache *cache, const struct cache_key *key, const void *bytes, size_t length)
{
    uint8_t header[CACHE_FILE_HEADER];
    char name[NAME_SIZE], new_name[TEMPORARY_SIZE];
    uint64_t nonce = 0; /* distinguishes processes of other PID namespaces, and other caches of this process */
    struct stat folder;
    int file, err = 0;

    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) < 0)
        nonce = (uint64_t)time(NULL);
    snprintf(new_name, sizeof(new_name), "%s%d-%u-%016" PRIx64, temporary, (int)getpid(),
             atomic_fetch_add(&cache->temporaries, 1), nonce);
    format_name(name, key);
    cache_file_header(header, key, bytes, length);

    file = openat(cache->folder, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST)
        return 0;
    if (file < 0)
        return -errno;
    /* `sluice check` run by root may write into the daemon's folder: let the daemon read the file by its group. */
    if (geteuid() == 0 &&
        (fstat(cache->folder, &folder) || fchown(file, (uid_t)-1, folder.st_gid) || fchmod(file, 0640)))
        err = -errno;
    if (!err)
        err = write_whole(file, header, CACHE_FILE_HEADER);
    if (!err)
        err = write_whole(file, bytes, length);
    if (close(file) && !err)
        err = -errno;
    if (!err && renameat(cache->folder, new_name, cache->folder, name))
        err = -errno;
    if (err)
        unlinkat(cache->folder, new_name, 0);
    return err;
}

void cache_put(struct cache *cache, const struct cache_key *key, const void *bytes, size_t length)
{
    bool has_failed;
    int err;

    pthread_mutex_lock(&cache->lock);
    has_failed = cache->put_error != 0;
    pthread_mutex_unlock(&cache->lock);
    if (has_failed || length > CACHE_FILE_MAX - CACHE_FILE_HEADER)
        return;
    err = write_item(cache, key, bytes, length);
    if (!err)
        return;
    pthread_mutex_lock(&cache->lock);
    cache->put_error = err;
    pthread_mutex_unlock(&cache->lock);
}

/* --- Removal of old files ------------------------------------------------------------------------- */

struct cached_file {
    char name[NAME_SIZE];
    int64_t used; /* time of the last use, in seconds since the epoch */
    uint64_t bytes;
};

struct inventory {
    struct cached_file *files;
    size_t count, capacity;
    uint64_t bytes;
};

/* Lists the cache files, and removes temporary files that are not in use any more (SECONDS_IN_USE): their process ended
 * before the rename. */
static void read_folder(struct cache *cache, struct inventory *inventory, int64_t now)
{
    int folder = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);

    if (!dir) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        struct stat st;

        if (fstatat(cache->folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(name, temporary, sizeof(temporary) - 1) == 0 && now - st.st_mtim.tv_sec > SECONDS_IN_USE)
            unlinkat(cache->folder, name, 0);
        if (strspn(name, hex_digits) != HEX_SIZE || strcmp(name + HEX_SIZE, suffix) != 0)
            continue;
        if (inventory->count == inventory->capacity) {
            size_t capacity = inventory->capacity ? inventory->capacity * 2 : 256;
            struct cached_file *files = realloc(inventory->files, capacity * sizeof(*files));

            if (!files) /* no memory: the file is not listed, and kept until the next call */
                continue;
            inventory->files = files;
            inventory->capacity = capacity;
        }
        struct cached_file *cached_file = &inventory->files[inventory->count++];

        memcpy(cached_file->name, name, NAME_SIZE);
        cached_file->used = st.st_mtim.tv_sec;
        cached_file->bytes = (uint64_t)st.st_size;
        inventory->bytes += cached_file->bytes;
    }
    closedir(dir);
}

static int compare_use(const void *left, const void *right)
{
    const struct cached_file *a = left, *b = right;

    return (a->used > b->used) - (a->used < b->used);
}

void cache_expire(struct cache *cache)
{
    struct inventory inventory = { .files = NULL };
    uint64_t max_age = cache->options.max_age_seconds, max_bytes = cache->options.max_bytes;
    int64_t now = time(NULL);

    read_folder(cache, &inventory, now);
    if (inventory.count > 0)
        qsort(inventory.files, inventory.count, sizeof(*inventory.files), compare_use);
    for (size_t i = 0; i < inventory.count; i++) {
        int64_t unused = now - inventory.files[i].used;
        bool is_old = max_age > 0 && unused > 0 && (uint64_t)unused > max_age;

        if (unused <= SECONDS_IN_USE || (!is_old && (max_bytes == 0 || inventory.bytes <= max_bytes)))
            break; /* the remaining files were used later */
        unlinkat(cache->folder, inventory.files[i].name, 0);
        inventory.bytes -= inventory.files[i].bytes;
    }
    free(inventory.files);
}

void cache_report(const struct cache *cache, struct diag *diag)
{
    char path[PATH_MAX];

    for (unsigned i = 0; i < cache->rejected_count && i < REJECTED_MAX; i++) {
        snprintf(path, sizeof(path), "%s/%s", cache->path, cache->rejected[i].name);
        diag_warning(diag, (struct position){ .file = path }, "cache file not used, database compiled again: %s",
                     cache->rejected[i].cause);
    }
    if (cache->rejected_count > REJECTED_MAX)
        diag_warning(diag, (struct position){ .file = cache->path }, "%u more cache files not used",
                     cache->rejected_count - REJECTED_MAX);
    if (cache->put_error)
        diag_warning(diag, (struct position){ .file = cache->path },
                     "cannot write to the cache: %s; the database is compiled again at the next start",
                     strerror(-cache->put_error));
}
