/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory is a page with the header, followed by the ring. Positions only grow; a position modulo the capacity is an
 * index in the ring. A record is a header of 8 bytes and the event, rounded up to 8 bytes. It never wraps: where it
 * would, a record of kind GAP fills the rest of the ring.
 *
 * The reader sleeps on a futex in the shared memory. The writer calls the kernel only if the reader has announced that
 * it sleeps, so that publishing costs no system call while the reader is busy.
 */
#include "sluice/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_SIZE = 4096, ALIGNMENT = 8, SPOOL_VERSION = 1 };
static const uint64_t spool_magic = UINT64_C(0x6c6f6f7073627573);
static const int spool_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct header {
    uint64_t magic, version, capacity;

    /* Written by the writer. */
    _Alignas(64) _Atomic uint64_t head; /* position behind the last published event */
    _Atomic uint64_t written;
    _Atomic uint32_t wakes; /* the futex: incremented to wake the reader */

    /* Written by the reader. */
    _Alignas(64) _Atomic uint64_t tail; /* position of the oldest event that is not released */
    _Atomic uint64_t delivered, rejected, connects;
    _Atomic uint32_t waits; /* 1: the reader sleeps, or is about to */
    _Atomic uint32_t connected;
};

_Static_assert(sizeof(struct header) <= HEADER_SIZE, "the header must fit into its page");

struct record {
    uint32_t length;
    uint8_t kind, severity, is_gap, unused;
};

_Static_assert(sizeof(struct record) == ALIGNMENT, "records begin aligned");

struct spool {
    struct header *header;
    uint8_t *ring;
    uint64_t capacity; /* a private copy: the other process can change the one in the memory */
    uint64_t end;      /* writer: position behind the last event that was written */
    uint64_t written;
    int fd;
};

