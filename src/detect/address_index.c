/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Index of rules by address. Lists of malicious hosts are a thousand rules, of which a packet matches none or one.
 *
 * A rule is indexed by the end (source or destination) for which it lists fewer addresses. The address space is
 * divided at the bounds of the sets, and each interval lists the rules whose set contains it, so a binary search for
 * each end of a packet yields its candidates. Rules that list a large part of the address space at both ends, and
 * bidirectional rules, are candidates for every packet.
 */
#include <errno.h>
#include <stdlib.h>

#include "detect_priv.h"
#include "sluice/bytes.h"

/* An address of either family as a number: IPv4 is in the upper bits, as in struct address. */
__extension__ typedef unsigned __int128 wide;

enum family { IPV4, IPV6, FAMILIES };
enum address_end { END_SOURCE, END_DESTINATION, ENDS };
enum {
    IPV4_SHIFT = 96,
    MAX_WEIGHT = 1 << 27, /* in IPv4 addresses: a larger set matches too many packets to be useful */
    MAX_LISTED = 4 << 20, /* rules in all intervals; beyond this limit all rules are candidates for every packet */
};

/* Each interval reaches from its `low` to the next `low`. */
struct pieces {
    wide *low;
    uint32_t *first; /* index of its first signature; one more entry at the end */
    uint32_t count;
    struct check_list checks;
};

struct address_index {
    struct pieces pieces[ENDS][FAMILIES];
    struct check_list always;
};

/* --- Sets ----------------------------------------------------------------------------------------- */

static wide number_of(const struct address *address)
{
    return (wide)load_be64(address->bytes) << 64 | load_be64(address->bytes + 8);
}

/* Returns the size of the set in units of 2^-32 of the address space, of the family where it is larger. NULL is `any`.
 */
static uint64_t weight_of(const struct address_set *set)
{
    uint64_t weight4 = 0, weight6 = 0;

    if (!set)
        return UINT64_MAX;
    for (uint32_t i = 0; i < set->count4; i++)
        weight4 += (uint64_t)set->range4[i].high - set->range4[i].low + 1;
    for (uint32_t i = 0; i < set->count6; i++)
        weight6 += (uint64_t)((number_of(&set->range6[i].high) - number_of(&set->range6[i].low)) >> IPV4_SHIFT) + 1;
    return weight4 > weight6 ? weight4 : weight6;
}

static uint32_t range_count(const struct address_set *set, enum family family)
{
    return family == IPV4 ? set->count4 : set->count6;
}

static void range_of(const struct address_set *set, enum family family, uint32_t at, wide *low, wide *high)
{
    *low = family == IPV4 ? (wide)set->range4[at].low << IPV4_SHIFT : number_of(&set->range6[at].low);
    *high = family == IPV4 ? (wide)set->range4[at].high << IPV4_SHIFT : number_of(&set->range6[at].high);
}

/* Returns the end by which the rule is indexed, or ENDS. */
static enum address_end end_for(const struct check *check)
{
    uint64_t source = weight_of(check->source), destination = weight_of(check->destination);
    enum address_end end = source <= destination ? END_SOURCE : END_DESTINATION;

    return check->bidirectional || (source > MAX_WEIGHT && destination > MAX_WEIGHT) ? ENDS : end;
}

/* --- Building ------------------------------------------------------------------------------------- */

/* The start of a rule's range, or the first address behind it. */
struct bound {
    wide at;
    uint32_t check;
    bool begins;
};

struct bounds {
    struct bound *list;
    uint32_t count, capacity;
};

static int bounds_add(struct bounds *bounds, wide at, uint32_t check, bool begins)
{
    if (bounds->count == bounds->capacity) {
        uint32_t capacity = bounds->capacity ? bounds->capacity * 2 : 64;
        struct bound *list = realloc(bounds->list, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        bounds->list = list;
        bounds->capacity = capacity;
    }
    bounds->list[bounds->count++] = (struct bound){ at, check, begins };
    return 0;
}

static int add_set(struct bounds *bounds, const struct address_set *set, enum family family, uint32_t check)
{
    int err = 0;

    for (uint32_t i = 0; i < range_count(set, family) && !err; i++) {
        wide low, high;

        range_of(set, family, i, &low, &high);
        err = bounds_add(bounds, low, check, true);
        if (!err && high < ~(wide)0)
            err = bounds_add(bounds, high + 1, check, false);
    }
    return err;
}

/* Sorts ends before beginnings, so that a rule is listed once at a time. */
static int compare_bounds(const void *left, const void *right)
{
    const struct bound *a = left, *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->begins != b->begins)
        return a->begins ? 1 : -1;
    return a->check < b->check ? -1 : a->check > b->check;
}

static int apply(struct check_list *active, const struct bound *bound)
{
    if (bound->begins)
        return check_list_add(active, bound->check);
    for (uint32_t i = 0; i < active->count; i++) {
        if (active->index[i] == bound->check) {
            active->index[i] = active->index[--active->count];
            break;
        }
    }
    return 0;
}

