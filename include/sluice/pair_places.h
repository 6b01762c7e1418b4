/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At which places of one buffer pairs of bytes stand, for those pairs that somebody has looked for in all of it. The
 * prefilter comes across them anyway, and a content of two bytes is in each buffer of some thousands by chance: the
 * search for it then goes over the places that were noted, or, where there are more than are kept, over what lies
 * between the first and the last.
 *
 * A small table by hash, for one buffer at a time; of a pair whose slots others have taken nothing is known.
 */
#ifndef SLUICE_PAIR_PLACES_H
#define SLUICE_PAIR_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAIR_PLACES_BITS = 9,
    PAIR_PLACES_SLOTS = 4, /* where a pair may lie, one after the other */
    PAIR_PLACES_KEPT = 6,  /* in 60 kB of random bytes a pair stands 0.9 times */
};

struct pair_place {
    uint32_t turn; /* in which it was noted: one of an earlier turn says nothing */
    uint16_t pair;
    uint8_t count;                 /* of what is kept */
    bool more;                     /* than are kept: the last one kept is the last of all, and others stand before it */
    uint32_t at[PAIR_PLACES_KEPT]; /* in order */
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

/* Its slot number `nth` of PAIR_PLACES_SLOTS. */
static inline uint32_t pair_place_of(uint16_t pair, uint32_t nth)
{
    return ((pair * UINT32_C(0x9e3779b1) >> (32 - PAIR_PLACES_BITS)) + nth) % (1U << PAIR_PLACES_BITS);
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

static inline void pair_place_add(struct pair_place *place, uint32_t at)
{
    if (at <= place->at[place->count - 1])
        return;
    place->more |= place->count == PAIR_PLACES_KEPT;
    place->count += place->count < PAIR_PLACES_KEPT;
    place->at[place->count - 1] = at;
}

/* The pair stands at `at`. Whoever notes one place notes them all, in order; that may come several times. */
static inline void pair_places_note(struct pair_places *all, uint16_t pair, uint32_t at)
{
    for (uint32_t nth = 0; nth < PAIR_PLACES_SLOTS; nth++) {
        struct pair_place *place = &all->places[pair_place_of(pair, nth)];

        if (place->turn != all->turn) {
            *place = (struct pair_place){ .turn = all->turn, .pair = pair, .count = 1, .at = { at } };
            return;
        }
        if (place->pair == pair) {
            pair_place_add(place, at);
            return;
        }
    }
}

/* NULL: it is not known where the pair stands. */
static inline const struct pair_place *pair_places_find(const struct pair_places *all, const uint8_t *bytes,
                                                        uint32_t length, uint16_t pair)
{
    if (all->bytes != bytes || all->length != length)
        return NULL;
    for (uint32_t nth = 0; nth < PAIR_PLACES_SLOTS; nth++) {
        const struct pair_place *place = &all->places[pair_place_of(pair, nth)];

        if (place->turn != all->turn)
            return NULL;
        if (place->pair == pair)
            return place;
    }
    return NULL;
}

#endif
