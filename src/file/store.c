/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File store. Each worker has a spool, a ring of records for the writer thread: open, bytes, finish, discard. Records
 * of the first two kinds leave RESERVE bytes of the ring free, so that a file can be finished or discarded even when no
 * more bytes fit.
 *
 * The writer thread drains the rings in turn and sleeps for IDLE_WAIT_MS when all are empty. Workers do not wake it,
 * because this would cost them a system call. It keeps at most OPEN_MAX descriptors open; other files are reopened when
 * bytes arrive for them. A file whose writing failed is deleted, and later records for it are ignored.
 */
#include "sluice/file_store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/folder.h"
#include "sluice/hex.h"
#include "sluice/ring.h"

enum {
    RING_SIZE = 4 << 20,
    RING_MIN = 256 << 10,
    RESERVE = 64 << 10, /* bytes of the ring kept free for finish and discard records */
    CHUNK = 32 << 10,
    FILES_MAX = 1024, /* maximum number of files being written at the same time */
    OPEN_MAX = 128,   /* maximum number of open file descriptors */
    IDLE_WAIT_MS = 20,
    LOSSLESS_WAIT_NS = 100 * 1000,
    NAME_SIZE = 48,
    PATH_SIZE = 2 + 1 + 64 + 1,
};

enum record_kind { RECORD_OPEN, RECORD_BYTES, RECORD_FINISH, RECORD_DISCARD };

struct record {
    uint32_t kind, length;
    uint64_t number;
    uint8_t bytes[];
};

struct file_spool {
    struct ring *ring;
    uint64_t last_number;
    bool lossless;
};

struct stored_file {
    unsigned worker;
    uint64_t number;
    /* descriptor of the temporary file; -1: closed because of OPEN_MAX, and opened again for the next bytes */
    int fd;
};

struct file_store {
    struct file_store_options options;
    struct file_spool *spools;
    int dir_fd, tmp_fd, wake_fd;
    bool started;
    pthread_t thread;
    atomic_bool stop;
    _Atomic uint64_t written, errors;
    /* The following members are used by the writer thread only. */
    struct stored_file files[FILES_MAX];
    unsigned file_count, open_count, next_closed;
};

/* --- Worker threads ------------------------------------------------------------------------------- */

static bool write_record(struct file_spool *spool, enum record_kind kind, uint64_t number, const void *bytes,
                         size_t length)
{
    const struct timespec pause = { .tv_nsec = LOSSLESS_WAIT_NS };
    const size_t size = sizeof(struct record) + length;
    const size_t reserve = kind == RECORD_FINISH || kind == RECORD_DISCARD ? 0 : RESERVE;
    struct record *record = NULL;

    for (;;) {
        if (ring_capacity(spool->ring) - ring_used(spool->ring) >= size + reserve)
            record = ring_reserve(spool->ring, size);
        if (record)
            break;
        if (!spool->lossless)
            return false;
        nanosleep(&pause, NULL);
    }
    *record = (struct record){ .kind = kind, .length = (uint32_t)length, .number = number };
    if (length > 0)
        memcpy(record->bytes, bytes, length);
    ring_commit(spool->ring);
    return true;
}

uint64_t file_spool_open(struct file_spool *spool)
{
    return write_record(spool, RECORD_OPEN, spool->last_number + 1, NULL, 0) ? ++spool->last_number : 0;
}

bool file_spool_write(struct file_spool *spool, uint64_t number, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    while (length > 0) {
        size_t part = length < CHUNK ? length : CHUNK;

        if (!write_record(spool, RECORD_BYTES, number, at, part))
            return false;
        at += part;
        length -= part;
    }
    return true;
}

bool file_spool_finish(struct file_spool *spool, uint64_t number, const uint8_t sha256[32])
{
    return write_record(spool, RECORD_FINISH, number, sha256, 32);
}

void file_spool_discard(struct file_spool *spool, uint64_t number)
{
    (void)write_record(spool, RECORD_DISCARD, number, NULL, 0);
}

/* --- Writer thread -------------------------------------------------------------------------------- */

