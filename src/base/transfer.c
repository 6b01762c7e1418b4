/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer collects bytes in a growing buffer and writes them to the file from FLUSH_FROM bytes on, so that the state
 * of many flows is not in memory twice. A file consists of these fields (sizes in bytes):
 *
 *   "sluice\0\n"  version (4)  kind (4)  parts  digest (8): XXH3 of all bytes before it
 *
 * The writer seals memory files: the reader of a mapping would be killed if another process truncated the file.
 */
#include "sluice/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAGIC = 8, HEAD = MAGIC + 8, DIGEST = 8, PART_HEAD = 6, FIRST_ROOM = 4096, FLUSH_FROM = 1 << 20 };

static const uint8_t magic[MAGIC] = { 's', 'l', 'u', 'i', 'c', 'e', 0, '\n' };

_Static_assert(EBADMSG == 74, "transfer_require() sets -74");

static void set_error(struct transfer *t, int error)
{
    if (!t->error)
        t->error = error;
    if (!t->reading)
        t->at = 0;
    t->limit = t->at; /* all further reads and writes fail */
}

void transfer_write_start(struct transfer *t)
{
    *t = (struct transfer){ .bytes = NULL };
}

void transfer_read_start(struct transfer *t, const uint8_t *bytes, size_t length)
{
    *t = (struct transfer){ .bytes = (uint8_t *)bytes, .limit = length, .reading = true };
}

void transfer_clear(struct transfer *t)
{
    if (!t->reading)
        free(t->bytes);
    *t = (struct transfer){ .bytes = NULL };
}

bool transfer_reserve(struct transfer *t, size_t length)
{
    size_t room = t->limit > FIRST_ROOM ? t->limit : FIRST_ROOM;
    uint8_t *bytes;

    if (t->error || t->reading) {
        set_error(t, -EBADMSG);
        return false;
    }
    while (room < SIZE_MAX / 2 && room - t->at < length)
        room *= 2;
    bytes = room - t->at < length ? NULL : realloc(t->bytes, room);
    if (!bytes) {
        set_error(t, -ENOMEM);
        return false;
    }
    t->bytes = bytes;
    t->limit = room;
    return true;
}

bool transfer_has_room(const struct transfer *t, uint64_t count, size_t least)
{
    return !t->reading || (!t->error && count <= (t->limit - t->at) / least);
}

/* --- Values --------------------------------------------------------------------------------------- */

void transfer_i64(struct transfer *t, int64_t *value)
{
    uint64_t number = (uint64_t)*value;

    transfer_u64(t, &number);
    *value = (int64_t)number;
}

void transfer_bool(struct transfer *t, bool *value)
{
    uint8_t number = *value;

    transfer_u8(t, &number);
    transfer_require(t, number <= 1);
    *value = number == 1;
}

void transfer_bytes(struct transfer *t, void *bytes, size_t length)
{
    uint8_t *place = length > 0 ? transfer_reserve_next(t, length) : NULL;

    if (!place)
        return;
    if (t->reading)
        memcpy(bytes, place, length);
    else
        memcpy(place, bytes, length);
}

const uint8_t *transfer_lend(struct transfer *t, size_t length)
{
    return transfer_reserve_next(t, length);
}

void transfer_put_text(struct transfer *t, const char *text)
{
    size_t whole = strlen(text);
    uint16_t length = whole < UINT16_MAX ? (uint16_t)whole : UINT16_MAX;

    transfer_u16(t, &length);
    transfer_bytes(t, (void *)text, length);
}

const char *transfer_lend_text(struct transfer *t, size_t *length)
{
    uint16_t wanted = 0;
    const uint8_t *text;

    transfer_u16(t, &wanted);
    text = transfer_lend(t, wanted);
    *length = text ? wanted : 0;
    return t->error ? NULL : (const char *)text;
}

/* --- Parts ---------------------------------------------------------------------------------------- */

size_t transfer_part_start(struct transfer *t, uint16_t kind)
{
    uint32_t length = 0;

    transfer_u16(t, &kind);
    transfer_u32(t, &length);
    return t->at;
}

void transfer_part_end(struct transfer *t, size_t start)
{
    struct transfer head = *t;
    uint32_t length = (uint32_t)(t->at - start);

    if (t->error)
        return;
    if (t->at - start > UINT32_MAX) {
        set_error(t, -EFBIG);
        return;
    }
    head.at = start - sizeof(length);
    transfer_u32(&head, &length);
}

