/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between which places of one buffer pairs of bytes stand, for those pairs that somebody has looked for in all of it. The prefilter comes
 * across them anyway, and a content of two bytes is in each buffer of some thousands by chance: the search for it then goes over
 * what lies between the first place and the last, and not over the buffer.
 *
 * A small table by hash, for one buffer at a time; of two pairs that would lie at one place of it nothing is known.
 */
#ifndef SLUICE_PAIR_PLACES_H
#define SLUICE_PAIR_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIR_PLACES_BITS = 9 };

struct pair_place {
    uint32_t turn; /* in which it was noted: one of an earlier turn says nothing */
    uint16_t pair;
    bool shared; /* by several pairs */
    uint32_t first, last;
};

struct pair_places {
    const uint8_t *bytes; /* the buffer; NULL: none */
    uint32_t length;
    uint32_t turn;
    struct pair_place places[1U << PAIR_PLACES_BITS];
};

static inline uint16_t pair_of(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t pair_place_of(uint16_t pair)
{
    return pair * UINT32_C(0x9e3779b1) >> (32 - PAIR_PLACES_BITS);
}

/* From now on it is about this buffer, of which nothing is known yet. NULL: about none, as when its bytes change. */
static inline void pair_places_begin(struct pair_places *all, const uint8_t *bytes, uint32_t length)
{
    all->bytes = bytes;
    all->length = length;
    if (++all->turn != 0)
        return;
    for (uint32_t i = 0; i < 1U << PAIR_PLACES_BITS; i++)
        all->places[i].turn = 0;
    all->turn = 1;
}

/* The pair stands at `at`. Whoever notes one place notes them all. */
static inline void pair_places_note(struct pair_places *all, uint16_t pair, uint32_t at)
{
    struct pair_place *place = &all->places[pair_place_of(pair)];

    if (place->turn != all->turn) {
        *place = (struct pair_place){ .turn = all->turn, .pair = pair, .first = at, .last = at };
        return;
    }
    place->shared |= place->pair != pair;
    place->first = at < place->first ? at : place->first;
    place->last = at > place->last ? at : place->last;
}

/* NULL: it is not known where the pair stands. */
static inline const struct pair_place *pair_places_find(const struct pair_places *all, const uint8_t *bytes,
                                                        uint32_t length, uint16_t pair)
{
    const struct pair_place *place = &all->places[pair_place_of(pair)];

    if (all->bytes != bytes || all->length != length || place->turn != all->turn)
        return NULL;
    return place->pair == pair && !place->shared ? place : NULL;
}

#endif
