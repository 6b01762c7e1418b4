/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer: state as bytes, from one process of the program to the next. One function of a module writes and reads: it
 * names its fields in order, and `reading` says which way they go, so that both ways cannot differ.
 *
 *     transfer_u32(t, &peer->isn);
 *     transfer_u8(t, &peer->window_scale);
 *     transfer_require(t, peer->window_scale <= 14);
 *
 * Numbers are little-endian and of fixed size. A part is a kind, a length and its bytes: who reads skips the kinds that
 * it does not know, and a part that ends too early is an error of that part alone until somebody asks. A file is a head
 * with the version of all fields, parts, and a digest of all of it: what is damaged is refused before anything of it is
 * read. What has been read is trusted no further than transfer_require() says: bytes of traffic are in it.
 *
 * Errors are kept: after the first nothing is read or written any more, fields that are read stay as they are, and
 * transfer_end() or `error` tells.
 *
 * Threads:   one at a time.
 * Ownership: a part that is read is lent until its file is closed.
 */
#ifndef SLUICE_TRANSFER_H
#define SLUICE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the fields of all modules: raised with any of them. A reader knows this version alone. */
enum { TRANSFER_VERSION = 9 };

struct transfer {
    uint8_t *bytes; /* reading: lent, never written to */
    size_t at, limit;
    bool reading;
    int error; /* the first: -EBADMSG for what is read, -ENOMEM or of the file for what is written; 0 */
};

/* A file that is being written; bytes go there now and then. */
struct transfer_file {
    struct transfer out;
    int fd;
    uint64_t written;
    void *digest;
};
/* `fd` is of a regular file or memory file, at its beginning; `kind` says what for: another one is refused when it is
 * read. 0 or -errno. */
int transfer_file_start(struct transfer_file *file, int fd, uint32_t kind);
/* Between two parts: gives bytes to the file when there are many. */
void transfer_file_flush(struct transfer_file *file);
/* Ends the file, and seals a memory file that allows it: 0 or the first error. All memory is given back in any case. */
int transfer_file_finish(struct transfer_file *file, uint64_t *size);

/* A file that is read: mapped, and its digest compared. 0; -EBADMSG: no file of this kind or damaged; -EPROTO: of
 * another version; -errno. Nobody may change it meanwhile: a memory file has to be sealed (-EPERM). */
struct transfer_map {
    struct transfer in;
    void *mapping;
    size_t size;
};
int transfer_map_open(struct transfer_map *map, int fd, uint32_t kind);
void transfer_map_close(struct transfer_map *map);

/* In memory alone. transfer_clear() gives back what was written. */
void transfer_write_start(struct transfer *t);
void transfer_read_start(struct transfer *t, const uint8_t *bytes, size_t length);
void transfer_clear(struct transfer *t);

/* Writing: a part from here to its end. `start` is what transfer_part_start() gave. */
size_t transfer_part_start(struct transfer *t, uint16_t kind);
void transfer_part_end(struct transfer *t, size_t start);
/* Reading: the next part, of which `part` reads; false when there is none (or an error). */
bool transfer_next_part(struct transfer *t, uint16_t *kind, struct transfer *part);

/* Reading: an error when it is not so. Writing: nothing. */
static inline void transfer_require(struct transfer *t, bool is_so)
{
    if (t->reading && !is_so && !t->error)
        t->error = -74; /* EBADMSG */
}

/* Whether a count that was read may be gone over: each of what follows takes `least` bytes of the rest. */
bool transfer_has_room(const struct transfer *t, uint64_t count, size_t least);

/* Room for more bytes where there is none: false and an error. */
bool transfer_more(struct transfer *t, size_t length);

static inline uint8_t *transfer_place(struct transfer *t, size_t length)
{
    uint8_t *place;

    if (length > t->limit - t->at && !transfer_more(t, length))
        return NULL;
    place = t->bytes + t->at;
    t->at += length;
    return place;
}

#define TRANSFER_NUMBER(name, type)                                                                                    \
    static inline void transfer_##name(struct transfer *t, type *value)                                                \
    {                                                                                                                  \
        uint8_t *place = transfer_place(t, sizeof(type));                                                              \
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
/* As many as they are. */
void transfer_bytes(struct transfer *t, void *bytes, size_t length);
/* Reading: lends them; NULL when there are fewer. */
const uint8_t *transfer_lend(struct transfer *t, size_t length);
/* A text of up to 65535 bytes. Reading: lent, without a zero at its end, *length bytes; NULL on an error. */
void transfer_put_text(struct transfer *t, const char *text);
const char *transfer_lend_text(struct transfer *t, size_t *length);

#endif
