/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Positions of two-byte pairs in one buffer, for pairs whose occurrences in the whole buffer have been recorded. The
 * prefilter finds them anyway, and a content of two bytes occurs by chance in every buffer of some thousand bytes: the
 * search for it then visits the recorded positions or, when there are more than fit, the range between the first and
 * the last one.
 *
 * A small hash table for one buffer at a time; a pair whose slots are taken by others is not recorded.
 */
#ifndef SLUICE_PAIR_POSITIONS_H
#define SLUICE_PAIR_POSITIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAIR_POSITIONS_BITS = 9,
    PAIR_POSITIONS_SLOTS = 4, /* slots probed for a pair, consecutive */
    PAIR_POSITIONS_MAX = 6,   /* a given pair occurs 0.9 times in 60 kB of random bytes */
};

struct pair_position {
    uint32_t turn; /* number of the buffer for which the entry was recorded; entries of earlier buffers are invalid */
    uint16_t pair;
    uint8_t count; /* number of recorded positions */
    bool more; /* more positions exist: the last entry is the last position of all, and unrecorded ones lie before it */
    uint32_t at[PAIR_POSITIONS_MAX]; /* ascending */
};

struct pair_positions {
    const uint8_t *bytes; /* the buffer; NULL for none */
    uint32_t length;
    uint32_t turn;
    struct pair_position places[1U << PAIR_POSITIONS_BITS];
};

static inline uint16_t two_byte_pair(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* Returns the index of a pair's slot number `nth`, below PAIR_POSITIONS_SLOTS. */
static inline uint32_t pair_position_slot(uint16_t pair, uint32_t nth)
{
    return ((pair * UINT32_C(0x9e3779b1) >> (32 - PAIR_POSITIONS_BITS)) + nth) % (1U << PAIR_POSITIONS_BITS);
}

/* Starts recording for a buffer and forgets the previous one. NULL: for no buffer, for example because its bytes
 * change. */
static inline void pair_positions_reset(struct pair_positions *all, const uint8_t *bytes, uint32_t length)
{
    all->bytes = bytes;
    all->length = length;
    if (++all->turn != 0)
        return;
    for (uint32_t i = 0; i < 1U << PAIR_POSITIONS_BITS; i++)
        all->places[i].turn = 0;
    all->turn = 1;
}

static inline void pair_position_append(struct pair_position *place, uint32_t at)
{
    if (at <= place->at[place->count - 1])
        return;
    place->more |= place->count == PAIR_POSITIONS_MAX;
    place->count += place->count < PAIR_POSITIONS_MAX;
    place->at[place->count - 1] = at;
}

/* Records a position of a pair. The caller must record all positions of a pair in ascending order; repetitions are
 * ignored. */
static inline void pair_positions_add(struct pair_positions *all, uint16_t pair, uint32_t at)
{
    for (uint32_t nth = 0; nth < PAIR_POSITIONS_SLOTS; nth++) {
        struct pair_position *place = &all->places[pair_position_slot(pair, nth)];

        if (place->turn != all->turn) {
            *place = (struct pair_position){ .turn = all->turn, .pair = pair, .count = 1, .at = { at } };
            return;
        }
        if (place->pair == pair) {
            pair_position_append(place, at);
            return;
        }
    }
}

/* Returns the positions of the pair in the buffer; NULL when they were not recorded. */
static inline const struct pair_position *pair_positions_find(const struct pair_positions *all, const uint8_t *bytes,
                                                              uint32_t length, uint16_t pair)
{
    if (all->bytes != bytes || all->length != length)
        return NULL;
    for (uint32_t nth = 0; nth < PAIR_POSITIONS_SLOTS; nth++) {
        const struct pair_position *place = &all->places[pair_position_slot(pair, nth)];

        if (place->turn != all->turn)
            return NULL;
        if (place->pair == pair)
            return place;
    }
    return NULL;
}

#endif
