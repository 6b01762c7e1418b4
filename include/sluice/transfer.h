/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer: state as bytes, from one process of the program to the next. One function of a module both writes and
 * reads: it lists its fields in order, and `reading` selects the direction, so that writer and reader cannot have
 * different formats.
 *
 *   transfer_u32(t, &peer->isn);
 *   transfer_u8(t, &peer->window_scale);
 *   transfer_require(t, peer->window_scale <= 14);
 *
 * Numbers are little-endian and of fixed size. A part is a kind, a length and its bytes: the reader skips unknown
 * kinds, and reading beyond the end of a part sets the error of that part only (`part` of transfer_next_part()), which
 * the caller checks. A file is a header with the version of all fields, parts, and a digest of everything: a damaged
 * file is rejected before any of it is read. Values that were read are only trusted as far as transfer_require() checks
 * them, because they include bytes of traffic.
 *
 * Errors are sticky: after the first one nothing is read or written any more, fields that are read keep their value,
 * and transfer_file_finish() or `error` reports it.
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
enum { TRANSFER_VERSION = 10 };

struct transfer {
    uint8_t *bytes; /* writing: owned; reading: lent and never written to */
    size_t at, limit;
    bool reading;
    int error; /* the first error: -EBADMSG when reading; -ENOMEM or a file error when writing; 0: none */
};

/* A file that is being written; bytes are collected in `out` and written by transfer_file_flush(). */
struct transfer_file {
    struct transfer out;
    int fd;
    uint64_t written;
    void *digest;
};
/* `fd` is a regular file or memory file, at its beginning; `kind` is its purpose: a file of another kind is rejected
 * when it is read. Returns 0 or -errno. */
int transfer_file_start(struct transfer_file *file, int fd, uint32_t kind);
/* To be called between two parts: writes the collected bytes to the file if there are many. */
void transfer_file_flush(struct transfer_file *file);
/* Completes the file, seals it if it is a memory file that allows sealing, and sets *size. Returns 0 or the first
 * error. Frees all memory in any case. */
int transfer_file_finish(struct transfer_file *file, uint64_t *size);

/* A file that is read. transfer_map_open() maps it and verifies its digest. Returns 0; -EBADMSG: damaged or not a file
 * of this kind; -EPROTO: another version; or another -errno. The file must not change while it is mapped: a memory file
 * has to be sealed (-EPERM). */
struct transfer_map {
    struct transfer in;
    void *mapping;
    size_t size;
};
int transfer_map_open(struct transfer_map *map, int fd, uint32_t kind);
void transfer_map_close(struct transfer_map *map);

/* Transfers to and from memory instead of a file: start writing, or start reading from `bytes`, which are lent.
 * transfer_clear() frees the bytes written. */
void transfer_write_start(struct transfer *t);
void transfer_read_start(struct transfer *t, const uint8_t *bytes, size_t length);
void transfer_clear(struct transfer *t);

/* Writing: start and end a part. transfer_part_start() returns the value for `start`. */
size_t transfer_part_start(struct transfer *t, uint16_t kind);
void transfer_part_end(struct transfer *t, size_t start);
/* Reading: gets the kind of the next part, and initialises `part`, from which it is read. Returns false when there is
 * no further part, or on an error. */
bool transfer_next_part(struct transfer *t, uint16_t *kind, struct transfer *part);

/* Reading: sets the error -EBADMSG when the condition is false. Writing: does nothing. */
static inline void transfer_require(struct transfer *t, bool is_so)
{
    if (t->reading && !is_so && !t->error)
        t->error = -74; /* -EBADMSG */
}

/* Returns whether a count that was read is plausible: `count` elements of at least `least` bytes each fit into the
 * remaining bytes. Writing: returns true. */
bool transfer_has_room(const struct transfer *t, uint64_t count, size_t least);

/* Makes room for `length` more bytes if necessary. Returns false and sets the error on failure (reading: too few bytes
 * are left). */
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
/* Transfers exactly `length` bytes; the length itself is not transferred. */
void transfer_bytes(struct transfer *t, void *bytes, size_t length);
/* Reading: returns a pointer to the next `length` bytes, which are lent; NULL when fewer bytes are left. */
const uint8_t *transfer_lend(struct transfer *t, size_t length);
/* Write and read a text of up to 65535 bytes. transfer_lend_text() returns *length bytes, lent and not NUL-terminated;
 * NULL on an error. */
void transfer_put_text(struct transfer *t, const char *text);
const char *transfer_lend_text(struct transfer *t, size_t *length);

#endif