bool transfer_next_part(struct transfer *t, uint16_t *kind, struct transfer *part)
{
    const uint8_t *bytes;
    uint32_t length = 0;

    if (t->error || t->at == t->limit)
        return false;
    transfer_u16(t, kind);
    transfer_u32(t, &length);
    bytes = transfer_lend(t, length);
    if (!bytes || t->error)
        return false;
    transfer_read_start(part, bytes, length);
    return true;
}

/* --- Writing a file ------------------------------------------------------------------------------- */

static void flush_buffer(struct transfer_file *file)
{
    struct transfer *t = &file->out;
    size_t done = 0;

    if (t->error)
        return;
    XXH3_64bits_update(file->digest, t->bytes, t->at);
    while (done < t->at) {
        ssize_t count = write(file->fd, t->bytes + done, t->at - done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            set_error(t, count < 0 ? -errno : -EIO);
            return;
        }
        done += (size_t)count;
    }
    file->written += done;
    t->at = 0;
}

int transfer_file_start(struct transfer_file *file, int fd, uint32_t kind)
{
    uint32_t version = TRANSFER_VERSION;

    *file = (struct transfer_file){ .fd = fd };
    transfer_write_start(&file->out);
    file->digest = XXH3_createState();
    if (!file->digest)
        return -ENOMEM;
    XXH3_64bits_reset(file->digest);
    transfer_bytes(&file->out, (void *)magic, MAGIC);
    transfer_u32(&file->out, &version);
    transfer_u32(&file->out, &kind);
    return file->out.error;
}

void transfer_file_flush(struct transfer_file *file)
{
    if (file->out.at >= FLUSH_FROM)
        flush_buffer(file);
}

int transfer_file_finish(struct transfer_file *file, uint64_t *size)
{
    int error;

    flush_buffer(file);
    if (!file->out.error) {
        uint64_t digest = XXH3_64bits_digest(file->digest);

        transfer_u64(&file->out, &digest);
        flush_buffer(file);
    }
    error = file->out.error;
    if (!error)
        fcntl(file->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE); /* only memory files have seals */
    *size = file->written;
    XXH3_freeState(file->digest);
    transfer_clear(&file->out);
    return error;
}

/* --- Reading a file ------------------------------------------------------------------------------- */

/* Checks head and digest; `t` then has the parts only. Returns 0, -EBADMSG, or -EPROTO for another version. */
static int verify_file(struct transfer *t, uint32_t wanted)
{
    const uint8_t *start = transfer_lend(t, MAGIC);
    uint32_t version = 0, kind = 0;
    uint64_t digest = 0;
    struct transfer end;

    if (!start || memcmp(start, magic, MAGIC) != 0)
        return -EBADMSG;
    transfer_u32(t, &version);
    transfer_u32(t, &kind);
    if (t->error || t->limit - t->at < DIGEST)
        return -EBADMSG;
    if (version != TRANSFER_VERSION)
        return -EPROTO;
    t->limit -= DIGEST;
    transfer_read_start(&end, t->bytes + t->limit, DIGEST);
    transfer_u64(&end, &digest);
    return kind == wanted && digest == XXH3_64bits(t->bytes, t->limit) ? 0 : -EBADMSG;
}

/* Returns true if the file is a memory file that lacks a needed seal. Returns false for other files: they cannot have
 * seals, and are accepted because they are private to the program. */
static bool is_unsealed(int fd)
{
    const int needed = F_SEAL_SHRINK | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & needed) != needed;
}

int transfer_map_open(struct transfer_map *map, int fd, uint32_t kind)
{
    struct stat status;
    int err;

    *map = (struct transfer_map){ .mapping = NULL };
    if (fstat(fd, &status))
        return -errno;
    if (status.st_size < HEAD + DIGEST)
        return -EBADMSG;
    if (is_unsealed(fd))
        return -EPERM;
    map->size = (size_t)status.st_size;
    map->mapping = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map->mapping == MAP_FAILED) {
        map->mapping = NULL;
        return -errno;
    }
    transfer_read_start(&map->in, map->mapping, map->size);
    err = verify_file(&map->in, kind);
    if (err)
        transfer_map_close(map);
    return err;
}

void transfer_map_close(struct transfer_map *map)
{
    if (map->mapping)
        munmap(map->mapping, map->size);
    *map = (struct transfer_map){ .mapping = NULL };
}