/* Adds an interval that begins at `low` with the active rules. Returns -E2BIG if the lists are too long. */
static int add_piece(struct pieces *pieces, wide low, const struct check_list *active)
{
    pieces->low[pieces->count] = low;
    pieces->first[pieces->count++] = pieces->checks.count;
    if (pieces->checks.count + active->count > MAX_LISTED)
        return -E2BIG;
    for (uint32_t i = 0; i < active->count; i++) {
        if (check_list_add(&pieces->checks, active->index[i]))
            return -ENOMEM;
    }
    return 0;
}

static int cut(struct pieces *pieces, struct bounds *bounds)
{
    struct check_list active = { 0 };
    int err = -ENOMEM;

    qsort(bounds->list, bounds->count, sizeof(*bounds->list), compare_bounds);
    pieces->low = calloc(bounds->count + (size_t)1, sizeof(*pieces->low));
    pieces->first = calloc(bounds->count + (size_t)2, sizeof(*pieces->first));
    if (pieces->low && pieces->first)
        err = add_piece(pieces, 0, &active);
    for (uint32_t i = 0; i < bounds->count && !err; i++) {
        err = apply(&active, &bounds->list[i]);
        if (!err && (i + 1 == bounds->count || bounds->list[i + 1].at != bounds->list[i].at))
            err = add_piece(pieces, bounds->list[i].at, &active);
    }
    if (!err)
        pieces->first[pieces->count] = pieces->checks.count;
    free(active.index);
    return err;
}

static int build(struct address_index *index, const struct ruleset *ruleset, const struct check_list *checks,
                 enum address_end end, enum family family)
{
    struct bounds bounds = { 0 };
    int err = 0;

    for (uint32_t i = 0; i < checks->count && !err; i++) {
        const struct check *check = &ruleset->checks[checks->index[i]];

        if (end_for(check) == end)
            err = add_set(&bounds, end == END_SOURCE ? check->source : check->destination, family, checks->index[i]);
    }
    if (!err && bounds.count > 0)
        err = cut(&index->pieces[end][family], &bounds);
    free(bounds.list);
    return err;
}

static void clear(struct address_index *index)
{
    for (unsigned end = 0; end < ENDS; end++) {
        for (unsigned family = 0; family < FAMILIES; family++) {
            struct pieces *pieces = &index->pieces[end][family];

            free(pieces->low);
            free(pieces->first);
            free(pieces->checks.index);
            *pieces = (struct pieces){ 0 };
        }
    }
    free(index->always.index);
    index->always = (struct check_list){ 0 };
}

static int list_always(struct address_index *index, const struct ruleset *ruleset, const struct check_list *checks,
                       bool all)
{
    int err = 0;

    for (uint32_t i = 0; i < checks->count && !err; i++) {
        if (all || end_for(&ruleset->checks[checks->index[i]]) == ENDS)
            err = check_list_add(&index->always, checks->index[i]);
    }
    return err;
}

static int build_all(struct address_index *index, const struct ruleset *ruleset, const struct check_list *checks)
{
    int err = list_always(index, ruleset, checks, false);

    for (unsigned end = 0; end < ENDS && !err; end++) {
        for (unsigned family = 0; family < FAMILIES && !err; family++)
            err = build(index, ruleset, checks, end, family);
    }
    if (err == -E2BIG) {
        clear(index);
        err = list_always(index, ruleset, checks, true);
    }
    return err;
}

int address_index_new(struct address_index **out, const struct ruleset *ruleset, const struct check_list *checks)
{
    struct address_index *index = calloc(1, sizeof(*index));
    int err = index ? build_all(index, ruleset, checks) : -ENOMEM;

    if (err) {
        address_index_free(index);
        return err;
    }
    *out = index;
    return 0;
}

void address_index_free(struct address_index *index)
{
    if (!index)
        return;
    clear(index);
    free(index);
}

/* --- Lookup --------------------------------------------------------------------------------------- */

static void find(const struct pieces *pieces, struct detector *detector, const struct address *address)
{
    wide number = number_of(address);
    uint32_t low = 0, high = pieces->count;

    if (high == 0)
        return;
    while (high - low > 1) { /* the interval is in [low, high) */
        uint32_t middle = low + (high - low) / 2;

        if (pieces->low[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    for (uint32_t i = pieces->first[low]; i < pieces->first[low + 1]; i++)
        detector_add_candidate(detector, pieces->checks.index[i]);
}

void address_index_find(const struct address_index *index, struct detector *detector, const struct packet *pkt)
{
    enum family family = pkt->ip_version == 4 ? IPV4 : IPV6;

    for (uint32_t i = 0; i < index->always.count; i++)
        detector_add_candidate(detector, index->always.index[i]);
    find(&index->pieces[END_SOURCE][family], detector, &pkt->source_address);
    find(&index->pieces[END_DESTINATION][family], detector, &pkt->destination_address);
}
