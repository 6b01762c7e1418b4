/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer: state as bytes, from one process of the program to the next. One function of a module both writes and
 * reads: it lists its fields in order, and `reading` selects the direction, so that both formats cannot differ.
 *
 *   transfer_u32(t, &peer->isn);
 *   transfer_u8(t, &peer->window_scale);
 *   transfer_require(t, peer->window_scale <= 14);
 *
 * Numbers are little-endian and of fixed size. A part is a kind, a length and its bytes: the reader skips unknown
 * kinds, and a part that ends too early is an error of that part alone until the caller checks. A file is a header with
 * the version of all fields, parts, and a digest of everything: a damaged file is rejected before any of it is read.
 * Values that were read are only trusted as far as transfer_require() checks them, because they include bytes of
 * traffic.
 *
 * Errors are sticky: after the first one nothing is read or written any more, fields that are read keep their value,
 * and transfer_end() or `error` reports it.
 *
 * Threads:   one at a time.
 * Ownership: a part that is read is lent until its file is closed.
 */
#ifndef SLUICE_TRANSFER_H
#define SLUICE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the fields of all modules: raised with any change. A reader accepts only this version. */
enum { TRANSFER_VERSION = 9 };

struct transfer {
    uint8_t *bytes; /* reading: lent, never written to */
    size_t at, limit;
    bool reading;
    int error; /* the first error: -EBADMSG when reading; -ENOMEM or a file error when writing; 0: none */
};

/* A file that is being written; bytes are flushed to it from time to time. */
struct transfer_file {
    struct transfer out;
    int fd;
    uint64_t written;
    void *digest;
};
/* `fd` is a regular file or memory file, at its beginning; `kind` is its purpose: a file of another kind is rejected
 * when it is read. Returns 0 or -errno. */
int transfer_file_start(struct transfer_file *file, int fd, uint32_t kind);
/* Between two parts: writes bytes to the file when there are many. */
void transfer_file_flush(struct transfer_file *file);
/* Completes the file, and seals a memory file that allows it: returns 0 or the first error. All memory is freed in any
 * case. */
int transfer_file_finish(struct transfer_file *file, uint64_t *size);

/* A file that is read: mapped, and its digest verified. Returns 0; -EBADMSG: damaged or not a file of this kind;
 * -EPROTO: of another version; -errno. The file must not change while it is mapped: a memory file has to be sealed
 * (-EPERM). */
struct transfer_map {
    struct transfer in;
    void *mapping;
    size_t size;
};
int transfer_map_open(struct transfer_map *map, int fd, uint32_t kind);
void transfer_map_close(struct transfer_map *map);

/* Writes to memory only. transfer_clear() frees the bytes. */
void transfer_write_start(struct transfer *t);
void transfer_read_start(struct transfer *t, const uint8_t *bytes, size_t length);
void transfer_clear(struct transfer *t);

/* Writing: starts and ends a part. `start` is the result of transfer_part_start(). */
size_t transfer_part_start(struct transfer *t, uint16_t kind);
void transfer_part_end(struct transfer *t, size_t start);
/* Reading: gets the next part, and `part` to read it; false when there is none (or on an error). */
bool transfer_next_part(struct transfer *t, uint16_t *kind, struct transfer *part);

/* Reading: sets an error when the condition is false. Writing: nothing. */
static inline void transfer_require(struct transfer *t, bool is_so)
{
    if (t->reading && !is_so && !t->error)
        t->error = -74; /* -EBADMSG */
}

/* Whether a count that was read is plausible: each of its elements takes at least `least` of the remaining bytes. */
bool transfer_has_room(const struct transfer *t, uint64_t count, size_t least);

/* Makes room for more bytes if there is not enough: false, and an error, on failure. */
bool transfer_reserve(struct transfer *t, size_t length);

static inline uint8_t *transfer_reserve_next(struct transfer *t, size_t length)
{
    uint8_t *place;

    if (length > t->limit - t->at && !transfer_reserve(t, length))
        return NULL;
    place = t->bytes + t->at;
    t->at += length;
    return place;
}

#define TRANSFER_NUMBER(name, type)                                                                                    \
    static inline void transfer_##name(struct transfer *t, type *value)                                                \
    {                                                                                                                  \
        uint8_t *place = transfer_reserve_next(t, sizeof(type));                                                       \
        type number = 0;                                                                                               \
                                                                                                                       \
        if (!place)                                                                                                    \
            return;                                                                                                    \
        if (!t->reading) {                                                                                             \
            for (unsigned i = 0; i < sizeof(type); i++)                                                                \
                place[i] = (uint8_t)((uint64_t)*value >> 8 * i);                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        for (unsigned i = 0; i < sizeof(type); i++)                                                                    \
            number |= (type)((type)place[i] << 8 * i);                                                                 \
        *value = number;                                                                                               \
    }
TRANSFER_NUMBER(u8, uint8_t)
TRANSFER_NUMBER(u16, uint16_t)
TRANSFER_NUMBER(u32, uint32_t)
TRANSFER_NUMBER(u64, uint64_t)
#undef TRANSFER_NUMBER

void transfer_i64(struct transfer *t, int64_t *value);
void transfer_bool(struct transfer *t, bool *value);
/* Transfers bytes without a length. */
void transfer_bytes(struct transfer *t, void *bytes, size_t length);
/* Reading: lends the bytes; NULL when there are fewer. */
const uint8_t *transfer_lend(struct transfer *t, size_t length);
/* A text of up to 65535 bytes. Reading: lent, not NUL-terminated, *length bytes; NULL on an error. */
void transfer_put_text(struct transfer *t, const char *text);
const char *transfer_lend_text(struct transfer *t, size_t *length);

#endif