static void increment(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void temporary_name(const struct stored_file *file, char *out)
{
    snprintf(out, NAME_SIZE, "file.%u.%llu", file->worker, (unsigned long long)file->number);
}

static struct stored_file *find_file(struct file_store *store, unsigned worker, uint64_t number)
{
    for (unsigned i = 0; i < store->file_count; i++)
        if (store->files[i].number == number && store->files[i].worker == worker)
            return &store->files[i];
    return NULL;
}

static void close_file(struct file_store *store, struct stored_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    store->open_count--;
}

/* Closes a file and removes it from the table, whose last entry takes its slot. */
static void remove_file(struct file_store *store, struct stored_file *file)
{
    close_file(store, file);
    *file = store->files[--store->file_count];
}

static void remove_temporary(struct file_store *store, struct stored_file *file)
{
    char name[NAME_SIZE];

    temporary_name(file, name);
    unlinkat(store->tmp_fd, name, 0);
    remove_file(store, file);
}

static void abort_file(struct file_store *store, struct stored_file *file)
{
    increment(&store->errors);
    remove_temporary(store, file);
}

/* Opens the temporary file. If OPEN_MAX files are open, first closes another one, chosen round robin. Returns false on
 * failure. */
static bool open_file(struct file_store *store, struct stored_file *file, int flags)
{
    char name[NAME_SIZE];

    for (; store->open_count >= OPEN_MAX; store->next_closed++)
        close_file(store, &store->files[store->next_closed % store->file_count]);
    temporary_name(file, name);
    file->fd = openat(store->tmp_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0640);
    if (file->fd >= 0)
        store->open_count++;
    return file->fd >= 0;
}

static void handle_bytes(struct file_store *store, struct stored_file *file, const struct record *record)
{
    size_t done = 0;

    if (file->fd < 0 && !open_file(store, file, O_APPEND)) {
        abort_file(store, file);
        return;
    }
    while (done < record->length) {
        ssize_t n = write(file->fd, record->bytes + done, record->length - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            abort_file(store, file);
            return;
        }
        done += (size_t)n;
    }
}

/* Writes the path of a complete file, "ab/abcd...", its SHA-256 in hexadecimal below a directory of the first two
 * digits. */
static void final_path(const uint8_t *sha256, char *out)
{
    *hex_write(out + 3, sha256, 32) = '\0';
    memcpy(out, out + 3, 2);
    out[2] = '/';
}

static void handle_finish(struct file_store *store, struct stored_file *file, const struct record *record)
{
    char name[NAME_SIZE], path[PATH_SIZE];

    close_file(store, file);
    temporary_name(file, name);
    final_path(record->bytes, path);
    /* If a file with this content is already stored, only its modification time is updated. */
    if (utimensat(store->dir_fd, path, NULL, AT_SYMLINK_NOFOLLOW) == 0) {
        remove_temporary(store, file);
    } else {
        path[2] = '\0'; /* the path of the directory */
        bool has_directory = mkdirat(store->dir_fd, path, 0750) == 0 || errno == EEXIST;

        path[2] = '/';
        if (!has_directory || renameat(store->tmp_fd, name, store->dir_fd, path) != 0) {
            abort_file(store, file);
            return;
        }
        remove_file(store, file);
    }
    increment(&store->written);
}

static void handle_record(struct file_store *store, unsigned worker, const struct record *record)
{
    struct stored_file *file;

    if (record->kind == RECORD_OPEN) {
        if (store->file_count == FILES_MAX) {
            increment(&store->errors);
            return;
        }
        file = &store->files[store->file_count++];
        *file = (struct stored_file){ .worker = worker, .number = record->number, .fd = -1 };
        if (!open_file(store, file, O_CREAT | O_TRUNC))
            abort_file(store, file);
        return;
    }
    file = find_file(store, worker, record->number);

    if (!file)
        return; /* an earlier error has removed the file */
    if (record->kind == RECORD_BYTES)
        handle_bytes(store, file, record);
    else if (record->kind == RECORD_FINISH)
        handle_finish(store, file, record);
    else
        remove_temporary(store, file);
}

/* Handles the records that are in the ring at the start of the call; records added later wait until the other rings
 * were drained. Returns whether there were any. */
static bool drain_ring(struct file_store *store, unsigned worker)
{
    struct ring *ring = store->spools[worker].ring;
    uint64_t end = ring_published(ring);
    bool any = false;
    size_t size;

    while (ring_released(ring) < end) {
        const struct record *record = ring_peek(ring, &size);

        if (!record)
            break;
        handle_record(store, worker, record);
        ring_release(ring);
        any = true;
    }
    return any;
}

static void *writer_main(void *user)
{
    struct file_store *store = user;

    pthread_setname_np(pthread_self(), "sluice-files");
    for (;;) {
        bool stopping = atomic_load(&store->stop), any = false;
        struct pollfd wake = { .fd = store->wake_fd, .events = POLLIN };

        for (unsigned i = 0; i < store->options.workers; i++)
            any |= drain_ring(store, i);
        if (any)
            continue;
        if (stopping)
            return NULL;
        poll(&wake, 1, store->options.lossless ? 1 : IDLE_WAIT_MS);
    }
}

/* --- Start and stop ------------------------------------------------------------------------------- */

static int open_directory(int at, const char *name, int *out)
{
    *out = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *out < 0 ? -errno : 0;
}

/* Deletes incomplete files of an earlier run. */
static void remove_incomplete(int tmp_fd)
{
    int fd = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, "file.", 5) == 0)
            unlinkat(tmp_fd, entry->d_name, 0);
    closedir(dir);
}

