/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checked cursor: all bytes of traffic are read through it.
 *
 * A cursor is a range of bytes that is consumed from the front. Every read is checked; a read past the end returns
 * false (or NULL), leaves the output untouched and does not advance, so that a parser may try to read a header and
 * report the event if it is missing. Multi-byte integers are in network order unless the name says little endian.
 *
 * Ownership: a cursor does not own the bytes; it is valid as long as they are.
 */
#ifndef SLUICE_BYTES_H
#define SLUICE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at;  /* next byte to read */
    const uint8_t *end; /* one past the last */
};

static inline struct cursor cursor_of(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    return (struct cursor){ .at = at, .end = at ? at + length : NULL };
}

/* Returns the number of bytes left. */
static inline size_t cursor_remaining(const struct cursor *cur)
{
    return (size_t)(cur->end - cur->at);
}

/* Unchecked loads and stores, for headers whose length was checked by cursor_read() before. */
static inline uint16_t load_be16(const uint8_t *p)
{
    return (uint16_t)((uint16_t)p[0] << 8 | p[1]);
}

/* Stores the low 16 bits. */
static inline void store_be16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline uint16_t load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)p[1] << 8);
}

static inline uint32_t load_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load_le64(const uint8_t *p)
{
    return (uint64_t)load_le32(p + 4) << 32 | load_le32(p);
}

/* Consumes `length` bytes and returns a pointer to them; NULL when there are fewer. */
static inline const uint8_t *cursor_read(struct cursor *cur, size_t length)
{
    const uint8_t *bytes = cur->at;

    if (length > cursor_remaining(cur))
        return NULL;
    cur->at += length;
    return bytes;
}

/* Returns a pointer to the next `length` bytes without consuming them; NULL when there are fewer. */
static inline const uint8_t *cursor_peek(const struct cursor *cur, size_t length)
{
    return length > cursor_remaining(cur) ? NULL : cur->at;
}

static inline bool cursor_skip(struct cursor *cur, size_t length)
{
    return cursor_read(cur, length) != NULL;
}

static inline bool cursor_u8(struct cursor *cur, uint8_t *out)
{
    const uint8_t *p = cursor_read(cur, 1);

    if (!p)
        return false;
    *out = *p;
    return true;
}

static inline bool cursor_be16(struct cursor *cur, uint16_t *out)
{
    const uint8_t *p = cursor_read(cur, 2);

    if (!p)
        return false;
    *out = load_be16(p);
    return true;
}

static inline bool cursor_be32(struct cursor *cur, uint32_t *out)
{
    const uint8_t *p = cursor_read(cur, 4);

    if (!p)
        return false;
    *out = load_be32(p);
    return true;
}

/* Limits the cursor to its first `length` bytes; does nothing when fewer are left. */
static inline void cursor_limit(struct cursor *cur, size_t length)
{
    if (length < cursor_remaining(cur))
        cur->end = cur->at + length;
}

#endif