static size_t record_size(uint32_t length)
{
    return sizeof(struct record) + ((size_t)length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Maps the memory and frees the spool after an error. Returns 0 or -errno. */
static int map(struct spool *spool)
{
    void *memory = mmap(NULL, HEADER_SIZE + spool->capacity, PROT_READ | PROT_WRITE, MAP_SHARED, spool->fd, 0);
    int err = memory == MAP_FAILED ? -errno : 0;

    if (err) {
        spool_free(spool);
        return err;
    }
    spool->header = memory;
    spool->ring = (uint8_t *)memory + HEADER_SIZE;
    return 0;
}

/* --- Writer --------------------------------------------------------------------------------------- */

int spool_new(struct spool **out, size_t size)
{
    struct spool *spool = calloc(1, sizeof(*spool));
    int err;

    if (!spool)
        return -ENOMEM;
    spool->capacity = SPOOL_MIN_SIZE;
    while (spool->capacity < size && spool->capacity < SPOOL_MAX_SIZE)
        spool->capacity *= 2;
    spool->fd = memfd_create("sluice-spool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    err = spool->fd < 0 ? -errno : 0;
    if (!err &&
        (ftruncate(spool->fd, (off_t)(HEADER_SIZE + spool->capacity)) || fcntl(spool->fd, F_ADD_SEALS, spool_seals)))
        err = -errno;
    if (err) {
        spool_free(spool);
        return err;
    }
    err = map(spool);
    if (err)
        return err;
    spool->header->magic = spool_magic;
    spool->header->version = SPOOL_VERSION;
    spool->header->capacity = spool->capacity;
    *out = spool;
    return 0;
}

int spool_fd(const struct spool *spool)
{
    return spool->fd;
}

enum spool_result spool_write(struct spool *spool, const struct spool_event *event)
{
    size_t size = record_size(event->length), at = spool->end % spool->capacity, gap = 0;
    uint64_t used = spool->end - atomic_load_explicit(&spool->header->tail, memory_order_acquire);
    struct record record = { .length = event->length, .kind = event->kind, .severity = event->severity };

    if (size > spool->capacity / 4)
        return SPOOL_TOO_LONG;
    if (at + size > spool->capacity)
        gap = spool->capacity - at;
    /* `used` is larger than the capacity if the reader has damaged its position: the spool then counts as full. */
    if (used > spool->capacity || gap + size > spool->capacity - used)
        return SPOOL_FULL;
    if (gap > 0) {
        const struct record filler = { .length = (uint32_t)(gap - sizeof(filler)), .is_gap = 1 };

        memcpy(spool->ring + at, &filler, sizeof(filler));
        at = 0;
    }
    memcpy(spool->ring + at, &record, sizeof(record));
    memcpy(spool->ring + at + sizeof(record), event->bytes, event->length);
    spool->end += gap + size;
    spool->written++;
    return SPOOL_WRITTEN;
}

void spool_publish(struct spool *spool)
{
    struct header *header = spool->header;

    atomic_store_explicit(&header->written, spool->written, memory_order_relaxed);
    atomic_store(&header->head, spool->end); /* sequentially consistent, as is the load of `waits` behind it */
    if (atomic_load(&header->waits) == 0)
        return;
    atomic_store(&header->waits, 0);
    atomic_fetch_add(&header->wakes, 1);
    syscall(SYS_futex, &header->wakes, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* --- Reader --------------------------------------------------------------------------------------- */

int spool_adopt(struct spool **out, int fd)
{
    struct spool *spool = calloc(1, sizeof(*spool));
    struct stat status;
    int err = 0;

    if (!spool) {
        close(fd);
        return -ENOMEM;
    }
    spool->fd = fd;
    if (fstat(fd, &status))
        err = -errno;
    else if ((fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        err = -EPERM;
    else if (status.st_size < HEADER_SIZE + SPOOL_MIN_SIZE || status.st_size > HEADER_SIZE + (off_t)SPOOL_MAX_SIZE)
        err = -EPROTO;
    if (err) {
        spool_free(spool);
        return err;
    }
    spool->capacity = (uint64_t)status.st_size - HEADER_SIZE;
    err = map(spool);
    if (err)
        return err;
    if (spool->header->magic != spool_magic || spool->header->version != SPOOL_VERSION ||
        spool->header->capacity != spool->capacity || (spool->capacity & (spool->capacity - 1)) != 0) {
        spool_free(spool);
        return -EPROTO;
    }
    spool_set_connected(spool, false); /* the previous reader may have been killed */
    *out = spool;
    return 0;
}

uint64_t spool_oldest(const struct spool *spool)
{
    return atomic_load_explicit(&spool->header->tail, memory_order_relaxed);
}

int spool_read(const struct spool *spool, uint64_t *position, struct spool_event *out)
{
    uint64_t head = atomic_load_explicit(&spool->header->head, memory_order_acquire), at = *position;
    struct record record;

    if (head - at > spool->capacity || at % ALIGNMENT != 0)
        return -EBADMSG;
    /* A gap is followed by a record, so the loop ends after two steps. */
    for (int step = 0; step < 2; step++) {
        size_t index = at % spool->capacity;

        if (head - at < sizeof(record))
            return head == at ? 0 : -EBADMSG;
        memcpy(&record, spool->ring + index, sizeof(record));

        size_t size = record_size(record.length);

        if (size > head - at || size > spool->capacity - index)
            return -EBADMSG;
        at += size;
        if (record.is_gap)
            continue;
        *out = (struct spool_event){ .bytes = (const char *)spool->ring + index + sizeof(record),
                                     .length = record.length,
                                     .kind = record.kind,
                                     .severity = record.severity };
        *position = at;
        return 1;
    }
    return -EBADMSG;
}

void spool_release(struct spool *spool, uint64_t position, uint64_t delivered, uint64_t rejected)
{
    struct header *header = spool->header;

    atomic_fetch_add_explicit(&header->delivered, delivered, memory_order_relaxed);
    atomic_fetch_add_explicit(&header->rejected, rejected, memory_order_relaxed);
    atomic_store_explicit(&header->tail, position, memory_order_release);
}

void spool_wait(struct spool *spool, uint64_t position, int wait_ms)
{
    struct header *header = spool->header;
    struct timespec wait = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L };
    uint32_t wakes = atomic_load(&header->wakes);

    atomic_store(&header->waits, 1);
    if (atomic_load(&header->head) == position) /* otherwise an event was published before the writer saw `waits` */
        syscall(SYS_futex, &header->wakes, FUTEX_WAIT, wakes, &wait, NULL, 0);
    atomic_store(&header->waits, 0);
}

void spool_set_connected(struct spool *spool, bool connected)
{
    struct header *header = spool->header;

    if (connected && !atomic_load_explicit(&header->connected, memory_order_relaxed))
        atomic_fetch_add_explicit(&header->connects, 1, memory_order_relaxed);
    atomic_store_explicit(&header->connected, connected, memory_order_relaxed);
}

/* --- Both ----------------------------------------------------------------------------------------- */

void spool_counters(const struct spool *spool, struct spool_counters *out)
{
    const struct header *header = spool->header;

    *out = (struct spool_counters){
        .delivered = atomic_load_explicit(&header->delivered, memory_order_relaxed),
        .rejected = atomic_load_explicit(&header->rejected, memory_order_relaxed),
        .connects = atomic_load_explicit(&header->connects, memory_order_relaxed),
        .connected = atomic_load_explicit(&header->connected, memory_order_relaxed) == 1,
        .written = atomic_load_explicit(&header->written, memory_order_relaxed),
    };
}

void spool_free(struct spool *spool)
{
    if (!spool)
        return;
    if (spool->header)
        munmap(spool->header, HEADER_SIZE + spool->capacity);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}