static int open_directories(struct file_store *store)
{
    int err = folder_create(store->options.dir);

    if (!err)
        err = open_directory(AT_FDCWD, store->options.dir, &store->dir_fd);
    if (!err && mkdirat(store->dir_fd, "tmp", 0750) && errno != EEXIST)
        err = -errno;
    if (!err)
        err = open_directory(store->dir_fd, "tmp", &store->tmp_fd);
    if (!err)
        remove_incomplete(store->tmp_fd);
    return err;
}

static int create_spools(struct file_store *store)
{
    size_t size = store->options.ring_size ? store->options.ring_size : RING_SIZE;

    store->spools = calloc(store->options.workers, sizeof(*store->spools));
    if (!store->spools)
        return -ENOMEM;
    for (unsigned i = 0; i < store->options.workers; i++) {
        int err = ring_new(&store->spools[i].ring, size < RING_MIN ? RING_MIN : size);

        if (err)
            return err;
        store->spools[i].lossless = store->options.lossless;
    }
    return 0;
}

int file_store_new(struct file_store **out, const struct file_store_options *options)
{
    struct file_store *store = calloc(1, sizeof(*store));

    if (!store)
        return -ENOMEM;
    assert(options->workers > 0);
    store->options = *options;
    store->dir_fd = store->tmp_fd = -1;
    store->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = store->wake_fd < 0 ? -errno : open_directories(store);

    if (!err)
        err = create_spools(store);
    if (err) {
        file_store_free(store);
        return err;
    }
    *out = store;
    return 0;
}

int file_store_start(struct file_store *store)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&store->thread, NULL, writer_main, store);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return -err;
    store->started = true;
    return 0;
}

void file_store_stop(struct file_store *store)
{
    const uint64_t one = 1;

    if (!store->started)
        return;
    atomic_store(&store->stop, true);
    ssize_t n = write(store->wake_fd, &one, sizeof(one));

    (void)n; /* if the write fails, the thread notices `stop` after its poll timeout */
    pthread_join(store->thread, NULL);
    store->started = false;
    atomic_store(&store->stop, false);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void file_store_free(struct file_store *store)
{
    if (!store)
        return;
    file_store_stop(store);
    while (store->file_count > 0)
        remove_temporary(store, &store->files[0]);
    for (unsigned i = 0; store->spools && i < store->options.workers; i++)
        ring_free(store->spools[i].ring);
    free(store->spools);
    close_fd(store->tmp_fd);
    close_fd(store->dir_fd);
    close_fd(store->wake_fd);
    free(store);
}

struct file_spool *file_store_spool(struct file_store *store, unsigned worker)
{
    assert(worker < store->options.workers);
    return &store->spools[worker];
}

void file_store_counts(struct file_store *store, struct file_store_counts *out)
{
    out->files = atomic_load_explicit(&store->written, memory_order_relaxed);
    out->errors = atomic_load_explicit(&store->errors, memory_order_relaxed);
}
